// SPDX-License-Identifier: MIT
/*
 * Measures stopping and starting a queue in each way of the driver, by the number of resident
 * waves: through the owner of the queue's state, and alternately by the bare ioctl, which shows the
 * overhead of the owner. Both wall time and device time are shown; on an emulated machine neither
 * is that of a GPU.
 *
 * Outside a machine it runs itself on one with 'gpreempt emu exec'.
 */
#include "benches.h"
#include "machine.h"
#include "resident.h"

#include "base/clock.h"
#include "base/emulated.h"
#include "device/kfd/owner.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#ifdef GP_EMU_KERNELS

#define CUS "16"
#define PER_REPEAT 5 /* cycles: a 99th percentile needs a hundred */
#define CYCLES_MIN 5
#define CYCLES_MAX 1024
#define OCCUPANCIES 5
#define GFX942 90402

struct rig {
	struct resident r;
	struct gp__kfd_owner *owner;
	enum gp__kfd_way way;
	double added_us[GP__KFD_WAYS]; /* overhead of the owner without waves */
};

/*
 * The bare ioctls
 */

static int update(struct rig *g, bool stop)
{
	return gp__kfd_queue_set_percentage(&g->r.q, stop ? 0 : GP_KFD_PERCENTAGE_MAX);
}

/* The owner is the debugger; for the driver any thread of its process is. */
static int trap(struct rig *g, bool stop)
{
	uint32_t id = g->r.q.id;
	struct gp_kfd_dbg_trap args = { .pid = (uint32_t)getpid() };
	int n;

	if (stop) {
		args.op = GP_KFD_DBG_SUSPEND_QUEUES;
		args.suspend_queues.queue_array_ptr = (uint64_t)&id;
		args.suspend_queues.num_queues = 1;
	} else {
		args.op = GP_KFD_DBG_RESUME_QUEUES;
		args.resume_queues.queue_array_ptr = (uint64_t)&id;
		args.resume_queues.num_queues = 1;
	}
	n = gp__kfd_ioctl(g->r.u.kfd, GP_KFD_DBG_TRAP, &args);
	if (n < 0)
		return n;
	return n == 1 ? 0 : -EIO;
}

static int preempt(struct rig *g, bool stop)
{
	uint32_t id = g->r.q.id;
	struct gp_kfd_preempt args = {
		.op = stop ? GP_KFD_OP_PREEMPT : GP_KFD_OP_RESUME,
		.queues = { .queue_array_ptr = (uint64_t)&id,
			    .num_queues = 1,
			    .type = stop ? GP_KFD_PREEMPT_SAVE : 0 },
	};
	int n = gp__kfd_ioctl(g->r.u.kfd, GP_KFD_PREEMPT, &args);

	if (n < 0)
		return n;
	return n == 1 ? 0 : -EIO;
}

static int (*const bare[GP__KFD_WAYS])(struct rig *g, bool stop) = {
	[GP__KFD_WAY_UPDATE] = update,
	[GP__KFD_WAY_DBGTRAP] = trap,
	[GP__KFD_WAY_PREEMPT] = preempt,
};

static int stop_bare(void *arg)
{
	struct rig *g = arg;

	return bare[g->way](g, true);
}

static int start_bare(void *arg)
{
	struct rig *g = arg;

	return bare[g->way](g, false);
}

/*
 * The owner
 */

static int set(struct rig *g, enum gp__kfd_verb verb)
{
	int result, n = gp__kfd_owner_set(g->owner, verb, &g->r.q.id, &result, 1);

	return n < 0 ? n : 0;
}

static int stop_owned(void *arg)
{
	return set(arg, GP__KFD_SAVE);
}

static int start_owned(void *arg)
{
	return set(arg, GP__KFD_RELEASE);
}

/* Tells the owner of the existing queue as if it were created now. */
static int next_ioctl(int fd, unsigned long request, void *args)
{
	return request == GP_KFD_CREATE_QUEUE ? 0 : ioctl(fd, request, args);
}

