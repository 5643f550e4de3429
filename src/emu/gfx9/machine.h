/* SPDX-License-Identifier: MIT */
/*
 * A bare GPU for tests and benchmarks: some memory, some compute units, code objects loaded into
 * it, and dispatches that run to their end on the calling thread.
 */
#ifndef GP__EMU_GFX9_MACHINE_H
#define GP__EMU_GFX9_MACHINE_H

#include "emu/gfx9/save.h"

#define MACHINE_BASE ((uint64_t)0x100000000)
#define MACHINE_CUS 4

struct machine {
	enum gfx9_target target;
	struct gfx9_vm vm;
	struct gfx9_code code;
	struct gfx9_cu cu[MACHINE_CUS];
	uint8_t *memory;
	uint64_t size, used;
	/* The code object: where it was loaded, and its file. */
	uint64_t image;
	uint8_t *file;
	size_t file_size;
	uint64_t slice; /* instructions a wave runs at a time */
	int threads; /* that share the compute units; 1 is the calling one */
	_Atomic uint64_t insts; /* executed in all */
	/*
	 * Every so many slices a compute unit is saved, and what was on it restored on another; 0:
	 * never. On one thread only.
	 */
	uint64_t preempt, slices;
	struct gfx9_context context;
	uint64_t tba;
};

/* Loads the code object at @path. NULL, and a sentence on stderr, where that cannot be done. */
struct machine *machine_new(enum gfx9_target target, uint64_t memory, const char *path);
void machine_free(struct machine *m);

/* Memory of the GPU: its address, and where the host finds it. Zeroed, never freed; out of memory
 * aborts.
 */
uint64_t machine_alloc(struct machine *m, uint64_t bytes);
void *machine_at(struct machine *m, uint64_t va);

/*
 * Runs @kernel over @grid work-items in workgroups of @group, with the arguments at @args. 0, or
 * -EFAULT, -EINVAL, -ENOENT; *@report says what a wave did wrong (-EIO).
 */
int machine_run(struct machine *m, const char *kernel, uint32_t grid, uint16_t group,
		const void *args, size_t args_size, struct gfx9_report *report);

#endif
