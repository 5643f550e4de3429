/* SPDX-License-Identifier: MIT */
/*
 * The ioctl interface of /dev/kfd, as far as gpreempt and the emulated machine speak it, with the
 * numbers that gpreempt's kernel series adds at the end.
 *
 * Declarations of our own: the distribution's header may be older than the running kernel. What
 * both have is compared by tests/unit/test_uapi.c. The kernel copies as many bytes as the caller's
 * number says (_IOC_SIZE) and takes what is missing for zero: look at _IOC_NR, honour _IOC_SIZE.
 */
#ifndef GP_UAPI_KFD_H
#define GP_UAPI_KFD_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define GP_KFD_MAGIC 'K'
#define GP_KFD_R(nr, type) _IOR(GP_KFD_MAGIC, nr, type)
#define GP_KFD_W(nr, type) _IOW(GP_KFD_MAGIC, nr, type)
#define GP_KFD_WR(nr, type) _IOWR(GP_KFD_MAGIC, nr, type)

struct gp_kfd_version {
	__u32 major, minor;
};

/*
 * Queues
 */

#define GP_KFD_QUEUE_COMPUTE 0 /* PM4 */
#define GP_KFD_QUEUE_SDMA 1
#define GP_KFD_QUEUE_COMPUTE_AQL 2
#define GP_KFD_QUEUE_SDMA_XGMI 3
#define GP_KFD_QUEUE_SDMA_BY_ENGINE 4

#define GP_KFD_PERCENTAGE_MAX 100
#define GP_KFD_PRIORITY_MAX 15
#define GP_KFD_PRIORITY_NORMAL 7
#define GP_KFD_RING_MIN 1024

struct gp_kfd_create_queue {
	__u64 ring_base_address;
	__u64 write_pointer_address;
	__u64 read_pointer_address;
	__u64 doorbell_offset; /* out: where to mmap */
	__u32 ring_size;
	__u32 gpu_id;
	__u32 queue_type;
	__u32 queue_percentage;
	__u32 queue_priority;
	__u32 queue_id; /* out */
	__u64 eop_buffer_address;
	__u64 eop_buffer_size;
	__u64 ctx_save_restore_address;
	__u32 ctx_save_restore_size;
	__u32 ctl_stack_size;
	/* Since 1.17. */
	__u32 sdma_engine_id;
	__u32 metadata_ring_size; /* since 1.22; padding before */
	/* Of the series, and ignored by the stock kernel: 0, or the logical priority + 1. More than
	 * 8 takes CAP_SYS_NICE, and without it comes back as 8. */
	__u32 logical_priority;
	__u32 pad;
};

/* In logical_priority: queues whose queue_priority is above or below normal are apart. */
#define GP_KFD_PRIORITY_SPLIT (1u << 31)

struct gp_kfd_destroy_queue {
	__u32 queue_id;
	__u32 pad;
};

struct gp_kfd_update_queue {
	__u64 ring_base_address;
	__u32 queue_id;
	__u32 ring_size;
	__u32 queue_percentage;
	__u32 queue_priority;
};

struct gp_kfd_set_cu_mask {
	__u32 queue_id;
	__u32 num_cu_mask; /* bits, a multiple of 32 */
	__u64 cu_mask_ptr;
};

struct gp_kfd_get_queue_wave_state {
	__u64 ctl_stack_address;
	__u32 ctl_stack_used_size; /* out */
	__u32 save_area_used_size; /* out */
	__u32 queue_id;
	__u32 pad;
};

struct gp_kfd_alloc_queue_gws {
	__u32 queue_id;
	__u32 num_gws;
	__u32 first_gws; /* out */
	__u32 pad;
};

/*
 * The process and its devices
 */

struct gp_kfd_set_memory_policy {
	__u64 alternate_aperture_base;
	__u64 alternate_aperture_size;
	__u32 gpu_id;
	__u32 default_policy;
	__u32 alternate_policy;
	__u32 pad;
};