static int own(struct rig *g)
{
	struct gp__kfd_queue_info q = resident_queue(&g->r);
	struct gp_kfd_create_queue made = {
		.ring_base_address = q.ring,
		.ring_size = q.ring_bytes,
		.gpu_id = q.gpu_id,
		.queue_type = q.type,
		.queue_percentage = q.percentage,
		.queue_priority = q.priority,
		.queue_id = q.id,
	};
	int error, err = gp__kfd_owner_create(next_ioctl, g->way, NULL, &g->owner);

	if (err)
		return err;
	gp__kfd_owner_ioctl(g->owner, g->r.u.kfd, GP_KFD_CREATE_QUEUE, &made);
	/* The debugger attaches at the first stop. */
	err = set(g, GP__KFD_SAVE);
	if (!err)
		err = set(g, GP__KFD_RELEASE);
	if (!err && gp__kfd_owner_way(g->owner, &error) != g->way)
		err = error;
	return err;
}

/*
 * Figures
 */

/* By owner or ioctl; stop or start; both clocks. */
enum { OWNED, BARE, THROUGH };
enum { STOP, START, VERBS };
enum { WALL, DEVICE, CLOCKS };

struct figures {
	unsigned int n;
	double ns[THROUGH][VERBS][CLOCKS][CYCLES_MAX];
};

static int (*const calls[THROUGH][VERBS])(void *arg) = {
	[OWNED] = { stop_owned, start_owned },
	[BARE] = { stop_bare, start_bare },
};
static const char *const through[THROUGH] = { [OWNED] = "owner", [BARE] = "ioctl" };
static const char *const verbs[VERBS] = { [STOP] = "stop", [START] = "start" };

static int cycle(struct rig *g, uint32_t waves, struct figures *f, int by)
{
	int err = resident_settle(&g->r, waves);

	for (int verb = 0; !err && verb < VERBS; verb++)
		err = resident_timed(&g->r, calls[by][verb], g, &f->ns[by][verb][WALL][f->n],
				     &f->ns[by][verb][DEVICE][f->n]);
	return err;
}

/* Owner and ioctl alternate in being first: a host that slows down slows both. */
static int measure(struct gp__bench_run *run, struct rig *g, uint32_t waves, uint64_t budget_ns,
		   struct figures *f)
{
	unsigned int n = gp__bench_repeats(run) * PER_REPEAT;
	uint64_t end = gp__clock_ns() + budget_ns;
	int err = resident_close_gate(&g->r, waves);

	if (n > CYCLES_MAX)
		n = CYCLES_MAX;
	for (f->n = 0; !err && f->n < n && (f->n < CYCLES_MIN || gp__clock_ns() < end); f->n++) {
		err = cycle(g, waves, f, f->n % 2 ? OWNED : BARE);
		if (!err)
			err = cycle(g, waves, f, f->n % 2 ? BARE : OWNED);
	}
	if (f->n < n)
		gp__bench_cut_short(run);
	return err ? err : resident_open_gate(&g->r, waves);
}

/* The overhead of the owner: the median of all pairs. */
static double added_us(const struct figures *f)
{
	double difference[CYCLES_MAX];
	struct gp__stats stats;

	for (unsigned int i = 0; i < f->n; i++)
		difference[i] = f->ns[OWNED][STOP][WALL][i] - f->ns[BARE][STOP][WALL][i];
	gp__stats_of(difference, f->n, &stats);
	return stats.median / 1e3;
}

/* Sorts the values. */
static void set_percentiles(json_t *row, const char *clock, double *ns, unsigned int n)
{
	struct gp__stats stats;
	char key[32];

	gp__stats_of(ns, n, &stats);
	snprintf(key, sizeof(key), "%s_p50_us", clock);
	json_object_set_new(row, key, json_real(stats.median / 1e3));
	snprintf(key, sizeof(key), "%s_p99_us", clock);
	json_object_set_new(row, key,
			    n < 100 ? json_null() : json_real(ns[n * 99 / 100 - 1] / 1e3));
}

static void add_rows(struct gp__bench_run *run, struct rig *g, uint32_t waves, struct figures *f)
{
	char what[32];

	for (int verb = 0; verb < VERBS; verb++) {
		snprintf(what, sizeof(what), "%s by %s", verbs[verb], gp__kfd_way_name(g->way));
		for (int by = 0; by < THROUGH; by++) {
			json_t *row =
				json_pack("{s:s, s:s, s:i, s:i}", "what", what, "through",
					  through[by], "waves", (int)waves, "cycles", (int)f->n);

			set_percentiles(row, "wall", f->ns[by][verb][WALL], f->n);
			set_percentiles(row, "device", f->ns[by][verb][DEVICE], f->n);
			gp__bench_row(run, row);
		}
	}
}

