/* SPDX-License-Identifier: MIT */
/*
 * The header of stage 1 in strict C99 and in C++17, with the layout that other languages count on.
 * Compiled as both.
 */
#include <gpreempt_poc.h>

#include <stddef.h>
#include <string.h>

int main(void)
{
	uint32_t id = 4711u << 10 | 5;
	queue_info_t *queues = NULL;
	uint32_t nr = 0;

	if (sizeof(queue_info_t) != 80 || offsetof(queue_info_t, gpu_id) != 8 ||
	    offsetof(queue_info_t, tag) != 12 || offsetof(queue_info_t, is_active) != 76)
		return 1;
	if (gpreempt_suspend_queues(&id, 1, 0) != -1 || gpreempt_resume_queues(&id, 1) != -1 ||
	    gpreempt_queues_busy(&id, 1) != -1 || gpreempt_get_all_queues(&queues, &nr) != -1 ||
	    gpreempt_find_queues_by_priority(0, 15, &queues, &nr) != -1 ||
	    gpreempt_find_queues_by_tag("ONLINE_AI", &queues, &nr) != -1)
		return 2;
	if (!strstr(gpreempt_last_error(), "gpreempt_poc_init()") ||
	    gpreempt_failed_queues(&id, 1) != 0 || *gpreempt_poc_warning() != '\0' ||
	    gpreempt_queue_pid(id) != 4711)
		return 3;
	gpreempt_free_queues(queues);
	gpreempt_poc_cleanup();
	return 0;
}
