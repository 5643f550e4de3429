// SPDX-License-Identifier: MIT
/* Reads the trace of the machine and the decision log of the scheduler. */
#include "cli/demo.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Spans with a smaller gap between them are merged. */
#define GAP_NS 20000

void *demo_append(void *items, size_t *n, size_t size)
{
	char *grown = items;

	/* The array has room for a power of two. */
	if (!(*n & (*n - 1)) || !*n)
		grown = realloc(items, (*n ? 2 * *n : 1) * size);
	if (!grown) {
		free(items);
		*n = 0;
		return NULL;
	}
	memset(grown + *n * size, 0, size);
	++*n;
	return grown;
}

/*
 * The trace
 */

static bool add_change(struct demo_changes *list, const struct demo_change *c)
{
	if (!DEMO_APPEND(list))
		return false;
	*DEMO_LAST(list) = *c;
	return true;
}

/* A change tells how long the GPU was busy before it. */
static bool add_gpu(struct demo_mode *m, struct demo_change c)
{
	const struct demo_change *last = m->gpu.n ? DEMO_LAST(&m->gpu) : NULL;

	if (last) {
		c.busy = last->busy + (last->on ? c.device - last->device : 0);
		c.busy_host = last->busy_host + (last->on ? c.host - last->host : 0);
	}
	return add_change(&m->gpu, &c);
}

static bool read_line(struct demo_mode *m, const char *line)
{
	struct demo_change c = { 0 };
	char word[8] = "";
	int pid = 0;

	if (sscanf(line, "%" SCNu64 " %" SCNu64 " %*u %7s %d", &c.host, &c.device, word, &pid) < 3)
		return false;
	c.on = !strcmp(word, "busy") || !strcmp(word, "on") || !strcmp(word, "work");
	if (!pid)
		return add_gpu(m, c);
	c.who = pid == m->pid[DEMO_ONLINE] ? DEMO_ONLINE : DEMO_OFFLINE;
	if (!strcmp(word, "work") || !strcmp(word, "done"))
		return c.who != DEMO_ONLINE || add_change(&m->work, &c);
	return add_change(&m->programs, &c);
}

static bool begin_span(struct demo_spans *s, uint64_t at)
{
	if (s->n && at - DEMO_LAST(s)->to < GAP_NS)
		return true;
	if (!DEMO_APPEND(s))
		return false;
	DEMO_LAST(s)->from = at;
	return true;
}

/* A program is on the GPU while any of its queues is. */
static bool make_spans(struct demo_mode *m)
{
	size_t nr_on[DEMO_PROGRAMS] = { 0 };

	for (size_t i = 0; i < m->programs.n; i++) {
		const struct demo_change *c = &m->programs.at[i];

		if (c->on && !nr_on[c->who]++ && !begin_span(&m->on[c->who], c->host))
			return false;
		if (!c->on && nr_on[c->who] && !--nr_on[c->who])
			DEMO_LAST(&m->on[c->who])->to = c->host;
	}
	return true;
}

/* From the changes of each of the online program's queues to those of all together. */
static void make_work(struct demo_mode *m)
{
	size_t nr_on = 0, n = 0;

	for (size_t i = 0; i < m->work.n; i++) {
		struct demo_change c = m->work.at[i];
		const struct demo_change *last = n ? &m->work.at[n - 1] : NULL;

		if (c.on ? nr_on++ : !nr_on || --nr_on)
			continue;
		if (last)
			c.busy = last->busy;
		if (last && last->on)
			c.busy += demo_busy_at(m, c.device) - demo_busy_at(m, last->device);
		m->work.at[n++] = c;
	}
	m->work.n = n;
}

bool demo_trace_read(struct demo_mode *m, const char *path, char *why, size_t size)
{
	FILE *in = fopen(path, "re");
	char line[128];
	bool ended = false, ok = in;

	while (ok && !ended && fgets(line, sizeof(line), in)) {
		ended = !strcmp(line, "end\n");
		ok = ended || read_line(m, line);
	}
	if (in)
		fclose(in);
	make_work(m);
	if (!ended)
		snprintf(why, size, "the machine's trace %s is not complete; is the disk full?",
			 path);
	else if (!make_spans(m))
		snprintf(why, size, "out of memory");
	else
		return true;
	return false;
}

/*
 * Decisions
 */

/* The queues of a program are held and released together, so lines of one time are one hold. */
bool demo_decisions_read(struct demo_mode *m, const char *path)
{
	FILE *in = fopen(path, "re");
	char line[512], what[16];
	bool held = false, ok = in;
	uint64_t at;

	while (ok && fgets(line, sizeof(line), in)) {
		if (sscanf(line, "%" SCNu64 " > %*s %*s %15s", &at, what) != 2)
			continue;
		if (!strcmp(what, "exclude") && !held) {
			ok = DEMO_APPEND(&m->held);
			if (ok)
				*DEMO_LAST(&m->held) = (struct demo_span){ at, at };
			held = true;
		} else if (!strcmp(what, "admit") && held) {
			DEMO_LAST(&m->held)->to = at;
			held = false;
		}
	}
	if (in)
		fclose(in);
	return ok;
}

/*
 * Time
 */

/* The last change up to a time, by one of the two clocks. NULL: there is none. */
static const struct demo_change *find_change(const struct demo_changes *list, uint64_t ns,
					     bool device)
{
	size_t low = 0, high = list->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct demo_change *c = &list->at[middle];

		if ((device ? c->device : c->host) <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &list->at[low - 1] : NULL;
}

uint64_t demo_busy_at(const struct demo_mode *m, uint64_t device_ns)
{
	const struct demo_change *c = find_change(&m->gpu, device_ns, true);

	if (m->on_gpu)
		return device_ns;
	if (!c)
		return 0;
	return c->busy + (c->on ? device_ns - c->device : 0);
}

uint64_t demo_busy_for_at(const struct demo_mode *m, uint64_t device_ns)
{
	const struct demo_change *c = find_change(&m->work, device_ns, true);

	if (m->on_gpu)
		return device_ns;
	if (!c)
		return 0;
	if (!c->on)
		return c->busy;
	return c->busy + demo_busy_at(m, device_ns) - demo_busy_at(m, c->device);
}

/* Interpolates the device's clock between two changes. */
struct demo_busy demo_busy_until(const struct demo_mode *m, uint64_t host_ns)
{
	const struct demo_change *c = find_change(&m->gpu, host_ns, false), *next;
	struct demo_busy b = { 0 };
	double part;

	if (m->on_gpu)
		return (struct demo_busy){ (double)host_ns, (double)host_ns };
	if (!c)
		return b;
	b = (struct demo_busy){ (double)c->busy, (double)c->busy_host };
	next = c + 1 < m->gpu.at + m->gpu.n ? c + 1 : NULL;
	if (!c->on || !next || next->host <= c->host)
		return b;
	part = (double)(host_ns - c->host) / (double)(next->host - c->host);
	b.device += part * (double)(next->device - c->device);
	b.host += (double)(host_ns - c->host);
	return b;
}
