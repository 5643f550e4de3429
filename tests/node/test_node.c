// SPDX-License-Identifier: MIT
/*
 * Tests the scheduler of one GPU with a driver that is a table of functions over plain structs:
 * which queues it holds, what it does when the driver fails, and that its log replays.
 */
#include "../unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/node.h"
#include "policy/policy.h"
#include "sim/replay.h"

#define GPU_ID 7
#define QUEUES 4
#define PACKETS 16
#define PACKET_BYTES 64
#define LOG_BYTES 65536
#define URGENT 15
#define PATIENT 2

struct test_program {
	u32 pid, user;
	bool is_gone;
};

struct test_queue {
	u64 read, write;
	u64 signal[2]; /* kind and value */
	u8 ring[PACKETS * PACKET_BYTES];
	struct test_program *program;
	struct gp__node_queue *scheduled;
	bool is_held, is_away;
	int waves;
};

struct machine {
	struct gp__node_sched sched;
	u64 now;
	int nr_changes, nr_asked, nr_memory, nr_entered;
	int hold_result;
	bool no_memory;
	struct test_program program[QUEUES];
	struct test_queue queue[QUEUES];
	struct test_queue *released[QUEUES]; /* the first, in their order */
	int nr_released;
	char log[LOG_BYTES];
};

static struct machine *machine; /* alloc() gets no node */

static u64 now(struct gp__node_sched *n)
{
	return container_of(n, struct machine, sched)->now;
}

static void *alloc(size_t bytes)
{
	void *memory = machine->no_memory ? NULL : calloc(1, bytes);

	machine->nr_memory += memory != NULL;
	return memory;
}

static void free_memory(void *memory)
{
	machine->nr_memory--;
	free(memory);
}

static bool begin_reading(struct gp__node_sched *n, void *program)
{
	container_of(n, struct machine, sched)->nr_entered++;
	return !((struct test_program *)program)->is_gone;
}

static void end_reading(struct gp__node_sched *n, void *program)
{
	(void)n;
	assert_false(((struct test_program *)program)->is_gone);
}

/* Addresses are offsets into the queue. */
static bool read_queue(void *queue, u64 address, void *to, size_t bytes)
{
	if (address > sizeof(struct test_queue) - bytes)
		return false;
	memcpy(to, (const u8 *)queue + address, bytes);
	return true;
}

static bool is_running(void *queue)
{
	return !((struct test_queue *)queue)->is_held;
}

static bool is_away(void *queue)
{
	return ((struct test_queue *)queue)->is_away;
}

static int waves(struct gp__node_sched *n, void *queue)
{
	container_of(n, struct machine, sched)->nr_asked++;
	return ((struct test_queue *)queue)->waves;
}

static void change(struct gp__node_sched *n, struct gp__link *hold, struct gp__link *release)
{
	struct machine *m = container_of(n, struct machine, sched);
	struct gp__node_queue *q;

	m->nr_changes++;
	gp__node_each(q, hold)
	{
		q->result = m->hold_result;
		if (!q->result)
			((struct test_queue *)q->queue)->is_held = true;
	}
	gp__node_each(q, release)
	{
		((struct test_queue *)q->queue)->is_held = false;
		if (m->nr_released < QUEUES)
			m->released[m->nr_released++] = q->queue;
	}
}

static const struct gp__node_driver driver = { .now = now,
					       .alloc = alloc,
					       .free = free_memory,
					       .begin_reading = begin_reading,
					       .end_reading = end_reading,
					       .read = read_queue,
					       .is_running = is_running,
					       .is_away = is_away,
					       .waves = waves,
					       .change = change };

static struct machine *start(void)
{
	struct machine *m = calloc(1, sizeof(*m));
	const struct gp__log_keep log = { .text = m->log, .room = LOG_BYTES };

	machine = m;
	m->now = GP__S;
	for (int i = 0; i < QUEUES; i++) {
		m->program[i].pid = 100 + (u32)i;
		m->program[i].user = 1000 + (u32)i / 2;
		m->queue[i].program = &m->program[i];
		m->queue[i].waves = -1;
	}
	gp__node_init(&m->sched, &driver, GPU_ID, &log);
	return m;
}

static void end(struct machine *m)
{
	for (int i = 0; i < QUEUES; i++) {
		if (m->queue[i].scheduled)
			gp__node_remove(&m->sched, m->queue[i].scheduled);
	}
	assert_int_equal(m->sched.nr_groups, 0);
	assert_int_equal(m->sched.nr_queues, 0);
	assert_int_equal(m->nr_memory, 0);
	free(m);
}

