// SPDX-License-Identifier: MIT
/* Calls whose arguments are right but for one thing, in the order in which the driver looks. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "probe.h"

#define KERNEL_ADDRESS 0xffff800000000000ULL
#define ODD_ADDRESS 0x1000

static char ring[4096] __attribute__((aligned(4096)));
static uint64_t pointers[2];

/*
 * Queues
 */

static struct gp_kfd_create_queue good_queue(void)
{
	return (struct gp_kfd_create_queue){
		.ring_base_address = (uintptr_t)ring,
		.ring_size = sizeof(ring),
		.read_pointer_address = (uintptr_t)&pointers[0],
		.write_pointer_address = (uintptr_t)&pointers[1],
		.queue_type = GP_KFD_QUEUE_COMPUTE_AQL,
		.queue_percentage = 100,
		.queue_priority = 7,
		.gpu_id = PROBE_NO_GPU,
	};
}

#define CREATE(name, field, value)                                           \
	do {                                                                 \
		struct gp_kfd_create_queue q = good_queue();                 \
                                                                             \
		q.field = (value);                                           \
		probe_ask(p, "create-queue/" name, GP_KFD_CREATE_QUEUE, &q); \
	} while (0)

static void create_queues(const struct probe *p)
{
	struct gp_kfd_create_queue small = good_queue();
	char text[PROBE_RESULT_MAX];
	int result;

	CREATE("unknown-gpu", gpu_id, PROBE_NO_GPU);
	CREATE("gpu-0", gpu_id, 0);
	CREATE("percentage-101", queue_percentage, 101);
	CREATE("percentage-256", queue_percentage, 256);
	CREATE("priority-16", queue_priority, 16);
	CREATE("ring-of-kernel", ring_base_address, KERNEL_ADDRESS);
	CREATE("ring-nowhere", ring_base_address, ODD_ADDRESS);
	CREATE("size-3000", ring_size, 3000);
	CREATE("size-0", ring_size, 0);
	CREATE("read-pointer-of-kernel", read_pointer_address, KERNEL_ADDRESS);
	CREATE("write-pointer-of-kernel", write_pointer_address, KERNEL_ADDRESS);
	CREATE("eop-of-kernel", eop_buffer_address, KERNEL_ADDRESS);
	CREATE("save-area-of-kernel", ctx_save_restore_address, KERNEL_ADDRESS);
	for (unsigned int type = 0; type < 7; type++) {
		struct gp_kfd_create_queue q = good_queue();
		char name[32];

		q.queue_type = type;
		snprintf(name, sizeof(name), "create-queue/type-%u", type);
		probe_ask(p, name, GP_KFD_CREATE_QUEUE, &q);
	}
	small.ring_size = 16;
	result = probe_ioctl(p, GP_KFD_CREATE_QUEUE, &small);
	probe_say(p, "create-queue/small-ring", "%s size %u", probe_result(text, result),
		  small.ring_size);
}

#define UPDATE(name, ...)                                                              \
	do {                                                                           \
		struct gp_kfd_update_queue u = { .ring_base_address = (uintptr_t)ring, \
						 .ring_size = sizeof(ring),            \
						 .queue_percentage = 100,              \
						 .queue_priority = 7,                  \
						 .queue_id = PROBE_NO_QUEUE };         \
                                                                                       \
		__VA_ARGS__;                                                           \
		probe_ask(p, "update-queue/" name, GP_KFD_UPDATE_QUEUE, &u);           \
	} while (0)

