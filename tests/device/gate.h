/* SPDX-License-Identifier: MIT */
/* A program on an emulated machine with a kernel that runs for as long as the test wants. */
#ifndef GP__TESTS_DEVICE_GATE_H
#define GP__TESTS_DEVICE_GATE_H

#include <stdatomic.h>

#include "device/kfd/user.h"
#include "base/object.h"

struct gate {
	struct gp__kfd_user u;
	struct gp__kfd_queue q;
	struct gp__kfd_memory code, data;
	struct gp__object object;
	struct gp__kfd_signal *signal;
	struct {
		uint64_t arrived, open, left, turn;
	} * args;
	_Atomic uint32_t *arrived, *open;
};

/* Opens the first GPU, with the kernels of the code object at @path. */
void gate_begin(struct gate *g, const char *path);
void gate_end(struct gate *g);
/* Launches a wave, and returns when it runs. */
void gate_close(struct gate *g, bool with_signal);
/* Ends it. */
void gate_open(struct gate *g);

#endif
