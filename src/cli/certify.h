/* SPDX-License-Identifier: MIT */
/*
 * gpreempt certify: measures on one GPU what gpreempt was designed to reach, and compares. Nothing
 * is measured here: each stage is another command of gpreempt, or a test case of stage 1, whose
 * JSON document has the figures. certify_goals.c has the goals, certify_run.c runs the stages,
 * certify_judge.c finds the figures and gives verdicts, and certify.c and certify_report.c show
 * them.
 *
 * A figure of an emulated machine is never called a GPU's: it is kept apart, and a goal in units of
 * time cannot be passed there.
 */
#ifndef GP_CLI_CERTIFY_H
#define GP_CLI_CERTIFY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/env.h"

enum certify_stage {
	CERTIFY_PROBE,
	CERTIFY_PREEMPT,
	CERTIFY_LEVELS,
	CERTIFY_STAGE1,
	CERTIFY_CASES,
	CERTIFY_BESIDE,
	CERTIFY_MONITOR,
	CERTIFY_FREQUENT,
	CERTIFY_LOG,
	CERTIFY_STAGES, /* as the stage of a goal: no program measures it */
};

enum certify_verdict { CERTIFY_NOT_MEASURED, CERTIFY_PASSED, CERTIFY_FAILED, CERTIFY_VERDICTS };

/*
 * Goals
 */

enum certify_is {
	CERTIFY_YES,
	CERTIFY_AT_MOST,
	CERTIFY_BELOW,
	CERTIFY_AT_LEAST,
	CERTIFY_ABOVE,
	CERTIFY_FOR, /* at least; what is less was not long enough to tell */
};

/* An emulated machine can tell whether it works, a ratio of device times, or nothing. */
enum certify_kind { CERTIFY_WORKS, CERTIFY_RATIO, CERTIFY_TIME };

enum certify_section {
	CERTIFY_CONTEXT_SAVE,
	CERTIFY_THREE_LEVELS,
	CERTIFY_TRAP_HANDLERS,
	CERTIFY_SCHEDULING,
	CERTIFY_ONLINE_OFFLINE,
	CERTIFY_RUNS,
	CERTIFY_NVIDIA, /* only on such a GPU, which has no other section */
	CERTIFY_SECTIONS,
};

struct certify_goal {
	const char *id;
	enum certify_section section;
	const char *what;
	enum certify_is is;
	double limit;
	const char *unit;
	double scale; /* what a figure is multiplied by, to be of this unit; 0: 1 */
	enum certify_kind kind;
	enum certify_stage stage;
	/*
	 * The place of the figure in the stage's document: the member @key of an object, or of the
	 * last one in the array @list whose members are as in @where ("a=b,c=d"). "a.0.b" are
	 * members of members, and items of arrays. @key NULL: whether the stage came to its end.
	 */
	const char *list, *where, *key;
	const char
		*way; /* of the driver; if it does not work, probe's reason is why there is none */
	const char *absent; /* why there may be none otherwise */
};

struct certify_section_text {
	const char *seed, *title, *text;
};

extern const struct certify_goal certify_goals[]; /* ends with a NULL id */
extern const struct certify_section_text certify_sections[CERTIFY_SECTIONS];

/*
 * Stages
 */

struct certify_options {
	bool quick; /* a check that it works: short repeats, and no stage that takes minutes */
	double minutes; /* of frequent preemption */
	unsigned int only; /* bits of stages; 0: all */
};

struct certify_outcome {
	json_t *document; /* NULL: it gave none */
	bool failed; /* it was started, and did not come to a good end */
	char why[512]; /* why there is no document */
	double seconds;
};

struct certify_row {
	const struct certify_goal *goal;
	enum certify_verdict verdict;
	bool has_value;
	double value;
	char why[512]; /* "": the figure says it */
};

#define CERTIFY_ROWS_MAX 160
#define CERTIFY_NOTES_MAX 4

struct certify {
	struct certify_options options;
	bool emulated, nvidia, root;
	char gpu[256], driver[160], date[32];
	struct certify_outcome outcome[CERTIFY_STAGES];
	struct certify_row row[CERTIFY_ROWS_MAX];
	size_t nr_rows;
	char note[CERTIFY_NOTES_MAX][512]; /* for people: what root adds, and so on */
	size_t nr_notes;
};

const char *certify_stage_name(enum certify_stage stage);
/* The stage of this name, or -1. */
int certify_stage_find(const char *name);
/*
 * Runs the stages and sets their outcomes. 0, or an exit status after an error message: there is no
 * GPU, or none that can be measured. A signal ends it early: the stages that are left have no
 * document.
 */
int certify_run(struct certify *c, struct gp__env *env);
void certify_free(struct certify *c);

/* The kernel's log: -1 if it cannot be read; else a descriptor that reads what comes from now on.
 */
int certify_log_open(char *why, size_t size);
/* Counts the lines about a fault, a hang or a reset of a GPU. */
json_t *certify_log_read(int fd);
bool certify_log_is_bad(const char *line);

/*
 * Verdicts
 */

/* Gives each goal a row. */
void certify_judge(struct certify *c);
/* The one row of a goal. */
void certify_judge_goal(const struct certify *c, const struct certify_goal *goal,
			struct certify_row *row);
size_t certify_count(const struct certify *c, enum certify_verdict verdict);
/* Failed if a row is; passed only on a GPU, if a row is. */
enum certify_verdict certify_overall(const struct certify *c);
/* An exit status. */
#define CERTIFY_EXIT_NOTHING 77
int certify_status(const struct certify *c);

/*
 * Showing it
 */

const char *certify_verdict_name(enum certify_verdict verdict);
const char *certify_emulated_text(void);
/* "at most 10 us"; "1.25 us". Return @text. */
const char *certify_goal_text(const struct certify_goal *goal, char *text, size_t size);
const char *certify_value_text(const struct certify_row *row, char *text, size_t size);
json_t *certify_json(const struct certify *c);

/*
 * The two files of a report, NAME.html and NAME.json. They are opened before the measurements, so
 * that a folder that cannot be written to is found then, and replace older ones only when they are
 * complete. 0 or -errno; @path is the file that it is about.
 */
struct certify_report {
	FILE *html, *json;
	char path[4200], html_path[4096], json_path[4096];
};

int certify_report_open(struct certify_report *r, const char *name);
int certify_report_write(struct certify_report *r, const struct certify *c);
/* Without one written before, nothing is left over. */
void certify_report_close(struct certify_report *r);

#endif
