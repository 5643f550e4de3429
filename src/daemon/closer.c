// SPDX-License-Identifier: MIT
#include "daemon/closer.h"

#include <pthread.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cond.h"
#include "base/thread.h"

#define STACK_BYTES (128 * 1024)

struct descriptor {
	struct gp__link link;
	struct gp__user *user;
	int fd;
};

/* It outlives its owner while a thread is stuck. */
struct gp__closer {
	pthread_mutex_t lock; /* of what follows */
	struct gp__cond wake;
	struct gp__link waiting; /* descriptors, the oldest first */
	const struct gp__user *busy[GP__CLOSERS]; /* whose descriptor a thread closes */
	bool is_busy[GP__CLOSERS];
	u32 nr_threads, nr_idle;
	bool ends;
};

static bool occupies_thread(const struct gp__closer *c, const struct gp__user *user)
{
	for (u32 i = 0; i < GP__CLOSERS; i++) {
		if (c->is_busy[i] && c->busy[i] == user)
			return true;
	}
	return false;
}

/* The oldest descriptor of a user that occupies no thread. NULL: there is none. */
static struct descriptor *take(struct gp__closer *c)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &c->waiting)
	{
		struct descriptor *d = container_of(l, struct descriptor, link);

		if (occupies_thread(c, d->user))
			continue;
		gp__list_del(&d->link);
		return d;
	}
	return NULL;
}

static u32 occupy(struct gp__closer *c, const struct gp__user *user)
{
	u32 i = 0;

	while (c->is_busy[i])
		i++;
	c->is_busy[i] = true;
	c->busy[i] = user;
	return i;
}

static void drain(int fd)
{
	char byte;

	while (recv(fd, &byte, 1, MSG_DONTWAIT) > 0)
		;
}

static void close_one(struct gp__closer *c, struct descriptor *d)
{
	u32 place = occupy(c, d->user);

	pthread_mutex_unlock(&c->lock);
	drain(d->fd);
	close(d->fd);
	pthread_mutex_lock(&c->lock);
	c->is_busy[place] = false;
	if (d->user && !c->ends)
		atomic_fetch_sub(&d->user->nr_closing, 1);
	free(d);
}

/* Under the lock; the last one frees it. */
static void leave(struct gp__closer *c, bool is_last)
{
	pthread_mutex_unlock(&c->lock);
	if (!is_last)
		return;
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static void *run(void *data)
{
	struct gp__closer *c = data;
	struct descriptor *d;

	pthread_mutex_lock(&c->lock);
	while (!c->ends) {
		d = take(c);
		if (d) {
			close_one(c, d);
			continue;
		}
		c->nr_idle++;
		gp__cond_wait(&c->wake, &c->lock, GP__FOREVER);
		c->nr_idle--;
	}
	leave(c, !--c->nr_threads);
	return NULL;
}

struct gp__closer *gp__closer_open(void)
{
	struct gp__closer *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	pthread_mutex_init(&c->lock, NULL);
	gp__list_init(&c->waiting);
	c->nr_threads = 1; /* the owner */
	return c;
}

/* Without a thread, the descriptor waits for one that others have. */
static void start_thread(struct gp__closer *c)
{
	pthread_t thread;

	if (c->nr_idle || c->nr_threads > GP__CLOSERS ||
	    gp__thread_start(&thread, STACK_BYTES, run, c))
		return;
	pthread_detach(thread);
	c->nr_threads++;
}

void gp__closer_put(struct gp__closer *c, struct gp__user *user, int fd)
{
	struct descriptor *d = malloc(sizeof(*d));

	if (!d) {
		close(fd); /* rather than never */
		return;
	}
	*d = (struct descriptor){ .user = user, .fd = fd };
	if (user)
		atomic_fetch_add(&user->nr_closing, 1);
	pthread_mutex_lock(&c->lock);
	gp__list_push(&c->waiting, &d->link);
	start_thread(c);
	gp__cond_signal(&c->wake);
	pthread_mutex_unlock(&c->lock);
}

static void close_waiting(struct gp__closer *c)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &c->waiting)
	{
		struct descriptor *d = container_of(l, struct descriptor, link);

		gp__list_del(&d->link);
		/* Close only descriptors of users that have no stuck thread; close() of the others'
		 * may block for ever. */
		if (!occupies_thread(c, d->user)) {
			drain(d->fd);
			close(d->fd);
		}
		free(d);
	}
}

void gp__closer_close(struct gp__closer *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	c->ends = true;
	close_waiting(c);
	gp__cond_wake(&c->wake, INT_MAX);
	leave(c, !--c->nr_threads);
}
