// SPDX-License-Identifier: MIT
#include "join/touch.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/cond.h"
#include "base/thread.h"

#define PLACES 8
/* A thread that is kept in libcuda for longer is not waited for: who waits may be whom libcuda
 * waits for. */
#define PATIENCE_NS 1000000000u

#define STREAM_NON_BLOCKING 1
#define CAPTURE_RELAXED 2

static const char image[] = ".version 6.3\n"
			    ".target sm_70\n"
			    ".address_size 64\n"
			    ".visible .entry gpreempt_touch()\n"
			    "{\n"
			    "	ret;\n"
			    "}\n";

struct cuda {
	int (*context)(void **context);
	int (*set_context)(void *context);
	int (*context_id)(void *context, unsigned long long *id);
	int (*exchange_capture_mode)(int *mode);
	int (*load)(void **module, const void *image);
	int (*function)(void **function, void *module, const char *name);
	int (*stream)(void **stream, unsigned int flags);
	int (*launch)(void *function, unsigned int gx, unsigned int gy, unsigned int gz,
		      unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
		      void *stream, void **args, void **extra);
};

/* Contexts are told apart by their numbers: a new one may be where an old one was. */
struct place {
	unsigned long long id;
	void *context, *stream, *function; /* stream NULL: it cannot be done there */
};

struct gp__touch {
	gp__touch_find_fn find;
	pthread_mutex_t lock;
	struct gp__cond changed, done;
	pthread_t thread;
	bool started, ends;
	bool busy; /* the thread is in libcuda */
	bool loaded, cannot; /* what is needed of libcuda is known, or not to be had */
	bool over; /* nothing is done any more */
	struct cuda cuda;
	void *context; /* that was announced for @at */
	uint64_t at; /* 0: nothing is to be done */
	uint64_t turn; /* how often that has changed */
	uint64_t count;
	struct place place[PLACES]; /* the thread's */
	unsigned int nr_places; /* that were made: the oldest makes way */
};

/*
 * libcuda
 */

/* It is there for good then. */
static void *find_in_libcuda(const char *name)
{
	void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);

	return library ? dlsym(library, name) : NULL;
}

/* False: *@cannot, or libcuda is not there yet. */
static bool load(const struct gp__touch *t, struct cuda *cuda, bool *cannot)
{
	static const struct {
		size_t at;
		const char *name;
	} functions[] = {
		{ offsetof(struct cuda, context), "cuCtxGetCurrent" },
		{ offsetof(struct cuda, set_context), "cuCtxSetCurrent" },
		{ offsetof(struct cuda, context_id), "cuCtxGetId" },
		{ offsetof(struct cuda, exchange_capture_mode),
		  "cuThreadExchangeStreamCaptureMode" },
		{ offsetof(struct cuda, load), "cuModuleLoadData" },
		{ offsetof(struct cuda, function), "cuModuleGetFunction" },
		{ offsetof(struct cuda, stream), "cuStreamCreate" },
		{ offsetof(struct cuda, launch), "cuLaunchKernel" },
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *found = t->find(functions[i].name);

		*cannot = !found && i;
		if (!found)
			return false;
		memcpy((char *)cuda + functions[i].at, &found, sizeof(found));
	}
	return true;
}

/*
 * The thread
 */

static struct place *find_place(struct gp__touch *t, void *context, unsigned long long id)
{
	for (int i = 0; i < PLACES; i++) {
		if (t->place[i].context == context && t->place[i].id == id)
			return &t->place[i];
	}
	return NULL;
}

/* The first announcement in a context is for this; where it fails it is not tried again. */
static struct place *make_place(struct gp__touch *t, void *context, unsigned long long id)
{
	struct place *p = &t->place[t->nr_places++ % PLACES];
	void *module;

	*p = (struct place){ .id = id, .context = context };
	if (t->cuda.load(&module, image) ||
	    t->cuda.function(&p->function, module, "gpreempt_touch") ||
	    t->cuda.stream(&p->stream, STREAM_NON_BLOCKING))
		p->stream = NULL;
	return p;
}

/* Where it is launched in that context. NULL: nowhere. */
static struct place *get_place(struct gp__touch *t, void *context)
{
	unsigned long long id;
	struct place *place;

	if (t->cuda.set_context(context) || t->cuda.context_id(context, &id))
		return NULL;
	place = find_place(t, context, id);
	if (!place)
		place = make_place(t, context, id);
	return place->stream ? place : NULL;
}

/* The lock is not held in libcuda. */
static void enter(struct gp__touch *t)
{
	t->busy = true;
	pthread_mutex_unlock(&t->lock);
}

static void leave(struct gp__touch *t)
{
	pthread_mutex_lock(&t->lock);
	t->busy = false;
	gp__cond_broadcast(&t->done);
}

