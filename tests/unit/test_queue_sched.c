// SPDX-License-Identifier: MIT
/* Queues of one process under the in-process scheduler, on the fake device. */
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <gpreempt/gpreempt.h>

#include "base/clock.h"
#include "queue/fakedev.h"
#include "sim/replay.h"

#define S 1000000000ll
#define QUEUES 4

struct rig {
	struct gp__fakedev *dev;
	struct gp_sched *sched;
	struct gp__fakeq *hwq[QUEUES];
	struct gp_queue *q[QUEUES];
	unsigned int n;
};

static void rig_up(struct rig *r, const char *policy, const char *params)
{
	struct gp_sched_options opt = GP_SCHED_OPTIONS_INIT;
	struct gp_error err;

	memset(r, 0, sizeof(*r));
	opt.policy = policy;
	opt.params = params;
	assert_int_equal(gp__fakedev_create(1 * GP__MS, &r->dev), 0);
	if (gp_sched_create(&opt, &r->sched, &err))
		fail_msg("%s", err.message);
}

static unsigned int add_queue(struct rig *r, int priority, int level, const char *tag)
{
	struct gp_device_ops ops = gp__fakedev_ops(level, true);
	struct gp_queue_options opt = GP_QUEUE_OPTIONS_INIT;
	struct gp_error err;
	unsigned int i = r->n++;

	opt.sched = r->sched;
	opt.priority = priority;
	opt.tag = tag;
	r->hwq[i] = gp__fakeq_create(r->dev);
	if (gp_queue_create(&ops, r->hwq[i], &opt, &r->q[i], &err))
		fail_msg("%s", err.message);
	return i;
}

static void rig_down(struct rig *r)
{
	uint64_t wrong = 0;
	unsigned int i;

	for (i = 0; i < r->n; i++) {
		gp_queue_destroy(r->q[i]);
		wrong += gp__fakeq_report(r->hwq[i]).wrong;
		gp__fakeq_destroy(r->hwq[i]);
	}
	assert_int_equal(gp_sched_destroy(r->sched), 0);
	gp__fakedev_destroy(r->dev);
	assert_int_equal(wrong, 0);
}

static int state_of(struct gp_queue *q)
{
	struct gp_queue_stats st = GP_QUEUE_STATS_INIT;

	gp_queue_stats(q, &st);
	return st.state;
}

/* In the end, the queue is in that state. */
static void comes_to(struct gp_queue *q, int state)
{
	unsigned int i;

	for (i = 0; i < 20000 && state_of(q) != state; i++)
		gp__sleep_ns(1 * GP__MS);
	assert_int_equal(state_of(q), state);
}

/* The first command of a queue that runs without end comes to its end. */
static void finish(struct rig *r, unsigned int i)
{
	gp__fakeq_finish(r->hwq[i]);
	assert_int_equal(gp_queue_wait(r->q[i], 1, 30 * S), 0);
}

static void test_urgent_work_holds_and_releases(void **state)
{
	struct gp__fakecmd offline = { .run_ns = GP__FAKE_ENDLESS };
	struct gp__fakecmd online = { .run_ns = GP__FAKE_ENDLESS };
	unsigned int lo, hi;
	struct rig r;

	(void)state;
	rig_up(&r, "hpf", "linger_us=0");
	lo = add_queue(&r, GP_PRIORITY_OFFLINE, 3, NULL);
	hi = add_queue(&r, GP_PRIORITY_ONLINE, 3, NULL);
	gp_queue_submit(r.q[lo], &offline, NULL);
	gp_queue_submit(r.q[hi], &online, NULL);
	comes_to(r.q[lo], GP_QUEUE_SUSPENDED);
	assert_false(gp__fakeq_runs(r.hwq[lo]));
	finish(&r, hi);
	comes_to(r.q[lo], GP_QUEUE_RUNNING);
	finish(&r, lo);
	assert_int_equal(gp__fakeq_report(r.hwq[lo]).calls[GP__FAKE_INTERRUPT], 1);
	assert_int_equal(gp__fakeq_report(r.hwq[lo]).calls[GP__FAKE_RESTORE], 1);
	rig_down(&r);
}

