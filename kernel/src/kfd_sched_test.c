// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of the parts of the scheduler, as they are compiled here: the judge
 * of rings, with memory of a program and with what a program may do to it; the
 * core; and the thread of a device.
 */

#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/mman.h>
#include <linux/uaccess.h>

#include "kfd_fake.h"
#include "kfd_priv.h"
#include "kfd_sched.h"
#include "kfd_sched_internal.h"

#include "gpreempt/policy/policy.h"

#define RING_BYTES 1024
#define PACKET_BYTES 64
#define GPU_ID 0xfad0

static const struct gp__ring_patience patience = { 10, 1000, 10000, 100000 };

/*
 * Judging
 */

static enum gp__ring_event look(struct gp__ring *ring, u64 read, u64 write, int waves, u64 now)
{
	struct gp__ring_sight sight = {
		.is_running = true, .read = read, .write = write, .pending = write - read,
		.waves = waves,
	};

	return gp__ring_look(ring, &sight, &patience, now);
}

static enum gp__ring_event look_at_signal(struct gp__ring *ring, u64 index, s64 signal, u64 now)
{
	struct gp__ring_sight sight = {
		.is_running = true, .read = index, .write = index, .has_signal = true,
		.signal = signal, .before = GP__RING_BEFORE_DONE, .waves = -1,
	};

	return gp__ring_look(ring, &sight, &patience, now);
}

static void work_arrives_with_the_write_index(struct kunit *test)
{
	struct gp__ring ring = {};

	KUNIT_EXPECT_EQ(test, look(&ring, 0, 0, -1, 0), GP__RING_NOTHING);
	KUNIT_EXPECT_EQ(test, look(&ring, 0, 1, -1, 1), GP__RING_READY);
	KUNIT_EXPECT_EQ(test, look(&ring, 0, 2, -1, 2), GP__RING_NOTHING);
	KUNIT_EXPECT_TRUE(test, ring.is_busy);
}

static void consumed_is_not_done(struct kunit *test)
{
	struct gp__ring ring = {};

	look(&ring, 0, 1, -1, 0);
	KUNIT_EXPECT_EQ(test, look(&ring, 1, 1, -1, 10), GP__RING_NOTHING);
	KUNIT_EXPECT_EQ(test, look(&ring, 1, 1, -1, 10 + patience.blind_ns - 1), GP__RING_NOTHING);
	KUNIT_EXPECT_EQ(test, look(&ring, 1, 1, -1, 10 + patience.blind_ns), GP__RING_IDLE);
}

static void signal_that_fired_ends_it(struct kunit *test)
{
	struct gp__ring ring = {};

	look(&ring, 0, 1, -1, 0);
	KUNIT_EXPECT_EQ(test, look_at_signal(&ring, 1, 5, 1), GP__RING_NOTHING);
	KUNIT_EXPECT_EQ(test, look_at_signal(&ring, 1, 4, 2), GP__RING_IDLE);
}

static void signal_that_was_armed_again(struct kunit *test)
{
	struct gp__ring ring = {};

	KUNIT_EXPECT_EQ(test, look_at_signal(&ring, 1, 1, 0), GP__RING_READY);
	KUNIT_EXPECT_EQ(test, look_at_signal(&ring, 1, 1, patience.limit_ns - 1),
			GP__RING_NOTHING);
	KUNIT_EXPECT_EQ(test, look_at_signal(&ring, 1, 1, patience.limit_ns), GP__RING_IDLE);
}

static void write_index_without_a_doorbell(struct kunit *test)
{
	struct gp__ring ring = {};

	KUNIT_EXPECT_EQ(test, look(&ring, 3, 5, 0, 0), GP__RING_READY);
	KUNIT_EXPECT_EQ(test, look(&ring, 3, 6, 0, patience.doubt_ns - 1), GP__RING_NOTHING);
	KUNIT_EXPECT_EQ(test, look(&ring, 3, 7, 0, patience.doubt_ns), GP__RING_IDLE);
	KUNIT_EXPECT_EQ(test, look(&ring, 3, 8, 0, patience.doubt_ns + 1), GP__RING_NOTHING);
	KUNIT_EXPECT_EQ(test, look(&ring, 4, 8, 0, patience.doubt_ns + 2), GP__RING_READY);
}

/*
 * Reading, in a program's memory
 */

struct program {
	u64 rptr, wptr, pad[6];
	u64 signal[4];
	u8 ring[RING_BYTES] __aligned(RING_BYTES);
};

static struct program __user *start_program(struct kunit *test, struct queue_properties *p)
{
	struct program __user *program;
	unsigned long address;

