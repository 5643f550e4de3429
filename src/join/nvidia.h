/* SPDX-License-Identifier: MIT */
/*
 * The channel groups of a program on NVIDIA GPUs, put before the agent: what computes in one
 * context on one GPU is one queue. It is held off the GPU, or given another time slice.
 */
#ifndef GP__JOIN_NVIDIA_H
#define GP__JOIN_NVIDIA_H

#include "device/nvrm/owner.h"
#include "join/wish.h"

struct gp__nvidia;

/* @next: what the driver is asked by. @say gets a sentence for people. 0 or -errno. */
int gp__nvidia_create(gp__nvrm_ioctl_fn next, const struct gp__wish *wish,
		      void (*say)(const char *text), struct gp__nvidia **nvidia);
/* A call of the program on one of the driver's devices, as ioctl(). */
int gp__nvidia_ioctl(struct gp__nvidia *nvidia, int fd, unsigned long request, void *args);
/* In a child after fork(). */
void gp__nvidia_forget(struct gp__nvidia *nvidia);
/* As gp__agent_arriving(). Just before work comes for which others were taken off the GPU, the
 * calling thread's CUDA context is loaded there (join/touch.h). */
int gp__nvidia_arriving(struct gp__nvidia *nvidia, uint64_t at);
/* Before libcuda is torn down: nothing of it is used from now on. */
void gp__nvidia_exit(struct gp__nvidia *nvidia);

#endif
