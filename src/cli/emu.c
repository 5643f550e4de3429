// SPDX-License-Identifier: MIT
/* gpreempt emu: emulated AMD machines, started, listed, stopped, and programs run on them. */
#include "cli/emu.h"

#include "base/json.h"
#include "base/table.h"
#include "base/units.h"
#include "cli/child.h"
#include "cli/commands.h"
#include "emu/kfd/fault.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_NAME "default"
#define GIB (1ULL << 30)
#define VRAM_MIN (16ULL << 20)
#define VRAM_MAX (512 * GIB)
#define XCC_CUS_MAX 128
#define NICE_MAX 19

enum {
	KEY_GPU = 0x100,
	KEY_CUS,
	KEY_GPUS,
	KEY_XCCS,
	KEY_VRAM,
	KEY_KERNEL,
	KEY_SCHED,
	KEY_KFD_SCHED,
	KEY_PREEMPT_ALIASES,
	KEY_CWSR,
	KEY_NAME,
	KEY_NICE,
	KEY_SEED,
	KEY_FAULT,
	KEY_TRACE,
	KEY_STRICT,
	KEY_ALL,
};

struct args {
	struct gp__env *env;
	struct emu_config config;
	bool configured; /* an option describes the machine */
	const char *name; /* NULL: not given */
	const char *trace; /* the same */
	bool all;
	bool names; /* a name may be given without --name */
};

static const struct argp_option machine_options[] = {
	{ "gpu", KEY_GPU, "TARGET", 0, "gfx90a (MI210) or gfx942 (MI300X); gfx90a", 0 },
	{ "gpus", KEY_GPUS, "N", 0, "number of GPUs, 0 to 8; 1", 0 },
	{ "xccs", KEY_XCCS, "N", 0, "XCCs of a GPU; 1, of a gfx942 8", 0 },
	{ "cus", KEY_CUS, "N", 0, "compute units of an XCC; 104, of a gfx942 38", 0 },
	{ "vram", KEY_VRAM, "SIZE", 0, "memory of a GPU; 16G", 0 },
	{ "kernel", KEY_KERNEL, "VERSION", 0,
	  "emulated kernel: 6.1, 6.12, or gpreempt (6.12 with its series); 6.12", 0 },
	{ "sched", KEY_SCHED, "hws|mes|none", 0,
	  "what maps queues: firmware, MES, or the driver (amdgpu.sched_policy=2); hws", 0 },
	{ "kfd-sched", KEY_KFD_SCHED, NULL, 0,
	  "with --kernel gpreempt: it schedules queues by priority (amdgpu.kfd_sched=1)", 0 },
	{ "preempt-aliases", KEY_PREEMPT_ALIASES, NULL, 0,
	  "with --kernel gpreempt: it has ioctls 0x87 and 0x88 (amdgpu.kfd_preempt_aliases=1)", 0 },
	{ "cwsr", KEY_CWSR, "on|off", 0, "whether waves are saved when a queue is stopped; on", 0 },
	{ "nice", KEY_NICE, "N", 0, "nice value of its compute unit threads; 0", 0 },
	{ "seed", KEY_SEED, "N", 0, "seed of random faults; 1", 0 },
	{ "fault", KEY_FAULT, "WHAT=VALUE,...", 0, "inject faults; see gpreempt-emu(1)", 0 },
	{ "trace", KEY_TRACE, "FILE", 0, "write a trace of compute unit occupancy to FILE", 0 },
	{ "strict", KEY_STRICT, NULL, 0,
	  "exec only: report instructions whose results are approximate on standard error", 0 },
	{ "name", KEY_NAME, "NAME", 0, "the machine's name", 0 },
	{ 0 },
};

static const struct argp_option info_options[] = {
	{ "gpu", KEY_GPU, "TARGET", 0, "gfx90a (MI210) or gfx942 (MI300X); gfx90a", 0 },
	{ "all", KEY_ALL, NULL, 0, "list the exact instructions as well", 0 },
	{ 0 },
};

static const struct argp_option stop_options[] = {
	{ "all", KEY_ALL, NULL, 0, "every machine of this user", 0 },
	{ 0 },
};

static const char *const kernel_names[] = {
	[EMU_KERNEL_6_1] = "6.1",
	[EMU_KERNEL_6_12] = "6.12",
	[EMU_KERNEL_GPREEMPT] = "gpreempt",
};