struct gp_kfd_get_clock_counters {
	__u64 gpu_clock_counter;
	__u64 cpu_clock_counter;
	__u64 system_clock_counter;
	__u64 system_clock_freq;
	__u32 gpu_id;
	__u32 pad;
};

struct gp_kfd_apertures {
	__u64 lds_base, lds_limit;
	__u64 scratch_base, scratch_limit;
	__u64 gpuvm_base, gpuvm_limit;
	__u32 gpu_id;
	__u32 pad;
};

#define GP_KFD_APERTURES_OLD 7

struct gp_kfd_get_apertures_old {
	struct gp_kfd_apertures apertures[GP_KFD_APERTURES_OLD];
	__u32 num_of_nodes;
	__u32 pad;
};

struct gp_kfd_get_apertures {
	__u64 apertures_ptr;
	__u32 num_of_nodes;
	__u32 pad;
};

struct gp_kfd_set_scratch_backing_va {
	__u64 va_addr;
	__u32 gpu_id;
	__u32 pad;
};

struct gp_kfd_get_tile_config {
	__u64 tile_config_ptr;
	__u64 macro_tile_config_ptr;
	__u32 num_tile_configs;
	__u32 num_macro_tile_configs;
	__u32 gpu_id;
	__u32 gb_addr_config;
	__u32 num_banks;
	__u32 num_ranks;
};

struct gp_kfd_set_trap_handler {
	__u64 tba_addr;
	__u64 tma_addr;
	__u32 gpu_id;
	__u32 pad;
};

struct gp_kfd_acquire_vm {
	__u32 drm_fd;
	__u32 gpu_id;
};

struct gp_kfd_set_xnack_mode {
	__s32 xnack_enabled;
};

#define GP_KFD_CRIU_PROCESS_INFO 0
#define GP_KFD_CRIU_CHECKPOINT 1
#define GP_KFD_CRIU_UNPAUSE 2
#define GP_KFD_CRIU_RESTORE 3
#define GP_KFD_CRIU_RESUME 4

struct gp_kfd_criu {
	__u64 devices;
	__u64 bos;
	__u64 priv_data;
	__u64 priv_data_size;
	__u32 num_devices;
	__u32 num_bos;
	__u32 num_objects;
	__u32 pid;
	__u32 op;
};

/*
 * Memory
 */

#define GP_KFD_MEM_VRAM (1u << 0)
#define GP_KFD_MEM_GTT (1u << 1)
#define GP_KFD_MEM_USERPTR (1u << 2)
#define GP_KFD_MEM_DOORBELL (1u << 3)
#define GP_KFD_MEM_MMIO_REMAP (1u << 4)
#define GP_KFD_MEM_WRITABLE (1u << 31)
#define GP_KFD_MEM_EXECUTABLE (1u << 30)
#define GP_KFD_MEM_PUBLIC (1u << 29)
#define GP_KFD_MEM_NO_SUBSTITUTE (1u << 28)
#define GP_KFD_MEM_AQL_QUEUE_MEM (1u << 27)
#define GP_KFD_MEM_COHERENT (1u << 26)
#define GP_KFD_MEM_UNCACHED (1u << 25)

struct gp_kfd_alloc_memory {
	__u64 va_addr;
	__u64 size;
	__u64 handle; /* out */
	__u64 mmap_offset; /* in: the address, of a userptr; out: where to mmap the render node */
	__u32 gpu_id;
	__u32 flags;
};

struct gp_kfd_free_memory {
	__u64 handle;
};

struct gp_kfd_map_memory {
	__u64 handle;
	__u64 device_ids_array_ptr;
	__u32 n_devices;
	__u32 n_success; /* in and out */
};

struct gp_kfd_get_available_memory {
	__u64 available;
	__u32 gpu_id;
	__u32 pad;
};

