// SPDX-License-Identifier: MIT
/*
 * libgpreempt-join.so: preloaded into a program, it sees the program's calls on /dev/kfd and keeps
 * the state of its queues, for those who schedule them from inside (table.h). In a program that
 * `gpreempt run` started it sees those on NVIDIA's devices, too.
 *
 * Everything but a few calls on these devices goes to the next definition of ioctl(), at the price
 * of a comparison or two. What it does not understand makes it step aside: it says so in one line,
 * and the program runs as without it. It must stand before whatever answers for the device itself.
 *
 * State is global, since the program that it is loaded into is.
 */
#include "join/table.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "device/nvrm/abi.h"
#include "join/amd.h"
#include "join/hsa/register.h"
#include "join/hsa/tools.h"
#include "join/nvidia.h"
#include "join/say.h"

#define PUBLIC __attribute__((visibility("default")))

typedef int ioctl_fn(int fd, unsigned long request, ...);

static struct {
	pthread_once_t once;
	struct gp__kfd_owner *owner; /* NULL: it has stepped aside */
	struct gp__amd *amd; /* NULL: nobody asked to have this program scheduled */
	pthread_rwlock_t watcher_lock; /* for reading: he is being told */
	struct gp__kfd_owner_events watcher;
	bool watched;
	/* Apart from all that: a program has the one or the other. */
	pthread_once_t nvidia_once;
	struct gp__nvidia *nvidia; /* NULL: nobody asked, or it has stepped aside */
	int (*_Atomic also_arriving)(uint64_t when_ns); /* NULL: nobody else */
} join = { .once = PTHREAD_ONCE_INIT,
	   .watcher_lock = PTHREAD_RWLOCK_INITIALIZER,
	   .nvidia_once = PTHREAD_ONCE_INIT };

/*
 * The next ioctl()
 */

static int kernel_ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *argument;

	va_start(args, request);
	argument = va_arg(args, void *);
	va_end(args);
	return (int)syscall(SYS_ioctl, fd, request, argument);
}

/* Found by whoever comes first, which may be the constructor of a library that is older than us. */
static int next_ioctl(int fd, unsigned long request, void *argument)
{
	static _Atomic(ioctl_fn *) next;
	ioctl_fn *fn = atomic_load_explicit(&next, memory_order_relaxed);

	if (!fn) {
		int err = errno;
		void *found = dlsym(RTLD_NEXT, "ioctl");

		fn = kernel_ioctl;
		if (found)
			memcpy(&fn, &found, sizeof(found));
		atomic_store_explicit(&next, fn, memory_order_relaxed);
		errno = err;
	}
	return fn(fd, request, argument);
}

/*
 * Who is told
 */

static void tell(size_t which, const struct gp__kfd_queue_info *queue)
{
	void (*call)(void *data, const struct gp__kfd_queue_info *queue);

	pthread_rwlock_rdlock(&join.watcher_lock);
	memcpy(&call, (char *)&join.watcher + which, sizeof(call));
	if (call)
		call(join.watcher.data, queue);
	pthread_rwlock_unlock(&join.watcher_lock);
}

static void added(void *data, const struct gp__kfd_queue_info *queue)
{
	(void)data;
	if (join.amd)
		gp__amd_added(join.amd, queue);
	tell(offsetof(struct gp__kfd_owner_events, added), queue);
}

static void removed(void *data, const struct gp__kfd_queue_info *queue)
{
	(void)data;
	if (join.amd)
		gp__amd_removed(join.amd, queue);
	tell(offsetof(struct gp__kfd_owner_events, removed), queue);
}

static void changed(void *data, const struct gp__kfd_queue_info *queue)
{
	(void)data;
	tell(offsetof(struct gp__kfd_owner_events, changed), queue);
}

static void lost(void *data, const struct gp__kfd_queue_info *queue)
{
	(void)data;
	if (join.amd)
		gp__amd_lost(join.amd, queue);
	tell(offsetof(struct gp__kfd_owner_events, lost), queue);
}

/*
 * Beginning
 */

/* The best for a program's own queues: in one step where the kernel has that. */
static enum gp__kfd_way best_way(void)
{
	struct gp_kfd_preempt_query query = { 0 };
	int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	bool series = fd >= 0 && !next_ioctl(fd, GP_KFD_PREEMPT_QUERY, &query) && query.version;

	if (fd >= 0)
		close(fd);
	return series ? GP__KFD_WAY_PREEMPT : GP__KFD_WAY_UPDATE;
}