/* Not one command of it slips through, although it is submitted to an idle queue. */
static void test_less_urgent_work_does_not_start(void **state)
{
	struct gp__fakecmd online = { .run_ns = GP__FAKE_ENDLESS }, offline = { .run_ns = 0 };
	unsigned int lo, hi;
	struct rig r;

	(void)state;
	rig_up(&r, "hpf", "linger_us=0");
	lo = add_queue(&r, GP_PRIORITY_OFFLINE, 1, NULL);
	hi = add_queue(&r, GP_PRIORITY_ONLINE, 1, NULL);
	gp_queue_submit(r.q[hi], &online, NULL);
	gp_queue_submit(r.q[lo], &offline, NULL);
	assert_int_equal(gp__fakeq_report(r.hwq[lo]).calls[GP__FAKE_NLAUNCH], 0);
	finish(&r, hi);
	assert_int_equal(gp_queue_wait(r.q[lo], 1, 30 * S), 0);
	assert_true(offline.ended_at >= online.ended_at);
	rig_down(&r);
}

static void test_equals_run_together(void **state)
{
	struct gp__fakecmd a = { .run_ns = 20 * GP__MS }, b = { .run_ns = 20 * GP__MS };
	struct rig r;

	(void)state;
	rig_up(&r, "hpf", NULL);
	add_queue(&r, 7, 3, NULL);
	add_queue(&r, 7, 3, "other");
	gp_queue_submit(r.q[0], &a, NULL);
	gp_queue_submit(r.q[1], &b, NULL);
	assert_int_equal(gp_queue_wait(r.q[0], 1, -1), 0);
	assert_int_equal(gp_queue_wait(r.q[1], 1, -1), 0);
	assert_int_equal(gp__fakeq_report(r.hwq[0]).calls[GP__FAKE_INTERRUPT], 0);
	assert_int_equal(gp__fakeq_report(r.hwq[1]).calls[GP__FAKE_INTERRUPT], 0);
	rig_down(&r);
}

static void test_devices_do_not_compete(void **state)
{
	struct gp_device_ops ops = gp__fakedev_ops(3, true);
	struct gp_queue_options opt = GP_QUEUE_OPTIONS_INIT;
	struct gp__fakecmd a = { .run_ns = 20 * GP__MS }, b = { .run_ns = GP__FAKE_ENDLESS };
	struct rig r;

	(void)state;
	rig_up(&r, "hpf", NULL);
	add_queue(&r, 2, 3, NULL);
	opt.sched = r.sched;
	opt.priority = 15;
	opt.device = 1;
	r.hwq[1] = gp__fakeq_create(r.dev);
	assert_int_equal(gp_queue_create(&ops, r.hwq[1], &opt, &r.q[1], NULL), 0);
	r.n = 2;
	gp_queue_submit(r.q[1], &b, NULL);
	gp_queue_submit(r.q[0], &a, NULL);
	assert_int_equal(gp_queue_wait(r.q[0], 1, -1), 0);
	assert_int_equal(gp__fakeq_report(r.hwq[0]).calls[GP__FAKE_INTERRUPT], 0);
	finish(&r, 1);
	rig_down(&r);
}

