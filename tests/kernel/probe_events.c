// SPDX-License-Identifier: MIT
/* Events: made, set, waited for, and destroyed under those who wait. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "probe.h"

#define FOREVER UINT_MAX
#define FIRST_SLOTS 256
/* Long enough for another thread to begin its wait, even on a slow machine. */
#define BEGIN_MS 300

static int create(const struct probe *p, uint32_t type, uint32_t auto_reset)
{
	struct gp_kfd_create_event e = { .event_type = type, .auto_reset = auto_reset };
	int result = probe_ioctl(p, GP_KFD_CREATE_EVENT, &e);

	return result < 0 ? result : (int)e.event_id;
}

static int change(const struct probe *p, unsigned long request, uint32_t id)
{
	struct gp_kfd_event e = { .event_id = id };

	return probe_ioctl(p, request, &e);
}

static uint32_t made(const struct probe *p, uint32_t auto_reset)
{
	return (uint32_t)create(p, GP_KFD_EVENT_SIGNAL, auto_reset);
}

/*
 * Without waiting
 */

static void create_all_types(const struct probe *p)
{
	static const uint32_t types[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 100, UINT_MAX };
	char name[48], set[PROBE_RESULT_MAX], reset[PROBE_RESULT_MAX], gone[PROBE_RESULT_MAX];

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct gp_kfd_create_event e = { .event_type = types[i],
						 .node_id = 9,
						 .event_slot_index = 99 };
		int result = probe_ioctl(p, GP_KFD_CREATE_EVENT, &e);

		snprintf(name, sizeof(name), "type-%d/create", (int)types[i]);
		probe_say(p, name, "%s id %x trigger %x slot %u page %llx node %u",
			  probe_result(set, result), e.event_id, e.event_trigger_data,
			  e.event_slot_index, e.event_page_offset, e.node_id);
		snprintf(name, sizeof(name), "type-%d/change", (int)types[i]);
		probe_say(p, name, "set %s reset %s destroy %s",
			  probe_result(set, change(p, GP_KFD_SET_EVENT, e.event_id)),
			  probe_result(reset, change(p, GP_KFD_RESET_EVENT, e.event_id)),
			  probe_result(gone, change(p, GP_KFD_DESTROY_EVENT, e.event_id)));
	}
}

static void unknown_ids(const struct probe *p)
{
	static const uint32_t ids[] = { 0,	    PROBE_NO_EVENT,  4096,
					0x80000000, 0x80000000 + 77, 0x7fffffff,
					UINT_MAX };
	char name[40], set[PROBE_RESULT_MAX], reset[PROBE_RESULT_MAX], gone[PROBE_RESULT_MAX];

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		snprintf(name, sizeof(name), "id-%x", ids[i]);
		probe_say(p, name, "set %s reset %s destroy %s",
			  probe_result(set, change(p, GP_KFD_SET_EVENT, ids[i])),
			  probe_result(reset, change(p, GP_KFD_RESET_EVENT, ids[i])),
			  probe_result(gone, change(p, GP_KFD_DESTROY_EVENT, ids[i])));
	}
}

/* Ids are given again, the smallest first or the next one. */
static void ids_again(const struct probe *p, const void *arg)
{
	int a = create(p, 0, 0), b = create(p, 0, 0), c = create(p, 0, 0), d, e;

	(void)arg;
	change(p, GP_KFD_DESTROY_EVENT, (uint32_t)a);
	d = create(p, 0, 0);
	change(p, GP_KFD_DESTROY_EVENT, (uint32_t)c);
	e = create(p, GP_KFD_EVENT_DEBUG_EVENT, 0);
	probe_say(p, "ids", "%d %d %d, without %d: %d, without %d: %d", a, b, c, a, d, c, e);
	a = create(p, GP_KFD_EVENT_MEMORY, 0);
	b = create(p, GP_KFD_EVENT_HW_EXCEPTION, 1);
	change(p, GP_KFD_DESTROY_EVENT, (uint32_t)a);
	c = create(p, 1, 0);
	probe_say(p, "other-ids", "%x %x, without %x: %x", a, b, a, c);
}

static void page_of_a_buffer(const struct probe *p, const void *arg)
{
	struct gp_kfd_create_event e = { .event_page_offset = (uint64_t)PROBE_NO_GPU << 32 | 1 };

	(void)arg;
	probe_ask(p, "page-of-unknown-gpu", GP_KFD_CREATE_EVENT, &e);
	create(p, 0, 0);
	e.event_page_offset = (uint64_t)PROBE_NO_GPU << 32 | 1;
	probe_ask(p, "page-after-the-first", GP_KFD_CREATE_EVENT, &e);
}

static int create_until_refused(const struct probe *p, int *result)
{
	int n = 0;

	while (n < 5000 && (*result = create(p, 0, 0)) >= 0)
		n++;
	return n;
}