	address = kunit_vm_mmap(test, NULL, 0, PAGE_ALIGN(sizeof(*program)),
				PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_PRIVATE, 0);
	KUNIT_ASSERT_NE(test, address, 0);
	program = (struct program __user *)address;
	KUNIT_ASSERT_EQ(test, clear_user(program, sizeof(*program)), 0);
	*p = (struct queue_properties){
		.format = KFD_QUEUE_FORMAT_AQL,
		.queue_address = (uintptr_t)program->ring,
		.queue_size = RING_BYTES,
		.read_ptr = &program->rptr,
		.write_ptr = &program->wptr,
	};
	return program;
}

static struct gp__ring_sight read_ring(const struct gp__ring *ring,
				       const struct queue_properties *p)
{
	const struct gp__ring_reader from = { .read = kfd_sched_read_user };
	const struct gp__ring_place place = kfd_sched_ring(p);
	struct gp__ring_reading reading;

	gp__ring_begin(&reading, ring, &place, true, true);
	gp__ring_read(&reading, &from);
	return reading.sight;
}

static void set_indices(struct kunit *test, struct program __user *program, u64 read, u64 write)
{
	KUNIT_EXPECT_EQ(test, put_user(read, &program->rptr), 0);
	KUNIT_EXPECT_EQ(test, put_user(write, &program->wptr), 0);
}

static void set_signal(struct kunit *test, struct program __user *program, int packet, u64 signal)
{
	u64 __user *at = (u64 __user *)(program->ring + packet * PACKET_BYTES + 56);

	KUNIT_EXPECT_EQ(test, put_user(signal, at), 0);
}

static void reads_indices_and_signal(struct kunit *test)
{
	const u64 round = RING_BYTES / PACKET_BYTES;
	struct gp__ring ring = { .is_busy = true, .done = round + 2 };
	struct queue_properties p;
	struct program __user *program = start_program(test, &p);
	struct gp__ring_sight sight = read_ring(&ring, &p);

	KUNIT_EXPECT_EQ(test, sight.error, 0);
	KUNIT_EXPECT_FALSE(test, sight.has_signal);

	/* The third packet after the ring has gone round once */
	set_signal(test, program, 2, (uintptr_t)program->signal);
	KUNIT_EXPECT_EQ(test, put_user(7ull, &program->signal[1]), 0);
	set_indices(test, program, round + 2, round + 3);
	sight = read_ring(&ring, &p);
	KUNIT_EXPECT_EQ(test, sight.pending, 1);
	KUNIT_EXPECT_FALSE(test, sight.has_signal);

	set_indices(test, program, round + 3, round + 3);
	sight = read_ring(&ring, &p);
	KUNIT_EXPECT_EQ(test, sight.pending, 0);
	KUNIT_EXPECT_TRUE(test, sight.has_signal);
	KUNIT_EXPECT_EQ(test, sight.signal, 7);
}

/* The first one runs on, as no barrier bit forbids. */
static void two_packets_without_a_barrier_bit(struct kunit *test)
{
	struct gp__ring ring = { .is_busy = true };
	struct queue_properties p;
	struct program __user *program = start_program(test, &p);
	struct gp__ring_sight sight;

	set_signal(test, program, 0, (uintptr_t)program->signal);
	set_signal(test, program, 1, (uintptr_t)&program->signal[2]);
	KUNIT_EXPECT_EQ(test, put_user(1ull, &program->signal[1]), 0);
	set_indices(test, program, 2, 2);
	sight = read_ring(&ring, &p);
	KUNIT_EXPECT_EQ(test, sight.signal, 0);
	KUNIT_EXPECT_EQ(test, gp__ring_look(&ring, &sight, &patience, 1), GP__RING_NOTHING);
	KUNIT_EXPECT_EQ(test, put_user(0ull, &program->signal[1]), 0);
	sight = read_ring(&ring, &p);
	KUNIT_EXPECT_EQ(test, gp__ring_look(&ring, &sight, &patience, 2), GP__RING_IDLE);
}

static void indices_that_no_queue_has(struct kunit *test)
{
	struct gp__ring ring = {};
	struct queue_properties p;
	struct program __user *program = start_program(test, &p);

	set_indices(test, program, 1, 0);
	KUNIT_EXPECT_EQ(test, read_ring(&ring, &p).error, -ERANGE);
	/* More than there is room for may be reserved. */
	set_indices(test, program, 1, 1000000);
	KUNIT_EXPECT_EQ(test, read_ring(&ring, &p).error, 0);
}

