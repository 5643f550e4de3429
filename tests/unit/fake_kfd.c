// SPDX-License-Identifier: MIT
#include "fake_kfd.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define LOWEST_ADDRESS 4096
#define N(array) (sizeof(array) / sizeof((array)[0]))

struct fake_kfd fake = { .lock = PTHREAD_MUTEX_INITIALIZER };

void fake_reset(void)
{
	fake = (struct fake_kfd){
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.has_dbg = true,
		.has_series = true,
		.magic = GP_KFD_PREEMPT_MAGIC,
		.features = GP_KFD_FEATURE_QUEUES | GP_KFD_FEATURE_TARGET,
		.runtime = GP_KFD_RUNTIME_ENABLED,
		.seed = 1,
	};
}

void fake_fail(struct fake_failure failure)
{
	for (size_t i = 0; i < N(fake.failure); i++) {
		if (!fake.failure[i].times) {
			fake.failure[i] = failure;
			return;
		}
	}
}

static uint32_t draw(uint32_t below)
{
	fake.seed = fake.seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(fake.seed >> 33) % below;
}

static struct fake_queue *find(uint32_t id)
{
	return id < FAKE_QUEUES && fake.queue[id].exists ? &fake.queue[id] : NULL;
}

static bool runs(const struct fake_queue *q)
{
	return q->percentage & 0xff && !q->suspended && !q->preempted;
}

bool fake_runs(uint32_t id)
{
	bool result;

	pthread_mutex_lock(&fake.lock);
	result = find(id) && runs(find(id));
	pthread_mutex_unlock(&fake.lock);
	return result;
}

/*
 * Queues
 */

static int create(struct gp_kfd_create_queue *args)
{
	uint32_t id = 0;

	while (id < FAKE_QUEUES && fake.queue[id].exists)
		id++;
	if (id == FAKE_QUEUES)
		return -ENOMEM;
	args->queue_id = id;
	args->doorbell_offset = 0x1000 + id * 8;
	fake.queue[id] = (struct fake_queue){
		.exists = true,
		.is_new = true,
		.made = *args,
		.ring = args->ring_base_address,
		.ring_size = args->ring_size,
		.percentage = args->queue_percentage,
		.priority = args->queue_priority,
	};
	return 0;
}

uint32_t fake_create(void)
{
	struct gp_kfd_create_queue args = {
		.ring_base_address = 0x7000000,
		.ring_size = 4096,
		.queue_percentage = 100,
		.queue_priority = 7,
		.queue_type = GP_KFD_QUEUE_COMPUTE_AQL,
	};

	create(&args);
	return args.queue_id;
}

static int update(const struct gp_kfd_update_queue *args)
{
	struct fake_queue *q = find(args->queue_id);

	if ((args->queue_percentage & 0xff) > 100 || args->queue_priority > 15)
		return -EINVAL;
	if (!q)
		return -EFAULT;
	q->ring = args->ring_base_address;
	q->ring_size = args->ring_size;
	q->percentage = args->queue_percentage;
	q->priority = args->queue_priority;
	return 0;
}

static int destroy(const struct gp_kfd_destroy_queue *args)
{
	struct fake_queue *q = find(args->queue_id);

	if (!q)
		return -EINVAL;
	if (q->suspended) {
		fake.deadlocks++;
		return -EDEADLK;
	}
	q->exists = false;
	return 0;
}

static int enable_runtime(const struct gp_kfd_runtime_enable *args)
{
	bool on = args->mode_mask & GP_KFD_RUNTIME_ENABLE_MODE;

	if (fake.debugged && !fake.debugged_by_program) {
		fake.deadlocks++;
		return -EDEADLK;
	}
	if (on && fake.runtime == GP_KFD_RUNTIME_ENABLED)
		return -EBUSY;
	fake.runtime = on ? GP_KFD_RUNTIME_ENABLED : GP_KFD_RUNTIME_DISABLED;
	return 0;
}

/*
 * Failures
 */

static struct fake_failure *find_failure(uint32_t nr, int op, bool of_id)
{
	for (size_t i = 0; i < N(fake.failure); i++) {
		struct fake_failure *f = &fake.failure[i];

		if (f->times && f->nr == nr && (f->op < 0 || f->op == op) && of_id == !!f->bit)
			return f;
	}
	return NULL;
}

static bool is_stop_or_start(uint32_t nr, int op)
{
	if (nr == _IOC_NR(GP_KFD_DBG_TRAP))
		return op == GP_KFD_DBG_SUSPEND_QUEUES || op == GP_KFD_DBG_RESUME_QUEUES;
	if (nr == _IOC_NR(GP_KFD_PREEMPT))
		return op != GP_KFD_OP_QUERY;
	return nr == _IOC_NR(GP_KFD_UPDATE_QUEUE) || nr == _IOC_NR(GP_KFD_PREEMPT_QUEUE) ||
	       nr == _IOC_NR(GP_KFD_RESUME_QUEUE);
}

