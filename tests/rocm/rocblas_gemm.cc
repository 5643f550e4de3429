// SPDX-License-Identifier: MIT
// Products of 16-bit matrices by rocBLAS: f16 and bf16, with sums in f32, of several sizes and in
// all transpositions. Each element is compared with the host's, within the rounding of the sums and
// of the result. scripts/rocm-suite builds it.
#include <cmath>
#include <vector>

#include <rocblas/rocblas.h>

#include "hip_lab.h"

#define ALPHA 1.5f
#define BETA 0.5f
#define POISON 0xffff /* a NaN in both formats */

struct format {
	const char *name;
	rocblas_datatype type;
	int fraction_bits, bias;
};

static const format f16 = { "f16", rocblas_datatype_f16_r, 10, 15 };
static const format bf16 = { "bf16", rocblas_datatype_bf16_r, 7, 127 };

struct size {
	int m, n, k;
};

/* In part too odd for whole tiles and wide loads. */
static const size sizes[] = {
	{ 16, 16, 16 }, { 33, 17, 65 }, { 64, 128, 32 }, { 100, 1, 256 }, { 127, 96, 201 },
};

/*
 * Numbers
 */

static double decode(const format *f, uint16_t bits)
{
	int exponent = (bits & 0x7fff) >> f->fraction_bits;
	int fraction = bits & ((1 << f->fraction_bits) - 1);
	double value =
		exponent ? ldexp((1 << f->fraction_bits) + fraction, exponent - 1) : fraction;

	if (exponent == 2 * f->bias + 1)
		return NAN;
	value = ldexp(value, 1 - f->bias - f->fraction_bits);
	return bits & 0x8000 ? -value : value;
}

/* From 1/8 to 2, with either sign. */
static uint16_t draw(const format *f, uint64_t *seed)
{
	uint32_t random = lab_random(seed), exponent = f->bias - 3 + (random & 3);
	uint32_t fraction = random >> 8 & ((1 << f->fraction_bits) - 1);

	return (random & 4 ? 0x8000 : 0) | exponent << f->fraction_bits | fraction;
}

/*
 * Matrices, column by column as rocBLAS has them, with unused elements below each column
 */

struct matrix {
	const format *f;
	int rows, columns, stride;
	std::vector<uint16_t> host;
	uint16_t *device;

	matrix(const format *format, int r, int c, uint64_t seed)
	    : f(format), rows(r), columns(c), stride(r + r % 4), host((size_t)stride * c, POISON),
	      device(lab_device<uint16_t>(host.size()))
	{
		for (int i = 0; seed && i < rows * columns; i++)
			host[i / rows * stride + i % rows] = draw(f, &seed);
		lab_must(hipMemcpy(device, host.data(), bytes(), hipMemcpyHostToDevice));
	}

	~matrix()
	{
		lab_must(hipFree(device));
	}

	size_t bytes() const
	{
		return host.size() * sizeof(uint16_t);
	}

	double at(int row, int column) const
	{
		return decode(f, host[(size_t)column * stride + row]);
	}
};

static void check_element(const matrix &a, bool ta, const matrix &b, bool tb, const matrix &c,
			  const matrix &d, int row, int column)
{
	int nr = ta ? a.rows : a.columns;
	double sum = 0, total = 0, want, error;

	for (int i = 0; i < nr; i++) {
		double product = (ta ? a.at(i, row) : a.at(row, i)) *
				 (tb ? b.at(column, i) : b.at(i, column));

		sum += product;
		total += fabs(product);
	}
	want = ALPHA * sum + BETA * c.at(row, column);
	error = fabs(d.at(row, column) - want);
	lab_check(error <= ldexp(fabs(want), -d.f->fraction_bits - 1) + nr * ldexp(total, -23),
		  "%s%s, k = %d: element %d, %d of %d x %d is %.9g, not %.9g", ta ? "t" : "n",
		  tb ? "t" : "n", nr, row, column, d.rows, d.columns, d.at(row, column), want);
}

static void check(const matrix &a, bool ta, const matrix &b, bool tb, const matrix &c,
		  const matrix &d)
{
	for (int column = 0; column < d.columns; column++) {
		for (int row = 0; row < d.rows; row++)
			check_element(a, ta, b, tb, c, d, row, column);
		for (int row = d.rows; row < d.stride; row++)
			lab_check(d.host[(size_t)column * d.stride + row] == POISON,
				  "an element below column %d was written", column);
	}
}

static void multiply(rocblas_handle handle, const format *f, size s, bool ta, bool tb)
{
	matrix a(f, ta ? s.k : s.m, ta ? s.m : s.k, 1), b(f, tb ? s.n : s.k, tb ? s.k : s.n, 2);
	matrix c(f, s.m, s.n, 3), d(f, s.m, s.n, 0);
	const float alpha = ALPHA, beta = BETA;
	rocblas_status status;

	status =
		rocblas_gemm_ex(handle, ta ? rocblas_operation_transpose : rocblas_operation_none,
				tb ? rocblas_operation_transpose : rocblas_operation_none, s.m, s.n,
				s.k, &alpha, a.device, f->type, a.stride, b.device, f->type,
				b.stride, &beta, c.device, f->type, c.stride, d.device, f->type,
				d.stride, rocblas_datatype_f32_r, rocblas_gemm_algo_standard, 0, 0);
	lab_check(status == rocblas_status_success, "rocblas_gemm_ex of %s: %s", f->name,
		  rocblas_status_to_string(status));
	lab_must(hipMemcpy(d.host.data(), d.device, d.bytes(), hipMemcpyDeviceToHost));
	check(a, ta, b, tb, c, d);
}

template <const format *f, bool ta, bool tb> static void test()
{
	rocblas_handle handle;

	lab_check(rocblas_create_handle(&handle) == rocblas_status_success, "no handle of rocBLAS");
	for (const size &s : sizes)
		multiply(handle, f, s, ta, tb);
	lab_check(rocblas_destroy_handle(handle) == rocblas_status_success,
		  "the handle of rocBLAS is not accepted");
}

static const lab_test tests[] = {
	{ "f16-nn", test<&f16, false, false> },
	{ "f16-nt", test<&f16, false, true> },
	{ "f16-tn", test<&f16, true, false> },
	{ "f16-tt", test<&f16, true, true> },
	{ "bf16-nn", test<&bf16, false, false> },
	{ "bf16-nt", test<&bf16, false, true> },
	{ "bf16-tn", test<&bf16, true, false> },
	{ "bf16-tt", test<&bf16, true, true> },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	return lab_main(tests, argc, argv);
}
