// SPDX-License-Identifier: MIT
/*
 * The driver over a compute engine that is not gfx9: a toy that doubles the word at the kernel
 * argument of each dispatch. It shows that struct emu_engine is all the driver needs of a GPU
 * generation, and when the driver calls its functions.
 */
#include "emu/kfd/aql.h"
#include "emu/kfd/call.h"
#include "emu/kfd/node.h"
#include "emu/kfd/queue.h"
#include "emu/kfd/tree.h"

#include "base/clock.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define MEMORY_VA ((uint64_t)0x10000000)
#define MEMORY_BYTES 0x10000
#define RING 0x1000
#define INDICES 0x2000
#define SIGNAL 0x3000
#define ARGUMENT 0x4000
#define BAD_KERNEL 0xbad000
#define TIMEOUT_NS 10000000000ull

/*
 * The toy
 */

struct toy_queue {
	struct emu_hw_queue base;
	struct emu_vm *vm;
	bool mapped;
	enum emu_stop_type stop;
};

struct toy_job {
	struct emu_job base;
	struct toy_queue *queue;
};

static struct {
	_Atomic int gpus, codes, queues; /* created and not freed */
	_Atomic int maps, saves, unmaps, dispatches;
} seen;

static bool toy_opcode(unsigned int target, uint32_t i, struct emu_opcode *opcode)
{
	*opcode = (struct emu_opcode){ .name = "double", .trust = EMU_EXACT };
	return target == 7 && i == 0;
}

static struct emu_save_sizes toy_save_sizes(const struct emu_gpu_shape *shape)
{
	return (struct emu_save_sizes){ .ctl_bytes = 4096,
					.slice_bytes = 8192,
					.total_bytes = shape->nr_xccs * (uint64_t)8192 };
}

static struct emu_gpu *toy_gpu_new(const struct emu_gpu_config *config)
{
	struct emu_gpu_config *gpu = malloc(sizeof(*gpu));

	assert_int_equal(config->target, 7);
	*gpu = *config;
	seen.gpus++;
	return (struct emu_gpu *)gpu;
}

static void toy_gpu_free(struct emu_gpu *gpu)
{
	seen.gpus--;
	free(gpu);
}

static uint64_t toy_gpu_clock(struct emu_gpu *gpu)
{
	(void)gpu;
	return gp__clock_ns();
}

static void toy_gpu_quiesce(struct emu_gpu *gpu)
{
	(void)gpu;
}

static struct emu_code *toy_code_new(unsigned int target, emu_approximate_fn *approximate,
				     void *ctx)
{
	assert_int_equal(target, 7);
	assert_non_null(approximate);
	assert_non_null(ctx);
	seen.codes++;
	return malloc(1);
}

static void toy_code_free(struct emu_code *code)
{
	seen.codes--;
	free(code);
}

static void toy_code_invalidate(struct emu_code *code)
{
	(void)code;
}

static struct emu_hw_queue *toy_queue_new(unsigned int target, struct emu_vm *vm,
					  struct emu_code *code)
{
	struct toy_queue *q = calloc(1, sizeof(*q));

	(void)target;
	(void)code;
	q->vm = vm;
	seen.queues++;
	return &q->base;
}

static void toy_queue_free(struct emu_hw_queue *q)
{
	seen.queues--;
	free(q);
}

static void toy_queue_set_area(struct emu_hw_queue *q, uint64_t area, uint64_t slice_bytes,
			       uint32_t ctl_bytes)
{
	(void)q;
	(void)area;
	(void)slice_bytes;
	(void)ctl_bytes;
}

static void toy_queue_map(struct emu_gpu *gpu, struct emu_hw_queue *q)
{
	struct toy_queue *t = (struct toy_queue *)q;

	(void)gpu;
	assert_false(t->mapped);
	t->mapped = true;
	t->stop = EMU_STOP_NONE;
	seen.maps++;
}

static void toy_queue_unmap(struct emu_gpu *gpu, struct emu_hw_queue *q)
{
	struct toy_queue *t = (struct toy_queue *)q;

	(void)gpu;
	assert_true(t->mapped && t->stop != EMU_STOP_NONE);
	t->mapped = false;
	seen.unmaps++;
}

static enum emu_stop_type toy_queue_stop(struct emu_gpu *gpu, struct emu_hw_queue *q,
					 enum emu_stop_type how)
{
	(void)gpu;
	((struct toy_queue *)q)->stop = how;
	seen.saves += how == EMU_STOP_SAVE;
	return how;
}

static int toy_queue_wait(struct emu_gpu *gpu, struct emu_hw_queue *q, uint64_t timeout_ns)
{
	(void)gpu;
	(void)q;
	(void)timeout_ns;
	return 0;
}

static uint64_t toy_queue_waves(struct emu_gpu *gpu, const struct emu_hw_queue *q)
{
	(void)gpu;
	(void)q;
	return 0;
}