static const char *const sched_names[] = {
	[EMU_SCHED_HWS] = "hws",
	[EMU_SCHED_MES] = "mes",
	[EMU_SCHED_NONE] = "none",
};

/* The index of @text among the names, or -1. */
static int find_name(const char *const *names, size_t n, const char *text)
{
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(names[i], text))
			return (int)i;
	}
	return -1;
}

/*
 * Options
 */

static error_t parse_number(struct argp_state *state, const char *option, const char *text,
			    uint64_t min, uint64_t max, uint64_t *value)
{
	char expected[80];

	if (!gp__parse_u64(text, min, max, value))
		return 0;
	return gp__cmd_usage(state, "%s: '%s' is not %s", option, text,
			     gp__expect_u64(expected, sizeof(expected), min, max));
}

static error_t parse_u32(struct argp_state *state, const char *option, const char *text,
			 uint32_t min, uint32_t max, uint32_t *value)
{
	uint64_t v = 0;
	error_t err = parse_number(state, option, text, min, max, &v);

	*value = (uint32_t)v;
	return err;
}

static error_t parse_vram(struct argp_state *state, const char *text, uint64_t *bytes)
{
	if (!gp__parse_size(text, bytes) && *bytes >= VRAM_MIN && *bytes <= VRAM_MAX)
		return 0;
	return gp__cmd_usage(state, "--vram: '%s' is not a size from 16M to 512G", text);
}

/* A name is also that of a folder, and should be easy to type. */
static error_t parse_name(struct argp_state *state, const char *text, struct args *args)
{
	size_t len = strlen(text);

	if (args->name)
		return gp__cmd_usage(state, "only one machine can be named, not '%s' as well",
				     text);
	for (size_t i = 0; i < len; i++) {
		if (!isalnum((unsigned char)text[i]) && !strchr("-_.", text[i]))
			len = 0;
	}
	if (!len || len >= sizeof(args->config.name) || *text == '.' || *text == '-')
		return gp__cmd_usage(
			state,
			"'%s' is not a machine name; use up to 63 letters, digits, '-', "
			"'_' and '.'",
			text);
	args->name = text;
	return 0;
}

static error_t parse_fault(struct argp_state *state, const char *list, struct emu_faults *f)
{
	char why[256];

	if (!emu_faults_parse(list, f, why, sizeof(why)))
		return 0;
	return gp__cmd_usage(state, "--fault: %s", why);
}

static error_t parse_choice(struct argp_state *state, int key, const char *text,
			    struct emu_config *c)
{
	int i;

	switch (key) {
	case KEY_GPU:
		c->chip = emu_chip_find(text);
		if (!c->chip)
			return gp__cmd_usage(state, "--gpu: '%s' is neither gfx90a nor gfx942",
					     text);
		return 0;
	case KEY_KERNEL:
		i = find_name(kernel_names, EMU_KERNEL_GPREEMPT + 1, text);
		if (i < 0)
			return gp__cmd_usage(state, "--kernel: '%s' is not 6.1, 6.12 or gpreempt",
					     text);
		c->kernel = (enum emu_kernel)i;
		return 0;
	case KEY_SCHED:
		i = find_name(sched_names, EMU_SCHED_NONE + 1, text);
		if (i < 0)
			return gp__cmd_usage(state, "--sched: '%s' is not hws, mes or none", text);
		c->sched = (enum emu_sched)i;
		return 0;
	default:
		if (strcmp(text, "on") && strcmp(text, "off"))
			return gp__cmd_usage(state, "--cwsr: '%s' is neither on nor off", text);
		c->cwsr = !strcmp(text, "on");
		return 0;
	}
}

