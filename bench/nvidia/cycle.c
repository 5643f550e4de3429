// SPDX-License-Identifier: MIT
/*
 * Suspends and resumes a joined program through gpreemptd, COUNT times:
 *
 *	nvcycle SOCKET PID COUNT HOLD_FROM_US HOLD_TO_US GAP_FROM_US GAP_TO_US SEED
 *
 * Each suspension lasts until the daemon says that the program is off the GPU, and a random time
 * longer; a random gap follows. It prints one line of JSON with the times of each suspension
 * (CLOCK_MONOTONIC), which are also in the daemon's decision log.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "wire/client.h"

#define LOOK_US 50
#define PATIENCE_NS 10000000000u

struct range {
	uint64_t from, to;
};

struct cycles {
	int daemon;
	uint64_t pid, count;
	struct range hold_us, gap_us;
};

static _Noreturn void die(const char *what, const char *why)
{
	fprintf(stderr, "nvcycle: %s%s\n", what, why);
	exit(EXIT_FAILURE);
}

static uint64_t number(const char *text, uint64_t max)
{
	uint64_t n;

	if (gp__parse_u64(text, 0, max, &n))
		die("expected a whole number, not ", text);
	return n;
}

static void nap(const struct range *r)
{
	useconds_t us = (useconds_t)(r->from + (uint64_t)((double)(r->to - r->from) * drand48()));

	if (us)
		usleep(us);
}

/* The caller calls json_decref(). */
static json_t *ask(const struct cycles *c, const char *request)
{
	const char *error;
	json_t *json;
	char *text;
	int err = gp__wire_ask(c->daemon, request, &text);

	if (err)
		die("gpreemptd does not answer: ", strerror(-err));
	json = json_loads(text, 0, NULL);
	free(text);
	error = json_string_value(json_object_get(json, "error"));
	if (!json || error)
		die("gpreemptd says: ", error ? error : "what is no JSON");
	return json;
}

static void order(const struct cycles *c, const char *op)
{
	char request[128];

	snprintf(request, sizeof(request), "{\"op\":\"%s\",\"pid\":%" PRIu64 "}", op, c->pid);
	json_decref(ask(c, request));
}

/* Whether all groups of the program are held. */
static bool is_off(const struct cycles *c)
{
	json_t *list = ask(c, "{\"op\":\"list\"}"), *group;
	bool off = true, any = false;
	size_t i;

	json_array_foreach (json_object_get(list, "groups"), i, group) {
		const char *state = json_string_value(json_object_get(group, "state"));

		if ((uint64_t)json_integer_value(json_object_get(group, "pid")) != c->pid)
			continue;
		any = true;
		off &= state && !strcmp(state, "excluded");
		if (state && (!strcmp(state, "failed") || !strcmp(state, "unresponsive")))
			die("the program cannot be suspended: its state is ", state);
	}
	json_decref(list);
	return any && off;
}

static uint64_t wait_until_off(const struct cycles *c)
{
	uint64_t end = gp__clock_ns() + PATIENCE_NS;

	while (!is_off(c)) {
		if (gp__clock_ns() > end)
			die("the program is not off the GPU ten seconds after it was suspended",
			    "");
		usleep(LOOK_US);
	}
	return gp__clock_ns();
}

static void run(const struct cycles *c)
{
	for (uint64_t i = 0; i < c->count; i++) {
		uint64_t begin, off, resumed;

		nap(&c->gap_us);
		begin = gp__clock_ns();
		order(c, "suspend");
		off = wait_until_off(c);
		nap(&c->hold_us);
		resumed = gp__clock_ns();
		order(c, "resume");
		printf("%s[%" PRIu64 ", %" PRIu64 ", %" PRIu64 "]", i ? ", " : "", begin, off,
		       resumed);
	}
}

int main(int argc, char **argv)
{
	char text[GP__WIRE_TEXT_MAX];
	struct cycles c;

	if (argc != 9) {
		fprintf(stderr,
			"usage: nvcycle SOCKET PID COUNT HOLD_FROM_US HOLD_TO_US GAP_FROM_US "
			"GAP_TO_US SEED\n");
		return 2;
	}
	c = (struct cycles){ .pid = number(argv[2], INT32_MAX),
			     .count = number(argv[3], UINT32_MAX),
			     .hold_us = { number(argv[4], 900000), number(argv[5], 900000) },
			     .gap_us = { number(argv[6], 900000), number(argv[7], 900000) } };
	if (c.hold_us.from > c.hold_us.to || c.gap_us.from > c.gap_us.to)
		die("a range ends before it begins", "");
	srand48((long)number(argv[8], UINT32_MAX));
	c.daemon = gp__wire_control(argv[1], text);
	if (c.daemon < 0)
		die("no gpreemptd: ", *text ? text : strerror(-c.daemon));
	printf("{\"cycles_ns\": [");
	run(&c);
	printf("]}\n");
	close(c.daemon);
	return 0;
}
