// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of the preemption of single queues, on fake GPUs with each of the
 * three schedulers.
 */

#include <kunit/test.h>
#include <linux/cred.h>

#include "kfd_compat.h"
#include "kfd_fake.h"
#include "kfd_preempt.h"

#define GPU_ID 0xfae0

struct context {
	struct kfd_fake *fake;
	struct device_queue_manager *dqm;
	struct kfd_process process;
	struct kfd_process_device *pdd;
	int timeout_ms;
};

static const enum kfd_fake_scheduler firmware_schedulers[] = { KFD_FAKE_HWS, KFD_FAKE_MES };
static const enum kfd_fake_scheduler all_schedulers[] = {
	KFD_FAKE_HWS, KFD_FAKE_MES, KFD_FAKE_NO_HWS
};

static void describe(const enum kfd_fake_scheduler *scheduler, char *text)
{
	static const char * const names[] = { "hws", "mes", "nohws" };

	strscpy(text, names[*scheduler], KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(firmware, firmware_schedulers, describe);
KUNIT_ARRAY_PARAM(any, all_schedulers, describe);

static int init_test(struct kunit *test)
{
	const enum kfd_fake_scheduler *scheduler = test->param_value;
	struct context *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	test->priv = c;
	c->fake = kfd_fake_create(scheduler ? *scheduler : KFD_FAKE_HWS, GPU_ID);
	KUNIT_ASSERT_NOT_NULL(test, c->fake);
	c->dqm = &c->fake->dqm;
	c->process.lead_thread = current;
	mutex_init(&c->process.mutex);
	KUNIT_ASSERT_EQ(test, pqm_init(&c->process.pqm, &c->process), 0);
	c->pdd = kfd_create_process_device_data(&c->fake->node, &c->process);
	KUNIT_ASSERT_NOT_NULL(test, c->pdd);
	/* A fake that does not answer is not waited for. */
	c->timeout_ms = queue_preemption_timeout_ms;
	queue_preemption_timeout_ms = 20;
	return 0;
}

static void exit_test(struct kunit *test)
{
	struct context *c = test->priv;
	struct process_queue_node *pqn, *next;

	queue_preemption_timeout_ms = c->timeout_ms;
	kfd_process_dequeue_from_device(c->pdd);
	list_for_each_entry_safe(pqn, next, &c->process.pqm.queues, process_queue_list) {
		uninit_queue(pqn->q);
		kfree(pqn);
	}
	bitmap_free(c->process.pqm.queue_slot_bitmap);
	bitmap_free(c->pdd->qpd.doorbell_bitmap);
	kfree(c->pdd);
	kfd_fake_destroy(c->fake);
}

static struct queue *new_queue(struct kunit *test)
{
	static const struct queue_properties properties = {
		.type = KFD_QUEUE_TYPE_COMPUTE,
		.queue_address = PAGE_SIZE,
		.queue_size = PAGE_SIZE,
		.queue_percent = 100,
	};
	struct context *c = test->priv;
	struct queue *q = kfd_fake_create_queue(c->fake, &c->process, &properties);

	KUNIT_ASSERT_FALSE(test, IS_ERR(q));
	KUNIT_ASSERT_TRUE(test, kfd_fake_is_mapped(q));
	return q;
}

/* Preempts or resumes some queues in one step; those that fail come back in the list. */
static int step(struct kunit *test, bool preempt, struct queue *a, struct queue *b)
{
	struct context *c = test->priv;
	LIST_HEAD(queues);
	int r;

	dqm_lock(c->dqm);
	list_add_tail(&a->preempt_link, &queues);
	if (b)
		list_add_tail(&b->preempt_link, &queues);
	if (preempt)
		r = kfd_dqm_preempt_queues(c->dqm, &queues, KFD_IOC_PREEMPT_SAVE);
	else
		r = kfd_dqm_resume_queues(c->dqm, &queues);
	KUNIT_EXPECT_EQ(test, !r, list_empty(&queues));
	a->is_preempted_by_owner = a->properties.is_preempted;
	list_del_init(&a->preempt_link);
	if (b) {
		b->is_preempted_by_owner = b->properties.is_preempted;
		list_del_init(&b->preempt_link);
	}
	dqm_unlock(c->dqm);
	return r;
}

static int preempt(struct kunit *test, struct queue *q)
{
	return step(test, true, q, NULL);
}

static int resume(struct kunit *test, struct queue *q)
{
	return step(test, false, q, NULL);
}

static void expect(struct kunit *test, struct queue *q, bool mapped, bool preempted)
{
	struct context *c = test->priv;

	KUNIT_EXPECT_EQ(test, kfd_fake_is_mapped(q), mapped);
	KUNIT_EXPECT_EQ(test, q->properties.is_preempted, preempted);
	KUNIT_EXPECT_TRUE(test, kfd_fake_is_consistent(c->fake));
}

static void types_by_scheduler(struct kunit *test)
{
	struct context *c = test->priv;
	u32 save = BIT(KFD_IOC_PREEMPT_SAVE), drain = BIT(KFD_IOC_PREEMPT_DRAIN);
	bool has_firmware = c->fake->scheduler != KFD_FAKE_NO_HWS;
	u32 without = has_firmware ? 0 : drain | BIT(KFD_IOC_PREEMPT_RESET);

	KUNIT_EXPECT_EQ(test, kfd_dqm_preempt_types(c->dqm), save | without);
	/* Firmware would wait for waves, and a reset follow if they do not end. */
	c->fake->kfd.cwsr_enabled = false;
	KUNIT_EXPECT_EQ(test, kfd_dqm_preempt_types(c->dqm), without);
}

static void others_run_on(struct kunit *test)
{
	struct queue *a = new_queue(test), *b = new_queue(test);

	KUNIT_EXPECT_EQ(test, preempt(test, a), 0);
	expect(test, a, false, true);
	expect(test, b, true, false);
	KUNIT_EXPECT_EQ(test, resume(test, a), 0);
	expect(test, a, true, false);
	expect(test, b, true, false);
}

static void several_in_one_step(struct kunit *test)
{
	struct queue *a = new_queue(test), *b = new_queue(test);

	KUNIT_EXPECT_EQ(test, step(test, true, a, b), 0);
	expect(test, a, false, true);
	expect(test, b, false, true);
	KUNIT_EXPECT_EQ(test, step(test, false, a, b), 0);
	expect(test, a, true, false);
	expect(test, b, true, false);
}

static void evicted_and_preempted(struct kunit *test)
{
	struct context *c = test->priv;
	struct queue *q = new_queue(test);

	/* Restored while it is preempted */
	KUNIT_EXPECT_EQ(test, preempt(test, q), 0);
	KUNIT_EXPECT_EQ(test, c->dqm->ops.evict_process_queues(c->dqm, &c->pdd->qpd), 0);
	expect(test, q, false, true);
	KUNIT_EXPECT_EQ(test, c->dqm->ops.restore_process_queues(c->dqm, &c->pdd->qpd), 0);
	expect(test, q, false, true);
	KUNIT_EXPECT_EQ(test, resume(test, q), 0);
	expect(test, q, true, false);

	/* Preempted and resumed while it is evicted */
	KUNIT_EXPECT_EQ(test, c->dqm->ops.evict_process_queues(c->dqm, &c->pdd->qpd), 0);
	KUNIT_EXPECT_EQ(test, preempt(test, q), 0);
	expect(test, q, false, true);
	KUNIT_EXPECT_EQ(test, resume(test, q), 0);
	expect(test, q, false, false);
	KUNIT_EXPECT_EQ(test, c->dqm->ops.restore_process_queues(c->dqm, &c->pdd->qpd), 0);
	expect(test, q, true, false);
}

static void update_keeps_it_preempted(struct kunit *test)
{
	struct context *c = test->priv;
	struct queue *q = new_queue(test);
	struct mqd_update_info minfo = {};

	KUNIT_EXPECT_EQ(test, preempt(test, q), 0);
	q->properties.queue_percent = 50;
	KUNIT_EXPECT_EQ(test, c->dqm->ops.update_queue(c->dqm, q, &minfo), 0);
	expect(test, q, false, true);
	KUNIT_EXPECT_EQ(test, resume(test, q), 0);
	expect(test, q, true, false);
}

static void unmap_that_fails_is_undone(struct kunit *test)
{
	struct context *c = test->priv;
	struct queue *a = new_queue(test), *b = new_queue(test);

	atomic_set(&c->fake->fail[KFD_FAKE_UNMAP], 1);
	if (c->fake->scheduler == KFD_FAKE_HWS) {
		/* It is one list: none of them is preempted. */
		KUNIT_EXPECT_EQ(test, step(test, true, a, b), -ETIME);
		expect(test, b, true, false);
	} else {
		/* They go one by one: the second one is. */
		KUNIT_EXPECT_NE(test, step(test, true, a, b), 0);
		expect(test, b, false, true);
		KUNIT_EXPECT_EQ(test, resume(test, b), 0);
	}
	expect(test, a, true, false);
	flush_work(kfd_reset_work(c->dqm));
	/* As for any other unmap that fails */
	KUNIT_EXPECT_EQ(test, atomic_read(&c->fake->resets), 1);
	KUNIT_EXPECT_EQ(test, preempt(test, a), 0);
	expect(test, a, false, true);
}

/* @to takes the place of @from, in one step. */
static int hand_over(struct kunit *test, struct queue *from, struct queue *to)
{
	struct context *c = test->priv;
	LIST_HEAD(to_preempt);
	LIST_HEAD(to_resume);
	int r;

	dqm_lock(c->dqm);
	list_add(&from->preempt_link, &to_preempt);
	list_add(&to->preempt_link, &to_resume);
	r = kfd_dqm_change_queues(c->dqm, &to_preempt, KFD_IOC_PREEMPT_SAVE, &to_resume);
	from->is_preempted_by_owner = from->properties.is_preempted;
	to->is_preempted_by_owner = to->properties.is_preempted;
	list_del_init(&from->preempt_link);
	list_del_init(&to->preempt_link);
	dqm_unlock(c->dqm);
	return r;
}

static void handover_is_one_run_list(struct kunit *test)
{
	struct context *c = test->priv;
	struct queue *a = new_queue(test), *b = new_queue(test);
	bool has_runlist = c->fake->scheduler == KFD_FAKE_HWS;
	int before;

	KUNIT_EXPECT_EQ(test, preempt(test, a), 0);
	before = atomic_read(&c->fake->runlists);
	KUNIT_EXPECT_EQ(test, hand_over(test, b, a), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->fake->runlists) - before, has_runlist);
	expect(test, a, true, false);
	expect(test, b, false, true);
}

static void handover_that_fails(struct kunit *test)
{
	struct context *c = test->priv;
	struct queue *a = new_queue(test), *b = new_queue(test);

	/* The list is sent again: nobody is held. */
	KUNIT_EXPECT_EQ(test, preempt(test, a), 0);
	atomic_set(&c->fake->fail[KFD_FAKE_MAP], 1);
	KUNIT_EXPECT_EQ(test, hand_over(test, b, a), -ENOMEM);
	expect(test, a, true, false);
	expect(test, b, true, false);

	/* The old list is there until something else changes it, as an eviction does. */
	KUNIT_EXPECT_EQ(test, preempt(test, a), 0);
	atomic_set(&c->fake->fail[KFD_FAKE_UNMAP], 1);
	KUNIT_EXPECT_EQ(test, hand_over(test, b, a), -ETIME);
	KUNIT_EXPECT_FALSE(test, a->properties.is_preempted);
	KUNIT_EXPECT_FALSE(test, b->properties.is_preempted);
	KUNIT_EXPECT_TRUE(test, kfd_fake_is_mapped(b));
	KUNIT_EXPECT_EQ(test, c->dqm->ops.evict_process_queues(c->dqm, &c->pdd->qpd), 0);
	KUNIT_EXPECT_EQ(test, c->dqm->ops.restore_process_queues(c->dqm, &c->pdd->qpd), 0);
	expect(test, a, true, false);
	expect(test, b, true, false);
}

/* The old run list is gone when the new one cannot be sent. */
static void map_that_fails_is_undone(struct kunit *test)
{
	struct context *c = test->priv;
	struct queue *a = new_queue(test), *b = new_queue(test);

	atomic_set(&c->fake->fail[KFD_FAKE_MAP], 1);
	KUNIT_EXPECT_EQ(test, preempt(test, a), -ENOMEM);
	expect(test, a, true, false);
	expect(test, b, true, false);
}

static void resume_that_fails_holds_nothing(struct kunit *test)
{
	struct context *c = test->priv;
	struct queue *q = new_queue(test);

	KUNIT_EXPECT_EQ(test, preempt(test, q), 0);
	atomic_set(&c->fake->fail[KFD_FAKE_MAP], 1);
	KUNIT_EXPECT_NE(test, resume(test, q), 0);
	KUNIT_EXPECT_FALSE(test, q->properties.is_preempted);
	/* It runs when its process was evicted and is restored. */
	KUNIT_EXPECT_EQ(test, c->dqm->ops.evict_process_queues(c->dqm, &c->pdd->qpd), 0);
	KUNIT_EXPECT_EQ(test, c->dqm->ops.restore_process_queues(c->dqm, &c->pdd->qpd), 0);
	expect(test, q, true, false);
}

static void refused_while_the_gpu_is_reset(struct kunit *test)
{
	struct context *c = test->priv;
	struct queue *q = new_queue(test);

	down_write(&c->fake->reset_domain.sem);
	KUNIT_EXPECT_EQ(test, preempt(test, q), -EIO);
	up_write(&c->fake->reset_domain.sem);
	expect(test, q, true, false);
}

static void one_that_was_reset_stays_off(struct kunit *test)
{
	struct context *c = test->priv;
	struct queue *a = new_queue(test), *b = new_queue(test);

	KUNIT_EXPECT_EQ(test, preempt(test, a), 0);
	a->properties.is_reset = true;
	KUNIT_EXPECT_EQ(test, resume(test, a), 0);
	KUNIT_EXPECT_FALSE(test, kfd_fake_is_mapped(a));
	KUNIT_EXPECT_EQ(test, preempt(test, a), -EACCES);
	KUNIT_EXPECT_FALSE(test, a->properties.is_preempted);
	KUNIT_EXPECT_TRUE(test, kfd_fake_is_mapped(b));
	KUNIT_EXPECT_EQ(test, c->dqm->active_queue_count, 1);
}

/* Nobody starts it again: not the last of those that held it, nor a new property. */
static void one_that_was_reset_is_not_restored(struct kunit *test)
{
	struct context *c = test->priv;
	struct queue *a = new_queue(test), *b = new_queue(test);

	KUNIT_EXPECT_EQ(test, c->dqm->ops.evict_process_queues(c->dqm, &c->pdd->qpd), 0);
	a->properties.is_reset = true;
	KUNIT_EXPECT_EQ(test, c->dqm->ops.restore_process_queues(c->dqm, &c->pdd->qpd), 0);
	KUNIT_EXPECT_FALSE(test, a->properties.is_active);
	KUNIT_EXPECT_FALSE(test, kfd_fake_is_mapped(a));
	KUNIT_EXPECT_TRUE(test, kfd_fake_is_mapped(b));
	KUNIT_EXPECT_EQ(test, c->dqm->active_queue_count, 1);
	KUNIT_EXPECT_EQ(test, c->dqm->ops.update_queue(c->dqm, a, NULL), 0);
	KUNIT_EXPECT_FALSE(test, a->properties.is_active);
	KUNIT_EXPECT_FALSE(test, kfd_fake_is_mapped(a));
	KUNIT_EXPECT_EQ(test, c->dqm->active_queue_count, 1);
}

/* As above, by the driver's own way to a reset, and by eviction and the debugger. */
static void one_that_hangs_is_reset_for_good(struct kunit *test)
{
	struct context *c = test->priv;
	struct queue *a = new_queue(test), *b = new_queue(test);

	kfd_fake_hang(c->fake, a, 0);
	KUNIT_EXPECT_EQ(test, preempt(test, b), 0);
	KUNIT_EXPECT_TRUE(test, a->properties.is_reset);
	expect(test, a, false, false);
	expect(test, b, false, true);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->fake->resets), 0);
	KUNIT_EXPECT_EQ(test, c->dqm->ops.evict_process_queues(c->dqm, &c->pdd->qpd), 0);
	KUNIT_EXPECT_EQ(test, c->dqm->ops.restore_process_queues(c->dqm, &c->pdd->qpd), 0);
	expect(test, a, false, false);
	KUNIT_EXPECT_EQ(test, preempt(test, a), -EACCES);
	KUNIT_EXPECT_EQ(test, resume(test, b), 0);
	expect(test, a, false, false);
	expect(test, b, true, false);
}

