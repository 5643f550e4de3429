/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names what the fake GPUs use of Linux 6.12, and other versions have elsewhere.
 */

#ifndef KFD_COMPAT_H_INCLUDED
#define KFD_COMPAT_H_INCLUDED

#include <linux/cred.h>

#include "kfd_device_queue_manager.h"
#include "kfd_priv.h"

#include "amdgpu.h"

/* The structure that mqd_manager::allocate_mqd() gets */
#define kfd_mqd_owner kfd_node

/* Of the GPU with MES. Hardware of this version has none, which the driver does not look at. */
#define KFD_FAKE_MES_GC IP_VERSION(9, 4, 2)
#define KFD_FAKE_MES_VERSION 0x63

/* Runs when the driver asks for a reset of the GPU. */
static inline struct work_struct *kfd_reset_work(struct device_queue_manager *dqm)
{
	return &dqm->hw_exception_work;
}

static inline struct amdgpu_device *kfd_reset_work_to_adev(struct work_struct *work)
{
	return container_of(work, struct device_queue_manager, hw_exception_work)->dev->adev;
}

/* TTM keeps objects here that are pinned. */
static inline struct list_head *kfd_pinned_objects(struct amdgpu_device *adev)
{
	return &adev->mman.bdev.pinned;
}

/* A process that did not open the device has none yet. */
static inline void kfd_give_pasid(struct kfd_process_device *pdd)
{
	if (!pdd->process->pasid)
		pdd->process->pasid = 1;
}

/* The last argument of kgd2kfd_suspend() and kgd2kfd_resume(): with the processes. */
#define KFD_WITH_PROCESSES false

/* The caller's reference to the credentials goes with the reversal. */
static inline const struct cred *kfd_override_creds(struct cred *cred)
{
	const struct cred *old = override_creds(cred);

	put_cred(cred);
	return old;
}

static inline void kfd_revert_creds(const struct cred *old)
{
	revert_creds(old);
}

/* No process holds a profiler. */
static inline void kfd_init_profiler_lock(struct kfd_dev *kfd)
{
}

#endif
