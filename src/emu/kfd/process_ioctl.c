// SPDX-License-Identifier: MIT
/* Per-process setup of a GPU: its address space, trap handler, apertures and clocks. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "emu/kfd/call.h"
#include "emu/kfd/doorbell.h"
#include "emu/kfd/memfd.h"
#include "emu/kfd/node.h"
#include "emu/kfd/process.h"
#include "emu/kfd/tracer.h"
#include "emu/protocol.h"
#include "gpreempt/uapi/gpreempt_kfd.h"

/*
 * Apertures, as amdkfd places them since GFX9. Memory extends from the kernel's own range to the
 * hole in the address space.
 */
#define LDS_BASE (1ULL << 48)
#define SCRATCH_BASE (2ULL << 48)
#define APERTURE_BYTES (1ULL << 32)
#define GPUVM_BASE_6_1 0x1000000
#define GPUVM_BASE_6_12 0x10000
#define GPUVM_LIMIT ((1ULL << 47) - 1)

/*
 * Just below the program's memory; since 6.12, above the hole and below the range at the very top
 * that the kernel reserves.
 */
#define TRAP_BYTES 0x2000
#define TRAP_VA_6_1 (GPUVM_BASE_6_1 - TRAP_BYTES)
#define TRAP_VA_6_12 ((1ULL << 48) - (4 << 20) - TRAP_BYTES)
#define TMA_OFFSET 0x1800

#define POLICY_COHERENT 0
#define POLICY_NONCOHERENT 1

#define TILE_CONFIGS 32
#define MACRO_TILE_CONFIGS 16

/* Capabilities. */
#define CAN_SYS_ADMIN (1ULL << 21)
#define CAN_CHECKPOINT (1ULL << 40)

/* Types of mmap offsets of /dev/kfd. */
#define MMAP_TYPE_SHIFT 62
#define MMAP_MMIO 0
#define MMAP_EVENTS 2
#define MMAP_DOORBELL 3
#define MMAP_GPU_SHIFT 46
#define MMIO_BYTES 4096

struct emu_process_node *emu_process_node(struct emu_process *p, uint32_t gpu_id, uint32_t *node)
{
	struct emu_node *n = emu_machine_node(p->m, gpu_id);

	if (!n)
		return NULL;
	*node = n->index;
	return &p->node[n->index];
}

int emu_process_bind(struct emu_process *p, uint32_t gpu_id, uint32_t *node)
{
	struct emu_process_node *pn = emu_process_node(p, gpu_id, node);

	if (!pn)
		return -EINVAL;
	return pn->render_file ? 0 : -ENODEV;
}

/* For ioctls that return another error for a GPU whose address space was not acquired. */
static int bind_or_none(struct emu_process *p, uint32_t gpu_id, uint32_t *node)
{
	int err = emu_process_bind(p, gpu_id, node);

	return err == -ENODEV ? -ESRCH : err;
}

