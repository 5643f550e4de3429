// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fake GPUs: see kfd_fake.h.
 *
 * /sys/kernel/debug/kfd_fake has a folder for each, named after its scheduler:
 * gpu_id; state, to read; control, to write to: "present 1" or "present 0", for
 * processes that open /dev/kfd from then on; "create PID [LOGICAL_PRIORITY + 1
 * [READ_POINTER WRITE_POINTER]]", addresses in hex, which the process itself has
 * to say; "advance PID N": each of its queues that runs consumes that many
 * packets, if it has them; "hang PID ID [XCC]": a queue does not let itself be
 * preempted, and is reset then; "evict PID" and "restore PID"; "fail_unmap N" and
 * "fail_map N", for how often that goes wrong from now on; "slow N MS": the next N
 * unmaps take that long; "pause 1" and "pause 0", for the scheduler alone;
 * "suspend 1" and "suspend 0", as when the machine sleeps and wakes; "reset 1"
 * and "reset 0": a reset of the GPU begins and ends; "waves N [XCC]": each mapped
 * queue has that many there, or where it is negative nobody can say; "xccs N": the
 * GPU has that many, as long as it has no queue; "prepare PID": the process can
 * call CREATE_QUEUE, with the buffers whose addresses are below.
 */

#include <linux/debugfs.h>
#include <linux/device.h>
#include <linux/mm.h>
#include <linux/pm_runtime.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "kfd_compat.h"
#include "kfd_fake.h"
#include "kfd_sched.h"
#include "kfd_topology.h"

#include "amdgpu_amdkfd.h"
#include "amdgpu_mes.h"

/* The buffers of a queue: a page each, and one for each XCC where waves are saved. */
#define RING_ADDRESS 0x1000
#define HUNG_RING_ADDRESS 0x2000
#define POINTERS_ADDRESS 0x3000
#define SAVE_ADDRESS 0x4000
#define XCCS_MAX 8
#define HIQ_BYTES 4096
#define GTT_CHUNK 512
#define GTT_CHUNKS 256
#define FIRST_GPU_ID 0xfa00

static const char * const scheduler_names[] = {
	[KFD_FAKE_HWS] = "hws",
	[KFD_FAKE_MES] = "mes",
	[KFD_FAKE_NO_HWS] = "nohws",
};

static bool fails(struct kfd_fake *fake, enum kfd_fake_failure what)
{
	return atomic_dec_if_positive(&fake->fail[what]) >= 0;
}

/* How long the unmap takes that begins. */
static u32 take_slow_ms(struct kfd_fake *fake)
{
	return atomic_dec_if_positive(&fake->slow) >= 0 ? READ_ONCE(fake->slow_ms) : 0;
}

static void be_slow(struct kfd_fake *fake)
{
	u32 us = take_slow_ms(fake) * USEC_PER_MSEC;

	if (us)
		usleep_range(us, us + us / 4);
}

void kfd_fake_be_slow(struct kfd_fake *fake, int nr, u32 ms)
{
	WRITE_ONCE(fake->slow_ms, ms);
	atomic_set(&fake->slow, nr);
}

static struct kfd_fake_mqd *mqd_of(const struct queue *q)
{
	return container_of(q->mqd_mem_obj, struct kfd_fake_mqd, mem);
}

/*
 * The memory queue descriptors, and the hardware queues where there is no
 * hardware scheduler
 */

static struct kfd_fake *mqd_mgr_to_fake(struct mqd_manager *mm)
{
	return container_of(mm, struct kfd_fake, mqd_mgr);
}

static struct kfd_mem_obj *fake_allocate_mqd(struct kfd_mqd_owner *owner,
					     struct queue_properties *q)
{
	struct kfd_fake_mqd *mqd = kzalloc(sizeof(*mqd), GFP_KERNEL);

	return mqd ? &mqd->mem : NULL;
}

static void fake_init_mqd(struct mqd_manager *mm, void **mqd, struct kfd_mem_obj *mem,
			  u64 *gart_addr, struct queue_properties *q)
{
	*mqd = container_of(mem, struct kfd_fake_mqd, mem);
	*gart_addr = (uintptr_t)*mqd;
	q->is_active = QUEUE_IS_ACTIVE(*q);
}

static void fake_update_mqd(struct mqd_manager *mm, void *mqd, struct queue_properties *q,
			    struct mqd_update_info *minfo)
{
	q->is_active = QUEUE_IS_ACTIVE(*q);
}

static void fake_free_mqd(struct mqd_manager *mm, void *mqd, struct kfd_mem_obj *mem)
{
	kfree(container_of(mem, struct kfd_fake_mqd, mem));
}

static int fake_load_mqd(struct mqd_manager *mm, void *data, u32 pipe, u32 queue,
			 struct queue_properties *q, struct mm_struct *mms)
{
	struct kfd_fake_mqd *mqd = data;

	if (fails(mqd_mgr_to_fake(mm), KFD_FAKE_MAP))
		return -ETIME;
	WARN_ON(mqd->is_mapped);
	mqd->is_mapped = true;
	return 0;
}

static int fake_destroy_mqd(struct mqd_manager *mm, void *data, enum kfd_preempt_type type,
			    unsigned int timeout, u32 pipe, u32 queue)
{
	struct kfd_fake *fake = mqd_mgr_to_fake(mm);
	struct kfd_fake_mqd *mqd = data;

	if (fails(fake, KFD_FAKE_UNMAP))
		return -ETIME;
	be_slow(fake);
	mqd->is_mapped = false;
	atomic_inc(&fake->preemptions[type]);
	return 0;
}

