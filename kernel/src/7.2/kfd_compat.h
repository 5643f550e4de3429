/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names what the fake GPUs use of Linux 7.2, and other versions have elsewhere.
 */

#ifndef KFD_COMPAT_H_INCLUDED
#define KFD_COMPAT_H_INCLUDED

#include <linux/cred.h>

#include "kfd_device_queue_manager.h"
#include "kfd_priv.h"

#include "amdgpu.h"

/* The structure that mqd_manager::allocate_mqd() gets */
#define kfd_mqd_owner mqd_manager

/* Of the GPU with MES: one whose queues the driver suspends before it resets the GPU. */
#define KFD_FAKE_MES_GC IP_VERSION(11, 5, 0)
#define KFD_FAKE_MES_VERSION 0x63

/* Runs when the driver asks for a reset of the GPU. */
static inline struct work_struct *kfd_reset_work(struct device_queue_manager *dqm)
{
	return &dqm->dev->adev->kfd.reset_work;
}

static inline struct amdgpu_device *kfd_reset_work_to_adev(struct work_struct *work)
{
	return container_of(work, struct amdgpu_device, kfd.reset_work);
}

/* TTM keeps objects here that are pinned. */
static inline struct list_head *kfd_pinned_objects(struct amdgpu_device *adev)
{
	return &adev->mman.bdev.unevictable;
}

/* A process gets one of 16 bits with the page table of a GPU, which a fake one has not. */
static inline void kfd_give_pasid(struct kfd_process_device *pdd)
{
	pdd->pasid = 1 + task_pid_nr(pdd->process->lead_thread) % 0x7fff;
}

/* The last argument of kgd2kfd_suspend() and kgd2kfd_resume(): with the processes. */
#define KFD_WITH_PROCESSES true

/* The caller's reference to the credentials goes with the reversal. */
static inline const struct cred *kfd_override_creds(struct cred *cred)
{
	return override_creds(cred);
}

static inline void kfd_revert_creds(const struct cred *old)
{
	put_cred(revert_creds(old));
}

/* A process that ends gives the profiler back under it. */
static inline void kfd_init_profiler_lock(struct kfd_dev *kfd)
{
	mutex_init(&kfd->profiler_lock);
}

#endif
