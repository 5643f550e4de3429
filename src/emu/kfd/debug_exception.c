// SPDX-License-Identifier: MIT
/*
 * Exceptions of a debugged process: of its queues, of a device, of the process. They stay raised
 * until they are cleared; the debugger's mask selects which are reported.
 */
#include "emu/kfd/debug_ops.h"

#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "emu/kfd/call.h"
#include "emu/kfd/node.h"
#include "emu/kfd/queue.h"

/*
 * Writes a byte for the debugger without blocking: if there is no room, it has enough unread bytes.
 * Sockets and files with RWF_NOWAIT never block; any other descriptor is written only if it is
 * ours, which does not block. With the lock, so that the descriptor stays open.
 */
static void notify(struct emu_debug *d)
{
	const struct iovec byte = { (void *)".", 1 };

	if (d->event_fd < 0 || send(d->event_fd, ".", 1, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 ||
	    errno != ENOTSOCK)
		return;
	if (pwritev2(d->event_fd, &byte, 1, -1, RWF_NOWAIT) >= 0 || errno != EOPNOTSUPP)
		return;
	if (d->event_is_ours && write(d->event_fd, ".", 1) < 0)
		return; /* lost, as with the driver */
}

/* The lock is held. */
static bool tell(struct emu_debug *d, uint64_t mask)
{
	if (!(d->wanted & mask))
		return false;
	notify(d);
	return true;
}

bool emu_debug_raise_queue(struct emu_queue *q, uint64_t mask)
{
	struct emu_debug *d = &q->process->debug;
	bool told = false;

	pthread_mutex_lock(&d->lock);
	if (d->enabled) {
		q->exceptions |= mask;
		told = tell(d, mask);
	}
	pthread_mutex_unlock(&d->lock);
	return told;
}

bool emu_debug_raise_node(struct emu_process *p, uint32_t node, uint64_t mask,
			  const struct gp_kfd_memory_exception *fault)
{
	struct emu_debug *d = &p->debug;
	struct emu_debug_node *dn = &d->node[node];
	bool told = false;

	pthread_mutex_lock(&d->lock);
	if (d->enabled) {
		dn->exceptions |= mask;
		if (fault && !dn->faulted) {
			dn->fault = *fault;
			dn->faulted = true;
		}
		told = tell(d, mask);
	}
	pthread_mutex_unlock(&d->lock);
	return told;
}

void emu_debug_raise_process(struct emu_process *p, uint64_t mask)
{
	struct emu_debug *d = &p->debug;

	pthread_mutex_lock(&d->lock);
	if (d->enabled) {
		d->exceptions |= mask;
		tell(d, mask);
	}
	pthread_mutex_unlock(&d->lock);
}

/*
 * Notifies the runtime: the reasons are added to a word that the header of the queue's save area
 * points to, and an event is set. All of it is the program's memory; where it is not valid, the
 * notification is dropped.
 */
void emu_debug_tell_runtime(struct emu_queue *q, uint64_t mask)
{
	struct gp_kfd_save_area_header header;
	_Atomic uint64_t *payload;
	uint64_t bad;

	if (!q->save_area || !emu_memory_read(q->process, q->node->index, q->save_area, &header,
					      sizeof(header), &bad))
		return;
	emu_node_enter(q->node);
	payload = emu_queue_word(q, header.err_payload_addr, true);
	if (payload)
		atomic_fetch_or(payload, mask);
	emu_node_leave(q->node);
	emu_event_signal(q->process, header.err_event_id);
}

bool emu_debug_report(struct emu_queue *q, uint64_t mask)
{
	struct emu_debug *d = &q->process->debug;
	bool has_runtime;

	if (emu_debug_raise_queue(q, mask))
		return true;
	pthread_mutex_lock(&d->lock);
	has_runtime = d->runtime.runtime_state == GP_KFD_RUNTIME_ENABLED;
	pthread_mutex_unlock(&d->lock);
	if (!has_runtime || !(mask & GP_KFD_EC_QUEUE_MASK))
		return false;
	emu_debug_tell_runtime(q, mask);
	return true;
}

/*
 * Operations; the process's lock is held.
 */

uint64_t emu_debug_clear_queue(struct emu_queue *q, uint64_t mask)
{
	struct emu_debug *d = &q->process->debug;
	uint64_t was;

	pthread_mutex_lock(&d->lock);
	was = q->exceptions;
	q->exceptions &= ~mask;
	pthread_mutex_unlock(&d->lock);
	return was;
}

uint64_t emu_debug_clear_node(struct emu_process *p, uint32_t node, uint64_t mask)
{
	struct emu_debug *d = &p->debug;
	uint64_t was;

	pthread_mutex_lock(&d->lock);
	was = d->node[node].exceptions;
	d->node[node].exceptions &= ~mask;
	pthread_mutex_unlock(&d->lock);
	return was;
}

/* Clears all exceptions of a process that is no longer debugged. */
void emu_debug_clear_all(struct emu_process *p)
{
	struct emu_debug *d = &p->debug;

	for (uint32_t i = 0; i < EMU_QUEUES_MAX; i++) {
		if (p->queue[i])
			emu_debug_clear_queue(p->queue[i], ~0ULL);
	}
	pthread_mutex_lock(&d->lock);
	for (uint32_t i = 0; i < EMU_GPUS_MAX; i++)
		d->node[i] = (struct emu_debug_node){ 0 };
	d->exceptions = 0;
	pthread_mutex_unlock(&d->lock);
}

void emu_debug_set_wanted(struct emu_process *p, uint64_t wanted)
{
	struct emu_debug *d = &p->debug;
	uint64_t found;

	pthread_mutex_lock(&d->lock);
	found = d->exceptions;
	for (uint32_t i = 0; i < EMU_GPUS_MAX; i++)
		found |= d->node[i].exceptions;
	for (uint32_t i = 0; i < EMU_QUEUES_MAX; i++)
		found |= p->queue[i] ? p->queue[i]->exceptions : 0;
	if (found & wanted)
		notify(d);
	d->wanted = wanted;
	pthread_mutex_unlock(&d->lock);
}

/*
 * Finds an exception that the debugger wants: the newest queue first, then devices, then the
 * process. The lock is held. NULL: none.
 */
static uint64_t *find_wanted(struct emu_process *p, struct gp_kfd_dbg_query_debug_event *args)
{
	struct emu_debug *d = &p->debug;

	for (uint32_t i = EMU_QUEUES_MAX; i--;) {
		struct emu_queue *q = p->queue[i];

		if (!q || !(q->exceptions & d->wanted))
			continue;
		args->queue_id = q->id;
		args->gpu_id = q->node->gpu_id;
		return &q->exceptions;
	}
	for (uint32_t i = 0; i < p->m->config.nr_gpus; i++) {
		if (!(d->node[i].exceptions & d->wanted))
			continue;
		args->gpu_id = p->m->node[i]->gpu_id;
		return &d->node[i].exceptions;
	}
	return d->exceptions & d->wanted ? &d->exceptions : NULL;
}

int emu_debug_query_event(struct emu_process *p, struct gp_kfd_dbg_query_debug_event *args)
{
	uint64_t clear = args->exception_mask, *found;

	*args = (struct gp_kfd_dbg_query_debug_event){ 0 };
	pthread_mutex_lock(&p->debug.lock);
	found = find_wanted(p, args);
	if (found) {
		args->exception_mask = *found;
		*found &= ~clear;
	}
	pthread_mutex_unlock(&p->debug.lock);
	return found ? 0 : -EAGAIN;
}

/* The mask that holds exceptions of this code; NULL: its source does not exist. */
static uint64_t *find_source(struct emu_process *p, uint64_t mask, uint32_t source)
{
	struct emu_debug *d = &p->debug;
	struct emu_queue *q;
	uint32_t node;

	if (mask & GP_KFD_EC_PROCESS_MASK)
		return &d->exceptions;
	if (mask & GP_KFD_EC_DEVICE_MASK)
		return emu_process_node(p, source, &node) ? &d->node[node].exceptions : NULL;
	q = mask & GP_KFD_EC_QUEUE_MASK ? emu_queue_find(p, source) : NULL;
	return q ? &q->exceptions : NULL;
}

/* Two of the codes have further information. */
static uint32_t get_info(struct emu_process *p, const struct gp_kfd_dbg_query_exception_info *args,
			 union emu_exception_info *info)
{
	uint32_t node;

	if (args->exception_code == GP_KFD_EC_PROCESS_RUNTIME) {
		info->runtime = p->debug.runtime;
		return sizeof(info->runtime);
	}
	if (args->exception_code == GP_KFD_EC_DEVICE_MEMORY_VIOLATION &&
	    emu_process_node(p, args->source_id, &node)) {
		info->fault = p->debug.node[node].fault;
		return sizeof(info->fault);
	}
	return 0;
}

static uint64_t code_mask(uint32_t code)
{
	return code && code < GP_KFD_EC_MAX ? GP_KFD_EC_MASK(code) : 0;
}

int emu_debug_query_info(struct emu_process *p, const struct gp_kfd_dbg_query_exception_info *args,
			 union emu_exception_info *info, uint32_t *size)
{
	uint64_t mask = code_mask(args->exception_code), *where;
	int err = 0;

	pthread_mutex_lock(&p->debug.lock);
	where = find_source(p, mask, args->source_id);
	if (!where)
		err = -EINVAL;
	else if (!(*where & mask))
		err = -ENODATA;
	else
		*size = get_info(p, args, info);
	pthread_mutex_unlock(&p->debug.lock);
	return err;
}

void emu_debug_clear_exception(struct emu_process *p,
			       const struct gp_kfd_dbg_query_exception_info *args)
{
	uint64_t mask = code_mask(args->exception_code), *where;
	uint32_t node;

	pthread_mutex_lock(&p->debug.lock);
	where = find_source(p, mask, args->source_id);
	if (where)
		*where &= ~mask;
	if (args->exception_code == GP_KFD_EC_DEVICE_MEMORY_VIOLATION &&
	    emu_process_node(p, args->source_id, &node))
		p->debug.node[node].faulted = false;
	pthread_mutex_unlock(&p->debug.lock);
}
