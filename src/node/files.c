// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* The files by which users see and change the scheduler of a GPU: those of the GPU, and those of a
 * queue. The kernel shows them in sysfs. */
#include "node/policies.h"

#define PERIOD_US_MIN 100
#define TIME_US_MAX 10000000

/*
 * Files of the GPU
 */

static u64 show_enable(const struct gp__node_sched *n)
{
	return n->is_enabled;
}

static int store_enable(struct gp__node_sched *n, u64 value)
{
	if (value > 1)
		return -EINVAL;
	gp__node_enable(n, value);
	return 0;
}

static u64 show_period(const struct gp__node_sched *n)
{
	return n->period_us;
}

static int store_period(struct gp__node_sched *n, u64 value)
{
	if (value < PERIOD_US_MIN || value > TIME_US_MAX)
		return -ERANGE;
	n->period_us = (u32)value;
	return 0;
}

static u64 show_interval(const struct gp__node_sched *n)
{
	return gp__node_interval_us(n);
}

static u64 show_grace(const struct gp__node_sched *n)
{
	return n->grace_us;
}

static int store_grace(struct gp__node_sched *n, u64 value)
{
	if (value > TIME_US_MAX)
		return -ERANGE;
	n->grace_us = (u32)value;
	return 0;
}

static u64 show_paused(const struct gp__node_sched *n)
{
	return n->is_paused;
}

static u64 show_ticks(const struct gp__node_sched *n)
{
	return n->nr_ticks;
}

static u64 show_switches(const struct gp__node_sched *n)
{
	return n->dev.nr_switches;
}

static u64 show_inversions(const struct gp__node_sched *n)
{
	return n->dev.nr_inversions;
}

/* It is a name: gp__node_policy(). */
static u64 show_policy(const struct gp__node_sched *n)
{
	(void)n;
	return 0;
}

static int store_policy(struct gp__node_sched *n, u64 value)
{
	(void)n;
	(void)value;
	return -EINVAL;
}

static const struct file {
	const char *name;
	u64 (*show)(const struct gp__node_sched *n);
	int (*store)(struct gp__node_sched *n, u64 value); /* NULL: it can only be read */
} files[] = {
	{ "enable", show_enable, store_enable }, { "period_us", show_period, store_period },
	{ "interval_us", show_interval, NULL },	 { "grace_us", show_grace, store_grace },
	{ "paused", show_paused, NULL },	 { "ticks", show_ticks, NULL },
	{ "switches", show_switches, NULL },	 { "inversions", show_inversions, NULL },
	{ "policy", show_policy, store_policy },
};

#define NR_FILES ((u32)(sizeof(files) / sizeof(files[0])))
#define FIRST_POLICY (NR_FILES + GP__CFG_COUNT)

_Static_assert(FIRST_POLICY + GP__NODE_POLICIES * GP__POLICY_PARAMS_MAX == GP__NODE_FILES_MAX,
	       "room for all of them");

u32 gp__node_nr_files(const struct gp__node_sched *n)
{
	(void)n;
	return FIRST_POLICY + gp__node_nr_params();
}

const char *gp__node_file_name(const struct gp__node_sched *n, u32 file)
{
	(void)n;
	if (file < NR_FILES)
		return files[file].name;
	if (file < FIRST_POLICY)
		return gp__core_params[file - NR_FILES].name;
	return gp__node_param_name(file - FIRST_POLICY);
}

bool gp__node_file_is_writable(const struct gp__node_sched *n, u32 file)
{
	(void)n;
	return file >= NR_FILES || files[file].store;
}

int gp__node_file_find(const struct gp__node_sched *n, const char *name)
{
	for (u32 i = 0; i < gp__node_nr_files(n); i++) {
		if (!strcmp(name, gp__node_file_name(n, i)))
			return (int)i;
	}
	return -ENOENT;
}

u64 gp__node_show(const struct gp__node_sched *n, u32 file)
{
	if (file < NR_FILES)
		return files[file].show(n);
	return file < FIRST_POLICY ? n->core.cfg[file - NR_FILES]
				   : gp__node_param(n, file - FIRST_POLICY);
}

int gp__node_store(struct gp__node_sched *n, u32 file, u64 value)
{
	u64 now = n->driver->now(n);

	if (!gp__node_file_is_writable(n, file))
		return -EACCES;
	if (file < NR_FILES)
		return files[file].store(n, value);
	if (file < FIRST_POLICY)
		return gp__core_configure(&n->core, file - NR_FILES, value, now);
	return gp__node_set_param(n, file - FIRST_POLICY, value, now);
}

bool gp__node_file_is_policy(u32 file)
{
	return file < NR_FILES && files[file].store == store_policy;
}

/*
 * Files of a queue
 */

const char *const gp__node_queue_files[] = {
	"own_priority", "effective_priority", "state",	     "rptr",   "wptr",
	"pending",	"preempted_ms",	      "preemptions", "log_id", NULL
};

static int show_ring(const struct gp__node_queue *q, const char *name, struct gp__node_value *v)
{
	if (q->sight.error || !q->is_seen)
		return -ENODATA;
	if (!strcmp(name, "rptr"))
		v->number = q->ring.read;
	else
		v->number = strcmp(name, "wptr") ? q->ring.pending : q->ring.write;
	return 0;
}

int gp__node_queue_show(struct gp__node_sched *n, const struct gp__node_queue *q, const char *name,
			struct gp__node_value *v)
{
	u64 now = n->driver->now(n);

	memset(v, 0, sizeof(*v));
	if (!strcmp(name, "own_priority")) {
		v->kind = GP__NODE_SIGNED;
		v->value = q->own;
		return 0;
	}
	if (!n->is_enabled)
		return -ENODATA;
	if (!strcmp(name, "effective_priority")) {
		v->kind = GP__NODE_SIGNED;
		v->value = gp__entity_effective(&q->group->core, now);
	} else if (!strcmp(name, "state")) {
		v->kind = GP__NODE_TEXT;
		v->text = gp__state_name(gp__queue_state(&q->core));
	} else if (!strcmp(name, "rptr") || !strcmp(name, "wptr") || !strcmp(name, "pending")) {
		return show_ring(q, name, v);
	} else if (!strcmp(name, "preempted_ms")) {
		v->number = gp__queue_held_ns(&q->core, now) / GP__MS;
	} else if (!strcmp(name, "preemptions")) {
		v->number = q->core.nr_holds;
	} else if (!strcmp(name, "log_id")) {
		v->kind = GP__NODE_IDS;
		v->group = q->group->id;
		v->queue = q->id;
	} else {
		return -ENOENT;
	}
	return 0;
}
