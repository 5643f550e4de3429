// SPDX-License-Identifier: MIT
/*
 * The ioctls of queues: errors, allocated numbers, masks, and saved state; doorbells that wake a
 * sleeping node.
 */
#include "kfd_bench.h"

#include "base/clock.h"
#include "emu/kfd/doorbell.h"
#include "emu/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#define KERNEL_ENOTSUPP 524
#define DOORBELL_BYTES 8192

static const char *path;
static enum gfx9_target target;

/* A process whose queue's memory is mapped in pieces, as the driver requires. */
struct setup {
	struct bench b;
	struct bench_process p;
	struct gp_kfd_create_queue args; /* accepted */
	pthread_t client;
	pthread_mutex_t lock; /* of what the client was asked for */
	int client_fd;
};

static uint64_t install(struct setup *s, uint64_t bytes)
{
	static uint64_t next = 0x200000000;
	uint64_t va = next;
	void *host;

	next += (bytes + 0x1fffff) & ~(uint64_t)0x1fffff;
	assert_non_null(emu_memory_install(s->p.p, 0, va, bytes, true, &host));
	return va;
}

static void fill_args(struct setup *s)
{
	struct emu_save_sizes sizes = emu_save_sizes(&s->b.config);

	s->args = (struct gp_kfd_create_queue){
		.ring_base_address = install(s, 65536),
		.write_pointer_address = install(s, 4096) + 0x38,
		.read_pointer_address = install(s, 4096) + 0x80,
		.ring_size = 65536,
		.gpu_id = s->b.node->gpu_id,
		.queue_type = GP_KFD_QUEUE_COMPUTE_AQL,
		.queue_percentage = 100,
		.queue_priority = 7,
		.eop_buffer_address = install(s, 4096),
		.eop_buffer_size = 4096,
		.ctx_save_restore_address = install(s, sizes.total_bytes),
		.ctx_save_restore_size = (uint32_t)sizes.slice_bytes,
		.ctl_stack_size = sizes.ctl_bytes,
	};
}

/* Answers requests for the client's memory: here it is the test's. */
static void *answer(void *arg)
{
	struct setup *s = arg;
	struct {
		struct emu_message msg;
		uint8_t data[EMU_DATA_MAX];
	} *p = malloc(sizeof(*p));
	int fds[EMU_FDS_MAX];
	bool lost = false;

	while (p && !lost && !emu_message_receive(s->client_fd, &p->msg, fds)) {
		struct emu_message reply = { .type = EMU_ANSWER };
		void *at = (void *)(uintptr_t)p->msg.address;
		bool reads = p->msg.request == EMU_READ;

		pthread_mutex_lock(&s->lock);
		if (p->msg.address < 65536)
			reply.result = -EFAULT;
		else if (!reads)
			memcpy(at, p->data, p->msg.data_len);
		if (reply.result)
			reads = false;
		lost = emu_message_send(s->client_fd, &reply, reads ? at : NULL,
					reads ? p->msg.length : 0, NULL, 0);
		pthread_mutex_unlock(&s->lock);
	}
	free(p);
	return NULL;
}

static struct setup *start(enum emu_kernel kernel)
{
	struct setup *s = calloc(1, sizeof(*s));
	int pair[2];

	assert_non_null(s);
	s->b.config.cwsr = true;
	s->b.config.kernel = kernel;
	s->b.config.xcc_cus = 20;
	s->b.config.nr_xccs = target == GFX9_TARGET_GFX942 ? 2 : 1;
	bench_start(&s->b, target, path);
	bench_process_start(&s->b, &s->p, getpid());
	fill_args(s);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	s->p.call.fd = pair[0];
	s->client_fd = pair[1];
	pthread_mutex_init(&s->lock, NULL);
	assert_int_equal(pthread_create(&s->client, NULL, answer, s), 0);
	return s;
}

static void end(struct setup *s)
{
	close(s->p.call.fd);
	pthread_join(s->client, NULL);
	close(s->client_fd);
	bench_process_end(&s->p);
	bench_end(&s->b);
	free(s);
}

static int create(struct setup *s, struct gp_kfd_create_queue args)
{
	return emu_create_queue(&s->p.call, &args);
}

#define REFUSED(s, err, ...)                              \
	do {                                              \
		struct gp_kfd_create_queue a = (s)->args; \
		__VA_ARGS__;                              \
		assert_int_equal(create(s, a), err);      \
	} while (0)

