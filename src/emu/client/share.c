// SPDX-License-Identifier: MIT
/*
 * Memory of the program that the machine maps as well (userptr), by address: how often each page
 * was requested, and the current mappings of the process. The kernel's list of mappings is
 * authoritative: the program may have unmapped or moved shared memory.
 *
 * All of it happens under a single lock, with signals blocked, on a separate stack (convert.h).
 */
#include "emu/client/client.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#include "emu/client/convert.h"
#include "emu/client/maps.h"
#include "emu/client/raw.h"
#include "emu/client/segments.h"

#define STACK_BYTES 65536
/* How far a stack is grown, so that its lowest page, which can grow, is not a shared one. */
#define STACK_MORE 65536

enum kind {
	PRIVATE, /* to be shared */
	OURS, /* shared already */
	FOREIGN, /* the program's own shared memory, or ours that it moved */
};

struct plan {
	uint64_t start, end;
	int prot;
	enum kind kind;
	bool anonymous, own;
};

static struct {
	_Atomic int lock; /* 1: taken; 2: taken, and a thread waits */
	_Atomic bool any;
	uint64_t mask; /* the signal mask during a fork */
	_Atomic uint64_t page; /* its size; the same whoever sets it */
	int fd; /* the memfd, if ino is not 0 */
	uint64_t ino, size;
	dev_t dev;
	struct client_segments segments;
	struct client_converter converter;
	struct client_maps maps;

	/* The work for the separate stack, and its result. */
	struct {
		uint64_t address, length;
		bool write;
		struct client_shared *result;
		struct emu_piece *piece;
		uint32_t nr, nr_pieces, nr_fds;
		int fd[EMU_FDS_MAX];
		int err;
	} job;
	struct plan plan[CLIENT_PIECES_MAX];
	struct emu_piece checked[CLIENT_PIECES_MAX]; /* of a check, which needs none */
	ucontext_t home, away;
	_Alignas(64) char stack[STACK_BYTES];

	/* For the child of a fork: copies of all segments, concatenated. */
	uint64_t copies, copies_len;
} share;

static void take_lock(uint64_t *mask)
{
	uint64_t all = ~0ull;
	int idle = 0;

	raw_sigmask(SIG_SETMASK, &all, mask);
	if (atomic_compare_exchange_strong(&share.lock, &idle, 1))
		return;
	while (atomic_exchange(&share.lock, 2))
		raw_futex(&share.lock, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 2);
}

static void release_lock(const uint64_t *mask)
{
	if (atomic_exchange(&share.lock, 0) == 2)
		raw_futex(&share.lock, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1);
	raw_sigmask(SIG_SETMASK, mask, NULL);
}

/* Runs share.job on the separate stack. */
static void away(void (*work)(void))
{
	getcontext(&share.away);
	share.away.uc_stack.ss_sp = share.stack;
	share.away.uc_stack.ss_size = sizeof(share.stack);
	share.away.uc_link = &share.home;
	makecontext(&share.away, work, 0);
	swapcontext(&share.home, &share.away);
}

/*
 * The memfd
 */

static bool backing_lost(void)
{
	struct stat st;

	return !share.ino || raw_fstat(share.fd, &st) || st.st_ino != share.ino ||
	       st.st_dev != share.dev;
}

static int make_backing(void)
{
	int fd = client_move_fd((int)raw(SYS_memfd_create, (long)"gpreempt-userptr",
					 MFD_CLOEXEC | MFD_ALLOW_SEALING, 0, 0, 0, 0));
	struct stat st;
	int err;

	if (fd < 0)
		return fd;
	err = raw_fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK);
	if (!err)
		err = raw_fstat(fd, &st);
	if (err) {
		raw_close(fd);
		return err;
	}
	share.fd = fd;
	share.dev = st.st_dev;
	share.ino = st.st_ino;
	share.size = 0;
	/* If the program closed the previous memfd, its memory is unknown. */
	share.segments.nr = 0;
	return 0;
}

