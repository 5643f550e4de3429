// SPDX-License-Identifier: MIT
// Two streams of one program, an urgent one and one that is not, each with jobs of several kernels,
// as a HIP program has them: it knows of priorities of streams and of nothing else. Says how long
// the jobs of each took, by the host's clock and by the GPU's, which a slow host does not distort.
//
// Usage: hip_levels [JOBS]
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <string>
#include <sys/ioctl.h>
#include <thread>
#include <vector>

#include "hip_lab.h"

/* Of the driver: the GPU's clock, which has 100 MHz. */
struct clock_counters {
	uint64_t gpu, cpu, system, frequency;
	uint32_t gpu_id, pad;
};
#define GET_CLOCK_COUNTERS _IOWR('K', 0x05, struct clock_counters)
enum { NODES_MAX = 16, TICKS_PER_MS = 100000 };

enum { KERNELS = 8, ITEMS = 64, ROUNDS = 800000, JOBS = 12 };

/* All the LDS that a compute unit has: one workgroup at a time. */
__global__ void mill(uint32_t *data, int rounds)
{
	__shared__ uint32_t all[16384];
	uint32_t v = data[threadIdx.x];

	all[threadIdx.x] = v;
	__syncthreads();
	for (int r = 0; r < rounds; r++)
		v = v * 1664525 + 1013904223;
	data[threadIdx.x] = v + all[threadIdx.x] - data[threadIdx.x];
}

static uint32_t milled(uint32_t v, int times)
{
	for (int i = 0; i < times * ROUNDS; i++)
		v = v * 1664525 + 1013904223;
	return v;
}

struct worker {
	int priority;
	hipStream_t stream;
	uint32_t *data;
	std::vector<float> took_ms, device_ms;
	int jobs;
};

static volatile bool over;

static int kfd;
static uint32_t gpu_id;

/* The first node with a GPU. */
static void open_clock()
{
	kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	lab_check(kfd >= 0, "/dev/kfd: %s", strerror(errno));
	for (int n = 0; n < NODES_MAX && !gpu_id; n++) {
		std::string path = "/sys/class/kfd/kfd/topology/nodes/" + std::to_string(n) + "/gpu_id";
		int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
		char text[32] = "";

		if (fd < 0)
			break;
		if (read(fd, text, sizeof(text) - 1) > 0)
			gpu_id = strtoul(text, nullptr, 10);
		close(fd);
	}
	lab_check(gpu_id, "there is no GPU in the topology");
}

static double device_ms()
{
	struct clock_counters args = {};

	args.gpu_id = gpu_id;
	lab_check(!ioctl(kfd, GET_CLOCK_COUNTERS, &args), "the GPU's clock: %s", strerror(errno));
	return (double)args.gpu / TICKS_PER_MS;
}

static void run_job(worker *w)
{
	auto begin = std::chrono::steady_clock::now();
	double device_begin = device_ms();

	for (int k = 0; k < KERNELS; k++)
		mill<<<1, ITEMS, 0, w->stream>>>(w->data, ROUNDS);
	lab_must(hipGetLastError());
	lab_must(hipStreamSynchronize(w->stream));
	w->jobs++;
	/* The last job of the patient stream is beside the urgent one in part only. */
	if (over && !w->took_ms.empty())
		return;
	w->took_ms.push_back(std::chrono::duration<float, std::milli>(
				     std::chrono::steady_clock::now() - begin)
				     .count());
	w->device_ms.push_back(device_ms() - device_begin);
}

static void check(worker *w)
{
	uint32_t data[ITEMS];

	lab_must(hipMemcpy(data, w->data, sizeof(data), hipMemcpyDeviceToHost));
	for (int i = 0; i < ITEMS; i++)
		lab_check(data[i] == milled(i, w->jobs * KERNELS), "item %d is %#x, not %#x", i,
			  data[i], milled(i, w->jobs * KERNELS));
}

static void open_stream(worker *w)
{
	uint32_t data[ITEMS];

	for (int i = 0; i < ITEMS; i++)
		data[i] = i;
	lab_must(hipStreamCreateWithPriority(&w->stream, hipStreamNonBlocking, w->priority));
	w->data = lab_device<uint32_t>(ITEMS);
	lab_must(hipMemcpy(w->data, data, sizeof(data), hipMemcpyHostToDevice));
	run_job(w);
	w->took_ms.clear();
	w->device_ms.clear();
}

static float median(std::vector<float> v)
{
	std::sort(v.begin(), v.end());
	return v.empty() ? 0 : v[v.size() / 2];
}

int main(int argc, char **argv)
{
	int least, greatest, jobs = argc > 1 ? atoi(argv[1]) : JOBS;
	worker high = {}, low = {};

	lab_must(hipDeviceGetStreamPriorityRange(&least, &greatest));
	high.priority = greatest;
	low.priority = least;
	open_clock();
	open_stream(&high);
	open_stream(&low);
	std::thread patient([&] {
		while (!over)
			run_job(&low);
	});
	/*
	 * The other stream has the GPU for about two kernels between two jobs, however slow the
	 * host is.
	 */
	for (int i = 0; i < jobs; i++) {
		run_job(&high);
		usleep(high.took_ms.back() * 1000 * 2 / KERNELS);
	}
	over = true;
	patient.join();
	check(&high);
	check(&low);
	printf("{\"high_ms\": %.3f, \"low_ms\": %.3f, \"high_device_ms\": %.3f, "
	       "\"low_device_ms\": %.3f, \"high_jobs\": %d, \"low_jobs\": %d}\n",
	       median(high.took_ms), median(low.took_ms), median(high.device_ms),
	       median(low.device_ms), high.jobs, low.jobs);
	return 0;
}
