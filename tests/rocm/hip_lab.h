/* SPDX-License-Identifier: MIT */
/*
 * Common code of the HIP test programs; as in hsa_lab.h, a failure ends the program with a
 * sentence.
 */
#ifndef GP__TESTS_HIP_LAB_H
#define GP__TESTS_HIP_LAB_H

#include <hip/hip_runtime.h>

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

[[noreturn]] __attribute__((format(printf, 1, 2))) static inline void lab_fail(const char *fmt, ...)
{
	va_list args;

	fflush(stdout);
	fputs("FAILED: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	_exit(1);
}

#define lab_check(ok, ...)                     \
	do {                                   \
		if (!(ok))                     \
			lab_fail(__VA_ARGS__); \
	} while (0)

static inline void lab_status(hipError_t status, const char *call)
{
	if (status != hipSuccess)
		lab_fail("%s: %s", call, hipGetErrorString(status));
}
#define lab_must(call) lab_status(call, #call)

static inline uint32_t lab_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static inline void lab_draw(void *bytes, size_t nr, uint64_t seed)
{
	for (size_t i = 0; i < nr; i++)
		((uint8_t *)bytes)[i] = lab_random(&seed);
}

template <typename T> static T *lab_device(size_t nr)
{
	void *memory;

	lab_must(hipMalloc(&memory, nr * sizeof(T)));
	return (T *)memory;
}

/* Prints why a test cannot run here; the test returns after it. */
static const char *lab_skipped;

static inline void lab_skip(const char *reason)
{
	lab_skipped = reason;
}

struct lab_test {
	const char *name;
	void (*run)();
};

/*
 * Runs all of them, or those named on the command line, or lists them; returns the result of
 * main().
 */
static inline int lab_main(const lab_test *tests, int argc, char **argv)
{
	hipDeviceProp_t properties;
	int nr = 0, devices = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 2 && !strcmp(argv[1], "--list")) {
		for (const lab_test *t = tests; t->name; t++)
			puts(t->name);
		return 0;
	}
	lab_must(hipGetDeviceCount(&devices));
	lab_must(hipGetDeviceProperties(&properties, 0));
	for (const lab_test *t = tests; t->name; t++) {
		bool wanted = argc < 2;

		for (int i = 1; i < argc; i++)
			wanted |= !strcmp(argv[i], t->name);
		if (!wanted)
			continue;
		printf("%s ...\n", t->name);
		lab_skipped = NULL;
		t->run();
		lab_must(hipDeviceSynchronize());
		nr++;
		if (lab_skipped)
			printf("%s: skipped (%s)\n", t->name, lab_skipped);
		else
			printf("%s: ok\n", t->name);
	}
	lab_check(nr, "no test has that name");
	printf("all %d tests passed on %s\n", nr, properties.gcnArchName);
	return 0;
}

#endif