static void refused_arguments(void **unused)
{
	struct setup *s = start(EMU_KERNEL_6_12);
	uint64_t kernel = 0xffff800000000000;

	REFUSED(s, -EINVAL, a.queue_percentage = 101);
	REFUSED(s, -EINVAL, a.queue_priority = 16);
	REFUSED(s, -EFAULT, a.ring_base_address = kernel);
	REFUSED(s, -EINVAL, a.ring_size = 65535);
	REFUSED(s, -EFAULT, a.read_pointer_address = kernel);
	REFUSED(s, -EFAULT, a.write_pointer_address = kernel);
	REFUSED(s, -EFAULT, a.eop_buffer_address = kernel);
	REFUSED(s, -EFAULT, a.ctx_save_restore_address = kernel);
	REFUSED(s, -KERNEL_ENOTSUPP, a.queue_type = 5);
	REFUSED(s, -EINVAL, a.gpu_id = 1);
	/* The first error counts. */
	REFUSED(s, -EINVAL, a.queue_priority = 16; a.ring_base_address = kernel);
	REFUSED(s, -EFAULT, a.read_pointer_address = kernel; a.gpu_id = 1);
	REFUSED(s, -EINVAL, a.queue_type = GP_KFD_QUEUE_SDMA_BY_ENGINE; a.sdma_engine_id = 5);
	/* Memory that is not mapped, or not as required. */
	REFUSED(s, -EINVAL, a.write_pointer_address = 0x1000);
	REFUSED(s, -EINVAL, a.read_pointer_address = 0);
	REFUSED(s, -EINVAL, a.ring_base_address += 4096);
	REFUSED(s, -EINVAL, a.ring_size /= 2);
	REFUSED(s, -EINVAL, a.eop_buffer_size = 2048);
	REFUSED(s, -EINVAL, a.ctl_stack_size += 4096);
	REFUSED(s, -EINVAL, a.ctx_save_restore_size -= 4096);
	REFUSED(s, -EINVAL, a.ctx_save_restore_size += 4096);
	/* Optional: the EOP buffer, and a second byte of the share. */
	REFUSED(s, 0, a.eop_buffer_address = 0);
	REFUSED(s, 0, a.queue_percentage = 100 | 3 << 8);
	s->p.p->node[0].render_file = 0;
	REFUSED(s, -ESRCH, );
	s->p.p->node[0].render_file = 1;
	assert_int_equal(create(s, s->args), 0);
	end(s);

	s = start(EMU_KERNEL_6_1);
	REFUSED(s, -EINVAL, a.queue_percentage = 100 | 3 << 8);
	REFUSED(s, -KERNEL_ENOTSUPP, a.queue_type = GP_KFD_QUEUE_SDMA_BY_ENGINE);
	REFUSED(s, 0, a.ctl_stack_size += 4096);
	end(s);
	(void)unused;
}

static void updates_are_refused(void **unused)
{
	struct setup *s = start(EMU_KERNEL_6_12);
	struct gp_kfd_update_queue u = { .ring_base_address = s->args.ring_base_address,
					 .ring_size = s->args.ring_size,
					 .queue_percentage = 100 };
	struct gp_kfd_update_queue good = u;

	assert_int_equal(emu_update_queue(&s->p.call, &u), -EFAULT); /* no such queue */
	assert_int_equal(create(s, s->args), 0);
	assert_int_equal(emu_update_queue(&s->p.call, &u), 0);
	u.queue_percentage = 101;
	assert_int_equal(emu_update_queue(&s->p.call, &u), -EINVAL);
	u = good;
	u.ring_size = 3;
	assert_int_equal(emu_update_queue(&s->p.call, &u), -EINVAL);
	u = good;
	u.ring_base_address += 4096;
	assert_int_equal(emu_update_queue(&s->p.call, &u), -EFAULT);
	u = good;
	u.ring_base_address = 0;
	assert_int_equal(emu_update_queue(&s->p.call, &u), 0);
	assert_false(emu_queue_find(s->p.p, 0)->active);
	s->p.p->node[0].reset = true;
	assert_int_equal(emu_update_queue(&s->p.call, &good), -EACCES);
	s->p.p->node[0].reset = false;
	end(s);
	(void)unused;
}

