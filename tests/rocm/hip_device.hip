// SPDX-License-Identifier: MIT
// Language features of HIP kernels: atomics of all widths, scopes and memories, operations across a
// wave and a workgroup, dynamic LDS, the device heap, printf, calls through pointers, scratch,
// 16-bit floating point. Every result is compared with the host's.
#include <hip/hip_bfloat16.h>
#include <hip/hip_fp16.h>

#include <cmath>
#include <string>
#include <vector>

#include "hip_lab.h"

enum { WAVE = 64 };

template <typename T> static std::vector<T> lab_back(const T *device, size_t nr)
{
	std::vector<T> host(nr);

	lab_must(hipGetLastError());
	lab_must(hipMemcpy(host.data(), device, nr * sizeof(T), hipMemcpyDeviceToHost));
	return host;
}

template <typename T> static T *lab_filled(const std::vector<T> &host)
{
	T *device = lab_device<T>(host.size());

	lab_must(hipMemcpy(device, host.data(), host.size() * sizeof(T), hipMemcpyHostToDevice));
	return device;
}

/*
 * Atomics. Each cell is the target of one operation by all threads; the results do not depend on
 * the order.
 */
enum { BLOCKS = 8, THREADS = 128, ALL = BLOCKS * THREADS };

enum int_cell { ADD, SUB, MIN, MAX, AND, OR, XOR, EXCH, CAS, INT_CELLS };

template <typename T> __device__ void int_atomics(T *cells, T i, T *seen)
{
	T old;

	atomicAdd(&cells[ADD], i);
	atomicAdd(&cells[SUB], (T)(0 - i));
	atomicMin(&cells[MIN], (T)(1000000 + i));
	atomicMax(&cells[MAX], (T)(1000000 + i));
	atomicAnd(&cells[AND], (T) ~((T)1 << (i % (sizeof(T) * 8 - 1))));
	atomicOr(&cells[OR], (T)((T)1 << (i % (sizeof(T) * 8 - 1))));
	atomicXor(&cells[XOR], (T)(i * 7919));
	/* Each value is returned once, except the last one, which stays in memory. */
	atomicAdd(seen, atomicExch(&cells[EXCH], i));
	old = cells[CAS];
	for (;;) {
		T was = atomicCAS(&cells[CAS], old, (T)(old + i));

		if (was == old)
			break;
		old = was;
	}
}

template <typename T> __global__ void global_int_atomics(T *cells, T *seen)
{
	int_atomics<T>(cells, (T)(blockIdx.x * blockDim.x + threadIdx.x + 1), seen);
}

/* The same in LDS: each workgroup does all of it, and the first writes its cells out. */
template <typename T> __global__ void lds_int_atomics(T *cells, T *seen)
{
	__shared__ T local[INT_CELLS], local_seen;

	if (threadIdx.x < INT_CELLS)
		local[threadIdx.x] = cells[threadIdx.x];
	if (!threadIdx.x)
		local_seen = 0;
	__syncthreads();
	for (int block = 0; block < BLOCKS; block++)
		int_atomics<T>(local, (T)(block * blockDim.x + threadIdx.x + 1), &local_seen);
	__syncthreads();
	if (!blockIdx.x && threadIdx.x < INT_CELLS)
		cells[threadIdx.x] = local[threadIdx.x];
	if (!blockIdx.x && !threadIdx.x)
		*seen = local_seen;
}

template <typename T> static void check_int_atomics(void (*kernel)(T *, T *), const char *what)
{
	std::vector<T> start(INT_CELLS, 0), got;
	T *cells, *seen = lab_device<T>(1), want_xor = 0, want_sum = 0;

	start[MIN] = (T)0x7fffffff;
	start[AND] = (T) ~(T)0;
	cells = lab_filled(start);
	lab_must(hipMemset(seen, 0, sizeof(T)));
	kernel<<<BLOCKS, THREADS>>>(cells, seen);
	got = lab_back(cells, INT_CELLS);
	for (T i = 1; i <= (T)ALL; i++) {
		want_sum += i;
		want_xor ^= (T)(i * 7919);
	}
	lab_check(got[ADD] == want_sum, "%s add: %lld", what, (long long)got[ADD]);
	lab_check(got[SUB] == (T)(0 - want_sum), "%s sub: %lld", what, (long long)got[SUB]);
	lab_check(got[MIN] == 1000001, "%s min: %lld", what, (long long)got[MIN]);
	lab_check(got[MAX] == 1000000 + ALL, "%s max: %lld", what, (long long)got[MAX]);
	lab_check(got[AND] == (T)((T)1 << (sizeof(T) * 8 - 1)), "%s and: %#llx", what,
		  (long long)got[AND]);
	lab_check(got[OR] == (T) ~((T)1 << (sizeof(T) * 8 - 1)), "%s or: %#llx", what,
		  (long long)got[OR]);
	lab_check(got[XOR] == want_xor, "%s xor: %#llx", what, (long long)got[XOR]);
	lab_check(got[EXCH] + lab_back(seen, 1)[0] == want_sum, "%s exchange: a value was lost",
		  what);
	lab_check(got[CAS] == want_sum, "%s compare and swap: %lld", what, (long long)got[CAS]);
	lab_must(hipFree(cells));
	lab_must(hipFree(seen));
}

