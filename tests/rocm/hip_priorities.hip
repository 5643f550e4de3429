// SPDX-License-Identifier: MIT
// Three streams with three priorities, each with work for each byte on standard input, until it ends.
#include "hip_lab.h"

__global__ void spin(uint32_t *data, int rounds)
{
	uint32_t v = data[threadIdx.x];

	for (int r = 0; r < rounds; r++)
		v = v * 1664525 + 1013904223;
	data[threadIdx.x] = v;
}

int main()
{
	hipStream_t stream[3];
	uint32_t *data[3];
	int least, greatest;
	char c;

	lab_must(hipDeviceGetStreamPriorityRange(&least, &greatest));
	lab_check(least != greatest, "this runtime has one priority for all streams");
	for (int s = 0; s < 3; s++) {
		lab_must(hipStreamCreateWithPriority(&stream[s], hipStreamNonBlocking,
						     s == 1 ? 0 : s ? greatest : least));
		data[s] = lab_device<uint32_t>(64);
		lab_must(hipMemset(data[s], 0, 64 * 4));
		spin<<<1, 64, 0, stream[s]>>>(data[s], 100);
		lab_must(hipGetLastError());
	}
	lab_must(hipDeviceSynchronize());
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0) {
		for (int s = 0; s < 3; s++)
			spin<<<1, 64, 0, stream[s]>>>(data[s], 1000);
		lab_must(hipDeviceSynchronize());
	}
	puts("done");
	return 0;
}
