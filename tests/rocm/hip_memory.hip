// SPDX-License-Identifier: MIT
// Memory through HIP: fills and copies in all directions, of pageable and pinned memory, waiting or
// not, of odd sizes at odd offsets; memory of the program that is registered for the GPU.
#include <vector>

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hip_lab.h"

static const size_t sizes[] = { 1, 2, 7, 64, 100, 4095, 4096, 4099, 65536, 200003 };
enum { ROOM = 200003 + 64 };

static void check_same(const uint8_t *got, const uint8_t *want, size_t n, const char *what)
{
	for (size_t i = 0; i < n; i++)
		lab_check(got[i] == want[i], "%s: byte %zu of %zu is %#x, not %#x", what, i, n,
			  got[i], want[i]);
}

static void check_untouched(const uint8_t *room, size_t from, size_t to, const char *what)
{
	for (size_t i = 0; i < ROOM; i++)
		lab_check((i >= from && i < to) || room[i] == 0xa5,
			  "%s: wrote at %zu, beside %zu..%zu", what, i, from, to);
}

static void test_memset()
{
	uint8_t *device = lab_device<uint8_t>(ROOM);
	std::vector<uint8_t> back(ROOM);

	for (size_t n : sizes) {
		/* HIP 5.2 loops for ever if the fill ends before the next word begins. */
		size_t at = n < 8 ? 8 : n % 13;

		lab_must(hipMemset(device, 0xa5, ROOM));
		lab_must(hipMemset(device + at, 0x3c, n));
		lab_must(hipMemcpy(back.data(), device, ROOM, hipMemcpyDeviceToHost));
		for (size_t i = at; i < at + n; i++)
			lab_check(back[i] == 0x3c, "memset of %zu: byte %zu is %#x", n, i, back[i]);
		check_untouched(back.data(), at, at + n, "memset");
	}
	lab_must(hipMemsetD32((hipDeviceptr_t)device, 0x12345678, 1001));
	lab_must(hipMemcpy(back.data(), device, 4004, hipMemcpyDeviceToHost));
	for (int i = 0; i < 1001; i++)
		lab_check(((uint32_t *)back.data())[i] == 0x12345678, "memset of words: word %d",
			  i);
	lab_must(hipFree(device));
}

/* Copies to the GPU, on the GPU, and back, by way of @how. */
static void go_round(uint8_t *host, uint8_t *back, bool async, const char *what)
{
	uint8_t *one = lab_device<uint8_t>(ROOM), *two = lab_device<uint8_t>(ROOM);
	hipStream_t stream;

	lab_must(hipStreamCreate(&stream));
	for (size_t n : sizes) {
		size_t at = n % 7, there = n % 11;

		lab_draw(host, ROOM, n);
		memset(back, 0xa5, ROOM);
		if (async) {
			lab_must(hipMemcpyAsync(one + there, host + at, n, hipMemcpyHostToDevice,
						stream));
			lab_must(hipMemcpyAsync(two + at, one + there, n, hipMemcpyDeviceToDevice,
						stream));
			lab_must(hipMemcpyAsync(back + there, two + at, n, hipMemcpyDeviceToHost,
						stream));
			lab_must(hipStreamSynchronize(stream));
		} else {
			lab_must(hipMemcpy(one + there, host + at, n, hipMemcpyHostToDevice));
			lab_must(hipMemcpy(two + at, one + there, n, hipMemcpyDeviceToDevice));
			lab_must(hipMemcpy(back + there, two + at, n, hipMemcpyDefault));
		}
		check_same(back + there, host + at, n, what);
		check_untouched(back, there, there + n, what);
	}
	lab_must(hipStreamDestroy(stream));
	lab_must(hipFree(one));
	lab_must(hipFree(two));
}

static void test_pageable()
{
	std::vector<uint8_t> host(ROOM), back(ROOM);

	go_round(host.data(), back.data(), false, "pageable");
	go_round(host.data(), back.data(), true, "pageable, not waited for");
}

static void test_pinned()
{
	uint8_t *host, *back;

	lab_must(hipHostMalloc((void **)&host, ROOM, hipHostMallocDefault));
	lab_must(hipHostMalloc((void **)&back, ROOM, hipHostMallocNonCoherent));
	go_round(host, back, false, "pinned");
	go_round(host, back, true, "pinned, not waited for");
	lab_must(hipHostFree(host));
	lab_must(hipHostFree(back));
}

static void test_host_to_host()
{
	std::vector<uint8_t> a(ROOM), b(ROOM, 0xa5);

	lab_draw(a.data(), ROOM, 1);
	lab_must(hipMemcpy(b.data() + 3, a.data(), 1001, hipMemcpyHostToHost));
	check_same(b.data() + 3, a.data(), 1001, "host to host");
	check_untouched(b.data(), 3, 1004, "host to host");
}

static void test_rectangles()
{
	const size_t width = 37, height = 19, pitch = 53;
	std::vector<uint8_t> host(pitch * height), back(width * height);
	uint8_t *device;
	size_t device_pitch;

	lab_draw(host.data(), host.size(), 8);
	lab_must(hipMallocPitch((void **)&device, &device_pitch, width, height));
	lab_must(hipMemcpy2D(device, device_pitch, host.data(), pitch, width, height,
			     hipMemcpyHostToDevice));
	lab_must(hipMemcpy2D(back.data(), width, device, device_pitch, width, height,
			     hipMemcpyDeviceToHost));
	for (size_t y = 0; y < height; y++)
		check_same(&back[y * width], &host[y * pitch], width, "a rectangle");
	lab_must(hipFree(device));
}

