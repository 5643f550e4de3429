// SPDX-License-Identifier: MIT
/* Watched doorbells: a thread that rings always continues. */
#include "base/clock.h"
#include "emu/kfd/doorbell.h"
#include "emu/kfd/node.h"
#include "emu/kfd/process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#define PAGE 4096
#define ROUNDS 200
#define MOMENT_NS 4000 /* about the time that removing a protection takes */
#define LONG_NS 20000000000ull

struct rig {
	struct emu_machine m;
	struct emu_node n;
	struct emu_process p;
	_Atomic(volatile uint64_t *) doorbell; /* to ring; NULL: rung */
	uint64_t delay_ns;
	_Atomic bool quit;
};

static void pass(uint64_t ns)
{
	uint64_t end = gp__clock_ns() + ns;

	while (gp__clock_ns() < end)
		;
}

static void *ring(void *arg)
{
	struct rig *r = arg;

	while (!atomic_load(&r->quit)) {
		volatile uint64_t *doorbell = atomic_load(&r->doorbell);

		/* Never sleeps, so that it rings without delay. */
		if (!doorbell)
			continue;
		pass(r->delay_ns);
		*doorbell = 1;
		atomic_store(&r->doorbell, NULL);
	}
	return NULL;
}

/* -1: not supported or not permitted. */
static int watch_page(void *page)
{
	struct uffdio_api api = { .api = UFFD_API,
				  .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP |
					      UFFD_FEATURE_WP_HUGETLBFS_SHMEM };
	struct uffdio_register reg = { .range = { (uintptr_t)page, PAGE },
				       .mode = UFFDIO_REGISTER_MODE_WP };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd >= 0 && (ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &reg))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Like the front end: waits until a doorbell is rung, unless one was. */
static void sleep_until_rung(struct rig *r, uint64_t end)
{
	uint32_t nr;
	bool blind;
	struct pollfd *fds = emu_doorbell_arm(&r->n, &nr, &blind);

	assert_non_null(fds);
	while (atomic_load(&r->doorbell) && !poll(fds, nr, 1))
		assert_true(gp__clock_ns() < end);
	emu_doorbell_disarm(&r->n);
	free(fds);
}

static void sleep_for(struct rig *r, uint64_t ns)
{
	uint32_t nr;
	bool blind;
	struct pollfd *fds = emu_doorbell_arm(&r->n, &nr, &blind);

	assert_non_null(fds);
	pass(ns);
	emu_doorbell_disarm(&r->n);
	free(fds);
}

/* The first ring on a page, at the moment when the front end wakes for another reason. */
static void ring_while_it_wakes(struct rig *r, int memfd)
{
	volatile uint64_t *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	uint64_t end = gp__clock_ns() + LONG_NS;
	int uffd;

	assert_true(page != MAP_FAILED);
	(void)page[0];
	uffd = watch_page((void *)page);
	if (uffd < 0) {
		print_message("no userfaultfd: %s\n", strerror(errno));
		skip();
	}
	assert_int_equal(emu_doorbell_watch(&r->p, 0, uffd, (uintptr_t)page, PAGE), 0);
	r->delay_ns = (uint64_t)(rand() % MOMENT_NS);
	atomic_store(&r->doorbell, page);
	sleep_for(r, (uint64_t)(rand() % MOMENT_NS));
	while (atomic_load(&r->doorbell))
		sleep_until_rung(r, end);
	emu_doorbell_forget(&r->p);
	munmap((void *)page, PAGE);
}

static void a_ringing_thread_always_continues(void **state)
{
	static struct rig r;
	int memfd = memfd_create("doorbells", MFD_CLOEXEC);
	pthread_t ringer;

	(void)state;
	r.m.config.nr_gpus = 1;
	r.m.node[0] = &r.n;
	r.p.m = &r.m;
	pthread_mutex_init(&r.n.front_lock, NULL);
	assert_int_equal(ftruncate(memfd, PAGE), 0);
	assert_int_equal(pthread_create(&ringer, NULL, ring, &r), 0);
	for (int i = 0; i < ROUNDS; i++)
		ring_while_it_wakes(&r, memfd);
	atomic_store(&r.quit, true);
	pthread_join(ringer, NULL);
	close(memfd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_ringing_thread_always_continues),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
