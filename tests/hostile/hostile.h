/* SPDX-License-Identifier: MIT */
/*
 * Attacks on gpreemptd and on the emulated machine, by an unprivileged user over their sockets.
 *
 * An attack runs until its time is over or its connections end; main() starts it again meanwhile.
 * It counts its tries and stays within fixed numbers of processes, connections and bytes. It uses
 * no address but 127.0.0.1.
 */
#ifndef GP__TESTS_HOSTILE_H
#define GP__TESTS_HOSTILE_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/clock.h"
#include "wire/client.h"

/* The limits of the daemon that attacks try to exceed. */
#define PRIO_MOST 7
#define GROUPS_OF_USER 1024
#define CONNECTIONS_OF_USER 320
/* How long a lingering socket makes its closer wait: longer than a process waits for a processor
 * beside all attackers. */
#define LINGER_S 8

struct counts {
	u64 succeeded, refused, dropped;
	u64 longest_ns; /* the longest time for which the daemon or the machine did not answer */
};

struct hostile {
	const char *socket, *gpu, *machine; /* machine: the folder of an emulated one, or NULL */
	uid_t user;
	bool is_root; /* when it was started; it is not while an attack runs */
	int operator_fd; /* a connection that root made before it became the user; -1: none */
	u64 until;
	struct counts *counts; /* shared with the processes that an attack forks */
};

/* Of an attack: */
#define IS_HOLE 1 /* a success is harm by itself; else only the harm to other users counts */
#define NEEDS_OPERATOR 2 /* an administrator takes part */
#define NEEDS_ROOT 4
#define STAYS_ROOT 8 /* it becomes other users itself, or is root in a container */

struct attack {
	const char *name, *tries;
	void (*run)(struct hostile *h);
	u32 flags;
};

/* common.c */
bool goes_on(const struct hostile *h);
void rest_ms(const struct hostile *h, unsigned int ms);
/* Counts the result of a try, 0 or -errno. */
void count(struct hostile *h, int result);
void note_time(struct hostile *h, u64 since);
/* Becomes the user, or another one. Ends the process if that fails. */
void become(uid_t user);
/* Forks a process that ends with this one. */
pid_t fork_child(void);

/* Joins as a program. 0 or -errno, which is counted. */
int join(struct hostile *h, struct gp__wire_client *c, const char *name, u32 nr_slots);
/* A queue of this priority and tag on the attacked GPU. */
struct gp__wire_queue_add queue_of(const struct hostile *h, u32 slot, s32 prio, const char *tag);
int add(const struct hostile *h, struct gp__wire_client *c, u32 slot, s32 prio, const char *tag);
/* Joins with as many groups as a user may have. 0 or -errno, which is counted. */
int join_with_groups(struct hostile *h, struct gp__wire_client *c, u32 nr);
int set_prio(struct gp__wire_client *c, u32 slot, s32 prio);
/* Joins with as many queues as a user may have, in few groups: PROGRAMS_OF_QUEUES programs. Returns
 * how many have joined, or -errno, which is counted; leave_all() frees them. */
#define PROGRAMS_OF_QUEUES 8
int join_with_queues(struct hostile *h, struct gp__wire_client **all);
/* Joins as many programs as it can, each with a queue. Returns how many; leave_all() frees them. */
u32 join_many(struct hostile *h, struct gp__wire_client **all, u32 nr, const char *name);
void leave_all(struct gp__wire_client *all, u32 nr);
/* Acknowledges the orders of all slots, as if they were carried out. -EPIPE: the daemon is gone. */
int obey(struct gp__wire_client *c, u32 nr_slots, int timeout_ms);
/* Sends a request of the command line. NULL: no answer. Answers are for json_decref(). */
json_t *ask(int fd, const char *request);
bool is_refused(const json_t *answer);

/* Makes a TCP socket with unsent data that delays who closes it. The other end is in @receiver. */
int make_lingering(int *receiver);
void close_lingering(int fd, int receiver);
/* Sends @bytes with the descriptor; its own copy is closed. 0 or -errno. */
int send_with(int socket, const void *bytes, size_t size, int fd);
/* Connects to a SEQPACKET socket. A descriptor or -errno. */
int connect_to(const char *path);

/* attacks_daemon.c: make the daemon wait, grow or write */
void attack_linger(struct hostile *h);
void attack_groups(struct hostile *h);
void attack_regroup(struct hostile *h);
void attack_why(struct hostile *h);
void attack_deaf(struct hostile *h);
void attack_toggle(struct hostile *h);
void attack_subuids(struct hostile *h);
void attack_machine(struct hostile *h);

/* attacks_share.c: take GPU time from others by lying */
void attack_weight(struct hostile *h);
void attack_claim(struct hostile *h);
void attack_announce(struct hostile *h);

/* attacks_rights.c: evade the operator, mislead people, learn of other users */
void attack_escape(struct hostile *h);
void attack_presence(struct hostile *h);
void attack_names(struct hostile *h);
void attack_probe(struct hostile *h);
void attack_container(struct hostile *h);

#endif
