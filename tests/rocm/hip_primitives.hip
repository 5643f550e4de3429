// SPDX-License-Identifier: MIT
// Algorithms of rocPRIM whose workgroups hand partial results to each other while they run: scans,
// reductions and encodings by key, selections, sorts. Every result is compared with the host's.
#include <rocprim/rocprim.hpp>

#include <algorithm>
#include <vector>

#include "hip_lab.h"

static const int sizes[] = { 1, 100, 5000, 60001 };

template <typename T> static T *lab_filled(const std::vector<T> &host)
{
	T *device = lab_device<T>(host.size());

	lab_must(hipMemcpy(device, host.data(), host.size() * sizeof(T), hipMemcpyHostToDevice));
	return device;
}

template <typename T>
static void check(const T *device, const std::vector<T> &want, const char *what)
{
	std::vector<T> got(want.size());

	lab_must(hipMemcpy(got.data(), device, want.size() * sizeof(T), hipMemcpyDeviceToHost));
	for (size_t i = 0; i < want.size(); i++)
		lab_check(got[i] == want[i], "%s: item %zu of %zu is %lld, not %lld", what, i,
			  want.size(), (long long)got[i], (long long)want[i]);
}

/* Calls an algorithm twice: for the size of its temporary memory, and to run it. */
template <typename F> static void run(F algorithm)
{
	size_t bytes = 0;
	void *room;

	lab_must(algorithm(nullptr, bytes));
	lab_must(hipMalloc(&room, bytes));
	lab_must(algorithm(room, bytes));
	lab_must(hipFree(room));
}

/* Runs of equal keys, of lengths from 1 to 40. */
static std::vector<int> draw_keys(int n)
{
	std::vector<int> keys(n);
	uint64_t seed = n;
	int key = 0, left = 0;

	for (int &k : keys) {
		if (!left--) {
			key += 1 + lab_random(&seed) % 5;
			left = lab_random(&seed) % 40;
		}
		k = key;
	}
	return keys;
}

template <typename T> static std::vector<T> draw(int n, uint32_t below)
{
	std::vector<T> values(n);
	uint64_t seed = n + below;

	for (T &v : values)
		v = (T)(lab_random(&seed) % below);
	return values;
}

template <typename T> static void check_scans(const char *what)
{
	for (int n : sizes) {
		std::vector<T> in = draw<T>(n, 100), inclusive(n), exclusive(n);
		T *din = lab_filled(in), *results = lab_device<T>(n), sum = 0;

		for (int i = 0; i < n; i++) {
			exclusive[i] = sum + 7;
			sum += in[i];
			inclusive[i] = sum;
		}
		run([&](void *room, size_t &bytes) {
			return rocprim::inclusive_scan(room, bytes, din, results, n,
						       rocprim::plus<T>());
		});
		check(results, inclusive, what);
		run([&](void *room, size_t &bytes) {
			return rocprim::exclusive_scan(room, bytes, din, results, (T)7, n,
						       rocprim::plus<T>());
		});
		check(results, exclusive, what);
		lab_must(hipFree(din));
		lab_must(hipFree(results));
	}
}

static void test_scans()
{
	check_scans<int>("scan of ints");
	/* The value and its flag are 16 bytes, which the reader loads in one access. */
	check_scans<int64_t>("scan of long ints");
}

static void test_reduce_by_key()
{
	for (int n : sizes) {
		std::vector<int> keys = draw_keys(n), values = draw<int>(n, 1000), unique, sums;
		int *dkeys = lab_filled(keys), *dvalues = lab_filled(values);
		int *dunique = lab_device<int>(n), *dsums = lab_device<int>(n);
		unsigned int *dnr = lab_device<unsigned int>(1);

		for (int i = 0; i < n; i++) {
			if (!i || keys[i] != keys[i - 1]) {
				unique.push_back(keys[i]);
				sums.push_back(0);
			}
			sums.back() += values[i];
		}
		run([&](void *room, size_t &bytes) {
			return rocprim::reduce_by_key(room, bytes, dkeys, dvalues, n, dunique,
						      dsums, dnr, rocprim::plus<int>());
		});
		check(dnr, std::vector<unsigned int>{ (unsigned int)unique.size() },
		      "number of keys");
		check(dunique, unique, "keys");
		check(dsums, sums, "sums by key");
		for (void *p : { (void *)dkeys, (void *)dvalues, (void *)dunique, (void *)dsums,
				 (void *)dnr })
			lab_must(hipFree(p));
	}
}

static void test_run_length_encode()
{
	for (int n : sizes) {
		std::vector<int> keys = draw_keys(n), unique, counts;
		int *dkeys = lab_filled(keys), *dunique = lab_device<int>(n);
		int *dcounts = lab_device<int>(n), *dnr = lab_device<int>(1);

		for (int i = 0; i < n; i++) {
			if (!i || keys[i] != keys[i - 1]) {
				unique.push_back(keys[i]);
				counts.push_back(0);
			}
			counts.back()++;
		}
		run([&](void *room, size_t &bytes) {
			return rocprim::run_length_encode(room, bytes, dkeys, n, dunique, dcounts,
							  dnr);
		});
		check(dnr, std::vector<int>{ (int)unique.size() }, "number of runs");
		check(dunique, unique, "values of runs");
		check(dcounts, counts, "lengths of runs");
		for (int *p : { dkeys, dunique, dcounts, dnr })
			lab_must(hipFree(p));
	}
}

static void test_select()
{
	for (int n : sizes) {
		std::vector<int> in = draw<int>(n, 1000), want;
		int *din = lab_filled(in), *results = lab_device<int>(n), *dnr = lab_device<int>(1);

		std::copy_if(in.begin(), in.end(), std::back_inserter(want),
			     [](int v) { return v % 3 == 0; });
		run([&](void *room, size_t &bytes) {
			return rocprim::select(room, bytes, din, results, dnr, n,
					       [] __device__(int v) { return v % 3 == 0; });
		});
		check(dnr, std::vector<int>{ (int)want.size() }, "number selected");
		check(results, want, "selected");
		for (int *p : { din, results, dnr })
			lab_must(hipFree(p));
	}
}

static void test_radix_sort()
{
	for (int n : sizes) {
		std::vector<uint32_t> keys = draw<uint32_t>(n, 0x7fffffff);
		std::vector<int> index(n), sorted(n);
		uint32_t *dkeys = lab_filled(keys), *results = lab_device<uint32_t>(n);
		int *dindex, *order = lab_device<int>(n);

		for (int i = 0; i < n; i++) {
			keys[i] %= 5000; /* equal ones keep their order */
			index[i] = sorted[i] = i;
		}
		lab_must(hipMemcpy(dkeys, keys.data(), n * 4, hipMemcpyHostToDevice));
		dindex = lab_filled(index);
		std::stable_sort(sorted.begin(), sorted.end(),
				 [&](int a, int b) { return keys[a] < keys[b]; });
		run([&](void *room, size_t &bytes) {
			return rocprim::radix_sort_pairs(room, bytes, dkeys, results, dindex, order,
							 n);
		});
		check(order, sorted, "order");
		std::sort(keys.begin(), keys.end());
		check(results, keys, "sorted");
		for (void *p : { (void *)dkeys, (void *)results, (void *)dindex, (void *)order })
			lab_must(hipFree(p));
	}
}

static const lab_test tests[] = {
	{ "scans", test_scans },
	{ "reduce-by-key", test_reduce_by_key },
	{ "run-length-encode", test_run_length_encode },
	{ "select", test_select },
	{ "radix-sort", test_radix_sort },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	return lab_main(tests, argc, argv);
}
