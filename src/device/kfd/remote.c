// SPDX-License-Identifier: MIT
#include "device/kfd/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/kfd/waves.h"

/* Packets that nobody works on count for a shorter time than in the monitor: whoever asks holds
 * others meanwhile. */
#define DOUBT_NS ((uint64_t)100000000)

static const struct gp__ring_patience patience = { GP__RING_GRACE_NS, GP__RING_BLIND_NS, DOUBT_NS,
						   GP__RING_LIMIT_NS };

int gp__kfd_remote_open(struct gp__kfd_remote *r, pid_t pid)
{
	char path[32];

	*r = (struct gp__kfd_remote){ .pid = pid };
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	r->mem = open(path, O_RDONLY | O_CLOEXEC);
	return r->mem < 0 ? -errno : 0;
}

void gp__kfd_remote_close(struct gp__kfd_remote *r)
{
	if (r->mem >= 0)
		close(r->mem);
	free(r->queue);
	*r = (struct gp__kfd_remote){ .mem = -1 };
}

bool gp__kfd_remote_identify(pid_t pid, uint32_t id, uint64_t *identity)
{
	struct stat file;
	char path[96];
	bool is_there;
	int fd;

	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d/queues/%u/gpuid", (int)pid, id);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	is_there = !fstat(fd, &file);
	*identity = is_there ? file.st_ino : 0;
	close(fd);
	return is_there;
}

static struct gp__kfd_remote_queue *find(const struct gp__kfd_remote *r, uint32_t id)
{
	for (size_t i = 0; i < r->nr; i++) {
		if (r->queue[i].id == id)
			return &r->queue[i];
	}
	return NULL;
}

static struct gp__kfd_remote_queue *append(struct gp__kfd_remote *r)
{
	void *more = reallocarray(r->queue, r->nr + 1, sizeof(*r->queue));

	if (!more)
		return NULL;
	r->queue = more;
	return &r->queue[r->nr++];
}

static enum gp__ring_kind kind_of(uint32_t type)
{
	if (type == GP_KFD_QUEUE_COMPUTE_AQL)
		return GP__RING_AQL;
	return type == GP_KFD_QUEUE_COMPUTE ? GP__RING_PM4 : GP__RING_SDMA;
}

int gp__kfd_remote_add(struct gp__kfd_remote *r, const struct gp__kfd_queue_info *info)
{
	struct gp__kfd_remote_queue *q = find(r, info->id);
	uint64_t identity;

	if (!gp__kfd_remote_identify(r->pid, info->id, &identity))
		return -ENOENT;
	if (!q)
		q = append(r);
	if (!q)
		return -ENOMEM;
	*q = (struct gp__kfd_remote_queue){
		.id = info->id,
		.gpu_id = info->gpu_id,
		.identity = identity,
		.place = { info->ring, info->ring_bytes, info->read_index, info->write_index,
			   kind_of(info->type) },
	};
	return 0;
}

bool gp__kfd_remote_has(const struct gp__kfd_remote *r, uint32_t id)
{
	const struct gp__kfd_remote_queue *q = find(r, id);
	uint64_t identity;

	return q && gp__kfd_remote_identify(r->pid, id, &identity) && identity == q->identity;
}

static bool read_memory(void *data, uint64_t address, void *to, size_t bytes)
{
	const struct gp__kfd_remote *r = data;
	bool is_there = pread(r->mem, to, bytes, (off_t)address) == (ssize_t)bytes;

	/* The next word must not be older than this one. */
	atomic_thread_fence(memory_order_acquire);
	return is_there;
}

int gp__kfd_remote_look(struct gp__kfd_remote *r, uint32_t id, bool held, uint64_t now)
{
	const struct gp__ring_reader reader = { read_memory, r };
	struct gp__kfd_remote_queue *q = find(r, id);
	struct gp__ring_reading reading;
	struct gp__ring_sight *sight = &reading.sight;
	bool has_moved;

	if (!q || !gp__kfd_remote_has(r, id))
		return -ENOENT;
	gp__ring_begin(&reading, &q->ring, &q->place, !held, !held);
	gp__ring_read(&reading, &reader);
	if (sight->error == -EFAULT)
		return -EFAULT;
	if (gp__ring_asks_waves(&q->ring, sight, &patience, now))
		sight->waves = gp__kfd_waves(r->pid, q->gpu_id, id);
	has_moved = q->was_seen && !sight->error && gp__ring_has_moved(&q->ring, sight);
	gp__ring_look(&q->ring, sight, &patience, now);
	q->was_seen = true;
	return q->ring.is_busy || has_moved;
}
