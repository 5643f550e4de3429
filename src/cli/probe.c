// SPDX-License-Identifier: MIT
/* gpreempt probe: prints what the backends can do with the GPUs of this machine. */
#include "cli/commands.h"

#include "base/emulated.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/table.h"
#include "base/units.h"
#include "cli/child.h"
#include "device/backend.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#define KEY_GPU 'g'
#define KEY_REPORT 0x100
#define GPUS_MAX 64
#define LEVEL_MAX 3
#define TEXT_COLUMNS 80

struct args {
	int gpu; /* -1: all */
	const char *report; /* a file; NULL: none */
};

/* Locates a GPU: the @nth of @backend. */
struct place {
	const struct gp__backend *backend;
	int nth;
};

struct finding {
	const struct gp__backend *backend;
	int index; /* among all GPUs */
	struct gp__probe_report report;
};

static const struct argp_option options[] = {
	{ "gpu", KEY_GPU, "GPU", 0, "only this one: gpu0, or 0", 0 },
	{ "report", KEY_REPORT, "FILE", 0,
	  "write what was found to this file, without what identifies the machine", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *args = state->input;
	char expected[80];
	uint64_t value;

	if (key == KEY_REPORT) {
		args->report = arg;
		return *arg ? 0 : gp__cmd_usage(state, "--report: the file has no name");
	}
	if (key != KEY_GPU)
		return ARGP_ERR_UNKNOWN;
	if (gp__parse_u64(arg + (strncmp(arg, "gpu", 3) ? 0 : 3), 0, GPUS_MAX - 1, &value))
		return gp__cmd_usage(state, "--gpu: '%s' is not %s", arg,
				     gp__expect_u64(expected, sizeof(expected), 0, GPUS_MAX - 1));
	args->gpu = (int)value;
	return 0;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Say what can be done with the GPUs of this machine: each way of holding a queue "
	       "is tried on a scratch queue and measured, or the rule is named that forbids it.",
};

/*
 * JSON
 */

static json_t *ability_json(const struct gp__ability *a)
{
	json_t *o = json_object();

	json_object_set_new(o, "way", json_string(a->way));
	if (a->verb)
		json_object_set_new(o, "verb", json_string(a->verb));
	gp__json_set_u64(o, "level", a->level, (uint64_t)a->level);
	json_object_set_new(o, "works", json_boolean(a->works));
	gp__json_set_real(o, "stop_us", a->has_hold, a->hold_us);
	gp__json_set_real(o, "start_us", a->has_release, a->release_us);
	if (a->has_error)
		json_object_set_new(o, "error",
				    a->error ? json_string(strerrorname_np(-a->error))
					     : json_null());
	json_object_set_new(o, "reason", *a->reason ? gp__json_text(a->reason) : json_null());
	return o;
}

static json_t *abilities_json(const struct gp__probe_report *r)
{
	json_t *list = json_array();

	for (int i = 0; i < r->nr_abilities; i++) {
		if (!r->ability[i].untried)
			json_array_append_new(list, ability_json(&r->ability[i]));
	}
	return list;
}

static json_t *list_json(const char *items)
{
	json_t *list = json_array();
	char *copy = *items ? strdup(items) : NULL, *rest = copy, *item;

	while ((item = strsep(&rest, ",")))
		json_array_append_new(list, gp__json_text(item));
	free(copy);
	return list;
}

static json_t *value_json(const struct gp__fact *f)
{
	switch (f->type) {
	case GP__FACT_TEXT:
		return gp__json_text(f->text);
	case GP__FACT_NUMBER:
		return json_integer((json_int_t)f->number);
	case GP__FACT_BOOL:
		return json_boolean(f->number);
	case GP__FACT_LIST:
		return list_json(f->text);
	case GP__FACT_NULL:
		break;
	}
	return json_null();
}

/* "a.b" is the member b of the member a, an object. */
static void set_fact(json_t *o, const struct gp__fact *f)
{
	const char *dot = strchr(f->key, '.');
	json_t *inner;
	char *outer;

	if (!dot) {
		json_object_set_new(o, f->key, value_json(f));
		return;
	}
	outer = strndup(f->key, (size_t)(dot - f->key));
	inner = json_object_get(o, outer);
	if (!inner) {
		inner = json_object();
		json_object_set_new(o, outer, inner);
	}
	json_object_set_new(inner, dot + 1, value_json(f));
	free(outer);
}

static json_t *gpu_json(const struct finding *f)
{
	const struct gp__probe_report *r = &f->report;
	int first = r->nr_facts_first ? r->nr_facts_first : r->nr_facts;
	json_t *o = json_object();

	json_object_set_new(o, "index", json_integer(f->index));
	for (int i = 0; i < first; i++)
		set_fact(o, &r->fact[i]);
	json_object_set_new(o, "abilities", abilities_json(r));
	for (int i = first; i < r->nr_facts; i++)
		set_fact(o, &r->fact[i]);
	json_object_set_new(o, "error", *r->error ? gp__json_text(r->error) : json_null());
	return o;
}

/* The host's kernel says nothing about an emulated machine. */
static json_t *kernel_json(void)
{
	struct utsname u;

	if (gp__is_emulated())
		return json_null();
	return gp__json_text(uname(&u) ? "unknown" : u.release);
}

/*
 * The report
 */

/* Identifies one GPU, or is about other programs. */
static const char *const left_out[] = { "gpu_id", "uuid", "live_queues", "save_bytes_live" };

/* Removes the folders that sentences name: they may have the name of a user. */
static void hide_paths(json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));
	char *copy = text ? strdup(text) : NULL, *to = copy;

	for (const char *from = copy; copy && *from;) {
		bool begins = from == copy || strchr(" '(=", from[-1]);

		if (begins && *from == '/' && from[1] && !strchr(" '", from[1])) {
			from += strcspn(from, " ';,)");
			*to++ = '/';
			*to++ = '-';
			continue;
		}
		*to++ = *from++;
	}
	if (copy) {
		*to = '\0';
		json_object_set_new(o, key, gp__json_text(copy));
	}
	free(copy);
}

