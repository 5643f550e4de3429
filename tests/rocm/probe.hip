// SPDX-License-Identifier: MIT
// Whether a HIP program can be built here.
#include <hip/hip_runtime.h>

__global__ void nothing()
{
}

int main()
{
	nothing<<<1, 1>>>();
	return 0;
}
