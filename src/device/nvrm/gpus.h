/* SPDX-License-Identifier: MIT */
/* Reads what NVIDIA's driver shows of itself and its GPUs in /proc, which is readable for all
 * users. */
#ifndef GP__DEVICE_NVRM_GPUS_H
#define GP__DEVICE_NVRM_GPUS_H

#include <stdbool.h>
#include <stddef.h>

#include "device/nvrm/owner.h"

#define GP__NVRM_PROC "/proc/driver/nvidia"
#define GP__NVRM_GPUS_MAX 64
#define GP__NVRM_NAME_MAX 64

struct gp__nvrm_gpu {
	char name[GP__NVRM_NAME_MAX]; /* "NVIDIA H200"; "": unknown */
	char uuid[GP__NVRM_UUID_MAX]; /* "GPU-..." */
	char firmware[32]; /* of the GPU's system processor; "": none is used */
	int minor; /* of /dev/nvidiaN */
};

struct gp__nvrm_driver {
	char version[32]; /* "580.159.04" */
	bool open; /* the open kernel module */
};

/* Parses the text of a GPU's `information`. False: it has no GPU. */
bool gp__nvrm_gpu_parse(const char *text, struct gp__nvrm_gpu *gpu);
/* Parses the text of `version`. */
bool gp__nvrm_driver_parse(const char *text, struct gp__nvrm_driver *driver);

/* Lists the machine's GPUs in the order of their minor numbers. Returns how many, or -errno
 * (-ENODEV: the driver is not loaded). @proc: GP__NVRM_PROC, or another folder with such files. */
int gp__nvrm_gpus(const char *proc, struct gp__nvrm_gpu *gpus, int max);
/* 0 or -ENODEV. */
int gp__nvrm_driver(const char *proc, struct gp__nvrm_driver *driver);

/*
 * Whether NVIDIA's multi-process service takes this user's programs, whose work its server then
 * runs. @folder gets the folder of its pipe.
 */
bool gp__nvrm_has_mps(char *folder, size_t size);

#endif