static int fake_get_wave_state(struct mqd_manager *mm, void *mqd, struct queue_properties *q,
			       void __user *ctl_stack, u32 *ctl_stack_used, u32 *save_area_used)
{
	*ctl_stack_used = 0;
	*save_area_used = 0;
	return 0;
}

/* The firmware says so when a queue that was to be unmapped has not answered. */
static bool fake_check_preemption_failed(struct mqd_manager *mm, void *mqd)
{
	return mqd_mgr_to_fake(mm)->is_hung;
}

static u64 fake_mqd_stride(struct mqd_manager *mm, struct queue_properties *q)
{
	return PAGE_SIZE;
}

static int fake_show_mqd(struct seq_file *m, void *mqd)
{
	seq_hex_dump(m, "    ", DUMP_PREFIX_OFFSET, 32, 4, mqd, sizeof(struct kfd_fake_mqd), false);
	return 0;
}

/*
 * The hardware scheduler: what it is sent takes effect at once, but for unmaps that
 * are to be slow. Their queues execute nothing more, and it answers when their
 * waves are saved.
 */

static struct kfd_fake *pm_to_fake(struct packet_manager *pm)
{
	return container_of(pm, struct kfd_fake, dqm.packet_mgr);
}

static void unmap_all(struct kfd_fake *fake)
{
	struct device_process_node *cur;
	struct queue *q;

	list_for_each_entry(cur, &fake->dqm.queues, list)
		list_for_each_entry(q, &cur->qpd->queues_list, list)
			mqd_of(q)->is_mapped = false;
}

static void consume(struct kfd_fake *fake)
{
	fake->hiq_rptr = fake->hiq.pending_wptr;
}

static int fake_map_process(struct packet_manager *pm, u32 *buffer, struct qcm_process_device *qpd)
{
	return 0;
}

static int fake_map_queues(struct packet_manager *pm, u32 *buffer, struct queue *q, bool is_static)
{
	mqd_of(q)->is_mapped = true;
	return 0;
}

static int fake_runlist(struct packet_manager *pm, u32 *buffer, u64 ib, size_t size, bool chain)
{
	struct kfd_fake *fake = pm_to_fake(pm);

	if (fails(fake, KFD_FAKE_MAP)) {
		unmap_all(fake);
		return -ENOMEM;
	}
	consume(fake);
	atomic_inc(&fake->runlists);
	return 0;
}

static int fake_unmap_queues(struct packet_manager *pm, u32 *buffer,
			     enum kfd_unmap_queues_filter mode, u32 param, bool reset)
{
	return 0;
}

static void give_answer(struct work_struct *work)
{
	struct kfd_fake *fake = container_of(to_delayed_work(work), struct kfd_fake, answer_work);

	if (ktime_get_ns() < READ_ONCE(fake->answer_at))
		schedule_delayed_work(&fake->answer_work, 1);
	else
		WRITE_ONCE(fake->fence, READ_ONCE(fake->answer));
}

/*
 * It answers when all queues are off; where it fails, it does not answer. Of two
 * questions it answers the second one, as both have the same place for it.
 */
static int fake_query_status(struct packet_manager *pm, u32 *buffer, u64 address, u64 value)
{
	struct kfd_fake *fake = pm_to_fake(pm);
	u32 slow_ms = take_slow_ms(fake);

	consume(fake);
	cancel_delayed_work_sync(&fake->answer_work);
	if (fails(fake, KFD_FAKE_UNMAP))
		return 0;
	unmap_all(fake);
	WRITE_ONCE(fake->answer, value);
	WRITE_ONCE(fake->answer_at, ktime_get_ns() + slow_ms * NSEC_PER_MSEC);
	if (slow_ms)
		schedule_delayed_work(&fake->answer_work, msecs_to_jiffies(slow_ms));
	else
		WRITE_ONCE(fake->fence, value);
	return 0;
}

static const struct packet_manager_funcs fake_pm_funcs = {
	.map_process		= fake_map_process,
	.runlist		= fake_runlist,
	.map_queues		= fake_map_queues,
	.unmap_queues		= fake_unmap_queues,
	.query_status		= fake_query_status,
	.map_process_size	= 32,
	.runlist_size		= 16,
	.map_queues_size	= 32,
	.unmap_queues_size	= 16,
	.query_status_size	= 16,
};

static void start_hws(struct kfd_fake *fake)
{
	struct packet_manager *pm = &fake->dqm.packet_mgr;

	fake->hiq_queue.properties.queue_size = HIQ_BYTES;
	fake->hiq_queue.properties.doorbell_ptr = (void __iomem *)&fake->hiq_doorbell;
	fake->hiq.dev = &fake->node;
	fake->hiq.queue = &fake->hiq_queue;
	fake->hiq.pq_kernel_addr = fake->hiq_ring;
	fake->hiq.rptr_kernel = &fake->hiq_rptr;
	fake->hiq.wptr64_kernel = &fake->hiq_wptr;

	mutex_init(&pm->lock);
	pm->dqm = &fake->dqm;
	pm->pmf = &fake_pm_funcs;
	pm->priv_queue = &fake->hiq;
	fake->dqm.detect_hang_info = fake->hang_info;
	fake->dqm.detect_hang_info_size = sizeof(fake->hang_info);
	fake->dqm.fence_addr = &fake->fence;
	fake->dqm.fence_gpu_addr = (uintptr_t)&fake->fence;
}

/*
 * MES
 */

static struct kfd_fake *mes_to_fake(struct amdgpu_mes *mes)
{
	return container_of(mes->adev->reset_domain, struct kfd_fake, reset_domain);
}