/* The roles change while both have work, and change back. */
static void test_priority_changes_while_held(void **state)
{
	struct gp__fakecmd a = { .run_ns = GP__FAKE_ENDLESS }, b = { .run_ns = GP__FAKE_ENDLESS };
	struct rig r;

	(void)state;
	rig_up(&r, "hpf", "linger_us=0 switch_burst=100");
	add_queue(&r, 2, 3, NULL);
	add_queue(&r, 15, 3, NULL);
	gp_queue_submit(r.q[0], &a, NULL);
	gp_queue_submit(r.q[1], &b, NULL);
	comes_to(r.q[0], GP_QUEUE_SUSPENDED);
	assert_int_equal(gp_queue_hint(r.q[0], GP_HINT_PRIORITY, 20, NULL), 0);
	comes_to(r.q[1], GP_QUEUE_SUSPENDED);
	comes_to(r.q[0], GP_QUEUE_RUNNING);
	assert_int_equal(gp_queue_hint(r.q[0], GP_HINT_PRIORITY, 15, NULL), 0);
	comes_to(r.q[1], GP_QUEUE_RUNNING);
	comes_to(r.q[0], GP_QUEUE_RUNNING);
	assert_int_equal(gp_queue_hint(r.q[0], GP_HINT_PRIORITY, 2, NULL), 0);
	comes_to(r.q[0], GP_QUEUE_SUSPENDED);
	finish(&r, 1);
	finish(&r, 0);
	rig_down(&r);
}

/* A queue that the program suspended stays suspended, whatever the scheduler decides. */
static void test_users_hold_and_schedulers_hold(void **state)
{
	struct gp__fakecmd a = { .run_ns = GP__FAKE_ENDLESS }, b = { .run_ns = GP__FAKE_ENDLESS };
	struct rig r;

	(void)state;
	rig_up(&r, "hpf", "linger_us=0");
	add_queue(&r, 2, 3, NULL);
	add_queue(&r, 15, 3, NULL);
	gp_queue_submit(r.q[0], &a, NULL);
	assert_int_equal(gp_queue_suspend(r.q[0], 0, -1, NULL, NULL), 0);
	gp_queue_submit(r.q[1], &b, NULL);
	finish(&r, 1);
	gp__sleep_ns(10 * GP__MS);
	assert_int_equal(state_of(r.q[0]), GP_QUEUE_SUSPENDED);
	assert_int_equal(gp_queue_resume(r.q[0], NULL), 0);
	finish(&r, 0);
	rig_down(&r);
}

static void test_arriving_makes_room(void **state)
{
	struct gp__fakecmd a = { .run_ns = GP__FAKE_ENDLESS }, b = { .run_ns = 0 };
	uint64_t before, lead;
	struct rig r;

	(void)state;
	rig_up(&r, "hpf", "linger_us=0 arrive_grace_ms=10000");
	add_queue(&r, 2, 3, NULL);
	add_queue(&r, 15, 3, NULL);
	gp_queue_submit(r.q[0], &a, NULL);
	/* Before the first hold it is that of a slow device. */
	assert_int_equal(gp_hint_lead_time(r.q[1], &before), 0);
	assert_int_equal(before, 2 * GP__MS);
	gp_hint_arriving(r.q[1], gp__clock_ns() + 5 * GP__MS);
	comes_to(r.q[0], GP_QUEUE_SUSPENDED);
	gp_queue_submit(r.q[1], &b, NULL);
	assert_int_equal(gp_queue_wait(r.q[1], 1, -1), 0);
	comes_to(r.q[0], GP_QUEUE_RUNNING);
	assert_int_equal(gp_hint_lead_time(r.q[1], &lead), 0);
	assert_true(lead && lead != before);
	/* Nor is it waited for when it is over without having come. */
	gp_hint_arriving(r.q[1], 0);
	comes_to(r.q[0], GP_QUEUE_SUSPENDED);
	gp_hint_over(r.q[1]);
	comes_to(r.q[0], GP_QUEUE_RUNNING);
	finish(&r, 0);
	rig_down(&r);
}

static atomic_uint weighed;

static int weigh(void *hwq, uint32_t weight)
{
	(void)hwq;
	atomic_store(&weighed, weight);
	return 0;
}

