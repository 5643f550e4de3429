// SPDX-License-Identifier: MIT
// Functions of the HIP runtime beside launches and plain copies: graphs, compilation at run time,
// modules, stream-ordered allocation, managed memory, host functions, occupancy, copies and fills
// of two and three dimensions, symbols, waits for values in memory, errors. With --gpus 2 also
// copies between devices; and memory and events of another process.
#include <hip/hip_runtime.h>
#include <hip/hiprtc.h>

#include <atomic>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>

#include "hip_lab.h"

__global__ void scale(int *cells, int n, int by, int plus)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		cells[i] = cells[i] * by + plus;
}

static int *filled(int n)
{
	std::vector<int> host(n);
	int *device = lab_device<int>(n);

	for (int i = 0; i < n; i++)
		host[i] = i;
	lab_must(hipMemcpy(device, host.data(), n * sizeof(int), hipMemcpyHostToDevice));
	return device;
}

static void check_cells(const int *device, int n, int by, int plus, const char *what)
{
	std::vector<int> back(n);

	lab_must(hipMemcpy(back.data(), device, n * sizeof(int), hipMemcpyDefault));
	for (int i = 0; i < n; i++)
		lab_check(back[i] == i * by + plus, "%s: cell %d is %d, not %d", what, i, back[i],
			  i * by + plus);
}

enum { N = 5000, BLOCK = 128, GRID = (N + BLOCK - 1) / BLOCK };

/* Records the work of a stream, and repeats it many times. */
static void test_captured_graph()
{
	std::vector<int> host(N), back(N);
	int *cells = lab_device<int>(N);
	hipStream_t stream, other;
	hipEvent_t fork, join;
	hipGraph_t graph;
	hipGraphExec_t exec;
	size_t nodes = 0;

	lab_must(hipStreamCreate(&stream));
	lab_must(hipStreamCreate(&other));
	lab_must(hipEventCreateWithFlags(&fork, hipEventDisableTiming));
	lab_must(hipEventCreateWithFlags(&join, hipEventDisableTiming));
	lab_must(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
	lab_must(
		hipMemcpyAsync(cells, host.data(), N * sizeof(int), hipMemcpyHostToDevice, stream));
	lab_must(hipEventRecord(fork, stream));
	lab_must(hipStreamWaitEvent(other, fork, 0));
	scale<<<GRID, BLOCK, 0, stream>>>(cells, N / 2, 3, 1);
	scale<<<GRID, BLOCK, 0, other>>>(cells + N / 2, N - N / 2, 3, 1);
	lab_must(hipEventRecord(join, other));
	lab_must(hipStreamWaitEvent(stream, join, 0));
	scale<<<GRID, BLOCK, 0, stream>>>(cells, N, 2, 5);
	lab_must(
		hipMemcpyAsync(back.data(), cells, N * sizeof(int), hipMemcpyDeviceToHost, stream));
	lab_must(hipStreamEndCapture(stream, &graph));
	lab_must(hipGraphGetNodes(graph, NULL, &nodes));
	lab_check(nodes == 5, "the graph has %zu nodes, not 5", nodes);
	lab_must(hipGraphInstantiate(&exec, graph, NULL, NULL, 0));
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < N; i++)
			host[i] = i + round;
		lab_must(hipGraphLaunch(exec, stream));
		lab_must(hipStreamSynchronize(stream));
		for (int i = 0; i < N; i++)
			lab_check(back[i] == ((i + round) * 3 + 1) * 2 + 5,
				  "launch %d: cell %d is %d", round, i, back[i]);
	}
	lab_must(hipGraphExecDestroy(exec));
	lab_must(hipGraphDestroy(graph));
	lab_must(hipEventDestroy(fork));
	lab_must(hipEventDestroy(join));
	lab_must(hipStreamDestroy(stream));
	lab_must(hipStreamDestroy(other));
	lab_must(hipFree(cells));
}

static void count_call(void *data)
{
	(*(std::atomic<int> *)data)++;
}

