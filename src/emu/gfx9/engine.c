// SPDX-License-Identifier: MIT
/*
 * The table of functions behind struct emu_engine. It converts between the types of the interface
 * and this engine's own, and describes instructions for the driver's log.
 */
#include "emu/gfx9/engine.h"

#include "emu/gfx9/area.h"
#include "emu/gfx9/format.h"
#include "emu/gfx9/gpu.h"
#include "emu/gfx9/trust.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define WORDS_TEXT (GFX9_INST_MAX * 9 + 1)

_Static_assert(GFX9_OPS <= EMU_OPCODES_MAX, "the driver has a bit for each opcode");
/* Callers have a pointer to the first member. */
_Static_assert(!offsetof(struct gfx9_queue, base), "a queue begins with its common part");
_Static_assert(!offsetof(struct gfx9_job, base), "a job begins with its common part");
_Static_assert(_Alignof(struct gfx9_job) <= _Alignof(max_align_t), "the driver allocates it");

struct code {
	struct gfx9_code code; /* first: the driver has a pointer to it */
	emu_approximate_fn *approximate;
	void *ctx;
};

static struct gfx9_gpu *gpu_of(struct emu_gpu *gpu)
{
	return (struct gfx9_gpu *)gpu;
}

static struct gfx9_code *code_of(struct emu_code *code)
{
	return (struct gfx9_code *)code;
}

static struct gfx9_queue *queue_of(struct emu_hw_queue *q)
{
	return (struct gfx9_queue *)q;
}

static struct gfx9_job *job_of(struct emu_job *job)
{
	return (struct gfx9_job *)job;
}

/*
 * Descriptions of instructions
 */

static bool engine_opcode(unsigned int target, uint32_t i, struct emu_opcode *opcode)
{
	enum gfx9_op op = (enum gfx9_op)i;

	if (!i || i >= GFX9_OPS || !gfx9_target_has((enum gfx9_target)target, op))
		return false;
	opcode->name = gfx9_op_name(op);
	opcode->trust = gfx9_trust(op, &opcode->note);
	return true;
}

static const char *put_words(char text[WORDS_TEXT], const uint32_t *words, unsigned int n)
{
	size_t len = 0;

	text[0] = 0;
	for (unsigned int i = 0; i < n; i++)
		len += (size_t)snprintf(text + len, WORDS_TEXT - len, "%s%08x", i ? " " : "",
					words[i]);
	return text;
}

static void report_approximate(void *ctx, const struct gfx9_inst *in, uint64_t pc,
			       const uint32_t *words)
{
	const struct code *c = ctx;
	char hex[WORDS_TEXT], text[512];
	const char *note;

	gfx9_trust(in->op, &note);
	snprintf(text, sizeof(text), "%s (%s) at pc %#llx: %s", gfx9_op_name(in->op),
		 put_words(hex, words, in->dwords), (unsigned long long)pc, note);
	c->approximate(c->ctx, in->op, text);
}

static void describe_illegal(enum gfx9_target target, const struct gfx9_report *r, char *buf,
			     size_t n)
{
	char hex[WORDS_TEXT], text[GFX9_TEXT_SIZE] = "unknown to the decoder";
	const char *note = "no instruction of this GPU";
	unsigned int nr_words = GFX9_INST_MAX;
	struct gfx9_inst in;

	if (gfx9_decode(target, r->words, GFX9_INST_MAX, &in) > 0) {
		nr_words = in.dwords;
		gfx9_format_inst(target, &in, text, sizeof(text));
		if (gfx9_trust(in.op, &note) != EMU_UNSUPPORTED)
			note = "its registers or modifiers do not exist here";
	}
	snprintf(buf, n, "%s (%s) at pc %#llx, workgroup %u,%u,%u, wave %u: %s", text,
		 put_words(hex, r->words, nr_words), (unsigned long long)r->pc, r->group[0],
		 r->group[1], r->group[2], r->wave, note);
}

/*
 * GPUs and code
 */

static struct emu_gpu *engine_gpu_new(const struct emu_gpu_config *config)
{
	return (struct emu_gpu *)gfx9_gpu_new(config);
}

static void engine_gpu_free(struct emu_gpu *gpu)
{
	gfx9_gpu_free(gpu_of(gpu));
}

static uint64_t engine_gpu_clock(struct emu_gpu *gpu)
{
	return gfx9_gpu_clock(gpu_of(gpu));
}

static void engine_gpu_quiesce(struct emu_gpu *gpu)
{
	gfx9_gpu_quiesce(gpu_of(gpu));
}

static struct emu_code *engine_code_new(unsigned int target, emu_approximate_fn *approximate,
					void *ctx)
{
	struct code *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	gfx9_code_init(&c->code, (enum gfx9_target)target);
	c->approximate = approximate;
	c->ctx = ctx;
	c->code.approximate = report_approximate;
	c->code.ctx = c;
	return (struct emu_code *)c;
}

static void engine_code_free(struct emu_code *code)
{
	if (code)
		gfx9_code_destroy(code_of(code));
	free(code);
}

static void engine_code_invalidate(struct emu_code *code)
{
	gfx9_code_invalidate(code_of(code));
}

/*
 * Queues
 */

static struct emu_hw_queue *engine_queue_new(unsigned int target, struct emu_vm *vm,
					     struct emu_code *code)
{
	struct gfx9_queue *q = malloc(sizeof(*q));

	if (!q)
		return NULL;
	gfx9_queue_init(q, (enum gfx9_target)target, vm, code_of(code));
	return &q->base;
}

