/* SPDX-License-Identifier: MIT */
#include "hsa_lab.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* AMDKFD_IOC_RUNTIME_ENABLE of newer kernels' linux/kfd_ioctl.h. */
struct runtime_enable {
	uint64_t r_debug;
	uint32_t mode_mask, capabilities_mask;
};
#define RUNTIME_ENABLE _IOWR('K', 0x25, struct runtime_enable)
#define RUNTIME_ENABLE_MODE 1

void lab_fail(const char *fmt, ...)
{
	va_list args;

	fflush(stdout);
	fputs("FAILED: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	/* Not exit(): the runtime's destructors might wait for the work that just failed. */
	_exit(1);
}

void lab_status(hsa_status_t status, const char *call)
{
	const char *sentence = NULL;

	if (status == HSA_STATUS_SUCCESS || status == HSA_STATUS_INFO_BREAK)
		return;
	hsa_status_string(status, &sentence);
	lab_fail("%s: %s (%#x)", call, sentence ? sentence : "an unknown status", status);
}

static hsa_status_t see_agent(hsa_agent_t agent, void *data)
{
	struct lab *lab = data;
	hsa_device_type_t type;

	lab_must(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
	if (type == HSA_DEVICE_TYPE_CPU && !lab->cpu.handle)
		lab->cpu = agent;
	if (type == HSA_DEVICE_TYPE_GPU && !lab->gpu.handle)
		lab->gpu = agent;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t see_pool(hsa_amd_memory_pool_t pool, void *data)
{
	struct lab *lab = data;
	hsa_amd_segment_t segment;
	uint32_t flags;

	lab_must(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
	if (segment != HSA_AMD_SEGMENT_GLOBAL)
		return HSA_STATUS_SUCCESS;
	lab_must(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags));
	if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT)
		lab->kernarg = pool;
	else if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED)
		lab->fine = pool;
	else
		lab->coarse = pool;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t see_vram(hsa_amd_memory_pool_t pool, void *data)
{
	struct lab *lab = data;
	hsa_amd_segment_t segment;

	lab_must(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
	if (segment == HSA_AMD_SEGMENT_GLOBAL && !lab->vram.handle)
		lab->vram = pool;
	return HSA_STATUS_SUCCESS;
}

static void load_code(struct lab *lab)
{
	hsa_code_object_reader_t reader;
	size_t size;
	const void *code = lab_code(lab->gpu_name, &size);

	lab_check(code, "no code object for a %s GPU", lab->gpu_name);
	lab_must(hsa_code_object_reader_create_from_memory(code, size, &reader));
	lab_must(hsa_executable_create_alt(
		HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL, &lab->code));
	lab_must(hsa_executable_load_agent_code_object(lab->code, lab->gpu, reader, NULL, NULL));
	lab_must(hsa_executable_freeze(lab->code, NULL));
	lab_must(hsa_code_object_reader_destroy(reader));
}

void lab_open(struct lab *lab)
{
	lab_open_gpu(lab, (hsa_agent_t){ 0 });
}

void lab_open_gpu(struct lab *lab, hsa_agent_t gpu)
{
	*lab = (struct lab){ .gpu = gpu };
	lab_must(hsa_init());
	lab_must(hsa_iterate_agents(see_agent, lab));
	lab_check(lab->gpu.handle, "the runtime finds no GPU");
	lab_must(hsa_agent_get_info(lab->gpu, HSA_AGENT_INFO_NAME, lab->gpu_name));
	lab_must(hsa_amd_agent_iterate_memory_pools(lab->cpu, see_pool, lab));
	lab_must(hsa_amd_agent_iterate_memory_pools(lab->gpu, see_vram, lab));
	lab_check(lab->vram.handle && lab->kernarg.handle && lab->fine.handle && lab->coarse.handle,
		  "the GPU or the host lacks a memory pool");
	load_code(lab);
}

void lab_close(struct lab *lab)
{
	lab_must(hsa_executable_destroy(lab->code));
	lab_must(hsa_shut_down());
}

void lab_enable_runtime(void)
{
	struct runtime_enable args = { .mode_mask = RUNTIME_ENABLE_MODE };
	int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);

	lab_check(fd >= 0, "/dev/kfd: %s", strerror(errno));
	if (ioctl(fd, RUNTIME_ENABLE, &args) && errno != EBUSY)
		lab_fail("RUNTIME_ENABLE: %s", strerror(errno));
	close(fd);
}

struct lab_kernel lab_find(struct lab *lab, const char *name)
{
	hsa_executable_symbol_t symbol;
	struct lab_kernel k;
	char full[64];

	snprintf(full, sizeof(full), "%s.kd", name);
	lab_must(hsa_executable_get_symbol_by_name(lab->code, full, &lab->gpu, &symbol));
#define GET(what, field)                                                                          \
	lab_must(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_##what, \
						field))
	GET(OBJECT, &k.object);
	GET(KERNARG_SEGMENT_SIZE, &k.kernarg_size);
	GET(GROUP_SEGMENT_SIZE, &k.group_size);
	GET(PRIVATE_SEGMENT_SIZE, &k.private_size);
#undef GET
	return k;
}

void *lab_alloc(struct lab *lab, hsa_amd_memory_pool_t pool, size_t size)
{
	void *memory;

	lab_must(hsa_amd_memory_pool_allocate(pool, size, 0, &memory));
	lab_must(hsa_amd_agents_allow_access(1, &lab->gpu, NULL, memory));
	return memory;
}

hsa_signal_t lab_signal(hsa_signal_value_t value)
{
	hsa_signal_t signal;

	lab_must(hsa_signal_create(value, 0, NULL, &signal));
	return signal;
}

static void report_queue_error(hsa_status_t status, hsa_queue_t *queue, void *data)
{
	const char *sentence = NULL;

	(void)queue;
	(void)data;
	hsa_status_string(status, &sentence);
	lab_fail("a queue stopped: %s (%#x)", sentence ? sentence : "an unknown status", status);
}

hsa_queue_t *lab_queue(struct lab *lab, uint32_t packets)
{
	hsa_queue_t *queue;

	lab_must(hsa_queue_create(lab->gpu, packets, HSA_QUEUE_TYPE_MULTI, report_queue_error, NULL,
				  UINT32_MAX, UINT32_MAX, &queue));
	return queue;
}

uint16_t lab_header(hsa_packet_type_t type, bool barrier)
{
	return type << HSA_PACKET_HEADER_TYPE | barrier << HSA_PACKET_HEADER_BARRIER |
	       HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
	       HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
}

uint64_t lab_push(hsa_queue_t *queue, const void *packet, uint16_t header)
{
	uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
	char *slot = (char *)queue->base_address + index % queue->size * 64;
	uint16_t setup;

	while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size)
		usleep(20);
	memcpy(&setup, (const char *)packet + 2, 2);
	memcpy(slot + 4, (const char *)packet + 4, 60);
	/* The packet belongs to the GPU as soon as its type is valid, so that is written last. */
	__atomic_store_n((uint32_t *)slot, header | (uint32_t)setup << 16, __ATOMIC_RELEASE);
	hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
	return index;
}

