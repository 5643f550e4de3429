// SPDX-License-Identifier: MIT
#include "emu/client/convert.h"

#include "emu/client/client.h"

#include <errno.h>
#include <linux/falloc.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/client/raw.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define PAGEMAP_PRESENT (1ull << 63)
#define PAGEMAP_SWAPPED (1ull << 62)

/*
 * Restartable sequences: the kernel writes the processor number into thread-local memory at any
 * time, and kills the thread if it cannot. So they are unregistered while a guard may be on that
 * page.
 */
#define RSEQ_UNREGISTER 1
#define RSEQ_LEN 32
#if defined(__aarch64__)
#define RSEQ_SIGNATURE 0xd428bc00
#else
#define RSEQ_SIGNATURE 0x53053053
#endif

extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

static void *own_rseq(void)
{
	char *thread;

	if (!&__rseq_offset || !&__rseq_size || !__rseq_size)
		return NULL;
#if defined(__aarch64__)
	__asm__("mrs %0, tpidr_el0" : "=r"(thread));
#else
	__asm__("mov %%fs:0, %0" : "=r"(thread));
#endif
	return thread + __rseq_offset;
}

static long call_rseq(void *area, int flags)
{
	return raw(SYS_rseq, (long)area, RSEQ_LEN, flags, RSEQ_SIGNATURE, 0, 0);
}

static bool has_guard(const struct client_converter *c)
{
	struct stat st;

	return c->guard_ino && !raw_fstat(c->guard.fd, &st) && st.st_ino == c->guard_ino &&
	       st.st_dev == c->guard_dev;
}

static bool need_guard(struct client_converter *c, bool user_only)
{
	struct stat st;

	if (has_guard(c))
		return true;
	c->guard_ino = 0;
	if (client_guard_open(&c->guard, user_only))
		return false;
	c->guard.fd = client_move_fd(c->guard.fd);
	if (raw_fstat(c->guard.fd, &st)) {
		client_guard_close(&c->guard);
		return false;
	}
	c->guard_ino = st.st_ino;
	c->guard_dev = st.st_dev;
	return true;
}

void client_convert_release(struct client_converter *c)
{
	if (has_guard(c))
		client_guard_close(&c->guard);
	c->guard_ino = 0;
}

void client_convert_begin(struct client_converter *c, uint64_t start, uint64_t end)
{
	char *area = own_rseq();
	bool close_by = area && (uint64_t)area + RSEQ_LEN > start && (uint64_t)area < end;

	c->rseq = NULL;
	c->data_to = 0;
	c->pagemap = raw_openat(AT_FDCWD, "/proc/thread-self/pagemap", O_RDONLY | O_CLOEXEC, 0);
	c->memory = raw_openat(AT_FDCWD, "/proc/thread-self/mem", O_RDONLY | O_CLOEXEC, 0);
	if (close_by && !call_rseq(area, RSEQ_UNREGISTER))
		c->rseq = area;
	/*
	 * Without /proc/self/mem, memory is read in a way that would wait for the guard itself if
	 * that also holds the kernel.
	 */
	c->guards = (!close_by || c->rseq) && need_guard(c, c->memory < 0);
}

void client_convert_end(struct client_converter *c)
{
	if (c->rseq)
		call_rseq(c->rseq, 0);
	if (c->memory >= 0)
		raw_close(c->memory);
	if (c->pagemap >= 0)
		raw_close(c->pagemap);
}

static long read_memory(struct client_converter *c, uint64_t from, uint64_t to, uint64_t len)
{
	struct iovec local = { (void *)to, len }, remote = { (void *)from, len };

	if (c->memory >= 0)
		return raw_pread(c->memory, (void *)to, len, from);
	return raw(SYS_process_vm_readv, raw_gettid(), (long)&local, 1, (long)&remote, 1, 0);
}