struct gp_kfd_get_dmabuf_info {
	__u64 size;
	__u64 metadata_ptr;
	__u32 metadata_size;
	__u32 gpu_id;
	__u32 flags;
	__u32 dmabuf_fd;
};

struct gp_kfd_import_dmabuf {
	__u64 va_addr;
	__u64 handle;
	__u32 gpu_id;
	__u32 dmabuf_fd;
};

struct gp_kfd_export_dmabuf {
	__u64 handle;
	__u32 flags;
	__u32 dmabuf_fd;
};

struct gp_kfd_svm_attribute {
	__u32 type;
	__u32 value;
};

struct gp_kfd_svm {
	__u64 start_addr;
	__u64 size;
	__u32 op;
	__u32 nattr;
	struct gp_kfd_svm_attribute attrs[];
};

/*
 * Events
 */

#define GP_KFD_EVENT_SIGNAL 0
#define GP_KFD_EVENT_HW_EXCEPTION 3
#define GP_KFD_EVENT_DEBUG_EVENT 5
#define GP_KFD_EVENT_QUEUE_EVENT 7
#define GP_KFD_EVENT_MEMORY 8

#define GP_KFD_WAIT_COMPLETE 0
#define GP_KFD_WAIT_TIMEOUT 1
#define GP_KFD_WAIT_FAIL 2

#define GP_KFD_SIGNAL_EVENT_LIMIT 4096

struct gp_kfd_create_event {
	__u64 event_page_offset;
	__u32 event_trigger_data;
	__u32 event_type;
	__u32 auto_reset;
	__u32 node_id;
	__u32 event_id;
	__u32 event_slot_index;
};

struct gp_kfd_event { /* destroy, set, reset */
	__u32 event_id;
	__u32 pad;
};

struct gp_kfd_memory_exception {
	__u32 not_present, read_only, no_execute, imprecise;
	__u64 va;
	__u32 gpu_id;
	__u32 error_type;
};

struct gp_kfd_hw_exception {
	__u32 reset_type, reset_cause, memory_lost, gpu_id;
};

struct gp_kfd_event_data {
	union {
		struct gp_kfd_memory_exception memory;
		struct gp_kfd_hw_exception hw;
		__u64 last_event_age; /* of a signal event, since 1.14 */
	};
	__u64 ext;
	__u32 event_id;
	__u32 pad;
};

struct gp_kfd_wait_events {
	__u64 events_ptr;
	__u32 num_events;
	__u32 wait_for_all;
	__u32 timeout; /* ms; ~0: for ever */
	__u32 wait_result;
};

/* The mask that is written to the descriptor of SMI_EVENTS selects the lines that can be read from
 * it. */
#define GP_KFD_SMI_MASK(event) (1ULL << ((event)-1))
#define GP_KFD_SMI_VMFAULT 1
#define GP_KFD_SMI_GPU_PRE_RESET 3
#define GP_KFD_SMI_GPU_POST_RESET 4
#define GP_KFD_SMI_QUEUE_EVICTION 9
#define GP_KFD_SMI_QUEUE_RESTORE 10
#define GP_KFD_SMI_ALL_PROCESS 64 /* of others too, for who is admin */

#define GP_KFD_EVICTION_USERPTR 1
#define GP_KFD_EVICTION_TTM 2
#define GP_KFD_EVICTION_SUSPEND 3

struct gp_kfd_smi_events {
	__u32 gpu_id;
	__u32 anon_fd; /* out */
};

/*
 * Debugger
 */

#define GP_KFD_RUNTIME_ENABLE_MODE 1
#define GP_KFD_RUNTIME_ENABLE_TTMP_SAVE 2

struct gp_kfd_runtime_enable {
	__u64 r_debug;
	__u32 mode_mask;
	__u32 capabilities_mask;
};

