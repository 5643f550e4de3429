/* SPDX-License-Identifier: MIT */
/*
 * Kernels to test the engine with. Their arithmetic is exact or explicit (fma), so that the results
 * on the host must have the same bits; tests/emu/test_gfx9_kernels.c computes them.
 */
#include "common.h"

__kernel void vector_add(__global const u32 *a, __global const u32 *b, __global u32 *c, u32 n)
{
	u32 i = global_id();

	if (i < n)
		c[i] = a[i] + b[i];
}

__kernel void saxpy(__global const float *x, __global const float *y, __global float *out, float a, u32 n)
{
	u32 i = global_id();

	if (i < n)
		out[i] = __builtin_fmaf(a, x[i], y[i]);
}

/* Sums of 256 through LDS, then an atomic for each workgroup. */
__kernel void reduction(__global const u32 *in, __global u32 *sum, u32 n)
{
	__local u32 part[256];
	u32 i = global_id(), l = local_id();

	part[l] = i < n ? in[i] : 0;
	barrier_local();
	for (u32 step = 128; step; step >>= 1) {
		if (l < step)
			part[l] += part[l + step];
		barrier_local();
	}
	if (!l)
		__atomic_fetch_add(sum, part[0], __ATOMIC_RELAXED);
}

/* Tiles of 16 x 16; c = a b, all n x n. */
__kernel void sgemm(__global const float *a, __global const float *b, __global float *c, u32 n)
{
	__local float ta[16][16], tb[16][16];
	u32 l = local_id(), x = l % 16, y = l / 16, tiles = n / 16;
	u32 row = group_id() / tiles * 16 + y, col = group_id() % tiles * 16 + x;
	float sum = 0;

	for (u32 t = 0; t < tiles; t++) {
		ta[y][x] = a[row * n + t * 16 + x];
		tb[y][x] = b[(t * 16 + y) * n + col];
		barrier_local();
		for (u32 k = 0; k < 16; k++)
			sum = __builtin_fmaf(ta[y][k], tb[k][x], sum);
		barrier_local();
	}
	c[row * n + col] = sum;
}

__kernel void histogram(__global const uchar *in, __global u32 *bins, u32 n)
{
	__local u32 count[256];
	u32 l = local_id();

	count[l] = 0;
	barrier_local();
	for (u32 i = global_id(); i < n; i += 1024)
		__atomic_fetch_add(&count[in[i]], 1, __ATOMIC_RELAXED);
	barrier_local();
	__atomic_fetch_add(&bins[l], count[l], __ATOMIC_RELAXED);
}

/*
 * A step of forces in f64, without a square root: the sum of differences weighted by 1 / (r^2 + 1).
 */
__kernel void nbody(__global const double *pos, __global double *force, u32 n)
{
	u32 i = global_id();
	double f = 0, p;

	if (i >= n)
		return;
	p = pos[i];
	for (u32 j = 0; j < n; j++) {
		double d = pos[j] - p;

		f = __builtin_fma(d, 1.0 / __builtin_fma(d, d, 1.0), f);
	}
	force[i] = f;
}

__kernel void transpose(__global const u32 *in, __global u32 *out, u32 n)
{
	__local u32 tile[16][17];
	u32 l = local_id(), x = l % 16, y = l / 16, tiles = n / 16;
	u32 gx = group_id() % tiles * 16, gy = group_id() / tiles * 16;

	tile[y][x] = in[(gy + y) * n + gx + x];
	barrier_local();
	out[(gx + y) * n + gy + x] = tile[x][y];
}

__kernel void lcg(__global u64 *state, u32 rounds)
{
	u32 i = global_id();
	u64 s = state[i];

	for (u32 r = 0; r < rounds; r++)
		s = s * 6364136223846793005ul + 1442695040888963407ul;
	state[i] = s;
}