/* A graph of nodes: a fill, two parallel kernels, a host function. */
static void test_built_graph()
{
	std::atomic<int> calls(0);
	int *cells = lab_device<int>(N), n = N, half = N / 2, by = 2, plus = 1;
	int *second = cells + N / 2;
	void *arguments[] = { &cells, &half, &by, &plus };
	void *others[] = { &second, &half, &by, &plus };
	hipGraph_t graph;
	hipGraphExec_t exec;
	hipGraphNode_t fill, kernels[2], host;
	hipMemsetParams memset_parameters = {};
	hipKernelNodeParams kernel_parameters = {};
	hipHostNodeParams host_parameters = { count_call, &calls };
	std::vector<int> back(N);

	memset_parameters.dst = cells;
	memset_parameters.elementSize = 4;
	memset_parameters.width = n;
	memset_parameters.height = 1;
	memset_parameters.value = 7;
	kernel_parameters.func = (void *)scale;
	kernel_parameters.gridDim = dim3(GRID);
	kernel_parameters.blockDim = dim3(BLOCK);
	lab_must(hipGraphCreate(&graph, 0));
	lab_must(hipGraphAddMemsetNode(&fill, graph, NULL, 0, &memset_parameters));
	kernel_parameters.kernelParams = arguments;
	lab_must(hipGraphAddKernelNode(&kernels[0], graph, &fill, 1, &kernel_parameters));
	kernel_parameters.kernelParams = others;
	lab_must(hipGraphAddKernelNode(&kernels[1], graph, &fill, 1, &kernel_parameters));
	lab_must(hipGraphAddHostNode(&host, graph, kernels, 2, &host_parameters));
	lab_must(hipGraphInstantiate(&exec, graph, NULL, NULL, 0));
	for (int round = 1; round <= 10; round++) {
		lab_must(hipGraphLaunch(exec, 0));
		lab_must(hipStreamSynchronize(0));
		lab_check(calls == round, "the host function ran %d times, not %d", (int)calls,
			  round);
		lab_must(hipMemcpy(back.data(), cells, N * sizeof(int), hipMemcpyDeviceToHost));
		for (int i = 0; i < N; i++)
			lab_check(back[i] == 15, "launch %d: cell %d is %d", round, i, back[i]);
	}
	lab_must(hipGraphExecDestroy(exec));
	lab_must(hipGraphDestroy(graph));
	lab_must(hipFree(cells));
}

static const char source[] = "extern \"C\" __device__ int offset = 3;\n"
			     "extern \"C\" __global__ void scale(int *cells, int n, int by)\n"
			     "{\n"
			     "	int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
			     "	if (i < n)\n"
			     "		cells[i] = cells[i] * by + offset + PLUS;\n"
			     "}\n"
			     "template <typename T> __global__ void set(T *cells, T value) { "
			     "cells[threadIdx.x] = value; }\n";

static void rtc_must(hiprtcResult result, const char *call, hiprtcProgram program = NULL)
{
	size_t size = 0;

	if (result == HIPRTC_SUCCESS)
		return;
	if (program && hiprtcGetProgramLogSize(program, &size) == HIPRTC_SUCCESS && size) {
		std::string log(size, 0);

		hiprtcGetProgramLog(program, &log[0]);
		fputs(log.c_str(), stderr);
	}
	lab_fail("%s: %s", call, hiprtcGetErrorString(result));
}

