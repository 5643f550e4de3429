// SPDX-License-Identifier: MIT
#include "daemon/inspect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/global_pid.h"
#include "base/thread.h"

/* Devices come and go with drivers. */
#define DEVICES_FRESH_NS GP__S
/* A scan is followed by a pause of this many times its length for its user. */
#define PAUSE_TIMES 9

/*
 * The thread
 */

/* NULL: no recent scan of this user. */
static struct gp__pace *find_pace(struct gp__inspector *in, uid_t uid)
{
	for (u32 i = 0; i < GP__PACES_MAX; i++) {
		if (in->pace[i].until && in->pace[i].uid == uid)
			return &in->pace[i];
	}
	return NULL;
}

static u64 paused_until(struct gp__inspector *in, uid_t uid)
{
	const struct gp__pace *pace = find_pace(in, uid);

	return pace ? pace->until : 0;
}

static void pause_user(struct gp__inspector *in, uid_t uid, u64 until)
{
	struct gp__pace *pace = find_pace(in, uid), *oldest = in->pace;

	for (u32 i = 0; i < GP__PACES_MAX; i++) {
		if (in->pace[i].until < oldest->until)
			oldest = &in->pace[i];
	}
	*(pace ? pace : oldest) = (struct gp__pace){ uid, until };
}

/* Chooses the next process to scan, of another user than the last. NULL: none before *@wake. */
static struct gp__inspection *choose_scan(struct gp__inspector *in, u64 now, u64 *wake)
{
	struct gp__inspection *first = NULL;
	struct gp__link *l, *n;
	uid_t uid = 0;
	u64 until = 0;

	*wake = GP__FOREVER;
	gp__list_each(l, n, &in->to_scan)
	{
		struct gp__inspection *i = container_of(l, struct gp__inspection, link);

		/* Many in a row are often of one user. */
		if (l == in->to_scan.next || i->uid != uid)
			until = paused_until(in, i->uid);
		uid = i->uid;
		if (until > now)
			*wake = gp__min_u64(*wake, until);
		else if (uid != in->last_uid)
			return i;
		else if (!first)
			first = i;
	}
	return first;
}

static struct gp__inspection *choose(struct gp__inspector *in, u64 now, u64 *wake)
{
	if (gp__list_empty(&in->to_check))
		return choose_scan(in, now, wake);
	return container_of(in->to_check.next, struct gp__inspection, link);
}

/* Waits for a question. NULL: the inspector is being closed. */
static struct gp__inspection *take_question(struct gp__inspector *in, u8 *what)
{
	struct gp__inspection *i = NULL;
	u64 wake = GP__FOREVER;

	pthread_mutex_lock(&in->lock);
	while (!in->ends) {
		i = choose(in, gp__clock_ns(), &wake);
		if (i)
			break;
		gp__cond_wait(&in->wake, &in->lock, wake);
	}
	if (i) {
		gp__list_del(&i->link);
		i->busy = true;
		/* The other question waits for its turn. */
		*what = i->asked & GP__ASK_STOPPED ? GP__ASK_STOPPED : GP__ASK_DEVICES;
		i->asked &= (u8) ~*what;
	}
	pthread_mutex_unlock(&in->lock);
	return i;
}

static void free_inspection(struct gp__inspection *i)
{
	close(i->pidfd);
	free(i->devices);
	free(i);
}

/* Puts the process into the list in which it belongs. True: there is an answer. */
static bool file(struct gp__inspector *in, struct gp__inspection *i)
{
	gp__list_del(&i->link);
	if (i->answered)
		gp__list_push(&in->answered, &i->link);
	else if (i->asked & GP__ASK_STOPPED)
		gp__list_push(&in->to_check, &i->link);
	else if (i->asked)
		gp__list_push(&in->to_scan, &i->link);
	return i->answered;
}

static void answer(struct gp__inspector *in, struct gp__inspection *i,
		   const struct gp__inspection_answer *a)
{
	struct gp__devices *unwanted = a->devices;
	bool ended, notify = false;

	pthread_mutex_lock(&in->lock);
	i->busy = false;
	ended = i->ended;
	if (!ended) {
		if (a->what & GP__ASK_STOPPED)
			i->stopped = a->stopped;
		if (a->what & GP__ASK_DEVICES) {
			unwanted = i->devices;
			i->devices = a->devices;
			i->err = a->err;
		}
		i->answered |= a->what;
		notify = file(in, i);
	}
	pthread_mutex_unlock(&in->lock);
	free(unwanted);
	if (ended)
		free_inspection(i);
	if (notify)
		eventfd_write(in->answers_fd, 1);
}

static void refresh_devices(struct gp__inspector *in)
{
	char patterns[GP__PATTERNS_MAX];
	u64 now = gp__clock_ns();
	bool changed;

	pthread_mutex_lock(&in->lock);
	changed = in->repatterned;
	in->repatterned = false;
	memcpy(patterns, in->patterns, sizeof(patterns));
	pthread_mutex_unlock(&in->lock);
	if (in->devices && !changed && now - in->devices_at < DEVICES_FRESH_NS)
		return;
	free(in->devices);
	in->devices = gp__devices_find(patterns, "");
	in->devices_at = now;
}