static error_t parse_machine(int key, char *arg, struct argp_state *state)
{
	struct args *args = state->input;
	struct emu_config *c = &args->config;

	switch (key) {
	case KEY_GPU:
	case KEY_KERNEL:
	case KEY_SCHED:
	case KEY_CWSR:
		args->configured = true;
		return parse_choice(state, key, arg, c);
	case KEY_KFD_SCHED:
		args->configured = true;
		c->kfd_sched = true;
		return 0;
	case KEY_PREEMPT_ALIASES:
		args->configured = true;
		c->preempt_aliases = true;
		return 0;
	case KEY_GPUS:
		args->configured = true;
		return parse_u32(state, "--gpus", arg, 0, EMU_GPUS_MAX, &c->nr_gpus);
	case KEY_XCCS:
		args->configured = true;
		return parse_u32(state, "--xccs", arg, 1, EMU_XCCS_MAX, &c->nr_xccs);
	case KEY_CUS:
		args->configured = true;
		return parse_u32(state, "--cus", arg, 1, XCC_CUS_MAX, &c->xcc_cus);
	case KEY_VRAM:
		args->configured = true;
		return parse_vram(state, arg, &c->vram_bytes);
	case KEY_NICE:
		args->configured = true;
		return parse_u32(state, "--nice", arg, 0, NICE_MAX, &c->nice);
	case KEY_SEED:
		args->configured = true;
		return parse_number(state, "--seed", arg, 0, UINT64_MAX, &c->seed);
	case KEY_FAULT:
		args->configured = true;
		return parse_fault(state, arg, &c->faults);
	case KEY_TRACE:
		args->configured = true;
		args->trace = arg;
		return 0;
	case KEY_STRICT:
		args->configured = true;
		c->strict = true;
		return 0;
	case KEY_NAME:
		return parse_name(state, arg, args);
	case KEY_ALL:
		args->all = true;
		return 0;
	case ARGP_KEY_ARG:
		if (args->names)
			return parse_name(state, arg, args);
		return gp__cmd_usage(state,
				     "unexpected argument '%s'; name the machine with --name", arg);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int open_trace(struct gp__env *env, const char *path, struct emu_config *c)
{
	c->trace = path ? fopen(path, "we") : NULL;
	if (!path || c->trace)
		return 0;
	return gp__env_fail(env, GP__EXIT_FAILURE, NULL, "--trace: %s: %s", path, strerror(errno));
}

/* Options that were not given follow from the chip. */
static int complete_config(const struct args *args, struct emu_config *c)
{
	struct gp__env *env = args->env;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (!c->nr_xccs)
		c->nr_xccs = c->chip->nr_xccs;
	if (!c->xcc_cus)
		c->xcc_cus = c->chip->xcc_cus;
	if (c->kfd_sched && c->kernel != EMU_KERNEL_GPREEMPT)
		return gp__env_fail(env, GP__EXIT_USAGE, NULL,
				    "--kfd-sched needs --kernel gpreempt");
	if (c->preempt_aliases && c->kernel != EMU_KERNEL_GPREEMPT)
		return gp__env_fail(env, GP__EXIT_USAGE, NULL,
				    "--preempt-aliases needs --kernel gpreempt");
	if (c->kfd_sched && !c->cwsr)
		return gp__env_fail(env, GP__EXIT_USAGE, NULL,
				    "--kfd-sched needs context save; leave out --cwsr off");
	if (c->nr_xccs > c->chip->xccs_max)
		return gp__env_fail(env, GP__EXIT_USAGE, NULL,
				    "--xccs: a gfx90a has one; gfx942 has up to 8");
	if (c->nr_xccs * c->xcc_cus > EMU_CUS_MAX)
		return gp__env_fail(env, GP__EXIT_USAGE, NULL,
				    "%u XCCs of %u compute units are more than the %u that a GPU "
				    "can have",
				    c->nr_xccs, c->xcc_cus, EMU_CUS_MAX);
	c->threads = cpus > 0 && cpus < 1024 ? (int)cpus : 1;
	return open_trace(env, args->trace, c);
}

/* The options of one verb; argv[0] is the verb, which messages call "emu VERB". */
static bool parse_verb(struct args *args, const struct argp_option *options, const char *verb,
		       const char *args_doc, const char *doc, int argc, char **argv, int *status)
{
	struct argp argp = {
		.options = options, .parser = parse_machine, .args_doc = args_doc, .doc = doc
	};
	char name[32], *was = argv[0];
	bool go_on;

	snprintf(name, sizeof(name), "emu %s", verb);
	argv[0] = name;
	go_on = gp__cmd_parse(args->env, &argp, argc, argv, args, status);
	argv[0] = was;
	return go_on;
}

static struct args new_args(struct gp__env *env)
{
	return (struct args){ .env = env,
			      .config = { .chip = emu_chip_find("gfx90a"),
					  .nr_gpus = 1,
					  .vram_bytes = 16 * GIB,
					  .kernel = EMU_KERNEL_6_12,
					  .cwsr = true,
					  .seed = 1 } };
}

/*
 * start
 */

json_t *emu_machine_describe(const struct emu_config *c)
{
	return json_pack("{s:s, s:s, s:i, s:i, s:i, s:I, s:s, s:s, s:b, s:b, s:I}", "name", c->name,
			 "gpu", c->chip->name, "gpus", (int)c->nr_gpus, "xccs", (int)c->nr_xccs,
			 "cus", (int)c->xcc_cus, "vram_bytes", (json_int_t)c->vram_bytes, "kernel",
			 kernel_names[c->kernel], "sched", sched_names[c->sched], "kfd_sched",
			 c->kfd_sched, "cwsr", c->cwsr, "seed", (json_int_t)c->seed);
}

static int tell_started(struct gp__env *env, const struct emu_config *c, pid_t pid)
{
	json_t *root;

	if (!env->json) {
		fprintf(env->out, "machine '%s' is ready, process %d, in %s\n", c->name, (int)pid,
			c->dir);
		return GP__EXIT_OK;
	}
	root = gp__json_envelope();
	json_object_set_new(root, "machine", emu_machine_describe(c));
	json_object_set_new(root, "pid", json_integer(pid));
	json_object_set_new(root, "dir", gp__json_text(c->dir));
	return gp__json_print(env, root) ? GP__EXIT_FAILURE : GP__EXIT_OK;
}

static int emu_start(struct gp__env *env, int argc, char **argv)
{
	struct args args = new_args(env);
	struct emu_config *c = &args.config;
	int status, lock;
	pid_t pid;

	if (!parse_verb(&args, machine_options, "start", "[OPTION...]",
			"Start an emulated AMD machine, which serves programs until it is stopped.",
			argc, argv, &status))
		return status;
	if (c->strict)
		return gp__env_fail(env, GP__EXIT_USAGE,
				    "The log in its folder has the same lines; 'gpreempt emu ls "
				    "--json' says where.",
				    "--strict works only with 'gpreempt emu exec'");
	status = complete_config(&args, c);
	if (status)
		return status;
	snprintf(c->name, sizeof(c->name), "%s", args.name ? args.name : DEFAULT_NAME);
	lock = emu_folder_make(env, c->name, c->dir);
	if (lock < 0)
		return -lock;
	pid = emu_machine_start(env, c, lock, true);
	close(lock);
	return pid < 0 ? -pid : tell_started(env, c, pid);
}

/*
 * ls
 */

struct listing {
	struct gp__table *table; /* or */
	json_t *list;
};

static const char *text_of(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

static void list_one(void *ctx, const char *name, const char *dir, pid_t pid)
{
	struct listing *l = ctx;
	json_t *o = emu_machine_read(dir);
	char size[32];

	if (l->list) {
		if (!o)
			o = json_pack("{s:s}", "name", name);
		json_object_set_new(o, "pid", json_integer(pid));
		json_object_set_new(o, "dir", gp__json_text(dir));
		json_array_append_new(l->list, o);
		return;
	}
	gp__table_row(l->table);
	gp__table_cell(l->table, name);
	gp__table_cellf(l->table, "%d", (int)pid);
	if (o) {
		gp__table_cellf(l->table, "%lldx %s",
				json_integer_value(json_object_get(o, "gpus")), text_of(o, "gpu"));
		gp__table_cellf(l->table, "%lld",
				json_integer_value(json_object_get(o, "xccs")) *
					json_integer_value(json_object_get(o, "cus")));
		gp__table_cell(l->table,
			       gp__format_size(size, sizeof(size),
					       (uint64_t)json_integer_value(
						       json_object_get(o, "vram_bytes"))));
		gp__table_cell(l->table, text_of(o, "kernel"));
	}
	json_decref(o);
}

static int emu_ls(struct gp__env *env, int argc, char **argv)
{
	static const struct argp_option none[] = { { 0 } };
	struct args args = new_args(env);
	struct listing l = { 0 };
	json_t *root;
	int status, err;

	if (!parse_verb(&args, none, "ls", "", "List the machines of this user.", argc, argv,
			&status))
		return status;
	if (env->json) {
		l.list = json_array();
	} else {
		l.table = gp__table_new(env);
		gp__table_column(l.table, "NAME", GP__LEFT);
		gp__table_column(l.table, "PID", GP__RIGHT);
		gp__table_column(l.table, "GPUS", GP__LEFT);
		gp__table_column(l.table, "CUS", GP__RIGHT);
		gp__table_column(l.table, "VRAM", GP__RIGHT);
		gp__table_column(l.table, "KERNEL", GP__LEFT);
	}
	status = emu_folder_each(env, list_one, &l);
	if (!env->json) {
		err = gp__table_print(l.table);
		return status ? status : err ? GP__EXIT_FAILURE : GP__EXIT_OK;
	}
	if (status) {
		json_decref(l.list);
		return status;
	}
	root = gp__json_envelope();
	json_object_set_new(root, "machines", l.list);
	return gp__json_print(env, root) ? GP__EXIT_FAILURE : GP__EXIT_OK;
}

/*
 * stop
 */

struct stopping {
	const char *name; /* NULL: all */
	unsigned int stopped, failed;
};

static void stop_one(void *ctx, const char *name, const char *dir, pid_t pid)
{
	struct stopping *s = ctx;

	if (s->name && strcmp(s->name, name))
		return;
	if (emu_machine_stop(dir, pid))
		s->stopped++;
	else
		s->failed++;
}

static int emu_stop(struct gp__env *env, int argc, char **argv)
{
	struct args args = new_args(env);
	struct stopping s = { 0 };
	json_t *root;
	int status;

	args.names = true;
	if (!parse_verb(&args, stop_options, "stop", "[NAME]",
			"Stop a machine; without a name, the one called 'default'.", argc, argv,
			&status))
		return status;
	if (args.all && args.name)
		return gp__env_fail(env, GP__EXIT_USAGE, NULL,
				    "--all stops every machine; leave out '%s'", args.name);
	s.name = args.all ? NULL : args.name ? args.name : DEFAULT_NAME;
	status = emu_folder_each(env, stop_one, &s);
	if (status)
		return status;
	if (s.failed)
		return gp__env_fail(
			env, GP__EXIT_FAILURE,
			"Its log is in its folder; 'gpreempt emu ls --json' says where.",
			"a machine did not stop");
	if (s.name && !s.stopped)
		return gp__env_fail(env, GP__EXIT_FAILURE, "'gpreempt emu ls' lists the machines.",
				    "there is no machine '%s'", s.name);
	if (!env->json)
		return GP__EXIT_OK;
	root = gp__json_envelope();
	json_object_set_new(root, "stopped", json_integer(s.stopped));
	return gp__json_print(env, root) ? GP__EXIT_FAILURE : GP__EXIT_OK;
}

/*
 * exec
 */

static bool stands_alone(const char *option)
{
	static const char *const common[] = { "--json", "--no-headers", "--help", "--usage", "-h" };

	if (strchr(option, '=') ||
	    find_name(common, sizeof(common) / sizeof(common[0]), option) >= 0)
		return true;
	for (const struct argp_option *o = machine_options; o->name; o++) {
		if (!strncmp(option, "--", 2) && !strcmp(option + 2, o->name))
			return !o->arg;
	}
	return false;
}

/*
 * The start of the command: behind "--", or the first word that is neither an option nor its value.
 */
static int find_command(int argc, char **argv)
{
	int i = 1;

	while (i < argc && argv[i][0] == '-' && strcmp(argv[i], "--"))
		i += stands_alone(argv[i]) ? 1 : 2;
	return i < argc ? i : argc;
}

static int exec_named(struct gp__env *env, const char *name, char **command)
{
	char base[PATH_MAX], dir[PATH_MAX];
	int status = emu_folder_base(env, base);

	if (status)
		return CHILD_OWN_FAILURE;
	if (snprintf(dir, sizeof(dir), "%s/%s", base, name) >= (int)sizeof(dir) ||
	    emu_folder_owner(dir) <= 0)
		return gp__env_fail(
			env, CHILD_OWN_FAILURE,
			"'gpreempt emu ls' lists the machines; 'gpreempt emu start' starts "
			"one.",
			"there is no machine '%s'", name);
	status = emu_client_setup(env, dir);
	return status ? CHILD_OWN_FAILURE : child_exec(env, command);
}

/* A program may have failed for a reason that only the machine's log has. */
static void keep_log(struct gp__env *env, const struct emu_config *c)
{
	char path[PATH_MAX];

	if (emu_folder_keep_log(c->dir, c->name, path))
		fprintf(env->err, "gpreempt: the machine's log is kept in %s\n", path);
}

/* On a private machine that ends with the command. */
static int exec_private(struct gp__env *env, struct emu_config *c, char **command)
{
	int lock, status;
	pid_t pid;

	snprintf(c->name, sizeof(c->name), "exec-%d", (int)getpid());
	lock = emu_folder_make(env, c->name, c->dir);
	if (lock < 0)
		return CHILD_OWN_FAILURE;
	/*
	 * Above the three descriptors that the machine replaces; closed with the machine and with
	 * us.
	 */
	c->console_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	pid = emu_machine_start(env, c, lock, false);
	close(lock);
	if (c->console_fd > 0)
		close(c->console_fd);
	if (pid < 0)
		return CHILD_OWN_FAILURE;
	status = emu_client_setup(env, c->dir) ? CHILD_OWN_FAILURE : child_run(env, command);
	if (status)
		keep_log(env, c);
	emu_machine_stop(c->dir, pid);
	return status;
}

static int emu_exec(struct gp__env *env, int argc, char **argv)
{
	int at = find_command(argc, argv);
	struct args args = new_args(env);
	char **command = argv + at;
	int status;

	if (at < argc && !strcmp(argv[at], "--"))
		command++;
	if (!parse_verb(&args, machine_options, "exec", "[OPTION...] -- COMMAND [ARGUMENT...]",
			"Run a command on a machine: the named one, or one of its own, which is "
			"gone when the command ends.\vThe status is the command's: 128 and more "
			"where a signal ended it, 127 where it was not found, 126 where it cannot "
			"be run, 125 where there is no machine for it.",
			at, argv, &status))
		return status;
	if (!*command)
		return gp__env_fail(env, GP__EXIT_USAGE, NULL,
				    "a command is missing; try 'gpreempt emu exec -- rocminfo'");
	if (args.name && args.configured)
		return gp__env_fail(env, GP__EXIT_USAGE, NULL,
				    "machine '%s' already exists; options that describe a machine "
				    "apply only to a new one",
				    args.name);
	if (args.name)
		return exec_named(env, args.name, command);
	status = complete_config(&args, &args.config);
	if (status)
		return status == GP__EXIT_USAGE ? status : CHILD_OWN_FAILURE;
	return exec_private(env, &args.config, command);
}

/*
 * info
 */

static int emu_info(struct gp__env *env, int argc, char **argv)
{
	struct args args = new_args(env);
	int status;

	if (!parse_verb(&args, info_options, "info", "[OPTION...]",
			"List the instructions whose results are approximate or that are not "
			"supported, and count the exact ones.",
			argc, argv, &status))
		return status;
	return emu_info_print(env, args.config.chip, args.all);
}

/*
 * The command
 */

static const struct gp__cmd verbs[] = {
	{ "exec", emu_exec, "run a command on a machine" },
	{ "info", emu_info, "how far each instruction's results can be trusted" },
	{ "ls", emu_ls, "list the machines of this user" },
	{ "start", emu_start, "start a machine" },
	{ "stop", emu_stop, "stop a machine" },
	{ NULL, NULL, NULL },
};

static const char *verb_name(const void *table, size_t i)
{
	return ((const struct gp__cmd *)table)[i].name;
}

static error_t parse_no_verb(int key, char *arg, struct argp_state *state)
{
	const char *nearest;

	switch (key) {
	case ARGP_KEY_ARG:
		nearest = gp__nearest(arg, verb_name, verbs);
		if (nearest)
			return gp__cmd_usage(state, "'%s' is not understood; did you mean '%s'?",
					     arg, nearest);
		return gp__cmd_usage(state,
				     "'%s' is not understood; there are exec, info, ls, start and "
				     "stop",
				     arg);
	case ARGP_KEY_NO_ARGS:
		return gp__cmd_usage(state, "missing subcommand: exec, info, ls, start or stop");
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int cmd_emu(struct gp__env *env, int argc, char **argv)
{
	static const struct argp argp = {
		.parser = parse_no_verb,
		.args_doc = "exec [OPTION...] -- COMMAND\ninfo [OPTION...]\nls\nstart "
			    "[OPTION...]\nstop [NAME|--all]",
		.doc = "Emulated AMD machines for unmodified ROCm programs.\v"
		       "'gpreempt emu start --help' shows what a machine can be; see "
		       "gpreempt-emu(1).",
	};
	int status;

	for (const struct gp__cmd *v = verbs; argc > 1 && v->name; v++) {
		if (!strcmp(v->name, argv[1]))
			return v->run(env, argc - 1, argv + 1);
	}
	gp__cmd_parse(env, &argp, argc, argv, NULL, &status);
	return status;
}
