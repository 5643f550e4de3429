// SPDX-License-Identifier: MIT
/* gpreempt probe: what can be done with the GPUs of this machine, tried and measured. */
#include "cli/commands.h"
#include "cli/probe.h"

#include "base/json.h"
#include "base/table.h"
#include "base/units.h"
#include "device/kfd/probe.h"
#include "emu/protocol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#define KEY_GPU 'g'
#define NS_PER_US 1e3
#define NOTES_MAX (GP__KFD_WAYS * GP__KFD_START)
#define TEXT_COLUMNS 80

#define NO_GPU_REMEDY "to try it on an emulated one: gpreempt emu exec -- gpreempt probe"

struct args {
	int gpu; /* -1: all */
};

/* One GPU, and what became of its probe. */
struct finding {
	int index, err;
	struct gp__kfd_probe probe;
	char reason[GP__KFD_REASON_MAX];
};

static const struct argp_option options[] = {
	{ "gpu", KEY_GPU, "N", 0, "only this one, counted from 0", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *args = state->input;
	char expected[80];
	uint64_t value;

	if (key != KEY_GPU)
		return ARGP_ERR_UNKNOWN;
	if (gp__parse_u64(arg, 0, GP__KFD_NODES_MAX - 1, &value))
		return gp__cmd_usage(
			state, "--gpu: '%s' is not %s", arg,
			gp__expect_u64(expected, sizeof(expected), 0, GP__KFD_NODES_MAX - 1));
	args->gpu = (int)value;
	return 0;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Say what can be done with the GPUs of this machine: each way of stopping a queue "
	       "is tried on a scratch queue and measured, or the rule is named that forbids it. "
	       "AMD's come first, then NVIDIA's.",
};

static const struct {
	uint32_t bit;
	const char *name, *text;
} features[] = {
	{ GP_KFD_FEATURE_BATCH, "batch", "many queues in a call" },
	{ GP_KFD_FEATURE_TARGET_PID, "target-pid", "those of other programs" },
	{ GP_KFD_FEATURE_LOGICAL_PRIORITY, "logical-priority", "priorities of queues" },
	{ GP_KFD_FEATURE_SCHEDULER, "scheduler", "it schedules itself" },
};
#define NR_FEATURES (sizeof(features) / sizeof(features[0]))

/* What the rows are, the strongest first. */
static const struct {
	enum gp__kfd_way way;
	enum gp__kfd_verb verb;
	const char *call;
} rows[] = {
	{ GP__KFD_WAY_UPDATE, GP__KFD_SAVE, "UPDATE_QUEUE, 0 %" },
	{ GP__KFD_WAY_DBGTRAP, GP__KFD_SAVE, "DBG_TRAP, suspend" },
	{ GP__KFD_WAY_PREEMPT, GP__KFD_SAVE, "PREEMPT_QUEUE, save" },
	{ GP__KFD_WAY_PREEMPT, GP__KFD_DRAIN, "PREEMPT_QUEUE, drain" },
	{ GP__KFD_WAY_PREEMPT, GP__KFD_RESET, "PREEMPT_QUEUE, reset" },
};
#define NR_ROWS (sizeof(rows) / sizeof(rows[0]))

/* A stop that waits for what runs keeps no more than level 2 promises. */
static int level_of(enum gp__kfd_verb verb, const struct gp__kfd_ability *a)
{
	return a->drains ? 2 : gp__kfd_verb_level(verb);
}

static const char *release(struct utsname *u)
{
	return uname(u) ? "unknown" : u->release;
}

static bool is_emulated(void)
{
	return getenv(EMU_DIR_VARIABLE) != NULL;
}

/*
 * JSON
 */

static json_t *ability_json(size_t row, const struct gp__kfd_ability *a)
{
	json_t *o = json_object();

	json_object_set_new(o, "way", json_string(gp__kfd_way_name(rows[row].way)));
	json_object_set_new(o, "verb", json_string(gp__kfd_verb_name(rows[row].verb)));
	json_object_set_new(o, "level", json_integer(level_of(rows[row].verb, a)));
	json_object_set_new(o, "works", json_boolean(a->works));
	gp__json_set_real(o, "stop_us", a->works, a->stop_us);
	gp__json_set_real(o, "start_us", a->works, a->start_us);
	json_object_set_new(o, "error",
			    a->error ? json_string(strerrorname_np(-a->error)) : json_null());
	json_object_set_new(o, "reason", *a->reason ? gp__json_text(a->reason) : json_null());
	return o;
}

static json_t *series_json(const struct gp_kfd_preempt_query *q)
{
	json_t *o = json_object(), *list = json_array();

	for (size_t i = 0; i < NR_FEATURES; i++) {
		if (q->features & features[i].bit)
			json_array_append_new(list, json_string(features[i].name));
	}
	json_object_set_new(o, "version", json_integer(q->version));
	json_object_set_new(o, "features", list);
	gp__json_set_u64(o, "timeout_ms", true, q->default_timeout_ms);
	return o;
}

static json_t *scheduler_json(const struct gp__kfd_scheduler *s)
{
	json_t *o = json_object();

	json_object_set_new(o, "enabled", json_boolean(s->enabled));
	gp__json_set_u64(o, "period_us", s->period_us, s->period_us);
	return o;
}

static void set_driver(json_t *o, const struct finding *f)
{
	const struct gp__kfd_probe *p = &f->probe;
	bool known = p->version.major;
	char version[32];

	snprintf(version, sizeof(version), "%u.%u", p->version.major, p->version.minor);
	json_object_set_new(o, "kfd_version", known ? json_string(version) : json_null());
	json_object_set_new(o, "series", p->series.version ? series_json(&p->series) : json_null());
	json_object_set_new(o, "kernel_scheduler",
			    p->scheduler.exists ? scheduler_json(&p->scheduler) : json_null());
	gp__json_set_u64(o, "cwsr_enable", p->cwsr_enable >= 0, (uint64_t)p->cwsr_enable);
	gp__json_set_u64(o, "save_bytes_per_queue", true, p->save_bytes);
	gp__json_set_u64(o, "live_queues", true, p->nr_queues);
	gp__json_set_u64(o, "save_bytes_live", true, p->save_bytes * p->nr_queues);
}

static json_t *gpu_json(const struct finding *f)
{
	const struct gp__kfd_node *n = &f->probe.node;
	char name[GP__KFD_GFX_NAME_MAX];
	json_t *o = json_object(), *list = json_array();

	json_object_set_new(o, "index", json_integer(f->index));
	json_object_set_new(o, "gpu_id", json_integer(n->gpu_id));
	json_object_set_new(o, "gfx", json_string(gp__kfd_gfx_name(n->gfx_version, name)));
	json_object_set_new(o, "name", gp__json_text(n->name));
	json_object_set_new(o, "compute_units", json_integer(n->nr_cus));
	json_object_set_new(o, "xccs", json_integer(n->nr_xccs));
	gp__json_set_u64(o, "vram_bytes", n->vram_bytes, n->vram_bytes);
	set_driver(o, f);
	json_object_set_new(
		o, "best_way",
		f->probe.best < 0 ? json_null()
				  : json_string(gp__kfd_way_name((enum gp__kfd_way)f->probe.best)));
	for (size_t i = 0; !f->err && i < NR_ROWS; i++)
		json_array_append_new(list,
				      ability_json(i, &f->probe.way[rows[i].way][rows[i].verb]));
	json_object_set_new(o, "abilities", list);
	json_object_set_new(o, "error", f->err ? gp__json_text(f->reason) : json_null());
	return o;
}

static int print_json(struct gp__env *env, const struct finding *f, int n,
		      const struct nvidia_finding *nv, int nr_nv)
{
	json_t *root = gp__json_envelope(), *list = json_array();
	struct utsname u;

	for (int i = 0; i < n; i++)
		json_array_append_new(list, gpu_json(&f[i]));
	for (int i = 0; i < nr_nv; i++)
		json_array_append_new(list, nvidia_json(&nv[i]));
	json_object_set_new(root, "kernel",
			    is_emulated() ? json_null() : gp__json_text(release(&u)));
	json_object_set_new(root, "emulated", json_boolean(is_emulated()));
	json_object_set_new(root, "gpus", list);
	return gp__json_print(env, root);
}

/*
 * For people
 */

/* A paragraph: the first line begins with @head, the others are as far in. */
void probe_print_wrapped(FILE *out, const char *head, const char *text)
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
	const char *text[NOTES_MAX];
	int nr;
};

