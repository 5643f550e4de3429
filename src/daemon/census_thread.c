// SPDX-License-Identifier: MIT
#include "daemon/census_thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/thread.h"

/*
 * The thread
 */

/* Waits for a question. False: the thread is to end. *@patterns is NULL if memory runs out. */
static bool await_question(struct gp__census_thread *t, char **patterns)
{
	bool ends;

	pthread_mutex_lock(&t->lock);
	while (!t->asked && !t->ends)
		gp__cond_wait(&t->wake, &t->lock, GP__FOREVER);
	t->asked = false;
	ends = t->ends;
	*patterns = ends ? NULL : strdup(t->patterns ? t->patterns : "");
	pthread_mutex_unlock(&t->lock);
	return !ends;
}

static void answer(struct gp__census_thread *t, const struct gp__census *c, int err)
{
	pthread_mutex_lock(&t->lock);
	gp__census_free(&t->census);
	t->census = *c;
	t->err = err;
	t->answered = true;
	pthread_mutex_unlock(&t->lock);
	eventfd_write(t->done_fd, 1);
}

static void *run(void *data)
{
	struct gp__census_thread *t = data;
	char *patterns;

	while (await_question(t, &patterns)) {
		struct gp__devices *machine = patterns ? gp__devices_find(patterns, "") : NULL;
		struct gp__census census = { 0 };
		int err = machine ? gp__census_take(machine, "", &census) : -ENOMEM;

		answer(t, &census, err);
		free(machine);
		free(patterns);
	}
	return NULL;
}

/*
 * The caller
 */

int gp__census_thread_open(struct gp__census_thread *t)
{
	*t = (struct gp__census_thread){ .done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	pthread_mutex_init(&t->lock, NULL);
	return t->done_fd < 0 ? -errno : 0;
}

int gp__census_thread_configure(struct gp__census_thread *t, const char *patterns)
{
	char *copy = strdup(patterns);

	if (!copy)
		return -ENOMEM;
	pthread_mutex_lock(&t->lock);
	free(t->patterns);
	t->patterns = copy;
	pthread_mutex_unlock(&t->lock);
	return 0;
}

int gp__census_thread_ask(struct gp__census_thread *t)
{
	int err = t->runs ? 0 : gp__thread_start(&t->thread, 0, run, t);

	if (err)
		return err;
	t->runs = true;
	pthread_mutex_lock(&t->lock);
	t->asked = true;
	pthread_mutex_unlock(&t->lock);
	gp__cond_signal(&t->wake);
	return 0;
}

bool gp__census_thread_take(struct gp__census_thread *t, struct gp__census *c, int *err)
{
	eventfd_t times;
	bool answered;

	eventfd_read(t->done_fd, &times);
	pthread_mutex_lock(&t->lock);
	answered = t->answered;
	*c = t->census;
	*err = t->err;
	t->census = (struct gp__census){ 0 };
	t->answered = false;
	pthread_mutex_unlock(&t->lock);
	return answered;
}

void gp__census_thread_close(struct gp__census_thread *t)
{
	if (t->runs) {
		pthread_mutex_lock(&t->lock);
		t->ends = true;
		pthread_mutex_unlock(&t->lock);
		gp__cond_signal(&t->wake);
		pthread_join(t->thread, NULL);
	}
	gp__census_free(&t->census);
	free(t->patterns);
	pthread_mutex_destroy(&t->lock);
	if (t->done_fd >= 0)
		close(t->done_fd);
	t->done_fd = -1;
}