#define GP_KFD_RUNTIME_DISABLED 0
#define GP_KFD_RUNTIME_ENABLED 1
#define GP_KFD_RUNTIME_BUSY 2
#define GP_KFD_RUNTIME_ERROR 3

struct gp_kfd_runtime_info {
	__u64 r_debug;
	__u32 runtime_state;
	__u32 ttmp_setup;
};

#define GP_KFD_DBG_ENABLE 0
#define GP_KFD_DBG_DISABLE 1
#define GP_KFD_DBG_SEND_RUNTIME_EVENT 2
#define GP_KFD_DBG_SET_EXCEPTIONS_ENABLED 3
#define GP_KFD_DBG_SET_WAVE_LAUNCH_OVERRIDE 4
#define GP_KFD_DBG_SET_WAVE_LAUNCH_MODE 5
#define GP_KFD_DBG_SUSPEND_QUEUES 6
#define GP_KFD_DBG_RESUME_QUEUES 7
#define GP_KFD_DBG_SET_NODE_ADDRESS_WATCH 8
#define GP_KFD_DBG_CLEAR_NODE_ADDRESS_WATCH 9
#define GP_KFD_DBG_SET_FLAGS 10
#define GP_KFD_DBG_QUERY_DEBUG_EVENT 11
#define GP_KFD_DBG_QUERY_EXCEPTION_INFO 12
#define GP_KFD_DBG_GET_QUEUE_SNAPSHOT 13
#define GP_KFD_DBG_GET_DEVICE_SNAPSHOT 14

/* Exceptions: a code is a bit of a mask, counted from 1. */
#define GP_KFD_EC_MASK(code) (1ULL << ((code)-1))
#define GP_KFD_EC_QUEUE_WAVE_ABORT 1
#define GP_KFD_EC_QUEUE_WAVE_TRAP 2
#define GP_KFD_EC_QUEUE_WAVE_MATH_ERROR 3
#define GP_KFD_EC_QUEUE_WAVE_ILLEGAL_INSTRUCTION 4
#define GP_KFD_EC_QUEUE_WAVE_MEMORY_VIOLATION 5
#define GP_KFD_EC_QUEUE_WAVE_APERTURE_VIOLATION 6
#define GP_KFD_EC_QUEUE_PACKET_DISPATCH_DIM_INVALID 16
#define GP_KFD_EC_QUEUE_PACKET_DISPATCH_GROUP_SEGMENT_SIZE_INVALID 17
#define GP_KFD_EC_QUEUE_PACKET_DISPATCH_CODE_INVALID 18
#define GP_KFD_EC_QUEUE_PACKET_RESERVED 19
#define GP_KFD_EC_QUEUE_PACKET_UNSUPPORTED 20
#define GP_KFD_EC_QUEUE_PACKET_DISPATCH_WORK_GROUP_SIZE_INVALID 21
#define GP_KFD_EC_QUEUE_PACKET_DISPATCH_REGISTER_INVALID 22
#define GP_KFD_EC_QUEUE_PACKET_VENDOR_UNSUPPORTED 23
#define GP_KFD_EC_QUEUE_PREEMPTION_ERROR 30
#define GP_KFD_EC_QUEUE_NEW 31
#define GP_KFD_EC_DEVICE_QUEUE_DELETE 32
#define GP_KFD_EC_DEVICE_MEMORY_VIOLATION 33
#define GP_KFD_EC_DEVICE_RAS_ERROR 34
#define GP_KFD_EC_DEVICE_FATAL_HALT 35
#define GP_KFD_EC_DEVICE_NEW 36
#define GP_KFD_EC_PROCESS_RUNTIME 48
#define GP_KFD_EC_PROCESS_DEVICE_REMOVE 49
#define GP_KFD_EC_MAX 50
/* Which of them belong to a queue, to a device and to the process. */
#define GP_KFD_EC_QUEUE_MASK 0x00000000607f803fULL
#define GP_KFD_EC_DEVICE_MASK 0x0000000f80000000ULL
#define GP_KFD_EC_PROCESS_MASK 0x0001800000000000ULL

