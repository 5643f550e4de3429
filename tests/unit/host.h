/* SPDX-License-Identifier: MIT */
/*
 * Features of the host that tests need and not every host has: QEMU's user emulation lacks system
 * calls, and containers forbid some. needs_*() is called in a test, which is skipped then;
 * host_has_*() where a program begins. Either says why.
 */
#ifndef GP_TEST_HOST_H
#define GP_TEST_HOST_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

#define TEST_SKIPPED 77 /* the exit status */

/* From here on, for good, a host on which a system call fails so. False: it cannot be made one. */
static inline bool host_forbid(uint32_t call, uint32_t error)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* Without it, bad addresses crash, and other processes' memory cannot be read. */
static inline bool host_has_process_vm(void)
{
	char from = 1, to = 0;
	struct iovec here = { &to, 1 }, there = { &from, 1 };

	if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1)
		return true;
	puts("skipped: no process_vm_readv() on this host");
	return false;
}

static inline bool host_has_ptrace(void)
{
	pid_t child = fork();
	bool can;

	if (!child) {
		pause();
		_exit(0);
	}
	can = child > 0 && !ptrace(PTRACE_SEIZE, child, 0, 0);
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	if (!can)
		puts("skipped: no ptrace() on this host");
	return can;
}

static inline void *host_thread(void *end)
{
	sem_wait(end);
	return NULL;
}

/* In a child of a program that has threads. */
static inline bool host_has_threads_after_fork(void)
{
	pthread_t thread, another;
	int status = -1;
	sem_t end;
	pid_t child;

	sem_init(&end, 0, 0);
	pthread_create(&thread, NULL, host_thread, &end);
	child = fork();
	if (!child) {
		pthread_create(&another, NULL, host_thread, &end);
		sem_post(&end);
		pthread_join(another, NULL);
		_exit(0);
	}
	waitpid(child, &status, 0);
	sem_post(&end);
	pthread_join(thread, NULL);
	if (status)
		puts("skipped: a child of a program with threads cannot have any on this host");
	return !status;
}

static inline void needs_process_vm(void)
{
	if (!host_has_process_vm())
		skip();
}

static inline void needs_ptrace(void)
{
	if (!host_has_ptrace())
		skip();
}

/* The sanitizers' allocators may be locked by another thread at the fork, for ever in the child. */
static inline void needs_threads_after_fork(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	print_message("sanitizers allow no threads after fork()\n");
	skip();
#endif
	if (!host_has_threads_after_fork())
		skip();
}

#endif
