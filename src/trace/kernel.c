// SPDX-License-Identifier: MIT
#include "trace/kernel.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "base/clock.h"

#define CATEGORY "kernel"

struct key {
	unsigned int gpu, queue;
	int pid;
};

struct queue {
	struct key key;
	uint64_t work, hold; /* tracks */
	bool busy, held;
	UT_hash_handle hh;
};

struct gp__trace_kernel {
	struct gp__perfetto *w;
	char source[64];
	struct queue *queues;
	uint64_t now;
};

struct gp__trace_kernel *gp__trace_kernel_open(struct gp__perfetto *w, const char *source)
{
	struct gp__trace_kernel *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->w = w;
	snprintf(k->source, sizeof(k->source), "%s", source);
	return k;
}

/* The GPU's track comes again for each of its queues, which changes nothing. */
static void write_tracks(struct gp__trace_kernel *k, struct queue *q)
{
	uint64_t gpu = gp__perfetto_uuid(k->source, "kernel", q->key.gpu);
	char name[64];

	snprintf(name, sizeof(name), "kernel scheduler, gpu_id %u", q->key.gpu);
	gp__perfetto_track(k->w, gpu, 0, name, 500);
	snprintf(name, sizeof(name), "pid %d queue %u: work", q->key.pid, q->key.queue);
	q->work = gp__perfetto_uuid(k->source, name, q->key.gpu);
	gp__perfetto_track(k->w, q->work, gpu, name, 2 * q->key.queue);
	snprintf(name, sizeof(name), "pid %d queue %u: hold", q->key.pid, q->key.queue);
	q->hold = gp__perfetto_uuid(k->source, name, q->key.gpu);
	gp__perfetto_track(k->w, q->hold, gpu, name, 2 * q->key.queue + 1);
}

static struct queue *queue_of(struct gp__trace_kernel *k, const struct key *key)
{
	struct queue *q;

	HASH_FIND(hh, k->queues, key, sizeof(*key), q);
	if (q)
		return q;
	q = calloc(1, sizeof(*q));
	if (!q)
		return NULL;
	q->key = *key;
	HASH_ADD(hh, k->queues, key, sizeof(q->key), q);
	write_tracks(k, q);
	return q;
}

/* "1234.567891" in nanoseconds; it ends before @end. 0: it is not a time. */
static uint64_t parse_time(const char *line, const char *end)
{
	const char *begin = end;
	uint64_t seconds, part, unit = GP__S;
	int n = 0;

	while (begin > line && (isdigit((unsigned char)begin[-1]) || begin[-1] == '.'))
		begin--;
	if (sscanf(begin, "%" SCNu64 ".%" SCNu64 "%n", &seconds, &part, &n) != 2 ||
	    begin + n != end)
		return 0;
	for (const char *p = strchr(begin, '.') + 1; p < end; p++)
		unit /= 10;
	return seconds * GP__S + part * unit;
}

static void begin(const struct gp__trace_kernel *k, uint64_t track, const char *name,
		  const struct gp__arg *args, size_t nr_args)
{
	gp__perfetto_begin(k->w, &(struct gp__track_event){ .time = k->now,
							    .track = track,
							    .name = name,
							    .category = CATEGORY,
							    .args = args,
							    .nr_args = nr_args });
}

static int take_ring(struct gp__trace_kernel *k, const char *text)
{
	struct key key = { 0 };
	struct queue *q;
	char word[8];
	bool busy;

	if (sscanf(text, "gpu_id=%u pid=%d queue=%u %7s", &key.gpu, &key.pid, &key.queue, word) !=
	    4)
		return -EINVAL;
	q = queue_of(k, &key);
	if (!q)
		return -ENOMEM;
	busy = !strcmp(word, "ready");
	if (busy && !q->busy)
		begin(k, q->work, "work", NULL, 0);
	else if (!busy && q->busy)
		gp__perfetto_end(k->w, q->work, k->now);
	q->busy = busy;
	return 0;
}

static int take_action(struct gp__trace_kernel *k, const char *text)
{
	char word[8], why[24], name[48];
	struct gp__arg args[2] = { { "took_ns", GP__ARG_U64, 0, 0, NULL },
				   { "result", GP__ARG_S64, 0, 0, NULL } };
	struct key key = { 0 };
	struct queue *q;
	bool hold;

	if (sscanf(text,
		   "gpu_id=%u pid=%d queue=%u %7s why=%23s result=%" SCNd64 " took_ns=%" SCNu64,
		   &key.gpu, &key.pid, &key.queue, word, why, &args[1].s, &args[0].u) != 7)
		return -EINVAL;
	q = queue_of(k, &key);
	if (!q)
		return -ENOMEM;
	hold = !strcmp(word, "preempt");
	if (args[1].s) {
		gp__perfetto_instant(k->w, &(struct gp__track_event){
						   .time = k->now,
						   .track = q->hold,
						   .name = hold ? "hold failed" : "release failed",
						   .category = CATEGORY,
						   .args = args,
						   .nr_args = 2 });
		return 0;
	}
	snprintf(name, sizeof(name), "hold: %s", why);
	if (hold && !q->held)
		begin(k, q->hold, name, args, 1);
	else if (!hold && q->held)
		gp__perfetto_end(k->w, q->hold, k->now);
	q->held = hold;
	return 0;
}

static const struct {
	const char *name;
	int (*take)(struct gp__trace_kernel *k, const char *text);
} tracepoints[] = {
	{ ": kfd_sched_ring: ", take_ring },
	{ ": kfd_sched_action: ", take_action },
};

int gp__trace_kernel_line(struct gp__trace_kernel *k, const char *line)
{
	for (size_t i = 0; i < sizeof(tracepoints) / sizeof(tracepoints[0]); i++) {
		const char *at = strstr(line, tracepoints[i].name);
		uint64_t time = at ? parse_time(line, at) : 0;

		if (!at)
			continue;
		if (!time)
			return -EINVAL;
		k->now = time;
		return tracepoints[i].take(k, at + strlen(tracepoints[i].name));
	}
	return 0;
}

static void remove_queue(struct gp__trace_kernel *k, struct queue *q)
{
	if (q->busy)
		gp__perfetto_end(k->w, q->work, k->now);
	if (q->held)
		gp__perfetto_end(k->w, q->hold, k->now);
	HASH_DEL(k->queues, q);
	free(q);
}

void gp__trace_kernel_close(struct gp__trace_kernel *k)
{
	struct queue *q, *next;

	for (q = k->queues; q; q = next) {
		next = q->hh.next;
		remove_queue(k, q);
	}
	free(k);
}
