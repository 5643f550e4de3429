/* SPDX-License-Identifier: MIT */
/*
 * libgpreempt: queues of device commands that can be taken off the device and
 * put back, and a scheduler that does so by priority within one process.
 *
 * A queue stands over one hardware queue, which you describe with a table of
 * functions (struct gp_device_ops). The functions in it decide the level:
 *
 *	level 1  nlaunch, sync           nothing new is handed over
 *	level 2  deactivate, reactivate  running work finishes, nothing new starts
 *	level 3  interrupt, restore      running work is taken off the device
 *
 * You ask for a level and get the best there is up to it; both can be read at
 * any time. A suspend says which level it used and whether anything may still
 * be running.
 *
 * Conventions:
 *  - functions that can fail return 0 or a negative errno value, and put a
 *    sentence for people into *err where one is passed (it may be NULL);
 *  - times are nanoseconds; points in time are of CLOCK_MONOTONIC; a negative
 *    timeout means no limit, 0 means do not wait;
 *  - option structs begin with their size: start from GP_..._INIT, in which
 *    everything is zero, and zero means the default. A struct from an older
 *    header is accepted; one from a newer header is accepted as long as what
 *    this library does not know is zero, and refused with -E2BIG otherwise;
 *  - every function may be called from any thread and in any state of the
 *    queue, but not with a handle that has been destroyed;
 *  - a child after fork() must not use its parent's handles: the threads that
 *    serve them do not exist there. Signals are left to the program's threads.
 *
 * The header is C89 and C++.
 */
#ifndef GPREEMPT_GPREEMPT_H
#define GPREEMPT_GPREEMPT_H

#include <stddef.h>
#include <stdint.h>

#define GP_VERSION_MAJOR 0
#define GP_VERSION_MINOR 2
#define GP_VERSION_PATCH 0

#if defined(__GNUC__)
#define GP_API __attribute__((visibility("default")))
#else
#define GP_API
#endif

/*
 * Only the size is set; the rest is zero, which means the default. The forms
 * differ so that none makes a compiler warn about what is left out.
 */
/* clang-format off */
#if defined(__cplusplus)
template <typename T> static inline T gp_init()
{
	T options = T();

	options.size = sizeof(T);
	return options;
}
#define GP_INIT(type) gp_init<type>()
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L
#define GP_INIT(type) { .size = sizeof(type) }
#elif defined(__GNUC__)
#define GP_INIT(type) __extension__(type){ .size = sizeof(type) }
#else
#define GP_INIT(type) { sizeof(type) }
#endif
/* clang-format on */

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library at run time, as "0.2.0". */
GP_API const char *gp_version(void);

#define GP_ERROR_MAX 256

struct gp_error {
	int code; /* 0 or a negative errno value, as returned */
	char message[GP_ERROR_MAX];
};

/*
 * The functions of a hardware queue. hwq and cmd are yours; the library only passes them on. All
 * functions return 0 or a negative errno value.
 *
 * The library never calls two of these at once for one queue, except sync, which may run beside any
 * other. None may call back into the library. Commands complete in the order launched.
 */
struct gp_device_ops {
	size_t size;

	/* Hand a command over without waiting for it. Must not block. */
	int (*nlaunch)(void *hwq, void *cmd);
	/*
	 * Wait until a launched command has ended and return its result. Called
	 * once for each command launched; for one that has ended, it returns at
	 * once. -EINTR means it was disturbed and is to be called again.
	 */
	int (*sync)(void *hwq, void *cmd);

	/*
	 * Level 2 and level 3; each pair may be missing. On failure the queue must be as it was.
	 * -EOPNOTSUPP, -ENOSYS, -EPERM and -ENOTTY mean that it will never work, and the next level
	 * takes its place. After -ETIMEDOUT it is unknown whether the queue will be held after all,
	 * so the counterpart is called: 0 or, if the queue was running, -EALREADY.
	 */
	int (*deactivate)(void *hwq);
	int (*reactivate)(void *hwq);
	int (*interrupt)(void *hwq);
	int (*restore)(void *hwq);