static void scan(struct gp__inspector *in, const struct gp__inspection *i, int proc,
		 struct gp__inspection_answer *a)
{
	u64 began = gp__clock_ns(), now;
	int result;

	a->devices = in->devices ? gp__devices_copy(in->devices) : NULL;
	result = a->devices ? gp__procfs_find_devices(proc, a->devices) : -ENOMEM;
	a->err = result < 0 ? result : 0;
	if (a->err) {
		free(a->devices);
		a->devices = NULL;
	}
	if (a->devices && gp__pid_is_global())
		gp__devices_measure(a->devices, i->pid, "");
	now = gp__clock_ns();
	pause_user(in, i->uid, now + (now - began) * PAUSE_TIMES);
	in->last_uid = i->uid;
}

static void inspect(struct gp__inspector *in, struct gp__inspection *i, u8 what)
{
	struct gp__inspection_answer a = { .what = what };
	int proc = gp__procfs_open(i->pid, i->pidfd);

	if (what & GP__ASK_STOPPED && proc >= 0)
		a.stopped = gp__procfs_is_stopped(proc, &in->freezers);
	if (what & GP__ASK_DEVICES) {
		refresh_devices(in);
		if (proc >= 0)
			scan(in, i, proc, &a);
		else
			a.err = proc;
	}
	if (proc >= 0)
		close(proc);
	answer(in, i, &a);
}

static void *run(void *data)
{
	struct gp__inspector *in = data;
	struct gp__inspection *i;
	u8 what;

	gp__freezers_find(&in->freezers);
	while ((i = take_question(in, &what)))
		inspect(in, i, what);
	return NULL;
}

/*
 * Calls of the scheduling thread
 */

int gp__inspector_open(struct gp__inspector *in)
{
	gp__list_init(&in->to_check);
	gp__list_init(&in->to_scan);
	gp__list_init(&in->answered);
	pthread_mutex_init(&in->lock, NULL);
	in->answers_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return in->answers_fd < 0 ? -errno : 0;
}

void gp__inspector_close(struct gp__inspector *in)
{
	if (in->runs) {
		pthread_mutex_lock(&in->lock);
		in->ends = true;
		pthread_mutex_unlock(&in->lock);
		gp__cond_signal(&in->wake);
		pthread_join(in->thread, NULL);
	}
	pthread_mutex_destroy(&in->lock);
	free(in->devices);
	if (in->answers_fd >= 0)
		close(in->answers_fd);
	in->answers_fd = -1;
}

void gp__inspector_configure(struct gp__inspector *in, const char *patterns)
{
	pthread_mutex_lock(&in->lock);
	snprintf(in->patterns, sizeof(in->patterns), "%s", patterns);
	in->repatterned = true;
	pthread_mutex_unlock(&in->lock);
}

struct gp__inspection *gp__inspection_begin(struct gp__inspector *in, pid_t pid, int pidfd,
					    uid_t uid, void *program)
{
	struct gp__inspection *i;

	if (!in->runs && gp__thread_start(&in->thread, 0, run, in))
		return NULL;
	in->runs = true;
	i = calloc(1, sizeof(*i));
	if (!i)
		return NULL;
	*i = (struct gp__inspection){ .pid = pid, .uid = uid, .program = program };
	gp__list_init(&i->link);
	i->pidfd = fcntl(pidfd, F_DUPFD_CLOEXEC, 0);
	if (i->pidfd >= 0)
		return i;
	free(i);
	return NULL;
}

void gp__inspection_end(struct gp__inspector *in, struct gp__inspection *i)
{
	bool busy;

	pthread_mutex_lock(&in->lock);
	gp__list_del(&i->link);
	busy = i->ended = i->busy;
	pthread_mutex_unlock(&in->lock);
	if (!busy)
		free_inspection(i);
}

void gp__inspection_ask(struct gp__inspector *in, struct gp__inspection *i, u8 what)
{
	bool other_list;

	pthread_mutex_lock(&in->lock);
	other_list = what & ~i->asked & GP__ASK_STOPPED;
	i->asked |= what;
	/* If it is busy, the thread does it. A repeated question keeps its place. */
	if (!i->busy && (other_list || gp__list_empty(&i->link)))
		file(in, i);
	pthread_mutex_unlock(&in->lock);
	gp__cond_signal(&in->wake);
}

bool gp__inspection_take(struct gp__inspector *in, struct gp__inspection_answer *a)
{
	struct gp__inspection *i = NULL;
	bool more = false;

	pthread_mutex_lock(&in->lock);
	if (!gp__list_empty(&in->answered)) {
		i = container_of(in->answered.next, struct gp__inspection, link);
		*a = (struct gp__inspection_answer){ .program = i->program,
						     .what = i->answered,
						     .stopped = i->stopped,
						     .err = i->err,
						     .devices = i->devices };
		i->devices = NULL;
		i->answered = 0;
		file(in, i);
		more = i->asked;
	}
	pthread_mutex_unlock(&in->lock);
	if (more)
		gp__cond_signal(&in->wake);
	return i;
}
