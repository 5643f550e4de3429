/* SPDX-License-Identifier: MIT */
/*
 * Joins a program at the HSA runtime, which every ROCm program launches through. The runtime hands
 * its tables of functions to tools libraries, or registers them for profilers (register.h); a few
 * of the functions are replaced by ours, once, whichever comes first.
 *
 * The doorbell's store tells when work comes into a queue, exactly and at once. Only the first one
 * after gp__hsa_rest() costs anything; where queues have a window (ring.h), each passes through it.
 *
 * There is one runtime in a process, so there is one state here. Queues are known by the numbers
 * that the driver gave them.
 */
#ifndef GP__JOIN_HSA_TOOLS_H
#define GP__JOIN_HSA_TOOLS_H

#include <stdbool.h>
#include <stddef.h>

#include "join/hsa/abi.h"
#include "join/hsa/ring.h"

struct gp__hsa_host {
	/* The queue with this write index; false: it is not known, and stays as it is. */
	bool (*find)(void *data, const void *write_index, uint32_t *id);
	/* From now on arrivals in it are told: it rests. */
	void (*added)(void *data, uint32_t id, const void *write_index);
	/* Work has come into a queue that rested. Of the thread that launches it. */
	void (*arrived)(void *data, uint32_t id);
	/* The program has given it a priority. */
	void (*prioritized)(void *data, uint32_t id, enum gp__hsa_priority priority);
	/* Others put work into it as well, which no window holds. */
	void (*foreign)(void *data, uint32_t id);
	void *data;
	bool windows; /* every queue gets one, of so many packets, */
	uint32_t width;
	uint64_t budget_ns; /* or, where width is 0, of what takes so long */
	bool keeps; /* instead: what is on its way is kept, so that it can be dropped */
};

/* False, with a reason: this runtime is not understood, and its tables are as they were. */
bool gp__hsa_load(struct gp__hsa_table *table, const struct gp__hsa_host *host, const char **why);
bool gp__hsa_is_loaded(void);
/* The runtime ends, and its tables with it. */
void gp__hsa_unload(void);
/*
 * A runtime registers its tables. If they are the ones that were loaded, and as the runtime made
 * them, it has ended since without a word and begins again: they can be loaded anew.
 */
void gp__hsa_renew(const struct gp__hsa_table *table);
/* The driver destroyed a queue, perhaps of a runtime that ends; it may be none of these. */
void gp__hsa_removed(uint32_t id);

/* In a child after fork(), which has none of the queues. */
void gp__hsa_forget(void);

/*
 * The queue was seen to have no work: from now on arrived() is called for the next. What came while
 * it was looked at may be missed: whoever calls this looks once more afterwards.
 */
void gp__hsa_rest(uint32_t id);
/* Whether something of the queue is in its window, or has not been seen to end. */
bool gp__hsa_waits(uint32_t id);

/* What comes into the queue is kept, or goes again. -ENOENT: it has no window. */
int gp__hsa_hold(uint32_t id, bool held);
/*
 * The same, where packets are kept. True: what is on its way can be dropped, and handed over again
 * when it goes. Whoever has done that, and nothing of the queue runs, says so; until then nothing
 * was.
 */
bool gp__hsa_hold_to_drop(uint32_t id);
void gp__hsa_dropped(uint32_t id);
/* Whether windows are narrow, as somebody may want the GPU, or open; at first they are open. */
void gp__hsa_narrow(bool narrow);
/* Lets go what has room in the windows by now. True: more will go when there is room. */
bool gp__hsa_advance(uint64_t now);

#endif
