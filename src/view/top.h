/* SPDX-License-Identifier: MIT */
/*
 * The model of the live view: which groups ran and were held, when, and for how long.
 *
 * Its input is the daemon's list of groups and, between two lists, the lines of the decision log,
 * which are exact to the nanosecond. Only administrators get lines; for other users the lanes are
 * made from lists alone. Lines can get lost; the next list corrects the model.
 */
#ifndef GP__VIEW_TOP_H
#define GP__VIEW_TOP_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/log.h"
#include "view/lane.h"
#include "view/screen.h"
#include "view/describe.h"

struct gp__top_queue {
	uint32_t id;
	bool has_work, held;
	uint32_t weight; /* as ordered; 0: the device's own */
};

struct gp__top_group {
	uint32_t id, gpu;
	bool ours; /* its state is visible to this user */
	bool suspended, gone;
	bool gives_way; /* it yielded to another when it was listed */
	pid_t pid;
	long long uid, priority, effective; /* uid negative: not known */
	char user[32], program[64], tag[32], state_text[96];
	char level[48];
	enum gp__view_state state;
	double used_ms, held_ms, wasted_ms; /* negative: not known */
	double memory_bytes; /* that the program uses on the GPU; negative: not measured */
	uint32_t beside; /* other groups that run at the same time, by time slices */
	struct gp__lane lane;
	struct gp__top_queue *queue;
	uint32_t nr_queues;
};

struct gp__top_gpu {
	uint32_t id;
	char name[64];
	bool off; /* scheduling is */
	uint64_t switches_base, base_at; /* of switches_per_s */
	double switches_per_s; /* negative: not known yet */
	double wasted_ms; /* negative: not known */
	double stop_p50_us, stop_p99_us, order_p50_us, order_p99_us; /* negative: not measured */
};

struct gp__top {
	uint64_t window_ns;
	struct gp__top_group **group; /* by GPU, then as sorted */
	uint32_t nr_groups, room;
	struct gp__top_gpu *gpu;
	uint32_t nr_gpus;
	char policy[32], version[32];
	bool off; /* scheduling is, on all GPUs */
	json_t *processes; /* that have a GPU open; NULL: not known */
	double up_ms;
	uint64_t listed_at; /* 0: never */
	bool watching; /* lines arrive */
	bool stale; /* a new list is needed */
	bool unheard; /* a program is alone on its GPU: no line tells what it does */
	char playing[160]; /* the recorded log and the time in it; "": it is live */
	json_t *why; /* the daemon's answer about the group in detail; NULL: none */
};

void gp__top_init(struct gp__top *t, uint64_t window_ns);
void gp__top_free(struct gp__top *t);
/* Removes all groups, after the daemon ended. */
void gp__top_clear(struct gp__top *t);

/* 0 or -ENOMEM. */
int gp__top_list(struct gp__top *t, const json_t *list, uint64_t now);
void gp__top_line(struct gp__top *t, const char *line, size_t len);
void gp__top_record(struct gp__top *t, const struct gp__record *r);
/* Takes the answer to "why" for the group that is shown in detail. */
void gp__top_explain(struct gp__top *t, json_t *why);
void gp__top_advance(struct gp__top *t, uint64_t now);

/* Shares of the window as far as it is known, in percent; negative: not known. Groups that run at
 * once divide the time: of one GPU they add up to at most 100 %. */
double gp__top_run_pct(const struct gp__top_group *g);
double gp__top_yielding_pct(const struct gp__top_group *g);
double gp__top_held_pct(const struct gp__top_group *g);

json_t *gp__top_json(const struct gp__top *t);

/*
 * Showing it
 */

enum gp__top_sort {
	GP__TOP_BY_PRIORITY,
	GP__TOP_BY_RUN,
	GP__TOP_BY_HELD,
	GP__TOP_BY_WAIT,
	GP__TOP_BY_MEMORY,
	GP__TOP_BY_PROGRAM,
	GP__TOP_BY_PID,
	GP__TOP_SORTS
};

struct gp__top_look {
	enum gp__top_sort sort;
	bool reversed;
	char filter[32]; /* of programs, tags, users, pids and GPUs ("gpu1") */
	uint32_t selected; /* the id of a group; 0: none */
	uint32_t scroll; /* lines */
	bool paused, help, typing; /* typing: the filter */
	bool detail; /* the selected group fills the screen */
	bool once; /* no keys: a picture for a file */
	bool unicode;
	char message[256];
};

/* Whether a process is shown below this GPU; GP__TOP_NO_GPU: below none, as no program has joined
 * on any of its GPUs. */
#define GP__TOP_NO_GPU UINT32_MAX
bool gp__top_has_process(const struct gp__top_look *look, const json_t *process, uint32_t gpu);
const char *gp__top_sort_name(enum gp__top_sort sort);
/* @reversed: the other way round, below each GPU. */
void gp__top_sort(struct gp__top *t, enum gp__top_sort sort, bool reversed);
bool gp__top_shows(const struct gp__top_look *look, const struct gp__top_group *g);
/* The number of lines that all groups take. */
uint32_t gp__top_height(const struct gp__top *t, const struct gp__top_look *look);
/* Moves the selection by @by visible groups; selects one if none is selected. */
void gp__top_select(const struct gp__top *t, struct gp__top_look *look, int by);
void gp__top_draw(const struct gp__top *t, struct gp__top_look *look, struct gp__screen *s);

enum gp__top_hit { GP__TOP_HIT_NOTHING, GP__TOP_HIT_GROUP, GP__TOP_HIT_HEADING };

/* What is at a place of the screen that was drawn last: selects the group, or sorts by the column;
 * by the same column again, the other way round. */
enum gp__top_hit gp__top_click(const struct gp__top *t, struct gp__top_look *look, uint32_t rows,
			       uint32_t cols, uint32_t row, uint32_t col);

#endif
