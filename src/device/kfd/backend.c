// SPDX-License-Identifier: MIT
/* Joins programs on AMD GPUs: follows a program's queues, and tells the agent and an observer in
 * the process about them. Exports the table of the backend. */
#include "device/kfd/backend.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/emulated.h"
#include "base/global_pid.h"
#include "device/kfd/can.h"
#include "device/kfd/join.h"
#include "device/kfd/machine.h"
#include "gpreempt/uapi/gpreempt_kfd.h"

/*
 * Queues
 */

/* False: the GPU is not in the topology. */
static bool find_node(struct gp__kfd_join *j, uint32_t gpu_id, struct gp__kfd_node *node)
{
	bool found = false;

	pthread_mutex_lock(&j->lock);
	if (!j->nr_nodes)
		j->nr_nodes = gp__kfd_nodes(j->node);
	for (int i = 0; i < j->nr_nodes && !found; i++) {
		found = j->node[i].gpu_id == gpu_id;
		*node = j->node[i];
	}
	pthread_mutex_unlock(&j->lock);
	return found;
}

static void name_device(struct gp__kfd_join *j, uint32_t gpu_id, struct gp__queue_desc *q)
{
	struct gp__kfd_node node = { .gpu_id = gpu_id };

	if (find_node(j, gpu_id, &node)) {
		snprintf(q->device_name, sizeof(q->device_name), "%s", node.name);
		q->device_memory = node.vram_bytes;
	}
	gp__kfd_node_key(&node, q->device, sizeof(q->device));
}

/*
 * Memory
 */

/* Whether the call may change how much memory of a GPU the program uses. */
static bool changes_memory(unsigned long request)
{
	return _IOC_TYPE(request) == _IOC_TYPE(GP_KFD_ALLOC_MEMORY) &&
	       (_IOC_NR(request) == _IOC_NR(GP_KFD_ALLOC_MEMORY) ||
		_IOC_NR(request) == _IOC_NR(GP_KFD_FREE_MEMORY) ||
		_IOC_NR(request) == _IOC_NR(GP_KFD_IMPORT_DMABUF) ||
		_IOC_NR(request) == _IOC_NR(GP_KFD_SVM));
}

/* The driver shows processes by their pids outside of containers. */
static bool knows_own_pid(void)
{
	return gp__is_emulated() || gp__pid_is_global();
}

/* Asks the driver: no other process is trusted with it, and it counts imported memory as well. */
static bool measure_memory(void *state, const char *device, u64 *bytes)
{
	struct gp__kfd_join *j = state;
	char key[GP__WIRE_DEVICE_MAX];
	uint32_t gpu_id = 0;

	pthread_mutex_lock(&j->lock);
	for (int i = 0; i < j->nr_nodes && !gpu_id; i++) {
		gp__kfd_node_key(&j->node[i], key, sizeof(key));
		if (!strcmp(key, device))
			gpu_id = j->node[i].gpu_id;
	}
	pthread_mutex_unlock(&j->lock);
	return gpu_id && knows_own_pid() && gp__kfd_memory_used(getpid(), gpu_id, bytes);
}

/* ROCr has three priorities: the lowest, the normal and the highest of the driver's. */
static s32 own_priority(const struct gp__kfd_queue_info *queue)
{
	return (queue->priority > GP_KFD_PRIORITY_NORMAL) -
	       (queue->priority < GP_KFD_PRIORITY_NORMAL);
}

void gp__kfd_join_add(struct gp__kfd_join *j, const struct gp__kfd_queue_info *queue)
{
	struct gp__queue_desc q = { .id = queue->id, .own = own_priority(queue), .has_own = true };

	if (gp__kfd_kernel_scheduler(queue->gpu_id).enabled) {
		gp__port_say(j->port, "the kernel, not gpreemptd, schedules the queues of this "
				      "GPU, with the requested priority and at level 3");
		return;
	}
	q.level = gp__kfd_join_level(j);
	name_device(j, queue->gpu_id, &q);
	if (gp__watch_add(&j->watch, &q, queue))
		gp__port_say_unscheduled(j->port,
					 "out of memory; a queue of this program runs unscheduled");
}

