// SPDX-License-Identifier: MIT
/* A daemon that is followed by another one: what it leaves behind, and what the next one finds. */
#include "two.h"

#include <errno.h>
#include <unistd.h>

#include "base/clock.h"

/* Ends the daemon while it holds the patient program. */
static void end_while_held(struct two *t, bool managed, int signal)
{
	two_up(t, NULL);
	preempt(t);
	t->rig.server.managed = managed;
	t->rig.ends_by = signal;
	rig_down(&t->rig);
}

static void leave(struct two *t)
{
	agent_leave(&t->offline);
	agent_leave(&t->online);
}

static void expect_goodbye(bool managed, int signal)
{
	struct two t;

	end_while_held(&t, managed, signal);
	assert_true(atomic_load(&t.offline.client.order->goodbye));
	assert_true(atomic_load(&t.online.client.order->goodbye));
	assert_int_equal(atomic_load(&t.offline.client.order->slot[0].until_ns), 0);
	leave(&t);
}

static void a_daemon_that_ends_says_goodbye(void **state)
{
	(void)state;
	expect_goodbye(false, SIGTERM);
	expect_goodbye(false, SIGINT);
	expect_goodbye(true, SIGINT);
}

static void a_daemon_that_may_be_restarted_leaves_holds_for_a_second(void **state)
{
	struct two t;
	u64 before = gp__clock_ns(), until;

	(void)state;
	end_while_held(&t, true, SIGTERM);
	assert_false(atomic_load(&t.offline.client.order->goodbye));
	until = atomic_load(&t.offline.client.order->slot[0].until_ns);
	assert_true(until > before && until <= gp__clock_ns() + GP__S);
	assert_int_equal(agent_order(&t.offline, 0), GP__WIRE_HOLD);
	leave(&t);
}

static u32 add_held(struct agent *a, s32 prio)
{
	struct gp__wire_queue_add q = queue_of(prio, "gpu-a", "");

	q.flags = GP__WIRE_HELD;
	return agent_add(a, &q);
}

static void begin(struct two *t)
{
	rig_up(&t->rig, NULL);
	agent_join(&t->rig, &t->offline, "train");
	agent_join(&t->rig, &t->online, "serve");
}

static bool was_ordered(struct agent *a)
{
	return atomic_load(&a->client.order->slot[0].order);
}

/* A queue that is held already gets an order as any other. */
static void a_kept_hold_is_taken_over(void **state)
{
	struct two t;

	(void)state;
	begin(&t);
	add_held(&t.offline, OFFLINE);
	agent_work(&t.offline, 0, true);
	rig_sync(&t.rig);
	assert_false(was_ordered(&t.offline));
	add(&t.online, ONLINE);
	agent_work(&t.online, 0, true);
	agent_obey(&t.offline, 0, GP__WIRE_HOLD);
	agent_work(&t.online, 0, false);
	agent_obey(&t.offline, 0, GP__WIRE_RELEASE);
	two_down(&t);
}

/* The GPU would be idle until the lease ends. */
static void a_kept_hold_of_the_program_that_is_to_run_ends(void **state)
{
	struct two t;

	(void)state;
	begin(&t);
	add_held(&t.online, ONLINE);
	agent_work(&t.online, 0, true);
	add(&t.offline, OFFLINE);
	agent_work(&t.offline, 0, true);
	agent_expect(&t.online, 0, GP__WIRE_RELEASE);
	agent_obey(&t.offline, 0, GP__WIRE_HOLD);
	/* Its acknowledgement is of no order of the core's. */
	agent_obey(&t.online, 0, GP__WIRE_RELEASE);
	agent_work(&t.online, 0, false);
	agent_obey(&t.offline, 0, GP__WIRE_RELEASE);
	two_down(&t);
}

static void a_kept_hold_goes_with_its_queue(void **state)
{
	struct gp__wire_queue_remove gone = { .head = { sizeof(gone), GP__WIRE_QUEUE_REMOVE, 0, 0,
							0 } };
	struct two t;

	(void)state;
	begin(&t);
	add_held(&t.online, ONLINE);
	assert_int_equal(gp__wire_client_request(&t.online.client, &gone, NULL), 0);
	t.online.nr_queues = 0;
	add(&t.online, ONLINE);
	add(&t.offline, OFFLINE);
	preempt(&t);
	assert_false(was_ordered(&t.online));
	two_down(&t);
}

/* The version that the daemon answers with, or the error. */
static int agree(struct rig *r, u32 version_min, u32 version_max)
{
	struct gp__wire_hello hello = { .head = { sizeof(hello), GP__WIRE_HELLO, 0, 1, 0 },
					.version_min = version_min,
					.version_max = version_max,
					.role = GP__WIRE_CONTROL };
	union {
		struct gp__wire_head head;
		struct gp__wire_welcome welcome;
		struct gp__wire_reply reply;
	} m;
	int fd = gp__wire_connect(r->socket);

	assert_true(fd >= 0);
	assert_int_equal(gp__wire_send(fd, &hello, NULL, 0), 0);
	assert_true(gp__wire_receive(fd, &m, sizeof(m), NULL, NULL) > 0);
	close(fd);
	return m.head.type == GP__WIRE_WELCOME ? (int)m.welcome.version : m.reply.result;
}

static void the_highest_version_that_both_speak_is_spoken(void **state)
{
	struct agent a;
	struct rig r;

	(void)state;
	rig_up(&r, NULL);
	assert_int_equal(agree(&r, 1, 1), 1);
	assert_int_equal(agree(&r, 1, 2), 2);
	assert_int_equal(agree(&r, 1, 3), 3);
	assert_int_equal(agree(&r, 1, 4), 4);
	assert_int_equal(agree(&r, 1, 9), 4);
	assert_int_equal(agree(&r, 2, 9), 4);
	assert_int_equal(agree(&r, 4, 9), 4);
	assert_int_equal(agree(&r, 5, 9), -EPROTONOSUPPORT);
	assert_int_equal(agree(&r, 0, 0), -EPROTONOSUPPORT);
	assert_int_equal(agree(&r, 2, 1), -EPROTONOSUPPORT);
	agent_join(&r, &a, "new");
	assert_int_equal(a.client.version, 4);
	agent_leave(&a);
	rig_down(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_daemon_that_ends_says_goodbye),
		cmocka_unit_test(a_daemon_that_may_be_restarted_leaves_holds_for_a_second),
		cmocka_unit_test(a_kept_hold_is_taken_over),
		cmocka_unit_test(a_kept_hold_of_the_program_that_is_to_run_ends),
		cmocka_unit_test(a_kept_hold_goes_with_its_queue),
		cmocka_unit_test(the_highest_version_that_both_speak_is_spoken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
