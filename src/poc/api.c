// SPDX-License-Identifier: MIT
/*
 * The functions of gpreempt_poc.h: check the arguments, and pass a request to the worker.
 *
 * The interface has no handle, so this is the only file with state of the whole process. Its lock
 * is held during each call, so calls are serialised.
 */
#include "poc/poc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct {
	pthread_mutex_t lock;
	struct gp__poc *poc;
	/* Stays valid after cleanup. */
	char warning[GP__POC_SENTENCE_MAX];
} library = { PTHREAD_MUTEX_INITIALIZER, NULL, "" };

static _Thread_local struct gp__poc_error latest;

/* Only the calling thread exists in the child, not the one that held the lock. */
static void begin_child(void)
{
	pthread_mutex_init(&library.lock, NULL);
	if (library.poc)
		gp__poc_abandon(library.poc);
	library.poc = NULL;
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, begin_child);
}

static int end_call(int result)
{
	pthread_mutex_unlock(&library.lock);
	if (result)
		errno = latest.err;
	return result;
}

/* Takes the lock, also on failure. */
static int begin_call(void)
{
	pthread_mutex_lock(&library.lock);
	latest.err = 0;
	if (library.poc)
		return 0;
	return gp__poc_fail_plain(&latest, ENOTCONN, "call gpreempt_poc_init() first");
}

int gpreempt_poc_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, watch_forks);
	pthread_mutex_lock(&library.lock);
	if (library.poc)
		return end_call(gp__poc_fail_plain(
			&latest, EALREADY,
			"the library is already initialised; call gpreempt_poc_cleanup() first"));
	library.poc = gp__poc_open(&latest);
	if (library.poc)
		memcpy(library.warning, library.poc->warning, sizeof(library.warning));
	return end_call(library.poc ? 0 : -1);
}

void gpreempt_poc_cleanup(void)
{
	pthread_mutex_lock(&library.lock);
	if (library.poc)
		gp__poc_close(library.poc);
	library.poc = NULL;
	pthread_mutex_unlock(&library.lock);
}

/*
 * Queues by their ids
 */

static int compare_ids(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Makes a sorted copy of the ids; refuses those that no request can be about. */
static int take_ids(const uint32_t *queue_ids, uint32_t nr, uint32_t *ids)
{
	if (!nr || !queue_ids)
		return gp__poc_fail_plain(&latest, EINVAL, "no queue was given; give at least one");
	if (nr > GPREEMPT_POC_QUEUES_MAX)
		return gp__poc_fail(&latest, E2BIG,
				    "%u queues were given, but one call takes at most %d; give "
				    "fewer at a time (E2BIG)",
				    nr, GPREEMPT_POC_QUEUES_MAX);
	memcpy(ids, queue_ids, nr * sizeof(*ids));
	qsort(ids, nr, sizeof(*ids), compare_ids);
	for (uint32_t i = 1; i < nr; i++) {
		if (ids[i] != ids[i - 1])
			continue;
		gp__poc_fail(&latest, EINVAL,
			     "queue %u was given twice; give each queue once (EINVAL)", ids[i]);
		gp__poc_fail_queue(&latest, ids[i]);
		return -1;
	}
	return 0;
}

/* Returns 0 or -1, with the lock. */
static int call(struct gp__poc_request *r, const uint32_t *queue_ids, uint32_t nr)
{
	uint32_t ids[GPREEMPT_POC_QUEUES_MAX];
	int err = begin_call();

	if (!err)
		err = take_ids(queue_ids, nr, ids);
	r->error = &latest;
	r->ids = ids;
	r->nr_ids = nr;
	return err ? err : gp__poc_call(library.poc, r);
}

int gpreempt_suspend_queues(uint32_t *queue_ids, uint32_t num_queues, uint32_t grace_period_us)
{
	struct gp__poc_request r = { .run = gp__poc_suspend, .grace_us = grace_period_us };

	return end_call(call(&r, queue_ids, num_queues));
}

int gpreempt_resume_queues(uint32_t *queue_ids, uint32_t num_queues)
{
	struct gp__poc_request r = { .run = gp__poc_resume };

	return end_call(call(&r, queue_ids, num_queues));
}

int gpreempt_queues_busy(uint32_t *queue_ids, uint32_t num_queues)
{
	struct gp__poc_request r = { .run = gp__poc_busy };
	int err = end_call(call(&r, queue_ids, num_queues));

	return err ? err : r.busy;
}

/*
 * Lists
 */

struct filter {
	uint32_t min_priority, max_priority;
	const char *tag; /* NULL: any, or none */
};

static bool passes(const struct filter *f, const queue_info_t *q)
{
	return q->priority >= f->min_priority && q->priority <= f->max_priority &&
	       (!f->tag || !strcmp(f->tag, q->tag));
}

static int list(const struct filter *f, queue_info_t **queues, uint32_t *num_queues)
{
	struct gp__poc_request r = { .run = gp__poc_list, .error = &latest };
	uint32_t nr = 0;
	int err = begin_call();

	if (!err && (!queues || !num_queues))
		err = gp__poc_fail_plain(&latest, EINVAL, "the pointer for the result is NULL");
	if (!err)
		err = gp__poc_call(library.poc, &r);
	for (uint32_t i = 0; !err && i < r.nr_queues; i++) {
		if (passes(f, &r.queues[i]))
			r.queues[nr++] = r.queues[i];
	}
	if (err || !nr) {
		free(r.queues);
		r.queues = NULL;
	}
	if (!err) {
		*queues = r.queues;
		*num_queues = nr;
	}
	return end_call(err);
}

int gpreempt_get_all_queues(queue_info_t **queues, uint32_t *num_queues)
{
	const struct filter all = { 0, UINT32_MAX, NULL };

	return list(&all, queues, num_queues);
}

int gpreempt_find_queues_by_priority(uint32_t min_priority, uint32_t max_priority,
				     queue_info_t **queues, uint32_t *num_queues)
{
	const struct filter f = { min_priority, max_priority, NULL };

	return list(&f, queues, num_queues);
}

int gpreempt_find_queues_by_tag(const char *tag, queue_info_t **queues, uint32_t *num_queues)
{
	const struct filter f = { 0, UINT32_MAX, tag ? tag : "" };

	return list(&f, queues, num_queues);
}

void gpreempt_free_queues(queue_info_t *queues)
{
	free(queues);
}

int32_t gpreempt_queue_pid(uint32_t queue_id)
{
	return gp__poc_id_pid(queue_id);
}

/*
 * Errors
 */

const char *gpreempt_last_error(void)
{
	return latest.sentence;
}

uint32_t gpreempt_failed_queues(uint32_t *queue_ids, uint32_t max)
{
	for (uint32_t i = 0; queue_ids && i < max && i < latest.nr_failed; i++)
		queue_ids[i] = latest.failed[i];
	return latest.nr_failed;
}

const char *gpreempt_poc_warning(void)
{
	return library.warning;
}
