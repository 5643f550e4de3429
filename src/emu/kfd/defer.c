// SPDX-License-Identifier: MIT
#include "emu/kfd/defer.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "emu/kfd/buffer.h"
#include "emu/kfd/call.h"
#include "emu/kfd/process.h"
#include "emu/protocol.h"

#define START_NS (1000 * GP__MS) /* until a thread serves that the program has just started */
#define CONVERT_NS (10000 * GP__MS)
#define COPY_WAIT_S 1

int emu_defer_init(struct emu_defer *d)
{
	d->fd = d->wake_fd = -1;
	pthread_mutex_init(&d->lock, NULL);
	return -pthread_rwlock_init(&d->copies, NULL);
}

void emu_defer_destroy(struct emu_defer *d)
{
	if (d->wake_fd >= 0)
		close(d->wake_fd);
	pthread_rwlock_destroy(&d->copies);
	pthread_mutex_destroy(&d->lock);
}

bool emu_defer_any(const struct emu_process *p)
{
	return atomic_load_explicit(&p->memory.defer.nr, memory_order_relaxed);
}

/* The lock is held. */
static void set_deferred(struct emu_defer *d, struct emu_shared *s, bool deferred)
{
	if (atomic_exchange(&s->deferred, deferred) == deferred)
		return;
	if (deferred)
		atomic_fetch_add(&d->nr, 1);
	else
		atomic_fetch_sub(&d->nr, 1);
}

static bool is_served(struct emu_defer *d)
{
	uint64_t until = gp__clock_ns() + START_NS;
	bool served;

	pthread_mutex_lock(&d->lock);
	while (d->serving == EMU_SERVING_NOT && !gp__cond_wait(&d->changed, &d->lock, until))
		;
	served = d->serving == EMU_SERVING;
	if (!served) /* the next registration does not wait for it again */
		d->serving = EMU_SERVING_REFUSED;
	pthread_mutex_unlock(&d->lock);
	return served;
}

int emu_defer(struct emu_call *call, struct emu_shared *s)
{
	struct emu_defer *d = &call->process->memory.defer;
	int is_private;

	if (!call->serves || s->bytes < EMU_DEFERRED_MIN || !is_served(d))
		return 0;
	is_private = emu_call_check(call, s->user_va, s->bytes, s->write);
	if (is_private <= 0)
		return is_private;
	pthread_mutex_lock(&d->lock);
	set_deferred(d, s, true);
	pthread_mutex_unlock(&d->lock);
	return 1;
}

/*
 * Copies
 */

void emu_defer_stop_copies(struct emu_process *p)
{
	pthread_rwlock_wrlock(&p->memory.defer.copies);
}

void emu_defer_resume_copies(struct emu_process *p)
{
	pthread_rwlock_unlock(&p->memory.defer.copies);
}

/*
 * Whether the pid still belongs to the program that serves: it may have ended, or execute another
 * program, which closes the connection.
 */
static bool is_there(struct emu_process *p)
{
	struct emu_defer *d = &p->memory.defer;
	struct pollfd fds[2] = { { .fd = p->pidfd, .events = POLLIN }, { .events = POLLRDHUP } };
	bool there;

	pthread_mutex_lock(&d->lock);
	fds[1].fd = d->fd;
	there = d->serving == EMU_SERVING && poll(fds, 2, 0) >= 0 && !fds[0].revents &&
		!(fds[1].revents & (POLLRDHUP | POLLHUP | POLLERR));
	pthread_mutex_unlock(&d->lock);
	return there;
}

bool emu_defer_copy(struct emu_process *p, uint64_t user, void *host, size_t bytes, bool to_user)
{
	struct iovec here = { host, bytes }, there = { (void *)(uintptr_t)user, bytes };
	pthread_rwlock_t *copies = &p->memory.defer.copies;
	struct timespec until;
	ssize_t n = -1;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += COPY_WAIT_S;
	if (pthread_rwlock_timedrdlock(copies, &until))
		return false;
	if (is_there(p) && to_user)
		n = process_vm_writev(p->pid, &here, 1, &there, 1, 0);
	else if (is_there(p))
		n = process_vm_readv(p->pid, &here, 1, &there, 1, 0);
	pthread_rwlock_unlock(copies);
	return n == (ssize_t)bytes;
}

/*
 * Conversion
 */

/* The lock is held. */
static void want(struct emu_defer *d, struct emu_shared *s)
{
	uint64_t one = 1;

	if (s->wanted || d->converting == s)
		return;
	s->wanted = true;
	s->next_wanted = d->wanted;
	d->wanted = s;
	/* It is full only if it was written before, and then it is readable as well. */
	if (write(d->wake_fd, &one, sizeof(one)) < 0)
		return;
}