/* It hangs when it is to be preempted itself. */
static void one_that_hangs_is_not_preempted(struct kunit *test)
{
	struct context *c = test->priv;
	struct queue *a = new_queue(test), *b = new_queue(test);

	kfd_fake_hang(c->fake, a, 0);
	KUNIT_EXPECT_EQ(test, step(test, true, a, b), -EACCES);
	expect(test, a, false, false);
	expect(test, b, false, true);
}

static void one_that_hangs_on_any_xcc(struct kunit *test)
{
	struct context *c = test->priv;
	struct queue *a, *b;

	KUNIT_ASSERT_EQ(test, kfd_fake_set_xccs(c->fake, 4), 0);
	a = new_queue(test);
	b = new_queue(test);
	KUNIT_EXPECT_EQ(test, kfd_fake_set_xccs(c->fake, 1), -EBUSY);
	kfd_fake_hang(c->fake, a, 3);
	KUNIT_EXPECT_EQ(test, preempt(test, b), 0);
	KUNIT_EXPECT_TRUE(test, a->properties.is_reset);
	expect(test, a, false, false);
	expect(test, b, false, true);
}

static void unmap_that_takes_time(struct kunit *test)
{
	struct context *c = test->priv;
	struct queue *q = new_queue(test);
	u64 begun = ktime_get_ns();

	queue_preemption_timeout_ms = 1000;
	kfd_fake_be_slow(c->fake, 1, 30);
	KUNIT_EXPECT_EQ(test, preempt(test, q), 0);
	KUNIT_EXPECT_GE(test, ktime_get_ns() - begun, 30 * NSEC_PER_MSEC);
	expect(test, q, false, true);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->fake->resets), 0);
}

