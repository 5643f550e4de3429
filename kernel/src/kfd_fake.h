/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A GPU that is not there. Everything above the hardware is KFD's own: queues
 * are created, mapped, evicted and preempted by the device queue manager, and
 * what it tells the firmware is kept beside what it believes.
 */
#ifndef KFD_FAKE_H_
#define KFD_FAKE_H_

#include "kfd_device_queue_manager.h"
#include "kfd_kernel_queue.h"
#include "kfd_mqd_manager.h"
#include "kfd_priv.h"

#include "amdgpu_object.h"
#include "amdgpu_reset.h"

enum kfd_fake_scheduler {
	KFD_FAKE_HWS,
	KFD_FAKE_MES,
	KFD_FAKE_NO_HWS,
	KFD_FAKE_SCHEDULERS
};

/* Failures on demand, as often as the counter of each says. */
enum kfd_fake_failure {
	KFD_FAKE_UNMAP,		/* the hardware does not stop a queue */
	KFD_FAKE_MAP,		/* it does not start one */
	KFD_FAKE_FAILURES
};

/* Stands for the memory queue descriptor. */
struct kfd_fake_mqd {
	struct kfd_mem_obj mem;
	bool is_mapped;
};

struct kfd_fake {
	enum kfd_fake_scheduler scheduler;
	char name[24];
	struct amdgpu_device *adev;
	struct amdgpu_reset_domain reset_domain;
	struct device *dev;
	struct kfd_dev kfd;
	struct kfd_node node;
	struct device_queue_manager dqm;
	struct mqd_manager mqd_mgr;
	struct kfd2kgd_calls kfd2kgd;

	/* For a queue's process: a page table and doorbells that nobody looks at */
	struct drm_file drm_file;
	struct amdgpu_fpriv fpriv;
	struct amdgpu_task_info task_info;
	struct amdgpu_bo_va ring_va;
	struct amdgpu_bo_va_mapping ring_mapping;
	struct amdgpu_bo_va_mapping pointers_mapping;
	struct amdgpu_bo_va_mapping save_mapping;
	struct amdgpu_bo bo;
	struct ttm_resource resource;

	/* The hardware scheduler's own queue */
	struct kernel_queue hiq;
	struct queue hiq_queue;
	u32 hiq_rptr;
	u64 hiq_wptr;
	u64 hiq_doorbell;
	u64 fence;
	u64 answer;			/* that the firmware gives when a slow unmap has ended */
	u64 answer_at;			/* and when, in ns: jiffies may lag behind */
	struct delayed_work answer_work;
	u32 *hiq_ring;
	struct dqm_detect_hang_info hang_info[32];
	bool is_hung;			/* a queue; the next preemption of any of them resets it */
	u32 hung_xcc;			/* that it is on */
	bool is_stuck;			/* MES could not remove a queue */
	void *gtt;

	/* A reset of the GPU, which goes on when it is told to */
	bool is_in_reset;
	struct work_struct reset_work;
	struct completion reset_began;
	struct completion reset_goes_on;

	atomic_t fail[KFD_FAKE_FAILURES];
	atomic_t slow;			/* how many of the next unmaps take slow_ms */
	u32 slow_ms;
	atomic_t waves;			/* of each mapped queue, */
	u32 waves_xcc;			/* and the XCC that they are on */
	atomic_t runlists;		/* that the firmware was given */
	atomic_t resets;		/* of the GPU, asked for by the driver */
	atomic_t preemptions[3];	/* without a hardware scheduler, by enum kfd_preempt_type */
};

/* Called by kfd_init() and kfd_exit(), since a module has one function of each kind. */
#ifdef CONFIG_HSA_AMD_FAKE
void kfd_fake_init(void);
void kfd_fake_exit(void);
#else
static inline void kfd_fake_init(void) { }
static inline void kfd_fake_exit(void) { }
#endif

struct kfd_fake *kfd_fake_create(enum kfd_fake_scheduler scheduler, u32 gpu_id);
void kfd_fake_destroy(struct kfd_fake *fake);

/* Prepares a process for its first queue on the fake GPU. */
int kfd_fake_prepare_process(struct kfd_fake *fake, struct kfd_process_device *pdd);
struct queue *kfd_fake_create_queue(struct kfd_fake *fake, struct kfd_process *p,
				    const struct queue_properties *properties);

/* How many XCCs the GPU has from now on; -EBUSY: it has queues. */
int kfd_fake_set_xccs(struct kfd_fake *fake, u32 nr);

/* The next @nr unmaps take @ms. Without a hardware scheduler: those of single queues. */
void kfd_fake_be_slow(struct kfd_fake *fake, int nr, u32 ms);

/*
 * Resets the GPU as amdgpu does: the driver has prepared for it when this returns,
 * and goes on with kfd_fake_end_reset().
 */
int kfd_fake_begin_reset(struct kfd_fake *fake);
int kfd_fake_end_reset(struct kfd_fake *fake);

/* With the firmware's scheduler: the next run list finds that the queue does not leave. */
void kfd_fake_hang(struct kfd_fake *fake, struct queue *q, u32 xcc);

/* Whether the hardware has exactly the queues that the driver thinks are active. */
bool kfd_fake_is_consistent(struct kfd_fake *fake);

static inline bool kfd_fake_is_mapped(const struct queue *q)
{
	return container_of(q->mqd_mem_obj, struct kfd_fake_mqd, mem)->is_mapped;
}

#endif
