/* SPDX-License-Identifier: MIT */
/*
 * A call of a client that is under way: how a handler reaches the client's memory and descriptors.
 * One thread serves a connection, so a handler may wait.
 */
#ifndef GP__EMU_KFD_CALL_H
#define GP__EMU_KFD_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct emu_machine;
struct emu_process;

struct emu_call {
	struct emu_machine *m;
	struct emu_process *process; /* the caller */
	pid_t pid; /* of it, and the thread that may be a tracer */
	uid_t uid;
	gid_t gid;
	int fd; /* the connection */
};

/* As the kernel's: 0 or -EFAULT. -ECONNRESET where the client is gone; handlers pass it on. */
int emu_copy_from_user(struct emu_call *call, void *to, uint64_t from, size_t len);
int emu_copy_to_user(struct emu_call *call, uint64_t to, const void *from, size_t len);

/* The open file of ours behind a client's descriptor: its id, or -EBADF. */
int64_t emu_call_file(struct emu_call *call, uint32_t client_fd);
/* A duplicate of a client's descriptor, for the caller to close; and the other way round. */
int emu_call_get_fd(struct emu_call *call, uint32_t client_fd);
int emu_call_put_fd(struct emu_call *call, int fd);

/*
 * Waits until @fd is readable. 0; -ETIME after @timeout_ms (negative: never); -EINTR where a signal
 * came for the client; -ECONNRESET where it is gone.
 */
int emu_call_wait(struct emu_call *call, int fd, int timeout_ms);

#endif
