// SPDX-License-Identifier: MIT
/*
 * Programs on different versions of NVIDIA's driver, on a fake driver that has the sizes of each:
 * those that gpreempt knows are held and weighed; a driver, a generation of GPUs or a control that
 * it does not know is left alone, with a sentence.
 */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "device/nvrm/layout.h"
#include "device/nvrm/owner.h"
#include "fake_rm.h"

enum { CHANNELS = 8, HOPPER = 0xc86f };

static struct gp__nvrm_owner *owner;
static int fd;
static uint32_t last_handle;
static struct {
	uint32_t added, removed, id;
	char cannot[256];
} seen;

static void added(void *data, const struct gp__nvrm_group_info *group)
{
	(void)data;
	seen.added++;
	seen.id = group->id;
}

static void removed(void *data, const struct gp__nvrm_group_info *group)
{
	(void)data;
	(void)group;
	seen.removed++;
}

static void cannot(void *data, const char *why)
{
	(void)data;
	assert_string_equal(seen.cannot, ""); /* once */
	snprintf(seen.cannot, sizeof(seen.cannot), "%s", why);
}

static void begin(const struct fake_rm_driver *driver)
{
	static const struct gp__nvrm_owner_events events = { .added = added,
							     .removed = removed,
							     .cannot = cannot };

	fake_rm_reset();
	fake_rm.driver = driver;
	memset(&seen, 0, sizeof(seen));
	last_handle = 0x5c000000;
	fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	assert_int_equal(gp__nvrm_owner_create(fake_rm_ioctl, &events, &owner), 0);
}

static void finish(void)
{
	gp__nvrm_owner_destroy(owner);
	close(fd);
	assert_int_equal(fake_rm.held_frees, 0);
	assert_int_equal(fake_rm.unknown, 0);
}

/* As libcuda: the parameters have the size of its driver, and it does not tell it. */
static uint32_t make(uint32_t client, uint32_t parent, uint32_t class, const void *params,
		     size_t size)
{
	uint8_t bytes[FAKE_RM_PARAMS] = { 0 };
	struct gp__nvrm_alloc48 args = { .client = client,
					 .parent = parent,
					 .object = client ? ++last_handle : 0,
					 .class = class,
					 .params = (uint64_t)(uintptr_t)bytes };

	if (params)
		memcpy(bytes, params, size);
	assert_int_equal(gp__nvrm_owner_ioctl(owner, fd, GP__NVRM_ALLOC48, &args), 0);
	assert_int_equal(args.status, 0);
	return args.object;
}

struct context {
	uint32_t client, device, group;
};

static struct context make_context(uint32_t channel_class)
{
	const struct gp__nvrm_group_params group = { .engine = GP__NVRM_ENGINE_GRAPHICS };
	const struct gp__nvrm_channel_params channel = { .entries = 1024,
							 .userd_memory = { 0x77 } };
	const struct gp__nvrm_memory_params memory = { .size = 1 << 20 };
	struct context c;

	c.client = make(0, 0, GP__NVRM_CLASS_ROOT_CLIENT, NULL, 0);
	c.device = make(c.client, c.client, GP__NVRM_CLASS_DEVICE, NULL, 0);
	make(c.client, c.device, GP__NVRM_CLASS_SUBDEVICE, NULL, 0);
	make(c.client, c.device, GP__NVRM_CLASS_MEMORY, &memory, sizeof(memory));
	c.group = make(c.client, c.device, GP__NVRM_CLASS_GROUP, &group, sizeof(group));
	for (int i = 0; i < CHANNELS; i++)
		make(c.client, c.group, channel_class, &channel, sizeof(channel));
	return c;
}

static int set(enum gp__nvrm_verb verb)
{
	int result = 1;

	gp__nvrm_owner_set(owner, verb, &seen.id, &result, 1);
	return result;
}

static uint32_t held(const struct context *c)
{
	return fake_rm_count(c->client, c->group, FAKE_RM_HELD);
}

static void test_published_versions(void **state)
{
	(void)state;
	for (const struct fake_rm_driver *d = fake_rm_drivers; d->version; d++) {
		struct gp__nvrm_driver driver = { .open = true };
		uint64_t us = 0, bytes = 0;
		struct context c;
		char why[128];

		snprintf(driver.version, sizeof(driver.version), "%s", d->version);
		assert_true(gp__nvrm_driver_known(&driver, why, sizeof(why)));
		begin(d);
		c = make_context(HOPPER);
		assert_string_equal(seen.cannot, "");
		assert_int_equal(seen.added, 1);
		assert_int_equal(set(GP__NVRM_HOLD), 0);
		assert_int_equal(held(&c), CHANNELS);
		assert_int_equal(set(GP__NVRM_RELEASE), 0);
		assert_int_equal(held(&c), 0);
		assert_int_equal(set(GP__NVRM_DRAIN), 0);
		assert_int_equal(fake_rm_count(c.client, c.group, FAKE_RM_DRAINED), CHANNELS);
		assert_int_equal(set(GP__NVRM_RELEASE), 0);
		assert_int_equal(fake_rm_count(c.client, c.group, FAKE_RM_RUNS), CHANNELS);
		assert_int_equal(gp__nvrm_owner_slice(owner, seen.id, 1), 0);
		assert_int_equal(gp__nvrm_owner_get_slice(owner, seen.id, &us), 0);
		assert_int_equal(us, 1);
		assert_true(gp__nvrm_owner_memory(owner, fake_rm.uuid, &bytes));
		assert_int_equal(bytes, FAKE_RM_PAGE);
		finish();
	}
}

