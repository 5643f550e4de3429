// SPDX-License-Identifier: MIT
#include "device/nvrm/memory.h"

#include <stdlib.h>

/* Without memory for it, a piece is not in the table: the sum is not known then. */
#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(piece) ((piece)->is_lost = true)
#include <uthash.h>

struct gp__nvrm_key {
	uint32_t client, handle;
};

struct gp__nvrm_piece {
	UT_hash_handle hh;
	struct gp__nvrm_key key;
	struct gp__nvrm_total *total;
	uint64_t bytes;
	bool is_lost;
};

/* Of a parent. There are few, and each stays. */
struct gp__nvrm_total {
	struct gp__nvrm_total *next;
	uint32_t client, parent;
	uint64_t bytes;
};

void gp__nvrm_memory_init(struct gp__nvrm_memory *m)
{
	*m = (struct gp__nvrm_memory){ .pieces = NULL };
	pthread_mutex_init(&m->lock, NULL);
}

static void drop(struct gp__nvrm_memory *m, struct gp__nvrm_piece *p)
{
	HASH_DEL(m->pieces, p);
	p->total->bytes -= p->bytes;
	free(p);
}

void gp__nvrm_memory_destroy(struct gp__nvrm_memory *m)
{
	struct gp__nvrm_total *total;
	struct gp__nvrm_piece *p, *next;

	HASH_ITER (hh, m->pieces, p, next)
		drop(m, p);
	while ((total = m->totals)) {
		m->totals = total->next;
		free(total);
	}
	pthread_mutex_destroy(&m->lock);
}

/* With the lock. */
static struct gp__nvrm_total *find_total(struct gp__nvrm_memory *m, uint32_t client,
					 uint32_t parent)
{
	struct gp__nvrm_total *t;

	for (t = m->totals; t && (t->client != client || t->parent != parent); t = t->next)
		;
	return t;
}

/* With the lock. NULL: out of memory. */
static struct gp__nvrm_total *get_total(struct gp__nvrm_memory *m, uint32_t client, uint32_t parent)
{
	struct gp__nvrm_total *t = find_total(m, client, parent);

	if (!t && (t = calloc(1, sizeof(*t)))) {
		*t = (struct gp__nvrm_total){ m->totals, client, parent, 0 };
		m->totals = t;
	}
	return t;
}

/* With the lock. */
static struct gp__nvrm_piece *find(struct gp__nvrm_memory *m, uint32_t client, uint32_t handle)
{
	const struct gp__nvrm_key key = { client, handle };
	struct gp__nvrm_piece *p;

	HASH_FIND(hh, m->pieces, &key, sizeof(key), p);
	return p;
}

/* With the lock. False: out of memory. */
static bool add(struct gp__nvrm_memory *m, struct gp__nvrm_key key, uint32_t parent, uint64_t bytes)
{
	struct gp__nvrm_total *total = get_total(m, key.client, parent);
	struct gp__nvrm_piece *p = total ? calloc(1, sizeof(*p)) : NULL;

	if (!p)
		return false;
	*p = (struct gp__nvrm_piece){ .key = key, .total = total, .bytes = bytes };
	HASH_ADD(hh, m->pieces, key, sizeof(p->key), p);
	if (p->is_lost) {
		free(p);
		return false;
	}
	total->bytes += bytes;
	return true;
}

void gp__nvrm_memory_add(struct gp__nvrm_memory *m, uint32_t client, uint32_t parent,
			 uint32_t handle, uint64_t bytes)
{
	struct gp__nvrm_piece *before;

	pthread_mutex_lock(&m->lock);
	before = find(m, client, handle);
	if (before)
		drop(m, before);
	m->unknown |= !add(m, (struct gp__nvrm_key){ client, handle }, parent, bytes);
	pthread_mutex_unlock(&m->lock);
}

bool gp__nvrm_memory_remove(struct gp__nvrm_memory *m, uint32_t client, uint32_t handle)
{
	struct gp__nvrm_piece *p;
	bool found;

	pthread_mutex_lock(&m->lock);
	p = find(m, client, handle);
	found = p;
	if (p)
		drop(m, p);
	pthread_mutex_unlock(&m->lock);
	return found;
}

void gp__nvrm_memory_remove_of(struct gp__nvrm_memory *m, uint32_t client, uint32_t parent)
{
	struct gp__nvrm_piece *p, *next;

	pthread_mutex_lock(&m->lock);
	HASH_ITER (hh, m->pieces, p, next) {
		if (p->key.client == client && (p->total->parent == parent || client == parent))
			drop(m, p);
	}
	pthread_mutex_unlock(&m->lock);
}

void gp__nvrm_memory_lose(struct gp__nvrm_memory *m)
{
	pthread_mutex_lock(&m->lock);
	m->unknown = true;
	pthread_mutex_unlock(&m->lock);
}

bool gp__nvrm_memory_sum(struct gp__nvrm_memory *m, uint32_t client, uint32_t parent,
			 uint64_t *bytes)
{
	const struct gp__nvrm_total *total;
	bool known;

	pthread_mutex_lock(&m->lock);
	total = find_total(m, client, parent);
	*bytes += total ? total->bytes : 0;
	known = !m->unknown;
	pthread_mutex_unlock(&m->lock);
	return known;
}
