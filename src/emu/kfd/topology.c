// SPDX-License-Identifier: MIT
/*
 * The machine in sysfs. Values that depend on the configuration are computed as amdkfd does,
 * because programs size their allocations by them, above all the context save area; those of a chip
 * are in chip.c. Values that amdkfd measures have no file here.
 */
#include "emu/kfd/topology.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "emu/kfd/debugfs.h"
#include "emu/kfd/priority.h"
#include "emu/kfd/node.h"
#include "emu/kfd/process.h"
#include "emu/kfd/queue.h"
#include "emu/kfd/tree.h"
#include "emu/protocol.h"

#define KFD EMU_KFD_FOLDER
#define NODES KFD "/topology/nodes"
#define PROC KFD "/proc"
#define PARAMETERS "sys/module/amdgpu/parameters"
/* A root bus for the machine; each GPU is alone on a bus behind it. */
#define PCI_ROOT "pci0000:40"
#define PCI_FIRST_BUS 0x41
#define AMD 0x1002
#define SUBSYSTEM 0x0c34
#define PCI_CLASS 0x120000 /* a processing accelerator */
#define XGMI_MBYTES 50000
#define SIMDS 4
#define SIMD_ID_BASE 0x80001000u
#define HIVE 0x4750524545u

/* Bits of the capability property. */
#define CAP_WATCH_POINTS (0x80 | 2 << 8) /* four */
#define CAP_DOORBELL_64 (2 << 12)
#define CAP_DEBUG (0x8000 | 0x10000 | 0x20000 | 0x40000 | 0x20000000)
#define CAP_ECC (0x100000 | 0x200000 | 0x4000000)
#define CAP_REVISION_SHIFT 22

#define LINK_PCIE 2
#define LINK_XGMI 11
#define LINK_ENABLED 1
#define LINK_NON_COHERENT 2
#define PCIE_WEIGHT 20
#define XGMI_WEIGHT 15

/* The tree being written, and its first error. */
struct writer {
	struct emu_machine *m;
	const struct emu_chip *chip;
	const char *dir;
	int err;
};

#define put(w, path, ...)                                                        \
	do {                                                                     \
		if (!(w)->err)                                                   \
			(w)->err = emu_tree_file((w)->dir, (path), __VA_ARGS__); \
	} while (0)

uint32_t emu_topology_bus(uint32_t node)
{
	return PCI_FIRST_BUS + node;
}

/* The compute units of an array, rounded up to pairs. */
uint32_t emu_topology_array_cus(const struct emu_machine *m)
{
	uint32_t arrays = m->config.chip->nr_arrays;

	return (m->config.xcc_cus + 2 * arrays - 1) / (2 * arrays) * 2;
}

/* Unique across machines, as a chip's id is: tools that distribute GPUs identify them by it. */
uint64_t emu_topology_unique_id(const struct emu_machine *m, uint32_t node)
{
	uint64_t id = (uint64_t)getpid() << 16 | node;

	id = gp__hash(id, m->config.name, strlen(m->config.name));
	return (id + m->config.seed) * 0x9e3779b97f4a7c15;
}

/*
 * The processor's node, and links
 */