static int fake_add_hw_queue(struct amdgpu_mes *mes, struct mes_add_queue_input *input)
{
	struct kfd_fake_mqd *mqd = (void *)(uintptr_t)input->mqd_addr;

	if (fails(mes_to_fake(mes), KFD_FAKE_MAP))
		return -ETIMEDOUT;
	WARN_ON(mqd->is_mapped);
	mqd->is_mapped = true;
	return 0;
}

static int fake_remove_hw_queue(struct amdgpu_mes *mes, struct mes_remove_queue_input *input)
{
	/* MES knows the gang, which has only this queue. */
	struct queue *q = (void *)(uintptr_t)input->gang_context_addr;

	if (fails(mes_to_fake(mes), KFD_FAKE_UNMAP)) {
		mes_to_fake(mes)->is_stuck = true;
		return -ETIMEDOUT;
	}
	WARN_ON(!mqd_of(q)->is_mapped);
	be_slow(mes_to_fake(mes));
	mqd_of(q)->is_mapped = false;
	return 0;
}

/* A queue that it could not remove, it cannot suspend either. */
static int fake_suspend_gang(struct amdgpu_mes *mes, struct mes_suspend_gang_input *input)
{
	return xchg(&mes_to_fake(mes)->is_stuck, false) ? -ETIMEDOUT : 0;
}

static int fake_resume_gang(struct amdgpu_mes *mes, struct mes_resume_gang_input *input)
{
	return 0;
}

static int fake_misc_op(struct amdgpu_mes *mes, struct mes_misc_op_input *input)
{
	return 0;
}

static const struct amdgpu_mes_funcs fake_mes_funcs = {
	.add_hw_queue = fake_add_hw_queue,
	.remove_hw_queue = fake_remove_hw_queue,
	.suspend_gang = fake_suspend_gang,
	.resume_gang = fake_resume_gang,
	.misc_op = fake_misc_op,
};

/*
 * Functions of the rest of the GPU that the driver calls
 */

static struct kfd_fake *adev_to_fake(struct amdgpu_device *adev)
{
	return container_of(adev->reset_domain, struct kfd_fake, reset_domain);
}

static void fake_get_cu_occupancy(struct amdgpu_device *adev, struct kfd_cu_occupancy *occupancy,
				  int *max_waves_per_cu, u32 inst)
{
	struct kfd_fake *fake = adev_to_fake(adev);
	struct device_process_node *cur;
	struct queue *q;
	int i = 0;

	*max_waves_per_cu = 32;
	if (inst != READ_ONCE(fake->waves_xcc))
		return;
	dqm_lock(&fake->dqm);
	list_for_each_entry(cur, &fake->dqm.queues, list) {
		list_for_each_entry(q, &cur->qpd->queues_list, list) {
			if (!mqd_of(q)->is_mapped || i == AMDGPU_MAX_QUEUES)
				continue;
			occupancy[i].doorbell_off = q->properties.doorbell_off;
			occupancy[i++].wave_cnt = atomic_read(&fake->waves);
		}
	}
	dqm_unlock(&fake->dqm);
}

/* A queue that hangs is known by its ring, and is on the first of the hardware's of an XCC. */
static u64 fake_hqd_get_pq_addr(struct amdgpu_device *adev, u32 pipe, u32 queue, u32 inst)
{
	struct kfd_fake *fake = adev_to_fake(adev);

	return fake->is_hung && inst == fake->hung_xcc && !pipe && !queue ? HUNG_RING_ADDRESS : 0;
}

static u64 fake_hqd_reset(struct amdgpu_device *adev, u32 pipe, u32 queue, u32 inst,
			  unsigned int timeout)
{
	struct kfd_fake *fake = adev_to_fake(adev);

	if (inst != fake->hung_xcc)
		return 0;
	fake->is_hung = false;
	return HUNG_RING_ADDRESS;
}

static u32 fake_set_debug_trap(struct amdgpu_device *adev, bool keep, u32 vmid)
{
	return 0;
}

static u32 fake_set_wave_launch_mode(struct amdgpu_device *adev, u8 mode, u32 vmid)
{
	return 0;
}

static void fake_program_sh_mem_settings(struct amdgpu_device *adev, u32 vmid, u32 config,
					 u32 ape1_base, u32 ape1_limit, u32 bases, u32 inst)
{
}

static int fake_set_pasid_vmid_mapping(struct amdgpu_device *adev, u32 pasid, unsigned int vmid,
				       u32 inst)
{
	return 0;
}

static void fake_set_page_table_base(struct amdgpu_device *adev, u32 vmid, u64 base)
{
}

static void fake_gpu_reset(struct work_struct *work)
{
	struct kfd_fake *fake = adev_to_fake(kfd_reset_work_to_adev(work));

	atomic_inc(&fake->resets);
}

/*
 * A reset of the GPU, and a machine that sleeps
 */

/* What the hardware has is lost, also where it does not answer. */
static int fake_stop(struct device_queue_manager *dqm)
{
	struct kfd_fake *fake = container_of(dqm, struct kfd_fake, dqm);

	dqm_lock(dqm);
	dqm->sched_running = false;
	unmap_all(fake);
	if (fake->scheduler == KFD_FAKE_HWS)
		pm_release_ib(&dqm->packet_mgr);
	dqm_unlock(dqm);
	return 0;
}

static int fake_start(struct device_queue_manager *dqm)
{
	struct kfd_fake *fake = container_of(dqm, struct kfd_fake, dqm);

	dqm_lock(dqm);
	fake->is_hung = false;
	fake->is_stuck = false;
	dqm->sched_running = true;
	dqm_unlock(dqm);
	return 0;
}

