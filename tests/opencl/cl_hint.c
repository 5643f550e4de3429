/* SPDX-License-Identifier: MIT */
/* A program with an OpenCL queue that announces its work, as gp_hint_arriving() does. */
#include "cl_lab.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int main(void)
{
	int (*arriving)(uint64_t) = NULL;
	void *found = dlsym(RTLD_DEFAULT, "gp_join_arriving");
	cl_command_queue queue;
	struct timespec now;
	struct lab lab;
	int err = -1;

	memcpy(&arriving, &found, sizeof(found));
	lab_check(arriving, "announcing work failed: the program is not joined");
	lab_open(&lab, "__kernel void nothing(void) {}");
	queue = lab_queue(&lab, 0);
	/* Waits until the daemon knows the queue. */
	for (int i = 0; i < 2000 && err; i++) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		err = arriving((uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec);
		usleep(10000);
	}
	lab_check(!err, "announced, and answered with %d", err);
	lab_must(clReleaseCommandQueue(queue));
	lab_close(&lab);
	puts("announced");
	return 0;
}