/* In MHz; 0 where it is unknown. */
static uint32_t cpu_mhz(void)
{
	FILE *f = fopen("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "re");
	uint32_t khz = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%u", &khz) != 1)
		khz = 0;
	fclose(f);
	return khz / 1000;
}

struct link {
	uint32_t from, to, type, weight, min_mbytes, max_mbytes, engines, flags;
};

static void put_link(struct writer *w, uint32_t number, const struct link *l)
{
	char path[128], engines[64] = "";

	if (!emu_is_6_1(w->m))
		snprintf(engines, sizeof(engines), "recommended_sdma_engine_id_mask %u\n",
			 l->engines);
	snprintf(path, sizeof(path), NODES "/%u/io_links/%u/properties", l->from, number);
	put(w, path,
	    "type %u\nversion_major 0\nversion_minor 0\nnode_from %u\nnode_to %u\nweight %u\n"
	    "min_latency 0\nmax_latency 0\nmin_bandwidth %u\nmax_bandwidth %u\n"
	    "recommended_transfer_size 0\n%sflags %u\n",
	    l->type, l->from, l->to, l->weight, l->min_mbytes, l->max_mbytes, engines, l->flags);
}

static void put_folders(struct writer *w, uint32_t node)
{
	static const char *const names[] = { "mem_banks", "caches", "io_links", "p2p_links",
					     "perf" };
	char path[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !w->err; i++) {
		snprintf(path, sizeof(path), NODES "/%u/%s", node, names[i]);
		w->err = emu_tree_folder(w->dir, path);
	}
}

/* Both directions; the processor's node has one link for each GPU. */
static void put_pcie(struct writer *w, uint32_t gpu)
{
	uint32_t node = w->m->node[gpu]->topology_node;
	struct link l = { .from = node,
			  .type = LINK_PCIE,
			  .weight = PCIE_WEIGHT,
			  .min_mbytes = 312,
			  .max_mbytes = w->chip->pcie_mbytes,
			  .engines = (1u << EMU_SDMA_ENGINES) - 1,
			  .flags = LINK_ENABLED };

	put_link(w, 0, &l);
	l.from = 0;
	l.to = node;
	l.flags |= LINK_NON_COHERENT;
	put_link(w, gpu, &l);
}

static void put_cpu(struct writer *w)
{
	uint64_t bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

	put_folders(w, 0);
	put(w, NODES "/0/gpu_id", "0\n");
	put(w, NODES "/0/name", "\n");
	put(w, NODES "/0/properties",
	    "cpu_cores_count %ld\nsimd_count 0\nmem_banks_count 1\ncaches_count 0\n"
	    "io_links_count %u\np2p_links_count 0\ncpu_core_id_base 0\nsimd_id_base 0\n"
	    "max_waves_per_simd 0\nlds_size_in_kb 0\ngds_size_in_kb 0\nnum_gws 0\n"
	    "wave_front_size 0\narray_count 0\nsimd_arrays_per_engine 0\ncu_per_simd_array 0\n"
	    "simd_per_cu 0\nmax_slots_scratch_cu 0\ngfx_target_version 0\nvendor_id 0\n"
	    "device_id 0\nlocation_id 0\ndomain 0\ndrm_render_minor 0\nhive_id 0\n"
	    "num_sdma_engines 0\nnum_sdma_xgmi_engines 0\nnum_sdma_queues_per_engine 0\n"
	    "num_cp_queues 0\n%smax_engine_clk_ccompute %u\n",
	    sysconf(_SC_NPROCESSORS_ONLN), w->m->config.nr_gpus,
	    emu_is_6_1(w->m) ? "" : "cwsr_size 0\nctl_stack_size 0\n", cpu_mhz());
	put(w, NODES "/0/mem_banks/0/properties",
	    "heap_type 0\nsize_in_bytes %llu\nflags 0\nwidth 0\nmem_clk_max 0\n",
	    (unsigned long long)bytes);
}

/*
 * A GPU's node
 */

static void put_cache(struct writer *w, uint32_t node, uint32_t number, const struct emu_cache *c,
		      uint32_t processor, const char *siblings)
{
	char path[128];

	snprintf(path, sizeof(path), NODES "/%u/caches/%u/properties", node, number);
	put(w, path,
	    "processor_id_low %u\nlevel %u\nsize %u\ncache_line_size %u\ncache_lines_per_tag 0\n"
	    "association 0\nlatency 0\ntype %u\nsibling_map %s\n",
	    processor, c->level, c->kbytes, c->line, c->type, siblings);
}

/* Appends "1,1,0,…" for a word with its first @n bits set. */
static void add_bits(char *buf, uint32_t n)
{
	char *s = buf + strlen(buf);

	for (uint32_t i = 0; i < 32; i++) {
		if (s != buf)
			*s++ = ',';
		*s++ = i < n ? '1' : '0';
	}
	*s = '\0';
}

/* The number of compute units that an array of an XCC really has. */
static uint32_t cus_of_array(const struct emu_config *config, uint32_t array)
{
	uint32_t arrays = config->chip->nr_arrays;

	return config->xcc_cus / arrays + (array < config->xcc_cus % arrays);
}

/* A cache of level 1 for each group of compute units. Returns the number of the next cache. */
static uint32_t put_near(struct writer *w, uint32_t node, uint32_t number,
			 const struct emu_cache *c, uint32_t processor)
{
	const struct emu_config *config = &w->m->config;
	uint32_t arrays = config->nr_xccs * config->chip->nr_arrays;

	for (uint32_t a = 0; a < arrays; a++) {
		uint32_t cus = cus_of_array(config, a % config->chip->nr_arrays);

		for (uint32_t cu = 0; cu < cus; cu += c->cus) {
			char siblings[32 * 2 + 1] = "";

			add_bits(siblings, cus - cu < c->cus ? cus - cu : c->cus);
			put_cache(w, node, number++, c, processor + cu, siblings);
		}
		processor += emu_topology_array_cus(w->m);
	}
	return number;
}

/* A cache that all compute units share. */
static void put_far(struct writer *w, uint32_t node, uint32_t number, const struct emu_cache *c,
		    uint32_t processor)
{
	const struct emu_config *config = &w->m->config;
	uint32_t arrays = config->nr_xccs * config->chip->nr_arrays;
	char siblings[EMU_XCCS_MAX * 8 * 32 * 2 + 1] = "";

	for (uint32_t a = 0; a < arrays; a++)
		add_bits(siblings, cus_of_array(config, a % config->chip->nr_arrays));
	put_cache(w, node, number, c, processor, siblings);
}

static uint32_t put_caches(struct writer *w, uint32_t node, uint32_t processor)
{
	uint32_t number = 0;

	for (size_t i = 0; i < sizeof(w->chip->cache) / sizeof(w->chip->cache[0]); i++) {
		const struct emu_cache *c = &w->chip->cache[i];

		if (c->level == 1)
			number = put_near(w, node, number, c, processor);
		else if (c->level)
			put_far(w, node, number++, c, processor);
	}
	return number;
}

static uint32_t put_links(struct writer *w, uint32_t gpu)
{
	uint32_t n = 1;

	put_pcie(w, gpu);
	for (uint32_t i = 0; i < w->m->config.nr_gpus; i++) {
		struct link l = { .from = w->m->node[gpu]->topology_node,
				  .to = w->m->node[i]->topology_node,
				  .type = LINK_XGMI,
				  .weight = XGMI_WEIGHT,
				  .min_mbytes = XGMI_MBYTES,
				  .max_mbytes = XGMI_MBYTES,
				  .engines = ((1u << EMU_SDMA_XGMI_ENGINES) - 1)
					     << EMU_SDMA_ENGINES,
				  .flags = LINK_ENABLED };

		if (i != gpu)
			put_link(w, n++, &l);
	}
	return n;
}

uint32_t emu_topology_capability(const struct emu_machine *m)
{
	uint32_t c = CAP_WATCH_POINTS | CAP_DOORBELL_64 | CAP_ECC |
		     m->config.chip->revision << CAP_REVISION_SHIFT;

	return emu_is_6_1(m) ? c : c | CAP_DEBUG;
}

uint32_t emu_topology_debug_prop(const struct emu_machine *m)
{
	const struct emu_chip *chip = m->config.chip;

	return chip->watch_low | chip->watch_high << 4 | (chip->ttmps ? 0x400 : 0);
}

void emu_topology_describe(const struct emu_machine *m, uint32_t node,
			   struct gp_kfd_device_snapshot *entry)
{
	const struct emu_config *c = &m->config;

	entry->location_id = emu_topology_bus(node) << 8;
	entry->vendor_id = entry->subsystem_vendor_id = AMD;
	entry->device_id = m->config.chip->device;
	entry->revision_id = m->config.chip->revision;
	entry->subsystem_device_id = SUBSYSTEM;
	entry->fw_version = m->config.chip->firmware;
	entry->gfx_target_version = m->config.chip->version;
	entry->simd_count = c->nr_xccs * c->xcc_cus * SIMDS;
	entry->max_waves_per_simd = c->chip->engine->simd_waves;
	entry->array_count = c->nr_xccs * c->chip->nr_arrays;
	entry->simd_arrays_per_engine = 1;
	entry->num_xcc = c->nr_xccs;
	entry->capability = emu_topology_capability(m);
	entry->debug_prop = emu_topology_debug_prop(m);
}

/* The properties between the DMA engines and the clocks, in kernels that have them. */
static void format_save(const struct emu_machine *m, char *buf, size_t n)
{
	struct emu_save_sizes sizes = emu_save_sizes(&m->config);

	if (emu_is_6_1(m))
		*buf = '\0';
	else
		snprintf(buf, n, "cwsr_size %llu\nctl_stack_size %u\n",
			 (unsigned long long)sizes.slice_bytes, sizes.ctl_bytes);
}

static void format_debug(const struct emu_machine *m, char *prop, size_t n, char *xccs, size_t nx)
{
	*prop = *xccs = '\0';
	if (emu_is_6_1(m))
		return;
	snprintf(prop, n, "debug_prop %u\n", emu_topology_debug_prop(m));
	snprintf(xccs, nx, "num_xcc %u\n", m->config.nr_xccs);
}

static void put_properties(struct writer *w, uint32_t gpu, uint32_t caches, uint32_t links,
			   uint32_t simd_base)
{
	const struct emu_config *c = &w->m->config;
	const struct emu_node *n = w->m->node[gpu];
	char path[128], save[80], prop[40], xccs[40];

	format_save(w->m, save, sizeof(save));
	format_debug(w->m, prop, sizeof(prop), xccs, sizeof(xccs));
	snprintf(path, sizeof(path), NODES "/%u/properties", n->topology_node);
	put(w, path,
	    "cpu_cores_count 0\nsimd_count %u\nmem_banks_count 1\ncaches_count %u\n"
	    "io_links_count %u\np2p_links_count 0\ncpu_core_id_base 0\nsimd_id_base %u\n"
	    "max_waves_per_simd %u\nlds_size_in_kb %u\ngds_size_in_kb 0\nnum_gws %u\n"
	    "wave_front_size 64\narray_count %u\nsimd_arrays_per_engine 1\n"
	    "cu_per_simd_array %u\nsimd_per_cu %u\nmax_slots_scratch_cu %u\n"
	    "gfx_target_version %u\nvendor_id %u\ndevice_id %u\nlocation_id %u\ndomain 0\n"
	    "drm_render_minor %u\nhive_id %llu\nnum_sdma_engines %u\n"
	    "num_sdma_xgmi_engines %u\nnum_sdma_queues_per_engine %u\nnum_cp_queues %u\n%s"
	    "max_engine_clk_fcompute %u\nlocal_mem_size 0\nfw_version %u\ncapability %u\n%s"
	    "sdma_fw_version %u\nunique_id %llu\n%smax_engine_clk_ccompute %u\n",
	    c->nr_xccs * c->xcc_cus * SIMDS, caches, links, simd_base, c->chip->engine->simd_waves,
	    c->chip->engine->group_lds_bytes / 1024, c->sched == EMU_SCHED_NONE ? 0 : EMU_GWS,
	    c->nr_xccs * c->chip->nr_arrays, emu_topology_array_cus(w->m), SIMDS,
	    c->chip->engine->cu_waves, w->chip->version, AMD, w->chip->device,
	    emu_topology_bus(gpu) << 8, n->render_minor,
	    c->nr_gpus > 1 ? (unsigned long long)HIVE : 0, EMU_SDMA_ENGINES, EMU_SDMA_XGMI_ENGINES,
	    EMU_SDMA_ENGINE_QUEUES, EMU_CP_QUEUES, save, w->chip->mhz, w->chip->firmware,
	    emu_topology_capability(w->m), prop, w->chip->sdma_firmware,
	    (unsigned long long)emu_topology_unique_id(w->m, gpu), xccs, cpu_mhz());
}

static void put_gpu(struct writer *w, uint32_t gpu)
{
	const struct emu_config *c = &w->m->config;
	const struct emu_node *n = w->m->node[gpu];
	uint32_t all_cus = c->chip->nr_arrays * emu_topology_array_cus(w->m);
	uint32_t simd_base = SIMD_ID_BASE + gpu * c->nr_xccs * all_cus;
	char path[128];

	put_folders(w, n->topology_node);
	snprintf(path, sizeof(path), NODES "/%u/gpu_id", n->topology_node);
	put(w, path, "%u\n", n->gpu_id);
	snprintf(path, sizeof(path), NODES "/%u/name", n->topology_node);
	put(w, path, "%s\n", w->chip->product);
	snprintf(path, sizeof(path), NODES "/%u/mem_banks/0/properties", n->topology_node);
	put(w, path, "heap_type 1\nsize_in_bytes %llu\nflags 0\nwidth %u\nmem_clk_max %u\n",
	    (unsigned long long)c->vram_bytes, w->chip->memory_width, w->chip->memory_mhz);
	put_properties(w, gpu, put_caches(w, n->topology_node, simd_base), put_links(w, gpu),
		       simd_base);
}

/*
 * The device in PCI and DRM, and the module
 */

static void put_device(struct writer *w, uint32_t gpu)
{
	static const struct {
		const char *name;
		uint32_t value;
	} ids[] = {
		{ "vendor", AMD },
		{ "subsystem_vendor", AMD },
		{ "subsystem_device", SUBSYSTEM },
	};
	uint32_t bus = emu_topology_bus(gpu);
	char at[80], path[160];

	snprintf(at, sizeof(at), "sys/devices/" PCI_ROOT "/0000:%02x:00.0", bus);
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", at, ids[i].name);
		put(w, path, "0x%04x\n", ids[i].value);
	}
	snprintf(path, sizeof(path), "%s/device", at);
	put(w, path, "0x%04x\n", w->chip->device);
	snprintf(path, sizeof(path), "%s/revision", at);
	put(w, path, "0x%02x\n", w->chip->revision);
	snprintf(path, sizeof(path), "%s/class", at);
	put(w, path, "0x%06x\n", PCI_CLASS);
	snprintf(path, sizeof(path), "%s/numa_node", at);
	put(w, path, "-1\n");
	snprintf(path, sizeof(path), "%s/unique_id", at);
	put(w, path, "%016llx\n", (unsigned long long)emu_topology_unique_id(w->m, gpu));
	snprintf(path, sizeof(path), "%s/mem_info_vram_total", at);
	put(w, path, "%llu\n", (unsigned long long)w->m->config.vram_bytes);
	snprintf(path, sizeof(path), "%s/uevent", at);
	put(w, path,
	    "DRIVER=amdgpu\nPCI_CLASS=%06X\nPCI_ID=%04X:%04X\nPCI_SUBSYS_ID=%04X:%04X\n"
	    "PCI_SLOT_NAME=0000:%02x:00.0\n",
	    PCI_CLASS, AMD, w->chip->device, AMD, SUBSYSTEM, bus);
}

