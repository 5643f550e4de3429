// SPDX-License-Identifier: MIT
#include "cli/probe.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/table.h"
#include "base/units.h"
#include "cli/child.h"

#define NS_PER_US 1e3
#define PATIENCE_NS 30000000000ull
#define OUTPUT_MAX 4096

static const struct {
	const char *word; /* of gpreempt-nvidia-try, and in JSON */
	const char *level, *call;
} tries[NVIDIA_WHATS] = {
	[NVIDIA_CONTEXT] = { "context", NULL, NULL },
	[NVIDIA_HOLD] = { "hold", "Lv3", "FIFO_DISABLE_CHANNELS" },
	[NVIDIA_DRAIN] = { "drain", "Lv2", "the same, only scheduling" },
	[NVIDIA_SLICE] = { "slice", "-", "SET_TIMESLICE, 1 us" },
	[NVIDIA_WORK] = { "work", NULL, NULL },
};

/*
 * Trying
 */

int nvidia_count(void)
{
	struct gp__nvrm_gpu gpus[GP__NVRM_GPUS_MAX];
	int nr = gp__nvrm_gpus(GP__NVRM_PROC, gpus, GP__NVRM_GPUS_MAX);

	return nr < 0 ? 0 : nr;
}

bool nvidia_take_line(struct nvidia_finding *f, const char *line)
{
	char what[16], answer[8];
	struct nvidia_ability a = { .tried = true };
	int end = 0;

	if (sscanf(line, "%15s %7s %lf %lf %n", what, answer, &a.stop_us, &a.start_us, &end) != 4 ||
	    !end)
		return false;
	a.works = !strcmp(answer, "yes");
	snprintf(a.reason, sizeof(a.reason), "%.*s", (int)strcspn(line + end, "\n"), line + end);
	for (int i = 0; i < NVIDIA_WHATS; i++) {
		if (strcmp(tries[i].word, what))
			continue;
		f->of[i] = a;
		return true;
	}
	return false;
}

static void set_failure(struct nvidia_finding *f, const char *why)
{
	f->of[NVIDIA_CONTEXT].tried = true;
	snprintf(f->of[NVIDIA_CONTEXT].reason, sizeof(f->of[0].reason), "%s", why);
}

static pid_t start_try(const struct nvidia_finding *f, int *out)
{
	char path[PATH_MAX], node[32];
	int pipes[2];
	pid_t pid;

	snprintf(node, sizeof(node), "/dev/nvidia%d", f->gpu.minor);
	if (!child_has_file("gpreempt-nvidia-try", GP_LIB_DIR "/gpreempt-nvidia-try", path) ||
	    pipe2(pipes, O_CLOEXEC))
		return -1;
	pid = fork();
	if (!pid) {
		dup2(pipes[1], STDOUT_FILENO);
		/* It sees the calls itself, and is nobody's to schedule. */
		unsetenv("LD_PRELOAD");
		execl(path, "gpreempt-nvidia-try", f->gpu.uuid, node, (char *)NULL);
		_exit(CHILD_CANNOT_RUN);
	}
	close(pipes[1]);
	*out = pipes[0];
	return pid;
}

/* Until it ends or its time is over. */
static size_t read_all(int fd, char text[OUTPUT_MAX])
{
	uint64_t end = gp__clock_ns() + PATIENCE_NS, now;
	size_t n = 0;

	while ((now = gp__clock_ns()) < end && n < OUTPUT_MAX - 1) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		ssize_t got;

		if (poll(&p, 1, (int)((end - now) / 1000000) + 1) <= 0)
			break;
		got = read(fd, text + n, OUTPUT_MAX - 1 - n);
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	text[n] = '\0';
	return n;
}

static void run_try(struct nvidia_finding *f)
{
	char text[OUTPUT_MAX], *rest = text, *line;
	int out = -1;
	pid_t pid = start_try(f, &out);

	if (pid < 0) {
		set_failure(f, "gpreempt-nvidia-try is not to be found: install gpreempt, or build "
			       "all of it");
		return;
	}
	read_all(out, text);
	close(out);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	while ((line = strsep(&rest, "\n")))
		nvidia_take_line(f, line);
	if (!f->of[NVIDIA_CONTEXT].tried)
		set_failure(f, "the attempt hung or crashed before it had a context");
}

bool nvidia_probe(struct nvidia_finding *f, int index, int nth)
{
	struct gp__nvrm_gpu gpus[GP__NVRM_GPUS_MAX];
	char folder[128], why[256];
	int nr = gp__nvrm_gpus(GP__NVRM_PROC, gpus, GP__NVRM_GPUS_MAX);

	f->index = index;
	gp__nvrm_driver(GP__NVRM_PROC, &f->driver);
	if (nth < nr)
		f->gpu = gpus[nth];
	if (gp__nvrm_has_mps(folder, sizeof(folder))) {
		snprintf(why, sizeof(why),
			 "NVIDIA's multi-process service is on in %s; end it with 'echo quit | "
			 "nvidia-cuda-mps-control'",
			 folder);
		set_failure(f, why);
	} else {
		run_try(f);
	}
	return f->of[NVIDIA_CONTEXT].works;
}

