/* SPDX-License-Identifier: MIT */
/*
 * Initialises the ROCm runtime, on which HIP stands, before gpreempt opens the GPU. A process has
 * one address space on a GPU, and the runtime fails to initialise if other code in the process has
 * set it up already. So a runtime that is loaded is initialised first, whether or not the program
 * has done so.
 *
 * A runtime that is loaded later, with dlopen(), is not found.
 */
#ifndef GP__DEVICE_KFD_BESIDE_H
#define GP__DEVICE_KFD_BESIDE_H

struct gp__kfd_beside {
	void *library; /* NULL: gpreempt did not initialise it */
};

void gp__kfd_beside_begin(struct gp__kfd_beside *b);
/* The runtime counts its users: it stays if the program uses it, too. */
void gp__kfd_beside_end(struct gp__kfd_beside *b);

#endif