static void put_symlink(struct writer *w, const char *path, const char *to)
{
	if (!w->err)
		w->err = emu_tree_link(w->dir, path, to);
}

/* A device file, in the folder of its GPU. */
static void put_minor(struct writer *w, uint32_t bus, const char *name, uint32_t minor)
{
	char at[80], path[160], to[160];

	snprintf(at, sizeof(at), "sys/devices/" PCI_ROOT "/0000:%02x:00.0/drm/%s%u", bus, name,
		 minor);
	snprintf(path, sizeof(path), "%s/dev", at);
	put(w, path, "%d:%u\n", EMU_DRM_MAJOR, minor);
	snprintf(path, sizeof(path), "%s/uevent", at);
	put(w, path, "MAJOR=%d\nMINOR=%u\nDEVNAME=dri/%s%u\nDEVTYPE=drm_minor\n", EMU_DRM_MAJOR,
	    minor, name, minor);
	snprintf(path, sizeof(path), "%s/device", at);
	snprintf(to, sizeof(to), "../../../0000:%02x:00.0", bus);
	put_symlink(w, path, to);
	snprintf(path, sizeof(path), "sys/class/drm/%s%u", name, minor);
	snprintf(to, sizeof(to), "../../devices/" PCI_ROOT "/0000:%02x:00.0/drm/%s%u", bus, name,
		 minor);
	put_symlink(w, path, to);
}

