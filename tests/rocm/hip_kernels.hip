// SPDX-License-Identifier: MIT
// Kernels through HIP: sums, products of matrices in tiles, reductions with atomics, templates,
// many small launches. Every result is compared with the host's.
#include <vector>

#include "hip_lab.h"

__global__ void add(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + b[i];
}

static void test_vector_add()
{
	const int n = 100001;
	std::vector<float> a(n), b(n), c(n);
	float *da = lab_device<float>(n), *db = lab_device<float>(n), *dc = lab_device<float>(n);

	for (int i = 0; i < n; i++) {
		a[i] = i * 0.5f;
		b[i] = 1.0f / (i + 1);
	}
	lab_must(hipMemcpy(da, a.data(), n * sizeof(float), hipMemcpyHostToDevice));
	lab_must(hipMemcpy(db, b.data(), n * sizeof(float), hipMemcpyHostToDevice));
	add<<<(n + 255) / 256, 256>>>(da, db, dc, n);
	lab_must(hipGetLastError());
	lab_must(hipMemcpy(c.data(), dc, n * sizeof(float), hipMemcpyDeviceToHost));
	for (int i = 0; i < n; i++)
		lab_check(c[i] == a[i] + b[i], "%g + %g gave %g", a[i], b[i], c[i]);
	lab_must(hipFree(da));
	lab_must(hipFree(db));
	lab_must(hipFree(dc));
}

template <int TILE> __global__ void multiply(const float *a, const float *b, float *c, int n)
{
	__shared__ float ta[TILE][TILE], tb[TILE][TILE];
	int x = threadIdx.x, y = threadIdx.y;
	int row = blockIdx.y * TILE + y, col = blockIdx.x * TILE + x;
	float sum = 0;

	for (int t = 0; t < n; t += TILE) {
		ta[y][x] = row < n && t + x < n ? a[row * n + t + x] : 0;
		tb[y][x] = col < n && t + y < n ? b[(t + y) * n + col] : 0;
		__syncthreads();
		for (int k = 0; k < TILE; k++)
			sum = fmaf(ta[y][k], tb[k][x], sum);
		__syncthreads();
	}
	if (row < n && col < n)
		c[row * n + col] = sum;
}

static void check_product(const std::vector<float> &a, const std::vector<float> &b,
			  const std::vector<float> &c, int n)
{
	for (int row = 0; row < n; row++)
		for (int col = 0; col < n; col++) {
			float sum = 0;

			/* Zeros beyond the edge of the last tile do not change it. */
			for (int k = 0; k < n; k++)
				sum = fmaf(a[row * n + k], b[k * n + col], sum);
			lab_check(c[row * n + col] == sum, "n = %d: element %d, %d is %g, not %g",
				  n, row, col, c[row * n + col], sum);
		}
}

static void test_matmul()
{
	for (int n : { 16, 100, 128 }) {
		size_t bytes = n * n * sizeof(float);
		std::vector<float> a(n * n), b(n * n), c(n * n);
		float *da = lab_device<float>(n * n), *db = lab_device<float>(n * n);
		float *dc = lab_device<float>(n * n);
		dim3 grid((n + 15) / 16, (n + 15) / 16), block(16, 16);
		uint64_t seed = n;

		for (int i = 0; i < n * n; i++) {
			a[i] = (int)(lab_random(&seed) % 2001) / 1000.0f - 1;
			b[i] = (int)(lab_random(&seed) % 2001) / 1000.0f - 1;
		}
		lab_must(hipMemcpy(da, a.data(), bytes, hipMemcpyHostToDevice));
		lab_must(hipMemcpy(db, b.data(), bytes, hipMemcpyHostToDevice));
		multiply<16><<<grid, block>>>(da, db, dc, n);
		lab_must(hipMemcpy(c.data(), dc, bytes, hipMemcpyDeviceToHost));
		check_product(a, b, c, n);
		lab_must(hipFree(da));
		lab_must(hipFree(db));
		lab_must(hipFree(dc));
	}
}

__global__ void reduce(const uint32_t *in, unsigned long long *sum, uint32_t *most, int n)
{
	extern __shared__ unsigned long long part[];
	unsigned long long mine = 0;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		mine += in[i];
		atomicMax(most, in[i]);
	}
	part[threadIdx.x] = mine;
	__syncthreads();
	for (int step = blockDim.x / 2; step; step /= 2) {
		if (threadIdx.x < step)
			part[threadIdx.x] += part[threadIdx.x + step];
		__syncthreads();
	}
	if (!threadIdx.x)
		atomicAdd(sum, part[0]);
}