/* Each reason once; the number of this one, from 1. */
static int note(struct notes *n, const char *reason)
{
	for (int i = 0; i < n->nr; i++) {
		if (!strcmp(n->text[i], reason))
			return i + 1;
	}
	n->text[n->nr++] = reason;
	return n->nr;
}

static void add_duration(struct gp__table *t, bool known, double us)
{
	char text[32];

	gp__table_cell(t,
		       known ? gp__format_duration(text, sizeof(text), (uint64_t)(us * NS_PER_US))
			     : NULL);
}

static void add_level(struct gp__table *t, const struct gp__kfd_probe *p, int level,
		      struct notes *n)
{
	for (size_t i = 0; i < NR_ROWS; i++) {
		const struct gp__kfd_ability *a = &p->way[rows[i].way][rows[i].verb];
		const char *works = a->works ? "yes" : "no";

		if (level_of(rows[i].verb, a) != level)
			continue;
		gp__table_row(t);
		gp__table_cellf(t, "Lv%d", level);
		gp__table_cell(t, gp__kfd_way_name(rows[i].way));
		gp__table_cell(t, rows[i].call);
		if (*a->reason)
			gp__table_cellf(t, "%s (%d)", works, note(n, a->reason));
		else
			gp__table_cell(t, works);
		add_duration(t, a->works, a->stop_us);
		add_duration(t, a->works, a->start_us);
	}
}