/*
 * Showing
 */

static const char *reason_of(const struct nvidia_ability *a)
{
	return a->tried ? a->reason : "the attempt hung before it could be tried";
}

/* How the beginning and the end of work are seen. */
static const char *work_seen(const struct nvidia_finding *f)
{
	const struct nvidia_ability *a = &f->of[NVIDIA_WORK];

	if (!a->works)
		return "presence";
	return *a->reason ? "begin" : "begin and end";
}

static json_t *ability_json(const struct nvidia_finding *f, enum nvidia_what what)
{
	const struct nvidia_ability *a = &f->of[what];
	json_t *o = json_object();

	json_object_set_new(o, "way", json_string(tries[what].word));
	json_object_set_new(o, "level",
			    what == NVIDIA_SLICE ? json_null()
						 : json_integer(what == NVIDIA_HOLD ? 3 : 2));
	json_object_set_new(o, "works", json_boolean(a->works));
	gp__json_set_real(o, "stop_us", a->works, a->stop_us);
	gp__json_set_real(o, "start_us", a->works && what != NVIDIA_SLICE, a->start_us);
	json_object_set_new(o, "reason",
			    a->works && !*a->reason ? json_null() : gp__json_text(reason_of(a)));
	return o;
}

json_t *nvidia_json(const struct nvidia_finding *f)
{
	const struct nvidia_ability *context = &f->of[NVIDIA_CONTEXT];
	json_t *o = json_object(), *list = json_array();

	json_object_set_new(o, "index", json_integer(f->index));
	json_object_set_new(o, "vendor", json_string("nvidia"));
	json_object_set_new(o, "name", gp__json_text(f->gpu.name));
	json_object_set_new(o, "uuid", gp__json_text(f->gpu.uuid));
	json_object_set_new(o, "driver", gp__json_text(f->driver.version));
	json_object_set_new(o, "open_module", json_boolean(f->driver.open));
	json_object_set_new(o, "gsp_firmware",
			    *f->gpu.firmware ? gp__json_text(f->gpu.firmware) : json_null());
	for (int i = NVIDIA_HOLD; context->works && i <= NVIDIA_SLICE; i++)
		json_array_append_new(list, ability_json(f, (enum nvidia_what)i));
	json_object_set_new(o, "abilities", list);
	json_object_set_new(o, "work_seen",
			    context->works ? json_string(work_seen(f)) : json_null());
	json_object_set_new(o, "error",
			    context->works ? json_null() : gp__json_text(context->reason));
	return o;
}

static void add_time(struct gp__table *t, bool known, double us)
{
	char text[32];

	gp__table_cell(t,
		       known ? gp__format_duration(text, sizeof(text), (uint64_t)(us * NS_PER_US))
			     : NULL);
}

static int print_abilities(struct gp__env *env, const struct nvidia_finding *f)
{
	struct gp__table *t = gp__table_new(env);
	int err;

	gp__table_column(t, "LEVEL", GP__LEFT);
	gp__table_column(t, "WAY", GP__LEFT);
	gp__table_column(t, "CALL", GP__LEFT);
	gp__table_column(t, "WORKS", GP__LEFT);
	gp__table_column(t, "STOP", GP__RIGHT);
	gp__table_column(t, "START", GP__RIGHT);
	for (int i = NVIDIA_HOLD; i <= NVIDIA_SLICE; i++) {
		const struct nvidia_ability *a = &f->of[i];

		gp__table_row(t);
		gp__table_cell(t, tries[i].level);
		gp__table_cell(t, tries[i].word);
		gp__table_cell(t, tries[i].call);
		gp__table_cell(t, a->works ? "yes" : "no");
		add_time(t, a->works, a->stop_us);
		add_time(t, a->works && i != NVIDIA_SLICE, a->start_us);
	}
	err = gp__table_print(t);
	for (int i = NVIDIA_HOLD; i < NVIDIA_WHATS; i++) {
		char head[16];

		snprintf(head, sizeof(head), "  %s: ", tries[i].word);
		if (!f->of[i].works || *f->of[i].reason)
			probe_print_wrapped(env->out, head, reason_of(&f->of[i]));
	}
	return err;
}

int nvidia_print(struct gp__env *env, const struct nvidia_finding *f)
{
	const struct nvidia_ability *context = &f->of[NVIDIA_CONTEXT];
	int err;

	fprintf(env->out, "GPU %d: %s, %s\n", f->index, f->gpu.name, f->gpu.uuid);
	fprintf(env->out, "  driver  %s%s\n", f->driver.version,
		f->driver.open ? ", open kernel module" : "");
	fprintf(env->out, "  gsp     %s\n",
		*f->gpu.firmware ? f->gpu.firmware
				 : "not used: gpreempt was only seen to work with it");
	if (!context->works) {
		probe_print_wrapped(env->out, "  nothing can be done: ", context->reason);
		return 0;
	}
	fprintf(env->out, "  work    seen: %s\n\n", work_seen(f));
	err = print_abilities(env, f);
	fputs("\nStop and start: medians with a kernel of one thread running.\n", env->out);
	return err;
}
