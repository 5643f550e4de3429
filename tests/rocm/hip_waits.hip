// SPDX-License-Identifier: MIT
// Two streams with two priorities that wait for each other: a kernel of the higher one spins until a
// kernel of the lower one has set a flag. Without an argument 20 rounds are made, or else that many.
#include "hip_lab.h"

__global__ void wait_for(uint32_t *flag, uint32_t round)
{
	while (atomicAdd(flag, 0) < round)
		;
}

__global__ void set(uint32_t *flag, uint32_t round)
{
	atomicExch(flag, round);
}

int main(int argc, char **argv)
{
	uint32_t rounds = argc > 1 ? atoi(argv[1]) : 20;
	hipStream_t high, low;
	int least, greatest;
	uint32_t *flag;

	lab_must(hipDeviceGetStreamPriorityRange(&least, &greatest));
	lab_check(least != greatest, "this runtime has one priority for all streams");
	lab_must(hipStreamCreateWithPriority(&high, hipStreamNonBlocking, greatest));
	lab_must(hipStreamCreateWithPriority(&low, hipStreamNonBlocking, least));
	flag = lab_device<uint32_t>(1);
	lab_must(hipMemset(flag, 0, 4));
	for (uint32_t round = 1; round <= rounds; round++) {
		wait_for<<<1, 1, 0, high>>>(flag, round);
		lab_must(hipGetLastError());
		/* The high stream spins when the low one gets its kernel. */
		usleep(2000);
		set<<<1, 1, 0, low>>>(flag, round);
		lab_must(hipGetLastError());
		lab_must(hipStreamSynchronize(high));
		lab_must(hipStreamSynchronize(low));
	}
	printf("%u rounds\n", rounds);
	return 0;
}
