/* SPDX-License-Identifier: MIT */
/*
 * Global wave sync: counters on which waves of all compute units wait for each other, as barriers
 * or as semaphores.
 *
 * A wave that waits is on its resource's list, in the order of arrival, until another wave releases
 * it or it leaves the list (a context save, the end of its job). A wave that left executes its
 * instruction again when it is restored, as on the hardware. All functions take the lock.
 */
#ifndef GP__EMU_GFX9_GWS_H
#define GP__EMU_GFX9_GWS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define GFX9_GWS_RESOURCES 64

enum gfx9_gws_op {
	GFX9_GWS_INIT,
	GFX9_GWS_BARRIER,
	GFX9_GWS_SEMA_V,
	GFX9_GWS_SEMA_BR,
	GFX9_GWS_SEMA_P,
	GFX9_GWS_SEMA_RELEASE_ALL,
};

/* An instruction of a wave. */
struct gfx9_gws_request {
	uint8_t op; /* enum gfx9_gws_op */
	uint8_t resource;
	uint32_t value; /* of the first active lane; of operations that have data */
};

struct gfx9_gws_waiter {
	struct gfx9_gws_waiter *next;
	uint8_t resource;
	bool is_semaphore;
	_Atomic bool released; /* it is on no list, and its wave continues */
};

struct gfx9_gws {
	pthread_mutex_t lock;
	struct {
		uint32_t counter;
		struct gfx9_gws_waiter *waiters; /* in the order of arrival */
	} resource[GFX9_GWS_RESOURCES];
};

void gfx9_gws_init(struct gfx9_gws *gws);
void gfx9_gws_destroy(struct gfx9_gws *gws);

/*
 * Executes an instruction. True: the wave waits with @w until w->released. Sets *@released if other
 * waves continue.
 */
bool gfx9_gws_execute(struct gfx9_gws *gws, const struct gfx9_gws_request *r,
		      struct gfx9_gws_waiter *w, bool *released);
/* Removes @w. False: it was released before, and has executed its instruction. */
bool gfx9_gws_leave(struct gfx9_gws *gws, struct gfx9_gws_waiter *w);

#endif