static void test_weights_reach_the_device(void **state)
{
	struct gp_device_ops ops = gp__fakedev_ops(3, true);
	struct gp_queue_options opt = GP_QUEUE_OPTIONS_INIT;
	struct gp__fakecmd a = { .run_ns = 0 };
	unsigned int i;
	struct rig r;

	(void)state;
	rig_up(&r, "share", "by_weight=1");
	ops.weigh = weigh;
	opt.sched = r.sched;
	r.hwq[0] = gp__fakeq_create(r.dev);
	assert_int_equal(gp_queue_create(&ops, r.hwq[0], &opt, &r.q[0], NULL), 0);
	r.n = 1;
	assert_int_equal(gp_queue_hint(r.q[0], GP_HINT_SHARE, 30, NULL), 0);
	for (i = 0; i < 20000 && atomic_load(&weighed) != 30; i++)
		gp__sleep_ns(1 * GP__MS);
	assert_int_equal(atomic_load(&weighed), 30);
	gp_queue_submit(r.q[0], &a, NULL);
	assert_int_equal(gp_queue_wait(r.q[0], 1, -1), 0);
	rig_down(&r);
}

struct memory_log {
	bool has_device, has_hint;
};

static void note_memory(void *data, const char *line)
{
	struct memory_log *l = data;

	l->has_device |= strstr(line, "device-add") && strstr(line, "memory=1073741824");
	l->has_hint |= strstr(line, " hint ") && strstr(line, "memory=805306368");
}

/* The scheduler compares it with the device's memory, so without that it is refused. */
static void test_the_memory_hint_has_an_effect_or_is_refused(void **state)
{
	struct gp_sched_options so = GP_SCHED_OPTIONS_INIT;
	struct gp_device_ops ops = gp__fakedev_ops(3, true);
	struct gp_queue_options opt = GP_QUEUE_OPTIONS_INIT;
	struct gp__fakeq *hwq, *other;
	struct memory_log seen = { 0 };
	struct gp__fakedev *dev;
	struct gp_queue *q, *r;
	struct gp_error err;

	(void)state;
	assert_int_equal(gp__fakedev_create(1 * GP__MS, &dev), 0);
	hwq = gp__fakeq_create(dev);
	other = gp__fakeq_create(dev);
	so.policy = "drf";
	so.log = note_memory;
	so.log_data = &seen;
	assert_int_equal(gp_sched_create(&so, &opt.sched, NULL), 0);
	opt.device = 3;
	assert_int_equal(gp_queue_create(&ops, hwq, &opt, &q, NULL), 0);
	assert_int_equal(gp_queue_hint(q, GP_HINT_MEMORY, 3 << 28, &err), -EOPNOTSUPP);
	assert_string_equal(err.message,
			    "GP_HINT_MEMORY has no effect on device 3, whose memory is not known; "
			    "set device_memory in the options of its first queue");
	assert_int_equal(gp_queue_hint(q, GP_HINT_MEMORY, 0, NULL), 0);
	opt.device = 4;
	opt.device_memory = 1 << 30;
	assert_int_equal(gp_queue_create(&ops, other, &opt, &r, NULL), 0);
	assert_int_equal(gp_queue_hint(r, GP_HINT_MEMORY, 3 << 28, &err), 0);
	gp_queue_destroy(r);
	gp_queue_destroy(q);
	assert_int_equal(gp_sched_destroy(opt.sched), 0);
	assert_true(seen.has_device);
	assert_true(seen.has_hint);
	gp__fakeq_destroy(hwq);
	gp__fakeq_destroy(other);
	gp__fakedev_destroy(dev);
}

