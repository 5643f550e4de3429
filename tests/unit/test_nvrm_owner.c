// SPDX-License-Identifier: MIT
/* Follows, holds and weighs channel groups of NVIDIA's driver, on a fake driver. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/nvrm/owner.h"
#include "fake_rm.h"
#include "host.h"

enum { COMPUTE = 8, COPY = 4, COPY_GROUPS = 3, CLASS_CHANNEL = 0xc86f, CLASS_COMPUTE = 0xcbc0 };

#define HANDLE 0x5c000000u

static struct gp__nvrm_owner *owner;
static int fd;
static uint32_t last_handle;
static struct {
	uint32_t added, removed, id, nr_channels;
	char uuid[GP__NVRM_UUID_MAX], cannot[128];
	uint32_t memory; /* how often it changed */
	uint64_t gpu_bytes;
	uint32_t device_of; /* when one is removed, another thread makes a device of this client */
} seen;

static uint32_t make(uint32_t client, uint32_t parent, uint32_t class, const void *params);

static void added(void *data, const struct gp__nvrm_group_info *group)
{
	(void)data;
	seen.added++;
	seen.id = group->id;
	seen.nr_channels = group->nr_channels;
	memcpy(seen.uuid, group->uuid, sizeof(seen.uuid));
	seen.gpu_bytes = group->gpu_bytes;
}

static void removed(void *data, const struct gp__nvrm_group_info *group)
{
	(void)data;
	seen.removed++;
	seen.id = group->id;
	if (seen.device_of)
		make(seen.device_of, seen.device_of, GP__NVRM_CLASS_DEVICE, NULL);
}

static void memory(void *data)
{
	(void)data;
	seen.memory++;
}

static void cannot(void *data, const char *why)
{
	(void)data;
	snprintf(seen.cannot, sizeof(seen.cannot), "%s", why);
}

static int setup(void **state)
{
	static const struct gp__nvrm_owner_events events = {
		.added = added, .removed = removed, .memory = memory, .cannot = cannot
	};

	(void)state;
	fake_rm_reset();
	memset(&seen, 0, sizeof(seen));
	last_handle = HANDLE;
	fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	return gp__nvrm_owner_create(fake_rm_ioctl, &events, &owner);
}

static int teardown(void **state)
{
	(void)state;
	gp__nvrm_owner_destroy(owner);
	close(fd);
	assert_int_equal(fake_rm.held_frees, 0);
	assert_int_equal(fake_rm.unknown, 0);
	return 0;
}

/*
 * The program
 */

static uint32_t make(uint32_t client, uint32_t parent, uint32_t class, const void *params)
{
	struct gp__nvrm_alloc48 args = { .client = client,
					 .parent = parent,
					 .object = client ? ++last_handle : 0,
					 .class = class,
					 .params = (uint64_t)(uintptr_t)params };

	assert_int_equal(gp__nvrm_owner_ioctl(owner, fd, GP__NVRM_ALLOC48, &args), 0);
	assert_int_equal(args.status, 0);
	return args.object;
}

static void end(uint32_t client, uint32_t handle)
{
	struct gp__nvrm_free args = { .client = client, .object = handle };

	assert_int_equal(gp__nvrm_owner_ioctl(owner, fd, GP__NVRM_FREE, &args), 0);
	assert_int_equal(args.status, 0);
}

static uint32_t make_channel(uint32_t client, uint32_t group)
{
	struct gp__nvrm_channel_params params = { .entries = 1024,
						  .userd_memory = { 0x77 },
						  .userd_offset = { 0x2000 } };

	return make(client, group, CLASS_CHANNEL, &params);
}

static uint32_t make_group(uint32_t client, uint32_t device, uint32_t engine, int channels)
{
	const struct gp__nvrm_group_params params = { .engine = engine };
	uint32_t group = make(client, device, GP__NVRM_CLASS_GROUP, &params);

	for (int i = 0; i < channels; i++)
		make_channel(client, group);
	return group;
}

struct context {
	uint32_t client, device, subdevice, group, copy[COPY_GROUPS];
	uint32_t id;
};

