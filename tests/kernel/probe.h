/* SPDX-License-Identifier: MIT */
/*
 * A program that asks /dev/kfd everything that can be answered without a GPU, in the same way on a
 * real kernel and on an emulated machine. Each case is a line, "group/case: answer", that has no
 * address, pid or time in it: two runs on the same kernel print the same.
 *
 * A group is a process of its own, as what a process has asked before decides on later answers; it
 * may start others. One that hangs is killed, and the line of its group says so.
 *
 * Usage: kfd_probe [GROUP...]
 */
#ifndef GP__KERNEL_PROBE_H
#define GP__KERNEL_PROBE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "gpreempt/uapi/gpreempt_kfd.h"

struct probe {
	const char *group;
	int kfd;
};

/* A GPU, a queue and an event that do not exist. */
#define PROBE_NO_GPU 0x1234
#define PROBE_NO_QUEUE 77
#define PROBE_NO_EVENT 4000

void probe_say(const struct probe *p, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same, of a result: a number or, if it is negative, the name of the error. */
void probe_answer(const struct probe *p, const char *name, long result);
/* The name of an error, or the number, in a buffer of the caller's. */
#define PROBE_RESULT_MAX 24
const char *probe_result(char buf[PROBE_RESULT_MAX], long result);

/* Their results are 0 or more, or -errno. */
int probe_open(int flags);
int probe_ioctl(const struct probe *p, unsigned long request, void *arg);
/* Makes a call and prints its answer. */
void probe_ask(const struct probe *p, const char *name, unsigned long request, void *arg);

/*
 * Memory of one page that ends where nothing is mapped: what reads or writes a byte too much fails.
 * With the size of something, its address at the end of the page.
 */
void *probe_edge(size_t size, int prot);

/* Runs @f in a process with a /dev/kfd of its own, and waits for its end, which is a line if it is
 * not a good one. */
void probe_fresh(const struct probe *p, const char *name,
		 void (*f)(const struct probe *p, const void *arg), const void *arg);
/* A child that does what @f says and then waits to be killed; it has been done on return. */
pid_t probe_child(const struct probe *p, void (*f)(const struct probe *p));
void probe_kill(pid_t pid);

void probe_calls(const struct probe *p);
void probe_ids(const struct probe *p);
void probe_files(const struct probe *p);
void probe_mappings(const struct probe *p);
void probe_events(const struct probe *p);
void probe_waits(const struct probe *p);
void probe_runtime(const struct probe *p);
void probe_debug_self(const struct probe *p);
void probe_debug_other(const struct probe *p);
void probe_sysfs(const struct probe *p);

#endif
