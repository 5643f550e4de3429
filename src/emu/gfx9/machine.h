/* SPDX-License-Identifier: MIT */
/*
 * A bare GPU for tests and benchmarks: some memory, some compute units, code objects loaded into
 * it, and dispatches that run to their end.
 */
#ifndef GP__EMU_GFX9_MACHINE_H
#define GP__EMU_GFX9_MACHINE_H

#include "emu/gfx9/gpu.h"
#include "base/object.h"

#define MACHINE_BASE ((uint64_t)0x100000000)
#define MACHINE_XCC_CUS 4 /* compute units of an XCC at most: the save area has room for them */

struct machine {
	enum gfx9_target target;
	struct emu_vm vm;
	struct gfx9_code code;
	struct gfx9_queue queue;
	uint64_t tba; /* the trap handler */
	uint8_t *memory;
	uint64_t size, used, high; /* high: the most that was ever in use */
	/* The code object: its address, and its file. */
	uint64_t image;
	struct gp__object object;
	/*
	 * The GPU is created anew when this changes; at first 4 compute units, and no threads but
	 * the calling one.
	 */
	struct emu_gpu_config config;
	/*
	 * Without threads: after so many turns of all compute units the queue is stopped in this
	 * way, and continues; 0: never.
	 */
	uint64_t preempt, turns;
	enum emu_stop_type preempt_type;
	uint64_t insts; /* executed in all */

	struct gfx9_gpu *gpu;
	struct emu_gpu_config made; /* of the current GPU */
};

/* Loads the code object at @path. On failure, prints a sentence on stderr and returns NULL. */
struct machine *machine_new(enum gfx9_target target, uint64_t memory, const char *path);
void machine_free(struct machine *m);

/* For tests: the target that the name of a code object contains, gfx90a or gfx942. */
enum gfx9_target machine_target(const char *path);

/* Allocates GPU memory, and finds its host address. Zeroed, never freed; out of memory aborts. */
uint64_t machine_alloc(struct machine *m, uint64_t bytes);
void *machine_at(struct machine *m, uint64_t va);

/* The address of a symbol of the code object, or 0. */
uint64_t machine_symbol(const struct machine *m, const char *name);

/* A queue of the machine, with room for context and scratch; not mapped. */
void machine_queue(struct machine *m, struct gfx9_queue *q);
/* Prepares a dispatch of @kernel for the queue. As gfx9_job_init(), or -ENOENT. */
int machine_job(struct machine *m, struct gfx9_queue *q, struct gfx9_job *job, const char *kernel,
		uint32_t grid, uint16_t group, const void *args, size_t args_size);

/*
 * Runs @kernel over @grid work-items in workgroups of @group, with the arguments at @args. 0, or
 * -EFAULT, -EINVAL, -ENOENT; -EIO with the reason in *@report.
 */
int machine_run(struct machine *m, const char *kernel, uint32_t grid, uint16_t group,
		const void *args, size_t args_size, struct gfx9_report *report);
/* The same with all three dimensions. */
int machine_run3(struct machine *m, const char *kernel, const uint32_t grid[3],
		 const uint16_t group[3], const void *args, size_t args_size,
		 struct gfx9_report *report);

#endif