/* The driver takes the queues for running until something else changes the list. */
static void unmap_that_ends_too_late(struct kunit *test)
{
	struct context *c = test->priv;
	struct queue *a = new_queue(test), *b = new_queue(test);

	kfd_fake_be_slow(c->fake, 1, 100);
	KUNIT_EXPECT_EQ(test, preempt(test, a), -ETIME);
	KUNIT_EXPECT_FALSE(test, a->properties.is_preempted);
	KUNIT_EXPECT_TRUE(test, a->properties.is_active);
	KUNIT_EXPECT_FALSE(test, kfd_fake_is_mapped(a));
	flush_work(kfd_reset_work(c->dqm));
	KUNIT_EXPECT_EQ(test, atomic_read(&c->fake->resets), 1);
	flush_delayed_work(&c->fake->answer_work);
	KUNIT_EXPECT_EQ(test, c->dqm->ops.evict_process_queues(c->dqm, &c->pdd->qpd), 0);
	KUNIT_EXPECT_EQ(test, c->dqm->ops.restore_process_queues(c->dqm, &c->pdd->qpd), 0);
	expect(test, a, true, false);
	expect(test, b, true, false);
	KUNIT_EXPECT_EQ(test, preempt(test, a), 0);
	expect(test, a, false, true);
}

