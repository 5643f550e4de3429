/* SPDX-License-Identifier: MIT */
/*
 * Events of a process, with amdkfd's rules: setting one wakes every waiter present and stays set
 * only where there was none or it does not reset itself; each set makes it a count older (1.14).
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
	struct emu_table other; /* all others, whose ids have EMU_EVENT_OTHER added */
	uint32_t nr_signals;
	/* A word for each event; a GPU writes it and then interrupts. NULL: there is none yet. */
	_Atomic uint64_t *slot;
	uint64_t slot_bytes; /* that the program has mapped */
	uint64_t page_handle; /* the buffer it is; 0: a page of our own, */
	int page_fd; /* and this is it; -1 */
};

#define EMU_EVENT_OTHER 0x40000000u

int emu_events_init(struct emu_process *p);
void emu_events_destroy(struct emu_process *p);

int emu_create_event(struct emu_call *call, struct gp_kfd_create_event *args);
int emu_destroy_event(struct emu_call *call, struct gp_kfd_event *args);
int emu_set_event(struct emu_call *call, struct gp_kfd_event *args);
int emu_reset_event(struct emu_call *call, struct gp_kfd_event *args);
int emu_wait_events(struct emu_call *call, struct gp_kfd_wait_events *args);
/* mmap of the events' page through /dev/kfd. */
int emu_events_mmap(struct emu_process *p, const struct emu_message *msg, int *fd);

/* Sets a signal event as SET_EVENT does; an id of no such event is ignored. */
void emu_event_signal(struct emu_process *p, uint32_t id);
/* An interrupt of the GPU for a signal event, by id. */
void emu_event_interrupt(struct emu_process *p, uint32_t id);
/* A bad access, and a reset: all events of these kinds. */
void emu_event_memory(struct emu_process *p, const struct gp_kfd_memory_exception *data);
void emu_event_reset(struct emu_process *p, uint32_t gpu_id);

#endif
