// SPDX-License-Identifier: MIT
/*
 * Holds and releases queues by any of the ways, and recovers from failures.
 *
 * A hold that the driver refused has changed nothing. After any other failure (a timeout, a hang, a
 * reset) it is unknown whether the hold takes effect after all, and the driver remembers percentage
 * 0 even then: such a queue is released.
 */
#include "device/kfd/control.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "device/kfd/way.h"

#define SIGNALS_MAX 1000
#define RELEASES_MAX 5
#define GRACE_CLOCKS 1000
#define GRACE_MAX 255
#define CLOCK_MHZ_UNKNOWN 1000

static const struct gp__kfd_way_ops *const ways[GP__KFD_WAYS] = {
	[GP__KFD_WAY_UPDATE] = &gp__kfd_way_update,
	[GP__KFD_WAY_DBGTRAP] = &gp__kfd_way_dbgtrap,
	[GP__KFD_WAY_PREEMPT] = &gp__kfd_way_preempt,
};

const char *gp__kfd_way_name(enum gp__kfd_way way)
{
	return way < GP__KFD_WAYS ? ways[way]->name : "none";
}

int gp__kfd_way_parse(const char *name)
{
	for (int i = 0; i < GP__KFD_WAYS; i++) {
		if (!strcmp(name, ways[i]->name))
			return i;
	}
	return -1;
}

int gp__kfd_call(const struct gp__kfd_control *c, unsigned long request, void *args)
{
	for (int i = 0; i < SIGNALS_MAX; i++) {
		int result = c->next(c->kfd, request, args);

		if (result >= 0)
			return result;
		if (errno != EINTR)
			return -errno;
	}
	return -EINTR;
}

void gp__kfd_set_results(struct gp__kfd_target *t, size_t n, int result)
{
	for (size_t i = 0; i < n; i++) {
		if (t[i].result == GP__KFD_PENDING)
			t[i].result = result;
	}
}

size_t gp__kfd_write_ids(const struct gp__kfd_target *t, size_t n, uint32_t *ids)
{
	size_t nr = 0;

	for (size_t i = 0; i < n; i++) {
		if (t[i].result == GP__KFD_PENDING)
			ids[nr++] = t[i].queue->id;
	}
	return nr;
}

void gp__kfd_read_ids(struct gp__kfd_target *t, size_t n, const uint32_t *ids)
{
	for (size_t i = 0; i < n; i++) {
		if (t[i].result != GP__KFD_PENDING)
			continue;
		if (*ids & GP_KFD_QUEUE_INVALID)
			t[i].result = -EINVAL;
		else
			t[i].result = *ids & GP_KFD_QUEUE_ERROR ? -EIO : 0;
		ids++;
	}
}

uint32_t gp__kfd_grace(uint32_t us, uint32_t clock_mhz)
{
	uint64_t clocks = (uint64_t)us * (clock_mhz ? clock_mhz : CLOCK_MHZ_UNKNOWN);
	uint64_t steps = (clocks + GRACE_CLOCKS - 1) / GRACE_CLOCKS;

	return steps > GRACE_MAX ? GRACE_MAX : (uint32_t)steps;
}

/*
 * Beginning and end
 */

int gp__kfd_libc_ioctl(int fd, unsigned long request, void *args)
{
	return ioctl(fd, request, args);
}

static struct gp__kfd_control closed(gp__kfd_ioctl_fn next, int kfd, pid_t pid,
				     enum gp__kfd_way way)
{
	return (struct gp__kfd_control){
		.next = next,
		.kfd = kfd,
		.pid = pid == getpid() ? 0 : pid,
		.way = way,
		.events = -1,
		.runtime = GP__KFD_RUNTIME_UNKNOWN,
	};
}

int gp__kfd_control_open_by(struct gp__kfd_control *c, gp__kfd_ioctl_fn next, int kfd, pid_t pid,
			    enum gp__kfd_way way)
{
	*c = closed(next, kfd, pid, way);
	return way < GP__KFD_WAYS ? ways[way]->open(c) : -EINVAL;
}

int gp__kfd_control_open(struct gp__kfd_control *c, int kfd, pid_t pid, enum gp__kfd_way way)
{
	return gp__kfd_control_open_by(c, gp__kfd_libc_ioctl, kfd, pid, way);
}