/* Other paths to the device. */
static void put_device_links(struct writer *w, uint32_t gpu)
{
	uint32_t bus = emu_topology_bus(gpu), minor = w->m->node[gpu]->render_minor;
	char path[160], to[160];

	/*
	 * libdrm takes two render nodes without a primary node for the same device. The primary
	 * node itself does not exist, as in a container.
	 */
	put_minor(w, bus, "card", gpu);
	put_minor(w, bus, "renderD", minor);
	snprintf(path, sizeof(path), "sys/devices/" PCI_ROOT "/0000:%02x:00.0/driver", bus);
	put_symlink(w, path, "../../../bus/pci/drivers/amdgpu");
	snprintf(path, sizeof(path), "sys/devices/" PCI_ROOT "/0000:%02x:00.0/subsystem", bus);
	put_symlink(w, path, "../../../bus/pci");
	snprintf(path, sizeof(path), "sys/bus/pci/devices/0000:%02x:00.0", bus);
	snprintf(to, sizeof(to), "../../../devices/" PCI_ROOT "/0000:%02x:00.0", bus);
	put_symlink(w, path, to);
	snprintf(to, sizeof(to), "../../devices/" PCI_ROOT "/0000:%02x:00.0/drm/renderD%u", bus,
		 minor);
	snprintf(path, sizeof(path), "sys/dev/char/%d:%u", EMU_DRM_MAJOR, minor);
	put_symlink(w, path, to);
	snprintf(path, sizeof(path), "dev/dri/renderD%u", minor);
	put(w, path, "%s", "");
}

