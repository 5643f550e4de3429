/* SPDX-License-Identifier: MIT */
/*
 * A machine without GPUs, to test its clients: it speaks the protocol, and each of its ioctls does
 * one thing to the client.
 */
#ifndef GP_TESTS_SCRIPTED_MACHINE_H
#define GP_TESTS_SCRIPTED_MACHINE_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>
#include <linux/ioctl.h>

struct script_args {
	uint64_t a, b, c, d;
};

#define SCRIPT(nr) _IOWR('K', nr, struct script_args)
#define SCRIPT_ADD SCRIPT(1) /* d = a + b, and the result is c */
#define SCRIPT_READ SCRIPT(2) /* the result of reading a byte at a */
#define SCRIPT_WRITE SCRIPT(3) /* and of writing one */
#define SCRIPT_WAIT SCRIPT(4) /* a milliseconds: 7, or -EINTR if told to end */
#define SCRIPT_DIE SCRIPT(5) /* the machine ends without a reply */
#define SCRIPT_GET_FILE SCRIPT(6) /* the id of descriptor a */
#define SCRIPT_GET_FD SCRIPT(7) /* writes a byte b to descriptor a */
#define SCRIPT_PUT_FD SCRIPT(8) /* a descriptor with a byte a in it, and the flags b */
#define SCRIPT_SHARE SCRIPT(9) /* a, b: memory, writable or not (c): the number of pieces */
#define SCRIPT_UNSHARE SCRIPT(10) /* a, b */
#define SCRIPT_PEEK SCRIPT(11) /* d = the word at a of what is shared */
#define SCRIPT_POKE SCRIPT(12) /* which becomes b */
#define SCRIPT_WATCH SCRIPT(13) /* a, b: doorbells, which are written to once */
#define SCRIPT_SLOW_ADD SCRIPT(14) /* the same as ADD, with a request for each byte */
#define SCRIPT_QUICK_ADD SCRIPT(15) /* the same without a request: the data is sent along */

/* State that the machine and the test share. */
struct script_state {
	_Atomic uint64_t cookie; /* of the last call */
	_Atomic int pid;
	_Atomic uint32_t nr_connections, nr_files; /* there are now */
	_Atomic uint32_t nr_waits; /* there ever were */
	_Atomic uint32_t doorbells; /* seen */
	_Atomic uint64_t nr_sets; /* of events, in replies to ioctls */
	_Atomic uint64_t nr_sets_known; /* in the last ioctl */
};

/* Serves the socket in @dir until it is killed. */
void script_serve(const char *dir, struct script_state *state);

#endif