static void test_int_atomics()
{
	typedef unsigned long long u64;

	check_int_atomics<int>(global_int_atomics<int>, "int");
	check_int_atomics<unsigned int>(global_int_atomics<unsigned int>, "unsigned int");
	check_int_atomics<u64>(global_int_atomics<u64>, "unsigned long long");
	check_int_atomics<int>(lds_int_atomics<int>, "int in LDS");
	check_int_atomics<unsigned int>(lds_int_atomics<unsigned int>, "unsigned int in LDS");
	check_int_atomics<u64>(lds_int_atomics<u64>, "unsigned long long in LDS");
}

/* Sums of small integers are exact in any order. */
template <typename T> __global__ void float_atomics(T *cells)
{
	__shared__ T local[2];
	T i = (T)(threadIdx.x % 32);

	if (threadIdx.x < 2)
		local[threadIdx.x] = 0;
	__syncthreads();
	atomicAdd(&cells[0], i);
	unsafeAtomicAdd(&cells[1], i);
	cells[0] += 0; /* a plain access between them */
	atomicAdd(&local[0], i);
	unsafeAtomicAdd(&local[1], i);
	__syncthreads();
	if (threadIdx.x < 2)
		atomicAdd(&cells[2 + threadIdx.x], local[threadIdx.x]);
	__hip_atomic_fetch_add(&cells[4], i, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}

template <typename T> __global__ void only_float_atomics(T *cells)
{
	T i = (T)(threadIdx.x % 32);

	atomicAdd(&cells[0], i);
	unsafeAtomicAdd(&cells[1], i);
}

template <typename T> static void check_float_atomics(const char *what)
{
	const T want = (T)(BLOCKS * THREADS / 32 * (31 * 32 / 2));
	T *cells = lab_filled(std::vector<T>(5, 0));
	std::vector<T> got;

	float_atomics<T><<<1, THREADS>>>(cells);
	got = lab_back(cells, 5);
	for (int i = 1; i < 5; i++)
		lab_check(got[i] == want / BLOCKS, "%s: sum %d is %g, not %g", what, i,
			  (double)got[i], (double)(want / BLOCKS));
	lab_must(hipMemset(cells, 0, 5 * sizeof(T)));
	only_float_atomics<T><<<BLOCKS, THREADS>>>(cells);
	got = lab_back(cells, 2);
	for (int i = 0; i < 2; i++)
		lab_check(got[i] == want, "%s of many workgroups: sum %d is %g, not %g", what, i,
			  (double)got[i], (double)want);
	lab_must(hipFree(cells));
}

static void test_float_atomics()
{
	check_float_atomics<float>("float");
	check_float_atomics<double>("double");
}

/* Every order and scope on memory of the device, and of the host. */
template <int SCOPE> __device__ void scoped(unsigned int *cells)
{
	unsigned int expected;

	__hip_atomic_fetch_add(&cells[0], 1u, __ATOMIC_RELAXED, SCOPE);
	__hip_atomic_fetch_add(&cells[0], 1u, __ATOMIC_ACQUIRE, SCOPE);
	__hip_atomic_fetch_add(&cells[0], 1u, __ATOMIC_RELEASE, SCOPE);
	__hip_atomic_fetch_add(&cells[0], 1u, __ATOMIC_ACQ_REL, SCOPE);
	__hip_atomic_fetch_add(&cells[0], 1u, __ATOMIC_SEQ_CST, SCOPE);
	expected = __hip_atomic_load(&cells[1], __ATOMIC_RELAXED, SCOPE);
	while (!__hip_atomic_compare_exchange_weak(&cells[1], &expected, expected + 1,
						   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED, SCOPE))
		;
	__hip_atomic_store(&cells[2], 7u, __ATOMIC_RELEASE, SCOPE);
}

__global__ void all_scopes(unsigned int *cells)
{
	/* With narrow scopes, each has only one thread. */
	if (!blockIdx.x && !threadIdx.x) {
		scoped<__HIP_MEMORY_SCOPE_SINGLETHREAD>(cells);
		scoped<__HIP_MEMORY_SCOPE_WAVEFRONT>(cells + 4);
		scoped<__HIP_MEMORY_SCOPE_WORKGROUP>(cells + 8);
	}
	scoped<__HIP_MEMORY_SCOPE_AGENT>(cells + 12);
	scoped<__HIP_MEMORY_SCOPE_SYSTEM>(cells + 16);
}

static void check_scopes(unsigned int *cells, const char *what)
{
	unsigned int back[20];

	lab_must(hipMemset(cells, 0, sizeof(back)));
	all_scopes<<<4, 64>>>(cells);
	lab_must(hipMemcpy(back, cells, sizeof(back), hipMemcpyDefault));
	for (int i = 0; i < 5; i++) {
		unsigned int nr = i < 3 ? 1 : 256;

		lab_check(back[i * 4] == 5 * nr && back[i * 4 + 1] == nr && back[i * 4 + 2] == 7,
			  "%s, scope %d: %u added, %u swapped, %u stored", what, i, back[i * 4],
			  back[i * 4 + 1], back[i * 4 + 2]);
	}
}

static void test_scopes()
{
	unsigned int *device = lab_device<unsigned int>(20), *host;

	check_scopes(device, "device memory");
	lab_must(hipHostMalloc((void **)&host, 80, hipHostMallocCoherent));
	check_scopes(host, "host memory");
	lab_must(hipHostFree(host));
	lab_must(hipFree(device));
}

/* Counters that wrap, which the older functions have. */
__global__ void wrapping(unsigned int *cells)
{
	atomicInc(&cells[0], 99);
	atomicDec(&cells[1], 99);
}

static void test_wrapping()
{
	unsigned int *cells = lab_filled(std::vector<unsigned int>(2, 0));
	std::vector<unsigned int> got;

	wrapping<<<5, 64>>>(cells);
	got = lab_back(cells, 2);
	lab_check(got[0] == 320 % 100, "inc: %u", got[0]);
	lab_check(got[1] == 100 - 320 % 100, "dec: %u", got[1]);
	lab_must(hipFree(cells));
}

/* Values of other lanes. */
__global__ void shuffle(int *out, double *wide)
{
	int i = threadIdx.x, n = blockDim.x;
	int v = i * i + 1;

	out[0 * n + i] = __shfl(v, 5);
	out[1 * n + i] = __shfl_up(v, 3);
	out[2 * n + i] = __shfl_down(v, 7);
	out[3 * n + i] = __shfl_xor(v, 21);
	out[4 * n + i] = __shfl(v, i * 3 % 16, 16);
	out[5 * n + i] = __shfl_up(v, 2, 8);
	out[6 * n + i] = __shfl_down(v, 1, 32);
	wide[i] = __shfl_xor((double)v / 3, 33);
}

static void test_shuffles()
{
	const int n = 2 * WAVE;
	int *out = lab_device<int>(7 * n);
	double *wide = lab_device<double>(n);
	std::vector<int> got;
	std::vector<double> got_wide;

	shuffle<<<1, n>>>(out, wide);
	got = lab_back(out, 7 * n);
	got_wide = lab_back(wide, n);
	for (int i = 0; i < n; i++) {
		int lane = i % WAVE, base = i - lane;
		int from[7] = {
			5,
			lane < 3 ? lane : lane - 3,
			lane + 7 >= WAVE ? lane : lane + 7,
			lane ^ 21,
			lane / 16 * 16 + i * 3 % 16,
			lane % 8 < 2 ? lane : lane - 2,
			lane % 32 == 31 ? lane : lane + 1,
		};

		for (int k = 0; k < 7; k++) {
			int j = base + from[k];

			lab_check(got[k * n + i] == j * j + 1, "shuffle %d: lane %d has %d, not %d",
				  k, i, got[k * n + i], j * j + 1);
		}
		lab_check(got_wide[i] == (double)((i ^ 33) * (i ^ 33) + 1) / 3,
			  "shuffle of doubles: lane %d has %g", i, got_wide[i]);
	}
	lab_must(hipFree(out));
	lab_must(hipFree(wide));
}

/* Votes, also where only some lanes are active. */
__global__ void votes(unsigned long long *out, int *counts, int many)
{
	int i = threadIdx.x;

	out[0] = __ballot(i % 3 == 0);
	if (i % 2) {
		unsigned long long active = __ballot(1);

		if (i == 1) {
			out[1] = active;
			out[2] = __ballot(i < many);
		}
	}
	if (!i) {
		out[3] = __popcll(0xf0f0f0f0f0f0f0f0ull) | __clzll(1ull << 20) << 8 |
			 __ffsll(1ull << 40) << 16 | __popc(0xff00ffu) << 24;
		out[4] = __brevll(1ull);
	}
	counts[i] = (__any(i == 33) ? 1 : 0) | (__all(i >= 0) ? 2 : 0) | (__any(i == 99) ? 4 : 0) |
		    (__all(i != 7) ? 8 : 0);
}

static void test_votes()
{
	unsigned long long *out = lab_device<unsigned long long>(5), thirds = 0;
	int *counts = lab_device<int>(WAVE);
	std::vector<unsigned long long> got;

	votes<<<1, WAVE>>>(out, counts, WAVE);
	got = lab_back(out, 5);
	for (int i = 0; i < WAVE; i += 3)
		thirds |= 1ull << i;
	lab_check(got[0] == thirds, "ballot: %#llx", got[0]);
	lab_check(got[1] == 0xaaaaaaaaaaaaaaaaull, "ballot of odd lanes: %#llx", got[1]);
	lab_check(got[2] == 2, "ballot of one lane: %#llx", got[2]);
	lab_check(got[3] == (32 | 43 << 8 | 41 << 16 | 16ull << 24), "bit counts: %#llx", got[3]);
	lab_check(got[4] == 1ull << 63, "reversed bits: %#llx", got[4]);
	for (int v : lab_back(counts, WAVE))
		lab_check(v == 3, "any and all: %d", v);
	lab_must(hipFree(out));
	lab_must(hipFree(counts));
}

/* Barriers with a result, in a workgroup of the largest size. */
__global__ void __launch_bounds__(1024) counting_barriers(int *out)
{
	int i = threadIdx.x;

	out[i] = __syncthreads_count(i % 5 == 0) * 4 + (__syncthreads_and(i < 1024) ? 1 : 0) +
		 (__syncthreads_or(i == 1023) ? 2 : 0);
}

static void test_counting_barriers()
{
	int *out = lab_device<int>(1024);

	counting_barriers<<<1, 1024>>>(out);
	for (int v : lab_back(out, 1024))
		lab_check(v == 205 * 4 + 3, "a barrier says %d", v);
	lab_must(hipFree(out));
}

/* LDS whose size the launch sets, up to all of it, in two parts of different types. */
__global__ void reverse(const uint32_t *in, uint32_t *out, int n)
{
	extern __shared__ uint32_t words[];
	uint8_t *bytes = (uint8_t *)(words + n);

	for (int i = threadIdx.x; i < n; i += blockDim.x) {
		words[i] = in[blockIdx.x * n + i];
		bytes[i] = (uint8_t)i;
	}
	__syncthreads();
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		out[blockIdx.x * n + i] = words[n - 1 - i] + bytes[n - 1 - i];
}

static void test_dynamic_lds()
{
	for (int n : { 1, 100, 3000, 13107 }) {
		std::vector<uint32_t> in(3 * n), got;
		uint32_t *din, *results = lab_device<uint32_t>(3 * n);

		lab_draw(in.data(), 12 * n, n);
		din = lab_filled(in);
		reverse<<<3, 256, 5 * n>>>(din, results, n);
		got = lab_back(results, 3 * n);
		for (int i = 0; i < 3 * n; i++) {
			int at = n - 1 - i % n;
			uint32_t want = in[i / n * n + at] + (uint8_t)at;

			lab_check(got[i] == want, "n = %d: word %d is %#x, not %#x", n, i, got[i],
				  want);
		}
		lab_must(hipFree(din));
		lab_must(hipFree(results));
	}
}

/* The device's heap: lists that one kernel builds, and others read and free. */
struct node {
	node *next;
	int value;
	char room[40];
};

__global__ void build_lists(node **lists)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	node *list = NULL;

	for (int k = 0; k < 4; k++) {
		node *n = (node *)malloc(sizeof(*n) + i % 50);

		if (!n)
			break;
		n->next = list;
		n->value = i * 10 + k;
		list = n;
	}
	lists[i] = list;
}

