// SPDX-License-Identifier: MIT
#include "emu/kfd/machine.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "emu/kfd/buffer.h"
#include "emu/kfd/node.h"
#include "emu/kfd/priority.h"
#include "emu/kfd/topology.h"
#include "emu/kfd/trace.h"

#define MILLION 1000000
#define MAPPINGS 65530 /* of a process, by the default vm.max_map_count */
#define MEMORY_FILES 256 /* descriptors of buffers, before arenas are used */

struct emu_save_sizes emu_save_sizes(const struct emu_config *config)
{
	const struct emu_gpu_shape shape = {
		.nr_xccs = config->nr_xccs,
		.xcc_cus = config->xcc_cus,
		.nr_arrays = config->chip->nr_arrays,
		.engine_arrays = 1,
	};

	return config->chip->engine->save_sizes(&shape);
}

static uint64_t host_bytes(void)
{
	uint64_t bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

	return bytes / 16 * 15;
}

/* Limits the descriptors of this process that buffers take. */
static uint32_t most_memory_files(void)
{
	struct rlimit r;

	if (!getrlimit(RLIMIT_NOFILE, &r) && r.rlim_cur / 4 < MEMORY_FILES)
		return (uint32_t)r.rlim_cur / 4;
	return MEMORY_FILES;
}

static int make_nodes(struct emu_machine *m)
{
	for (uint32_t i = 0; i < m->config.nr_gpus; i++) {
		m->node[i] = emu_node_new(m, i);
		if (!m->node[i])
			return -ENOMEM;
		if (m->config.kfd_sched && emu_priority_start(m->node[i])) {
			fprintf(stderr,
				"cannot start the scheduler of GPU %u: out of memory or threads\n",
				i);
			return -ENOMEM;
		}
	}
	return 0;
}

int emu_machine_init(struct emu_machine *m, const struct emu_config *config)
{
	int err;

	*m = (struct emu_machine){ .config = *config,
				   .next_file = 1,
				   .next_pasid = 1,
				   .listen_fd = -1,
				   .epoll_fd = -1,
				   .max_buffers = MAPPINGS / 2, /* one client may not take all */
				   .max_memory_files = most_memory_files(),
				   .gtt_bytes = host_bytes() };
	m->random = config->seed;
	pthread_mutex_init(&m->lock, NULL);
	pthread_mutex_init(&m->shared_lock, NULL);
	err = make_nodes(m);
	if (!err)
		err = emu_topology_init(m);
	if (err)
		emu_machine_destroy(m);
	return err;
}

void emu_machine_destroy(struct emu_machine *m)
{
	for (uint32_t i = 0; i < EMU_GPUS_MAX; i++) {
		if (m->node[i]) {
			emu_priority_end(m->node[i]);
			emu_node_free(m->node[i]);
		}
		m->node[i] = NULL;
	}
	emu_trace_end(m);
	if (m->listen_fd >= 0)
		close(m->listen_fd);
	if (m->epoll_fd >= 0)
		close(m->epoll_fd);
	emu_shared_forget(m);
	pthread_mutex_destroy(&m->shared_lock);
	pthread_mutex_destroy(&m->lock);
}

struct emu_node *emu_machine_node(struct emu_machine *m, uint32_t gpu_id)
{
	for (uint32_t i = 0; i < m->config.nr_gpus; i++) {
		if (m->node[i]->gpu_id == gpu_id)
			return m->node[i];
	}
	return NULL;
}

/* splitmix64: each caller takes its own step, so that threads need no lock. */
static uint64_t next_random(struct emu_machine *m)
{
	uint64_t z = atomic_fetch_add(&m->random, 0x9e3779b97f4a7c15) + 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

bool emu_chance(struct emu_machine *m, uint32_t millionths)
{
	return millionths && next_random(m) % MILLION < millionths;
}
