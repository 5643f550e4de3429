/* SPDX-License-Identifier: MIT */
/*
 * SMI_EVENTS: events of a node, as lines of text, for the programs that subscribed to them.
 *
 * The program has one end of a socket pair. It writes the mask of events it wants and reads the
 * lines. The machine never waits for it: masks are read, and a closed descriptor is noticed, when
 * there is an event to report. Lines for which there is no room are lost, as with the driver.
 */
#ifndef GP__EMU_KFD_SMI_H
#define GP__EMU_KFD_SMI_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct emu_call;
struct emu_node;
struct emu_process;
struct emu_smi_client;
struct gp_kfd_smi_events;

/* Of a node; its lock comes after all others. */
struct emu_smi {
	pthread_mutex_t lock;
	struct emu_smi_client *clients;
	uint32_t nr_clients;
	uint32_t nr_resets;
};

int emu_smi_init(struct emu_smi *smi);
void emu_smi_destroy(struct emu_smi *smi);

int emu_smi_events(struct emu_call *call, struct gp_kfd_smi_events *args);

/* With any lock. A cause of NULL: the reset has ended. */
void emu_smi_vmfault(struct emu_node *n, struct emu_process *p);
void emu_smi_reset(struct emu_node *n, const char *cause);
void emu_smi_eviction(struct emu_node *n, struct emu_process *p, uint32_t trigger);

#endif