static void test_policy_changes_at_run_time(void **state)
{
	struct gp__fakecmd a = { .run_ns = GP__FAKE_ENDLESS }, b = { .run_ns = GP__FAKE_ENDLESS };
	struct gp_error err;
	struct rig r;

	(void)state;
	rig_up(&r, "hpf", "linger_us=0 switch_burst=100");
	add_queue(&r, 2, 3, NULL);
	add_queue(&r, 15, 3, NULL);
	gp_queue_submit(r.q[0], &a, NULL);
	gp_queue_submit(r.q[1], &b, NULL);
	comes_to(r.q[0], GP_QUEUE_SUSPENDED);
	assert_int_equal(gp_sched_set_policy(r.sched, "lottery", NULL, &err), -ENOENT);
	assert_int_equal(gp_sched_set_policy(r.sched, "none", "linger_us=1 no=1", &err), -EINVAL);
	assert_int_equal(gp_sched_set_policy(r.sched, "none", "tries=1000", &err), -ERANGE);
	assert_int_equal(state_of(r.q[0]), GP_QUEUE_SUSPENDED);
	assert_int_equal(gp_sched_set_policy(r.sched, "none", NULL, &err), 0);
	comes_to(r.q[0], GP_QUEUE_RUNNING);
	assert_int_equal(gp_sched_set_policy(r.sched, "hpf", NULL, &err), 0);
	comes_to(r.q[0], GP_QUEUE_SUSPENDED);
	finish(&r, 1);
	finish(&r, 0);
	rig_down(&r);
}

static void write_line(void *data, const char *line)
{
	fputs(line, data);
}

/* A recorded run can be replayed: the same events give the same actions. */
static void test_log_replays(void **state)
{
	struct gp__fakecmd a = { .run_ns = GP__FAKE_ENDLESS }, b = { .run_ns = GP__FAKE_ENDLESS };
	struct gp_sched_options opt = GP_SCHED_OPTIONS_INIT;
	struct gp__replay_result result;
	struct gp__replay_error bad;
	char *text = NULL;
	size_t size;
	FILE *log = open_memstream(&text, &size);
	struct rig r;

	(void)state;
	memset(&r, 0, sizeof(r));
	opt.params = "linger_us=0";
	opt.log = write_line;
	opt.log_data = log;
	assert_int_equal(gp__fakedev_create(1 * GP__MS, &r.dev), 0);
	assert_int_equal(gp_sched_create(&opt, &r.sched, NULL), 0);
	add_queue(&r, 2, 3, "some");
	add_queue(&r, 15, 3, NULL);
	gp_queue_submit(r.q[0], &a, NULL);
	gp_queue_submit(r.q[1], &b, NULL);
	comes_to(r.q[0], GP_QUEUE_SUSPENDED);
	assert_int_equal(gp_queue_hint(r.q[0], GP_HINT_PRIORITY, 15, NULL), 0);
	comes_to(r.q[0], GP_QUEUE_RUNNING);
	assert_int_equal(gp_sched_set_policy(r.sched, "fair", "switches_per_s=50", NULL), 0);
	finish(&r, 1);
	finish(&r, 0);
	rig_down(&r);
	fclose(log);

	log = fmemopen(text, size, "r");
	if (gp__replay(log, NULL, &result, &bad))
		fail_msg("line %llu: %s", (unsigned long long)bad.line, bad.text);
	fclose(log);
	free(text);
	if (result.differs_at)
		fail_msg("logged '%s', replayed '%s'", result.logged, result.replayed);
	assert_true(result.actions >= 2);
}

/* A device function that does not return before the test says so. */
static struct {
	atomic_bool entered, open;
} gate;

static void gate_shut(void)
{
	atomic_store(&gate.entered, false);
	atomic_store(&gate.open, false);
}

static void gate_pass(void)
{
	atomic_store(&gate.entered, true);
	while (!atomic_load(&gate.open))
		gp__sleep_ns(100 * GP__US);
}

static void gate_await(void)
{
	while (!atomic_load(&gate.entered))
		gp__sleep_ns(100 * GP__US);
}

static int weigh_at_gate(void *hwq, uint32_t weight)
{
	gate_pass();
	return weigh(hwq, weight);
}

static int interrupt_at_gate(void *hwq)
{
	gate_pass();
	return gp__fakedev_ops(3, true).interrupt(hwq);
}

