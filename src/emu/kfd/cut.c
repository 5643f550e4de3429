// SPDX-License-Identifier: MIT
#include "emu/kfd/cut.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

#define RANGES_MAX 4096
#define TAKEN 1 /* marks an entry that is being filled */

/*
 * A signal handler is global to the process and takes no context: this is its table. The start of a
 * range is written last and makes the entry valid.
 */
static struct {
	_Atomic uintptr_t start, end;
} ranges[RANGES_MAX];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct sigaction before;

static void replace(int signal, siginfo_t *info, void *context)
{
	uintptr_t address = (uintptr_t)info->si_addr;

	for (uint32_t i = 0; i < RANGES_MAX; i++) {
		uintptr_t start = atomic_load(&ranges[i].start), end = atomic_load(&ranges[i].end);
		void *at;

		if (start <= TAKEN || address < start || address >= end)
			continue;
		at = mmap((void *)start, end - start, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
		/* cppcheck-suppress memleak; the mapping replaces the old one */
		if (at != MAP_FAILED)
			return;
	}
	/* Not one of our ranges: the access is repeated with the previous handler. */
	sigaction(signal, &before, NULL);
	(void)context;
}

static void install(void)
{
	struct sigaction action = { .sa_sigaction = replace, .sa_flags = SA_SIGINFO | SA_RESTART };

	sigaction(SIGBUS, &action, &before);
}

int emu_cut_add(void *at, size_t bytes)
{
	pthread_once(&once, install);
	for (uint32_t i = 0; i < RANGES_MAX; i++) {
		uintptr_t none = 0;

		if (!atomic_compare_exchange_strong(&ranges[i].start, &none, TAKEN))
			continue;
		atomic_store(&ranges[i].end, (uintptr_t)at + bytes);
		atomic_store(&ranges[i].start, (uintptr_t)at);
		return 0;
	}
	return -ENOSPC;
}

void emu_cut_remove(const void *at, size_t bytes)
{
	for (uint32_t i = 0; i < RANGES_MAX; i++) {
		uintptr_t start = atomic_load(&ranges[i].start);

		if (start >= (uintptr_t)at && start < (uintptr_t)at + bytes)
			atomic_store(&ranges[i].start, 0);
	}
}