static void numbers(void **unused)
{
	struct setup *s = start(EMU_KERNEL_6_12);
	uint32_t limit = target == GFX9_TARGET_GFX942 ? 255 : 127;
	struct gp_kfd_destroy_queue d = { .queue_id = 3 };
	struct gp_kfd_create_queue a;

	for (uint32_t i = 0; i < limit; i++) {
		a = s->args;
		assert_int_equal(emu_create_queue(&s->p.call, &a), 0);
		assert_int_equal(a.queue_id, i);
		assert_int_equal(a.doorbell_offset,
				 (uint64_t)3 << 62 | (uint64_t)a.gpu_id << 46 | 8 * i);
	}
	assert_int_equal(create(s, s->args), -ENOSPC);
	assert_int_equal(emu_destroy_queue(&s->p.call, &d), 0);
	assert_int_equal(emu_destroy_queue(&s->p.call, &d), -EINVAL);
	a = s->args;
	a.queue_type = GP_KFD_QUEUE_SDMA;
	assert_int_equal(emu_create_queue(&s->p.call, &a), 0);
	assert_int_equal(a.queue_id, 3);
	assert_int_equal(a.doorbell_offset % 8192, 0x100 * 8);
	end(s);
	(void)unused;
}

/*
 * Masks
 */

static int set_mask(struct setup *s, uint32_t id, const uint32_t *mask, uint32_t bits)
{
	struct gp_kfd_set_cu_mask args = { .queue_id = id,
					   .num_cu_mask = bits,
					   .cu_mask_ptr = (uintptr_t)mask };

	int err = emu_set_cu_mask(&s->p.call, &args);

	/* The client's memory is no longer used, either. */
	pthread_mutex_lock(&s->lock);
	pthread_mutex_unlock(&s->lock);
	return err;
}

static uint32_t count(const struct emu_queue *q, uint32_t first, uint32_t n)
{
	uint32_t bits = 0;

	for (uint32_t i = first; i < first + n; i++)
		bits += q->cu_mask[i / 32] >> i % 32 & 1;
	return bits;
}

/* 20 compute units in 8 engines of 3 (the last two have none), or 4 of 5. */
static void masks_are_spread(void **unused)
{
	struct setup *s = start(EMU_KERNEL_6_12);
	uint32_t mask[32] = { 0 }, xccs = s->b.config.nr_xccs;
	struct emu_queue *q;

	assert_int_equal(set_mask(s, 0, mask, 32), -EFAULT);
	assert_int_equal(create(s, s->args), 0);
	q = emu_queue_find(s->p.p, 0);
	assert_int_equal(set_mask(s, 0, mask, 33), -EINVAL);
	assert_int_equal(set_mask(s, 0, mask, 0), -EINVAL);
	assert_int_equal(set_mask(s, 0, (void *)8, 32), -EFAULT);
	mask[0] = 3;
	assert_int_equal(set_mask(s, 0, mask, 1088), 0);
	if (xccs == 2) {
		assert_int_equal(q->cu_mask[0], 1 | 1u << 20);
	} else {
		/* The second one goes to the next engine. */
		assert_int_equal(q->cu_mask[0], 1 | 1u << 3);
	}
	mask[0] = 0xffff;
	assert_int_equal(set_mask(s, 0, mask, 32), 0);
	for (uint32_t i = 0; i < xccs; i++)
		assert_int_equal(count(q, 20 * i, 20), 16 / xccs);
	mask[0] = mask[1] = ~0u;
	assert_int_equal(set_mask(s, 0, mask, 64), 0);
	assert_int_equal(count(q, 0, EMU_CUS_MAX), 20 * xccs);
	end(s);
	(void)unused;
}

static void gws_is_for_one_queue(void **unused)
{
	struct setup *s = start(EMU_KERNEL_6_12);
	struct gp_kfd_alloc_queue_gws g = { .queue_id = 0, .num_gws = 64, .first_gws = 9 };

	assert_int_equal(emu_alloc_queue_gws(&s->p.call, &g), -EINVAL);
	assert_int_equal(create(s, s->args), 0);
	assert_int_equal(create(s, s->args), 0);
	assert_int_equal(emu_alloc_queue_gws(&s->p.call, &g), 0);
	assert_int_equal(g.first_gws, 0);
	g.queue_id = 1;
	assert_int_equal(emu_alloc_queue_gws(&s->p.call, &g), -EBUSY);
	g.queue_id = g.num_gws = 0;
	assert_int_equal(emu_alloc_queue_gws(&s->p.call, &g), 0);
	assert_int_equal(emu_alloc_queue_gws(&s->p.call, &g), -EINVAL);
	end(s);
	(void)unused;
}

