/* SPDX-License-Identifier: MIT */
/*
 * The interface between the emulated driver (kfd/) and the compute engine that executes waves of
 * one GPU generation (gfx9/). Another generation is another folder with its own struct emu_engine,
 * and a row in kfd/chip.c.
 *
 * The driver calls the engine once for a queue, a dispatch or a stop. The engine calls the driver
 * back for a page that its TLB does not have, for a dispatch that has ended, for an interrupt and
 * for the trace. Neither side calls the other for each instruction.
 *
 * The engine allocates and frees its objects, except jobs: a dispatch is one allocation of the
 * driver. A queue and a job begin with the part that the driver may read and write; a GPU and
 * decoded code are opaque.
 */
#ifndef GP__EMU_ENGINE_H
#define GP__EMU_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EMU_PAGE_SHIFT 12
#define EMU_PAGE ((uint64_t)1 << EMU_PAGE_SHIFT)
/* Array sizes: no engine has a larger GPU or more opcodes. */
#define EMU_XCCS_MAX 8
#define EMU_CUS_MAX 320 /* of all XCCs */
#define EMU_OPCODES_MAX 2048
#define EMU_TICK_NS 10 /* the reference clock of the hardware: 100 MHz */

/*
 * A GPU address space, made by the driver. Engines keep TLBs in front of it: the driver increments
 * the generation after it has removed a mapping, then calls gpu_quiesce(), then frees the memory.
 */
struct emu_vm {
	/* The host address of the page at @va. NULL: not mapped, or not writable. Any thread. */
	void *(*page)(void *ctx, uint64_t va, bool write);
	void *ctx;
	_Atomic uint64_t generation;
};

/* How a queue leaves the compute units. */
enum emu_stop_type {
	EMU_STOP_NONE, /* it runs */
	EMU_STOP_DRAIN, /* resident workgroups run to their end, no new one starts */
	EMU_STOP_SAVE, /* resident workgroups are saved, and restored later */
	EMU_STOP_RESET, /* resident workgroups and their jobs are dropped */
};

/*
 * A debugger's requests for the waves of a queue: how they start, and which addresses are watched.
 */
#define EMU_WATCHES 4

/* As the hardware and amdkfd number them. */
enum emu_watch_mode {
	EMU_WATCH_READ,
	EMU_WATCH_NONREAD,
	EMU_WATCH_ATOMIC,
	EMU_WATCH_ALL,
};

enum emu_launch_mode {
	EMU_LAUNCH_NORMAL = 0,
	EMU_LAUNCH_HALT = 1,
	EMU_LAUNCH_STEP = 3, /* traps after each instruction */
};

struct emu_address_watch {
	bool valid;
	uint8_t mode; /* enum emu_watch_mode */
	uint64_t address, mask; /* matches an address that has the same bits under @mask */
};

struct emu_wave_debug {
	struct emu_address_watch watch[EMU_WATCHES];
	bool watches; /* at least one of them is valid */
	uint16_t exceptions; /* at which new waves trap: MODE.EXCP_EN */
	bool trap_on_start, trap_on_end;
	uint8_t launch_mode; /* enum emu_launch_mode */
};

/*
 * Dispatches
 */
#define EMU_USER_DATA_MAX 16

/* A dispatch by an AQL packet or by registers. Addresses are the GPU's. */
struct emu_launch {
	uint64_t kernel_object, kernarg, packet, queue_ptr, id;
	uint32_t grid[3]; /* in work-items */
	uint16_t group[3]; /* work-items in a workgroup */
	uint32_t lds_bytes, scratch_bytes; /* of the packet; at least the kernel's after job_init */
	/* Memory for scratch: one slot for each wave that uses any. */
	uint64_t scratch_base;
	uint32_t scratch_wave_bytes;
	uint32_t user_data[EMU_USER_DATA_MAX]; /* of a dispatch by registers */
};

/* Describes a kernel without a descriptor: registers that PM4 packets have set. */
struct emu_launch_registers {
	uint64_t entry;
	uint32_t rsrc1, rsrc2, rsrc3;
	uint32_t scratch_wave_bytes;
};

