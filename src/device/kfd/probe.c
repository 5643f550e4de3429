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
#include "base/stats.h"
#include "device/kfd/child.h"
#include "device/kfd/list.h"
#include "device/kfd/user.h"

#define NS_PER_MS 1000000ull
#define NS_PER_US 1e3
#define PACKETS 64
#define SAMPLES 21
#define STILL_MS 5 /* for which a stopped queue must do nothing */
#define GO_ON_MS 8000 /* within which a started one must */
#define NAP_US 50
#define GFX_SAVES_WAVES 80000 /* generations before cannot */

/*
 * What a child is to do and has found; both see it. Each way has a child of its own, as a GPU that
 * was reset is lost for a process.
 */
struct shared {
	struct gp__kfd_probe probe;
	int way; /* to be tried; -1: whether a queue can be made */
	_Atomic int nr_verbs; /* of it, that were tried */
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
	static const char *const names[GP__KFD_VERBS] = { "save", "drain", "reset", "start" };

	return names[verb];
}

int gp__kfd_verb_level(enum gp__kfd_verb verb)
{
	return verb == GP__KFD_SAVE ? 3 : 2;
}

/*
 * One way and verb
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
	uint64_t end = gp__clock_ns() + ms * NS_PER_MS;

	while (atomic_load(&t->signal->value) > 0) {
		if (gp__clock_ns() > end)
			return false;
		usleep(NAP_US);
	}
	return true;
}

/* A packet that comes while the queue is stopped waits until it is started. */
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
	err = set(t, GP__KFD_START, info);
	if (err)
		return refuse_by_rule(t, GP__KFD_START, err, a);
	if (fired)
		return refuse(a, -EPROTO,
			      "the driver said that the queue was stopped, but it went on; see the "
			      "kernel's log, and report it");
	if (!fires_within(t, GO_ON_MS))
		return refuse(a, -ETIME,
			      "the queue did not go on when it was started; see the kernel's log "
			      "for a hang of the GPU");
	return 0;
}

static int measure(struct try *t, enum gp__kfd_verb verb, const struct gp__kfd_queue_info *info,
		   struct gp__kfd_ability *a)
{
	double stop[SAMPLES], start[SAMPLES];
	struct gp__stats stats;

	for (int i = 0; i < SAMPLES; i++) {
		uint64_t begin = gp__clock_ns(), middle;
		int err = set(t, verb, info);

		middle = gp__clock_ns();
		if (!err)
			err = set(t, GP__KFD_START, info);
		if (err)
			return refuse_by_rule(t, verb, err, a);
		stop[i] = (double)(middle - begin) / NS_PER_US;
		start[i] = (double)(gp__clock_ns() - middle) / NS_PER_US;
	}
	gp__stats_of(stop, SAMPLES, &stats);
	a->stop_us = stats.median;
	gp__stats_of(start, SAMPLES, &stats);
	a->start_us = stats.median;
	return 0;
}

/* What a driver calls stopping is to wait, where it may not save waves. */
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
		refuse(a, err, "no queue can be made to try it on: %s", strerror(-err));
		return;
	}
	info = gp__kfd_queue_info(&q);
	if (!check(t, verb, &q, &info, a) && !measure(t, verb, &info, a)) {
		a->works = true;
		a->drains = verb == GP__KFD_DRAIN || (verb == GP__KFD_SAVE && !saves(&t->s->probe));
	}
	if (a->works && a->drains && verb == GP__KFD_SAVE)
		snprintf(a->reason, sizeof(a->reason),
			 "waves are not saved here, so a stop waits until what runs has finished; "
			 "load amdgpu with cwsr_enable=1 (GPUs since gfx8 can)");
	/* Whatever became of it, it must not be stopped when it is destroyed. */
	set(t, GP__KFD_START, &info);
	gp__kfd_queue_destroy(&q);
}

static void try_way(struct try *t, enum gp__kfd_way way)
{
	struct shared *s = t->s;
	int err = gp__kfd_control_open(&t->c, t->u.kfd, 0, way);

	for (int verb = 0; verb < GP__KFD_START; verb++) {
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
	p->series.gpu_id = p->node.gpu_id;
	if (gp__kfd_ioctl(t->u.kfd, GP_KFD_PREEMPT_QUERY, &p->series))
		p->series.version = 0;
	/* So that the debugger's way is open, before there is a queue. Old kernels have neither. */
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
			 "%s: %s; it is open to the groups render and video, which usermod -aG "
			 "adds a user to",
			 path, strerror(errno));
	else
		snprintf(reason, GP__KFD_REASON_MAX,
			 "the driver does not let this process use the GPU: %s; see the kernel's "
			 "log",
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
			 "no memory of the GPU can be had: %s; end programs that have much",
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
			 "no queue can be made on the GPU: %s; end programs that have many, or see "
			 "the kernel's log",
			 strerror(-err));
	return err;
}

/* What it has opened and allocated goes with the process. */
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
		snprintf(text, size, "no process can be started for the probe: %s", strerror(-end));
		return end;
	}
	if (end == GP__CHILD_HUNG) {
		snprintf(text, size,
			 "the probe was not done after %.1f s, and was given up; see the kernel's "
			 "log for a hang of the GPU",
			 timeout_ms / 1e3);
		return -ETIME;
	}
	snprintf(text, size, "the probe died (%s); see the kernel's log",
		 signal ? strsignal(signal) : "without a signal");
	return -EIO;
}

/* Lets a child do what it is to do; 0 or -errno, with the reason. */
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

/* Each gets its part of the time that is left. */
static unsigned int part_ms(uint64_t deadline, int parts)
{
	uint64_t now = gp__clock_ns();

	return now < deadline ? (unsigned int)((deadline - now) / NS_PER_MS / (unsigned int)parts)
			      : 0;
}

/* Verbs that the child did not come to are not known to work. */
static void probe_way(struct shared *s, int way, unsigned int timeout_ms)
{
	int err = run_child(s, way, timeout_ms);

	for (int verb = err ? atomic_load(&s->nr_verbs) : GP__KFD_START; verb < GP__KFD_START;
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
		    (best < 0 || a->stop_us < p->way[best][GP__KFD_SAVE].stop_us))
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
	deadline =
		gp__clock_ns() + (timeout_ms ? timeout_ms : GP__KFD_PROBE_TIMEOUT_MS) * NS_PER_MS;
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
