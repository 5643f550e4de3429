// SPDX-License-Identifier: MIT
#include "device/kfd/wait.h"

#include <errno.h>
#include <stdatomic.h>
#include <time.h>

#include "base/clock.h"

#define SPIN_NS 20000
#define LOOKS_PER_CLOCK 64
/* Sleeps without an interrupt begin a little above the cost of a wake-up and double each time. */
#define NAP_MIN_NS 50000
#define NAP_MAX_NS 1000000
/* Bounds the delay after a lost interrupt. */
#define SLEEP_MS 1000
#define EVENT_SLOT_BYTES 8

/*
 * Events
 */

static int create_event(struct gp__kfd_user *u, uint32_t type, bool auto_reset, uint64_t page,
			struct gp_kfd_create_event *event)
{
	*event = (struct gp_kfd_create_event){ .event_page_offset = page,
					       .event_type = type,
					       .auto_reset = auto_reset,
					       .node_id = u->node.index };
	return gp__kfd_ioctl(u->kfd, GP_KFD_CREATE_EVENT, event);
}

static void destroy_event(struct gp__kfd_user *u, uint32_t *id)
{
	struct gp_kfd_event args = { .event_id = *id };

	if (*id)
		gp__kfd_ioctl(u->kfd, GP_KFD_DESTROY_EVENT, &args);
	*id = 0;
}

/* The first event brings the page; -EINVAL: another user of the process has set it. */
static int create_interrupt(struct gp__kfd_waiter *w)
{
	struct gp__kfd_user *u = w->u;
	bool first = !u->event_page.at;
	struct gp_kfd_create_event event;
	int err = 0;

	if (u->shared)
		return 0;
	if (first)
		err = gp__kfd_alloc(u, &u->event_page, GP_KFD_SIGNAL_EVENT_LIMIT * EVENT_SLOT_BYTES,
				    GP_KFD_MEM_GTT | GP_KFD_MEM_COHERENT);
	if (err)
		return err;
	err = create_event(u, GP_KFD_EVENT_SIGNAL, true, first ? u->event_page.handle : 0, &event);
	if (err && first)
		gp__kfd_free(u, &u->event_page);
	if (err)
		return err == -EINVAL && first ? 0 : err;
	w->interrupt = event.event_id;
	w->mailbox =
		(uint64_t)u->event_page.at + (uint64_t)event.event_slot_index * EVENT_SLOT_BYTES;
	return 0;
}

int gp__kfd_waiter_open(struct gp__kfd_user *u, struct gp__kfd_waiter *w)
{
	struct gp_kfd_create_event event;
	int err;

	*w = (struct gp__kfd_waiter){ .u = u };
	err = create_interrupt(w);
	if (!err)
		err = create_event(u, GP_KFD_EVENT_MEMORY, false, 0, &event);
	if (!err) {
		w->fault = event.event_id;
		err = create_event(u, GP_KFD_EVENT_HW_EXCEPTION, false, 0, &event);
	}
	if (!err)
		w->reset = event.event_id;
	else
		gp__kfd_waiter_close(w);
	return err;
}

void gp__kfd_waiter_close(struct gp__kfd_waiter *w)
{
	destroy_event(w->u, &w->interrupt);
	destroy_event(w->u, &w->fault);
	destroy_event(w->u, &w->reset);
}

void gp__kfd_waiter_attach(const struct gp__kfd_waiter *w, struct gp__kfd_signal *s)
{
	s->event_mailbox = w->interrupt ? w->mailbox : 0;
	s->event_id = w->interrupt;
}

/*
 * Waiting
 */

static bool is_down(struct gp__kfd_signal *s)
{
	return atomic_load(&s->value) < 1;
}

static bool spin(struct gp__kfd_signal *s)
{
	uint64_t end = gp__clock_ns() + SPIN_NS;

	do {
		for (int i = 0; i < LOOKS_PER_CLOCK; i++) {
			if (is_down(s))
				return true;
		}
	} while (gp__clock_ns() < end);
	return false;
}

/* Sleeps in the driver for at most @ms. */
static int sleep_in_driver(const struct gp__kfd_waiter *w, uint32_t ms)
{
	enum { FAULT, RESET, INTERRUPT };
	struct gp_kfd_event_data data[] = {
		[FAULT] = { .event_id = w->fault },
		[RESET] = { .event_id = w->reset },
		[INTERRUPT] = { .event_id = w->interrupt },
	};
	struct gp_kfd_wait_events args = { .events_ptr = (uint64_t)data,
					   .num_events = w->interrupt ? 3 : 2,
					   .timeout = ms };
	int err = gp__kfd_ioctl(w->u->kfd, GP_KFD_WAIT_EVENTS, &args);

	if (err)
		return err;
	if (args.wait_result != GP_KFD_WAIT_COMPLETE)
		return 0;
	/* The driver fills in the fields of an event, which were zero. */
	if (data[FAULT].memory.gpu_id)
		return -EFAULT;
	return data[RESET].hw.gpu_id ? -EIO : 0;
}

static void nap(uint64_t *ns)
{
	struct timespec ts = { 0, (long)*ns };

	clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
	if (*ns < NAP_MAX_NS)
		*ns *= 2;
}

/* Sleeps until something may have changed. A driver without memory for a sleep returns at once. */
static int sleep_once(const struct gp__kfd_waiter *w, uint64_t *nap_ns)
{
	int err = sleep_in_driver(w, w->interrupt ? SLEEP_MS : 0);

	if (!w->interrupt || err == -ENOMEM)
		nap(nap_ns);
	return err == -ENOMEM ? 0 : err;
}

int gp__kfd_wait(const struct gp__kfd_waiter *w, struct gp__kfd_signal *s,
		 struct gp__kfd_signal *errors)
{
	uint64_t nap_ns = NAP_MIN_NS;
	int err = 0;

	if (spin(s))
		return 0;
	while (!err && !is_down(s)) {
		if (atomic_load(&errors->value))
			return -EIO;
		err = sleep_once(w, &nap_ns);
	}
	return is_down(s) ? 0 : err;
}