static void want_no_more(struct emu_defer *d, struct emu_shared *s)
{
	struct emu_shared **link = &d->wanted;

	while (*link && *link != s)
		link = &(*link)->next_wanted;
	if (*link)
		*link = s->next_wanted;
	s->wanted = false;
}

uint8_t *emu_defer_convert(struct emu_shared *s)
{
	struct emu_defer *d = &s->process->memory.defer;
	uint64_t until = gp__clock_ns() + CONVERT_NS;
	int late = 0;

	pthread_mutex_lock(&d->lock);
	while (atomic_load(&s->deferred) && d->serving == EMU_SERVING && !late) {
		want(d, s);
		late = gp__cond_wait(&d->changed, &d->lock, until);
	}
	pthread_mutex_unlock(&d->lock);
	return atomic_load(&s->host);
}

void emu_defer_cancel(struct emu_shared *s)
{
	struct emu_defer *d = &s->process->memory.defer;

	pthread_mutex_lock(&d->lock);
	want_no_more(d, s);
	while (d->converting == s)
		gp__cond_wait(&d->changed, &d->lock, GP__FOREVER);
	set_deferred(d, s, false);
	pthread_mutex_unlock(&d->lock);
}

/*
 * The thread that serves
 */

/* Whether the machine reaches the memory of this very program. */
static bool can_reach(const struct emu_call *call, uint64_t cookie_at)
{
	uint64_t cookie = 0;
	struct iovec here = { &cookie, sizeof(cookie) };
	struct iovec there = { (void *)(uintptr_t)cookie_at, sizeof(cookie) };

	return process_vm_readv(call->pid, &here, 1, &there, 1, 0) == sizeof(cookie) && cookie &&
	       cookie == call->process->cookie;
}

static int begin(struct emu_call *call, struct emu_defer *d, uint64_t cookie_at)
{
	bool can = can_reach(call, cookie_at);
	int err = 0;

	pthread_mutex_lock(&d->lock);
	if (d->wake_fd < 0)
		d->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (d->serving == EMU_SERVING)
		err = -EBUSY;
	else if (!can || d->wake_fd < 0)
		err = -EPERM;
	if (err != -EBUSY) {
		d->serving = err ? EMU_SERVING_REFUSED : EMU_SERVING;
		d->fd = call->fd;
		gp__cond_broadcast(&d->changed);
	}
	pthread_mutex_unlock(&d->lock);
	return err;
}

/* Those who wait for memory give up. */
static void end(struct emu_defer *d)
{
	pthread_mutex_lock(&d->lock);
	d->serving = EMU_SERVING_REFUSED;
	d->fd = -1;
	gp__cond_broadcast(&d->changed);
	pthread_mutex_unlock(&d->lock);
}

static int convert(struct emu_call *call, struct emu_defer *d, struct emu_shared *s)
{
	int err;

	want_no_more(d, s);
	d->converting = s;
	pthread_mutex_unlock(&d->lock);
	emu_defer_stop_copies(call->process);
	err = emu_shared_convert(call, s);
	emu_defer_resume_copies(call->process);
	pthread_mutex_lock(&d->lock);
	d->converting = NULL;
	/* If it failed, the memory has no address: each access is a fault. */
	set_deferred(d, s, false);
	gp__cond_broadcast(&d->changed);
	return err;
}

static int convert_wanted(struct emu_call *call, struct emu_defer *d)
{
	uint64_t ignored;
	int err = 0;

	if (read(d->wake_fd, &ignored, sizeof(ignored)) < 0 && errno != EAGAIN)
		return -errno;
	pthread_mutex_lock(&d->lock);
	while (d->wanted && err != -ECONNRESET)
		err = convert(call, d, d->wanted);
	pthread_mutex_unlock(&d->lock);
	return err == -ECONNRESET ? err : 0;
}

int emu_defer_serve(struct emu_call *call, uint64_t cookie_at)
{
	struct emu_defer *d = &call->process->memory.defer;
	int err = begin(call, d, cookie_at);

	if (err)
		return err;
	while (!err) {
		err = emu_call_wait(call, d->wake_fd, -1);
		/* A signal is nothing to this thread. */
		if (err == -EINTR) {
			call->cancelled = false;
			err = 0;
		} else if (!err) {
			err = convert_wanted(call, d);
		}
	}
	end(d);
	return err;
}