static json_t *gpu_report(const struct finding *f)
{
	json_t *o = gpu_json(f), *ability;
	size_t i;

	for (i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++)
		json_object_del(o, left_out[i]);
	hide_paths(o, "error");
	json_array_foreach (json_object_get(o, "abilities"), i, ability)
		hide_paths(ability, "reason");
	return o;
}

/* 0 or an exit status. */
static int write_report(struct gp__env *env, const char *path, const struct finding *f, int n)
{
	json_t *root = gp__json_envelope(), *list = json_array();
	FILE *out = fopen(path, "we");
	struct utsname u;
	int err;

	for (int i = 0; i < n; i++)
		json_array_append_new(list, gpu_report(&f[i]));
	json_object_set_new(root, "report", json_string("gpreempt probe"));
	json_object_set_new(root, "gpreempt", json_string(GP_VERSION));
	json_object_set_new(root, "kernel", kernel_json());
	json_object_set_new(root, "machine", uname(&u) ? json_null() : json_string(u.machine));
	json_object_set_new(root, "emulated", json_boolean(gp__is_emulated()));
	json_object_set_new(root, "gpus", list);
	err = out ? json_dumpf(root, out, JSON_INDENT(1) | JSON_REAL_PRECISION(6)) : -1;
	json_decref(root);
	if (out && !err)
		err = fputc('\n', out) == EOF;
	if (out && fclose(out))
		err = -1;
	if (err)
		return gp__env_fail(env, GP__EXIT_FAILURE, NULL, "cannot write the report %s: %s",
				    path, strerror(errno));
	if (!env->json)
		fprintf(env->out,
			"\nWrote %s. It has the GPUs, the driver, the kernel's version and what "
			"was "
			"tried,\nand nothing that identifies the machine or a user; look at it "
			"before "
			"you send it.\n",
			path);
	return 0;
}