/* A kernel that is compiled at run time, and loaded as a module with its variable. */
static void test_hiprtc_and_modules()
{
	const char *options[] = { "--offload-arch=gfx90a", "-DPLUS=4" };
	const char *instance = "set<double>", *lowered;
	double *doubles = lab_device<double>(64), value = 1.5, got[64];
	int *cells = filled(N), n = N, by = 6, offset = 10;
	hiprtcProgram program;
	hipModule_t module;
	hipFunction_t function;
	hipDeviceptr_t variable;
	size_t size;
	std::vector<char> code;

	rtc_must(hiprtcCreateProgram(&program, source, "scale.hip", 0, NULL, NULL), "create");
	rtc_must(hiprtcAddNameExpression(program, instance), "name");
	rtc_must(hiprtcCompileProgram(program, 2, options), "compile", program);
	rtc_must(hiprtcGetCodeSize(program, &size), "size");
	code.resize(size);
	rtc_must(hiprtcGetCode(program, code.data()), "code");
	lab_must(hipModuleLoadData(&module, code.data()));
	lab_must(hipModuleGetFunction(&function, module, "scale"));
	{
		void *arguments[] = { &cells, &n, &by };

		lab_must(hipModuleLaunchKernel(function, GRID, 1, 1, BLOCK, 1, 1, 0, 0, arguments,
					       NULL));
		check_cells(cells, N, 6, 7, "first launch");
	}
	lab_must(hipModuleGetGlobal(&variable, &size, module, "offset"));
	lab_check(size == 4, "the variable has %zu bytes", size);
	lab_must(hipMemcpyHtoD(variable, &offset, 4));
	{
		struct {
			int *cells;
			int n, by;
		} packed = { cells, n, 1 };
		size_t bytes = sizeof(packed);
		void *extra[] = { HIP_LAUNCH_PARAM_BUFFER_POINTER, &packed,
				  HIP_LAUNCH_PARAM_BUFFER_SIZE, &bytes, HIP_LAUNCH_PARAM_END };

		lab_must(hipModuleLaunchKernel(function, GRID, 1, 1, BLOCK, 1, 1, 0, 0, NULL,
					       extra));
		check_cells(cells, N, 6, 21, "packed arguments");
	}
	rtc_must(hiprtcGetLoweredName(program, instance, &lowered), "lowered name");
	lab_must(hipModuleGetFunction(&function, module, lowered));
	{
		void *arguments[] = { &doubles, &value };

		lab_must(hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, 0, arguments, NULL));
	}
	lab_must(hipMemcpy(got, doubles, sizeof(got), hipMemcpyDeviceToHost));
	for (double d : got)
		lab_check(d == 1.5, "the template set %g", d);
	lab_check(hipModuleGetFunction(&function, module, "absent") == hipErrorNotFound,
		  "a function that is absent was found");
	(void)hipGetLastError();
	lab_must(hipModuleUnload(module));
	rtc_must(hiprtcDestroyProgram(&program), "destroy");
	lab_must(hipFree(cells));
	lab_must(hipFree(doubles));
}

/* Memory that a stream allocates and frees in order. */
static void test_stream_ordered_memory()
{
	hipStream_t stream;
	hipMemPool_t pool;
	int supported = 0;
	std::vector<int> back(N);

	lab_must(hipDeviceGetAttribute(&supported, hipDeviceAttributeMemoryPoolsSupported, 0));
	if (!supported) {
		lab_skip("this runtime has no memory pools");
		return;
	}
	lab_must(hipStreamCreate(&stream));
	for (int round = 0; round < 30; round++) {
		int *one, *two;

		lab_must(hipMallocAsync((void **)&one, N * sizeof(int), stream));
		lab_must(hipMallocAsync((void **)&two, N * sizeof(int) + round * 1000, stream));
		lab_must(hipMemsetAsync(one, 0, N * sizeof(int), stream));
		scale<<<GRID, BLOCK, 0, stream>>>(one, N, 1, round);
		lab_must(
			hipMemcpyAsync(two, one, N * sizeof(int), hipMemcpyDeviceToDevice, stream));
		lab_must(hipFreeAsync(one, stream));
		scale<<<GRID, BLOCK, 0, stream>>>(two, N, 2, 1);
		lab_must(hipMemcpyAsync(back.data(), two, N * sizeof(int), hipMemcpyDeviceToHost,
					stream));
		lab_must(hipFreeAsync(two, stream));
		lab_must(hipStreamSynchronize(stream));
		for (int i = 0; i < N; i++)
			lab_check(back[i] == 2 * round + 1, "round %d: cell %d is %d", round, i,
				  back[i]);
	}
	lab_must(hipDeviceGetDefaultMemPool(&pool, 0));
	lab_must(hipMemPoolTrimTo(pool, 0));
	lab_must(hipStreamDestroy(stream));
}

__managed__ int managed_variable = 40;

