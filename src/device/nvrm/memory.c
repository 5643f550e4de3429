// SPDX-License-Identifier: MIT
#include "device/nvrm/memory.h"

#include <stdlib.h>

#include <uthash.h>

struct gp__nvrm_key {
	uint32_t client, handle;
};

struct gp__nvrm_piece {
	UT_hash_handle hh;
	struct gp__nvrm_key key;
	uint32_t parent;
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
	free(p);
}

void gp__nvrm_memory_forget(struct gp__nvrm_memory *m)
{
	struct gp__nvrm_piece *p, *next;

	HASH_ITER (hh, m->pieces, p, next)
		drop(m, p);
	gp__nvrm_memory_init(m);
}

/* With the lock. */
static struct gp__nvrm_piece *find(struct gp__nvrm_memory *m, uint32_t client, uint32_t handle)
{
	const struct gp__nvrm_key key = { client, handle };
	struct gp__nvrm_piece *p;

	HASH_FIND(hh, m->pieces, &key, sizeof(key), p);
	return p;
}

void gp__nvrm_memory_add(struct gp__nvrm_memory *m, uint32_t client, uint32_t parent,
			 uint32_t handle, uint64_t bytes)
{
	struct gp__nvrm_piece *p = calloc(1, sizeof(*p)), *before;

	pthread_mutex_lock(&m->lock);
	before = find(m, client, handle);
	if (before)
		drop(m, before);
	m->unknown |= !p;
	if (p) {
		p->key = (struct gp__nvrm_key){ client, handle };
		p->parent = parent;
		p->bytes = bytes;
		HASH_ADD(hh, m->pieces, key, sizeof(p->key), p);
	}
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
		if (p->key.client == client && (p->parent == parent || client == parent))
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
	const struct gp__nvrm_piece *p, *next;
	bool known;

	pthread_mutex_lock(&m->lock);
	for (p = m->pieces; p; p = next) {
		next = p->hh.next;
		if (p->key.client == client && p->parent == parent)
			*bytes += p->bytes;
	}
	known = !m->unknown;
	pthread_mutex_unlock(&m->lock);
	return known;
}
