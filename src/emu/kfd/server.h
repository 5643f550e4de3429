/* SPDX-License-Identifier: MIT */
/* Events that the server watches besides its connections. */
#ifndef GP__EMU_KFD_SERVER_H
#define GP__EMU_KFD_SERVER_H

#include <stdint.h>

struct emu_machine;
struct emu_process;

enum emu_watched {
	EMU_WATCHED_LISTEN,
	EMU_WATCHED_QUIT,
	EMU_WATCHED_FILE, /* by id: its last duplicate is closed */
	EMU_WATCHED_DEATH, /* by pasid */
};

/* Without a server, as in tests, nothing is watched. */
void emu_server_watch(struct emu_machine *m, int fd, uint32_t events, enum emu_watched kind,
		      uint64_t id);
/* Ends the connections of a process, or all of them; with the machine's lock. */
void emu_server_hang_up(struct emu_machine *m, const struct emu_process *p);

/* The handlers of these events (process.c). */
void emu_process_died(struct emu_machine *m, uint32_t pasid);
/* Ends all of them when the machine stops; waits until they are gone. */
void emu_processes_end(struct emu_machine *m);

#endif