static uint32_t control(uint32_t client, uint32_t object, uint32_t cmd, void *params, uint32_t size)
{
	struct gp__nvrm_control args = { .client = client,
					 .object = object,
					 .cmd = cmd,
					 .params = (uint64_t)(uintptr_t)params,
					 .params_size = size,
					 .status = 0xff };

	assert_int_equal(gp__nvrm_owner_ioctl(owner, fd, GP__NVRM_CONTROL, &args), 0);
	return args.status;
}

/* As libcuda 580 makes one on an H200. */
static struct context make_context(void)
{
	struct context c;
	uint64_t slice = 2048;

	c.client = make(0, 0, GP__NVRM_CLASS_ROOT_CLIENT, NULL);
	c.device = make(c.client, c.client, GP__NVRM_CLASS_DEVICE, NULL);
	c.subdevice = make(c.client, c.device, GP__NVRM_CLASS_SUBDEVICE, NULL);
	c.group = make_group(c.client, c.device, GP__NVRM_ENGINE_GRAPHICS, COMPUTE);
	c.id = seen.id;
	for (uint32_t i = 0; i < COPY_GROUPS; i++)
		c.copy[i] = make_group(c.client, c.device, GP__NVRM_ENGINE_COPY + 2 + i, COPY);
	assert_int_equal(control(c.client, c.group, (uint32_t)GP__NVRM_CMD_SET_TIMESLICE, &slice,
				 sizeof(slice)),
			 0);
	return c;
}

static int set(enum gp__nvrm_verb verb, uint32_t id)
{
	int result = 1;

	gp__nvrm_owner_set(owner, verb, &id, &result, 1);
	return result;
}

static uint32_t count(const struct context *c, enum fake_rm_state state)
{
	return fake_rm_count(c->client, c->group, state);
}

/*
 * Tests
 */

static void test_one_context_is_one_group(void **state)
{
	struct context c = make_context();
	struct gp__nvrm_owned list[4];

	(void)state;
	assert_int_equal(seen.added, 1);
	assert_int_equal(seen.nr_channels, 1);
	assert_string_equal(seen.uuid, fake_rm.uuid);
	assert_int_equal(gp__nvrm_owner_list(owner, list, 4), 1);
	assert_int_equal(list[0].group.id, c.id);
	assert_int_equal(list[0].group.nr_channels, COMPUTE);
	assert_false(list[0].held);
}

static void test_hold_and_start(void **state)
{
	struct context c = make_context();

	(void)state;
	assert_int_equal(set(GP__NVRM_HOLD, c.id), 0);
	assert_int_equal(count(&c, FAKE_RM_HELD), COMPUTE);
	for (int i = 0; i < COPY_GROUPS; i++)
		assert_int_equal(fake_rm_count(c.client, c.copy[i], FAKE_RM_RUNS), COPY);
	assert_int_equal(set(GP__NVRM_HOLD, c.id), 0);
	assert_int_equal(fake_rm.nr_disables, 1);
	make_channel(c.client, c.group);
	assert_int_equal(count(&c, FAKE_RM_HELD), COMPUTE + 1);
	assert_int_equal(set(GP__NVRM_RELEASE, c.id), 0);
	assert_int_equal(count(&c, FAKE_RM_RUNS), COMPUTE + 1);
	assert_int_equal(set(GP__NVRM_DRAIN, c.id), 0);
	assert_int_equal(count(&c, FAKE_RM_DRAINED), COMPUTE + 1);
	assert_int_equal(set(GP__NVRM_HOLD, c.id), 0);
	assert_int_equal(count(&c, FAKE_RM_HELD), COMPUTE + 1);
	assert_int_equal(set(GP__NVRM_RELEASE, c.id), 0);
	assert_int_equal(count(&c, FAKE_RM_RUNS), COMPUTE + 1);
	assert_int_equal(set(GP__NVRM_HOLD, c.id + 1), -ENOENT);
}

