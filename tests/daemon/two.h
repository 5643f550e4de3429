/* SPDX-License-Identifier: MIT */
/* A patient program and an urgent one, each with a queue in slot 0, on the same GPU. */
#ifndef GP__TESTS_DAEMON_TWO_H
#define GP__TESTS_DAEMON_TWO_H

#include "rig.h"

#define OFFLINE 2
#define NORMAL 7
#define ONLINE 15

struct two {
	struct rig rig;
	struct agent offline, online;
};

/* A queue on that GPU. */
u32 add(struct agent *a, s32 prio);
void two_up(struct two *t, const char *config);
void two_down(struct two *t);
/* The offline program runs, the online one gets work, the offline one is held. */
void preempt(struct two *t);
/* The online program runs out of work, and the offline one is released. */
void release(struct two *t);

#endif
