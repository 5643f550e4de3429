// SPDX-License-Identifier: MIT
#include "cases.h"

#include <math.h>
#include <stdlib.h>

#define N 5000 /* not a multiple of anything */

static uint32_t draw(uint64_t *rng)
{
	*rng = *rng * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*rng >> 33);
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

static uint32_t compare(const uint32_t *got, const uint32_t *expected, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (got[i] != expected[i])
			return i;
	}
	return CASE_RIGHT;
}

/* @T is what the kernel takes; @before is behind that. */
#define PREPARE(name, ...)                                                         \
	static void name##_prepare(struct machine *m, void *args)                  \
	{                                                                          \
		*(struct name##_args *)args = (struct name##_args){ __VA_ARGS__ }; \
	}

struct vector_add_args {
	uint64_t a, b, c;
	uint32_t n;
};
PREPARE(vector_add, fill(m, N, 1), fill(m, N, 2), machine_alloc(m, N * 4), N)

static uint32_t vector_add_check(struct machine *m, const void *args)
{
	const struct vector_add_args *p = args;
	const uint32_t *a = machine_at(m, p->a), *b = machine_at(m, p->b), *c = machine_at(m, p->c);

	for (uint32_t i = 0; i < N; i++) {
		if (c[i] != a[i] + b[i])
			return i;
	}
	return CASE_RIGHT;
}

struct saxpy_args {
	uint64_t x, y, out;
	float a;
	uint32_t n;
};
PREPARE(saxpy, fill_floats(m, N, 1), fill_floats(m, N, 2), machine_alloc(m, N * 4), 1.7f, N)

static uint32_t saxpy_check(struct machine *m, const void *args)
{
	const struct saxpy_args *p = args;
	const float *x = machine_at(m, p->x), *y = machine_at(m, p->y),
		    *out = machine_at(m, p->out);

	for (uint32_t i = 0; i < N; i++) {
		if (out[i] != fmaf(p->a, x[i], y[i]))
			return i;
	}
	return CASE_RIGHT;
}

struct reduction_args {
	uint64_t in, sum;
	uint32_t n;
};
PREPARE(reduction, fill(m, N, 3), machine_alloc(m, 4), N)

static uint32_t reduction_check(struct machine *m, const void *args)
{
	const struct reduction_args *p = args;
	const uint32_t *in = machine_at(m, p->in);
	uint32_t sum = 0;

	for (uint32_t i = 0; i < N; i++)
		sum += in[i];
	return compare(machine_at(m, p->sum), &sum, 1);
}

#define SGEMM_SIDE 64
struct sgemm_args {
	uint64_t a, b, c;
	uint32_t n;
};
PREPARE(sgemm, fill_floats(m, SGEMM_SIDE *SGEMM_SIDE, 1), fill_floats(m, SGEMM_SIDE *SGEMM_SIDE, 2),
	machine_alloc(m, SGEMM_SIDE *SGEMM_SIDE * 4), SGEMM_SIDE)

static uint32_t sgemm_check(struct machine *m, const void *args)
{
	const struct sgemm_args *p = args;
	const float *a = machine_at(m, p->a), *b = machine_at(m, p->b), *c = machine_at(m, p->c);

	for (uint32_t i = 0; i < SGEMM_SIDE * SGEMM_SIDE; i++) {
		uint32_t y = i / SGEMM_SIDE, x = i % SGEMM_SIDE;
		float sum = 0;

		for (uint32_t k = 0; k < SGEMM_SIDE; k++)
			sum = fmaf(a[y * SGEMM_SIDE + k], b[k * SGEMM_SIDE + x], sum);
		if (c[i] != sum)
			return i;
	}
	return CASE_RIGHT;
}

struct histogram_args {
	uint64_t in, bins;
	uint32_t n;
};
PREPARE(histogram, fill(m, N, 4), machine_alloc(m, 1024), N * 4)

static uint32_t histogram_check(struct machine *m, const void *args)
{
	const struct histogram_args *p = args;
	const uint8_t *in = machine_at(m, p->in);
	uint32_t expected[256] = { 0 };

	for (uint32_t i = 0; i < N * 4; i++)
		expected[in[i]]++;
	return compare(machine_at(m, p->bins), expected, 256);
}

#define BODIES 300
struct nbody_args {
	uint64_t pos, force;
	uint32_t n;
};

static void nbody_prepare(struct machine *m, void *args)
{
	struct nbody_args *p = args;
	uint64_t rng = 5;
	double *pos;

	*p = (struct nbody_args){ machine_alloc(m, BODIES * 8), machine_alloc(m, BODIES * 8),
				  BODIES };
	pos = machine_at(m, p->pos);
	for (uint32_t i = 0; i < BODIES; i++)
		pos[i] = (double)draw(&rng) * 0x1p-28;
}

static uint32_t nbody_check(struct machine *m, const void *args)
{
	const struct nbody_args *p = args;
	const double *pos = machine_at(m, p->pos), *force = machine_at(m, p->force);

	for (uint32_t i = 0; i < BODIES; i++) {
		double f = 0;

		for (uint32_t j = 0; j < BODIES; j++) {
			double d = pos[j] - pos[i];

			f = fma(d, 1.0 / fma(d, d, 1.0), f);
		}
		if (force[i] != f)
			return i;
	}
	return CASE_RIGHT;
}

#define TRANSPOSE_SIDE 96
#define TRANSPOSE_CELLS (TRANSPOSE_SIDE * TRANSPOSE_SIDE)
struct transpose_args {
	uint64_t in, out;
	uint32_t n;
};
PREPARE(transpose, fill(m, TRANSPOSE_CELLS, 6), machine_alloc(m, TRANSPOSE_CELLS * 4),
	TRANSPOSE_SIDE)

static uint32_t transpose_check(struct machine *m, const void *args)
{
	const struct transpose_args *p = args;
	const uint32_t *in = machine_at(m, p->in), *out = machine_at(m, p->out);

	for (uint32_t i = 0; i < TRANSPOSE_CELLS; i++) {
		if (out[i] != in[i % TRANSPOSE_SIDE * TRANSPOSE_SIDE + i / TRANSPOSE_SIDE])
			return i;
	}
	return CASE_RIGHT;
}

#define LCG_ROUNDS 100
struct lcg_args {
	uint64_t state;
	uint32_t rounds;
	uint64_t before;
};
PREPARE(lcg, fill(m, 1024, 7), LCG_ROUNDS, fill(m, 1024, 7))

static uint32_t lcg_check(struct machine *m, const void *args)
{
	const struct lcg_args *p = args;
	const uint64_t *state = machine_at(m, p->state), *before = machine_at(m, p->before);

	for (uint32_t i = 0; i < 512; i++) {
		uint64_t x = before[i];

		for (int r = 0; r < LCG_ROUNDS; r++)
			x = x * 6364136223846793005u + 1442695040888963407u;
		if (state[i] != x)
			return i;
	}
	return CASE_RIGHT;
}

static int compare_keys(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

struct bitonic_sort_args {
	uint64_t keys;
	uint64_t before;
};
PREPARE(bitonic_sort, fill(m, 2048, 8), fill(m, 2048, 8))

static uint32_t bitonic_sort_check(struct machine *m, const void *args)
{
	const struct bitonic_sort_args *p = args;
	uint32_t expected[2048];

	memcpy(expected, machine_at(m, p->before), sizeof(expected));
	for (int i = 0; i < 4; i++)
		qsort(expected + i * 512, 512, 4, compare_keys);
	return compare(machine_at(m, p->keys), expected, 2048);
}

struct scan_args {
	uint64_t v;
	uint64_t before;
};
PREPARE(scan, fill(m, 2048, 9), fill(m, 2048, 9))

static uint32_t scan_check(struct machine *m, const void *args)
{
	const struct scan_args *p = args;
	const uint32_t *before = machine_at(m, p->before);
	uint32_t expected[2048];

	for (uint32_t i = 0; i < 2048; i++)
		expected[i] = before[i] + (i % 256 ? expected[i - 1] : 0);
	return compare(machine_at(m, p->v), expected, 2048);
}

#define STENCIL_SIDE 17
#define STENCIL_CELLS (STENCIL_SIDE * STENCIL_SIDE * STENCIL_SIDE)
struct stencil_args {
	uint64_t in, out;
	uint32_t n;
};
PREPARE(stencil, fill_floats(m, STENCIL_CELLS, 10), machine_alloc(m, STENCIL_CELLS * 4),
	STENCIL_SIDE)

static uint32_t stencil_check(struct machine *m, const void *args)
{
	enum { SIDE = STENCIL_SIDE };
	const struct stencil_args *p = args;
	const float *in = machine_at(m, p->in), *out = machine_at(m, p->out);

	for (uint32_t i = 0; i < STENCIL_CELLS; i++) {
		uint32_t x = i % SIDE, y = i / SIDE % SIDE, z = i / SIDE / SIDE;
		float v = in[i];

		if (x && y && z && x + 1 < SIDE && y + 1 < SIDE && z + 1 < SIDE) {
			v = fmaf(v, -6.0f, in[i - 1] + in[i + 1]);
			v += in[i - SIDE] + in[i + SIDE];
			v += in[i - SIDE * SIDE] + in[i + SIDE * SIDE];
		}
		if (out[i] != v)
			return i;
	}
	return CASE_RIGHT;
}

#define MANDELBROT_WIDTH 256
#define MANDELBROT_CELLS (MANDELBROT_WIDTH * 8)
#define MANDELBROT_LIMIT 200
struct mandelbrot_args {
	uint64_t out;
	uint32_t width, limit;
};
PREPARE(mandelbrot, machine_alloc(m, MANDELBROT_CELLS * 4), MANDELBROT_WIDTH, MANDELBROT_LIMIT)

static uint32_t mandelbrot_check(struct machine *m, const void *args)
{
	const struct mandelbrot_args *p = args;
	const uint32_t *out = machine_at(m, p->out);

	for (uint32_t i = 0; i < MANDELBROT_CELLS; i++) {
		float cx = (float)(i % MANDELBROT_WIDTH) * 0.01f - 2.0f,
		      cy = (float)(i / MANDELBROT_WIDTH) * 0.01f - 1.0f;
		float x = 0, y = 0;
		uint32_t n = 0;

		while (n < MANDELBROT_LIMIT && x * x + y * y < 4.0f) {
			float t = x * x - y * y + cx;

			y = 2.0f * x * y + cy;
			x = t;
			n++;
		}
		if (out[i] != n)
			return i;
	}
	return CASE_RIGHT;
}

/* "abc", padded: the well-known digest. The last one is of another message. */
#define SHA_BLOCKS 128
struct sha256_args {
	uint64_t blocks, digests;
};

static void sha256_prepare(struct machine *m, void *args)
{
	struct sha256_args *p = args;
	uint32_t *blocks;

	*p = (struct sha256_args){ machine_alloc(m, SHA_BLOCKS * 64),
				   machine_alloc(m, SHA_BLOCKS * 32) };
	blocks = machine_at(m, p->blocks);
	for (int i = 0; i < SHA_BLOCKS; i++) {
		blocks[i * 16] = 0x61626380;
		blocks[i * 16 + 15] = 24;
	}
	blocks[(SHA_BLOCKS - 1) * 16] ^= 0x100;
}

static uint32_t sha256_check(struct machine *m, const void *args)
{
	static const uint32_t expected[8] = { 0xba7816bf, 0x8f01cfea, 0x414140de, 0x5dae2223,
					      0xb00361a3, 0x96177a9c, 0xb410ff61, 0xf20015ad };
	const struct sha256_args *p = args;
	const uint32_t *digests = machine_at(m, p->digests);

	for (uint32_t i = 0; i < SHA_BLOCKS; i++) {
		bool abc = !memcmp(&digests[i * 8], expected, sizeof(expected));

		if (abc != (i + 1 < SHA_BLOCKS))
			return i;
	}
	return CASE_RIGHT;
}

#define CALLS_ITEMS 1024
#define CALLS_ROUNDS 12
struct calls_args {
	uint64_t out;
	uint32_t rounds;
};
PREPARE(calls, machine_alloc(m, CALLS_ITEMS * 4), CALLS_ROUNDS)

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

static uint32_t calls_check(struct machine *m, const void *args)
{
	const struct calls_args *p = args;
	const uint32_t *out = machine_at(m, p->out);

	for (uint32_t i = 0; i < CALLS_ITEMS; i++) {
		uint32_t a[16], x = i;

		for (uint32_t k = 0; k < 16; k++)
			a[k] = i + k;
		for (uint32_t r = 0; r < CALLS_ROUNDS; r++)
			x = mix(a, x, r) + r;
		if (out[i] != x + a[x & 15])
			return i;
	}
	return CASE_RIGHT;
}

/*
 * Matrix instructions on small integers, which every type represents exactly and no sum rounds.
 */
#define MATMUL_K 24
struct matmul_args {
	uint64_t a, b, c;
	uint32_t k;
};

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

static int matmul_element(uint64_t *rng)
{
	return (int)(draw(rng) % 15) - 7;
}

static void matmul_store(struct machine *m, uint64_t va, int i, int n, uint16_t (*narrow)(int n))
{
	uint8_t *p = machine_at(m, va);

	if (narrow)
		((uint16_t *)p)[i] = narrow(n);
	else
		((float *)p)[i] = (float)n;
}

static void matmul_prepare(struct machine *m, void *args, uint16_t (*narrow)(int n))
{
	struct matmul_args *p = args;
	uint64_t rng = 11;

	*p = (struct matmul_args){ machine_alloc(m, 32 * MATMUL_K * 4),
				   machine_alloc(m, 32 * MATMUL_K * 4),
				   machine_alloc(m, 32 * 32 * 4), MATMUL_K };
	for (int i = 0; i < 32 * MATMUL_K; i++) {
		matmul_store(m, p->a, i, matmul_element(&rng), narrow);
		matmul_store(m, p->b, i, matmul_element(&rng), narrow);
	}
}

static void matmul_f32_prepare(struct machine *m, void *args)
{
	matmul_prepare(m, args, NULL);
}

static void matmul_f16_prepare(struct machine *m, void *args)
{
	matmul_prepare(m, args, half_of);
}

static void matmul_bf16_prepare(struct machine *m, void *args)
{
	matmul_prepare(m, args, bfloat_of);
}

static uint32_t matmul_check(struct machine *m, const void *args)
{
	const struct matmul_args *p = args;
	const float *c = machine_at(m, p->c);
	int a[32 * MATMUL_K], b[32 * MATMUL_K];
	uint64_t rng = 11;

	for (int i = 0; i < 32 * MATMUL_K; i++) {
		a[i] = matmul_element(&rng);
		b[i] = matmul_element(&rng);
	}
	for (int i = 0; i < 32 * 32; i++) {
		int sum = 0;

		for (int k = 0; k < MATMUL_K; k++)
			sum += a[i / 32 * MATMUL_K + k] * b[i % 32 * MATMUL_K + k];
		if (c[i] != (float)sum)
			return (uint32_t)i;
	}
	return CASE_RIGHT;
}

const struct kernel_case kernel_cases[] = {
#define CASE(name, grid, group)                                  \
	{                                                        \
#name, grid, group, name##_prepare, name##_check \
	}
	CASE(vector_add, N, 256),
	CASE(saxpy, N, 128),
	CASE(reduction, (N + 255) / 256 * 256, 256),
	CASE(sgemm, SGEMM_SIDE *SGEMM_SIDE, 256),
	CASE(histogram, 1024, 256),
	CASE(nbody, 320, 64),
	CASE(transpose, TRANSPOSE_CELLS, 256),
	CASE(lcg, 512, 64),
	CASE(bitonic_sort, 1024, 256),
	CASE(scan, 2048, 256),
	CASE(stencil, STENCIL_CELLS, 192),
	CASE(mandelbrot, MANDELBROT_CELLS, 256),
	CASE(sha256, SHA_BLOCKS, 64),
	CASE(calls, CALLS_ITEMS, 128),
	{ "matmul_f32", 64, 64, matmul_f32_prepare, matmul_check },
	{ "matmul_f16", 64, 64, matmul_f16_prepare, matmul_check },
	{ "matmul_bf16", 64, 64, matmul_bf16_prepare, matmul_check },
};
const unsigned int nr_kernel_cases = sizeof(kernel_cases) / sizeof(kernel_cases[0]);
