// SPDX-License-Identifier: MIT
/*
 * ioctl(2) on /dev/kfd.
 *
 * The command's number selects the handler. As many bytes of the argument are copied as the
 * caller's command says, and missing ones are zero: older and newer programs both work.
 */
#include "emu/kfd/ioctl.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "emu/kfd/call.h"
#include "emu/kfd/event.h"
#include "emu/kfd/machine.h"
#include "emu/kfd/memory.h"
#include "emu/kfd/preempt.h"
#include "emu/kfd/process.h"
#include "emu/kfd/queue.h"
#include "emu/kfd/smi.h"
#include "gpreempt/uapi/gpreempt_kfd.h"

#define SIZE_MAX_BYTES (1 << _IOC_SIZEBITS)
/* The first numbers that a kernel does not have; those of 6.1 are below 0x24. */
#define END_6_1 0x24
#define END_6_12 0x27

union arguments {
	uint64_t align;
	uint8_t bytes[SIZE_MAX_BYTES];
};

/* Handlers take arguments of their own type. */
#define HANDLER(name)                                           \
	static int do_##name(struct emu_call *call, void *args) \
	{                                                       \
		return emu_##name(call, args);                  \
	}

HANDLER(get_version)
HANDLER(create_queue)
HANDLER(destroy_queue)
HANDLER(set_memory_policy)
HANDLER(get_clock_counters)
HANDLER(get_apertures_old)
HANDLER(update_queue)
HANDLER(create_event)
HANDLER(destroy_event)
HANDLER(set_event)
HANDLER(reset_event)
HANDLER(wait_events)
HANDLER(set_scratch_backing_va)
HANDLER(get_tile_config)
HANDLER(set_trap_handler)
HANDLER(get_apertures)
HANDLER(acquire_vm)
HANDLER(alloc_memory)
HANDLER(free_memory)
HANDLER(map_memory)
HANDLER(unmap_memory)
HANDLER(set_cu_mask)
HANDLER(get_queue_wave_state)
HANDLER(get_dmabuf_info)
HANDLER(import_dmabuf)
HANDLER(alloc_queue_gws)
HANDLER(svm)
HANDLER(set_xnack_mode)
HANDLER(criu)
HANDLER(available_memory)
HANDLER(export_dmabuf)
HANDLER(smi_events)
HANDLER(runtime_enable)
HANDLER(dbg_trap)
HANDLER(preempt_queue)
HANDLER(resume_queue)
HANDLER(preempt)

/* The debugger's interface of old kernels. */
static int refuse(struct emu_call *call, void *args)
{
	(void)call;
	(void)args;
	return -EPERM;
}

static int check_svm(const void *args, uint32_t size)
{
	const struct gp_kfd_svm *svm = args;
	uint64_t n = size >= sizeof(*svm) ? (size - sizeof(*svm)) / sizeof(svm->attrs[0]) : 0;

	return size < sizeof(*svm) || svm->nattr > n ? -EINVAL : 0;
}

struct ioctl {
	uint32_t cmd; /* 0: no such ioctl */
	int (*run)(struct emu_call *call, void *args);
	int (*check)(const void *args, uint32_t size);
	bool allocates; /* --fault ioctl-enomem applies */
};

/* Sizes of the arguments of deprecated ioctls. */
#define OLD_DBG_REGISTER GP_KFD_W(0x0d, uint64_t)
#define OLD_DBG_UNREGISTER GP_KFD_W(0x0e, uint64_t)
#define OLD_DBG_ADDRESS_WATCH _IOC(_IOC_WRITE, GP_KFD_MAGIC, 0x0f, 16)
#define OLD_DBG_WAVE_CONTROL _IOC(_IOC_WRITE, GP_KFD_MAGIC, 0x10, 16)