/* Bits that SUSPEND and RESUME write back over a queue's id. */
#define GP_KFD_QUEUE_ERROR (1u << 30)
#define GP_KFD_QUEUE_INVALID (1u << 31)

struct gp_kfd_dbg_enable {
	__u64 exception_mask;
	__u64 rinfo_ptr;
	__u32 rinfo_size;
	__u32 dbg_fd;
};

struct gp_kfd_dbg_send_runtime_event {
	__u64 exception_mask;
	__u32 gpu_id;
	__u32 queue_id;
};

struct gp_kfd_dbg_set_exceptions_enabled {
	__u64 exception_mask;
};

#define GP_KFD_DBG_OVERRIDE_OR 0
#define GP_KFD_DBG_OVERRIDE_REPLACE 1
#define GP_KFD_DBG_TRAP_ADDRESS_WATCH (1u << 7)
#define GP_KFD_DBG_TRAP_MEMORY_VIOLATION (1u << 8)
#define GP_KFD_DBG_TRAP_WAVE_START (1u << 30)
#define GP_KFD_DBG_TRAP_WAVE_END (1u << 31)

struct gp_kfd_dbg_launch_override {
	__u32 override_mode;
	__u32 enable_mask;
	__u32 support_request_mask;
	__u32 pad;
};

#define GP_KFD_DBG_LAUNCH_NORMAL 0
#define GP_KFD_DBG_LAUNCH_HALT 1
#define GP_KFD_DBG_LAUNCH_DEBUG 3

struct gp_kfd_dbg_launch_mode {
	__u32 launch_mode;
	__u32 pad;
};

struct gp_kfd_dbg_suspend_queues {
	__u64 exception_mask;
	__u64 queue_array_ptr;
	__u32 num_queues;
	__u32 grace_period;
};

struct gp_kfd_dbg_resume_queues {
	__u64 queue_array_ptr;
	__u32 num_queues;
	__u32 pad;
};

#define GP_KFD_DBG_WATCH_READ 0
#define GP_KFD_DBG_WATCH_NONREAD 1
#define GP_KFD_DBG_WATCH_ATOMIC 2
#define GP_KFD_DBG_WATCH_ALL 3

struct gp_kfd_dbg_set_address_watch {
	__u64 address;
	__u32 mode;
	__u32 mask;
	__u32 gpu_id;
	__u32 id;
};

struct gp_kfd_dbg_clear_address_watch {
	__u32 gpu_id;
	__u32 id;
};

#define GP_KFD_DBG_FLAG_SINGLE_MEM_OP 1
#define GP_KFD_DBG_FLAG_SINGLE_ALU_OP 2

struct gp_kfd_dbg_set_flags {
	__u32 flags;
	__u32 pad;
};

struct gp_kfd_dbg_query_debug_event {
	__u64 exception_mask;
	__u32 gpu_id;
	__u32 queue_id;
};

struct gp_kfd_dbg_query_exception_info {
	__u64 info_ptr;
	__u32 info_size;
	__u32 source_id;
	__u32 exception_code;
	__u32 clear_exception;
};

struct gp_kfd_dbg_snapshot {
	__u64 exception_mask;
	__u64 snapshot_buf_ptr;
	__u32 num_entries;
	__u32 entry_size;
};

struct gp_kfd_dbg_trap {
	__u32 pid;
	__u32 op;
	union {
		struct gp_kfd_dbg_enable enable;
		struct gp_kfd_dbg_send_runtime_event send_runtime_event;
		struct gp_kfd_dbg_set_exceptions_enabled set_exceptions_enabled;
		struct gp_kfd_dbg_launch_override launch_override;
		struct gp_kfd_dbg_launch_mode launch_mode;
		struct gp_kfd_dbg_suspend_queues suspend_queues;
		struct gp_kfd_dbg_resume_queues resume_queues;
		struct gp_kfd_dbg_set_address_watch set_address_watch;
		struct gp_kfd_dbg_clear_address_watch clear_address_watch;
		struct gp_kfd_dbg_set_flags set_flags;
		struct gp_kfd_dbg_query_debug_event query_debug_event;
		struct gp_kfd_dbg_query_exception_info query_exception_info;
		struct gp_kfd_dbg_snapshot snapshot; /* of queues and of devices */
	};
};