static const struct cred *without_right(struct kunit *test, int right)
{
	struct cred *cred = prepare_creds();

	KUNIT_ASSERT_NOT_NULL(test, cred);
	cap_lower(cred->cap_effective, right);
	return kfd_override_creds(cred);
}

static void urgent_priority_takes_a_right(struct kunit *test)
{
	const struct cred *old;

	KUNIT_EXPECT_EQ(test, kfd_granted_priority(16), 16);
	old = without_right(test, CAP_SYS_NICE);
	KUNIT_EXPECT_EQ(test, kfd_granted_priority(0), 0);
	KUNIT_EXPECT_EQ(test, kfd_granted_priority(8), 8);
	KUNIT_EXPECT_EQ(test, kfd_granted_priority(9), 8);
	KUNIT_EXPECT_EQ(test, kfd_granted_priority(U32_MAX), 8 | KFD_IOC_PRIORITY_SPLIT);
	KUNIT_EXPECT_EQ(test, kfd_granted_priority(3 | KFD_IOC_PRIORITY_SPLIT),
			3 | KFD_IOC_PRIORITY_SPLIT);
	kfd_revert_creds(old);
}

/* A queue that is made from the checkpoint of @q */
static struct queue *restored(struct kunit *test, struct queue *q)
{
	struct context *c = test->priv;
	struct queue_properties p = q->properties;
	struct queue *made;
	u32 state;

