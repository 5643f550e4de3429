// SPDX-License-Identifier: MIT
/*
 * Our declarations of KFD's ioctls against the distribution's, as far as its kernel headers know
 * them; and our own numbers.
 */
#include "gpreempt/uapi/gpreempt_kfd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#if __has_include(<linux/kfd_ioctl.h>)
#include <linux/kfd_ioctl.h>

#define SAME(ours, theirs) assert_int_equal(ours, theirs)
#define NR(ours, theirs) assert_int_equal(_IOC_NR(ours), _IOC_NR(theirs))
#define AT(ours, theirs, field) \
	assert_int_equal(offsetof(struct ours, field), offsetof(struct theirs, field))

static void numbers(void **state)
{
	(void)state;
	SAME(GP_KFD_GET_VERSION, AMDKFD_IOC_GET_VERSION);
	NR(GP_KFD_CREATE_QUEUE, AMDKFD_IOC_CREATE_QUEUE); /* has grown */
	SAME(GP_KFD_DESTROY_QUEUE, AMDKFD_IOC_DESTROY_QUEUE);
	SAME(GP_KFD_SET_MEMORY_POLICY, AMDKFD_IOC_SET_MEMORY_POLICY);
	SAME(GP_KFD_GET_CLOCK_COUNTERS, AMDKFD_IOC_GET_CLOCK_COUNTERS);
	SAME(GP_KFD_GET_APERTURES_OLD, AMDKFD_IOC_GET_PROCESS_APERTURES);
	SAME(GP_KFD_UPDATE_QUEUE, AMDKFD_IOC_UPDATE_QUEUE);
	SAME(GP_KFD_CREATE_EVENT, AMDKFD_IOC_CREATE_EVENT);
	SAME(GP_KFD_DESTROY_EVENT, AMDKFD_IOC_DESTROY_EVENT);
	SAME(GP_KFD_SET_EVENT, AMDKFD_IOC_SET_EVENT);
	SAME(GP_KFD_RESET_EVENT, AMDKFD_IOC_RESET_EVENT);
	SAME(GP_KFD_WAIT_EVENTS, AMDKFD_IOC_WAIT_EVENTS);
	SAME(GP_KFD_SET_SCRATCH_BACKING_VA, AMDKFD_IOC_SET_SCRATCH_BACKING_VA);
	SAME(GP_KFD_GET_TILE_CONFIG, AMDKFD_IOC_GET_TILE_CONFIG);
	SAME(GP_KFD_SET_TRAP_HANDLER, AMDKFD_IOC_SET_TRAP_HANDLER);
	SAME(GP_KFD_GET_APERTURES, AMDKFD_IOC_GET_PROCESS_APERTURES_NEW);
	SAME(GP_KFD_ACQUIRE_VM, AMDKFD_IOC_ACQUIRE_VM);
	SAME(GP_KFD_ALLOC_MEMORY, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU);
	SAME(GP_KFD_FREE_MEMORY, AMDKFD_IOC_FREE_MEMORY_OF_GPU);
	SAME(GP_KFD_MAP_MEMORY, AMDKFD_IOC_MAP_MEMORY_TO_GPU);
	SAME(GP_KFD_UNMAP_MEMORY, AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU);
	SAME(GP_KFD_SET_CU_MASK, AMDKFD_IOC_SET_CU_MASK);
	SAME(GP_KFD_GET_QUEUE_WAVE_STATE, AMDKFD_IOC_GET_QUEUE_WAVE_STATE);
	SAME(GP_KFD_GET_DMABUF_INFO, AMDKFD_IOC_GET_DMABUF_INFO);
	SAME(GP_KFD_IMPORT_DMABUF, AMDKFD_IOC_IMPORT_DMABUF);
	SAME(GP_KFD_ALLOC_QUEUE_GWS, AMDKFD_IOC_ALLOC_QUEUE_GWS);
	SAME(GP_KFD_SMI_EVENTS, AMDKFD_IOC_SMI_EVENTS);
	SAME(GP_KFD_SVM, AMDKFD_IOC_SVM);
	SAME(GP_KFD_SET_XNACK_MODE, AMDKFD_IOC_SET_XNACK_MODE);
#ifdef AMDKFD_IOC_CRIU_OP
	SAME(GP_KFD_CRIU, AMDKFD_IOC_CRIU_OP);
	AT(gp_kfd_criu, kfd_ioctl_criu_args, op);
#endif
#ifdef AMDKFD_IOC_AVAILABLE_MEMORY
	SAME(GP_KFD_AVAILABLE_MEMORY, AMDKFD_IOC_AVAILABLE_MEMORY);
#endif
#ifdef AMDKFD_IOC_RUNTIME_ENABLE
	SAME(GP_KFD_EXPORT_DMABUF, AMDKFD_IOC_EXPORT_DMABUF);
	SAME(GP_KFD_RUNTIME_ENABLE, AMDKFD_IOC_RUNTIME_ENABLE);
	SAME(GP_KFD_DBG_TRAP, AMDKFD_IOC_DBG_TRAP);
	SAME(sizeof(struct gp_kfd_queue_snapshot), sizeof(struct kfd_queue_snapshot_entry));
	SAME(sizeof(struct gp_kfd_device_snapshot), sizeof(struct kfd_dbg_device_info_entry));
	SAME(sizeof(struct gp_kfd_save_area_header), sizeof(struct kfd_context_save_area_header));
	SAME(sizeof(struct gp_kfd_runtime_info), sizeof(struct kfd_runtime_info));
	SAME(GP_KFD_EC_PROCESS_DEVICE_REMOVE, EC_PROCESS_DEVICE_REMOVE);
	SAME(GP_KFD_DBG_GET_DEVICE_SNAPSHOT, KFD_IOC_DBG_TRAP_GET_DEVICE_SNAPSHOT);
#endif
}

