// SPDX-License-Identifier: MIT
// Finds the driver's queues of HIP streams, and holds one of them with the ioctls of the kernel series.
// Without gpreempt run, the call says so.
#include <cerrno>
#include <fcntl.h>
#include <set>
#include <sys/ioctl.h>
#include <thread>

#include <gpreempt/kfd.h>
#include <gpreempt/uapi/gpreempt_kfd.h>

#include "hip_lab.h"

enum { STREAMS = 6 };

__global__ void add(uint32_t *data, uint32_t n)
{
	atomicAdd(data, n);
}

static int interrupt_queue(uint32_t queue_id)
{
	int fd = open("/dev/kfd", O_RDWR);
	struct gp_kfd_preempt_queue args = {};

	args.queue_id = queue_id;
	args.preempt_type = GP_KFD_PREEMPT_SAVE;
	args.timeout_ms = 1000;
	int result = ioctl(fd, GP_KFD_PREEMPT_QUEUE, &args);
	close(fd);
	return result;
}

static int restore_queue(uint32_t queue_id)
{
	int fd = open("/dev/kfd", O_RDWR);
	struct gp_kfd_resume_queue args = {};

	args.queue_id = queue_id;
	int result = ioctl(fd, GP_KFD_RESUME_QUEUE, &args);
	close(fd);
	return result;
}

static struct gp_kfd_runtime_queue queue_of(hipStream_t stream)
{
	struct gp_kfd_runtime_queue q = GP_KFD_RUNTIME_QUEUE_INIT;
	struct gp_error error;
	int result = gp_kfd_queue_of_stream(stream, &q, &error);

	lab_check(!result, "queue of a stream: %d, %s", result, error.message);
	return q;
}

static bool has(const struct gp_kfd_runtime_queue *q, hipStream_t stream)
{
	for (uint32_t i = 0; i < q->nr_sharers; i++)
		if (q->sharers[i] == (void *)stream)
			return true;
	return false;
}

/* Two streams that share a queue name each other, and only they do. */
static void check_sharers(hipStream_t *stream)
{
	struct gp_kfd_runtime_queue q[STREAMS];
	std::set<uint32_t> ids;

	for (int s = 0; s < STREAMS; s++)
		queue_of(stream[s]);
	for (int s = 0; s < STREAMS; s++) {
		q[s] = queue_of(stream[s]);
		ids.insert(q[s].queue_id);
	}
	lab_check(ids.size() > 1 && ids.size() < STREAMS, "%zu queues for %d streams", ids.size(),
		  STREAMS);
	for (int a = 0; a < STREAMS; a++)
		for (int b = 0; b < STREAMS; b++)
			lab_check(has(&q[a], stream[b]) ==
					  (a != b && q[a].queue_id == q[b].queue_id),
				  "streams %d and %d", a, b);
	printf("%d streams on %zu queues\n", STREAMS, ids.size());
}

/* A stream that does not share the queue of the first. */
static hipStream_t other_than(hipStream_t *stream)
{
	uint32_t first = queue_of(stream[0]).queue_id;

	for (int s = 1; s < STREAMS; s++)
		if (queue_of(stream[s]).queue_id != first)
			return stream[s];
	lab_fail("all streams share a queue");
}

static uint32_t value_of(uint32_t *data, hipStream_t stream)
{
	uint32_t value;

	lab_must(hipMemcpyAsync(&value, data, 4, hipMemcpyDeviceToHost, stream));
	lab_must(hipStreamSynchronize(stream));
	return value;
}

/* Work of a held queue does not run, and can be asked for; that of another does. */
static void check_hold(hipStream_t held, hipStream_t other, uint32_t *data)
{
	uint32_t id = queue_of(held).queue_id;

	lab_check(!interrupt_queue(id), "cannot hold queue %u: %s", id, strerror(errno));
	add<<<1, 1, 0, held>>>(data, 1000);
	for (uint32_t i = 1; i <= 10; i++) {
		add<<<1, 1, 0, other>>>(data, 1);
		lab_must(hipStreamSynchronize(other));
		lab_check(value_of(data, other) == i, "the held queue runs");
	}
	lab_check(queue_of(held).queue_id == id, "a held stream has another queue");
	lab_check(!restore_queue(id), "cannot release queue %u: %s", id, strerror(errno));
	lab_must(hipStreamSynchronize(held));
	lab_check(value_of(data, other) == 1010, "the released queue did not run");
	puts("held and released");
}

static void check_refusals(hipStream_t *stream)
{
	struct gp_kfd_runtime_queue q = GP_KFD_RUNTIME_QUEUE_INIT;
	hipStream_t gone = stream[STREAMS - 1];
	struct gp_error error;
	hipGraph_t graph;

	lab_must(hipStreamBeginCapture(stream[0], hipStreamCaptureModeRelaxed));
	lab_check(gp_kfd_queue_of_stream(stream[0], &q, &error) == -EBUSY, "captured: %s",
		  error.message);
	lab_must(hipStreamEndCapture(stream[0], &graph));
	lab_must(hipStreamDestroy(gone));
	lab_check(gp_kfd_queue_of_stream(gone, &q, &error) == -EINVAL, "destroyed: %s",
		  error.message);
	printf("%s\n", error.message);
	lab_must(hipGetLastError());
	for (int s = 0; s < STREAMS - 1; s++) {
		q = queue_of(stream[s]);
		lab_check(!has(&q, gone), "a destroyed stream shares a queue");
	}
	lab_check(gp_kfd_queue_of_hsa(stream, &q, &error) == -ENOENT, "no queue: %s",
		  error.message);
}

int main()
{
	struct gp_kfd_runtime_queue q = GP_KFD_RUNTIME_QUEUE_INIT;
	uint32_t *data = lab_device<uint32_t>(1), first = 0;
	hipStream_t stream[STREAMS];
	struct gp_error error;

	if (!getenv("GPREEMPT_PRIORITY")) {
		int result = gp_kfd_queue_of_stream(NULL, &q, &error);

		printf("%d: %s\n", result, error.message);
		return result != -ENOTCONN;
	}
	lab_must(hipMemset(data, 0, 4));
	for (int s = 0; s < STREAMS; s++)
		lab_must(hipStreamCreateWithFlags(&stream[s], hipStreamNonBlocking));
	check_sharers(stream);
	/* Of the default stream, and from a thread that has launched nothing. */
	std::thread([&] { first = queue_of(NULL).queue_id; }).join();
	lab_check(queue_of(NULL).queue_id == first, "the default stream has two queues");
	check_hold(stream[0], other_than(stream), data);
	check_refusals(stream);
	puts("done");
	return 0;
}