static unsigned int add_custom(struct rig *r, const struct gp_device_ops *ops, int priority,
			       uint32_t device)
{
	struct gp_queue_options opt = GP_QUEUE_OPTIONS_INIT;
	unsigned int i = r->n++;

	opt.sched = r->sched;
	opt.priority = priority;
	opt.device = device;
	r->hwq[i] = gp__fakeq_create(r->dev);
	assert_int_equal(gp_queue_create(ops, r->hwq[i], &opt, &r->q[i], NULL), 0);
	return i;
}

/* The queue changes its group while a stale weight is on its way. */
static void test_weight_does_not_outlive_its_group(void **state)
{
	struct gp_device_ops ops = gp__fakedev_ops(3, true);
	unsigned int i;
	struct rig r;

	(void)state;
	gate_shut();
	rig_up(&r, "share", "by_weight=1");
	ops.weigh = weigh_at_gate;
	add_custom(&r, &ops, 7, 0);
	gate_await();
	assert_int_equal(gp_sched_set_policy(r.sched, "hpf", NULL, NULL), 0);
	assert_int_equal(gp_queue_hint(r.q[0], GP_HINT_PRIORITY, 8, NULL), 0);
	atomic_store(&weighed, 1000);
	atomic_store(&gate.open, true);
	for (i = 0; i < 2000 && atomic_load(&weighed) != 0; i++)
		gp__sleep_ns(1 * GP__MS);
	assert_int_equal(atomic_load(&weighed), 0);
	rig_down(&r);
}

/* ... or while it is being stopped for a policy that is gone, and then is weighed. */
static void test_hold_does_not_outlive_its_group(void **state)
{
	struct gp__fakecmd a = { .run_ns = GP__FAKE_ENDLESS }, b = { .run_ns = GP__FAKE_ENDLESS };
	struct gp_device_ops ops = gp__fakedev_ops(3, true);
	struct rig r;

	(void)state;
	gate_shut();
	rig_up(&r, "hpf", "linger_us=0");
	ops.weigh = weigh;
	ops.interrupt = interrupt_at_gate;
	add_custom(&r, &ops, 2, 0);
	add_queue(&r, 15, 3, NULL);
	gp_queue_submit(r.q[0], &a, NULL);
	gp_queue_submit(r.q[1], &b, NULL);
	gate_await();
	assert_int_equal(gp_sched_set_policy(r.sched, "share", "by_weight=1", NULL), 0);
	assert_int_equal(gp_queue_hint(r.q[0], GP_HINT_PRIORITY, 8, NULL), 0);
	atomic_store(&gate.open, true);
	finish(&r, 0);
	finish(&r, 1);
	rig_down(&r);
}

/* A device hangs in an action: the other queues are still scheduled. */
static void test_verb_that_hangs(void **state)
{
	struct gp__fakecmd c[4] = { { .run_ns = GP__FAKE_ENDLESS },
				    { .run_ns = GP__FAKE_ENDLESS },
				    { .run_ns = GP__FAKE_ENDLESS },
				    { .run_ns = GP__FAKE_ENDLESS } };
	struct gp_device_ops ops = gp__fakedev_ops(3, true), stuck = ops;
	struct rig r;
	unsigned int i;

	(void)state;
	gate_shut();
	rig_up(&r, "hpf", "linger_us=0 ack_timeout_ms=10");
	stuck.interrupt = interrupt_at_gate;
	add_custom(&r, &stuck, 2, 0);
	add_custom(&r, &ops, 15, 0);
	add_custom(&r, &ops, 2, 1);
	add_custom(&r, &ops, 15, 1);
	gp_queue_submit(r.q[0], &c[0], NULL);
	gp_queue_submit(r.q[1], &c[1], NULL);
	gate_await();
	gp__sleep_ns(20 * GP__MS);
	gp_queue_submit(r.q[2], &c[2], NULL);
	gp_queue_submit(r.q[3], &c[3], NULL);
	for (i = 0; i < 5000 && state_of(r.q[2]) != GP_QUEUE_SUSPENDED; i++)
		gp__sleep_ns(1 * GP__MS);
	i = (unsigned int)state_of(r.q[2]);
	atomic_store(&gate.open, true);
	assert_int_equal(i, GP_QUEUE_SUSPENDED);
	finish(&r, 3);
	finish(&r, 2);
	finish(&r, 1);
	finish(&r, 0);
	rig_down(&r);
}