/* In the order of amdgpu_device_gpu_recover(), and where that runs */
static void reset_gpu(struct work_struct *work)
{
	struct kfd_fake *fake = container_of(work, struct kfd_fake, reset_work);

	atomic_set(&fake->reset_domain.in_gpu_reset, 1);
	down_write(&fake->reset_domain.sem);
	kgd2kfd_pre_reset(&fake->kfd, NULL);
	complete(&fake->reset_began);
	wait_for_completion(&fake->reset_goes_on);
	WARN_ON(kgd2kfd_post_reset(&fake->kfd));
	atomic_set(&fake->reset_domain.in_gpu_reset, 0);
	up_write(&fake->reset_domain.sem);
}

int kfd_fake_begin_reset(struct kfd_fake *fake)
{
	if (xchg(&fake->is_in_reset, true))
		return -EBUSY;
	reinit_completion(&fake->reset_began);
	reinit_completion(&fake->reset_goes_on);
	queue_work(fake->reset_domain.wq, &fake->reset_work);
	wait_for_completion(&fake->reset_began);
	return 0;
}

int kfd_fake_end_reset(struct kfd_fake *fake)
{
	if (!READ_ONCE(fake->is_in_reset))
		return -EINVAL;
	complete(&fake->reset_goes_on);
	flush_work(&fake->reset_work);
	WRITE_ONCE(fake->is_in_reset, false);
	return 0;
}

static int suspend_or_resume(struct kfd_fake *fake, bool suspend)
{
	if (!suspend)
		return kgd2kfd_resume(&fake->kfd, KFD_WITH_PROCESSES);
	kgd2kfd_suspend(&fake->kfd, KFD_WITH_PROCESSES);
	return 0;
}

static void init_gpu(struct kfd_fake *fake)
{
	struct amdgpu_device *adev = fake->adev;

	init_rwsem(&fake->reset_domain.sem);
	INIT_WORK(&fake->reset_work, reset_gpu);
	init_completion(&fake->reset_began);
	init_completion(&fake->reset_goes_on);
	INIT_DELAYED_WORK(&fake->answer_work, give_answer);
	adev->dev = fake->dev;
	adev->ddev.dev = fake->dev;
	adev->ip_versions[GC_HWIP][0] = fake->scheduler == KFD_FAKE_MES ? KFD_FAKE_MES_GC :
									  IP_VERSION(9, 4, 2);
	adev->asic_type = CHIP_ALDEBARAN;
	adev->reset_domain = &fake->reset_domain;
	adev->gmc.xgmi.connected_to_cpu = true; /* its host data path needs no flush */
	adev->gfx.mec.num_pipe_per_mec = 4;
	adev->gfx.mec.num_queue_per_pipe = 8;
	xa_init_flags(&adev->vm_manager.pasids, XA_FLAGS_LOCK_IRQ);
	adev->mes.adev = adev;
	adev->mes.funcs = &fake_mes_funcs;
	adev->mes.sched_version = KFD_FAKE_MES_VERSION;
	mutex_init(&adev->mes.mutex_hidden);
	spin_lock_init(&adev->mman.bdev.lru_lock);
	INIT_LIST_HEAD(kfd_pinned_objects(adev));

	fake->kfd2kgd.hqd_get_pq_addr = fake_hqd_get_pq_addr;
	fake->kfd2kgd.hqd_reset = fake_hqd_reset;
	fake->kfd2kgd.enable_debug_trap = fake_set_debug_trap;
	fake->kfd2kgd.disable_debug_trap = fake_set_debug_trap;
	fake->kfd2kgd.set_wave_launch_mode = fake_set_wave_launch_mode;
	fake->kfd2kgd.program_sh_mem_settings = fake_program_sh_mem_settings;
	fake->kfd2kgd.set_pasid_vmid_mapping = fake_set_pasid_vmid_mapping;
	fake->kfd2kgd.set_vm_context_page_table_base = fake_set_page_table_base;
}

/* A single buffer object stands for all that a process and its queues have. */
static void init_bo(struct kfd_fake *fake)
{
	struct ttm_buffer_object *tbo = &fake->bo.tbo;

	kref_init(&tbo->kref);
	kref_init(&tbo->base.refcount);
	dma_resv_init(&tbo->base._resv);
	tbo->base.resv = &tbo->base._resv;
	tbo->bdev = &fake->adev->mman.bdev;
	tbo->type = ttm_bo_type_kernel;
	tbo->pin_count = 1;
	tbo->resource = &fake->resource;
	fake->resource.bo = tbo;
	fake->resource.mem_type = AMDGPU_PL_DOORBELL;
	INIT_LIST_HEAD(&fake->resource.lru.link);
}

static void init_mapping(struct kfd_fake *fake, struct amdgpu_bo_va_mapping *mapping, u64 address)
{
	mapping->bo_va = &fake->ring_va;
	mapping->start = address >> AMDGPU_GPU_PAGE_SHIFT;
	mapping->last = mapping->start;
	mapping->__subtree_last = mapping->last;
}

/* The tree that the driver looks in: the pointers, with the ring below and waves above. */
static void init_mappings(struct kfd_fake *fake)
{
	struct rb_root_cached *root = &fake->fpriv.vm.va;
	struct rb_node *top = &fake->pointers_mapping.rb;

	init_mapping(fake, &fake->ring_mapping, RING_ADDRESS);
	init_mapping(fake, &fake->pointers_mapping, POINTERS_ADDRESS);
	init_mapping(fake, &fake->save_mapping, SAVE_ADDRESS);
	fake->pointers_mapping.__subtree_last = fake->save_mapping.last;
	rb_link_node(top, NULL, &root->rb_root.rb_node);
	rb_insert_color_cached(top, root, true);
	rb_link_node(&fake->ring_mapping.rb, top, &top->rb_left);
	rb_insert_color_cached(&fake->ring_mapping.rb, root, true);
	rb_link_node(&fake->save_mapping.rb, top, &top->rb_right);
	rb_insert_color_cached(&fake->save_mapping.rb, root, false);
}

