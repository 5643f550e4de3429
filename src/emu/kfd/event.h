/* SPDX-License-Identifier: MIT */
/*
 * Events of a process, with amdkfd's rules: setting an event wakes every waiting thread. It stays
 * set only if no thread waited or if it does not reset itself. Each set increments its age (1.14).
 *
 * Runtimes before 1.14 wait for one event in two threads, and the second one may miss it: it reads
 * memory, the event is set, the first one resets it, and the second one waits for ever. With the
 * driver, its system call would have to be delayed; here, messages and the machine's own threads
 * delay it all the time. So sets are counted, and a wait without an age includes the sets since the
 * thread's last call: such a wait can end although another thread has had the event already.
 */
#ifndef GP__EMU_KFD_EVENT_H
#define GP__EMU_KFD_EVENT_H

#include <pthread.h>
#include <stdint.h>

#include "emu/kfd/table.h"

struct emu_call;
struct emu_event;
struct emu_message;
struct emu_process;
struct gp_kfd_create_event;
struct gp_kfd_event;
struct gp_kfd_wait_events;
struct gp_kfd_memory_exception;

struct emu_events {
	pthread_mutex_t lock;
	struct emu_table signal; /* events that a GPU can set: the id is a slot of the page */
	struct emu_table other; /* all others; EMU_EVENT_OTHER is added to their ids */
	uint32_t nr_signals;
	_Atomic uint64_t nr_sets; /* of all events, plus 1; also read without the lock */
	/* A word for each event; a GPU writes it and then interrupts. NULL: not created yet. */
	_Atomic uint64_t *slot;
	uint64_t slot_bytes; /* mapped by the program */
	uint64_t page_handle; /* the program's buffer for it; 0: our own page, */
	int page_fd; /* which this is; -1 */
};

#define EMU_EVENT_OTHER 0x40000000u

int emu_events_init(struct emu_process *p);
void emu_events_destroy(struct emu_process *p);

int emu_create_event(struct emu_call *call, struct gp_kfd_create_event *args);
int emu_destroy_event(struct emu_call *call, struct gp_kfd_event *args);
int emu_set_event(struct emu_call *call, struct gp_kfd_event *args);
int emu_reset_event(struct emu_call *call, struct gp_kfd_event *args);
int emu_wait_events(struct emu_call *call, struct gp_kfd_wait_events *args);
/* mmap of the event page through /dev/kfd. */
int emu_events_mmap(struct emu_process *p, const struct emu_message *msg, int *fd);

/* Sets a signal event as SET_EVENT does; unknown ids are ignored. */
void emu_event_signal(struct emu_process *p, uint32_t id);
/* An interrupt of the GPU for a signal event, by id. */
void emu_event_interrupt(struct emu_process *p, uint32_t id);
/* A memory violation, and a reset: sets all events of these types. */
void emu_event_memory(struct emu_process *p, const struct gp_kfd_memory_exception *data);
void emu_event_reset(struct emu_process *p, uint32_t gpu_id);

#endif
