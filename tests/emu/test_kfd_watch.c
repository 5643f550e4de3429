// SPDX-License-Identifier: MIT
/* Observing the machine: SMI events, files of debugfs. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "emu/kfd/debugfs.h"
#include "kfd_bench.h"
#include "kfd_client.h"

static const char *path;
static enum gfx9_target target;

struct setup {
	struct bench b;
	struct bench_process p;
	struct kfd_client client;
	struct bench_queue q, dma;
};

static struct setup *start(void)
{
	struct setup *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->b.config.cwsr = true;
	s->b.config.kernel = EMU_KERNEL_6_1;
	bench_start(&s->b, target, path);
	bench_process_start(&s->b, &s->p, getpid());
	s->p.p->opened = true;
	kfd_client_start(&s->client, &s->p.call);
	return s;
}

static void end(struct setup *s)
{
	kfd_client_end(&s->client, &s->p.call);
	bench_process_end(&s->p);
	bench_end(&s->b);
	free(s);
}

/*
 * SMI
 */

static int open_events(struct setup *s, uint64_t mask)
{
	struct gp_kfd_smi_events args = { .gpu_id = s->b.node->gpu_id };

	assert_int_equal(emu_smi_events(&s->p.call, &args), 0);
	if (mask)
		assert_int_equal(write((int)args.anon_fd, &mask, sizeof(mask)), sizeof(mask));
	return (int)args.anon_fd;
}

/* The next line within a while. */
static void read_line(int fd, char *line, size_t n)
{
	struct pollfd readable = { .fd = fd, .events = POLLIN };
	size_t len = 0;

	while (len + 1 < n && (!len || line[len - 1] != '\n')) {
		assert_int_equal(poll(&readable, 1, 20000), 1);
		assert_int_equal(read(fd, line + len, 1), 1);
		len++;
	}
	line[len] = '\0';
}

static void assert_nothing(int fd)
{
	char c;

	errno = 0;
	assert_int_equal(read(fd, &c, 1), -1);
	assert_int_equal(errno, EAGAIN);
}

static void only_wanted_events_are_reported(void **unused)
{
	struct setup *s = start();
	uint64_t evictions = GP_KFD_SMI_MASK(GP_KFD_SMI_QUEUE_EVICTION);
	struct gp_kfd_smi_events bad = { .gpu_id = 1 };
	unsigned long long ns;
	unsigned int event, gpu;
	int fd = open_events(s, 0), pid, trigger;
	char line[128];

	assert_int_equal(emu_smi_events(&s->p.call, &bad), -EINVAL);
	assert_nothing(fd);
	emu_smi_eviction(s->b.node, s->p.p, GP_KFD_EVICTION_SUSPEND);
	assert_nothing(fd);
	assert_int_equal(write(fd, &evictions, sizeof(evictions)), sizeof(evictions));
	emu_smi_eviction(s->b.node, s->p.p, GP_KFD_EVICTION_SUSPEND);
	emu_smi_vmfault(s->b.node, s->p.p);
	read_line(fd, line, sizeof(line));
	assert_int_equal(sscanf(line, "%x %llu -%d %x %d\n", &event, &ns, &pid, &gpu, &trigger), 5);
	assert_int_equal(event, GP_KFD_SMI_QUEUE_EVICTION);
	assert_int_equal(pid, getpid());
	assert_int_equal(gpu, s->b.node->gpu_id);
	assert_int_equal(trigger, GP_KFD_EVICTION_SUSPEND);
	assert_nothing(fd);
	close(fd);
	/* The machine notices that it is gone. */
	emu_smi_eviction(s->b.node, s->p.p, GP_KFD_EVICTION_SUSPEND);
	assert_int_equal(s->b.node->smi.nr_clients, 0);
	end(s);
	(void)unused;
}

static void others_are_for_root(void **unused)
{
	struct setup *s = start();
	const uint64_t mask = GP_KFD_SMI_MASK(GP_KFD_SMI_QUEUE_EVICTION);
	const uint64_t all = mask | GP_KFD_SMI_MASK(GP_KFD_SMI_ALL_PROCESS);
	struct emu_process other = { .pid = getppid() };
	int fd[3];
	char line[128];

	s->p.call.uid = 1000;
	fd[0] = open_events(s, all);
	s->p.call.uid = 0;
	fd[1] = open_events(s, mask);
	fd[2] = open_events(s, all);
	emu_smi_eviction(s->b.node, &other, GP_KFD_EVICTION_TTM);
	assert_nothing(fd[0]);
	assert_nothing(fd[1]);
	read_line(fd[2], line, sizeof(line));
	/* A reader that does not read blocks no other. */
	for (int i = 0; i < 20000; i++)
		emu_smi_eviction(s->b.node, &other, GP_KFD_EVICTION_TTM);
	for (int i = 0; i < 3; i++)
		close(fd[i]);
	end(s);
	(void)unused;
}

/* The kernel's name of this process, which may run under an emulator. */
static const char *own_name(char name[17])
{
	FILE *f = fopen("/proc/self/comm", "re");

	assert_non_null(f);
	assert_non_null(fgets(name, 17, f));
	fclose(f);
	name[strcspn(name, "\n")] = '\0';
	return name;
}

