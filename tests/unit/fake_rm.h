/* SPDX-License-Identifier: MIT */
/*
 * A fake resource manager of NVIDIA's driver: objects with their parents, and which channels may
 * run. It fails as it is told. Any thread may call it.
 */
#ifndef FAKE_RM_H
#define FAKE_RM_H

#include <stdbool.h>
#include <stdint.h>

#include "device/nvrm/abi.h"

enum { FAKE_RM_OBJECTS = 4096, FAKE_RM_PAGE = 2 << 20 };

enum fake_rm_state { FAKE_RM_RUNS, FAKE_RM_DRAINED, FAKE_RM_HELD };

/*
 * A version of the driver: the sizes that it has for parameters. NULL: those of 580, and the
 * parameters of allocations are not touched.
 */
struct fake_rm_driver {
	const char *version;
	uint32_t channel, memory; /* of allocations, which the RM copies in this size */
	uint32_t disable, slice, gpu_id; /* of controls, which the RM compares; 0: as in abi.h */
	bool no_slice; /* it does not know SET_TIMESLICE */
};

struct fake_rm_object {
	bool there;
	uint32_t client, handle, parent, class;
	enum fake_rm_state state; /* a channel's */
	bool descheduled; /* drained, and not enabled in the same way */
	uint64_t slice; /* a group's, in microseconds */
};

extern struct fake_rm {
	struct fake_rm_object object[FAKE_RM_OBJECTS];
	uint32_t nr, last_client;
	/* The next so many controls of a kind succeed, and then one fails; 0: none does. */
	uint32_t disable_fails_in, slice_fails_in, free_fails_in, enable_fails_in;
	uint32_t status; /* with which; 0: as ioctl() fails, with EIO */
	uint32_t nr_disables, nr_enables, nr_slices, nr_maps, nr_unmaps;
	uint32_t unknown; /* calls with handles that do not exist */
	uint32_t held_frees; /* channels that were freed while they were held */
	const char *uuid;
	uint32_t gpu_kib; /* memory of the GPU */
	const struct fake_rm_driver *driver;
	uint32_t broken; /* status of all controls and allocations: the GPU has failed; 0: it works
			  */
	uint32_t
		copied; /* a sum of the parameters that were copied, so that all of them are read */
} fake_rm;

/* Published versions, the last one without a version. FAKE_RM_PARAMS bytes are enough for the
 * parameters of each allocation. */
extern const struct fake_rm_driver fake_rm_drivers[];
enum { FAKE_RM_PARAMS = 512 };

void fake_rm_reset(void);
int fake_rm_ioctl(int fd, unsigned long request, void *args);
const struct fake_rm_object *fake_rm_find(uint32_t client, uint32_t handle);
/* Channels in the group that are in this state. */
uint32_t fake_rm_count(uint32_t client, uint32_t group, enum fake_rm_state state);

#endif
