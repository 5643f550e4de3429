/* SPDX-License-Identifier: MIT */
/*
 * The online program: answers requests with short kernels, checks every answer, and says how long
 * they took from the moment the request was there: in wall time, and in the device's own, which a
 * slow host does not distort.
 *
 * Usage: online_server [--requests N] [--period DURATION] [--hint DURATION] [--at-once N] [--stdin]
 *                      [--queues N] [--groups N] [--rounds N] [--debuggable] [--json]
 *
 * Requests come by themselves, one --period after the other (0: when the one before is answered),
 * --at-once of them at a time; with --hint each is announced so long before, where the program is
 * joined. With --stdin they come from there: a line with a number is so many at once, and is
 * answered by a line "served N wall_us W device_us D" with the slowest of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <hsa/amd_hsa_signal.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hist.h"
#include "base/json.h"
#include "base/units.h"
#include "device/kfd/topology.h"
#include "device/kfd/user.h"
#include "gpreempt/gpreempt.h"
#include "hsa_lab.h"
#include "mill.h"

enum { AT_ONCE_MAX = 256, QUEUES_MAX = 8, GROUPS_MAX = 64, RING = 1024, TICK_NS = 10 };

struct options {
	uint64_t requests, period_ns, hint_ns, at_once, queues, groups, rounds;
	bool from_stdin, debuggable, json;
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
	int kfd;
	uint32_t gpu_id;
	uint64_t served;
	struct gp__hist wall_ns, device_ns;
};

static void parse_number(const char *name, uint64_t min, uint64_t max, uint64_t *value)
{
	lab_check(!gp__parse_u64(optarg, min, max, value),
		  "--%s: '%s' is no number from %" PRIu64 " to %" PRIu64, name, optarg, min, max);
}

static struct options parse(int argc, char **argv)
{
	static const struct option known[] = {
		{ "requests", 1, 0, 'n' }, { "period", 1, 0, 'p' }, { "at-once", 1, 0, 'a' },
		{ "stdin", 0, 0, 'i' },	   { "queues", 1, 0, 'q' }, { "groups", 1, 0, 'g' },
		{ "rounds", 1, 0, 'r' },   { "json", 0, 0, 'j' },   { "debuggable", 0, 0, 'd' },
		{ "hint", 1, 0, 'h' },	   { 0, 0, 0, 0 },
	};
	struct options o = { .requests = 20, .at_once = 1, .queues = 1, .groups = 1, .rounds = 20 };
	int c;

	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (c == 'n')
			parse_number("requests", 1, UINT32_MAX, &o.requests);
		else if (c == 'p')
			lab_check(!gp__parse_duration(optarg, &o.period_ns),
				  "--period: expected %s", GP__EXPECT_DURATION);
		else if (c == 'h')
			lab_check(!gp__parse_duration(optarg, &o.hint_ns), "--hint: expected %s",
				  GP__EXPECT_DURATION);
		else if (c == 'a')
			parse_number("at-once", 1, AT_ONCE_MAX, &o.at_once);
		else if (c == 'q')
			parse_number("queues", 1, QUEUES_MAX, &o.queues);
		else if (c == 'g')
			parse_number("groups", 1, GROUPS_MAX, &o.groups);
		else if (c == 'r')
			parse_number("rounds", 1, UINT32_MAX, &o.rounds);
		else if (c == 'i')
			o.from_stdin = true;
		else if (c == 'j')
			o.json = true;
		else if (c == 'd')
			o.debuggable = true;
		else
			lab_fail("usage: online_server [--requests N] [--period DURATION] ...");
	}
	lab_check(optind == argc, "an argument that it does not know: '%s'", argv[optind]);
	return o;
}

static uint64_t first_state(size_t i)
{
	return i * 0x9e3779b97f4a7c15u;
}

static uint64_t device_now(const struct server *s)
{
	struct gp_kfd_get_clock_counters clock = { .gpu_id = s->gpu_id };
	int err = gp__kfd_ioctl(s->kfd, GP_KFD_GET_CLOCK_COUNTERS, &clock);

	lab_check(!err, "GET_CLOCK_COUNTERS: %s", strerror(-err));
	return clock.gpu_clock_counter;
}

static void open_clock(struct server *s)
{
	struct gp__kfd_node node[GP__KFD_NODES_MAX];

	lab_check(gp__kfd_nodes(node) > 0, "amdkfd shows no GPU");
	s->gpu_id = node[0].gpu_id;
	s->kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	lab_check(s->kfd >= 0, "/dev/kfd: %s", strerror(errno));
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

/* Answers @n requests that were there at once; the slowest of them. */
static void serve(struct server *s, uint64_t n, uint64_t *wall_ns, uint64_t *device_ns)
{
	uint64_t device_begin = device_now(s), begin = gp__clock_ns();

	*wall_ns = *device_ns = 0;
	for (uint64_t i = 0; i < n; i++)
		submit(s, i);
	for (uint64_t i = 0; i < n; i++) {
		const struct request *r = &s->request[i];
		uint64_t wall, device;

		lab_wait(r->ended, HSA_WAIT_STATE_BLOCKED, "an answer");
		wall = gp__clock_ns() - begin;
		device = (((const amd_signal_t *)r->ended.handle)->end_ts - device_begin) * TICK_NS;
		check_answer(s, r);
		gp__hist_record(&s->wall_ns, wall);
		gp__hist_record(&s->device_ns, device);
		*wall_ns = wall > *wall_ns ? wall : *wall_ns;
		*device_ns = device > *device_ns ? device : *device_ns;
	}
	s->served += n;
}

