// SPDX-License-Identifier: MIT
/* gpreempt suspend and resume: holds programs by hand, until they are resumed. */
#include "cli/commands.h"

#include "base/json.h"
#include "cli/daemon.h"
#include "view/describe.h"

static error_t parse(int key, char *arg, struct argp_state *state)
{
	return daemon_parse_target(*(json_t **)state->input, key, arg, state);
}

static const struct argp_option options[] = { DAEMON_TAG_OPTION, { 0 } };

static int act(struct gp__env *env, const char *op, const char *done_words, const struct argp *argp,
	       int argc, char **argv)
{
	json_t *targets = json_array(), *done = NULL, *group;
	char name[128];
	int status;
	size_t i;

	if (gp__cmd_parse(env, argp, argc, argv, &targets, &status))
		done = daemon_each(env, op, targets, NULL, &status);
	json_decref(targets);
	if (!done)
		return status;
	if (env->json)
		return gp__json_print(env, done) ? GP__EXIT_FAILURE : GP__EXIT_OK;
	json_array_foreach (json_object_get(done, "groups"), i, group)
		fprintf(env->out, "%s: %s\n", gp__view_group(name, sizeof(name), group),
			done_words);
	if (!i)
		fprintf(env->out, "The program has left; processes that it started are no longer "
				  "suspended.\n");
	json_decref(done);
	return GP__EXIT_OK;
}

int cmd_suspend(struct gp__env *env, int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = DAEMON_TARGETS_DOC,
		.doc = "Take programs off the GPU until 'gpreempt resume'. They lose no work, and "
		       "no guarantee brings them back. A queue stands for its group.",
	};

	return act(env, "suspend", "suspended", &argp, argc, argv);
}

int cmd_resume(struct gp__env *env, int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = DAEMON_TARGETS_DOC,
		.doc = "Resume programs that were suspended by hand. A queue stands "
		       "for its group.",
	};

	return act(env, "resume", "resumed", &argp, argc, argv);
}