static void memory_that_is_not_there(struct kunit *test)
{
	struct gp__ring ring = { .is_busy = true };
	struct queue_properties p;
	struct program __user *program = start_program(test, &p);
	u64 kernel = 1;

	p.write_ptr = NULL;
	KUNIT_EXPECT_EQ(test, read_ring(&ring, &p).error, -EFAULT);
	p.write_ptr = (void __force __user *)&kernel;
	KUNIT_EXPECT_EQ(test, read_ring(&ring, &p).error, -EFAULT);
	p.write_ptr = &program->wptr;
	p.read_ptr = NULL;
	KUNIT_EXPECT_EQ(test, read_ring(&ring, &p).error, -EFAULT);

	/* A signal that is nowhere says nothing, and neither does a ring. */
	p.read_ptr = &program->rptr;
	set_indices(test, program, 1, 1);
	set_signal(test, program, 0, 16);
	KUNIT_EXPECT_EQ(test, read_ring(&ring, &p).error, 0);
	KUNIT_EXPECT_FALSE(test, read_ring(&ring, &p).has_signal);
	p.queue_address = 0;
	KUNIT_EXPECT_EQ(test, read_ring(&ring, &p).error, 0);
	KUNIT_EXPECT_FALSE(test, read_ring(&ring, &p).has_signal);
}

static void pm4_wraps(struct kunit *test)
{
	struct gp__ring ring = {};
	struct queue_properties p;
	struct program __user *program = start_program(test, &p);

	p.format = KFD_QUEUE_FORMAT_PM4;
	set_indices(test, program, RING_BYTES / 4 - 8ull, 8);
	KUNIT_EXPECT_EQ(test, read_ring(&ring, &p).pending, 16);
}

static struct kunit_case ring_cases[] = {
	KUNIT_CASE(work_arrives_with_the_write_index),
	KUNIT_CASE(consumed_is_not_done),
	KUNIT_CASE(signal_that_fired_ends_it),
	KUNIT_CASE(signal_that_was_armed_again),
	KUNIT_CASE(write_index_without_a_doorbell),
	KUNIT_CASE(reads_indices_and_signal),
	KUNIT_CASE(two_packets_without_a_barrier_bit),
	KUNIT_CASE(indices_that_no_queue_has),
	KUNIT_CASE(memory_that_is_not_there),
	KUNIT_CASE(pm4_wraps),
	{}
};

static struct kunit_suite ring_suite = {
	.name = "kfd_ring",
	.test_cases = ring_cases,
};

/*
 * The core
 */

struct world {
	struct gp__core core;
	struct gp__dev dev;
	struct gp__owner user;
	struct gp__entity high, low;
	struct gp__queue high_queue, low_queue;
	char line[GP__LOG_LINE_MAX];	/* the last that was logged */
};

static void keep_line(void *data, const struct gp__record *r)
{
	struct world *w = data;

	gp__record_format(r, w->line);
}

static int init_world(struct kunit *test)
{
	struct gp__hints high = { .prio = GP__PRIO_ONLINE }, low = { .prio = GP__PRIO_OFFLINE };
	struct world *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, w);
	test->priv = w;
	gp__core_init(&w->core, &gp__policy_hpf);
	gp__core_log(&w->core, keep_line, w);
	gp__dev_add(&w->core, &w->dev, 1, 0, GP__WEIGHS_NOT, 0);
	gp__owner_init(&w->user, &w->dev, 0);
	gp__entity_add(&w->user, &w->high, 1, 11, GP__CLASS_ONLINE, "high", &high, 0);
	gp__entity_add(&w->user, &w->low, 2, 22, GP__CLASS_OFFLINE, "low", &low, 0);
	gp__queue_add(&w->high, &w->high_queue, 3, 3, 3, 0);
	gp__queue_add(&w->low, &w->low_queue, 4, 3, 3, 0);
	gp__queue_ready(&w->low_queue, 1, GP__MS);
	return 0;
}

static void expect_action(struct kunit *test, enum gp__verb verb, enum gp__rule rule, u64 now)
{
	struct world *w = test->priv;
	struct gp__action a = {};

	KUNIT_ASSERT_TRUE(test, gp__core_pop(&w->core, &a));
	KUNIT_EXPECT_PTR_EQ(test, a.queue, &w->low_queue);
	KUNIT_EXPECT_EQ(test, a.verb, verb);
	KUNIT_EXPECT_EQ(test, a.why.rule, rule);
	KUNIT_EXPECT_EQ(test, gp__queue_ack(&w->low_queue, 0, now), 0);
	KUNIT_EXPECT_FALSE(test, gp__core_pop(&w->core, &a));
}