/* The common part of a job, which is one dispatch on its way through the engine. */
struct emu_job {
	struct emu_launch launch;
	/*
	 * Called once when nothing of the job is left on the GPU, by any thread, without a lock. 0;
	 * -EIO: see job_failure(); -ECANCELED after EMU_STOP_RESET; -ENOMEM. The job is the
	 * caller's again.
	 */
	void (*done)(struct emu_job *job, int result);
	void *owner; /* the driver's dispatch */
	bool hangs; /* its waves never advance and can only be dropped; set after job_init */
	uint64_t started_ns, ended_ns; /* device time of its first workgroup and of its end */
};

enum emu_failure_type {
	EMU_FAILURE_FAULT, /* a bad access: @address, @write */
	EMU_FAILURE_ILLEGAL, /* an instruction the engine does not execute: @text */
	EMU_FAILURE_OTHER,
};

/* The reason why a job ended with -EIO. */
struct emu_failure {
	enum emu_failure_type type;
	uint64_t address;
	bool write;
	char text[512]; /* the instruction, its wave and why it is not executed */
};

/*
 * Queues
 */

/* The common part of a queue. Except @owner, the driver changes it only while it is not mapped. */
struct emu_hw_queue {
	void *owner; /* the driver's queue */
	uint64_t tba, tma; /* trap handler and its memory; 0: none */
	/* Memory for the scratch of so many waves at a time. */
	uint64_t scratch_base;
	uint32_t scratch_wave_bytes, scratch_waves;
	uint32_t cu_mask[EMU_CUS_MAX / 32]; /* compute units it may use; all at first */
	struct emu_wave_debug debug;
	bool has_gws; /* without, GWS instructions are illegal */
	int priority; /* workgroups of the queue with the higher one start first */
	uint32_t doorbell; /* waves read it to identify their queue */
	/* Called when a wave sends an interrupt, without a lock. NULL: interrupts are dropped. */
	void (*interrupt)(struct emu_hw_queue *q, uint32_t m0, bool in_trap_handler);
};

/* Sizes that the context save area of a queue depends on; arrays are shader arrays of an XCC. */
struct emu_gpu_shape {
	uint32_t nr_xccs, xcc_cus;
	uint32_t nr_arrays, engine_arrays; /* of all shader engines, and of one */
};

struct emu_save_sizes {
	uint32_t ctl_bytes; /* header and control stack of an XCC */
	uint64_t slice_bytes; /* those and the records: what a program allocates for each XCC */
	uint32_t debug_bytes; /* for a debugger, for each XCC */
	uint64_t total_bytes; /* for all XCCs */
};

/* Begins the slice of an XCC in a save area; offsets count from there. KFD's ABI. */
struct emu_save_header {
	uint32_t ctl_offset, ctl_bytes; /* of the control stack in use */
	uint32_t records_end, records_bytes;
};

/*
 * GPUs
 */

struct emu_gpu_config {
	unsigned int target; /* the engine's number for a chip */
	uint32_t nr_xccs, xcc_cus;
	uint64_t slice; /* instructions that a wave executes in one turn; 0: the default */
	int threads; /* 0: none, the caller runs the compute units */
	uint32_t nice; /* of the threads */
	bool cwsr; /* false: EMU_STOP_SAVE is EMU_STOP_DRAIN, as there is no context save */
	/*
	 * Called when the first workgroup of a queue is placed on a compute unit and when the last
	 * one has left, and with NULL when the GPU becomes busy or idle. The engine's locks are
	 * held. NULL: no trace.
	 */
	void (*trace)(void *ctx, struct emu_hw_queue *q, bool on, uint64_t device_ns);
	void *trace_ctx;
};

/* How far the results of an instruction can be trusted. */
enum emu_trust { EMU_EXACT, EMU_APPROXIMATE, EMU_UNSUPPORTED };

struct emu_opcode {
	const char *name;
	enum emu_trust trust;
	const char *note; /* NULL where it is exact */
};

/*
 * Called for each approximate instruction when it is decoded, by any thread, maybe more than once.
 * @text names the instruction, its words, its address and what may differ.
 */
typedef void emu_approximate_fn(void *ctx, uint32_t opcode, const char *text);

struct emu_gpu;
struct emu_code;

