// SPDX-License-Identifier: MIT
/*
 * Has queues of the HSA runtime and of OpenCL at once, as a program that uses HIP and OpenCL does.
 * It uses both, prints "ready", and ends when it reads a line.
 */
#include "cl_lab.h"

#include <hsa/hsa.h>
#include <stdio.h>

#define PACKETS 64

static const char source[] = "__kernel void one(__global uint *cell)\n{\n	*cell = 1;\n}\n";

static hsa_status_t take_gpu(hsa_agent_t agent, void *data)
{
	hsa_device_type_t type;

	if (hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type) || type != HSA_DEVICE_TYPE_GPU)
		return HSA_STATUS_SUCCESS;
	*(hsa_agent_t *)data = agent;
	return HSA_STATUS_INFO_BREAK;
}

/* Submits a packet that does nothing, and waits for it. */
static void use_hsa(hsa_queue_t *queue)
{
	const uint16_t header = HSA_PACKET_TYPE_BARRIER_AND | 1 << HSA_PACKET_HEADER_BARRIER |
				2 << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
				2 << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
	uint64_t at = hsa_queue_add_write_index_relaxed(queue, 1);
	hsa_barrier_and_packet_t *packet =
		(hsa_barrier_and_packet_t *)queue->base_address + at % queue->size;
	hsa_signal_t done;

	lab_check(!hsa_signal_create(1, 0, NULL, &done), "no signal");
	packet->completion_signal = done;
	__atomic_store_n(&packet->header, header, __ATOMIC_RELEASE);
	hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)at);
	hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
				  HSA_WAIT_STATE_BLOCKED);
	hsa_signal_destroy(done);
}

static void use_opencl(const struct lab *lab, cl_command_queue queue)
{
	cl_kernel kernel = lab_kernel(lab, "one");
	uint32_t cell = 0;
	size_t n = 1;
	cl_int err;
	cl_mem memory = clCreateBuffer(lab->context, CL_MEM_READ_WRITE, sizeof(cell), NULL, &err);

	lab_must(err);
	lab_must(clSetKernelArg(kernel, 0, sizeof(memory), &memory));
	lab_must(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &n, NULL, 0, NULL, NULL));
	lab_must(
		clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, sizeof(cell), &cell, 0, NULL, NULL));
	lab_check(cell == 1, "the kernel wrote %u", cell);
	lab_must(clReleaseMemObject(memory));
	lab_must(clReleaseKernel(kernel));
}

int main(void)
{
	hsa_agent_t gpu = { 0 };
	cl_command_queue commands;
	hsa_queue_t *queue;
	struct lab lab;

	lab_open(&lab, source);
	commands = lab_queue(&lab, 0);
	lab_check(!hsa_init(), "no HSA runtime");
	hsa_iterate_agents(take_gpu, &gpu);
	lab_check(gpu.handle, "no GPU");
	lab_check(!hsa_queue_create(gpu, PACKETS, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX,
				    UINT32_MAX, &queue),
		  "no queue");
	use_hsa(queue);
	use_opencl(&lab, commands);
	puts("ready");
	fflush(stdout);
	getchar();
	use_hsa(queue);
	use_opencl(&lab, commands);
	lab_must(clReleaseCommandQueue(commands));
	lab_close(&lab);
	lab_check(!hsa_queue_destroy(queue) && !hsa_shut_down(), "the HSA runtime does not end");
	puts("done");
	return 0;
}