/* As many as the smallest page has slots; more when more of it is mapped. */
static void limit(const struct probe *p, const void *arg)
{
	char text[PROBE_RESULT_MAX];
	int result, n = create_until_refused(p, &result);

	(void)arg;
	probe_say(p, "limit", "%d, then %s", n, probe_result(text, result));
	probe_answer(p, "limit/debug-event", create(p, GP_KFD_EVENT_DEBUG_EVENT, 0));
	probe_answer(p, "limit/other", create(p, GP_KFD_EVENT_MEMORY, 0) < 0);
	change(p, GP_KFD_DESTROY_EVENT, 7);
	probe_answer(p, "limit/after-one-is-gone", create(p, 0, 0));
	if (mmap(NULL, 32768, PROT_READ | PROT_WRITE, MAP_SHARED, p->kfd, (off_t)(2ULL << 62)) ==
	    MAP_FAILED)
		probe_answer(p, "limit/mmap", -errno);
	n = create_until_refused(p, &result);
	probe_say(p, "limit/all-mapped", "%d more, then %s", n, probe_result(text, result));
	/* A smaller mapping later makes fewer slots of it again. */
	if (mmap(NULL, 4096, PROT_READ, MAP_SHARED, p->kfd, (off_t)(2ULL << 62)) == MAP_FAILED)
		probe_answer(p, "limit/small-mmap", -errno);
	change(p, GP_KFD_DESTROY_EVENT, 4095);
	probe_answer(p, "limit/small-mapping", create(p, 0, 0));
	change(p, GP_KFD_DESTROY_EVENT, 9);
	probe_answer(p, "limit/small-mapping-low-id", create(p, 0, 0));
}

void probe_events(const struct probe *p)
{
	create_all_types(p);
	unknown_ids(p);
	probe_fresh(p, "ids-again", ids_again, NULL);
	probe_fresh(p, "page-of-a-buffer", page_of_a_buffer, NULL);
	probe_fresh(p, "limit", limit, NULL);
}

/*
 * Waiting
 */

struct wait {
	struct gp_kfd_event_data data[4];
	struct gp_kfd_wait_events args;
	int result;
};

static struct wait wait_of(uint32_t n, uint32_t a, uint32_t b, uint32_t all, uint32_t timeout)
{
	return (struct wait){ .data = { { .event_id = a }, { .event_id = b } },
			      .args = { .num_events = n,
					.wait_for_all = all,
					.timeout = timeout,
					.wait_result = 9 } };
}

static void run_wait(const struct probe *p, struct wait *w)
{
	w->args.events_ptr = (uintptr_t)w->data;
	w->result = probe_ioctl(p, GP_KFD_WAIT_EVENTS, &w->args);
}

static void say_wait(const struct probe *p, const char *name, const struct wait *w)
{
	char text[PROBE_RESULT_MAX];

	probe_say(p, name, "%s %s timeout %u age %llu %llu", probe_result(text, w->result),
		  w->args.wait_result == GP_KFD_WAIT_COMPLETE  ? "complete"
		  : w->args.wait_result == GP_KFD_WAIT_TIMEOUT ? "timeout"
		  : w->args.wait_result == GP_KFD_WAIT_FAIL    ? "fail"
							       : "unchanged",
		  w->args.timeout, w->data[0].last_event_age, w->data[1].last_event_age);
}

static void wait_now(const struct probe *p, const char *name, struct wait w)
{
	run_wait(p, &w);
	say_wait(p, name, &w);
}

static void wait_with_age(const struct probe *p, const char *name, uint32_t id, uint64_t age)
{
	struct wait w = wait_of(1, id, 0, 0, 0);

	w.data[0].last_event_age = age;
	wait_now(p, name, w);
}