static int print_abilities(struct gp__env *env, const struct gp__kfd_probe *p)
{
	struct gp__table *t = gp__table_new(env);
	struct notes n = { 0 };
	char head[16];
	int err;

	gp__table_column(t, "LEVEL", GP__LEFT);
	gp__table_column(t, "WAY", GP__LEFT);
	gp__table_column(t, "CALL", GP__LEFT);
	gp__table_column(t, "WORKS", GP__LEFT);
	gp__table_column(t, "STOP", GP__RIGHT);
	gp__table_column(t, "START", GP__RIGHT);
	for (int level = 3; level > 1; level--)
		add_level(t, p, level, &n);
	gp__table_row(t);
	gp__table_cell(t, "Lv1");
	gp__table_cell(t, "window");
	gp__table_cell(t, "none; launches are held back");
	gp__table_cell(t, "yes");
	err = gp__table_print(t);
	for (int i = 0; i < n.nr; i++) {
		snprintf(head, sizeof(head), "%3d) ", i + 1);
		probe_print_wrapped(env->out, head, n.text[i]);
	}
	return err;
}

static void print_series(struct gp__env *env, const struct gp_kfd_preempt_query *q)
{
	char text[256] = "";
	size_t len = 0;

	for (size_t i = 0; i < NR_FEATURES; i++) {
		if (q->features & features[i].bit)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
						len ? ", " : "", features[i].text);
	}
	if (q->version)
		fprintf(env->out, "  series  version %u: %s\n", q->version,
			len ? text : "no more than single queues");
	else
		fputs("  series  none: this kernel has not gpreempt's\n", env->out);
}

static void print_scheduler(struct gp__env *env, const struct gp__kfd_scheduler *s)
{
	if (!s->exists)
		return;
	if (!s->enabled)
		fputs("  sched   the kernel has a scheduler of its own, which is disabled\n",
		      env->out);
	else if (s->period_us)
		fprintf(env->out, "  sched   the kernel schedules queues itself, every %u us\n",
			s->period_us);
	else
		fputs("  sched   the kernel schedules queues itself\n", env->out);
}

static void print_saving(struct gp__env *env, const struct gp__kfd_probe *p)
{
	static const char *const said[] = { "the driver does not say whether", "no: cwsr_enable=0",
					    "yes: cwsr_enable=1" };
	char each[32], all[32];

	gp__format_size(each, sizeof(each), p->save_bytes);
	gp__format_size(all, sizeof(all), p->save_bytes * p->nr_queues);
	fprintf(env->out, "  saving  %s; %s for a compute queue", said[p->cwsr_enable + 1], each);
	if (p->nr_queues)
		fprintf(env->out, ", %s for the %u alive now\n", all, p->nr_queues);
	else
		fputs(", and none is alive now\n", env->out);
}

static void print_head(struct gp__env *env, const struct finding *f)
{
	const struct gp__kfd_probe *p = &f->probe;
	const struct gp__kfd_node *n = &p->node;
	char name[GP__KFD_GFX_NAME_MAX], vram[32];
	struct utsname u;

	fprintf(env->out, "GPU %d: %s%s, %u compute units", f->index,
		is_emulated() ? "emulated " : "", gp__kfd_gfx_name(n->gfx_version, name),
		n->nr_cus);
	if (n->nr_xccs > 1)
		fprintf(env->out, " in %u XCCs", n->nr_xccs);
	fprintf(env->out, ", %s\n",
		n->vram_bytes ? gp__format_size(vram, sizeof(vram), n->vram_bytes)
			      : "memory unknown");
	if (!p->version.major)
		return;
	fprintf(env->out, "  driver  amdkfd %u.%u", p->version.major, p->version.minor);
	if (is_emulated())
		fputc('\n', env->out);
	else
		fprintf(env->out, " of Linux %s\n", release(&u));
	print_series(env, &p->series);
	print_scheduler(env, &p->scheduler);
	print_saving(env, p);
}

