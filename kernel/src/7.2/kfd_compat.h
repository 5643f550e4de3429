/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the fake GPUs use of Linux 7.2 that other versions have elsewhere.
 */

#ifndef KFD_COMPAT_H_INCLUDED
#define KFD_COMPAT_H_INCLUDED

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

/* Where TTM keeps objects that are pinned. */
static inline struct list_head *kfd_pinned_objects(struct amdgpu_device *adev)
{
	return &adev->mman.bdev.unevictable;
}

/* A process gets one of 16 bits with the page table of a GPU, which a fake one has not. */
static inline void kfd_give_pasid(struct kfd_process_device *pdd)
{
	pdd->pasid = 1 + task_pid_nr(pdd->process->lead_thread) % 0x7fff;
}

#endif
