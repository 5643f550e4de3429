// SPDX-License-Identifier: MIT
// A program that debugs itself: it watches an address on the GPU, and is notified of the kernel that
// writes there through its runtime's trap handler. The runtime must have told the driver of itself
// (RUNTIME_ENABLE), as that of ROCm 6 does.
#include "hip_lab.h"

#include "gpreempt/uapi/gpreempt_kfd.h"

#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>

static int kfd;

static void trap(struct gp_kfd_dbg_trap *args, uint32_t op, const char *what)
{
	args->pid = (uint32_t)getpid();
	args->op = op;
	lab_check(!ioctl(kfd, GP_KFD_DBG_TRAP, args), "%s: %s", what, strerror(errno));
}

static uint32_t first_gpu()
{
	struct gp_kfd_device_snapshot entry = {};
	struct gp_kfd_dbg_trap args = {};

	args.snapshot.snapshot_buf_ptr = (uintptr_t)&entry;
	args.snapshot.num_entries = 1;
	args.snapshot.entry_size = sizeof(entry);
	trap(&args, GP_KFD_DBG_GET_DEVICE_SNAPSHOT, "device snapshot");
	return entry.gpu_id;
}

static void enable(int events)
{
	struct gp_kfd_runtime_info info = {};
	struct gp_kfd_dbg_trap args = {};

	args.enable.exception_mask = ~0ULL & ~GP_KFD_EC_MASK(GP_KFD_EC_QUEUE_NEW);
	args.enable.rinfo_ptr = (uintptr_t)&info;
	args.enable.rinfo_size = sizeof(info);
	args.enable.dbg_fd = (uint32_t)events;
	trap(&args, GP_KFD_DBG_ENABLE, "enable");
}

static void watch(const void *address)
{
	struct gp_kfd_dbg_trap args = {};

	args.launch_override.enable_mask = GP_KFD_DBG_TRAP_ADDRESS_WATCH;
	args.launch_override.support_request_mask = GP_KFD_DBG_TRAP_ADDRESS_WATCH;
	trap(&args, GP_KFD_DBG_SET_WAVE_LAUNCH_OVERRIDE, "launch override");
	args = {};
	args.set_address_watch.address = (uintptr_t)address;
	args.set_address_watch.mask = ~0u;
	args.set_address_watch.mode = GP_KFD_DBG_WATCH_NONREAD;
	args.set_address_watch.gpu_id = first_gpu();
	trap(&args, GP_KFD_DBG_SET_NODE_ADDRESS_WATCH, "address watch");
}

// Exceptions of the kernel's queue.
static uint64_t hear(int events)
{
	struct gp_kfd_dbg_trap args = {};
	struct pollfd fd = { events, POLLIN, 0 };

	lab_check(poll(&fd, 1, 20000) == 1, "the access was not reported");
	args.query_debug_event.exception_mask = ~0ULL;
	trap(&args, GP_KFD_DBG_QUERY_DEBUG_EVENT, "query");
	return args.query_debug_event.exception_mask;
}

__global__ void write_at(int *out, int i)
{
	out[i] = 1;
}

int main()
{
	int events[2], *out = lab_device<int>(4096);
	uint64_t raised;

	write_at<<<1, 1>>>(out, 0);
	lab_must(hipDeviceSynchronize());
	kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	lab_check(kfd >= 0 && !pipe(events), "%s", strerror(errno));
	enable(events[1]);
	watch(out + 1024);
	write_at<<<1, 1>>>(out, 0);
	lab_must(hipDeviceSynchronize());
	write_at<<<1, 1>>>(out, 1024);
	raised = hear(events[0]);
	lab_check(raised & GP_KFD_EC_MASK(GP_KFD_EC_QUEUE_WAVE_TRAP), "the queue raised 0x%llx",
		  (unsigned long long)raised);
	printf("the watched address was seen\n");
	fflush(stdout);
	_exit(0); // the wave stands still
}
