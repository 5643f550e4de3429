// SPDX-License-Identifier: MIT
/*
 * When the machine is gone, no event is ever signalled, and a runtime that waits for one would
 * retry for ever. It is told what it would be told of a lost GPU: its exception events are
 * signalled, whereupon it ends the program. Waits for other events return the error, with a delay.
 *
 * A runtime can also wait without a system call: ROCr polls a signal's value if it was told to, and
 * its thread for exceptions polls as well while such a signal has a handler. Nobody can tell it
 * anything. So a thread of ours waits for the end of the machine, and ends the program if no wait
 * for events has been made for a while. It exists only in programs that have exception events.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "base/thread.h"
#include "emu/client/client.h"
#include "emu/client/raw.h"
#include "gpreempt/uapi/gpreempt_kfd.h"

#define EVENTS_MAX 16 /* of a process; runtimes have one or two */
#define WAIT_MAX 4096
#define PAUSE_NS 50000000
#define GRACE_S 5 /* for a busy machine: a runtime that waits for events is told at once */
#define RESET_CAUSE_HANG 0

/* The types are those of exceptions; 0: free. */
struct exception_event {
	_Atomic uint32_t type, id;
};

static struct {
	struct exception_event event[EVENTS_MAX];
	_Atomic uint32_t gpu_id;
	_Atomic bool said;
	_Atomic bool watched; /* the thread was started in this process */
} lost;

void client_lost_forked(void)
{
	lost.watched = false;
	for (int i = 0; i < EVENTS_MAX; i++)
		lost.event[i].type = 0;
}

static void remember(uint32_t type, uint32_t id)
{
	for (int i = 0; i < EVENTS_MAX; i++) {
		uint32_t none = 0;

		if (!atomic_compare_exchange_strong(&lost.event[i].type, &none, type))
			continue;
		lost.event[i].id = id;
		return;
	}
}

static void forget(uint32_t id)
{
	for (int i = 0; i < EVENTS_MAX; i++) {
		if (lost.event[i].type && lost.event[i].id == id)
			lost.event[i].type = 0;
	}
}

static uint32_t type_of(uint32_t id)
{
	for (int i = 0; i < EVENTS_MAX; i++) {
		if (lost.event[i].type && lost.event[i].id == id)
			return lost.event[i].type;
	}
	return 0;
}

/* The runtime's own message names another reason. False: it was said before. */
static bool say_why(void)
{
	static const char why[] =
		"libgpreempt-emu: the machine has ended while this program was using it\n";

	if (atomic_exchange(&lost.said, true))
		return false;
	raw_write(2, why, sizeof(why) - 1);
	return true;
}

static void wait_for_end(const struct client_connection *c)
{
	struct pollfd end = { .fd = c->fd };

	while (raw(SYS_ppoll, (long)&end, 1, 0, 0, 0, 0) == -EINTR)
		;
}

static void *watch(void *unused)
{
	const struct timespec grace = { .tv_sec = GRACE_S };
	struct client_connection own, *c;
	unsigned int generation;

	c = client_connect(&own, &generation);
	if (!c)
		return unused;
	wait_for_end(c);
	/* The program may have closed the descriptor: then nothing is known of the machine. */
	if (client_ended(c)) {
		raw(SYS_nanosleep, (long)&grace, 0, 0, 0, 0, 0);
		if (say_why())
			abort();
	}
	client_disconnect(c, generation, true);
	return unused;
}

/* Without the thread, the program can be ended by hand. */
static void start_watch(void)
{
	pthread_t thread;

	if (!atomic_exchange(&lost.watched, true) && !gp__thread_start(&thread, 0, watch, NULL))
		pthread_detach(thread);
}

/* The call has succeeded, so its argument can be read, with the size that its number encodes. */
void client_lost_note(unsigned long request, const void *argument)
{
	const struct gp_kfd_create_event *create = argument;

	switch (request) {
	case GP_KFD_ACQUIRE_VM:
		lost.gpu_id = ((const struct gp_kfd_acquire_vm *)argument)->gpu_id;
		break;
	case GP_KFD_CREATE_EVENT:
		if (create->event_type == GP_KFD_EVENT_MEMORY ||
		    create->event_type == GP_KFD_EVENT_HW_EXCEPTION) {
			remember(create->event_type, create->event_id);
			start_watch();
			client_wait_find();
		}
		break;
	case GP_KFD_DESTROY_EVENT:
		forget(((const struct gp_kfd_event *)argument)->event_id);
		break;
	}
}

static void describe(struct gp_kfd_event_data *data, uint32_t type)
{
	if (type == GP_KFD_EVENT_HW_EXCEPTION) {
		data->hw = (struct gp_kfd_hw_exception){ .reset_cause = RESET_CAUSE_HANG,
							 .memory_lost = 1,
							 .gpu_id = lost.gpu_id };
		return;
	}
	data->memory = (struct gp_kfd_memory_exception){ .not_present = 1,
							 .imprecise = 1,
							 .gpu_id = lost.gpu_id };
}

/* Fills in the exceptions among the events of the wait. False: there is none. */
static bool signal_exceptions(const struct gp_kfd_wait_events *wait)
{
	bool any = false;

	for (uint32_t i = 0; i < wait->num_events && i < WAIT_MAX; i++) {
		uint64_t at = wait->events_ptr + i * sizeof(struct gp_kfd_event_data);
		struct gp_kfd_event_data data;
		uint32_t type;

		if (client_read(&data, at, sizeof(data)))
			return false;
		type = type_of(data.event_id);
		if (!type)
			continue;
		describe(&data, type);
		any |= !client_write(at, &data, sizeof(data));
	}
	return any;
}

int client_lost_wait(unsigned long request, void *argument)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	struct gp_kfd_wait_events wait;

	if (request != GP_KFD_WAIT_EVENTS || client_read(&wait, (uint64_t)argument, sizeof(wait)))
		return -ENODEV;
	say_why();
	if (signal_exceptions(&wait)) {
		wait.wait_result = GP_KFD_WAIT_COMPLETE;
		if (!client_write((uint64_t)argument, &wait, sizeof(wait)))
			return 0;
	}
	if (wait.timeout)
		raw(SYS_nanosleep, (long)&pause, 0, 0, 0, 0, 0);
	return -ENODEV;
}