static struct gp__node_options options_of(struct test_queue *q, u32 asked)
{
	return (struct gp__node_options){
		.queue = q,
		.program = q->program,
		.pid = q->program->pid,
		.user = q->program->user,
		.tag = "test",
		.is_given = true,
		.asked = asked,
		.priority = gp__node_granted(asked, true),
		.place = { .ring = offsetof(struct test_queue, ring),
			   .bytes = sizeof(q->ring),
			   .read_index = offsetof(struct test_queue, read),
			   .write_index = offsetof(struct test_queue, write),
			   .kind = GP__RING_AQL },
	};
}

static struct test_queue *add(struct machine *m, int i, u32 asked)
{
	const struct gp__node_options o = options_of(&m->queue[i], asked);

	m->queue[i].scheduled = gp__node_add(&m->sched, &o);
	return &m->queue[i];
}

/* A packet with the queue's signal, which is armed. */
static void submit(struct test_queue *q)
{
	const u64 signal = offsetof(struct test_queue, signal);

	q->signal[1] = 1;
	memcpy(&q->ring[q->write++ % PACKETS * PACKET_BYTES + 56], &signal, sizeof(signal));
}

static void tick(struct machine *m)
{
	m->now += GP__MS;
	gp__node_tick(&m->sched);
}

static void tick_for(struct machine *m, u64 ns)
{
	for (u64 until = m->now + ns; m->now < until;)
		tick(m);
}

/* A patient queue with endless work is held for an urgent one with work. */
static void hold_low(struct machine *m, struct test_queue **low, struct test_queue **high)
{
	*low = add(m, 0, PATIENT);
	*high = add(m, 1, URGENT);
	submit(*low);
	(*low)->read = 1;
	(*low)->waves = 1;
	tick(m);
	assert_false((*low)->is_held);
	submit(*high);
	(*high)->read = 1;
	tick(m);
	assert_true((*low)->is_held);
	assert_false((*high)->is_held);
}

static void urgent_work_holds_the_rest(void **state)
{
	struct machine *m = start();
	struct test_queue *low, *high;

	(void)state;
	hold_low(m, &low, &high);
	high->signal[1] = 0;
	tick_for(m, 10 * GP__MS);
	assert_false(low->is_held);
	assert_int_equal(m->sched.dev.nr_switches, 1);
	end(m);
}

/* Two changes for a burst, and none inside it. */
static void a_burst_is_two_changes(void **state)
{
	struct machine *m = start();
	struct test_queue *low, *high;
	int before = m->nr_changes;

	(void)state;
	hold_low(m, &low, &high);
	for (int piece = 0; piece < 3; piece++) {
		assert_int_equal(m->nr_changes, before + 1);
		high->signal[1] = 0;
		tick(m);
		assert_false(high->scheduled->ring.is_busy);
		submit(high);
		high->read = high->write;
		tick(m);
		assert_true(high->scheduled->ring.is_busy);
	}
	high->signal[1] = 0;
	tick_for(m, 10 * GP__MS);
	assert_false(low->is_held);
	assert_int_equal(m->nr_changes, before + 2);
	end(m);
}

/* A single change, in which a queue takes the place of another. */
static void a_handover_is_one_change(void **state)
{
	struct machine *m = start();
	const struct test_queue *a = add(m, 0, PATIENT), *b = add(m, 1, PATIENT);
	int handovers = 0;

	(void)state;
	gp__core_set_policy(&m->sched.core, &gp__policy_fair, NULL, m->now);
	for (int i = 0; i < 2; i++) {
		m->queue[i].waves = 1;
		submit(&m->queue[i]);
	}
	tick(m);
	assert_int_equal(a->is_held + b->is_held, 1);
	for (int i = 0; i < 1000; i++) {
		bool was_held = a->is_held;
		int before = m->nr_changes;

		tick(m);
		assert_int_equal(a->is_held + b->is_held, 1);
		assert_int_equal(m->nr_changes - before, a->is_held != was_held);
		handovers += a->is_held != was_held;
	}
	assert_true(handovers > 10);
	end(m);
}

/* The part of 10 s, in per cent, in which the patient queue was not held. */
static unsigned int run_for_10_s(struct machine *m, const struct test_queue *low)
{
	unsigned int free_ticks = 0;

	for (int i = 0; i < 10000; i++) {
		tick(m);
		free_ticks += !low->is_held;
	}
	return free_ticks / 100;
}

/* The GPU is idle but for the patient program, which got 2 % of it before. */
static void a_signal_that_was_armed_again_holds_nobody_for_long(void **state)
{
	struct machine *m = start();
	struct test_queue *low, *high;

	(void)state;
	hold_low(m, &low, &high);
	high->waves = 0;
	assert_true(run_for_10_s(m, low) > 85);
	assert_true(m->nr_asked > 0);
	end(m);
}