/* A child has none of its parent's queues, and nobody in it watches. */
static void begin_child(void)
{
	gp__kfd_owner_forget(join.owner);
	if (join.amd)
		gp__amd_forget(join.amd);
	pthread_rwlock_init(&join.watcher_lock, NULL);
	join.watcher = (struct gp__kfd_owner_events){ 0 };
	join.watched = false;
}

/* Without it the program's queues can still be held from inside. */
static void begin_agent(void)
{
	struct gp__wish wish;
	const char *bad;

	if (!gp__wish_read(&wish, &bad))
		gp__join_step_aside("what cannot be is in ", bad);
	else if (wish.joined && gp__amd_create(join.owner, &wish, gp__join_say, &join.amd))
		gp__join_step_aside("no memory, or no place where gpreemptd could be", "");
}

static void begin(void)
{
	static const struct gp__kfd_owner_events events = { added, removed, changed, lost, NULL };
	const char *name = getenv(GP__WISH_WAY);
	int way = name && *name ? gp__kfd_way_parse(name) : (int)best_way();
	struct gp__kfd_owner *owner;

	if (way < 0) {
		gp__join_step_aside(GP__WISH_WAY " is none of update, dbgtrap and preempt, but ",
				    name);
		return;
	}
	if (gp__kfd_owner_create(next_ioctl, (enum gp__kfd_way)way, &events, &owner)) {
		gp__join_step_aside("out of memory", "");
		return;
	}
	join.owner = owner;
	begin_agent();
	if (pthread_atfork(NULL, NULL, begin_child)) {
		join.owner = NULL;
		gp__kfd_owner_destroy(owner);
		gp__join_step_aside("out of memory", "");
	}
}

static struct gp__kfd_owner *get_owner(void)
{
	int err = errno;

	pthread_once(&join.once, begin);
	errno = err;
	return join.owner;
}

static void begin_nvidia_child(void)
{
	gp__nvidia_forget(join.nvidia);
}

static void begin_nvidia(void)
{
	struct gp__nvidia *nvidia;
	struct gp__wish wish;
	const char *bad;

	if (!gp__wish_read(&wish, &bad)) {
		gp__join_step_aside("what cannot be is in ", bad);
	} else if (wish.joined) {
		if (gp__nvidia_create(next_ioctl, &wish, gp__join_say, &nvidia)) {
			gp__join_step_aside("no memory, or no place where gpreemptd could be", "");
			return;
		}
		join.nvidia = nvidia;
		if (pthread_atfork(NULL, NULL, begin_nvidia_child)) {
			/* Nothing was made yet that would have to be forgotten. */
			join.nvidia = NULL;
			gp__join_step_aside("out of memory", "");
		}
	}
}

static struct gp__nvidia *get_nvidia(void)
{
	int err = errno;

	pthread_once(&join.nvidia_once, begin_nvidia);
	errno = err;
	return join.nvidia;
}

static bool is_nvidia(int fd)
{
	struct stat st;
	int err = errno;
	bool is = !fstat(fd, &st) && S_ISCHR(st.st_mode) && major(st.st_rdev) == GP__NVRM_MAJOR;

	errno = err;
	return is;
}

static bool is_kfd(int fd)
{
	struct stat device, st;
	int err = errno;
	bool is = !fstat(fd, &st) && S_ISCHR(st.st_mode) && !stat("/dev/kfd", &device) &&
		  st.st_rdev == device.st_rdev;

	errno = err;
	return is;
}

static int own_ioctl(int fd, unsigned long request, void *argument)
{
	struct gp__kfd_owner *owner;
	struct gp__nvidia *nvidia;

	if (gp__kfd_owner_wants(request) && is_kfd(fd) && (owner = get_owner()))
		return gp__kfd_owner_ioctl(owner, fd, request, argument);
	if (gp__nvrm_owner_wants(request) && is_nvidia(fd) && (nvidia = get_nvidia()))
		return gp__nvidia_ioctl(nvidia, fd, request, argument);
	return next_ioctl(fd, request, argument);
}