int emu_get_version(struct emu_call *call, struct gp_kfd_version *args)
{
	args->major = 1;
	args->minor = emu_is_6_1(call->m) ? 11 : 17;
	return 0;
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

int emu_get_clock_counters(struct emu_call *call, struct gp_kfd_get_clock_counters *args)
{
	struct emu_node *n = emu_machine_node(call->m, args->gpu_id);

	args->gpu_clock_counter = n ? emu_node_ticks(n) : 0;
	args->cpu_clock_counter = clock_ns(CLOCK_MONOTONIC_RAW);
	args->system_clock_counter = clock_ns(CLOCK_BOOTTIME);
	args->system_clock_freq = 1000000000;
	return 0;
}

void emu_apertures(const struct emu_machine *m, uint32_t node, struct gp_kfd_apertures *a)
{
	*a = (struct gp_kfd_apertures){
		.lds_base = LDS_BASE,
		.lds_limit = LDS_BASE + APERTURE_BYTES - 1,
		.scratch_base = SCRATCH_BASE,
		.scratch_limit = SCRATCH_BASE + APERTURE_BYTES - 1,
		.gpuvm_base = emu_is_6_1(m) ? GPUVM_BASE_6_1 : GPUVM_BASE_6_12,
		.gpuvm_limit = GPUVM_LIMIT,
		.gpu_id = m->node[node]->gpu_id,
	};
}

int emu_get_apertures_old(struct emu_call *call, struct gp_kfd_get_apertures_old *args)
{
	uint32_t n = call->m->config.nr_gpus;

	args->num_of_nodes = n < GP_KFD_APERTURES_OLD ? n : GP_KFD_APERTURES_OLD;
	for (uint32_t i = 0; i < args->num_of_nodes; i++)
		emu_apertures(call->m, i, &args->apertures[i]);
	return 0;
}

int emu_get_apertures(struct emu_call *call, struct gp_kfd_get_apertures *args)
{
	struct gp_kfd_apertures a[EMU_GPUS_MAX];
	uint32_t n = call->m->config.nr_gpus;

	if (!args->num_of_nodes) {
		args->num_of_nodes = n;
		return 0;
	}
	if (args->num_of_nodes > n + 1) /* the node of the processor counts as well */
		return -EINVAL;
	if (args->num_of_nodes > n)
		args->num_of_nodes = n;
	for (uint32_t i = 0; i < args->num_of_nodes; i++)
		emu_apertures(call->m, i, &a[i]);
	return emu_copy_to_user(call, args->apertures_ptr, a, args->num_of_nodes * sizeof(a[0]));
}

int emu_set_memory_policy(struct emu_call *call, struct gp_kfd_set_memory_policy *args)
{
	struct emu_process *p = call->process;
	uint32_t node;
	int err;

	if (args->default_policy > POLICY_NONCOHERENT ||
	    args->alternate_policy > POLICY_NONCOHERENT)
		return -EINVAL;
	pthread_mutex_lock(&p->lock);
	err = bind_or_none(p, args->gpu_id, &node);
	pthread_mutex_unlock(&p->lock);
	return err;
}

int emu_set_scratch_backing_va(struct emu_call *call, struct gp_kfd_set_scratch_backing_va *args)
{
	struct emu_process *p = call->process;
	uint32_t node;
	int err;

	pthread_mutex_lock(&p->lock);
	err = emu_process_bind(p, args->gpu_id, &node);
	if (!err)
		p->node[node].scratch_va = args->va_addr;
	pthread_mutex_unlock(&p->lock);
	return err;
}

/* The tiling tables of older GPUs: zeros since GFX9. */
static int copy_table(struct emu_call *call, uint64_t to, uint32_t *n, uint32_t max)
{
	static const uint32_t table[TILE_CONFIGS];
	int err;

	if (*n > max)
		*n = max;
	err = emu_copy_to_user(call, to, table, *n * sizeof(table[0]));
	if (err)
		*n = 0;
	return err;
}

int emu_get_tile_config(struct emu_call *call, struct gp_kfd_get_tile_config *args)
{
	int err;

	if (!emu_machine_node(call->m, args->gpu_id))
		return -EINVAL;
	args->gb_addr_config = call->m->config.chip->gb_addr_config;
	args->num_banks = 0;
	args->num_ranks = 0;
	err = copy_table(call, args->tile_config_ptr, &args->num_tile_configs, TILE_CONFIGS);
	if (!err)
		err = copy_table(call, args->macro_tile_config_ptr, &args->num_macro_tile_configs,
				 MACRO_TILE_CONFIGS);
	return err;
}

int emu_set_trap_handler(struct emu_call *call, struct gp_kfd_set_trap_handler *args)
{
	struct emu_process *p = call->process;
	uint32_t node;
	int err;

	pthread_mutex_lock(&p->lock);
	err = bind_or_none(p, args->gpu_id, &node);
	if (!err && p->node[node].tma_words) {
		atomic_store(&p->node[node].tma_words[0], args->tba_addr);
		atomic_store(&p->node[node].tma_words[1], args->tma_addr);
	} else if (!err) {
		p->node[node].tba = args->tba_addr;
		p->node[node].tma = args->tma_addr;
	}
	pthread_mutex_unlock(&p->lock);
	return err;
}

/* Installs the handler that saves waves, as the first level for all waves of the process. */
static int install_trap_handler(struct emu_process *p, uint32_t node)
{
	struct emu_process_node *pn = &p->node[node];
	const struct emu_engine *engine = p->m->config.chip->engine;
	uint64_t va = emu_is_6_1(p->m) ? TRAP_VA_6_1 : TRAP_VA_6_12;
	void *host;

	if (!p->m->config.cwsr)
		return 0;
	if (!emu_memory_install(p, node, va, TRAP_BYTES, false, &host))
		return -ENOMEM;
	memcpy(host, engine->trap_handler, *engine->trap_handler_bytes);
	pn->tba = va;
	pn->tma = va + TMA_OFFSET;
	pn->tma_words = (_Atomic uint64_t *)((uint8_t *)host + TMA_OFFSET);
	atomic_store(&pn->tma_words[2], emu_debug_is_active(p));
	return 0;
}

static int acquire(struct emu_process *p, uint32_t gpu_id, const struct emu_file *f)
{
	uint32_t node;
	struct emu_process_node *pn = emu_process_node(p, gpu_id, &node);
	int err;

	if (!pn)
		return -EINVAL;
	if (pn->render_file)
		return pn->render_file == f->id ? 0 : -EBUSY;
	if (f->kind != EMU_FILE_RENDER || f->node != node)
		return -EINVAL;
	err = install_trap_handler(p, node);
	if (!err)
		pn->render_file = f->id;
	return err;
}

int emu_acquire_vm(struct emu_call *call, struct gp_kfd_acquire_vm *args)
{
	struct emu_process *p = call->process;
	int64_t id = emu_call_file(call, args->drm_fd);
	struct emu_file f;
	int err;

	if (id == -ECONNRESET)
		return -ECONNRESET;
	/* Any other descriptor is not a render node. */
	if (id < 0 || !emu_file_find(call->m, (uint64_t)id, &f))
		return -EINVAL;
	pthread_mutex_lock(&p->lock);
	err = acquire(p, args->gpu_id, &f);
	pthread_mutex_unlock(&p->lock);
	return err;
}

/*
 * Like a kernel without shared virtual memory (CONFIG_HSA_AMD_SVM), such as Debian's, which has
 * neither.
 */
int emu_set_xnack_mode(struct emu_call *call, struct gp_kfd_set_xnack_mode *args)
{
	(void)call;
	(void)args;
	return -EPERM;
}

int emu_svm(struct emu_call *call, struct gp_kfd_svm *args)
{
	(void)call;
	(void)args;
	return -EPERM;
}

bool emu_may_checkpoint(const struct emu_call *call)
{
	return emu_tracer_can(call->pid, call->thread, CAN_CHECKPOINT | CAN_SYS_ADMIN);
}

/* Checkpoints treat a program on this machine as one without a GPU: there is nothing to save. */
int emu_criu(struct emu_call *call, struct gp_kfd_criu *args)
{
	struct emu_process *target;

	switch (args->op) {
	case GP_KFD_CRIU_PROCESS_INFO:
		return -ENODEV;
	case GP_KFD_CRIU_CHECKPOINT:
		return args->devices && args->bos && args->priv_data ? -ENODEV : -EINVAL;
	case GP_KFD_CRIU_RESUME:
		target = emu_process_find(call->m, (pid_t)args->pid);
		if (!target)
			return -ESRCH;
		emu_process_put(target);
		return -EINVAL;
	default:
		/* Nothing is ever paused, and nothing was saved that could be restored. */
		return -EINVAL;
	}
}

/*
 * mmap
 */

static int mmap_doorbells(struct emu_process *p, uint32_t node, const struct emu_message *msg,
			  int *fd)
{
	if (msg->length != emu_doorbell_bytes())
		return -EINVAL;
	*fd = emu_process_doorbells(p, node);
	if (*fd < 0)
		return -ENOMEM;
	/*
	 * Doorbells with a buffer are watched when the buffer is mapped. Without one, their address
	 * is not known, and they are polled.
	 */
	if (emu_memory_has_doorbells(p, node) || atomic_fetch_add(&p->node[node].nr_watches, 1))
		return 0;
	return emu_doorbell_watch(p, node, -1, msg->address, msg->length);
}

/* Writing these registers flushes pending writes: there are none here. */
int emu_process_mmio(struct emu_process *p, uint32_t node)
{
	struct emu_process_node *pn = &p->node[node];
	int fd;

	if (pn->mmio_fd >= 0)
		return pn->mmio_fd;
	fd = emu_memfd("mmio", MMIO_BYTES);
	if (fd >= 0)
		pn->mmio_fd = fd;
	return fd;
}

static int mmap_registers(struct emu_process *p, uint32_t node, uint64_t length, int *fd)
{
	if (length != MMIO_BYTES || sysconf(_SC_PAGESIZE) > MMIO_BYTES)
		return -EINVAL;
	*fd = emu_process_mmio(p, node);
	return *fd < 0 ? -ENOMEM : 0;
}

int emu_kfd_mmap(struct emu_call *call, const struct emu_message *msg, struct emu_message *reply,
		 int *fd)
{
	struct emu_process *p = call->process;
	uint32_t gpu_id = msg->offset >> MMAP_GPU_SHIFT & 0xffff,
		 type = msg->offset >> MMAP_TYPE_SHIFT;
	struct emu_node *n = emu_machine_node(call->m, gpu_id);
	int err = -EINVAL;

	(void)reply;
	if (type == MMAP_EVENTS)
		return emu_events_mmap(p, msg, fd);
	if (!n)
		return -ENODEV;
	pthread_mutex_lock(&p->lock);
	if (type == MMAP_DOORBELL)
		err = mmap_doorbells(p, n->index, msg, fd);
	else if (type == MMAP_MMIO)
		err = mmap_registers(p, n->index, msg->length, fd);
	pthread_mutex_unlock(&p->lock);
	return err;
}
