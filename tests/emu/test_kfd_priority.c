// SPDX-License-Identifier: MIT
/*
 * Tests the kernel's own scheduler in the emulated machine: which queues are held, what its files
 * show and take, and that no work is lost.
 */
#include "kfd_bench.h"

#include "base/clock.h"
#include "emu/kfd/debugfs.h"
#include "emu/kfd/priority.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define OTHER_PID 4000000 /* of nobody */
#define URGENT 15
#define PATIENT 2

static const char *path;
static enum gfx9_target target;

struct setup {
	struct bench b;
	struct bench_process low, high;
	struct bench_queue low_queue, high_queue;
};

static void set_priority(struct bench_queue *q, uint32_t priority)
{
	struct gp_kfd_update_queue args = {
		.ring_base_address = q->ring_va,
		.queue_id = q->id,
		.ring_size = q->packets * AQL_PACKET_BYTES,
		.queue_percentage = 100,
		.queue_priority = priority,
	};

	assert_int_equal(emu_update_queue(&q->p->call, &args), 0);
}

static void begin(struct setup *s)
{
	bench_process_start(&s->b, &s->low, getpid());
	bench_process_start(&s->b, &s->high, OTHER_PID);
	s->low.p->opened = s->high.p->opened = true;
	assert_int_equal(bench_queue(&s->low, &s->low_queue, GP_KFD_QUEUE_COMPUTE_AQL, 64), 0);
	assert_int_equal(bench_queue(&s->high, &s->high_queue, GP_KFD_QUEUE_COMPUTE_AQL, 64), 0);
	set_priority(&s->low_queue, PATIENT);
	set_priority(&s->high_queue, URGENT);
}

static struct setup *start(void)
{
	struct setup *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->b.config.cwsr = true;
	s->b.config.kfd_sched = true;
	s->b.config.kernel = EMU_KERNEL_6_1; /* of CREATE_QUEUE: buffers need not be whole */
	bench_start(&s->b, target, path);
	begin(s);
	return s;
}

static void end(struct setup *s)
{
	bench_process_end(&s->low);
	bench_process_end(&s->high);
	assert_int_equal(s->b.node->priority->sched.nr_groups, 0);
	assert_int_equal(s->b.node->priority->sched.nr_queues, 0);
	bench_end(&s->b);
	free(s);
}

/* As the kernel has them: of the open file, or of what is read from it. */
static int read_file(struct setup *s, const char *name, char text[256])
{
	int fd = emu_priority_open(&s->low.call, name, O_RDONLY);
	ssize_t n;

	if (fd < 0)
		return fd;
	n = read(fd, text, 255);
	close(fd);
	assert_true(n >= 0);
	text[n] = '\0';
	return 0;
}

static const char *node_file(struct setup *s, const char *name)
{
	static char file[128];

	snprintf(file, sizeof(file), "/sys/class/kfd/kfd/sched_%u/%s", s->b.node->gpu_id, name);
	return file;
}

static long number_in(struct setup *s, const char *name)
{
	char text[256];

	assert_int_equal(read_file(s, node_file(s, name), text), 0);
	return strtol(text, NULL, 10);
}

static void write_file(struct setup *s, const char *name, const char *text)
{
	int fd = emu_priority_open(&s->low.call, node_file(s, name), O_WRONLY | O_TRUNC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* Each write by itself, whether somebody has read the first or not. */
static void write_words(struct setup *s, const char *name, const char *first, const char *second)
{
	int fd = emu_priority_open(&s->low.call, node_file(s, name), O_WRONLY);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, first, strlen(first)), strlen(first));
	assert_int_equal(write(fd, second, strlen(second)), strlen(second));
	close(fd);
}

static int read_queue_file(struct setup *s, const struct bench_queue *q, const char *name,
			   char text[256])
{
	char file[128];

	snprintf(file, sizeof(file), "/sys/class/kfd/kfd/proc/%d/queues/%u/%s", (int)q->p->p->pid,
		 q->id, name);
	return read_file(s, file, text);
}

