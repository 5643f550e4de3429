/* SPDX-License-Identifier: MIT */
/*
 * Queues of AMD GPUs for libgpreempt, straight from the kernel's driver (amdkfd), without a
 * runtime. gp_queue_create() stands over a queue created here:
 *
 *	gp_kfd_open(0, &gpu, &err);
 *	gp_kfd_load(gpu, "kernels.co", &code, &err);
 *	gp_kfd_kernel(code, "saxpy", &kernel, &err);
 *	gp_kfd_queue_create(gpu, NULL, &hwq, &err);
 *	gp_queue_create(gp_kfd_ops(hwq), hwq, &options, &queue, &err);
 *	gp_queue_submit(queue, &command, &ticket);
 *
 * The three levels:
 *
 *	level 1  always
 *	level 2  draining, if the kernel can: running work finishes. Otherwise flushing, for queues
 *	         declared idempotent: running work is dropped, and all commands that have not
 *	         completed start again when the queue is released.
 *	level 3  if the GPU saves waves: running work continues later from where it was.
 *
 * The conventions are those of gpreempt.h. Beside another runtime (ROCr, HIP) in one process: open
 * the GPU after that runtime has been initialised; the driver gives a process one address space on
 * a GPU, and its events to the first user.
 *
 * The header is C89 and C++.
 */
#ifndef GPREEMPT_KFD_H
#define GPREEMPT_KFD_H

#include <gpreempt/gpreempt.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ GPUs -- */

struct gp_kfd;

/*
 * Opens the GPU of this number, counted from 0 in the driver's order. -ENODEV: there is none;
 * -EACCES: this user may not open it.
 */
GP_API int gp_kfd_open(uint32_t index, struct gp_kfd **gpu, struct gp_error *err);
/* -EBUSY while it has queues, code or memory. NULL is ignored. */
GP_API int gp_kfd_close(struct gp_kfd *gpu);

struct gp_kfd_info {
	size_t size;
	char name[64];
	uint32_t gfx_version; /* 90010 is gfx90a */
	uint32_t compute_units;
	uint32_t clock_hz; /* of the GPU's clock; 0: not known, and no times are */
	int shared; /* 1: with another runtime in this process */
	int can_save; /* level 3 */
	int can_drain; /* level 2 without being idempotent */
	int series; /* 1: a kernel with gpreempt's series */
};

#define GP_KFD_INFO_INIT GP_INIT(struct gp_kfd_info)

GP_API int gp_kfd_info(struct gp_kfd *gpu, struct gp_kfd_info *info);

/* The GPU's clock in nanoseconds, the one that commands are timed by. -ENOTSUP: not known. */
GP_API int gp_kfd_clock(struct gp_kfd *gpu, uint64_t *ns);

/* Memory that program and GPU see at one address, zeroed, in whole pages. */
GP_API int gp_kfd_alloc(struct gp_kfd *gpu, size_t size, void **memory, struct gp_error *err);
/* NULL is ignored. */
GP_API void gp_kfd_free(struct gp_kfd *gpu, void *memory);

/* ------------------------------------------------------------------ code -- */

struct gp_kfd_code;

/* Loads a code object, an ELF file as clang makes it for amdgcn-amd-amdhsa, for this GPU. */
GP_API int gp_kfd_load(struct gp_kfd *gpu, const char *path, struct gp_kfd_code **code,
		       struct gp_error *err);
/* Nothing of it may run. NULL is ignored. */
GP_API void gp_kfd_unload(struct gp_kfd_code *code);
/*
 * Finds a kernel by its name in the source. -ENOENT: there is none; -EOPNOTSUPP: it needs
 * scratch memory, which these queues do not have.
 */
GP_API int gp_kfd_kernel(struct gp_kfd_code *code, const char *name, uint64_t *kernel,
			 struct gp_error *err);

/* ---------------------------------------------------------------- queues -- */

struct gp_kfd_queue;

/* How level 3 takes a queue off the GPU. */
enum gp_kfd_way {
	GP_KFD_WAY_AUTO = 0, /* the first that the kernel has: preempt, update */
	GP_KFD_WAY_UPDATE = 1, /* percentage 0: any kernel */
	GP_KFD_WAY_DBGTRAP = 2, /* as its own debugger: Linux 6.5, one debugger at a time */
	GP_KFD_WAY_PREEMPT = 3 /* gpreempt's kernel series */
};

/* The kinds of level 2. */
enum gp_kfd_level2 {
	GP_KFD_LEVEL2_AUTO = 0, /* drain if possible, else flush if idempotent, else nothing */
	GP_KFD_LEVEL2_DRAIN = 1,
	GP_KFD_LEVEL2_FLUSH = 2,
	GP_KFD_LEVEL2_NONE = 3
};

