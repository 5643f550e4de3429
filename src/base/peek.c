// SPDX-License-Identifier: MIT
#include "base/peek.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fd.h"

#define BATCH 512
#define COPY_BYTES (BATCH * sizeof(uint64_t))

int gp__peek_open(struct gp__peek *p)
{
	int err;

	*p = (struct gp__peek){ .fd = gp__fd_move_up(memfd_create("gpreempt-peek", MFD_CLOEXEC)) };
	if (p->fd < 0)
		return -errno;
	if (!ftruncate(p->fd, COPY_BYTES)) {
		void *at = mmap(NULL, COPY_BYTES, PROT_READ, MAP_SHARED, p->fd, 0);

		if (at != MAP_FAILED) {
			p->copy = at;
			return 0;
		}
	}
	err = -errno;
	close(p->fd);
	p->fd = -1;
	return err;
}

void gp__peek_close(struct gp__peek *p)
{
	if (p->fd < 0)
		return;
	munmap((void *)p->copy, COPY_BYTES);
	close(p->fd);
	*p = (struct gp__peek){ .fd = -1 };
}

/* Reads as many words as it can. Returns how many; 0: the first one is not mapped. */
static size_t take(struct gp__peek *p, struct gp__word *word, size_t n)
{
	struct iovec from[BATCH];
	ssize_t done;

	if (n > BATCH)
		n = BATCH;
	for (size_t i = 0; i < n; i++)
		from[i] = (struct iovec){ (void *)(uintptr_t)word[i].at, sizeof(word[i].value) };
	/* Other threads write these words meanwhile; sanitizers know pwritev() and would report a
	 * race. */
	do {
		done = syscall(SYS_pwritev, p->fd, from, n, 0, 0);
	} while (done < 0 && errno == EINTR);
	n = done > 0 ? (size_t)done / sizeof(uint64_t) : 0;
	for (size_t i = 0; i < n; i++) {
		word[i].value = p->copy[i];
		word[i].there = true;
	}
	return n;
}

size_t gp__peek(struct gp__peek *p, struct gp__word *word, size_t n)
{
	size_t there = 0;

	while (n) {
		size_t taken = take(p, word, n);

		there += taken;
		word += taken;
		n -= taken;
		if (taken || !n)
			continue;
		word->there = false;
		word++;
		n--;
	}
	return there;
}
