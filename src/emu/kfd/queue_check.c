// SPDX-License-Identifier: MIT
#include "emu/kfd/queue_check.h"

#include <errno.h>

/* The kernel's own errno, which programs can see. */
#define KERNEL_ENOTSUPP 524

#define PAGE 4096
/* The end of user addresses. */
#define USER_LIMIT ((uint64_t)0x7ffffffff000)

static bool is_user_address(uint64_t va, uint64_t size)
{
	return va <= USER_LIMIT - size;
}

int emu_queue_check_share(const struct emu_machine *m, uint32_t percentage, uint32_t priority)
{
	/* Since 6.5 the second byte selects the XCC of the packets. */
	if (!emu_is_6_1(m))
		percentage &= 0xff;
	if (percentage > GP_KFD_PERCENTAGE_MAX || priority > GP_KFD_PRIORITY_MAX)
		return -EINVAL;
	return 0;
}

int emu_queue_check_ring(uint64_t address, uint32_t *size)
{
	if (address && !is_user_address(address, sizeof(uint64_t)))
		return -EFAULT;
	if (*size & (*size - 1))
		return -EINVAL;
	if (*size < GP_KFD_RING_MIN)
		*size = GP_KFD_RING_MIN;
	return 0;
}

static int check_addresses(const struct gp_kfd_create_queue *args)
{
	const uint64_t address[] = {
		args->read_pointer_address,
		args->write_pointer_address,
		args->eop_buffer_address,
		args->ctx_save_restore_address,
	};

	for (size_t i = 0; i < sizeof(address) / sizeof(address[0]); i++) {
		if (!is_user_address(address[i], sizeof(uint32_t)))
			return -EFAULT;
	}
	return 0;
}

static bool is_type(const struct emu_machine *m, uint32_t type)
{
	return type <= GP_KFD_QUEUE_SDMA_XGMI ||
	       (type == GP_KFD_QUEUE_SDMA_BY_ENGINE && !emu_is_6_1(m));
}

int emu_queue_check_arguments(const struct emu_machine *m, struct gp_kfd_create_queue *args)
{
	int err = emu_queue_check_share(m, args->queue_percentage, args->queue_priority);

	if (!err)
		err = emu_queue_check_ring(args->ring_base_address, &args->ring_size);
	if (!err)
		err = check_addresses(args);
	if (!err && !is_type(m, args->queue_type))
		err = -KERNEL_ENOTSUPP;
	return err;
}

bool emu_queue_is_mapped_as(struct emu_process *p, uint32_t node, uint64_t va, uint64_t size)
{
	struct emu_space *s = &p->memory.space[node];
	uint32_t low = 0, high;
	bool found = false;

	va &= ~(uint64_t)(PAGE - 1);
	size &= ~(uint64_t)(PAGE - 1);
	pthread_rwlock_rdlock(&s->lock);
	high = s->nr;
	while (low < high && !found) {
		uint32_t mid = low + (high - low) / 2;
		const struct emu_range *r = &s->range[mid];

		if (r->start == va) {
			found = !size || r->end - r->start == size;
			break;
		}
		if (r->start < va)
			low = mid + 1;
		else
			high = mid;
	}
	pthread_rwlock_unlock(&s->lock);
	return found;
}

static bool is_compute(const struct gp_kfd_create_queue *args)
{
	return args->queue_type == GP_KFD_QUEUE_COMPUTE ||
	       args->queue_type == GP_KFD_QUEUE_COMPUTE_AQL;
}

static int check_save_area(struct emu_process *p, uint32_t node,
			   const struct gp_kfd_create_queue *args)
{
	struct emu_save_sizes sizes = emu_save_sizes(&p->m->config);
	uint64_t total = args->ctx_save_restore_size + (uint64_t)sizes.debug_bytes;

	if (args->eop_buffer_address &&
	    (args->eop_buffer_size < PAGE ||
	     !emu_queue_is_mapped_as(p, node, args->eop_buffer_address,
				     (args->eop_buffer_size + PAGE - 1) & ~(uint64_t)(PAGE - 1))))
		return -EINVAL;
	if (args->ctl_stack_size != sizes.ctl_bytes ||
	    args->ctx_save_restore_size < sizes.slice_bytes)
		return -EINVAL;
	total = (total * p->m->config.nr_xccs + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	return emu_queue_is_mapped_as(p, node, args->ctx_save_restore_address, total) ? 0 : -EINVAL;
}

int emu_queue_check_memory(struct emu_process *p, uint32_t node,
			   const struct gp_kfd_create_queue *args)
{
	if (emu_is_6_1(p->m))
		return 0;
	if (!emu_queue_is_mapped_as(p, node, args->write_pointer_address, PAGE) ||
	    !emu_queue_is_mapped_as(p, node, args->read_pointer_address, PAGE) ||
	    !emu_queue_is_mapped_as(p, node, args->ring_base_address, args->ring_size))
		return -EINVAL;
	return is_compute(args) ? check_save_area(p, node, args) : 0;
}