PUBLIC int join_ioctl(int fd, unsigned long request, ...) __asm__("ioctl");
int join_ioctl(int fd, unsigned long request, ...)
{
	int before, result;
	va_list args;
	void *argument;

	va_start(args, request);
	argument = va_arg(args, void *);
	va_end(args);
	if (!gp__kfd_owner_wants(request) && !gp__nvrm_owner_wants(request))
		return next_ioctl(fd, request, argument);
	/* It is not where a thread may be cancelled, and what is done here has locks. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	result = own_ioctl(fd, request, argument);
	pthread_setcancelstate(before, NULL);
	return result;
}

/*
 * The HSA runtime, which loads this as a tools library or registers its tables, or both
 */

static void load_hsa(struct gp__hsa_table *table)
{
	if (get_owner() && join.amd && !gp__hsa_is_loaded())
		gp__amd_load_hsa(join.amd, table);
}

PUBLIC bool OnLoad(struct gp__hsa_table *table, uint64_t version, uint64_t nr_failed,
		   const char *const *failed);
bool OnLoad(struct gp__hsa_table *table, uint64_t version, uint64_t nr_failed,
	    const char *const *failed)
{
	(void)version, (void)nr_failed, (void)failed;
	load_hsa(table);
	return true; /* false would be reported as a failure of the program's environment */
}

PUBLIC void OnUnload(void);
void OnUnload(void)
{
	gp__hsa_unload();
}

PUBLIC gp__register_fn rocprofiler_register_library_api_table;
int rocprofiler_register_library_api_table(const char *name, uint32_t (*import)(void),
					   uint32_t version, void **tables, uint64_t nr_tables,
					   uint64_t *id)
{
	gp__register_fn *next = gp__register_next(__builtin_return_address(0),
						  rocprofiler_register_library_api_table);

	if (name && !strcmp(name, "hsa") && tables && nr_tables && tables[0]) {
		gp__hsa_renew(tables[0]);
		load_hsa(tables[0]);
	}
	return next ? next(name, import, version, tables, nr_tables, id) : GP__ROCP_REG_NO_TOOLS;
}

/*
 * The table
 */

static size_t list_queues(struct gp__kfd_owned *list, size_t max)
{
	return gp__kfd_owner_list(join.owner, list, max);
}

static int set_queues(enum gp__kfd_verb verb, const uint32_t *ids, int *results, size_t n)
{
	return gp__kfd_owner_set(join.owner, verb, ids, results, n);
}

static const char *name_way(char *why, size_t size)
{
	gp__kfd_owner_explain_way(join.owner, why, size);
	return gp__kfd_way_name(gp__kfd_owner_way(join.owner, NULL));
}

static void explain(enum gp__kfd_verb verb, int error, char *text, size_t size)
{
	const struct gp__kfd_control c = { .way = gp__kfd_owner_way(join.owner, NULL),
					   .runtime = GP__KFD_RUNTIME_UNKNOWN };

	gp__kfd_explain(&c, verb, error, text, size);
}

static int watch(const struct gp__kfd_owner_events *watcher)
{
	int err = 0;

	pthread_rwlock_wrlock(&join.watcher_lock);
	if (watcher && join.watched)
		err = -EBUSY;
	else
		join.watcher = watcher ? *watcher : (struct gp__kfd_owner_events){ 0 };
	if (!err)
		join.watched = watcher;
	pthread_rwlock_unlock(&join.watcher_lock);
	return err;
}

PUBLIC const struct gp_join_table *gp_join_table(uint32_t version)
{
	static const struct gp_join_table table = {
		.version = GP_JOIN_VERSION,
		.list = list_queues,
		.set = set_queues,
		.way = name_way,
		.explain = explain,
		.watch = watch,
	};

	return version == GP_JOIN_VERSION && get_owner() ? &table : NULL;
}

PUBLIC void gp_join_also(int (*arriving)(uint64_t when_ns))
{
	atomic_store(&join.also_arriving, arriving);
}

/* A program that has queues with one of two only is told of that. */
static int better_answer(int a, int b)
{
	return b && (!a || b == -ENOTCONN) ? a : b;
}

static void end_nvidia(void)
{
	gp__nvidia_exit(join.nvidia);
}

static void plan_end(void)
{
	atexit(end_nvidia);
}

static int nvidia_arriving(uint64_t when_ns)
{
	static pthread_once_t planned = PTHREAD_ONCE_INIT;
	int err = join.nvidia ? gp__nvidia_arriving(join.nvidia, when_ns) : -ENOTCONN;

	/* There is a context: libcuda has said what is to be done at the end, and this is before.
	 */
	if (!err)
		pthread_once(&planned, plan_end);
	return err;
}

PUBLIC int gp_join_arriving(uint64_t when_ns)
{
	int (*also)(uint64_t when_ns) = atomic_load(&join.also_arriving);
	int amd = get_owner() && join.amd ? gp__amd_arriving(join.amd, when_ns) : -ENOTCONN;
	int nvidia = nvidia_arriving(when_ns);

	return better_answer(better_answer(amd, nvidia), also ? also(when_ns) : -ENOTCONN);
}
