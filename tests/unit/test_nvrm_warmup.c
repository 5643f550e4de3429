// SPDX-License-Identifier: MIT
/* A CUDA context is loaded just before work that was announced for it, and at no other time. */
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "device/nvrm/warmup.h"

#define MS 1000000u

/* CUDA's driver API, as far as it is used. */
static struct {
	void *current; /* of the threads of the program */
	atomic_ullong id; /* of the context that is current */
	atomic_bool is_gone; /* the context was destroyed */
	atomic_bool refuses; /* to load */
	atomic_int nr_loads, nr_streams, nr_begun, nr_launches, nr_wrong, capture_mode;
	_Atomic uint64_t launched_at;
	_Atomic(const char *) lacks; /* a function */
	uint64_t launch_takes_ns;
} cuda;

static _Thread_local void *thread_context;

static int get_current(void **context)
{
	*context = cuda.current;
	return 0;
}

static int set_current(void *context)
{
	thread_context = context;
	return cuda.is_gone ? 709 : 0;
}

static int get_id(void *context, unsigned long long *id)
{
	(void)context;
	*id = cuda.id;
	return 0;
}

static int exchange_mode(int *mode)
{
	cuda.capture_mode = *mode;
	return 0;
}

static int load_module(void **module, const void *image)
{
	*module = (void *)image;
	cuda.nr_loads++;
	return cuda.refuses || !strstr(image, ".visible .entry gpreempt_warmup()");
}

static int get_function(void **function, void *module, const char *name)
{
	*function = module;
	return strcmp(name, "gpreempt_warmup");
}

/* A stream is its context's: here it is called as that. */
static int create_stream(void **stream, unsigned int flags)
{
	*stream = (void *)(uintptr_t)cuda.id;
	cuda.nr_streams++;
	return flags != 1;
}

static void sleep_ns(uint64_t ns)
{
	struct timespec t = { .tv_sec = (time_t)(ns / 1000000000u),
			      .tv_nsec = (long)(ns % 1000000000u) };

	nanosleep(&t, NULL);
}

static int launch(void *function, unsigned int gx, unsigned int gy, unsigned int gz,
		  unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
		  void *stream, void **args, void **extra)
{
	cuda.nr_begun++;
	cuda.launched_at = gp__clock_ns();
	sleep_ns(cuda.launch_takes_ns);
	cuda.nr_wrong += !function || gx * gy * gz * bx * by * bz != 1 || shared || args || extra ||
			 stream != (void *)(uintptr_t)cuda.id || thread_context != cuda.current;
	cuda.nr_launches++;
	return 0;
}

static void *find(const char *name)
{
	static const struct {
		const char *name;
		void *function;
	} functions[] = {
		{ "cuCtxGetCurrent", (void *)get_current },
		{ "cuCtxSetCurrent", (void *)set_current },
		{ "cuCtxGetId", (void *)get_id },
		{ "cuThreadExchangeStreamCaptureMode", (void *)exchange_mode },
		{ "cuModuleLoadData", (void *)load_module },
		{ "cuModuleGetFunction", (void *)get_function },
		{ "cuStreamCreate", (void *)create_stream },
		{ "cuLaunchKernel", (void *)launch },
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		if (!strcmp(functions[i].name, name) && (!cuda.lacks || strcmp(cuda.lacks, name)))
			return functions[i].function;
	}
	return NULL;
}

static int setup(void **state)
{
	static int context;

	memset(&cuda, 0, sizeof(cuda));
	cuda.current = &context;
	cuda.id = 1;
	return gp__warmup_create(find, (struct gp__warmup **)state);
}

static int teardown(void **state)
{
	gp__warmup_destroy(*state);
	return cuda.nr_wrong;
}

static void wait_for_warmups(struct gp__warmup *warmup, uint64_t n)
{
	for (int i = 0; i < 20000 && gp__warmup_count(warmup) < n; i++)
		sleep_ns(MS);
	assert_int_equal(gp__warmup_count(warmup), n);
}

/*
 * Announced until it is done: a machine may be so busy that a time is missed. For which time it
 * was. Once it is called off nothing begins.
 */
static uint64_t warm_up_once(struct gp__warmup *warmup)
{
	uint64_t at = 0, n = gp__warmup_count(warmup) + 1;
	int before = cuda.nr_launches;

	for (int tries = 0; tries < 1000 && cuda.nr_launches == before; tries++) {
		at = gp__clock_ns() + 10 * MS;
		gp__warmup_at(warmup, at);
		while (gp__clock_ns() < at)
			sleep_ns(MS);
		gp__warmup_at(warmup, 0);
	}
	wait_for_warmups(warmup, n);
	return at;
}

static void it_is_done_just_before(void **state)
{
	struct gp__warmup *warmup = *state;
	uint64_t at = warm_up_once(warmup);

	assert_true(cuda.launched_at >= at - GP__WARMUP_AHEAD_NS);
	assert_int_equal(cuda.capture_mode, 2);
	assert_in_range(cuda.nr_launches, 1, GP__WARMUP_AHEAD_NS / GP__WARMUP_EVERY_NS);
}

static void what_is_called_off_is_not_done(void **state)
{
	struct gp__warmup *warmup = *state;
	int before;

	warm_up_once(warmup);
	before = cuda.nr_launches;
	gp__warmup_at(warmup, gp__clock_ns() + 3600000ull * MS);
	gp__warmup_at(warmup, 0);
	gp__warmup_at(warmup, gp__clock_ns() + 20 * MS);
	gp__warmup_at(warmup, 0);
	sleep_ns(30 * MS);
	assert_int_equal(cuda.nr_launches, before);
}