static void urgent_work_holds_the_rest(struct kunit *test)
{
	struct world *w = test->priv;
	struct gp__action a;

	KUNIT_EXPECT_FALSE(test, gp__core_pop(&w->core, &a));
	gp__queue_ready(&w->high_queue, 1, 2 * GP__MS);
	KUNIT_EXPECT_STREQ(test, w->line,
			   "2000000 > gpu1 e2 exclude q=4 level=3 why=priority by=e1\n");
	expect_action(test, GP__VERB_HOLD, GP__RULE_PRIORITY, 2 * GP__MS);

	gp__queue_idle(&w->high_queue, 3 * GP__MS, 0, 3 * GP__MS);
	gp__core_tick(&w->core, 4 * GP__MS);
	expect_action(test, GP__VERB_RELEASE, GP__RULE_CHOSEN, 4 * GP__MS);
}

/* Thirteen levels below, at half a second each, unless its longest suspension comes first. */
static void waiting_ages(struct kunit *test)
{
	struct world *w = test->priv;
	u64 due = 2 * GP__MS + 13 * 500 * GP__MS;

	gp__core_configure(&w->core, GP__CFG_MAX_HOLD_MS, 0, GP__MS);
	gp__core_configure(&w->core, GP__CFG_MIN_SHARE_PCT, 0, GP__MS);
	gp__queue_ready(&w->high_queue, 1, 2 * GP__MS);
	expect_action(test, GP__VERB_HOLD, GP__RULE_PRIORITY, 2 * GP__MS);
	KUNIT_EXPECT_EQ(test, gp__core_wake(&w->core), due);
	KUNIT_EXPECT_EQ(test, gp__entity_effective(&w->low, due - 1), GP__PRIO_ONLINE - 1);
	gp__core_tick(&w->core, due);
	expect_action(test, GP__VERB_RELEASE, GP__RULE_AGEING, due);
}

static void failure_to_hold_is_left_alone(struct kunit *test)
{
	struct world *w = test->priv;
	struct gp__action a;
	u64 now = 2 * GP__MS;
	int tries = 0;

	gp__queue_ready(&w->high_queue, 1, now);
	while (tries < 10 && gp__core_pop(&w->core, &a)) {
		tries++;
		gp__queue_ack(a.queue, -EIO, now);
		now = gp__core_wake(&w->core);
		gp__core_tick(&w->core, now);
	}
	KUNIT_EXPECT_EQ(test, tries, w->core.cfg[GP__CFG_TRIES]);
	KUNIT_EXPECT_EQ(test, gp__entity_state(&w->low), GP__STATE_FAILED);
}

static void removal_leaves_nothing(struct kunit *test)
{
	struct world *w = test->priv;

	gp__queue_ready(&w->high_queue, 1, 2 * GP__MS);
	expect_action(test, GP__VERB_HOLD, GP__RULE_PRIORITY, 2 * GP__MS);
	gp__entity_remove(&w->high, 3 * GP__MS);
	memset(&w->high, 0xa5, sizeof(w->high));
	memset(&w->high_queue, 0xa5, sizeof(w->high_queue));
	expect_action(test, GP__VERB_RELEASE, GP__RULE_CHOSEN, 3 * GP__MS);
}

static void lines_can_be_read_again(struct kunit *test)
{
	static const struct gp__policy *const policies[] = { &gp__policy_hpf, NULL };
	struct world *w = test->priv;
	struct gp__record_room *room = kunit_kzalloc(test, sizeof(*room), GFP_KERNEL);
	struct gp__record *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	char *again = kunit_kzalloc(test, GP__LOG_LINE_MAX, GFP_KERNEL);
	const char *expected;

	KUNIT_ASSERT_TRUE(test, room && r && again);
	gp__queue_ready(&w->high_queue, 9, 2 * GP__MS);
	KUNIT_EXPECT_EQ(test, gp__record_parse(w->line, strlen(w->line) - 1, policies, r, room,
					       &expected), 0);
	gp__record_format(r, again);
	KUNIT_EXPECT_STREQ(test, again, w->line);
}

