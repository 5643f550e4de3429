/* SPDX-License-Identifier: MIT */
/*
 * The online program: answers requests with short kernels, checks every answer, and reports how
 * long they took from the arrival of the request: in wall time, and in device time, which a slow
 * host does not distort.
 *
 * Usage: online_server [--requests N] [--period DURATION] [--hint DURATION] [--at-once N] [--stdin]
 *                      [--queues N] [--groups N] [--rounds N] [--each] [--debuggable] [--json]
 *
 * Requests arrive every --period (0: when the one before is answered), --at-once of them at a time;
 * with --hint each is announced so long before, if the build can (hints.h). With --stdin they come
 * from there: a line with a number is so many requests, and is answered by a line "served N wall_us
 * W device_us D" with the slowest of them.
 *
 * With --each it prints a line for each request when it is answered: "request N ARRIVED ANSWERED
 * ARRIVED ANSWERED", by the host's monotonic clock and by the device's, in nanoseconds.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device_clock.h"
#include "hints.h"
#include "hsa_lab.h"
#include "mill.h"
#include "program.h"

enum { AT_ONCE_MAX = 256, QUEUES_MAX = 8, GROUPS_MAX = 64, RING = 1024 };

struct options {
	uint64_t requests, period_ns, hint_ns, at_once, queues, groups, rounds;
	bool from_stdin, debuggable, each, json;
};

struct span {
	uint64_t begin, end;
};

struct request {
	uint64_t *state;
	struct mill_arguments *args;
	_Atomic uint32_t *done;
	hsa_signal_t ended;
};

struct server {
	struct options o;
	struct lab lab;
	struct lab_kernel mill;
	hsa_queue_t *queue[QUEUES_MAX];
	struct request request[AT_ONCE_MAX];
	uint64_t answer[GROUPS_MAX * MILL_GROUP];
	struct device_clock clock;
	uint64_t served;
	struct program_times wall_ns, device_ns;
};

static struct options parse(int argc, char **argv)
{
	struct options o = { .requests = 20, .at_once = 1, .queues = 1, .groups = 1, .rounds = 20 };
	const struct program_option known[] = {
		{ "requests", .number = &o.requests, .min = 1, .max = UINT32_MAX },
		{ "period", .duration_ns = &o.period_ns },
		{ "hint", .duration_ns = &o.hint_ns },
		{ "at-once", .number = &o.at_once, .min = 1, .max = AT_ONCE_MAX },
		{ "queues", .number = &o.queues, .min = 1, .max = QUEUES_MAX },
		{ "groups", .number = &o.groups, .min = 1, .max = GROUPS_MAX },
		{ "rounds", .number = &o.rounds, .min = 1, .max = UINT32_MAX },
		{ "stdin", .flag = &o.from_stdin },
		{ "each", .flag = &o.each },
		{ "debuggable", .flag = &o.debuggable },
		{ "json", .flag = &o.json },
	};

	program_options(known, sizeof(known) / sizeof(known[0]), argc, argv,
			"online_server [--requests N] [--period DURATION] ...");
	return o;
}

static uint64_t first_state(size_t i)
{
	return i * 0x9e3779b97f4a7c15u;
}

static void open_requests(struct server *s)
{
	size_t words = s->o.groups * MILL_GROUP;

	for (uint64_t q = 0; q < s->o.queues; q++)
		s->queue[q] = lab_queue(&s->lab, RING);
	for (uint64_t q = 0; q < s->o.queues; q++)
		lab_must(hsa_amd_profiling_set_profiler_enabled(s->queue[q], 1));
	for (int i = 0; i < AT_ONCE_MAX; i++) {
		struct request *r = &s->request[i];

		r->state = lab_alloc(&s->lab, s->lab.fine, words * sizeof(uint64_t));
		r->done = lab_alloc(&s->lab, s->lab.fine, 4096);
		r->args = lab_alloc(&s->lab, s->lab.kernarg, 4096);
		*r->args = (struct mill_arguments){ r->state, (uint32_t)s->o.rounds, 0,
						    (void *)r->done };
		r->ended = lab_signal(1);
	}
	for (size_t i = 0; i < words; i++)
		s->answer[i] = first_state(i);
	for (uint64_t g = 0; g < s->o.groups; g++)
		turn_mill(&s->answer[g * MILL_GROUP], (uint32_t)s->o.rounds);
}

static void submit(struct server *s, uint64_t i)
{
	struct request *r = &s->request[i];
	size_t words = s->o.groups * MILL_GROUP;

	for (size_t w = 0; w < words; w++)
		r->state[w] = first_state(w);
	*r->done = 0;
	hsa_signal_store_screlease(r->ended, 1);
	lab_dispatch(s->queue[i % s->o.queues], &s->mill,
		     (struct lab_grid){ .size = { (uint32_t)words }, .group = { MILL_GROUP } },
		     r->args, r->ended);
}

static void check_answer(const struct server *s, const struct request *r)
{
	lab_check(*r->done == s->o.groups, "a request: %u workgroups have ended, not %" PRIu64,
		  *r->done, s->o.groups);
	for (size_t w = 0; w < s->o.groups * MILL_GROUP; w++)
		lab_check(r->state[w] == s->answer[w],
			  "a request: word %zu is %#" PRIx64 ", not %#" PRIx64, w, r->state[w],
			  s->answer[w]);
}

static void record(struct server *s, const struct span *wall, const struct span *device)
{
	program_times_add(&s->wall_ns, wall->end - wall->begin);
	program_times_add(&s->device_ns, device->end - device->begin);
	s->served++;
	if (s->o.each)
		printf("request %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
		       s->served, wall->begin, wall->end, device->begin, device->end);
}

/* Answers @n requests that arrived together; returns the time of the slowest. */
static void serve(struct server *s, uint64_t n, uint64_t *wall_ns, uint64_t *device_ns)
{
	struct span device = { .begin = device_clock_ns(&s->clock) },
		    wall = { .begin = program_now() };

	*wall_ns = *device_ns = 0;
	for (uint64_t i = 0; i < n; i++)
		submit(s, i);
	for (uint64_t i = 0; i < n; i++) {
		const struct request *r = &s->request[i];

		lab_wait(r->ended, HSA_WAIT_STATE_BLOCKED, "an answer");
		wall.end = program_now();
		device.end = device_clock_end_ns(r->ended);
		check_answer(s, r);
		record(s, &wall, &device);
		if (wall.end - wall.begin > *wall_ns)
			*wall_ns = wall.end - wall.begin;
		if (device.end - device.begin > *device_ns)
			*device_ns = device.end - device.begin;
	}
}

