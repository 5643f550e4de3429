// SPDX-License-Identifier: MIT
#include "device/kfd/probe.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/median.h"
#include "device/kfd/child.h"
#include "device/kfd/list.h"
#include "device/kfd/user.h"

#define PACKETS 64
#define SAMPLES 21
#define STILL_MS 5 /* a held queue makes no progress for this time */
#define GO_ON_MS 8000 /* a released queue makes progress within this time */
#define NAP_US 50
#define GFX_SAVES_WAVES 80000 /* generations before cannot */

/*
 * The task and the result of a child, in shared memory. Each way has a child of its own, since a
 * process loses a GPU that was reset.
 */
struct shared {
	struct gp__kfd_probe probe;
	int way; /* the way to try; -1: only create a queue */
	_Atomic int nr_verbs; /* verbs of the way that were tried */
	int err;
	char reason[GP__KFD_REASON_MAX];
};

struct
try {
	struct shared *s;
	struct gp__kfd_user u;
	struct gp__kfd_memory page;
	struct gp__kfd_signal *signal;
	struct gp__kfd_control c;
};

const char *gp__kfd_verb_name(enum gp__kfd_verb verb)
{
	static const char *const names[GP__KFD_VERBS] = { "save", "drain", "reset", "release" };

	return names[verb];
}

int gp__kfd_verb_level(enum gp__kfd_verb verb)
{
	return verb == GP__KFD_SAVE ? 3 : 2;
}

/*
 * Trying a verb of a way
 */

__attribute__((format(printf, 3, 4))) static int refuse(struct gp__kfd_ability *a, int err,
							const char *fmt, ...)
{
	va_list args;

	a->works = false;
	a->error = err;
	va_start(args, fmt);
	vsnprintf(a->reason, sizeof(a->reason), fmt, args);
	va_end(args);
	return err;
}

static int refuse_by_rule(const struct try *t, enum gp__kfd_verb verb, int err,
			  struct gp__kfd_ability *a)
{
	char why[GP__KFD_EXPLAIN_MAX];

	gp__kfd_explain(&t->c, verb, err, why, sizeof(why));
	return refuse(a, err, "%s", why);
}

static int set(struct try *t, enum gp__kfd_verb verb, const struct gp__kfd_queue_info *q)
{
	struct gp__kfd_target target = { .queue = q };
	int done = gp__kfd_control(&t->c, verb, &target, 1);

	return done < 0 ? done : target.result;
}

static bool fires_within(struct try *t, unsigned int ms)
{
	uint64_t end = gp__clock_ns() + ms * GP__MS;

	while (atomic_load(&t->signal->value) > 0) {
		if (gp__clock_ns() > end)
			return false;
		usleep(NAP_US);
	}
	return true;
}

/* Checks that a packet submitted to a held queue waits for the release. */
static int check(struct try *t, enum gp__kfd_verb verb, struct gp__kfd_queue *q,
		 const struct gp__kfd_queue_info *info, struct gp__kfd_ability *a)
{
	int err = set(t, verb, info);
	bool fired;

	if (err)
		return refuse_by_rule(t, verb, err, a);
	atomic_store(&t->signal->value, 1);
	gp__kfd_barrier(q, t->signal);
	fired = fires_within(t, STILL_MS);
	err = set(t, GP__KFD_RELEASE, info);
	if (err)
		return refuse_by_rule(t, GP__KFD_RELEASE, err, a);
	if (fired)
		return refuse(a, -EPROTO,
			      "the driver reported that the queue is held, but it ran on; see the "
			      "kernel's log, and report it");
	if (!fires_within(t, GO_ON_MS))
		return refuse(a, -ETIME,
			      "the queue did not run after its release; see the kernel's log for a "
			      "hang of the GPU");
	return 0;
}

static int measure(struct try *t, enum gp__kfd_verb verb, const struct gp__kfd_queue_info *info,
		   struct gp__kfd_ability *a)
{
	double hold[SAMPLES], release[SAMPLES];

	for (int i = 0; i < SAMPLES; i++) {
		uint64_t begin = gp__clock_ns(), middle;
		int err = set(t, verb, info);

		middle = gp__clock_ns();
		if (!err)
			err = set(t, GP__KFD_RELEASE, info);
		if (err)
			return refuse_by_rule(t, verb, err, a);
		hold[i] = gp__to_us(middle - begin);
		release[i] = gp__to_us(gp__clock_ns() - middle);
	}
	a->hold_us = gp__median(hold, SAMPLES);
	a->release_us = gp__median(release, SAMPLES);
	return 0;
}

