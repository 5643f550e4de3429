// SPDX-License-Identifier: MIT
/*
 * Memory behind buffers (struct emu_shared): a memfd, part of one (arena.h), or memory that a
 * client shares with the machine. It is mapped here when it is first needed.
 *
 * Clients have the descriptors as well. They can write anything anywhere, but cannot take memory
 * away from the machine: our memfds are sealed against shrinking, and a client's are sealed if
 * possible. The pages of a file that was truncated nevertheless are replaced (cut.h).
 */
#include "emu/kfd/buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "emu/kfd/arena.h"
#include "emu/kfd/call.h"
#include "emu/kfd/cut.h"
#include "emu/kfd/defer.h"
#include "emu/kfd/memfd.h"
#include "emu/kfd/memory.h"
#include "emu/kfd/node.h"
#include "emu/kfd/process.h"
#include "emu/protocol.h"
#include "gpreempt/uapi/gpreempt_kfd.h"

#define REMEMBERED_MAX 1024 /* exports without a buffer */
#define PIECES_MAX 4096 /* of memory that a client shares */

/* Adds @bytes to *@used, unless the sum exceeds @limit. */
static bool account(_Atomic uint64_t *used, uint64_t bytes, uint64_t limit)
{
	uint64_t old = atomic_load(used);

	do {
		if (old > limit || bytes > limit - old)
			return false;
	} while (!atomic_compare_exchange_weak(used, &old, old + bytes));
	return true;
}

struct emu_shared *emu_shared_new(struct emu_machine *m, uint32_t node, uint32_t flags,
				  uint64_t bytes)
{
	bool vram = flags & GP_KFD_MEM_VRAM, gtt = flags & (GP_KFD_MEM_GTT | GP_KFD_MEM_USERPTR);
	struct emu_shared *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	*s = (struct emu_shared){ .m = m,
				  .refs = 1,
				  .fd = -1,
				  .token_fd = -1,
				  .bytes = bytes,
				  .flags = flags,
				  .node = node };
	if (vram || gtt) {
		s->account = vram ? &m->node[node]->vram_used : &m->gtt_used;
		if (!account(s->account, bytes, vram ? m->config.vram_bytes : m->gtt_bytes)) {
			free(s);
			return NULL;
		}
		s->counted = bytes;
	}
	return s;
}

/* Frees the memory, but not its record. Memory of an arena needs the shared_lock. */
static void let_go(struct emu_shared *s)
{
	uint8_t *host = atomic_load(&s->host);

	if (s->token_fd >= 0)
		close(s->token_fd);
	if (s->arena) {
		emu_arena_give_back(s->arena, s->offset, s->bytes);
	} else {
		if (host && s->flags & GP_KFD_MEM_USERPTR)
			emu_cut_remove(host, s->bytes);
		if (host)
			munmap(host, s->bytes);
		if (s->fd >= 0) {
			close(s->fd);
			atomic_fetch_sub(&s->m->nr_memory_files, 1);
		}
	}
	if (s->account)
		atomic_fetch_sub(s->account, s->counted);
	atomic_store(&s->host, NULL);
	s->fd = s->token_fd = -1;
}

static void unlink_exported(struct emu_shared *s)
{
	struct emu_shared **link = &s->m->shared;

	while (*link != s)
		link = &(*link)->next;
	*link = s->next;
}

/*
 * Nothing reports when the last descriptor of memory is closed: only the latest exports are
 * remembered.
 */
static void limit_remembered(struct emu_machine *m)
{
	struct emu_shared **link = &m->shared, **oldest = NULL, *s;
	unsigned int nr = 0;

	for (; *link; link = &(*link)->next) {
		if ((*link)->refs)
			continue;
		nr++;
		oldest = link;
	}
	if (nr <= REMEMBERED_MAX)
		return;
	s = *oldest;
	*oldest = s->next;
	free(s);
}

/* Memory of an arena is not remembered: its descriptor outside the machine keeps no bytes. */
void emu_shared_put(struct emu_shared *s)
{
	struct emu_machine *m = s->m;
	bool last, remembered = false;

	pthread_mutex_lock(&m->shared_lock);
	last = !--s->refs;
	if (last && s->arena) {
		if (s->exported)
			unlink_exported(s);
		let_go(s);
	} else if (last && s->exported) {
		remembered = true;
		let_go(s);
		limit_remembered(m);
	}
	pthread_mutex_unlock(&m->shared_lock);
	if (!last || remembered)
		return;
	if (!s->arena)
		let_go(s);
	free(s);
}

void emu_shared_forget(struct emu_machine *m)
{
	while (m->shared) {
		struct emu_shared *s = m->shared;

		m->shared = s->next;
		free(s);
	}
}

uint8_t *emu_shared_host(struct emu_shared *s)
{
	uint8_t *host = atomic_load_explicit(&s->host, memory_order_acquire);

	if (host)
		return host;
	if (atomic_load(&s->deferred))
		return emu_defer_convert(s);
	pthread_mutex_lock(&s->m->shared_lock);
	host = atomic_load(&s->host);
	if (!host) {
		void *at = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
				s->fd, 0);

		if (at != MAP_FAILED) {
			host = at;
			atomic_store_explicit(&s->host, host, memory_order_release);
		}
	}
	pthread_mutex_unlock(&s->m->shared_lock);
	return host;
}

