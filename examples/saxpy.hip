// SPDX-License-Identifier: MIT
/*
 * The smallest useful HIP program: y = a * x + y, checked on the host.
 *
 *	hipcc --offload-arch=gfx90a examples/saxpy.hip -o saxpy
 *	gpreempt emu exec -- ./saxpy
 */
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

static void must(hipError_t err)
{
	if (err == hipSuccess)
		return;
	fprintf(stderr, "saxpy: %s\n", hipGetErrorString(err));
	exit(1);
}

__global__ void saxpy(int n, float a, const float *x, float *y)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = a * x[i] + y[i];
}

int main()
{
	const int n = 10000;
	const size_t bytes = n * sizeof(float);
	std::vector<float> x(n), y(n, 1);
	hipDeviceProp_t gpu;
	float *dx, *dy;
	int wrong = 0;

	for (int i = 0; i < n; i++)
		x[i] = i;
	must(hipGetDeviceProperties(&gpu, 0));
	must(hipMalloc(&dx, bytes));
	must(hipMalloc(&dy, bytes));
	must(hipMemcpy(dx, x.data(), bytes, hipMemcpyHostToDevice));
	must(hipMemcpy(dy, y.data(), bytes, hipMemcpyHostToDevice));
	saxpy<<<(n + 255) / 256, 256>>>(n, 2, dx, dy);
	must(hipGetLastError());
	must(hipMemcpy(y.data(), dy, bytes, hipMemcpyDeviceToHost));
	for (int i = 0; i < n; i++)
		wrong += y[i] != 2.0f * i + 1;
	printf("%s, %d compute units: y[1000] = %g, %d of %d values are wrong\n", gpu.gcnArchName,
	       gpu.multiProcessorCount, y[1000], wrong, n);
	must(hipFree(dx));
	must(hipFree(dy));
	return wrong != 0;
}
