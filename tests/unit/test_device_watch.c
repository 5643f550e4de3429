// SPDX-License-Identifier: MIT
/* The agent and a backend's monitor know the same queues, and the levels that backends offer. */
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "device/kfd/can.h"
#include "device/level.h"
#include "device/watch.h"

static struct {
	struct gp__port port;
	struct gp__request request;
	struct gp__watch watch;
	char calls[256]; /* in the order made, as words */
	bool cannot_create;
	int monitor; /* its address is the monitor's */
	char said[256];
} t;

static void note(const char *fmt, ...)
{
	size_t at = strlen(t.calls);
	va_list args;

	va_start(args, fmt);
	vsnprintf(t.calls + at, sizeof(t.calls) - at, fmt, args);
	va_end(args);
}

static int add_to_agent(struct gp__port *port, const struct gp__queue_desc *queue)
{
	(void)port;
	note("agent %u, ", queue->id);
	return queue->id == 13 ? -ENOMEM : 0;
}

static void remove_from_agent(struct gp__port *port, u32 id)
{
	(void)port;
	note("agent forgets %u, ", id);
}

static void say(struct gp__port *port, const char *text, bool unscheduled)
{
	(void)port, (void)unscheduled;
	snprintf(t.said, sizeof(t.said), "%s", text);
}

static void *create(void *state)
{
	assert_ptr_equal(state, &t);
	note("create, ");
	return t.cannot_create ? NULL : &t.monitor;
}

static int add(void *state, void *monitor, const void *queue)
{
	assert_ptr_equal(state, &t);
	assert_ptr_equal(monitor, &t.monitor);
	note("monitor %s, ", (const char *)queue);
	return strcmp(queue, "bad") ? 0 : -ENOMEM;
}

static void hold(void *monitor, u32 id, bool held)
{
	assert_ptr_equal(monitor, &t.monitor);
	note("%s %u, ", held ? "hold" : "release", id);
}

static void calm(void *monitor, bool is_calm)
{
	assert_ptr_equal(monitor, &t.monitor);
	note("%s, ", is_calm ? "calm" : "shared");
}

static int begin(void **state)
{
	static const struct gp__port_ops port_ops = { .add = add_to_agent,
						      .remove = remove_from_agent,
						      .say = say };
	static const struct gp__watch_ops ops = { create, add, hold, calm };

	(void)state;
	memset(&t, 0, sizeof(t));
	t.port = (struct gp__port){ &port_ops, &t.request };
	gp__watch_init(&t.watch, &ops, &t, &t.port);
	return 0;
}

static int add_queue(u32 id)
{
	const struct gp__queue_desc desc = { .id = id };

	return gp__watch_add(&t.watch, &desc, "queue");
}

static void the_agent_knows_a_queue_before_the_monitor(void **state)
{
	(void)state;
	assert_null(gp__watch_monitor(&t.watch));
	assert_int_equal(add_queue(1), 0);
	assert_int_equal(add_queue(2), 0);
	assert_ptr_equal(gp__watch_monitor(&t.watch), &t.monitor);
	assert_string_equal(t.calls,
			    "create, shared, agent 1, monitor queue, agent 2, monitor queue, ");
}

static void a_queue_that_the_agent_refuses_is_not_monitored(void **state)
{
	(void)state;
	assert_int_equal(add_queue(13), -ENOMEM);
	assert_string_equal(t.calls, "create, shared, agent 13, ");
}

static void a_queue_that_cannot_be_monitored_leaves_the_agent(void **state)
{
	const struct gp__queue_desc desc = { .id = 5 };

	(void)state;
	assert_int_equal(gp__watch_add(&t.watch, &desc, "bad"), -ENOMEM);
	assert_string_equal(t.calls, "create, shared, agent 5, monitor bad, agent forgets 5, ");
}

static void without_a_monitor_the_agent_gets_no_queue(void **state)
{
	(void)state;
	t.cannot_create = true;
	assert_int_equal(add_queue(1), -ENOMEM);
	assert_string_equal(t.calls, "create, ");
	/* The next queue tries again. */
	t.cannot_create = false;
	assert_int_equal(add_queue(1), 0);
}