/* More channels than one call takes. */
static void test_hold_in_parts(void **state)
{
	struct context c = make_context();
	uint32_t all = 2 * GP__NVRM_CHANNELS_AT_ONCE + 2;

	(void)state;
	for (uint32_t i = COMPUTE; i < all; i++)
		make_channel(c.client, c.group);
	assert_int_equal(set(GP__NVRM_HOLD, c.id), 0);
	assert_int_equal(fake_rm.nr_disables, 3);
	assert_int_equal(count(&c, FAKE_RM_HELD), all);
	assert_int_equal(set(GP__NVRM_RELEASE, c.id), 0);
	assert_int_equal(count(&c, FAKE_RM_RUNS), all);
	/* The second part fails: all of it runs. */
	fake_rm.disable_fails_in = 2;
	fake_rm.status = GP__NVRM_NOT_SUPPORTED;
	assert_int_equal(set(GP__NVRM_HOLD, c.id), -EOPNOTSUPP);
	assert_int_equal(count(&c, FAKE_RM_RUNS), all);
	fake_rm.disable_fails_in = 1;
	fake_rm.status = GP__NVRM_INSUFFICIENT_PERMISSIONS;
	assert_int_equal(set(GP__NVRM_HOLD, c.id), -EPERM);
	fake_rm.disable_fails_in = 1;
	fake_rm.status = 0;
	assert_int_equal(set(GP__NVRM_HOLD, c.id), -EIO);
	assert_int_equal(count(&c, FAKE_RM_RUNS), all);
	/* A failed release does not release. */
	assert_int_equal(set(GP__NVRM_HOLD, c.id), 0);
	fake_rm.enable_fails_in = 1;
	assert_int_equal(set(GP__NVRM_RELEASE, c.id), -EIO);
	assert_int_equal(set(GP__NVRM_RELEASE, c.id), 0);
	assert_int_equal(count(&c, FAKE_RM_RUNS), all);
}

/* Two contexts of one client are told in one call, those of another GPU in one of their own. */
static void test_several(void **state)
{
	struct context a = make_context(), b;
	uint32_t second = make_group(a.client, a.device, GP__NVRM_ENGINE_GRAPHICS, 2);
	uint32_t ids[3] = { a.id, seen.id, 0 };
	int results[3];

	(void)state;
	fake_rm.uuid = "GPU-ffffffff-1111-2222-3333-444444444444";
	b = make_context();
	assert_string_equal(seen.uuid, fake_rm.uuid);
	ids[2] = b.id;
	gp__nvrm_owner_set(owner, GP__NVRM_HOLD, ids, results, 3);
	assert_int_equal(fake_rm.nr_disables, 2);
	assert_int_equal(results[0] | results[1] | results[2], 0);
	assert_int_equal(count(&a, FAKE_RM_HELD), COMPUTE);
	assert_int_equal(fake_rm_count(a.client, second, FAKE_RM_HELD), 2);
	assert_int_equal(count(&b, FAKE_RM_HELD), COMPUTE);
	assert_int_equal(set(GP__NVRM_RELEASE, a.id), 0);
	assert_int_equal(fake_rm_count(a.client, second, FAKE_RM_HELD), 2);
	end(b.client, b.client);
	assert_int_equal(seen.removed, 1);
	assert_int_equal(set(GP__NVRM_RELEASE, b.id), -ENOENT);
}

static void test_free_of_each(void **state)
{
	(void)state;
	for (int what = 0; what < 4; what++) {
		struct context c = make_context();
		const uint32_t handles[] = { c.group, c.subdevice, c.device, c.client };
		uint32_t before = seen.removed;

		assert_int_equal(set(GP__NVRM_HOLD, c.id), 0);
		end(c.client, handles[what]);
		assert_int_equal(seen.removed, before + 1);
		assert_int_equal(seen.id, c.id);
		assert_int_equal(set(GP__NVRM_HOLD, c.id), -ENOENT);
		assert_int_equal(fake_rm.held_frees, 0);
		/* Without its subdevice it goes on, and cannot be held. */
		assert_int_equal(count(&c, FAKE_RM_HELD), 0);
	}
}

static void test_free_of_a_channel(void **state)
{
	struct context c = make_context();
	uint32_t more = make_channel(c.client, c.group);

	(void)state;
	assert_int_equal(set(GP__NVRM_HOLD, c.id), 0);
	assert_int_equal(gp__nvrm_owner_slice(owner, c.id, 1), 0);
	end(c.client, more);
	assert_int_equal(seen.removed, 1);
	assert_int_equal(seen.added, 2);
	assert_int_equal(seen.id, c.id);
	assert_int_equal(count(&c, FAKE_RM_RUNS), COMPUTE);
	assert_int_equal(fake_rm_find(c.client, c.group)->slice, 2048);
	assert_int_equal(set(GP__NVRM_HOLD, c.id), 0);
	assert_int_equal(count(&c, FAKE_RM_HELD), COMPUTE);
}

