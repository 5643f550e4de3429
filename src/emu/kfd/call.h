/* SPDX-License-Identifier: MIT */
/*
 * A client's call in progress: access to the client's memory and descriptors for a handler. One
 * thread serves a connection, so a handler may wait.
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
	pid_t pid; /* its pid */
	pid_t thread; /* the calling thread, as the client reports it; 0: unknown */
	uid_t uid;
	gid_t gid;
	uint64_t file; /* the open file of the ioctl */
	uint64_t nr_sets; /* of events, when the thread's last call ended; 0: unknown */
	int fd; /* the connection */
	/* an eventfd for whatever this thread waits for, created when needed; -1: none yet */
	int wake_fd;
	bool serves; /* the program has a thread for deferred memory (defer.h) */
	bool cancelled; /* the client got a signal since the call began */
	/*
	 * Data that came with an ioctl: its argument, until that has been read, and whether the
	 * reply may carry it back; and the data of the reply.
	 */
	const uint8_t *argument;
	uint64_t argument_at;
	uint32_t argument_len;
	bool takes_data;
	uint64_t reply_at;
	uint32_t reply_len;
	uint8_t reply_data[EMU_ARGUMENT_MAX];
};

/*
 * Sends or receives one message with its data and descriptors. 0; -ECONNRESET: the peer is gone or
 * sent something that is not a message, and the connection is closed. The receiver closes the
 * msg->nr_fds descriptors; a message has room for EMU_DATA_MAX bytes of data.
 */
int emu_message_send(int fd, struct emu_message *msg, const void *data, size_t len, const int *fds,
		     uint32_t nr_fds);
int emu_message_receive(int fd, struct emu_message *msg, int *fds);

/* Like the kernel's: 0 or -EFAULT; -ECONNRESET where the client is gone, which handlers return. */
int emu_copy_from_user(struct emu_call *call, void *to, uint64_t from, size_t len);
int emu_copy_to_user(struct emu_call *call, uint64_t to, const void *from, size_t len);

/*
 * The same, sent with the reply where the client supports that. Must be the last step of an ioctl.
 */
int emu_reply_to_user(struct emu_call *call, uint64_t to, const void *from, size_t len);

/* The id of our open file behind a client's descriptor, or -EBADF. */
int64_t emu_call_file(struct emu_call *call, uint32_t client_fd);
/* Duplicates a client's descriptor for the caller to close; and sends one to the client. */
int emu_call_get_fd(struct emu_call *call, uint32_t client_fd);
int emu_call_put_fd(struct emu_call *call, int fd, uint32_t flags);

/*
 * Turns the client's memory at @address into memory that the machine can map as well. Returns the
 * number of pieces, with up to @max of them and a descriptor for each in @fds, for the caller to
 * close; -EFAULT; -E2BIG where there are more. Unsharing gives the client private memory again.
 */
int emu_call_share(struct emu_call *call, uint64_t address, uint64_t length, bool write,
		   struct emu_piece *pieces, int *fds, uint32_t max);
/* Whether all of it is private memory of the client; -EFAULT: it may not access it. */
int emu_call_check(struct emu_call *call, uint64_t address, uint64_t length, bool write);
int emu_call_unshare(struct emu_call *call, uint64_t address, uint64_t length);
/* A userfaultfd with the client's doorbells at @address registered for write protection. */
int emu_call_watch(struct emu_call *call, uint64_t address, uint64_t length);

/*
 * Waits until @fd is readable. 0; -ETIME after @timeout_ms (negative: never); -EINTR where a signal
 * came for the client; -ECONNRESET where it is gone.
 */
int emu_call_wait(struct emu_call *call, int fd, int timeout_ms);

#endif