__global__ void add_to_managed(int *cells, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		cells[i] += i;
	if (!i)
		managed_variable += 2;
}

static void test_managed_memory()
{
	int *cells;

	lab_must(hipMallocManaged((void **)&cells, N * sizeof(int), hipMemAttachGlobal));
	for (int i = 0; i < N; i++)
		cells[i] = 2 * i;
	lab_must(hipMemPrefetchAsync(cells, N * sizeof(int), 0, 0));
	add_to_managed<<<GRID, BLOCK>>>(cells, N);
	lab_must(hipDeviceSynchronize());
	for (int i = 0; i < N; i++) {
		lab_check(cells[i] == 3 * i, "cell %d is %d", i, cells[i]);
		cells[i]++;
	}
	lab_check(managed_variable == 42, "the variable is %d", managed_variable);
	managed_variable = 1;
	add_to_managed<<<GRID, BLOCK>>>(cells, N);
	lab_must(hipDeviceSynchronize());
	for (int i = 0; i < N; i++)
		lab_check(cells[i] == 4 * i + 1, "again: cell %d is %d", i, cells[i]);
	lab_check(managed_variable == 3, "the variable is %d", managed_variable);
	lab_must(hipFree(cells));
}

/* Host functions run in the order of their stream, and later work waits for them. */
struct host_work {
	int *cells, n, from, seen;
};

static void host_function(void *data)
{
	host_work *work = (host_work *)data;

	work->seen = work->cells[work->n - 1];
	for (int i = 0; i < work->n; i++)
		work->cells[i] = work->from + i;
}

static void test_host_functions()
{
#if HIP_VERSION < 50300000
	(void)host_function;
	lab_skip("HIP 5.2 declares hipLaunchHostFunc() and does not have it");
#else
	int *cells;
	host_work work[10];
	hipStream_t stream;

	lab_must(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
	lab_must(hipHostMalloc((void **)&cells, N * sizeof(int), 0));
	memset(cells, 0, N * sizeof(int));
	for (int i = 0; i < 10; i++) {
		work[i] = { cells, N, i * 1000, -1 };
		lab_must(hipLaunchHostFunc(stream, host_function, &work[i]));
		scale<<<GRID, BLOCK, 0, stream>>>(cells, N, 2, 0);
	}
	lab_must(hipStreamSynchronize(stream));
	for (int i = 1; i < 10; i++)
		lab_check(work[i].seen == ((i - 1) * 1000 + N - 1) * 2, "host function %d saw %d",
			  i, work[i].seen);
	for (int i = 0; i < N; i++)
		lab_check(cells[i] == (9000 + i) * 2, "cell %d is %d", i, cells[i]);
	lab_must(hipHostFree(cells));
	lab_must(hipStreamDestroy(stream));
#endif
}

__global__ void __launch_bounds__(256) heavy(float *out)
{
	__shared__ float room[8192];

	room[threadIdx.x] = out[threadIdx.x];
	__syncthreads();
	out[threadIdx.x] = room[255 - threadIdx.x];
}

static void test_occupancy()
{
	hipDeviceProp_t properties;
	hipFuncAttributes attributes;
	int blocks = 0, grid = 0, block = 0;

	lab_must(hipGetDeviceProperties(&properties, 0));
	lab_must(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale, 256, 0));
	lab_check(blocks == 8, "%d workgroups of 256 fit into a compute unit, not 8", blocks);
	lab_must(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, heavy, 256, 0));
	lab_check(blocks == 2, "%d workgroups with 32 KiB of LDS fit, not 2", blocks);
	lab_must(hipOccupancyMaxPotentialBlockSize(&grid, &block, scale, 0, 0));
	lab_check(grid >= properties.multiProcessorCount && block > 0 && block <= 1024,
		  "a grid of %d workgroups of %d is proposed", grid, block);
	lab_must(hipFuncGetAttributes(&attributes, (const void *)heavy));
	lab_check(attributes.sharedSizeBytes == 32768 && attributes.maxThreadsPerBlock == 256,
		  "a kernel has %zu bytes of LDS and at most %d threads",
		  attributes.sharedSizeBytes, attributes.maxThreadsPerBlock);
}