/* 512 keys by one workgroup of 256. */
__kernel void bitonic_sort(__global u32 *keys)
{
	__local u32 k[512];
	u32 l = local_id();

	k[l] = keys[group_id() * 512 + l];
	k[l + 256] = keys[group_id() * 512 + l + 256];
	for (u32 size = 2; size <= 512; size <<= 1) {
		for (u32 step = size >> 1; step; step >>= 1) {
			u32 i = 2 * l - (l & (step - 1)), j = i + step;
			int up = !(i & size);

			barrier_local();
			if ((k[i] > k[j]) == up) {
				u32 t = k[i];

				k[i] = k[j];
				k[j] = t;
			}
		}
	}
	barrier_local();
	keys[group_id() * 512 + l] = k[l];
	keys[group_id() * 512 + l + 256] = k[l + 256];
}

/* Inclusive sums within each workgroup of 256. */
__kernel void scan(__global u32 *v)
{
	__local u32 s[256];
	u32 l = local_id(), i = global_id();

	s[l] = v[i];
	for (u32 step = 1; step < 256; step <<= 1) {
		u32 add;

		barrier_local();
		add = l >= step ? s[l - step] : 0;
		barrier_local();
		s[l] += add;
	}
	v[i] = s[l];
}

/* Seven points, edges copied; n x n x n. */
__kernel void stencil(__global const float *in, __global float *out, u32 n)
{
	u32 i = global_id(), x = i % n, y = i / n % n, z = i / n / n;
	float v;

	if (z >= n)
		return;
	v = in[i];
	if (x && y && z && x + 1 < n && y + 1 < n && z + 1 < n) {
		v = __builtin_fmaf(v, -6.0f, in[i - 1] + in[i + 1]);
		v += in[i - n] + in[i + n];
		v += in[i - n * n] + in[i + n * n];
	}
	out[i] = v;
}

__kernel void mandelbrot(__global u32 *out, u32 width, u32 limit)
{
	u32 i = global_id(), n = 0;
	float cx = (float)(i % width) * 0.01f - 2.0f, cy = (float)(i / width) * 0.01f - 1.0f;
	float x = 0, y = 0;

	while (n < limit && x * x + y * y < 4.0f) {
		float t = x * x - y * y + cx;

		y = 2.0f * x * y + cy;
		x = t;
		n++;
	}
	out[i] = n;
}

static inline u32 ror(u32 x, u32 n)
{
	return x >> n | x << (32 - n);
}

__constant const u32 sha_k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

/* The hash of one padded block for each work-item. */
__kernel void sha256(__global const u32 *blocks, __global u32 *digests)
{
	u32 i = global_id(), w[64], h[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
	u32 s[8];

	for (u32 t = 0; t < 16; t++)
		w[t] = blocks[i * 16 + t];
	for (u32 t = 16; t < 64; t++)
		w[t] = w[t - 16] + (ror(w[t - 15], 7) ^ ror(w[t - 15], 18) ^ w[t - 15] >> 3) + w[t - 7] +
		       (ror(w[t - 2], 17) ^ ror(w[t - 2], 19) ^ w[t - 2] >> 10);
	for (u32 t = 0; t < 8; t++)
		s[t] = h[t];
	for (u32 t = 0; t < 64; t++) {
		u32 t1 = s[7] + (ror(s[4], 6) ^ ror(s[4], 11) ^ ror(s[4], 25)) +
			 ((s[4] & s[5]) ^ (~s[4] & s[6])) + sha_k[t] + w[t];
		u32 t2 = (ror(s[0], 2) ^ ror(s[0], 13) ^ ror(s[0], 22)) +
			 ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));

		for (u32 k = 7; k; k--)
			s[k] = s[k - 1];
		s[4] += t1;
		s[0] = t1 + t2;
	}
	for (u32 t = 0; t < 8; t++)
		digests[i * 8 + t] = h[t] + s[t];
}

/* Calls that cannot be inlined, with arrays whose index is known only at run time: scratch. */
__attribute__((noinline)) static u32 pick(u32 *a, u32 i)
{
	return a[i & 15] + i;
}

__attribute__((noinline)) static u32 mix(u32 *a, u32 x, u32 depth)
{
	for (u32 i = 0; i < 16; i++)
		a[i] = a[i] * 5 + pick(a, x + i);
	return depth ? a[x & 15] ^ pick(a, depth) : x;
}

__kernel void calls(__global u32 *out, u32 rounds)
{
	u32 i = global_id(), a[16], x = i;

	for (u32 k = 0; k < 16; k++)
		a[k] = i + k;
	for (u32 r = 0; r < rounds; r++)
		x = mix(a, x, r) + r;
	out[i] = x + a[x & 15];
}