/* As many as the GPU holds, or as the kernel has beats for. */
static uint32_t full(const struct rig *g)
{
	uint32_t waves = g->r.u.node.nr_cus * RESIDENT_CU_WAVES;

	return waves < RESIDENT_WAVES_MAX ? waves : RESIDENT_WAVES_MAX;
}

static int bench_way(struct gp__bench_run *run, struct rig *g, struct figures *f,
		     unsigned int *left)
{
	const uint32_t waves[OCCUPANCIES] = { 0, 1, 32, 256, full(g) };
	const char *name = gp__kfd_way_name(g->way);
	char why[GP__KFD_EXPLAIN_MAX];
	int err = own(g);

	if (err) {
		const struct gp__kfd_control c = { .way = g->way };

		gp__kfd_explain(&c, GP__KFD_SAVE, err, why, sizeof(why));
		gp__bench_fail(run, err, "%s: %s", name, why);
		/* Its rows are missing: a kernel does not have every way. */
		*left -= OCCUPANCIES;
		gp__kfd_owner_destroy(g->owner);
		g->owner = NULL;
		return 0;
	}
	for (size_t i = 0; !err && i < OCCUPANCIES; i++) {
		if (waves[i] > waves[OCCUPANCIES - 1]) {
			(*left)--;
			continue;
		}
		/* Divide the remaining time among the remaining cases. */
		err = measure(run, g, waves[i], gp__bench_left_ns(run) / *left, f);
		if (err) {
			gp__bench_fail(run, err, "stopping by %s with %u waves", name, waves[i]);
			break;
		}
		(*left)--;
		if (!waves[i])
			g->added_us[g->way] = added_us(f);
		add_rows(run, g, waves[i], f);
	}
	gp__kfd_owner_destroy(g->owner);
	g->owner = NULL;
	return err;
}

static void summarize(struct gp__bench_run *run, const struct rig *g)
{
	double most = g->added_us[0];

	for (int i = 1; i < GP__KFD_WAYS; i++)
		most = g->added_us[i] > most ? g->added_us[i] : most;
	gp__bench_summary(run, "owner_adds_us", json_real(most),
			  "where no wave is resident, the owner adds %.1f us to a stop", most);
}

/* Names the first GPU, and returns its kernels. */
static const char *kernels_of(struct gp__bench_run *run)
{
	struct gp__kfd_node node[GP__KFD_NODES_MAX];
	char device[128], name[GP__KFD_GFX_NAME_MAX];
	int n = gp__kfd_nodes(node);

	if (n <= 0)
		return GP_EMU_KERNELS;
	snprintf(device, sizeof(device), "%s%s, %u compute units",
		 gp__is_emulated() ? "emulated " : "", gp__kfd_gfx_name(node[0].gfx_version, name),
		 node[0].nr_cus);
	gp__bench_device(run, device);
	return node[0].gfx_version == GFX942 ? GP_GFX942_KERNELS : GP_EMU_KERNELS;
}

int bench_preempt(struct gp__bench_run *run)
{
	struct figures *f;
	struct rig g = { 0 };
	unsigned int left = OCCUPANCIES * GP__KFD_WAYS;
	int err;

	if (gp__bench_chose(run, "emu") && !bench_is_on_machine())
		return gp__bench_fail(run, bench_run_on_machine(CUS, "hws"),
				      "no machine can be started");
	f = malloc(sizeof(*f));
	if (!f)
		return gp__bench_fail(run, -ENOMEM, "room for figures");
	err = resident_begin(&g.r, kernels_of(run));
	if (err)
		gp__bench_fail(run, err, "a queue on the first GPU");
	for (int way = 0; !err && way < GP__KFD_WAYS; way++) {
		g.way = (enum gp__kfd_way)way;
		err = bench_way(run, &g, f, &left);
	}
	if (!err)
		summarize(run, &g);
	resident_end(&g.r);
	free(f);
	return err;
}

#else

int bench_preempt(struct gp__bench_run *run)
{
	return gp__bench_fail(run, -ENOENT, BENCH_NO_KERNELS);
}

#endif
