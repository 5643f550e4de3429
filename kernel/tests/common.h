/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the programs of `make kernel-test`: cases, and the fake GPU they run on. */
#ifndef KERNEL_TESTS_COMMON_H
#define KERNEL_TESTS_COMMON_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

extern const char *scheduler; /* which of the fake GPUs */
extern const char *current_case;
extern int failures;

#define EXPECT(condition) expect(condition, #condition, __LINE__)
#define EXPECT_EQ(got, want) expect_eq(got, want, #got, __LINE__)
#define RUN(name) run(#name, name)

void expect(bool holds, const char *text, int line);
void expect_eq(long got, long want, const char *text, int line);
void run(const char *name, void (*body)(void));
_Noreturn void die(const char *what);

__attribute__((format(printf, 1, 2))) void control(const char *format, ...);

/* All that there is to see of it, at one moment. */
struct look {
	char text[8192];
};

struct state {
	bool exists;
	int mapped, preempted, evicted, suspended;
};

void look(struct look *l);
struct state state_in(const struct look *l, pid_t pid, uint32_t id);
struct state state_of(pid_t pid, uint32_t id);
int number_in(const struct look *l, const char *name);
int number(const char *name);
void expect_consistent(void);

/* The buffers of a queue that CREATE_QUEUE finds in the page table of a program on the fake GPU. */
#define RING_ADDRESS 0x1000
#define POINTERS_ADDRESS 0x3000
#define SAVE_ADDRESS 0x4000
#define BUFFER_BYTES 4096 /* of each, and where waves are saved for each XCC */

struct gp_kfd_create_queue;
unsigned int fake_gpu_id(void);
/* Asks for a queue in them. The process says "prepare" to the fake GPU before. */
struct gp_kfd_create_queue usual_queue(void);

int open_kfd(void);
/* The result, or -errno. */
int call(int fd, unsigned long cmd, void *args);

#endif