static void *finish_first(void *arg)
{
	struct rig *r = arg;

	gp__sleep_ns(20 * GP__MS);
	gp__fakeq_finish(r->hwq[0]);
	return NULL;
}

static void test_destroy_a_held_queue(void **state)
{
	struct gp__fakecmd a = { .run_ns = GP__FAKE_ENDLESS }, b = { .run_ns = GP__FAKE_ENDLESS };
	pthread_t finisher;
	struct rig r;

	(void)state;
	rig_up(&r, "hpf", "linger_us=0");
	add_queue(&r, 2, 3, NULL);
	add_queue(&r, 15, 3, NULL);
	gp_queue_submit(r.q[0], &a, NULL);
	gp_queue_submit(r.q[1], &b, NULL);
	comes_to(r.q[0], GP_QUEUE_SUSPENDED);
	assert_int_equal(gp_sched_destroy(r.sched), -EBUSY);
	pthread_create(&finisher, NULL, finish_first, &r);
	gp_queue_destroy(r.q[0]);
	r.q[0] = NULL;
	pthread_join(finisher, NULL);
	assert_int_equal(a.state, GP__FAKECMD_ENDED);
	finish(&r, 1);
	rig_down(&r);
}

static void *nothing(void *arg)
{
	return arg;
}

static void stack_default(size_t size)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, size);
	pthread_setattr_default_np(&attr);
	pthread_attr_destroy(&attr);
}

/* Queues cannot get their workers: who waits does it all. */
static void test_no_more_threads(void **state)
{
	struct gp__fakecmd a = { .run_ns = 0 }, b = { .run_ns = GP__FAKE_ENDLESS };
	pthread_t thread;
	struct rig r;
	bool refused;

	(void)state;
	rig_up(&r, "hpf", "linger_us=0");
	add_queue(&r, 2, 3, NULL);
	add_queue(&r, 15, 3, NULL);
	stack_default((size_t)1 << 48); /* more than arm64 has addresses for, and x86-64, too */
	refused = pthread_create(&thread, NULL, nothing, NULL) != 0;
	if (!refused)
		pthread_join(thread, NULL);
	gp_queue_submit(r.q[1], &b, NULL);
	gp_queue_submit(r.q[0], &a, NULL);
	gp__fakeq_finish(r.hwq[1]);
	assert_int_equal(gp_queue_wait(r.q[1], 1, -1), 0);
	assert_int_equal(gp_queue_wait(r.q[0], 1, -1), 0);
	rig_down(&r);
	stack_default((size_t)8 << 20);
	if (!refused) {
		print_message("threads start whatever their stacks\n");
		skip();
	}
}

static atomic_uint handled;

static void on_signal(int sig)
{
	(void)sig;
	atomic_fetch_add(&handled, 1);
}

/* Signals are the program's: the library's threads, awake or not, take none. */
static void test_threads_leave_signals_alone(void **state)
{
	const struct timespec limit = { .tv_sec = 30 };
	struct gp__fakecmd a = { .run_ns = 0 };
	struct sigaction act = { .sa_handler = on_signal };
	sigset_t usr1;
	struct rig r;

	(void)state;
	sigaction(SIGUSR1, &act, NULL);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	/* The device's thread is not the library's, and is started without it. */
	pthread_sigmask(SIG_BLOCK, &usr1, NULL);
	rig_up(&r, "hpf", NULL);
	pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
	add_queue(&r, 7, 3, NULL);
	gp_queue_submit(r.q[0], &a, NULL);
	assert_int_equal(gp_queue_wait(r.q[0], 1, 30 * S), 0);
	pthread_sigmask(SIG_BLOCK, &usr1, NULL);
	kill(getpid(), SIGUSR1);
	assert_int_equal(sigtimedwait(&usr1, NULL, &limit), SIGUSR1);
	assert_int_equal(atomic_load(&handled), 0);
	pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
	rig_down(&r);
}

