// SPDX-License-Identifier: MIT
#include "device/nvrm/layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/nvrm/owned.h"

/* A group's time slice is between these; the drivers' defaults are one and two milliseconds. */
#define SLICE_MIN_US 1
#define SLICE_MAX_US 10000000

/*
 * Versions
 */

/*
 * Branches of the driver in which all that abi.h declares has the same layout, as NVIDIA's open
 * kernel modules publish it. 580 was used on hardware. 525 and earlier have other calls for
 * allocations, 610 has other parameters of channels; 600 is not published.
 */
static const struct {
	unsigned long first, last;
} branches[] = { { 535, 535 }, { 545, 580 }, { 590, 595 } };

bool gp__nvrm_driver_known(const struct gp__nvrm_driver *driver, char *why, size_t size)
{
	unsigned long branch = strtoul(driver->version, NULL, 10);
	bool known = false;

	for (size_t i = 0; i < sizeof(branches) / sizeof(branches[0]); i++)
		known |= branch >= branches[i].first && branch <= branches[i].last;
	if (!*driver->version)
		snprintf(why, size, "NVIDIA's driver does not say its version");
	else if (!known)
		snprintf(why, size, "gpreempt does not know NVIDIA's driver %s", driver->version);
	else if (!driver->open)
		snprintf(why, size,
			 "NVIDIA's driver %s has the proprietary kernel module, and gpreempt knows "
			 "only the open one",
			 driver->version);
	return known && driver->open;
}

bool gp__nvrm_channel_known(uint32_t class)
{
	static const uint16_t known[] = { 0xc46f, /* Turing */
					  0xc56f, /* Ampere and Ada */
					  0xc86f, /* Hopper */
					  0xc96f, 0xca6f /* Blackwell */ };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (known[i] == class)
			return true;
	}
	return false;
}

/*
 * Controls
 */

struct test {
	struct gp__nvrm_owner *o;
	uint32_t client;
	char *why;
	size_t size;
};

/* False: the RM does not know the control in this form. */
static bool try_control(const struct test *t, uint32_t object, uint32_t cmd, const char *name,
			void *params, uint32_t bytes, bool *done)
{
	uint32_t status;
	int err = gp__nvrm_call(t->o, t->client, object, cmd, params, bytes, &status);

	*done = !err;
	if (status != GP__NVRM_INVALID_PARAM_STRUCT && status != GP__NVRM_NOT_SUPPORTED &&
	    status != GP__NVRM_INVALID_COMMAND)
		return true;
	snprintf(t->why, t->size,
		 "NVIDIA's driver does not know %s with %u bytes of parameters (status 0x%x)", name,
		 bytes, status);
	return false;
}

/* The group gets the time slice that it has. */
static bool test_slice(const struct test *t, uint32_t group)
{
	uint64_t before = 0, after = 0;
	bool done;

	if (!try_control(t, group, (uint32_t)GP__NVRM_CMD_GET_TIMESLICE, "GET_TIMESLICE", &before,
			 sizeof(before), &done))
		return false;
	if (!done)
		return true;
	if (before < SLICE_MIN_US || before > SLICE_MAX_US) {
		snprintf(t->why, t->size, "NVIDIA's driver names a time slice of %llu us",
			 (unsigned long long)before);
		return false;
	}
	if (!try_control(t, group, (uint32_t)GP__NVRM_CMD_SET_TIMESLICE, "SET_TIMESLICE",
			 &(uint64_t){ before }, sizeof(before), &done))
		return false;
	if (!done)
		return true;
	if (!try_control(t, group, (uint32_t)GP__NVRM_CMD_GET_TIMESLICE, "GET_TIMESLICE", &after,
			 sizeof(after), &done))
		return false;
	if (!done || after == before)
		return true;
	snprintf(t->why, t->size, "a time slice of %llu us reads back as %llu from NVIDIA's driver",
		 (unsigned long long)before, (unsigned long long)after);
	return false;
}

bool gp__nvrm_layout_test(struct gp__nvrm_owner *o, struct gp__nvrm_object *group,
			  const struct gp__nvrm_object *subdevice, char *why, size_t size)
{
	const struct test t = { o, group->client, why, size };
	struct gp__nvrm_disable none = { .disable = 0 }; /* enables no channel */
	struct gp__nvrm_gpu_id id = { 0 };
	bool done;

	return try_control(&t, subdevice->handle, GP__NVRM_CMD_GPU_ID, "GPU_GET_GID_INFO", &id,
			   sizeof(id), &done) &&
	       try_control(&t, subdevice->handle, GP__NVRM_CMD_DISABLE_CHANNELS,
			   "FIFO_DISABLE_CHANNELS", &none, sizeof(none), &done) &&
	       test_slice(&t, group->handle);
}
