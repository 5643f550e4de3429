// SPDX-License-Identifier: MIT
/*
 * Events.
 *
 * A single lock protects all events of a process. It is held only to walk a list, never while a
 * client is asked for something. A wait is a list of waiters, one for each event, and an eventfd
 * that is written when one of them changes.
 */
#include "emu/kfd/event.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "emu/kfd/call.h"
#include "emu/kfd/memfd.h"
#include "emu/kfd/process.h"
#include "emu/protocol.h"
#include "gpreempt/uapi/gpreempt_kfd.h"

#define PAGE_BYTES (8 * GP_KFD_SIGNAL_EVENT_LIMIT)
#define UNSIGNALED UINT64_MAX
/* Slots that the oldest programs expect before they map more. */
#define FIRST_SLOTS 256
#define OTHERS_MAX 65536
#define MMAP_EVENTS (2ULL << 62)
#define TIMEOUT_INFINITE UINT32_MAX
/* A larger array would not be allocated by a kernel either. */
#define WAIT_EVENTS_MAX 65536
#define RESET_CAUSE_HANG 0

struct emu_waiter {
	struct emu_waiter *next, **link; /* of its event's; link NULL: it is on no list */
	struct emu_event *event; /* NULL: destroyed */
	int wake_fd;
	bool activated, wants_age;
};

struct emu_event {
	uint32_t id, type;
	bool auto_reset, signaled;
	uint64_t age;
	uint64_t set_at; /* the process's nr_sets after its last set; 0: never set */
	struct emu_waiter *waiters;
	struct gp_kfd_memory_exception memory;
	struct gp_kfd_hw_exception hw;
};

int emu_events_init(struct emu_process *p)
{
	struct emu_events *e = &p->events;
	/* Id 0 is not used: an interrupt without an event has it. */
	static char reserved;

	e->page_fd = -1;
	if (emu_table_add(&e->signal, &reserved, 1) < 0)
		return -ENOMEM;
	e->nr_signals = 1;
	e->nr_sets = 1;
	pthread_mutex_init(&e->lock, NULL);
	return 0;
}

void emu_events_destroy(struct emu_process *p)
{
	struct emu_events *e = &p->events;

	for (uint32_t id = 1; id < e->signal.room; id++)
		free(e->signal.entry[id]);
	for (uint32_t id = 0; id < e->other.room; id++)
		free(e->other.entry[id]);
	emu_table_destroy(&e->signal);
	emu_table_destroy(&e->other);
	if (e->page_fd >= 0) {
		munmap((void *)e->slot, PAGE_BYTES);
		close(e->page_fd);
	}
	pthread_mutex_destroy(&e->lock);
}

static bool is_signal(uint32_t type)
{
	return type == GP_KFD_EVENT_SIGNAL || type == GP_KFD_EVENT_DEBUG_EVENT;
}

static struct emu_event *find(struct emu_events *e, uint32_t id)
{
	if (id >= EMU_EVENT_OTHER)
		return emu_table_find(&e->other, id - EMU_EVENT_OTHER);
	return id ? emu_table_find(&e->signal, id) : NULL;
}

/*
 * The event page
 */

static void use_page(struct emu_events *e, void *host, uint64_t bytes)
{
	memset(host, 0xff, PAGE_BYTES);
	e->slot = host;
	e->slot_bytes = bytes;
}

static int make_page(struct emu_events *e)
{
	int fd = emu_memfd("events", PAGE_BYTES);
	void *host;

	if (fd < 0)
		return -ENOMEM;
	host = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (host == MAP_FAILED) {
		close(fd);
		return -ENOMEM;
	}
	e->page_fd = fd;
	use_page(e, host, 8 * FIRST_SLOTS);
	return 0;
}

