// SPDX-License-Identifier: MIT
/*
 * gpreempt trace record: the decisions of gpreemptd as it makes them, and the tracepoints of the
 * kernel series' scheduler where there are any, as a Perfetto trace.
 *
 * The daemon does not wait for the recorder: lines that it does not read in time are missing, which
 * is counted and reported.
 */
#include "cli/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/units.h"
#include "cli/daemon.h"
#include "core/log.h"
#include "trace/decisions.h"
#include "trace/kernel.h"
#include "wire/client.h"

#define TRACEFS "/sys/kernel/tracing"
#define SOURCE "gpreemptd"

enum { FILES_MAX = 16 };

struct args {
	const char *output;
	uint64_t ns; /* 0: until interrupted */
	const char *add[FILES_MAX];
	size_t nr_add;
	json_t *targets;
};

/* What the tracepoints of the kernel write into, in an instance of its own. */
struct kernel {
	char folder[64]; /* "": there is none */
	int pipe; /* -1: none */
	struct gp__trace_kernel *trace;
	char line[512];
	size_t used;
};

struct recorder {
	const struct args *args;
	json_t *list; /* of the daemon, when it begins */
	struct trace_output out;
	struct gp__trace *trace;
	struct kernel kernel;
	int watch, signals; /* descriptors; -1: none */
	uint64_t began;
	unsigned long long nr_lines, nr_missing;
};

enum {
	KEY_SECONDS = 's',
	KEY_ADD = 'a',
};

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0,
	  "write the trace to FILE (" TRACE_DEFAULT_OUTPUT "); -: standard output", 0 },
	{ "seconds", KEY_SECONDS, "N", 0, "end after N seconds instead of when interrupted", 0 },
	{ "add", KEY_ADD, "FILE", 0,
	  "at the end, add a file as 'gpreempt trace convert' does, such as an emulated machine's "
	  "trace",
	  0 },
	DAEMON_TAG_OPTION,
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *args = state->input;
	double seconds;
	char *end;

	switch (key) {
	case 'o':
		args->output = arg;
		return 0;
	case KEY_SECONDS:
		seconds = strtod(arg, &end);
		if (end == arg || *end || !(seconds >= 0.001 && seconds <= 86400))
			return gp__cmd_usage(state,
					     "--seconds: '%s' is not a number from 0.001 to "
					     "86400",
					     arg);
		args->ns = (uint64_t)(seconds * (double)GP__S);
		return 0;
	case KEY_ADD:
		if (args->nr_add == FILES_MAX)
			return gp__cmd_usage(state, "--add: more than %d files", FILES_MAX);
		args->add[args->nr_add++] = arg;
		return 0;
	case ARGP_KEY_END: /* without targets: all */
		return 0;
	default:
		return daemon_parse_target(args->targets, key, arg, state);
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[" DAEMON_TARGETS_DOC "]",
	.doc = "Record what gpreemptd decides, until interrupted. With targets, only their groups "
	       "have tracks. Decisions show the programs of all users, so this needs an "
	       "administrator of gpreemptd.",
};

/*
 * Targets
 */

static const json_t *group_of_queue(const json_t *list, json_int_t id)
{
	json_t *group, *queue;
	size_t i, j;

	json_array_foreach (json_object_get(list, "groups"), i, group) {
		json_array_foreach (json_object_get(group, "queues"), j, queue) {
			if (json_integer_value(json_object_get(queue, "queue")) == id)
				return group;
		}
	}
	return NULL;
}

static bool is_meant(const json_t *target, const json_t *list, u32 group, u32 pid, const char *tag)
{
	const json_t *value;

	if ((value = json_object_get(target, "pid")))
		return json_integer_value(value) == pid;
	if ((value = json_object_get(target, "group")))
		return json_integer_value(value) == group;
	if ((value = json_object_get(target, "tag")))
		return !strcmp(json_string_value(value), tag);
	value = group_of_queue(list, json_integer_value(json_object_get(target, "queue")));
	return json_integer_value(json_object_get(value, "group")) == group;
}

static const json_t *find_group(const json_t *list, u32 id)
{
	json_t *group;
	size_t i;

	json_array_foreach (json_object_get(list, "groups"), i, group) {
		if (json_integer_value(json_object_get(group, "group")) == id)
			return group;
	}
	return NULL;
}

/* The name of a group in the trace may be that of its program: the list has the tag. */
static bool wants(void *data, u32 group, u32 pid, const char *name)
{
	const struct recorder *r = data;
	const char *tag = json_string_value(json_object_get(find_group(r->list, group), "tag"));
	json_t *target;
	size_t i;

	json_array_foreach (r->args->targets, i, target) {
		if (is_meant(target, r->list, group, pid, tag ? tag : name))
			return true;
	}
	return !json_array_size(r->args->targets);
}

/*
 * What is there when it begins
 */

static u32 u32_of(const json_t *o, const char *key)
{
	return (u32)json_integer_value(json_object_get(o, key));
}

static const char *text_of(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "";
}