static int need_backing(uint64_t end)
{
	struct rlimit limit = { 0 };
	int err = backing_lost() ? make_backing() : 0;

	if (err || end <= share.size)
		return err;
	/* The kernel would send SIGXFSZ. */
	err = (int)raw(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)&limit, 0, 0);
	if (!err && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < end)
		err = -ENOMEM;
	if (!err)
		err = (int)raw(SYS_ftruncate, share.fd, (long)end, 0, 0, 0, 0);
	if (!err)
		share.size = end;
	return err;
}

static bool is_backing(const struct client_vma *v)
{
	return share.ino && v->ino == share.ino && v->dev == share.dev;
}

static bool is_ours(const struct client_vma *v)
{
	return v->shared && is_backing(v) && v->offset == v->start;
}

/*
 * The program's own shared memory: a descriptor is found by device and inode, since the name may
 * belong to another file now.
 */

static size_t print_hex(char *to, uint64_t number)
{
	size_t len = 0;

	for (int shift = 60; shift >= 0; shift -= 4) {
		unsigned int digit = number >> shift & 15;

		if (digit || len || !shift)
			to[len++] = "0123456789abcdef"[digit];
	}
	return len;
}

static int open_same(const char *path, const struct client_vma *v, int flags)
{
	int fd = raw_openat(AT_FDCWD, path, flags | O_CLOEXEC, 0);
	struct stat st;

	if (fd < 0)
		return fd;
	if (!raw_fstat(fd, &st) && st.st_ino == v->ino && st.st_dev == v->dev)
		return fd;
	raw_close(fd);
	return -EFAULT;
}

/* The program's own descriptor of it, duplicated. */
static int find_open(const struct client_vma *v)
{
	struct rlimit limit = { 0 };
	struct stat st;

	raw(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, (long)&limit, 0, 0);
	for (int fd = 0; fd < (int)(limit.rlim_cur < 65536 ? limit.rlim_cur : 65536); fd++) {
		if (!raw_fstat(fd, &st) && st.st_ino == v->ino && st.st_dev == v->dev)
			return raw_fcntl(fd, F_DUPFD_CLOEXEC, 0);
	}
	return -EFAULT;
}

static int open_foreign(const struct client_vma *v, bool write)
{
	char path[64] = "/proc/self/map_files/";
	size_t len = strlen(path);
	int flags = write ? O_RDWR : O_RDONLY;
	int fd;

	len += print_hex(path + len, v->start);
	path[len++] = '-';
	len += print_hex(path + len, v->end);
	path[len] = '\0';
	fd = open_same(path, v, flags); /* needs a capability */
	if (fd < 0 && *v->path == '/')
		fd = open_same(v->path, v, flags);
	if (fd < 0)
		fd = find_open(v);
	return fd < 0 ? -EFAULT : fd;
}

/*
 * Sharing: first checks that all of the range can be shared, then shares it.
 */

/* Pieces that are adjacent both in memory and in the same file are merged. */
static void add_piece(const struct plan *p, uint32_t fd, uint64_t offset)
{
	struct emu_piece *last =
		share.job.nr_pieces ? &share.job.piece[share.job.nr_pieces - 1] : NULL;

	share.plan[share.job.nr++] = *p;
	if (last && last->fd == fd && last->offset + last->length == offset)
		last->length += p->end - p->start;
	else
		share.job.piece[share.job.nr_pieces++] = (struct emu_piece){
			.address = p->start, .length = p->end - p->start, .offset = offset, .fd = fd
		};
}

static int plan_shared(struct plan *p, const struct client_vma *v)
{
	uint64_t offset = v->offset + (p->start - v->start);
	int fd;

	if (is_backing(v)) {
		p->kind = is_ours(v) ? OURS : FOREIGN;
		add_piece(p, 0, offset);
		return 0;
	}
	fd = open_foreign(v, share.job.write);
	if (fd < 0)
		return fd;
	p->kind = FOREIGN;
	share.job.fd[share.job.nr_fds] = fd;
	add_piece(p, share.job.nr_fds++, offset);
	return 0;
}

