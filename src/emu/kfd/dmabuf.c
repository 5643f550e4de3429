// SPDX-License-Identifier: MIT
/*
 * Memory outside its process: mmap of render nodes, and buffers that are shared between processes.
 *
 * An export is the memory's own descriptor; an import recognises it by its inode. A descriptor
 * alone keeps the bytes, as a dmabuf does, and the machine remembers their properties; but they do
 * not count as used memory until they are imported.
 *
 * Memory of an arena has no descriptor of its own. An empty memfd of the same size represents it.
 * Its combination of seals is unique (EMU_TOKEN_SEALS), so the preload recognises it and asks the
 * machine when it is mapped. Outside the machine it cannot be written, and it keeps no bytes: it
 * can be imported for as long as a buffer has the memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu/kfd/buffer.h"
#include "emu/kfd/call.h"
#include "emu/kfd/node.h"
#include "emu/kfd/process.h"
#include "emu/protocol.h"
#include "gpreempt/uapi/gpreempt_kfd.h"

#define KINDS (GP_KFD_MEM_VRAM | GP_KFD_MEM_GTT)

int emu_memory_mmap(struct emu_call *call, const struct emu_file *f, const struct emu_message *msg,
		    struct emu_message *reply, int *fd)
{
	struct emu_process *p = call->process;
	uint64_t id = msg->offset >> EMU_MMAP_SHIFT;
	uint64_t offset = msg->offset & ((1ULL << EMU_MMAP_SHIFT) - 1);
	struct emu_buffer *b;
	int err = 0;

	pthread_mutex_lock(&p->lock);
	b = id ? emu_table_find(&p->memory.buffers[f->node], id - 1) : NULL;
	if (!b || !(b->flags & KINDS))
		err = -EINVAL;
	/* Limited to what the file of the address space may see. */
	else if (p->node[f->node].render_file != f->id)
		err = -EACCES;
	else if (offset > b->memory->bytes || msg->length > b->memory->bytes - offset)
		err = -EINVAL;
	if (!err) {
		*fd = fcntl(b->memory->fd, F_DUPFD_CLOEXEC, 0);
		err = *fd < 0 ? -ENOMEM : 0;
	}
	pthread_mutex_unlock(&p->lock);
	reply->offset = b ? b->memory->offset + offset : 0;
	return err;
}

/*
 * Remembered memory is in use again, through the client's descriptor. If that cannot change its
 * size, it is ours: inodes may be reused. False: out of descriptors.
 */
static bool revive(struct emu_shared *s, int fd, const struct stat *st)
{
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || !(seals & F_SEAL_SHRINK) || (uint64_t)st->st_size != s->bytes)
		return false;
	s->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (s->fd < 0)
		return false;
	atomic_fetch_add(&s->m->nr_memory_files, 1);
	/* The memory exists, so it counts even beyond the limit. */
	if (s->account)
		atomic_fetch_add(s->account, s->counted);
	return true;
}

/* The descriptor that represents exported memory; -1: none. */
static int exported_fd(const struct emu_shared *s)
{
	return s->arena ? s->token_fd : s->fd;
}

/* The exported memory behind a client's descriptor, with a reference; NULL: not one of ours. */
static struct emu_shared *find_exported(struct emu_machine *m, int fd)
{
	struct emu_shared *s;
	struct stat st;

	if (fstat(fd, &st))
		return NULL;
	pthread_mutex_lock(&m->shared_lock);
	for (s = m->shared; s; s = s->next) {
		if (s->dev == st.st_dev && s->ino == st.st_ino)
			break;
	}
	if (s && !s->refs && !revive(s, fd, &st))
		s = NULL;
	if (s)
		s->refs++;
	pthread_mutex_unlock(&m->shared_lock);
	return s;
}

/* 0; -EBADF: no such descriptor; -EINVAL: it belongs to another driver. */
static int get_exported(struct emu_call *call, uint32_t client_fd, struct emu_shared **s)
{
	int fd = emu_call_get_fd(call, client_fd);

	if (fd < 0)
		return fd;
	*s = find_exported(call->m, fd);
	close(fd);
	return *s ? 0 : -EINVAL;
}

int emu_dmabuf_mmap(struct emu_call *call, const struct emu_message *msg, struct emu_message *reply,
		    int *fd)
{
	struct emu_shared *s;
	int err = get_exported(call, msg->request, &s);

	if (err)
		return err;
	if (msg->offset > s->bytes || msg->length > s->bytes - msg->offset) {
		err = -EINVAL;
	} else {
		*fd = fcntl(s->fd, F_DUPFD_CLOEXEC, 0);
		err = *fd < 0 ? -ENOMEM : 0;
	}
	reply->offset = s->offset + msg->offset;
	emu_shared_put(s);
	return err;
}

