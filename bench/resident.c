// SPDX-License-Identifier: MIT
#include "resident.h"

#include "base/clock.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#define SPINS 1024
#define PATIENCE_NS 20000000000ull
#define NS_PER_TICK 10
#define DATA_BYTES 8192
#define GROUP 64

/*
 * Waves
 */

int resident_wait(struct gp__kfd_signal *s, int64_t value)
{
	uint64_t deadline = gp__clock_ns() + PATIENCE_NS;

	for (unsigned int n = 1; atomic_load(&s->value) >= value; n++) {
		if (n % SPINS)
			continue;
		/* On a host with few CPUs the machine may be waiting for this one. */
		sched_yield();
		if (gp__clock_ns() > deadline)
			return -ETIME;
	}
	return 0;
}

uint64_t resident_kernel(const struct resident *r, const char *name)
{
	uint64_t offset;

	return gp__object_symbol(&r->object, name, &offset) ? (uint64_t)r->code.at + offset : 0;
}

int resident_close_gate(struct resident *r, uint32_t waves)
{
	struct gp__kfd_dispatch d = { .kernel = resident_kernel(r, "beating_gate.kd"),
				      .kernarg = r->gate_args,
				      .grid = waves * GROUP,
				      .group = GROUP };
	uint64_t deadline = gp__clock_ns() + PATIENCE_NS;

	if (waves > RESIDENT_WAVES_MAX)
		return -E2BIG;
	*r->arrived = *r->open = *r->left = 0;
	atomic_store(&r->signal->value, 1);
	if (waves)
		gp__kfd_launch(&r->q, &d, r->signal);
	while (atomic_load(r->arrived) < waves) {
		if (gp__clock_ns() > deadline)
			return -ETIME;
		gp__sleep_ns(100 * GP__US);
	}
	return 0;
}

int resident_settle(struct resident *r, uint32_t waves)
{
	uint64_t deadline = gp__clock_ns() + PATIENCE_NS;
	uint32_t before[RESIDENT_WAVES_MAX], i;

	for (i = 0; i < waves; i++)
		before[i] = atomic_load(&r->beat[i]);
	for (i = 0; i < waves;) {
		if (atomic_load(&r->beat[i]) != before[i]) {
			i++;
			continue;
		}
		if (gp__clock_ns() > deadline)
			return -ETIME;
		gp__sleep_ns(50 * GP__US);
	}
	return 0;
}

int resident_open_gate(struct resident *r, uint32_t waves)
{
	int err;

	atomic_store(r->open, 1);
	err = waves ? resident_wait(r->signal, 1) : 0;
	if (!err && *r->left != waves)
		err = -EILSEQ; /* a wave was lost, or counted twice */
	return err;
}

/*
 * Clocks
 */

uint64_t resident_device_ns(const struct resident *r)
{
	struct gp_kfd_get_clock_counters args = { .gpu_id = r->u.node.gpu_id };

	return gp__kfd_ioctl(r->u.kfd, GP_KFD_GET_CLOCK_COUNTERS, &args)
		       ? 0
		       : args.gpu_clock_counter * NS_PER_TICK;
}

/* Subtracts the cost of reading the clock, which is a call, too. */
int resident_timed(struct resident *r, int (*call)(void *arg), void *arg, double *wall_ns,
		   double *device_ns)
{
	uint64_t device_start = resident_device_ns(r), start = gp__clock_ns();
	int err = call(arg);

	*wall_ns = (double)(gp__clock_ns() - start);
	*device_ns = (double)(resident_device_ns(r) - device_start);
	return err;
}

/*
 * The client
 */

/* Allows a debugger to attach; must be called before there is a queue. */
static int enable_runtime(struct resident *r)
{
	struct gp_kfd_runtime_enable args = { .mode_mask = GP_KFD_RUNTIME_ENABLE_MODE };

	return gp__kfd_ioctl(r->u.kfd, GP_KFD_RUNTIME_ENABLE, &args);
}

static int load_kernels(struct resident *r, const char *path)
{
	int err = gp__object_read(&r->object, path);

	if (!err)
		err = gp__kfd_alloc(&r->u, &r->code, gp__object_bytes(&r->object),
				    GP_KFD_MEM_GTT | GP_KFD_MEM_EXECUTABLE);
	if (!err)
		gp__object_load(&r->object, r->code.at);
	return err;
}

static int make_data(struct resident *r)
{
	int err = gp__kfd_alloc(&r->u, &r->data, DATA_BYTES, GP_KFD_MEM_GTT | GP_KFD_MEM_COHERENT);
	char *at = r->data.at;

	if (err)
		return err;
	r->signal = (void *)at;
	r->signal->kind = GP__KFD_SIGNAL_USER;
	r->gate_args = (void *)(at + 128);
	r->arrived = (void *)(at + 256);
	r->open = r->arrived + 1;
	r->left = r->arrived + 2;
	r->beat = r->arrived + 64;
	r->gate_args->arrived = (uint64_t)r->arrived;
	r->gate_args->open = (uint64_t)r->open;
	r->gate_args->left = (uint64_t)r->left;
	r->gate_args->beat = (uint64_t)r->beat;
	return 0;
}

int resident_begin(struct resident *r, const char *path)
{
	struct gp__kfd_node node[GP__KFD_NODES_MAX];
	int n = gp__kfd_nodes(node), err;

	*r = (struct resident){ .u = { .kfd = -1, .render = -1 } };
	if (n <= 0)
		return n ? n : -ENODEV;
	err = gp__kfd_open(&r->u, &node[0]);
	if (!err)
		err = enable_runtime(r);
	if (!err)
		err = load_kernels(r, path);
	if (!err)
		err = make_data(r);
	return err ? err : gp__kfd_queue_create(&r->u, &r->q, RESIDENT_RING);
}

void resident_end(struct resident *r)
{
	if (r->q.doorbell)
		gp__kfd_queue_destroy(&r->q);
	gp__kfd_free(&r->u, &r->data);
	gp__kfd_free(&r->u, &r->code);
	gp__object_free(&r->object);
	gp__kfd_close(&r->u);
}

struct gp__kfd_queue_info resident_queue(const struct resident *r)
{
	return (struct gp__kfd_queue_info){
		.id = r->q.id,
		.gpu_id = r->u.node.gpu_id,
		.type = GP_KFD_QUEUE_COMPUTE_AQL,
		.ring = (uint64_t)r->q.ring.at,
		.ring_bytes = (uint32_t)r->q.ring.size,
		.percentage = GP_KFD_PERCENTAGE_MAX,
		.priority = 7,
	};
}