/* The error that this call will return, or 0. */
static int injected(uint32_t nr, int op, bool *has_effect)
{
	static const int errors[] = { EINTR, ETIME, EIO, ENOMEM };
	struct fake_failure *f = find_failure(nr, op, false);
	int err = 0;

	*has_effect = true;
	if (f) {
		f->times--;
		*has_effect = f->has_effect;
		return -f->err;
	}
	if (is_stop_or_start(nr, op) && draw(1000) < fake.failing) {
		err = -errors[draw(N(errors))];
		/* As in drivers: a call that was interrupted or had no memory did nothing. */
		*has_effect = err != -EINTR && err != -ENOMEM && draw(2);
	}
	return err;
}

/* An id's bits after the call; and whether it was done. */
static uint32_t mark_id(uint32_t nr, int op, uint32_t id, bool is_valid, bool *has_effect)
{
	struct fake_failure *f = find_failure(nr, op, true);

	*has_effect = is_valid;
	if (!is_valid)
		return id | GP_KFD_QUEUE_INVALID;
	if (f && f->id == id) {
		f->times--;
		*has_effect = f->has_effect;
		return id | f->bit;
	}
	if (draw(1000) < fake.failing) {
		*has_effect = draw(2);
		return id | GP_KFD_QUEUE_ERROR;
	}
	return id;
}

/*
 * The debugger
 */

static int set_suspended(struct gp_kfd_dbg_trap *args, bool stop)
{
	uint32_t *ids = (uint32_t *)(stop ? args->suspend_queues.queue_array_ptr
					  : args->resume_queues.queue_array_ptr);
	uint32_t n = stop ? args->suspend_queues.num_queues : args->resume_queues.num_queues;
	int done = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct fake_queue *q = find(ids[i]);
		bool valid = q && (!stop || !q->is_new), effect;

		ids[i] = mark_id(_IOC_NR(GP_KFD_DBG_TRAP), (int)args->op, ids[i], valid, &effect);
		if (effect)
			q->suspended = stop;
		done += !(ids[i] & (GP_KFD_QUEUE_ERROR | GP_KFD_QUEUE_INVALID));
	}
	return done;
}

static void resume_all(void)
{
	for (size_t i = 0; i < FAKE_QUEUES; i++)
		fake.queue[i].suspended = false;
}

static int enable_debugger(const struct gp_kfd_dbg_enable *args)
{
	struct gp_kfd_runtime_info *info = (void *)args->rinfo_ptr;

	if (fake.debugged)
		return -EALREADY;
	fake.debugged = true;
	info->runtime_state = fake.one_debugger ? GP_KFD_RUNTIME_ERROR : fake.runtime;
	return 0;
}

static int snapshot(struct gp_kfd_dbg_snapshot *args)
{
	struct gp_kfd_queue_snapshot *entry = (void *)args->snapshot_buf_ptr;
	uint32_t n = 0;

	for (uint32_t i = 0; i < FAKE_QUEUES; i++) {
		struct fake_queue *q = &fake.queue[i];

		if (!q->exists)
			continue;
		if (n++ >= args->num_entries)
			continue;
		if (args->exception_mask & GP_KFD_EC_MASK(GP_KFD_EC_QUEUE_NEW))
			q->is_new = false;
		if (args->entry_size == sizeof(*entry))
			entry[n - 1] = (struct gp_kfd_queue_snapshot){ .queue_id = i,
								       .ring_base_address = q->ring,
								       .ring_size = q->ring_size };
	}
	args->num_entries = n;
	return 0;
}

static int dbg_trap(struct gp_kfd_dbg_trap *args)
{
	bool needs_runtime =
		args->op == GP_KFD_DBG_SUSPEND_QUEUES || args->op == GP_KFD_DBG_RESUME_QUEUES;

	fake.operations[args->op % N(fake.operations)]++;
	if (args->op == GP_KFD_DBG_ENABLE)
		return enable_debugger(&args->enable);
	if (!fake.debugged)
		return -EINVAL;
	if (needs_runtime && fake.runtime != GP_KFD_RUNTIME_ENABLED)
		return -EPERM;
	switch (args->op) {
	case GP_KFD_DBG_DISABLE:
		resume_all();
		fake.debugged = fake.debugged_by_program = false;
		return 0;
	case GP_KFD_DBG_SUSPEND_QUEUES:
		fake.grace = args->suspend_queues.grace_period;
		return set_suspended(args, true);
	case GP_KFD_DBG_RESUME_QUEUES:
		return set_suspended(args, false);
	case GP_KFD_DBG_GET_QUEUE_SNAPSHOT:
		return snapshot(&args->snapshot);
	default:
		return -EINVAL;
	}
}

/*
 * The series
 */