/* Without saved waves, the driver's hold waits for running work. */
static bool saves(const struct gp__kfd_probe *p)
{
	return p->cwsr_enable != 0 && p->node.gfx_version >= GFX_SAVES_WAVES;
}

static void try_verb(struct try *t, enum gp__kfd_verb verb, struct gp__kfd_ability *a)
{
	struct gp__kfd_queue_info info;
	struct gp__kfd_queue q;
	int err = gp__kfd_queue_create(&t->u, &q, PACKETS);

	if (err) {
		refuse(a, err, "cannot create a queue to try it on: %s", strerror(-err));
		return;
	}
	info = gp__kfd_queue_info(&q);
	if (!check(t, verb, &q, &info, a) && !measure(t, verb, &info, a)) {
		a->works = true;
		a->drains = verb == GP__KFD_DRAIN || (verb == GP__KFD_SAVE && !saves(&t->s->probe));
	}
	if (a->works && a->drains && verb == GP__KFD_SAVE)
		snprintf(a->reason, sizeof(a->reason),
			 "waves are not saved here, so a hold waits until running work has "
			 "finished; load amdgpu with cwsr_enable=1 (GPUs since gfx8 can)");
	/* In any case, the queue must not be held when it is destroyed. */
	set(t, GP__KFD_RELEASE, &info);
	gp__kfd_queue_destroy(&q);
}

static void try_way(struct try *t, enum gp__kfd_way way)
{
	struct shared *s = t->s;
	int err = gp__kfd_control_open(&t->c, t->u.kfd, 0, way);

	for (int verb = 0; verb < GP__KFD_RELEASE; verb++) {
		struct gp__kfd_ability *a = &s->probe.way[way][verb];

		if (err)
			refuse_by_rule(t, (enum gp__kfd_verb)verb, err, a);
		else if (verb != GP__KFD_SAVE && way != GP__KFD_WAY_PREEMPT)
			refuse_by_rule(t, (enum gp__kfd_verb)verb, -EOPNOTSUPP, a);
		else
			try_verb(t, (enum gp__kfd_verb)verb, a);
		atomic_fetch_add(&s->nr_verbs, 1);
	}
	if (!err)
		gp__kfd_control_close(&t->c);
}

/*
 * The child
 */

static void ask_version(struct try *t)
{
	struct gp__kfd_probe *p = &t->s->probe;
	struct gp_kfd_runtime_enable enable = { .mode_mask = GP_KFD_RUNTIME_ENABLE_MODE };

	p->version = t->u.version;
	gp__kfd_query_series(gp__kfd_libc_ioctl, t->u.kfd, p->node.gpu_id, &p->series);
	/* Enables dbgtrap, which must precede the first queue. Old kernels have neither. */
	gp__kfd_ioctl(t->u.kfd, GP_KFD_RUNTIME_ENABLE, &enable);
}

static int make_signal(struct try *t)
{
	int err = gp__kfd_alloc(&t->u, &t->page, sizeof(*t->signal),
				GP_KFD_MEM_GTT | GP_KFD_MEM_COHERENT);

	if (err)
		return err;
	t->signal = t->page.at;
	t->signal->kind = GP__KFD_SIGNAL_USER;
	return 0;
}

static int explain_open(const struct gp__kfd_node *node, int err, char reason[GP__KFD_REASON_MAX])
{
	char path[64];

	snprintf(path, sizeof(path), "/dev/dri/renderD%u", node->render_minor);
	if (access("/dev/kfd", R_OK | W_OK))
		gp__kfd_explain(NULL, GP__KFD_SAVE, -errno, reason, GP__KFD_REASON_MAX);
	else if (access(path, R_OK | W_OK))
		snprintf(reason, GP__KFD_REASON_MAX,
			 "cannot open %s: %s; add the user to the groups render and video with "
			 "usermod -aG",
			 path, strerror(errno));
	else
		snprintf(reason, GP__KFD_REASON_MAX,
			 "cannot use the GPU in this process: %s; see the kernel's log",
			 strerror(-err));
	return err;
}

static int begin(struct try *t)
{
	struct shared *s = t->s;
	int err = gp__kfd_open(&t->u, &s->probe.node);

	if (err)
		return explain_open(&s->probe.node, err, s->reason);
	ask_version(t);
	err = make_signal(t);
	if (err)
		snprintf(s->reason, sizeof(s->reason),
			 "cannot allocate GPU memory: %s; end programs that use much of it",
			 strerror(-err));
	return err;
}

static int make_queue(struct try *t)
{
	struct gp__kfd_queue q;
	int err = gp__kfd_queue_create(&t->u, &q, PACKETS);

	if (!err)
		err = gp__kfd_queue_destroy(&q);
	if (err)
		snprintf(t->s->reason, sizeof(t->s->reason),
			 "cannot create a queue on the GPU: %s; end programs that have many, or "
			 "see the kernel's log",
			 strerror(-err));
	return err;
}

