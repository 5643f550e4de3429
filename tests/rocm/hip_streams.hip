// SPDX-License-Identifier: MIT
// Streams and events through HIP: order within a stream, waits between them, callbacks, priorities,
// times.
#include <atomic>
#include <vector>

#include "hip_lab.h"

enum { N = 4096 };

/* Work that takes a while, so that a missing wait shows. */
__global__ void step(uint32_t *data, uint32_t add, int rounds)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t v = data[i];

	for (int r = 0; r < rounds; r++)
		v = v * 1664525 + add;
	data[i] = v;
}

static uint32_t stepped(uint32_t v, uint32_t add, int rounds)
{
	for (int r = 0; r < rounds; r++)
		v = v * 1664525 + add;
	return v;
}

static void launch(uint32_t *data, uint32_t add, int rounds, hipStream_t stream)
{
	step<<<N / 256, 256, 0, stream>>>(data, add, rounds);
	lab_must(hipGetLastError());
}

static void check_all(const uint32_t *data, uint32_t want, const char *what)
{
	for (int i = 0; i < N; i++)
		lab_check(data[i] == want, "%s: item %d is %#x, not %#x", what, i, data[i], want);
}

/* Each stream has its own data and order. */
static void test_streams()
{
	const int streams = 4, steps = 20;
	hipStream_t stream[streams];
	uint32_t *data[streams], *back[streams];

	for (int s = 0; s < streams; s++) {
		lab_must(hipStreamCreate(&stream[s]));
		data[s] = lab_device<uint32_t>(N);
		lab_must(hipHostMalloc((void **)&back[s], N * 4, hipHostMallocDefault));
		lab_must(hipMemsetAsync(data[s], 0, N * 4, stream[s]));
	}
	for (int k = 0; k < steps; k++)
		for (int s = 0; s < streams; s++)
			launch(data[s], s * 100 + k, 5 + k, stream[s]);
	for (int s = 0; s < streams; s++)
		lab_must(hipMemcpyAsync(back[s], data[s], N * 4, hipMemcpyDeviceToHost, stream[s]));
	for (int s = 0; s < streams; s++) {
		uint32_t want = 0;

		for (int k = 0; k < steps; k++)
			want = stepped(want, s * 100 + k, 5 + k);
		lab_must(hipStreamSynchronize(stream[s]));
		check_all(back[s], want, "a stream");
		lab_must(hipStreamDestroy(stream[s]));
		lab_must(hipFree(data[s]));
		lab_must(hipHostFree(back[s]));
	}
}

/* The same data through all streams: only the events between them keep the order. */
static void test_events_between_streams()
{
	const int streams = 3, steps = 60;
	hipStream_t stream[streams];
	hipEvent_t event[steps];
	uint32_t *data = lab_device<uint32_t>(N), want = 0;
	std::vector<uint32_t> back(N);

	lab_must(hipMemset(data, 0, N * 4));
	lab_must(hipDeviceSynchronize());
	for (int s = 0; s < streams; s++)
		lab_must(hipStreamCreateWithFlags(&stream[s], hipStreamNonBlocking));
	for (int k = 0; k < steps; k++) {
		hipStream_t here = stream[k % streams];

		lab_must(hipEventCreateWithFlags(&event[k], hipEventDisableTiming));
		if (k)
			lab_must(hipStreamWaitEvent(here, event[k - 1], 0));
		launch(data, k, 30, here);
		lab_must(hipEventRecord(event[k], here));
		want = stepped(want, k, 30);
	}
	lab_must(hipEventSynchronize(event[steps - 1]));
	for (int k = 0; k < steps; k++)
		lab_must(hipEventQuery(event[k]));
	lab_must(hipMemcpy(back.data(), data, N * 4, hipMemcpyDeviceToHost));
	check_all(back.data(), want, "streams in turn");
	for (int k = 0; k < steps; k++)
		lab_must(hipEventDestroy(event[k]));
	for (int s = 0; s < streams; s++)
		lab_must(hipStreamDestroy(stream[s]));
	lab_must(hipFree(data));
}

static void count_callback(hipStream_t stream, hipError_t status, void *data)
{
	(void)stream;
	lab_status(status, "a callback's stream");
	(*(std::atomic<int> *)data)++;
}

static void test_callbacks()
{
	std::atomic<int> calls(0);
	uint32_t *data = lab_device<uint32_t>(N);
	hipStream_t stream;

	lab_must(hipStreamCreate(&stream));
	for (int i = 0; i < 10; i++) {
		launch(data, i, 10, stream);
		lab_must(hipStreamAddCallback(stream, count_callback, &calls, 0));
	}
	lab_must(hipStreamSynchronize(stream));
	lab_check(calls == 10, "%d of 10 callbacks were called", calls.load());
	lab_must(hipStreamDestroy(stream));
	lab_must(hipFree(data));
}

/* False if the runtime's estimate of the device's clock was off, as on a busy host. */
static bool times_are_sensible(uint32_t *data)
{
	hipEvent_t start, end;
	float took;

	lab_must(hipEventCreate(&start));
	lab_must(hipEventCreate(&end));
	lab_must(hipEventRecord(start, 0));
	launch(data, 1, 5000, 0);
	lab_must(hipEventRecord(end, 0));
	lab_must(hipEventSynchronize(end));
	lab_must(hipEventElapsedTime(&took, start, end));
	lab_must(hipEventDestroy(start));
	lab_must(hipEventDestroy(end));
	return took > 0 && took < 10000;
}

static void test_times()
{
	uint32_t *data = lab_device<uint32_t>(N);
	int tries = 0;

	while (!times_are_sensible(data))
		lab_check(++tries < 10, "no work takes a time above 0 and below 10 s");
	lab_must(hipFree(data));
}

static void test_priorities()
{
	int least, greatest;
	hipStream_t low, high;
	uint32_t *data = lab_device<uint32_t>(2 * N);
	std::vector<uint32_t> back(2 * N);

	lab_must(hipDeviceGetStreamPriorityRange(&least, &greatest));
	lab_must(hipStreamCreateWithPriority(&low, hipStreamNonBlocking, least));
	lab_must(hipStreamCreateWithPriority(&high, hipStreamNonBlocking, greatest));
	lab_must(hipMemset(data, 0, 2 * N * 4));
	lab_must(hipDeviceSynchronize());
	for (int i = 0; i < 10; i++) {
		launch(data, 3, 40, low);
		launch(data + N, 4, 40, high);
	}
	lab_must(hipStreamSynchronize(high));
	lab_must(hipStreamSynchronize(low));
	lab_must(hipMemcpy(back.data(), data, 2 * N * 4, hipMemcpyDeviceToHost));
	check_all(back.data(), stepped(0, 3, 400), "the low stream");
	check_all(back.data() + N, stepped(0, 4, 400), "the high stream");
	lab_must(hipStreamDestroy(low));
	lab_must(hipStreamDestroy(high));
	lab_must(hipFree(data));
}

static const lab_test tests[] = {
	{ "streams", test_streams },
	{ "events-between-streams", test_events_between_streams },
	{ "callbacks", test_callbacks },
	{ "times", test_times },
	{ "priorities", test_priorities },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	return lab_main(tests, argc, argv);
}