static const struct ioctl ioctls[] = {
	[0x01] = { GP_KFD_GET_VERSION, do_get_version, NULL, false },
	[0x02] = { GP_KFD_CREATE_QUEUE, do_create_queue, NULL, true },
	[0x03] = { GP_KFD_DESTROY_QUEUE, do_destroy_queue, NULL, false },
	[0x04] = { GP_KFD_SET_MEMORY_POLICY, do_set_memory_policy, NULL, false },
	[0x05] = { GP_KFD_GET_CLOCK_COUNTERS, do_get_clock_counters, NULL, false },
	[0x06] = { GP_KFD_GET_APERTURES_OLD, do_get_apertures_old, NULL, false },
	[0x07] = { GP_KFD_UPDATE_QUEUE, do_update_queue, NULL, false },
	[0x08] = { GP_KFD_CREATE_EVENT, do_create_event, NULL, true },
	[0x09] = { GP_KFD_DESTROY_EVENT, do_destroy_event, NULL, false },
	[0x0a] = { GP_KFD_SET_EVENT, do_set_event, NULL, false },
	[0x0b] = { GP_KFD_RESET_EVENT, do_reset_event, NULL, false },
	[0x0c] = { GP_KFD_WAIT_EVENTS, do_wait_events, NULL, true },
	[0x0d] = { OLD_DBG_REGISTER, refuse, NULL, false },
	[0x0e] = { OLD_DBG_UNREGISTER, refuse, NULL, false },
	[0x0f] = { OLD_DBG_ADDRESS_WATCH, refuse, NULL, false },
	[0x10] = { OLD_DBG_WAVE_CONTROL, refuse, NULL, false },
	[0x11] = { GP_KFD_SET_SCRATCH_BACKING_VA, do_set_scratch_backing_va, NULL, false },
	[0x12] = { GP_KFD_GET_TILE_CONFIG, do_get_tile_config, NULL, false },
	[0x13] = { GP_KFD_SET_TRAP_HANDLER, do_set_trap_handler, NULL, false },
	[0x14] = { GP_KFD_GET_APERTURES, do_get_apertures, NULL, true },
	[0x15] = { GP_KFD_ACQUIRE_VM, do_acquire_vm, NULL, true },
	[0x16] = { GP_KFD_ALLOC_MEMORY, do_alloc_memory, NULL, true },
	[0x17] = { GP_KFD_FREE_MEMORY, do_free_memory, NULL, false },
	[0x18] = { GP_KFD_MAP_MEMORY, do_map_memory, NULL, true },
	[0x19] = { GP_KFD_UNMAP_MEMORY, do_unmap_memory, NULL, true },
	[0x1a] = { GP_KFD_SET_CU_MASK, do_set_cu_mask, NULL, true },
	[0x1b] = { GP_KFD_GET_QUEUE_WAVE_STATE, do_get_queue_wave_state, NULL, false },
	[0x1c] = { GP_KFD_GET_DMABUF_INFO, do_get_dmabuf_info, NULL, true },
	[0x1d] = { GP_KFD_IMPORT_DMABUF, do_import_dmabuf, NULL, true },
	[0x1e] = { GP_KFD_ALLOC_QUEUE_GWS, do_alloc_queue_gws, NULL, false },
	[0x1f] = { GP_KFD_SMI_EVENTS, do_smi_events, NULL, true },
	[0x20] = { GP_KFD_SVM, do_svm, check_svm, true },
	[0x21] = { GP_KFD_SET_XNACK_MODE, do_set_xnack_mode, NULL, false },
	[0x22] = { GP_KFD_CRIU, do_criu, NULL, false },
	[0x23] = { GP_KFD_AVAILABLE_MEMORY, do_available_memory, NULL, false },
	[0x24] = { GP_KFD_EXPORT_DMABUF, do_export_dmabuf, NULL, true },
	[0x25] = { GP_KFD_RUNTIME_ENABLE, do_runtime_enable, NULL, true },
	[0x26] = { GP_KFD_DBG_TRAP, do_dbg_trap, NULL, true },
};

/* The ioctls of gpreempt's series. */
static const struct ioctl *find_of_series(const struct emu_config *c, uint32_t nr)
{
	static const struct ioctl preempt = { GP_KFD_PREEMPT, do_preempt, emu_preempt_check, true };
	static const struct ioctl aliases[] = {
		{ GP_KFD_PREEMPT_QUEUE, do_preempt_queue, NULL, false },
		{ GP_KFD_RESUME_QUEUE, do_resume_queue, NULL, false },
	};

	switch (nr) {
	case _IOC_NR(GP_KFD_PREEMPT):
		return &preempt;
	case _IOC_NR(GP_KFD_PREEMPT_QUEUE):
		return c->preempt_aliases ? &aliases[0] : NULL;
	case _IOC_NR(GP_KFD_RESUME_QUEUE):
		return c->preempt_aliases ? &aliases[1] : NULL;
	default:
		return NULL;
	}
}

static const struct ioctl *find(const struct emu_config *c, uint32_t nr)
{
	uint32_t end = c->kernel == EMU_KERNEL_6_1 ? END_6_1 : END_6_12;

	if (nr && nr < end)
		return &ioctls[nr];
	return c->kernel == EMU_KERNEL_GPREEMPT ? find_of_series(c, nr) : NULL;
}

/* Faults on demand. */
static int injected(struct emu_call *call, const struct ioctl *io)
{
	const struct emu_faults *faults = &call->m->config.faults;

	if (emu_chance(call->m, faults->ioctl_eintr))
		return -EINTR;
	if (io->allocates && emu_chance(call->m, faults->ioctl_enomem))
		return -ENOMEM;
	return 0;
}

int emu_kfd_ioctl(struct emu_call *call, const struct emu_file *f, uint32_t cmd, uint64_t arg)
{
	const struct ioctl *io = find(&call->m->config, _IOC_NR(cmd));
	uint32_t size = _IOC_SIZE(cmd);
	union arguments args;
	int result, err;

	if (!io)
		return -ENOTTY;
	/* A child inherits the file of its parent, but may not use it. */
	if (f->process != call->process)
		return -EBADF;
	if (!io->run)
		return -EINVAL;
	if (io->cmd == GP_KFD_CRIU && !emu_may_checkpoint(call))
		return -EACCES;
	call->file = f->id;
	memset(&args, 0, size > _IOC_SIZE(io->cmd) ? size : _IOC_SIZE(io->cmd));
	/* The direction is that of our table, not the caller's. */
	if (_IOC_DIR(io->cmd) & _IOC_WRITE) {
		err = emu_copy_from_user(call, &args, arg, size);
		if (err)
			return err;
	}
	err = io->check ? io->check(&args, size) : 0;
	if (err)
		return err;
	result = injected(call, io);
	if (!result)
		result = io->run(call, &args);
	if (result == -ECONNRESET || !(_IOC_DIR(io->cmd) & _IOC_READ))
		return result;
	err = emu_reply_to_user(call, arg, &args, size);
	return err ? err : result;
}
