/* SPDX-License-Identifier: MIT */
/*
 * How the front end of a node learns that a doorbell was rung, without looking all the time.
 *
 * While it is busy it looks at the doorbells themselves. Before it sleeps it has them protected
 * against writing wherever programs have them mapped (userfaultfd), looks once more, and the next
 * one to ring wakes it and waits until the protection is gone. Where that cannot be had, it looks
 * every two milliseconds.
 */
#ifndef GP__EMU_KFD_DOORBELL_H
#define GP__EMU_KFD_DOORBELL_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

struct emu_node;
struct emu_process;

/*
 * The program has its doorbells of a node mapped at @address, and @uffd, which is ours from now on,
 * has them registered for write protection; -1: there is none, and they are looked at every now and
 * then. -ENOMEM.
 */
int emu_doorbell_watch(struct emu_process *p, uint32_t node, int uffd, uint64_t address,
		       uint64_t length);
/* The process is about to be gone. */
void emu_doorbell_forget(struct emu_process *p);

/*
 * For the front end, with its lock. Protects, so that nobody can ring unnoticed; then the pollfds
 * of those who may ring, in memory that the caller frees, their number in *@nr; *@blind where some
 * cannot be watched. NULL: out of memory, and all are free to ring.
 */
struct pollfd *emu_doorbell_arm(struct emu_node *n, uint32_t *nr, bool *blind);
void emu_doorbell_disarm(struct emu_node *n);

#endif