static void toy_queue_saved(const struct emu_hw_queue *q, uint32_t xcc, struct emu_save_header *h)
{
	(void)q;
	(void)xcc;
	*h = (struct emu_save_header){ .ctl_offset = 4096 };
}

static void toy_queue_write_saved(struct emu_hw_queue *q, uint32_t nr_xccs)
{
	(void)q;
	(void)nr_xccs;
}

static int toy_job_init(struct emu_job *job, struct emu_hw_queue *q)
{
	((struct toy_job *)job)->queue = (struct toy_queue *)q;
	return 0;
}

static int toy_job_init_registers(struct emu_job *job, struct emu_hw_queue *q,
				  const struct emu_launch_registers *r)
{
	(void)r;
	return toy_job_init(job, q);
}

static void toy_job_dispatch(struct emu_gpu *gpu, struct emu_job *job)
{
	struct emu_vm *vm = ((struct toy_job *)job)->queue->vm;
	uint64_t va = job->launch.kernarg;
	uint32_t *word = vm->page(vm->ctx, va & ~(EMU_PAGE - 1), true);

	(void)gpu;
	seen.dispatches++;
	if (job->launch.kernel_object == BAD_KERNEL) {
		job->done(job, -EIO);
		return;
	}
	assert_non_null(word);
	word[va % EMU_PAGE / 4] *= 2;
	job->done(job, 0);
}

static void toy_job_failure(const struct emu_job *job, struct emu_failure *failure)
{
	(void)job;
	*failure = (struct emu_failure){ .type = EMU_FAILURE_ILLEGAL, .text = "a toy cannot" };
}

static const uint32_t toy_handler[] = { 1, 2, 3 };
static const uint32_t toy_handler_bytes = sizeof(toy_handler);

static const struct emu_engine toy = {
	.group_items = 64,
	.group_lds_bytes = 4096,
	.cu_waves = 1,
	.simd_waves = 1,
	.scratch_waves = 64,
	.trap_handler = toy_handler,
	.trap_handler_bytes = &toy_handler_bytes,
	.nr_opcodes = 1,
	.job_bytes = sizeof(struct toy_job),
	.opcode = toy_opcode,
	.save_sizes = toy_save_sizes,
	.gpu_new = toy_gpu_new,
	.gpu_free = toy_gpu_free,
	.gpu_clock = toy_gpu_clock,
	.gpu_quiesce = toy_gpu_quiesce,
	.code_new = toy_code_new,
	.code_free = toy_code_free,
	.code_invalidate = toy_code_invalidate,
	.queue_new = toy_queue_new,
	.queue_free = toy_queue_free,
	.queue_set_area = toy_queue_set_area,
	.queue_map = toy_queue_map,
	.queue_unmap = toy_queue_unmap,
	.queue_stop = toy_queue_stop,
	.queue_wait = toy_queue_wait,
	.queue_waves = toy_queue_waves,
	.queue_saved = toy_queue_saved,
	.queue_write_saved = toy_queue_write_saved,
	.job_init = toy_job_init,
	.job_init_registers = toy_job_init_registers,
	.job_dispatch = toy_job_dispatch,
	.job_failure = toy_job_failure,
};

/*
 * A machine with the toy, and one process with one queue
 */

struct setup {
	struct emu_machine m;
	struct emu_chip chip;
	struct emu_process *p;
	struct emu_call call;
	uint8_t *memory;
	uint32_t queue;
	_Atomic uint64_t *doorbell;
	uint64_t nr_packets;
};

static struct setup *start(void)
{
	struct setup *s = calloc(1, sizeof(*s));
	struct emu_config config = { .nr_gpus = 1,
				     .nr_xccs = 1,
				     .xcc_cus = 1,
				     .threads = 1,
				     .cwsr = true,
				     .vram_bytes = 1 << 28,
				     .kernel = EMU_KERNEL_6_1,
				     .dir = "/tmp/gpreempt-kfd-XXXXXX" };
	struct gp_kfd_create_queue args = { .ring_base_address = MEMORY_VA + RING,
					    .ring_size = 4096,
					    .write_pointer_address = MEMORY_VA + INDICES,
					    .read_pointer_address = MEMORY_VA + INDICES + 8,
					    .queue_type = GP_KFD_QUEUE_COMPUTE_AQL,
					    .queue_percentage = 100,
					    .queue_priority = 7 };
	void *host;

	assert_non_null(s);
	assert_non_null(mkdtemp(config.dir));
	s->chip = *emu_chip_find("gfx90a");
	s->chip.engine = &toy;
	s->chip.target = 7;
	config.chip = &s->chip;
	memset(&seen, 0, sizeof(seen));
	assert_int_equal(emu_machine_init(&s->m, &config), 0);
	s->p = emu_process_get(&s->m, getpid(), getuid(), 1);
	assert_non_null(s->p);
	s->p->node[0].render_file = 1;
	assert_non_null(emu_memory_install(s->p, 0, MEMORY_VA, MEMORY_BYTES, true, &host));
	s->memory = host;
	for (int i = 0; i < 4096; i += AQL_PACKET_BYTES)
		s->memory[RING + i] = AQL_INVALID;
	s->call = (struct emu_call){ .m = &s->m, .process = s->p, .pid = getpid(), .fd = -1 };
	args.gpu_id = s->m.node[0]->gpu_id;
	assert_int_equal(emu_create_queue(&s->call, &args), 0);
	s->queue = args.queue_id;
	s->doorbell = &s->p->node[0].doorbells[args.doorbell_offset % 8192 / 8];
	return s;
}

