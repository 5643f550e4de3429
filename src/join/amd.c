// SPDX-License-Identifier: MIT
#include "join/amd.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/kfd/monitor.h"
#include "device/kfd/topology.h"
#include "gpreempt/uapi/gpreempt_kfd.h"
#include "join/agent.h"
#include "join/hsa/tools.h"

struct gp__amd {
	struct gp__kfd_owner *owner;
	struct gp__agent *agent;
	struct gp__kfd_monitor *monitor;
	struct gp__wish wish;
	void (*say)(const char *text);
	pthread_mutex_t lock; /* of the nodes, and while the monitor is made */
	struct gp__kfd_node node[GP__KFD_NODES_MAX];
	int nr_nodes;
	bool said;
	bool saves; /* at level 2, what did not end when it was to */
};

static void say(struct gp__amd *amd, const char *text)
{
	if (!amd->said)
		amd->say(text);
	amd->said = true;
}

/* The monitor knows a queue by its id; 0 would be no pointer. */
static void *cookie_of(uint32_t id)
{
	return (void *)((uintptr_t)id + 1);
}

static uint32_t id_of(const void *cookie)
{
	return (uint32_t)((uintptr_t)cookie - 1);
}

/*
 * Orders
 */

static void hold(struct gp__amd *amd, u32 id, bool held)
{
	gp__kfd_monitor_hold(amd->monitor, cookie_of(id), held);
}

