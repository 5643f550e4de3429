// SPDX-License-Identifier: MIT
/*
 * The kernels of the NVIDIA benchmarks. The programs contain PTX, which the driver compiles:
 * scripts/nvidia-ptx generates kernels.inc from this file.
 *
 * Each thread turns a linear congruential generator, so the host knows the result of any number of
 * rounds at once (mill.c), and every kernel's result is checked.
 */
#define STEP(v) ((v) * 1664525u + 1013904223u)
#define ID (__nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + \
	    __nvvm_read_ptx_sreg_tid_x())

/* Each kernel continues with the state of the last one. */
__kernel void mill(__global unsigned int *state, unsigned int rounds)
{
	unsigned int id = ID, v = state[id];

	for (unsigned int i = 0; i < rounds; i++) {
		v = STEP(v);
		/* Keeps the compiler from replacing the loop by its result. */
		__asm__ volatile("" : "+r"(v));
	}
	state[id] = v;
}

/* Runs until it is told to end, and counts its rounds in thousands. */
__kernel void endless(__global unsigned int *state, __global unsigned int *thousands,
		      volatile __global unsigned int *stop)
{
	unsigned int id = ID, v = state[id], n = 0;

	do {
		for (unsigned int i = 0; i < 1000; i++) {
			v = STEP(v);
			__asm__ volatile("" : "+r"(v));
		}
		n++;
	} while (!*stop);
	state[id] = v;
	thousands[id] = n;
}