/* Flags of struct gp_kfd_queue_options. */
#define GP_KFD_QUEUE_IDEMPOTENT 0x1u /* each command may run again after it was cut short */

struct gp_kfd_queue_options {
	size_t size;
	uint32_t flags; /* GP_KFD_QUEUE_... */
	int way; /* enum gp_kfd_way */
	int level2; /* enum gp_kfd_level2 */
	uint32_t depth; /* most commands launched and not seen to end; 0: 2048 */
};

#define GP_KFD_QUEUE_OPTIONS_INIT GP_INIT(struct gp_kfd_queue_options)

/*
 * -EOPNOTSUPP: a way or a kind of level 2 that is not available, or flushing a queue that was not
 * declared idempotent; the sentence says which.
 */
GP_API int gp_kfd_queue_create(struct gp_kfd *gpu, const struct gp_kfd_queue_options *options,
			       struct gp_kfd_queue **queue, struct gp_error *err);
/* To be called after gp_queue_destroy(). Work that still runs is dropped. NULL is ignored. */
GP_API void gp_kfd_queue_destroy(struct gp_kfd_queue *queue);

/* The functions for gp_queue_create(), with the queue as its hwq. They live as long as the
 * queue. */
GP_API const struct gp_device_ops *gp_kfd_ops(struct gp_kfd_queue *queue);

struct gp_kfd_queue_info {
	size_t size;
	int way; /* the choice of AUTO: enum gp_kfd_way; 0: no level 3 */
	int level2; /* enum gp_kfd_level2, never AUTO */
	uint64_t flushes; /* holds of level 2 that dropped running work */
	uint64_t repeated; /* commands handed over again after a flush */
};

#define GP_KFD_QUEUE_INFO_INIT GP_INIT(struct gp_kfd_queue_info)

GP_API int gp_kfd_queue_info(struct gp_kfd_queue *queue, struct gp_kfd_queue_info *info);

/*
 * A command: a kernel, or with no kernel a barrier, which does nothing. It is yours, and must stay
 * as it is until it has ended; then the times are in it. Commands of a queue run one after the
 * other. The result of one that a GPU cannot do: -EINVAL. A bad access of any command ends all of
 * the process on this GPU, as the driver has it: their result is -EFAULT; of a GPU that was reset,
 * or refuses a packet, -EIO.
 */
struct gp_kfd_command {
	size_t size;
	uint64_t kernel; /* 0: a barrier */
	const void *kernarg; /* in memory that the GPU sees */
	uint32_t grid[3]; /* work-items; y and z may be 0 for 1 */
	uint32_t group[3]; /* of a workgroup; the same */
	uint32_t lds_bytes; /* beyond what the kernel itself declares */
	uint32_t reserved; /* 0 */
	uint64_t start_ns; /* of the GPU's clock; 0: not known */
	uint64_t end_ns;
	uint64_t number; /* the library's */
};

#define GP_KFD_COMMAND_INIT GP_INIT(struct gp_kfd_command)

/* -------------------------------------------- queues of HSA and HIP -- */

#define GP_KFD_SHARERS_MAX 16

/* The driver's queue that a queue of the HSA runtime is, or that carries a stream of HIP. */
struct gp_kfd_runtime_queue {
	size_t size;
	uint32_t queue_id; /* the driver's, among those of this process */
	uint32_t gpu_id; /* the driver's */
	/* Other streams on the queue, of those that were asked for and exist. */
	uint32_t nr_sharers; /* may be more than there is room for */
	uint32_t reserved; /* 0 */
	void *sharers[GP_KFD_SHARERS_MAX];
};

#define GP_KFD_RUNTIME_QUEUE_INIT GP_INIT(struct gp_kfd_runtime_queue)

/*
 * Both are for programs that `gpreempt run` has started; in others they return -ENOTCONN. -ENOENT:
 * the driver has no such queue, or HIP is not loaded.
 *
 * hsa_queue is an hsa_queue_t *.
 */
GP_API int gp_kfd_queue_of_hsa(const void *hsa_queue, struct gp_kfd_runtime_queue *found,
			       struct gp_error *err);
/*
 * stream is a hipStream_t, or NULL for the default stream. An event is recorded in it, which is
 * not waited for. HIP may put a stream on another queue later; a queue has several streams if the
 * program has more than four of one priority. -EBUSY: the stream is being captured into a graph;
 * -EINVAL: HIP refuses it; -EOPNOTSUPP: launches are not seen.
 */
GP_API int gp_kfd_queue_of_stream(void *stream, struct gp_kfd_runtime_queue *found,
				  struct gp_error *err);

#ifdef __cplusplus
}
#endif

#endif