/* Until then, unless something else is wanted. False: something is. */
static bool wait_until(struct gp__touch *t, uint64_t when, uint64_t turn)
{
	while (t->turn == turn && !t->ends && gp__clock_ns() < when)
		gp__cond_wait(&t->changed, &t->lock, when);
	return t->turn == turn && !t->ends;
}

/*
 * More than once: others may not be off the GPU at the first time, and take it back. Where the
 * context is loaded already, it costs a few microseconds.
 */
static void touch(struct gp__touch *t)
{
	uint64_t at = t->at, turn = t->turn, next = at - GP__TOUCH_AHEAD_NS;
	void *context = t->context;
	const struct place *place;
	bool done = false;
	int err = 0;

	enter(t);
	place = get_place(t, context);
	leave(t);
	for (; place && !err && next < at && wait_until(t, next, turn);
	     next += GP__TOUCH_EVERY_NS) {
		if (gp__clock_ns() >= at)
			break;
		enter(t);
		err = t->cuda.launch(place->function, 1, 1, 1, 1, 1, 1, 0, place->stream, NULL,
				     NULL);
		leave(t);
		done |= !err;
	}
	t->count += done;
	if (t->turn == turn)
		t->at = 0;
}

/* Begins as if in libcuda: whoever started it has set busy. */
static void *run(void *arg)
{
	struct gp__touch *t = arg;
	int mode = CAPTURE_RELAXED;

	pthread_setname_np(pthread_self(), "gp-touch");
	prctl(PR_SET_TIMERSLACK, 1000ul); /* ns; usual is half of a step */
	/* Otherwise what is made here would spoil a graph that another thread captures. */
	t->cuda.exchange_capture_mode(&mode);
	leave(t);
	while (!t->ends) {
		if (t->at)
			touch(t);
		else
			gp__cond_wait(&t->changed, &t->lock, GP__FOREVER);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

/*
 * The program's threads
 */

/* Looked up without the lock: a library that is being loaded may announce something, too. */
static bool is_loaded(struct gp__touch *t)
{
	bool found, known, cannot = false;
	struct cuda cuda;

	pthread_mutex_lock(&t->lock);
	found = t->loaded;
	known = t->loaded || t->cannot;
	pthread_mutex_unlock(&t->lock);
	if (known)
		return found;
	found = load(t, &cuda, &cannot);
	pthread_mutex_lock(&t->lock);
	if (found && !t->loaded)
		t->cuda = cuda;
	t->loaded |= found;
	t->cannot |= cannot;
	pthread_mutex_unlock(&t->lock);
	return found;
}

/* With the lock: whether there is somebody to do it. */
static bool is_started(struct gp__touch *t)
{
	if (t->started || t->over)
		return !t->over;
	t->busy = true;
	t->started = !gp__thread_start(&t->thread, 0, run, t);
	t->busy = t->started;
	return t->started;
}

static void call_off(struct gp__touch *t, bool for_good)
{
	uint64_t until = gp__clock_ns() + PATIENCE_NS;

	pthread_mutex_lock(&t->lock);
	t->over |= for_good;
	t->at = 0;
	t->turn++;
	gp__cond_signal(&t->changed);
	while (t->busy && gp__clock_ns() < until)
		gp__cond_wait(&t->done, &t->lock, until);
	pthread_mutex_unlock(&t->lock);
}

void gp__touch_at(struct gp__touch *t, uint64_t at)
{
	void *context = NULL;

	if (!at) {
		call_off(t, false);
		return;
	}
	if (at < gp__clock_ns() + GP__TOUCH_NOTICE_NS || !is_loaded(t) ||
	    t->cuda.context(&context) || !context)
		return;
	pthread_mutex_lock(&t->lock);
	if (is_started(t)) {
		t->at = at;
		t->turn++;
		t->context = context;
		gp__cond_signal(&t->changed);
	}
	pthread_mutex_unlock(&t->lock);
}

void gp__touch_end(struct gp__touch *t)
{
	call_off(t, true);
}

uint64_t gp__touch_count(struct gp__touch *t)
{
	uint64_t count;

	pthread_mutex_lock(&t->lock);
	count = t->count;
	pthread_mutex_unlock(&t->lock);
	return count;
}

int gp__touch_create(gp__touch_find_fn find, struct gp__touch **touch)
{
	struct gp__touch *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->find = find ? find : find_in_libcuda;
	pthread_mutex_init(&t->lock, NULL);
	*touch = t;
	return 0;
}

void gp__touch_forget(struct gp__touch *t)
{
	const gp__touch_find_fn find = t->find;

	*t = (struct gp__touch){ .find = find };
	pthread_mutex_init(&t->lock, NULL);
}

void gp__touch_destroy(struct gp__touch *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	t->ends = true;
	gp__cond_signal(&t->changed);
	pthread_mutex_unlock(&t->lock);
	if (t->started)
		pthread_join(t->thread, NULL);
	pthread_mutex_destroy(&t->lock);
	free(t);
}