int emu_get_dmabuf_info(struct emu_call *call, struct gp_kfd_get_dmabuf_info *args)
{
	struct emu_shared *s;
	int err = call->m->config.nr_gpus ? get_exported(call, args->dmabuf_fd, &s) : -EINVAL;

	if (err)
		return err;
	args->size = s->bytes;
	args->metadata_size = 0;
	args->gpu_id = call->m->node[s->node]->gpu_id;
	args->flags = s->flags & (KINDS | GP_KFD_MEM_PUBLIC);
	emu_shared_put(s);
	return 0;
}

/* The memory and GPU of an import: 6.1 checks the descriptor first, later kernels the GPU. */
static int find_import(struct emu_call *call, const struct gp_kfd_import_dmabuf *args,
		       uint32_t *node, struct emu_shared **s)
{
	struct emu_process *p = call->process;
	bool fd_first = emu_is_6_1(call->m);
	int err = fd_first ? get_exported(call, args->dmabuf_fd, s) : 0;

	if (!err) {
		pthread_mutex_lock(&p->lock);
		err = emu_process_bind(p, args->gpu_id, node);
		pthread_mutex_unlock(&p->lock);
	}
	if (!err && !fd_first)
		err = get_exported(call, args->dmabuf_fd, s);
	return err;
}

int emu_import_dmabuf(struct emu_call *call, struct gp_kfd_import_dmabuf *args)
{
	struct emu_process *p = call->process;
	struct emu_buffer *b = calloc(1, sizeof(*b));
	struct emu_shared *s = NULL;
	uint32_t node;
	int err = b ? find_import(call, args, &node, &s) : -ENOMEM;

	if (!err) {
		*b = (struct emu_buffer){ .memory = s,
					  .va = args->va_addr,
					  .size = s->bytes,
					  .node = node,
					  .imported = true,
					  .flags = (s->flags & KINDS) | GP_KFD_MEM_WRITABLE |
						   GP_KFD_MEM_EXECUTABLE };
		pthread_mutex_lock(&p->lock);
		err = emu_buffer_publish(p, b);
		pthread_mutex_unlock(&p->lock);
	}
	if (!err) {
		args->handle = (uint64_t)args->gpu_id << 32 | b->id;
		return 0;
	}
	if (s)
		emu_shared_put(s);
	free(b);
	return err;
}

/* A descriptor, or -1. */
static int make_token(uint64_t bytes)
{
	int fd = memfd_create("dmabuf", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || (!ftruncate(fd, (off_t)bytes) && !fcntl(fd, F_ADD_SEALS, EMU_TOKEN_SEALS)))
		return fd;
	close(fd);
	return -1;
}

/* A descriptor of the memory for the client; the process's lock is held. */
static int export(struct emu_process *p, uint64_t handle)
{
	struct emu_buffer *b = emu_buffer_find(p, handle);
	struct emu_shared *s;
	struct stat st;
	int fd;

	if (!b)
		return -EINVAL;
	if (!(b->flags & KINDS))
		return -EPERM;
	s = b->memory;
	pthread_mutex_lock(&p->m->shared_lock);
	if (s->arena && s->token_fd < 0)
		s->token_fd = make_token(s->bytes);
	fd = fcntl(exported_fd(s), F_DUPFD_CLOEXEC, 0);
	if (fd < 0 || fstat(fd, &st)) {
		pthread_mutex_unlock(&p->m->shared_lock);
		if (fd >= 0)
			close(fd);
		return -ENOMEM;
	}
	if (!s->exported) {
		s->exported = true;
		s->dev = st.st_dev;
		s->ino = st.st_ino;
		s->next = p->m->shared;
		p->m->shared = s;
	}
	pthread_mutex_unlock(&p->m->shared_lock);
	return fd;
}

int emu_export_dmabuf(struct emu_call *call, struct gp_kfd_export_dmabuf *args)
{
	struct emu_process *p = call->process;
	int fd, number;

	pthread_mutex_lock(&p->lock);
	fd = export(p, args->handle);
	pthread_mutex_unlock(&p->lock);
	if (fd < 0)
		return fd;
	number = emu_call_put_fd(call, fd, args->flags);
	close(fd);
	if (number < 0)
		return number;
	args->dmabuf_fd = (uint32_t)number;
	return 0;
}
