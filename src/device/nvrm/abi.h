/* SPDX-License-Identifier: MIT */
/*
 * Declares the part of NVIDIA's resource manager (RM) that is used here: ioctls of type 'F' on
 * /dev/nvidiactl, the classes of the objects that are followed, and the controls that hold channels
 * off the GPU. Verified with drivers 580 on Hopper. layout.h lists the drivers whose layouts these
 * are; drivers 610 insert a member into struct gp__nvrm_channel_params.
 */
#ifndef GP__DEVICE_NVRM_ABI_H
#define GP__DEVICE_NVRM_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>

#define GP__NVRM_TYPE 'F'
#define GP__NVRM_MAJOR 195 /* of /dev/nvidiactl and /dev/nvidia0 */

enum {
	GP__NVRM_NR_FREE = 0x29,
	GP__NVRM_NR_CONTROL = 0x2a,
	GP__NVRM_NR_ALLOC = 0x2b,
	GP__NVRM_NR_DUP = 0x34,
	GP__NVRM_NR_HEAP = 0x4a,
	GP__NVRM_NR_MAP = 0x4e,
	GP__NVRM_NR_UNMAP = 0x4f,
	GP__NVRM_NR_XFER = 0xd3, /* another call, too large for its number */
};

struct gp__nvrm_free {
	uint32_t client, parent, object, status;
};

struct gp__nvrm_control {
	uint32_t client, object, cmd, flags;
	uint64_t params;
	uint32_t params_size, status;
};

/* Both forms have the same beginning; the size of the ioctl tells them apart. */
struct gp__nvrm_alloc32 {
	uint32_t client, parent, object, class;
	uint64_t params;
	uint32_t params_size, status;
};

struct gp__nvrm_alloc48 {
	uint32_t client, parent, object, class;
	uint64_t params, rights;
	uint32_t params_size, flags, status, pad;
};

struct gp__nvrm_dup {
	uint32_t client, parent, object, from_client, from_object, flags, status;
};

struct gp__nvrm_map {
	uint32_t client, device, memory, pad;
	uint64_t offset, length, address;
	uint32_t status, flags;
	int32_t fd; /* of /dev/nvidia0 and so on, which is then mapped at offset 0 */
	uint32_t pad2;
};

/* Another way to allocate memory. */
struct gp__nvrm_heap {
	uint32_t client, device, function, vaspace;
	uint32_t heap, status;
	uint64_t total, free;
	uint32_t owner, memory, type, flags; /* the first two for freeing, too */
	uint32_t attributes, format, compression[3], width, height, pad;
	uint64_t size;
	uint8_t rest[88];
};

enum {
	GP__NVRM_HEAP_ALLOC = 2,
	GP__NVRM_HEAP_FREE = 3,
	GP__NVRM_HEAP_ALLOC_TILED = 6,
	GP__NVRM_HEAP_ALLOC_RANGE = 14,
};

#define GP__NVRM_HEAP_VIRTUAL 0x80000 /* addresses, no memory */

struct gp__nvrm_unmap {
	uint32_t client, device, memory, pad;
	uint64_t address;
	uint32_t status, flags;
};

#define GP__NVRM_IOCTL(nr, type) _IOWR(GP__NVRM_TYPE, nr, type)
#define GP__NVRM_FREE GP__NVRM_IOCTL(GP__NVRM_NR_FREE, struct gp__nvrm_free)
#define GP__NVRM_CONTROL GP__NVRM_IOCTL(GP__NVRM_NR_CONTROL, struct gp__nvrm_control)
#define GP__NVRM_ALLOC32 GP__NVRM_IOCTL(GP__NVRM_NR_ALLOC, struct gp__nvrm_alloc32)
#define GP__NVRM_ALLOC48 GP__NVRM_IOCTL(GP__NVRM_NR_ALLOC, struct gp__nvrm_alloc48)
#define GP__NVRM_DUP GP__NVRM_IOCTL(GP__NVRM_NR_DUP, struct gp__nvrm_dup)
#define GP__NVRM_HEAP GP__NVRM_IOCTL(GP__NVRM_NR_HEAP, struct gp__nvrm_heap)
#define GP__NVRM_MAP GP__NVRM_IOCTL(GP__NVRM_NR_MAP, struct gp__nvrm_map)
#define GP__NVRM_UNMAP GP__NVRM_IOCTL(GP__NVRM_NR_UNMAP, struct gp__nvrm_unmap)

/*
 * Classes
 */

enum {
	GP__NVRM_CLASS_ROOT = 0x0,
	GP__NVRM_CLASS_ROOT_PRIVILEGED = 0x1,
	GP__NVRM_CLASS_MEMORY = 0x40, /* of a GPU */
	GP__NVRM_CLASS_ROOT_CLIENT = 0x41,
	GP__NVRM_CLASS_DEVICE = 0x80,
	GP__NVRM_CLASS_SUBDEVICE = 0x2080,
	GP__NVRM_CLASS_GROUP = 0xa06c,
	GP__NVRM_CLASS_CHANNEL_FIRST = 0xa06f, /* 0xb06f, 0xc06f, ...: one per generation */
	GP__NVRM_CLASS_CHANNEL = 0x6f, /* their last byte */
	GP__NVRM_CLASS_COMPUTE = 0xc0, /* the last byte of each generation's compute class */
	GP__NVRM_CLASS_MIG_PARTITION = 0xc637,
};

