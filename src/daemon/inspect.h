/* SPDX-License-Identifier: MIT */
/*
 * A thread that inspects joined processes for the scheduling thread: which devices they have open,
 * and whether they are stopped. It does nothing unless asked.
 *
 * The scheduling thread never waits for it: questions and answers are in lists under a mutex that
 * is never held during a system call, and an eventfd says that there are answers. A process is in
 * at most one list, so the lists are as long as there are processes. Whether a process is stopped
 * is asked about few processes and answered first. Scans for devices take longer: users take turns,
 * and a user's scans get at most a tenth of the thread's time.
 */
#ifndef GP__DAEMON_INSPECT_H
#define GP__DAEMON_INSPECT_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/cond.h"
#include "core/list.h"
#include "daemon/procfs.h"

#define GP__PATTERNS_MAX 256

/* Questions about a process. */
#define GP__ASK_DEVICES 1
#define GP__ASK_STOPPED 2

/* A process that is inspected. The lock of the inspector protects what is not constant. */
struct gp__inspection {
	struct gp__link link; /* in one of the inspector's lists, or in none */
	pid_t pid;
	int pidfd; /* its own */
	uid_t uid;
	void *program; /* for the caller */
	bool busy; /* the thread inspects it */
	bool ended; /* the thread frees it */
	u8 asked, answered; /* GP__ASK_... */
	/* Of the answers: */
	bool stopped;
	int err; /* why the devices cannot be found; 0: they are */
	struct gp__devices *devices;
};

/* A user whose scans have used up their part of the thread's time until then. */
struct gp__pace {
	uid_t uid;
	u64 until;
};

#define GP__PACES_MAX 64

struct gp__inspector {
	pthread_t thread;
	pthread_mutex_t lock;
	struct gp__cond wake;
	bool runs, ends;
	int answers_fd; /* an eventfd; -1: not open */
	/* To be asked whether it is stopped; to be scanned only; answered. */
	struct gp__link to_check, to_scan, answered;
	char patterns[GP__PATTERNS_MAX]; /* of the device files */
	bool repatterned; /* since the thread has looked for devices */
	/* Of the thread alone: */
	struct gp__freezers freezers;
	struct gp__devices *devices; /* of the machine */
	u64 devices_at;
	uid_t last_uid; /* whose process was scanned last */
	struct gp__pace pace[GP__PACES_MAX];
};

/* 0 or -errno; the thread starts with the first question. @in: all zero. */
int gp__inspector_open(struct gp__inspector *in);
/* All inspections must have ended. */
void gp__inspector_close(struct gp__inspector *in);
/* Sets the glob patterns of device files, which blanks separate. */
void gp__inspector_configure(struct gp__inspector *in, const char *patterns);

/* NULL: out of memory or of descriptors, or the thread cannot be started. */
struct gp__inspection *gp__inspection_begin(struct gp__inspector *in, pid_t pid, int pidfd,
					    uid_t uid, void *program);
/* After this, no answer refers to the program. */
void gp__inspection_end(struct gp__inspector *in, struct gp__inspection *i);
void gp__inspection_ask(struct gp__inspector *in, struct gp__inspection *i, u8 what);

struct gp__inspection_answer {
	void *program;
	u8 what; /* GP__ASK_... */
	bool stopped;
	int err;
	struct gp__devices *devices; /* the caller frees them; NULL if @err */
};

/* False: there is no answer left. */
bool gp__inspection_take(struct gp__inspector *in, struct gp__inspection_answer *a);

#endif