static void at_once(const struct probe *p, const void *arg)
{
	uint32_t a = made(p, 0), b = made(p, 0), once = made(p, 1);

	(void)arg;
	wait_now(p, "nothing", wait_of(0, 0, 0, 0, 0));
	wait_now(p, "nothing/all", wait_of(0, 0, 0, 1, FOREVER));
	wait_now(p, "unset", wait_of(1, a, 0, 0, 0));
	wait_now(p, "unset/20-ms", wait_of(1, a, 0, 0, 20));
	change(p, GP_KFD_SET_EVENT, a);
	wait_now(p, "set", wait_of(1, a, 0, 0, 0));
	wait_now(p, "set/again", wait_of(1, a, 0, 0, FOREVER));
	wait_now(p, "any-of-two", wait_of(2, b, a, 0, 0));
	wait_now(p, "all-of-two", wait_of(2, a, b, 1, 0));
	wait_now(p, "same-twice", wait_of(2, a, a, 1, 0));
	wait_now(p, "same-twice-unset", wait_of(2, b, b, 0, 0));
	wait_now(p, "all-is-99", wait_of(2, a, b, 99, 0));
	change(p, GP_KFD_RESET_EVENT, a);
	wait_now(p, "reset", wait_of(1, a, 0, 0, 0));
	change(p, GP_KFD_SET_EVENT, once);
	wait_now(p, "auto-reset", wait_of(1, once, 0, 0, 0));
	wait_now(p, "auto-reset/again", wait_of(1, once, 0, 0, 0));
	/* A wait that times out resets the event nevertheless. */
	change(p, GP_KFD_SET_EVENT, once);
	wait_now(p, "auto-reset/all", wait_of(2, once, b, 1, 0));
	wait_now(p, "auto-reset/after-all", wait_of(1, once, 0, 0, 0));
	change(p, GP_KFD_SET_EVENT, once);
	wait_now(p, "auto-reset/same-twice", wait_of(2, once, once, 1, 0));
}

static void ages(const struct probe *p, const void *arg)
{
	uint32_t a = made(p, 0), once = made(p, 1),
		 memory = (uint32_t)create(p, GP_KFD_EVENT_MEMORY, 0);

	(void)arg;
	wait_with_age(p, "age/1-of-new", a, 1);
	wait_with_age(p, "age/2-of-new", a, 2);
	change(p, GP_KFD_SET_EVENT, a);
	change(p, GP_KFD_SET_EVENT, a);
	wait_with_age(p, "age/1-of-set-twice", a, 1);
	wait_with_age(p, "age/3-of-set-twice", a, 3);
	change(p, GP_KFD_RESET_EVENT, a);
	wait_with_age(p, "age/3-of-reset", a, 3);
	wait_with_age(p, "age/1-of-reset", a, 1);
	wait_with_age(p, "age/0-of-reset", a, 0);
	change(p, GP_KFD_SET_EVENT, once);
	wait_with_age(p, "age/1-of-auto-reset", once, 1);
	wait_with_age(p, "age/2-of-auto-reset", once, 2);
	wait_with_age(p, "age/of-memory-event", memory, 1);
}

static void bad_waits(const struct probe *p, const void *arg)
{
	uint32_t a = made(p, 0), once = made(p, 1), gone = made(p, 0);
	struct gp_kfd_event_data *edge = probe_edge(sizeof(*edge), PROT_READ | PROT_WRITE);
	struct wait w = wait_of(1, a, 0, 0, 0);

	(void)arg;
	change(p, GP_KFD_DESTROY_EVENT, gone);
	wait_now(p, "unknown", wait_of(1, PROBE_NO_EVENT, 0, 0, 0));
	wait_now(p, "event-0", wait_of(1, 0, 0, 0, 0));
	wait_now(p, "destroyed-before", wait_of(1, gone, 0, 0, FOREVER));
	change(p, GP_KFD_SET_EVENT, a);
	wait_now(p, "set-and-unknown", wait_of(2, a, PROBE_NO_EVENT, 0, 0));
	/* An event that a failed wait has reset is lost. */
	change(p, GP_KFD_SET_EVENT, once);
	wait_now(p, "auto-reset-and-unknown", wait_of(2, once, PROBE_NO_EVENT, 0, 0));
	wait_now(p, "auto-reset-after-that", wait_of(1, once, 0, 0, 0));
	w.result = probe_ioctl(p, GP_KFD_WAIT_EVENTS, &w.args);
	say_wait(p, "null-array", &w);
	*edge = (struct gp_kfd_event_data){ .event_id = a };
	w.args.events_ptr = (uintptr_t)edge;
	w.args.num_events = 2;
	w.result = probe_ioctl(p, GP_KFD_WAIT_EVENTS, &w.args);
	say_wait(p, "array-over-the-edge", &w);
	edge->event_id = PROBE_NO_EVENT;
	w.result = probe_ioctl(p, GP_KFD_WAIT_EVENTS, &w.args);
	say_wait(p, "unknown-before-the-edge", &w);
	w.args.num_events = UINT_MAX;
	w.result = probe_ioctl(p, GP_KFD_WAIT_EVENTS, &w.args);
	say_wait(p, "too-many", &w);
}

/* An array that can be read and not written. */
static void read_only_array(const struct probe *p, const void *arg)
{
	uint32_t a = made(p, 0);
	struct gp_kfd_event_data *data = probe_edge(sizeof(*data), PROT_READ | PROT_WRITE);
	struct wait w = wait_of(1, a, 0, 0, 0);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	(void)arg;
	change(p, GP_KFD_SET_EVENT, a);
	*data = (struct gp_kfd_event_data){ .event_id = a, .last_event_age = 1 };
	mprotect((void *)((uintptr_t)data & ~(page - 1)), page, PROT_READ);
	w.args.events_ptr = (uintptr_t)data;
	w.result = probe_ioctl(p, GP_KFD_WAIT_EVENTS, &w.args);
	say_wait(p, "read-only-array", &w);
}

