// SPDX-License-Identifier: MIT
// Cooperative groups: grid.sync() between the rounds of a computation whose every value depends on
// what other workgroups wrote in the round before. An argument says how many rounds.
#include "hip_lab.h"

#include <hip/hip_cooperative_groups.h>

#include <vector>

#define BLOCKS 8
#define THREADS 128
#define ITEMS (BLOCKS * THREADS)

static unsigned int nr_rounds = 50;

// Two arrays in turn: one is read while the other is written.
static __device__ __host__ uint32_t mix(uint32_t own, uint32_t other, uint32_t round)
{
	return own * 1664525u + (other ^ round) + 1013904223u;
}

__global__ void mix_rounds(uint32_t *a, uint32_t *b, unsigned int rounds)
{
	cooperative_groups::grid_group grid = cooperative_groups::this_grid();
	unsigned int me = blockIdx.x * blockDim.x + threadIdx.x, nr = gridDim.x * blockDim.x;

	for (unsigned int round = 0; round < rounds; round++) {
		uint32_t *from = round % 2 ? b : a, *to = round % 2 ? a : b;

		to[me] = mix(from[me], from[(me + THREADS * (1 + round % 7)) % nr], round);
		grid.sync();
	}
}

static std::vector<uint32_t> expected(unsigned int rounds)
{
	std::vector<uint32_t> a(ITEMS), b(ITEMS);

	lab_draw(a.data(), ITEMS * sizeof(uint32_t), 7);
	for (unsigned int round = 0; round < rounds; round++) {
		for (unsigned int i = 0; i < ITEMS; i++)
			b[i] = mix(a[i], a[(i + THREADS * (1 + round % 7)) % ITEMS], round);
		a.swap(b);
	}
	return a;
}

static void launch(unsigned int rounds)
{
	std::vector<uint32_t> values(ITEMS), wanted = expected(rounds);
	uint32_t *a = lab_device<uint32_t>(ITEMS), *b = lab_device<uint32_t>(ITEMS);
	void *args[] = { &a, &b, &rounds };

	lab_draw(values.data(), ITEMS * sizeof(uint32_t), 7);
	lab_must(hipMemcpy(a, values.data(), ITEMS * sizeof(uint32_t), hipMemcpyHostToDevice));
	lab_must(hipLaunchCooperativeKernel((const void *)mix_rounds, dim3(BLOCKS), dim3(THREADS), args,
					    0, 0));
	lab_must(hipDeviceSynchronize());
	lab_must(hipMemcpy(values.data(), rounds % 2 ? b : a, ITEMS * sizeof(uint32_t),
			   hipMemcpyDeviceToHost));
	lab_check(values == wanted, "wrong values after %u rounds", rounds);
	lab_must(hipFree(a));
	lab_must(hipFree(b));
}

static void all_blocks_meet()
{
	int supported = 0;

	lab_must(hipDeviceGetAttribute(&supported, hipDeviceAttributeCooperativeLaunch, 0));
	lab_check(supported, "the device has no cooperative launch");
	launch(nr_rounds);
}

// The barrier's counter is set anew for each launch.
static void launches_follow_each_other()
{
	for (unsigned int i = 1; i <= 5; i++)
		launch(i);
}

int main(int argc, char **argv)
{
	static const lab_test tests[] = {
		{ "all_blocks_meet", all_blocks_meet },
		{ "launches_follow_each_other", launches_follow_each_other },
		{ NULL, NULL },
	};

	if (argc == 2)
		nr_rounds = (unsigned int)atoi(argv[1]);
	return lab_main(tests, 1, argv);
}