	/* Optional: a share of the device's time, 0 = its default. */
	int (*weigh)(void *hwq, uint32_t weight);
	/* Optional: how many of the launched commands have not begun. */
	int64_t (*pending)(void *hwq);
};

#define GP_DEVICE_OPS_INIT GP_INIT(struct gp_device_ops)

/* Priorities are integers, larger is more urgent. */
#define GP_PRIORITY_OFFLINE 2
#define GP_PRIORITY_NORMAL 7
#define GP_PRIORITY_ONLINE 15

/* ------------------------------------------------------------ scheduler -- */

struct gp_sched;

/*
 * Gets each line of the decision log, with its newline, in order. People can read the lines, and
 * gpreempt sim --replay replays them. Called with locks held, from the thread that met the event:
 * it must not call into the library, and all queues wait for it.
 */
typedef void (*gp_log_fn)(void *data, const char *line);

struct gp_sched_options {
	size_t size;
	const char *policy; /* NULL: "hpf" */
	const char *params; /* "name=value ...", of the policy or the core */
	gp_log_fn log; /* NULL: nothing is logged */
	void *log_data;
};

#define GP_SCHED_OPTIONS_INIT GP_INIT(struct gp_sched_options)

/*
 * Schedules the queues created with it among each other. It owns two threads, started with its
 * first queue, and starts more, eight in all, while several devices are slow to hold or release a
 * queue.
 */
GP_API int gp_sched_create(const struct gp_sched_options *options, struct gp_sched **sched,
			   struct gp_error *err);
/*
 * Changes the policy, keeping all state, or parameters of the current one (policy NULL). A
 * parameter that is not named keeps its value; those of another policy begin at their defaults.
 * -ENOENT, -EINVAL, -ERANGE: no such policy, parameter or value; nothing changed.
 */
GP_API int gp_sched_set_policy(struct gp_sched *sched, const char *policy, const char *params,
			       struct gp_error *err);
/* -EBUSY while queues still belong to it. NULL is ignored. */
GP_API int gp_sched_destroy(struct gp_sched *sched);

/* --------------------------------------------------------------- queues -- */

struct gp_queue;

enum gp_event_kind {
	GP_EVENT_FALLBACK = 1, /* the effective level has changed */
	GP_EVENT_SUSPEND_FAILED = 2, /* the queue keeps running */
	GP_EVENT_RESUME_FAILED = 3, /* still held; the library retries */
	GP_EVENT_RESUME_RECOVERED = 4 /* such a retry succeeded */
};

struct gp_event {
	size_t size;
	int kind; /* enum gp_event_kind */
	int error; /* negative errno value, or 0 */
	int level; /* effective level now */
	const char *message;
};

/*
 * Called without any lock held, from the thread that met the event. It may call anything but
 * gp_queue_destroy() of its own queue, which would wait for it.
 */
typedef void (*gp_event_fn)(void *data, const struct gp_event *event);

/* Flags of struct gp_queue_options. */
#define GP_QUEUE_STRICT_LEVEL 0x1u /* this level or none; see `level` */

struct gp_queue_options {
	size_t size;
	int level; /* 1 to 3; 0: the best the device has */
	uint32_t flags; /* GP_QUEUE_... */
	uint32_t window; /* level 1: most commands in flight; 0: tuned */
	uint32_t batch; /* most commands awaited at once; 0: tuned */
	uint64_t budget_ns; /* tune for a drain no longer; 0: 500 us */
	uint32_t wide_window; /* window of levels 2 and 3; 0: 1024 */
	uint32_t max_pending; /* most commands not launched; 0: no limit */
	const char *name; /* for messages; copied; NULL: "queue" */
	gp_event_fn event; /* NULL: events are only counted */
	void *event_data;