/* A group that was reported as removed is not added by an action of another thread at that
 * moment. */
static void test_free_while_another_makes(void **state)
{
	(void)state;
	for (int what = 0; what < 2; what++) {
		uint32_t other = make(0, 0, GP__NVRM_CLASS_ROOT_CLIENT, NULL), before = seen.added;
		struct context c = make_context();

		seen.device_of = other;
		end(c.client, what ? c.group : c.client);
		seen.device_of = 0;
		assert_int_equal(seen.added, before + 1);
		assert_int_equal(gp__nvrm_owner_list(owner, NULL, 0), 0);
		end(other, other);
	}
}

/* Channels of copy engines in this state, of all four groups. */
static uint32_t count_copies(const struct context *c, enum fake_rm_state state)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < COPY_GROUPS; i++)
		n += fake_rm_count(c->client, c->copy[i], state);
	return n;
}

static void test_copies_are_left_alone(void **state)
{
	struct context c = make_context();

	(void)state;
	assert_int_equal(set(GP__NVRM_HOLD, c.id), 0);
	assert_int_equal(count_copies(&c, FAKE_RM_RUNS), COPY_GROUPS * COPY);
}

static void test_copies_on_request(void **state)
{
	struct gp__nvrm_disable wish = { .nr = 1 };
	struct context c, other;
	uint32_t more;

	(void)state;
	gp__nvrm_owner_take_copies(owner);
	c = make_context();
	other = make_context();
	for (int verb = GP__NVRM_HOLD; verb <= GP__NVRM_DRAIN; verb++) {
		assert_int_equal(set((enum gp__nvrm_verb)verb, c.id), 0);
		assert_int_equal(count(&c, FAKE_RM_RUNS), 0);
		assert_int_equal(count_copies(&c, FAKE_RM_RUNS), 0);
		assert_int_equal(count_copies(&other, FAKE_RM_RUNS), COPY_GROUPS * COPY);
		assert_int_equal(set(GP__NVRM_RELEASE, c.id), 0);
		assert_int_equal(count(&c, FAKE_RM_RUNS), COMPUTE);
		assert_int_equal(count_copies(&c, FAKE_RM_RUNS), COPY_GROUPS * COPY);
	}
	/* A new channel is held; one that the program enables stays held; a freed one is not. */
	assert_int_equal(set(GP__NVRM_HOLD, c.id), 0);
	more = make_channel(c.client, c.copy[0]);
	assert_int_equal(count_copies(&c, FAKE_RM_HELD), COPY_GROUPS * COPY + 1);
	wish.client[0] = c.client;
	wish.channel[0] = more;
	assert_int_equal(
		control(c.client, c.subdevice, GP__NVRM_CMD_DISABLE_CHANNELS, &wish, sizeof(wish)),
		0);
	assert_int_equal(count_copies(&c, FAKE_RM_HELD), COPY_GROUPS * COPY + 1);
	end(c.client, more);
	assert_int_equal(seen.removed, 1);
	assert_int_equal(seen.added, 3);
	assert_int_equal(count(&c, FAKE_RM_RUNS), COMPUTE);
	assert_int_equal(set(GP__NVRM_HOLD, seen.id), 0);
	end(c.client, c.copy[1]);
	assert_int_equal(count(&c, FAKE_RM_RUNS), COMPUTE);
	assert_int_equal(set(GP__NVRM_HOLD, seen.id), 0);
	assert_int_equal(count_copies(&c, FAKE_RM_HELD), (COPY_GROUPS - 1) * COPY);
}

/* Neither the hold nor its undoing succeeds: the group does not count as held after that. */
static void test_stop_and_undo_that_fail(void **state)
{
	struct context c = make_context();

	(void)state;
	fake_rm.status = 0x56;
	fake_rm.disable_fails_in = fake_rm.enable_fails_in = 1;
	assert_int_not_equal(set(GP__NVRM_HOLD, c.id), 0);
	fake_rm.disable_fails_in = fake_rm.enable_fails_in = 1;
	assert_int_not_equal(set(GP__NVRM_HOLD, c.id), 0);
	assert_int_equal(set(GP__NVRM_HOLD, c.id), 0);
	assert_int_equal(count(&c, FAKE_RM_HELD), COMPUTE);
	assert_int_equal(set(GP__NVRM_RELEASE, c.id), 0);
	assert_int_equal(count(&c, FAKE_RM_RUNS), COMPUTE);
}