__global__ void sum_lists(node **lists, int *sums)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	node *next;

	sums[i] = 0;
	for (node *n = lists[i]; n; n = next) {
		next = n->next;
		sums[i] += n->value;
		free(n);
	}
}

static void test_heap()
{
	const int n = 256;
	node **lists = lab_device<node *>(n);
	int *sums = lab_device<int>(n);

	for (int round = 0; round < 3; round++) {
		std::vector<int> got;

		build_lists<<<2, n / 2>>>(lists);
		sum_lists<<<4, n / 4>>>(lists, sums);
		got = lab_back(sums, n);
		for (int i = 0; i < n; i++)
			lab_check(got[i] == i * 40 + 6, "round %d: list %d sums up to %d", round, i,
				  got[i]);
	}
	lab_must(hipFree(lists));
	lab_must(hipFree(sums));
}

/* Lines of many threads reach stdout whole, with all kinds of arguments. */
__global__ void print()
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	printf("line %d %u %llx %s %.3f %c %5d%%\n", i, i * 7u, 0x123456789abcull + i,
	       i % 2 ? "odd" : "even", i * 0.5, 'a' + i % 26, -i);
}

static void test_printf()
{
	const int n = 192;
	char path[] = "/tmp/hip_device-XXXXXX", line[200];
	int fd = mkstemp(path), saved = dup(1);
	std::vector<int> seen(n, 0);
	FILE *file;

	lab_check(fd >= 0 && saved >= 0, "no temporary file");
	fflush(stdout);
	dup2(fd, 1);
	print<<<3, n / 3>>>();
	lab_must(hipDeviceSynchronize());
	fflush(stdout);
	dup2(saved, 1);
	file = fopen(path, "r");
	lab_check(file, "no temporary file");
	while (fgets(line, sizeof(line), file)) {
		char want[200];
		int i = -1;

		lab_check(sscanf(line, "line %d ", &i) == 1 && i >= 0 && i < n, "printed: %s",
			  line);
		snprintf(want, sizeof(want), "line %d %u %llx %s %.3f %c %5d%%\n", i, i * 7u,
			 0x123456789abcull + i, i % 2 ? "odd" : "even", i * 0.5, 'a' + i % 26, -i);
		lab_check(!strcmp(line, want), "printed %s instead of %s", line, want);
		seen[i]++;
	}
	for (int i = 0; i < n; i++)
		lab_check(seen[i] == 1, "line %d was printed %d times", i, seen[i]);
	fclose(file);
	close(fd);
	close(saved);
	unlink(path);
}