static void serve_by_clock(struct server *s)
{
	uint64_t next = program_now() + s->o.hint_ns, wall, device, announced = 0;

	while (s->served < s->o.requests) {
		uint64_t left = s->o.requests - s->served;

		if (s->o.hint_ns) {
			program_sleep_until(next - s->o.hint_ns);
			announced += hint_arriving(next);
		}
		if (s->o.period_ns)
			program_sleep_until(next);
		serve(s, left < s->o.at_once ? left : s->o.at_once, &wall, &device);
		if (s->o.hint_ns)
			hint_over();
		next += s->o.period_ns;
	}
	if (s->o.hint_ns && !s->o.json)
		printf("%" PRIu64 " announced\n", announced);
}

static void serve_by_line(struct server *s)
{
	uint64_t n, wall, device;
	char line[64], *end;

	printf("ready\n");
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		n = strtoul(line, &end, 10);
		lab_check(end != line && !*end && n >= 1 && n <= AT_ONCE_MAX,
			  "'%s' is no number of requests from 1 to %d", line, AT_ONCE_MAX);
		serve(s, n, &wall, &device);
		printf("served %" PRIu64 " wall_us %.1f device_us %.1f\n", n, (double)wall / 1e3,
		       (double)device / 1e3);
	}
}

static void report(struct server *s)
{
	if (s->o.json) {
		program_print(json_pack("{s:i, s:I, s:o, s:o}", "schema", 1, "requests",
					(json_int_t)s->served, "wall",
					program_times_json(&s->wall_ns), "device",
					program_times_json(&s->device_ns)));
		return;
	}
	printf("%" PRIu64 " requests, each answered right\n", s->served);
	program_times_print(&s->wall_ns, "wall time");
	program_times_print(&s->device_ns, "device time");
}

int main(int argc, char **argv)
{
	static struct server s;

	s.o = parse(argc, argv);
	setvbuf(stdout, NULL, _IOLBF, 0);
	lab_must(hsa_init());
	if (s.o.debuggable)
		lab_enable_runtime();
	lab_open(&s.lab);
	s.mill = lab_find(&s.lab, "mill");
	device_clock_open(&s.clock, s.lab.gpu);
	open_requests(&s);
	if (s.o.from_stdin)
		serve_by_line(&s);
	else
		serve_by_clock(&s);
	report(&s);
	for (uint64_t q = 0; q < s.o.queues; q++)
		lab_must(hsa_queue_destroy(s.queue[q]));
	for (int i = 0; i < AT_ONCE_MAX; i++)
		lab_must(hsa_signal_destroy(s.request[i].ended));
	lab_close(&s.lab);
	lab_must(hsa_shut_down());
	return 0;
}
