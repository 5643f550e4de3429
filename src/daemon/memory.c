// SPDX-License-Identifier: MIT
#include "daemon/memory.h"

#define MIB (1ull << 20)
#define BYTES_MOST (1ull << 48)

static const struct gp__device *own_look(const struct gp__group *g)
{
	return gp__devices_by_key(g->program->devices, g->gpu->key);
}

bool gp__group_memory(const struct gp__group *g, u64 *bytes)
{
	const struct gp__device *own = own_look(g);

	if (own && own->is_used_known) {
		*bytes = own->used;
		return true;
	}
	*bytes = g->reported & ~GP__WIRE_MEMORY_KNOWN;
	return g->reported;
}

/*
 * A GPU that several users share and whose size the daemon cannot find has the size that its first
 * program gave. Another program's use counts in proportion to the size that this program gave: with
 * a false size it changes its own share only.
 */
static u64 in_proportion(const struct gp__group *g, u64 bytes)
{
	const struct gp__device *own = own_look(g);
	u64 size = gp__min_u64(g->described, BYTES_MOST) / MIB;

	if (!size || g->described == g->gpu->dev.memory || (own && own->memory))
		return bytes;
	bytes = gp__min_u64(bytes, BYTES_MOST);
	return bytes / MIB * (gp__min_u64(g->gpu->dev.memory, BYTES_MOST) / MIB) / size * MIB;
}

static void apply(struct gp__group *g, u64 now)
{
	struct gp__hints hints = g->entity.hints;
	u64 bytes;

	/* Policies know mebibytes, and the log need not tell of less. */
	if (gp__group_memory(g, &bytes))
		bytes = (bytes + MIB / 2) / MIB * MIB;
	else
		bytes = g->asked_memory;
	hints.memory = in_proportion(g, bytes) / g->gpu->nr_of_program;
	if (hints.memory != g->entity.hints.memory)
		gp__entity_hint(&g->entity, &hints, now);
}

static void apply_to_all(struct gp__program *p, u64 now)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &p->groups) container_of(l, struct gp__group, of_program)
		->gpu->nr_of_program = 0;
	gp__list_each(l, n, &p->groups) container_of(l, struct gp__group, of_program)
		->gpu->nr_of_program++;
	gp__list_each(l, n, &p->groups) apply(container_of(l, struct gp__group, of_program), now);
}

void gp__memory_changed(struct gp__registry *r, struct gp__program *p)
{
	gp__list_del(&p->memory_changed);
	gp__list_push(&r->memory_changed, &p->memory_changed);
}

void gp__memory_settle(struct gp__registry *r, u64 now)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &r->memory_changed)
	{
		gp__list_del(l);
		apply_to_all(container_of(l, struct gp__program, memory_changed), now);
	}
}