static bool is_named(const struct client_vma *v, const char *start)
{
	return !strncmp(v->path, start, strlen(start));
}

/* The part of a mapping in [start, end). */
static int plan_vma(const struct client_vma *v, uint64_t start, uint64_t end)
{
	int needed = PROT_READ | (share.job.write ? PROT_WRITE : 0);
	struct plan p = { .start = start,
			  .end = end,
			  .prot = v->prot,
			  .anonymous = !v->ino,
			  .own = is_backing(v) };

	if ((v->prot & needed) != needed || is_named(v, "[v"))
		return -EFAULT;
	if (start < (uint64_t)(&share + 1) && end > (uint64_t)&share)
		return -EFAULT;
	if (v->shared)
		return plan_shared(&p, v);
	p.kind = PRIVATE;
	/* The kernel grows a stack for a read. */
	if (is_named(v, "[stack") && start == v->start)
		raw(SYS_faccessat, AT_FDCWD, (long)(start - STACK_MORE), 0, 0, 0, 0);
	add_piece(&p, 0, start);
	return 0;
}

/* As much of the range as fits into one answer. */
static int plan_all(void)
{
	uint64_t at = share.job.address, end = at + share.job.length;
	struct client_vma v;
	int err = client_maps_open(&share.maps, at);

	while (!err && at < end && share.job.nr < CLIENT_PIECES_MAX &&
	       share.job.nr_fds < EMU_FDS_MAX) {
		uint64_t stop;

		if (!client_maps_next(&share.maps, &v) || v.start > at) {
			err = -EFAULT;
		} else if (v.end > at) {
			stop = v.end < end ? v.end : end;
			err = plan_vma(&v, at, stop);
			at = stop;
		}
	}
	client_maps_close(&share.maps);
	return err;
}

static int add_refs(uint32_t *nr)
{
	for (*nr = 0; *nr < share.job.nr; (*nr)++) {
		const struct plan *p = &share.plan[*nr];

		if (p->kind != FOREIGN) {
			int err = client_segments_add(&share.segments, p->start, p->end);

			if (err)
				return err;
		}
	}
	return 0;
}

static int convert_all(void)
{
	for (uint32_t i = 0; i < share.job.nr; i++) {
		const struct plan *p = &share.plan[i];
		int err;

		if (p->kind != PRIVATE)
			continue;
		err = client_convert_share(&share.converter, p->start, p->end, p->prot,
					   p->anonymous, p->own);
		if (err)
			return err;
	}
	return 0;
}

/* Whether any mapping still shows a part of the memfd. */
static bool shown_anywhere(uint64_t start, uint64_t end)
{
	struct client_vma v;
	bool shown = false;

	if (client_maps_open(&share.maps, 0))
		return true;
	while (!shown && client_maps_next(&share.maps, &v))
		shown = is_backing(&v) && v.offset < end && v.offset + (v.end - v.start) > start;
	client_maps_close(&share.maps);
	return shown;
}

/*
 * Makes memory private again where the program still maps ours. Memory that it has unmapped or
 * moved meanwhile may be mapped elsewhere: only then are all mappings examined.
 */
static void make_private(uint64_t start, uint64_t end)
{
	uint64_t found = 0;
	struct client_vma v;

	if (client_maps_open(&share.maps, start))
		return;
	while (client_maps_next(&share.maps, &v) && v.start < end) {
		uint64_t from = v.start > start ? v.start : start;
		uint64_t to = v.end < end ? v.end : end;

		if (from < to && is_ours(&v)) {
			client_convert_private(&share.converter, from, to, v.prot);
			found += to - from;
		}
	}
	client_maps_close(&share.maps);
	if (found < end - start && !shown_anywhere(start, end))
		client_convert_forget(&share.converter, start, end);
}

