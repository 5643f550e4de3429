/* SPDX-License-Identifier: MIT */
/* Processes of several users, for tests that run as root. */
#ifndef GP__TESTS_DAEMON_USERS_H
#define GP__TESTS_DAEMON_USERS_H

#include "two.h"

#include <stdio.h>
#include <unistd.h>

/* Two users without rights. Neither is the overflow uid. */
#define ALICE 65533
#define MALLORY 65532

/* Stands for a GPU that programs of several users have open. */
#define GPU "/dev/full"
#define CONFIG "[daemon]\ndevices = " GPU "\n"

#define NEEDS_ROOT()                                                \
	do {                                                        \
		if (geteuid()) {                                    \
			print_message("only root can be others\n"); \
			skip();                                     \
		}                                                   \
	} while (0)

/* A failed check of the child ends it with the line; of the parent, the test. */
#define EXPECT(truth)                                                                    \
	do {                                                                             \
		if (!(truth)) {                                                          \
			fprintf(stderr, "%s:%d: not: %s\n", __FILE__, __LINE__, #truth); \
			_exit(1);                                                        \
		}                                                                        \
	} while (0)

/* Runs a function as another user, in a process of its own. */
void as(uid_t uid, struct rig *r, void (*act)(struct rig *r));

/* A process of a user that does something and then waits to be ended. */
struct user_process {
	pid_t pid;
	int let_go;
};

void user_start(struct user_process *g, struct rig *r, uid_t uid, void (*begin)(struct rig *r));
void user_end(struct user_process *g);

void open_gpu(void);
/* It joins with the GPU open, and has a queue with work. */
void join(struct rig *r, s32 prio, const char *tag);
void join_patiently(struct rig *r);

void expect_refused(struct rig *r, const char *request, int code);
u32 number_of(const json_t *o, const char *key);

#endif