/*
 * Saved state
 */

static void saved_waves_are_described(void **unused)
{
	struct setup *s = start(EMU_KERNEL_6_1);
	struct gp_kfd_get_queue_wave_state args = { 0 };
	struct gp_kfd_save_area_header *h;
	struct {
		uint64_t arrived, open, left, turn;
	} gate;
	_Atomic uint32_t *arrived;
	struct bench_queue q = { 0 };
	union aql_packet packet;
	uint8_t *area;
	void *turn;

	assert_int_equal(bench_queue(&s->p, &q, GP_KFD_QUEUE_COMPUTE_AQL, 64), 0);
	area = calloc(s->b.config.nr_xccs, q.q->save_size);
	assert_non_null(area);
	gate.arrived = bench_alloc(&s->p, 64, &arrived);
	gate.open = gate.arrived + 4;
	gate.left = gate.arrived + 8;
	gate.turn = bench_alloc(&s->p, 64, &turn);
	packet = bench_dispatch(&s->p, "gate", 4, 64, &gate, sizeof(gate), 0);
	bench_push(&q, &packet);
	while (atomic_load(arrived) < 4)
		usleep(100);
	args.queue_id = 7;
	assert_int_equal(emu_get_queue_wave_state(&s->p.call, &args), -EFAULT);
	args.queue_id = q.id;
	args.ctl_stack_address = (uintptr_t)area;
	assert_int_equal(emu_get_queue_wave_state(&s->p.call, &args), -EINVAL);
	assert_int_equal(bench_hold(&q, EMU_HELD_SUSPENDED, EMU_STOP_SAVE), 0);
	assert_int_equal(emu_get_queue_wave_state(&s->p.call, &args), 0);
	h = (struct gp_kfd_save_area_header *)area;
	assert_true(args.ctl_stack_used_size > 0 && args.save_area_used_size > 0);
	assert_int_equal(h->control_stack_size, args.ctl_stack_used_size);
	assert_int_equal(h->control_stack_offset + h->control_stack_size, q.q->ctl_stack_size);
	assert_int_equal(h->wave_state_size, args.save_area_used_size);
	assert_int_not_equal(*(uint32_t *)(area + h->control_stack_offset), 0);
	free(area);
	end(s);
	(void)unused;
}

/*
 * Doorbells
 */

static int make_uffd(void *at)
{
	struct uffdio_api api = { .api = UFFD_API,
				  .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP | 1 << 12 };
	struct uffdio_register r = { .range = { (uintptr_t)at, DOORBELL_BYTES },
				     .mode = UFFDIO_REGISTER_MODE_WP };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);

	if (fd >= 0 && (ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &r))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static uint64_t switches(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)u.ru_nvcsw;
}

/* Whether half a second comes in which threads of this process wake up less than @limit times. */
static bool becomes_idle(uint64_t limit)
{
	for (int i = 0; i < 40; i++) {
		uint64_t before = switches();

		usleep(500000);
		if (switches() - before < limit)
			return true;
	}
	return false;
}

/* A plain store wakes the node, which costs nothing while nobody rings. */
static void ring_and_idle(bool watched)
{
	struct setup *s = start(EMU_KERNEL_6_1);
	struct bench_queue q = { 0 };
	struct bench_signal *done;
	union aql_packet packet = { .barrier = { .header = AQL_BARRIER_AND } };
	_Atomic uint64_t *mine;
	int uffd = -1;

	mine = mmap(NULL, DOORBELL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
		    s->p.p->node[0].doorbell_fd, 0);
	assert_ptr_not_equal(mine, MAP_FAILED);
	if (watched)
		uffd = make_uffd(mine);
	if (watched && uffd < 0) {
		munmap(mine, DOORBELL_BYTES);
		end(s);
		print_message("no userfaultfd\n");
		skip();
	}
	assert_int_equal(bench_queue(&s->p, &q, GP_KFD_QUEUE_COMPUTE_AQL, 64), 0);
	assert_int_equal(emu_doorbell_watch(s->p.p, 0, uffd, (uintptr_t)mine, DOORBELL_BYTES), 0);
	packet.barrier.signal = bench_signal(&s->p, 20, &done);
	for (uint64_t i = 0; i < 20; i++) {
		usleep(2000 * (i % 3)); /* asleep, or about to be */
		memcpy(q.ring + i * 64, &packet, 64);
		atomic_store(q.write_index, i + 1);
		atomic_store(&mine[q.q->doorbell], i);
		assert_true(bench_wait_index(&q, i + 1));
	}
	assert_true(bench_wait(&done->value, 0));
	assert_true(becomes_idle(watched ? 10 : 1000));
	end(s);
	munmap(mine, DOORBELL_BYTES);
}