static void put_mode(struct writer *w, const char *path, unsigned int mode)
{
	if (!w->err)
		w->err = emu_tree_mode(w->dir, path, mode);
}

/* Empty files: their content is written when they are opened. */
static void put_debugfs(struct writer *w)
{
	static const struct {
		const char *name;
		unsigned int mode;
	} files[] = { { "mqds", 0444 },
		      { "hqds", 0444 },
		      { "rls", 0444 },
		      { "hang_hws", 0200 },
		      { "mem_limit", 0200 } };
	char path[64];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", &EMU_DEBUGFS[1], files[i].name);
		put(w, path, "%s", "");
		put_mode(w, path, files[i].mode);
	}
}

static void put_module(struct writer *w)
{
	/*
	 * Parameters of amdkfd: constants here, and those that depend on the configuration below.
	 */
	static const struct {
		const char *name, *value;
		bool is_new; /* later than 6.1 */
		unsigned int mode;
	} constant[] = {
		{ "hws_max_conc_proc", "-1", false, 0444 },
		{ "send_sigterm", "0", false, 0444 },
		{ "halt_if_hws_hang", "0", false, 0644 },
		{ "hws_gws_support", "N", false, 0444 },
		{ "debug_evictions", "N", false, 0644 },
		{ "no_system_mem_limit", "N", false, 0644 },
		{ "no_queue_eviction_on_vm_fault", "0", false, 0444 },
		{ "mtype_local", "0", true, 0444 },
		{ "noretry", "-1", false, 0644 },
		{ "emu_mode", "0", false, 0444 },
		{ "debug_mask", "0", true, 0444 },
	};
	const struct emu_config *c = &w->m->config;
	char path[128];

	put(w, "sys/module/amdgpu/initstate", "live\n");
	put(w, "sys/module/amdgpu/refcnt", "0\n");
	for (size_t i = 0; i < sizeof(constant) / sizeof(constant[0]); i++) {
		if (constant[i].is_new && c->kernel == EMU_KERNEL_6_1)
			continue;
		snprintf(path, sizeof(path), PARAMETERS "/%s", constant[i].name);
		put(w, path, "%s\n", constant[i].value);
		put_mode(w, path, constant[i].mode);
	}
	put(w, PARAMETERS "/sched_policy", "%d\n", c->sched == EMU_SCHED_NONE ? 2 : 0);
	put(w, PARAMETERS "/mes", "%d\n", c->sched == EMU_SCHED_MES);
	put(w, PARAMETERS "/cwsr_enable", "%d\n", c->cwsr);
	if (c->kernel == EMU_KERNEL_GPREEMPT) {
		put(w, PARAMETERS "/kfd_sched", "%c\n", c->kfd_sched ? 'Y' : 'N');
		put(w, PARAMETERS "/kfd_preempt_aliases", "%c\n", c->preempt_aliases ? 'Y' : 'N');
	}
	put(w, PARAMETERS "/max_num_of_queues_per_device", "%u\n", EMU_QUEUES_PER_GPU_MAX);
	put(w, PARAMETERS "/queue_preemption_timeout_ms", "%u\n",
	    c->preempt_timeout_ms ? c->preempt_timeout_ms : EMU_PREEMPT_TIMEOUT_MS);
	put_mode(w, PARAMETERS "/queue_preemption_timeout_ms", 0644);
}