/* ------------------------------------------------------------- all at once -- */

struct stress {
	struct rig r;
	atomic_uint next;
	atomic_uint broken;
	struct gp__fakecmd cmds[QUEUES][400];
};

static void *stress_use(void *arg)
{
	struct stress *s = arg;
	unsigned int i, me = atomic_fetch_add(&s->next, 1);
	uint64_t ticket;

	for (i = 0; i < 400; i++) {
		s->cmds[me][i].run_ns = i % 5 ? 0 : 100 * GP__US;
		if (gp_queue_submit(s->r.q[me], &s->cmds[me][i], &ticket))
			atomic_fetch_add(&s->broken, 1);
		if (i % 50 == 49)
			gp_queue_hint(s->r.q[me], GP_HINT_PRIORITY, (int64_t)((i + me) % 4), NULL);
		if (i % 8 == me && gp_queue_wait(s->r.q[me], ticket, -1))
			atomic_fetch_add(&s->broken, 1);
		if (i % 97 == 13) {
			gp_queue_suspend(s->r.q[me], 0, -1, NULL, NULL);
			gp_queue_resume(s->r.q[me], NULL);
		}
	}
	if (gp_queue_wait_all(s->r.q[me], 30 * S))
		atomic_fetch_add(&s->broken, 1);
	return NULL;
}

static void test_stress(void **state)
{
	static const char *const policies[] = { "hpf", "fair" };
	pthread_t users[QUEUES];
	struct stress *s;
	unsigned int i, p;

	(void)state;
	for (p = 0; p < 2; p++) {
		s = calloc(1, sizeof(*s));
		assert_non_null(s);
		rig_up(&s->r, policies[p], "linger_us=0");
		for (i = 0; i < QUEUES; i++)
			add_queue(&s->r, (int)(1 + i), 1 + (int)i % 3, NULL);
		for (i = 0; i < QUEUES; i++)
			pthread_create(&users[i], NULL, stress_use, s);
		for (i = 0; i < QUEUES; i++)
			pthread_join(users[i], NULL);
		assert_int_equal(atomic_load(&s->broken), 0);
		for (i = 0; i < QUEUES; i++)
			assert_int_equal(gp__fakeq_report(s->r.hwq[i]).ran, 400);
		rig_down(&s->r);
		free(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_urgent_work_holds_and_releases),
		cmocka_unit_test(test_less_urgent_work_does_not_start),
		cmocka_unit_test(test_equals_run_together),
		cmocka_unit_test(test_devices_do_not_compete),
		cmocka_unit_test(test_priority_changes_while_held),
		cmocka_unit_test(test_users_hold_and_schedulers_hold),
		cmocka_unit_test(test_arriving_makes_room),
		cmocka_unit_test(test_weights_reach_the_device),
		cmocka_unit_test(test_the_memory_hint_has_an_effect_or_is_refused),
		cmocka_unit_test(test_policy_changes_at_run_time),
		cmocka_unit_test(test_log_replays),
		cmocka_unit_test(test_weight_does_not_outlive_its_group),
		cmocka_unit_test(test_hold_does_not_outlive_its_group),
		cmocka_unit_test(test_verb_that_hangs),
		cmocka_unit_test(test_destroy_a_held_queue),
		cmocka_unit_test(test_no_more_threads),
		cmocka_unit_test(test_threads_leave_signals_alone),
		cmocka_unit_test(test_stress),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