static void faults_and_resets_are_told(void **unused)
{
	struct setup *s = start();
	uint64_t wild = 0xdead0000;
	union aql_packet packet;
	char line[128], expected[128], name[17];
	int fd;

	assert_int_equal(bench_queue(&s->p, &s->q, GP_KFD_QUEUE_COMPUTE_AQL, 64), 0);
	fd = open_events(s, GP_KFD_SMI_MASK(GP_KFD_SMI_VMFAULT) |
				    GP_KFD_SMI_MASK(GP_KFD_SMI_GPU_PRE_RESET) |
				    GP_KFD_SMI_MASK(GP_KFD_SMI_GPU_POST_RESET));
	packet = bench_dispatch(&s->p, "knock", 1, 64, &wild, sizeof(wild), 0);
	bench_push(&s->q, &packet);
	read_line(fd, line, sizeof(line));
	snprintf(expected, sizeof(expected), "1 %x:%s\n", (unsigned int)getpid(), own_name(name));
	assert_string_equal(line, expected);
	emu_node_reset(s->b.node);
	read_line(fd, line, sizeof(line));
	assert_string_equal(line, "3 1 HWS hang\n");
	read_line(fd, line, sizeof(line));
	assert_string_equal(line, "4 1 \n");
	close(fd);
	end(s);
	(void)unused;
}

/*
 * debugfs
 */

static char *read_file(struct setup *s, const char *name)
{
	char full[64];
	struct stat st;
	char *text;
	int fd;

	snprintf(full, sizeof(full), "%s/%s", EMU_DEBUGFS, name);
	fd = emu_debugfs_open(&s->p.call, full);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	text = calloc(1, (size_t)st.st_size + 1);
	assert_non_null(text);
	assert_int_equal(read(fd, text, (size_t)st.st_size), st.st_size);
	close(fd);
	return text;
}

static void debugfs_is_roots(void **unused)
{
	struct setup *s = start();

	assert_int_equal(emu_debugfs_open(&s->p.call, EMU_DEBUGFS "/nothing"), -ENOENT);
	assert_int_equal(emu_debugfs_open(&s->p.call, EMU_DEBUGFS "/mqds/"), -ENOENT);
	s->p.call.uid = 1000;
	assert_int_equal(emu_debugfs_open(&s->p.call, EMU_DEBUGFS "/mqds"), -EACCES);
	end(s);
	(void)unused;
}

/* The n-th word of a dump whose lines have four blanks before them. */
static uint32_t word_of(const char *dump, uint32_t n)
{
	char prefix[32];
	const char *line;

	snprintf(prefix, sizeof(prefix), "    %08x:", n / 8 * 32);
	line = strstr(dump, prefix);
	assert_non_null(line);
	return (uint32_t)strtoul(line + strlen(prefix) + n % 8 * 9, NULL, 16);
}

static void descriptors_are_shown(void **unused)
{
	struct setup *s = start();
	char expected[128], *text;
	const char *at;

	assert_int_equal(bench_queue(&s->p, &s->q, GP_KFD_QUEUE_COMPUTE_AQL, 64), 0);
	assert_int_equal(bench_queue(&s->p, &s->dma, GP_KFD_QUEUE_SDMA, 64), 0);
	text = read_file(s, "mqds");
	snprintf(expected, sizeof(expected),
		 "Process %d PASID 0x%x:\n  SDMA queue on device %x\n    00000000: ", getpid(),
		 s->p.p->pasid, s->b.node->gpu_id);
	assert_int_equal(strncmp(text, expected, strlen(expected)), 0);
	snprintf(expected, sizeof(expected), "  Compute queue on device %x\n", s->b.node->gpu_id);
	at = strstr(text, expected);
	assert_non_null(at);
	assert_int_equal(word_of(at, 0), 0xc0310800);
	assert_int_equal(word_of(at, 133), 1); /* pipe and queue priority */
	assert_int_equal(word_of(at, 134), 7);
	assert_int_equal(word_of(at, 136), (uint32_t)(s->q.ring_va >> 8));
	assert_int_equal(word_of(at, 145) & 0x3f, 9); /* 1024 words */
	assert_non_null(strstr(at, "    000007e0: "));
	free(text);
	end(s);
	(void)unused;
}

static void slots_and_lists_are_shown(void **unused)
{
	struct setup *s = start();
	char expected[128], *text;

	snprintf(expected, sizeof(expected), "Node 1, gpu_id %x:\n  No active runlist\n",
		 s->b.node->gpu_id);
	text = read_file(s, "rls");
	assert_string_equal(text, expected);
	free(text);
	assert_int_equal(bench_queue(&s->p, &s->q, GP_KFD_QUEUE_COMPUTE_AQL, 64), 0);
	text = read_file(s, "rls");
	snprintf(expected, sizeof(expected), "Node 1, gpu_id %x:\n  00000000: c013a100 ",
		 s->b.node->gpu_id);
	assert_int_equal(strncmp(text, expected, strlen(expected)), 0);
	assert_non_null(strstr(text, " c005a200"));
	free(text);
	text = read_file(s, "hqds");
	snprintf(expected, sizeof(expected),
		 "Node 1, gpu_id %x:\n   Inst 0, HIQ on MEC 2 Pipe 0 "
		 "Queue 0\n    0000c914: 00000000",
		 s->b.node->gpu_id);
	assert_int_equal(strncmp(text, expected, strlen(expected)), 0);
	assert_non_null(strstr(text, " Inst 0,  CP Pipe 3, Queue 7\n"));
	assert_non_null(strstr(text, "  SDMA Engine 4, RLC 7\n"));
	free(text);
	end(s);
	(void)unused;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_wanted_events_are_reported),
		cmocka_unit_test(others_are_for_root),
		cmocka_unit_test(faults_and_resets_are_told),
		cmocka_unit_test(debugfs_is_roots),
		cmocka_unit_test(descriptors_are_shown),
		cmocka_unit_test(slots_and_lists_are_shown),
	};

	if (argc != 2)
		return 77;
	path = argv[1];
	target = machine_target(path);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