int kfd_fake_set_xccs(struct kfd_fake *fake, u32 nr)
{
	int r = -EBUSY;

	if (!nr || nr > XCCS_MAX)
		return -EINVAL;

	dqm_lock(&fake->dqm);
	if (list_empty(&fake->dqm.queues)) {
		fake->node.xcc_mask = BIT(nr) - 1;
		fake->save_mapping.last = fake->save_mapping.start + nr - 1;
		fake->save_mapping.__subtree_last = fake->save_mapping.last;
		fake->pointers_mapping.__subtree_last = fake->save_mapping.last;
		r = 0;
	}
	dqm_unlock(&fake->dqm);

	return r;
}

static void init_vm(struct kfd_fake *fake)
{
	struct amdgpu_vm *vm = &fake->fpriv.vm;

	vm->root.bo = &fake->bo;
	vm->is_compute_context = true;
	vm->last_tlb_flush = dma_fence_get_stub();
	/* The end of a process is reported with it; this reference is never given back. */
	kref_init(&fake->task_info.refcount);
	vm->task_info = &fake->task_info;
	fake->ring_va.base.bo = &fake->bo;
	fake->ring_va.base.vm = vm;
	fake->bo.vm_bo = &fake->ring_va.base;
	init_mappings(fake);
	fake->drm_file.driver_priv = &fake->fpriv;
}

static struct amdgpu_bo *get_pinned_bo(struct kfd_fake *fake)
{
	int r = amdgpu_bo_reserve(&fake->bo, true);

	WARN_ON(r);
	ttm_bo_pin(&fake->bo.tbo);
	amdgpu_bo_unreserve(&fake->bo);
	return amdgpu_bo_ref(&fake->bo);
}

static void init_kfd(struct kfd_fake *fake, u32 gpu_id)
{
	struct kfd_dev *kfd = &fake->kfd;
	struct kfd_node *node = &fake->node;

	kfd->adev = fake->adev;
	kfd->kfd2kgd = &fake->kfd2kgd;
	kfd->cwsr_enabled = true;
	kfd->init_complete = true;
	kfd->device_info.doorbell_size = 8;
	kfd->device_info.max_no_of_hqd = 24;
	kfd->shared_resources.enable_mes = fake->scheduler == KFD_FAKE_MES;
	kfd->shared_resources.num_pipe_per_mec = 4;
	kfd->shared_resources.num_queue_per_pipe = 8;
	bitmap_set(kfd->shared_resources.cp_queue_bitmap, 0, 32);
	kfd->gtt_start_cpu_ptr = fake->gtt;
	kfd->gtt_start_gpu_addr = (uintptr_t)fake->gtt;
	kfd->gtt_sa_chunk_size = GTT_CHUNK;
	kfd->gtt_sa_num_of_chunks = GTT_CHUNKS;
	mutex_init(&kfd->gtt_sa_lock);
	kfd_init_profiler_lock(kfd);
	kfd->nodes[0] = node;
	kfd->num_nodes = 1;

	node->adev = fake->adev;
	node->kfd = kfd;
	node->kfd2kgd = &fake->kfd2kgd;
	node->id = gpu_id;
	node->xcc_mask = 1;
	node->vm_info.first_vmid_kfd = 8;
	node->vm_info.last_vmid_kfd = 15;
	node->vm_info.vmid_num_kfd = 8;
	node->max_proc_per_quantum = 8;
	node->dqm = &fake->dqm;
	INIT_LIST_HEAD(&node->smi_clients);
	spin_lock_init(&node->smi_lock);
	spin_lock_init(&node->watch_points_lock);
}

static int init_dqm(struct kfd_fake *fake)
{
	struct device_queue_manager *dqm = &fake->dqm;
	struct mqd_manager *mm = &fake->mqd_mgr;
	int i, r;

	mm->dev = &fake->node;
	mm->allocate_mqd = fake_allocate_mqd;
	mm->init_mqd = fake_init_mqd;
	mm->load_mqd = fake_load_mqd;
	mm->update_mqd = fake_update_mqd;
	mm->destroy_mqd = fake_destroy_mqd;
	mm->free_mqd = fake_free_mqd;
	mm->get_wave_state = fake_get_wave_state;
	mm->check_preemption_failed = fake_check_preemption_failed;
	mm->mqd_stride = fake_mqd_stride;
	mm->debugfs_show_mqd = fake_show_mqd;
	mm->mqd_size = sizeof(struct kfd_fake_mqd);

	dqm->dev = &fake->node;
	dqm->sched_policy = fake->scheduler == KFD_FAKE_NO_HWS ? KFD_SCHED_POLICY_NO_HWS :
								 KFD_SCHED_POLICY_HWS;
	r = kfd_dqm_init_ops(dqm);
	if (r)
		return r;
	device_queue_manager_init_v9(&dqm->asic_ops);
	for (i = 0; i < KFD_MQD_TYPE_MAX; i++)
		dqm->mqd_mgrs[i] = mm;
	r = dqm->ops.initialize(dqm);
	if (r)
		return r;

	dqm->ops.stop = fake_stop;
	dqm->ops.start = fake_start;
	INIT_WORK(kfd_reset_work(dqm), fake_gpu_reset);
	init_waitqueue_head(&dqm->destroy_wait);
	if (fake->scheduler == KFD_FAKE_HWS)
		start_hws(fake);
	dqm->sched_running = true;
	return 0;
}

