// SPDX-License-Identifier: MIT
#include "device/kfd/work.h"

void gp__kfd_work_init(struct gp__kfd_work *w,
		       void (*report)(void *data, uint32_t id, bool has_work, uint64_t pending,
				      uint64_t now),
		       void *data)
{
	w->report = report;
	w->data = data;
	for (size_t i = 0; i < GP__KFD_QUEUES_MAX; i++) {
		pthread_mutex_init(&w->queue[i].lock, NULL);
		w->queue[i].exists = w->queue[i].is_busy = false;
		w->queue[i].arrivals = 0;
		atomic_init(&w->queue[i].news, false);
	}
}

static void set_exists(struct gp__kfd_work *w, uint32_t id, bool exists)
{
	if (id >= GP__KFD_QUEUES_MAX)
		return;
	pthread_mutex_lock(&w->queue[id].lock);
	w->queue[id].exists = exists;
	w->queue[id].is_busy = false;
	atomic_store(&w->queue[id].news, false);
	pthread_mutex_unlock(&w->queue[id].lock);
}

void gp__kfd_work_add(struct gp__kfd_work *w, uint32_t id)
{
	set_exists(w, id, true);
}

void gp__kfd_work_remove(struct gp__kfd_work *w, uint32_t id)
{
	set_exists(w, id, false);
}

/* With the queue's lock. */
static void note(struct gp__kfd_work *w, uint32_t id, bool is_busy, uint64_t pending, uint64_t now)
{
	if (!w->queue[id].exists || w->queue[id].is_busy == is_busy)
		return;
	w->queue[id].is_busy = is_busy;
	w->report(w->data, id, is_busy, pending, now);
}

void gp__kfd_work_arrived(struct gp__kfd_work *w, uint32_t id, uint64_t now)
{
	if (id >= GP__KFD_QUEUES_MAX)
		return;
	pthread_mutex_lock(&w->queue[id].lock);
	w->queue[id].arrivals++;
	atomic_store(&w->queue[id].news, true);
	note(w, id, true, 1, now);
	pthread_mutex_unlock(&w->queue[id].lock);
}

bool gp__kfd_work_take(struct gp__kfd_work *w, uint32_t id)
{
	return id < GP__KFD_QUEUES_MAX && atomic_load(&w->queue[id].news) &&
	       atomic_exchange(&w->queue[id].news, false);
}

void gp__kfd_work_ready(struct gp__kfd_work *w, uint32_t id, uint64_t pending, uint64_t now)
{
	if (id >= GP__KFD_QUEUES_MAX)
		return;
	pthread_mutex_lock(&w->queue[id].lock);
	note(w, id, true, pending, now);
	pthread_mutex_unlock(&w->queue[id].lock);
}

uint64_t gp__kfd_work_count(struct gp__kfd_work *w, uint32_t id)
{
	uint64_t count;

	if (id >= GP__KFD_QUEUES_MAX)
		return 0;
	pthread_mutex_lock(&w->queue[id].lock);
	count = w->queue[id].arrivals;
	pthread_mutex_unlock(&w->queue[id].lock);
	return count;
}

bool gp__kfd_work_idle(struct gp__kfd_work *w, uint32_t id, uint64_t count, uint64_t now)
{
	bool is_idle;

	if (id >= GP__KFD_QUEUES_MAX)
		return true;
	pthread_mutex_lock(&w->queue[id].lock);
	is_idle = w->queue[id].arrivals == count && !atomic_load(&w->queue[id].news);
	if (is_idle)
		note(w, id, false, 0, now);
	pthread_mutex_unlock(&w->queue[id].lock);
	return is_idle;
}
