/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The scheduler of one GPU inside a kernel: it looks at the rings of the GPU's compute queues,
 * tells the core which of them have work, and carries out what the core decides through a table of
 * driver functions. Freestanding; the kernel series and the emulated machine compile the same
 * files.
 *
 * A group is scheduled, and held and released as one: the compute queues of one program. A program
 * that gives its queues logical priorities has a group for each; the hardware's priorities alone
 * never split a program, because its queues may wait for one another.
 *
 * An error leaves queues running: a queue that cannot be held is left alone after a few
 * attempts, until some seconds have passed or a pause ends; a queue whose ring cannot be read is
 * doubted like any other that makes no progress, and a queue for which there is no memory is not
 * scheduled.
 *
 * The caller has one lock, which it holds in all calls, and a thread, which calls gp__node_tick()
 * and then sleeps for gp__node_wait_ns() or until something has changed. Only the thread holds
 * queues; it never waits for a program.
 */
#ifndef GP__NODE_H
#define GP__NODE_H

#include "aql/ring.h"
#include "core/core.h"
#include "core/log.h"

struct gp__node_sched;
struct gp__node_queue;

struct gp__node_driver {
	u64 (*now)(struct gp__node_sched *node);
	void *(*alloc)(size_t bytes); /* zeroed, or NULL */
	void (*free)(void *memory);
	/* Before and after the rings of a program are read. False: its memory is gone. */
	bool (*begin_reading)(struct gp__node_sched *node, void *program);
	void (*end_reading)(struct gp__node_sched *node, void *program);
	/* Memory of the queue's program, as struct gp__ring_reader wants it. */
	bool (*read)(void *queue, u64 address, void *to, size_t bytes);
	bool (*is_running)(void *queue);
	/*
	 * Whether somebody else than the scheduler keeps it off the GPU: its program, a debugger,
	 * an eviction. Others do not wait for its work then.
	 */
	bool (*is_away)(void *queue);
	/* Whether waves of the queue are on the GPU: 1 or 0, -1: unknown. NULL: always unknown. */
	int (*waves)(struct gp__node_sched *node, void *queue);
	/*
	 * Holds some queues and releases others, for the scheduler: gp__node_each() of both lists,
	 * which stay as they are. Sets the result of each that fails to -errno. A queue that could
	 * not be held is not held; one that is to be released need not be held.
	 */
	void (*change)(struct gp__node_sched *node, struct gp__link *hold,
		       struct gp__link *release);
	/* A queue has work, or none any more. NULL: nobody wants to know. */
	void (*saw)(struct gp__node_sched *node, const struct gp__node_queue *queue);
};

#define GP__NODE_POLICIES 3

struct gp__node_sched {
	const struct gp__node_driver *driver;
	u32 id;
	bool is_enabled; /* the core knows of the groups */
	bool is_paused; /* the GPU is suspended, or is reset: nothing is looked at or done */
	u32 period_us, grace_us;
	u32 last_id; /* of groups and queues */
	u32 nr_groups, nr_queues;
	u32 nr_idle_ticks; /* looks in a row in which no queue had work, up to a few */
	u64 nr_ticks;
	u64 params[GP__NODE_POLICIES][GP__POLICY_PARAMS_MAX]; /* of each policy (policies.c) */
	struct gp__link groups, users;
	struct gp__core core;
	struct gp__dev dev;
	struct gp__log_keep log;
};

/* A user with groups, which the core divides between first. */
struct gp__node_user {
	struct gp__link link;
	u32 id;
	u32 nr_groups;
	struct gp__owner core;
};

struct gp__node_group {
	struct gp__link link, queues;
	struct gp__node_user *user;
	void *program; /* the driver's */
	u32 pid;
	bool is_given; /* its queues have a logical priority */
	s32 priority; /* the highest of its queues */
	u32 id;
	char tag[GP__TAG_MAX];
	struct gp__entity core;
};

struct gp__node_queue {
	struct gp__link link; /* of its group's */
	struct gp__link action; /* in a list of change() */
	struct gp__node_group *group;
	void *queue; /* the driver's */
	u32 asked; /* the priority that the program wants */
	s32 priority; /* the one that it is granted */
	s32 own;
	u32 id;
	int result; /* of change() */
	bool is_seen; /* its ring could be read at least once */
	bool is_ready; /* as the core was told */
	u64 waves_at; /* when the driver was last asked */
	u64 failed_at; /* when it could last not be held or released */
	struct gp__ring_place place;
	struct gp__ring ring;
	struct gp__ring_sight sight;
	struct gp__queue core;
};

