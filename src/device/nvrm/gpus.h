/* SPDX-License-Identifier: MIT */
/* What NVIDIA's driver says of itself and its GPUs in /proc, for anybody to read. */
#ifndef GP__DEVICE_NVRM_GPUS_H
#define GP__DEVICE_NVRM_GPUS_H

#include <stdbool.h>
#include <stddef.h>

#include "device/nvrm/owner.h"

#define GP__NVRM_PROC "/proc/driver/nvidia"
#define GP__NVRM_GPUS_MAX 64
#define GP__NVRM_NAME_MAX 64

struct gp__nvrm_gpu {
	char name[GP__NVRM_NAME_MAX]; /* "NVIDIA H200"; "" where it is not said */
	char uuid[GP__NVRM_UUID_MAX]; /* "GPU-..." */
	char firmware[32]; /* of the GPU's system processor; "": it has none, or does not use it */
	int minor; /* of /dev/nvidiaN */
};

struct gp__nvrm_driver {
	char version[32]; /* "580.159.04" */
	bool open; /* the open kernel module */
};

/* From the text of a GPU's `information`. False: there is no GPU in it. */
bool gp__nvrm_gpu_parse(const char *text, struct gp__nvrm_gpu *gpu);
/* From the text of `version`. */
bool gp__nvrm_driver_parse(const char *text, struct gp__nvrm_driver *driver);

/* Those of the machine in the order of their minor numbers: how many, or -errno (-ENODEV: the
 * driver is not there). @proc: GP__NVRM_PROC, or another place with such files. */
int gp__nvrm_gpus(const char *proc, struct gp__nvrm_gpu *gpus, int max);
/* 0 or -ENODEV. */
int gp__nvrm_driver(const char *proc, struct gp__nvrm_driver *driver);

/*
 * Whether NVIDIA's multi-process service takes this user's programs, whose work then is its
 * server's. The folder of its pipe in @folder.
 */
bool gp__nvrm_has_mps(char *folder, size_t size);

#endif