/* Calls whose target depends on the data, different in each lane. */
struct shape {
	__device__ virtual ~shape()
	{
	}
	__device__ virtual int area() const = 0;
};

struct square : shape {
	int a;
	__device__ square(int a) : a(a)
	{
	}
	__device__ int area() const override
	{
		return a * a;
	}
};

struct rectangle : square {
	int b;
	__device__ rectangle(int a, int b) : square(a), b(b)
	{
	}
	__device__ int area() const override
	{
		return a * b;
	}
};

__device__ __attribute__((noinline)) int twice(int x)
{
	return 2 * x;
}

__device__ __attribute__((noinline)) int plus_nine(int x)
{
	return x + 9;
}

__device__ __attribute__((noinline)) int fibonacci(int n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

typedef int (*function)(int);
__device__ function functions[] = { twice, plus_nine, fibonacci };

__global__ void calls(int *out)
{
	int i = threadIdx.x;
	__shared__ char room[128][sizeof(rectangle)];
	shape *s;

	if (i % 2)
		s = new (room[i]) rectangle(i, 3);
	else
		s = new (room[i]) square(i);
	out[2 * i] = s->area();
	out[2 * i + 1] = functions[i % 3](i % 12);
}

static void test_calls()
{
	const int fibonaccis[] = { 0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89 };
	int *out = lab_device<int>(256);
	std::vector<int> got;

#if HIP_VERSION >= 50400000
	/* The compiler does not know how deep the recursion is. */
	lab_must(hipDeviceSetLimit(hipLimitStackSize, 16384));
#endif
	calls<<<1, 128>>>(out);
	got = lab_back(out, 256);
	for (int i = 0; i < 128; i++) {
		int x = i % 12;
		int want = i % 3 == 0 ? 2 * x : i % 3 == 1 ? x + 9 : fibonaccis[x];

		lab_check(got[2 * i] == (i % 2 ? 3 * i : i * i), "area %d is %d", i, got[2 * i]);
		lab_check(got[2 * i + 1] == want, "call %d gave %d, not %d", i, got[2 * i + 1],
			  want);
	}
	lab_must(hipFree(out));
}

/* Arrays in scratch memory with indices that depend on the data. */
__global__ void scratch(const uint32_t *in, uint32_t *out)
{
	volatile uint32_t words[300];
	volatile uint8_t bytes[77];
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t sum = 0;

	for (int k = 0; k < 300; k++)
		words[k] = in[i] + k;
	for (int k = 0; k < 77; k++)
		bytes[k] = (uint8_t)(in[i] * k);
	for (int k = 0; k < 50; k++)
		sum = sum * 31 + words[(in[i] + k * 7) % 300] + bytes[(in[i] + k) % 77];
	out[i] = sum;
}

static void test_scratch()
{
	const int n = 1024;
	std::vector<uint32_t> in(n), got;
	uint32_t *din, *results = lab_device<uint32_t>(n);

	lab_draw(in.data(), n * 4, 3);
	din = lab_filled(in);
	scratch<<<n / 128, 128>>>(din, results);
	got = lab_back(results, n);
	for (int i = 0; i < n; i++) {
		uint32_t sum = 0;

		for (int k = 0; k < 50; k++)
			sum = sum * 31 + in[i] + (in[i] + k * 7) % 300 +
			      (uint8_t)(in[i] * ((in[i] + k) % 77));
		lab_check(got[i] == sum, "thread %d: %#x, not %#x", i, got[i], sum);
	}
	lab_must(hipFree(din));
	lab_must(hipFree(results));
}

/* Loads and stores of every size, at addresses that are aligned to it. */
template <typename T> __global__ void move(const T *in, T *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[n - 1 - i] = in[i];
}

template <typename T> static void check_move(const char *what)
{
	const int n = 1000;
	std::vector<T> in(n), got;
	T *din, *results = lab_device<T>(n);

	lab_draw(in.data(), n * sizeof(T), sizeof(T));
	din = lab_filled(in);
	move<T><<<4, 256>>>(din, results, n);
	got = lab_back(results, n);
	for (int i = 0; i < n; i++)
		lab_check(!memcmp(&got[n - 1 - i], &in[i], sizeof(T)), "%s %d is not moved", what,
			  i);
	lab_must(hipFree(din));
	lab_must(hipFree(results));
}

struct odd {
	uint8_t bytes[7];
};

struct large {
	uint32_t words[11];
};

static void test_widths()
{
	check_move<uint8_t>("byte");
	check_move<int16_t>("short");
	check_move<uint32_t>("word");
	check_move<uint64_t>("double word");
	check_move<float3>("float3");
	check_move<float4>("float4");
	check_move<double4>("double4");
	check_move<odd>("structure of 7 bytes");
	check_move<large>("structure of 44 bytes");
}

/* Each workgroup passes on its part; the last one sums up all parts. */
__device__ unsigned int arrived;

__global__ void last_block(const int *in, int *parts, int *sum)
{
	__shared__ bool last;

	if (!threadIdx.x) {
		int mine = 0;

		for (int i = 0; i < 64; i++)
			mine += in[blockIdx.x * 64 + i];
		parts[blockIdx.x] = mine;
		__threadfence();
		last = atomicAdd(&arrived, 1) == gridDim.x - 1;
	}
	__syncthreads();
	if (last && !threadIdx.x) {
		*sum = 0;
		for (int i = 0; i < gridDim.x; i++)
			*sum += __hip_atomic_load(&parts[i], __ATOMIC_RELAXED,
						  __HIP_MEMORY_SCOPE_AGENT);
		arrived = 0;
	}
}

static void test_last_block()
{
	const int blocks = 100;
	std::vector<int> in(blocks * 64);
	int *din, *parts = lab_device<int>(blocks), *sum = lab_device<int>(1), want = 0;

	for (size_t i = 0; i < in.size(); i++)
		want += in[i] = (int)i % 1001;
	din = lab_filled(in);
	for (int round = 0; round < 5; round++) {
		last_block<<<blocks, 64>>>(din, parts, sum);
		lab_check(lab_back(sum, 1)[0] == want, "round %d: the sum is %d, not %d", round,
			  lab_back(sum, 1)[0], want);
	}
	lab_must(hipFree(din));
	lab_must(hipFree(parts));
	lab_must(hipFree(sum));
}

/*
 * 16-bit floating point. The operations are rounded correctly, so their results are those of
 * floats, rounded; sums and products of such numbers are exact in doubles.
 */
__global__ void halves(const uint16_t *in, uint16_t *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	__half a, b;
	__half2 pair, other;

	if (i >= n)
		return;
	a = __ushort_as_half(in[i]);
	b = __ushort_as_half(in[(i * 7 + 1) % n]);
	out[0 * n + i] = __half_as_ushort(__hadd(a, b));
	out[1 * n + i] = __half_as_ushort(__hsub(a, b));
	out[2 * n + i] = __half_as_ushort(__hmul(a, b));
	out[3 * n + i] = __half_as_ushort(__hfma(a, b, a));
	out[4 * n + i] = __half_as_ushort(__float2half(__half2float(a)));
	pair = __halves2half2(a, b);
	other = __halves2half2(b, a);
	pair = __hadd2(pair, other);
	out[5 * n + i] = __half_as_ushort(__low2half(pair));
	out[6 * n + i] = __half_as_ushort(__high2half(pair));
	pair = __hmul2(__halves2half2(a, b), __halves2half2(a, a));
	out[7 * n + i] = __half_as_ushort(__high2half(pair));
	out[8 * n + i] = (uint16_t)(__hlt(a, b) | __heq(a, a) << 1 | __hge(a, b) << 2);
	out[9 * n + i] = (uint16_t)(int)__half2float(hrint(a));
}

static double half_value(uint16_t bits)
{
	_Float16 value;

	memcpy(&value, &bits, 2);
	return (double)value;
}

static bool is_half(uint16_t got, double want)
{
	_Float16 rounded = (_Float16)want;
	uint16_t bits;

	memcpy(&bits, &rounded, 2);
	return got == bits || (std::isnan(half_value(got)) && std::isnan(want)) ||
	       (!(got & 0x7fff) && !(bits & 0x7fff));
}

static void test_half()
{
	const int n = 2048;
	std::vector<uint16_t> in(n), got;
	uint16_t *din, *results = lab_device<uint16_t>(10 * n);

	for (int i = 0; i < n; i++)
		in[i] = (uint16_t)(i * 32 + i / 64); /* of every exponent, infinities, NaNs */
	din = lab_filled(in);
	halves<<<(n + 127) / 128, 128>>>(din, results, n);
	got = lab_back(results, 10 * n);
	for (int i = 0; i < n; i++) {
		double a = half_value(in[i]), b = half_value(in[(i * 7 + 1) % n]);
		double want[] = { a + b, a - b, a * b, fma(a, b, a), a, a + b, a + b, b * a };

		for (int k = 0; k < 8; k++) {
			/* A double may round a sum of three numbers twice. */
			if (k == 3 && !is_half((uint16_t)got[k * n + i], want[k]) &&
			    fabs(half_value(got[k * n + i]) - want[k]) <= fabs(want[k]) / 2048)
				continue;
			lab_check(is_half(got[k * n + i], want[k]),
				  "operation %d of %g and %g gave %g (%#x), not %g", k, a, b,
				  half_value(got[k * n + i]), got[k * n + i], want[k]);
		}
		lab_check(got[8 * n + i] == ((a < b) | (a == a) << 1 | (a >= b) << 2),
			  "comparisons of %g and %g gave %#x", a, b, got[8 * n + i]);
		if (fabs(a) < 30000)
			lab_check((int16_t)got[9 * n + i] == (int)nearbyint(a), "%g became %d", a,
				  (int16_t)got[9 * n + i]);
	}
	lab_must(hipFree(din));
	lab_must(hipFree(results));
}

__global__ void bfloats(const float *in, uint16_t *out, float *sums, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n) {
		hip_bfloat16 a(in[i]), b(in[(i + 1) % n]);
		hip_bfloat16 product = a * b, sum = a + b;

		out[i] = a.data;
		out[n + i] = product.data;
		sums[i] = (float)sum;
	}
}