static int print_json(struct gp__env *env, const struct finding *f, int n)
{
	json_t *root = gp__json_envelope(), *list = json_array();

	for (int i = 0; i < n; i++)
		json_array_append_new(list, gpu_json(&f[i]));
	json_object_set_new(root, "kernel", kernel_json());
	json_object_set_new(root, "emulated", json_boolean(gp__is_emulated()));
	json_object_set_new(root, "gpus", list);
	return gp__json_print(env, root);
}

/*
 * For people
 */

/* A paragraph: the first line begins with @head, the others are indented as far. */
static void print_wrapped(FILE *out, const char *head, const char *text)
{
	size_t indent = strlen(head), column = indent;

	fputs(head, out);
	while (*text) {
		size_t len = strcspn(text, " ");

		if (column > indent && column + 1 + len > TEXT_COLUMNS) {
			fprintf(out, "\n%*s", (int)indent, "");
			column = indent;
		} else if (column > indent) {
			fputc(' ', out);
			column++;
		}
		fprintf(out, "%.*s", (int)len, text);
		column += len;
		text += len + strspn(text + len, " ");
	}
	fputc('\n', out);
}

struct notes {
	const char *text[GP__REPORT_ABILITIES_MAX];
	int nr;
};

/* The number of the note with this text, from 1: each text is there once. */
static int note(struct notes *n, const char *text)
{
	for (int i = 0; i < n->nr; i++) {
		if (!strcmp(n->text[i], text))
			return i + 1;
	}
	n->text[n->nr++] = text;
	return n->nr;
}

static void add_duration(struct gp__table *t, bool known, double us)
{
	char text[32];

	gp__table_cell(t, known ? gp__format_duration(text, sizeof(text), (uint64_t)(us * GP__US))
				: NULL);
}

static void add_ability(struct gp__table *t, const struct gp__ability *a, struct notes *n)
{
	const char *works = a->works ? "yes" : "no";

	gp__table_row(t);
	if (a->level)
		gp__table_cellf(t, "Lv%d", a->level);
	else
		gp__table_cell(t, NULL);
	gp__table_cell(t, a->way);
	gp__table_cell(t, a->call);
	if (*a->reason)
		gp__table_cellf(t, "%s (%d)", works, note(n, a->reason));
	else
		gp__table_cell(t, works);
	add_duration(t, a->has_hold, a->hold_us);
	add_duration(t, a->has_release, a->release_us);
}

/* The highest level first. */
static int print_abilities(struct gp__env *env, const struct gp__probe_report *r)
{
	struct gp__table *t = gp__table_new(env);
	struct notes n = { 0 };
	char head[16];
	int err;

	gp__table_column(t, "LEVEL", GP__LEFT);
	gp__table_column(t, "WAY", GP__LEFT);
	gp__table_column(t, "CALL", GP__LEFT);
	gp__table_column(t, "WORKS", GP__LEFT);
	gp__table_column(t, "HOLD", GP__RIGHT);
	gp__table_column(t, "RELEASE", GP__RIGHT);
	for (int level = LEVEL_MAX; level >= 0; level--) {
		for (int i = 0; i < r->nr_abilities; i++) {
			if (r->ability[i].level == level)
				add_ability(t, &r->ability[i], &n);
		}
	}
	err = gp__table_print(t);
	for (int i = 0; i < n.nr; i++) {
		snprintf(head, sizeof(head), "%3d) ", i + 1);
		print_wrapped(env->out, head, n.text[i]);
	}
	return err;
}

static int print_gpu(struct gp__env *env, const struct finding *f)
{
	const struct gp__probe_report *r = &f->report;
	int err;

	fprintf(env->out, "gpu%d: %s%s\n", f->index, gp__is_emulated() ? "emulated " : "",
		r->title);
	for (int i = 0; i < r->nr_lines; i++)
		fprintf(env->out, "  %-6s  %s\n", r->line[i].name, r->line[i].text);
	if (*r->error) {
		print_wrapped(env->out, "  nothing can be done: ", r->error);
		return 0;
	}
	fputc('\n', env->out);
	err = print_abilities(env, r);
	if (*r->conclusion)
		fprintf(env->out, "\n%s\n", r->conclusion);
	return err;
}

