/* SPDX-License-Identifier: MIT */
/*
 * The ROCm runtime in the same process, which HIP stands on. A process has one address space on a
 * GPU, and the runtime does not start where somebody else has it: so where it is loaded, it is
 * initialised before us, whenever the program would have done that.
 *
 * One that is loaded later, with dlopen(), is not seen.
 */
#ifndef GP__DEVICE_KFD_BESIDE_H
#define GP__DEVICE_KFD_BESIDE_H

struct gp__kfd_beside {
	void *library; /* NULL: it was not us who have initialised it */
};

void gp__kfd_beside_begin(struct gp__kfd_beside *b);
/* Counted by the runtime: where the program uses it as well, it stays. */
void gp__kfd_beside_end(struct gp__kfd_beside *b);

#endif