struct gp_kfd_queue_snapshot {
	__u64 exception_status;
	__u64 ring_base_address;
	__u64 write_pointer_address;
	__u64 read_pointer_address;
	__u64 ctx_save_restore_address;
	__u32 queue_id;
	__u32 gpu_id;
	__u32 ring_size;
	__u32 queue_type;
	__u32 ctx_save_restore_area_size;
	__u32 reserved;
};

struct gp_kfd_device_snapshot {
	__u64 exception_status;
	__u64 lds_base, lds_limit;
	__u64 scratch_base, scratch_limit;
	__u64 gpuvm_base, gpuvm_limit;
	__u32 gpu_id;
	__u32 location_id;
	__u32 vendor_id;
	__u32 device_id;
	__u32 revision_id;
	__u32 subsystem_vendor_id;
	__u32 subsystem_device_id;
	__u32 fw_version;
	__u32 gfx_target_version;
	__u32 simd_count;
	__u32 max_waves_per_simd;
	__u32 array_count;
	__u32 simd_arrays_per_engine;
	__u32 num_xcc;
	__u32 capability;
	__u32 debug_prop;
};

/* At the start of a queue's context save area, and of each XCC's part of it. */
struct gp_kfd_save_area_header {
	__u32 control_stack_offset;
	__u32 control_stack_size;
	__u32 wave_state_offset;
	__u32 wave_state_size;
	__u32 debug_offset;
	__u32 debug_size;
	__u64 err_payload_addr;
	__u32 err_event_id;
	__u32 reserved;
};

