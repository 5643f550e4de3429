// SPDX-License-Identifier: MIT
#include "device/kfd/user.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096u
#define DOORBELL_BYTES 8192u
#define EOP_BYTES 4096u
#define FREE_TRIES 16

int gp__kfd_ioctl(int fd, unsigned long request, void *args)
{
	int result;

	do {
		result = ioctl(fd, request, args);
	} while (result < 0 && errno == EINTR);
	return result < 0 ? -errno : result;
}

static int acquire(struct gp__kfd_user *u)
{
	struct gp_kfd_acquire_vm args = { .drm_fd = (uint32_t)u->render, .gpu_id = u->node.gpu_id };
	int err = gp__kfd_ioctl(u->kfd, GP_KFD_GET_VERSION, &u->version);

	if (!err)
		err = gp__kfd_ioctl(u->kfd, GP_KFD_ACQUIRE_VM, &args);
	u->shared = err == -EBUSY;
	return u->shared ? 0 : err;
}

int gp__kfd_open(struct gp__kfd_user *u, const struct gp__kfd_node *node)
{
	char path[64];
	int err = 0;

	*u = (struct gp__kfd_user){ .kfd = -1, .render = -1, .node = *node };
	snprintf(path, sizeof(path), "/dev/dri/renderD%u", node->render_minor);
	u->kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	if (u->kfd >= 0)
		u->render = open(path, O_RDWR | O_CLOEXEC);
	if (u->render < 0)
		err = -errno;
	if (!err)
		err = acquire(u);
	if (err)
		gp__kfd_close(u);
	return err;
}

void gp__kfd_close(struct gp__kfd_user *u)
{
	gp__kfd_free(u, &u->event_page);
	gp__kfd_free(u, &u->doorbells);
	if (u->render >= 0)
		close(u->render);
	if (u->kfd >= 0)
		close(u->kfd);
	u->kfd = u->render = -1;
}

/*
 * Memory
 */

static int map(struct gp__kfd_user *u, const struct gp__kfd_memory *m)
{
	struct gp_kfd_map_memory args = { .handle = m->handle,
					  .device_ids_array_ptr = (uint64_t)&u->node.gpu_id,
					  .n_devices = 1 };

	return gp__kfd_ioctl(u->kfd, GP_KFD_MAP_MEMORY, &args);
}

