// SPDX-License-Identifier: MIT
/* gpreempt why: tells which programs a program was held for, when, for how long, by which rule. */
#include "cli/commands.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/units.h"
#include "cli/changes.h"
#include "cli/daemon.h"
#include "view/describe.h"

enum { KEY_WATCH = 'w' };

#define WATCH_NS (2000 * GP__MS)
#define WATCH_NS_MIN (50 * GP__MS)

struct args {
	json_t *targets;
	uint64_t watch_ns; /* 0: once */
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *args = state->input;

	if (key != KEY_WATCH)
		return daemon_parse_target(args->targets, key, arg, state);
	args->watch_ns = WATCH_NS;
	if (arg && (gp__parse_duration(arg, &args->watch_ns) || args->watch_ns < WATCH_NS_MIN))
		return gp__cmd_usage(state, "--watch: '%s' is not %s, of at least 50ms", arg,
				     GP__EXPECT_DURATION);
	return 0;
}

static const struct argp_option options[] = {
	DAEMON_TAG_OPTION,
	{ "watch", KEY_WATCH, "TIME", OPTION_ARG_OPTIONAL,
	  "print each hold when it begins and ends, until interrupted, as JSON; users who may not "
	  "see all decisions look every TIME (2s)",
	  0 },
	{ 0 },
};

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = DAEMON_TARGETS_DOC,
	.doc = "Say which program kept this one off the GPU, when, for how long and by which rule. "
	       "A queue stands for its group. Programs that ended lately are known, too.",
};

static const char *ms_text(char *buf, size_t n, const json_t *o, const char *key)
{
	return gp__view_ms(buf, n, json_object_get(o, key));
}

static void print_hold(struct gp__env *env, const json_t *hold)
{
	char text[384];

	fprintf(env->out, "  %s\n", gp__view_hold(text, sizeof(text), hold));
}

/* "running", or "ended 3.2 s ago". */
static const char *state_text(char *buf, size_t n, const json_t *g)
{
	char ago[32];

	if (!json_object_get(g, "ended_ms"))
		return gp__view_state_text(buf, n, g);
	snprintf(buf, n, "ended %s ago", ms_text(ago, sizeof(ago), g, "ended_ms"));
	return buf;
}

/* The time that its lingering has cost others. */
static void print_waste(struct gp__env *env, const json_t *g)
{
	char wasted[32];

	if (json_number_value(json_object_get(g, "wasted_ms")) > 0)
		fprintf(env->out,
			"  between two pieces of its work, the GPU was idle and others were held "
			"for %s in all\n",
			ms_text(wasted, sizeof(wasted), g, "wasted_ms"));
}

static void print_gang(struct gp__env *env, const json_t *g)
{
	char gang[128];

	if (gp__view_gang(gang, sizeof(gang), g))
		fprintf(env->out, "  gang: %s\n", gang);
}

static void print_group(struct gp__env *env, const json_t *g)
{
	json_int_t holds = json_integer_value(json_object_get(g, "holds"));
	const json_t *history = json_object_get(g, "history"), *hold;
	char name[128], state[128], a[32], b[32], c[32];
	size_t i;

	fprintf(env->out, "%s, priority %lld on gpu%lld: %s\n",
		gp__view_group(name, sizeof(name), g),
		(long long)json_integer_value(json_object_get(g, "priority")),
		(long long)json_integer_value(json_object_get(g, "gpu")),
		state_text(state, sizeof(state), g));
	if (json_is_true(json_object_get(g, "lost")))
		fputs("  this GPU does not answer, or was reset and has lost its queues (the "
		      "kernel's "
		      "log says why): start it again\n",
		      env->out);
	else if (json_is_true(json_object_get(g, "off")))
		fputs("  scheduling is off on this GPU ('gpreempt off'): it runs as without "
		      "gpreempt\n",
		      env->out);
	print_gang(env, g);
	if (!holds) {
		fprintf(env->out, "  never held since it joined %s ago\n",
			ms_text(a, sizeof(a), g, "joined_ms"));
		print_waste(env, g);
		return;
	}
	fprintf(env->out,
		"  in all: held %lld times, waited %s with work, at most %s at a time; used the "
		"GPU for %s\n",
		(long long)holds, ms_text(a, sizeof(a), g, "held_ms"),
		ms_text(b, sizeof(b), g, "longest_hold_ms"), ms_text(c, sizeof(c), g, "used_ms"));
	print_waste(env, g);
	json_array_foreach ((json_t *)history, i, hold)
		print_hold(env, hold);
	if ((size_t)holds > json_array_size(history))
		fprintf(env->out, "  (the latest %zu)\n", json_array_size(history));
}

/*
 * Changes
 */

struct stream {
	struct gp__env *env;
	const struct args *args;
	json_t *last; /* its "groups"; NULL: nothing is known */
};

/* Programs may join that a target means, so that it need not mean any now. */
static json_t *ask_again(void *data, int fd, struct daemon_problem *why)
{
	const struct stream *s = data;
	json_t *answer = daemon_ask(
		fd, json_pack("{s:s, s:O}", "op", "why", "targets", s->args->targets), why);

	if (!answer && why->err == -ENOENT && s->last)
		return json_pack("{s:[]}", "groups");
	return answer;
}

