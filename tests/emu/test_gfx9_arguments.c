// SPDX-License-Identifier: MIT
/*
 * Grids of one to three dimensions whose size is not a multiple of the workgroup's, and the hidden
 * arguments that the runtime adds: laid out here as in each version of the code object. The code
 * object is named by argument; the target and the version are in its name.
 */
#include "../unit/test.h"

#include "emu/gfx9/machine.h"

#include <stdio.h>
#include <string.h>

#define MEMORY ((uint64_t)64 << 20)
#define HIDDEN 32 /* behind the kernel's own arguments, which take 28 bytes */
#define UNTOUCHED 0xa5a5a5a5u

static const char *path;
static enum gfx9_target target;
static int version;

/* As in ids.cl. */
struct place {
	uint32_t at[3], item[3], group[3], size[3], groups[3];
	uint32_t dims, sum;
};

struct launch {
	uint32_t grid[3];
	uint16_t group[3];
	uint64_t offset[3];
};

struct arguments {
	uint64_t out, pitch, plane;
	uint32_t first;
	uint8_t pad[4];
	uint8_t hidden[256];
};
_Static_assert(offsetof(struct arguments, hidden) == HIDDEN, "aligned to 8");

static int setup(void **state)
{
	*state = machine_new(target, MEMORY, path);
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	machine_free(*state);
	return 0;
}

static uint16_t dims_of(const struct launch *l)
{
	return l->grid[2] > 1 ? 3 : l->grid[1] > 1 ? 2 : 1;
}

/* Version 5: whole workgroups, their size, the remainder, then the offset, the dimensions. */
static void hide_v5(uint8_t *p, const struct launch *l)
{
	uint16_t dims = dims_of(l);

	for (int i = 0; i < 3; i++) {
		uint32_t whole = l->grid[i] / l->group[i];
		uint16_t rest = (uint16_t)(l->grid[i] % l->group[i]);

		memcpy(p + 4 * i, &whole, 4);
		memcpy(p + 12 + 2 * i, &l->group[i], 2);
		memcpy(p + 18 + 2 * i, &rest, 2);
		memcpy(p + 40 + 8 * i, &l->offset[i], 8);
	}
	memcpy(p + 64, &dims, 2);
}

/* Versions 3 and 4: the offset comes first. */
static void hide_v4(uint8_t *p, const struct launch *l)
{
	memcpy(p, l->offset, sizeof(l->offset));
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static void expect(const struct launch *l, const struct place *p, const uint32_t at[3])
{
	uint32_t all = 1;

	for (int i = 0; i < 3; i++) {
		uint32_t group = at[i] / l->group[i];
		uint32_t size = least(l->grid[i] - group * l->group[i], l->group[i]);

		assert_int_equal(p->at[i], at[i] + (uint32_t)l->offset[i]);
		assert_int_equal(p->item[i], at[i] % l->group[i]);
		assert_int_equal(p->group[i], group);
		assert_int_equal(p->size[i], size);
		assert_int_equal(p->groups[i], (l->grid[i] + l->group[i] - 1) / l->group[i]);
		all *= size;
	}
	assert_int_equal(p->dims, dims_of(l));
	assert_int_equal(p->sum, all);
}

static void check(struct machine *m, const struct launch *l)
{
	uint64_t n = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
	struct arguments args = { .out = machine_alloc(m, (n + 2) * sizeof(struct place)),
				  .pitch = l->grid[0],
				  .plane = (uint64_t)l->grid[0] * l->grid[1],
				  .first = 1 };
	struct place *out = machine_at(m, args.out);
	struct gfx9_report r = { 0 };

	/* Poison, so that reads beyond the arguments show. */
	memset(args.hidden, 0xee, sizeof(args.hidden));
	if (version >= 5)
		hide_v5(args.hidden, l);
	else
		hide_v4(args.hidden, l);
	memset(out, UNTOUCHED & 0xff, (n + 2) * sizeof(*out));
	assert_int_equal(machine_run3(m, "ids", l->grid, l->group, &args, sizeof(args), &r), 0);
	for (uint32_t z = 0; z < l->grid[2]; z++)
		for (uint32_t y = 0; y < l->grid[1]; y++)
			for (uint32_t x = 0; x < l->grid[0]; x++)
				expect(l, &out[1 + x + args.pitch * y + args.plane * z],
				       (const uint32_t[]){ x, y, z });
	assert_int_equal(out[0].dims, UNTOUCHED);
	assert_int_equal(out[n + 1].at[0], UNTOUCHED);
}

static void test_grids(void **state)
{
	static const struct launch launches[] = {
		{ { 1, 1, 1 }, { 1, 1, 1 }, { 0, 0, 0 } },
		{ { 1000, 1, 1 }, { 256, 1, 1 }, { 7, 0, 0 } },
		{ { 63, 1, 1 }, { 64, 1, 1 }, { 0, 0, 0 } },
		{ { 65, 1, 1 }, { 1024, 1, 1 }, { 0, 0, 0 } },
		{ { 17, 5, 1 }, { 8, 4, 1 }, { 100, 200, 0 } },
		{ { 3, 70, 1 }, { 1, 64, 1 }, { 0, 1, 0 } },
		{ { 5, 4, 3 }, { 4, 4, 2 }, { 1, 2, 3 } },
		{ { 13, 11, 7 }, { 5, 3, 2 }, { 1000, 2000, 0xfffffff0 } },
		{ { 9, 9, 9 }, { 8, 8, 8 }, { 0, 0, 0 } },
		{ { 1, 1, 130 }, { 1, 1, 64 }, { 0, 0, 5 } },
		{ { 2, 3, 4 }, { 16, 8, 8 }, { 0, 0, 0 } },
	};

	for (size_t i = 0; i < sizeof(launches) / sizeof(launches[0]); i++)
		check(*state, &launches[i]);
}

/* The same while every workgroup is preempted repeatedly. */
static void test_preempted(void **state)
{
	static const struct launch l = { { 29, 13, 5 }, { 8, 8, 2 }, { 3, 2, 1 } };
	struct machine *m = *state;

	m->preempt = 3;
	check(m, &l);
	m->preempt = 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_grids, setup, teardown),
		cmocka_unit_test_setup_teardown(test_preempted, setup, teardown),
	};
	const char *v;

	if (argc != 2) {
		fprintf(stderr, "usage: %s CODE-OBJECT\n", argv[0]);
		return 2;
	}
	path = argv[1];
	target = strstr(path, "gfx90a") ? GFX9_TARGET_GFX90A : GFX9_TARGET_GFX942;
	v = strstr(path, "-v");
	version = v ? v[2] - '0' : 5;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