static int print_gpu(struct gp__env *env, const struct finding *f)
{
	int err;

	print_head(env, f);
	if (f->err) {
		probe_print_wrapped(env->out, "  nothing can be done: ", f->reason);
		return 0;
	}
	fputc('\n', env->out);
	err = print_abilities(env, &f->probe);
	if (f->probe.best >= 0)
		fprintf(env->out,
			"\nWhat runs can be stopped and goes on later (Lv3), fastest by %s.\n",
			gp__kfd_way_name((enum gp__kfd_way)f->probe.best));
	else
		fputs("\nWhat runs cannot be stopped here (no Lv3).\n", env->out);
	return err;
}

static int print_text(struct gp__env *env, const struct finding *f, int n,
		      const struct nvidia_finding *nv, int nr_nv)
{
	bool any = false;
	int err = 0;

	for (int i = 0; i < n && !err; i++) {
		if (i)
			fputc('\n', env->out);
		err = print_gpu(env, &f[i]);
		any |= !f[i].err;
	}
	if (any)
		fprintf(env->out, "\nStop and start: medians with no work on the GPU.%s\n",
			is_emulated() ? " Emulated, so no times of hardware." : "");
	for (int i = 0; i < nr_nv && !err; i++) {
		if (n || i)
			fputc('\n', env->out);
		err = nvidia_print(env, &nv[i]);
	}
	return err;
}

/*
 * The command
 */

static int fail_without_gpu(struct gp__env *env, int nr)
{
	if (nr == 0)
		return gp__env_fail(env, GP__EXIT_FAILURE, NO_GPU_REMEDY,
				    "amdgpu is loaded, but has found no GPU that can compute");
	if (nr == -ENODEV)
		return gp__env_fail(env, GP__EXIT_FAILURE, NO_GPU_REMEDY,
				    "there is no AMD GPU here, or amdgpu is not loaded (modprobe "
				    "amdgpu), and no NVIDIA GPU");
	return gp__env_fail(env, GP__EXIT_FAILURE, NULL, "the GPUs cannot be listed: %s",
			    strerror(-nr));
}

/* Those from @first on, @n of them: the AMD ones, then NVIDIA's. */
static int probe_all(struct gp__env *env, const struct gp__kfd_node *node, int nr_amd, int first,
		     int n)
{
	int last = first + n, from_nv = first > nr_amd ? first - nr_amd : 0;
	int amd = last < nr_amd ? n : nr_amd > first ? nr_amd - first : 0, nv = n - amd;
	struct finding *f = calloc((size_t)amd + 1, sizeof(*f));
	struct nvidia_finding *of_nv = calloc((size_t)nv + 1, sizeof(*of_nv));
	int worked = 0, err = GP__EXIT_FAILURE;

	for (int i = 0; f && of_nv && i < amd; i++) {
		f[i].index = first + i;
		f[i].err = gp__kfd_probe(&node[first + i], 0, &f[i].probe, f[i].reason);
		worked += !f[i].err;
	}
	for (int i = 0; f && of_nv && i < nv; i++)
		worked += nvidia_probe(&of_nv[i], nr_amd + from_nv + i, from_nv + i);
	if (!f || !of_nv)
		gp__env_fail(env, GP__EXIT_FAILURE, NULL, "out of memory");
	else
		err = env->json ? print_json(env, f, amd, of_nv, nv)
				: print_text(env, f, amd, of_nv, nv);
	free(f);
	free(of_nv);
	return err || !worked ? GP__EXIT_FAILURE : GP__EXIT_OK;
}

int cmd_probe(struct gp__env *env, int argc, char **argv)
{
	struct gp__kfd_node node[GP__KFD_NODES_MAX];
	struct args args = { .gpu = -1 };
	int status, amd, nv, nr;

	if (!gp__cmd_parse(env, &argp, argc, argv, &args, &status))
		return status;
	amd = gp__kfd_nodes(node);
	/* On an emulated machine there are only its own. */
	nv = is_emulated() ? 0 : nvidia_count();
	if (amd <= 0 && !nv)
		return fail_without_gpu(env, amd);
	amd = amd < 0 ? 0 : amd;
	nr = amd + nv;
	if (args.gpu < 0)
		return probe_all(env, node, amd, 0, nr);
	if (args.gpu >= nr)
		return gp__env_fail(env, GP__EXIT_FAILURE, "'gpreempt probe' shows all",
				    "there is no GPU %d: this machine has %d, from 0 to %d",
				    args.gpu, nr, nr - 1);
	return probe_all(env, node, amd, args.gpu, 1);
}