static void test_free_that_fails(void **state)
{
	struct context c = make_context();
	struct gp__nvrm_free args = { .client = c.client, .object = c.group };

	(void)state;
	fake_rm.free_fails_in = 1;
	fake_rm.status = 0x42;
	assert_int_equal(gp__nvrm_owner_ioctl(owner, fd, GP__NVRM_FREE, &args), 0);
	assert_int_equal(args.status, 0x42);
	assert_int_equal(seen.removed, 1);
	assert_int_equal(seen.added, 2);
	fake_rm.free_fails_in = 1;
	fake_rm.status = 0;
	assert_int_equal(gp__nvrm_owner_ioctl(owner, fd, GP__NVRM_FREE, &args), -1);
	assert_int_equal(errno, EIO);
	assert_int_equal(set(GP__NVRM_HOLD, c.id), 0);
	assert_int_equal(count(&c, FAKE_RM_HELD), COMPUTE);
}

/* A handle that is reused without a free: its object is gone. */
static void test_handle_given_again(void **state)
{
	struct context c = make_context();

	(void)state;
	memset(fake_rm.object, 0, sizeof(fake_rm.object));
	fake_rm.last_client = 0xc1d00000;
	last_handle = HANDLE;
	make_context();
	assert_int_equal(seen.removed, 1);
	assert_int_equal(seen.added, 2);
	assert_int_equal(set(GP__NVRM_HOLD, seen.id), 0);
	assert_int_equal(count(&c, FAKE_RM_HELD), COMPUTE);
	fake_rm.unknown = 0; /* its groups were released, as far as they existed */
}

static void test_programs_own_slice(void **state)
{
	struct context c = make_context();
	const struct fake_rm_object *g = fake_rm_find(c.client, c.group);
	uint64_t us = 0, wish = 4096;

	(void)state;
	assert_int_equal(gp__nvrm_owner_slice(owner, c.id, 0), 0);
	assert_int_equal(fake_rm.nr_slices, 2); /* by the program, and the test of the layout */
	assert_int_equal(gp__nvrm_owner_slice(owner, c.id, 1), 0);
	assert_int_equal(gp__nvrm_owner_get_slice(owner, c.id, &us), 0);
	assert_int_equal(us, 1);
	assert_int_equal(control(c.client, c.group, (uint32_t)GP__NVRM_CMD_SET_TIMESLICE, &wish,
				 sizeof(wish)),
			 0);
	assert_int_equal(wish, 4096);
	assert_int_equal(g->slice, 1);
	assert_int_equal(gp__nvrm_owner_slice(owner, c.id, 0), 0);
	assert_int_equal(g->slice, 4096);
	fake_rm.slice_fails_in = 1;
	fake_rm.status = GP__NVRM_NOT_SUPPORTED;
	assert_int_equal(gp__nvrm_owner_slice(owner, c.id, 1), -EOPNOTSUPP);
	assert_int_equal(g->slice, 4096);
	assert_int_equal(gp__nvrm_owner_slice(owner, c.id + 9, 1), -ENOENT);
}

static uint32_t disable(const struct context *c, uint32_t channel, bool disable)
{
	struct gp__nvrm_disable d = {
		.disable = disable, .nr = 1, .client = { c->client }, .channel = { channel }
	};

	return control(c->client, c->subdevice, GP__NVRM_CMD_DISABLE_CHANNELS, &d, sizeof(d));
}

static void test_programs_own_disable(void **state)
{
	struct context c = make_context();
	uint32_t own = make_channel(c.client, c.group);

	(void)state;
	assert_int_equal(disable(&c, own, true), 0);
	assert_int_equal(set(GP__NVRM_HOLD, c.id), 0);
	assert_int_equal(set(GP__NVRM_RELEASE, c.id), 0);
	assert_int_equal(fake_rm_find(c.client, own)->state, FAKE_RM_HELD);
	assert_int_equal(count(&c, FAKE_RM_RUNS), COMPUTE);
	/* The program enables it while we hold: it runs when we release it. */
	assert_int_equal(set(GP__NVRM_HOLD, c.id), 0);
	assert_int_equal(disable(&c, own, false), 0);
	assert_int_equal(count(&c, FAKE_RM_HELD), COMPUTE + 1);
	assert_int_equal(set(GP__NVRM_RELEASE, c.id), 0);
	assert_int_equal(count(&c, FAKE_RM_RUNS), COMPUTE + 1);
}