	KUNIT_ASSERT_EQ(test, kfd_preempt_checkpoint(q, &state), 0);
	p.is_active = false;
	p.is_preempted = false;
	p.is_reset = false;
	KUNIT_ASSERT_EQ(test, kfd_preempt_restore(&p, state), 0);
	made = kfd_fake_create_queue(c->fake, &c->process, &p);
	KUNIT_ASSERT_FALSE(test, IS_ERR(made));
	return made;
}

static void checkpoint_keeps_the_process_own_hold(struct kunit *test)
{
	struct queue *q = new_queue(test), *made = restored(test, q);

	expect(test, made, true, false);
	KUNIT_EXPECT_EQ(test, preempt(test, q), 0);
	made = restored(test, q);
	KUNIT_EXPECT_TRUE(test, made->is_preempted_by_owner);
	expect(test, made, false, true);
	KUNIT_EXPECT_EQ(test, resume(test, made), 0);
	expect(test, made, true, false);
}

static void checkpoint_keeps_a_reset(struct kunit *test)
{
	struct context *c = test->priv;
	struct queue *q = new_queue(test);

	kfd_fake_hang(c->fake, q, 0);
	KUNIT_EXPECT_EQ(test, preempt(test, q), -EACCES);
	expect(test, restored(test, q), false, false);
}