static uint16_t to_bfloat(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, 4);
	return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float from_bfloat(uint16_t value)
{
	uint32_t bits = (uint32_t)value << 16;
	float f;

	memcpy(&f, &bits, 4);
	return f;
}

static void test_bfloat()
{
	const int n = 1000;
	std::vector<float> in(n), sums;
	std::vector<uint16_t> got;
	float *din, *dsums = lab_device<float>(n);
	uint16_t *results = lab_device<uint16_t>(2 * n);
	uint64_t seed = 6;

	for (float &f : in)
		f = ((int)lab_random(&seed) - 0x40000000) / 1e6f;
	din = lab_filled(in);
	bfloats<<<8, 128>>>(din, results, dsums, n);
	got = lab_back(results, 2 * n);
	sums = lab_back(dsums, n);
	for (int i = 0; i < n; i++) {
		float a = from_bfloat(to_bfloat(in[i]));
		float b = from_bfloat(to_bfloat(in[(i + 1) % n]));

		lab_check(got[i] == to_bfloat(in[i]), "%g became %#x", in[i], got[i]);
		lab_check(got[n + i] == to_bfloat(a * b), "%g * %g gave %#x", a, b, got[n + i]);
		lab_check(sums[i] == from_bfloat(to_bfloat(a + b)), "%g + %g gave %g", a, b,
			  sums[i]);
	}
	lab_must(hipFree(din));
	lab_must(hipFree(dsums));
	lab_must(hipFree(results));
}

