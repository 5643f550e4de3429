/* SPDX-License-Identifier: MIT */
/*
 * Knows which drivers of NVIDIA have the layouts of abi.h, and checks them on a program's objects.
 *
 * The RM takes the parameters of an allocation in the size that the class has in its own version,
 * whatever size the caller names. So a layout that has changed cannot be noticed from an answer:
 * the version decides, and a version that is not in the table is left alone. Controls are checked
 * as well, because the RM refuses parameters of another size.
 */
#ifndef GP__DEVICE_NVRM_LAYOUT_H
#define GP__DEVICE_NVRM_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/nvrm/gpus.h"

struct gp__nvrm_object;
struct gp__nvrm_owner;

/* False: the layouts of this driver are not known; @why gets a sentence without a full stop. */
bool gp__nvrm_driver_known(const struct gp__nvrm_driver *driver, char *why, size_t size);
/* Whether channels of this class are of a generation whose work is understood. */
bool gp__nvrm_channel_known(uint32_t class);

/*
 * Calls each control that is relied on, on the group and its GPU, in a way that changes nothing,
 * and reads back what can be read. With the owner's lock. False: the RM has another layout or does
 * not do what it answers; @why gets a sentence without a full stop. An error that says nothing
 * about the layout passes.
 */
bool gp__nvrm_layout_test(struct gp__nvrm_owner *o, struct gp__nvrm_object *group,
			  const struct gp__nvrm_object *subdevice, char *why, size_t size);

#endif