struct emu_engine {
	/* Limits of one workgroup, one compute unit, one SIMD and one queue. */
	uint32_t group_items, group_lds_bytes;
	uint32_t cu_waves, simd_waves;
	uint32_t scratch_waves;
	/* The first-level trap handler, which saves and restores waves. */
	const void *trap_handler;
	const uint32_t *trap_handler_bytes;
	uint32_t nr_opcodes;
	/* The size of a job, which begins with struct emu_job. The driver allocates and zeroes it.
	 */
	size_t job_bytes;

	/* False: the target does not have opcode @i. */
	bool (*opcode)(unsigned int target, uint32_t i, struct emu_opcode *opcode);
	struct emu_save_sizes (*save_sizes)(const struct emu_gpu_shape *shape);

	/* NULL: out of memory or threads, or an impossible size. */
	struct emu_gpu *(*gpu_new)(const struct emu_gpu_config *config);
	/* Every queue must have been unmapped. */
	void (*gpu_free)(struct emu_gpu *gpu);
	uint64_t (*gpu_clock)(struct emu_gpu *gpu);
	/* Returns when no wave uses a page that was removed from its address space before. */
	void (*gpu_quiesce)(struct emu_gpu *gpu);

	/* Decoded instructions of one address space on one GPU. NULL: out of memory. */
	struct emu_code *(*code_new)(unsigned int target, emu_approximate_fn *approximate,
				     void *ctx);
	void (*code_free)(struct emu_code *code);
	void (*code_invalidate)(struct emu_code *code);

	/* NULL: out of memory. */
	struct emu_hw_queue *(*queue_new)(unsigned int target, struct emu_vm *vm,
					  struct emu_code *code);
	/* The queue must not be mapped. Its jobs are dropped and done() is not called. */
	void (*queue_free)(struct emu_hw_queue *q);
	/* The save area: a slice of @slice_bytes for each XCC. Without, waves are not saved. */
	void (*queue_set_area)(struct emu_hw_queue *q, uint64_t area, uint64_t slice_bytes,
			       uint32_t ctl_bytes);
	void (*queue_map)(struct emu_gpu *gpu, struct emu_hw_queue *q);
	/* The queue must have stopped. */
	void (*queue_unmap)(struct emu_gpu *gpu, struct emu_hw_queue *q);
	/*
	 * Begins to stop the queue. Returns how: EMU_STOP_DRAIN for EMU_STOP_SAVE where there is no
	 * context save. A later call changes a stop that is under way.
	 */
	enum emu_stop_type (*queue_stop)(struct emu_gpu *gpu, struct emu_hw_queue *q,
					 enum emu_stop_type how);
	/*
	 * Waits until a stopping queue has left the compute units and its finished jobs are
	 * reported. 0; -ETIME; -EIO, -ENOSPC or -ENOMEM where a workgroup was lost, whose job has
	 * failed.
	 */
	int (*queue_wait)(struct emu_gpu *gpu, struct emu_hw_queue *q, uint64_t timeout_ns);
	/* Approximately. */
	uint64_t (*queue_waves)(struct emu_gpu *gpu, const struct emu_hw_queue *q);
	/* Of an unmapped queue: describes the saved waves of one XCC; and writes that to the save
	 * areas of the first @nr_xccs. */
	void (*queue_saved)(const struct emu_hw_queue *q, uint32_t xcc, struct emu_save_header *h);
	void (*queue_write_saved)(struct emu_hw_queue *q, uint32_t nr_xccs);

	/*
	 * Prepares job->launch for the queue. 0; -EFAULT: the kernel descriptor cannot be read;
	 * -EINVAL: the engine cannot run the kernel or the launch; -ENOSPC: too little scratch;
	 * -E2BIG: no compute unit has enough registers for a workgroup; -ENOMEM.
	 */
	int (*job_init)(struct emu_job *job, struct emu_hw_queue *q);
	int (*job_init_registers)(struct emu_job *job, struct emu_hw_queue *q,
				  const struct emu_launch_registers *r);
	/* The job was prepared. done() may be called before this returns. */
	void (*job_dispatch)(struct emu_gpu *gpu, struct emu_job *job);
	void (*job_failure)(const struct emu_job *job, struct emu_failure *failure);
};

#endif