static void on_short_notice_nothing_is_done(void **state)
{
	struct gp__warmup *warmup = *state;

	gp__warmup_at(warmup, gp__clock_ns() + GP__WARMUP_NOTICE_NS / 2);
	gp__warmup_at(warmup, 1);
	sleep_ns(5 * MS);
	assert_int_equal(cuda.nr_launches, 0);
	assert_int_equal(cuda.nr_streams, 0);
}

/* After a withdrawal, nothing of the context is used. */
static void calling_off_waits_for_one_that_is_being_done(void **state)
{
	struct gp__warmup *warmup = *state;
	int tries = 0;

	cuda.launch_takes_ns = 3 * MS;
	do {
		uint64_t at = gp__clock_ns() + 5 * MS;

		gp__warmup_at(warmup, at);
		while (gp__clock_ns() < at && !cuda.launched_at)
			sleep_ns(MS / 10);
		gp__warmup_at(warmup, 0);
		/* All that have begun are over. */
		assert_int_equal(cuda.nr_launches, cuda.nr_begun);
	} while (!cuda.launched_at && ++tries < 1000);
	assert_int_equal(cuda.nr_launches, 1);
}

static void after_the_end_nothing_is_done(void **state)
{
	struct gp__warmup *warmup = *state;
	int before;

	warm_up_once(warmup);
	gp__warmup_end(warmup);
	before = cuda.nr_begun;
	gp__warmup_at(warmup, gp__clock_ns() + 5 * MS);
	sleep_ns(10 * MS);
	assert_int_equal(cuda.nr_begun, before);
}

/* For example, the driver cannot compile. */
static void what_cannot_be_loaded_is_tried_once(void **state)
{
	struct gp__warmup *warmup = *state;

	cuda.refuses = true;
	for (int i = 0; i < 5; i++) {
		gp__warmup_at(warmup, gp__clock_ns() + 5 * MS);
		sleep_ns(8 * MS);
	}
	gp__warmup_at(warmup, 0);
	assert_int_equal(cuda.nr_loads, 1);
	assert_int_equal(cuda.nr_streams, 0);
	/* Another context may be another GPU's. */
	cuda.refuses = false;
	cuda.id = 2;
	warm_up_once(warmup);
}

static void each_context_has_a_stream_of_its_own(void **state)
{
	struct gp__warmup *warmup = *state;
	static int other;

	warm_up_once(warmup);
	warm_up_once(warmup);
	assert_int_equal(cuda.nr_streams, 1);
	cuda.current = &other;
	cuda.id = 2;
	warm_up_once(warmup);
	assert_int_equal(cuda.nr_streams, 2);
}

/* Its stream went with it, and the new one is at the same address. */
static void a_context_in_the_place_of_another_is_a_new_one(void **state)
{
	struct gp__warmup *warmup = *state;

	for (int i = 1; i <= 20; i++) {
		cuda.id = (unsigned long long)i;
		warm_up_once(warmup);
		assert_int_equal(cuda.nr_streams, i);
	}
}

static void a_context_that_has_gone_is_let_be(void **state)
{
	struct gp__warmup *warmup = *state;

	warm_up_once(warmup);
	cuda.is_gone = true;
	gp__warmup_at(warmup, gp__clock_ns() + 5 * MS);
	sleep_ns(10 * MS);
	assert_int_equal(gp__warmup_count(warmup), 1);
	cuda.is_gone = false;
	warm_up_once(warmup);
}

static void without_a_context_nothing_is_done(void **state)
{
	struct gp__warmup *warmup = *state;
	void *context = cuda.current;

	cuda.current = NULL;
	gp__warmup_at(warmup, gp__clock_ns() + 2 * MS);
	sleep_ns(5 * MS);
	assert_int_equal(cuda.nr_streams, 0);
	cuda.current = context;
	warm_up_once(warmup);
}

/* A driver that does not tell contexts apart, for example. */
static void without_all_functions_nothing_is_done(void **state)
{
	struct gp__warmup *warmup = *state;

	cuda.lacks = "cuCtxGetId";
	for (int i = 0; i < 3; i++) {
		gp__warmup_at(warmup, gp__clock_ns() + 2 * MS);
		sleep_ns(5 * MS);
	}
	assert_int_equal(cuda.nr_streams, 0);
	assert_int_equal(cuda.nr_launches, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(it_is_done_just_before, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_called_off_is_not_done, setup, teardown),
		cmocka_unit_test_setup_teardown(on_short_notice_nothing_is_done, setup, teardown),
		cmocka_unit_test_setup_teardown(calling_off_waits_for_one_that_is_being_done, setup,
						teardown),
		cmocka_unit_test_setup_teardown(after_the_end_nothing_is_done, setup, teardown),
		cmocka_unit_test_setup_teardown(what_cannot_be_loaded_is_tried_once, setup,
						teardown),
		cmocka_unit_test_setup_teardown(each_context_has_a_stream_of_its_own, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_context_in_the_place_of_another_is_a_new_one,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_context_that_has_gone_is_let_be, setup, teardown),
		cmocka_unit_test_setup_teardown(without_a_context_nothing_is_done, setup, teardown),
		cmocka_unit_test_setup_teardown(without_all_functions_nothing_is_done, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
