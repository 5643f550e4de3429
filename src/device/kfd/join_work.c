// SPDX-License-Identifier: MIT
/* Reports the work of a program's queues: what the monitor finds in the rings, and launches that a
 * library in the program sees. */
#include "base/clock.h"
#include "device/kfd/join.h"

/*
 * Work
 */

static void report_work(void *data, uint32_t id, bool has_work, uint64_t pending, uint64_t now)
{
	struct gp__kfd_join *j = data;

	gp__port_work(j->port, id, has_work, pending > UINT32_MAX ? UINT32_MAX : (u32)pending, now);
}

static bool has_arrived(void *data, void *cookie)
{
	struct gp__kfd_join *j = data;

	return gp__kfd_work_take(&j->work, gp__kfd_cookie_id(cookie));
}

static void became_ready(void *data, void *cookie, uint64_t pending, uint64_t now)
{
	struct gp__kfd_join *j = data;

	gp__kfd_work_ready(&j->work, gp__kfd_cookie_id(cookie), pending, now);
}

/*
 * Launches are reported again once the queue rests. One that comes after that is counted; one from
 * before may wait in a window that was just closed, or is found by the monitor's next look.
 */
static bool became_idle(void *data, void *cookie, uint64_t now)
{
	struct gp__kfd_join *j = data;
	const struct gp__kfd_launches *l = atomic_load(&j->launches);
	uint64_t count = gp__kfd_work_count(&j->work, gp__kfd_cookie_id(cookie));

	if (l) {
		l->rest(gp__kfd_cookie_id(cookie));
		if (l->waits(gp__kfd_cookie_id(cookie)))
			return false;
	}
	return gp__kfd_work_idle(&j->work, gp__kfd_cookie_id(cookie), count, now);
}

static bool advance_windows(void *data, uint64_t now)
{
	struct gp__kfd_join *j = data;
	const struct gp__kfd_launches *l = atomic_load(&j->launches);

	return l && l->advance(now);
}

/*
 * The monitor
 */

static void *create_monitor(void *state)
{
	struct gp__kfd_join *j = state;
	const struct gp__kfd_monitor_options options = {
		.prepare = gp__kfd_join_has_windows(j) ? advance_windows : NULL,
		.arrived = has_arrived,
		.ready = became_ready,
		.idle = became_idle,
		.data = j,
	};
	struct gp__kfd_monitor *monitor;

	return gp__kfd_monitor_create(&options, &monitor) ? NULL : monitor;
}

static int add_to_monitor(void *state, void *monitor, const void *queue)
{
	const struct gp__kfd_queue_info *q = queue;
	struct gp__kfd_join *j = state;

	gp__kfd_work_add(&j->work, q->id);
	return gp__kfd_monitor_add(monitor, q, gp__kfd_cookie(q->id));
}

static void hold_in_monitor(void *monitor, u32 id, bool held)
{
	gp__kfd_monitor_hold(monitor, gp__kfd_cookie(id), held);
}

static void calm_monitor(void *monitor, bool calm)
{
	gp__kfd_monitor_calm(monitor, calm);
}

void gp__kfd_join_init_work(struct gp__kfd_join *j)
{
	static const struct gp__watch_ops ops = { create_monitor, add_to_monitor, hold_in_monitor,
						  calm_monitor };

	gp__kfd_work_init(&j->work, report_work, j);
	gp__watch_init(&j->watch, &ops, j, j->port);
}

/*
 * Launches that are seen
 */

struct gp__port *gp__kfd_join_port(struct gp__kfd_join *j)
{
	return j->port;
}

struct gp__kfd_launch_options gp__kfd_join_launch_options(const struct gp__kfd_join *join)
{
	struct gp__kfd_join *j = (struct gp__kfd_join *)join;
	const struct gp__request *r = j->port->request;

	return (struct gp__kfd_launch_options){ .windows = gp__kfd_join_has_windows(j),
						.keeps = gp__kfd_join_can_drop(j),
						.width = r->window,
						.budget_ns = r->window_ns };
}

void gp__kfd_join_launches(struct gp__kfd_join *j, const struct gp__kfd_launches *launches)
{
	/* With the lock: gp__kfd_join_set_alone() may be called at the same time. */
	pthread_mutex_lock(&j->lock);
	launches->narrow(j->narrow);
	atomic_store(&j->launches, launches);
	pthread_mutex_unlock(&j->lock);
}

bool gp__kfd_join_find(struct gp__kfd_join *j, const void *write_index, uint32_t *id)
{
	struct gp__kfd_queue_info queue;

	if (!gp__kfd_owner_find(j->owner, write_index, &queue))
		return false;
	*id = queue.id;
	return true;
}

void gp__kfd_join_sees(struct gp__kfd_join *j, uint32_t id, const void *write_index)
{
	struct gp__kfd_queue_info queue;

	if (gp__kfd_join_waits_for_window(j) && gp__kfd_owner_find(j->owner, write_index, &queue))
		gp__kfd_join_add(j, &queue);
	if (!gp__watch_monitor(&j->watch))
		return;
	gp__kfd_monitor_told(gp__watch_monitor(&j->watch), gp__kfd_cookie(id), true);
	gp__port_sees(j->port, id, GP__WIRE_SEES_LAUNCH);
	if (gp__kfd_join_can_drop(j))
		gp__port_note(j->port, id, GP__WIRE_NOTE_DROPS);
}

void gp__kfd_join_launched(struct gp__kfd_join *j, uint32_t id)
{
	struct gp__kfd_monitor *monitor = gp__watch_monitor(&j->watch);

	if (!monitor)
		return;
	gp__kfd_work_arrived(&j->work, id, gp__clock_ns());
	gp__kfd_monitor_kick(monitor);
}

void gp__kfd_join_foreign(struct gp__kfd_join *j, uint32_t id)
{
	gp__port_note(j->port, id, GP__WIRE_NOTE_FOREIGN);
	gp__port_say(j->port, "another process or a kernel on the GPU puts work into a queue of "
			      "this program, which level 1 cannot hold; use --level 3");
}
