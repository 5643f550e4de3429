// SPDX-License-Identifier: MIT
#include "emu/kfd/doorbell.h"

#include "emu/kfd/node.h"
#include "emu/kfd/process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* A place where a program has its doorbells of a node mapped. */
struct emu_watch {
	struct emu_watch *next;
	struct emu_process *process;
	int uffd; /* -1: cannot be watched */
	uint64_t address, length;
	bool armed, gone;
};

/* Needed for poll(2) and read(2) of a userfaultfd. */
static bool set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && !fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

int emu_doorbell_watch(struct emu_process *p, uint32_t node, int uffd, uint64_t address,
		       uint64_t length)
{
	struct emu_node *n = p->m->node[node];
	struct emu_watch *w = calloc(1, sizeof(*w));

	if (uffd >= 0 && (!w || !set_nonblocking(uffd))) {
		close(uffd);
		uffd = -1;
	}
	if (!w)
		return -ENOMEM;
	w->process = p;
	w->uffd = uffd;
	w->address = address;
	w->length = length;
	emu_node_enter(n);
	w->next = n->watches;
	n->watches = w;
	emu_node_leave(n);
	emu_node_wake(n);
	return 0;
}

static void free_watch(struct emu_watch *w)
{
	if (w->uffd >= 0)
		close(w->uffd);
	free(w);
}

static void forget_on(struct emu_node *n, struct emu_process *p)
{
	struct emu_watch **link = &n->watches, *w;

	emu_node_enter(n);
	while ((w = *link)) {
		if (w->process != p) {
			link = &w->next;
			continue;
		}
		*link = w->next;
		free_watch(w);
	}
	emu_node_leave(n);
}

void emu_doorbell_forget(struct emu_process *p)
{
	for (uint32_t i = 0; i < p->m->config.nr_gpus; i++) {
		forget_on(p->m->node[i], p);
		/* The front end may be asleep with a descriptor that is closed. */
		emu_node_wake(p->m->node[i]);
	}
}

static int protect(const struct emu_watch *w, bool on)
{
	struct uffdio_writeprotect wp = {
		.range = { .start = w->address, .len = w->length },
		.mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0,
	};

	return ioctl(w->uffd, UFFDIO_WRITEPROTECT, &wp) ? -errno : 0;
}

/*
 * A program that is gone, or has unmapped its doorbells, cannot ring. While it maps memory, the
 * call fails with EAGAIN. Any other error means that its kernel cannot do this for shared memory.
 */
static void arm(struct emu_watch *w, bool *blind)
{
	int err = protect(w, true);

	w->armed = !err;
	if (!err)
		return;
	if (err == -ESRCH || err == -ENOENT) {
		w->gone = true;
		return;
	}
	*blind = true;
	if (err == -EAGAIN)
		return;
	close(w->uffd);
	w->uffd = -1;
}

/* False: no fault since. */
static bool take_faults(const struct emu_watch *w)
{
	struct uffd_msg msg;
	bool any = false;

	while (read(w->uffd, &msg, sizeof(msg)) == sizeof(msg))
		any = true;
	return any;
}

/*
 * Lets faulted threads continue. A thread that faults while the protection is removed may fall
 * asleep after all were woken: on a page that was never written to, the kernel takes it for a
 * thread that has to wait. So each thread that is found is woken once more; a thread that comes
 * later is found before the next sleep.
 */
static void disarm(struct emu_watch *w)
{
	if (!w->armed)
		return;
	take_faults(w);
	do {
		while (protect(w, false) == -EAGAIN)
			;
	} while (take_faults(w));
	w->armed = false;
}

static void drop_gone(struct emu_node *n)
{
	struct emu_watch **link = &n->watches, *w;

	while ((w = *link)) {
		if (!w->gone) {
			link = &w->next;
			continue;
		}
		*link = w->next;
		free_watch(w);
	}
}

struct pollfd *emu_doorbell_arm(struct emu_node *n, uint32_t *nr, bool *blind)
{
	struct pollfd *fds;
	uint32_t room = 1;

	*nr = 0;
	*blind = false;
	for (struct emu_watch *w = n->watches; w; w = w->next)
		room++;
	fds = calloc(room, sizeof(*fds));
	if (!fds)
		return NULL;
	for (struct emu_watch *w = n->watches; w; w = w->next) {
		if (w->uffd >= 0)
			arm(w, blind);
		else
			*blind = true;
		if (w->armed)
			fds[(*nr)++] = (struct pollfd){ .fd = w->uffd, .events = POLLIN };
	}
	drop_gone(n);
	return fds;
}

void emu_doorbell_disarm(struct emu_node *n)
{
	for (struct emu_watch *w = n->watches; w; w = w->next)
		disarm(w);
}