static void a_write_index_without_a_doorbell_holds_nobody_for_long(void **state)
{
	struct machine *m = start();
	struct test_queue *low, *high;

	(void)state;
	hold_low(m, &low, &high);
	high->signal[1] = 0;
	tick_for(m, 10 * GP__MS);
	high->waves = 0;
	for (int i = 0; i < 10000; i++) {
		high->write += i % 100 == 0;
		tick(m);
	}
	assert_false(low->is_held);
	assert_true(run_for_10_s(m, low) > 85);
	end(m);
}

static void memory_that_is_gone_holds_nobody_for_ever(void **state)
{
	struct machine *m = start();
	struct test_queue *low, *high;

	(void)state;
	hold_low(m, &low, &high);
	high->program->is_gone = true;
	tick_for(m, GP__RING_LIMIT_NS + 10 * GP__MS);
	assert_false(m->queue[1].scheduled->ring.is_busy);
	assert_false(low->is_held);
	end(m);
}

/* Its program has stopped it, or its process was evicted: the GPU would be idle. */
static void work_of_a_queue_that_is_kept_off_is_not_waited_for(void **state)
{
	struct machine *m = start();
	struct test_queue *low, *high;

	(void)state;
	hold_low(m, &low, &high);
	high->is_away = true;
	tick_for(m, 20 * GP__MS);
	assert_false(low->is_held);
	submit(high);
	tick_for(m, 20 * GP__MS);
	assert_false(low->is_held);
	high->is_away = false;
	tick(m);
	assert_true(low->is_held);
	end(m);
}

static void waves_are_not_asked_for_all_the_time(void **state)
{
	struct machine *m = start();
	struct test_queue *low, *high;

	(void)state;
	hold_low(m, &low, &high);
	high->waves = 1;
	m->nr_asked = 0;
	tick_for(m, GP__S - 10 * GP__MS);
	assert_int_equal(m->nr_asked, 0);
	tick_for(m, 10 * GP__S);
	assert_in_range(m->nr_asked, 1, 4000);
	assert_true(m->queue[1].scheduled->ring.is_busy);
	end(m);
}

static void a_queue_that_cannot_be_held_runs(void **state)
{
	struct machine *m = start();
	struct test_queue *low = add(m, 0, PATIENT), *high = add(m, 1, URGENT);

	(void)state;
	m->hold_result = -EIO;
	submit(low);
	submit(high);
	tick_for(m, GP__S);
	assert_false(low->is_held);
	assert_int_equal(gp__queue_state(&low->scheduled->core), GP__STATE_FAILED);
	end(m);
}

static void a_failure_is_forgiven_with_time(void **state)
{
	struct machine *m = start();
	struct test_queue *low = add(m, 0, PATIENT), *high = add(m, 1, URGENT);

	(void)state;
	m->hold_result = -EIO;
	submit(low);
	submit(high);
	tick_for(m, GP__S);
	assert_int_equal(gp__queue_state(&low->scheduled->core), GP__STATE_FAILED);
	m->hold_result = 0;
	tick_for(m, GP__S);
	assert_false(low->is_held);
	tick_for(m, 10 * GP__S);
	assert_true(low->is_held);
	end(m);
}

static void a_failure_is_forgiven_after_a_pause(void **state)
{
	struct machine *m = start();
	struct test_queue *low = add(m, 0, PATIENT), *high = add(m, 1, URGENT);

	(void)state;
	m->hold_result = -EIO;
	submit(low);
	submit(high);
	tick_for(m, GP__S);
	m->hold_result = 0;
	gp__node_pause(&m->sched, true);
	gp__node_pause(&m->sched, false);
	tick_for(m, 100 * GP__MS);
	assert_true(low->is_held);
	end(m);
}

static void a_paused_node_does_nothing(void **state)
{
	struct machine *m = start();
	struct test_queue *low = add(m, 0, PATIENT), *high = add(m, 1, URGENT);

	(void)state;
	gp__node_pause(&m->sched, true);
	submit(low);
	submit(high);
	tick(m);
	assert_int_equal(m->nr_changes, 0);
	assert_true(gp__node_wait_ns(&m->sched) == GP__NEVER);
	gp__node_pause(&m->sched, false);
	tick(m);
	assert_true(low->is_held);
	end(m);
}

static u64 number_in(struct machine *m, const char *name)
{
	int file = gp__node_file_find(&m->sched, name);

	assert_true(file >= 0);
	return gp__node_show(&m->sched, (u32)file);
}