static int preempt(const struct gp_kfd_preempt_queue *args)
{
	struct fake_queue *q = find(args->queue_id);

	if (!q)
		return -EINVAL;
	if (q->destroying)
		return -EBUSY;
	if (q->preempted)
		return -EALREADY;
	q->preempted = true;
	q->preempt_type = args->preempt_type;
	return 0;
}

static int resume(const struct gp_kfd_resume_queue *args)
{
	struct fake_queue *q = find(args->queue_id);

	if (!q || !q->preempted)
		return -EINVAL;
	q->preempted = false;
	return 0;
}

static int queues(uint32_t op, const struct gp_kfd_preempt_queues *args)
{
	uint32_t *ids = (uint32_t *)args->queue_array_ptr;
	bool stop = op == GP_KFD_OP_PREEMPT;
	int done = 0, err = 0;

	for (uint32_t i = 0; i < args->num_queues; i++) {
		struct fake_queue *q = find(ids[i]);
		bool effect;

		if (q && !stop && !q->preempted) {
			done++;
			continue;
		}
		if (q && q->destroying) {
			ids[i] |= GP_KFD_QUEUE_ERROR;
			err = -EBUSY;
			continue;
		}
		ids[i] = mark_id(_IOC_NR(GP_KFD_PREEMPT), (int)op, ids[i], q, &effect);
		/* The series releases even a queue that it then cannot map. */
		if (q && (effect || !stop))
			q->preempted = stop;
		if (stop && effect)
			q->preempt_type = args->type;
		if (ids[i] & GP_KFD_QUEUE_ERROR)
			err = -EIO;
		done += !(ids[i] & (GP_KFD_QUEUE_ERROR | GP_KFD_QUEUE_INVALID));
	}
	return done ? done : err;
}

static int query(struct gp_kfd_preempt_query *args)
{
	args->magic = fake.magic;
	args->version = GP_KFD_PREEMPT_VERSION;
	args->features = fake.features;
	args->types = 7;
	return 0;
}

static int series(struct gp_kfd_preempt *args)
{
	if (args->op == GP_KFD_OP_QUERY)
		return query(&args->query);
	fake.operations[args->op % N(fake.operations)]++;
	fake.targeted = args->flags & GP_KFD_PREEMPT_TARGET;
	return queues(args->op, &args->queues);
}

/*
 * The call
 */

static bool is_there(uint32_t nr)
{
	if (nr >= _IOC_NR(GP_KFD_PREEMPT_QUEUE))
		return fake.has_series;
	return fake.has_dbg || nr < _IOC_NR(GP_KFD_RUNTIME_ENABLE);
}

static int run(uint32_t nr, void *args)
{
	switch (nr) {
	case _IOC_NR(GP_KFD_CREATE_QUEUE):
		return create(args);
	case _IOC_NR(GP_KFD_UPDATE_QUEUE):
		return update(args);
	case _IOC_NR(GP_KFD_DESTROY_QUEUE):
		return destroy(args);
	case _IOC_NR(GP_KFD_RUNTIME_ENABLE):
		return enable_runtime(args);
	case _IOC_NR(GP_KFD_DBG_TRAP):
		return dbg_trap(args);
	case _IOC_NR(GP_KFD_PREEMPT_QUEUE):
		return preempt(args);
	case _IOC_NR(GP_KFD_RESUME_QUEUE):
		return resume(args);
	case _IOC_NR(GP_KFD_PREEMPT):
		return series(args);
	default:
		return 0;
	}
}

/* Copies as the driver does: the rest of short arguments is zero. */
static int call(unsigned long request, void *args)
{
	uint32_t nr = _IOC_NR(request), size = _IOC_SIZE(request);
	union {
		uint64_t align;
		uint8_t bytes[1 << _IOC_SIZEBITS];
	} copy = { 0 };
	bool has_effect;
	int op = -1, err, result = 0;

	fake.calls[nr]++;
	if (!is_there(nr))
		return -ENOTTY;
	if ((uintptr_t)args < LOWEST_ADDRESS)
		return -EFAULT;
	memcpy(&copy, args, size);
	if (nr == _IOC_NR(GP_KFD_DBG_TRAP))
		op = (int)((struct gp_kfd_dbg_trap *)&copy)->op;
	if (nr == _IOC_NR(GP_KFD_PREEMPT))
		op = (int)((struct gp_kfd_preempt *)&copy)->op;
	err = injected(nr, op, &has_effect);
	if (has_effect)
		result = run(nr, &copy);
	if (_IOC_DIR(request) & _IOC_READ)
		memcpy(args, &copy, size);
	return err ? err : result;
}

static bool is_device(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
}

int fake_ioctl(int fd, unsigned long request, void *args)
{
	int result;

	pthread_mutex_lock(&fake.lock);
	result = is_device(fd) ? call(request, args) : -EBADF;
	pthread_mutex_unlock(&fake.lock);
	if (result >= 0)
		return result;
	errno = -result;
	return -1;
}