#define GP_KFD_GET_VERSION GP_KFD_R(0x01, struct gp_kfd_version)
#define GP_KFD_CREATE_QUEUE GP_KFD_WR(0x02, struct gp_kfd_create_queue)
#define GP_KFD_DESTROY_QUEUE GP_KFD_WR(0x03, struct gp_kfd_destroy_queue)
#define GP_KFD_SET_MEMORY_POLICY GP_KFD_W(0x04, struct gp_kfd_set_memory_policy)
#define GP_KFD_GET_CLOCK_COUNTERS GP_KFD_WR(0x05, struct gp_kfd_get_clock_counters)
#define GP_KFD_GET_APERTURES_OLD GP_KFD_R(0x06, struct gp_kfd_get_apertures_old)
#define GP_KFD_UPDATE_QUEUE GP_KFD_W(0x07, struct gp_kfd_update_queue)
#define GP_KFD_CREATE_EVENT GP_KFD_WR(0x08, struct gp_kfd_create_event)
#define GP_KFD_DESTROY_EVENT GP_KFD_W(0x09, struct gp_kfd_event)
#define GP_KFD_SET_EVENT GP_KFD_W(0x0a, struct gp_kfd_event)
#define GP_KFD_RESET_EVENT GP_KFD_W(0x0b, struct gp_kfd_event)
#define GP_KFD_WAIT_EVENTS GP_KFD_WR(0x0c, struct gp_kfd_wait_events)
#define GP_KFD_SET_SCRATCH_BACKING_VA GP_KFD_WR(0x11, struct gp_kfd_set_scratch_backing_va)
#define GP_KFD_GET_TILE_CONFIG GP_KFD_WR(0x12, struct gp_kfd_get_tile_config)
#define GP_KFD_SET_TRAP_HANDLER GP_KFD_W(0x13, struct gp_kfd_set_trap_handler)
#define GP_KFD_GET_APERTURES GP_KFD_WR(0x14, struct gp_kfd_get_apertures)
#define GP_KFD_ACQUIRE_VM GP_KFD_W(0x15, struct gp_kfd_acquire_vm)
#define GP_KFD_ALLOC_MEMORY GP_KFD_WR(0x16, struct gp_kfd_alloc_memory)
#define GP_KFD_FREE_MEMORY GP_KFD_W(0x17, struct gp_kfd_free_memory)
#define GP_KFD_MAP_MEMORY GP_KFD_WR(0x18, struct gp_kfd_map_memory)
#define GP_KFD_UNMAP_MEMORY GP_KFD_WR(0x19, struct gp_kfd_map_memory)
#define GP_KFD_SET_CU_MASK GP_KFD_W(0x1a, struct gp_kfd_set_cu_mask)
#define GP_KFD_GET_QUEUE_WAVE_STATE GP_KFD_WR(0x1b, struct gp_kfd_get_queue_wave_state)
#define GP_KFD_GET_DMABUF_INFO GP_KFD_WR(0x1c, struct gp_kfd_get_dmabuf_info)
#define GP_KFD_IMPORT_DMABUF GP_KFD_WR(0x1d, struct gp_kfd_import_dmabuf)
#define GP_KFD_ALLOC_QUEUE_GWS GP_KFD_WR(0x1e, struct gp_kfd_alloc_queue_gws)
#define GP_KFD_SMI_EVENTS GP_KFD_WR(0x1f, struct gp_kfd_smi_events)
#define GP_KFD_SVM GP_KFD_WR(0x20, struct gp_kfd_svm)
#define GP_KFD_SET_XNACK_MODE GP_KFD_WR(0x21, struct gp_kfd_set_xnack_mode)
#define GP_KFD_CRIU GP_KFD_WR(0x22, struct gp_kfd_criu)
#define GP_KFD_AVAILABLE_MEMORY GP_KFD_WR(0x23, struct gp_kfd_get_available_memory)
#define GP_KFD_EXPORT_DMABUF GP_KFD_WR(0x24, struct gp_kfd_export_dmabuf)
#define GP_KFD_RUNTIME_ENABLE GP_KFD_WR(0x25, struct gp_kfd_runtime_enable)
#define GP_KFD_DBG_TRAP GP_KFD_WR(0x26, struct gp_kfd_dbg_trap)

/*
 * The series: one ioctl with operations, at a number far from AMD's (0x01 to 0x27, and from 0x80 on
 * in amdgpu-dkms). Another driver may have something else there: nothing but a query is called
 * before a query returned GP_KFD_PREEMPT_MAGIC.
 *
 * Fields that an operation does not use must be zero (EINVAL), and so must those that a newer
 * caller adds at the end (E2BIG): the structure can grow, and an older caller's missing bytes are
 * zero.
 */
#define GP_KFD_PREEMPT_MAGIC 0x475052454d505431ull /* "GPREMPT1" */
#define GP_KFD_PREEMPT_VERSION 3

#define GP_KFD_PREEMPT_DRAIN 0 /* what runs, finishes; nothing new starts */
#define GP_KFD_PREEMPT_RESET 1 /* what runs is dropped */
#define GP_KFD_PREEMPT_SAVE 2 /* what runs is saved, and goes on from there */

#define GP_KFD_OP_QUERY 1
#define GP_KFD_OP_PREEMPT 2
#define GP_KFD_OP_RESUME 3
#define GP_KFD_OP_SET_PRIORITY 4

#define GP_KFD_PREEMPT_TARGET (1u << 0) /* the queues of the process that pidfd refers to */