/* Equals run together: there is nothing to decide. */
static void one_priority_is_not_looked_at(void **state)
{
	struct machine *m = start();

	(void)state;
	for (int i = 0; i < 2; i++) {
		submit(add(m, i, PATIENT));
		tick(m);
		assert_true(gp__node_wait_ns(&m->sched) == GP__NEVER);
		assert_int_equal(number_in(m, "interval_us"), 0);
	}
	submit(add(m, 2, URGENT));
	tick(m);
	assert_in_range(gp__node_wait_ns(&m->sched), 1, GP__MS);
	assert_int_equal(number_in(m, "interval_us"), 1000);
	/* It is gone, and so is the choice. */
	gp__node_remove(&m->sched, m->queue[2].scheduled);
	m->queue[2].scheduled = NULL;
	tick(m);
	assert_false(m->queue[0].is_held || m->queue[1].is_held);
	assert_true(gp__node_wait_ns(&m->sched) == GP__NEVER);
	end(m);
}

/* Policies that take turns have a choice between equals. */
static void turns_are_looked_at(void **state)
{
	struct machine *m = start();

	(void)state;
	gp__core_set_policy(&m->sched.core, &gp__policy_fair, NULL, m->now);
	add(m, 0, PATIENT);
	tick(m);
	assert_int_equal(number_in(m, "interval_us"), 0);
	add(m, 1, PATIENT);
	assert_true(number_in(m, "interval_us") > 0);
	end(m);
}

static void idle_rings_are_looked_at_less_often(void **state)
{
	static const u32 expected_us[] = { 2000, 4000, 8000, 10000, 10000 };
	struct machine *m = start();
	struct test_queue *high;

	(void)state;
	add(m, 0, PATIENT);
	high = add(m, 1, URGENT);
	assert_int_equal(number_in(m, "interval_us"), 1000);
	for (size_t i = 0; i < sizeof(expected_us) / sizeof(expected_us[0]); i++) {
		tick(m);
		assert_int_equal(number_in(m, "interval_us"), expected_us[i]);
		assert_int_equal(gp__node_wait_ns(&m->sched), expected_us[i] * GP__US);
	}
	submit(high);
	tick(m);
	assert_int_equal(number_in(m, "interval_us"), 1000);
	end(m);
}

/* To read in a program's memory is to switch to it. */
static void a_program_is_entered_once(void **state)
{
	struct machine *m = start();

	(void)state;
	for (int i = 0; i < QUEUES; i++) {
		m->queue[i].program = &m->program[i % 2];
		add(m, i, i < 2 ? PATIENT : URGENT);
	}
	assert_int_equal(m->sched.nr_groups, 4);
	m->nr_entered = 0;
	tick(m);
	assert_int_equal(m->nr_entered, 2);
	for (int i = 0; i < QUEUES; i++)
		assert_true(m->queue[i].scheduled->is_seen);
	end(m);
}

static void disabled_everything_is_released_at_once(void **state)
{
	struct machine *m = start();
	struct test_queue *low, *high, *third;
	int changes;

	(void)state;
	hold_low(m, &low, &high);
	third = add(m, 2, PATIENT);
	submit(third);
	tick(m);
	assert_true(third->is_held);
	changes = m->nr_changes;
	assert_int_equal(gp__node_store(&m->sched, 0, 0), 0);
	assert_int_equal(m->nr_changes, changes + 1);
	assert_false(low->is_held || third->is_held);
	tick(m);
	assert_false(low->is_held || third->is_held);
	/* Enabled, it finds the work that is there. */
	assert_int_equal(gp__node_store(&m->sched, 0, 1), 0);
	tick(m);
	assert_true(low->is_held && third->is_held);
	end(m);
}

static void a_queue_with_another_wish_changes_its_group(void **state)
{
	struct machine *m = start();
	struct gp__node_options o;
	struct test_queue *low, *high;

	(void)state;
	hold_low(m, &low, &high);
	o = options_of(low, URGENT);
	low->scheduled = gp__node_update(&m->sched, low->scheduled, &o);
	assert_non_null(low->scheduled);
	assert_false(low->is_held);
	assert_int_equal(low->scheduled->group->priority, URGENT);
	tick(m);
	assert_false(low->is_held);
	/* The same wish changes nothing but the place of the ring. */
	o.place.bytes /= 2;
	assert_ptr_equal(gp__node_update(&m->sched, low->scheduled, &o), low->scheduled);
	assert_int_equal(low->scheduled->place.bytes, sizeof(low->ring) / 2);
	end(m);
}

/* The wish was refused when the queue was made; whoever grants it later has the right. */
static void a_wish_that_is_granted_later_changes_its_group(void **state)
{
	struct machine *m = start();
	struct gp__node_options o = options_of(&m->queue[0], URGENT);
	struct test_queue *q = &m->queue[0];

	(void)state;
	o.priority = gp__node_granted(URGENT, false);
	q->scheduled = gp__node_add(&m->sched, &o);
	assert_int_equal(q->scheduled->group->priority, GP__PRIO_NORMAL);
	o.priority = URGENT;
	q->scheduled = gp__node_update(&m->sched, q->scheduled, &o);
	assert_int_equal(q->scheduled->group->priority, URGENT);
	/* A program without the right that changes its ring keeps what it has. */
	o.priority = GP__PRIO_NORMAL;
	q->scheduled = gp__node_update(&m->sched, q->scheduled, &o);
	assert_int_equal(q->scheduled->group->priority, URGENT);
	end(m);
}