static void test_scheduled_while_held(void **state)
{
	struct context c = make_context();
	uint8_t params[3] = { 1, 0, 0 };

	(void)state;
	assert_int_equal(set(GP__NVRM_HOLD, c.id), 0);
	assert_int_equal(control(c.client, c.group, (uint32_t)GP__NVRM_CMD_GROUP_SCHEDULE, params,
				 sizeof(params)),
			 0);
	assert_int_equal(fake_rm.nr_disables, 2);
	assert_int_equal(count(&c, FAKE_RM_HELD), COMPUTE);
}

/* The objects on its channels may be the only sign of a group's purpose. */
static void test_engine_not_named(void **state)
{
	struct context c = make_context();
	uint32_t group = make_group(c.client, c.device, 0, 1), channel;

	(void)state;
	assert_int_equal(seen.added, 1);
	channel = make_channel(c.client, group);
	make(c.client, channel, CLASS_COMPUTE, NULL);
	assert_int_equal(seen.added, 2);
	assert_int_equal(set(GP__NVRM_HOLD, seen.id), 0);
	assert_int_equal(fake_rm_count(c.client, group, FAKE_RM_HELD), 2);
}

static void test_duplicated_gpu(void **state)
{
	struct context c = make_context();
	uint32_t client = make(0, 0, GP__NVRM_CLASS_ROOT_CLIENT, NULL);
	struct gp__nvrm_dup dup = { .client = client,
				    .parent = client,
				    .object = ++last_handle,
				    .from_client = c.client,
				    .from_object = c.device };
	uint32_t device = dup.object, group;

	(void)state;
	assert_int_equal(gp__nvrm_owner_ioctl(owner, fd, GP__NVRM_DUP, &dup), 0);
	assert_int_equal(dup.status, 0);
	dup = (struct gp__nvrm_dup){ .client = client,
				     .parent = device,
				     .object = ++last_handle,
				     .from_client = c.client,
				     .from_object = c.subdevice };
	assert_int_equal(gp__nvrm_owner_ioctl(owner, fd, GP__NVRM_DUP, &dup), 0);
	group = make_group(client, device, GP__NVRM_ENGINE_GRAPHICS, 2);
	assert_int_equal(seen.added, 2);
	assert_int_equal(set(GP__NVRM_HOLD, seen.id), 0);
	assert_int_equal(fake_rm_count(client, group, FAKE_RM_HELD), 2);
}

static void expect_given_up(const struct context *c, const char *word)
{
	assert_non_null(strstr(seen.cannot, word));
	assert_int_equal(seen.removed, 1);
	assert_int_equal(count(c, FAKE_RM_RUNS), COMPUTE);
	assert_int_equal(set(GP__NVRM_HOLD, c->id), -ENOENT);
	make_context();
	assert_int_equal(seen.added, 1);
}

static void test_mig(void **state)
{
	struct context c = make_context();

	(void)state;
	assert_int_equal(set(GP__NVRM_HOLD, c.id), 0);
	make(c.client, c.subdevice, GP__NVRM_CLASS_MIG_PARTITION, NULL);
	expect_given_up(&c, "MIG");
}

static void test_other_form(void **state)
{
	struct context c = make_context();
	uint32_t args[16] = { GP__NVRM_NR_ALLOC };

	(void)state;
	assert_int_equal(set(GP__NVRM_HOLD, c.id), 0);
	assert_int_equal(gp__nvrm_owner_ioctl(
				 owner, fd,
				 _IOC(_IOC_READ | _IOC_WRITE, GP__NVRM_TYPE, GP__NVRM_NR_XFER, 16),
				 args),
			 0);
	expect_given_up(&c, "form");
}

static void test_channel_without_a_group(void **state)
{
	struct context c = make_context();

	(void)state;
	assert_int_equal(set(GP__NVRM_HOLD, c.id), 0);
	make_channel(c.client, c.device);
	expect_given_up(&c, "without a group");
}

