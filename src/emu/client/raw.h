/* SPDX-License-Identifier: MIT */
/*
 * System calls without libc: they are no cancellation points, call no other preload, and do not
 * change errno, so they can be used in any context. They return -errno.
 */
#ifndef GP__EMU_CLIENT_RAW_H
#define GP__EMU_CLIENT_RAW_H

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

static inline long raw(long nr, long a, long b, long c, long d, long e, long f)
{
#if defined(__aarch64__)
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
#else /* x86-64; meson.build refuses others */
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
#endif
}

static inline int raw_openat(int dir, const char *path, int flags, mode_t mode)
{
	return (int)raw(SYS_openat, dir, (long)path, flags, mode, 0, 0);
}

static inline int raw_close(int fd)
{
	return (int)raw(SYS_close, fd, 0, 0, 0, 0, 0);
}

static inline long raw_read(int fd, void *to, size_t len)
{
	return raw(SYS_read, fd, (long)to, (long)len, 0, 0, 0);
}

static inline long raw_write(int fd, const void *from, size_t len)
{
	return raw(SYS_write, fd, (long)from, (long)len, 0, 0, 0);
}

static inline long raw_pread(int fd, void *to, size_t len, uint64_t at)
{
	return raw(SYS_pread64, fd, (long)to, (long)len, (long)at, 0, 0);
}

static inline long raw_readlinkat(int dir, const char *path, char *to, size_t len)
{
	return raw(SYS_readlinkat, dir, (long)path, (long)to, (long)len, 0, 0);
}

static inline int raw_fstatat(int dir, const char *path, struct stat *st, int flags)
{
	return (int)raw(SYS_newfstatat, dir, (long)path, (long)st, flags, 0, 0);
}

static inline int raw_fstat(int fd, struct stat *st)
{
	return (int)raw(SYS_fstat, fd, (long)st, 0, 0, 0, 0);
}

static inline int raw_fcntl(int fd, int command, long argument)
{
	return (int)raw(SYS_fcntl, fd, command, argument, 0, 0, 0);
}

static inline int raw_ioctl(int fd, unsigned long request, void *argument)
{
	return (int)raw(SYS_ioctl, fd, (long)request, (long)argument, 0, 0, 0);
}

static inline long raw_mmap(uint64_t at, uint64_t len, int prot, int flags, int fd, uint64_t offset)
{
	return raw(SYS_mmap, (long)at, (long)len, prot, flags, fd, (long)offset);
}

static inline int raw_munmap(uint64_t at, uint64_t len)
{
	return (int)raw(SYS_munmap, (long)at, (long)len, 0, 0, 0, 0);
}

static inline int raw_mprotect(uint64_t at, uint64_t len, int prot)
{
	return (int)raw(SYS_mprotect, (long)at, (long)len, prot, 0, 0, 0);
}

static inline long raw_mremap(uint64_t from, uint64_t len, int flags, uint64_t to)
{
	return raw(SYS_mremap, (long)from, (long)len, (long)len, flags, (long)to, 0);
}

static inline int raw_madvise(uint64_t at, uint64_t len, int advice)
{
	return (int)raw(SYS_madvise, (long)at, (long)len, advice, 0, 0, 0);
}

static inline int raw_gettid(void)
{
	return (int)raw(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

static inline long raw_sendmsg(int fd, const struct msghdr *h, int flags)
{
	return raw(SYS_sendmsg, fd, (long)h, flags, 0, 0, 0);
}

static inline long raw_recvmsg(int fd, struct msghdr *h, int flags)
{
	return raw(SYS_recvmsg, fd, (long)h, flags, 0, 0, 0);
}

static inline int raw_futex(_Atomic int *word, int operation, int value)
{
	return (int)raw(SYS_futex, (long)word, operation, value, 0, 0, 0);
}

/* A signal set as the kernel has it. */
static inline void raw_sigmask(int how, const uint64_t *set, uint64_t *old)
{
	raw(SYS_rt_sigprocmask, how, (long)set, (long)old, sizeof(*set), 0, 0);
}

/* Whether an address is an error. */
static inline int raw_failed(long result)
{
	return result < 0 && result > -4096;
}

#endif
