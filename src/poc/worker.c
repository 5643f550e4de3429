// SPDX-License-Identifier: MIT
/* The worker's thread, and how callers hand it a request (poc.h). */
#include "poc/poc.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/thread.h"

/* Waits for a request, the end of a program, or an event of a program under control. */
static void sleep_until_something(const struct gp__poc *p)
{
	struct pollfd fds[1 + 2 * GP__POC_TARGETS_MAX];
	uint64_t times;
	nfds_t n = 0;

	fds[n++] = (struct pollfd){ .fd = p->wake, .events = POLLIN };
	for (size_t i = 0; i < p->nr_targets; i++) {
		const struct gp__poc_target *t = p->target[i];

		fds[n++] = (struct pollfd){ .fd = t->pidfd, .events = POLLIN };
		fds[n++] = (struct pollfd){ .fd = t->control.events, .events = POLLIN };
	}
	poll(fds, n, -1);
	if (fds[0].revents && read(p->wake, &times, sizeof(times)) < 0)
		return; /* no request came */
}

static void *work(void *data)
{
	struct gp__poc *p = data;
	struct gp__poc_request *r;
	bool ends = false;

	while (!ends) {
		sleep_until_something(p);
		gp__poc_targets_look(p);
		pthread_mutex_lock(&p->lock);
		r = p->request;
		ends = p->ends;
		pthread_mutex_unlock(&p->lock);
		if (!r)
			continue;
		r->result = r->run(p, r);
		pthread_mutex_lock(&p->lock);
		p->request = NULL;
		gp__cond_signal(&p->done);
		pthread_mutex_unlock(&p->lock);
	}
	/* In the thread that took control of them. */
	gp__poc_targets_close(p);
	gp__poc_watched_close(p);
	return NULL;
}

static void wake(struct gp__poc *p)
{
	const uint64_t one = 1;

	if (write(p->wake, &one, sizeof(one)) < 0)
		return; /* it is readable already */
}

int gp__poc_call(struct gp__poc *p, struct gp__poc_request *r)
{
	pthread_mutex_lock(&p->lock);
	p->request = r;
	wake(p);
	while (p->request)
		gp__cond_wait(&p->done, &p->lock, GP__FOREVER);
	pthread_mutex_unlock(&p->lock);
	return r->result;
}

int gp__poc_start_worker(struct gp__poc *p, struct gp__poc_error *e)
{
	int err;

	p->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->wake < 0)
		return gp__poc_fail_plain(e, errno, "cannot create an eventfd; raise ulimit -n");
	pthread_mutex_init(&p->lock, NULL);
	err = gp__thread_start(&p->thread, 0, work, p);
	if (!err)
		return 0;
	close(p->wake);
	return gp__poc_fail_plain(e, -err, "cannot create a thread; raise ulimit -u");
}

void gp__poc_stop_worker(struct gp__poc *p)
{
	pthread_mutex_lock(&p->lock);
	p->ends = true;
	pthread_mutex_unlock(&p->lock);
	wake(p);
	pthread_join(p->thread, NULL);
	pthread_mutex_destroy(&p->lock);
	close(p->wake);
}