static void fields(void **state)
{
	(void)state;
	AT(gp_kfd_create_queue, kfd_ioctl_create_queue_args, doorbell_offset);
	AT(gp_kfd_create_queue, kfd_ioctl_create_queue_args, queue_id);
	AT(gp_kfd_create_queue, kfd_ioctl_create_queue_args, ctl_stack_size);
	AT(gp_kfd_update_queue, kfd_ioctl_update_queue_args, queue_priority);
	AT(gp_kfd_set_cu_mask, kfd_ioctl_set_cu_mask_args, cu_mask_ptr);
	AT(gp_kfd_get_queue_wave_state, kfd_ioctl_get_queue_wave_state_args, queue_id);
	AT(gp_kfd_apertures, kfd_process_device_apertures, gpu_id);
	AT(gp_kfd_alloc_memory, kfd_ioctl_alloc_memory_of_gpu_args, flags);
	AT(gp_kfd_map_memory, kfd_ioctl_map_memory_to_gpu_args, n_success);
	AT(gp_kfd_create_event, kfd_ioctl_create_event_args, event_slot_index);
	AT(gp_kfd_event_data, kfd_event_data, event_id);
	AT(gp_kfd_wait_events, kfd_ioctl_wait_events_args, wait_result);
	SAME(sizeof(struct gp_kfd_event_data), sizeof(struct kfd_event_data));
	SAME(sizeof(struct gp_kfd_apertures), sizeof(struct kfd_process_device_apertures));
	SAME(GP_KFD_MEM_EXECUTABLE, KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE);
	SAME(GP_KFD_MEM_MMIO_REMAP, KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP);
}
#else
static void numbers(void **state)
{
	(void)state;
	print_message("no linux/kfd_ioctl.h here\n");
	skip();
}

static void fields(void **state)
{
	(void)state;
	print_message("no linux/kfd_ioctl.h here\n");
	skip();
}
#endif

/* Calls of programs compiled against another copy of the header. */
static void our_own(void **state)
{
	(void)state;
	assert_int_equal(GP_KFD_PREEMPT_QUEUE, 0xc0104b87);
	assert_int_equal(GP_KFD_RESUME_QUEUE, 0xc0104b88);
	assert_int_equal(GP_KFD_PREEMPT, 0xc0304bf0);
	assert_int_equal(offsetof(struct gp_kfd_preempt, queues), 16);
	assert_int_equal(sizeof(struct gp_kfd_preempt_query), 32);
	assert_int_equal(sizeof(struct gp_kfd_preempt_queues), 24);
	assert_int_equal(offsetof(struct gp_kfd_create_queue, metadata_ring_size), 92);
	assert_int_equal(offsetof(struct gp_kfd_create_queue, logical_priority), 96);
	assert_int_equal(sizeof(struct gp_kfd_create_queue), 104);
	assert_int_equal(sizeof(struct gp_kfd_queue_snapshot), 64);
	assert_int_equal(sizeof(struct gp_kfd_save_area_header), 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(fields),
		cmocka_unit_test(our_own),
	};

	return cmocka_run_group_tests_name("uapi", tests, NULL, NULL);
}
