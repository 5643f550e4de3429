// SPDX-License-Identifier: MIT
#include "trace/machine.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#define CATEGORY "machine"

/* A GPU, or a queue on it. */
struct place {
	char key[64];
	uint64_t track;
	bool on;
	UT_hash_handle hh;
};

struct gp__trace_machine {
	struct gp__perfetto *w;
	char source[64];
	struct place *places;
	uint64_t now;
};

struct change {
	uint64_t host, device;
	unsigned int gpu, queue;
	int pid;
	bool on, of_queue, is_work;
};

struct gp__trace_machine *gp__trace_machine_open(struct gp__perfetto *w, const char *source)
{
	struct gp__trace_machine *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->w = w;
	snprintf(m->source, sizeof(m->source), "%s", source);
	return m;
}

static bool parse(const char *line, struct change *c)
{
	char word[8];
	int end = 0, n;

	memset(c, 0, sizeof(*c));
	n = sscanf(line, "%" SCNu64 " %" SCNu64 " %u %7s%n %d %u%n", &c->host, &c->device, &c->gpu,
		   word, &end, &c->pid, &c->queue, &end);
	if (n < 4 || line[end])
		return false;
	c->is_work = !strcmp(word, "work") || !strcmp(word, "done");
	c->of_queue = c->is_work || !strcmp(word, "on") || !strcmp(word, "off");
	c->on = !strcmp(word, "on") || !strcmp(word, "busy") || !strcmp(word, "work");
	return c->of_queue ? n == 6 : n == 4 && (c->on || !strcmp(word, "idle"));
}

static struct place *add(struct gp__trace_machine *m, const char *key, uint64_t parent,
			 const char *name, uint32_t rank)
{
	struct place *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	snprintf(p->key, sizeof(p->key), "%s", key);
	p->track = gp__perfetto_uuid(m->source, key, 0);
	HASH_ADD_STR(m->places, key, p);
	gp__perfetto_track(m->w, p->track, parent, name, rank);
	return p;
}

static struct place *find(const struct gp__trace_machine *m, const char *key)
{
	struct place *p;

	HASH_FIND_STR(m->places, key, p);
	return p;
}

static struct place *gpu_of(struct gp__trace_machine *m, const struct change *c)
{
	char key[64], name[64];
	struct place *p;

	snprintf(key, sizeof(key), "gpu %u", c->gpu);
	p = find(m, key);
	if (p)
		return p;
	snprintf(name, sizeof(name), "emulated gpu%u: compute units", c->gpu);
	return add(m, key, 0, name, 1000 + c->gpu);
}

static struct place *place_of(struct gp__trace_machine *m, const struct change *c)
{
	struct place *gpu = gpu_of(m, c), *p;
	char key[64], name[64];

	if (!gpu || !c->of_queue)
		return gpu;
	snprintf(key, sizeof(key), "gpu %u pid %d queue %u%s", c->gpu, c->pid, c->queue,
		 c->is_work ? " work" : "");
	p = find(m, key);
	if (p)
		return p;
	snprintf(name, sizeof(name), "pid %d queue %u: %s", c->pid, c->queue,
		 c->is_work ? "work" : "workgroups");
	return add(m, key, gpu->track, name, c->queue);
}

static const char *name_of(const struct change *c)
{
	if (c->is_work)
		return "work";
	return c->of_queue ? "workgroups" : "busy";
}

int gp__trace_machine_line(struct gp__trace_machine *m, const char *line)
{
	struct change c;
	struct place *p;

	if (!strcmp(line, "end"))
		return 0;
	if (!parse(line, &c))
		return -EINVAL;
	p = place_of(m, &c);
	if (!p)
		return -ENOMEM;
	m->now = c.host;
	if (p->on == c.on)
		return 0;
	p->on = c.on;
	if (!c.on) {
		gp__perfetto_end(m->w, p->track, c.host);
		return 0;
	}
	gp__perfetto_begin(m->w, &(struct gp__track_event){
					 .time = c.host,
					 .track = p->track,
					 .name = name_of(&c),
					 .category = CATEGORY,
					 .args = &(struct gp__arg){ "device_ns", GP__ARG_U64,
								    c.device, 0, NULL },
					 .nr_args = 1 });
	return 0;
}

static void remove_place(struct gp__trace_machine *m, struct place *p)
{
	if (p->on)
		gp__perfetto_end(m->w, p->track, m->now);
	HASH_DEL(m->places, p);
	free(p);
}

void gp__trace_machine_close(struct gp__trace_machine *m)
{
	struct place *p, *next;

	for (p = m->places; p; p = next) {
		next = p->hh.next;
		remove_place(m, p);
	}
	free(m);
}
