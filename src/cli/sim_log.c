// SPDX-License-Identifier: MIT
/* Writes and replays the decision logs of gpreempt sim. */
#include "cli/sim.h"

#include "base/json.h"
#include "sim/replay.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino &&
	       S_ISREG(x.st_mode);
}

int sim_log_open(struct gp__env *env, struct sim_log *log, const char *path, const char *input)
{
	log->path = path;
	if (!path)
		return 0;
	log->alone = !strcmp(path, "-");
	if (!log->alone && same_file(path, input))
		return gp__env_fail(env, GP__EXIT_USAGE, "Write the log to another file.",
				    "the log would overwrite %s, which is being read", input);
	log->file = log->alone ? env->out : fopen(path, "we");
	if (!log->file)
		return gp__env_fail(env, GP__EXIT_FAILURE, "Choose a file that can be written.",
				    "cannot write the log %s: %m", path);
	fputs(GP__LOG_HEADER, log->file);
	return 0;
}

/* Reports an incomplete log. Errors of standard output are reported at the end of the command. */
int sim_log_close(struct gp__env *env, struct sim_log *log, int status)
{
	bool failed;

	if (!log->file || log->alone)
		return status;
	errno = 0;
	failed = fflush(log->file) || ferror(log->file);
	if (failed && !errno)
		errno = EIO;
	if (failed && !status)
		status = gp__env_fail(env, GP__EXIT_FAILURE, "Is the disk full?",
				      "the log %s is incomplete: %m", log->path);
	if (fclose(log->file) && !failed && !status)
		status = gp__env_fail(env, GP__EXIT_FAILURE, "Is the disk full?",
				      "the log %s is incomplete: %m", log->path);
	return status;
}

static int print_replay(struct gp__env *env, const char *path, const struct gp__replay_result *r)
{
	bool same = !r->differs_at;
	json_t *root;

	if (!env->json) {
		if (same)
			fprintf(env->out,
				"%s: %llu events gave the same %llu actions and %llu reports "
				"again\n",
				path, (unsigned long long)r->events, (unsigned long long)r->actions,
				(unsigned long long)r->reports);
		else
			fprintf(env->out,
				"%s:%llu: the replay differs\n  logged:   %s\n  replayed: %s\n",
				path, (unsigned long long)r->differs_at,
				r->logged[0] ? r->logged : "(nothing)",
				r->replayed[0] ? r->replayed : "(nothing)");
		return same ? GP__EXIT_OK : GP__EXIT_FAILURE;
	}
	root = gp__json_envelope();
	json_object_set_new(root, "log", gp__json_text(path));
	json_object_set_new(root, "identical", json_boolean(same));
	gp__json_set_u64(root, "events", true, r->events);
	gp__json_set_u64(root, "actions", true, r->actions);
	gp__json_set_u64(root, "reports", true, r->reports);
	gp__json_set_u64(root, "differs_at_line", !same, r->differs_at);
	if (!same) {
		json_object_set_new(root, "logged", gp__json_text(r->logged));
		json_object_set_new(root, "replayed", gp__json_text(r->replayed));
	}
	return gp__json_print(env, root) || !same ? GP__EXIT_FAILURE : GP__EXIT_OK;
}

static int replay_failed(struct gp__env *env, const char *path, int err,
			 const struct gp__replay_error *why)
{
	switch (err) {
	case -EINVAL:
		return gp__env_fail(env, GP__EXIT_USAGE,
				    "A log is written by 'gpreempt sim --log'.", "%s:%llu: %s",
				    path, (unsigned long long)why->line, why->text);
	case -EIO:
		return gp__env_fail(env, GP__EXIT_FAILURE, NULL, "cannot read the log %s: %m",
				    path);
	default:
		return gp__env_fail(env, GP__EXIT_FAILURE, NULL, "out of memory");
	}
}

int sim_replay(struct gp__env *env, const char *path, const char *copy_path)
{
	FILE *in = strcmp(path, "-") ? fopen(path, "re") : stdin;
	struct gp__replay_result result;
	struct gp__replay_error why;
	struct sim_log copy = { 0 };
	int err, status;

	if (!in)
		return gp__env_fail(env, GP__EXIT_FAILURE, NULL, "cannot read the log %s: %m",
				    path);
	status = sim_log_open(env, &copy, copy_path, path);
	if (status)
		goto out;
	err = gp__replay(in, copy.file, &result, &why);
	if (err)
		status = replay_failed(env, path, err, &why);
	status = sim_log_close(env, &copy, status);
	if (!status)
		status = copy.alone ? result.differs_at != 0 : print_replay(env, path, &result);
out:
	if (in != stdin)
		fclose(in);
	return status;
}
