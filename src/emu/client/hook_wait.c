// SPDX-License-Identifier: MIT
/*
 * Waits for signals of the HSA runtime. HIP lets the runtime poll, which suits a GPU that answers
 * within microseconds. Emulated kernels take milliseconds, on the same processors, and polling
 * takes these from them. So a wait that polls sleeps between two looks instead, after a while.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "emu/client/client.h"
#include "emu/client/hook.h"
#include "emu/client/raw.h"

#define RUNTIME "libhsa-runtime64.so"
#define PATH_BYTES 4096
#define VALUE_AT 8 /* of a signal's value in amd_signal_t, to which its handle points */
/* How long a wait polls before it sleeps, and then the share of the time so far that it sleeps. */
#define POLL_NS (200 * GP__US)
#define PAUSE_PART 16
#define PAUSE_MAX_NS (500 * GP__US)

/* As in hsa.h. */
enum { EQ, NE, LT };
#define ACTIVE 1

typedef int64_t wait_fn(uint64_t signal, uint32_t condition, int64_t value, uint64_t timeout,
			uint32_t state);

struct waiting {
	wait_fn *next; /* the runtime's; NULL: not found */
	uint64_t signal;
	uint32_t condition;
	int64_t value;
};

static struct {
	_Atomic(wait_fn *) scacquire, relaxed;
} runtime;

static int find_path(struct dl_phdr_info *info, size_t size, void *path)
{
	const char *slash = strrchr(info->dlpi_name, '/');
	const char *name = slash ? slash + 1 : info->dlpi_name;

	(void)size;
	if (strncmp(name, RUNTIME, strlen(RUNTIME)) != 0 || strlen(info->dlpi_name) >= PATH_BYTES)
		return 0;
	strcpy(path, info->dlpi_name);
	return 1;
}

static wait_fn *find(void *library, const char *name)
{
	void *found = dlsym(library, name);
	wait_fn *wait = NULL;

	if (found)
		memcpy(&wait, &found, sizeof(wait));
	return wait;
}

/*
 * Finds the runtime, which RTLD_NEXT does not if it is loaded for one library only. Called while
 * the runtime starts: a lookup during a wait could deadlock with a thread that loads a library and,
 * in it, waits for the GPU. The runtime stays loaded.
 */
void client_wait_find(void)
{
	char path[PATH_BYTES];
	void *library;

	if (runtime.scacquire || !dl_iterate_phdr(find_path, path))
		return;
	library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	if (!library)
		return;
	runtime.relaxed = find(library, "hsa_signal_wait_relaxed");
	runtime.scacquire = find(library, "hsa_signal_wait_scacquire");
}

static bool is_met(uint32_t condition, int64_t is, int64_t value)
{
	switch (condition) {
	case EQ:
		return is == value;
	case NE:
		return is != value;
	case LT:
		return is < value;
	default:
		return is >= value;
	}
}

/* Polls for some ticks. A runtime of another name is not known, but its signals are the same. */
static int64_t look(const struct waiting *w, uint64_t ticks)
{
	if (w->next)
		return w->next(w->signal, w->condition, w->value, ticks, ACTIVE);
	return atomic_load((_Atomic int64_t *)(w->signal + VALUE_AT));
}

/* A tick of the machine's system clock is a nanosecond. */
static int64_t wait_for(const struct waiting *w, uint64_t timeout)
{
	uint64_t begin = gp__clock_ns(), waited = 0;
	int64_t is = look(w, timeout < POLL_NS ? timeout : POLL_NS);

	while (!is_met(w->condition, is, w->value)) {
		struct timespec pause;

		waited = gp__clock_ns() - begin;
		if (waited >= timeout)
			break;
		pause = gp__timespec(waited / PAUSE_PART < PAUSE_MAX_NS ? waited / PAUSE_PART
									: PAUSE_MAX_NS);
		raw(SYS_nanosleep, (long)&pause, 0, 0, 0, 0, 0);
		is = look(w, 0);
	}
	return is;
}

static int64_t wait_or_pass(const struct waiting *w, uint64_t timeout, uint32_t state)
{
	if (w->next && (state != ACTIVE || !client_sets_known()))
		return w->next(w->signal, w->condition, w->value, timeout, state);
	return wait_for(w, timeout);
}

HOOK(int64_t, hsa_signal_wait_scacquire, uint64_t signal, uint32_t condition, int64_t value,
     uint64_t timeout, uint32_t state)
{
	const struct waiting w = { runtime.scacquire, signal, condition, value };

	return wait_or_pass(&w, timeout, state);
}

HOOK(int64_t, hsa_signal_wait_relaxed, uint64_t signal, uint32_t condition, int64_t value,
     uint64_t timeout, uint32_t state)
{
	const struct waiting w = { runtime.relaxed, signal, condition, value };

	return wait_or_pass(&w, timeout, state);
}