static void add_group(const struct recorder *r, const json_t *g)
{
	char name[96];
	struct gp__trace_group info = { u32_of(g, "group"), u32_of(g, "gpu"), u32_of(g, "pid"),
					(s32)json_integer_value(json_object_get(g, "priority")),
					name };

	snprintf(name, sizeof(name), "%s%s%s", text_of(g, "program"),
		 *text_of(g, "tag") ? ", " : "", text_of(g, "tag"));
	gp__trace_group(r->trace, &info, r->began);
}

/* Work comes before holds, which it has caused. */
static void add_queues(const struct recorder *r, const json_t *g, bool holds)
{
	const json_t *hold = json_object_get(g, "hold");
	bool held = json_is_object(hold);
	json_t *q;
	size_t i;

	json_array_foreach (json_object_get(g, "queues"), i, q) {
		bool out = held && strncmp(text_of(q, "state"), "exclud", 6) == 0;
		struct gp__trace_queue info = {
			.group = u32_of(g, "group"),
			.queue = u32_of(q, "queue"),
			.has_work = !holds && json_is_true(json_object_get(q, "has_work")),
			.held = holds && out,
			.rule = text_of(hold, "rule"),
			.by = held ? u32_of(hold, "by_group") : 0,
		};

		gp__trace_queue(r->trace, &info, r->began);
	}
}

static void begin_trace(struct recorder *r)
{
	json_t *one;
	size_t i;

	json_array_foreach (json_object_get(r->list, "gpus"), i, one)
		gp__trace_gpu(r->trace, u32_of(one, "gpu"), text_of(one, "name"));
	json_array_foreach (json_object_get(r->list, "groups"), i, one)
		add_group(r, one);
	json_array_foreach (json_object_get(r->list, "groups"), i, one)
		add_queues(r, one, false);
	json_array_foreach (json_object_get(r->list, "groups"), i, one)
		add_queues(r, one, true);
}

static uint64_t read_clock(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * GP__S + (uint64_t)ts.tv_nsec;
}

/* Lines are asked for first, so that none is missing between the list and them. */
static int subscribe(struct gp__env *env, struct recorder *r)
{
	struct daemon_problem why;
	json_t *answer = NULL;
	int fd;

	r->watch = daemon_connect(&why);
	if (r->watch >= 0)
		answer = daemon_ask(r->watch, json_pack("{s:s}", "op", "watch"), &why);
	json_decref(answer);
	if (!answer)
		return daemon_tell(env, &why);
	fd = daemon_connect(&why);
	r->began = gp__clock_ns();
	if (fd >= 0) {
		r->list = daemon_ask(fd, json_pack("{s:s}", "op", "list"), &why);
		close(fd);
	}
	return r->list ? GP__EXIT_OK : daemon_tell(env, &why);
}

/*
 * Tracepoints
 */

static bool write_file(const struct kernel *k, const char *name, const char *text)
{
	char path[160];
	size_t len = strlen(text);
	bool ok;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", k->folder, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ok = write(fd, text, len) == (ssize_t)len;
	close(fd);
	return ok;
}

static bool open_kernel(struct kernel *k)
{
	char path[160];

	if (!write_file(k, "trace_clock", "mono") ||
	    !write_file(k, "events/amdkfd/kfd_sched_ring/enable", "1") ||
	    !write_file(k, "events/amdkfd/kfd_sched_action/enable", "1"))
		return false;
	snprintf(path, sizeof(path), "%s/trace_pipe", k->folder);
	k->pipe = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return k->pipe >= 0;
}

static void begin_kernel(struct gp__env *env, struct recorder *r)
{
	struct kernel *k = &r->kernel;
	char folder[sizeof(k->folder)];

	if (access(TRACEFS "/events/amdkfd/kfd_sched_action", F_OK))
		return; /* this kernel does not have the series */
	snprintf(folder, sizeof(folder), TRACEFS "/instances/gpreempt-%d", (int)getpid());
	if (!mkdir(folder, 0700)) {
		memcpy(k->folder, folder, sizeof(folder));
		k->trace = gp__trace_kernel_open(&r->out.w, "tracefs");
		if (k->trace && open_kernel(k))
			return;
	}
	gp__log_warning(&env->log,
			"cannot use the tracepoints in %s: %s; the trace is without the kernel's "
			"scheduler",
			folder, strerror(errno));
}

static void take_kernel_text(struct kernel *k, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] != '\n') {
			if (k->used + 1 < sizeof(k->line))
				k->line[k->used++] = text[i];
			continue;
		}
		k->line[k->used] = '\0';
		k->used = 0;
		gp__trace_kernel_line(k->trace, k->line);
	}
}

static void take_kernel(struct kernel *k)
{
	char text[4096];
	ssize_t n = 1;

	while (k->pipe >= 0 && (n = read(k->pipe, text, sizeof(text))) > 0)
		take_kernel_text(k, text, (size_t)n);
}