/* The program provides a buffer for it, which it can no longer free. Both locks are held. */
static int adopt_page(struct emu_process *p, uint64_t handle)
{
	struct emu_events *e = &p->events;
	uint64_t size = PAGE_BYTES;
	uint32_t node;
	void *host;
	int err;

	if (e->slot)
		return -EINVAL;
	err = emu_process_bind(p, (uint32_t)(handle >> 32), &node);
	if (!err)
		err = emu_memory_hold(p, handle, &host, &size);
	if (err)
		return err;
	use_page(e, host, size);
	e->page_handle = handle;
	return 0;
}

int emu_events_mmap(struct emu_process *p, const struct emu_message *msg, int *fd)
{
	struct emu_events *e = &p->events;
	int err = 0;

	if (msg->length > PAGE_BYTES)
		return -EINVAL;
	pthread_mutex_lock(&e->lock);
	/* A buffer of the program is mapped as such. */
	if (e->page_fd < 0) {
		err = -EINVAL;
	} else {
		*fd = e->page_fd;
		e->slot_bytes = msg->length;
	}
	pthread_mutex_unlock(&e->lock);
	return err;
}

/*
 * Creation and destruction
 */

static int add_signal(struct emu_events *e, struct emu_event *ev)
{
	int64_t id;
	int err;

	/*
	 * Only if the numbers are equal: with fewer mapped slots than events, a free slot is
	 * searched for below.
	 */
	if (e->slot_bytes && e->nr_signals == e->slot_bytes / 8)
		return -ENOSPC;
	err = e->slot ? 0 : make_page(e);
	if (err)
		return err;
	/* A buffer may be larger than the number of events. */
	id = emu_table_add(&e->signal, ev,
			   e->slot_bytes / 8 < GP_KFD_SIGNAL_EVENT_LIMIT
				   ? (uint32_t)(e->slot_bytes / 8)
				   : GP_KFD_SIGNAL_EVENT_LIMIT);
	if (id < 0)
		return (int)id;
	ev->id = (uint32_t)id;
	atomic_store(&e->slot[id], UNSIGNALED);
	e->nr_signals++;
	return 0;
}

static int add_other(struct emu_events *e, struct emu_event *ev)
{
	int64_t id = emu_table_add(&e->other, ev, OTHERS_MAX);

	if (id < 0)
		return (int)id;
	ev->id = (uint32_t)id + EMU_EVENT_OTHER;
	return 0;
}

static int create(struct emu_events *e, struct gp_kfd_create_event *args)
{
	struct emu_event *ev = calloc(1, sizeof(*ev));
	int err;

	if (!ev)
		return -ENOMEM;
	ev->type = args->event_type;
	ev->auto_reset = args->auto_reset;
	ev->age = 1;
	args->event_page_offset = 0;
	err = is_signal(ev->type) ? add_signal(e, ev) : add_other(e, ev);
	if (err) {
		free(ev);
		return err;
	}
	if (is_signal(ev->type)) {
		args->event_page_offset = MMAP_EVENTS;
		args->event_slot_index = ev->id;
	}
	args->event_id = ev->id;
	args->event_trigger_data = ev->id;
	return 0;
}

int emu_create_event(struct emu_call *call, struct gp_kfd_create_event *args)
{
	struct emu_process *p = call->process;
	struct emu_events *e = &p->events;
	int err = 0;

	pthread_mutex_lock(&p->lock);
	pthread_mutex_lock(&e->lock);
	if (args->event_page_offset)
		err = adopt_page(p, args->event_page_offset);
	pthread_mutex_unlock(&p->lock);
	if (!err)
		err = create(e, args);
	pthread_mutex_unlock(&e->lock);
	return err;
}

static void wake(const struct emu_waiter *w)
{
	uint64_t one = 1;

	/* It cannot be full: each wait reads it. */
	if (write(w->wake_fd, &one, sizeof(one)) < 0)
		return;
}

static void leave(struct emu_waiter *w)
{
	if (!w->link)
		return;
	*w->link = w->next;
	if (w->next)
		w->next->link = w->link;
	w->link = NULL;
}