static void checkpoint_with_what_is_not_known(struct kunit *test)
{
	struct queue_properties p = {};

	KUNIT_EXPECT_EQ(test, kfd_preempt_restore(&p, BIT(2)), -EINVAL);
	KUNIT_EXPECT_EQ(test, kfd_preempt_restore(&p, U32_MAX), -EINVAL);
}

/* The next versions of a checkpoint would have to read this. */
static void checkpoint_has_its_old_size(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, sizeof(struct kfd_criu_queue_priv_data), 120);
}

static void type_reaches_the_hardware(struct kunit *test)
{
	static const enum kfd_preempt_type expected[] = {
		[KFD_IOC_PREEMPT_DRAIN] = KFD_PREEMPT_TYPE_WAVEFRONT_DRAIN,
		[KFD_IOC_PREEMPT_RESET] = KFD_PREEMPT_TYPE_WAVEFRONT_RESET,
		[KFD_IOC_PREEMPT_SAVE] = KFD_PREEMPT_TYPE_WAVEFRONT_SAVE,
	};
	struct context *c = test->priv;
	u32 type;

	if (c->fake->scheduler != KFD_FAKE_NO_HWS)
		kunit_skip(test, "firmware is told to preempt, and no more");

	for (type = 0; type < ARRAY_SIZE(expected); type++) {
		struct queue *q = new_queue(test);
		LIST_HEAD(queues);

		dqm_lock(c->dqm);
		list_add(&q->preempt_link, &queues);
		KUNIT_EXPECT_EQ(test, kfd_dqm_preempt_queues(c->dqm, &queues, type), 0);
		q->is_preempted_by_owner = true;
		dqm_unlock(c->dqm);
		expect(test, q, false, true);
		KUNIT_EXPECT_EQ(test, atomic_read(&c->fake->preemptions[expected[type]]), 1);
	}
}

