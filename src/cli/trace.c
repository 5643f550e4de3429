// SPDX-License-Identifier: MIT
/* gpreempt trace: writes what was decided and what ran as a Perfetto trace. */
#include "cli/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands.h"
#include "core/log.h"
#include "policy/policy.h"
#include "trace/decisions.h"
#include "trace/kernel.h"
#include "trace/machine.h"

/*
 * Output
 */

int trace_output_open(struct gp__env *env, struct trace_output *o)
{
	o->file = strcmp(o->path, "-") ? fopen(o->path, "we") : env->out;
	if (!o->file)
		return gp__env_fail(env, GP__EXIT_FAILURE, "Choose another file with -o FILE.",
				    "cannot write the trace %s: %s", o->path, strerror(errno));
	/* The number tells it from other traces that are appended to it. */
	gp__perfetto_open(&o->w, o->file, (uint32_t)getpid());
	return GP__EXIT_OK;
}

/* Not a device or a pipe. */
static bool is_file(FILE *file)
{
	struct stat st;

	return !fstat(fileno(file), &st) && S_ISREG(st.st_mode);
}

int trace_output_close(struct gp__env *env, struct trace_output *o, int status)
{
	bool own = o->file != env->out && is_file(o->file);
	int err = gp__perfetto_close(&o->w);

	if (o->file != env->out && fclose(o->file) && !err)
		err = -errno;
	if (err && !status)
		status = gp__env_fail(env, GP__EXIT_FAILURE, "Is the disk full?",
				      "cannot write the trace %s: %s", o->path, strerror(-err));
	if (status && own)
		unlink(o->path);
	return status;
}

/*
 * Inputs
 */

enum kind {
	UNKNOWN,
	DECISIONS,
	MACHINE,
	KERNEL,
};

struct input {
	const char *path;
	enum kind kind;
	struct gp__trace *decisions;
	struct gp__trace_machine *machine;
	struct gp__trace_kernel *kernel;
	unsigned long long line;
	const char *expected;
};

static bool is_decision(const char *line, size_t len)
{
	struct gp__record_room room;
	struct gp__record r;
	const char *expected;

	return !gp__record_parse(line, len, gp__policies, &r, &room, &expected);
}

/* "HOST DEVICE GPU busy", or the last line of an empty trace. */
static bool is_machine(const char *line)
{
	unsigned long long host, device;
	unsigned int gpu;
	char word[8];

	return !strcmp(line, "end") ||
	       sscanf(line, "%llu %llu %u %7[a-z]", &host, &device, &gpu, word) == 4;
}

static enum kind kind_of(const char *line, size_t len)
{
	if (!strncmp(line, "# gpreempt decision log", 23) || is_decision(line, len))
		return DECISIONS;
	if (!strncmp(line, "# tracer:", 9) || strstr(line, ": kfd_sched_"))
		return KERNEL;
	return is_machine(line) ? MACHINE : UNKNOWN;
}

/* False: out of memory. */
static bool begin_input(struct input *in, struct trace_output *o, enum kind kind)
{
	in->kind = kind;
	switch (kind) {
	case DECISIONS:
		in->decisions = gp__trace_open(&o->w, in->path, NULL, NULL);
		return in->decisions;
	case MACHINE:
		in->machine = gp__trace_machine_open(&o->w, in->path);
		return in->machine;
	case KERNEL:
		in->kernel = gp__trace_kernel_open(&o->w, in->path);
		return in->kernel;
	default:
		return true;
	}
}

static void end_input(const struct input *in)
{
	if (in->decisions)
		gp__trace_close(in->decisions, 0);
	if (in->machine)
		gp__trace_machine_close(in->machine);
	if (in->kernel)
		gp__trace_kernel_close(in->kernel);
}

static int take_line(struct input *in, struct trace_output *o, const char *line, size_t len)
{
	if (in->kind == UNKNOWN && !begin_input(in, o, kind_of(line, len)))
		return -ENOMEM;
	switch (in->kind) {
	case DECISIONS:
		return gp__trace_line(in->decisions, line, len, &in->expected);
	case MACHINE:
		in->expected = "HOST DEVICE GPU busy|idle|on|off [PID QUEUE]";
		return gp__trace_machine_line(in->machine, line);
	case KERNEL:
		in->expected = "a tracepoint as the kernel prints it";
		return gp__trace_kernel_line(in->kernel, line);
	default:
		in->expected = "a decision log, a trace of an emulated machine, or text of tracefs";
		return *line == '#' || !*line ? 0 : -EINVAL;
	}
}

