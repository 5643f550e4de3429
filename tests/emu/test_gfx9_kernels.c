// SPDX-License-Identifier: MIT
/*
 * Kernels as clang compiles them, on the engine: the same bits as computed here. The code object is
 * named by argument; the target is in its name.
 */
#include "../unit/test.h"

#include "emu/gfx9/machine.h"

#include <errno.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define N 5000 /* not a multiple of anything */
#define MEMORY ((uint64_t)256 << 20)

static const char *path;
static enum gfx9_target target;

static uint32_t draw(uint64_t *rng)
{
	*rng = *rng * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*rng >> 33);
}

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

static uint64_t fill(struct machine *m, uint32_t n, uint64_t seed)
{
	uint64_t va = machine_alloc(m, (uint64_t)n * 4);
	uint32_t *p = machine_at(m, va);

	for (uint32_t i = 0; i < n; i++)
		p[i] = draw(&seed);
	return va;
}

static uint64_t fill_floats(struct machine *m, uint32_t n, uint64_t seed)
{
	uint64_t va = machine_alloc(m, (uint64_t)n * 4);
	float *p = machine_at(m, va);

	for (uint32_t i = 0; i < n; i++)
		p[i] = (float)(int32_t)draw(&seed) * 0x1p-24f - 32.0f;
	return va;
}

static void run(struct machine *m, const char *kernel, uint32_t grid, uint16_t group,
		const void *args, size_t size)
{
	struct gfx9_report r = { 0 };
	int err = machine_run(m, kernel, grid, group, args, size, &r);

	if (err)
		fail_msg("%s: error %d, stop %d at pc %#llx (image + %#llx), words %08x %08x, "
			 "address %#llx",
			 kernel, err, r.stop, (unsigned long long)r.pc,
			 (unsigned long long)(r.pc - m->image), r.words[0], r.words[1],
			 (unsigned long long)r.fault.address);
}

#define RUN(m, kernel, grid, group, args) run(m, kernel, grid, group, &(args), sizeof(args))

static void vector_add(void **state)
{
	struct machine *m = *state;
	struct {
		uint64_t a, b, c;
		uint32_t n;
	} args = { fill(m, N, 1), fill(m, N, 2), machine_alloc(m, N * 4), N };
	const uint32_t *a = machine_at(m, args.a), *b = machine_at(m, args.b),
		       *c = machine_at(m, args.c);

	RUN(m, "vector_add", N, 256, args);
	for (uint32_t i = 0; i < N; i++)
		assert_int_equal(c[i], a[i] + b[i]);
}

static void saxpy(void **state)
{
	struct machine *m = *state;
	struct {
		uint64_t x, y, out;
		float a;
		uint32_t n;
	} args = { fill_floats(m, N, 1), fill_floats(m, N, 2), machine_alloc(m, N * 4), 1.7f, N };
	const float *x = machine_at(m, args.x), *y = machine_at(m, args.y),
		    *out = machine_at(m, args.out);

	RUN(m, "saxpy", N, 128, args);
	for (uint32_t i = 0; i < N; i++)
		assert_true(out[i] == fmaf(1.7f, x[i], y[i]));
}

static void reduction(void **state)
{
	struct machine *m = *state;
	struct {
		uint64_t in, sum;
		uint32_t n;
	} args = { fill(m, N, 3), machine_alloc(m, 4), N };
	const uint32_t *in = machine_at(m, args.in);
	uint32_t sum = 0;

	for (uint32_t i = 0; i < N; i++)
		sum += in[i];
	RUN(m, "reduction", (N + 255) / 256 * 256, 256, args);
	assert_int_equal(*(uint32_t *)machine_at(m, args.sum), sum);
}

static void sgemm(void **state)
{
	enum { SIDE = 64 };
	struct machine *m = *state;
	struct {
		uint64_t a, b, c;
		uint32_t n;
	} args = { fill_floats(m, SIDE * SIDE, 1), fill_floats(m, SIDE * SIDE, 2),
		   machine_alloc(m, SIDE * SIDE * 4), SIDE };
	const float *a = machine_at(m, args.a), *b = machine_at(m, args.b),
		    *c = machine_at(m, args.c);

	RUN(m, "sgemm", SIDE * SIDE, 256, args);
	for (uint32_t y = 0; y < SIDE; y++) {
		for (uint32_t x = 0; x < SIDE; x++) {
			float sum = 0;

			for (uint32_t k = 0; k < SIDE; k++)
				sum = fmaf(a[y * SIDE + k], b[k * SIDE + x], sum);
			assert_true(c[y * SIDE + x] == sum);
		}
	}
}