static void undo(uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		const struct plan *p = &share.plan[i];

		if (p->kind != FOREIGN)
			client_segments_remove(&share.segments, p->start, p->end, make_private);
	}
	for (uint32_t i = 1; i < share.job.nr_fds; i++)
		raw_close(share.job.fd[i]);
}

static void do_share(void)
{
	uint64_t start = share.job.address;
	uint32_t nr = 0;
	int err = need_backing(start + share.job.length);

	share.job.nr = 0;
	share.job.nr_pieces = 0;
	share.job.fd[0] = share.fd;
	share.job.nr_fds = 1;
	if (!err)
		err = plan_all();
	if (!err)
		err = add_refs(&nr);
	share.converter.backing = share.fd;
	share.converter.page = share.page;
	if (!err || nr) {
		client_convert_begin(&share.converter, start, start + share.job.length);
		if (!err)
			err = convert_all();
		if (err)
			undo(nr);
		client_convert_end(&share.converter);
	} else {
		undo(0);
	}
	share.job.err = err;
}

static void do_unshare(void)
{
	uint64_t start = share.job.address, end = start + share.job.length;

	share.job.err = 0;
	if (backing_lost()) {
		share.segments.nr = 0;
		return;
	}
	share.converter.backing = share.fd;
	share.converter.page = share.page;
	client_convert_begin(&share.converter, start, end);
	client_segments_remove(&share.segments, start, end, make_private);
	client_convert_end(&share.converter);
}

/* Whether all of the range is private memory. Nothing changes. */
static void do_check(void)
{
	bool all = true;

	share.job.nr = 0;
	share.job.nr_pieces = 0;
	share.job.nr_fds = 1;
	share.job.err = plan_all();
	for (uint32_t i = 0; i < share.job.nr; i++)
		all &= share.plan[i].kind == PRIVATE;
	if (!share.job.err && share.job.nr)
		share.job.err = all && share.plan[share.job.nr - 1].end ==
					       share.job.address + share.job.length;
	undo(0);
}

static int check_range(uint64_t address, uint64_t length)
{
	if (!share.page)
		share.page = (uint64_t)sysconf(_SC_PAGESIZE);
	if (!length || (address | length) % share.page)
		return -EINVAL;
	return address > INT64_MAX - length ? -EFAULT : 0;
}

int client_share(uint64_t address, uint64_t length, bool write, struct client_shared *result)
{
	uint64_t mask;
	int err = check_range(address, length);

	if (err)
		return err;
	take_lock(&mask);
	share.job.address = address;
	share.job.length = length;
	share.job.write = write;
	share.job.piece = result->piece;
	away(do_share);
	err = share.job.err;
	result->nr_pieces = share.job.nr_pieces;
	result->nr_fds = share.job.nr_fds;
	memcpy(result->fd, share.job.fd, sizeof(result->fd));
	atomic_store(&share.any, share.segments.nr > 0);
	release_lock(&mask);
	return err;
}

int client_share_check(uint64_t address, uint64_t length, bool write)
{
	uint64_t mask;
	int err = check_range(address, length);

	if (err)
		return err;
	take_lock(&mask);
	share.job.address = address;
	share.job.length = length;
	share.job.write = write;
	share.job.piece = share.checked;
	away(do_check);
	err = share.job.err;
	release_lock(&mask);
	return err;
}

int client_unshare(uint64_t address, uint64_t length)
{
	uint64_t mask;
	int err = check_range(address, length);

	if (err)
		return err;
	take_lock(&mask);
	share.job.address = address;
	share.job.length = length;
	away(do_unshare);
	err = share.job.err;
	atomic_store(&share.any, share.segments.nr > 0);
	release_lock(&mask);
	return err;
}

bool client_share_any(void)
{
	return atomic_load(&share.any);
}

