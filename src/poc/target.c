// SPDX-License-Identifier: MIT
/*
 * Controls the programs whose queues were suspended. A program stays under control until it ends or
 * the library is cleaned up, as taking control costs more than holding its queues.
 *
 * Our own process is one of them. If it has joined, its queues have an owner already, which carries
 * out the requests. Otherwise it may have to be its own debugger: its runtime would wait for the
 * debugger when it shuts down, so there is one only while a queue is held.
 */
#include "poc/poc.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

bool gp__poc_target_holds(const struct gp__poc_target *t, uint32_t kfd_id)
{
	return t->held[kfd_id / 64] >> kfd_id % 64 & 1;
}

void gp__poc_target_hold(struct gp__poc_target *t, uint32_t kfd_id, bool held)
{
	uint64_t bit = 1ull << kfd_id % 64;

	if (held)
		t->held[kfd_id / 64] |= bit;
	else
		t->held[kfd_id / 64] &= ~bit;
}

static bool holds_any(const struct gp__poc_target *t)
{
	for (size_t i = 0; i < sizeof(t->held) / sizeof(t->held[0]); i++) {
		if (t->held[i])
			return true;
	}
	return false;
}

/*
 * Holding and releasing
 */

static void ask_owner(const struct gp_join_table *join, enum gp__kfd_verb verb,
		      struct gp__kfd_target *queues, size_t n)
{
	uint32_t ids[GP__KFD_QUEUES_MAX] = { 0 };
	int results[GP__KFD_QUEUES_MAX];

	for (size_t i = 0; i < n; i++)
		ids[i] = queues[i].queue->id;
	join->set(verb, ids, results, n);
	for (size_t i = 0; i < n; i++)
		queues[i].result = results[i];
}

void gp__poc_target_set(struct gp__poc_target *t, enum gp__kfd_verb verb,
			struct gp__kfd_target *queues, size_t n)
{
	if (t->join)
		ask_owner(t->join, verb, queues, n);
	else
		gp__kfd_control(&t->control, verb, queues, n);
}

void gp__poc_target_explain(const struct gp__poc_target *t, enum gp__kfd_verb verb, int err,
			    char *text, size_t size)
{
	if (t->join)
		t->join->explain(verb, err, text, size);
	else
		gp__kfd_explain(&t->control, verb, err, text, size);
}

/* Releases our own queues; the kernel releases those of other processes. */
static void release_own(struct gp__poc_target *t)
{
	uint32_t ids[GP__KFD_QUEUES_MAX];
	int results[GP__KFD_QUEUES_MAX];
	size_t n = 0;

	for (uint32_t id = 0; id < GP__KFD_QUEUES_MAX; id++) {
		if (gp__poc_target_holds(t, id))
			ids[n++] = id;
	}
	if (n)
		t->join->set(GP__KFD_RELEASE, ids, results, n);
}

/*
 * Beginning and end
 */

static bool has_ended(const struct gp__poc_target *t)
{
	struct pollfd ended = { .fd = t->pidfd, .events = POLLIN };

	return poll(&ended, 1, 0) == 1;
}

static void drop(struct gp__poc *p, size_t i)
{
	struct gp__poc_target *t = p->target[i];

	if (t->join)
		release_own(t);
	else
		gp__kfd_control_close(&t->control);
	close(t->pidfd);
	free(t);
	p->target[i] = p->target[--p->nr_targets];
}

struct gp__poc_target *gp__poc_target_find(struct gp__poc *p, pid_t pid)
{
	for (size_t i = 0; i < p->nr_targets; i++) {
		if (p->target[i]->pid != pid)
			continue;
		if (!has_ended(p->target[i]))
			return p->target[i];
		drop(p, i); /* the pid belongs to another process now */
		return NULL;
	}
	return NULL;
}

const struct gp_join_table *gp__poc_find_join(void)
{
	const struct gp_join_table *(*find)(uint32_t);
	void *found = dlsym(RTLD_DEFAULT, "gp_join_table");

	if (!found)
		return NULL;
	memcpy(&find, &found, sizeof(find));
	return find(GP_JOIN_VERSION);
}

/* 0, or -1 with the error set. */
static int begin(struct gp__poc *p, struct gp__poc_target *t, struct gp__poc_error *e)
{
	char reason[GP__KFD_EXPLAIN_MAX];
	int err = 0;

	t->control = (struct gp__kfd_control){ .way = p->way, .pid = t->pid, .events = -1 };
	if (t->pid == getpid())
		t->join = gp__poc_find_join();
	t->pidfd = pidfd_open(t->pid, 0);
	if (t->pidfd < 0)
		err = -errno;
	else if (!t->join)
		err = gp__kfd_control_open(&t->control, p->kfd, t->pid, p->way);
	if (!err)
		return 0;
	if (t->pidfd >= 0)
		close(t->pidfd);
	else if (err == -ESRCH || err == -EINVAL)
		return gp__poc_fail(e, ESRCH, "process %d has ended; list the queues again (ESRCH)",
				    (int)t->pid);
	gp__kfd_explain(&t->control, GP__KFD_SAVE, err, reason, sizeof(reason));
	return gp__poc_fail(e, err, "process %d: %s", (int)t->pid, reason);
}

struct gp__poc_target *gp__poc_target_get(struct gp__poc *p, pid_t pid, struct gp__poc_error *e)
{
	struct gp__poc_target *t = gp__poc_target_find(p, pid);

	if (t)
		return t;
	if (p->nr_targets == GP__POC_TARGETS_MAX) {
		gp__poc_fail(e, EUSERS,
			     "%d programs are under control already; call gpreempt_poc_cleanup() "
			     "to release them (EUSERS)",
			     GP__POC_TARGETS_MAX);
		return NULL;
	}
	t = calloc(1, sizeof(*t));
	if (!t) {
		gp__poc_fail_plain(e, ENOMEM, "no memory");
		return NULL;
	}
	t->pid = pid;
	if (begin(p, t, e)) {
		free(t);
		return NULL;
	}
	p->target[p->nr_targets++] = t;
	return t;
}

void gp__poc_target_put(struct gp__poc *p, struct gp__poc_target *t)
{
	if (t->pid != getpid() || t->join || p->way != GP__KFD_WAY_DBGTRAP || holds_any(t))
		return;
	for (size_t i = 0; i < p->nr_targets; i++) {
		if (p->target[i] == t) {
			drop(p, i);
			return;
		}
	}
}

void gp__poc_targets_close(struct gp__poc *p)
{
	while (p->nr_targets)
		drop(p, p->nr_targets - 1);
}

void gp__poc_targets_look(struct gp__poc *p)
{
	for (size_t i = p->nr_targets; i--;) {
		if (has_ended(p->target[i]))
			drop(p, i);
		else
			gp__kfd_control_answer(&p->target[i]->control);
	}
}