/* Open files and memory are freed with the process. */
static void child(void *arg)
{
	struct try t = { .s = arg, .u = { .kfd = -1, .render = -1 } };

	t.s->err = begin(&t);
	if (!t.s->err && t.s->way < 0)
		t.s->err = make_queue(&t);
	else if (!t.s->err)
		try_way(&t, (enum gp__kfd_way)t.s->way);
}

/*
 * The parent
 */

static int describe_end(int end, int signal, unsigned int timeout_ms, char *text, size_t size)
{
	if (end < 0) {
		snprintf(text, size, "cannot start a process for the probe: %s", strerror(-end));
		return end;
	}
	if (end == GP__CHILD_HUNG) {
		snprintf(text, size,
			 "the probe did not end within %.1f s; see the kernel's log for a hang of "
			 "the GPU",
			 timeout_ms / 1e3);
		return -ETIME;
	}
	snprintf(text, size, "the probe died (%s); see the kernel's log",
		 signal ? strsignal(signal) : "without a signal");
	return -EIO;
}

/* Runs the task in a child; 0 or -errno, with the reason. */
static int run_child(struct shared *s, int way, unsigned int timeout_ms)
{
	int end, signal;

	s->way = way;
	atomic_store(&s->nr_verbs, 0);
	end = gp__child_run(child, s, timeout_ms, &signal);
	if (end == GP__CHILD_DONE)
		return s->err;
	return describe_end(end, signal, timeout_ms, s->reason, sizeof(s->reason));
}

/* Each way gets its part of the remaining time. */
static unsigned int part_ms(uint64_t deadline, int parts)
{
	uint64_t now = gp__clock_ns();

	return now < deadline ? (unsigned int)((deadline - now) / GP__MS / (unsigned int)parts) : 0;
}

/* Verbs that the child did not reach are not known to work. */
static void probe_way(struct shared *s, int way, unsigned int timeout_ms)
{
	int err = run_child(s, way, timeout_ms);

	for (int verb = err ? atomic_load(&s->nr_verbs) : GP__KFD_RELEASE; verb < GP__KFD_RELEASE;
	     verb++)
		refuse(&s->probe.way[way][verb], err, "%s", s->reason);
}

static uint32_t count_queues(uint32_t gpu_id)
{
	struct gp__kfd_list list;
	uint32_t n = 0;

	if (gp__kfd_list_plain(&list))
		return 0;
	for (size_t i = 0; i < list.nr; i++)
		n += list.queue[i].gpu_id == gpu_id && gp__kfd_is_compute(list.queue[i].type);
	gp__kfd_list_free(&list);
	return n;
}

static int best_way(const struct gp__kfd_probe *p)
{
	int best = -1;

	for (int i = 0; i < GP__KFD_WAYS; i++) {
		const struct gp__kfd_ability *a = &p->way[i][GP__KFD_SAVE];

		if (a->works && !a->drains &&
		    (best < 0 || a->hold_us < p->way[best][GP__KFD_SAVE].hold_us))
			best = i;
	}
	return best;
}

int gp__kfd_probe(const struct gp__kfd_node *node, unsigned int timeout_ms,
		  struct gp__kfd_probe *probe, char reason[GP__KFD_REASON_MAX])
{
	struct shared *s =
		mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t deadline;
	int err;

	*probe = (struct gp__kfd_probe){ .node = *node, .best = -1 };
	snprintf(reason, GP__KFD_REASON_MAX, "the machine is out of memory; free some");
	if (s == MAP_FAILED)
		return -ENOMEM;
	deadline = gp__clock_ns() + (timeout_ms ? timeout_ms : GP__KFD_PROBE_TIMEOUT_MS) * GP__MS;
	probe->cwsr_enable = gp__kfd_cwsr_enable();
	probe->scheduler = gp__kfd_kernel_scheduler(node->gpu_id);
	probe->save_bytes = (uint64_t)(node->save_bytes + node->debug_bytes) * node->nr_xccs;
	probe->nr_queues = count_queues(node->gpu_id);
	s->probe = *probe;
	err = run_child(s, -1, part_ms(deadline, GP__KFD_WAYS + 1));
	memcpy(reason, s->reason, GP__KFD_REASON_MAX);
	for (int way = 0; !err && way < GP__KFD_WAYS; way++)
		probe_way(s, way, part_ms(deadline, GP__KFD_WAYS - way));
	*probe = s->probe;
	probe->best = best_way(probe);
	munmap(s, sizeof(*s));
	return err;
}