/* The host's modules, and amdgpu. */
static void put_modules(struct writer *w)
{
	FILE *f = fopen("/proc/modules", "re");
	char *text = NULL;
	size_t room = 0;
	ssize_t len = f ? getdelim(&text, &room, '\0', f) : -1;

	put(w, "proc/modules", "amdgpu 16777216 0 - Live 0x0000000000000000\n%s",
	    len > 0 ? text : "");
	free(text);
	if (f)
		fclose(f);
}

static void put_prefixes(struct writer *w)
{
	char text[4096] =
		"/sys/devices/virtual/kfd\n/sys/class/kfd\n/sys/class/drm\n"
		"/sys/module/amdgpu\n/sys/devices/" PCI_ROOT "\n/sys/bus/pci/drivers/amdgpu\n"
		"/proc/modules\n/dev/dri\n!" EMU_DEBUGFS "\n";

	for (uint32_t i = 0; i < w->m->config.nr_gpus; i++) {
		size_t len = strlen(text);

		snprintf(text + len, sizeof(text) - len,
			 "/sys/dev/char/%d:%u\n/sys/bus/pci/devices/0000:%02x:00.0\n",
			 EMU_DRM_MAJOR, w->m->node[i]->render_minor, emu_topology_bus(i));
	}
	put(w, EMU_SYSFS_PREFIXES, "%s", text);
}