/* A page that was dropped meanwhile is zero. */
static int copy_run(struct client_converter *c, uint64_t from, uint64_t to, uint64_t len)
{
	for (uint64_t done = 0; done < len;) {
		long n = read_memory(c, from + done, to + done, len - done);

		if (n == -ENOMEM)
			return -ENOMEM;
		if (n <= 0)
			n = (long)c->page;
		done += (uint64_t)n;
	}
	return 0;
}

/* The same, directly into the memfd: its pages are neither cleared first nor mapped. */
static int write_run(struct client_converter *c, uint64_t from, uint64_t len)
{
	for (uint64_t done = 0; done < len;) {
		long n = raw(SYS_pwrite64, c->backing, (long)(from + done), (long)(len - done),
			     (long)(from + done), 0, 0);

		if (n == -ENOMEM || n == -ENOSPC)
			return -ENOMEM;
		if (n <= 0)
			n = (long)c->page;
		done += (uint64_t)n;
	}
	return 0;
}

static int put_run(struct client_converter *c, uint64_t from, uint64_t window, uint64_t offset,
		   uint64_t len)
{
	return window ? copy_run(c, from + offset, window + offset, len)
		      : write_run(c, from + offset, len);
}

static bool read_pagemap(const struct client_converter *c, uint64_t *entry, uint64_t at,
			 uint64_t len)
{
	size_t bytes = len / c->page * sizeof(*entry);

	return c->pagemap >= 0 &&
	       raw_pread(c->pagemap, entry, bytes, at / c->page * sizeof(*entry)) == (long)bytes;
}

/*
 * Whether a page has content. The kernel marks absent pages that it protects, and shows these marks
 * as swapped-out pages: so swapped-out pages count only from the earlier look. A page that is first
 * written and then swapped out between the two looks would be lost: they are microseconds apart.
 */
static bool is_there(const struct client_converter *c, uint64_t i)
{
	uint64_t there = PAGEMAP_PRESENT | PAGEMAP_SWAPPED;

	if (!c->guard.protects_absent)
		return c->present[i] & there;
	return c->before[i] & there || c->present[i] & PAGEMAP_PRESENT;
}

/* Copies the present pages of a chunk to the memfd, which is mapped at @window if that is not 0. */
static int copy_chunk(struct client_converter *c, uint64_t at, uint64_t len, uint64_t window,
		      bool sparse)
{
	uint64_t nr = len / c->page;

	if (!sparse || !read_pagemap(c, c->present, at, len))
		return put_run(c, at, window, 0, len);
	for (uint64_t i = 0, first; i < nr; i++) {
		int err;

		first = i;
		while (i < nr && is_there(c, i))
			i++;
		if (i == first)
			continue;
		err = put_run(c, at, window, first * c->page, (i - first) * c->page);
		if (err)
			return err;
	}
	return 0;
}

void client_convert_forget(struct client_converter *c, uint64_t start, uint64_t end)
{
	raw(SYS_fallocate, c->backing, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (long)start,
	    (long)(end - start), 0, 0);
}

/*
 * A guard on absent pages would block write(2) itself if a page was dropped meanwhile;
 * /proc/self/mem fails instead.
 */
static bool needs_window(const struct client_converter *c)
{
	return c->guards && !c->guard.protects_absent;
}

static int share_chunk(struct client_converter *c, uint64_t at, uint64_t len, int prot,
		       bool anonymous, bool own)
{
	bool guarded, sparse = anonymous && !own && read_pagemap(c, c->before, at, len);
	long window = 0;
	long err;

	if (needs_window(c))
		window = raw_mmap(0, len, PROT_READ | PROT_WRITE, MAP_SHARED, c->backing, at);
	if (raw_failed(window))
		return (int)window;
	if (!own)
		client_convert_forget(c, at, at + len);
	guarded = c->guards && !client_guard_raise(&c->guard, at, len, anonymous);
	err = copy_chunk(c, at, len, (uint64_t)window, sparse);
	if (!err)
		err = raw_mmap(at, len, prot, MAP_SHARED | MAP_FIXED, c->backing, at);
	if (guarded)
		client_guard_drop(&c->guard);
	if (window)
		raw_munmap((uint64_t)window, len);
	return raw_failed(err) ? (int)err : 0;
}