/*
 * Another thread waits
 */

struct sleeper {
	const struct probe *p;
	struct wait w;
	pthread_t thread;
};

static void *sleep_in_wait(void *arg)
{
	struct sleeper *s = arg;

	run_wait(s->p, &s->w);
	return NULL;
}

static void begin(struct sleeper *s)
{
	const struct timespec ts = { 0, BEGIN_MS * 1000000L };

	pthread_create(&s->thread, NULL, sleep_in_wait, s);
	nanosleep(&ts, NULL);
}

static void end(struct sleeper *s, const char *name)
{
	pthread_join(s->thread, NULL);
	say_wait(s->p, name, &s->w);
}

static void woken(const struct probe *p, const void *arg)
{
	uint32_t a = made(p, 0), b = made(p, 0), once = made(p, 1);
	struct sleeper s = { .p = p, .w = wait_of(2, a, b, 0, FOREVER) }, t;

	(void)arg;
	begin(&s);
	change(p, GP_KFD_SET_EVENT, b);
	end(&s, "woken/any");
	s.w = wait_of(2, a, b, 1, FOREVER);
	begin(&s);
	change(p, GP_KFD_SET_EVENT, a);
	end(&s, "woken/all");
	s.w = wait_of(1, once, 0, 0, FOREVER);
	t = s;
	begin(&s);
	begin(&t);
	change(p, GP_KFD_SET_EVENT, once);
	end(&s, "woken/auto-reset");
	end(&t, "woken/auto-reset-of-another");
	wait_now(p, "woken/auto-reset-after", wait_of(1, once, 0, 0, 0));
	/* It was set and reset before any thread looked. */
	change(p, GP_KFD_RESET_EVENT, a);
	s.w = wait_of(1, a, 0, 0, FOREVER);
	s.w.data[0].last_event_age = 2;
	begin(&s);
	change(p, GP_KFD_SET_EVENT, a);
	end(&s, "woken/with-age");
}

static void destroyed(const struct probe *p, const void *arg)
{
	uint32_t a = made(p, 0), b = made(p, 0);
	struct sleeper s = { .p = p, .w = wait_of(1, a, 0, 0, FOREVER) };

	(void)arg;
	begin(&s);
	change(p, GP_KFD_DESTROY_EVENT, a);
	end(&s, "destroyed/only-one");
	a = made(p, 0);
	s.w = wait_of(2, a, b, 1, FOREVER);
	begin(&s);
	change(p, GP_KFD_DESTROY_EVENT, b);
	end(&s, "destroyed/one-of-all");
	b = made(p, 0);
	s.w = wait_of(2, a, b, 0, FOREVER);
	begin(&s);
	change(p, GP_KFD_DESTROY_EVENT, b);
	end(&s, "destroyed/one-of-any");
}

static void ignore(int signal)
{
	(void)signal;
}

static void interrupt(struct sleeper *s, int flags)
{
	struct sigaction action = { .sa_handler = ignore, .sa_flags = flags };

	sigaction(SIGUSR1, &action, NULL);
	begin(s);
	pthread_kill(s->thread, SIGUSR1);
}

static void interrupted(const struct probe *p, const void *arg)
{
	const struct timespec ts = { 0, BEGIN_MS * 1000000L };
	uint32_t a = made(p, 0);
	struct sleeper s = { .p = p, .w = wait_of(1, a, 0, 0, FOREVER) };

	(void)arg;
	interrupt(&s, 0);
	end(&s, "signal");
	s.w = wait_of(1, a, 0, 0, 100000);
	interrupt(&s, 0);
	pthread_join(s.thread, NULL);
	/* How much is left depends on the host. */
	probe_say(p, "signal/time-left", "%s", s.w.args.timeout < 100000 ? "less" : "as much");
	s.w = wait_of(1, a, 0, 0, FOREVER);
	interrupt(&s, SA_RESTART);
	nanosleep(&ts, NULL);
	change(p, GP_KFD_SET_EVENT, a);
	end(&s, "signal/restarted");
}

void probe_waits(const struct probe *p)
{
	probe_fresh(p, "at-once", at_once, NULL);
	probe_fresh(p, "ages", ages, NULL);
	probe_fresh(p, "bad-waits", bad_waits, NULL);
	probe_fresh(p, "read-only-array", read_only_array, NULL);
	probe_fresh(p, "woken", woken, NULL);
	probe_fresh(p, "destroyed", destroyed, NULL);
	probe_fresh(p, "interrupted", interrupted, NULL);
}
