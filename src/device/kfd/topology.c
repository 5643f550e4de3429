// SPDX-License-Identifier: MIT
#include "device/kfd/topology.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES "/sys/class/kfd/kfd/topology/nodes"

#define PROCESSES "/sys/class/kfd/kfd/proc"

#define SCHEDULER "/sys/class/kfd/kfd/sched_%u/%s"

#define CWSR_PARAMETER "/sys/module/amdgpu/parameters/cwsr_enable"

#define PAGE 4096u
#define BANKS_MAX 16
#define HEAP_PUBLIC 1
#define HEAP_PRIVATE 2
#define SIMDS_PER_CU 4

/* amdkfd's formulas for the context save area of gfx9. */
#define WAVES_PER_CU 40u
#define WAVES_PER_ARRAY 512u
#define VGPR_BYTES 0x40000u
#define VGPR_BYTES_CDNA 0x80000u
#define CU_BYTES (0x4000u + 0x10000u + 0x1000u) /* scalar registers, LDS, hardware registers */
#define WAVE_ENTRY_BYTES 8u
#define HEADER_BYTES 40u
#define DEBUG_BYTES_PER_WAVE 32u
#define DEBUG_ALIGN 64u

static uint32_t align(uint32_t bytes, uint32_t to)
{
	return (bytes + to - 1) / to * to;
}

void gp__kfd_node_property(struct gp__kfd_node *node, const char *line)
{
	static const struct {
		const char *name;
		size_t offset;
	} known[] = {
#define FIELD(name, field) { name, offsetof(struct gp__kfd_node, field) }
		FIELD("gfx_target_version", gfx_version),
		FIELD("simd_count", nr_cus), /* until it is divided */
		FIELD("num_xcc", nr_xccs),
		FIELD("array_count", nr_arrays),
		FIELD("simd_arrays_per_engine", engine_arrays),
		FIELD("drm_render_minor", render_minor),
		FIELD("num_cp_queues", nr_cp_queues),
		FIELD("max_engine_clk_fcompute", clock_mhz),
		FIELD("cwsr_size", save_bytes),
		FIELD("ctl_stack_size", ctl_stack_bytes),
#undef FIELD
	};
	size_t len = strcspn(line, " ");
	char *end;
	unsigned long long value;

	if (line[len] != ' ')
		return;
	value = strtoull(line + len + 1, &end, 10);
	if (end == line + len + 1)
		return;
	if (len == strlen("unique_id") && !memcmp(line, "unique_id", len))
		node->unique_id = value;
	if (value > UINT32_MAX)
		return;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strlen(known[i].name) == len && !memcmp(known[i].name, line, len))
			*(uint32_t *)((char *)node + known[i].offset) = (uint32_t)value;
	}
}

static bool is_cdna(uint32_t gfx)
{
	return gfx == 90008 || gfx == 90010 || gfx / 100 == 904;
}

void gp__kfd_node_complete(struct gp__kfd_node *node)
{
	uint32_t cus, waves, by_arrays, vgprs;

	node->nr_cus /= SIMDS_PER_CU;
	if (!node->nr_xccs)
		node->nr_xccs = 1;
	if (!node->engine_arrays)
		node->engine_arrays = 1;
	cus = node->nr_cus / node->nr_xccs;
	waves = cus * WAVES_PER_CU;
	by_arrays = node->nr_arrays / node->nr_xccs / node->engine_arrays * WAVES_PER_ARRAY;
	if (by_arrays && by_arrays < waves)
		waves = by_arrays;
	vgprs = is_cdna(node->gfx_version) ? VGPR_BYTES_CDNA : VGPR_BYTES;
	if (!node->ctl_stack_bytes)
		node->ctl_stack_bytes =
			align(HEADER_BYTES + waves * WAVE_ENTRY_BYTES + WAVE_ENTRY_BYTES, PAGE);
	if (!node->save_bytes)
		node->save_bytes = node->ctl_stack_bytes + align(cus * (vgprs + CU_BYTES), PAGE);
	node->debug_bytes = align(waves * DEBUG_BYTES_PER_WAVE, DEBUG_ALIGN);
}

/* The first line of a node's file, without its end. */
static bool read_line(uint32_t index, const char *file, char *line, size_t size)
{
	char path[128];
	FILE *f;
	bool ok;

	snprintf(path, sizeof(path), NODES "/%u/%s", index, file);
	f = fopen(path, "re");
	if (!f)
		return false;
	ok = fgets(line, (int)size, f) != NULL;
	fclose(f);
	if (ok)
		line[strcspn(line, "\n")] = '\0';
	return ok;
}