struct kfd_fake *kfd_fake_create(enum kfd_fake_scheduler scheduler, u32 gpu_id)
{
	struct kfd_fake *fake = kvzalloc(sizeof(*fake), GFP_KERNEL);

	if (!fake)
		return NULL;

	fake->scheduler = scheduler;
	fake->adev = kvzalloc(sizeof(*fake->adev), GFP_KERNEL);
	fake->gtt = kvzalloc(GTT_CHUNK * GTT_CHUNKS, GFP_KERNEL);
	fake->hiq_ring = kzalloc(HIQ_BYTES, GFP_KERNEL);
	fake->kfd.gtt_sa_bitmap = bitmap_zalloc(GTT_CHUNKS, GFP_KERNEL);
	snprintf(fake->name, sizeof(fake->name), "kfd_fake_%x", gpu_id);
	fake->dev = root_device_register(fake->name);
	fake->reset_domain.wq = alloc_ordered_workqueue("%s", 0, fake->name);
	if (!fake->adev || !fake->gtt || !fake->hiq_ring || !fake->kfd.gtt_sa_bitmap ||
	    IS_ERR(fake->dev) || !fake->reset_domain.wq)
		goto fail;

	pm_runtime_set_active(fake->dev);
	pm_runtime_enable(fake->dev);
	init_gpu(fake);
	init_bo(fake);
	init_vm(fake);
	init_kfd(fake, gpu_id);
	if (!init_dqm(fake)) {
		kfd_sched_init(&fake->node);
		return fake;
	}

fail:
	kfd_fake_destroy(fake);
	return NULL;
}

void kfd_fake_destroy(struct kfd_fake *fake)
{
	kfd_sched_fini(&fake->node);
	if (fake->dqm.sched_running) {
		flush_work(kfd_reset_work(&fake->dqm));
		cancel_delayed_work_sync(&fake->answer_work);
	}
	if (fake->dqm.sched_running && fake->scheduler == KFD_FAKE_HWS)
		pm_release_ib(&fake->dqm.packet_mgr);
	kfree(fake->dqm.allocated_queues);
	dma_fence_put(fake->fpriv.vm.last_tlb_flush);
	if (fake->reset_domain.wq)
		destroy_workqueue(fake->reset_domain.wq);
	if (!IS_ERR_OR_NULL(fake->dev)) {
		pm_runtime_disable(fake->dev);
		root_device_unregister(fake->dev);
	}
	bitmap_free(fake->kfd.gtt_sa_bitmap);
	kfree(fake->hiq_ring);
	kvfree(fake->gtt);
	kvfree(fake->adev);
	kvfree(fake);
}

int kfd_fake_prepare_process(struct kfd_fake *fake, struct kfd_process_device *pdd)
{
	if (pdd->drm_priv)
		return 0;

	pdd->qpd.doorbell_bitmap = bitmap_zalloc(KFD_MAX_NUM_OF_QUEUES_PER_PROCESS, GFP_KERNEL);
	if (!pdd->qpd.doorbell_bitmap)
		return -ENOMEM;
	pdd->qpd.proc_doorbells = get_pinned_bo(fake);
	if (fake->scheduler == KFD_FAKE_MES) {
		pdd->proc_ctx_bo = get_pinned_bo(fake);
		pdd->proc_ctx_cpu_ptr = fake->gtt;
	}
	kfd_give_pasid(pdd);
	pdd->drm_priv = &fake->drm_file;
	return 0;
}

/* As pqm_create_queue(), without the buffers that nobody would look at. */
struct queue *kfd_fake_create_queue(struct kfd_fake *fake, struct kfd_process *p,
				    const struct queue_properties *properties)
{
	struct kfd_process_device *pdd = kfd_get_process_device_data(&fake->node, p);
	struct device_queue_manager *dqm = &fake->dqm;
	struct process_queue_node *pqn;
	struct queue *q;
	u32 id;
	int r;

	r = pdd ? kfd_fake_prepare_process(fake, pdd) : -ENODEV;
	if (r)
		return ERR_PTR(r);

	id = find_first_zero_bit(p->pqm.queue_slot_bitmap, KFD_MAX_NUM_OF_QUEUES_PER_PROCESS);
	if (id >= KFD_MAX_NUM_OF_QUEUES_PER_PROCESS)
		return ERR_PTR(-ENOSPC);

	pqn = kzalloc(sizeof(*pqn), GFP_KERNEL);
	if (!pqn)
		return ERR_PTR(-ENOMEM);
	r = init_queue(&q, properties);
	if (r)
		goto free_pqn;

	q->properties.queue_id = id;
	q->properties.exception_status = KFD_EC_MASK(EC_QUEUE_NEW);
	q->device = &fake->node;
	q->process = p;
	if (fake->scheduler == KFD_FAKE_MES) {
		q->gang_ctx_gpu_addr = (uintptr_t)q;
		q->gang_ctx_bo = get_pinned_bo(fake);
		q->wptr_bo_gart = get_pinned_bo(fake);
		q->properties.wptr_bo = amdgpu_bo_ref(&fake->bo);
	}
	if (list_empty(&pdd->qpd.queues_list))
		dqm->ops.register_process(dqm, &pdd->qpd);
	r = dqm->ops.create_queue(dqm, q, &pdd->qpd, NULL, NULL, NULL);
	if (r)
		goto unregister;

	set_bit(id, p->pqm.queue_slot_bitmap);
	pqn->q = q;
	list_add(&pqn->process_queue_list, &p->pqm.queues);
	kfd_sched_add_queue(q);
	return q;

unregister:
	if (list_empty(&pdd->qpd.queues_list))
		dqm->ops.unregister_process(dqm, &pdd->qpd);
	uninit_queue(q);
free_pqn:
	kfree(pqn);
	return ERR_PTR(r);
}

