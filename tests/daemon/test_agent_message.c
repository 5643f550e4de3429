// SPDX-License-Identifier: MIT
/* A message of the agent blocks, as standard error does while its reader is busy. */
#include "rig.h"

#include <semaphore.h>
#include <time.h>

#include "base/clock.h"
#include "join/agent.h"

#define TOO_HIGH 2000000 /* the daemon refuses this priority */
#define LIMIT_S 20

static sem_t begun, launched;
static bool timed_out;

static void block(void *data, const char *text, bool unscheduled)
{
	struct timespec limit;

	(void)data, (void)text, (void)unscheduled;
	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += LIMIT_S;
	sem_post(&begun);
	timed_out = sem_timedwait(&launched, &limit);
}

static void a_launch_does_not_wait_for_a_message(void **state)
{
	static const struct gp__queue_ops ops;
	struct gp__request request = { .hints.prio = TOO_HIGH };
	const struct gp__queue_desc q = { .id = 1, .level = 3, .device = "gpu" };
	struct gp__agent_options options = { .program = "program", .say = block };
	struct gp__agent *agent;
	struct gp__port *port;
	struct rig rig;

	(void)state;
	sem_init(&begun, 0, 0);
	sem_init(&launched, 0, 0);
	rig_up(&rig, NULL);
	options.path = rig.socket;
	assert_int_equal(gp__agent_create(&options, &agent), 0);
	port = gp__agent_open(agent, &request, &ops);
	assert_non_null(port);
	assert_int_equal(gp__port_add(port, &q), 0);
	sem_wait(&begun);
	gp__port_work(port, 1, true, 1, gp__clock_ns());
	sem_post(&launched);
	gp__agent_destroy(agent);
	assert_false(timed_out);
	rig_down(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_launch_does_not_wait_for_a_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
