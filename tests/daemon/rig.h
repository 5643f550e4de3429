/* SPDX-License-Identifier: MIT */
/* A daemon in a thread of the test, and programs that talk to it as agents do. */
#ifndef GP__TESTS_DAEMON_RIG_H
#define GP__TESTS_DAEMON_RIG_H

#include "../unit/test.h"

#include <jansson.h>
#include <pthread.h>

#include "base/log.h"
#include "daemon/server.h"
#include "wire/client.h"

struct rig {
	struct gp__server server;
	struct gp__log log;
	pthread_t thread;
	_Atomic int status_fd; /* /proc/thread-self/status of that thread */
	pthread_mutex_t hang; /* the daemon takes it when hanger is written to */
	struct gp__source hanger;
	_Atomic bool hangs; /* the daemon waits for the mutex */
	void (*last)(struct rig *r); /* called before it hangs; may be NULL */
	_Atomic int nr_unjudged; /* programs whose ancestors are not known; -1: not counted yet */
	int ends_by; /* the signal that ends it; 0: SIGTERM */
	char folder[64], socket[96], config[96];
};

/* @config: the text of a configuration, or NULL. */
void rig_up(struct rig *r, const char *config);
/* The socket is where one was before. */
void rig_up_at(struct rig *r, const char *config, const char *socket);
/* Holds outlast the test, unless they are released: neither their lease nor a guarantee ends them.
 * @socket: as in rig_up_at(), or NULL. */
void rig_up_lasting(struct rig *r, const char *socket);
void rig_down(struct rig *r);
/* Ends the daemon as SIGKILL does: it writes nothing more into the pages of agents. */
void rig_crash(struct rig *r);
/* Waits until the daemon's thread has not run for a while: nothing keeps it awake. */
void rig_expect_asleep(struct rig *r);
/* Waits until the daemon's thread has not run for some milliseconds, but not for ever. */
void rig_rest(struct rig *r);
/*
 * Forks, if possible while the daemon's threads sleep: the address sanitizer's allocator would stay
 * locked in the child if one of them was using it. The child ends with the thread that forked it.
 */
pid_t rig_fork(struct rig *r);
/*
 * Waits until the daemon knows the ancestors of all programs. The agents of a test are of one
 * process: the daemon takes one that it judges after an operator's change for a program that
 * inherits it.
 */
void rig_wait_judged(struct rig *r);
/* The daemon hangs, as if it were stopped, until it is released: it does when this returns. */
void rig_hang(struct rig *r, bool hangs);

struct agent {
	struct gp__wire_client client;
	u32 nr_queues;
};

/* Joins. An agent is not patient; on a loaded machine it tries again. 0 or -errno. */
int open_client(struct gp__wire_client *c, struct rig *r, const char *program, u32 nr_slots,
		char text[GP__WIRE_TEXT_MAX]);
void agent_join(struct rig *r, struct agent *a, const char *program);
void agent_leave(struct agent *a);
struct gp__wire_queue_add queue_of(s32 prio, const char *device, const char *tag);
/* Adds one in the next slot, which is returned. */
u32 agent_add(struct agent *a, const struct gp__wire_queue_add *queue);
void agent_work(struct agent *a, u32 slot, bool has_work);

/* The order that is in the slot, once it is this one; fails after some seconds. */
u64 agent_expect(struct agent *a, u32 slot, enum gp__wire_verb verb);
/* The same, and it was carried out. */
void agent_obey(struct agent *a, u32 slot, enum gp__wire_verb verb);
/* The current order of the slot. */
enum gp__wire_verb agent_order(struct agent *a, u32 slot);

/* Waits until the daemon has handled all earlier messages. */
void rig_sync(struct rig *r);
/* Sends a request of the command line. Returns the answer, for json_decref(). */
json_t *rig_ask(struct rig *r, const char *request);

json_t *first_group(json_t *answer);

#endif
