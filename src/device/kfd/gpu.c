// SPDX-License-Identifier: MIT
/* GPUs, memory and code of the public API. */
#include "device/kfd/gpu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/api.h"
#include "base/object.h"
#include "device/kfd/can.h"

#define CLOCK_100MHZ 100000000u

struct gp__kfd_allocation {
	struct gp__kfd_allocation *next;
	struct gp__kfd_memory memory;
};

/*
 * Models
 */

static const struct {
	uint32_t gfx_version;
	uint32_t machine; /* of code objects, in ELF */
	const char *name;
	uint32_t clock_hz;
} models[] = {
	{ 90010, 0x3f, "gfx90a", CLOCK_100MHZ }, { 90400, 0x40, "gfx940", CLOCK_100MHZ },
	{ 90401, 0x4b, "gfx941", CLOCK_100MHZ }, { 90402, 0x4c, "gfx942", CLOCK_100MHZ },
	{ 90500, 0x4f, "gfx950", CLOCK_100MHZ },
};
#define NR_MODELS (sizeof(models) / sizeof(models[0]))

static uint32_t clock_of(uint32_t gfx_version)
{
	for (size_t i = 0; i < NR_MODELS; i++) {
		if (models[i].gfx_version == gfx_version)
			return models[i].clock_hz;
	}
	return 0;
}

/* NULL: the model is not in the list. */
static const char *machine_name(uint32_t machine, uint32_t *gfx_version)
{
	for (size_t i = 0; i < NR_MODELS; i++) {
		if (models[i].machine == machine) {
			*gfx_version = models[i].gfx_version;
			return models[i].name;
		}
	}
	return NULL;
}

/*
 * Opening
 */

static int fail_open(struct gp_error *err, int rc, uint32_t index)
{
	switch (rc) {
	case -ENOENT:
	case -ENODEV:
		return gp__fail(err, -ENODEV,
				"there is no AMD GPU: the kernel's driver amdgpu is not loaded, or "
				"has found none");
	case -EACCES:
	case -EPERM:
		return gp__fail(err, rc,
				"cannot open GPU %u: permission denied; become a member of the "
				"groups 'render' and 'video'",
				index);
	default:
		return gp__fail(err, rc, "cannot open GPU %u: %s", index, strerror(-rc));
	}
}

static int find_node(uint32_t index, struct gp__kfd_node *found, struct gp_error *err)
{
	struct gp__kfd_node *node = calloc(GP__KFD_NODES_MAX, sizeof(*node));
	int n = node ? gp__kfd_nodes(node) : -ENOMEM, rc = 0;

	if (n <= 0)
		rc = fail_open(err, n ? n : -ENODEV, index);
	else if (index >= (uint32_t)n)
		rc = gp__fail(err, -ENODEV, "there is no GPU %u: the last one is %d", index, n - 1);
	else
		*found = node[index];
	free(node);
	return rc;
}

int gp_kfd_open(uint32_t index, struct gp_kfd **gpu, struct gp_error *err)
{
	struct gp__kfd_node node;
	struct gp_kfd *g;
	int rc;

	if (!gpu)
		return gp__fail(err, -EINVAL, "the pointer for the new GPU is NULL");
	*gpu = NULL;
	rc = find_node(index, &node, err);
	if (rc)
		return rc;
	g = calloc(1, sizeof(*g));
	if (!g)
		return gp__fail(err, -ENOMEM, "out of memory");
	gp__kfd_beside_begin(&g->beside);
	rc = gp__kfd_open(&g->u, &node);
	if (rc) {
		gp__kfd_beside_end(&g->beside);
		free(g);
		return fail_open(err, rc, index);
	}
	pthread_mutex_init(&g->lock, NULL);
	gp__kfd_query_series(gp__kfd_libc_ioctl, g->u.kfd, node.gpu_id, &g->series);
	/* A driver that does not show the parameter has CWSR: it is the default. */
	g->cwsr = gp__kfd_cwsr_enable() != 0;
	g->clock_hz = clock_of(node.gfx_version);
	*gpu = g;
	return 0;
}

int gp_kfd_info(struct gp_kfd *g, struct gp_kfd_info *info)
{
	uint32_t levels = gp__kfd_levels(g->cwsr, &g->series);
	struct gp_kfd_info i = {
		.size = sizeof(i),
		.gfx_version = g->u.node.gfx_version,
		.compute_units = g->u.node.nr_cus,
		.clock_hz = g->clock_hz,
		.shared = g->u.shared,
		.can_save = (levels & GP__HAS_LEVEL(3)) != 0,
		.can_drain = (levels & GP__HAS_LEVEL(2)) != 0,
		.series = g->series.version != 0,
	};

	if (!info)
		return -EINVAL;
	memcpy(i.name, g->u.node.name, sizeof(i.name));
	return gp__struct_out(info, &i, sizeof(i));
}

