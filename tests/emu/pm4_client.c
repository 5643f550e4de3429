// SPDX-License-Identifier: MIT
/*
 * A program with a queue of PM4 packets directly on /dev/kfd, like amdkfd's own tests: a kernel is
 * started by registers, stopped and started by UPDATE_QUEUE, and its end is signalled by an event
 * of the driver. On failure it exits with 1 and a sentence.
 *
 * Usage: pm4_client CODE_OBJECT
 */
#include "pm4.h"
#include "../fail.h"

#include "base/object.h"
#include "device/kfd/user.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define RING_BYTES 4096u
#define PAGE 4096u
#define DOORBELL_BYTES 8192u
#define EVENTS_BYTES (8u * GP_KFD_SIGNAL_EVENT_LIMIT)
#define ITEMS 256u
#define ROUNDS 20000u
#define WAIT_MS 30000u
#define STOPS 5u

struct client {
	struct gp__kfd_user u;
	struct gp__object object;
	struct gp__kfd_memory code, data, events, ring, control, save, eop, ib;
	uint32_t queue, event;
	volatile uint64_t *slot, *doorbell;
	uint64_t wptr;
};

static void alloc(struct client *c, struct gp__kfd_memory *m, uint64_t size, uint32_t flags)
{
	must(gp__kfd_alloc(&c->u, m, size, GP_KFD_MEM_GTT | GP_KFD_MEM_COHERENT | flags), "memory");
}

static void open_gpu(struct client *c, const char *path)
{
	struct gp__kfd_node node[GP__KFD_NODES_MAX];
	int n = gp__kfd_nodes(node);

	must(n ? n : -1, "GPUs");
	must(gp__kfd_open(&c->u, &node[0]), "/dev/kfd");
	must(gp__object_read(&c->object, path), path);
	alloc(c, &c->code, gp__object_bytes(&c->object), GP_KFD_MEM_EXECUTABLE);
	gp__object_load(&c->object, c->code.at);
	alloc(c, &c->data, PAGE, 0);
	alloc(c, &c->ib, PAGE, GP_KFD_MEM_EXECUTABLE);
}

static void make_queue(struct client *c)
{
	const struct gp__kfd_node *n = &c->u.node;
	struct gp_kfd_create_queue args = { .gpu_id = n->gpu_id,
					    .queue_type = GP_KFD_QUEUE_COMPUTE,
					    .queue_percentage = GP_KFD_PERCENTAGE_MAX,
					    .queue_priority = 7,
					    .ring_size = RING_BYTES,
					    .eop_buffer_size = PAGE,
					    .ctx_save_restore_size = n->save_bytes,
					    .ctl_stack_size = n->ctl_stack_bytes };
	void *doorbells;

	alloc(c, &c->ring, RING_BYTES, GP_KFD_MEM_EXECUTABLE);
	alloc(c, &c->control, PAGE, 0);
	alloc(c, &c->save, (uint64_t)(n->save_bytes + n->debug_bytes) * n->nr_xccs,
	      GP_KFD_MEM_EXECUTABLE);
	alloc(c, &c->eop, PAGE, GP_KFD_MEM_EXECUTABLE);
	args.ring_base_address = (uint64_t)c->ring.at;
	args.write_pointer_address = (uint64_t)c->control.at;
	args.read_pointer_address = (uint64_t)c->control.at + 8;
	args.eop_buffer_address = (uint64_t)c->eop.at;
	args.ctx_save_restore_address = (uint64_t)c->save.at;
	must(gp__kfd_ioctl(c->u.kfd, GP_KFD_CREATE_QUEUE, &args), "CREATE_QUEUE");
	c->queue = args.queue_id;
	doorbells = mmap(NULL, DOORBELL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, c->u.kfd,
			 (off_t)(args.doorbell_offset & ~(uint64_t)(DOORBELL_BYTES - 1)));
	if (doorbells == MAP_FAILED)
		fail("the doorbells cannot be mapped");
	c->doorbell = (void *)((char *)doorbells + args.doorbell_offset % DOORBELL_BYTES);
}

/* The slots of events are in GPU memory, which is passed to the driver with the first event. */
static void make_event(struct client *c)
{
	struct gp_kfd_create_event args = { .event_type = GP_KFD_EVENT_SIGNAL, .auto_reset = 1 };

	alloc(c, &c->events, EVENTS_BYTES, 0);
	args.event_page_offset = c->events.handle;
	must(gp__kfd_ioctl(c->u.kfd, GP_KFD_CREATE_EVENT, &args), "CREATE_EVENT");
	c->event = args.event_id;
	c->slot = (uint64_t *)c->events.at + args.event_slot_index;
}

