// SPDX-License-Identifier: MIT
/*
 * A fake libcuda.so.1 for tests without an NVIDIA driver: the functions that bench/nvidia uses, a
 * GPU that knows its two kernels, and the time of one stream. It tests the programs around it.
 *
 * It joins a program that `gpreempt run` has started, as the preload does with a real one: while
 * the program is held, none of its kernels ends.
 *
 * As libnvidia-ml.so.1 it has a clock of 1000 MHz.
 *
 * $FAKE_CUDA_WRONG: the kernel with that number computes a wrong result.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "join/agent.h"
#include "mill.h"

#define PUBLIC __attribute__((visibility("default")))
#define ROUNDS_PER_US 200

/* The program has one GPU, and one thread that uses it. */
static struct {
	struct gp__agent *agent; /* NULL: not joined */
	struct gp__request request;
	struct gp__port *port;
	pthread_mutex_t held; /* locked by the agent while the program is held */
	bool stopped; /* for the agent's thread only */
	uint64_t busy_until;
	uint64_t device_ns; /* of all kernels; events measure it, however slow the host is */
	unsigned long launches;
	struct {
		uint32_t *state, *thousands;
		volatile uint32_t *stop;
		uint32_t n; /* 0: it does not run */
	} endless;
} gpu = { .held = PTHREAD_MUTEX_INITIALIZER };

static const char mill_name[] = "mill", endless_name[] = "endless";