hsa_kernel_dispatch_packet_t lab_packet(const struct lab_kernel *kernel, struct lab_grid grid,
					const void *arguments, hsa_signal_t done)
{
	return (hsa_kernel_dispatch_packet_t){
		.header = lab_header(HSA_PACKET_TYPE_KERNEL_DISPATCH, grid.barrier),
		.setup = 3 << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS,
		.workgroup_size_x = grid.group[0] ? grid.group[0] : 1,
		.workgroup_size_y = grid.group[1] ? grid.group[1] : 1,
		.workgroup_size_z = grid.group[2] ? grid.group[2] : 1,
		.grid_size_x = grid.size[0] ? grid.size[0] : 1,
		.grid_size_y = grid.size[1] ? grid.size[1] : 1,
		.grid_size_z = grid.size[2] ? grid.size[2] : 1,
		.private_segment_size = kernel->private_size,
		.group_segment_size = kernel->group_size,
		.kernel_object = kernel->object,
		.kernarg_address = (void *)arguments,
		.completion_signal = done,
	};
}

uint64_t lab_dispatch(hsa_queue_t *queue, const struct lab_kernel *kernel, struct lab_grid grid,
		      const void *arguments, hsa_signal_t done)
{
	const hsa_kernel_dispatch_packet_t p = lab_packet(kernel, grid, arguments, done);

	return lab_push(queue, &p, p.header);
}

void lab_wait(hsa_signal_t signal, hsa_wait_state_t how, const char *what)
{
	uint64_t second;

	lab_must(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &second));
	if (hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, LAB_TIMEOUT_S * second,
				      how) >= 1)
		lab_fail("%s did not come within %d s: its signal is still %ld", what,
			 LAB_TIMEOUT_S, (long)hsa_signal_load_relaxed(signal));
}

uint32_t lab_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}
