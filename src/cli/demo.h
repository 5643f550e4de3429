/* SPDX-License-Identifier: MIT */
/*
 * gpreempt demo: an online and an offline program on one emulated GPU, alone, together, and under
 * gpreempt. demo_stage.c runs them, demo_trace.c reads the trace of the machine and the decisions
 * of the scheduler, demo_figures.c computes figures, and demo.c and demo_report.c show them.
 */
#ifndef GP_CLI_DEMO_H
#define GP_CLI_DEMO_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/env.h"
#include "cli/process.h"

enum demo_who { DEMO_ONLINE, DEMO_OFFLINE, DEMO_PROGRAMS };

/* Times are in nanoseconds of the host's monotonic clock, unless they are the device's. */
struct demo_request {
	uint64_t arrived, answered;
	uint64_t device_arrived, device_answered;
	/* For the answer of a language model; other answers have no tokens. */
	uint64_t first, device_first, tokens, digest;
};

struct demo_step {
	uint64_t ended, digest;
};

struct demo_span {
	uint64_t from, to;
};

struct demo_requests {
	struct demo_request *at;
	size_t n;
};

struct demo_steps {
	struct demo_step *at;
	size_t n;
};

struct demo_spans {
	struct demo_span *at;
	size_t n;
};

/* A line of the machine's trace. */
struct demo_change {
	uint64_t host, device;
	/* For a line of the GPU: how long it was busy before, by the device's and the host's clock.
	 */
	uint64_t busy, busy_host;
	enum demo_who who; /* of a program's */
	bool on;
};

struct demo_changes {
	struct demo_change *at;
	size_t n;
};

/* With fewer requests there is no p99. */
#define DEMO_P99_REQUESTS 100

struct demo_figures {
	bool has_p99; /* else those of p99 and x_alone are 0 */
	double p50_ms, p99_ms; /* wall */
	double p50_device_ns, p99_device_ns, x_alone;
	/* For a language model: the time to the first token, and the rate of the other tokens. */
	double first_p50_ms, first_p99_ms, first_p50_device_ns, first_p99_device_ns;
	double tokens_per_s, token_device_ns;
	double steps_per_s, kept_pct;
	bool identical;
	uint64_t preemptions;
};

/* A way to run the two programs, and its results. */
struct demo_mode {
	const char *name, *title;
	int level; /* at which they are scheduled; 0: they are not */
	bool needs_drain; /* a driver that drains: gpreempt's series, with amdgpu.sched_policy=2 */
	bool apart; /* one after the other */
	bool on_gpu; /* on the GPU of this host: there is no trace, and device time is wall time */

	char unsupported[256]; /* why it cannot run here; "": it can */
	pid_t pid[DEMO_PROGRAMS];
	struct demo_requests requests;
	struct demo_steps steps;
	struct demo_changes gpu, programs; /* of the trace: the GPU as a whole, and its programs */
	/*
	 * When the online program has work, on the GPU or waiting; @busy is how long the GPU was
	 * busy in such times.
	 */
	struct demo_changes work;
	struct demo_spans on[DEMO_PROGRAMS]; /* the same as spans */
	struct demo_spans held; /* the offline program, by the scheduler's decisions */
	struct demo_figures figures;
};

/* Appends a zeroed item of @size to the @n at @items; NULL: out of memory. */
void *demo_append(void *items, size_t *n, size_t size);
#define DEMO_APPEND(list) \
	(((list)->at = demo_append((list)->at, &(list)->n, sizeof(*(list)->at))) != NULL)
#define DEMO_LAST(list) (&(list)->at[(list)->n - 1])

/*
 * The stage
 */

/* llama.cpp in place of the demo's own programs. */
struct demo_llm {
	char runner[PATH_MAX], driver[PATH_MAX], maker[PATH_MAX];
	char folder[PATH_MAX]; /* of its packages */
};

struct demo_stage {
	struct gp__env *env;
	const struct demo_llm *llm; /* NULL: the demo's own programs */
	bool on_gpu; /* the GPU of this host, in place of a machine of our own */
	uint64_t requests;
	uint64_t step_ns; /* how long a step of the trainer is to take; 0: as it is */
	char groups[24], rounds[24]; /* the work of a step */
	char folder[64]; /* "": none yet */
	char self[PATH_MAX], file[DEMO_PROGRAMS][PATH_MAX], daemon_file[PATH_MAX];
	char machine[64], machine_dir[PATH_MAX], trace[PATH_MAX], decisions[PATH_MAX];
	char model[PATH_MAX], socket[DEMO_PROGRAMS][PATH_MAX]; /* of llama.cpp */
	pid_t machine_pid;
	struct process program[DEMO_PROGRAMS], daemon;
};

/* The default folder of the packages. */
int demo_llm_default_folder(struct gp__env *env, char folder[PATH_MAX]);
/*
 * Finds llama.cpp in @folder, or downloads it with @download. 0, or an exit status after an error
 * message: DEMO_NO_PACKAGES if the packages are missing or cannot be downloaded.
 */
#define DEMO_NO_PACKAGES 77
int demo_llm_open(struct demo_llm *l, struct gp__env *env, const char *folder, bool download);

/* Finds the programs, and makes a folder. 0, or an exit status after an error message. */
int demo_stage_open(struct demo_stage *s, struct gp__env *env, const struct demo_llm *llm,
		    uint64_t requests, bool on_gpu, uint64_t step_ns);
/* Ends all processes and removes the folder. May be called at any time. */
void demo_stage_close(struct demo_stage *s);
/* Runs the mode, and sets everything but its figures. */
int demo_stage_run(struct demo_stage *s, struct demo_mode *m);
/* Computes on the host the digests that so many steps, and a model's answers, must have. */
int demo_stage_expect(struct demo_stage *s, uint64_t steps, struct demo_mode *host);

/*
 * Results
 */

/* @why: a sentence if the trace is incomplete. */
bool demo_trace_read(struct demo_mode *m, const char *path, char *why, size_t size);
bool demo_decisions_read(struct demo_mode *m, const char *path);
/* How long the GPU was busy until @device, both by its own clock. */
uint64_t demo_busy_at(const struct demo_mode *m, uint64_t device_ns);
/* The same while the online program had work. */
uint64_t demo_busy_for_at(const struct demo_mode *m, uint64_t device_ns);
/* The same until a time of the host's, by both clocks. */
struct demo_busy {
	double device, host;
};
struct demo_busy demo_busy_until(const struct demo_mode *m, uint64_t host_ns);

/* @alone is the first of the modes. */
void demo_figures_make(struct demo_mode *m, const struct demo_mode *alone,
		       const struct demo_mode *host);
/* Whether the slowest requests take less device time at level 3 than without gpreempt; also true
 * where one of the modes is not there or has no p99. */
bool demo_is_better(const struct demo_mode *modes, size_t n, double *native, double *lv3);
/* The wall and device time of each request, in order of arrival. */
uint64_t demo_device_ns(const struct demo_mode *m, const struct demo_request *r);
void demo_mode_free(struct demo_mode *m);

/*
 * Showing it
 */

json_t *demo_json(const struct demo_mode *modes, size_t n);
/* 0 or -errno. */
int demo_report_write(const char *path, const struct demo_mode *modes, size_t n, bool llm);

#endif