/* Boxes within larger ones, in all directions. */
enum { W = 37, H = 11, D = 5 };

static void test_copies_in_three_dimensions()
{
	const size_t pitch = 64, rows = 16;
	std::vector<uint8_t> host(pitch * rows * D), back(W * H * D, 0);
	hipExtent extent = make_hipExtent(W, H, D);
	hipPitchedPtr one, two;
	hipMemcpy3DParms copy = {};

	lab_draw(host.data(), host.size(), 3);
	lab_must(hipMalloc3D(&one, extent));
	lab_must(hipMalloc3D(&two, make_hipExtent(W + 20, H + 3, D + 1)));
	lab_must(hipMemset3D(two, 0, make_hipExtent(W + 20, H + 3, D + 1)));
	copy.srcPtr = make_hipPitchedPtr(host.data(), pitch, W, rows);
	copy.dstPtr = one;
	copy.extent = extent;
	copy.kind = hipMemcpyHostToDevice;
	lab_must(hipMemcpy3D(&copy));
	copy.srcPtr = one;
	copy.dstPtr = two;
	copy.dstPos = make_hipPos(9, 2, 1);
	copy.kind = hipMemcpyDeviceToDevice;
	lab_must(hipMemcpy3DAsync(&copy, 0));
	copy.srcPtr = two;
	copy.srcPos = make_hipPos(9, 2, 1);
	copy.dstPtr = make_hipPitchedPtr(back.data(), W, W, H);
	copy.dstPos = make_hipPos(0, 0, 0);
	copy.kind = hipMemcpyDeviceToHost;
	lab_must(hipMemcpy3D(&copy));
	for (int z = 0; z < D; z++)
		for (int y = 0; y < H; y++)
			for (int x = 0; x < W; x++) {
				uint8_t got = back[(z * H + y) * W + x];
				uint8_t want = host[(z * rows + y) * pitch + x];

				lab_check(got == want, "byte %d, %d, %d is %#x, not %#x", x, y, z,
					  got, want);
			}
	lab_must(hipFree(one.ptr));
	lab_must(hipFree(two.ptr));
}

static void test_fills()
{
	const size_t width = 50, height = 7;
	size_t pitch;
	uint8_t *device;
	std::vector<uint8_t> back;
	hipStream_t stream;
	hipPitchedPtr box;

	lab_must(hipStreamCreate(&stream));
	lab_must(hipMallocPitch((void **)&device, &pitch, width, height));
	back.resize(pitch * height);
	lab_must(hipMemset(device, 0x11, pitch * height));
	lab_must(hipMemset2D(device, pitch, 0x22, width, height));
	lab_must(hipMemset2DAsync(device + 5, pitch, 0x33, 20, height - 1, stream));
	lab_must(hipStreamSynchronize(stream));
	lab_must(hipMemcpy(back.data(), device, back.size(), hipMemcpyDeviceToHost));
	for (size_t i = 0; i < back.size(); i++) {
		size_t x = i % pitch, y = i / pitch;
		uint8_t want = x >= 5 && x < 25 && y < height - 1 ? 0x33 : x < width ? 0x22 : 0x11;

		lab_check(back[i] == want, "2D: byte %zu, %zu is %#x, not %#x", x, y, back[i],
			  want);
	}
	lab_must(hipMemsetD8((hipDeviceptr_t)device, 0x44, 16));
	lab_must(hipMemsetD16((hipDeviceptr_t)(device + 16), 0x5566, 8));
	lab_must(hipMemsetD32((hipDeviceptr_t)(device + 32), 0x778899aa, 4));
	lab_must(hipMemsetD16Async((hipDeviceptr_t)(device + 48), 0x1234, 4, stream));
	lab_must(hipStreamSynchronize(stream));
	lab_must(hipMemcpy(back.data(), device, 56, hipMemcpyDeviceToHost));
	for (int i = 0; i < 16; i++)
		lab_check(back[i] == 0x44, "bytes: %#x", back[i]);
	for (int i = 0; i < 8; i++)
		lab_check(((uint16_t *)&back[16])[i] == 0x5566, "half words: %#x",
			  ((uint16_t *)&back[16])[i]);
	for (int i = 0; i < 4; i++)
		lab_check(((uint32_t *)&back[32])[i] == 0x778899aa, "words: %#x",
			  ((uint32_t *)&back[32])[i]);
	for (int i = 0; i < 4; i++)
		lab_check(((uint16_t *)&back[48])[i] == 0x1234, "half words, not waited for: %#x",
			  ((uint16_t *)&back[48])[i]);
	lab_must(hipFree(device));
	lab_must(hipMalloc3D(&box, make_hipExtent(30, 6, 4)));
	lab_must(hipMemset(box.ptr, 0, box.pitch * 6 * 4));
	lab_must(hipMemset3D(box, 0x5a, make_hipExtent(30, 6, 4)));
	back.assign(box.pitch * 6 * 4, 1);
	lab_must(hipMemcpy(back.data(), box.ptr, back.size(), hipMemcpyDeviceToHost));
	for (size_t i = 0; i < back.size(); i++)
		lab_check(back[i] == (i % box.pitch < 30 ? 0x5a : 0), "3D: byte %zu is %#x", i,
			  back[i]);
	lab_must(hipFree(box.ptr));
	lab_must(hipStreamDestroy(stream));
}