int client_convert_share(struct client_converter *c, uint64_t start, uint64_t end, int prot,
			 bool anonymous, bool own)
{
	bool guarded = c->guards && anonymous;
	uint64_t chunk = guarded ? CLIENT_CHUNK : CLIENT_CHUNK_UNGUARDED;

	for (uint64_t at = start; at < end; at += chunk) {
		uint64_t len = end - at < chunk ? end - at : chunk;
		int err = share_chunk(c, at, len, prot, anonymous, own);

		if (err)
			return err;
	}
	return 0;
}

/*
 * Finds the extent of data at or behind @at: the kernel searches for its end page by page, so a
 * range that is read in chunks asks once. -ENXIO: there is none.
 */
static int find_data(struct client_converter *c, uint64_t at, uint64_t *from, uint64_t *to)
{
	long data, hole;

	if (at < c->data_from || at >= c->data_to) {
		data = raw(SYS_lseek, c->backing, (long)at, SEEK_DATA, 0, 0, 0);
		if (data < 0)
			return (int)data;
		hole = raw(SYS_lseek, c->backing, data, SEEK_HOLE, 0, 0, 0);
		if (hole < 0)
			return (int)hole;
		c->data_from = (uint64_t)data;
		c->data_to = (uint64_t)hole;
	}
	*from = at > c->data_from ? at : c->data_from;
	*to = c->data_to;
	return 0;
}

int client_convert_read(struct client_converter *c, uint64_t start, uint64_t end, uint64_t to)
{
	uint64_t at = start;

	while (at < end) {
		uint64_t data = 0, hole = 0;
		long n;
		int err = find_data(c, at, &data, &hole);

		if (err == -ENXIO || (!err && data >= end))
			return 0;
		if (err)
			return err;
		at = hole < end ? hole : end;
		/*
		 * All at once, which is cheaper than a fault for each page; Linux before 5.14
		 * refuses.
		 */
		raw_madvise(to + (data - start), at - data, MADV_POPULATE_WRITE);
		for (uint64_t done = data; done < at; done += (uint64_t)n) {
			n = raw_pread(c->backing, (void *)(to + (done - start)), at - done, done);
			if (n <= 0)
				return n ? (int)n : -EIO;
		}
	}
	return 0;
}

/* A private copy replaces it. */
static int replace_chunk(struct client_converter *c, uint64_t at, uint64_t len, int prot)
{
	long copy = raw_mmap(0, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long err;

	if (raw_failed(copy))
		return (int)copy;
	err = c->guards ? client_guard_raise(&c->guard, at, len, false) : -ENODEV;
	if (err) {
		raw_munmap((uint64_t)copy, len);
		return (int)err;
	}
	err = client_convert_read(c, at, at + len, (uint64_t)copy);
	if (!err)
		err = raw_mprotect((uint64_t)copy, len, prot);
	if (!err)
		err = raw_mremap((uint64_t)copy, len, MREMAP_MAYMOVE | MREMAP_FIXED, at);
	client_guard_drop(&c->guard);
	if (!raw_failed(err))
		return 0;
	raw_munmap((uint64_t)copy, len);
	return (int)err;
}

void client_convert_private(struct client_converter *c, uint64_t start, uint64_t end, int prot)
{
	for (uint64_t at = start; at < end; at += CLIENT_CHUNK) {
		uint64_t len = end - at < CLIENT_CHUNK ? end - at : CLIENT_CHUNK;

		if (!replace_chunk(c, at, len, prot))
			client_convert_forget(c, at, at + len);
		else
			raw_mmap(at, len, prot, MAP_PRIVATE | MAP_FIXED, c->backing, at);
	}
}