#define gp__node_each(q, list)                                                \
	for ((q) = container_of((list)->next, struct gp__node_queue, action); \
	     &(q)->action != (list);                                          \
	     (q) = container_of((q)->action.next, struct gp__node_queue, action))

/* @log keeps the decisions; its text is the caller's. */
void gp__node_init(struct gp__node_sched *node, const struct gp__node_driver *driver, u32 id,
		   const struct gp__log_keep *log);

/* A queue's own priority among those of its program: -1, 0 or 1. */
s32 gp__node_own(u32 hardware);
/* In the logical priority of a new queue: the queue's own priority is added to it. */
#define GP__NODE_SPLIT (1u << 31)
/*
 * The wish of a queue. @logical is as CREATE_QUEUE has it: one more than the logical priority, 0:
 * none was given.
 */
u32 gp__node_asked(u32 logical, u32 hardware);
/* More than normal needs a right, as it does for processes. */
s32 gp__node_granted(u32 asked, bool may_be_urgent);

struct gp__node_options {
	void *queue, *program; /* the driver's */
	u32 pid, user; /* user: the id of the program's user */
	const char *tag; /* copied */
	bool is_given; /* the program gave a logical priority */
	u32 asked;
	s32 priority, own;
	struct gp__ring_place place;
};

/* NULL: there is no memory, and the queue is not scheduled. */
struct gp__node_queue *gp__node_add(struct gp__node_sched *node, const struct gp__node_options *o);
/* The queue stays held, if it is. */
void gp__node_remove(struct gp__node_sched *node, struct gp__node_queue *q);
/* A queue with another logical priority changes its group, and is released. As gp__node_add(). */
struct gp__node_queue *gp__node_update(struct gp__node_sched *node, struct gp__node_queue *q,
				       const struct gp__node_options *o);
/* The first queue of a program; NULL: it has none. */
struct gp__node_queue *gp__node_of_program(struct gp__node_sched *node, const void *program);

/* Releases all queues. When it is enabled the core begins anew, with the parameters that it had. */
void gp__node_enable(struct gp__node_sched *node, bool enable);

/* When a pause ends, queues that could not be held are tried again. */
void gp__node_pause(struct gp__node_sched *node, bool pause);

/* Looks and acts, unless it is paused or disabled. */
void gp__node_tick(struct gp__node_sched *node);
/* For how long nothing has to be looked at; GP__NEVER: until something changes. */
u64 gp__node_wait_ns(struct gp__node_sched *node);
/* The time between looks now; 0: there are none, because nothing is to be decided. */
u32 gp__node_interval_us(const struct gp__node_sched *node);

/*
 * files.c: what an administrator sees and sets, by its place in one list: that of the node, then
 * the parameters of the core and of the policies. All are numbers but one, which is the name of the
 * policy: its number is 0.
 */
u32 gp__node_nr_files(const struct gp__node_sched *node);
#define GP__NODE_FILES_MAX (9 + GP__CFG_COUNT + GP__NODE_POLICIES * GP__POLICY_PARAMS_MAX)
const char *gp__node_file_name(const struct gp__node_sched *node, u32 file);
bool gp__node_file_is_writable(const struct gp__node_sched *node, u32 file);
/* Its place; -ENOENT. */
int gp__node_file_find(const struct gp__node_sched *node, const char *name);
u64 gp__node_show(const struct gp__node_sched *node, u32 file);
/* 0, -EINVAL or -ERANGE; -EACCES: it is not writable. */
int gp__node_store(struct gp__node_sched *node, u32 file, u64 value);
bool gp__node_file_is_policy(u32 file);

/* The policy that decides. Another one begins with what is there; 0 or -EINVAL: there is none. */
const char *gp__node_policy(const struct gp__node_sched *node);
int gp__node_set_policy(struct gp__node_sched *node, const char *name, size_t len);

/* Names of the files of a queue; the list ends with NULL. */
extern const char *const gp__node_queue_files[];

struct gp__node_value {
	enum { GP__NODE_NUMBER, GP__NODE_SIGNED, GP__NODE_TEXT, GP__NODE_IDS } kind;
	u64 number;
	s64 value; /* GP__NODE_SIGNED */
	const char *text;
	u32 group, queue; /* GP__NODE_IDS, as the log has them: "e%u q%u" */
};

/* 0; -ENODATA: it is not known; -ENOENT: there is no such file. */
int gp__node_queue_show(struct gp__node_sched *node, const struct gp__node_queue *q,
			const char *name, struct gp__node_value *v);

#endif
