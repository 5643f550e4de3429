// SPDX-License-Identifier: MIT
/*
 * Suspends and resumes queues, in the worker. The ids of a request are sorted, so that those of one
 * program follow each other and go to the driver in one call.
 */
#include "poc/poc.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* The queues of one program in a request: from @first on, @nr of them. */
struct group {
	pid_t pid;
	uint32_t first, nr;
};

static bool next_group(const struct gp__poc_request *r, struct group *g)
{
	g->first += g->nr;
	g->nr = 0;
	if (g->first == r->nr_ids)
		return false;
	g->pid = gp__poc_id_pid(r->ids[g->first]);
	while (g->first + g->nr < r->nr_ids && gp__poc_id_pid(r->ids[g->first + g->nr]) == g->pid)
		g->nr++;
	return true;
}

static void fail_queue(struct gp__poc_error *e, uint32_t id, const struct gp__poc_target *t,
		       enum gp__kfd_verb verb, int err)
{
	char reason[GP__KFD_EXPLAIN_MAX];

	if (!e->err) {
		gp__poc_target_explain(t, verb, err, reason, sizeof(reason));
		gp__poc_fail(e, err, "queue %u (number %u of process %d): %s", id,
			     gp__poc_id_kfd(id), (int)gp__poc_id_pid(id), reason);
	}
	gp__poc_fail_queue(e, id);
}

static void fail_group(struct gp__poc_request *r, const struct group *g)
{
	for (uint32_t i = 0; i < g->nr; i++)
		gp__poc_fail_queue(r->error, r->ids[g->first + i]);
}

/* Holds or releases a group in one call; each queue has its result in the table, and the target
 * notes the queues that succeeded. */
static void control_group(struct gp__poc *p, const struct gp__poc_request *r,
			  struct gp__poc_target *t, const struct group *g, enum gp__kfd_verb verb)
{
	struct gp__poc_table *table = &p->table;

	for (uint32_t i = g->first; i < g->first + g->nr; i++) {
		uint32_t id = gp__poc_id_kfd(r->ids[i]);

		table->queue[i] = (struct gp__kfd_queue_info){ .id = id };
		table->target[i] = (struct gp__kfd_target){ .queue = &table->queue[i] };
		table->was_held[i] = gp__poc_target_holds(t, id);
	}
	gp__poc_target_set(t, verb, &table->target[g->first], g->nr);
	for (uint32_t i = g->first; i < g->first + g->nr; i++) {
		if (!table->target[i].result)
			gp__poc_target_hold(t, table->queue[i].id, verb != GP__KFD_RELEASE);
	}
}

/*
 * Suspending
 */

static void suspend_group(struct gp__poc *p, struct gp__poc_request *r, const struct group *g)
{
	struct gp__poc_error why = { 0 };
	struct gp__poc_target *t = gp__poc_target_get(p, g->pid, &why);

	if (!t) {
		if (!r->error->err)
			gp__poc_fail(r->error, why.err, "%s", why.sentence);
		fail_group(r, g);
		for (uint32_t i = g->first; i < g->first + g->nr; i++)
			p->table.target[i].result = -why.err;
		return;
	}
	t->control.grace = gp__kfd_grace(r->grace_us, p->clock_mhz);
	control_group(p, r, t, g, p->verb);
	for (uint32_t i = g->first; i < g->first + g->nr; i++) {
		if (p->table.target[i].result)
			fail_queue(r->error, r->ids[i], t, p->verb, p->table.target[i].result);
	}
}

/* Releases the queues that this request has held, since a request suspends all of its queues or
 * none. */
static void undo_group(struct gp__poc *p, struct gp__poc_request *r, const struct group *g)
{
	struct gp__poc_target *t = gp__poc_target_find(p, g->pid);
	struct gp__poc_table *table = &p->table;
	uint32_t nr = 0;

	if (!t)
		return;
	for (uint32_t i = g->first; i < g->first + g->nr; i++) {
		if (table->target[i].result || table->was_held[i])
			continue;
		gp__poc_target_hold(t, table->queue[i].id, false);
		table->target[g->first + nr++] =
			(struct gp__kfd_target){ .queue = &table->queue[i] };
	}
	if (nr)
		gp__poc_target_set(t, GP__KFD_RELEASE, &table->target[g->first], nr);
	for (uint32_t i = g->first; i < g->first + nr; i++) {
		if (table->target[i].result)
			gp__poc_fail_more(r->error, "; queue %u could not be resumed, either",
					  gp__poc_id(g->pid, table->target[i].queue->id));
	}
	gp__poc_target_put(p, t);
}

int gp__poc_suspend(struct gp__poc *p, struct gp__poc_request *r)
{
	for (struct group g = { 0 }; next_group(r, &g);)
		suspend_group(p, r, &g);
	if (!r->error->err)
		return 0;
	if (r->error->nr_failed < r->nr_ids)
		gp__poc_fail_more(r->error, "; %u of %u queues failed, so none is suspended",
				  r->error->nr_failed, r->nr_ids);
	for (struct group g = { 0 }; next_group(r, &g);)
		undo_group(p, r, &g);
	return -1;
}

/*
 * Resuming
 */

bool gp__poc_is_there(uint32_t id)
{
	char path[96];

	if (gp__poc_has_ended(gp__poc_id_pid(id)))
		return false;
	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d/queues/%u",
		 (int)gp__poc_id_pid(id), gp__poc_id_kfd(id));
	return !access(path, F_OK);
}

/* All queues of a program whose queues were never suspended run, except those that are gone. */
static void resume_strange_group(struct gp__poc_request *r, const struct group *g)
{
	for (uint32_t i = g->first; i < g->first + g->nr; i++) {
		uint32_t id = r->ids[i];

		if (gp__poc_is_there(id))
			continue;
		if (!r->error->err)
			gp__poc_fail(r->error, ENOENT,
				     "queue %u (number %u of process %d) does not exist, or its "
				     "program has ended; list the queues again (ENOENT)",
				     id, gp__poc_id_kfd(id), (int)g->pid);
		gp__poc_fail_queue(r->error, id);
	}
}

static void resume_group(struct gp__poc *p, struct gp__poc_request *r, const struct group *g)
{
	struct gp__poc_target *t = gp__poc_target_find(p, g->pid);

	if (!t) {
		resume_strange_group(r, g);
		return;
	}
	control_group(p, r, t, g, GP__KFD_RELEASE);
	for (uint32_t i = g->first; i < g->first + g->nr; i++) {
		if (p->table.target[i].result)
			fail_queue(r->error, r->ids[i], t, GP__KFD_RELEASE,
				   p->table.target[i].result);
	}
	gp__poc_target_put(p, t);
}

int gp__poc_resume(struct gp__poc *p, struct gp__poc_request *r)
{
	for (struct group g = { 0 }; next_group(r, &g);)
		resume_group(p, r, &g);
	if (!r->error->err)
		return 0;
	if (r->error->nr_failed < r->nr_ids)
		gp__poc_fail_more(r->error, "; the other %u of %u run",
				  r->nr_ids - r->error->nr_failed, r->nr_ids);
	return -1;
}
