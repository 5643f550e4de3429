/* SPDX-License-Identifier: MIT */
/*
 * The preload that emulates /dev/kfd, render nodes and a part of sysfs in programs on an emulated
 * machine (emu/protocol.h).
 *
 * It is active only if the environment names a machine, and then only for paths and descriptors of
 * that machine; all other calls go to the next definition of the same function. Any function may be
 * called before a constructor has run, in a signal handler, in the child of fork or vfork, and by
 * many threads: connections and open files need no lock; memory shared with the machine has one,
 * and while it is held signals are blocked and only the kernel is called.
 *
 * It does not work for programs that make their own system calls, nor for statically linked ones:
 * they see no GPU.
 */
#ifndef GP__EMU_CLIENT_H
#define GP__EMU_CLIENT_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "emu/protocol.h"

#define CLIENT_PREFIXES_MAX 64
#define CLIENT_LIST_MAX 8192

/*
 * client.c: whether there is a machine, and its folder.
 */

struct client_prefix {
	const char *path;
	size_t len;
	bool dynamic; /* files under it are opened through the machine */
};

struct client_machine {
	char dir[PATH_MAX]; /* without symbolic links or a slash at its end */
	size_t dir_len;
	char list[CLIENT_LIST_MAX];
	struct client_prefix prefix[CLIENT_PREFIXES_MAX];
	uint32_t nr_prefixes;
};

extern struct client_machine client_machine;

/*
 * Every hook begins with it: whether this process is on a machine. Initialises the preload, and
 * reinitialises it in a child.
 */
bool client_on(void);
/* Closes or drops the state that a child inherits from its parent. */
void client_forked(void);

/* Moves a descriptor of ours to a high number; on failure it is closed: -errno. */
int client_move_fd(int fd);

/*
 * path.c: maps paths.
 */

enum client_where {
	CLIENT_HOST, /* the host, under another name */
	CLIENT_TREE, /* the machine's tree */
	CLIENT_DEVICE, /* a device of the machine */
};

struct client_path {
	enum client_where where;
	bool dynamic; /* in the tree, but files are opened through the machine */
	dev_t rdev; /* of a device */
	char name[PATH_MAX]; /* as the program would write it from / */
	/*
	 * The path on the host. For a device: a file that exists and is accessible if the device
	 * is.
	 */
	char real[PATH_MAX];
};

/* @dir as in openat(). False: the path is the host's, unchanged. */
bool client_path_find(int dir, const char *path, struct client_path *p);
/* Converts a host path into the tree to the machine's path, in place. */
void client_path_strip(char *path);
/* The result of stat() for a device. */
void client_path_stat(struct stat *st, dev_t rdev);

/*
 * file.c: open files of the machine. A descriptor is ours if it is a socket with an inode number
 * that we know, so duplicates are recognised and reused numbers are not.
 */

int client_file_add(int fd, uint64_t file, dev_t rdev);
/* False: not ours. @rdev may be NULL. */
bool client_file_find(int fd, uint64_t *file, dev_t *rdev);
/* The same, from the result of fstat(). */
bool client_file_known(const struct stat *st, uint64_t *file, dev_t *rdev);

/*
 * connect.c: connections to the machine, one for each call in progress.
 */

struct client_packet {
	struct emu_message msg;
	uint8_t data[EMU_DATA_MAX];
};

struct client_connection {
	_Atomic bool busy;
	int fd; /* -1: none */
	uint64_t ino;
	struct client_packet *packet;
	bool temporary;
};

/* A free connection; NULL: the machine is gone. @own is used if all others are taken. */
struct client_connection *client_connect(struct client_connection *own, unsigned int *generation);
/* Whether the machine has closed the connection. False if the program has closed it. */
bool client_ended(const struct client_connection *c);
/* @broken: it cannot be used again. */
void client_disconnect(struct client_connection *c, unsigned int generation, bool broken);
void client_connections_forked(void);
/* The address of the cookie that this process is known by. */
uint64_t client_cookie_at(void);
/*
 * How often events of this process were set when the last call of this thread ended, or any
 * thread's if this one has made none; 0: unknown (emu/protocol.h).
 */
uint64_t client_sets_known(void);
void client_sets_note(uint64_t nr);

/*
 * call.c: a call. Results are like the kernel's: negative errno.
 */

int64_t client_open(const char *path, int flags, dev_t rdev);
int64_t client_ioctl(uint64_t file, unsigned long request, void *argument);
/* Returns an address. */
int64_t client_mmap(uint64_t file, void *at, size_t len, int prot, int flags, uint64_t offset);
/* The same for a dmabuf. -EINVAL: not a dmabuf, or too small; nothing is mapped. */
int64_t client_mmap_dmabuf(int fd, void *at, size_t len, int prot, int flags, uint64_t offset);

/* Serves the machine's requests for memory (EMU_SERVE) for as long as it wants; -errno. */
int64_t client_serve(void);

/* Copies to or from an address that the program gave us: 0 or -EFAULT, never a signal. */
int client_read(void *to, uint64_t from, size_t len);
int client_write(uint64_t to, const void *from, size_t len);

/* Sends a message with data and descriptors; -errno. */
int client_send(struct client_connection *c, struct emu_message *msg, const void *data, size_t len,
		const int *fds, uint32_t nr_fds);
/* answer.c: answers the request in the connection's packet; -errno where the connection broke. */
int client_answer(struct client_connection *c, const int *fds);

/*
 * lost.c: notifies a runtime when the machine is gone.
 */

/* A call on /dev/kfd that succeeded. */
void client_lost_note(unsigned long request, const void *argument);
/* The result of a call that found no machine. */
int client_lost_wait(unsigned long request, void *argument);
void client_lost_forked(void);

/*
 * serve.c: a thread that converts memory when a GPU first needs it.
 */

/* Starts it with the first call that registers much memory; whether there is one. */
bool client_serve_for(unsigned long request, const void *argument, size_t len);
void client_serve_forked(void);

/*
 * hook_wait.c: waits for the HSA runtime's signals.
 */

/* To be called when the runtime has started. */
void client_wait_find(void);

/*
 * share.c: memory of the program that the machine maps as well.
 */

struct client_shared {
	struct emu_piece *piece;
	uint32_t nr_pieces;
	int fd[EMU_FDS_MAX]; /* the caller closes them, except the first, which is ours */
	uint32_t nr_fds;
};

/* The number of pieces that fit into one answer. */
#define CLIENT_PIECES_MAX (EMU_DATA_MAX / sizeof(struct emu_piece))

/* The pieces cover a prefix of the range. */
int client_share(uint64_t address, uint64_t length, bool write, struct client_shared *result);
int client_unshare(uint64_t address, uint64_t length);
/* The answer to EMU_CHECK. */
int client_share_check(uint64_t address, uint64_t length, bool write);
/* madvise(MADV_DONTNEED) of a range that is partly shared; false: nothing of it is. */
bool client_share_drop(uint64_t address, uint64_t length);
/* Whether anything is shared. */
bool client_share_any(void);
/* Around fork(): the child gets a copy of the memory, and shares none of it. */
void client_share_prepare(void);
void client_share_parent(void);
void client_share_child(void);
/* For a child that was created without these: its memory stays shared, but nothing new is. */
void client_share_forget(void);

#endif
