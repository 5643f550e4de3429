/* SPDX-License-Identifier: MIT */
/* What the server watches besides its connections, for those who make such things. */
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
/* The connections of a process end, or all of them; with the machine's lock. */
void emu_server_hang_up(struct emu_machine *m, const struct emu_process *p);

/* What it does then (process.c). */
void emu_process_died(struct emu_machine *m, uint32_t pasid);
/* All of them, when the machine stops; waits until they are gone. */
void emu_processes_end(struct emu_machine *m);

#endif
