/* SPDX-License-Identifier: MIT */
/*
 * A machine with its server, in this process, and scripted clients: they answer requests from their
 * own memory, and in other ways that a test chooses.
 */
#ifndef GP__TESTS_EMU_KFD_SERVER_H
#define GP__TESTS_EMU_KFD_SERVER_H

#include <pthread.h>

#include "emu/kfd/call.h"
#include "emu/kfd/memory.h"
#include "emu/kfd/node.h"
#include "emu/kfd/process.h"
#include "emu/protocol.h"
#include "gpreempt/uapi/gpreempt_kfd.h"

#define FILES_MAX 16
#define SHARED_MAX 4

struct server {
	struct emu_machine m;
	struct emu_config config; /* may be changed before server_start() */
	bool has_no_gpu; /* it has one GPU unless this is set or more are requested */
	pthread_t thread;
	int quit_fd; /* ours; the machine has the other end */
};

void server_start(struct server *s);
void server_stop(struct server *s);

/* Memory of a client that it can share: its descriptor, and its start. */
struct shared_memory {
	uint64_t va, length;
	int fd;
};

struct client {
	struct server *s;
	int fd; /* the connection */
	/* Open files: the descriptor, and the machine's id of it. */
	int file_fd[FILES_MAX];
	uint64_t file_id[FILES_MAX];
	int nr_files;
	struct shared_memory shared[SHARED_MAX];
	int nr_shared;
	unsigned int nr_unshared, nr_watched; /* how often these were requested */
	unsigned int nr_asked; /* requests of any kind */
	uint64_t nr_sets; /* of events, in the last reply; 0: none yet */
	bool sends_arguments; /* along with its ioctls, and takes them back with the reply */
	/* Called before a request is answered, if not NULL; false: it is not answered. */
	bool (*asked)(struct client *c, const struct emu_message *question);
	void *ctx;
	int kfd, render[EMU_GPUS_MAX]; /* as descriptors, by client_setup() */
	struct emu_process *process; /* by client_process() */
};

/* Connects only: a test may want to send something other than hello. */
void client_connect(struct server *s, struct client *c);
void client_close(struct client *c);
/* The result of the reply, which may have a descriptor; -ECONNRESET: there was none. */
int64_t client_call(struct client *c, struct emu_message *msg, const void *data, size_t len,
		    int *fd);
int64_t client_hello(struct client *c, uint64_t cookie);
/* A descriptor, or -errno. */
int client_open(struct client *c, const char *path);
int client_open_with(struct client *c, const char *path, int flags);
int client_ioctl(struct client *c, int fd, unsigned long cmd, void *args);
/* Mapped memory; NULL and *@err. */
void *client_mmap(struct client *c, int fd, uint64_t offset, uint64_t length, int prot, int *err);

/* Sends hello, and opens /dev/kfd and every render node with its address space. */
void client_setup(struct server *s, struct client *c, uint64_t cookie);
/* On /dev/kfd. */
int client_kfd(struct client *c, unsigned long cmd, void *args);
/* The machine's process, with a reference that the client holds until it is closed. */
struct emu_process *client_process(struct client *c);

/* Waits within the timeout of a test. */
bool soon(bool (*is_so)(void *ctx), void *ctx);

#endif