static void end_kernel(struct kernel *k)
{
	if (k->pipe >= 0) {
		take_kernel(k);
		close(k->pipe);
	}
	if (k->trace)
		gp__trace_kernel_close(k->trace);
	if (*k->folder)
		rmdir(k->folder);
}

/*
 * Recording
 */

static void note_missing(struct recorder *r, const char *comment)
{
	unsigned long long n;

	if (sscanf(comment, "# %llu lines are missing", &n) == 1)
		r->nr_missing += n;
}

/* False: the daemon has ended. */
static bool take_lines(struct recorder *r)
{
	char line[GP__LOG_LINE_MAX];
	const char *expected;
	ssize_t n;

	while ((n = gp__wire_next_line(r->watch, line, sizeof(line), 0)) > 0) {
		note_missing(r, line);
		/* The list had them already. */
		if (strtoull(line, NULL, 10) < r->began && *line != '#')
			continue;
		r->nr_lines++;
		gp__trace_line(r->trace, line, (size_t)n, &expected);
	}
	return n == -EAGAIN;
}

/* Milliseconds until it ends; -1: never. */
static int time_left(const struct recorder *r)
{
	uint64_t until = r->began + r->args->ns, now = gp__clock_ns();

	if (!r->args->ns)
		return -1;
	return now >= until ? 0 : (int)((until - now + GP__MS - 1) / GP__MS);
}

/* True: the daemon has ended. */
static bool record(struct recorder *r)
{
	struct pollfd fds[] = { { r->signals, POLLIN, 0 },
				{ r->watch, POLLIN, 0 },
				{ r->kernel.pipe, POLLIN, 0 } };
	int left;

	while ((left = time_left(r))) {
		if (poll(fds, sizeof(fds) / sizeof(fds[0]), left) < 0 && errno != EINTR)
			return false;
		if (fds[0].revents)
			return !take_lines(r);
		if (fds[1].revents && !take_lines(r))
			return true;
		if (fds[2].revents)
			take_kernel(&r->kernel);
	}
	return !take_lines(r);
}

static int print_result(struct gp__env *env, const struct recorder *r, bool ended)
{
	char missing[64] = "";
	json_t *root;

	if (!strcmp(r->out.path, "-"))
		return GP__EXIT_OK;
	if (env->json) {
		root = gp__json_envelope();
		json_object_set_new(root, "trace", gp__json_text(r->out.path));
		gp__json_set_real(root, "recorded_ms", true, gp__to_ms(gp__clock_ns() - r->began));
		gp__json_set_u64(root, "lines", true, r->nr_lines);
		gp__json_set_u64(root, "lines_missing", true, r->nr_missing);
		gp__json_set_u64(root, "packets", true, r->out.w.nr_packets);
		json_object_set_new(root, "daemon_ended", json_boolean(ended));
		return gp__json_print(env, root) ? GP__EXIT_FAILURE : GP__EXIT_OK;
	}
	if (r->nr_missing)
		snprintf(missing, sizeof(missing), ", %llu are missing", r->nr_missing);
	fprintf(env->out, "%s: %.1f s, %llu decisions and events%s%s; open it in ui.perfetto.dev\n",
		r->out.path, gp__to_s(gp__clock_ns() - r->began), r->nr_lines, missing,
		ended ? "; gpreemptd has ended" : "");
	return GP__EXIT_OK;
}

static int record_trace(struct gp__env *env, struct recorder *r)
{
	int status = trace_output_open(env, &r->out);
	bool ended;

	if (status)
		return status;
	r->trace = gp__trace_open(&r->out.w, SOURCE, wants, r);
	if (!r->trace)
		return trace_output_close(
			env, &r->out, gp__env_fail(env, GP__EXIT_FAILURE, NULL, "out of memory"));
	gp__perfetto_clocks(&r->out.w, r->began, read_clock(CLOCK_BOOTTIME),
			    read_clock(CLOCK_REALTIME));
	begin_trace(r);
	begin_kernel(env, r);
	ended = record(r);
	end_kernel(&r->kernel);
	gp__trace_close(r->trace, gp__clock_ns());
	for (size_t i = 0; !status && i < r->args->nr_add; i++)
		status = trace_add(env, &r->out, r->args->add[i]);
	status = trace_output_close(env, &r->out, status);
	return status ? status : print_result(env, r, ended);
}

/* They end the recording, not the process. */
static int take_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int trace_record(struct gp__env *env, int argc, char **argv)
{
	struct args args = { .output = TRACE_DEFAULT_OUTPUT, .targets = json_array() };
	struct recorder r = { .args = &args, .watch = -1, .signals = -1, .kernel.pipe = -1 };
	int status;

	if (gp__cmd_parse(env, &argp, argc, argv, &args, &status)) {
		r.out.path = args.output;
		r.signals = take_signals();
		status = subscribe(env, &r);
		if (!status)
			status = record_trace(env, &r);
	}
	if (r.watch >= 0)
		close(r.watch);
	if (r.signals >= 0)
		close(r.signals);
	json_decref(r.list);
	json_decref(args.targets);
	return status;
}