int emu_destroy_event(struct emu_call *call, struct gp_kfd_event *args)
{
	struct emu_events *e = &call->process->events;
	struct emu_event *ev;

	pthread_mutex_lock(&e->lock);
	ev = find(e, args->event_id);
	if (ev) {
		for (struct emu_waiter *w; (w = ev->waiters);) {
			leave(w);
			w->event = NULL;
			wake(w);
		}
		if (is_signal(ev->type)) {
			e->nr_signals--;
			emu_table_remove(&e->signal, ev->id);
		} else {
			emu_table_remove(&e->other, ev->id - EMU_EVENT_OTHER);
		}
		free(ev);
	}
	pthread_mutex_unlock(&e->lock);
	return ev ? 0 : -EINVAL;
}

/*
 * Setting
 */

/* The lock is held. All waiting threads continue; it stays set only for the next one. */
static void set(struct emu_events *e, struct emu_event *ev)
{
	ev->set_at = atomic_fetch_add(&e->nr_sets, 1) + 1;
	ev->signaled = !ev->auto_reset || !ev->waiters;
	if (!++ev->age)
		ev->age = 2;
	for (struct emu_waiter *w = ev->waiters; w; w = w->next) {
		w->activated = true;
		wake(w);
	}
}

/* A program can set and reset only signals. */
static int change(struct emu_process *p, uint32_t id, bool on)
{
	struct emu_events *e = &p->events;
	struct emu_event *ev;
	int err = 0;

	pthread_mutex_lock(&e->lock);
	ev = find(e, id);
	if (!ev || ev->type != GP_KFD_EVENT_SIGNAL)
		err = -EINVAL;
	else if (on)
		set(e, ev);
	else
		ev->signaled = false;
	pthread_mutex_unlock(&e->lock);
	return err;
}

int emu_set_event(struct emu_call *call, struct gp_kfd_event *args)
{
	return change(call->process, args->event_id, true);
}

int emu_reset_event(struct emu_call *call, struct gp_kfd_event *args)
{
	return change(call->process, args->event_id, false);
}

void emu_event_signal(struct emu_process *p, uint32_t id)
{
	change(p, id, true);
}

/* Whether the GPU has written the event's slot; if so, it is set. */
static bool take_slot(struct emu_events *e, uint32_t id)
{
	struct emu_event *ev = find(e, id);

	if (!ev || atomic_load(&e->slot[id]) == UNSIGNALED)
		return false;
	atomic_store(&e->slot[id], UNSIGNALED);
	set(e, ev);
	return true;
}

void emu_event_interrupt(struct emu_process *p, uint32_t id)
{
	struct emu_events *e = &p->events;

	pthread_mutex_lock(&e->lock);
	/* An invalid id: any event whose slot was written is meant. */
	if (e->slot && (id >= GP_KFD_SIGNAL_EVENT_LIMIT || !take_slot(e, id))) {
		for (uint32_t i = 1; i < e->signal.room && i < GP_KFD_SIGNAL_EVENT_LIMIT; i++)
			take_slot(e, i);
	}
	pthread_mutex_unlock(&e->lock);
}

void emu_event_memory(struct emu_process *p, const struct gp_kfd_memory_exception *data)
{
	struct emu_events *e = &p->events;

	pthread_mutex_lock(&e->lock);
	for (uint32_t i = 0; i < e->other.room; i++) {
		struct emu_event *ev = e->other.entry[i];

		if (!ev || ev->type != GP_KFD_EVENT_MEMORY)
			continue;
		ev->memory = *data;
		set(e, ev);
	}
	pthread_mutex_unlock(&e->lock);
}

void emu_event_reset(struct emu_process *p, uint32_t gpu_id)
{
	struct emu_events *e = &p->events;

	pthread_mutex_lock(&e->lock);
	for (uint32_t i = 0; i < e->other.room; i++) {
		struct emu_event *ev = e->other.entry[i];

		if (!ev || ev->type != GP_KFD_EVENT_HW_EXCEPTION)
			continue;
		ev->hw = (struct gp_kfd_hw_exception){ .reset_cause = RESET_CAUSE_HANG,
						       .memory_lost = 1,
						       .gpu_id = gpu_id };
		set(e, ev);
	}
	pthread_mutex_unlock(&e->lock);
}

