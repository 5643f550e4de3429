// SPDX-License-Identifier: MIT
#include "device/kfd/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/emulated.h"
#include "base/units.h"
#include "device/kfd/list.h"
#include "device/kfd/probe.h"

static const struct {
	uint32_t bit;
	const char *name, *text;
} features[] = {
	{ GP_KFD_FEATURE_QUEUES, "queues", "many queues in a call" },
	{ GP_KFD_FEATURE_TARGET, "target", "those of other programs" },
	{ GP_KFD_FEATURE_LOGICAL_PRIORITY, "logical-priority", "priorities of queues" },
	{ GP_KFD_FEATURE_SET_PRIORITY, "set-priority", "also while they exist" },
	{ GP_KFD_FEATURE_SCHEDULER, "scheduler", "it schedules itself" },
	{ GP_KFD_FEATURE_ALIASES, "aliases", "0x87 and 0x88" },
};
#define NR_FEATURES (sizeof(features) / sizeof(features[0]))

static const struct {
	enum gp__kfd_way way;
	enum gp__kfd_verb verb;
	const char *call;
} abilities[] = {
	{ GP__KFD_WAY_UPDATE, GP__KFD_SAVE, "UPDATE_QUEUE, 0 %" },
	{ GP__KFD_WAY_DBGTRAP, GP__KFD_SAVE, "DBG_TRAP, suspend" },
	{ GP__KFD_WAY_PREEMPT, GP__KFD_SAVE, "PREEMPT, save" },
	{ GP__KFD_WAY_PREEMPT, GP__KFD_DRAIN, "PREEMPT, drain" },
	{ GP__KFD_WAY_PREEMPT, GP__KFD_RESET, "PREEMPT, reset" },
};
#define NR_ABILITIES (sizeof(abilities) / sizeof(abilities[0]))

int gp__kfd_machine_count(void)
{
	struct gp__kfd_node nodes[GP__KFD_NODES_MAX];

	return gp__kfd_nodes(nodes);
}

/*
 * gpreempt probe: the facts
 */

/* Lists the names or the texts of the features that the kernel has. */
static const char *list_features(uint32_t bits, bool names, char *text, size_t size)
{
	size_t len = 0;

	*text = '\0';
	for (size_t i = 0; i < NR_FEATURES; i++) {
		if (bits & features[i].bit)
			len += (size_t)snprintf(text + len, size - len, "%s%s",
						!len	? ""
						: names ? ","
							: ", ",
						names ? features[i].name : features[i].text);
	}
	return text;
}

static void report_driver(struct gp__probe_report *r, const struct gp__kfd_probe *p)
{
	char text[256];

	snprintf(text, sizeof(text), "%u.%u", p->version.major, p->version.minor);
	gp__report_text(r, "kfd_version", p->version.major ? text : NULL);
	if (p->series.version) {
		gp__report_number(r, "series.version", true, p->series.version);
		gp__report_list(r, "series.features",
				list_features(p->series.features, true, text, sizeof(text)));
		gp__report_number(r, "series.timeout_ms", true, p->series.timeout_ms);
	} else {
		gp__report_text(r, "series", NULL);
	}
	if (p->scheduler.exists) {
		gp__report_bool(r, "kernel_scheduler.enabled", p->scheduler.enabled);
		gp__report_number(r, "kernel_scheduler.period_us", p->scheduler.period_us,
				  p->scheduler.period_us);
	} else {
		gp__report_text(r, "kernel_scheduler", NULL);
	}
	gp__report_number(r, "cwsr_enable", p->cwsr_enable >= 0, (uint64_t)p->cwsr_enable);
	gp__report_number(r, "save_bytes_per_queue", true, p->save_bytes);
	gp__report_number(r, "live_queues", true, p->nr_queues);
	gp__report_number(r, "save_bytes_live", true, p->save_bytes * p->nr_queues);
	gp__report_text(r, "best_way",
			p->best < 0 ? NULL : gp__kfd_way_name((enum gp__kfd_way)p->best));
}

static void report_facts(struct gp__probe_report *r, const struct gp__kfd_probe *p)
{
	const struct gp__kfd_node *n = &p->node;
	char name[GP__KFD_GFX_NAME_MAX];

	gp__report_number(r, "gpu_id", true, n->gpu_id);
	gp__report_text(r, "gfx", gp__kfd_gfx_name(n->gfx_version, name));
	gp__report_text(r, "name", n->name);
	gp__report_number(r, "compute_units", true, n->nr_cus);
	gp__report_number(r, "xccs", true, n->nr_xccs);
	gp__report_number(r, "vram_bytes", n->vram_bytes, n->vram_bytes);
	report_driver(r, p);
}