bool client_share_drop(uint64_t address, uint64_t length)
{
	uint64_t end = address + length, mask;
	bool some = false;

	if (end < address)
		return false;
	take_lock(&mask);
	for (uint32_t i = client_segments_find(&share.segments, address); i < share.segments.nr;
	     i++) {
		const struct client_segment *s = &share.segments.segment[i];
		uint64_t from = s->start > address ? s->start : address;
		uint64_t to = s->end < end ? s->end : end;

		if (from >= to)
			break;
		/* Fails if the memory is private again: then the caller drops it. */
		raw_madvise(from, to - from, MADV_REMOVE);
		some = true;
	}
	release_lock(&mask);
	return some;
}

/*
 * fork(): a child must see the memory as it was, and nothing of what its parent or a GPU writes
 * later. The copies for it are made in the parent, before the fork.
 */

static int copy_segments(void)
{
	uint64_t len = 0, to;

	for (uint32_t i = 0; i < share.segments.nr; i++)
		len += share.segments.segment[i].end - share.segments.segment[i].start;
	to = (uint64_t)raw_mmap(0, len, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (raw_failed((long)to))
		return (int)to;
	share.copies = to;
	share.copies_len = len;
	share.converter.backing = share.fd;
	share.converter.data_to = 0;
	for (uint32_t i = 0; i < share.segments.nr; i++) {
		struct client_segment *s = &share.segments.segment[i];
		int err = client_convert_read(&share.converter, s->start, s->end, to);

		if (err)
			return err;
		s->copy = to;
		to += s->end - s->start;
	}
	return 0;
}

static void drop_copies(void)
{
	if (share.copies_len)
		raw_munmap(share.copies, share.copies_len);
	share.copies_len = 0;
}

void client_share_prepare(void)
{
	uint64_t mask;

	take_lock(&mask);
	share.mask = mask;
	if (share.segments.nr && !backing_lost() && copy_segments())
		drop_copies();
}

void client_share_parent(void)
{
	uint64_t mask = share.mask;

	drop_copies();
	release_lock(&mask);
}

/* The address of the copy of a shared page, and how many bytes follow it. */
static uint64_t copy_of(uint64_t address, uint64_t *len)
{
	uint32_t i = client_segments_find(&share.segments, address);
	const struct client_segment *s = &share.segments.segment[i];

	if (i == share.segments.nr || s->start > address)
		return 0;
	if (*len > s->end - address)
		*len = s->end - address;
	return s->copy + (address - s->start);
}

/*
 * Makes an inherited mapping private to the child. Without a copy, for want of memory, the parent
 * is at least protected from the child's writes.
 */
static void inherit(const struct client_vma *v)
{
	for (uint64_t at = v->start, len; at < v->end; at += len) {
		uint64_t copy;
		long err = -ENOMEM;

		len = v->end - at;
		copy = v->offset == v->start ? copy_of(at, &len) : 0;
		if (copy && share.copies_len && !raw_mprotect(copy, len, v->prot))
			err = raw_mremap(copy, len, MREMAP_MAYMOVE | MREMAP_FIXED, at);
		if (raw_failed(err))
			raw_mmap(at, len, v->prot, MAP_PRIVATE | MAP_FIXED, share.fd,
				 v->offset + (at - v->start));
	}
}

void client_share_child(void)
{
	uint64_t mask = share.mask;
	struct client_vma v;

	if (share.segments.nr && !backing_lost() && !client_maps_open(&share.maps, 0)) {
		while (client_maps_next(&share.maps, &v)) {
			if (v.shared && is_backing(&v))
				inherit(&v);
		}
		client_maps_close(&share.maps);
	}
	drop_copies();
	client_share_forget();
	raw_sigmask(SIG_SETMASK, &mask, NULL);
}

void client_share_forget(void)
{
	client_convert_release(&share.converter);
	if (!backing_lost())
		raw_close(share.fd);
	share.ino = 0;
	share.size = 0;
	share.segments.nr = 0;
	atomic_store(&share.any, false);
	/* The thread that held the lock does not exist in this process. */
	atomic_store(&share.lock, 0);
}