static void without_memory_a_queue_is_not_scheduled(void **state)
{
	struct machine *m = start();
	struct gp__node_options o;
	struct test_queue *low, *high;

	(void)state;
	hold_low(m, &low, &high);
	m->no_memory = true;
	assert_null(add(m, 2, PATIENT)->scheduled);
	o = options_of(low, URGENT);
	low->scheduled = gp__node_update(&m->sched, low->scheduled, &o);
	assert_null(low->scheduled);
	assert_false(low->is_held);
	tick(m);
	m->no_memory = false;
	end(m);
}

static void queues_of_one_program_are_one_group(void **state)
{
	struct machine *m = start();

	(void)state;
	for (int i = 0; i < QUEUES; i++) {
		m->queue[i].program = &m->program[0];
		add(m, i, i < 2 ? PATIENT : URGENT);
	}
	assert_int_equal(m->sched.nr_groups, 2);
	assert_ptr_equal(gp__node_of_program(&m->sched, &m->program[0]), m->queue[0].scheduled);
	assert_null(gp__node_of_program(&m->sched, &m->program[1]));
	submit(&m->queue[0]);
	submit(&m->queue[1]);
	submit(&m->queue[3]);
	tick(m);
	assert_true(m->queue[0].is_held && m->queue[1].is_held);
	assert_false(m->queue[2].is_held || m->queue[3].is_held);
	end(m);
}

/* As a runtime asks for it: of the hardware, and without a logical priority. */
static struct gp__node_options options_of_hardware(struct test_queue *q, u32 hardware)
{
	struct gp__node_options o = options_of(q, gp__node_asked(0, hardware));

	o.is_given = false;
	o.own = gp__node_own(hardware);
	return o;
}

static struct test_queue *add_of_hardware(struct machine *m, int i, u32 hardware)
{
	const struct gp__node_options o = options_of_hardware(&m->queue[i], hardware);

	m->queue[i].scheduled = gp__node_add(&m->sched, &o);
	return &m->queue[i];
}

static void priorities_of_the_hardware_do_not_split_a_program(void **state)
{
	struct machine *m = start();
	struct test_queue *low, *high, *other;
	struct gp__node_options o;

	(void)state;
	m->queue[1].program = &m->program[0];
	low = add_of_hardware(m, 0, 0);
	high = add_of_hardware(m, 1, URGENT);
	other = add_of_hardware(m, 2, GP__PRIO_NORMAL);
	assert_int_equal(m->sched.nr_groups, 2);
	assert_int_equal(low->scheduled->group->priority, URGENT);
	/* Both wait for each other: neither is held, and the other program is. */
	submit(low);
	submit(high);
	submit(other);
	tick(m);
	assert_false(low->is_held || high->is_held);
	assert_true(other->is_held);
	/* The program is as urgent as its most urgent queue is now. */
	o = options_of_hardware(high, GP__PRIO_NORMAL);
	assert_ptr_equal(gp__node_update(&m->sched, high->scheduled, &o), high->scheduled);
	assert_int_equal(low->scheduled->group->priority, GP__PRIO_NORMAL);
	assert_int_equal(high->scheduled->own, 0);
	gp__node_remove(&m->sched, high->scheduled);
	high->scheduled = NULL;
	assert_int_equal(low->scheduled->group->priority, 0);
	tick(m);
	assert_false(other->is_held);
	assert_true(low->is_held);
	end(m);
}

/* A queue with a logical priority is not in the group of those without. */
static void queues_with_a_logical_priority_are_apart(void **state)
{
	struct machine *m = start();
	struct gp__node_options o;

	(void)state;
	for (int i = 0; i < 3; i++)
		m->queue[i].program = &m->program[0];
	add_of_hardware(m, 0, GP__PRIO_NORMAL);
	add(m, 1, GP__PRIO_NORMAL);
	assert_int_equal(m->sched.nr_groups, 2);
	add(m, 2, URGENT);
	assert_int_equal(m->sched.nr_groups, 3);
	/* The hardware's priority is noted, and moves no queue whose wish it does not change. */
	o = options_of(&m->queue[2], URGENT);
	o.own = -1;
	assert_ptr_equal(gp__node_update(&m->sched, m->queue[2].scheduled, &o),
			 m->queue[2].scheduled);
	assert_int_equal(m->queue[2].scheduled->own, -1);
	assert_int_equal(m->sched.nr_groups, 3);
	/* Without its own any more, a queue is in the group of those without, and the reverse. */
	o = options_of_hardware(&m->queue[1], GP__PRIO_NORMAL);
	m->queue[1].scheduled = gp__node_update(&m->sched, m->queue[1].scheduled, &o);
	assert_ptr_equal(m->queue[1].scheduled->group, m->queue[0].scheduled->group);
	assert_int_equal(m->sched.nr_groups, 2);
	o = options_of(&m->queue[0], GP__PRIO_NORMAL);
	m->queue[0].scheduled = gp__node_update(&m->sched, m->queue[0].scheduled, &o);
	assert_ptr_not_equal(m->queue[0].scheduled->group, m->queue[1].scheduled->group);
	assert_int_equal(m->sched.nr_groups, 3);
	end(m);
}

