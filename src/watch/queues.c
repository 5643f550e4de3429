// SPDX-License-Identifier: MIT
/*
 * Finds the program's queues in sysfs, has the driver tell their rings' addresses, and watches
 * them. The addresses are only told to a debugger: where the program is held without one, there is
 * one for a moment.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "device/kfd/monitor.h"
#include "device/kfd/remote.h"
#include "watch/watch.h"

static void *cookie_of(u32 id)
{
	return (void *)((uintptr_t)id + 1);
}

static u32 id_of(void *cookie)
{
	return (u32)((uintptr_t)cookie - 1);
}

/*
 * The monitor
 */

static void became_ready(void *data, void *cookie, uint64_t pending, uint64_t now)
{
	struct watch *w = data;

	gp__port_work(w->port, id_of(cookie), true,
		      pending > UINT32_MAX ? UINT32_MAX : (u32)pending, now);
}

static bool became_idle(void *data, void *cookie, uint64_t now)
{
	struct watch *w = data;

	gp__port_work(w->port, id_of(cookie), false, 0, now);
	return true;
}

static void read_words(void *data, struct gp__word *word, size_t n)
{
	const struct watch *w = data;

	for (size_t i = 0; i < n; i++) {
		word[i].there = pread(w->mem, &word[i].value, sizeof(word[i].value),
				      (off_t)word[i].at) == (ssize_t)sizeof(word[i].value);
		/* The next word must not be older than this one. */
		atomic_thread_fence(memory_order_acquire);
	}
}

static void *create_monitor(void *state)
{
	struct watch *w = state;
	const struct gp__kfd_monitor_options options = { .ready = became_ready,
							 .idle = became_idle,
							 .data = w,
							 .pid = w->pid,
							 .read = read_words };
	struct gp__kfd_monitor *monitor;

	return gp__kfd_monitor_create(&options, &monitor) ? NULL : monitor;
}

static int add_to_monitor(void *state, void *monitor, const void *queue)
{
	const struct gp__kfd_queue_info *q = queue;

	(void)state;
	return gp__kfd_monitor_add(monitor, q, cookie_of(q->id));
}

static void hold_in_monitor(void *monitor, u32 id, bool held)
{
	gp__kfd_monitor_hold(monitor, cookie_of(id), held);
}

static void calm_monitor(void *monitor, bool calm)
{
	gp__kfd_monitor_calm(monitor, calm);
}

int watch_open_queues(struct watch *w)
{
	static const struct gp__watch_ops ops = { create_monitor, add_to_monitor, hold_in_monitor,
						  calm_monitor };
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)w->pid);
	w->mem = open(path, O_RDONLY | O_CLOEXEC);
	if (w->mem < 0)
		return -errno;
	w->nr_nodes = gp__kfd_nodes(w->node);
	gp__watch_init(&w->queues, &ops, w, w->port);
	return 0;
}

void watch_end_reports(struct watch *w)
{
	for (size_t i = 0; i < w->nr; i++) {
		if (w->queue[i].is_scheduled)
			gp__kfd_monitor_remove(gp__watch_monitor(&w->queues),
					       cookie_of(w->queue[i].id));
	}
}

void watch_close_queues(struct watch *w)
{
	if (w->port && gp__watch_monitor(&w->queues))
		gp__kfd_monitor_destroy(gp__watch_monitor(&w->queues));
	if (w->mem >= 0)
		close(w->mem);
	w->mem = -1;
}

/*
 * Queues
 */

static struct watch_queue *find(struct watch *w, uint32_t id)
{
	for (size_t i = 0; i < w->nr; i++) {
		if (w->queue[i].id == id)
			return &w->queue[i];
	}
	return NULL;
}

static void remove_queue(struct watch *w, struct watch_queue *q)
{
	if (q->is_scheduled) {
		gp__kfd_monitor_remove(gp__watch_monitor(&w->queues), cookie_of(q->id));
		gp__port_remove(w->port, q->id);
	}
	*q = w->queue[--w->nr];
}

static void describe(const struct watch *w, const struct gp_kfd_queue_snapshot *s,
		     struct gp__queue_desc *d)
{
	struct gp__kfd_node node = { .gpu_id = s->gpu_id };

	for (int i = 0; i < w->nr_nodes; i++) {
		if (w->node[i].gpu_id == s->gpu_id)
			node = w->node[i];
	}
	*d = (struct gp__queue_desc){ .id = s->queue_id,
				      .level = w->level,
				      .device_memory = node.vram_bytes };
	gp__kfd_node_key(&node, d->device, sizeof(d->device));
	gp__wire_text(d->device_name, sizeof(d->device_name), node.name);
}