/* Reserves addresses, which are the same for the program and the GPU. */
static int reserve(struct gp__kfd_memory *m, uint64_t size)
{
	*m = (struct gp__kfd_memory){ .size = (size + PAGE - 1) / PAGE * PAGE };
	m->at = mmap(NULL, m->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (m->at != MAP_FAILED)
		return 0;
	m->at = NULL;
	return -errno;
}

static int alloc(struct gp__kfd_user *u, struct gp__kfd_memory *m, uint32_t flags,
		 uint64_t *mmap_offset)
{
	struct gp_kfd_alloc_memory args = { .va_addr = (uint64_t)m->at,
					    .size = m->size,
					    .mmap_offset = *mmap_offset,
					    .gpu_id = u->node.gpu_id,
					    .flags = flags | GP_KFD_MEM_WRITABLE |
						     GP_KFD_MEM_NO_SUBSTITUTE };
	int err = gp__kfd_ioctl(u->kfd, GP_KFD_ALLOC_MEMORY, &args);

	m->handle = args.handle;
	*mmap_offset = args.mmap_offset;
	return err;
}

/* Maps memory for the program and for the GPU. */
static int map_both(struct gp__kfd_user *u, struct gp__kfd_memory *m, int fd, uint64_t offset)
{
	void *at = mmap(m->at, m->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
			(off_t)offset);

	/* cppcheck-suppress memleak; it is where m->at says */
	return at == MAP_FAILED ? -errno : map(u, m);
}

/* The runtime's descriptor owns the GPU address space, and only its buffers can be mapped. So this
 * uses host memory that is registered with the GPU (userptr). */
static int alloc_shared(struct gp__kfd_user *u, struct gp__kfd_memory *m, uint32_t flags)
{
	uint64_t address = (uint64_t)m->at;
	int err;

	flags &= ~(GP_KFD_MEM_GTT | GP_KFD_MEM_VRAM | GP_KFD_MEM_PUBLIC);
	if (mprotect(m->at, m->size, PROT_READ | PROT_WRITE))
		return -errno;
	/* A copy in a child would unmap the memory from the GPU. */
	if (madvise(m->at, m->size, MADV_DONTFORK))
		return -errno;
	err = alloc(u, m, flags | GP_KFD_MEM_USERPTR, &address);
	return err ? err : map(u, m);
}

int gp__kfd_alloc(struct gp__kfd_user *u, struct gp__kfd_memory *m, uint64_t size, uint32_t flags)
{
	uint64_t offset = 0;
	int err = reserve(m, size);

	if (!err && u->shared) {
		err = alloc_shared(u, m, flags);
		if (err)
			gp__kfd_free(u, m);
		return err;
	}
	if (!err)
		err = alloc(u, m, flags, &offset);
	if (!err)
		err = map_both(u, m, u->render, offset);
	if (err)
		gp__kfd_free(u, m);
	return err;
}

/* Retries: the memory shortage may be over in a moment, and the caller cannot retry later. */
static int ioctl_patiently(int fd, unsigned long request, void *args)
{
	int err = gp__kfd_ioctl(fd, request, args);

	for (int i = 1; err == -ENOMEM && i < FREE_TRIES; i++)
		err = gp__kfd_ioctl(fd, request, args);
	return err;
}

/* False: the GPU still has it mapped. */
static bool unmap(struct gp__kfd_user *u, const struct gp__kfd_memory *m)
{
	struct gp_kfd_map_memory unmap = { .handle = m->handle,
					   .device_ids_array_ptr = (uint64_t)&u->node.gpu_id,
					   .n_devices = 1 };
	struct gp_kfd_free_memory free = { .handle = m->handle };

	if (!m->handle)
		return true;
	if (ioctl_patiently(u->kfd, GP_KFD_UNMAP_MEMORY, &unmap))
		return false;
	ioctl_patiently(u->kfd, GP_KFD_FREE_MEMORY, &free);
	return true;
}

/* Addresses that the GPU has mapped stay reserved, so that they are not reused. */
void gp__kfd_free(struct gp__kfd_user *u, struct gp__kfd_memory *m)
{
	if (m->at && unmap(u, m))
		munmap(m->at, m->size);
	*m = (struct gp__kfd_memory){ 0 };
}

/*
 * Queues
 */

#define PACKET_BYTES 64
/* Offsets of the indices in the runtime's queue structure, by which the packet processor finds
 * it. */
#define WRITE_INDEX 0x38
#define READ_INDEX 0x80
#define CONTROL_BYTES 4096
/* Other fields of it that the packet processor reads. */
#define READ_INDEX_OFFSET 0x88
#define PROPERTIES 0xb4
#define ERROR_SIGNAL 0xc0
#define PROPERTY_PTR64 (1u << 1)
#define PROPERTY_TIMES (1u << 3) /* in the signals of packets */
/* Our own field, behind the structure. */
#define ERRORS_AT 0x400

static _Atomic uint64_t *index_at(const struct gp__kfd_queue *q, unsigned int offset)
{
	return (_Atomic uint64_t *)((char *)q->control.at + offset);
}

static void set_u32(const struct gp__kfd_queue *q, unsigned int offset, uint32_t value)
{
	memcpy((char *)q->control.at + offset, &value, sizeof(value));
}

static void fill_control(struct gp__kfd_queue *q)
{
	uint64_t errors = (uint64_t)q->control.at + ERRORS_AT;

	q->errors = (void *)((char *)q->control.at + ERRORS_AT);
	q->errors->kind = GP__KFD_SIGNAL_USER;
	set_u32(q, READ_INDEX_OFFSET, READ_INDEX);
	set_u32(q, PROPERTIES, PROPERTY_PTR64 | PROPERTY_TIMES);
	memcpy((char *)q->control.at + ERROR_SIGNAL, &errors, sizeof(errors));
}

/* Packets that are not written yet are invalid. */
static void empty_ring(struct gp__kfd_queue *q)
{
	for (uint32_t i = 0; i < q->nr_packets; i++)
		((uint8_t *)q->ring.at)[(size_t)i * PACKET_BYTES] = 1;
	atomic_store(index_at(q, READ_INDEX), 0);
	atomic_store(index_at(q, WRITE_INDEX), 0);
	q->next = 0;
}

static int alloc_queue(struct gp__kfd_user *u, struct gp__kfd_queue *q)
{
	const struct gp__kfd_node *n = &u->node;
	uint64_t save = (uint64_t)(n->save_bytes + n->debug_bytes) * n->nr_xccs;
	int err = gp__kfd_alloc(u, &q->ring, (uint64_t)q->nr_packets * PACKET_BYTES,
				GP_KFD_MEM_GTT | GP_KFD_MEM_EXECUTABLE | GP_KFD_MEM_COHERENT);

	if (!err)
		err = gp__kfd_alloc(u, &q->control, CONTROL_BYTES,
				    GP_KFD_MEM_GTT | GP_KFD_MEM_COHERENT);
	if (!err)
		err = gp__kfd_alloc(u, &q->save, save, GP_KFD_MEM_GTT | GP_KFD_MEM_EXECUTABLE);
	if (!err)
		err = gp__kfd_alloc(u, &q->eop, EOP_BYTES,
				    GP_KFD_MEM_VRAM | GP_KFD_MEM_EXECUTABLE | GP_KFD_MEM_PUBLIC);
	return err;
}

static void free_queue(struct gp__kfd_queue *q)
{
	gp__kfd_free(q->u, &q->ring);
	gp__kfd_free(q->u, &q->control);
	gp__kfd_free(q->u, &q->save);
	gp__kfd_free(q->u, &q->eop);
}

/* Mapped to the GPU as well, as runtimes do, so that the driver knows the indices. */
static int map_doorbells(struct gp__kfd_user *u, uint64_t offset)
{
	uint64_t unused = 0;
	int err = reserve(&u->doorbells, DOORBELL_BYTES);

	if (!err)
		err = alloc(u, &u->doorbells, GP_KFD_MEM_DOORBELL | GP_KFD_MEM_COHERENT, &unused);
	if (!err)
		err = map_both(u, &u->doorbells, u->kfd, offset);
	if (err)
		gp__kfd_free(u, &u->doorbells);
	return err;
}

static int map_doorbell(struct gp__kfd_queue *q, uint64_t offset)
{
	struct gp__kfd_user *u = q->u;

	if (!u->doorbells.at) {
		int err = map_doorbells(u, offset & ~(uint64_t)(DOORBELL_BYTES - 1));

		if (err)
			return err;
	}
	q->doorbell = (void *)((char *)u->doorbells.at + offset % DOORBELL_BYTES);
	return 0;
}

static int create(struct gp__kfd_queue *q)
{
	const struct gp__kfd_node *n = &q->u->node;
	struct gp_kfd_create_queue args = {
		.ring_base_address = (uint64_t)q->ring.at,
		.write_pointer_address = (uint64_t)index_at(q, WRITE_INDEX),
		.read_pointer_address = (uint64_t)index_at(q, READ_INDEX),
		.ring_size = q->nr_packets * PACKET_BYTES,
		.gpu_id = n->gpu_id,
		.queue_type = GP_KFD_QUEUE_COMPUTE_AQL,
		.queue_percentage = GP_KFD_PERCENTAGE_MAX,
		.queue_priority = GP_KFD_PRIORITY_NORMAL,
		.eop_buffer_address = (uint64_t)q->eop.at,
		.eop_buffer_size = q->eop.size,
		.ctx_save_restore_address = (uint64_t)q->save.at,
		.ctx_save_restore_size = n->save_bytes,
		.ctl_stack_size = n->ctl_stack_bytes,
	};
	int err = gp__kfd_ioctl(q->u->kfd, GP_KFD_CREATE_QUEUE, &args);

	if (err)
		return err;
	q->id = args.queue_id;
	err = map_doorbell(q, args.doorbell_offset);
	if (err) {
		struct gp_kfd_destroy_queue destroy = { .queue_id = q->id };

		gp__kfd_ioctl(q->u->kfd, GP_KFD_DESTROY_QUEUE, &destroy);
	}
	return err;
}

int gp__kfd_queue_create(struct gp__kfd_user *u, struct gp__kfd_queue *q, uint32_t nr_packets)
{
	int err;

	*q = (struct gp__kfd_queue){ .u = u, .nr_packets = nr_packets };
	err = alloc_queue(u, q);
	if (!err) {
		fill_control(q);
		empty_ring(q);
		err = create(q);
	}
	if (err)
		free_queue(q);
	return err;
}

int gp__kfd_queue_drop(struct gp__kfd_queue *q)
{
	struct gp_kfd_destroy_queue args = { .queue_id = q->id };
	int err = q->dropped ? 0 : gp__kfd_ioctl(q->u->kfd, GP_KFD_DESTROY_QUEUE, &args);

	/* After a timeout the driver resets the GPU and forgets the queue. */
	if (err && err != -ETIME)
		return err;
	q->dropped = true;
	empty_ring(q);
	return 0;
}

int gp__kfd_queue_revive(struct gp__kfd_queue *q)
{
	int err = q->dropped ? create(q) : 0;

	if (!err)
		q->dropped = false;
	return err;
}

int gp__kfd_queue_destroy(struct gp__kfd_queue *q)
{
	int err = gp__kfd_queue_drop(q);

	free_queue(q);
	return err;
}

struct gp__kfd_queue_info gp__kfd_queue_info(const struct gp__kfd_queue *q)
{
	return (struct gp__kfd_queue_info){
		.id = q->id,
		.gpu_id = q->u->node.gpu_id,
		.type = GP_KFD_QUEUE_COMPUTE_AQL,
		.ring_bytes = q->nr_packets * PACKET_BYTES,
		.ring = (uint64_t)q->ring.at,
		.read_index = (uint64_t)index_at(q, READ_INDEX),
		.write_index = (uint64_t)index_at(q, WRITE_INDEX),
		.save_area = (uint64_t)q->save.at,
		.save_bytes = q->u->node.save_bytes,
		.percentage = GP_KFD_PERCENTAGE_MAX,
		.priority = GP_KFD_PRIORITY_NORMAL,
	};
}

uint64_t gp__kfd_queue_pending(const struct gp__kfd_queue *q)
{
	return q->next - atomic_load(index_at(q, READ_INDEX));
}

int gp__kfd_queue_set_percentage(struct gp__kfd_queue *q, uint32_t percentage)
{
	struct gp_kfd_update_queue args = { .ring_base_address = (uint64_t)q->ring.at,
					    .queue_id = q->id,
					    .ring_size = q->nr_packets * PACKET_BYTES,
					    .queue_percentage = percentage,
					    .queue_priority = GP_KFD_PRIORITY_NORMAL };

	return gp__kfd_ioctl(q->u->kfd, GP_KFD_UPDATE_QUEUE, &args);
}

/*
 * Packets
 */

#define TYPE_DISPATCH 2
#define TYPE_BARRIER_AND 3
#define BARRIER (1u << 8)
#define DIMENSIONS 3
#define FENCES (2u << 9 | 2u << 11) /* acquire and release, system scope */

struct packet {
	_Atomic uint16_t header;
	uint16_t setup, group[3], pad;
	uint32_t grid[3], scratch_bytes, lds_bytes;
	uint64_t kernel, kernarg, pad2, signal;
};
_Static_assert(sizeof(struct packet) == PACKET_BYTES, "as the GPU reads it");

/* The header is written last: it makes the packet valid. */
static void write_packet(struct gp__kfd_queue *q, uint64_t n, const struct gp__kfd_packet *packet)
{
	struct packet *slot = (struct packet *)q->ring.at + n % q->nr_packets;
	uint16_t header;

	memcpy(&header, packet, sizeof(header));
	memcpy((char *)slot + sizeof(header), (const char *)packet + sizeof(header),
	       sizeof(*packet) - sizeof(header));
	atomic_store_explicit(&slot->header, header, memory_order_release);
}

void gp__kfd_put(struct gp__kfd_queue *q, const struct gp__kfd_packet *packet)
{
	write_packet(q, q->next++, packet);
	atomic_store(index_at(q, WRITE_INDEX), q->next);
}

void gp__kfd_ring(struct gp__kfd_queue *q)
{
	/* The packets are written before the doorbell. */
	atomic_store_explicit(q->doorbell, q->next - 1, memory_order_release);
}

static struct gp__kfd_packet pack(const struct packet *p)
{
	struct gp__kfd_packet packet;

	memcpy(&packet, p, sizeof(packet));
	return packet;
}

struct gp__kfd_packet gp__kfd_pack_barrier(struct gp__kfd_signal *signal)
{
	const struct packet p = { .header = TYPE_BARRIER_AND | BARRIER | FENCES,
				  .signal = (uint64_t)signal };

	return pack(&p);
}

struct gp__kfd_packet gp__kfd_pack_dispatch(const struct gp__kfd_dispatch *d,
					    struct gp__kfd_signal *signal)
{
	const struct packet p = {
		.header = TYPE_DISPATCH | FENCES | (d->in_order ? BARRIER : 0),
		.setup = DIMENSIONS,
		.group = { d->group, d->group_y ? d->group_y : 1, d->group_z ? d->group_z : 1 },
		.grid = { d->grid, d->grid_y ? d->grid_y : 1, d->grid_z ? d->grid_z : 1 },
		.lds_bytes = d->lds_bytes,
		.kernel = d->kernel,
		.kernarg = (uint64_t)d->kernarg,
		.signal = (uint64_t)signal
	};

	return pack(&p);
}

void gp__kfd_annul(struct gp__kfd_queue *q)
{
	const struct gp__kfd_packet nothing = gp__kfd_pack_barrier(NULL);

	for (uint64_t n = atomic_load(index_at(q, READ_INDEX)); n < q->next; n++)
		write_packet(q, n, &nothing);
}

void gp__kfd_barrier(struct gp__kfd_queue *q, struct gp__kfd_signal *signal)
{
	const struct gp__kfd_packet p = gp__kfd_pack_barrier(signal);

	gp__kfd_put(q, &p);
	gp__kfd_ring(q);
}

void gp__kfd_launch(struct gp__kfd_queue *q, const struct gp__kfd_dispatch *d,
		    struct gp__kfd_signal *signal)
{
	const struct gp__kfd_packet p = gp__kfd_pack_dispatch(d, signal);

	gp__kfd_put(q, &p);
	gp__kfd_ring(q);
}
