/* SPDX-License-Identifier: MIT */
/*
 * The GPUs of this machine, as the daemon finds them: their device files, and for AMD and NVIDIA
 * also the key that agents use for the GPU, its name and its memory. Reads /dev, /sys and /proc, so
 * it is not for the scheduling thread.
 */
#ifndef GP__DAEMON_DEVICES_H
#define GP__DAEMON_DEVICES_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/core.h"
#include "wire/wire.h"

#define GP__DEVICES_MAX 64
#define GP__DEVICE_FILE_MAX 32
/* Glob patterns of their files, unless the configuration says otherwise. */
#define GP__DEVICES_DEFAULT "/dev/kfd /dev/dri/renderD* /dev/nvidia[0-9]*"
/* The majors of the kernel's list of devices. */
#define GP__MAJOR_DRM 226
#define GP__MAJOR_NVIDIA 195

struct gp__device {
	dev_t number; /* of the device file, a character device */
	char file[GP__DEVICE_FILE_MAX]; /* the last part of its path */
	char key[GP__WIRE_DEVICE_MAX]; /* "": the daemon does not know which GPU it is */
	char name[GP__WIRE_NAME_MAX]; /* "": unknown */
	u64 memory; /* 0: unknown */
	u32 order; /* among those of its vendor that have a key */
	u32 kfd_id; /* amdkfd's number of it; 0: it has none */
	enum gp__weighing weighing; /* if the key is known */
	/* Of the process that was inspected: */
	bool is_open, is_used_known;
	u64 used; /* memory of the GPU, by the process */
};

struct gp__devices {
	u32 nr;
	bool computes; /* the process that was inspected can compute on the devices it has open */
	struct gp__device device[];
};

/*
 * Finds the devices whose paths match one of the glob patterns, which blanks separate. @root: "";
 * in tests, a folder that contains sys/ and proc/. NULL: out of memory.
 */
struct gp__devices *gp__devices_find(const char *patterns, const char *root);
/* Finds out how much memory of its open AMD GPUs the process uses: a thread of root's daemon asks
 * the driver. The driver knows processes by their pids outside of containers. */
void gp__devices_measure(struct gp__devices *d, pid_t pid, const char *root);
/* NULL: out of memory. */
struct gp__devices *gp__devices_copy(const struct gp__devices *d);
/* Finds the GPU that agents call @key. NULL: the daemon does not know it. */
const struct gp__device *gp__devices_by_key(const struct gp__devices *d, const char *key);
/*
 * The number N of the GPU @key, which is called gpuN: its place among the GPUs that the daemon
 * knows, those of AMD in amdkfd's order and then those of NVIDIA by their minors. It is the same
 * for doctor, probe and gpreemptd. -1: the daemon does not know it.
 */
int gp__devices_place(const struct gp__devices *d, const char *key);
/* The GPU that has this number. NULL: there is none. */
const struct gp__device *gp__devices_at(const struct gp__devices *d, u32 place);
/* How many GPUs have numbers. */
u32 gp__devices_nr_known(const struct gp__devices *d);
/* Whether any device is open. */
bool gp__devices_any_open(const struct gp__devices *d);
/* Whether a device that was open is not open any more. */
bool gp__devices_any_closed(const struct gp__devices *before, const struct gp__devices *now);

#endif
