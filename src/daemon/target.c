// SPDX-License-Identifier: MIT
#include "daemon/target.h"

#include <stdlib.h>

bool gp__request_number(const json_t *o, const char *key, u64 most, u64 *value)
{
	const json_t *v = json_object_get(o, key);
	json_int_t n = json_integer_value(v);

	*value = (u64)n;
	return json_is_integer(v) && n >= 0 && (u64)n <= most;
}

static void read_one(struct gp__target *t, const json_t *o)
{
	const char *tag = json_string_value(json_object_get(o, "tag"));

	if (tag && *tag) {
		t->kind = GP__TARGET_TAG;
		gp__tag_set(t->tag, tag);
	} else if (tag) {
		t->kind = GP__TARGET_NONE;
	} else if (gp__request_number(o, "group", UINT32_MAX, &t->id)) {
		t->kind = GP__TARGET_GROUP;
	} else if (gp__request_number(o, "pid", INT32_MAX, &t->id)) {
		t->kind = GP__TARGET_PID;
	} else if (gp__request_number(o, "queue", UINT32_MAX, &t->id)) {
		t->kind = GP__TARGET_QUEUE;
	}
}

static int compare(const void *a, const void *b)
{
	const struct gp__target *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->kind == GP__TARGET_TAG)
		return strcmp(x->tag, y->tag);
	return x->id < y->id ? -1 : x->id > y->id;
}

bool gp__targets_read(struct gp__targets *t, const json_t *request)
{
	const json_t *several = json_object_get(request, "targets");
	size_t nr = several ? json_array_size(several) : 1;

	*t = (struct gp__targets){ .nr = (u32)nr, .several = several };
	if (!nr || nr > GP__TARGETS_MAX)
		return false;
	for (u32 i = 0; i < t->nr; i++) {
		t->target[i].place = i;
		read_one(&t->target[i], several ? json_array_get(several, i) : request);
		t->has_queues |= t->target[i].kind == GP__TARGET_QUEUE;
	}
	qsort(t->target, t->nr, sizeof(t->target[0]), compare);
	return true;
}

/* The first of the equal targets. NULL: there is none. */
static struct gp__target *find(struct gp__targets *t, const struct gp__target *name)
{
	struct gp__target *found = bsearch(name, t->target, t->nr, sizeof(*name), compare);

	while (found && found > t->target && !compare(found - 1, name))
		found--;
	return found;
}

static bool is_end(const struct gp__targets *t, const struct gp__target *found)
{
	return found == t->target + t->nr;
}

/* Marks all targets with this name. */
static void mark(struct gp__targets *t, struct gp__target name, bool *any, u32 *place)
{
	struct gp__target *found = find(t, &name);

	for (; found && !is_end(t, found) && !compare(found, &name); found++) {
		found->found = true;
		if (!*any || found->place < *place)
			*place = found->place;
		*any = true;
	}
}

static struct gp__target tag_of(const char *tag)
{
	struct gp__target name = { .kind = GP__TARGET_TAG };

	gp__tag_set(name.tag, tag);
	return name;
}

bool gp__targets_match(struct gp__targets *t, const struct gp__group *g, u32 *place)
{
	struct gp__link *l, *n;
	bool any = false;

	mark(t, (struct gp__target){ .kind = GP__TARGET_PID, .id = (u64)g->program->pid }, &any,
	     place);
	mark(t, (struct gp__target){ .kind = GP__TARGET_GROUP, .id = g->entity.id }, &any, place);
	mark(t, tag_of(g->entity.tag), &any, place);
	if (!t->has_queues)
		return any;
	gp__list_each(l, n, &g->entity.queues)
		mark(t,
		     (struct gp__target){ .kind = GP__TARGET_QUEUE,
					  .id = container_of(l, struct gp__queue, link)->id },
		     &any, place);
	return any;
}

static bool mark_ended(struct gp__targets *t, struct gp__target name)
{
	struct gp__target *found = find(t, &name);
	bool any = false;

	for (; found && !is_end(t, found) && !compare(found, &name); found++) {
		found->found_ended = true;
		any |= !found->found;
	}
	return any;
}

bool gp__targets_match_ended(struct gp__targets *t, const struct gp__ended *e)
{
	bool any = mark_ended(t, (struct gp__target){ .kind = GP__TARGET_PID, .id = (u64)e->pid });

	any |= mark_ended(t, (struct gp__target){ .kind = GP__TARGET_GROUP, .id = e->group });
	return mark_ended(t, tag_of(e->tag)) || any;
}

const struct gp__target *gp__targets_missing(const struct gp__targets *t)
{
	const struct gp__target *first = NULL;

	for (u32 i = 0; i < t->nr; i++) {
		const struct gp__target *target = &t->target[i];

		if (!target->found && !target->found_ended &&
		    (!first || target->place < first->place))
			first = target;
	}
	return first;
}