int gp__kfd_debug_open_by(struct gp__kfd_control *c, gp__kfd_ioctl_fn next, int kfd, pid_t pid)
{
	*c = closed(next, kfd, pid, GP__KFD_WAY_DBGTRAP);
	return gp__kfd_attach_debugger(c);
}

int gp__kfd_debug_open(struct gp__kfd_control *c, int kfd, pid_t pid)
{
	return gp__kfd_debug_open_by(c, gp__kfd_libc_ioctl, kfd, pid);
}

void gp__kfd_control_close(struct gp__kfd_control *c)
{
	if (ways[c->way]->close)
		ways[c->way]->close(c);
}

/*
 * Holding and releasing
 */

static int check(const struct gp__kfd_control *c, enum gp__kfd_verb verb,
		 const struct gp__kfd_target *t, size_t n)
{
	if (!n)
		return -ENODATA;
	if (n > GP__KFD_QUEUES_MAX)
		return -E2BIG;
	if (verb >= GP__KFD_VERBS || !ways[c->way]->can(verb))
		return -EOPNOTSUPP;
	for (size_t i = 0; i < n; i++) {
		if (t[i].queue->id >= GP__KFD_QUEUES_MAX)
			return -EINVAL;
	}
	return 0;
}

bool gp__kfd_is_refusal(int err)
{
	switch (-err) {
	case EINVAL: /* no such queue, or one that is being destroyed */
	case EFAULT: /* the same, from UPDATE_QUEUE; or its ring is not mapped */
	case EBUSY: /* it is being destroyed */
	case EPERM:
	case ENOTTY:
	case EBADF:
	case ESRCH:
	case ENODEV:
	case ENOMEM:
	case EOPNOTSUPP:
		return true;
	default:
		return false;
	}
}

static bool may_pass(int err)
{
	return err && (!gp__kfd_is_refusal(err) || err == -ENOMEM);
}

/* A queue must not stay held for good: transient failures are retried. */
static void release(struct gp__kfd_control *c, struct gp__kfd_target *t, size_t n)
{
	ways[c->way]->set(c, GP__KFD_RELEASE, t, n);
	for (int turn = 1; turn < RELEASES_MAX; turn++) {
		bool any = false;

		for (size_t i = 0; i < n; i++) {
			if (!may_pass(t[i].result))
				continue;
			t[i].result = GP__KFD_PENDING;
			any = true;
		}
		if (!any)
			return;
		gp__sleep_ns((uint64_t)(1 << turn) * GP__MS);
		ways[c->way]->set(c, GP__KFD_RELEASE, t, n);
	}
}

static void swap_results(struct gp__kfd_target *t)
{
	int undone = t->undone;

	t->undone = t->result;
	t->result = undone;
}

/* Releases the queues whose hold failed. Their targets keep the hold's result, and get the
 * release's result in undone. */
static void undo(struct gp__kfd_control *c, struct gp__kfd_target *t, size_t n)
{
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		if (!t[i].result || gp__kfd_is_refusal(t[i].result))
			continue;
		t[i].undone = GP__KFD_PENDING;
		any = true;
	}
	if (!any)
		return;
	for (size_t i = 0; i < n; i++)
		swap_results(&t[i]);
	release(c, t, n);
	for (size_t i = 0; i < n; i++)
		swap_results(&t[i]);
}

static int sum(const struct gp__kfd_target *t, size_t n)
{
	int done = 0, first = t[0].result;
	bool same = true;

	for (size_t i = 0; i < n; i++) {
		done += !t[i].result;
		same &= t[i].result == first;
	}
	return !done && same ? first : done;
}

int gp__kfd_control(struct gp__kfd_control *c, enum gp__kfd_verb verb, struct gp__kfd_target *t,
		    size_t n)
{
	int err = check(c, verb, t, n);

	for (size_t i = 0; i < n; i++) {
		t[i].undone = 0;
		t[i].result = GP__KFD_PENDING;
	}
	if (err) {
		gp__kfd_set_results(t, n, err);
		return err;
	}
	gp__kfd_control_answer(c);
	if (verb == GP__KFD_RELEASE) {
		release(c, t, n);
	} else {
		ways[c->way]->set(c, verb, t, n);
		undo(c, t, n);
	}
	return sum(t, n);
}