/* The driver refuses bad addresses. */
static void test_bad_addresses(void **state)
{
	struct context c = make_context();
	void *nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct gp__nvrm_alloc48 args = { .client = c.client,
					 .parent = c.device,
					 .object = ++last_handle,
					 .class = GP__NVRM_CLASS_GROUP,
					 .params = (uint64_t)(uintptr_t)nowhere };

	(void)state;
	needs_process_vm();
	assert_int_equal(gp__nvrm_owner_ioctl(owner, fd, GP__NVRM_ALLOC48, &args), 0);
	assert_int_equal(seen.added, 1);
	munmap(nowhere, 4096);
}

static void test_map(void **state)
{
	struct context c = make_context();
	struct gp__nvrm_ring rings[COMPUTE + 1];
	char name[64];
	int memory = memfd_create("userd", MFD_CLOEXEC);
	uint32_t put = 7;

	(void)state;
	assert_int_equal(ftruncate(memory, 4096), 0);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", memory);
	assert_int_equal(gp__nvrm_owner_map(owner, c.id, name, rings, COMPUTE + 1), COMPUTE);
	assert_int_equal(fake_rm.nr_maps, COMPUTE);
	assert_int_equal(pwrite(memory, &put, sizeof(put), GP__NVRM_USERD_PUT), sizeof(put));
	assert_int_equal(rings[COMPUTE - 1].userd[GP__NVRM_USERD_PUT / 4], 7);
	assert_int_equal(rings[0].entries, 1024);
	assert_int_equal(gp__nvrm_owner_map(owner, c.id, name, rings, COMPUTE), COMPUTE);
	assert_int_equal(fake_rm.nr_maps, COMPUTE);
	gp__nvrm_owner_unmap(owner, c.id);
	assert_int_equal(fake_rm.nr_unmaps, COMPUTE);
	assert_int_equal(gp__nvrm_owner_map(owner, c.id, name, rings, COMPUTE - 1), -ENOSPC);
	assert_int_equal(gp__nvrm_owner_map(owner, c.id, "/nowhere", rings, COMPUTE), -ENOENT);
	assert_int_equal(gp__nvrm_owner_map(owner, c.id, name, rings, COMPUTE), COMPUTE);
	end(c.client, c.device);
	assert_int_equal(fake_rm.nr_maps, fake_rm.nr_unmaps);
	close(memory);
}