int emu_topology_init(struct emu_machine *m)
{
	struct writer w = { .m = m, .chip = m->config.chip, .dir = m->config.dir };

	put(&w, KFD "/topology/generation_id", "%u\n", m->config.nr_gpus + 1);
	put(&w, KFD "/topology/system_properties",
	    "platform_oem 0\nplatform_id 0\nplatform_rev 0\n");
	put(&w, KFD "/dev", "%d:%d\n", EMU_KFD_MAJOR, EMU_KFD_MINOR);
	put(&w, KFD "/uevent", "MAJOR=%d\nMINOR=%d\nDEVNAME=kfd\n", EMU_KFD_MAJOR, EMU_KFD_MINOR);
	put_mode(&w, KFD "/uevent", 0644);
	if (!w.err)
		w.err = emu_tree_folder(w.dir, PROC);
	put_symlink(&w, KFD "/subsystem", "../../../../class/kfd");
	put_symlink(&w, "sys/class/kfd/kfd", "../../devices/virtual/kfd/kfd");
	put_cpu(&w);
	for (uint32_t i = 0; i < m->config.nr_gpus; i++) {
		put_gpu(&w, i);
		put_device(&w, i);
		put_device_links(&w, i);
	}
	if (!w.err)
		w.err = emu_tree_folder(w.dir, "sys/bus/pci/drivers/amdgpu");
	put_debugfs(&w);
	for (uint32_t i = 0; m->config.kfd_sched && i < m->config.nr_gpus && !w.err; i++)
		w.err = emu_priority_add_files(m->node[i]);
	put_module(&w);
	put_modules(&w);
	put_prefixes(&w);
	if (w.err)
		fprintf(stderr, "%s: cannot write the files of sysfs: %s\n", w.dir,
			strerror(-w.err));
	return w.err;
}