/* Integer arithmetic that the compiler expands to several instructions. */
__global__ void integers(const int64_t *in, int64_t *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n) {
		int64_t a = in[i], b = in[(i + 1) % n] | 1;

		out[0 * n + i] = a / b;
		out[1 * n + i] = a % b;
		out[2 * n + i] = (int64_t)((uint64_t)a / (uint64_t)b);
		out[3 * n + i] = (int32_t)a / (int32_t)b;
		out[4 * n + i] = (int64_t)((uint64_t)a * (uint64_t)b);
		out[5 * n + i] = (int64_t)__umul64hi((uint64_t)a, (uint64_t)b);
		out[6 * n + i] = __mul24((int)a, (int)b);
		out[7 * n + i] = a >> (i % 64);
	}
}

static int mul24(int a, int b)
{
	return (int)((uint32_t)((int32_t)((uint32_t)a << 8) >> 8) *
		     (uint32_t)((int32_t)((uint32_t)b << 8) >> 8));
}

static void test_integers()
{
	const int n = 1000;
	std::vector<int64_t> in(n), got;
	int64_t *din, *results = lab_device<int64_t>(8 * n);

	lab_draw(in.data(), n * 8, 5);
	for (int i = 0; i < n; i++)
		in[i] >>= i % 48; /* large and small ones */
	din = lab_filled(in);
	integers<<<8, 128>>>(din, results, n);
	got = lab_back(results, 8 * n);
	for (int i = 0; i < n; i++) {
		int64_t a = in[i], b = in[(i + 1) % n] | 1;
		int64_t want[] = {
			a / b,
			a % b,
			(int64_t)((uint64_t)a / (uint64_t)b),
			(int32_t)a / (int32_t)b,
			(int64_t)((uint64_t)a * (uint64_t)b),
			(int64_t)((unsigned __int128)(uint64_t)a * (uint64_t)b >> 64),
			mul24((int)a, (int)b),
			a >> (i % 64),
		};

		for (int k = 0; k < 8; k++)
			lab_check(got[k * n + i] == want[k],
				  "operation %d of %lld and %lld gave %lld, not %lld", k,
				  (long long)a, (long long)b, (long long)got[k * n + i],
				  (long long)want[k]);
	}
	lab_must(hipFree(din));
	lab_must(hipFree(results));
}