static void higher_queues_are_released_first(void **state)
{
	static const u32 hardware[] = { 0, GP__PRIO_NORMAL, URGENT };
	struct machine *m = start();
	struct test_queue *other;

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct gp__node_options o = options_of(&m->queue[i], PATIENT);

		m->queue[i].program = &m->program[0];
		o.program = &m->program[0];
		o.own = gp__node_own(hardware[i]);
		m->queue[i].scheduled = gp__node_add(&m->sched, &o);
		submit(&m->queue[i]);
	}
	other = add(m, 3, URGENT);
	submit(other);
	tick(m);
	for (int i = 0; i < 3; i++)
		assert_true(m->queue[i].is_held);
	other->signal[1] = 0;
	other->read = 1;
	tick_for(m, 10 * GP__MS);
	assert_int_equal(m->nr_released, 3);
	for (int i = 0; i < 3; i++)
		assert_ptr_equal(m->released[i], &m->queue[2 - i]);
	end(m);
}

/* The core divides between users; enabled again it knows them again. */
static void programs_of_one_user_have_one_owner(void **state)
{
	struct machine *m = start();
	const struct test_queue *a = add(m, 0, PATIENT), *b = add(m, 1, PATIENT),
				*c = add(m, 2, PATIENT);

	(void)state;
	assert_ptr_equal(a->scheduled->group->core.owner, b->scheduled->group->core.owner);
	assert_ptr_not_equal(a->scheduled->group->core.owner, c->scheduled->group->core.owner);
	gp__node_enable(&m->sched, false);
	gp__node_enable(&m->sched, true);
	assert_int_equal(a->scheduled->group->core.owner->nr_entities, 2);
	assert_int_equal(c->scheduled->group->core.owner->id, 1001);
	end(m);
}

static void being_urgent_needs_a_right(void **state)
{
	(void)state;
	assert_int_equal(gp__node_asked(0, 9), 9);
	assert_int_equal(gp__node_asked(3, 9), 2);
	assert_int_equal(gp__node_asked(3 | GP__NODE_SPLIT, 9), 3);
	assert_int_equal(gp__node_asked(3 | GP__NODE_SPLIT, GP__PRIO_NORMAL), 2);
	assert_int_equal(gp__node_asked(3 | GP__NODE_SPLIT, 0), 1);
	assert_int_equal(gp__node_asked(1 | GP__NODE_SPLIT, 0), 0);
	assert_int_equal(gp__node_granted(URGENT, true), URGENT);
	assert_int_equal(gp__node_granted(URGENT, false), GP__PRIO_NORMAL);
	assert_int_equal(gp__node_granted(PATIENT, false), PATIENT);
	assert_int_equal(gp__node_granted(~(u32)0, true), GP__PRIO_LIMIT);
}

static int store(struct machine *m, const char *name, u64 value)
{
	return gp__node_store(&m->sched, (u32)gp__node_file_find(&m->sched, name), value);
}

static void files_show_and_take_numbers(void **state)
{
	struct machine *m = start();

	(void)state;
	assert_int_equal(gp__node_nr_files(&m->sched),
			 9 + GP__CFG_COUNT + gp__policy_hpf.nr_params + 2);
	assert_int_equal(gp__node_file_find(&m->sched, "nothing"), -ENOENT);
	assert_int_equal(store(m, "period_us", 99), -ERANGE);
	assert_int_equal(store(m, "period_us", 10000001), -ERANGE);
	assert_int_equal(store(m, "period_us", 2500), 0);
	assert_int_equal(number_in(m, "period_us"), 2500);
	assert_int_equal(store(m, "grace_us", 10000001), -ERANGE);
	assert_int_equal(store(m, "grace_us", 0), 0);
	assert_int_equal(store(m, "enable", 2), -EINVAL);
	assert_int_equal(store(m, "ticks", 2), -EACCES);
	assert_int_equal(store(m, "min_share_pct", 101), -ERANGE);
	assert_int_equal(store(m, "min_share_pct", 9), 0);
	assert_int_equal(store(m, "age_ms", 123), 0);
	/* They survive a restart. */
	assert_int_equal(store(m, "enable", 0), 0);
	assert_int_equal(number_in(m, "enable"), 0);
	assert_int_equal(number_in(m, "min_share_pct"), 9);
	assert_int_equal(number_in(m, "age_ms"), 123);
	assert_int_equal(number_in(m, "switches") + number_in(m, "inversions"), 0);
	assert_int_equal(number_in(m, "paused") + number_in(m, "ticks"), 0);
	end(m);
}