/* A way that waits for running work gives only the guarantee of level 2. */
static int level_of(enum gp__kfd_verb verb, const struct gp__kfd_ability *a)
{
	return a->drains ? 2 : gp__kfd_verb_level(verb);
}

static void report_abilities(struct gp__probe_report *r, const struct gp__kfd_probe *p)
{
	for (size_t i = 0; i < NR_ABILITIES; i++) {
		const struct gp__kfd_ability *a = &p->way[abilities[i].way][abilities[i].verb];
		struct gp__ability ability = {
			.level = level_of(abilities[i].verb, a),
			.way = gp__kfd_way_name(abilities[i].way),
			.verb = gp__kfd_verb_name(abilities[i].verb),
			.call = abilities[i].call,
			.works = a->works,
			.has_hold = a->works,
			.has_release = a->works,
			.hold_us = a->hold_us,
			.release_us = a->release_us,
			.has_error = true,
			.error = a->error,
		};

		snprintf(ability.reason, sizeof(ability.reason), "%s", a->reason);
		gp__report_ability(r, &ability);
	}
	gp__report_ability(r, &(struct gp__ability){ .level = 1,
						     .way = "window",
						     .call = "none; launches are held back",
						     .works = true,
						     .untried = true });
}

/*
 * gpreempt probe: for people
 */

static void describe_gpu(struct gp__probe_report *r, const struct gp__kfd_node *n)
{
	char name[GP__KFD_GFX_NAME_MAX], xccs[32] = "", vram[32] = "memory unknown";

	if (n->nr_xccs > 1)
		snprintf(xccs, sizeof(xccs), " in %u XCCs", n->nr_xccs);
	if (n->vram_bytes)
		gp__format_size(vram, sizeof(vram), n->vram_bytes);
	snprintf(r->title, sizeof(r->title), "%s, %u compute units%s, %s",
		 gp__kfd_gfx_name(n->gfx_version, name), n->nr_cus, xccs, vram);
}

static void describe_scheduler(struct gp__probe_report *r, const struct gp__kfd_scheduler *s)
{
	if (!s->exists)
		return;
	if (!s->enabled)
		gp__report_line(r, "sched",
				"the kernel has a scheduler of its own, which is disabled");
	else if (s->period_us)
		gp__report_line(r, "sched", "the kernel schedules queues itself, every %u us",
				s->period_us);
	else
		gp__report_line(r, "sched", "the kernel schedules queues itself");
}

static void describe_saving(struct gp__probe_report *r, const struct gp__kfd_probe *p)
{
	static const char *const said[] = { "the driver does not say whether", "no: cwsr_enable=0",
					    "yes: cwsr_enable=1" };
	char each[32], all[32], live[64] = "and none is alive now";

	gp__format_size(each, sizeof(each), p->save_bytes);
	gp__format_size(all, sizeof(all), p->save_bytes * p->nr_queues);
	if (p->nr_queues)
		snprintf(live, sizeof(live), "%s for the %u alive now", all, p->nr_queues);
	gp__report_line(r, "saving", "%s; %s for a compute queue, %s", said[p->cwsr_enable + 1],
			each, live);
}

static void describe_driver(struct gp__probe_report *r, const struct gp__kfd_probe *p)
{
	char text[256], kernel[96] = "";
	struct utsname u;

	if (!p->version.major)
		return;
	/* On an emulated machine, the kernel is the host's. */
	if (!gp__is_emulated())
		snprintf(kernel, sizeof(kernel), " of Linux %s", uname(&u) ? "unknown" : u.release);
	gp__report_line(r, "driver", "amdkfd %u.%u%s", p->version.major, p->version.minor, kernel);
	list_features(p->series.features, false, text, sizeof(text));
	if (p->series.version)
		gp__report_line(r, "series", "version %u: %s", p->series.version,
				*text ? text : "no more than single queues");
	else
		gp__report_line(r, "series", "none: this kernel does not have it");
	describe_scheduler(r, &p->scheduler);
	describe_saving(r, p);
}

static void conclude(struct gp__probe_report *r, const struct gp__kfd_probe *p)
{
	if (p->best >= 0)
		snprintf(r->conclusion, sizeof(r->conclusion),
			 "Running work can be held and released (Lv3), fastest by %s.",
			 gp__kfd_way_name((enum gp__kfd_way)p->best));
	else
		snprintf(r->conclusion, sizeof(r->conclusion),
			 "Running work cannot be held here (no Lv3).");
	snprintf(r->conditions, sizeof(r->conditions), "with no work on the GPU");
}