static void update_queues(const struct probe *p)
{
	struct gp_kfd_destroy_queue d = { .queue_id = PROBE_NO_QUEUE };
	struct gp_kfd_get_queue_wave_state w = { .queue_id = PROBE_NO_QUEUE };
	struct gp_kfd_alloc_queue_gws g = { .queue_id = PROBE_NO_QUEUE, .num_gws = 1 };

	UPDATE("unknown", (void)u);
	UPDATE("stop", u.queue_percentage = 0);
	UPDATE("percentage-101", u.queue_percentage = 101);
	UPDATE("priority-16", u.queue_priority = 16);
	UPDATE("size-3000", u.ring_size = 3000);
	UPDATE("size-16", u.ring_size = 16);
	UPDATE("ring-of-kernel", u.ring_base_address = KERNEL_ADDRESS);
	UPDATE("no-ring", u.ring_base_address = 0);
	UPDATE("id-of-ones", u.queue_id = UINT_MAX);
	probe_ask(p, "destroy-queue/unknown", GP_KFD_DESTROY_QUEUE, &d);
	d.queue_id = UINT_MAX;
	probe_ask(p, "destroy-queue/ones", GP_KFD_DESTROY_QUEUE, &d);
	probe_ask(p, "wave-state/unknown", GP_KFD_GET_QUEUE_WAVE_STATE, &w);
	w.ctl_stack_address = (uintptr_t)ring;
	probe_ask(p, "wave-state/with-room", GP_KFD_GET_QUEUE_WAVE_STATE, &w);
	probe_ask(p, "queue-gws/unknown", GP_KFD_ALLOC_QUEUE_GWS, &g);
}

static void mask_queues(const struct probe *p)
{
	static const unsigned int sizes[] = { 0, 1, 31, 32, 33, 64, 1024, 1056, 0xffffffe0 };
	static uint32_t mask[40];
	struct gp_kfd_set_cu_mask m = { .queue_id = PROBE_NO_QUEUE };
	char name[40];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		m.num_cu_mask = sizes[i];
		m.cu_mask_ptr = (uintptr_t)mask;
		snprintf(name, sizeof(name), "cu-mask/%u-bits", sizes[i]);
		probe_ask(p, name, GP_KFD_SET_CU_MASK, &m);
		m.cu_mask_ptr = ODD_ADDRESS;
		snprintf(name, sizeof(name), "cu-mask/%u-bits-nowhere", sizes[i]);
		probe_ask(p, name, GP_KFD_SET_CU_MASK, &m);
	}
}

/*
 * Memory
 */

static void allocate(const struct probe *p)
{
	static const struct {
		const char *name;
		uint32_t flags;
	} kinds[] = {
		{ "none", 0 },
		{ "vram", GP_KFD_MEM_VRAM | GP_KFD_MEM_WRITABLE },
		{ "gtt", GP_KFD_MEM_GTT },
		{ "userptr", GP_KFD_MEM_USERPTR },
		{ "doorbell", GP_KFD_MEM_DOORBELL },
		{ "mmio", GP_KFD_MEM_MMIO_REMAP },
		{ "all", ~0u },
	};
	char name[40];

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct gp_kfd_alloc_memory a = { .va_addr = 0x200000000,
						 .size = 4096,
						 .mmap_offset = (uintptr_t)ring,
						 .flags = kinds[i].flags,
						 .gpu_id = PROBE_NO_GPU };

		snprintf(name, sizeof(name), "alloc-memory/%s", kinds[i].name);
		probe_ask(p, name, GP_KFD_ALLOC_MEMORY, &a);
		a.size = 0;
		snprintf(name, sizeof(name), "alloc-memory/%s-of-0", kinds[i].name);
		probe_ask(p, name, GP_KFD_ALLOC_MEMORY, &a);
	}
}

static void map(const struct probe *p, const char *verb, unsigned long request)
{
	static uint32_t ids[2] = { PROBE_NO_GPU, PROBE_NO_GPU };
	const struct {
		const char *name;
		uint64_t ids;
		uint32_t n, done;
	} cases[] = {
		{ "no-devices", (uintptr_t)ids, 0, 0 },
		{ "unknown", (uintptr_t)ids, 1, 0 },
		{ "too-many-done", (uintptr_t)ids, 1, 2 },
		{ "all-done", (uintptr_t)ids, 2, 2 },
		{ "ids-nowhere", ODD_ADDRESS, 1, 0 },
		{ "ids-of-kernel", KERNEL_ADDRESS, 1, 0 },
		{ "null-ids", 0, 1, 0 },
		{ "many", (uintptr_t)ids, 100000, 0 },
	};
	char name[48], text[PROBE_RESULT_MAX];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct gp_kfd_map_memory m = { .handle = (uint64_t)PROBE_NO_GPU << 32 | 1,
					       .device_ids_array_ptr = cases[i].ids,
					       .n_devices = cases[i].n,
					       .n_success = cases[i].done };
		int result = probe_ioctl(p, request, &m);

		snprintf(name, sizeof(name), "%s/%s", verb, cases[i].name);
		probe_say(p, name, "%s done %u", probe_result(text, result), m.n_success);
	}
}