static void histogram(void **state)
{
	struct machine *m = *state;
	struct {
		uint64_t in, bins;
		uint32_t n;
	} args = { fill(m, N, 4), machine_alloc(m, 1024), N * 4 };
	const uint8_t *in = machine_at(m, args.in);
	const uint32_t *bins = machine_at(m, args.bins);
	uint32_t expected[256] = { 0 };

	for (uint32_t i = 0; i < N * 4; i++)
		expected[in[i]]++;
	RUN(m, "histogram", 1024, 256, args);
	assert_memory_equal(bins, expected, sizeof(expected));
}

static void nbody(void **state)
{
	enum { BODIES = 300 };
	struct machine *m = *state;
	struct {
		uint64_t pos, force;
		uint32_t n;
	} args = { machine_alloc(m, BODIES * 8), machine_alloc(m, BODIES * 8), BODIES };
	double *pos = machine_at(m, args.pos), *force = machine_at(m, args.force);
	uint64_t rng = 5;

	for (uint32_t i = 0; i < BODIES; i++)
		pos[i] = (double)draw(&rng) * 0x1p-28;
	RUN(m, "nbody", 320, 64, args);
	for (uint32_t i = 0; i < BODIES; i++) {
		double f = 0;

		for (uint32_t j = 0; j < BODIES; j++) {
			double d = pos[j] - pos[i];

			f = fma(d, 1.0 / fma(d, d, 1.0), f);
		}
		assert_true(force[i] == f);
	}
}

static void transpose(void **state)
{
	enum { SIDE = 96 };
	struct machine *m = *state;
	struct {
		uint64_t in, out;
		uint32_t n;
	} args = { fill(m, SIDE * SIDE, 6), machine_alloc(m, SIDE * SIDE * 4), SIDE };
	const uint32_t *in = machine_at(m, args.in), *out = machine_at(m, args.out);

	RUN(m, "transpose", SIDE * SIDE, 256, args);
	for (uint32_t i = 0; i < SIDE * SIDE; i++)
		assert_int_equal(out[i], in[i % SIDE * SIDE + i / SIDE]);
}

