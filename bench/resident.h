/* SPDX-License-Identifier: MIT */
/*
 * A client of a GPU, emulated or real, with one queue and a kernel with any number of resident
 * waves, for benchmarks of stopping it.
 */
#ifndef GP_BENCH_RESIDENT_H
#define GP_BENCH_RESIDENT_H

#include "base/object.h"
#include "device/kfd/control.h"
#include "device/kfd/user.h"

#define RESIDENT_RING 4096u /* packets */
#define RESIDENT_WAVES_MAX 1024u
#define RESIDENT_CU_WAVES 32u /* waves of the kernel that fill a compute unit */

struct resident {
	struct gp__kfd_user u;
	struct gp__kfd_queue q;
	struct gp__kfd_memory code, data;
	struct gp__object object;
	struct gp__kfd_signal *signal;
	/* Arguments of the kernels "beating_gate" and "knock". */
	struct {
		uint64_t arrived, open, left, beat;
	} * gate_args;
	_Atomic uint32_t *arrived, *open, *left, *beat;
};

/* Opens the first GPU, with the kernels at @path; allows a debugger. 0 or -errno. */
int resident_begin(struct resident *r, const char *path);
void resident_end(struct resident *r);

/* The description of the queue for an owner of its state. */
struct gp__kfd_queue_info resident_queue(const struct resident *r);
/* A kernel's descriptor; 0: there is none of that name. */
uint64_t resident_kernel(const struct resident *r, const char *name);
/* Waits until the signal is below @value: 0, or -ETIME. */
int resident_wait(struct gp__kfd_signal *signal, int64_t value);

/* Starts so many waves, which wait at the gate, all resident; and ends them. 0 or -errno. */
int resident_close_gate(struct resident *r, uint32_t waves);
int resident_open_gate(struct resident *r, uint32_t waves);
/* Waits until all waves run: starting a queue returns before they are restored. 0, or -ETIME. */
int resident_settle(struct resident *r, uint32_t waves);

/* The device's clock. */
uint64_t resident_device_ns(const struct resident *r);

/* Measures a call by both clocks. Returns its result. */
int resident_timed(struct resident *r, int (*call)(void *arg), void *arg, double *wall_ns,
		   double *device_ns);

#endif