bool gp__kfd_join_waits_for_window(struct gp__kfd_join *j)
{
	return j->port->request->level == 1 && gp__kfd_join_sees_launches(j);
}

static void tell_observer(struct gp__kfd_join *j, size_t which,
			  const struct gp__kfd_queue_info *queue)
{
	void (*call)(void *data, const struct gp__kfd_queue_info *queue);

	pthread_rwlock_rdlock(&j->observer_lock);
	memcpy(&call, (char *)&j->observer + which, sizeof(call));
	if (call)
		call(j->observer.data, queue);
	pthread_rwlock_unlock(&j->observer_lock);
}

static void queue_added(void *data, const struct gp__kfd_queue_info *queue)
{
	struct gp__kfd_join *j = data;

	if (j->port && gp__kfd_is_compute(queue->type) && !gp__kfd_join_waits_for_window(j))
		gp__kfd_join_add(j, queue);
	tell_observer(j, offsetof(struct gp__kfd_owner_events, added), queue);
}

static void queue_removed(void *data, const struct gp__kfd_queue_info *queue)
{
	struct gp__kfd_join *j = data;
	const struct gp__kfd_launches *l = atomic_load(&j->launches);

	if (l)
		l->removed(queue->id);
	if (gp__watch_monitor(&j->watch))
		gp__kfd_monitor_remove(gp__watch_monitor(&j->watch), gp__kfd_cookie(queue->id));
	gp__kfd_work_remove(&j->work, queue->id);
	if (j->port)
		gp__port_remove(j->port, queue->id);
	tell_observer(j, offsetof(struct gp__kfd_owner_events, removed), queue);
}

/* The runtime sets the priority of a queue, which may be a HIP stream's, after its creation. */
static void queue_changed(void *data, const struct gp__kfd_queue_info *queue)
{
	struct gp__kfd_join *j = data;

	if (j->port)
		gp__port_prioritize(j->port, queue->id, own_priority(queue));
	tell_observer(j, offsetof(struct gp__kfd_owner_events, changed), queue);
}

static void queue_lost(void *data, const struct gp__kfd_queue_info *queue)
{
	struct gp__kfd_join *j = data;

	if (j->port)
		gp__port_lost(j->port, queue->id);
	tell_observer(j, offsetof(struct gp__kfd_owner_events, lost), queue);
}

/*
 * Observer
 */

struct gp__kfd_owner *gp__kfd_join_owner(struct gp__kfd_join *j)
{
	return j->owner;
}

int gp__kfd_join_watch(struct gp__kfd_join *j, const struct gp__kfd_owner_events *observer)
{
	int err = 0;

	pthread_rwlock_wrlock(&j->observer_lock);
	if (observer && j->watched)
		err = -EBUSY;
	else
		j->observer = observer ? *observer : (struct gp__kfd_owner_events){ 0 };
	if (!err)
		j->watched = observer;
	pthread_rwlock_unlock(&j->observer_lock);
	return err;
}

/*
 * Creation
 */

static bool is_device(int fd)
{
	struct stat device, st;

	return !fstat(fd, &st) && S_ISCHR(st.st_mode) && !stat("/dev/kfd", &device) &&
	       st.st_rdev == device.st_rdev;
}

/* The kernel series; all zero: the kernel does not have it. */
static struct gp_kfd_preempt_query query_series(gp__ioctl_fn *next)
{
	struct gp_kfd_preempt_query series = { 0 };
	int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);

	if (fd >= 0) {
		gp__kfd_query_series(next, fd, 0, &series);
		close(fd);
	}
	return series;
}

/* The best way for a program's own queues: one step where the kernel has the series. */
static enum gp__kfd_way best_way(const struct gp_kfd_preempt_query *series)
{
	return gp__kfd_series_can(series, GP_KFD_PREEMPT_SAVE) ? GP__KFD_WAY_PREEMPT
							       : GP__KFD_WAY_UPDATE;
}