__device__ int symbol[100];
__constant__ int constant[50];

__global__ void read_constants(int *out)
{
	out[threadIdx.x] = constant[threadIdx.x] + constant[49 - threadIdx.x];
}

static void test_symbols()
{
	int values[100], back[100], *address, *out = lab_device<int>(50);
	size_t size;

	for (int i = 0; i < 100; i++)
		values[i] = i * 3;
	lab_must(hipGetSymbolAddress((void **)&address, HIP_SYMBOL(symbol)));
	lab_must(hipGetSymbolSize(&size, HIP_SYMBOL(symbol)));
	lab_check(size == 400, "the symbol has %zu bytes", size);
	lab_must(hipMemset(address, 0, 400));
	lab_must(hipMemcpyToSymbol(HIP_SYMBOL(symbol), values, 200, 80, hipMemcpyHostToDevice));
	lab_must(hipMemcpyFromSymbol(back, HIP_SYMBOL(symbol), 400, 0, hipMemcpyDeviceToHost));
	for (int i = 0; i < 100; i++)
		lab_check(back[i] == (i >= 20 && i < 70 ? (i - 20) * 3 : 0), "word %d is %d", i,
			  back[i]);
	lab_must(hipMemcpyToSymbolAsync(HIP_SYMBOL(constant), values, 200, 0, hipMemcpyHostToDevice,
					0));
	read_constants<<<1, 50>>>(out);
	lab_must(hipMemcpy(back, out, 200, hipMemcpyDeviceToHost));
	for (int i = 0; i < 50; i++)
		lab_check(back[i] == 49 * 3, "constants %d sum up to %d", i, back[i]);
	lab_must(hipFree(out));
}

/* A stream waits for a value in memory that the host, or another stream, writes. */
static void test_wait_value()
{
	int supported = 0, *cells = filled(N);
	uint32_t *flag;
	hipStream_t waiting, writing;

	lab_must(hipDeviceGetAttribute(&supported, hipDeviceAttributeCanUseStreamWaitValue, 0));
	if (!supported) {
		lab_must(hipFree(cells));
		lab_skip("streams cannot wait for values here");
		return;
	}
	lab_must(hipStreamCreateWithFlags(&waiting, hipStreamNonBlocking));
	lab_must(hipStreamCreateWithFlags(&writing, hipStreamNonBlocking));
	lab_must(hipExtMallocWithFlags((void **)&flag, 8, hipMallocSignalMemory));
	*(uint64_t *)flag = 0;
	lab_must(hipStreamWaitValue32(waiting, flag, 5, hipStreamWaitValueGte, 0xffffffff));
	scale<<<GRID, BLOCK, 0, waiting>>>(cells, N, 3, 1);
	lab_check(hipStreamQuery(waiting) == hipErrorNotReady, "a stream did not wait");
	(void)hipGetLastError();
	lab_must(hipStreamWriteValue32(writing, flag, 5, 0));
	lab_must(hipStreamSynchronize(waiting));
	check_cells(cells, N, 3, 1, "after the wait");
	lab_must(hipStreamSynchronize(writing));
	lab_must(hipFree(flag));
	lab_must(hipStreamDestroy(waiting));
	lab_must(hipStreamDestroy(writing));
	lab_must(hipFree(cells));
}

