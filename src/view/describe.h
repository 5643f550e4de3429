/* SPDX-License-Identifier: MIT */
/*
 * Describes a group or a hold to people. The JSON is that of the daemon's answers to "list" and
 * "why"; most keys of other users' programs are missing.
 */
#ifndef GP__VIEW_DESCRIBE_H
#define GP__VIEW_DESCRIBE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The user's name, or else the number. Returns @buf. */
const char *gp__view_user(char *buf, size_t n, uid_t uid);
/* "train (pid 12, group 3)". Returns @buf. */
const char *gp__view_group(char *buf, size_t n, const json_t *group);

/* The state of a group, for the table, the live view and the summary. */
enum gp__view_state {
	GP__VIEW_UNKNOWN, /* another user's: not held */
	GP__VIEW_IDLE,
	GP__VIEW_RUNNING,
	GP__VIEW_YIELDING, /* not held, but another has the GPU by its time slice */
	GP__VIEW_LINGERING, /* between two pieces of its work */
	GP__VIEW_STOPPING,
	GP__VIEW_HELD,
	GP__VIEW_STARTING,
	GP__VIEW_SUSPENDED,
	GP__VIEW_OVER, /* its user has used up its GPU time */
	GP__VIEW_OBSERVED, /* takes no part: neither is it held, nor are others for it */
	GP__VIEW_LOST, /* its GPU does not answer, or has lost its queues in a reset */
	GP__VIEW_OFF, /* has work on a GPU on which scheduling is off */
	GP__VIEW_FAILED, /* cannot be stopped */
	GP__VIEW_SILENT, /* does not answer */
};

enum gp__view_state gp__view_state_of(const json_t *group);
const char *gp__view_state_name(enum gp__view_state s);
/* "held by serve": also names the program that it is held for. Returns @buf. */
const char *gp__view_state_text(char *buf, size_t n, const json_t *group);

/*
 * The reason of a hold: "serve (pid 123, priority 15) had work and is more urgent (rule:
 * priority)". Returns @buf.
 */
const char *gp__view_why(char *buf, size_t n, const json_t *hold);

/* "held 12 ms, 3.2 s ago: ...", or "held for 12 ms now: ...", with the reason. Returns @buf. */
const char *gp__view_hold(char *buf, size_t n, const json_t *hold);

/* The gang and how many members it has: "ranks 1 of 2", or "ranks 1 of 2, not in it" for a group
 * that runs ungrouped. Returns @buf; NULL: it has none. */
const char *gp__view_gang(char *buf, size_t n, const json_t *group);

/* The GPUs on which scheduling is off: "all GPUs" or "gpu0, amd-7". @off: the daemon's list of
 * them;
 * @gpus: the daemon's GPUs, or NULL. Returns @buf; NULL: it is on everywhere. */
const char *gp__view_off(char *buf, size_t n, const json_t *off, const json_t *gpus);

/* Whether gpreemptd schedules a process with a GPU open: it has joined or is watched. */
bool gp__view_is_scheduled(const json_t *process);
/* The role of the process: "unjoined", if it computes without having joined, "joined", "watched" by
 * gpreemptd, "child" of a joined one, or "watches" if it cannot compute. */
const char *gp__view_role(const json_t *process);
/* Its GPUs: "0, 1", or the names of their device files if no program has joined there. Returns
 * @buf. */
const char *gp__view_gpus(char *buf, size_t n, const json_t *process);

/* "2", or "2 (now 9)" where ageing makes it 9 at present. Returns @buf; NULL: it is not known. */
const char *gp__view_priority(char *buf, size_t n, const json_t *group);

/* Milliseconds of the daemon's JSON as "12.4 ms". Returns @buf. */
const char *gp__view_ms(char *buf, size_t n, const json_t *ms);
/* For columns: "3.2s", "14min", "2h05". Returns @buf. */
const char *gp__view_age(char *buf, size_t n, double ms);

#endif
