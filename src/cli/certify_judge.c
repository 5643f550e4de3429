// SPDX-License-Identifier: MIT
/* Finds the figure of each goal in the documents of the stages, and compares it. */
#include "cli/certify.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/certify_find.h"

const char *certify_verdict_name(enum certify_verdict verdict)
{
	static const char *const names[CERTIFY_VERDICTS] = {
		[CERTIFY_NOT_MEASURED] = "not measured",
		[CERTIFY_PASSED] = "passed",
		[CERTIFY_FAILED] = "failed",
	};

	return names[verdict];
}

const char *certify_emulated_text(void)
{
	return "an emulated machine's time is not a GPU's";
}

/*
 * The sentence about a figure
 */

static const char *compares_how(enum certify_is is)
{
	static const char *const words[] = {
		[CERTIFY_YES] = "yes",	       [CERTIFY_AT_MOST] = "at most",
		[CERTIFY_BELOW] = "less than", [CERTIFY_AT_LEAST] = "at least",
		[CERTIFY_ABOVE] = "more than", [CERTIFY_FOR] = "at least",
	};

	return words[is];
}

const char *certify_goal_text(const struct certify_goal *goal, char *text, size_t size)
{
	if (goal->is == CERTIFY_YES)
		snprintf(text, size, "%s", compares_how(goal->is));
	else
		snprintf(text, size, "%s %g %s", compares_how(goal->is), goal->limit, goal->unit);
	return text;
}

/* Three digits, but no exponent and no digits after the point of a large number. */
static void write_number(char *text, size_t size, double value, const char *unit)
{
	if (value >= 1000 || value <= -1000)
		snprintf(text, size, "%.0f %s", value, unit);
	else
		snprintf(text, size, "%.3g %s", value, unit);
}

const char *certify_value_text(const struct certify_row *row, char *text, size_t size)
{
	if (!row->has_value)
		snprintf(text, size, "-");
	else if (row->goal->is == CERTIFY_YES)
		snprintf(text, size, "%s", row->value > 0 ? "yes" : "no");
	else
		write_number(text, size, row->value, row->goal->unit);
	return text;
}

/*
 * A figure
 */

/* The reason that probe gives for a way that does not work; NULL: it works, or is not known. */
static const char *why_no_way(const struct certify *c, const char *way)
{
	const json_t *list = certify_member(c->outcome[CERTIFY_PROBE].document, "gpus.0.abilities");
	const json_t *ability;
	char where[64];

	snprintf(where, sizeof(where), "way=%s,verb=save", way);
	ability = certify_find_row(list, where);
	if (!ability || json_is_true(json_object_get(ability, "works")))
		return NULL;
	return json_string_value(json_object_get(ability, "reason"));
}

static void explain_absence(const struct certify *c, const struct certify_goal *goal,
			    const json_t *row, char *why, size_t size)
{
	static const char *const keys[] = { "unsupported", "why", "reason" };
	const char *text = NULL;

	for (size_t i = 0; !text && i < sizeof(keys) / sizeof(keys[0]); i++)
		text = json_string_value(json_object_get(row, keys[i]));
	if (!text && !row && goal->way)
		text = why_no_way(c, goal->way);
	if (!text && row && strstr(goal->key, "_p99"))
		text = c->options.quick
			       ? "99th percentiles need a hundred values: leave --quick out"
			       : "99th percentiles need a hundred values";
	if (!text)
		text = goal->absent ? goal->absent : "the measurement has no such figure";
	snprintf(why, size, "%s", text);
}

/* A way was tried and did not do what the driver said; otherwise the driver refused it. */
static bool misbehaves(const json_t *ability)
{
	static const char *const errors[] = { "EPROTO", "ETIME", "EIO" };
	const char *error = json_string_value(json_object_get(ability, "error"));

	for (size_t i = 0; error && i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (!strcmp(error, errors[i]))
			return true;
	}
	return false;
}

static bool take_value(const json_t *value, double *number)
{
	if (json_is_number(value))
		*number = json_number_value(value);
	else if (json_is_boolean(value))
		*number = json_is_true(value);
	else if (json_is_string(value))
		*number = 1;
	else
		return false;
	return true;
}

/* The object that has the figure; NULL: there is none. */
static const json_t *find_row(const json_t *document, const struct certify_goal *goal)
{
	const json_t *list = goal->list ? certify_member(document, goal->list) : document;

	return json_is_array(list) ? certify_find_row(list, goal->where) : list;
}