static void a_monitor_begins_as_calm_as_the_program_is(void **state)
{
	(void)state;
	gp__watch_set_calm(&t.watch, true);
	assert_string_equal(t.calls, "");
	add_queue(1);
	gp__watch_set_calm(&t.watch, false);
	assert_string_equal(t.calls, "create, calm, agent 1, monitor queue, shared, ");
}

static void only_queues_that_run_are_released(void **state)
{
	const u32 ids[] = { 1, 2, 3 };
	const int results[] = { 0, -EIO, -ENOENT };

	(void)state;
	add_queue(1);
	t.calls[0] = '\0';
	gp__watch_hold(&t.watch, ids, 3);
	gp__watch_hold_done(&t.watch, ids, results, 3);
	assert_string_equal(t.calls, "hold 1, hold 2, hold 3, release 2, release 3, ");
	t.calls[0] = '\0';
	gp__watch_release_done(&t.watch, ids, results, 3);
	assert_string_equal(t.calls, "release 1, ");
}

/* After a fork() the child may still get an order for a queue of its parent. */
static void orders_without_a_monitor_do_nothing(void **state)
{
	const u32 id = 1;
	const int result = -ENOENT;

	(void)state;
	gp__watch_hold(&t.watch, &id, 1);
	gp__watch_hold_done(&t.watch, &id, &result, 1);
	assert_string_equal(t.calls, "");
}

static void a_level_is_said_where_it_is_not_the_requested_one(void **state)
{
	(void)state;
	assert_false(gp__port_say_level(&t.port, 3, "never"));
	t.request.level = 3;
	assert_false(gp__port_say_level(&t.port, 3, "never"));
	assert_string_equal(t.said, "");
	t.request.level = 1;
	assert_int_equal(gp__port_level(&t.port, GP__HAS_LEVEL(2) | GP__HAS_LEVEL(3)), 2);
	assert_true(gp__port_say_level(&t.port, 2, "the GPU is too old"));
	assert_string_equal(t.said, "level 1 is not available: the GPU is too old; using level 2");
}

static void amdkfd_offers_levels_by_cwsr_and_series(void **state)
{
	const u32 save = 1u << GP_KFD_PREEMPT_SAVE, drain = 1u << GP_KFD_PREEMPT_DRAIN;
	const u32 level2 = GP__HAS_LEVEL(2), level3 = GP__HAS_LEVEL(3);
	const struct {
		bool cwsr;
		u32 version, types, levels;
	} cases[] = {
		{ true, 0, 0, level3 },
		{ true, 1, save, level3 }, /* a scheduler that cannot drain */
		{ true, 1, save | drain, level2 | level3 },
		{ true, 0, save | drain, level3 }, /* not the series */
		{ false, 0, 0, level2 },
		{ false, 1, drain, level2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct gp_kfd_preempt_query series = { .version = cases[i].version,
							     .types = cases[i].types };

		assert_int_equal(gp__kfd_levels(cases[i].cwsr, &series), cases[i].levels);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_agent_knows_a_queue_before_the_monitor, begin),
		cmocka_unit_test_setup(a_queue_that_the_agent_refuses_is_not_monitored, begin),
		cmocka_unit_test_setup(a_queue_that_cannot_be_monitored_leaves_the_agent, begin),
		cmocka_unit_test_setup(without_a_monitor_the_agent_gets_no_queue, begin),
		cmocka_unit_test_setup(a_monitor_begins_as_calm_as_the_program_is, begin),
		cmocka_unit_test_setup(only_queues_that_run_are_released, begin),
		cmocka_unit_test_setup(orders_without_a_monitor_do_nothing, begin),
		cmocka_unit_test_setup(a_level_is_said_where_it_is_not_the_requested_one, begin),
		cmocka_unit_test_setup(amdkfd_offers_levels_by_cwsr_and_series, begin),
	};

	return cmocka_run_group_tests_name("watched queues", tests, NULL, NULL);
}