static void expect(hipError_t got, hipError_t want, const char *what)
{
	lab_check(got == want, "%s: '%s' instead of '%s'", what, hipGetErrorName(got),
		  hipGetErrorName(want));
	(void)hipGetLastError();
}

/* Errors are reported, and do not affect later calls. */
static void test_errors()
{
	int *cells = filled(N);
	void *memory = NULL;

	expect(hipMalloc(&memory, (size_t)1 << 50), hipErrorOutOfMemory, "a huge allocation");
	expect(hipSetDevice(99), hipErrorInvalidDevice, "device 99");
	expect(hipMemcpy(cells, NULL, 16, hipMemcpyHostToDevice), hipErrorInvalidValue,
	       "a copy from nowhere");
	expect(hipFree((void *)0x12345000), hipErrorInvalidValue, "freeing what is not allocated");
	scale<<<1, 2048>>>(cells, N, 1, 0);
	lab_check(hipGetLastError() != hipSuccess, "a workgroup of 2048 threads was accepted");
	scale<<<1, 64, 1 << 20>>>(cells, N, 1, 0);
	lab_check(hipGetLastError() != hipSuccess, "a workgroup with 1 MiB of LDS was accepted");
	scale<<<GRID, BLOCK>>>(cells, N, 2, 1);
	check_cells(cells, N, 2, 1, "after errors");
	lab_must(hipFree(cells));
}

/* Each device computes with its own memory; copies go around all of them. */
static void test_devices()
{
	int devices, can = 0;
	int *cells[8], *direct;
	hipEvent_t done;

	lab_must(hipGetDeviceCount(&devices));
	if (devices < 2) {
		lab_skip("one device only");
		return;
	}
	devices = devices > 8 ? 8 : devices;
	for (int i = 0; i < devices; i++) {
		lab_must(hipSetDevice(i));
		cells[i] = filled(N);
		scale<<<GRID, BLOCK>>>(cells[i], N, 1, i);
	}
	for (int i = 0; i < devices; i++)
		check_cells(cells[i], N, 1, i, "a device");
	lab_must(hipSetDevice(0));
	lab_must(hipMemcpyPeer(cells[0], 0, cells[1], 1, N * sizeof(int)));
	check_cells(cells[0], N, 1, 1, "a peer copy");
	lab_must(hipEventCreateWithFlags(&done, hipEventDisableTiming));
	for (int i = 0; i < devices; i++) {
		int next = (i + 1) % devices;
		hipStream_t stream;

		/* The next device continues where this one has ended. */
		lab_must(hipSetDevice(i));
		lab_must(hipStreamCreate(&stream));
		scale<<<GRID, BLOCK, 0, stream>>>(cells[i], N, 1, 10);
		lab_must(hipMemcpyPeerAsync(cells[next], next, cells[i], i, N * sizeof(int),
					    stream));
		lab_must(hipStreamSynchronize(stream));
		lab_must(hipStreamDestroy(stream));
	}
	check_cells(cells[0], N, 1, 1 + 10 * devices, "around all devices");
	lab_must(hipSetDevice(0));
	lab_must(hipDeviceCanAccessPeer(&can, 0, 1));
	lab_check(can, "device 0 cannot access the memory of device 1");
	lab_must(hipDeviceEnablePeerAccess(1, 0));
	direct = cells[1];
	scale<<<GRID, BLOCK>>>(direct, N, 0, 77);
	check_cells(direct, N, 0, 77, "memory of a peer");
	lab_must(hipDeviceDisablePeerAccess(1));
	lab_must(hipEventDestroy(done));
	for (int i = 0; i < devices; i++)
		lab_must(hipFree(cells[i]));
}

