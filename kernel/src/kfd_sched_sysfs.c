// SPDX-License-Identifier: GPL-2.0-only
/*
 * The scheduler's files
 *
 * /sys/class/kfd/kfd/sched_GPU_ID exists where the kernel schedules a node's
 * queues, and has:
 *
 *	enable		1 or 0. A write releases all queues that the scheduler
 *			holds; with 1, it begins anew.
 *	period_us	how often rings are looked at
 *	interval_us	the same at present; 0 while there is nothing to decide
 *	grace_us	for how long work whose end cannot be seen is waited for
 *	paused		1: the device is suspended, or is reset
 *	ticks, switches, inversions
 *			how often rings were looked at, a group was held, and a
 *			less urgent group ran when work came
 *
 *	policy		hpf, fair or share: which of them decides
 *
 * and a file for each parameter of the core and of the policies.
 *
 * /sys/kernel/debug/kfd/sched_GPU_ID is its log.
 *
 * A queue's files, in /sys/class/kfd/kfd/proc/PID/queues/ID, are root's: they
 * would tell other users when a program works. They show what the thread saw
 * when it looked last, and wake nobody. They fail with ENODATA while the
 * scheduler is disabled; those about its ring, too, when that cannot be read.
 */

#include <linux/debugfs.h>
#include <linux/kstrtox.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "kfd_priv.h"
#include "kfd_sched.h"
#include "kfd_sched_internal.h"

static struct kfd_sched *sched_of(struct kobject *kobj)
{
	return container_of(kobj, struct kfd_sched, kobj);
}

/*
 * Of the node
 */

static u32 file_of(struct kfd_sched *s, struct attribute *attr)
{
	return attr - s->files;
}

static ssize_t sched_show(struct kobject *kobj, struct attribute *attr, char *text)
{
	struct kfd_sched *s = sched_of(kobj);
	u32 file = file_of(s, attr);
	ssize_t size;

	mutex_lock(&s->lock);
	if (gp__node_file_is_policy(file))
		size = sysfs_emit(text, "%s\n", gp__node_policy(&s->sched));
	else
		size = sysfs_emit(text, "%llu\n", gp__node_show(&s->sched, file));
	mutex_unlock(&s->lock);

	return size;
}

static int store_number(struct kfd_sched *s, u32 file, const char *text)
{
	u64 value;
	int r = kstrtou64(text, 10, &value);

	if (r)
		return r;

	mutex_lock(&s->lock);
	r = gp__node_store(&s->sched, file, value);
	mutex_unlock(&s->lock);

	return r;
}

static int store_policy(struct kfd_sched *s, const char *text, size_t size)
{
	int r;

	mutex_lock(&s->lock);
	r = gp__node_set_policy(&s->sched, text, size);
	mutex_unlock(&s->lock);

	return r;
}

static ssize_t sched_store(struct kobject *kobj, struct attribute *attr, const char *text,
			   size_t size)
{
	struct kfd_sched *s = sched_of(kobj);
	u32 file = file_of(s, attr);
	int r;

	r = gp__node_file_is_policy(file) ? store_policy(s, text, size) :
					    store_number(s, file, text);
	kfd_sched_kick(s);

	return r ? r : size;
}

static const struct sysfs_ops sched_sysfs_ops = {
	.show = sched_show,
	.store = sched_store,
};

static void sched_release(struct kobject *kobj)
{
	struct kfd_sched *s = sched_of(kobj);

	kvfree(s->sched.log.text);
	kfree(s->occupancy);
	kfree(s);
}

static const struct kobj_type sched_type = {
	.sysfs_ops = &sched_sysfs_ops,
	.release = sched_release,
};

static int add_files(struct kfd_sched *s)
{
	int r = 0;
	u32 i;

	for (i = 0; i < gp__node_nr_files(&s->sched) && !r; i++) {
		struct attribute *attr = &s->files[i];

		sysfs_attr_init(attr);
		attr->name = gp__node_file_name(&s->sched, i);
		attr->mode = gp__node_file_is_writable(&s->sched, i) ? 0644 : 0444;
		r = sysfs_create_file(&s->kobj, attr);
	}

	return r;
}

