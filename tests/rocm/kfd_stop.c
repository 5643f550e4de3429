// SPDX-License-Identifier: MIT
/*
 * Stops and starts the compute queues of another program, at random, for some seconds: as its
 * debugger (DBG_TRAP), or with PREEMPT_BATCH of gpreempt's kernel series.
 *
 * Usage: kfd_stop dbgtrap|preempt PID SECONDS [hold]
 *
 * With hold it prints "held" after a stop and waits to be killed, which must release the queues.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "device/kfd/control.h"
#include "device/kfd/list.h"
#include "../fail.h"

#define QUEUES_MAX 64
#define NS_PER_S 1e9

struct stopper {
	struct gp__kfd_control control;
	pid_t pid;
	struct gp__kfd_queue_info queue[QUEUES_MAX];
	struct gp__kfd_target target[QUEUES_MAX];
	size_t nr;
};

static _Noreturn void refused(const struct stopper *s, enum gp__kfd_verb verb, int err)
{
	char why[GP__KFD_EXPLAIN_MAX];

	gp__kfd_explain(&s->control, verb, err, why, sizeof(why));
	fail("%s: %s", verb == GP__KFD_RELEASE ? "start" : "stop", why);
}

static void find_queues(struct stopper *s)
{
	struct gp__kfd_list list;
	int err = gp__kfd_list_plain(&list);

	if (err)
		fail("cannot list the queues: %s", strerror(-err));
	s->nr = 0;
	for (size_t i = 0; i < list.nr && s->nr < QUEUES_MAX; i++) {
		const struct gp__kfd_listed *q = &list.queue[i];

		if (q->pid != s->pid || !gp__kfd_is_compute(q->type))
			continue;
		s->queue[s->nr] = (struct gp__kfd_queue_info){ .id = q->queue_id };
		s->target[s->nr].queue = &s->queue[s->nr];
		s->nr++;
	}
	gp__kfd_list_free(&list);
}

/* False: the program has ended. */
static bool set(struct stopper *s, enum gp__kfd_verb verb)
{
	int done = s->nr ? gp__kfd_control(&s->control, verb, s->target, s->nr) : 0;

	if (kill(s->pid, 0) || done == -ESRCH)
		return false;
	if (done < 0)
		refused(s, verb, done);
	for (size_t i = 0; i < s->nr; i++) {
		if (s->target[i].result)
			refused(s, verb, s->target[i].result);
	}
	return true;
}

static unsigned int stop_at_random(struct stopper *s, double seconds, bool hold)
{
	uint64_t end = gp__clock_ns() + (uint64_t)(seconds * NS_PER_S);
	unsigned int stops = 0;

	srand48(s->pid);
	while (gp__clock_ns() < end) {
		find_queues(s);
		if (!set(s, GP__KFD_SAVE))
			break;
		if (hold) {
			puts("held");
			fflush(stdout);
			pause();
		}
		usleep((useconds_t)(lrand48() % 8000));
		if (!set(s, GP__KFD_RELEASE))
			break;
		stops++;
		usleep((useconds_t)(lrand48() % 5000));
	}
	return stops;
}

int main(int argc, char **argv)
{
	static struct stopper s;
	int way = argc >= 4 ? gp__kfd_way_parse(argv[1]) : -1, kfd, err;
	unsigned int stops;

	if (way < 0) {
		fprintf(stderr, "usage: kfd_stop dbgtrap|preempt PID SECONDS [hold]\n");
		return 2;
	}
	s.pid = atoi(argv[2]);
	kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	if (kfd < 0)
		fail("/dev/kfd: %s", strerror(errno));
	err = gp__kfd_control_open(&s.control, kfd, s.pid, (enum gp__kfd_way)way);
	if (err)
		refused(&s, GP__KFD_SAVE, err);
	stops = stop_at_random(&s, atof(argv[3]), argc > 4);
	gp__kfd_control_close(&s.control);
	printf("%u times all queues of %d were stopped (%s)\n", stops, (int)s.pid, argv[1]);
	return stops ? 0 : 1;
}