static void find_value(const struct certify *c, const struct certify_goal *goal,
		       struct certify_row *row)
{
	const json_t *at = find_row(c->outcome[goal->stage].document, goal);
	/* An ability that the driver refuses is no failure: the driver does not have it. */
	bool refused = goal->key && !strcmp(goal->key, "works") &&
		       json_is_false(json_object_get(at, "works"));

	if (refused && !misbehaves(at)) {
		explain_absence(c, goal, at, row->why, sizeof(row->why));
		return;
	}
	if (at && take_value(certify_member(at, goal->key), &row->value)) {
		row->has_value = true;
		row->value *= goal->scale > 0 ? goal->scale : 1;
		if (refused || (goal->is == CERTIFY_YES && row->value <= 0))
			explain_absence(c, goal, at, row->why, sizeof(row->why));
		return;
	}
	explain_absence(c, goal, at, row->why, sizeof(row->why));
}

/*
 * A verdict
 */

static bool is_reached(const struct certify_goal *goal, double value)
{
	switch (goal->is) {
	case CERTIFY_YES:
		return value > 0;
	case CERTIFY_AT_MOST:
		return value <= goal->limit;
	case CERTIFY_BELOW:
		return value < goal->limit;
	case CERTIFY_AT_LEAST:
	case CERTIFY_FOR:
		return value >= goal->limit;
	case CERTIFY_ABOVE:
		return value > goal->limit;
	}
	return false;
}

static void compare(const struct certify *c, struct certify_row *row)
{
	const struct certify_goal *goal = row->goal;
	bool reached = is_reached(goal, row->value);

	if (c->emulated && goal->kind == CERTIFY_TIME) {
		snprintf(row->why, sizeof(row->why), "%s", certify_emulated_text());
		return;
	}
	row->verdict = reached ? CERTIFY_PASSED : CERTIFY_FAILED;
	if (goal->is == CERTIFY_FOR && !reached) {
		row->verdict = CERTIFY_NOT_MEASURED;
		snprintf(row->why, sizeof(row->why),
			 "it ran for %.1f of %g minutes: leave --quick "
			 "and --minutes out",
			 row->value, goal->limit);
	}
}

/* The stage as a whole. */
static void judge_run(const struct certify_outcome *o, struct certify_row *row)
{
	row->has_value = o->document || o->failed;
	row->value = o->document ? 1 : 0;
	snprintf(row->why, sizeof(row->why), "%s", o->document ? "" : o->why);
	if (row->has_value)
		row->verdict = o->document ? CERTIFY_PASSED : CERTIFY_FAILED;
}

void certify_judge_goal(const struct certify *c, const struct certify_goal *goal,
			struct certify_row *row)
{
	const struct certify_outcome *o;

	*row = (struct certify_row){ .goal = goal };
	if (goal->stage == CERTIFY_STAGES) {
		snprintf(row->why, sizeof(row->why), "%s", goal->absent);
		return;
	}
	o = &c->outcome[goal->stage];
	if (!goal->key) {
		judge_run(o, row);
		return;
	}
	if (!o->document) {
		snprintf(row->why, sizeof(row->why), "%s", o->why);
		return;
	}
	find_value(c, goal, row);
	if (row->has_value)
		compare(c, row);
}

void certify_judge(struct certify *c)
{
	c->nr_rows = 0;
	for (const struct certify_goal *g = certify_goals; g->id && c->nr_rows < CERTIFY_ROWS_MAX;
	     g++) {
		if ((g->section == CERTIFY_NVIDIA) == c->nvidia)
			certify_judge_goal(c, g, &c->row[c->nr_rows++]);
	}
}

size_t certify_count(const struct certify *c, enum certify_verdict verdict)
{
	size_t n = 0;

	for (size_t i = 0; i < c->nr_rows; i++)
		n += c->row[i].verdict == verdict;
	return n;
}

enum certify_verdict certify_overall(const struct certify *c)
{
	if (certify_count(c, CERTIFY_FAILED))
		return CERTIFY_FAILED;
	if (c->emulated || !certify_count(c, CERTIFY_PASSED))
		return CERTIFY_NOT_MEASURED;
	return CERTIFY_PASSED;
}

int certify_status(const struct certify *c)
{
	switch (certify_overall(c)) {
	case CERTIFY_PASSED:
		return GP__EXIT_OK;
	case CERTIFY_FAILED:
		return GP__EXIT_FAILURE;
	default:
		return CERTIFY_EXIT_NOTHING;
	}
}