/*
 * Waiting
 */

struct wait {
	struct emu_call *call;
	struct emu_events *events;
	struct gp_kfd_event_data *data; /* from the program, and returned to it */
	struct emu_waiter *waiter;
	uint32_t n;
	bool all;
};

/* Whether it was set after the thread's last call: another thread may have reset it by waiting. */
static bool is_set_since(const struct emu_call *call, const struct emu_event *ev)
{
	return ev->auto_reset && call->nr_sets && ev->set_at > call->nr_sets;
}

/* The lock is held. */
static int begin_one(struct wait *w, uint32_t i)
{
	const struct gp_kfd_event_data *data = &w->data[i];
	struct emu_waiter *waiter = &w->waiter[i];
	struct emu_event *ev = find(w->events, data->event_id);

	if (!ev)
		return -EINVAL;
	waiter->event = ev;
	waiter->wake_fd = w->call->wake_fd;
	waiter->activated = ev->signaled;
	ev->signaled = ev->signaled && !ev->auto_reset;
	waiter->wants_age =
		ev->type == GP_KFD_EVENT_SIGNAL && data->last_event_age && !emu_is_6_1(w->call->m);
	if (waiter->wants_age ? ev->age != data->last_event_age : is_set_since(w->call, ev))
		waiter->activated = true;
	if (waiter->activated)
		return 0;
	waiter->next = ev->waiters;
	waiter->link = &ev->waiters;
	if (ev->waiters)
		ev->waiters->link = &waiter->next;
	ev->waiters = waiter;
	return 0;
}

static uint32_t test(const struct wait *w)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->n; i++) {
		if (!w->waiter[i].event)
			return GP_KFD_WAIT_FAIL;
		if (w->waiter[i].activated && !w->all)
			return GP_KFD_WAIT_COMPLETE;
		n += w->waiter[i].activated;
	}
	return n == w->n ? GP_KFD_WAIT_COMPLETE : GP_KFD_WAIT_TIMEOUT;
}

/* Writes the data of set events into the program's array; *@changed: at least one is. */
static int collect(struct wait *w, bool *changed)
{
	for (uint32_t i = 0; i < w->n; i++) {
		const struct emu_event *ev = w->waiter[i].event;

		if (!ev)
			return -EINVAL;
		if (!w->waiter[i].activated)
			continue;
		if (ev->type == GP_KFD_EVENT_MEMORY)
			w->data[i].memory = ev->memory;
		else if (ev->type == GP_KFD_EVENT_HW_EXCEPTION)
			w->data[i].hw = ev->hw;
		else if (w->waiter[i].wants_age)
			w->data[i].last_event_age = ev->age;
		else
			continue;
		*changed = true;
	}
	return 0;
}

/* Removes all waiters; if the program will repeat the call, they return what they consumed. */
static void finish(struct wait *w, bool again)
{
	for (uint32_t i = 0; i < w->n; i++) {
		struct emu_waiter *waiter = &w->waiter[i];

		if (!waiter->event)
			continue;
		leave(waiter);
		if (again && waiter->activated && waiter->event->auto_reset)
			set(w->events, waiter->event);
	}
}

/* Sleeps until an event of the wait changes, without the lock. The remaining time is in *@ms. */
static int sleep_for(struct wait *w, uint64_t end, uint32_t *ms)
{
	uint64_t now = gp__clock_ns(), value;
	int left = -1, err;

	if (*ms != TIMEOUT_INFINITE)
		left = end > now ? (int)((end - now + GP__MS - 1) / GP__MS) : 0;
	err = emu_call_wait(w->call, w->call->wake_fd, left);
	if (!err && read(w->call->wake_fd, &value, sizeof(value)) < 0 && errno != EAGAIN)
		return -errno;
	now = gp__clock_ns();
	if (err == -EINTR && *ms && *ms != TIMEOUT_INFINITE)
		*ms = end > now ? (uint32_t)((end - now) / GP__MS) : 0;
	return err;
}