/* The other process of the test of handles: reads them, doubles the memory, and reports it. */
struct handles {
	hipIpcMemHandle_t memory;
	hipIpcEventHandle_t event;
	int with_event;
};

static int from_other, to_other;
static pid_t other;

/* Without handles, the other process ends at once. */
static int use_handles()
{
	handles given;
	int *cells;

	if (read(from_other, &given, sizeof(given)) != sizeof(given))
		return 0;
	lab_must(hipIpcOpenMemHandle((void **)&cells, given.memory, hipIpcMemLazyEnablePeerAccess));
	if (given.with_event) {
		hipEvent_t event;

		lab_must(hipIpcOpenEventHandle(&event, given.event));
		lab_must(hipEventSynchronize(event));
		lab_must(hipEventDestroy(event));
	}
	check_cells(cells, N, 4, 2, "the other process");
	scale<<<GRID, BLOCK>>>(cells, N, 2, 1);
	lab_must(hipDeviceSynchronize());
	lab_must(hipIpcCloseMemHandle(cells));
	lab_check(write(to_other, "k", 1) == 1, "no answer went");
	return 0;
}

/*
 * Starts the other process before this one has a runtime, which a fork would not copy: managed
 * variables open it before main().
 */
__attribute__((constructor(101))) static void start_other()
{
	int there[2], back[2];

	/* Otherwise ROCr 6 shares memory by an ioctl that Linux does not have. */
	setenv("HSA_ENABLE_IPC_MODE_LEGACY", "0", 1);
	lab_check(!pipe2(there, O_CLOEXEC) && !pipe2(back, O_CLOEXEC), "no pipe");
	other = fork();
	lab_check(other >= 0, "no process");
	to_other = other ? there[1] : back[1];
	from_other = other ? back[0] : there[0];
	close(other ? there[0] : there[1]);
	close(other ? back[1] : back[0]);
}

static void test_handles()
{
	int *cells = filled(N), version;
	handles given = {};
	hipEvent_t event;
	char answer;

	lab_must(hipRuntimeGetVersion(&version));
	if (version < 60000000) {
		lab_must(hipFree(cells));
		lab_skip("before HIP 6, memory is shared by an ioctl that Linux does not have");
		return;
	}
	lab_must(hipEventCreateWithFlags(&event, hipEventDisableTiming | hipEventInterprocess));
	lab_must(hipIpcGetMemHandle(&given.memory, cells));
	given.with_event = hipIpcGetEventHandle(&given.event, event) == hipSuccess;
	(void)hipGetLastError();
	scale<<<GRID, BLOCK>>>(cells, N, 4, 2);
	lab_must(hipEventRecord(event, 0));
	if (!given.with_event)
		lab_must(hipDeviceSynchronize());
	lab_check(write(to_other, &given, sizeof(given)) == sizeof(given), "no handles went");
	lab_check(read(from_other, &answer, 1) == 1, "the other process failed");
	check_cells(cells, N, 8, 5, "after the other process");
	lab_must(hipEventDestroy(event));
	lab_must(hipFree(cells));
}

static const lab_test tests[] = {
	{ "captured-graph", test_captured_graph },
	{ "built-graph", test_built_graph },
	{ "hiprtc-and-modules", test_hiprtc_and_modules },
	{ "stream-ordered-memory", test_stream_ordered_memory },
	{ "managed-memory", test_managed_memory },
	{ "host-functions", test_host_functions },
	{ "occupancy", test_occupancy },
	{ "copies-in-three-dimensions", test_copies_in_three_dimensions },
	{ "fills", test_fills },
	{ "symbols", test_symbols },
	{ "wait-value", test_wait_value },
	{ "errors", test_errors },
	{ "devices", test_devices },
	{ "handles", test_handles },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	int status;

	if (!other)
		return use_handles();
	status = lab_main(tests, argc, argv);
	close(to_other);
	waitpid(other, NULL, 0);
	return status;
}