static void lcg(void **state)
{
	struct machine *m = *state;
	struct {
		uint64_t state;
		uint32_t rounds;
	} args = { fill(m, 1024, 7), 100 };
	uint64_t *s = machine_at(m, args.state), expected[512];

	for (uint32_t i = 0; i < 512; i++) {
		expected[i] = s[i];
		for (int r = 0; r < 100; r++)
			expected[i] = expected[i] * 6364136223846793005u + 1442695040888963407u;
	}
	RUN(m, "lcg", 512, 64, args);
	assert_memory_equal(s, expected, sizeof(expected));
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void bitonic_sort(void **state)
{
	struct machine *m = *state;
	struct {
		uint64_t keys;
	} args = { fill(m, 2048, 8) };
	uint32_t *keys = machine_at(m, args.keys), expected[2048];

	memcpy(expected, keys, sizeof(expected));
	for (int i = 0; i < 4; i++)
		qsort(expected + i * 512, 512, 4, compare);
	RUN(m, "bitonic_sort", 1024, 256, args);
	assert_memory_equal(keys, expected, sizeof(expected));
}

static void scan(void **state)
{
	struct machine *m = *state;
	struct {
		uint64_t v;
	} args = { fill(m, 2048, 9) };
	uint32_t *v = machine_at(m, args.v), expected[2048];

	for (uint32_t i = 0; i < 2048; i++)
		expected[i] = v[i] + (i % 256 ? expected[i - 1] : 0);
	RUN(m, "scan", 2048, 256, args);
	assert_memory_equal(v, expected, sizeof(expected));
}

static void stencil(void **state)
{
	enum { SIDE = 17, CELLS = SIDE * SIDE * SIDE };
	struct machine *m = *state;
	struct {
		uint64_t in, out;
		uint32_t n;
	} args = { fill_floats(m, CELLS, 10), machine_alloc(m, CELLS * 4), SIDE };
	const float *in = machine_at(m, args.in), *out = machine_at(m, args.out);

	RUN(m, "stencil", CELLS, 192, args);
	for (uint32_t i = 0; i < CELLS; i++) {
		uint32_t x = i % SIDE, y = i / SIDE % SIDE, z = i / SIDE / SIDE;
		float v = in[i];

		if (x && y && z && x + 1 < SIDE && y + 1 < SIDE && z + 1 < SIDE) {
			v = fmaf(v, -6.0f, in[i - 1] + in[i + 1]);
			v += in[i - SIDE] + in[i + SIDE];
			v += in[i - SIDE * SIDE] + in[i + SIDE * SIDE];
		}
		assert_true(out[i] == v);
	}
}

static void mandelbrot(void **state)
{
	enum { WIDTH = 256, HEIGHT = 8, LIMIT = 200 };
	struct machine *m = *state;
	struct {
		uint64_t out;
		uint32_t width, limit;
	} args = { machine_alloc(m, WIDTH * HEIGHT * 4), WIDTH, LIMIT };
	const uint32_t *out = machine_at(m, args.out);

	RUN(m, "mandelbrot", WIDTH * HEIGHT, 256, args);
	for (uint32_t i = 0; i < WIDTH * HEIGHT; i++) {
		float cx = (float)(i % WIDTH) * 0.01f - 2.0f,
		      cy = (float)(i / WIDTH) * 0.01f - 1.0f;
		float x = 0, y = 0;
		uint32_t n = 0;

		while (n < LIMIT && x * x + y * y < 4.0f) {
			float t = x * x - y * y + cx;

			y = 2.0f * x * y + cy;
			x = t;
			n++;
		}
		assert_int_equal(out[i], n);
	}
}

/* "abc", padded: the digest everybody knows. */
static void sha256(void **state)
{
	static const uint32_t expected[8] = { 0xba7816bf, 0x8f01cfea, 0x414140de, 0x5dae2223,
					      0xb00361a3, 0x96177a9c, 0xb410ff61, 0xf20015ad };
	struct machine *m = *state;
	struct {
		uint64_t blocks, digests;
	} args = { machine_alloc(m, 128 * 64), machine_alloc(m, 128 * 32) };
	uint32_t *blocks = machine_at(m, args.blocks), *digests = machine_at(m, args.digests);

	for (int i = 0; i < 128; i++) {
		memset(&blocks[i * 16], 0, 64);
		blocks[i * 16] = 0x61626380;
		blocks[i * 16 + 15] = 24;
	}
	blocks[127 * 16] ^= 0x100;
	RUN(m, "sha256", 128, 64, args);
	for (int i = 0; i < 127; i++)
		assert_memory_equal(&digests[i * 8], expected, sizeof(expected));
	assert_true(memcmp(&digests[127 * 8], expected, sizeof(expected)));
}

static uint32_t pick(const uint32_t *a, uint32_t i)
{
	return a[i & 15] + i;
}

static uint32_t mix(uint32_t *a, uint32_t x, uint32_t depth)
{
	for (uint32_t i = 0; i < 16; i++)
		a[i] = a[i] * 5 + pick(a, x + i);
	return depth ? a[x & 15] ^ pick(a, depth) : x;
}

static void calls(void **state)
{
	struct machine *m = *state;
	struct {
		uint64_t out;
		uint32_t rounds;
	} args = { machine_alloc(m, 1024 * 4), 12 };
	const uint32_t *out = machine_at(m, args.out);

	RUN(m, "calls", 1024, 128, args);
	for (uint32_t i = 0; i < 1024; i++) {
		uint32_t a[16], x = i;

		for (uint32_t k = 0; k < 16; k++)
			a[k] = i + k;
		for (uint32_t r = 0; r < 12; r++)
			x = mix(a, x, r) + r;
		assert_int_equal(out[i], x + a[x & 15]);
	}
}

/*
 * Matrix instructions on small whole numbers, which every type holds and no sum rounds.
 */
#define MATMUL_K 24

static uint16_t half_of(int n)
{
	unsigned int magnitude = (unsigned int)abs(n), exponent;

	if (!n)
		return 0;
	exponent = 31 - (unsigned int)__builtin_clz(magnitude);
	return (uint16_t)((n < 0) << 15 | (exponent + 15) << 10 |
			  (magnitude << (10 - exponent) & 0x3ff));
}

static uint16_t bfloat_of(int n)
{
	float f = (float)n;
	uint32_t bits;

	memcpy(&bits, &f, 4);
	return (uint16_t)(bits >> 16);
}

static void matmul(struct machine *m, const char *kernel, uint16_t (*narrow)(int n))
{
	struct {
		uint64_t a, b, c;
		uint32_t k;
	} args = { machine_alloc(m, 32 * MATMUL_K * 4), machine_alloc(m, 32 * MATMUL_K * 4),
		   machine_alloc(m, 32 * 32 * 4), MATMUL_K };
	const float *c = machine_at(m, args.c);
	int a[32 * MATMUL_K], b[32 * MATMUL_K];
	uint64_t rng = 11;

	for (int i = 0; i < 32 * MATMUL_K; i++) {
		uint8_t *pa = machine_at(m, args.a), *pb = machine_at(m, args.b);

		a[i] = (int)(draw(&rng) % 15) - 7;
		b[i] = (int)(draw(&rng) % 15) - 7;
		if (narrow) {
			((uint16_t *)pa)[i] = narrow(a[i]);
			((uint16_t *)pb)[i] = narrow(b[i]);
		} else {
			((float *)pa)[i] = (float)a[i];
			((float *)pb)[i] = (float)b[i];
		}
	}
	RUN(m, kernel, 64, 64, args);
	for (int i = 0; i < 32; i++) {
		for (int j = 0; j < 32; j++) {
			int sum = 0;

			for (int k = 0; k < MATMUL_K; k++)
				sum += a[i * MATMUL_K + k] * b[j * MATMUL_K + k];
			assert_true(c[i * 32 + j] == (float)sum);
		}
	}
}

static void matmul_f32(void **state)
{
	matmul(*state, "matmul_f32", NULL);
}

static void matmul_f16(void **state)
{
	matmul(*state, "matmul_f16", half_of);
}

static void matmul_bf16(void **state)
{
	matmul(*state, "matmul_bf16", bfloat_of);
}

/* The same bits however the waves take turns: after every instruction is the hardest. */
static void slices_change_nothing(void **state)
{
	struct machine *m = *state;

	for (uint64_t slice = 1; slice < 40; slice += 6) {
		m->config.slice = slice;
		scan(state);
		reduction(state);
		calls(state);
	}
}

/* Room on the compute units comes back when a workgroup leaves. */
static void many_runs_leave_nothing_behind(void **state)
{
	struct machine *m = *state;

	for (int i = 0; i < 50; i++) {
		uint64_t mark = m->used;

		scan(state);
		m->used = mark;
	}
	assert_true(gfx9_gpu_idle(m->gpu));
}

/* Waves are taken off and put back on other compute units while every kernel runs: the same bits.
 */
static void interrupted(void **state, uint64_t slice, uint64_t every)
{
	static void (*const kernels[])(void **state) = {
		vector_add, saxpy, reduction,	 sgemm,	     histogram,	  nbody,
		transpose,  lcg,   bitonic_sort, scan,	     stencil,	  mandelbrot,
		sha256,	    calls, matmul_f32,	 matmul_f16, matmul_bf16,
	};
	struct machine *m = *state;

	m->config.slice = slice;
	m->preempt = every;
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
		kernels[i](state);
}

static void interrupted_now_and_then(void **state)
{
	struct machine *m = *state;

	interrupted(state, 97, 5);
	assert_true(m->queue.context[0].nr_waves > 100);
}

static void interrupted_often(void **state)
{
	interrupted(state, 13, 1);
}

static void a_bad_address_is_reported(void **state)
{
	struct machine *m = *state;
	struct {
		uint64_t a, b, c;
		uint32_t n;
	} args = { fill(m, N, 1), 0x1234, machine_alloc(m, N * 4), N };
	struct gfx9_report r;

	assert_int_equal(machine_run(m, "vector_add", N, 256, &args, sizeof(args), &r), -EIO);
	assert_int_equal(r.stop, GFX9_FAULT);
	assert_true(r.fault.address >= 0x1234 && r.fault.address < 0x1234 + N * 4);
	assert_false(r.fault.write);
	assert_true(r.pc > m->image && r.pc < m->image + m->file_size);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		T(vector_add),
		T(saxpy),
		T(reduction),
		T(sgemm),
		T(histogram),
		T(nbody),
		T(transpose),
		T(lcg),
		T(bitonic_sort),
		T(scan),
		T(stencil),
		T(mandelbrot),
		T(sha256),
		T(calls),
		T(slices_change_nothing),
		T(matmul_f32),
		T(matmul_f16),
		T(matmul_bf16),
		T(many_runs_leave_nothing_behind),
		T(interrupted_now_and_then),
		T(interrupted_often),
		T(a_bad_address_is_reported),
	};

	if (argc != 2) {
		fprintf(stderr, "usage: %s CODE_OBJECT\n", argv[0]);
		return 2;
	}
	path = argv[1];
	target = strstr(path, "gfx942") ? GFX9_TARGET_GFX942 : GFX9_TARGET_GFX90A;
	return cmocka_run_group_tests_name(path, tests, NULL, NULL);
}