static void sleep_until(uint64_t at)
{
	struct timespec t = { .tv_sec = (time_t)(at / 1000000000u),
			      .tv_nsec = (long)(at % 1000000000u) };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

/* Work ends as much later as the program was held meanwhile. */
static void work_until(uint64_t at)
{
	sleep_until(at);
	pthread_mutex_lock(&gpu.held);
	pthread_mutex_unlock(&gpu.held);
}

static void set(int *results, size_t n, bool stopped)
{
	if (stopped && !gpu.stopped)
		pthread_mutex_lock(&gpu.held);
	else if (!stopped && gpu.stopped)
		pthread_mutex_unlock(&gpu.held);
	gpu.stopped = stopped;
	memset(results, 0, n * sizeof(*results));
}

static void stop(void *data, const u32 *ids, int *results, size_t n)
{
	(void)data;
	(void)ids;
	set(results, n, true);
}

static void start(void *data, const u32 *ids, int *results, size_t n)
{
	(void)data;
	(void)ids;
	set(results, n, false);
}

static void join(void)
{
	const char *prio = getenv("GPREEMPT_PRIORITY"), *socket = getenv("GPREEMPT_SOCKET");
	static const struct gp__queue_ops ops = { .hold = stop, .release = start };
	struct gp__agent_options options = { .path = socket, .program = "fake" };
	const struct gp__queue_desc queue = {
		.id = 1, .level = 3, .device = "fake", .device_name = "fake"
	};

	if (!prio || !socket || gpu.agent || gp__agent_create(&options, &gpu.agent))
		return;
	gpu.request.hints.prio = (s32)strtol(prio, NULL, 10);
	gpu.port = gp__agent_open(gpu.agent, &gpu.request, &ops);
	if (!gpu.port)
		return;
	gp__agent_bind(gpu.port, &gpu);
	gp__port_add(gpu.port, &queue);
}

static void has_work(bool has)
{
	if (gpu.port)
		gp__port_work(gpu.port, 1, has, has, gp__clock_ns());
}

#define FAKE(name, ...)               \
	PUBLIC int name(__VA_ARGS__); \
	int name(__VA_ARGS__)

FAKE(cuInit, unsigned int flags)
{
	return (int)flags;
}

FAKE(cuDriverGetVersion, int *version)
{
	*version = 13000;
	return 0;
}

FAKE(cuDeviceGet, int *device, int ordinal)
{
	*device = ordinal;
	return 0;
}

FAKE(cuDeviceGetName, char *name, int size, int device)
{
	snprintf(name, (size_t)size, "a GPU that is none %d", device);
	return 0;
}

FAKE(cuDevicePrimaryCtxRetain, void **context, int device)
{
	*context = &gpu;
	join();
	return device;
}

FAKE(cuCtxSetCurrent, void *context)
{
	return context != &gpu;
}

FAKE(cuDevicePrimaryCtxRelease_v2, int device)
{
	return device;
}

FAKE(cuModuleLoadData, void **module, const void *image)
{
	*module = &gpu;
	return strstr(image, ".entry mill(") && strstr(image, ".entry endless(") ? 0 : 218;
}

FAKE(cuModuleGetFunction, void **function, void *module, const char *name)
{
	(void)module;
	*function = (void *)(!strcmp(name, mill_name) ? mill_name : endless_name);
	return strcmp(name, *function) ? 500 : 0;
}

FAKE(cuMemAlloc_v2, uint64_t *at, size_t bytes)
{
	*at = (uintptr_t)calloc(1, bytes);
	return *at ? 0 : 2;
}

FAKE(cuMemAllocHost_v2, void **at, size_t bytes)
{
	*at = calloc(1, bytes);
	return *at ? 0 : 2;
}

FAKE(cuMemcpyHtoD_v2, uint64_t to, const void *from, size_t bytes)
{
	memcpy((void *)(uintptr_t)to, from, bytes);
	return 0;
}

FAKE(cuMemcpyDtoH_v2, void *to, uint64_t from, size_t bytes)
{
	memcpy(to, (void *)(uintptr_t)from, bytes);
	return 0;
}

FAKE(cuMemcpyHtoDAsync_v2, uint64_t to, const void *from, size_t bytes, void *stream)
{
	return stream ? cuMemcpyHtoD_v2(to, from, bytes) : 1;
}

FAKE(cuStreamCreate, void **stream, unsigned int flags)
{
	*stream = &gpu;
	return flags != 1;
}

static void turn(uint32_t *state, uint32_t n, uint32_t rounds)
{
	const char *wrong = getenv("FAKE_CUDA_WRONG");
	uint64_t now = gp__clock_ns();

	for (uint32_t i = 0; i < n; i++)
		state[i] = mill_after(state[i], rounds);
	if (wrong && strtoul(wrong, NULL, 10) == gpu.launches)
		state[n - 1] ^= 1;
	gpu.busy_until =
		(gpu.busy_until > now ? gpu.busy_until : now) + 1000ull * rounds / ROUNDS_PER_US;
	gpu.device_ns += 1000ull * rounds / ROUNDS_PER_US;
}

static void end_endless(void)
{
	while (!*gpu.endless.stop)
		sleep_until(gp__clock_ns() + 1000000);
	for (uint32_t i = 0; i < gpu.endless.n; i++) {
		gpu.endless.thousands[i] = 7 + i % 3;
		gpu.endless.state[i] =
			mill_after(gpu.endless.state[i], 1000ull * gpu.endless.thousands[i]);
	}
	gpu.endless.n = 0;
}

static void *pointer(void *const *args, int i)
{
	uint64_t at;

	memcpy(&at, args[i], sizeof(at));
	return (void *)(uintptr_t)at;
}

FAKE(cuLaunchKernel, void *function, unsigned int gx, unsigned int gy, unsigned int gz,
     unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared, void *stream,
     void **args, void **extra)
{
	if (gy != 1 || gz != 1 || by != 1 || bz != 1 || shared || !stream || extra)
		return 1;
	gpu.launches++;
	has_work(true);
	if (function == mill_name) {
		turn(pointer(args, 0), gx * bx, *(uint32_t *)args[1]);
		return 0;
	}
	gpu.endless.state = pointer(args, 0);
	gpu.endless.thousands = pointer(args, 1);
	gpu.endless.stop = pointer(args, 2);
	gpu.endless.n = gx * bx;
	return 0;
}

FAKE(cuStreamSynchronize, void *stream)
{
	(void)stream;
	if (gpu.endless.n)
		end_endless();
	work_until(gpu.busy_until);
	has_work(false);
	return 0;
}

struct event {
	uint64_t ends_at, device_ns;
};

FAKE(cuEventCreate, void **event, unsigned int flags)
{
	*event = calloc(1, sizeof(struct event));
	return (int)flags;
}

FAKE(cuEventRecord, void *event, void *stream)
{
	*(struct event *)event = (struct event){ gpu.busy_until, gpu.device_ns };
	return !stream;
}

FAKE(cuEventSynchronize, void *event)
{
	work_until(((struct event *)event)->ends_at);
	return 0;
}

FAKE(cuEventElapsedTime, float *ms, void *from, void *to)
{
	const struct event *a = from, *b = to;

	*ms = (float)(b->device_ns - a->device_ns) / 1e6f;
	return 0;
}

FAKE(cuGetErrorName, int error, const char **name)
{
	*name = error ? "CUDA_ERROR_FAKE" : "CUDA_SUCCESS";
	return 0;
}

FAKE(nvmlInit_v2, void)
{
	return 0;
}

FAKE(nvmlDeviceGetHandleByIndex_v2, unsigned int index, void **device)
{
	*device = &gpu;
	return (int)index;
}

FAKE(nvmlDeviceGetClockInfo, void *device, int type, unsigned int *mhz)
{
	*mhz = 1000;
	return device != &gpu || type != 1;
}

FAKE(nvmlDeviceGetPowerUsage, void *device, unsigned int *mw)
{
	*mw = 250000;
	return device != &gpu;
}