/* The lock is held, except while sleeping. */
static int wait_for(struct wait *w, uint32_t *ms, uint32_t *result)
{
	/* Finite timeouts beyond INT32_MAX are shortened to that. */
	uint64_t end = gp__clock_ns() + (*ms < INT32_MAX ? *ms : INT32_MAX) * GP__MS;
	int err;

	for (;;) {
		*result = test(w);
		if (*result != GP_KFD_WAIT_TIMEOUT || !*ms)
			return 0;
		pthread_mutex_unlock(&w->events->lock);
		err = sleep_for(w, end, ms);
		pthread_mutex_lock(&w->events->lock);
		if (err == -ETIME) {
			*result = test(w);
			return 0;
		}
		if (err)
			return err;
	}
}

/* Reads the program's events up to the first error, which is in *@err. */
static uint32_t read_events(struct emu_call *call, uint64_t from, struct gp_kfd_event_data *data,
			    uint32_t n, int *err)
{
	*err = emu_copy_from_user(call, data, from, n * sizeof(*data));
	if (*err != -EFAULT)
		return *err ? 0 : n;
	for (uint32_t i = 0; i < n; i++) {
		*err = emu_copy_from_user(call, &data[i], from + i * sizeof(*data), sizeof(*data));
		if (*err)
			return i;
	}
	return n;
}

static int run_wait(struct wait *w, uint32_t nr_read, int read_err, uint32_t *ms, uint32_t *result,
		    bool *changed)
{
	int err = 0;

	pthread_mutex_lock(&w->events->lock);
	for (uint32_t i = 0; !err && i < nr_read; i++)
		err = begin_one(w, i);
	if (!err)
		err = read_err;
	if (!err)
		err = wait_for(w, ms, result);
	if (!err && *result == GP_KFD_WAIT_COMPLETE)
		err = collect(w, changed);
	finish(w, err == -EINTR);
	pthread_mutex_unlock(&w->events->lock);
	return err;
}

/* An empty eventfd of the connection. */
static int empty_wake_fd(struct emu_call *call)
{
	uint64_t value;

	if (call->wake_fd < 0)
		call->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (call->wake_fd < 0)
		return -ENOMEM;
	return read(call->wake_fd, &value, sizeof(value)) < 0 && errno != EAGAIN ? -errno : 0;
}

int emu_wait_events(struct emu_call *call, struct gp_kfd_wait_events *args)
{
	struct wait w = { .call = call,
			  .events = &call->process->events,
			  .n = args->num_events,
			  .all = args->wait_for_all };
	bool changed = false;
	uint32_t nr_read;
	int err, read_err;

	args->wait_result = GP_KFD_WAIT_FAIL;
	if (w.n > WAIT_EVENTS_MAX)
		return -ENOMEM;
	err = empty_wake_fd(call);
	if (err)
		return err;
	w.data = calloc(w.n + 1, sizeof(*w.data));
	w.waiter = calloc(w.n + 1, sizeof(*w.waiter));
	err = w.data && w.waiter ? 0 : -ENOMEM;
	if (!err) {
		nr_read = read_events(call, args->events_ptr, w.data, w.n, &read_err);
		err = run_wait(&w, nr_read, read_err, &args->timeout, &args->wait_result, &changed);
	}
	if (!err && changed)
		err = emu_copy_to_user(call, args->events_ptr, w.data, w.n * sizeof(*w.data));
	free(w.data);
	free(w.waiter);
	if (err)
		args->wait_result = GP_KFD_WAIT_FAIL;
	else if (args->wait_result == GP_KFD_WAIT_FAIL)
		err = -EIO;
	return err;
}