/* The logical priority of the program's queues for a kernel that schedules them itself; 0: none. */
static uint32_t priority_for_kernel(void *data, uint32_t gpu_id)
{
	const struct gp__request *r = ((struct gp__kfd_join *)data)->port->request;

	if (r->hints.prio < 0 || !gp__kfd_kernel_scheduler(gpu_id).enabled)
		return 0;
	return ((uint32_t)r->hints.prio + 1) | (r->splits ? GP_KFD_PRIORITY_SPLIT : 0);
}

static int create_owner(struct gp__kfd_join *j, gp__ioctl_fn *next, char why[GP__WIRE_TEXT_MAX])
{
	const struct gp__kfd_owner_events events = { queue_added, queue_removed, queue_changed,
						     queue_lost, j };
	const char *name = getenv(GP__ENV_WAY);
	int way = name && *name ? gp__kfd_way_parse(name) : (int)best_way(&j->series);

	if (way >= 0)
		return gp__kfd_owner_create(next, (enum gp__kfd_way)way, &events, &j->owner);
	snprintf(why, GP__WIRE_TEXT_MAX, GP__ENV_WAY "=%s is not update, dbgtrap or preempt", name);
	return -EINVAL;
}

static int create(struct gp__port *port, gp__ioctl_fn *next, void **state,
		  char why[GP__WIRE_TEXT_MAX])
{
	struct gp__kfd_join *j = calloc(1, sizeof(*j));
	int err;

	if (!j)
		return -ENOMEM;
	j->port = port;
	j->series = query_series(next);
	gp__kfd_join_init_work(j);
	pthread_mutex_init(&j->lock, NULL);
	pthread_rwlock_init(&j->observer_lock, NULL);
	err = create_owner(j, next, why);
	if (err) {
		free(j);
		return err;
	}
	if (port)
		gp__kfd_owner_prioritize(j->owner, priority_for_kernel, j);
	*state = j;
	return 0;
}

static int carry_out(void *state, int fd, unsigned long request, void *argument)
{
	struct gp__kfd_join *j = state;
	int result = gp__kfd_owner_ioctl(j->owner, fd, request, argument), err = errno;

	if (j->port && !result && changes_memory(request))
		gp__port_memory(j->port);
	errno = err;
	return result;
}

static bool wants(unsigned long request)
{
	return gp__kfd_owner_wants(request) || changes_memory(request);
}

/* A child has none of its parent's queues and threads, and no observer. */
static void forget(void *state)
{
	struct gp__kfd_join *j = state;
	const struct gp__kfd_launches *l = atomic_load(&j->launches);

	pthread_mutex_init(&j->lock, NULL);
	pthread_rwlock_init(&j->observer_lock, NULL);
	gp__kfd_owner_forget(j->owner);
	if (l)
		l->forget();
	gp__kfd_join_init_work(j);
	j->level = 0;
	j->narrow = false;
	j->observer = (struct gp__kfd_owner_events){ 0 };
	j->watched = false;
}

/* OpenCL of ROCm launches through the HSA runtime. */
static bool is_beneath(const char *platform)
{
	void *runtime;
	bool is_loaded;

	if (strcmp(platform, "AMD Accelerated Parallel Processing"))
		return false;
	runtime = dlopen("libhsa-runtime64.so.1", RTLD_LAZY | RTLD_NOLOAD);
	is_loaded = runtime;
	if (is_loaded)
		dlclose(runtime);
	return is_loaded;
}

static const struct gp__program_ops program = {
	.wants = wants,
	.is_device = is_device,
	.create = create,
	.ioctl = carry_out,
	.forget = forget,
	.queue = { .hold = gp__kfd_join_hold,
		   .release = gp__kfd_join_release,
		   .memory = measure_memory,
		   .alone = gp__kfd_join_set_alone },
};

const struct gp__backend gp__backend_amd = {
	.name = "amd",
	.text = "queues of AMD GPUs are held through amdkfd",
	.program = &program,
	.is_beneath = is_beneath,
	.count = gp__kfd_machine_count,
	.probe = gp__kfd_machine_probe,
	.doctor = gp__kfd_machine_doctor,
	.kernel_queues = gp__kfd_machine_kernel_queues,
};
