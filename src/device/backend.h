/* SPDX-License-Identifier: MIT */
/*
 * The interface between gpreempt and the ways of reaching GPUs: each folder in src/device exports
 * one struct gp__backend, and join/backends.c lists them. Everything that concerns all GPUs loops
 * over that list: the preload, the agent, `gpreempt probe`, `doctor`, `ps` and the summary. So a
 * new backend is a folder and a line; a runtime whose launches are to be seen exactly has a folder
 * in src/join as well.
 *
 * A backend works in two places. In a joined program it recognises the program's calls, reports
 * queues and their work through a port, and holds and releases queues. On the command line it
 * reports which GPUs there are, what they can do, and what is wrong. A function that is NULL means
 * that the backend does not have it.
 */
#ifndef GP__DEVICE_BACKEND_H
#define GP__DEVICE_BACKEND_H

#include "device/report.h"
#include "device/request.h"

/*
 * Queues of a program
 */

struct gp__queue_desc {
	u32 id; /* unique among those of this backend in this program */
	u32 level; /* the effective one */
	s32 own; /* the program's own priority for it among its queues: -1, 0 or 1 */
	bool has_own; /* it is known */
	u32 weigh_flags; /* GP__WIRE_CAN_WEIGH, GP__WIRE_CAN_YIELD */
	char device[GP__WIRE_DEVICE_MAX]; /* identifies the GPU, the same in every program */
	char device_name[GP__WIRE_NAME_MAX];
	u64 device_memory; /* 0: unknown */
};

/*
 * The orders that a backend carries out. The agent's thread calls them, without a lock; holding may
 * take as long as a kernel that is drained.
 */
struct gp__queue_ops {
	/* Holds or releases queues, in one step if the device can. Each result is 0 or -errno;
	 * -ENOENT: the queue is gone. A queue whose hold failed runs. */
	void (*hold)(void *state, const u32 *ids, int *results, size_t n);
	void (*release)(void *state, const u32 *ids, int *results, size_t n);
	int (*weigh)(void *state, u32 id, u32 weight);
	/* How much memory of a GPU, gp__queue_desc.device, the program uses. False: that is not
	 * known. NULL: it never is. Called after gp__port_memory(). */
	bool (*memory)(void *state, const char *device, u64 *bytes);
	/* Whether no other program is on this program's GPUs. Otherwise work has to be seen soon.
	 * Called when the daemon knows, and with true when the daemon is gone. */
	void (*alone)(void *state, bool alone);
};

/*
 * A backend's connection to the agent of its process. Any thread may call these functions; none of
 * them waits for the daemon.
 */
struct gp__port {
	const struct gp__port_ops *ops;
	const struct gp__request *request;
};

struct gp__port_ops {
	/* The request's priority, tag and level are the queue's. 0 or -errno. */
	int (*add)(struct gp__port *port, const struct gp__queue_desc *queue);
	void (*remove)(struct gp__port *port, u32 id);
	/* The program gave one of its queues another priority: -1, 0 or 1. */
	void (*prioritize)(struct gp__port *port, u32 id, s32 own);
	/* The queue runs although it was to be held: the daemon is told, and orders it again. */
	void (*lost)(struct gp__port *port, u32 id);
	/* How work is seen in the queue; initially by polling. */
	void (*sees)(struct gp__port *port, u32 id, enum gp__wire_sees sees);
	/* GP__WIRE_NOTE_...: from now on this is true of the queue. */
	void (*note)(struct gp__port *port, u32 id, u32 note);
	/* @at: when the work was seen, or since when there is none. */
	void (*work)(struct gp__port *port, u32 id, bool has_work, u32 pending, u64 at);
	/* The program has allocated or freed memory of its GPUs. */
	void (*memory)(struct gp__port *port);
	/*
	 * A sentence for the program's user. Each port prints only its first, and the first one
	 * that says that something of the program is not scheduled.
	 */
	void (*say)(struct gp__port *port, const char *text, bool unscheduled);
};

static inline int gp__port_add(struct gp__port *port, const struct gp__queue_desc *queue)
{
	return port->ops->add(port, queue);
}

static inline void gp__port_remove(struct gp__port *port, u32 id)
{
	port->ops->remove(port, id);
}

static inline void gp__port_prioritize(struct gp__port *port, u32 id, s32 own)
{
	port->ops->prioritize(port, id, own);
}

static inline void gp__port_lost(struct gp__port *port, u32 id)
{
	port->ops->lost(port, id);
}

static inline void gp__port_sees(struct gp__port *port, u32 id, enum gp__wire_sees sees)
{
	port->ops->sees(port, id, sees);
}

static inline void gp__port_note(struct gp__port *port, u32 id, u32 note)
{
	port->ops->note(port, id, note);
}

static inline void gp__port_work(struct gp__port *port, u32 id, bool has_work, u32 pending, u64 at)
{
	port->ops->work(port, id, has_work, pending, at);
}

static inline void gp__port_memory(struct gp__port *port)
{
	port->ops->memory(port);
}

static inline void gp__port_say(struct gp__port *port, const char *text)
{
	port->ops->say(port, text, false);
}

/* @text: why the program, or a queue of it, runs unscheduled. */
static inline void gp__port_say_unscheduled(struct gp__port *port, const char *text)
{
	port->ops->say(port, text, true);
}

/*
 * Joining a program
 */

/* As ioctl(): a result, or -1 with errno. */
typedef int gp__ioctl_fn(int fd, unsigned long request, void *argument);

struct gp__program_ops {
	/* Whether the backend looks at calls with this number: cheap, no system call. */
	bool (*wants)(unsigned long request);
	/* Whether the descriptor is one of the backend's devices. */
	bool (*is_device)(int fd);
	/* The program uses the backend for the first time. @port is NULL in a program that is not
	 * joined; @next passes calls on. 0, or -errno and a sentence in @why. With *@state NULL the
	 * backend has nothing to do in this program. */
	int (*create)(struct gp__port *port, gp__ioctl_fn *next, void **state,
		      char why[GP__WIRE_TEXT_MAX]);
	/* A call of the program, carried out; as ioctl(). */
	int (*ioctl)(void *state, int fd, unsigned long request, void *argument);
	/* The process is a new child after fork(): it has no queues and no threads. */
	void (*forget)(void *state);
	/* The program announced work for @at, CLOCK_MONOTONIC; 0: no longer. @accepted: the daemon
	 * was told. */
	void (*announced)(void *state, u64 at, bool accepted);
	/* The process ends; libraries of the program are still there. */
	void (*exit)(void *state);
	struct gp__queue_ops queue;
};

struct gp__backend {
	const char *name; /* "amd" */
	const char *text; /* its description, for people */
	const char *missing; /* reason why this build does not have it; NULL: it has */
	const struct gp__program_ops *program; /* NULL: a library of its own joins programs */
	/* Whether OpenCL queues of this platform reach the GPU through the backend's own queues. */
	bool (*is_beneath)(const char *opencl_platform);
	/* How many GPUs there are, or -errno. */
	int (*count)(void);
	/* Tries out what the @nth of them can do, and measures it. */
	void (*probe)(int nth, const struct gp__files *files, struct gp__probe_report *report);
	/* Adds its findings to @checks. */
	void (*doctor)(struct gp__checks *checks);
	/* Calls @add for each queue that the kernel schedules itself. */
	void (*kernel_queues)(gp__kernel_queue_fn *add, void *data);
};

#endif