static bool concerns(const char *line)
{
	return strstr(line, " exclude ") || strstr(line, " admit ") || strstr(line, " entity-");
}

static int print_event(const struct stream *s, const json_t *group, const char *event,
		       const json_t *hold)
{
	static const char *const keys[] = { "group", "gpu",   "pid",	 "program",
					    "tag",   "class", "priority" };
	json_t *line = json_pack("{s:s}", "event", event);

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		json_object_set(line, keys[i], json_object_get(group, keys[i]));
	if (hold)
		json_object_set(line, "hold", (json_t *)hold);
	return changes_print(s->env, line);
}

static const json_t *find_group(const json_t *groups, const json_t *id)
{
	json_t *group;
	size_t i;

	json_array_foreach ((json_t *)groups, i, group) {
		if (json_equal(json_object_get(group, "group"), id))
			return group;
	}
	return NULL;
}

static bool has_ended(const json_t *hold)
{
	return json_is_true(json_object_get(hold, "ended"));
}

/* A hold that was not known, from its beginning. */
static int print_new(const struct stream *s, const json_t *group, const json_t *hold)
{
	int err = print_event(s, group, "held", hold);

	return err || !has_ended(hold) ? err : print_event(s, group, "released", hold);
}

/* gpreemptd keeps the latest holds; if there were more since the last look, some are missed. */
static int print_holds(const struct stream *s, const json_t *group, const json_t *before)
{
	const json_t *history = json_object_get(group, "history");
	json_int_t n = json_integer_value(json_object_get(group, "holds")) -
		       json_integer_value(json_object_get(before, "holds"));
	json_int_t kept = (json_int_t)json_array_size(history);
	const json_t *open = json_array_get(json_object_get(before, "history"), 0);
	int err = 0;

	if (n > kept)
		err = changes_print(s->env,
				    json_pack("{s:s, s:O, s:I}", "event", "missed", "group",
					      json_object_get(group, "group"), "holds", n - kept));
	if (!err && open && !has_ended(open) && n < kept &&
	    has_ended(json_array_get(history, (size_t)n)))
		err = print_event(s, group, "released", json_array_get(history, (size_t)n));
	n = n < kept ? n : kept;
	while (!err && n-- > 0)
		err = print_new(s, group, json_array_get(history, (size_t)n));
	return err;
}

static int print_group_changes(const struct stream *s, const json_t *group, const json_t *before)
{
	const json_t *hold = json_array_get(json_object_get(group, "history"), 0);
	int err;

	if (before)
		return print_holds(s, group, before);
	/* Of what was before, only the hold that lasts. */
	err = print_event(s, group, "appeared", NULL);
	return err || !hold || has_ended(hold) ? err : print_event(s, group, "held", hold);
}

static int show_changes(void *data, const json_t *answer)
{
	const json_t *groups = json_object_get(answer, "groups");
	struct stream *s = data;
	json_t *group;
	int err = 0;
	size_t i;

	json_array_foreach ((json_t *)groups, i, group) {
		const json_t *id = json_object_get(group, "group");

		if (!err)
			err = print_group_changes(s, group, find_group(s->last, id));
	}
	json_array_foreach (s->last, i, group) {
		const json_t *now = find_group(groups, json_object_get(group, "group"));

		if (!err && !json_object_get(group, "ended_ms") &&
		    (!now || json_object_get(now, "ended_ms")))
			err = print_event(s, group, "gone", NULL);
	}
	json_decref(s->last);
	s->last = json_incref((json_t *)groups);
	return err;
}

static int lose(void *data, bool connected)
{
	struct stream *s = data;

	/* After another daemon has begun, a target need not mean any program yet. */
	if (s->last || !connected) {
		json_decref(s->last);
		s->last = json_array();
	}
	return changes_print(s->env, json_pack("{s:s, s:s}", "event",
					       connected ? "appeared" : "gone", "kind", "daemon"));
}

static int follow(struct gp__env *env, const struct args *args)
{
	struct stream s = { .env = env, .args = args };
	struct changes c = { .env = env,
			     .period_ns = args->watch_ns,
			     .ask = ask_again,
			     .concerns = concerns,
			     .show = show_changes,
			     .lose = lose,
			     .data = &s };
	struct daemon_problem why;
	int fd = daemon_connect(&why);
	int status = fd < 0 ? daemon_tell(env, &why) : changes_follow(&c, fd);

	json_decref(s.last);
	return status;
}

static int once(struct gp__env *env, const struct args *args)
{
	json_t *document, *group;
	int status;
	size_t i;

	document = daemon_each(env, "why", args->targets, NULL, &status);
	if (!document)
		return status;
	if (env->json)
		return gp__json_print(env, document) ? GP__EXIT_FAILURE : GP__EXIT_OK;
	json_array_foreach (json_object_get(document, "groups"), i, group)
		print_group(env, group);
	json_decref(document);
	return GP__EXIT_OK;
}

int cmd_why(struct gp__env *env, int argc, char **argv)
{
	struct args args = { .targets = json_array() };
	int status;

	if (gp__cmd_parse(env, &argp, argc, argv, &args, &status))
		status = args.watch_ns ? follow(env, &args) : once(env, &args);
	json_decref(args.targets);
	return status;
}