static void expect(struct setup *s, const struct bench_queue *q, const char *name,
		   const char *expected)
{
	uint64_t deadline = gp__clock_ns() + BENCH_TIMEOUT;
	char text[256];

	do
		assert_int_equal(read_queue_file(s, q, name, text), 0);
	while (strcmp(text, expected) && gp__clock_ns() < deadline);
	assert_string_equal(text, expected);
}

#define WORK_ROUNDS 300

struct piece {
	struct bench_signal *done;
	uint64_t *state;
};

static void push_work(struct bench_queue *q, struct piece *w)
{
	uint64_t signal = bench_signal(q->p, 1, &w->done);
	union aql_packet packet = bench_work(q->p, WORK_ROUNDS, &w->state, signal);

	bench_push(q, &packet);
}

/* Patient work is on the GPU, and stopped for urgent work. */
static void stop_low(struct setup *s, struct bench_gate *low, struct bench_gate *high)
{
	bench_push_gate(&s->low_queue, low, 1);
	assert_true(bench_wait32(low->arrived, 1));
	bench_push_gate(&s->high_queue, high, 1);
	expect(s, &s->low_queue, "state", "excluded\n");
}

/*
 * Scheduling
 */

static void urgent_work_stops_the_rest(void **unused)
{
	struct setup *s = start();
	struct bench_gate low, high;

	bench_push_gate(&s->low_queue, &low, 2);
	assert_true(bench_wait32(low.arrived, 2));
	expect(s, &s->low_queue, "state", "admitted\n");
	bench_push_gate(&s->high_queue, &high, 2);
	expect(s, &s->low_queue, "state", "excluded\n");
	expect(s, &s->high_queue, "state", "admitted\n");
	assert_true(bench_wait32(high.arrived, 2));
	atomic_store(low.open, 1);
	assert_true(bench_stays(&low.done->value, 1));
	atomic_store(high.open, 1);
	assert_true(bench_wait(&low.done->value, 0));
	assert_true(bench_wait(&high.done->value, 0));
	expect(s, &s->low_queue, "state", "admitted\n");
	assert_true(number_in(s, "switches") >= 1);
	end(s);
	(void)unused;
}

static void who_is_alone_is_not_looked_at(void **unused)
{
	struct setup *s = start();
	struct bench_gate g;
	long ticks;

	bench_destroy(&s->high_queue);
	bench_push_gate(&s->low_queue, &g, 1);
	ticks = number_in(s, "ticks");
	usleep(50000);
	/* Each of these looks once, and so may whoever went before. */
	assert_true(number_in(s, "ticks") <= ticks + 2);
	atomic_store(g.open, 1);
	assert_true(bench_wait(&g.done->value, 0));
	end(s);
	(void)unused;
}

static void being_urgent_needs_a_right(void **unused)
{
	struct setup *s = start();

	expect(s, &s->high_queue, "effective_priority", "15\n");
	s->high.call.uid = 1000;
	set_priority(&s->high_queue, URGENT - 1);
	expect(s, &s->high_queue, "effective_priority", "7\n");
	set_priority(&s->high_queue, PATIENT);
	expect(s, &s->high_queue, "effective_priority", "2\n");
	end(s);
	(void)unused;
}

static void a_held_queue_of_another_priority_runs(void **unused)
{
	struct setup *s = start();
	struct bench_gate low, high;

	stop_low(s, &low, &high);
	set_priority(&s->low_queue, URGENT);
	expect(s, &s->low_queue, "state", "admitted\n");
	atomic_store(low.open, 1);
	assert_true(bench_wait(&low.done->value, 0));
	atomic_store(high.open, 1);
	assert_true(bench_wait(&high.done->value, 0));
	end(s);
	(void)unused;
}

/* Whoever holds it, too, must let it go. */
static void reasons_add_up(void **unused)
{
	struct setup *s = start();
	struct bench_gate low, high;

	stop_low(s, &low, &high);
	assert_int_equal(bench_hold(&s->low_queue, EMU_HELD_PREEMPTED, EMU_STOP_SAVE), 0);
	atomic_store(low.open, 1);
	atomic_store(high.open, 1);
	assert_true(bench_wait(&high.done->value, 0));
	expect(s, &s->low_queue, "state", "admitted\n");
	assert_true(bench_stays(&low.done->value, 1));
	assert_int_equal(bench_release(&s->low_queue, EMU_HELD_PREEMPTED), 0);
	assert_true(bench_wait(&low.done->value, 0));
	end(s);
	(void)unused;
}