static void dmabufs(const struct probe *p)
{
	int memfd = memfd_create("probe", MFD_CLOEXEC);
	struct gp_kfd_get_dmabuf_info info = { .dmabuf_fd = UINT_MAX };
	struct gp_kfd_import_dmabuf import = { .gpu_id = PROBE_NO_GPU, .dmabuf_fd = UINT_MAX };
	struct gp_kfd_export_dmabuf export = { .handle = (uint64_t)PROBE_NO_GPU << 32 | 1 };
	struct gp_kfd_free_memory f = { .handle = (uint64_t)PROBE_NO_GPU << 32 | 1 };

	probe_ask(p, "dmabuf-info/no-descriptor", GP_KFD_GET_DMABUF_INFO, &info);
	info.dmabuf_fd = (uint32_t)memfd;
	probe_ask(p, "dmabuf-info/memfd", GP_KFD_GET_DMABUF_INFO, &info);
	probe_ask(p, "import/no-descriptor", GP_KFD_IMPORT_DMABUF, &import);
	import.dmabuf_fd = (uint32_t)memfd;
	probe_ask(p, "import/memfd", GP_KFD_IMPORT_DMABUF, &import);
	probe_ask(p, "export/unknown", GP_KFD_EXPORT_DMABUF, &export);
	probe_ask(p, "free-memory/unknown", GP_KFD_FREE_MEMORY, &f);
	f.handle = 0;
	probe_ask(p, "free-memory/0", GP_KFD_FREE_MEMORY, &f);
	close(memfd);
}

/*
 * The process on a GPU
 */

static void policies(const struct probe *p)
{
	for (unsigned int i = 0; i < 9; i++) {
		struct gp_kfd_set_memory_policy m = { .gpu_id = PROBE_NO_GPU,
						      .default_policy = i % 3,
						      .alternate_policy = i / 3 };
		char name[32];

		snprintf(name, sizeof(name), "memory-policy/%u-%u", i % 3, i / 3);
		probe_ask(p, name, GP_KFD_SET_MEMORY_POLICY, &m);
	}
}

static void acquire(const struct probe *p)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct gp_kfd_acquire_vm a = { .drm_fd = UINT_MAX, .gpu_id = PROBE_NO_GPU };

	probe_ask(p, "acquire-vm/no-descriptor", GP_KFD_ACQUIRE_VM, &a);
	a.drm_fd = (uint32_t)null;
	probe_ask(p, "acquire-vm/dev-null", GP_KFD_ACQUIRE_VM, &a);
	a.drm_fd = (uint32_t)p->kfd;
	probe_ask(p, "acquire-vm/kfd", GP_KFD_ACQUIRE_VM, &a);
	close(null);
}

static void of_a_gpu(const struct probe *p)
{
	struct gp_kfd_set_scratch_backing_va scratch = { .gpu_id = PROBE_NO_GPU };
	struct gp_kfd_get_tile_config tile = { .gpu_id = PROBE_NO_GPU };
	struct gp_kfd_set_trap_handler trap = { .gpu_id = PROBE_NO_GPU, .tba_addr = ODD_ADDRESS };
	struct gp_kfd_get_available_memory memory = { .gpu_id = PROBE_NO_GPU };
	struct gp_kfd_smi_events smi = { .gpu_id = PROBE_NO_GPU };

	probe_ask(p, "scratch-backing-va", GP_KFD_SET_SCRATCH_BACKING_VA, &scratch);
	probe_ask(p, "tile-config", GP_KFD_GET_TILE_CONFIG, &tile);
	probe_ask(p, "trap-handler", GP_KFD_SET_TRAP_HANDLER, &trap);
	probe_ask(p, "available-memory", GP_KFD_AVAILABLE_MEMORY, &memory);
	probe_ask(p, "smi-events", GP_KFD_SMI_EVENTS, &smi);
}