static void engine_queue_free(struct emu_hw_queue *q)
{
	gfx9_queue_destroy(queue_of(q));
	free(q);
}

static void engine_queue_set_area(struct emu_hw_queue *q, uint64_t area, uint64_t slice_bytes,
				  uint32_t ctl_bytes)
{
	gfx9_queue_set_area(queue_of(q), area, slice_bytes, ctl_bytes);
}

static void engine_queue_map(struct emu_gpu *gpu, struct emu_hw_queue *q)
{
	gfx9_gpu_add(gpu_of(gpu), queue_of(q));
}

static void engine_queue_unmap(struct emu_gpu *gpu, struct emu_hw_queue *q)
{
	gfx9_gpu_remove(gpu_of(gpu), queue_of(q));
}

static enum emu_stop_type engine_queue_stop(struct emu_gpu *gpu, struct emu_hw_queue *q,
					    enum emu_stop_type how)
{
	return gfx9_gpu_stop(gpu_of(gpu), queue_of(q), how);
}

static int engine_queue_wait(struct emu_gpu *gpu, struct emu_hw_queue *q, uint64_t timeout_ns)
{
	return gfx9_gpu_wait(gpu_of(gpu), queue_of(q), timeout_ns);
}

static uint64_t engine_queue_waves(struct emu_gpu *gpu, const struct emu_hw_queue *q)
{
	return gfx9_gpu_waves(gpu_of(gpu), (const struct gfx9_queue *)q);
}

static void engine_queue_saved(const struct emu_hw_queue *q, uint32_t xcc,
			       struct emu_save_header *h)
{
	gfx9_context_header(&((const struct gfx9_queue *)q)->context[xcc], h);
}

static void engine_queue_write_saved(struct emu_hw_queue *q, uint32_t nr_xccs)
{
	for (uint32_t i = 0; i < nr_xccs; i++)
		gfx9_context_write(&queue_of(q)->context[i], queue_of(q)->vm);
}

/*
 * Jobs
 */

/* A workgroup whose registers no compute unit has would wait for ever. */
static int check_registers(const struct gfx9_job *job)
{
	const uint16_t *group = job->base.launch.group;
	uint32_t items = (uint32_t)group[0] * group[1] * group[2];
	uint32_t waves = (items + GFX9_LANES - 1) / GFX9_LANES;
	uint32_t fit = GFX9_SIMD_VGPRS / gfx9_job_vgprs(job);

	if (fit > GFX9_WAVES_PER_SIMD)
		fit = GFX9_WAVES_PER_SIMD;
	return waves <= fit * GFX9_SIMDS ? 0 : -E2BIG;
}

static int engine_job_init(struct emu_job *job, struct emu_hw_queue *q)
{
	int err = gfx9_job_init(job_of(job), queue_of(q));

	return err ? err : check_registers(job_of(job));
}

static int engine_job_init_registers(struct emu_job *job, struct emu_hw_queue *q,
				     const struct emu_launch_registers *r)
{
	int err = gfx9_job_init_registers(job_of(job), queue_of(q), r);

	return err ? err : check_registers(job_of(job));
}

static void engine_job_dispatch(struct emu_gpu *gpu, struct emu_job *job)
{
	gfx9_gpu_dispatch(gpu_of(gpu), job_of(job));
}

static void engine_job_failure(const struct emu_job *base, struct emu_failure *failure)
{
	const struct gfx9_job *job = (const struct gfx9_job *)base;
	const struct gfx9_report *r = &job->report;

	*failure = (struct emu_failure){ .type = EMU_FAILURE_OTHER };
	if (r->stop == GFX9_FAULT) {
		failure->type = EMU_FAILURE_FAULT;
		failure->address = r->fault.address;
		failure->write = r->fault.write;
	} else if (r->stop == GFX9_ILLEGAL) {
		failure->type = EMU_FAILURE_ILLEGAL;
		describe_illegal(job->queue->target, r, failure->text, sizeof(failure->text));
	}
}

const struct emu_engine gfx9_engine = {
	.group_items = GFX9_GROUP_WAVES_MAX * GFX9_LANES,
	.group_lds_bytes = GFX9_LDS_BYTES,
	.cu_waves = GFX9_CU_WAVES,
	.simd_waves = GFX9_WAVES_PER_SIMD,
	.scratch_waves = GFX9_SCRATCH_WORDS * 64,
	.trap_handler = gfx9_trap_handler,
	.trap_handler_bytes = &gfx9_trap_handler_bytes,
	.nr_opcodes = GFX9_OPS,
	.job_bytes = sizeof(struct gfx9_job),
	.opcode = engine_opcode,
	.save_sizes = gfx9_area_sizes,
	.gpu_new = engine_gpu_new,
	.gpu_free = engine_gpu_free,
	.gpu_clock = engine_gpu_clock,
	.gpu_quiesce = engine_gpu_quiesce,
	.code_new = engine_code_new,
	.code_free = engine_code_free,
	.code_invalidate = engine_code_invalidate,
	.queue_new = engine_queue_new,
	.queue_free = engine_queue_free,
	.queue_set_area = engine_queue_set_area,
	.queue_map = engine_queue_map,
	.queue_unmap = engine_queue_unmap,
	.queue_stop = engine_queue_stop,
	.queue_wait = engine_queue_wait,
	.queue_waves = engine_queue_waves,
	.queue_saved = engine_queue_saved,
	.queue_write_saved = engine_queue_write_saved,
	.job_init = engine_job_init,
	.job_init_registers = engine_job_init_registers,
	.job_dispatch = engine_job_dispatch,
	.job_failure = engine_job_failure,
};