uint64_t gp__kfd_gpu_ns(const struct gp_kfd *g, uint64_t ticks)
{
	return g->clock_hz ? ticks * (GP__S / g->clock_hz) : 0;
}

int gp_kfd_clock(struct gp_kfd *g, uint64_t *ns)
{
	struct gp_kfd_get_clock_counters args = { .gpu_id = g->u.node.gpu_id };
	int rc;

	if (!g->clock_hz)
		return -ENOTSUP;
	rc = gp__kfd_ioctl(g->u.kfd, GP_KFD_GET_CLOCK_COUNTERS, &args);
	*ns = rc ? 0 : gp__kfd_gpu_ns(g, args.gpu_clock_counter);
	return rc;
}

/*
 * Enables the way dbgtrap, which needs a runtime that called RUNTIME_ENABLE before the process has
 * a queue. Without another runtime, the library calls it.
 */
static int enable_runtime(struct gp_kfd *g, struct gp_error *err)
{
	struct gp_kfd_runtime_enable args = { .mode_mask = GP_KFD_RUNTIME_ENABLE_MODE };
	int rc = gp__kfd_ioctl(g->u.kfd, GP_KFD_RUNTIME_ENABLE, &args);

	g->runtime |= !rc;
	if (rc == -EEXIST)
		return gp__fail(err, rc,
				"the way 'dbgtrap' must be asked for with the first queue of a "
				"process, and this is a later one");
	if (rc && rc != -EBUSY)
		return gp__fail(err, rc, "cannot use the way 'dbgtrap': RUNTIME_ENABLE failed: %s",
				strerror(-rc));
	return 0;
}

/* Called after the debugger has detached: with one attached, the driver would wait for its
 * answer. */
static void disable_runtime(struct gp_kfd *g)
{
	struct gp_kfd_runtime_enable args = { .mode_mask = 0 };

	if (g->runtime)
		gp__kfd_ioctl(g->u.kfd, GP_KFD_RUNTIME_ENABLE, &args);
	g->runtime = false;
}

struct gp__kfd_control *gp__kfd_gpu_control(struct gp_kfd *g, enum gp__kfd_way way,
					    struct gp_error *err)
{
	struct gp__kfd_control *c = &g->control[way];
	char reason[GP__KFD_EXPLAIN_MAX];
	int rc;

	if (g->opened[way])
		return c;
	if (way == GP__KFD_WAY_DBGTRAP && enable_runtime(g, err))
		return NULL;
	rc = gp__kfd_control_open(c, g->u.kfd, 0, way);
	if (rc) {
		gp__kfd_explain(c, GP__KFD_SAVE, rc, reason, sizeof(reason));
		gp__fail(err, rc, "%s", reason);
		disable_runtime(g);
		return NULL;
	}
	g->opened[way] = true;
	return c;
}

int gp_kfd_close(struct gp_kfd *g)
{
	bool busy;

	if (!g)
		return 0;
	pthread_mutex_lock(&g->lock);
	busy = g->users || g->memory;
	pthread_mutex_unlock(&g->lock);
	if (busy)
		return -EBUSY;
	for (int way = 0; way < GP__KFD_WAYS; way++) {
		if (g->opened[way])
			gp__kfd_control_close(&g->control[way]);
	}
	disable_runtime(g);
	gp__kfd_close(&g->u);
	gp__kfd_beside_end(&g->beside);
	pthread_mutex_destroy(&g->lock);
	free(g);
	return 0;
}

/*
 * Memory
 */

int gp_kfd_alloc(struct gp_kfd *g, size_t size, void **memory, struct gp_error *err)
{
	struct gp__kfd_allocation *a;
	int rc;

	if (!memory)
		return gp__fail(err, -EINVAL, "the pointer for the new memory is NULL");
	*memory = NULL;
	if (!size)
		return gp__fail(err, -EINVAL, "the size of the memory is 0");
	a = calloc(1, sizeof(*a));
	rc = a ? gp__kfd_alloc(&g->u, &a->memory, size, GP_KFD_MEM_GTT | GP_KFD_MEM_COHERENT)
	       : -ENOMEM;
	if (rc) {
		free(a);
		return gp__fail(err, rc, "cannot allocate %zu bytes for the GPU: %s", size,
				strerror(-rc));
	}
	*memory = a->memory.at;
	pthread_mutex_lock(&g->lock);
	a->next = g->memory;
	g->memory = a;
	pthread_mutex_unlock(&g->lock);
	return 0;
}