static void apertures(const struct probe *p)
{
	static struct gp_kfd_apertures room[4];
	const struct {
		const char *name;
		uint64_t to;
		uint32_t n;
	} cases[] = {
		{ "count", 0, 0 },
		{ "room-for-1", (uintptr_t)room, 1 },
		{ "room-for-2", (uintptr_t)room, 2 },
		{ "room-for-4", (uintptr_t)room, 4 },
		{ "null-for-1", 0, 1 },
		{ "nowhere-for-1", ODD_ADDRESS, 1 },
	};
	char name[48], text[PROBE_RESULT_MAX];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct gp_kfd_get_apertures a = { .apertures_ptr = cases[i].to,
						  .num_of_nodes = cases[i].n };
		int result = probe_ioctl(p, GP_KFD_GET_APERTURES, &a);

		snprintf(name, sizeof(name), "apertures/%s", cases[i].name);
		probe_say(p, name, "%s nodes %u", probe_result(text, result), a.num_of_nodes);
	}
}

/*
 * Shared virtual memory, and who may checkpoint
 */

#define ATTRIBUTES 2
#define SVM_BYTES (sizeof(struct gp_kfd_svm) + ATTRIBUTES * sizeof(struct gp_kfd_svm_attribute))

static void svm(const struct probe *p)
{
	const unsigned long request = _IOC(_IOC_READ | _IOC_WRITE, GP_KFD_MAGIC, 0x20, SVM_BYTES);
	struct gp_kfd_svm *a = probe_edge(SVM_BYTES, PROT_READ | PROT_WRITE);

	*a = (struct gp_kfd_svm){ .start_addr = (uintptr_t)ring,
				  .size = sizeof(ring),
				  .nattr = ATTRIBUTES };
	probe_ask(p, "svm/set", request, a);
	a->op = 1;
	probe_ask(p, "svm/get", request, a);
	a->op = 2;
	probe_ask(p, "svm/unknown-op", request, a);
	a->nattr = ATTRIBUTES + 1;
	probe_ask(p, "svm/more-attributes-than-bytes", request, a);
	a->nattr = 0x20000000;
	probe_ask(p, "svm/attributes-that-overflow", request, a);
	probe_ask(p, "svm/attributes-not-sent", GP_KFD_SVM, a);
}

static void xnack(const struct probe *p)
{
	static const int modes[] = { -1, 0, 1, 2, INT_MIN };
	char name[32], text[PROBE_RESULT_MAX];

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		struct gp_kfd_set_xnack_mode x = { .xnack_enabled = modes[i] };
		int result = probe_ioctl(p, GP_KFD_SET_XNACK_MODE, &x);

		snprintf(name, sizeof(name), "xnack/%d", modes[i]);
		probe_say(p, name, "%s now %d", probe_result(text, result), x.xnack_enabled);
	}
}

/* RESUME of a process that uses no GPU is not asked for: the driver does not survive it. */
static void criu(const struct probe *p)
{
	char name[32];

	for (unsigned int op = 0; op < 6; op++) {
		struct gp_kfd_criu c = { .op = op, .pid = INT_MAX };

		snprintf(name, sizeof(name), "criu/%u-without-room", op);
		probe_ask(p, name, GP_KFD_CRIU, &c);
		c.devices = c.bos = c.priv_data = (uintptr_t)ring;
		snprintf(name, sizeof(name), "criu/%u-with-room", op);
		probe_ask(p, name, GP_KFD_CRIU, &c);
	}
}

void probe_ids(const struct probe *p)
{
	create_queues(p);
	update_queues(p);
	mask_queues(p);
	allocate(p);
	map(p, "map-memory", GP_KFD_MAP_MEMORY);
	map(p, "unmap-memory", GP_KFD_UNMAP_MEMORY);
	dmabufs(p);
	policies(p);
	acquire(p);
	of_a_gpu(p);
	apertures(p);
	svm(p);
	xnack(p);
	criu(p);
}