static void sleep_until(uint64_t at)
{
	struct timespec t = { .tv_sec = (time_t)(at / 1000000000u),
			      .tv_nsec = (long)(at % 1000000000u) };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static void serve_by_clock(struct server *s)
{
	uint64_t next = gp__clock_ns() + s->o.hint_ns, wall, device, announced = 0;

	while (s->served < s->o.requests) {
		uint64_t left = s->o.requests - s->served;

		if (s->o.hint_ns) {
			sleep_until(next - s->o.hint_ns);
			announced += !gp_hint_arriving(NULL, next);
		}
		if (s->o.period_ns)
			sleep_until(next);
		serve(s, left < s->o.at_once ? left : s->o.at_once, &wall, &device);
		if (s->o.hint_ns)
			gp_hint_over(NULL);
		next += s->o.period_ns;
	}
	if (s->o.hint_ns && !s->o.json)
		printf("%" PRIu64 " announced\n", announced);
}

static void serve_by_line(struct server *s)
{
	uint64_t n, wall, device;
	char line[64];

	printf("ready\n");
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		lab_check(!gp__parse_u64(line, 1, AT_ONCE_MAX, &n),
			  "'%s' is no number of requests from 1 to %d", line, AT_ONCE_MAX);
		serve(s, n, &wall, &device);
		printf("served %" PRIu64 " wall_us %.1f device_us %.1f\n", n, (double)wall / 1e3,
		       (double)device / 1e3);
	}
}

static void report_text(const char *what, const struct gp__hist *h)
{
	uint64_t p50 = 0, p99 = 0, max = 0;
	char text[3][32];

	if (gp__hist_quantile(h, 0.5, &p50) || gp__hist_quantile(h, 0.99, &p99) ||
	    gp__hist_max(h, &max))
		return;
	printf("%s: p50 %s, p99 %s, max %s\n", what,
	       gp__format_duration(text[0], sizeof(text[0]), p50),
	       gp__format_duration(text[1], sizeof(text[1]), p99),
	       gp__format_duration(text[2], sizeof(text[2]), max));
}

static void report(const struct server *s)
{
	json_t *root, *wall, *device;

	if (!s->o.json) {
		printf("%" PRIu64 " requests, each answered right\n", s->served);
		report_text("wall time", &s->wall_ns);
		report_text("device time", &s->device_ns);
		return;
	}
	root = gp__json_envelope();
	wall = json_object();
	device = json_object();
	gp__json_set_u64(root, "requests", true, s->served);
	gp__json_set_latency(wall, &s->wall_ns);
	gp__json_set_latency(device, &s->device_ns);
	json_object_set_new(root, "wall", wall);
	json_object_set_new(root, "device", device);
	json_dumpf(root, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(root);
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
	open_clock(&s);
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