#define GP_KFD_FEATURE_QUEUES (1u << 0) /* PREEMPT and RESUME of several queues in one step */
#define GP_KFD_FEATURE_TARGET (1u << 1) /* those of other processes */
#define GP_KFD_FEATURE_LOGICAL_PRIORITY (1u << 2) /* in CREATE_QUEUE */
#define GP_KFD_FEATURE_SCHEDULER (1u << 3) /* the kernel schedules this node itself */
#define GP_KFD_FEATURE_SET_PRIORITY (1u << 4) /* of queues that exist */
#define GP_KFD_FEATURE_ALIASES (1u << 5) /* 0x87 and 0x88 are those below */

/* The abilities of a node's scheduler; EINVAL for a gpu_id that does not exist, 0: the first
 * node. */
struct gp_kfd_preempt_query {
	__u64 magic; /* out */
	__u32 version; /* out */
	__u32 features; /* out */
	__u32 gpu_id; /* in and out */
	__u32 types; /* out: a bit for each preemption type */
	__u32 timeout_ms; /* out: how long the driver waits for a preemption */
	__u32 holds_max; /* out: how many queues a process may hold with TARGET */
};

/*
 * PREEMPT, RESUME and SET_PRIORITY act on several queues of one process in one step.
 *
 * Without TARGET the queues are the caller's own, and it holds each once. With TARGET the caller
 * traces the process, has CAP_SYS_ADMIN, or is it (EPERM), and its open file holds each queue: such
 * a hold ends with the file. For RESUME it is enough that the file holds a queue of the process. A
 * process has at most holds_max of them, and without CAP_SYS_RESOURCE the processes of a user have
 * four times as many, counting all queues that a call names (EDQUOT). A priority above normal takes
 * CAP_SYS_NICE (EACCES).
 *
 * Returns how many queues are as asked; if none is, and some failed, why the first one did. Each
 * other id comes back with GP_KFD_QUEUE_INVALID if there is no such queue or it occurred before,
 * with GP_KFD_QUEUE_ERROR if the operation failed for it. A queue that the caller holds already, or
 * that it resumes and does not hold, is as asked. EOPNOTSUPP for a type that the running scheduler
 * cannot do; EACCES for a queue that hung and was reset, which never runs again; EBUSY for one that
 * is being destroyed; ESRCH, EBADF for a target.
 */
struct gp_kfd_preempt_queues {
	__u64 queue_array_ptr; /* of __u32 ids, in and out */
	__u32 num_queues;
	__u32 type; /* of PREEMPT */
	__u32 logical_priority; /* of SET_PRIORITY: 0: none, or the logical priority + 1 */
	__u32 pad;
};

struct gp_kfd_preempt {
	__u32 op;
	__u32 flags;
	__s32 pidfd; /* with TARGET */
	__u32 pad;
	union {
		struct gp_kfd_preempt_query query;
		struct gp_kfd_preempt_queues queues;
	};
};

#define GP_KFD_PREEMPT GP_KFD_WR(0xf0, struct gp_kfd_preempt)

/*
 * Aliases for one queue of the caller, where amdgpu.kfd_preempt_aliases=1 turns them on:
 * amdgpu-dkms has something else at 0x87.
 *
 * PREEMPT_QUEUE: 0; EINVAL for a queue, type or pad that is none; EALREADY where it is preempted;
 * EOPNOTSUPP for a type that the running scheduler cannot do; ETIME; EIO. A timeout of 0 is the
 * driver's own, and none shorter than that is honoured: no caller can cause a GPU reset with it.
 */
struct gp_kfd_preempt_queue {
	__u32 queue_id;
	__u32 preempt_type;
	__u32 timeout_ms;
	__u32 pad;
};

struct gp_kfd_resume_queue {
	__u32 queue_id;
	__u32 pad[3];
};

#define GP_KFD_PREEMPT_QUEUE GP_KFD_WR(0x87, struct gp_kfd_preempt_queue)
#define GP_KFD_RESUME_QUEUE GP_KFD_WR(0x88, struct gp_kfd_resume_queue)

#endif