static void refused(const char *version, bool open, const char *expected)
{
	struct gp__nvrm_driver driver = { .open = open };
	char why[128] = "";

	snprintf(driver.version, sizeof(driver.version), "%s", version);
	assert_false(gp__nvrm_driver_known(&driver, why, sizeof(why)));
	assert_string_equal(why, expected);
}

static void test_versions_that_are_not_known(void **state)
{
	(void)state;
	refused("525.89.02", true, "gpreempt does not know NVIDIA's driver 525.89.02");
	refused("610.43.02", true, "gpreempt does not know NVIDIA's driver 610.43.02");
	refused("600.1", true, "gpreempt does not know NVIDIA's driver 600.1");
	refused("x", true, "gpreempt does not know NVIDIA's driver x");
	refused("", true, "NVIDIA's driver does not say its version");
	refused("580.159.04", false,
		"NVIDIA's driver 580.159.04 has the proprietary kernel module, and gpreempt knows "
		"only the open one");
}

/* The driver answers, but not as we know it: the program is left alone and runs. */
static void left_alone(const struct fake_rm_driver *driver, const char *expected)
{
	struct context c;

	begin(driver);
	c = make_context(HOPPER);
	assert_int_equal(seen.added, 0);
	assert_non_null(strstr(seen.cannot, expected));
	assert_int_equal(fake_rm_count(c.client, c.group, FAKE_RM_RUNS), CHANNELS);
	assert_int_equal(fake_rm.nr_disables, 0);
	make_context(HOPPER); /* is not tested again */
	assert_int_equal(seen.added, 0);
	finish();
}

static void test_controls_that_are_not_known(void **state)
{
	static const struct fake_rm_driver disable = { .version = "x", .disable = 544 };
	static const struct fake_rm_driver slice = { .version = "x", .slice = 16 };
	static const struct fake_rm_driver gpu_id = { .version = "x", .gpu_id = 270 };
	static const struct fake_rm_driver no_slice = { .version = "x", .no_slice = true };

	(void)state;
	left_alone(&disable, "FIFO_DISABLE_CHANNELS with 536 bytes of parameters (status 0x3a)");
	left_alone(&slice, "GET_TIMESLICE with 8 bytes of parameters (status 0x3a)");
	left_alone(&gpu_id, "GPU_GET_GID_INFO with 268 bytes of parameters (status 0x3a)");
	left_alone(&no_slice, "SET_TIMESLICE with 8 bytes of parameters (status 0x56)");
}

/* The RM reads a slice of its own: what is set does not read back. */
static int forgetful_ioctl(int number, unsigned long request, void *args)
{
	const struct gp__nvrm_control *c = args;
	int result = fake_rm_ioctl(number, request, args);

	if (_IOC_NR(request) == GP__NVRM_NR_CONTROL &&
	    c->cmd == (uint32_t)GP__NVRM_CMD_GET_TIMESLICE && fake_rm.nr_slices)
		*(uint64_t *)(uintptr_t)c->params = 77;
	return result;
}

static void test_what_does_not_read_back(void **state)
{
	static const struct gp__nvrm_owner_events events = { .added = added,
							     .removed = removed,
							     .cannot = cannot };

	(void)state;
	begin(NULL);
	gp__nvrm_owner_destroy(owner);
	assert_int_equal(gp__nvrm_owner_create(forgetful_ioctl, &events, &owner), 0);
	make_context(HOPPER);
	assert_int_equal(seen.added, 0);
	assert_string_equal(seen.cannot,
			    "a time slice of 1024 us reads back as 77 from NVIDIA's driver");
	finish();
}

/* An error that says nothing of layouts does not turn the program away. */
static void test_other_errors_pass(void **state)
{
	(void)state;
	begin(NULL);
	fake_rm.enable_fails_in = 1;
	fake_rm.status = GP__NVRM_INSUFFICIENT_PERMISSIONS;
	make_context(HOPPER);
	assert_int_equal(seen.added, 1);
	assert_string_equal(seen.cannot, "");
	finish();
}

static void test_generations(void **state)
{
	static const uint32_t known[] = { 0xc46f, 0xc56f, 0xc86f, 0xc96f, 0xca6f };

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		begin(NULL);
		make_context(known[i]);
		assert_int_equal(seen.added, 1);
		finish();
	}
	begin(NULL);
	make_context(0xdb6f);
	assert_int_equal(seen.added, 0);
	assert_string_equal(seen.cannot, "this GPU is of a generation that gpreempt does not know "
					 "(its channels have the class 0xdb6f)");
	finish();
	begin(NULL);
	gp__nvrm_owner_take_any(owner);
	make_context(0xdb6f);
	assert_int_equal(seen.added, 1);
	finish();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_published_versions),
		cmocka_unit_test(test_versions_that_are_not_known),
		cmocka_unit_test(test_controls_that_are_not_known),
		cmocka_unit_test(test_what_does_not_read_back),
		cmocka_unit_test(test_other_errors_pass),
		cmocka_unit_test(test_generations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