static void who_is_gone_holds_nobody(void **unused)
{
	struct setup *s = start();
	struct bench_gate low, high;

	stop_low(s, &low, &high);
	bench_destroy(&s->high_queue);
	atomic_store(low.open, 1);
	assert_true(bench_wait(&low.done->value, 0));
	end(s);
	(void)unused;
}

static void who_is_held_can_go(void **unused)
{
	struct setup *s = start();
	struct bench_gate low, high;

	stop_low(s, &low, &high);
	bench_destroy(&s->low_queue);
	atomic_store(high.open, 1);
	assert_true(bench_wait(&high.done->value, 0));
	end(s);
	(void)unused;
}

static void let_time_out(struct setup *s, bool always)
{
	pthread_mutex_lock(&s->b.node->lock);
	s->b.m.config.preempt_timeout_ms = 20;
	s->b.m.config.faults.preempt_timeout = always ? 1000000 : 0;
	pthread_mutex_unlock(&s->b.node->lock);
}

/* Queues that come after it are scheduled. */
static void a_reset_is_survived(void **unused)
{
	struct setup *s = start();
	struct bench_gate low, high;

	let_time_out(s, true);
	bench_push_gate(&s->low_queue, &low, 1);
	bench_push_gate(&s->high_queue, &high, 1);
	assert_true(bench_wait((_Atomic int64_t *)&s->b.node->nr_resets, 1));
	let_time_out(s, false);
	while (number_in(s, "paused"))
		usleep(1000);
	bench_process_end(&s->low);
	bench_process_end(&s->high);
	begin(s);
	bench_push_gate(&s->high_queue, &high, 1);
	assert_true(bench_wait32(high.arrived, 1));
	expect(s, &s->high_queue, "state", "admitted\n");
	atomic_store(high.open, 1);
	assert_true(bench_wait(&high.done->value, 0));
	end(s);
	(void)unused;
}

/*
 * Files
 */

static void numbers_that_make_no_sense_change_nothing(void **unused)
{
	struct setup *s = start();

	write_file(s, "period_us", "2500\n");
	assert_int_equal(number_in(s, "period_us"), 2500);
	write_file(s, "period_us", "99\n");
	write_file(s, "period_us", "10000001\n");
	write_file(s, "period_us", "3000 \n");
	write_file(s, "period_us", "-1");
	write_file(s, "period_us", "");
	write_file(s, "period_us", "99999999999999999999999\n");
	assert_int_equal(number_in(s, "period_us"), 2500);
	write_file(s, "period_us", "300\n400");
	assert_int_equal(number_in(s, "period_us"), 2500);
	write_file(s, "period_us", "400");
	assert_int_equal(number_in(s, "period_us"), 400);
	write_words(s, "period_us", "500", "600");
	assert_int_equal(number_in(s, "period_us"), 600);
	write_file(s, "grace_us", "5");
	assert_int_equal(number_in(s, "grace_us"), 5);
	write_file(s, "enable", "2");
	assert_int_equal(number_in(s, "enable"), 1);
	write_file(s, "min_share_pct", "101");
	assert_true(number_in(s, "min_share_pct") <= 100);
	write_file(s, "min_share_pct", "9");
	assert_int_equal(number_in(s, "min_share_pct"), 9);
	write_file(s, "age_ms", "123");
	assert_int_equal(number_in(s, "age_ms"), 123);
	end(s);
	(void)unused;
}