/* The last line of a file that is being written may have no end yet: it is left out. */
static int read_lines(struct input *in, struct trace_output *o, FILE *file)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t len;
	int err = 0;

	while (!err && (len = getline(&line, &room, file)) > 0 && line[len - 1] == '\n') {
		line[--len] = '\0';
		in->line++;
		err = take_line(in, o, line, (size_t)len);
	}
	free(line);
	if (!err && ferror(file))
		err = -EIO;
	return err;
}

int trace_add(struct gp__env *env, struct trace_output *o, const char *path)
{
	FILE *file = strcmp(path, "-") ? fopen(path, "re") : stdin;
	struct input in = { .path = path };
	int err;

	if (!file)
		return gp__env_fail(env, GP__EXIT_FAILURE, NULL, "cannot read %s: %s", path,
				    strerror(errno));
	err = read_lines(&in, o, file);
	if (!err && in.kind == UNKNOWN) {
		err = -EINVAL;
		in.expected = "a line at least";
	}
	end_input(&in);
	if (file != stdin)
		fclose(file);
	if (err == -EINVAL)
		return gp__env_fail(env, GP__EXIT_USAGE,
				    "'log' in gpreemptd.conf, 'gpreempt sim --log' and 'gpreempt "
				    "emu start --trace' write what can be converted.",
				    "%s:%llu: expected %s", path, in.line, in.expected);
	if (err)
		return gp__env_fail(env, GP__EXIT_FAILURE, NULL, "cannot read %s: %s", path,
				    strerror(-err));
	return GP__EXIT_OK;
}

/*
 * convert
 */

enum { FILES_MAX = 64 };

struct convert_args {
	const char *output;
	const char *files[FILES_MAX];
	size_t nr_files;
};

static const struct argp_option convert_options[] = {
	{ "output", 'o', "FILE", 0,
	  "write the trace to FILE (" TRACE_DEFAULT_OUTPUT "); -: standard output", 0 },
	{ 0 },
};

static error_t parse_convert(int key, char *arg, struct argp_state *state)
{
	struct convert_args *args = state->input;

	switch (key) {
	case 'o':
		args->output = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (args->nr_files == FILES_MAX)
			return gp__cmd_usage(state, "more than %d files", FILES_MAX);
		args->files[args->nr_files++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (!args->nr_files)
			return gp__cmd_usage(state, "a file is missing: what is to be converted");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp convert_argp = {
	.options = convert_options,
	.parser = parse_convert,
	.args_doc = "LOG...",
	.doc = "Write a Perfetto trace of decision logs (of gpreemptd, 'gpreempt sim --log' or the "
	       "kernel's scheduler), of the traces of emulated machines ('gpreempt emu start "
	       "--trace') and of the text of the kernel's tracepoints, all on one time axis.",
};

static int convert(struct gp__env *env, int argc, char **argv)
{
	struct convert_args args = { .output = TRACE_DEFAULT_OUTPUT };
	struct trace_output o;
	int status;

	if (!gp__cmd_parse(env, &convert_argp, argc, argv, &args, &status))
		return status;
	o.path = args.output;
	status = trace_output_open(env, &o);
	if (status)
		return status;
	/* Alone it names the clock of the trace. */
	gp__perfetto_clocks(&o.w, 1, 0, 0);
	for (size_t i = 0; !status && i < args.nr_files; i++)
		status = trace_add(env, &o, args.files[i]);
	return trace_output_close(env, &o, status);
}

/*
 * The command
 */

static const struct {
	const char *name;
	int (*run)(struct gp__env *env, int argc, char **argv);
} verbs[] = {
	{ "convert", convert },
	{ "record", trace_record },
};

static int (*find_verb(const char *name))(struct gp__env *env, int argc, char **argv)
{
	for (size_t i = 0; name && i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (!strcmp(verbs[i].name, name))
			return verbs[i].run;
	}
	return NULL;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case ARGP_KEY_ARG:
		return gp__cmd_usage(state, "'%s' is not record or convert", arg);
	case ARGP_KEY_NO_ARGS:
		return gp__cmd_usage(state, "a verb is missing: record or convert");
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.parser = parse,
	.args_doc = "record|convert",
	.doc = "Write a trace that ui.perfetto.dev opens: of what gpreemptd decides from now on "
	       "(record), or of logs and traces that were written before (convert). 'gpreempt "
	       "trace VERB --help' has the options of each.",
};

int cmd_trace(struct gp__env *env, int argc, char **argv)
{
	int (*run)(struct gp__env * env, int argc, char **argv) =
		find_verb(argc > 1 ? argv[1] : NULL);
	int status = GP__EXIT_USAGE;

	if (run)
		return run(env, argc - 1, argv + 1);
	gp__cmd_parse(env, &argp, argc, argv, NULL, &status);
	return status;
}