/* Functions of the device's mathematical library, within the error that it promises. */
__global__ void mathematics(const double *in, double *out, float *small, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n) {
		double x = in[i];
		float f = (float)x;
		double values[] = { exp(x),	 log(fabs(x)),	    sin(x),   cos(x),
				    tanh(x),	 pow(fabs(x), 0.7), cbrt(x),  erf(x),
				    atan2(x, 2), fmod(x, 1.3),	    floor(x), rint(x),
				    1 / x };
		float floats[] = { expf(f),	 logf(fabsf(f)),       sinf(f),	  cosf(f),
				   tanhf(f),	 powf(fabsf(f), 0.7f), cbrtf(f),  erff(f),
				   atan2f(f, 2), fmodf(f, 1.3f),       floorf(f), rintf(f),
				   1 / f };

		for (int k = 0; k < 13; k++) {
			out[k * n + i] = values[k];
			small[k * n + i] = floats[k];
		}
	}
}

static void check_near(double got, double want, double unit, const char *what, int k, double x)
{
	lab_check(fabs(got - want) <= 4 * unit * fabs(want) + unit * 1e-30,
		  "%s %d of %.17g gave %.17g, not %.17g", what, k, x, got, want);
}

static void test_mathematics()
{
	const int n = 1000, functions = 13;
	std::vector<double> in(n), got;
	std::vector<float> small;
	double *din, *results = lab_device<double>(functions * n);
	float *dsmall = lab_device<float>(functions * n);

	for (int i = 0; i < n; i++)
		in[i] = (float)((i - n / 2) * 0.0371 + 0.011);
	din = lab_filled(in);
	mathematics<<<8, 128>>>(din, results, dsmall, n);
	got = lab_back(results, functions * n);
	small = lab_back(dsmall, functions * n);
	for (int i = 0; i < n; i++) {
		double x = in[i];
		double want[] = { exp(x),      log(fabs(x)),	  sin(x),   cos(x),
				  tanh(x),     pow(fabs(x), 0.7), cbrt(x),  erf(x),
				  atan2(x, 2), fmod(x, 1.3),	  floor(x), rint(x),
				  1 / x };

		for (int k = 0; k < functions; k++) {
			check_near(got[k * n + i], want[k], 0x1p-52, "function", k, x);
			/* The remainder by another number is another one. */
			if (k == 9)
				want[k] = fmodf((float)x, 1.3f);
			if (k == 5)
				want[k] = pow(fabs(x), (double)0.7f);
			check_near(small[k * n + i], want[k], 0x1p-23, "float function", k, x);
		}
	}
	lab_must(hipFree(din));
	lab_must(hipFree(results));
	lab_must(hipFree(dsmall));
}