static void disabled_nobody_is_held(void **unused)
{
	struct setup *s = start();
	struct bench_gate low, high;
	char text[256];

	stop_low(s, &low, &high);
	write_file(s, "enable", "0\n");
	assert_int_equal(number_in(s, "enable"), 0);
	assert_int_equal(read_queue_file(s, &s->low_queue, "state", text), -ENODATA);
	atomic_store(low.open, 1);
	assert_true(bench_wait(&low.done->value, 0));
	bench_push_gate(&s->low_queue, &low, 1);
	assert_true(bench_wait32(low.arrived, 1));
	/* It begins anew, and finds work that is there. */
	write_file(s, "enable", "1\n");
	expect(s, &s->low_queue, "state", "excluded\n");
	atomic_store(high.open, 1);
	atomic_store(low.open, 1);
	assert_true(bench_wait(&low.done->value, 0));
	end(s);
	(void)unused;
}

static void what_is_known_of_a_ring_is_shown(void **unused)
{
	struct setup *s = start();
	union aql_packet packet = { .barrier = { .header = AQL_BARRIER_AND } };
	struct bench_signal *never;
	char text[256];

	packet.barrier.dependency[0] = bench_signal(&s->low, 1, &never);
	bench_push(&s->low_queue, &packet);
	bench_push(&s->low_queue, &packet);
	expect(s, &s->low_queue, "wptr", "2\n");
	expect(s, &s->low_queue, "pending", "2\n");
	expect(s, &s->low_queue, "rptr", "0\n");
	expect(s, &s->low_queue, "preemptions", "0\n");
	expect(s, &s->low_queue, "preempted_ms", "0\n");
	assert_int_equal(read_queue_file(s, &s->low_queue, "log_id", text), 0);
	assert_int_equal(text[0], 'e');
	/* A program may reserve more than there is room for, but not less than nothing. */
	atomic_store(s->low_queue.write_index, 1000000);
	expect(s, &s->low_queue, "pending", "1000000\n");
	atomic_store(s->low_queue.write_index, UINT64_MAX);
	assert_int_equal(read_queue_file(s, &s->low_queue, "pending", text), -ENODATA);
	atomic_store(s->low_queue.write_index, 2);
	assert_int_equal(read_queue_file(s, &s->low_queue, "size", text), -ENOENT);
	atomic_store(&never->value, 0);
	/* If the packet processor saw the other index, it waits for a doorbell with another value.
	 */
	bench_ring(&s->low_queue, 2);
	assert_true(bench_wait_index(&s->low_queue, 2));
	end(s);
	(void)unused;
}

static void only_root_writes(void **unused)
{
	struct setup *s = start();
	struct emu_call *call = &s->low.call;
	char log[64];
	int fd;

	snprintf(log, sizeof(log), EMU_DEBUGFS "/sched_%u", s->b.node->gpu_id);
	assert_int_equal(emu_priority_open(call, node_file(s, "ticks"), O_WRONLY), -EACCES);
	assert_int_equal(emu_priority_open(call, node_file(s, "enable"), O_RDWR), -EACCES);
	assert_int_equal(emu_priority_open(call, log, O_WRONLY), -EACCES);
	assert_int_equal(emu_priority_open(call, node_file(s, "nothing"), O_RDONLY), -ENOENT);
	call->uid = 1000;
	assert_int_equal(emu_priority_open(call, node_file(s, "enable"), O_WRONLY), -EACCES);
	assert_int_equal(emu_priority_open(call, log, O_RDONLY), -EACCES);
	fd = emu_priority_open(call, node_file(s, "enable"), O_RDONLY);
	assert_true(fd >= 0);
	close(fd);
	end(s);
	(void)unused;
}

static void the_policy_is_chosen(void **unused)
{
	struct setup *s = start();
	char text[256];

	assert_int_equal(read_file(s, node_file(s, "policy"), text), 0);
	assert_string_equal(text, "hpf\n");
	write_file(s, "policy", "fair\n");
	assert_int_equal(read_file(s, node_file(s, "policy"), text), 0);
	assert_string_equal(text, "fair\n");
	/* A name that is none changes nothing. */
	write_file(s, "policy", "2");
	assert_int_equal(read_file(s, node_file(s, "policy"), text), 0);
	assert_string_equal(text, "fair\n");
	end(s);
	(void)unused;
}

