// SPDX-License-Identifier: MIT
#include "device/nvrm/warmup.h"

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
/* Bounds the wait for a thread inside libcuda, which may itself wait for the waiting thread. */
#define PATIENCE_NS 1000000000u

#define STREAM_NON_BLOCKING 1
#define CAPTURE_RELAXED 2

static const char image[] = ".version 6.3\n"
			    ".target sm_70\n"
			    ".address_size 64\n"
			    ".visible .entry gpreempt_warmup()\n"
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

/* Contexts are identified by their numbers: a new one may have an old one's address. */
struct place {
	unsigned long long id;
	void *context, *stream, *function; /* stream NULL: no warm-up is possible there */
};

struct gp__warmup {
	gp__warmup_find_fn find;
	pthread_mutex_t lock;
	struct gp__cond changed, done;
	pthread_t thread;
	bool started, ends;
	bool busy; /* the thread is in libcuda */
	bool loaded, cannot; /* libcuda's functions were found, or cannot be */
	bool over; /* no more warm-ups */
	struct cuda cuda;
	void *context; /* of the announcement for @at */
	uint64_t at; /* 0: none */
	uint64_t turn; /* counts the changes of @at */
	uint64_t count;
	struct place place[PLACES]; /* the thread's */
	unsigned int nr_places; /* created so far; a new one replaces the oldest */
};

/*
 * libcuda
 */

/* From then on it stays loaded. */
static void *find_in_libcuda(const char *name)
{
	void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);

	return library ? dlsym(library, name) : NULL;
}

/* False: *@cannot, or libcuda is not loaded yet. */
static bool load(const struct gp__warmup *t, struct cuda *cuda, bool *cannot)
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

static struct place *find_place(struct gp__warmup *t, void *context, unsigned long long id)
{
	for (int i = 0; i < PLACES; i++) {
		if (t->place[i].context == context && t->place[i].id == id)
			return &t->place[i];
	}
	return NULL;
}

/* Prepares a context at its first announcement; a failure is final. */
static struct place *make_place(struct gp__warmup *t, void *context, unsigned long long id)
{
	struct place *p = &t->place[t->nr_places++ % PLACES];
	void *module;

	*p = (struct place){ .id = id, .context = context };
	if (t->cuda.load(&module, image) ||
	    t->cuda.function(&p->function, module, "gpreempt_warmup") ||
	    t->cuda.stream(&p->stream, STREAM_NON_BLOCKING))
		p->stream = NULL;
	return p;
}

/* The place for launches in that context; NULL: there is none. */
static struct place *get_place(struct gp__warmup *t, void *context)
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

/* Calls libcuda without the lock. */
static void enter(struct gp__warmup *t)
{
	t->busy = true;
	pthread_mutex_unlock(&t->lock);
}

static void leave(struct gp__warmup *t)
{
	pthread_mutex_lock(&t->lock);
	t->busy = false;
	gp__cond_broadcast(&t->done);
}

/* Waits until that time. False: the announcement has changed. */
static bool wait_until(struct gp__warmup *t, uint64_t when, uint64_t turn)
{
	while (t->turn == turn && !t->ends && gp__clock_ns() < when)
		gp__cond_wait(&t->changed, &t->lock, when);
	return t->turn == turn && !t->ends;
}

/*
 * Warms up repeatedly: at the first time other programs may still be on the GPU, and take it back.
 * If the context is loaded already, a warm-up costs a few microseconds.
 */
static void warm_up(struct gp__warmup *t)
{
	uint64_t at = t->at, turn = t->turn, next = at - GP__WARMUP_AHEAD_NS;
	void *context = t->context;
	const struct place *place;
	bool done = false;
	int err = 0;

	enter(t);
	place = get_place(t, context);
	leave(t);
	for (; place && !err && next < at && wait_until(t, next, turn);
	     next += GP__WARMUP_EVERY_NS) {
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

/* Begins with busy set, by the thread that created it. */
static void *run(void *arg)
{
	struct gp__warmup *t = arg;
	int mode = CAPTURE_RELAXED;

	pthread_setname_np(pthread_self(), "gp-warmup");
	prctl(PR_SET_TIMERSLACK, 1000ul); /* ns; the default is half of a step */
	/* Otherwise calls here would invalidate a graph that another thread captures. */
	t->cuda.exchange_capture_mode(&mode);
	leave(t);
	while (!t->ends) {
		if (t->at)
			warm_up(t);
		else
			gp__cond_wait(&t->changed, &t->lock, GP__FOREVER);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

/*
 * The program's threads
 */

/* Looks functions up without the lock: a library that is being loaded may announce work, too. */
static bool is_loaded(struct gp__warmup *t)
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

/* Creates the thread if there is none. False: there is none. With the lock. */
static bool is_started(struct gp__warmup *t)
{
	if (t->started || t->over)
		return !t->over;
	t->busy = true;
	t->started = !gp__thread_start(&t->thread, 0, run, t);
	t->busy = t->started;
	return t->started;
}

static void call_off(struct gp__warmup *t, bool for_good)
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

void gp__warmup_at(struct gp__warmup *t, uint64_t at)
{
	void *context = NULL;

	if (!at) {
		call_off(t, false);
		return;
	}
	if (at < gp__clock_ns() + GP__WARMUP_NOTICE_NS || !is_loaded(t) ||
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

void gp__warmup_end(struct gp__warmup *t)
{
	call_off(t, true);
}

uint64_t gp__warmup_count(struct gp__warmup *t)
{
	uint64_t count;

	pthread_mutex_lock(&t->lock);
	count = t->count;
	pthread_mutex_unlock(&t->lock);
	return count;
}

int gp__warmup_create(gp__warmup_find_fn find, struct gp__warmup **warmup)
{
	struct gp__warmup *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->find = find ? find : find_in_libcuda;
	pthread_mutex_init(&t->lock, NULL);
	*warmup = t;
	return 0;
}

void gp__warmup_forget(struct gp__warmup *t)
{
	const gp__warmup_find_fn find = t->find;

	*t = (struct gp__warmup){ .find = find };
	pthread_mutex_init(&t->lock, NULL);
}

void gp__warmup_destroy(struct gp__warmup *t)
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
