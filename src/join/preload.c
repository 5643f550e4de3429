// SPDX-License-Identifier: MIT
/*
 * libgpreempt-join.so: preloaded into a program, it sees the program's calls on the devices of
 * backends, keeps the state of its queues, and joins it to gpreemptd.
 *
 * All but a few calls on these devices go to the next definition of ioctl(), at the cost of a
 * comparison or two. If the preload does not understand something, it says so in one line, and the
 * program runs as without it. It must come before a library that implements the device.
 *
 * State is global, as the program's is.
 */
#include "join/preload.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "device/request.h"
#include "join/exports.h"
#include "join/say.h"

typedef int ioctl_fn(int fd, unsigned long request, ...);

static int kernel_ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *argument;

	va_start(args, request);
	argument = va_arg(args, void *);
	va_end(args);
	return (int)syscall(SYS_ioctl, fd, request, argument);
}

/* Found by the first call, which may come from the constructor of a library that is loaded
 * earlier. */
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
 * The program
 */

static struct gp__process program = GP__PROCESS_INIT(gp__backends, next_ioctl, gp__join_say);
static bool usable;
static const char *hidden_by; /* a library that has the program's calls first, or NULL */
static atomic_bool reached; /* by the program's calls, or by a layer */
static bool loaded_late; /* by a library of the program that gpreempt run watches */

static void forget(void)
{
	gp__process_forget(&program);
}

static void begin(void)
{
	usable = !pthread_atfork(NULL, NULL, forget);
	if (!usable)
		gp__join_say("out of memory; the program runs without gpreempt", true);
}

struct gp__process *gp__preload_process(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int err = errno;

	pthread_once(&once, begin);
	errno = err;
	return usable ? &program : NULL;
}

/*
 * Calls
 */

static int join_ioctl(int fd, unsigned long request, ...);

/* The library that has the program's calls first. NULL: this one. */
static const char *find_first(void)
{
	void *first = dlsym(RTLD_DEFAULT, "ioctl");
	Dl_info info;

	if (!first || first == (void *)(uintptr_t)join_ioctl)
		return NULL;
	return dladdr(first, &info) && info.dli_fname ? info.dli_fname : "another library";
}

/* Tells gpreempt run if another preload is in the way. It may pass the calls on, though. */
__attribute__((constructor)) static void check_way(void)
{
	const char *preloads = getenv("LD_PRELOAD"), *first, *slash;

	first = getenv(GP__ENV_NOTES) ? find_first() : NULL;
	loaded_late = first && !(preloads && strstr(preloads, GP__JOIN_LIBRARY));
	if (!first || loaded_late)
		return;
	hidden_by = first;
	slash = strrchr(hidden_by, '/');
	gp__join_note(GP__NOTE_HIDDEN, slash ? slash + 1 : hidden_by);
	/* Constructors of other libraries may have called before. */
	if (atomic_load(&reached))
		gp__join_note(GP__NOTE_REACHED, hidden_by);
}

static void reach(void)
{
	int err = errno;

	if (atomic_load_explicit(&reached, memory_order_relaxed) || atomic_exchange(&reached, true))
		return;
	if (hidden_by)
		gp__join_note(GP__NOTE_REACHED, hidden_by);
	errno = err;
}

void gp__preload_is_tool(void)
{
	Dl_info own;
	char text[32];

	if (!loaded_late || atomic_load(&reached) ||
	    !dladdr((void *)(uintptr_t)gp__preload_is_tool, &own))
		return;
	snprintf(text, sizeof(text), "%lx-", (unsigned long)(uintptr_t)own.dli_fbase);
	gp__join_note(GP__NOTE_LATE, text);
}

static int own_ioctl(int fd, unsigned long request, void *argument)
{
	struct gp__process *p = gp__preload_process();

	reach();
	return p ? gp__process_ioctl(p, fd, request, argument) : next_ioctl(fd, request, argument);
}

static int join_ioctl(int fd, unsigned long request, ...)
{
	int before, result;
	va_list args;
	void *argument;

	va_start(args, request);
	argument = va_arg(args, void *);
	va_end(args);
	if (!gp__process_wants(&program, request))
		return next_ioctl(fd, request, argument);
	/* ioctl() is not a cancellation point, and own_ioctl() holds locks. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	result = own_ioctl(fd, request, argument);
	pthread_setcancelstate(before, NULL);
	return result;
}

/* The address of this symbol is that of the first ioctl() in the program, join_ioctl's is ours. */
GP__PUBLIC int exported_ioctl(int fd, unsigned long request, ...) __asm__("ioctl")
	__attribute__((alias("join_ioctl")));

/*
 * Other libraries of gpreempt
 */

GP__PUBLIC struct gp__port *gp_join_open(const struct gp__queue_ops *ops, void *state)
{
	struct gp__process *p = gp__preload_process();

	reach();
	return p ? gp__process_open(p, ops, state) : NULL;
}

/* Whether the program's calls come here. They do not if only the layer has loaded this library. */
static bool sees_calls(void)
{
	return !find_first();
}

GP__PUBLIC bool gp_join_is_beneath(const char *platform)
{
	for (size_t i = 0; gp__backends[i]; i++) {
		if (gp__backends[i]->is_beneath && gp__backends[i]->is_beneath(platform))
			return sees_calls();
	}
	return false;
}

static void end(void)
{
	gp__process_exit(&program);
}

static void plan_end(void)
{
	atexit(end);
}

GP__PUBLIC int gp_join_arriving(uint64_t when_ns)
{
	static pthread_once_t planned = PTHREAD_ONCE_INIT;
	struct gp__process *p = gp__preload_process();
	int err = p ? gp__process_arriving(p, when_ns) : -ENOTCONN;

	/* The program has queues, so its runtime has registered its own exit handlers: ours, which
	 * is registered later, runs before them. */
	if (!err)
		pthread_once(&planned, plan_end);
	return err;
}

GP__PUBLIC int gp_join_lead_time(uint64_t *ns)
{
	struct gp__process *p = gp__preload_process();
	u64 lead = 0;
	int err = p ? gp__process_lead_time(p, &lead) : -ENOTCONN;

	*ns = lead;
	return err;
}

GP__PUBLIC int gp_join_gang(const char *name, uint32_t members)
{
	struct gp__process *p = gp__preload_process();

	return p ? gp__process_gang(p, name, members) : -ENOTCONN;
}
