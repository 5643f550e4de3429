/* SPDX-License-Identifier: MIT */
/*
 * Wakes the front end of a node when a doorbell is rung, without polling.
 *
 * While the front end is busy, it reads the doorbells. Before it sleeps, it write-protects them
 * wherever programs have them mapped (userfaultfd) and reads them once more. The next thread that
 * rings faults, which wakes the front end, and waits until the protection is removed. Where
 * userfaultfd is not available, the front end polls every two milliseconds.
 */
#ifndef GP__EMU_KFD_DOORBELL_H
#define GP__EMU_KFD_DOORBELL_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

struct emu_node;
struct emu_process;

/*
 * The program has its doorbells of a node mapped at @address. @uffd, which becomes ours, has them
 * registered for write protection; -1: there is none, and they are polled. -ENOMEM.
 */
int emu_doorbell_watch(struct emu_process *p, uint32_t node, int uffd, uint64_t address,
		       uint64_t length);
/* The process is about to end. */
void emu_doorbell_forget(struct emu_process *p);

/*
 * For the front end, with its lock. Protects the doorbells; then returns the pollfds of the
 * programs that may ring, in memory that the caller frees, their number in *@nr; *@blind where some
 * cannot be watched. NULL: out of memory, and no doorbell is protected.
 */
struct pollfd *emu_doorbell_arm(struct emu_node *n, uint32_t *nr, bool *blind);
void emu_doorbell_disarm(struct emu_node *n);

#endif
