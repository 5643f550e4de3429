/* SPDX-License-Identifier: MIT */
/*
 * A device made of one CPU thread, for tests and benchmarks: it "runs" commands by letting their
 * time pass, takes turns between its queues, and has all three levels. Every verb can be told to
 * fail.
 *
 * It checks its calls (one verb or launch at a time, no launch while held, a command only once) and
 * counts violations instead of crashing.
 *
 * It is the wrong tool for timing a device: it passes wall time, as precise as the host's timers.
 */
#ifndef GP_QUEUE_FAKEDEV_H
#define GP_QUEUE_FAKEDEV_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <gpreempt/gpreempt.h>

struct gp__fakedev;
struct gp__fakeq;

enum gp__fakecmd_state {
	GP__FAKECMD_NEW,
	GP__FAKECMD_QUEUED,
	GP__FAKECMD_RUNNING,
	GP__FAKECMD_ENDED
};

/* For a command that runs until gp__fakeq_finish(): no test depends on timing. */
#define GP__FAKE_ENDLESS 1000000000000000ull

/* The caller's memory, zeroed but for the first two. */
struct gp__fakecmd {
	uint64_t run_ns;
	int result; /* what sync returns */
	enum gp__fakecmd_state state;
	uint64_t left_ns;
	uint64_t ended_at;
	unsigned int syncs;
	struct gp__fakecmd *next;
};

/* slice_ns: a queue's turn while others have work too. */
int gp__fakedev_create(uint64_t slice_ns, struct gp__fakedev **dev);
void gp__fakedev_destroy(struct gp__fakedev *dev);

struct gp__fakeq *gp__fakeq_create(struct gp__fakedev *dev);
/* Nothing may be queued. */
void gp__fakeq_destroy(struct gp__fakeq *q);

enum gp__fakeverb {
	GP__FAKE_NLAUNCH,
	GP__FAKE_DEACTIVATE,
	GP__FAKE_REACTIVATE,
	GP__FAKE_INTERRUPT,
	GP__FAKE_RESTORE,
	GP__FAKE_VERBS,
};

/* For tests: the next n calls return rc and do nothing; n < 0: all of them. */
void gp__fakeq_fail(struct gp__fakeq *q, enum gp__fakeverb verb, int rc, int n);

struct gp__fakeq_report {
	uint64_t calls[GP__FAKE_VERBS];
	uint64_t ran; /* commands that ended */
	uint64_t ran_ns;
	uint64_t wrong; /* violations of the rules */
};

struct gp__fakeq_report gp__fakeq_report(struct gp__fakeq *q);
/* The first command queued ends as soon as it runs, or now if it does. */
void gp__fakeq_finish(struct gp__fakeq *q);
/* Whether a command of this queue is on the device right now. */
bool gp__fakeq_runs(struct gp__fakeq *q);

/* Levels 1 to `level`; with pending() if asked for. */
struct gp_device_ops gp__fakedev_ops(int level, bool pending);

#endif