static void test_child_forgets(void **state)
{
	struct context c = make_context();
	struct gp__nvrm_owned list[1];
	pid_t pid;
	int status;

	(void)state;
	assert_int_equal(set(GP__NVRM_HOLD, c.id), 0);
	pid = fork();
	if (!pid) {
		gp__nvrm_owner_forget(owner);
		_exit(gp__nvrm_owner_list(owner, list, 1) != 0 ||
		      set(GP__NVRM_RELEASE, c.id) != -ENOENT);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(count(&c, FAKE_RM_HELD), COMPUTE);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/*
 * Memory
 */

#define MIB (1ull << 20)

static uint32_t allocate(const struct context *c, uint64_t bytes, uint32_t attributes)
{
	struct gp__nvrm_memory_params params = { .size = bytes, .attributes = attributes };

	return make(c->client, c->device, GP__NVRM_CLASS_MEMORY, &params);
}

static uint64_t used(void)
{
	uint64_t bytes = ~0ull;

	assert_true(gp__nvrm_owner_memory(owner, fake_rm.uuid, &bytes));
	return bytes;
}

static bool is_used_known(void)
{
	uint64_t bytes;

	return gp__nvrm_owner_memory(owner, fake_rm.uuid, &bytes);
}

static void test_memory_is_what_the_rm_was_asked_for(void **state)
{
	struct context c = make_context();
	uint32_t a, b;

	(void)state;
	assert_int_equal(used(), 0);
	a = allocate(&c, 100, 0);
	assert_int_equal(used(), 2 * MIB); /* as the RM rounds it */
	assert_int_equal(seen.memory, 1);
	b = allocate(&c, 64 * MIB, 0);
	allocate(&c, 32 * MIB, 1 << 25); /* of the host */
	assert_int_equal(used(), 66 * MIB);
	end(c.client, a);
	assert_int_equal(used(), 64 * MIB);
	end(c.client, b);
	assert_int_equal(used(), 0);
}

static void test_memory_goes_with_its_device_or_client(void **state)
{
	struct context c = make_context(), d = make_context();

	(void)state;
	allocate(&c, 64 * MIB, 0);
	allocate(&d, 32 * MIB, 0);
	assert_int_equal(used(), 96 * MIB);
	end(c.client, c.device);
	assert_int_equal(used(), 32 * MIB);
	end(d.client, d.client);
	assert_int_equal(used(), 0);
}

static void test_memory_of_the_heap_counts_too(void **state)
{
	struct context c = make_context();
	struct gp__nvrm_heap h = { .client = c.client,
				   .device = c.device,
				   .function = GP__NVRM_HEAP_ALLOC,
				   .memory = 0x99,
				   .size = 8 * MIB };

	(void)state;
	assert_int_equal(gp__nvrm_owner_ioctl(owner, fd, GP__NVRM_HEAP, &h), 0);
	assert_int_equal(used(), 8 * MIB);
	h.function = GP__NVRM_HEAP_FREE;
	assert_int_equal(gp__nvrm_owner_ioctl(owner, fd, GP__NVRM_HEAP, &h), 0);
	assert_int_equal(used(), 0);
	h.function = GP__NVRM_HEAP_ALLOC;
	h.flags = GP__NVRM_HEAP_VIRTUAL;
	assert_int_equal(gp__nvrm_owner_ioctl(owner, fd, GP__NVRM_HEAP, &h), 0);
	assert_int_equal(used(), 0);
}

static void test_memory_of_another_gpu_is_not_of_this_one(void **state)
{
	struct context c = make_context();
	uint64_t bytes;

	(void)state;
	allocate(&c, 64 * MIB, 0);
	assert_true(gp__nvrm_owner_memory(owner, "GPU-another", &bytes));
	assert_int_equal(bytes, 0);
}

static void test_memory_that_cannot_be_followed_is_unknown_not_0(void **state)
{
	struct context c = make_context();
	struct gp__nvrm_heap h = { .client = c.client,
				   .device = c.device,
				   .function = GP__NVRM_HEAP_ALLOC_RANGE };

	(void)state;
	assert_true(is_used_known());
	assert_int_equal(gp__nvrm_owner_ioctl(owner, fd, GP__NVRM_HEAP, &h), 0);
	assert_false(is_used_known());
}

/* A device whose GPU the RM does not name has some of the memory, of whichever GPU. */
static void test_memory_of_a_nameless_device_is_unknown(void **state)
{
	struct context c = make_context();
	uint32_t other = make(c.client, c.client, GP__NVRM_CLASS_DEVICE, NULL);
	struct gp__nvrm_memory_params params = { .size = MIB };

	(void)state;
	assert_true(is_used_known());
	make(c.client, other, GP__NVRM_CLASS_MEMORY, &params);
	assert_false(is_used_known());
}

static void test_the_size_of_the_gpu_is_reported(void **state)
{
	(void)state;
	fake_rm.gpu_kib = 143771 * 1024u;
	make_context();
	assert_int_equal(seen.gpu_bytes, 143771 * MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_one_context_is_one_group),
		CASE(test_hold_and_start),
		CASE(test_hold_in_parts),
		CASE(test_several),
		CASE(test_free_of_each),
		CASE(test_free_of_a_channel),
		CASE(test_free_while_another_makes),
		CASE(test_stop_and_undo_that_fail),
		CASE(test_copies_are_left_alone),
		CASE(test_copies_on_request),
		CASE(test_free_that_fails),
		CASE(test_handle_given_again),
		CASE(test_programs_own_slice),
		CASE(test_programs_own_disable),
		CASE(test_scheduled_while_held),
		CASE(test_engine_not_named),
		CASE(test_duplicated_gpu),
		CASE(test_mig),
		CASE(test_other_form),
		CASE(test_channel_without_a_group),
		CASE(test_bad_addresses),
		CASE(test_map),
		CASE(test_child_forgets),
		CASE(test_memory_is_what_the_rm_was_asked_for),
		CASE(test_memory_goes_with_its_device_or_client),
		CASE(test_memory_of_the_heap_counts_too),
		CASE(test_memory_of_another_gpu_is_not_of_this_one),
		CASE(test_memory_that_cannot_be_followed_is_unknown_not_0),
		CASE(test_memory_of_a_nameless_device_is_unknown),
		CASE(test_the_size_of_the_gpu_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