/*
 * Placement and scheduling of waves
 */
typedef volatile __global u32 *counter;

/* HW_ID and XCC_ID of each workgroup. */
__kernel void where(__global u32 *out)
{
	u32 xcc = 0;

#ifdef __gfx942__
	xcc = __builtin_amdgcn_s_getreg(20 | 31 << 11);
#endif
	if (!local_id()) {
		out[group_id() * 2] = __builtin_amdgcn_s_getreg(4 | 31 << 11);
		out[group_id() * 2 + 1] = xcc;
	}
}

static inline u32 load(counter c)
{
	return __atomic_load_n(c, __ATOMIC_RELAXED);
}

static inline u32 add(counter c)
{
	return __atomic_fetch_add(c, 1, __ATOMIC_RELAXED);
}

/*
 * Each workgroup reports its arrival, waits until the gate is open, and records in which order it
 * left.
 */
__kernel void gate(counter arrived, counter open, counter left, __global u32 *turn)
{
	if (local_id())
		return;
	add(arrived);
	while (!load(open))
		__builtin_amdgcn_s_sleep(1);
	turn[group_id()] = add(left);
}

/* The same, where each workgroup shows progress while it waits. */
__kernel void beating_gate(counter arrived, counter open, counter left, counter beat)
{
	if (local_id())
		return;
	add(arrived);
	while (!load(open)) {
		add(&beat[group_id()]);
		__builtin_amdgcn_s_sleep(1);
	}
	add(left);
}

/* Sets the counter of a resource of global wave sync. */
__kernel void gws_init(u32 value)
{
	__builtin_amdgcn_ds_gws_init(value, 0);
}

/* In every round, each workgroup reads behind the barrier what another one wrote before it. */
__kernel void gws_rounds(counter state, counter bad, u32 groups, u32 rounds)
{
	u32 me = group_id();

	for (u32 round = 1; round <= rounds; round++) {
		if (!local_id())
			state[me] = round;
		__builtin_amdgcn_s_barrier();
		if (!local_id())
			__builtin_amdgcn_ds_gws_barrier(groups - 1, 0);
		__builtin_amdgcn_s_barrier();
		if (!local_id() && load(&state[(me + round) % groups]) < round)
			add(bad);
	}
}

/*
 * The first workgroup takes from a semaphore what the others give, the second one takes three at
 * once.
 */
__kernel void gws_semaphore(counter taken, u32 nr)
{
	if (local_id())
		return;
	if (!group_id()) {
		for (u32 i = 0; i < nr; i++) {
			__builtin_amdgcn_ds_gws_sema_p(1);
			add(taken);
		}
	} else if (group_id() == 1) {
		__builtin_amdgcn_ds_gws_sema_br(3, 1);
	} else {
		__builtin_amdgcn_ds_gws_sema_v(1);
	}
}

/* Every workgroup but the last waits until that one releases all waiting ones. */
__kernel void gws_release_all(counter arrived, counter open)
{
	if (local_id())
		return;
	if (group_id()) {
		add(arrived);
		__builtin_amdgcn_ds_gws_sema_p(2);
		return;
	}
	while (!load(open))
		__builtin_amdgcn_s_sleep(1);
	__builtin_amdgcn_ds_gws_sema_release_all(2);
}

/* A gate with all the registers and LDS of a compute unit, if the workgroup has 256 work-items. */
__kernel __attribute__((amdgpu_flat_work_group_size(256, 256), amdgpu_waves_per_eu(1, 1)))
void wide_gate(counter arrived, counter open, counter left, __global u32 *turn)
{
	__local u32 lds[16384];

	for (u32 i = local_id(); i < 16384; i += 256)
		lds[i] = i;
	__asm volatile("v_mov_b32 v255, 0\n v_accvgpr_write_b32 a255, 0" ::: "v255", "a255");
	barrier_local();
	if (!local_id())
		add(arrived);
	while (!load(open))
		__builtin_amdgcn_s_sleep(1);
	turn[group_id()] = lds[add(left)];
}

/* Opens a gate. */
__kernel void knock(counter open)
{
	if (!local_id())
		add(open);
}