static void set_percentage(struct client *c, uint32_t percentage)
{
	struct gp_kfd_update_queue args = { .ring_base_address = (uint64_t)c->ring.at,
					    .queue_id = c->queue,
					    .ring_size = RING_BYTES,
					    .queue_percentage = percentage,
					    .queue_priority = 7 };

	must(gp__kfd_ioctl(c->u.kfd, GP_KFD_UPDATE_QUEUE, &args), "UPDATE_QUEUE");
}

static void submit(struct client *c, const struct pm4_stream *s)
{
	uint32_t *ring = c->ring.at;

	for (uint32_t i = 0; i < s->n; i++)
		ring[c->wptr++ % (RING_BYTES / 4)] = s->dw[i];
	atomic_store((_Atomic uint64_t *)c->control.at, c->wptr);
	*c->doorbell = c->wptr;
}

/* Each of ITEMS numbers goes through a generator ROUNDS times. */
static void start_kernel(struct client *c)
{
	struct {
		uint64_t state;
		uint32_t rounds;
	} *args = c->data.at;
	uint64_t *state = (uint64_t *)c->data.at + 64, offset;
	uint16_t *packet = (uint16_t *)c->data.at + 64;
	struct pm4_stream s = { 0 };
	struct pm4_kernel k = { .kernarg = (uint64_t)args,
				.packet = (uint64_t)packet,
				.groups = ITEMS / 64,
				.size = 64 };

	for (uint32_t i = 0; i < ITEMS; i++)
		state[i] = i;
	args->state = (uint64_t)state;
	args->rounds = ROUNDS;
	packet[2] = 64;
	packet[3] = packet[4] = 1;
	if (!gp__object_symbol(&c->object, "lcg.kd", &offset))
		fail("the code object has no kernel 'lcg'");
	k.kd = (char *)c->code.at + offset;
	k.kd_va = (uint64_t)k.kd;
	pm4_dispatch(&s, &k);
	memcpy(c->ib.at, s.dw, 4 * s.n);
	offset = s.n;
	s.n = 0;
	pm4_jump(&s, (uint64_t)c->ib.at, (uint32_t)offset);
	pm4_release_to(&s, (uint64_t)c->slot, c->event, PM4_DATA_64, PM4_INT_AFTER_WRITE, c->event);
	submit(c, &s);
}

static bool has_come(struct client *c, uint32_t timeout_ms)
{
	struct gp_kfd_event_data data = { .event_id = c->event };
	struct gp_kfd_wait_events args = { .events_ptr = (uint64_t)&data,
					   .num_events = 1,
					   .timeout = timeout_ms };

	must(gp__kfd_ioctl(c->u.kfd, GP_KFD_WAIT_EVENTS, &args), "WAIT_EVENTS");
	return !args.wait_result;
}

static void check_result(const struct client *c)
{
	const uint64_t *state = (const uint64_t *)c->data.at + 64;

	for (uint32_t i = 0; i < ITEMS; i++) {
		uint64_t x = i;

		for (uint32_t n = 0; n < ROUNDS; n++)
			x = x * 6364136223846793005u + 1442695040888963407u;
		if (state[i] != x)
			fail("item %u is %llx instead of %llx", i, (unsigned long long)state[i],
			     (unsigned long long)x);
	}
}

int main(int argc, char **argv)
{
	struct client c = { 0 };
	struct gp_kfd_destroy_queue destroy;
	unsigned int stops = 0;
	bool come = false;

	if (argc != 2)
		fail("usage: %s CODE_OBJECT", argv[0]);
	open_gpu(&c, argv[1]);
	make_queue(&c);
	make_event(&c);
	start_kernel(&c);
	while (!come && stops < STOPS) {
		set_percentage(&c, 0);
		come = has_come(&c, 0);
		if (come && !stops)
			fail("the kernel has ended before it was stopped once");
		set_percentage(&c, GP_KFD_PERCENTAGE_MAX);
		stops++;
	}
	if (!come && !has_come(&c, WAIT_MS))
		fail("the event has not come after %u s: slot %llx, read pointer %u",
		     WAIT_MS / 1000, (unsigned long long)*c.slot,
		     *(uint32_t *)((char *)c.control.at + 8));
	check_result(&c);
	if (*(uint32_t *)((char *)c.control.at + 8) != c.wptr % (RING_BYTES / 4))
		fail("the read pointer is not where the packets end");
	destroy = (struct gp_kfd_destroy_queue){ .queue_id = c.queue };
	must(gp__kfd_ioctl(c.u.kfd, GP_KFD_DESTROY_QUEUE, &destroy), "DESTROY_QUEUE");
	printf("%u work-items, %u stops: right\n", ITEMS, stops);
	gp__object_free(&c.object);
	gp__kfd_close(&c.u);
	return 0;
}