/* A file of its own for the memory; false: there is none to be had. @fd may be -errno. */
bool emu_shared_use_file(struct emu_shared *s, int fd)
{
	if (fd < 0)
		return false;
	s->fd = fd;
	atomic_fetch_add(&s->m->nr_memory_files, 1);
	return true;
}

static bool use_arena(struct emu_process *p, struct emu_shared *s)
{
	struct emu_machine *m = s->m;

	pthread_mutex_lock(&m->shared_lock);
	s->arena = emu_arena_take(&p->memory.arena, s->bytes, &s->offset);
	pthread_mutex_unlock(&m->shared_lock);
	if (!s->arena)
		return false;
	s->fd = s->arena->fd;
	atomic_store(&s->host, s->arena->host + s->offset);
	return true;
}

/*
 * Allocates the memory of a GTT or VRAM buffer. A program can pass on a file of its own directly,
 * so the first buffers have one.
 */
bool emu_shared_use_new(struct emu_process *p, struct emu_shared *s, const char *name)
{
	if (atomic_load(&s->m->nr_memory_files) >= s->m->max_memory_files && use_arena(p, s))
		return true;
	return emu_shared_use_file(s, emu_memfd(name, s->bytes));
}

/* Whether a memfd cannot shrink. */
static bool is_sealed(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & F_SEAL_SHRINK || !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK));
}

/*
 * Checks a piece of a client's memory: its file must be large enough, and must not shrink, unless
 * that is handled (cut.h). Huge pages can be missing even within the file's size.
 */
static int check_piece(int fd, const struct emu_piece *piece, bool *can_be_cut)
{
	struct statfs fs;
	struct stat st;

	if (fstatfs(fd, &fs) || fs.f_type == HUGETLBFS_MAGIC)
		return -EPERM;
	*can_be_cut = !is_sealed(fd);
	/* The size is read after the file was sealed, if that was possible. */
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size < 0 ||
	    piece->offset + piece->length > emu_page_align((uint64_t)st.st_size))
		return -EFAULT;
	return 0;
}

/* Maps the pieces one behind the other at @host. */
static int map_pieces(uint8_t *host, const struct emu_piece *piece, const int *fds, int n,
		      bool write)
{
	int prot = write ? PROT_READ | PROT_WRITE : PROT_READ;

	for (int i = 0; i < n; i++) {
		bool can_be_cut;
		int err = check_piece(fds[i], &piece[i], &can_be_cut);
		void *at;

		if (!err && can_be_cut)
			err = emu_cut_add(host, piece[i].length);
		if (err)
			return err == -ENOSPC ? -ENOMEM : err;
		at = mmap(host, piece[i].length, prot, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
			  fds[i], (off_t)piece[i].offset);
		if (at == MAP_FAILED)
			return errno == ENOMEM ? -ENOMEM : -EFAULT;
		host += piece[i].length;
	}
	return 0;
}

int emu_shared_convert(struct emu_call *call, struct emu_shared *s)
{
	struct emu_piece *piece = malloc(PIECES_MAX * sizeof(*piece));
	int *fds = malloc(PIECES_MAX * sizeof(*fds));
	void *host =
		mmap(NULL, s->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int n = -ENOMEM, err;

	if (piece && fds && host != MAP_FAILED)
		n = emu_call_share(call, s->user_va, s->bytes, s->write, piece, fds, PIECES_MAX);
	err = n < 0 ? n : map_pieces(host, piece, fds, n, s->write);
	if (err && n >= 0)
		emu_call_unshare(call, s->user_va, s->bytes);
	for (int i = 0; i < n; i++)
		close(fds[i]);
	if (!err)
		atomic_store(&s->host, host);
	else if (host != MAP_FAILED) {
		emu_cut_remove(host, s->bytes);
		munmap(host, s->bytes);
	}
	free(piece);
	free(fds);
	return err == -E2BIG ? -ENOMEM : err;
}

int emu_shared_use_client(struct emu_call *call, struct emu_shared *s, uint64_t va, bool write)
{
	int err;

	s->process = call->process;
	s->user_va = va;
	s->write = write;
	err = emu_defer(call, s);
	if (err)
		return err < 0 ? err : 0;
	emu_defer_stop_copies(call->process);
	err = emu_shared_convert(call, s);
	emu_defer_resume_copies(call->process);
	return err;
}

int emu_shared_end_client(struct emu_call *call, struct emu_shared *s)
{
	int err;

	emu_defer_cancel(s);
	if (!atomic_load(&s->host))
		return 0;
	emu_defer_stop_copies(call->process);
	err = emu_call_unshare(call, s->user_va, s->bytes);
	emu_defer_resume_copies(call->process);
	return err == -ECONNRESET ? err : 0;
}
