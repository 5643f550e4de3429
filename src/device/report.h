/* SPDX-License-Identifier: MIT */
/*
 * Backends report to the command line in this plain data: `gpreempt probe` and `gpreempt doctor`
 * turn it into text and JSON. It needs no library, since the preload contains backends, too.
 */
#ifndef GP__DEVICE_REPORT_H
#define GP__DEVICE_REPORT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* Finds files of gpreempt, built or installed. */
struct gp__files {
	/* True: the file exists, and its path is in @path. @built is relative to the folder of the
	 * running program, @name is the name of the installed file. */
	bool (*find)(const char *built, const char *name, char path[PATH_MAX]);
};

/*
 * gpreempt probe
 */

#define GP__REPORT_REASON_MAX 320
#define GP__REPORT_ABILITIES_MAX 8
#define GP__REPORT_FACTS_MAX 24
#define GP__REPORT_LINES_MAX 8

/* A way of holding a queue, or of weighing it. */
struct gp__ability {
	int level; /* 0: none, it only weighs */
	const char *way, *verb; /* @verb may be NULL: JSON then has no "verb" */
	const char *call; /* of the driver, for people */
	bool works;
	bool untried; /* it always works: shown to people, not in JSON */
	bool has_hold, has_release; /* whether these were measured */
	double hold_us, release_us; /* medians */
	bool has_error; /* whether "error" is in JSON, as the driver answers with an errno */
	int error; /* -errno; 0: none */
	char reason[GP__REPORT_REASON_MAX]; /* why not, or its effect instead; "": none */
};

enum gp__fact_type { GP__FACT_NULL, GP__FACT_TEXT, GP__FACT_NUMBER, GP__FACT_BOOL, GP__FACT_LIST };

/* A member of the JSON object of a GPU. "a.b" is a member of the object "a". */
struct gp__fact {
	const char *key;
	enum gp__fact_type type;
	uint64_t number;
	char text[256]; /* of a list: its items, separated by commas */
};

struct gp__probe_report {
	const char *backend;
	char title[256]; /* "gfx90a, 104 compute units, 64 GiB" */
	struct {
		char name[12], text[256];
	} line[GP__REPORT_LINES_MAX]; /* for people, below the title; name "": more of the last */
	int nr_lines;
	struct gp__fact fact[GP__REPORT_FACTS_MAX];
	int nr_facts;
	int nr_facts_first; /* this many come before the abilities in JSON; 0: all */
	struct gp__ability ability[GP__REPORT_ABILITIES_MAX];
	int nr_abilities;
	char error[GP__REPORT_REASON_MAX]; /* why nothing works; "": something does */
	char conclusion[256]; /* for people; "": none */
	char conditions[128]; /* under which the times were measured */
};

/* These drop data that does not fit; a test checks that all of it fits. */
GP__PRINTF(3, 4)
void gp__report_line(struct gp__probe_report *r, const char *name, const char *fmt, ...);
/* NULL: not known. */
void gp__report_text(struct gp__probe_report *r, const char *key, const char *text);
void gp__report_list(struct gp__probe_report *r, const char *key, const char *items);
void gp__report_number(struct gp__probe_report *r, const char *key, bool known, uint64_t number);
void gp__report_bool(struct gp__probe_report *r, const char *key, bool value);
struct gp__ability *gp__report_ability(struct gp__probe_report *r, const struct gp__ability *a);

/*
 * gpreempt ps
 */

/* A queue that the kernel schedules itself. */
struct gp__kernel_queue {
	int pid;
	uint64_t gpu_id, queue;
	const char *state;
	/* Negative: unknown. */
	int64_t priority, effective, pending, held_ms, preemptions;
	bool has_own;
	int own; /* the program's own priority for it: -1, 0 or 1 */
};

typedef void gp__kernel_queue_fn(void *data, const struct gp__kernel_queue *queue);

/*
 * gpreempt doctor
 */

enum gp__check_result { GP__CHECK_OK, GP__CHECK_WARN, GP__CHECK_BAD };

struct gp__checks {
	const struct gp__files *files;
	int nr_gpus; /* so far: the next one is called gpuN */
	/* @remedy may be NULL. */
	void (*add)(struct gp__checks *checks, const char *name, enum gp__check_result result,
		    const char *remedy, const char *message);
};

GP__PRINTF(5, 6)
void gp__check(struct gp__checks *checks, const char *name, enum gp__check_result result,
	       const char *remedy, const char *fmt, ...);

#endif