static void writers_are_not_without_end(void **unused)
{
	struct setup *s = start();
	int fd[EMU_PRIORITY_WRITERS_MAX];

	for (int i = 0; i < EMU_PRIORITY_WRITERS_MAX; i++) {
		fd[i] = emu_priority_open(&s->low.call, node_file(s, "enable"), O_WRONLY);
		assert_true(fd[i] >= 0);
	}
	assert_int_equal(emu_priority_open(&s->low.call, node_file(s, "enable"), O_WRONLY),
			 -ENFILE);
	for (int i = 0; i < EMU_PRIORITY_WRITERS_MAX; i++)
		close(fd[i]);
	assert_int_equal(number_in(s, "enable"), 1);
	write_file(s, "enable", "0");
	assert_int_equal(number_in(s, "enable"), 0);
	end(s);
	(void)unused;
}

static void its_log_begins_with_its_parameters(void **unused)
{
	struct setup *s = start();
	char name[64], text[256];

	snprintf(name, sizeof(name), EMU_DEBUGFS "/sched_%u", s->b.node->gpu_id);
	assert_int_equal(read_file(s, name, text), 0);
	assert_int_equal(strncmp(text, GP__LOG_HEADER, strlen(GP__LOG_HEADER)), 0);
	assert_non_null(strstr(text, " config "));
	end(s);
	(void)unused;
}

/*
 * At random
 */

#define STRESS_QUEUES 6
#define STRESS_STEPS 400
static void at_random_nothing_is_lost(void **unused)
{
	struct setup *s = start();
	struct bench_queue q[STRESS_QUEUES];
	struct piece work[STRESS_STEPS] = { 0 };
	unsigned int seed = 11;

	for (int i = 0; i < STRESS_QUEUES; i++)
		assert_int_equal(bench_queue(i % 2 ? &s->high : &s->low, &q[i],
					     GP_KFD_QUEUE_COMPUTE_AQL, 64),
				 0);
	for (int i = 0; i < STRESS_STEPS; i++) {
		struct bench_queue *one = &q[rand_r(&seed) % STRESS_QUEUES];

		switch (rand_r(&seed) % 16) {
		case 0:
			set_priority(one, (uint32_t)rand_r(&seed) % 16);
			break;
		case 1:
			write_file(s, "enable", rand_r(&seed) % 4 ? "1" : "0");
			break;
		case 2:
			assert_int_equal(bench_hold(one, EMU_HELD_SUSPENDED, EMU_STOP_SAVE), 0);
			assert_int_equal(bench_release(one, EMU_HELD_SUSPENDED), 0);
			break;
		case 3:
			usleep((useconds_t)(rand_r(&seed) % 5000));
			break;
		default:
			push_work(one, &work[i]);
		}
	}
	for (int i = 0; i < STRESS_STEPS; i++) {
		if (!work[i].done)
			continue;
		assert_true(bench_wait(&work[i].done->value, 0));
		bench_check_work(work[i].state, WORK_ROUNDS);
	}
	end(s);
	(void)unused;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(urgent_work_stops_the_rest),
		cmocka_unit_test(who_is_alone_is_not_looked_at),
		cmocka_unit_test(being_urgent_needs_a_right),
		cmocka_unit_test(a_held_queue_of_another_priority_runs),
		cmocka_unit_test(reasons_add_up),
		cmocka_unit_test(who_is_gone_holds_nobody),
		cmocka_unit_test(who_is_held_can_go),
		cmocka_unit_test(a_reset_is_survived),
		cmocka_unit_test(numbers_that_make_no_sense_change_nothing),
		cmocka_unit_test(disabled_nobody_is_held),
		cmocka_unit_test(what_is_known_of_a_ring_is_shown),
		cmocka_unit_test(only_root_writes),
		cmocka_unit_test(the_policy_is_chosen),
		cmocka_unit_test(writers_are_not_without_end),
		cmocka_unit_test(its_log_begins_with_its_parameters),
		cmocka_unit_test(at_random_nothing_is_lost),
	};

	if (argc != 2)
		return 77;
	path = argv[1];
	target = machine_target(path);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
