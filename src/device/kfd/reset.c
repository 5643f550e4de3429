// SPDX-License-Identifier: MIT
/*
 * Tells whether a GPU was reset while queues of this process were held.
 *
 * The driver refuses a change of a queue only if the reset was one that it had to make. After
 * another one (an administrator's, a debugger's) it says that the queue was released, and never
 * runs it again. Of either kind it signals an event, which is asked for after a release: never
 * while an urgent program waits.
 */
#include <errno.h>

#include "device/kfd/owned.h"
#include "gpreempt/uapi/gpreempt_kfd.h"

static int call(struct gp__kfd_owner *o, unsigned long request, void *args)
{
	return o->next(o->kfd, request, args) < 0 ? -errno : 0;
}

void gp__kfd_owner_expect_reset(struct gp__kfd_owner *o)
{
	struct gp_kfd_create_event event = { .event_type = GP_KFD_EVENT_HW_EXCEPTION };

	if (o->reset_event || o->kfd < 0)
		return;
	/* Without it, a reset is noticed only if the driver refuses a change. */
	if (call(o, GP_KFD_CREATE_EVENT, &event))
		o->reset_event = GP__KFD_NO_EVENT;
	else
		o->reset_event = event.event_id;
}

/* The GPU that was reset last. 0: none was. */
static uint32_t reset_gpu(struct gp__kfd_owner *o)
{
	struct gp_kfd_event_data data = { .event_id = o->reset_event };
	struct gp_kfd_wait_events args = { .events_ptr = (uint64_t)(uintptr_t)&data,
					   .num_events = 1 };

	if (!o->reset_event || o->reset_event == GP__KFD_NO_EVENT)
		return 0;
	if (call(o, GP_KFD_WAIT_EVENTS, &args) || args.wait_result != GP_KFD_WAIT_COMPLETE)
		return 0;
	return data.hw.gpu_id;
}

void gp__kfd_owner_note_reset(struct gp__kfd_owner *o, const uint32_t *ids, int *results, size_t n)
{
	uint32_t gpu_id = reset_gpu(o);

	for (size_t i = 0; gpu_id && i < n; i++) {
		struct gp__kfd_entry *e;

		if (results[i] || ids[i] >= GP__KFD_QUEUES_MAX)
			continue;
		e = &o->entry[ids[i]];
		pthread_mutex_lock(&e->lock);
		if (e->exists && e->info.gpu_id == gpu_id)
			results[i] = -EACCES;
		pthread_mutex_unlock(&e->lock);
	}
}
