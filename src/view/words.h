/* SPDX-License-Identifier: MIT */
/*
 * What gpreemptd says of a group or a hold, in words for people. The JSON is that of its list and
 * why answers; of other users' programs most of it is missing.
 */
#ifndef GP__VIEW_WORDS_H
#define GP__VIEW_WORDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The user's name, or the number where there is none. Returns @buf. */
const char *gp__view_user(char *buf, size_t n, uid_t uid);
/* "train (pid 12, group 3)". Returns @buf. */
const char *gp__view_group(char *buf, size_t n, const json_t *group);

/* How a group is doing, in one word; the same for the table, the live view and the summary. */
enum gp__view_state {
	GP__VIEW_UNKNOWN, /* another user's: not held */
	GP__VIEW_IDLE,
	GP__VIEW_RUNNING,
	GP__VIEW_STOPPING,
	GP__VIEW_HELD,
	GP__VIEW_STARTING,
	GP__VIEW_SUSPENDED,
	GP__VIEW_FAILED, /* cannot be stopped */
	GP__VIEW_SILENT, /* does not answer */
};

enum gp__view_state gp__view_state_of(const json_t *group);
const char *gp__view_state_name(enum gp__view_state s);
/* With who holds it: "held by serve". Returns @buf. */
const char *gp__view_state_words(char *buf, size_t n, const json_t *group);

/*
 * Why it was held: "serve (pid 123, priority 15) had work and is more urgent (rule: priority)".
 * Returns @buf.
 */
const char *gp__view_why(char *buf, size_t n, const json_t *hold);

/* Milliseconds of the daemon's JSON as "12.4 ms". Returns @buf. */
const char *gp__view_ms(char *buf, size_t n, const json_t *ms);
/* For columns: "3.2s", "14min", "2h05". Returns @buf. */
const char *gp__view_age(char *buf, size_t n, double ms);

#endif
