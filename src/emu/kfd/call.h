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

#include "emu/protocol.h"

struct emu_machine;
struct emu_process;

struct emu_call {
	struct emu_machine *m;
	struct emu_process *process; /* the caller */
	pid_t pid; /* of it */
	pid_t thread; /* that calls, as it says itself; 0: it does not */
	uid_t uid;
	gid_t gid;
	uint64_t file; /* the open file whose ioctl it is */
	int fd; /* the connection */
	int wake_fd; /* an eventfd for whatever this thread waits for, made when it is needed; -1 */
	bool cancelled; /* a signal came for the client since the call began */
	/* Data that came with an ioctl: its argument, until that has been read, and whether the
	 * reply may bring it back; and what the reply brings. */
	const uint8_t *argument;
	uint64_t argument_at;
	uint32_t argument_len;
	bool takes_data;
	uint64_t reply_at;
	uint32_t reply_len;
	uint8_t reply_data[EMU_ARGUMENT_MAX];
};

/*
 * One message with its data and descriptors. 0; -ECONNRESET where the other side is gone, or said
 * something that is no message: nothing more can be said to it. Descriptors are the receiver's to
 * close, and as many as msg->nr_fds says; a message has room for EMU_DATA_MAX bytes of data.
 */
int emu_message_send(int fd, struct emu_message *msg, const void *data, size_t len, const int *fds,
		     uint32_t nr_fds);
int emu_message_receive(int fd, struct emu_message *msg, int *fds);

/* As the kernel's: 0 or -EFAULT. -ECONNRESET where the client is gone; handlers pass it on. */
int emu_copy_from_user(struct emu_call *call, void *to, uint64_t from, size_t len);
int emu_copy_to_user(struct emu_call *call, uint64_t to, const void *from, size_t len);

/* The same, with the reply where the client takes that: the last thing an ioctl does. */
int emu_reply_to_user(struct emu_call *call, uint64_t to, const void *from, size_t len);

/* The open file of ours behind a client's descriptor: its id, or -EBADF. */
int64_t emu_call_file(struct emu_call *call, uint32_t client_fd);
/* A duplicate of a client's descriptor, for the caller to close; and the other way round. */
int emu_call_get_fd(struct emu_call *call, uint32_t client_fd);
int emu_call_put_fd(struct emu_call *call, int fd, uint32_t flags);

/*
 * The client's memory at @address becomes memory that we can map as well. Returns how many pieces
 * it is in, with up to @max of them and a descriptor for each in @fds, for the caller to close;
 * -EFAULT, -E2BIG where there are more. Unsharing gives the client memory of its own again.
 */
int emu_call_share(struct emu_call *call, uint64_t address, uint64_t length, bool write,
		   struct emu_piece *pieces, int *fds, uint32_t max);
int emu_call_unshare(struct emu_call *call, uint64_t address, uint64_t length);
/* A userfaultfd that has the client's doorbells at @address registered for write protection. */
int emu_call_watch(struct emu_call *call, uint64_t address, uint64_t length);

/*
 * Waits until @fd is readable. 0; -ETIME after @timeout_ms (negative: never); -EINTR where a signal
 * came for the client; -ECONNRESET where it is gone.
 */
int emu_call_wait(struct emu_call *call, int fd, int timeout_ms);

#endif
