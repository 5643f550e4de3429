/* SPDX-License-Identifier: MIT */
/*
 * Joins a program at the HSA runtime, through which every ROCm program launches. The runtime passes
 * its tables of functions to tools libraries, or registers them for profilers (register.h). A few
 * of the functions are replaced by ours, once, whichever happens first.
 *
 * The store to a doorbell reports work exactly and at once. Only the first store after
 * gp__hsa_rest() costs anything; if queues have a window (ring.h), each store goes through it.
 *
 * A process has one runtime, so the state here is global. Queues are identified by the driver's
 * ids.
 */
#ifndef GP__JOIN_HSA_TOOLS_H
#define GP__JOIN_HSA_TOOLS_H

#include <stdbool.h>
#include <stddef.h>

#include "join/hsa/abi.h"
#include "join/hsa/ring.h"

struct gp__hsa_host {
	/* Finds the queue with this write index. False: it is not known, and is left alone. */
	bool (*find)(void *data, const void *write_index, uint32_t *id);
	/* Arrivals in the queue are reported from now on. It has no work. */
	void (*added)(void *data, uint32_t id, const void *write_index);
	/* Work has arrived in a queue without work; called by the thread that launches it. */
	void (*arrived)(void *data, uint32_t id);
	/* Something else puts work into the queue, too, which a window does not hold. */
	void (*foreign)(void *data, uint32_t id);
	void *data;
	bool windows; /* every queue gets one, of this many packets, */
	uint32_t width;
	uint64_t budget_ns; /* or, if width is 0, of packets that take this long */
	bool retains; /* instead: packets in flight are retained, so that they can be dropped */
};

/* False, with a reason: the runtime is not supported, and its tables are unchanged. */
bool gp__hsa_load(struct gp__hsa_table *table, const struct gp__hsa_host *host, const char **why);
bool gp__hsa_is_loaded(void);
/* The runtime shuts down, and its tables become invalid. */
void gp__hsa_unload(void);
/*
 * A runtime registers its tables. If they are the ones that were loaded, and hold the runtime's own
 * functions again, it has shut down without a call of gp__hsa_unload() and starts again.
 */
void gp__hsa_renew(const struct gp__hsa_table *table);
/* The driver destroyed a queue, perhaps because the runtime shuts down; an unknown id is ignored.
 */
void gp__hsa_removed(uint32_t id);

/* How often the calling thread has rung a doorbell, and that of which queue it rang last. */
struct gp__hsa_rung {
	uint32_t nr, id;
};
struct gp__hsa_rung gp__hsa_rung(void);

/* In a child after fork(), which has none of the queues. */
void gp__hsa_forget(void);

/*
 * The queue was seen to have no work: arrived() is called for the next launch. A launch during that
 * observation may be missed, so the caller looks at the queue once more afterwards.
 */
void gp__hsa_rest(uint32_t id);
/* Whether packets of the queue wait in its window, or were not seen to end. */
bool gp__hsa_waits(uint32_t id);

/* Holds the launches of a queue, or releases them. -ENOENT: it has no window. */
int gp__hsa_hold(uint32_t id, bool held);
/*
 * Holds the launches of a queue whose packets are retained. True: the packets in flight can be
 * dropped, and are submitted again on release. The caller resets the queue and then calls
 * gp__hsa_dropped(); without that call nothing is submitted again.
 */
bool gp__hsa_hold_to_drop(uint32_t id);
void gp__hsa_dropped(uint32_t id);
/* The latest order was to hold queues of the program, or to release them; see wait.h. */
void gp__hsa_set_held(bool held);
/* Narrows the windows while another program may want the GPU; at first they are open. */
void gp__hsa_narrow(bool narrow);
/* Submits what fits into the windows by now. True: more packets wait for room. */
bool gp__hsa_advance(uint64_t now);

#endif
