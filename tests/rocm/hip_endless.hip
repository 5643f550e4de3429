// SPDX-License-Identifier: MIT
/* Waits for a kernel that does not end: the runtime polls, in all its threads, without system calls. */
#include "hip_lab.h"

__global__ void wait_for(volatile unsigned int *flag)
{
	while (!*flag)
		__builtin_amdgcn_s_sleep(8);
}

int main()
{
	hipEvent_t done;
	unsigned int *flag;

	lab_must(hipHostMalloc((void **)&flag, sizeof(*flag)));
	*flag = 0;
	lab_must(hipEventCreate(&done));
	wait_for<<<1, 1>>>(flag);
	lab_must(hipEventRecord(done, 0));
	printf("launched\n");
	fflush(stdout);
	lab_must(hipEventSynchronize(done));
	return 0;
}