void kfd_fake_hang(struct kfd_fake *fake, struct queue *q, u32 xcc)
{
	dqm_lock(&fake->dqm);
	q->properties.queue_address = HUNG_RING_ADDRESS;
	fake->hung_xcc = xcc;
	fake->is_hung = true;
	dqm_unlock(&fake->dqm);
}

bool kfd_fake_is_consistent(struct kfd_fake *fake)
{
	struct device_queue_manager *dqm = &fake->dqm;
	struct device_process_node *cur;
	unsigned int active = 0;
	bool is_consistent = true;
	struct queue *q;

	dqm_lock(dqm);
	list_for_each_entry(cur, &dqm->queues, list) {
		list_for_each_entry(q, &cur->qpd->queues_list, list) {
			struct queue_properties *p = &q->properties;
			bool is_held = q->is_preempted_by_owner ||
				       q->is_preempted_by_scheduler ||
				       !list_empty(&q->preempt_holds);

			active += p->is_active;
			is_consistent &= p->is_active == mqd_of(q)->is_mapped &&
					 p->is_active == QUEUE_IS_ACTIVE(*p) &&
					 p->is_preempted == is_held &&
					 list_empty(&q->preempt_link);
		}
	}
	is_consistent &= active == dqm->active_queue_count;
	dqm_unlock(dqm);

	return is_consistent;
}

/*
 * debugfs
 */

static struct kfd_process *lock_process(int nr)
{
	struct pid *pid = find_get_pid(nr);
	struct kfd_process *p = pid ? kfd_lookup_process_by_pid(pid) : NULL;

	put_pid(pid);
	if (p)
		mutex_lock(&p->mutex);
	return p;
}

static void unlock_process(struct kfd_process *p)
{
	mutex_unlock(&p->mutex);
	kfd_unref_process(p);
}

static int do_create(struct kfd_fake *fake, struct kfd_process *p, u32 logical_priority,
		     u64 rptr, u64 wptr)
{
	struct queue_properties properties = {
		.type = KFD_QUEUE_TYPE_COMPUTE,
		.format = KFD_QUEUE_FORMAT_AQL,
		.queue_address = RING_ADDRESS,
		.queue_size = AMDGPU_GPU_PAGE_SIZE,
		.queue_percent = 100,
		.priority = 7,
		.logical_priority = kfd_granted_priority(logical_priority),
		.read_ptr = u64_to_user_ptr(rptr),
		.write_ptr = u64_to_user_ptr(wptr),
	};
	struct queue *q;

	/* The device queue manager wants the process itself to create its queues. */
	if (p->lead_thread != current->group_leader)
		return -EPERM;

	q = kfd_fake_create_queue(fake, p, &properties);
	if (IS_ERR(q))
		return PTR_ERR(q);
	kfd_procfs_add_queue(q);
	return 0;
}

static int advance_ring(struct queue *q, u64 packets)
{
	struct task_struct *task = q->process->lead_thread;
	unsigned long rptr_at = (uintptr_t)q->properties.read_ptr;
	u64 rptr, wptr;

	if (access_process_vm(task, rptr_at, &rptr, sizeof(rptr), 0) != sizeof(rptr) ||
	    access_process_vm(task, (uintptr_t)q->properties.write_ptr, &wptr, sizeof(wptr), 0) !=
		    sizeof(wptr))
		return -EFAULT;

	rptr += min(packets, wptr - rptr);
	return access_process_vm(task, rptr_at, &rptr, sizeof(rptr), FOLL_WRITE) ==
	       sizeof(rptr) ? 0 : -EFAULT;
}

static int do_advance(struct kfd_fake *fake, struct kfd_process *p, u32 packets)
{
	struct process_queue_node *pqn;
	int r = 0;

	list_for_each_entry(pqn, &p->pqm.queues, process_queue_list)
		if (pqn->q && pqn->q->device == &fake->node && kfd_fake_is_mapped(pqn->q) && !r)
			r = advance_ring(pqn->q, packets);

	return r;
}

static int do_hang(struct kfd_fake *fake, struct kfd_process *p, u32 id, u32 xcc)
{
	struct queue *q = pqm_get_user_queue(&p->pqm, id);

	if (!q || fake->scheduler != KFD_FAKE_HWS)
		return -EINVAL;
	kfd_fake_hang(fake, q, xcc);
	return 0;
}

static int do_prepare(struct kfd_fake *fake, struct kfd_process *p)
{
	struct kfd_process_device *pdd = kfd_get_process_device_data(&fake->node, p);

	return pdd ? kfd_fake_prepare_process(fake, pdd) : -ENODEV;
}

static int do_evict(struct kfd_fake *fake, struct kfd_process *p, bool evict)
{
	struct kfd_process_device *pdd = kfd_get_process_device_data(&fake->node, p);

	if (!pdd || (!evict && !pdd->qpd.evicted))
		return -EINVAL;
	return evict ? fake->dqm.ops.evict_process_queues(&fake->dqm, &pdd->qpd) :
		       fake->dqm.ops.restore_process_queues(&fake->dqm, &pdd->qpd);
}