static void end(struct setup *s)
{
	char dir[PATH_MAX];

	memcpy(dir, s->m.config.dir, sizeof(dir));
	emu_process_put(s->p);
	emu_machine_destroy(&s->m);
	emu_tree_remove(dir, "");
	assert_int_equal(seen.gpus + seen.codes + seen.queues, 0);
	assert_int_equal(seen.maps, seen.unmaps);
	free(s);
}

static void push(struct setup *s, uint64_t kernel, uint16_t items)
{
	union aql_packet *p = (union aql_packet *)(s->memory + RING);
	struct aql_dispatch d = { .setup = 1,
				  .group = { items, 1, 1 },
				  .grid = { items, 1, 1 },
				  .kernel_object = kernel,
				  .kernarg = MEMORY_VA + ARGUMENT,
				  .signal = MEMORY_VA + SIGNAL };

	p += s->nr_packets++ % 64;
	d.header = AQL_INVALID;
	p->dispatch = d;
	atomic_store((_Atomic uint16_t *)&p->header, AQL_KERNEL_DISPATCH);
	atomic_store((_Atomic uint64_t *)(s->memory + INDICES), s->nr_packets);
	atomic_store(s->doorbell, s->nr_packets - 1);
	emu_node_wake(s->m.node[0]);
}

static _Atomic int64_t *signal_of(struct setup *s)
{
	return (_Atomic int64_t *)(s->memory + SIGNAL + AQL_SIGNAL_VALUE);
}

static bool becomes(_Atomic int64_t *value, int64_t expected)
{
	uint64_t deadline = gp__clock_ns() + TIMEOUT_NS;
	const struct timespec moment = { 0, 1000000 };

	while (atomic_load(value) != expected && gp__clock_ns() < deadline)
		nanosleep(&moment, NULL);
	return atomic_load(value) == expected;
}

static void dispatches_reach_the_engine(void **state)
{
	struct setup *s = start();
	uint32_t *word = (uint32_t *)(s->memory + ARGUMENT);

	*word = 21;
	atomic_store(signal_of(s), 2);
	push(s, MEMORY_VA, 64);
	push(s, MEMORY_VA, 64);
	assert_true(becomes(signal_of(s), 0));
	assert_int_equal(*word, 84);
	assert_int_equal(seen.dispatches, 2);
	end(s);
	(void)state;
}

static void holds_are_stops_of_the_engine(void **state)
{
	struct setup *s = start();
	struct gp_kfd_update_queue args = { .queue_id = s->queue,
					    .ring_base_address = MEMORY_VA + RING,
					    .ring_size = 4096,
					    .queue_priority = 7 };

	assert_int_equal(seen.maps, 1);
	assert_int_equal(emu_update_queue(&s->call, &args), 0);
	assert_int_equal(seen.saves, 1);
	assert_int_equal(seen.unmaps, 1);
	atomic_store(signal_of(s), 1);
	push(s, MEMORY_VA, 64);
	assert_int_equal(seen.dispatches, 0);
	args.queue_percentage = 100;
	assert_int_equal(emu_update_queue(&s->call, &args), 0);
	assert_int_equal(seen.maps, 2);
	assert_true(becomes(signal_of(s), 0));
	end(s);
	(void)state;
}

static bool stops(struct setup *s)
{
	struct emu_queue *q = s->p->queue[s->queue];
	uint64_t deadline = gp__clock_ns() + TIMEOUT_NS;
	bool stopped = false;

	while (!stopped && gp__clock_ns() < deadline) {
		emu_node_enter(q->node);
		stopped = q->stopped_by_error;
		emu_node_leave(q->node);
	}
	return stopped;
}

static void failures_stop_the_queue(void **state)
{
	struct setup *s = start();

	atomic_store(signal_of(s), 1);
	push(s, BAD_KERNEL, 64);
	assert_true(stops(s));
	assert_int_equal(seen.dispatches, 1);
	assert_int_equal(atomic_load(signal_of(s)), 1);
	end(s);
	(void)state;
}

static void limits_are_the_engines(void **state)
{
	struct setup *s = start();

	assert_int_equal(emu_save_sizes(&s->m.config).total_bytes, 8192);
	push(s, MEMORY_VA, 65);
	assert_true(stops(s));
	assert_int_equal(seen.dispatches, 0);
	end(s);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dispatches_reach_the_engine),
		cmocka_unit_test(holds_are_stops_of_the_engine),
		cmocka_unit_test(failures_stop_the_queue),
		cmocka_unit_test(limits_are_the_engines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