/* Grids and workgroups of three dimensions, whose last workgroups are no smaller. */
__global__ void three(uint32_t *out, dim3 size)
{
	uint32_t x = blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t y = blockIdx.y * blockDim.y + threadIdx.y;
	uint32_t z = blockIdx.z * blockDim.z + threadIdx.z;

	if (x < size.x && y < size.y && z < size.z)
		out[(z * size.y + y) * size.x + x] = x | y << 8 | z << 16 | gridDim.y << 24;
}

static void test_three_dimensions()
{
	dim3 size(37, 23, 11), block(8, 4, 3), grid(5, 6, 4);
	uint32_t *out = lab_device<uint32_t>(37 * 23 * 11);
	std::vector<uint32_t> got;

	three<<<grid, block>>>(out, size);
	got = lab_back(out, 37 * 23 * 11);
	for (uint32_t i = 0; i < got.size(); i++)
		lab_check(got[i] == (i % 37 | i / 37 % 23 << 8 | i / 37 / 23 << 16 | 6 << 24),
			  "element %u is %#x", i, got[i]);
	lab_must(hipFree(out));
}

/* Clocks advance, and the constant clock has its frequency. */
__global__ void clocks(long long *out)
{
	long long a = clock64(), b = (long long)__builtin_amdgcn_s_memrealtime();

	for (int i = 0; i < 100; i++)
		__builtin_amdgcn_s_sleep(1);
	out[0] = clock64() - a;
	out[1] = (long long)__builtin_amdgcn_s_memrealtime() - b;
}

static void test_clocks()
{
	long long *out = lab_device<long long>(2);
	std::vector<long long> got;

	clocks<<<1, 1>>>(out);
	got = lab_back(out, 2);
	lab_check(got[0] > 0 && got[1] > 0, "clocks advanced by %lld and %lld", got[0], got[1]);
	lab_must(hipFree(out));
}

static const lab_test tests[] = {
	{ "int-atomics", test_int_atomics },
	{ "float-atomics", test_float_atomics },
	{ "scopes", test_scopes },
	{ "wrapping", test_wrapping },
	{ "shuffles", test_shuffles },
	{ "votes", test_votes },
	{ "counting-barriers", test_counting_barriers },
	{ "dynamic-lds", test_dynamic_lds },
	{ "heap", test_heap },
	{ "printf", test_printf },
	{ "calls", test_calls },
	{ "scratch", test_scratch },
	{ "widths", test_widths },
	{ "last-block", test_last_block },
	{ "half", test_half },
	{ "bfloat", test_bfloat },
	{ "integers", test_integers },
	{ "mathematics", test_mathematics },
	{ "three-dimensions", test_three_dimensions },
	{ "clocks", test_clocks },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	return lab_main(tests, argc, argv);
}