/* 0 or -errno. */
static int add_queue(struct watch *w, const struct gp_kfd_queue_snapshot *s, uint64_t identity)
{
	const struct gp__kfd_queue_info info = {
		.id = s->queue_id,
		.gpu_id = s->gpu_id,
		.type = s->queue_type,
		.ring = s->ring_base_address,
		.ring_bytes = s->ring_size,
		.read_index = s->read_pointer_address,
		.write_index = s->write_pointer_address,
	};
	struct gp__queue_desc desc;
	bool is_ours =
		gp__kfd_is_compute(s->queue_type) && !gp__kfd_kernel_scheduler(s->gpu_id).enabled;
	int err;

	if (w->nr == GP__KFD_QUEUES_MAX)
		return -ENOSPC;
	describe(w, s, &desc);
	err = is_ours ? gp__watch_add(&w->queues, &desc, &info) : 0;
	if (!err)
		w->queue[w->nr++] = (struct watch_queue){ s->queue_id, identity, is_ours, true };
	return err;
}

/* How many entries, or -errno with the reason in @why. */
static int take_snapshot(struct watch *w, struct gp_kfd_queue_snapshot *entry,
			 char why[GP__WIRE_TEXT_MAX])
{
	struct gp__kfd_control moment = { .way = GP__KFD_WAY_DBGTRAP,
					  .pid = w->pid,
					  .events = -1,
					  .runtime = GP__KFD_RUNTIME_UNKNOWN };
	char reason[GP__KFD_EXPLAIN_MAX], text[GP__WIRE_TEXT_MAX + GP__KFD_EXPLAIN_MAX];
	int nr;

	if (w->control.way == GP__KFD_WAY_DBGTRAP) {
		pthread_mutex_lock(&w->lock);
		nr = gp__kfd_debug_snapshot(&w->control, entry, GP__KFD_QUEUES_MAX);
		pthread_mutex_unlock(&w->lock);
	} else {
		nr = gp__kfd_debug_open(&moment, w->kfd, w->pid);
		if (!nr) {
			nr = gp__kfd_debug_snapshot(&moment, entry, GP__KFD_QUEUES_MAX);
			gp__kfd_control_close(&moment);
		}
	}
	if (nr < 0) {
		gp__kfd_explain(&moment, GP__KFD_SAVE, nr, reason, sizeof(reason));
		snprintf(text, sizeof(text), "the driver does not tell where its rings are: %s",
			 reason);
		gp__wire_text(why, GP__WIRE_TEXT_MAX, text);
	}
	return nr;
}

static int add_new(struct watch *w, char why[GP__WIRE_TEXT_MAX])
{
	struct gp_kfd_queue_snapshot *entry = calloc(GP__KFD_QUEUES_MAX, sizeof(*entry));
	int nr = entry ? take_snapshot(w, entry, why) : -ENOMEM, err = 0;
	uint64_t identity;

	for (int i = 0; i < nr && !err; i++) {
		/* Between the snapshot and this, another one may have got the id: its addresses
		 * are found next time. */
		if (!find(w, entry[i].queue_id) &&
		    gp__kfd_remote_identify(w->pid, entry[i].queue_id, &identity))
			err = add_queue(w, &entry[i], identity);
	}
	free(entry);
	if (nr < 0 || !err)
		return nr < 0 ? nr : 0;
	snprintf(why, GP__WIRE_TEXT_MAX, "a queue of it cannot be watched: %s", strerror(-err));
	return err;
}

/* Marks the queues that the driver still has. False: there is one that is not known. */
static bool mark(struct watch *w)
{
	bool all = true;
	char path[64];
	const struct dirent *entry;
	uint64_t id, identity;
	DIR *folder;

	for (size_t i = 0; i < w->nr; i++)
		w->queue[i].is_seen = false;
	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d/queues", (int)w->pid);
	folder = opendir(path);
	/* cppcheck-suppress readdirCalled; the stream is this call's own */
	while (folder && (entry = readdir(folder))) {
		struct watch_queue *q;

		if (gp__parse_u64(entry->d_name, 0, UINT32_MAX, &id) ||
		    !gp__kfd_remote_identify(w->pid, (uint32_t)id, &identity))
			continue;
		q = find(w, (uint32_t)id);
		if (q && q->identity == identity)
			q->is_seen = true;
		else
			all = false;
	}
	if (folder)
		closedir(folder);
	return all;
}

static void look_at_memory(struct watch *w)
{
	uint64_t all = 0, bytes;

	for (int i = 0; i < w->nr_nodes; i++) {
		if (gp__kfd_memory_used(w->pid, w->node[i].gpu_id, &bytes))
			all += bytes;
	}
	if (all != w->memory)
		gp__port_memory(w->port);
	w->memory = all;
}

int watch_look(struct watch *w, char why[GP__WIRE_TEXT_MAX])
{
	bool all = mark(w);
	int err;

	for (size_t i = w->nr; i--;) {
		if (!w->queue[i].is_seen)
			remove_queue(w, &w->queue[i]);
	}
	err = all ? 0 : add_new(w, why);
	w->had_queues |= w->nr != 0;
	if (!err)
		look_at_memory(w);
	return err;
}
