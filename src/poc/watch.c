// SPDX-License-Identifier: MIT
/*
 * Sees whether queues have work, in the worker. The addresses of a program's rings are taken once
 * and again when the program has a queue that they do not have.
 */
#include "poc/poc.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"

/*
 * Programs
 */

static void forget(struct gp__poc *p, size_t i)
{
	gp__kfd_remote_close(&p->watched[i]);
	p->watched[i] = p->watched[--p->nr_watched];
}

static struct gp__kfd_remote *find(struct gp__poc *p, pid_t pid)
{
	for (size_t i = p->nr_watched; i--;) {
		if (gp__poc_has_ended(p->watched[i].pid))
			forget(p, i);
	}
	for (size_t i = 0; i < p->nr_watched; i++) {
		if (p->watched[i].pid == pid)
			return &p->watched[i];
	}
	return NULL;
}

/* The program's entry, with its memory opened anew: after execve() it has another. 0 or -errno. */
static int begin(struct gp__poc *p, pid_t pid, struct gp__kfd_remote **remote)
{
	struct gp__kfd_remote *r = find(p, pid);
	int err;

	if (!r && p->nr_watched == GP__POC_TARGETS_MAX)
		return -EUSERS;
	if (r)
		gp__kfd_remote_close(r);
	else
		r = &p->watched[p->nr_watched++];
	err = gp__kfd_remote_open(r, pid);
	if (err)
		forget(p, (size_t)(r - p->watched));
	*remote = r;
	return err == -EACCES ? -EPERM : err;
}

void gp__poc_watched_close(struct gp__poc *p)
{
	while (p->nr_watched)
		forget(p, p->nr_watched - 1);
}

/*
 * Addresses
 */

static int add(struct gp__kfd_remote *r, const struct gp__kfd_queue_info *q)
{
	int err = gp__kfd_is_compute(q->type) ? gp__kfd_remote_add(r, q) : 0;

	return err == -ENOENT ? 0 : err; /* it went meanwhile */
}

static int add_joined(struct gp__kfd_remote *r, const struct gp_join_table *join)
{
	struct gp__kfd_owned *owned = calloc(GP__KFD_QUEUES_MAX, sizeof(*owned));
	size_t nr;
	int err = 0;

	if (!owned)
		return -ENOMEM;
	nr = join->list(owned, GP__KFD_QUEUES_MAX);
	for (size_t i = 0; i < nr && i < GP__KFD_QUEUES_MAX && !err; i++)
		err = add(r, &owned[i].queue);
	free(owned);
	return err;
}

static int add_snapshot(struct gp__kfd_remote *r, struct gp__kfd_control *debugger)
{
	struct gp_kfd_queue_snapshot *entry = calloc(GP__KFD_QUEUES_MAX, sizeof(*entry));
	int nr, err = 0;

	if (!entry)
		return -ENOMEM;
	nr = gp__kfd_debug_snapshot(debugger, entry, GP__KFD_QUEUES_MAX);
	for (int i = 0; i < nr && !err; i++) {
		const struct gp__kfd_queue_info q = {
			.id = entry[i].queue_id,
			.gpu_id = entry[i].gpu_id,
			.type = entry[i].queue_type,
			.ring = entry[i].ring_base_address,
			.ring_bytes = entry[i].ring_size,
			.read_index = entry[i].read_pointer_address,
			.write_index = entry[i].write_pointer_address,
		};

		err = add(r, &q);
	}
	free(entry);
	return nr < 0 ? nr : err;
}

/* A program whose queues this library suspends by dbgtrap has its debugger already. */
static int add_all(struct gp__poc *p, struct gp__kfd_remote *r, struct gp__kfd_control *debugger)
{
	struct gp__poc_target *t = gp__poc_target_find(p, r->pid);
	const struct gp_join_table *join = r->pid == getpid() ? gp__poc_find_join() : NULL;
	int err;

	if (join)
		return add_joined(r, join);
	if (t && t->control.way == GP__KFD_WAY_DBGTRAP && t->control.events >= 0)
		return add_snapshot(r, &t->control);
	err = gp__kfd_debug_open(debugger, p->kfd, r->pid);
	if (err)
		return err;
	err = add_snapshot(r, debugger);
	gp__kfd_control_close(debugger);
	return err;
}

/*
 * Looking
 */

/* 0, or -errno with @debugger as far as it came. */
static int prepare(struct gp__poc *p, pid_t pid, uint32_t kfd_id, struct gp__kfd_control *debugger)
{
	struct gp__kfd_remote *r = find(p, pid);
	int err;

	if (r && gp__kfd_remote_has(r, kfd_id))
		return 0;
	if (!gp__poc_is_there(gp__poc_id(pid, kfd_id)))
		return -ENOENT;
	err = begin(p, pid, &r);
	return err ? err : add_all(p, r, debugger);
}

static void fail(struct gp__poc_error *e, uint32_t id, const struct gp__kfd_control *debugger,
		 int err)
{
	char reason[GP__KFD_EXPLAIN_MAX];

	if (!e->err && err == -ENOENT) {
		gp__poc_fail(e, ENOENT,
			     "queue %u (number %u of process %d) does not exist, or its program "
			     "has ended; list the queues again (ENOENT)",
			     id, gp__poc_id_kfd(id), (int)gp__poc_id_pid(id));
	} else if (!e->err && err == -EFAULT) {
		gp__poc_fail(e, EFAULT,
			     "queue %u (number %u of process %d) cannot be watched: its ring "
			     "cannot be read; list the queues again (EFAULT)",
			     id, gp__poc_id_kfd(id), (int)gp__poc_id_pid(id));
	} else if (!e->err) {
		gp__kfd_explain(debugger, GP__KFD_SAVE, err, reason, sizeof(reason));
		gp__poc_fail(e, err, "queue %u (number %u of process %d) cannot be watched: %s", id,
			     gp__poc_id_kfd(id), (int)gp__poc_id_pid(id), reason);
	}
	gp__poc_fail_queue(e, id);
}

static int look(struct gp__poc *p, uint32_t id, struct gp__kfd_control *debugger, uint64_t now)
{
	pid_t pid = gp__poc_id_pid(id);
	uint32_t kfd_id = gp__poc_id_kfd(id);
	struct gp__poc_target *t = gp__poc_target_find(p, pid);
	struct gp__kfd_remote *r;
	int err = prepare(p, pid, kfd_id, debugger);

	if (err)
		return err;
	/* The program may have ended meanwhile. */
	r = find(p, pid);
	err = r ? gp__kfd_remote_look(r, kfd_id, t && gp__poc_target_holds(t, kfd_id), now)
		: -ENOENT;
	/* It ends, or has called execve(): it is opened anew next time. */
	if (err == -EFAULT)
		forget(p, (size_t)(r - p->watched));
	return err;
}

int gp__poc_busy(struct gp__poc *p, struct gp__poc_request *r)
{
	uint64_t now = gp__clock_ns();

	for (uint32_t i = 0; i < r->nr_ids; i++) {
		pid_t pid = gp__poc_id_pid(r->ids[i]);
		struct gp__kfd_control debugger = { .pid = pid == getpid() ? 0 : pid,
						    .way = GP__KFD_WAY_DBGTRAP,
						    .events = -1,
						    .runtime = GP__KFD_RUNTIME_UNKNOWN };
		int busy = look(p, r->ids[i], &debugger, now);

		if (busy < 0)
			fail(r->error, r->ids[i], &debugger, busy);
		r->busy |= busy > 0;
	}
	return r->error->err ? -1 : 0;
}