/* 2^22 us: doubled ten times, it would be 2^32. */
static void longest_interval_is_ten_periods(void **state)
{
	static const u32 period_us = 1u << 22;
	struct machine *m = start();

	(void)state;
	add(m, 0, PATIENT);
	add(m, 1, URGENT);
	assert_int_equal(store(m, "period_us", period_us), 0);
	for (int i = 0; i < 20; i++)
		tick(m);
	assert_int_equal(number_in(m, "interval_us"), 10 * period_us);
	end(m);
}

static int choose(struct machine *m, const char *policy)
{
	return gp__node_set_policy(&m->sched, policy, strlen(policy));
}

/* A name may be that of parameters of several policies: each keeps its own. */
static void each_policy_keeps_its_parameters(void **state)
{
	struct machine *m = start();

	(void)state;
	assert_string_equal(gp__node_policy(&m->sched), "hpf");
	assert_true(gp__node_file_is_policy((u32)gp__node_file_find(&m->sched, "policy")));
	assert_int_equal(store(m, "policy", 1), -EINVAL);
	assert_int_equal(number_in(m, "quantum_ms"), 100);
	assert_int_equal(store(m, "quantum_ms", 200), 0);
	assert_int_equal(store(m, "credit_ms", 7), 0);
	assert_int_equal(store(m, "width", 0), -ERANGE);
	assert_int_equal(choose(m, "none"), -EINVAL);
	assert_int_equal(choose(m, ""), -EINVAL);
	assert_int_equal(choose(m, "fai"), -EINVAL);
	assert_int_equal(choose(m, "fair\n"), 0);
	assert_string_equal(gp__node_policy(&m->sched), "fair");
	assert_int_equal(number_in(m, "quantum_ms"), 10);
	assert_int_equal(number_in(m, "credit_ms"), 7);
	assert_int_equal(store(m, "quantum_ms", 20), 0);
	assert_int_equal(store(m, "age_ms", 123), 0);
	/* It survives a restart. */
	assert_int_equal(store(m, "enable", 0), 0);
	assert_int_equal(store(m, "enable", 1), 0);
	assert_string_equal(gp__node_policy(&m->sched), "fair");
	assert_int_equal(number_in(m, "quantum_ms"), 20);
	assert_int_equal(choose(m, "share"), 0);
	assert_int_equal(number_in(m, "credit_ms"), 500);
	assert_int_equal(choose(m, "hpf"), 0);
	assert_int_equal(number_in(m, "quantum_ms"), 200);
	assert_int_equal(number_in(m, "age_ms"), 123);
	end(m);
}

/* Equals run together under hpf, and take turns under the others, while both have work. */
static void equals_take_turns(void **state)
{
	static const char *const turns[] = { "fair", "share" };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct machine *m = start();
		struct test_queue *a = add(m, 0, PATIENT), *b = add(m, 1, PATIENT);
		int held[2] = { 0, 0 };

		submit(a);
		submit(b);
		tick_for(m, 100 * GP__MS);
		assert_false(a->is_held || b->is_held);
		assert_int_equal(choose(m, turns[i]), 0);
		for (int ms = 0; ms < 200; ms++) {
			tick_for(m, GP__MS);
			assert_false(a->is_held && b->is_held);
			held[0] += a->is_held;
			held[1] += b->is_held;
		}
		assert_in_range(held[0], 70, 130);
		assert_in_range(held[1], 70, 130);
		assert_int_equal(choose(m, "hpf"), 0);
		tick_for(m, 100 * GP__MS);
		assert_false(a->is_held || b->is_held);
		end(m);
	}
}