static bool read_properties(struct gp__kfd_node *node)
{
	char path[128], line[256];
	FILE *f;

	snprintf(path, sizeof(path), NODES "/%u/properties", node->index);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f))
		gp__kfd_node_property(node, line);
	fclose(f);
	gp__kfd_node_complete(node);
	return true;
}

/* Adds up the banks that are on the GPU itself. */
static uint64_t read_memory(uint32_t index)
{
	uint64_t sum = 0;

	for (unsigned int bank = 0; bank < BANKS_MAX; bank++) {
		unsigned long long bytes = 0;
		unsigned int heap = 0;
		char path[128], line[256];
		FILE *f;

		snprintf(path, sizeof(path), NODES "/%u/mem_banks/%u/properties", index, bank);
		f = fopen(path, "re");
		if (!f)
			break;
		while (fgets(line, sizeof(line), f)) {
			if (sscanf(line, "heap_type %u", &heap) != 1)
				sscanf(line, "size_in_bytes %llu", &bytes);
		}
		fclose(f);
		if (heap == HEAP_PUBLIC || heap == HEAP_PRIVATE)
			sum += bytes;
	}
	return sum;
}

/* -1: there is none. */
static int read_number(const char *path)
{
	FILE *f = fopen(path, "re");
	int value;

	if (!f)
		return -1;
	if (fscanf(f, "%d", &value) != 1)
		value = -1;
	fclose(f);
	return value < 0 ? -1 : value;
}

bool gp__kfd_memory_used(pid_t pid, uint32_t gpu_id, uint64_t *bytes)
{
	unsigned long long value;
	char path[128];
	bool known;
	FILE *f;

	snprintf(path, sizeof(path), PROCESSES "/%d/vram_%u", (int)pid, gpu_id);
	f = fopen(path, "re");
	if (!f)
		return false;
	known = fscanf(f, "%llu", &value) == 1;
	fclose(f);
	*bytes = known ? value : 0;
	return known;
}

int gp__kfd_cwsr_enable(void)
{
	int value = read_number(CWSR_PARAMETER);

	return value < 0 ? -1 : value != 0;
}

struct gp__kfd_scheduler gp__kfd_kernel_scheduler(uint32_t gpu_id)
{
	struct gp__kfd_scheduler s = { 0 };
	char path[128];
	int value;

	snprintf(path, sizeof(path), SCHEDULER, gpu_id, "enable");
	value = read_number(path);
	s.exists = value >= 0;
	s.enabled = value > 0;
	snprintf(path, sizeof(path), SCHEDULER, gpu_id, "period_us");
	value = read_number(path);
	s.period_us = value > 0 ? (uint32_t)value : 0;
	return s;
}

const char *gp__kfd_gfx_name(uint32_t gfx_version, char text[GP__KFD_GFX_NAME_MAX])
{
	snprintf(text, GP__KFD_GFX_NAME_MAX, "gfx%u%u%x", gfx_version / 10000,
		 gfx_version / 100 % 100, gfx_version % 100);
	return text;
}

void gp__kfd_node_key(const struct gp__kfd_node *node, char *key, size_t size)
{
	if (node->unique_id)
		snprintf(key, size, "amd-%016llx", (unsigned long long)node->unique_id);
	else
		snprintf(key, size, "amd-%u", node->gpu_id);
}

int gp__kfd_nodes(struct gp__kfd_node node[GP__KFD_NODES_MAX])
{
	char line[64];
	int n = 0;

	if (!read_line(0, "gpu_id", line, sizeof(line)))
		return -ENODEV;
	for (uint32_t i = 0; n < GP__KFD_NODES_MAX && read_line(i, "gpu_id", line, sizeof(line));
	     i++) {
		struct gp__kfd_node found = { .index = i };

		found.gpu_id = (uint32_t)strtoul(line, NULL, 10);
		if (!found.gpu_id) /* a processor */
			continue;
		if (!read_line(i, "name", found.name, sizeof(found.name)))
			found.name[0] = '\0';
		if (!read_properties(&found))
			continue;
		found.vram_bytes = read_memory(i);
		node[n++] = found;
	}
	return n;
}