#define GP__NVRM_ENGINE_GRAPHICS 1 /* which also computes; up to eight of them */
#define GP__NVRM_ENGINE_GRAPHICS_LAST 8
#define GP__NVRM_ENGINE_COPY 9
#define GP__NVRM_ENGINE_COPY_LAST 18

struct gp__nvrm_group_params {
	uint32_t error, ecc_error, vaspace, engine;
};

#define GP__NVRM_SUBDEVICES 8

struct gp__nvrm_channel_params {
	uint32_t error, buffer;
	uint64_t ring;
	uint32_t entries, flags, context_share, vaspace;
	uint32_t userd_memory[GP__NVRM_SUBDEVICES];
	uint64_t userd_offset[GP__NVRM_SUBDEVICES];
	uint32_t engine, pad;
};

/* The beginning; the RM writes the size that it has allocated. */
struct gp__nvrm_memory_params {
	uint32_t owner, type, flags, width, height;
	int32_t pitch;
	uint32_t attributes, attributes2, format, compression[2], pad;
	uint64_t range[2], size;
};

/* The location of memory; 0: the GPU's own. */
#define GP__NVRM_ATTRIBUTE_LOCATION 0x6000000

/* Offsets in USERD, which has a channel's indices. */
#define GP__NVRM_USERD_BYTES 512
#define GP__NVRM_USERD_GET 0x88
#define GP__NVRM_USERD_PUT 0x8c

/*
 * Controls
 */

enum {
	GP__NVRM_CMD_GPU_NAME = 0x20800110,
	GP__NVRM_CMD_GPU_ID = 0x2080014a,
	GP__NVRM_CMD_MEMORY_INFO = 0x20801301,
	GP__NVRM_CMD_DISABLE_CHANNELS = 0x2080110b,
	GP__NVRM_CMD_GROUP_SCHEDULE = (int)0xa06c0101,
	GP__NVRM_CMD_SET_TIMESLICE = (int)0xa06c0103,
	GP__NVRM_CMD_GET_TIMESLICE = (int)0xa06c0104,
};

#define GP__NVRM_CHANNELS_AT_ONCE 64

struct gp__nvrm_disable {
	uint8_t disable;
	uint32_t nr;
	uint8_t only_scheduling, rewind;
	uint64_t event __attribute__((aligned(8)));
	uint32_t client[GP__NVRM_CHANNELS_AT_ONCE], channel[GP__NVRM_CHANNELS_AT_ONCE];
};

struct gp__nvrm_gpu_id {
	uint32_t index, flags, length; /* flags 0: as text, "GPU-..." */
	char data[256];
};

/* A list of figures by index. */
#define GP__NVRM_MEMORY_KIB 7 /* the GPU's memory */

struct gp__nvrm_info {
	uint32_t index, value;
};

struct gp__nvrm_infos {
	uint32_t nr, pad;
	uint64_t list;
};

/* The RM's answers; others are only printed. */
#define GP__NVRM_CARD_NOT_PRESENT 0x05
#define GP__NVRM_GPU_IS_LOST 0x0f
#define GP__NVRM_GPU_IN_RESET 0x10
#define GP__NVRM_INSUFFICIENT_PERMISSIONS 0x1b
#define GP__NVRM_INVALID_COMMAND 0x24
#define GP__NVRM_INVALID_PARAM_STRUCT 0x3a /* parameters of another size */
#define GP__NVRM_NOT_SUPPORTED 0x56
#define GP__NVRM_RC_ERROR 0x60 /* an error has ended the channel */
#define GP__NVRM_RESET_REQUIRED 0x62

_Static_assert(sizeof(struct gp__nvrm_free) == 16, "as the RM has it");
_Static_assert(sizeof(struct gp__nvrm_control) == 32, "as the RM has it");
_Static_assert(sizeof(struct gp__nvrm_alloc32) == 32, "as the RM has it");
_Static_assert(sizeof(struct gp__nvrm_alloc48) == 48, "as the RM has it");
_Static_assert(sizeof(struct gp__nvrm_dup) == 28, "as the RM has it");
_Static_assert(sizeof(struct gp__nvrm_heap) == 184, "as the RM has it");
_Static_assert(offsetof(struct gp__nvrm_heap, size) == 88, "as the RM has it");
_Static_assert(offsetof(struct gp__nvrm_memory_params, size) == 64, "as the RM has it");
_Static_assert(sizeof(struct gp__nvrm_infos) == 16, "as the RM has it");
_Static_assert(sizeof(struct gp__nvrm_map) == 56, "as the RM has it");
_Static_assert(sizeof(struct gp__nvrm_channel_params) == 136, "as the RM has it");
_Static_assert(sizeof(struct gp__nvrm_disable) == 536, "as the RM has it");
_Static_assert(sizeof(struct gp__nvrm_gpu_id) == 268, "as the RM has it");

#endif