/* Commands about the GPU; 1: it is none of them. */
static int do_gpu_command(struct kfd_fake *fake, const char *verb, int nr, u32 value)
{
	if (!strcmp(verb, "present"))
		return kfd_topology_set_fake(fake->node.id, nr ? &fake->node : NULL);
	if (!strcmp(verb, "xccs"))
		return kfd_fake_set_xccs(fake, nr);
	if (!strcmp(verb, "reset"))
		return nr ? kfd_fake_begin_reset(fake) : kfd_fake_end_reset(fake);
	if (!strcmp(verb, "suspend"))
		return suspend_or_resume(fake, nr);

	if (!strcmp(verb, "fail_unmap")) {
		atomic_set(&fake->fail[KFD_FAKE_UNMAP], nr);
	} else if (!strcmp(verb, "fail_map")) {
		atomic_set(&fake->fail[KFD_FAKE_MAP], nr);
	} else if (!strcmp(verb, "slow")) {
		kfd_fake_be_slow(fake, nr, value);
	} else if (!strcmp(verb, "waves")) {
		atomic_set(&fake->waves, nr);
		WRITE_ONCE(fake->waves_xcc, value);
		WRITE_ONCE(fake->kfd2kgd.get_cu_occupancy, nr < 0 ? NULL : fake_get_cu_occupancy);
	} else if (!strcmp(verb, "pause")) {
		if (nr)
			kfd_sched_pause(&fake->node);
		else
			kfd_sched_continue(&fake->node);
	} else {
		return 1;
	}
	return 0;
}

static int do_command(struct kfd_fake *fake, const char *text)
{
	u64 rptr = 0, wptr = 0;
	struct kfd_process *p;
	char verb[16];
	u32 value = 0;
	int nr, r;

	if (sscanf(text, "%15s %d %u %llx %llx", verb, &nr, &value, &rptr, &wptr) < 2)
		return -EINVAL;
	r = do_gpu_command(fake, verb, nr, value);
	if (r <= 0)
		return r;

	p = lock_process(nr);
	if (!p)
		return -ESRCH;
	r = -EINVAL;
	if (!strcmp(verb, "create"))
		r = do_create(fake, p, value, rptr, wptr);
	else if (!strcmp(verb, "prepare"))
		r = do_prepare(fake, p);
	else if (!strcmp(verb, "advance"))
		r = do_advance(fake, p, value);
	else if (!strcmp(verb, "hang"))
		r = do_hang(fake, p, value, rptr);
	else if (!strcmp(verb, "evict") || !strcmp(verb, "restore"))
		r = do_evict(fake, p, !strcmp(verb, "evict"));
	unlock_process(p);

	return r;
}

static ssize_t control_write(struct file *file, const char __user *data, size_t size, loff_t *pos)
{
	char text[64];
	int r;

	if (size >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, data, size))
		return -EFAULT;
	text[size] = '\0';
	r = do_command(file->private_data, text);

	return r ? r : size;
}

static const struct file_operations control_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = control_write,
};

static int state_show(struct seq_file *m, void *data)
{
	struct kfd_fake *fake = m->private;
	struct device_process_node *cur;
	struct queue *q;

	seq_printf(m, "consistent %d\n", kfd_fake_is_consistent(fake));
	flush_work(kfd_reset_work(&fake->dqm));
	seq_printf(m, "resets %d\n", atomic_read(&fake->resets));
	seq_printf(m, "runlists %d\n", atomic_read(&fake->runlists));
	seq_printf(m, "slow %d\n", atomic_read(&fake->slow));
	seq_printf(m, "buffers %u\n", READ_ONCE(fake->ring_va.queue_refcount));
	seq_printf(m, "saves %d drains %d drops %d\n",
		   atomic_read(&fake->preemptions[KFD_PREEMPT_TYPE_WAVEFRONT_SAVE]),
		   atomic_read(&fake->preemptions[KFD_PREEMPT_TYPE_WAVEFRONT_DRAIN]),
		   atomic_read(&fake->preemptions[KFD_PREEMPT_TYPE_WAVEFRONT_RESET]));
	dqm_lock(&fake->dqm);
	list_for_each_entry(cur, &fake->dqm.queues, list)
		list_for_each_entry(q, &cur->qpd->queues_list, list)
			seq_printf(m, "queue %d %u mapped %d preempted %d evicted %d suspended %d\n",
				   task_tgid_vnr(q->process->lead_thread), q->properties.queue_id,
				   mqd_of(q)->is_mapped, q->properties.is_preempted,
				   q->properties.is_evicted, q->properties.is_suspended);
	dqm_unlock(&fake->dqm);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(state);

static struct dentry *fake_root;
static struct kfd_fake *fakes[KFD_FAKE_SCHEDULERS];

void kfd_fake_exit(void)
{
	int i;

	debugfs_remove_recursive(fake_root);
	for (i = 0; i < KFD_FAKE_SCHEDULERS; i++) {
		if (fakes[i])
			kfd_fake_destroy(fakes[i]);
		fakes[i] = NULL;
	}
}

void kfd_fake_init(void)
{
	struct dentry *dir;
	int i;

	fake_root = debugfs_create_dir("kfd_fake", NULL);
	for (i = 0; i < KFD_FAKE_SCHEDULERS; i++) {
		struct kfd_fake *fake = kfd_fake_create(i, FIRST_GPU_ID + i);

		if (!fake) {
			pr_err("no memory for fake GPU %d\n", i);
			continue;
		}
		fakes[i] = fake;
		dir = debugfs_create_dir(scheduler_names[i], fake_root);
		debugfs_create_u32("gpu_id", 0444, dir, &fake->node.id);
		debugfs_create_file("control", 0200, dir, fake, &control_fops);
		debugfs_create_file("state", 0400, dir, fake, &state_fops);
	}
}
