/* SPDX-License-Identifier: MIT */
/*
 * The preload that stands for /dev/kfd, render nodes and a part of sysfs in programs on an emulated
 * machine (emu/protocol.h).
 *
 * It does something only where the environment names a machine, and then only for paths and
 * descriptors of that machine; all else goes to the next definition of the same function. Any
 * function may be called before a constructor has run, in a signal handler, in the child of fork or
 * vfork, and by many threads: what they all need has no lock (connections, open files), and where
 * there is one (memory shared with the machine), signals are blocked while it is held and nothing
 * is called but the kernel.
 *
 * The wrong tool for programs that make their own system calls, and for statically linked ones:
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
 * client.c: whether there is a machine, and where.
 */

struct client_prefix {
	const char *path;
	size_t len;
	bool dynamic; /* files under it are opened at the machine */
};

struct client_machine {
	char dir[PATH_MAX]; /* without symbolic links or a slash at its end */
	size_t dir_len;
	char list[CLIENT_LIST_MAX];
	struct client_prefix prefix[CLIENT_PREFIXES_MAX];
	uint32_t nr_prefixes;
};

extern struct client_machine client_machine;

/* Every hook begins with it: whether this process is on a machine. Sees to it that all is set up,
 * and set up anew in a child. */
bool client_on(void);
/* Closes, forgets and leaves alone what a child has of its parent. */
void client_forked(void);

/* Descriptors of ours are moved out of the program's way; -errno closes it. */
int client_move_fd(int fd);

/*
 * path.c: where a path leads.
 */

enum client_where {
	CLIENT_HOST, /* by another name */
	CLIENT_TREE, /* to the machine's tree */
	CLIENT_DEVICE, /* to a device of the machine's */
};

struct client_path {
	enum client_where where;
	bool dynamic; /* in the tree, but what is no folder is opened at the machine */
	dev_t rdev; /* of a device */
	char name[PATH_MAX]; /* as the program would say it from / */
	/* What stands for it on the host. For a device: something that is there and accessible
	 * when it is. */
	char real[PATH_MAX];
};

/* @dir as in openat(). False: to the host, as it is. */
bool client_path_find(int dir, const char *path, struct client_path *p);
/* Makes a path of the host one of the machine's again, in place, where it leads to the tree. */
void client_path_strip(char *path);
/* What stat() says of a device. */
void client_path_stat(struct stat *st, dev_t rdev);

/*
 * file.c: open files of the machine. A descriptor is one of ours if it is a socket with an inode
 * number we know, so duplicates are as good and a number that is used again is not.
 */

int client_file_add(int fd, uint64_t file, dev_t rdev);
/* False: none of ours. @rdev may be NULL. */
bool client_file_find(int fd, uint64_t *file, dev_t *rdev);
/* The same, of what fstat() has just said. */
bool client_file_known(const struct stat *st, uint64_t *file, dev_t *rdev);

/*
 * connect.c: connections to the machine, one for each call under way.
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

/* One that nobody else uses; NULL where there is no machine any more. @own is used if all others
 * are taken. */
struct client_connection *client_connect(struct client_connection *own, unsigned int *generation);
/* @broken: it can be used no more. */
void client_disconnect(struct client_connection *c, unsigned int generation, bool broken);
void client_connections_forked(void);

/*
 * call.c: one call. Results are as the kernel's: negative errno.
 */

int64_t client_open(const char *path, int flags, dev_t rdev);
int64_t client_ioctl(uint64_t file, unsigned long request, void *argument);
/* An address. */
int64_t client_mmap(uint64_t file, void *at, size_t len, int prot, int flags, uint64_t offset);
/* The same of a dmabuf. -EINVAL: it is none, or not that large; nothing is mapped. */
int64_t client_mmap_dmabuf(int fd, void *at, size_t len, int prot, int flags, uint64_t offset);

/* Memory of the program at an address it gave us: 0 or -EFAULT, never a signal. */
int client_read(void *to, uint64_t from, size_t len);
int client_write(uint64_t to, const void *from, size_t len);

/* Sends a message with data and descriptors; -errno. */
int client_send(struct client_connection *c, struct emu_message *msg, const void *data, size_t len,
		const int *fds, uint32_t nr_fds);
/* answer.c: answers the question in the connection's packet; -errno where the connection broke. */
int client_answer(struct client_connection *c, const int *fds);

/*
 * lost.c: what a runtime learns when the machine is gone.
 */

/* A call on /dev/kfd that succeeded. */
void client_lost_note(unsigned long request, const void *argument);
/* The result of one that found no machine any more. */
int client_lost_wait(unsigned long request, void *argument);
void client_lost_forked(void);

/*
 * share.c: memory of the program that the machine maps as well.
 */

struct client_shared {
	struct emu_piece *piece;
	uint32_t nr_pieces;
	int fd[EMU_FDS_MAX]; /* for the caller to close, but for the first, which is ours */
	uint32_t nr_fds;
};

/* How many pieces an answer has room for. */
#define CLIENT_PIECES_MAX (EMU_DATA_MAX / sizeof(struct emu_piece))

/* The pieces are those of a prefix of the range. */
int client_share(uint64_t address, uint64_t length, bool write, struct client_shared *result);
int client_unshare(uint64_t address, uint64_t length);
/* madvise(MADV_DONTNEED), where some of it is shared; false where nothing is. */
bool client_share_drop(uint64_t address, uint64_t length);
/* Whether anything is shared. */
bool client_share_any(void);
/* Around fork(): the child has what its parent had before, and shares none of it. */
void client_share_prepare(void);
void client_share_parent(void);
void client_share_child(void);
/* The same for a child that was made without them: it cannot be helped, and shares nothing new. */
void client_share_forget(void);

#endif