static void what_is_known_of_a_queue_is_shown(void **state)
{
	struct machine *m = start();
	struct test_queue *low, *high;
	struct gp__node_value v;

	(void)state;
	hold_low(m, &low, &high);
	for (const char *const *name = gp__node_queue_files; *name; name++)
		assert_int_equal(gp__node_queue_show(&m->sched, low->scheduled, *name, &v), 0);
	assert_int_equal(gp__node_queue_show(&m->sched, low->scheduled, "state", &v), 0);
	assert_int_equal(v.kind, GP__NODE_TEXT);
	assert_string_equal(v.text, "excluded");
	assert_int_equal(gp__node_queue_show(&m->sched, high->scheduled, "wptr", &v), 0);
	assert_int_equal(v.number, 1);
	assert_int_equal(gp__node_queue_show(&m->sched, high->scheduled, "effective_priority", &v),
			 0);
	assert_int_equal(v.value, URGENT);
	assert_int_equal(gp__node_queue_show(&m->sched, high->scheduled, "size", &v), -ENOENT);
	high->write = ~(u64)0;
	tick(m);
	assert_int_equal(gp__node_queue_show(&m->sched, high->scheduled, "wptr", &v), -ENODATA);
	gp__node_enable(&m->sched, false);
	assert_int_equal(gp__node_queue_show(&m->sched, high->scheduled, "state", &v), -ENODATA);
	end(m);
}

/* The log of everything that a random life of four queues brings, read again by a fresh core. */
static void its_log_replays_to_the_same_bytes(void **state)
{
	struct machine *m = start();
	struct gp__replay_result result;
	struct gp__replay_error why;
	unsigned int seed = 7;
	char *text = NULL, *again = NULL;
	size_t len = 0, again_len = 0;
	FILE *out = open_memstream(&text, &len), *in, *copy;

	(void)state;
	for (int i = 0; i < QUEUES; i++)
		add(m, i, (u32)(4 * i));
	for (int i = 0; i < 500; i++) {
		struct test_queue *q = &m->queue[rand_r(&seed) % QUEUES];

		m->hold_result = rand_r(&seed) % 20 ? 0 : -EIO;
		if (!q->is_held && rand_r(&seed) % 2)
			q->read = q->write, q->signal[1] = 0;
		else if (q->write - q->read < PACKETS)
			submit(q);
		tick(m);
	}
	assert_int_equal(m->sched.log.nr_dropped, 0);
	assert_true(m->sched.dev.nr_switches > 10);
	fputs(GP__LOG_HEADER, out);
	fwrite(m->sched.log.text, 1, m->sched.log.size, out);
	fclose(out);
	in = fmemopen(text, len, "r");
	copy = open_memstream(&again, &again_len);
	fputs(GP__LOG_HEADER, copy);
	assert_int_equal(gp__replay(in, copy, &result, &why), 0);
	fclose(in);
	fclose(copy);
	assert_int_equal(result.differs_at, 0);
	assert_true(result.actions > 20);
	assert_int_equal(len, again_len);
	assert_memory_equal(text, again, len);
	free(text);
	free(again);
	end(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(urgent_work_holds_the_rest),
		cmocka_unit_test(a_burst_is_two_changes),
		cmocka_unit_test(a_handover_is_one_change),
		cmocka_unit_test(a_signal_that_was_armed_again_holds_nobody_for_long),
		cmocka_unit_test(a_write_index_without_a_doorbell_holds_nobody_for_long),
		cmocka_unit_test(memory_that_is_gone_holds_nobody_for_ever),
		cmocka_unit_test(work_of_a_queue_that_is_kept_off_is_not_waited_for),
		cmocka_unit_test(waves_are_not_asked_for_all_the_time),
		cmocka_unit_test(a_queue_that_cannot_be_held_runs),
		cmocka_unit_test(a_failure_is_forgiven_with_time),
		cmocka_unit_test(a_failure_is_forgiven_after_a_pause),
		cmocka_unit_test(a_paused_node_does_nothing),
		cmocka_unit_test(one_priority_is_not_looked_at),
		cmocka_unit_test(turns_are_looked_at),
		cmocka_unit_test(idle_rings_are_looked_at_less_often),
		cmocka_unit_test(longest_interval_is_ten_periods),
		cmocka_unit_test(a_program_is_entered_once),
		cmocka_unit_test(disabled_everything_is_released_at_once),
		cmocka_unit_test(a_queue_with_another_wish_changes_its_group),
		cmocka_unit_test(a_wish_that_is_granted_later_changes_its_group),
		cmocka_unit_test(without_memory_a_queue_is_not_scheduled),
		cmocka_unit_test(queues_of_one_program_are_one_group),
		cmocka_unit_test(priorities_of_the_hardware_do_not_split_a_program),
		cmocka_unit_test(queues_with_a_logical_priority_are_apart),
		cmocka_unit_test(higher_queues_are_released_first),
		cmocka_unit_test(programs_of_one_user_have_one_owner),
		cmocka_unit_test(being_urgent_needs_a_right),
		cmocka_unit_test(files_show_and_take_numbers),
		cmocka_unit_test(each_policy_keeps_its_parameters),
		cmocka_unit_test(equals_take_turns),
		cmocka_unit_test(what_is_known_of_a_queue_is_shown),
		cmocka_unit_test(its_log_replays_to_the_same_bytes),
	};

	return cmocka_run_group_tests_name("node", tests, NULL, NULL);
}
