// SPDX-License-Identifier: MIT
/* Calls on devices and memory, and fork(). */
#include "emu/client/client.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "emu/client/hook.h"
#include "emu/client/next.h"
#include "emu/client/raw.h"

#define FORK_STACK (1u << 20)

/*
 * ioctls that the kernel handles for any descriptor are done on the socket. All others are the
 * driver's, whatever they were meant for: amdkfd looks only at the number, so that isatty() is
 * GET_VERSION.
 */
static bool is_for_driver(unsigned long request)
{
	return request != FIOCLEX && request != FIONCLEX && request != FIONBIO &&
	       request != FIOASYNC;
}

HOOK(int, ioctl, int fd, unsigned long request, ...)
{
	uint64_t file;
	void *argument;
	va_list args;

	va_start(args, request);
	argument = va_arg(args, void *);
	va_end(args);
	if (client_on() && is_for_driver(request) && client_file_find(fd, &file, NULL))
		return HOOK_RESULT(int, client_ioctl(file, request, argument));
	if (!client_next.ioctl)
		return HOOK_RESULT(int, raw_ioctl(fd, request, argument));
	return client_next.ioctl(fd, request, argument);
}

static bool is_ours(int fd, int flags, uint64_t *file)
{
	return fd >= 0 && !(flags & MAP_ANONYMOUS) && client_on() &&
	       client_file_find(fd, file, NULL);
}

/* A dmabuf whose memory belongs to the machine. */
static bool is_token(int fd, int flags)
{
	return fd >= 0 && !(flags & MAP_ANONYMOUS) && client_on() &&
	       raw_fcntl(fd, F_GET_SEALS, 0) == EMU_TOKEN_SEALS;
}

/* A descriptor with these seals may be something else. */
static void *map_token(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	int64_t result = client_mmap_dmabuf(fd, at, len, prot, flags, (uint64_t)offset);

	if (result == -EINVAL || result == -ENODEV)
		return client_next.mmap64(at, len, prot, flags, fd, offset);
	return HOOK_RESULT(void *, result);
}

HOOK(void *, mmap, void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	uint64_t file;

	if (is_ours(fd, flags, &file))
		return HOOK_RESULT(void *,
				   client_mmap(file, at, len, prot, flags, (uint64_t)offset));
	if (is_token(fd, flags))
		return map_token(at, len, prot, flags, fd, offset);
	return client_next.mmap(at, len, prot, flags, fd, offset);
}

HOOK(void *, mmap64, void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	uint64_t file;

	if (is_ours(fd, flags, &file))
		return HOOK_RESULT(void *,
				   client_mmap(file, at, len, prot, flags, (uint64_t)offset));
	if (is_token(fd, flags))
		return map_token(at, len, prot, flags, fd, offset);
	return client_next.mmap64(at, len, prot, flags, fd, offset);
}

/*
 * Private memory is zero after it was dropped, and allocators rely on it: so must be memory that
 * only looks private.
 */
HOOK(int, madvise, void *at, size_t len, int advice)
{
	bool drops = advice == MADV_DONTNEED || advice == MADV_FREE;

	if (drops && client_on() && client_share_any() && client_share_drop((uint64_t)at, len))
		advice = MADV_DONTNEED; /* MADV_FREE is for private memory only */
	return client_next.madvise(at, len, advice);
}

/*
 * A child begins on its parent's stack. If a page of that is shared, both would write to it until
 * the child has its own copy: so both use another stack until then, which is private and copied
 * like any other memory.
 */
struct forking {
	ucontext_t home, away;
	pid_t result;
	int err;
};

static void fork_away(unsigned int low, unsigned int high)
{
	struct forking *f = (struct forking *)((uint64_t)high << 32 | low);

	f->result = client_next.fork();
	f->err = errno;
}

static pid_t fork_on_stack(char *stack)
{
	struct forking *f = (struct forking *)stack;
	pid_t result;

	getcontext(&f->away);
	f->away.uc_stack.ss_sp = stack + sizeof(*f);
	f->away.uc_stack.ss_size = FORK_STACK - sizeof(*f);
	f->away.uc_link = &f->home;
	makecontext(&f->away, (void (*)(void))fork_away, 2, (unsigned int)(uint64_t)f,
		    (unsigned int)((uint64_t)f >> 32));
	swapcontext(&f->home, &f->away);
	result = f->result;
	if (result < 0)
		errno = f->err;
	return result;
}

HOOK(pid_t, fork, void)
{
	long stack;
	pid_t result;

	if (!client_on() || !client_share_any())
		return client_next.fork();
	stack = raw_mmap(0, FORK_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (raw_failed(stack)) {
		errno = ENOMEM;
		return -1;
	}
	result = fork_on_stack((char *)stack);
	raw_munmap((uint64_t)stack, FORK_STACK);
	return result;
}
