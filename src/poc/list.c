// SPDX-License-Identifier: MIT
/* Lists the compute queues of all programs, with what this library knows of each. */
#include "poc/poc.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "device/kfd/list.h"

_Static_assert(sizeof(((queue_info_t *)0)->tag) == GP__KFD_TAG_MAX, "tags fit");

bool gp__poc_has_ended(pid_t pid)
{
	return kill(pid, 0) && errno == ESRCH;
}

static bool describe(struct gp__poc *p, const struct gp__kfd_listed *q, queue_info_t *info)
{
	const struct gp__poc_target *t = gp__poc_target_find(p, q->pid);
	bool held = t && gp__poc_target_holds(t, q->queue_id);

	*info = (queue_info_t){
		.queue_id = gp__poc_id(q->pid, q->queue_id),
		.priority = q->priority < 0 ? 0 : (uint32_t)q->priority,
		.gpu_id = q->gpu_id,
		.is_active = !held && (q->active || !q->active_known),
	};
	memcpy(info->tag, q->tag, sizeof(info->tag));
	return gp__poc_id_pid(info->queue_id) == q->pid &&
	       gp__poc_id_kfd(info->queue_id) == q->queue_id;
}

static int copy(struct gp__poc *p, struct gp__poc_request *r, const struct gp__kfd_list *list)
{
	r->queues = calloc(list->nr ? list->nr : 1, sizeof(*r->queues));
	if (!r->queues)
		return gp__poc_fail_plain(r->error, ENOMEM, "out of memory for the list of queues");
	for (size_t i = 0; i < list->nr; i++) {
		const struct gp__kfd_listed *q = &list->queue[i];

		if (!gp__kfd_is_compute(q->type) || gp__poc_has_ended(q->pid))
			continue;
		if (!describe(p, q, &r->queues[r->nr_queues++]))
			return gp__poc_fail(r->error, EOVERFLOW,
					    "queue %u of process %d has a number above the "
					    "driver's limit (EOVERFLOW)",
					    q->queue_id, (int)q->pid);
	}
	return 0;
}

int gp__poc_list(struct gp__poc *p, struct gp__poc_request *r)
{
	struct gp__kfd_list list;
	int err = gp__kfd_list(&list, GPREEMPT_POC_PRIORITY_DEFAULT);

	if (err == -ENODEV)
		return gp__poc_fail_plain(r->error, ENODEV,
					  "/sys/class/kfd does not exist: amdgpu is not loaded, or "
					  "/sys is not mounted; load it with modprobe amdgpu");
	if (err)
		return gp__poc_fail_plain(r->error, -err, "cannot list the queues");
	err = copy(p, r, &list);
	gp__kfd_list_free(&list);
	return err;
}