void gp_kfd_free(struct gp_kfd *g, void *memory)
{
	struct gp__kfd_allocation **link = &g->memory, *a = NULL;

	if (!memory)
		return;
	pthread_mutex_lock(&g->lock);
	while (*link && (*link)->memory.at != memory)
		link = &(*link)->next;
	if (*link) {
		a = *link;
		*link = a->next;
	}
	pthread_mutex_unlock(&g->lock);
	if (a)
		gp__kfd_free(&g->u, &a->memory);
	free(a);
}

/*
 * Code
 */

struct gp_kfd_code {
	struct gp_kfd *gpu;
	struct gp__object object;
	struct gp__kfd_memory memory;
};

/* Offsets in a kernel's descriptor. */
#define DESCRIPTOR_BYTES 64
#define DESCRIPTOR_SCRATCH 4

static int check_model(const struct gp_kfd *g, const struct gp__object *o, const char *path,
		       struct gp_error *err)
{
	uint32_t version = 0;
	const char *name = machine_name(gp__object_machine(o), &version);

	if (!name || version == g->u.node.gfx_version)
		return 0;
	return gp__fail(err, -ENOEXEC, "%s was built for %s, but the GPU is a %s", path, name,
			g->u.node.name);
}

static int load(struct gp_kfd_code *c, const char *path, struct gp_error *err)
{
	struct gp_kfd *g = c->gpu;
	int rc = gp__object_read(&c->object, path);

	if (rc == -ENOEXEC)
		return gp__fail(err, rc, "%s is not a code object for AMD GPUs", path);
	if (rc)
		return gp__fail(err, rc, "cannot read %s: %s", path, strerror(-rc));
	rc = check_model(g, &c->object, path, err);
	if (rc)
		return rc;
	rc = gp__kfd_alloc(&g->u, &c->memory, gp__object_bytes(&c->object),
			   GP_KFD_MEM_GTT | GP_KFD_MEM_EXECUTABLE);
	if (rc)
		return gp__fail(err, rc, "cannot allocate GPU memory for %s: %s", path,
				strerror(-rc));
	gp__object_load(&c->object, c->memory.at);
	return 0;
}

int gp_kfd_load(struct gp_kfd *g, const char *path, struct gp_kfd_code **code, struct gp_error *err)
{
	struct gp_kfd_code *c;
	int rc;

	if (!code || !path)
		return gp__fail(err, -EINVAL, "the path of the code or the pointer for it is NULL");
	*code = NULL;
	c = calloc(1, sizeof(*c));
	if (!c)
		return gp__fail(err, -ENOMEM, "out of memory");
	c->gpu = g;
	rc = load(c, path, err);
	if (rc) {
		gp__object_free(&c->object);
		free(c);
		return rc;
	}
	pthread_mutex_lock(&g->lock);
	g->users++;
	pthread_mutex_unlock(&g->lock);
	*code = c;
	return 0;
}

void gp_kfd_unload(struct gp_kfd_code *c)
{
	if (!c)
		return;
	gp__kfd_free(&c->gpu->u, &c->memory);
	gp__object_free(&c->object);
	pthread_mutex_lock(&c->gpu->lock);
	c->gpu->users--;
	pthread_mutex_unlock(&c->gpu->lock);
	free(c);
}

int gp_kfd_kernel(struct gp_kfd_code *c, const char *name, uint64_t *kernel, struct gp_error *err)
{
	char symbol[256];
	uint64_t offset;
	uint32_t scratch;

	if (!name || !kernel)
		return gp__fail(err, -EINVAL,
				"the name of the kernel or the pointer for it is NULL");
	*kernel = 0;
	snprintf(symbol, sizeof(symbol), "%s.kd", name);
	if (!gp__object_symbol(&c->object, symbol, &offset) ||
	    offset > c->memory.size - DESCRIPTOR_BYTES)
		return gp__fail(err, -ENOENT, "the code has no kernel '%s'", name);
	memcpy(&scratch, (char *)c->memory.at + offset + DESCRIPTOR_SCRATCH, sizeof(scratch));
	if (scratch)
		return gp__fail(err, -EOPNOTSUPP,
				"the kernel '%s' needs %u bytes of scratch memory per work-item, "
				"which these queues do not have",
				name, scratch);
	*kernel = (uint64_t)c->memory.at + offset;
	return 0;
}