static void a_watched_doorbell_wakes(void **unused)
{
	ring_and_idle(true);
	(void)unused;
}

static void others_are_looked_at(void **unused)
{
	ring_and_idle(false);
	(void)unused;
}

/*
 * A thread that rings and is then descheduled for long before it can ring again: the node must not
 * have protected the doorbell again by then, each time.
 */
struct late {
	_Atomic uint64_t *doorbell;
	_Atomic bool over;
	int cpu;
};

static void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void *ring_late(void *arg)
{
	const struct sched_param none = { 0 };
	struct late *l = arg;

	stay_on(l->cpu);
	sched_setscheduler(0, SCHED_IDLE, &none);
	atomic_store(l->doorbell, 0);
	return NULL;
}

static void *be_busy(void *arg)
{
	struct late *l = arg;

	stay_on(l->cpu);
	while (!atomic_load(&l->over))
		;
	return NULL;
}

static void a_descheduled_ringer_is_not_blocked(void **unused)
{
	struct setup *s = start(EMU_KERNEL_6_1);
	union aql_packet packet = { .barrier = { .header = AQL_BARRIER_AND } };
	_Atomic uint64_t *mine = mmap(NULL, DOORBELL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
				      s->p.p->node[0].doorbell_fd, 0);
	struct late late = { .cpu = sched_getcpu() };
	struct bench_queue q = { 0 };
	struct bench_signal *done;
	pthread_t ringer, busy[2];
	int uffd = make_uffd(mine);

	assert_ptr_not_equal(mine, MAP_FAILED);
	if (uffd < 0) {
		munmap(mine, DOORBELL_BYTES);
		end(s);
		print_message("no userfaultfd\n");
		skip();
	}
	assert_int_equal(bench_queue(&s->p, &q, GP_KFD_QUEUE_COMPUTE_AQL, 64), 0);
	assert_int_equal(emu_doorbell_watch(s->p.p, 0, uffd, (uintptr_t)mine, DOORBELL_BYTES), 0);
	packet.barrier.signal = bench_signal(&s->p, 1, &done);
	memcpy(q.ring, &packet, 64);
	atomic_store(q.write_index, 1);
	late.doorbell = &mine[q.q->doorbell];
	usleep(20000); /* asleep */
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&busy[i], NULL, be_busy, &late), 0);
	assert_int_equal(pthread_create(&ringer, NULL, ring_late, &late), 0);
	assert_true(bench_wait(&done->value, 0));
	atomic_store(&late.over, true);
	pthread_join(ringer, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(busy[i], NULL);
	end(s);
	munmap(mine, DOORBELL_BYTES);
	(void)unused;
}

/* In a gap between kernels work waits for at most a part of the gap, and for no fixed timer. */
static void sleeps_grow_with_the_gap(void **unused)
{
	const uint64_t ms = 1000000;

	for (uint64_t gap = 0; gap <= 3 * ms; gap += ms / 10)
		assert_true(emu_node_settle(gap) <= gap / 2);
	assert_true(emu_node_settle(100 * ms) == UINT64_MAX);
	(void)unused;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused_arguments),
		cmocka_unit_test(updates_are_refused),
		cmocka_unit_test(numbers),
		cmocka_unit_test(masks_are_spread),
		cmocka_unit_test(gws_is_for_one_queue),
		cmocka_unit_test(saved_waves_are_described),
		cmocka_unit_test(a_watched_doorbell_wakes),
		cmocka_unit_test(others_are_looked_at),
		cmocka_unit_test(a_descheduled_ringer_is_not_blocked),
		cmocka_unit_test(sleeps_grow_with_the_gap),
	};

	if (argc != 2)
		return 77;
	path = argv[1];
	target = machine_target(path);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
