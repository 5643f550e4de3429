// SPDX-License-Identifier: MIT
#include "llm.h"

#include "core/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUEUES_MAX 64

/* The state at the time of a line. */
struct reader {
	const struct llm_span *request;
	size_t n, next; /* the first request that has not ended */
	struct llm_decisions *d;
	u32 server, trainer; /* entities; GP__NOBODY: not there yet */
	bool busy[QUEUES_MAX]; /* of the server, by queue */
	unsigned int nr_held; /* queues of the trainer */
	u64 since; /* the time of the line before */
};

static u64 overlap(u64 begin, u64 end, const struct llm_span *s)
{
	u64 from = begin > s->begin_ns ? begin : s->begin_ns,
	    to = end < s->end_ns ? end : s->end_ns;

	return to > from ? to - from : 0;
}

static bool server_has_work(const struct reader *r)
{
	for (int i = 0; i < QUEUES_MAX; i++) {
		if (r->busy[i])
			return true;
	}
	return false;
}

/* Time passes until the line. */
static void pass(struct reader *r, u64 now)
{
	if (r->nr_held && !server_has_work(r)) {
		u64 inside = 0;

		for (size_t i = r->next; i < r->n && r->request[i].begin_ns < now; i++)
			inside += overlap(r->since, now, &r->request[i]);
		r->d->inside_ns += inside;
		r->d->outside_ns += now - r->since - inside;
	}
	while (r->next < r->n && r->request[r->next].end_ns <= now)
		r->next++;
	r->since = now;
}

static bool is_in_request(const struct reader *r)
{
	return r->next < r->n && r->request[r->next].begin_ns <= r->since;
}

static void see_entity(struct reader *r, const struct gp__record *line)
{
	if (!strcmp(line->text, "serve"))
		r->server = line->entity;
	if (!strcmp(line->text, "train"))
		r->trainer = line->entity;
}

static void see_line(struct reader *r, const struct gp__record *line)
{
	u32 queue = (u32)line->f[GP__F_QUEUE] % QUEUES_MAX;

	pass(r, line->time);
	if (line->what == GP__WHAT_ENTITY_ADD)
		see_entity(r, line);
	if (line->what == GP__WHAT_READY && line->entity == r->server)
		r->busy[queue] = true;
	if (line->what == GP__WHAT_IDLE && line->entity == r->server)
		r->busy[queue] = false;
	if (line->what == GP__WHAT_HOLD && line->entity == r->trainer) {
		r->d->holds += !r->nr_held && is_in_request(r);
		r->nr_held++;
	}
	if (line->what == GP__WHAT_RELEASE && line->entity == r->trainer) {
		r->nr_held -= r->nr_held > 0;
		r->d->releases += !r->nr_held && is_in_request(r);
	}
}

int llm_read_log(const char *path, const struct llm_span *request, size_t n,
		 struct llm_decisions *d)
{
	/* Lines with a policy's parameters are not read. */
	static const struct gp__policy *const no_policies[] = { NULL };
	struct reader r = {
		.request = request, .n = n, .d = d, .server = GP__NOBODY, .trainer = GP__NOBODY
	};
	FILE *f = fopen(path, "re");
	char *text = NULL;
	size_t room = 0;
	ssize_t len;

	*d = (struct llm_decisions){ 0 };
	if (!f)
		return -errno;
	while ((len = getline(&text, &room, f)) > 0) {
		struct gp__record_room parts;
		const char *expected;
		struct gp__record line;

		if (!gp__record_parse(text, (size_t)len - 1, no_policies, &line, &parts, &expected))
			see_line(&r, &line);
	}
	free(text);
	fclose(f);
	return r.server == GP__NOBODY || r.trainer == GP__NOBODY ? -ENODATA : 0;
}