static void test_reduction()
{
	const int n = 50000, block = 256;
	std::vector<uint32_t> in(n);
	unsigned long long *sum = lab_device<unsigned long long>(1), got, want = 0;
	uint32_t *din = lab_device<uint32_t>(n), *most = lab_device<uint32_t>(1), got_most,
		 largest = 0;

	lab_draw(in.data(), n * sizeof(in[0]), 4);
	for (uint32_t v : in) {
		want += v;
		largest = v > largest ? v : largest;
	}
	lab_must(hipMemcpy(din, in.data(), n * sizeof(in[0]), hipMemcpyHostToDevice));
	lab_must(hipMemset(sum, 0, sizeof(*sum)));
	lab_must(hipMemset(most, 0, sizeof(*most)));
	reduce<<<20, block, block * sizeof(*sum)>>>(din, sum, most, n);
	lab_must(hipMemcpy(&got, sum, sizeof(got), hipMemcpyDeviceToHost));
	lab_must(hipMemcpy(&got_most, most, sizeof(got_most), hipMemcpyDeviceToHost));
	lab_check(got == want, "the sum is %llu, not %llu", got, want);
	lab_check(got_most == largest, "the largest is %u, not %u", got_most, largest);
	lab_must(hipFree(din));
	lab_must(hipFree(sum));
	lab_must(hipFree(most));
}

__global__ void bump(uint32_t *cells)
{
	cells[threadIdx.x]++;
}

/* Launches of one stream are in order, so plain increments are enough. */
static void test_many_launches()
{
	const uint32_t launches = 3000;
	uint32_t *cells = lab_device<uint32_t>(64), back[64];

	lab_must(hipMemset(cells, 0, sizeof(back)));
	for (uint32_t i = 0; i < launches; i++)
		bump<<<1, 64>>>(cells);
	lab_must(hipMemcpy(back, cells, sizeof(back), hipMemcpyDeviceToHost));
	for (int i = 0; i < 64; i++)
		lab_check(back[i] == launches, "%u launches were counted as %u", launches, back[i]);
	lab_must(hipFree(cells));
}

__global__ void spread(double *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = sqrt((double)i) * sqrt((double)i);
}

/* The device library: correctly rounded, so the host's is the same. */
static void test_double_math()
{
	const int n = 5000;
	std::vector<double> back(n);
	double *out = lab_device<double>(n);

	spread<<<(n + 127) / 128, 128>>>(out, n);
	lab_must(hipMemcpy(back.data(), out, n * sizeof(double), hipMemcpyDeviceToHost));
	for (int i = 0; i < n; i++)
		lab_check(back[i] == sqrt((double)i) * sqrt((double)i), "sqrt(%d)^2 is %.17g", i,
			  back[i]);
	lab_must(hipFree(out));
}

__device__ uint32_t device_variable = 5;
__constant__ uint32_t constants[16];

__global__ void use_symbols(uint32_t *out)
{
	out[threadIdx.x] = device_variable + constants[threadIdx.x];
	if (!threadIdx.x)
		device_variable = 77;
}

static void test_symbols()
{
	uint32_t values[16], back[16], after, *out = lab_device<uint32_t>(16);

	for (uint32_t i = 0; i < 16; i++)
		values[i] = i * i;
	lab_must(hipMemcpyToSymbol(HIP_SYMBOL(constants), values, sizeof(values)));
	use_symbols<<<1, 16>>>(out);
	lab_must(hipMemcpy(back, out, sizeof(back), hipMemcpyDeviceToHost));
	lab_must(hipMemcpyFromSymbol(&after, HIP_SYMBOL(device_variable), sizeof(after)));
	for (uint32_t i = 0; i < 16; i++)
		lab_check(back[i] == 5 + i * i, "item %u is %u", i, back[i]);
	lab_check(after == 77, "the variable on the device is %u, not 77", after);
	lab_must(hipFree(out));
}

static const lab_test tests[] = {
	{ "vector-add", test_vector_add },
	{ "matmul", test_matmul },
	{ "reduction", test_reduction },
	{ "many-launches", test_many_launches },
	{ "double-math", test_double_math },
	{ "symbols", test_symbols },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	return lab_main(tests, argc, argv);
}