/* By its level: the launch window's, or the driver's ways. */
static void set(struct gp__amd *amd, enum gp__kfd_verb verb, const u32 *ids, int *results, size_t n)
{
	if (amd->wish.level != 1) {
		gp__kfd_owner_set(amd->owner, verb, ids, results, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		results[i] = gp__hsa_hold(ids[i], verb != GP__KFD_START);
}

/* Where no waves are saved, the driver lets them end before it takes a queue off. */
static bool can_drain(const struct gp__amd *amd)
{
	return gp__kfd_owner_way(amd->owner, NULL) == GP__KFD_WAY_PREEMPT && !amd->saves;
}

/* Those that are chosen, all in one step. */
static void set_some(struct gp__amd *amd, enum gp__kfd_verb verb, const u32 *ids,
		     const bool *chosen, int *results, size_t n)
{
	int some_results[GP__WIRE_SLOTS_MAX];
	u32 some[GP__WIRE_SLOTS_MAX];
	size_t nr = 0, at = 0;

	for (size_t i = 0; i < n; i++) {
		if (chosen[i])
			some[nr++] = ids[i];
	}
	if (nr)
		gp__kfd_owner_set(amd->owner, verb, some, some_results, nr);
	for (size_t i = 0; i < n; i++) {
		if (chosen[i])
			results[i] = some_results[at++];
	}
}

/*
 * What runs finishes. A kernel may wait for one of another queue, which is held: the driver gives
 * up then, after its time, and lets it run on. Whoever is urgent does not wait for that twice.
 */
static void drain(struct gp__amd *amd, const u32 *ids, bool *chosen, int *results, size_t n)
{
	bool failed = false;

	set_some(amd, can_drain(amd) ? GP__KFD_DRAIN : GP__KFD_SAVE, ids, chosen, results, n);
	if (!can_drain(amd))
		return;
	for (size_t i = 0; i < n; i++) {
		chosen[i] &= results[i] && results[i] != -ENOENT;
		failed |= chosen[i];
	}
	if (!failed)
		return;
	amd->saves = true;
	say(amd, "what runs of this program did not end when it was to: from now on its queues are "
		 "stopped as at level 3");
	set_some(amd, GP__KFD_SAVE, ids, chosen, results, n);
}

/* What runs is dropped where it can be handed over again; the rest finishes. */
static void drop(struct gp__amd *amd, const u32 *ids, int *results, size_t n)
{
	bool chosen[GP__WIRE_SLOTS_MAX] = { false };

	for (size_t i = 0; i < n; i++)
		chosen[i] = gp__hsa_hold_to_drop(ids[i]);
	set_some(amd, GP__KFD_RESET, ids, chosen, results, n);
	for (size_t i = 0; i < n; i++) {
		bool dropped = chosen[i] && !results[i];

		if (dropped)
			gp__hsa_dropped(ids[i]);
		chosen[i] = !dropped;
	}
	drain(amd, ids, chosen, results, n);
	for (size_t i = 0; i < n; i++) {
		if (results[i])
			gp__hsa_hold(ids[i], false);
	}
}

/* The monitor is told before: waves that were saved are no longer seen, and work has not ended. */
static void stop(void *data, const u32 *ids, int *results, size_t n)
{
	bool all[GP__WIRE_SLOTS_MAX];
	struct gp__amd *amd = data;

	for (size_t i = 0; i < n; i++)
		hold(amd, ids[i], true);
	if (amd->wish.idempotent) {
		drop(amd, ids, results, n);
	} else if (amd->wish.level == 2) {
		memset(all, true, n * sizeof(all[0]));
		drain(amd, ids, all, results, n);
	} else {
		set(amd, GP__KFD_SAVE, ids, results, n);
	}
	for (size_t i = 0; i < n; i++) {
		if (results[i])
			hold(amd, ids[i], false);
	}
}

static void start(void *data, const u32 *ids, int *results, size_t n)
{
	struct gp__amd *amd = data;

	set(amd, GP__KFD_START, ids, results, n);
	for (size_t i = 0; i < n; i++) {
		if (results[i])
			continue;
		if (amd->wish.idempotent)
			gp__hsa_hold(ids[i], false);
		hold(amd, ids[i], false);
	}
}

static void is_alone(void *data, bool alone)
{
	struct gp__amd *amd = data;

	gp__hsa_narrow(!alone);
	gp__kfd_monitor_calm(amd->monitor, alone);
}

/*
 * Work
 */

static void became_ready(void *data, void *cookie, uint64_t pending, uint64_t now)
{
	struct gp__amd *amd = data;

	gp__agent_work(amd->agent, id_of(cookie), true,
		       pending > UINT32_MAX ? UINT32_MAX : (u32)pending, now);
}

/* What is launched from now on is told: what was before may wait in a window that was just shut. */
static bool became_idle(void *data, void *cookie, uint64_t now)
{
	struct gp__amd *amd = data;

	gp__hsa_rest(id_of(cookie));
	if (gp__hsa_waits(id_of(cookie)))
		return false;
	gp__agent_work(amd->agent, id_of(cookie), false, 0, now);
	return true;
}

static bool has_windows(const struct gp__amd *amd)
{
	return amd->wish.level == 1 || amd->wish.idempotent;
}

static bool advance_windows(void *data, uint64_t now)
{
	(void)data;
	return gp__hsa_advance(now);
}

static int make_monitor(struct gp__amd *amd)
{
	bool windows = has_windows(amd);
	const struct gp__kfd_monitor_options options = { .prepare =
								 windows ? advance_windows : NULL,
							 .ready = became_ready,
							 .idle = became_idle,
							 .data = amd };

	return gp__kfd_monitor_create(&options, &amd->monitor);
}

/* In a child there is none yet, and threads of it may make their first queues at the same time. */
static struct gp__kfd_monitor *get_monitor(struct gp__amd *amd)
{
	struct gp__kfd_monitor *monitor;

	pthread_mutex_lock(&amd->lock);
	if (!amd->monitor)
		make_monitor(amd);
	monitor = amd->monitor;
	pthread_mutex_unlock(&amd->lock);
	return monitor;
}

/*
 * Beginning
 */

static void agent_says(void *data, const char *text)
{
	struct gp__amd *amd = data;

	amd->say(text);
}

/* To a kernel that schedules the GPU's queues itself, how urgent this program's are. */
static int64_t priority_for_kernel(void *data, uint32_t gpu_id)
{
	struct gp__amd *amd = data;

	return gp__kfd_kernel_scheduler(gpu_id).enabled ? amd->wish.hints.prio : -1;
}

int gp__amd_create(struct gp__kfd_owner *owner, const struct gp__wish *wish,
		   void (*say_it)(const char *text), struct gp__amd **amd)
{
	struct gp__agent_options options = {
		.program = program_invocation_short_name,
		.say = agent_says,
		.ops = { .stop = stop, .start = start, .alone = is_alone }
	};
	struct gp__amd *a = calloc(1, sizeof(*a));
	char path[108];
	int err = a ? gp__wire_path(path, sizeof(path)) : -ENOMEM;

	if (!err) {
		a->owner = owner;
		a->wish = *wish;
		a->say = say_it;
		pthread_mutex_init(&a->lock, NULL);
		options.path = path;
		options.data = a;
		err = make_monitor(a);
	}
	if (!err)
		err = gp__agent_create(&options, &a->agent);
	if (err) {
		if (a && a->monitor)
			gp__kfd_monitor_destroy(a->monitor);
		free(a);
		return err;
	}
	gp__kfd_owner_prioritize(owner, priority_for_kernel, a);
	*amd = a;
	return 0;
}

/* The monitor's thread is not in the child; what it had is left behind. */
void gp__amd_forget(struct gp__amd *amd)
{
	pthread_mutex_init(&amd->lock, NULL);
	gp__agent_forget(amd->agent);
	gp__hsa_forget();
	amd->monitor = NULL;
}

int gp__amd_arriving(struct gp__amd *amd, uint64_t at)
{
	return gp__agent_arriving(amd->agent, at);
}

/*
 * Queues
 */

/* What the GPU is called; false: it is not to be found. */
static bool find_node(struct gp__amd *amd, uint32_t gpu_id, struct gp__kfd_node *node)
{
	bool found = false;

	pthread_mutex_lock(&amd->lock);
	if (!amd->nr_nodes)
		amd->nr_nodes = gp__kfd_nodes(amd->node);
	for (int i = 0; i < amd->nr_nodes && !found; i++) {
		found = amd->node[i].gpu_id == gpu_id;
		*node = amd->node[i];
	}
	pthread_mutex_unlock(&amd->lock);
	return found;
}

static void name_device(struct gp__amd *amd, uint32_t gpu_id, struct gp__agent_queue *q)
{
	struct gp__kfd_node node;

	if (!find_node(amd, gpu_id, &node)) {
		snprintf(q->device, sizeof(q->device), "amd-%u", gpu_id);
		return;
	}
	if (node.unique_id)
		snprintf(q->device, sizeof(q->device), "amd-%016llx",
			 (unsigned long long)node.unique_id);
	else
		snprintf(q->device, sizeof(q->device), "amd-%u", gpu_id);
	snprintf(q->device_name, sizeof(q->device_name), "%s", node.name);
}

/* The level at which this program's queues are stopped; 0: not at the one it wants. */
static u32 effective_level(struct gp__amd *amd)
{
	u32 best = gp__kfd_cwsr_enable() == 0 ? 2 : 3; /* without it the driver drains */

	switch (amd->wish.level) {
	case 1:
		if (gp__hsa_is_loaded())
			return 1;
		say(amd, "level 1 is not to be had for this program, which does not launch through "
			 "the HSA runtime: it runs without a priority; leave --level out, or use "
			 "3");
		return 0;
	case 2:
		if (amd->wish.idempotent && !gp__hsa_is_loaded())
			say(amd,
			    "what runs of this program is not dropped but finishes, as it does "
			    "not launch through the HSA runtime");
		if (gp__kfd_owner_way(amd->owner, NULL) == GP__KFD_WAY_PREEMPT)
			return 2;
		if (best == 2) {
			if (amd->wish.idempotent)
				say(amd,
				    "what runs of this program is not dropped but finishes, as "
				    "that needs gpreempt's kernel series");
			return 2;
		}
		say(amd, "level 2 needs gpreempt's kernel series: this program runs without a "
			 "priority; leave --level out, or use 3");
		return 0;
	default:
		return best;
	}
}

static void add(struct gp__amd *amd, const struct gp__kfd_queue_info *queue)
{
	struct gp__agent_queue q = { .id = queue->id,
				     .level_requested = amd->wish.level ? amd->wish.level : 3,
				     .hints = amd->wish.hints };

	if (gp__kfd_kernel_scheduler(queue->gpu_id).enabled) {
		say(amd, "the kernel schedules the queues of this GPU itself: this program's are "
			 "left to it, with the priority that was asked for");
		return;
	}
	q.level = effective_level(amd);
	if (!q.level)
		return;
	if (!get_monitor(amd))
		return;
	name_device(amd, queue->gpu_id, &q);
	memcpy(q.tag, amd->wish.tag, sizeof(q.tag));
	/* The agent may be told to hold it at once, which the monitor must know. */
	if (gp__kfd_monitor_add(amd->monitor, queue, cookie_of(queue->id)) ||
	    gp__agent_add(amd->agent, &q))
		say(amd, "there is no memory left to schedule this program's queues: they run "
			 "without a priority");
}

/* At level 1, those that have a window are added when they get it; the runtime's own have none. */
void gp__amd_added(struct gp__amd *amd, const struct gp__kfd_queue_info *queue)
{
	if (!gp__kfd_is_compute(queue->type) || (amd->wish.level == 1 && gp__hsa_is_loaded()))
		return;
	add(amd, queue);
}

void gp__amd_removed(struct gp__amd *amd, const struct gp__kfd_queue_info *queue)
{
	gp__hsa_removed(queue->id);
	if (amd->monitor)
		gp__kfd_monitor_remove(amd->monitor, cookie_of(queue->id));
	gp__agent_remove(amd->agent, queue->id);
}

void gp__amd_lost(struct gp__amd *amd, const struct gp__kfd_queue_info *queue)
{
	gp__agent_lost(amd->agent, queue->id);
}

/*
 * The HSA runtime
 */

static bool find_queue(void *data, const void *write_index, uint32_t *id)
{
	struct gp__amd *amd = data;
	struct gp__kfd_queue_info queue;

	if (!gp__kfd_owner_find(amd->owner, write_index, &queue))
		return false;
	*id = queue.id;
	return true;
}

static void sees_launches(void *data, uint32_t id, const void *write_index)
{
	struct gp__amd *amd = data;
	struct gp__kfd_queue_info queue;

	if (amd->wish.level == 1 && gp__kfd_owner_find(amd->owner, write_index, &queue))
		add(amd, &queue);
	if (!amd->monitor)
		return;
	gp__kfd_monitor_told(amd->monitor, cookie_of(id), true);
	gp__agent_sees(amd->agent, id, GP__WIRE_SEES_LAUNCH);
	if (amd->wish.idempotent && gp__kfd_owner_way(amd->owner, NULL) == GP__KFD_WAY_PREEMPT)
		gp__agent_note(amd->agent, id, GP__WIRE_NOTE_DROPS);
}

static void launched(void *data, uint32_t id)
{
	struct gp__amd *amd = data;

	if (amd->monitor)
		gp__kfd_monitor_rang(amd->monitor, cookie_of(id));
}

/* The program's own order among its queues, around the priority that it was given. */
static void prioritized(void *data, uint32_t id, enum gp__hsa_priority priority)
{
	struct gp__amd *amd = data;
	struct gp__wire_hints hints = amd->wish.hints;

	hints.prio += (s32)priority - GP__HSA_PRIORITY_NORMAL;
	gp__agent_hints(amd->agent, id, &hints);
}

static void has_foreign_work(void *data, uint32_t id)
{
	struct gp__amd *amd = data;

	gp__agent_note(amd->agent, id, GP__WIRE_NOTE_FOREIGN);
	say(amd,
	    "somebody else than this program, a kernel on the GPU perhaps, puts work into one of "
	    "its queues: that work is not held; leave --level out, or use 3, to hold all");
}

void gp__amd_load_hsa(struct gp__amd *amd, struct gp__hsa_table *table)
{
	const struct gp__hsa_host host = { .find = find_queue,
					   .added = sees_launches,
					   .arrived = launched,
					   .prioritized = prioritized,
					   .foreign = has_foreign_work,
					   .data = amd,
					   .windows = has_windows(amd),
					   .keeps = amd->wish.idempotent,
					   .width = amd->wish.window,
					   .budget_ns = amd->wish.window_ns };
	char text[256];
	const char *why;

	if (gp__hsa_load(table, &host, &why))
		return;
	snprintf(text, sizeof(text),
		 "launches through the HSA runtime are not seen, as %s: work is seen later", why);
	say(amd, text);
}