	struct gp_sched *sched; /* NULL: only you suspend and resume it */
	uint32_t device; /* queues compete with those of the same device */
	int priority; /* 0: GP_PRIORITY_NORMAL */
	/*
	 * Queues of one device, priority and tag are held and released as one, so that queues that
	 * wait for each other cannot deadlock. NULL and "" are the same tag.
	 */
	const char *tag;
	/* Bytes of memory that the device has, for GP_HINT_MEMORY; 0: unknown. Of the queues of a
	 * device, the first one's counts. */
	uint64_t device_memory;
};

#define GP_QUEUE_OPTIONS_INIT GP_INIT(struct gp_queue_options)

GP_API int gp_queue_create(const struct gp_device_ops *ops, void *hwq,
			   const struct gp_queue_options *options, struct gp_queue **queue,
			   struct gp_error *err);

/*
 * Resumes the queue if it is suspended, cancels what was not launched, waits for what is in flight,
 * and wakes all waiting threads. NULL is ignored.
 */
GP_API void gp_queue_destroy(struct gp_queue *queue);

/*
 * Adds a command; its ticket goes to *ticket, which may be NULL. An error of
 * the launch is the command's result and is returned by gp_queue_wait().
 * -EAGAIN: max_pending commands are waiting. -ESHUTDOWN: being destroyed.
 */
GP_API int gp_queue_submit(struct gp_queue *queue, void *cmd, uint64_t *ticket);

/*
 * Waits for one command and returns its result: 0 or the error of its launch
 * or sync. -ETIME: not ended in time. -ECANCELED: the queue was destroyed
 * before it was launched. -EINVAL: no such ticket. -ESTALE: ended long ago,
 * and since then so many others failed that its result is forgotten.
 */
GP_API int gp_queue_wait(struct gp_queue *queue, uint64_t ticket, int64_t timeout_ns);
/*
 * Waits until everything submitted before the call has ended, well or badly;
 * -ETIME or -ECANCELED as above.
 */
GP_API int gp_queue_wait_all(struct gp_queue *queue, int64_t timeout_ns);

/* Flags of gp_queue_suspend(). */
#define GP_SUSPEND_DRAIN 0x1u /* return only when nothing runs any more */

struct gp_suspend_result {
	size_t size;
	int level; /* how it is held now: 1 to 3 */
	int may_run; /* 1: commands in flight may still be running */
	uint64_t took_ns;
};

#define GP_SUSPEND_RESULT_INIT GP_INIT(struct gp_suspend_result)

/*
 * Launches nothing until gp_queue_resume(); suspending twice is suspending once. Commands can still
 * be submitted. On an error the queue keeps running, except after -ETIME: it is suspended, but was
 * not seen to be drained within the timeout, which only matters with GP_SUSPEND_DRAIN. -ECANCELED:
 * resumed or destroyed meanwhile. -EOPNOTSUPP with DRAIN: held at level 2 already, and the device
 * cannot tell when the running command ends.
 */
GP_API int gp_queue_suspend(struct gp_queue *queue, uint32_t flags, int64_t timeout_ns,
			    struct gp_suspend_result *result, struct gp_error *err);

/*
 * On an error the device has refused to release the queue for now; the library retries with growing
 * pauses until it succeeds, so there is no need to call again.
 */
GP_API int gp_queue_resume(struct gp_queue *queue, struct gp_error *err);

enum gp_queue_state {
	GP_QUEUE_RUNNING = 0,
	GP_QUEUE_SUSPENDING = 1,
	GP_QUEUE_SUSPENDED = 2,
	GP_QUEUE_RESUMING = 3
};

struct gp_queue_stats {
	size_t size;
	int level_requested;
	int level_effective;
	int state; /* enum gp_queue_state */
	int last_error; /* of the latest suspend or resume that failed */
	uint64_t pending; /* submitted, not launched */
	uint64_t inflight; /* launched, not seen to have ended */
	uint64_t submitted;
	uint64_t launches;
	uint64_t completed; /* well or badly */
	uint64_t failed; /* badly */
	uint64_t suspends;
	uint64_t resumes;
	uint64_t fallbacks;
	uint64_t suspend_failures;
	uint64_t resume_retries;
	uint64_t last_suspend_ns; /* valid if suspends > 0 */
	uint64_t command_ns; /* estimate of one command; 0: not measured */
	uint32_t window;
	uint32_t batch;
};

