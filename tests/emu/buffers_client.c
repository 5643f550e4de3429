// SPDX-License-Identifier: MIT
/*
 * A program with more buffers on /dev/kfd than the machine has files for. Each keeps its content,
 * none costs the program a descriptor, and a late one can be exported, mapped, imported, and passed
 * to a child. On failure it exits with 1 and a sentence.
 */
#include "../fail.h"

#include "device/kfd/user.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096u
#define BUFFERS 600u
#define FEW 8

struct program {
	struct gp__kfd_user u;
	struct gp__kfd_memory buffer[BUFFERS];
};

static void open_gpu(struct program *p)
{
	struct gp__kfd_node nodes[GP__KFD_NODES_MAX];

	if (gp__kfd_nodes(nodes) < 1)
		fail("there is no GPU");
	must(gp__kfd_open(&p->u, &nodes[0]), "opening the GPU");
}

static int nr_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	if (!dir)
		fail("/proc/self/fd cannot be read");
	/* cppcheck-suppress readdirCalled; the stream is this call's own */
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void check_buffers(const struct program *p)
{
	for (uint64_t i = 0; i < BUFFERS; i++) {
		uint64_t *words = p->buffer[i].at;

		if (words[0] != i || words[1])
			fail("buffer %u holds %llu, %llu", (unsigned int)i,
			     (unsigned long long)words[0], (unsigned long long)words[1]);
	}
}

static int import(struct gp__kfd_user *u, int dmabuf, uint64_t at)
{
	struct gp_kfd_import_dmabuf args = { .va_addr = at,
					     .gpu_id = u->node.gpu_id,
					     .dmabuf_fd = (uint32_t)dmabuf };

	return gp__kfd_ioctl(u->kfd, GP_KFD_IMPORT_DMABUF, &args);
}

/* The child is another process on the machine, which has only the descriptor. */
static void hand_to_child(int dmabuf)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		struct program child = { 0 };
		uint64_t *seen = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf, 0);

		open_gpu(&child);
		must(import(&child.u, dmabuf, 1ULL << 40), "IMPORT_DMABUF of a child");
		if (seen == MAP_FAILED || seen[0] != 4711)
			fail("a child does not see what its parent exported");
		seen[0] = 4712;
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		fail("the child ended with %x", status);
}

static void export_last(struct program *p)
{
	struct gp__kfd_memory *last = &p->buffer[BUFFERS - 1];
	struct gp_kfd_export_dmabuf args = { .handle = last->handle };
	uint64_t *words = last->at, *seen;

	must(gp__kfd_ioctl(p->u.kfd, GP_KFD_EXPORT_DMABUF, &args), "EXPORT_DMABUF");
	seen = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, (int)args.dmabuf_fd, 0);
	if (seen == MAP_FAILED || seen[0] != BUFFERS - 1)
		fail("the dmabuf does not show its buffer");
	seen[0] = 4711;
	if (words[0] != 4711)
		fail("the buffer does not show what was written to its dmabuf");
	hand_to_child((int)args.dmabuf_fd);
	if (words[0] != 4712)
		fail("the buffer does not show what a child wrote to its dmabuf");
	words[0] = BUFFERS - 1;
	munmap(seen, PAGE);
	close((int)args.dmabuf_fd);
}

int main(void)
{
	static struct program p;
	int descriptors;

	open_gpu(&p);
	descriptors = nr_descriptors();
	for (uint64_t i = 0; i < BUFFERS; i++) {
		must(gp__kfd_alloc(&p.u, &p.buffer[i], PAGE,
				   i % 2 ? GP_KFD_MEM_GTT : GP_KFD_MEM_VRAM),
		     "a buffer");
		*(uint64_t *)p.buffer[i].at = i;
	}
	check_buffers(&p);
	if (nr_descriptors() > descriptors + FEW)
		fail("%u buffers cost the program descriptors", BUFFERS);
	export_last(&p);
	check_buffers(&p);
	for (unsigned int i = 0; i < BUFFERS; i++)
		gp__kfd_free(&p.u, &p.buffer[i]);
	printf("%u buffers: right\n", BUFFERS);
	gp__kfd_close(&p.u);
	return 0;
}