void gp__kfd_machine_probe(int nth, const struct gp__files *files, struct gp__probe_report *report)
{
	struct gp__kfd_node nodes[GP__KFD_NODES_MAX];
	char reason[GP__KFD_REASON_MAX] = "";
	struct gp__kfd_probe probe;
	int nr = gp__kfd_nodes(nodes), err;

	(void)files;
	if (nth >= nr) {
		snprintf(report->title, sizeof(report->title), "lost");
		snprintf(report->error, sizeof(report->error), "the GPU is gone");
		return;
	}
	err = gp__kfd_probe(&nodes[nth], 0, &probe, reason);
	describe_gpu(report, &probe.node);
	describe_driver(report, &probe);
	report_facts(report, &probe);
	if (err) {
		snprintf(report->error, sizeof(report->error), "%s", reason);
		return;
	}
	report_abilities(report, &probe);
	conclude(report, &probe);
}

/*
 * gpreempt doctor
 */

static void check_probed(struct gp__checks *c, int index, const struct gp__kfd_probe *p)
{
	char name[16];

	snprintf(name, sizeof(name), "gpu%d", index);
	if (!p->cwsr_enable)
		gp__check(c, name, GP__CHECK_WARN, "Boot with amdgpu.cwsr_enable=1.",
			  "%s: cwsr_enable is 0, so the driver waits for running work instead of "
			  "taking it off the GPU",
			  p->node.name);
	else if (p->best < 0)
		gp__check(c, name, GP__CHECK_BAD, "'gpreempt probe' has the reasons.",
			  "%s: no way of taking running work off the GPU works here", p->node.name);
	else
		gp__check(c, name, GP__CHECK_OK, NULL,
			  "%s: running work is taken off the GPU and put back%s; 'gpreempt probe' "
			  "measures it",
			  p->node.name,
			  p->series.version ? ", by the ioctls of gpreempt's kernel series" : "");
}

static void check_gpu(struct gp__checks *c, int index, const struct gp__kfd_node *node)
{
	char reason[GP__KFD_REASON_MAX] = "", name[16];
	struct gp__kfd_probe probe;

	if (!gp__kfd_probe(node, 0, &probe, reason)) {
		check_probed(c, index, &probe);
		return;
	}
	snprintf(name, sizeof(name), "gpu%d", index);
	gp__check(c, name, GP__CHECK_BAD, NULL, "%s: cannot create a queue: %s", node->name,
		  reason);
}

void gp__kfd_machine_doctor(struct gp__checks *checks)
{
	struct gp__kfd_node nodes[GP__KFD_NODES_MAX];
	bool loaded = !access("/sys/module/amdgpu", F_OK);
	int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC), err = errno, nr;
	char why[GP__KFD_REASON_MAX];

	if (fd < 0) {
		gp__kfd_explain(NULL, 0, -err, why, sizeof(why));
		/* Without a driver there is nothing to check. */
		gp__check(checks, "amd", err == ENOENT && !loaded ? GP__CHECK_WARN : GP__CHECK_BAD,
			  err == ENOENT && !loaded
				  ? "To try it without a GPU: gpreempt emu exec -- gpreempt doctor"
				  : NULL,
			  "%s", why);
		return;
	}
	close(fd);
	nr = gp__kfd_nodes(nodes);
	if (nr <= 0) {
		gp__check(checks, "amd", GP__CHECK_WARN, "'dmesg' may say why amdgpu took none.",
			  "/dev/kfd exists, but there is no GPU");
		return;
	}
	gp__check(checks, "amd", GP__CHECK_OK, NULL, "/dev/kfd can be opened; %d GPU%s", nr,
		  nr == 1 ? "" : "s");
	for (int i = 0; i < nr; i++)
		check_gpu(checks, checks->nr_gpus++, &nodes[i]);
}

/* Queues under amdgpu.kfd_sched=1, which gpreempt's kernel series has. */
void gp__kfd_machine_kernel_queues(gp__kernel_queue_fn *add, void *data)
{
	struct gp__kfd_list list;

	if (gp__kfd_list_plain(&list))
		return;
	for (size_t i = 0; i < list.nr; i++) {
		const struct gp__kfd_listed *q = &list.queue[i];
		const struct gp__kernel_queue queue = { .pid = q->pid,
							.gpu_id = q->gpu_id,
							.queue = q->queue_id,
							.state = q->kernel.state,
							.priority = q->kernel.priority,
							.effective = q->kernel.effective,
							.pending = q->kernel.pending,
							.held_ms = q->kernel.preempted_ms,
							.preemptions = q->kernel.preemptions,
							.has_own = q->kernel.has_own,
							.own = q->kernel.own };

		if (*queue.state)
			add(data, &queue);
	}
	gp__kfd_list_free(&list);
}