#define GP_QUEUE_STATS_INIT GP_INIT(struct gp_queue_stats)

/* Set stats->size first, as GP_QUEUE_STATS_INIT does. */
GP_API int gp_queue_stats(struct gp_queue *queue, struct gp_queue_stats *stats);

/* ---------------------------------------------------------------- hints -- */

enum gp_hint {
	GP_HINT_PRIORITY = 1, /* larger is more urgent */
	GP_HINT_WEIGHT = 2, /* relative; 100 is usual */
	GP_HINT_SHARE = 3, /* percent of the device, 1 to 100 */
	GP_HINT_MIN_SHARE = 4, /* percent it is never denied, 1 to 100 */
	GP_HINT_DEADLINE = 5, /* ns from getting work to having done it */
	GP_HINT_MAX_HOLD = 6, /* ns it may be held at a stretch */
	/* Bytes of device memory that the queue and the others of its tag and priority use, for the
	 * policy drf; needs device_memory in the options of the device's first queue. */
	GP_HINT_MEMORY = 7
};

/*
 * Tells the scheduler something about the queue and the others of its tag and
 * priority; only a priority is the queue's own. 0 takes a hint back, except a
 * priority. Checked, and without effect, where there is no scheduler. -EINVAL or
 * -ERANGE: no such hint or value; -EOPNOTSUPP: GP_HINT_MEMORY on a device whose memory is not
 * known. Nothing changed.
 */
GP_API int gp_queue_hint(struct gp_queue *queue, enum gp_hint hint, int64_t value,
			 struct gp_error *err);
/*
 * Announces work for when_ns, so that there is room when it arrives. Room is kept until the work
 * has arrived, gp_hint_over() is called, or a limit of the scheduler is reached (arrive_grace_ms
 * after when_ns). A time that has passed, and 0, mean now.
 *
 * With queue NULL the announcement is about all that this program does on GPUs, and goes to
 * gpreemptd, in a program that `gpreempt run` started; it need not use this library's queues. The
 * call does not wait. -ENOTCONN: the program is not joined, or there is no daemon; -ENODEV: it has
 * nothing on a GPU yet. Neither needs any handling: the work is as urgent as ever, and only begins
 * later. On NVIDIA GPUs the calling thread's CUDA context is loaded just before that time; it must
 * live until gp_hint_over(), which waits up to a second while that is being done.
 */
GP_API int gp_hint_arriving(struct gp_queue *queue, uint64_t when_ns);
/* The announced work is done, or will not arrive. Returns as gp_hint_arriving(). */
GP_API int gp_hint_over(struct gp_queue *queue);
/*
 * How far ahead of work to announce it, in nanoseconds: nearly all holds have lately been done
 * within that time. It changes as they do, so a program asks before each announcement; that costs
 * about as much as the announcement. 0: nothing would be held, or it is not known. Returns as
 * gp_hint_arriving(), or -EINVAL without ns.
 */
GP_API int gp_hint_lead_time(struct gp_queue *queue, uint64_t *ns);

/* ---------------------------------------------------------------- gangs -- */

/*
 * Makes this program, which `gpreempt run` started, a member of its user's gang of this name, as
 * `gpreempt run --gang` does: its members run together or not at all. With `members` not 0, at most
 * 64, the gang waits until that many programs have joined, but for 30 s at most; its members are
 * held meanwhile. Call it before the program's first work on a GPU. The call does not wait; what
 * the daemon refuses is said on standard error. A program stays in its gang until it ends; a child
 * after fork() is a member of its own.
 *
 * -EINVAL: the name is not 1 to 31 characters without blanks, ':' and '=', or the number is too
 * large. -EBUSY: the program is in another gang. -ENOTCONN: it is not joined.
 */
GP_API int gp_gang_join(const char *name, uint32_t members);

#ifdef __cplusplus
}
#endif

#endif