static int log_show(struct seq_file *m, void *data)
{
	struct kfd_sched *s = m->private;
	const struct gp__log_keep *log = &s->sched.log;

	mutex_lock(&s->lock);
	seq_puts(m, GP__LOG_HEADER);
	if (log->nr_dropped)
		seq_printf(m, "# %llu lines before these are not kept\n", log->nr_dropped);
	seq_write(m, log->text, log->size);
	mutex_unlock(&s->lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(log);

/* Without debugfs there is no file, which is no error. */
static void add_log_file(struct kfd_sched *s)
{
	struct dentry *root = debugfs_lookup("kfd", NULL);

	if (IS_ERR_OR_NULL(root))
		return;
	s->log_file = debugfs_create_file(s->kobj.name, 0400, root, s, &log_fops);
	dput(root);
}

int kfd_sched_add_files(struct kfd_sched *s)
{
	int r = kobject_init_and_add(&s->kobj, &sched_type, &kfd_device->kobj, "sched_%u",
				     s->node->id);

	if (!r)
		r = add_files(s);
	if (!r)
		add_log_file(s);
	return r;
}

void kfd_sched_remove_files(struct kfd_sched *s)
{
	debugfs_remove(s->log_file);
	kobject_del(&s->kobj);
}

void kfd_sched_put(struct kfd_sched *s)
{
	kobject_put(&s->kobj);
}

/*
 * Of a queue
 */

/* With the lock. */
static ssize_t show_queue(struct kfd_sched *s, const struct queue *q, const char *name, char *text)
{
	struct gp__node_value v;
	int r = gp__node_queue_show(&s->sched, q->sched, name, &v);

	if (r)
		return r;

	switch (v.kind) {
	case GP__NODE_SIGNED:
		return sysfs_emit(text, "%lld\n", v.value);
	case GP__NODE_TEXT:
		return sysfs_emit(text, "%s\n", v.text);
	case GP__NODE_IDS:
		return sysfs_emit(text, "e%u q%u\n", v.group, v.queue);
	default:
		return sysfs_emit(text, "%llu\n", v.number);
	}
}

ssize_t kfd_sched_show_queue(struct queue *q, const char *name, char *text)
{
	struct kfd_sched *s = q->device->sched;
	ssize_t size = -ENODATA;

	if (!s)
		return -ENODATA;

	mutex_lock(&s->lock);
	if (q->sched)
		size = show_queue(s, q, name, text);
	mutex_unlock(&s->lock);

	return size;
}

static struct attribute own_priority_attr = { .name = "own_priority", .mode = 0400 };
static struct attribute effective_priority_attr = { .name = "effective_priority", .mode = 0400 };
static struct attribute state_attr = { .name = "state", .mode = 0400 };
static struct attribute rptr_attr = { .name = "rptr", .mode = 0400 };
static struct attribute wptr_attr = { .name = "wptr", .mode = 0400 };
static struct attribute pending_attr = { .name = "pending", .mode = 0400 };
static struct attribute preempted_ms_attr = { .name = "preempted_ms", .mode = 0400 };
static struct attribute preemptions_attr = { .name = "preemptions", .mode = 0400 };
static struct attribute log_id_attr = { .name = "log_id", .mode = 0400 };

static struct attribute *queue_attrs[] = {
	&own_priority_attr,
	&effective_priority_attr,
	&state_attr,
	&rptr_attr,
	&wptr_attr,
	&pending_attr,
	&preempted_ms_attr,
	&preemptions_attr,
	&log_id_attr,
	NULL
};

static umode_t queue_attr_is_visible(struct kobject *kobj, struct attribute *attr, int n)
{
	struct queue *q = container_of(kobj, struct queue, kobj);

	return kfd_sched_schedules(q) ? attr->mode : 0;
}

const struct attribute_group kfd_sched_queue_group = {
	.attrs = queue_attrs,
	.is_visible = queue_attr_is_visible,
};