/* Without a hardware scheduler, a queue's write pointer is read when it is loaded. */
static void process_without_memory_is_not_loaded(struct kunit *test)
{
	struct context *c = test->priv;
	struct queue *q = new_queue(test);

	if (c->fake->scheduler != KFD_FAKE_NO_HWS)
		kunit_skip(test, "the firmware reads it");

	KUNIT_EXPECT_EQ(test, preempt(test, q), 0);
	KUNIT_EXPECT_EQ(test, resume(test, q), -ESRCH);
	KUNIT_EXPECT_FALSE(test, kfd_fake_is_mapped(q));
	KUNIT_EXPECT_FALSE(test, q->properties.is_preempted);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(types_by_scheduler, any_gen_params),
	KUNIT_CASE_PARAM(others_run_on, firmware_gen_params),
	KUNIT_CASE_PARAM(several_in_one_step, firmware_gen_params),
	KUNIT_CASE_PARAM(evicted_and_preempted, firmware_gen_params),
	KUNIT_CASE_PARAM(update_keeps_it_preempted, firmware_gen_params),
	KUNIT_CASE_PARAM(unmap_that_fails_is_undone, firmware_gen_params),
	KUNIT_CASE_PARAM(handover_is_one_run_list, firmware_gen_params),
	KUNIT_CASE(handover_that_fails),
	KUNIT_CASE(map_that_fails_is_undone),
	KUNIT_CASE_PARAM(resume_that_fails_holds_nothing, firmware_gen_params),
	KUNIT_CASE_PARAM(refused_while_the_gpu_is_reset, firmware_gen_params),
	KUNIT_CASE_PARAM(one_that_was_reset_stays_off, firmware_gen_params),
	KUNIT_CASE_PARAM(one_that_was_reset_is_not_restored, firmware_gen_params),
	KUNIT_CASE(one_that_hangs_is_reset_for_good),
	KUNIT_CASE(one_that_hangs_is_not_preempted),
	KUNIT_CASE(one_that_hangs_on_any_xcc),
	KUNIT_CASE_PARAM(unmap_that_takes_time, any_gen_params),
	KUNIT_CASE(unmap_that_ends_too_late),
	KUNIT_CASE(urgent_priority_takes_a_right),
	KUNIT_CASE_PARAM(checkpoint_keeps_the_process_own_hold, firmware_gen_params),
	KUNIT_CASE(checkpoint_keeps_a_reset),
	KUNIT_CASE(checkpoint_with_what_is_not_known),
	KUNIT_CASE(checkpoint_has_its_old_size),
	KUNIT_CASE_PARAM(type_reaches_the_hardware, any_gen_params),
	KUNIT_CASE_PARAM(process_without_memory_is_not_loaded, any_gen_params),
	{}
};

static struct kunit_suite suite = {
	.name = "kfd_preempt",
	.init = init_test,
	.exit = exit_test,
	.test_cases = cases,
};

kunit_test_suite(suite);