__global__ void invert(uint8_t *bytes, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		bytes[i] ^= 0xff;
}

/* Memory of the program, used directly by a kernel. */
static void test_registered()
{
	for (size_t n : { (size_t)100, (size_t)4096, (size_t)50001 }) {
		uint8_t *bytes = (uint8_t *)malloc(n + 64), *mine = bytes + 24, *device;
		std::vector<uint8_t> want(n);

		lab_draw(bytes, n + 64, n);
		for (size_t i = 0; i < n; i++)
			want[i] = mine[i] ^ 0xff;
		lab_must(hipHostRegister(mine, n, hipHostRegisterDefault));
		lab_must(hipHostGetDevicePointer((void **)&device, mine, 0));
		invert<<<(n + 255) / 256, 256>>>(device, n);
		lab_must(hipDeviceSynchronize());
		check_same(mine, want.data(), n, "registered");
		lab_must(hipHostUnregister(mine));
		check_same(mine, want.data(), n, "no longer registered");
		free(bytes);
	}
}

/* Shared memory that cannot be sealed, a file, and a private mapping of a file. */
static void test_registered_files()
{
	const size_t n = 3 * 4096;

	for (int kind = 0; kind < 3; kind++) {
		char name[] = "/tmp/hip_memory-XXXXXX";
		int fd = kind ? mkstemp(name) : memfd_create("hip_memory", 0);
		uint8_t *mine, *device;
		std::vector<uint8_t> want(n), in_file(n);

		lab_check(fd >= 0, "no file");
		if (kind)
			unlink(name);
		lab_draw(want.data(), n, kind);
		lab_check(write(fd, want.data(), n) == (ssize_t)n, "no room in a file");
		mine = (uint8_t *)mmap(NULL, n, PROT_READ | PROT_WRITE,
				       kind == 2 ? MAP_PRIVATE : MAP_SHARED, fd, 0);
		lab_check(mine != MAP_FAILED, "a file cannot be mapped");
		lab_must(hipHostRegister(mine, n, hipHostRegisterDefault));
		lab_must(hipHostGetDevicePointer((void **)&device, mine, 0));
		invert<<<(n + 255) / 256, 256>>>(device, n);
		lab_must(hipDeviceSynchronize());
		lab_check(pread(fd, in_file.data(), n, 0) == (ssize_t)n, "a file is too short");
		if (kind == 2)
			check_same(in_file.data(), want.data(), n, "the file of a private mapping");
		for (size_t i = 0; i < n; i++)
			want[i] ^= 0xff;
		check_same(mine, want.data(), n, "registered of a file");
		if (kind != 2)
			check_same(in_file.data(), want.data(), n, "the file");
		lab_must(hipHostUnregister(mine));
		check_same(mine, want.data(), n, "no longer registered");
		munmap(mine, n);
		close(fd);
	}
}

/* Pinned memory that the host and a kernel write in turn. */
static void test_mapped()
{
	const int n = 10000;
	uint8_t *host, *device;

	lab_must(hipHostMalloc((void **)&host, n, hipHostMallocMapped | hipHostMallocCoherent));
	lab_must(hipHostGetDevicePointer((void **)&device, host, 0));
	for (int round = 0; round < 20; round++) {
		memset(host, round, n);
		invert<<<(n + 255) / 256, 256>>>(device, n);
		lab_must(hipDeviceSynchronize());
		for (int i = 0; i < n; i++)
			lab_check(host[i] == (round ^ 0xff), "round %d: byte %d is %#x", round, i,
				  host[i]);
	}
	lab_must(hipHostFree(host));
}

static void test_info()
{
	size_t before, during, after, total;
	hipPointerAttribute_t attributes;
	void *memory;

	lab_must(hipMemGetInfo(&before, &total));
	lab_must(hipMalloc(&memory, 64 << 20));
	lab_must(hipMemGetInfo(&during, &total));
	lab_must(hipPointerGetAttributes(&attributes, memory));
#if HIP_VERSION_MAJOR >= 6
	hipMemoryType type = attributes.type;
#else
	hipMemoryType type = attributes.memoryType;
#endif
	lab_check(type == hipMemoryTypeDevice, "memory of the GPU is of type %d", type);
	lab_check(before - during >= 64 << 20 && before <= total,
		  "of %zu bytes, %zu were free and then %zu", total, before, during);
	lab_must(hipFree(memory));
	lab_must(hipMemGetInfo(&after, &total));
	lab_check(after >= during, "less is free after memory was freed");
}

static const lab_test tests[] = {
	{ "memset", test_memset },
	{ "pageable", test_pageable },
	{ "pinned", test_pinned },
	{ "host-to-host", test_host_to_host },
	{ "rectangles", test_rectangles },
	{ "registered", test_registered },
	{ "registered-files", test_registered_files },
	{ "mapped", test_mapped },
	{ "info", test_info },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	return lab_main(tests, argc, argv);
}
