// SPDX-License-Identifier: MIT
#include "emu/gfx9/gws.h"

#include <string.h>

void gfx9_gws_init(struct gfx9_gws *gws)
{
	memset(gws->resource, 0, sizeof(gws->resource));
	pthread_mutex_init(&gws->lock, NULL);
}

void gfx9_gws_destroy(struct gfx9_gws *gws)
{
	pthread_mutex_destroy(&gws->lock);
}

static void enqueue(struct gfx9_gws *gws, const struct gfx9_gws_request *r,
		    struct gfx9_gws_waiter *w)
{
	struct gfx9_gws_waiter **link = &gws->resource[r->resource].waiters;

	while (*link)
		link = &(*link)->next;
	w->next = NULL;
	w->resource = r->resource;
	w->is_semaphore = r->op == GFX9_GWS_SEMA_P;
	atomic_store(&w->released, false);
	*link = w;
}

/* Releases the first @nr waiters of one kind. Returns how many there were. */
static uint32_t release(struct gfx9_gws *gws, uint8_t resource, bool is_semaphore, uint32_t nr)
{
	struct gfx9_gws_waiter **link = &gws->resource[resource].waiters, *w;
	uint32_t released = 0;

	while (released < nr && (w = *link)) {
		if (w->is_semaphore != is_semaphore) {
			link = &w->next;
			continue;
		}
		*link = w->next;
		atomic_store(&w->released, true); /* from now on its wave may be gone */
		released++;
	}
	return released;
}

/* The last wave to arrive provides the count of the next barrier. */
static bool barrier(struct gfx9_gws *gws, const struct gfx9_gws_request *r,
		    struct gfx9_gws_waiter *w, bool *released)
{
	uint32_t *counter = &gws->resource[r->resource].counter;

	if (*counter) {
		--*counter;
		enqueue(gws, r, w);
		return true;
	}
	*counter = r->value;
	*released = release(gws, r->resource, false, UINT32_MAX);
	return false;
}

static bool sema_p(struct gfx9_gws *gws, const struct gfx9_gws_request *r,
		   struct gfx9_gws_waiter *w)
{
	uint32_t *counter = &gws->resource[r->resource].counter;

	if (*counter) {
		--*counter;
		return false;
	}
	enqueue(gws, r, w);
	return true;
}

/* Waves that come later use the rest. */
static void sema_v(struct gfx9_gws *gws, const struct gfx9_gws_request *r, uint32_t nr,
		   bool *released)
{
	uint32_t *counter = &gws->resource[r->resource].counter;
	uint32_t gone;

	*counter += nr;
	gone = release(gws, r->resource, true, *counter);
	*counter -= gone;
	*released = gone;
}

bool gfx9_gws_execute(struct gfx9_gws *gws, const struct gfx9_gws_request *r,
		      struct gfx9_gws_waiter *w, bool *released)
{
	bool waits = false;

	*released = false;
	pthread_mutex_lock(&gws->lock);
	switch ((enum gfx9_gws_op)r->op) {
	case GFX9_GWS_INIT:
		gws->resource[r->resource].counter = r->value;
		break;
	case GFX9_GWS_BARRIER:
		waits = barrier(gws, r, w, released);
		break;
	case GFX9_GWS_SEMA_V:
		sema_v(gws, r, 1, released);
		break;
	case GFX9_GWS_SEMA_BR:
		sema_v(gws, r, r->value, released);
		break;
	case GFX9_GWS_SEMA_P:
		waits = sema_p(gws, r, w);
		break;
	case GFX9_GWS_SEMA_RELEASE_ALL:
		*released = release(gws, r->resource, true, UINT32_MAX);
		break;
	}
	pthread_mutex_unlock(&gws->lock);
	return waits;
}

/* A wave that leaves a barrier counts as not arrived. */
bool gfx9_gws_leave(struct gfx9_gws *gws, struct gfx9_gws_waiter *w)
{
	struct gfx9_gws_waiter **link = &gws->resource[w->resource].waiters;
	bool waits;

	pthread_mutex_lock(&gws->lock);
	waits = !atomic_load(&w->released);
	if (waits) {
		while (*link != w)
			link = &(*link)->next;
		*link = w->next;
		if (!w->is_semaphore)
			gws->resource[w->resource].counter++;
	}
	pthread_mutex_unlock(&gws->lock);
	return waits;
}