/* A single access of one lane to memory, by different instructions. */
__kernel void touch(__global u32 *p, u32 how)
{
	u32 x = 1;

	if (local_id())
		return;
	switch (how) {
	case 0:
		__asm__ volatile("global_load_dword %0, %1, off\n s_waitcnt vmcnt(0)" : "=v"(x) : "v"(p));
		break;
	case 1:
		__asm__ volatile("global_store_dwordx2 %0, %1, off offset:-4" : : "v"(p), "v"((ulong)x << 32));
		break;
	case 2:
		__asm__ volatile("flat_store_dword %0, %1" : : "v"(p), "v"(x));
		break;
	default: {
		uint4 buffer = { (u32)(ulong)p, (u32)((ulong)p >> 32), 4, 0x00027000 };

		__asm__ volatile("buffer_store_dword %0, off, %1, 0" : : "v"(x), "s"(buffer));
		break;
	}
	}
}

static inline u32 scramble(u32 x)
{
	return x * 1664525 + 1013904223;
}

/* Work that the compiler cannot leave out, uniform in a wave: scalar instructions. */
static inline void toil(u32 rounds)
{
	u32 x = rounds;

	for (u32 i = 0; i < rounds; i++) {
		x = scramble(x);
		__asm volatile("" : "+s"(x));
	}
}

/* Signs a log: signing twice, or out of order, is visible there. */
__kernel void sign(counter next, __global u32 *book, u32 id, u32 rounds)
{
	toil(rounds);
	if (!local_id())
		book[add(next)] = id;
}

/* Fills its slot in a table, 64 words, and checks the one before. Idempotent. */
__kernel void fill(__global u32 *table, counter wrong, u32 id, u32 rounds)
{
	u32 l = local_id();

	toil(rounds);
	if (id && table[(id - 1) * 64 + l] != scramble(id - 1 + l))
		add(wrong);
	table[id * 64 + l] = scramble(id + l);
}

/* The duration of some work by the device's clock. */
__kernel void stopwatch(__global u64 *out, u32 rounds)
{
	u64 start = __builtin_amdgcn_s_memtime();
	u32 x = global_id();

	for (u32 i = 0; i < rounds; i++)
		x = x * 1664525 + 1013904223;
	out[global_id()] = x ? __builtin_amdgcn_s_memtime() - start : 0;
}

/*
 * Products of 32 x K and K x 32 by one wave, with the matrix instructions. A is stored by rows, B by columns.
 */
typedef float f32x16 __attribute__((ext_vector_type(16)));
typedef half f16x4 __attribute__((ext_vector_type(4)));
typedef short s16x4 __attribute__((ext_vector_type(4)));

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

static inline void store_tile(__global float *c, f32x16 acc)
{
	u32 l = local_id();

	for (u32 r = 0; r < 16; r++)
		c[(r / 4 * 8 + l / 32 * 4 + r % 4) * 32 + l % 32] = acc[r];
}

__kernel void matmul_f32(__global const float *a, __global const float *b, __global float *c, u32 k)
{
	u32 l = local_id(), i = l % 32;
	f32x16 acc = 0;

	for (u32 t = l / 32; t < k; t += 2)
		acc = __builtin_amdgcn_mfma_f32_32x32x2f32(a[i * k + t], b[i * k + t], acc, 0, 0, 0);
	store_tile(c, acc);
}

__kernel void matmul_f16(__global const f16x4 *a, __global const f16x4 *b, __global float *c, u32 k)
{
	u32 l = local_id(), i = l % 32;
	f32x16 acc = 0;

	for (u32 t = l / 32; t < k / 4; t += 2)
		acc = __builtin_amdgcn_mfma_f32_32x32x8f16(a[i * (k / 4) + t], b[i * (k / 4) + t], acc, 0, 0, 0);
	store_tile(c, acc);
}

__kernel void matmul_bf16(__global const s16x4 *a, __global const s16x4 *b, __global float *c, u32 k)
{
	u32 l = local_id(), i = l % 32;
	f32x16 acc = 0;

	for (u32 t = l / 32; t < k / 4; t += 2)
		acc = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(a[i * (k / 4) + t], b[i * (k / 4) + t], acc, 0, 0, 0);
	store_tile(c, acc);
}
