// SPDX-License-Identifier: MIT
// A kernel that traps: its handler must notify the runtime, which ends the program.
#include "hip_lab.h"

__global__ void trap_some(int *out)
{
	if (threadIdx.x == 3)
		__builtin_trap();
	out[threadIdx.x] = 1;
}

int main()
{
	int *out;

	lab_must(hipMalloc(&out, 64 * sizeof(*out)));
	trap_some<<<1, 64>>>(out);
	lab_must(hipDeviceSynchronize());
	printf("the trap was not reported\n");
	return 1;
}