/* Once for the GPUs of a backend, below the last of them. */
static void print_conditions(struct gp__env *env, const struct finding *f, int n)
{
	const char *conditions = "";

	for (int i = 0; i < n && f[i].backend == f->backend; i++) {
		if (*f[i].report.conditions)
			conditions = f[i].report.conditions;
	}
	if (*conditions)
		fprintf(env->out, "\nHOLD and RELEASE: medians %s.%s\n", conditions,
			gp__is_emulated() ? " The times are the emulator's, not a GPU's." : "");
}

static int print_text(struct gp__env *env, const struct finding *f, int n)
{
	int err = 0, first = 0;

	for (int i = 0; i < n && !err; i++) {
		if (i)
			fputc('\n', env->out);
		err = print_gpu(env, &f[i]);
		if (i + 1 < n && f[i + 1].backend == f[i].backend)
			continue;
		print_conditions(env, &f[first], i + 1 - first);
		first = i + 1;
	}
	return err;
}

/*
 * The command
 */

static const char *why_none(int nr)
{
	if (!nr)
		return "its driver has found no GPU that can compute";
	return nr == -ENODEV ? "its driver is not loaded" : strerror(-nr);
}

/* All GPUs, at most GPUS_MAX. Returns how many; @why says of each backend without one why. */
static int list_gpus(const struct gp__backend *const *backends, struct place *place, char *why,
		     size_t size)
{
	size_t len = 0;
	int n = 0;

	*why = '\0';
	for (int i = 0; backends[i]; i++) {
		int nr;

		if (!backends[i]->count)
			continue;
		nr = backends[i]->count();
		for (int nth = 0; nth < nr && n < GPUS_MAX; nth++)
			place[n++] = (struct place){ backends[i], nth };
		if (nr <= 0 && len < size)
			len += (size_t)snprintf(why + len, size - len, "%s%s: %s", len ? "; " : "",
						backends[i]->name, why_none(nr));
	}
	return n;
}

static int probe_all(struct gp__env *env, const struct place *place, int first, int n,
		     const char *report)
{
	struct finding *f = calloc((size_t)n, sizeof(*f));
	int worked = 0, err;

	if (!f)
		return gp__env_fail(env, GP__EXIT_FAILURE, NULL, "out of memory");
	for (int i = 0; i < n; i++) {
		f[i].backend = place[first + i].backend;
		f[i].index = first + i;
		f[i].backend->probe(place[first + i].nth, &child_files, &f[i].report);
		worked += !*f[i].report.error;
	}
	err = env->json ? print_json(env, f, n) : print_text(env, f, n);
	if (!err && report)
		err = write_report(env, report, f, n);
	free(f);
	return err || !worked ? GP__EXIT_FAILURE : GP__EXIT_OK;
}

int cmd_probe(struct gp__env *env, const struct gp__backend *const *backends, int argc, char **argv)
{
	struct place place[GPUS_MAX];
	struct args args = { .gpu = -1 };
	char why[512];
	int status, nr;

	if (!gp__cmd_parse(env, &argp, argc, argv, &args, &status))
		return status;
	nr = list_gpus(backends, place, why, sizeof(why));
	if (!nr)
		return gp__env_fail(
			env, GP__EXIT_FAILURE,
			"'gpreempt doctor' says more; on an emulated machine: gpreempt emu exec -- "
			"gpreempt probe",
			"there is no GPU here (%s)", why);
	if (args.gpu < 0)
		return probe_all(env, place, 0, nr, args.report);
	if (args.gpu >= nr)
		return gp__env_fail(env, GP__EXIT_FAILURE, "'gpreempt probe' shows all",
				    "there is no gpu%d: this machine has %d, from gpu0 to gpu%d",
				    args.gpu, nr, nr - 1);
	return probe_all(env, place, args.gpu, 1, args.report);
}
