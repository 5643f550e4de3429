// SPDX-License-Identifier: MIT
/*
 * Maps the indices of channels: memory of the program on the GPU, which we map once more for
 * ourselves. A read of it goes over the bus and takes about a microsecond.
 */
#include "device/nvrm/owned.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096u

static uint32_t device_of(struct gp__nvrm_owner *o, const struct gp__nvrm_object *channel)
{
	const struct gp__nvrm_object *group = gp__nvrm_find(o, channel->client, channel->parent);

	return group ? group->parent : 0;
}

void gp__nvrm_unmap(struct gp__nvrm_owner *o, struct gp__nvrm_object *channel)
{
	struct gp__nvrm_userd *u = &channel->userd;
	const struct gp__nvrm_object *c = gp__nvrm_find(o, channel->client, channel->client);
	struct gp__nvrm_unmap args = { .client = channel->client,
				       .device = device_of(o, channel),
				       .memory = u->memory,
				       .address = u->address };

	if (channel->kind != GP__NVRM_CHANNEL || !u->page)
		return;
	munmap(u->page, PAGE);
	u->page = NULL;
	/* The RM has forgotten the mapping if its client or device is gone. */
	if (c && args.device)
		o->next(c->fd, GP__NVRM_UNMAP, &args);
	close(u->fd);
}

static int map(struct gp__nvrm_owner *o, struct gp__nvrm_object *channel, const char *node)
{
	struct gp__nvrm_userd *u = &channel->userd;
	const struct gp__nvrm_object *c = gp__nvrm_find(o, channel->client, channel->client);
	struct gp__nvrm_map args = { .client = channel->client,
				     .device = device_of(o, channel),
				     .memory = u->memory,
				     .offset = u->offset & ~(uint64_t)(PAGE - 1),
				     .length = PAGE };
	void *page = MAP_FAILED;
	int err;

	if (u->page)
		return 0;
	if (!c || !args.device || !u->memory || u->offset % 4 ||
	    u->offset % PAGE > PAGE - GP__NVRM_USERD_BYTES)
		return -EOPNOTSUPP;
	u->fd = open(node, O_RDWR | O_CLOEXEC);
	if (u->fd < 0)
		return -errno;
	args.fd = u->fd;
	err = o->next(c->fd, GP__NVRM_MAP, &args) < 0 ? -errno : args.status ? -EIO : 0;
	if (!err) {
		page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, u->fd, 0);
		err = page == MAP_FAILED ? -errno : 0;
	}
	if (err) {
		close(u->fd);
		return err;
	}
	u->page = page;
	u->address = args.address;
	return 0;
}

int gp__nvrm_owner_map(struct gp__nvrm_owner *o, uint32_t id, const char *node,
		       struct gp__nvrm_ring *rings, size_t max)
{
	const struct gp__nvrm_object *g;
	int n = 0, err = -ENOENT;

	pthread_mutex_lock(&o->lock);
	g = gp__nvrm_find_group(o, id);
	for (struct gp__nvrm_object *x = g ? o->objects : NULL; x; x = x->next) {
		if (!gp__nvrm_is_kind(x, GP__NVRM_CHANNEL) || !gp__nvrm_is_in(x, g))
			continue;
		err = (size_t)n < max ? map(o, x, node) : -ENOSPC;
		if (err)
			break;
		rings[n++] = (struct gp__nvrm_ring){
			.userd = (const volatile uint32_t *)((const char *)x->userd.page +
							     x->userd.offset % PAGE),
			.at = x->userd.ring,
			.entries = x->userd.entries,
		};
	}
	pthread_mutex_unlock(&o->lock);
	return err ? err : n;
}

void gp__nvrm_owner_unmap(struct gp__nvrm_owner *o, uint32_t id)
{
	const struct gp__nvrm_object *g;

	pthread_mutex_lock(&o->lock);
	g = gp__nvrm_find_group(o, id);
	for (struct gp__nvrm_object *x = g ? o->objects : NULL; x; x = x->next) {
		if (gp__nvrm_is_kind(x, GP__NVRM_CHANNEL) && gp__nvrm_is_in(x, g))
			gp__nvrm_unmap(o, x);
	}
	pthread_mutex_unlock(&o->lock);
}
