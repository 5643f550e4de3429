// SPDX-License-Identifier: MIT
/*
 * A thread that converts memory when a GPU first needs it.
 *
 * The machine copies registered memory (userptr) of the program by itself as long as only its DMA
 * engines use it. When anything else does, the memory must be converted to memory that both map
 * (share.c), and the program may be in no call then. So a thread of ours waits in one. It exists
 * only in programs that register much memory.
 */
#include <string.h>

#include "base/thread.h"
#include "emu/client/client.h"
#include "gpreempt/uapi/gpreempt_kfd.h"

enum { NONE, STARTED, NOT_POSSIBLE };

static _Atomic int thread_state;

void client_serve_forked(void)
{
	thread_state = NONE;
}

static void *serve(void *unused)
{
	client_serve();
	return unused;
}

static bool is_large_registration(unsigned long request, const void *argument, size_t len)
{
	struct gp_kfd_alloc_memory alloc;

	if (request != GP_KFD_ALLOC_MEMORY || len != sizeof(alloc))
		return false;
	memcpy(&alloc, argument, sizeof(alloc));
	return alloc.flags & GP_KFD_MEM_USERPTR && alloc.size >= EMU_DEFERRED_MIN;
}

bool client_serve_for(unsigned long request, const void *argument, size_t len)
{
	int state = NONE;
	pthread_t thread;

	if (!is_large_registration(request, argument, len))
		return false;
	if (!atomic_compare_exchange_strong(&thread_state, &state, STARTED))
		return state == STARTED;
	if (gp__thread_start(&thread, 0, serve, NULL)) {
		atomic_store(&thread_state, NOT_POSSIBLE);
		return false;
	}
	pthread_detach(thread);
	return true;
}