/* The log keeps whole lines, the last ones, and counts the others. */
static void oldest_lines_go(struct kunit *test)
{
	struct world *w = test->priv;
	static const char last[] = "2000999 < gpu1 e2 ready q=4 pending=1\n";
	struct gp__log_keep *log = kunit_kzalloc(test, sizeof(*log), GFP_KERNEL);
	size_t i, lines = 0;

	KUNIT_ASSERT_NOT_NULL(test, log);
	log->room = 4 * GP__LOG_LINE_MAX;
	log->text = kunit_kzalloc(test, log->room, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, log->text);
	w->core.log = gp__log_keep_add;
	w->core.log_ctx = log;
	for (i = 0; i < 1000; i++)
		gp__queue_ready(&w->low_queue, 1, 2 * GP__MS + i);
	for (i = 0; i < log->size; i++)
		lines += log->text[i] == '\n';
	KUNIT_EXPECT_EQ(test, log->nr_dropped + lines, 1000);
	KUNIT_EXPECT_GT(test, lines, 10);
	KUNIT_EXPECT_LE(test, log->size, log->room);
	KUNIT_EXPECT_EQ(test, strncmp(log->text, "2000", 4), 0);
	KUNIT_EXPECT_MEMEQ(test, log->text + log->size - strlen(last), last, strlen(last));
}

static struct kunit_case core_cases[] = {
	KUNIT_CASE(urgent_work_holds_the_rest),
	KUNIT_CASE(waiting_ages),
	KUNIT_CASE(failure_to_hold_is_left_alone),
	KUNIT_CASE(removal_leaves_nothing),
	KUNIT_CASE(lines_can_be_read_again),
	KUNIT_CASE(oldest_lines_go),
	{}
};

static struct kunit_suite core_suite = {
	.name = "kfd_sched_core",
	.init = init_world,
	.test_cases = core_cases,
};

/*
 * The thread
 */

static bool is_looked_at(struct kfd_node *node)
{
	u64 ticks = READ_ONCE(node->sched->sched.nr_ticks);
	int i;

	kfd_sched_kick(node->sched);
	for (i = 0; i < 1000 && READ_ONCE(node->sched->sched.nr_ticks) == ticks; i++)
		usleep_range(1000, 2000);

	return i < 1000;
}

static void destroy_fake(void *fake)
{
	kfd_fake_destroy(fake);
}

/* A second partition of a device, without queues */
static struct kfd_node *add_node(struct kunit *test, struct kfd_node *first)
{
	struct kfd_node *node = kunit_kzalloc(test, sizeof(*node), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, node);
	node->id = first->id + 1;
	node->adev = first->adev;
	node->kfd = first->kfd;
	node->kfd2kgd = first->kfd2kgd;
	node->dqm = first->dqm;
	node->xcc_mask = first->xcc_mask;
	kfd_sched_init(node);
	KUNIT_ASSERT_NOT_NULL(test, node->sched);
	return node;
}

static struct kfd_node *create_node(struct kunit *test)
{
	struct kfd_fake *fake = kfd_fake_create(KFD_FAKE_HWS, GPU_ID);

	KUNIT_ASSERT_NOT_NULL(test, fake);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, destroy_fake, fake), 0);
	if (!fake->node.sched)
		kunit_skip(test, "amdgpu.kfd_sched is off");

	return &fake->node;
}

static void nodes_share_a_thread(struct kunit *test)
{
	struct kfd_node *first = create_node(test);
	struct kfd_sched_thread *thread = first->kfd->sched_thread;
	struct kfd_node *second = add_node(test, first);

	KUNIT_EXPECT_PTR_EQ(test, first->kfd->sched_thread, thread);
	KUNIT_EXPECT_TRUE(test, is_looked_at(first));
	KUNIT_EXPECT_TRUE(test, is_looked_at(second));
	kfd_sched_fini(second);
	KUNIT_EXPECT_PTR_EQ(test, first->kfd->sched_thread, thread);
	KUNIT_EXPECT_TRUE(test, is_looked_at(first));
}

static void last_node_ends_the_thread(struct kunit *test)
{
	struct kfd_node *first = create_node(test);
	struct kfd_sched_thread *thread = first->kfd->sched_thread;
	struct kfd_node *second = add_node(test, first);

	kfd_sched_fini(first);
	KUNIT_EXPECT_PTR_EQ(test, second->kfd->sched_thread, thread);
	KUNIT_EXPECT_TRUE(test, is_looked_at(second));
	kfd_sched_fini(second);
	KUNIT_EXPECT_NULL(test, second->kfd->sched_thread);
}

static struct kunit_case thread_cases[] = {
	KUNIT_CASE(nodes_share_a_thread),
	KUNIT_CASE(last_node_ends_the_thread),
	{}
};

static struct kunit_suite thread_suite = {
	.name = "kfd_sched_thread",
	.test_cases = thread_cases,
};

kunit_test_suites(&ring_suite, &core_suite, &thread_suite);
