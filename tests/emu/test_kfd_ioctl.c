// SPDX-License-Identifier: MIT
/*
 * Connections, files and ioctls of a machine: errors, permissions, and that no action or omission
 * of a client harms the machine or another client.
 */
#include "../unit/host.h"
#include "kfd_server.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define BOTH 3u /* ways */

static int setup(void **state)
{
	struct server *s = calloc(1, sizeof(*s));

	s->config.kernel = EMU_KERNEL_6_12;
	s->config.nr_gpus = 2;
	server_start(s);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	server_stop(*state);
	free(*state);
	return 0;
}

/* Checks that it still serves other clients. */
static void assert_serves(struct server *s)
{
	struct gp_kfd_version v;
	struct client c = { 0 };

	client_connect(s, &c);
	assert_int_equal(client_hello(&c, 77), 0);
	c.kfd = client_open(&c, "/dev/kfd");
	assert_int_equal(client_kfd(&c, GP_KFD_GET_VERSION, &v), 0);
	client_close(&c);
}

/*
 * Messages
 */

static void hello_first(void **state)
{
	struct server *s = *state;
	struct client c = { 0 };
	struct emu_message msg = { .type = EMU_OPEN };

	client_connect(s, &c);
	assert_int_equal(client_call(&c, &msg, "/dev/kfd", 8, NULL), -EPROTO);
	assert_int_equal(client_hello(&c, 1), -ECONNRESET);
	client_close(&c);

	client_connect(s, &c);
	msg = (struct emu_message){ .type = EMU_HELLO, .length = EMU_PROTOCOL_VERSION + 1 };
	assert_int_equal(client_call(&c, &msg, NULL, 0, NULL), -EPROTO);
	client_close(&c);

	client_connect(s, &c);
	assert_int_equal(client_hello(&c, 1), 0);
	assert_int_equal(client_hello(&c, 2), -EPROTO);
	client_close(&c);
	assert_serves(s);
}

/* Invalid messages cost the sender its connection. */
static void nonsense(void **state)
{
	struct server *s = *state;
	struct emu_message m = { .type = EMU_IOCTL };
	uint8_t bytes[EMU_DATA_MAX + sizeof(m) + 64];
	struct client c = { 0 };

	memset(bytes, 0xa5, sizeof(bytes));
	for (int i = 0; i < 6; i++) {
		size_t n = sizeof(m);

		client_connect(s, &c);
		assert_int_equal(client_hello(&c, 5), 0);
		memcpy(bytes, &m, sizeof(m));
		((struct emu_message *)bytes)->data_len = i == 1 ? 8 : i == 2 ? UINT32_MAX : 0;
		((struct emu_message *)bytes)->nr_fds = i == 3;
		((struct emu_message *)bytes)->type = i == 4 ? 99 : EMU_IOCTL;
		if (i == 0)
			n = 10;
		if (i == 5)
			n = sizeof(bytes);
		assert_true(send(c.fd, bytes, n, 0) == (ssize_t)n);
		assert_true(client_hello(&c, 5) < 0);
		assert_int_equal(client_hello(&c, 5), -ECONNRESET);
		client_close(&c);
	}
	assert_serves(s);
}

/* Answers to another request. */
static bool wrong_answer(struct client *c, const struct emu_message *question)
{
	struct emu_message a = { .type = EMU_ANSWER };
	int kind = *(int *)c->ctx;
	uint8_t data[64] = { 0 };

	assert_int_equal(question->request, EMU_READ);
	if (kind == 0)
		emu_message_send(c->fd, &a, data, question->length - 1, NULL, 0);
	if (kind == 1)
		emu_message_send(c->fd, &a, NULL, 0, NULL, 0);
	if (kind == 2) {
		a.type = EMU_OPEN;
		emu_message_send(c->fd, &a, data, sizeof(data), NULL, 0);
	}
	if (kind == 3) {
		a.result = INT64_MIN;
		emu_message_send(c->fd, &a, NULL, 0, NULL, 0);
	}
	if (kind == 4)
		close(c->fd);
	return false;
}

static void wrong_answers(void **state)
{
	struct server *s = *state;
	struct gp_kfd_get_clock_counters args = { 0 };

	for (int kind = 0; kind < 5; kind++) {
		struct client c = { .ctx = &kind };

		client_setup(s, &c, 9);
		c.asked = wrong_answer;
		assert_int_equal(client_kfd(&c, GP_KFD_GET_CLOCK_COUNTERS, &args), -ECONNRESET);
		if (kind == 4)
			c.fd = -1;
		client_close(&c);
		assert_serves(s);
	}
}

/* A client that does not answer blocks only itself. */
static bool never_answer(struct client *c, const struct emu_message *question)
{
	(void)question;
	assert_serves(c->s);
	shutdown(c->fd, SHUT_RDWR);
	return false;
}

static void no_answer(void **state)
{
	struct gp_kfd_get_clock_counters args = { 0 };
	struct client c = { .asked = NULL };
	int status;
	pid_t pid;

	/* From another process: the same one would be its own successor. */
	pid = fork();
	if (!pid) {
		client_setup(*state, &c, 9);
		c.asked = never_answer;
		client_kfd(&c, GP_KFD_GET_CLOCK_COUNTERS, &args);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void too_many_connections(void **state)
{
	struct client *c = calloc(513, sizeof(*c));

	for (int i = 0; i < 513; i++)
		client_connect(*state, &c[i]);
	assert_int_equal(client_hello(&c[511], 1), 0);
	assert_int_equal(client_hello(&c[512], 1), -ECONNRESET);
	for (int i = 0; i < 513; i++)
		client_close(&c[i]);
	free(c);
}

/*
 * Files
 */

static void files(void **state)
{
	struct server *s = *state;
	struct gp_kfd_version v;
	struct client c = { 0 };
	struct emu_message msg;

	client_connect(s, &c);
	assert_int_equal(client_hello(&c, 3), 0);
	assert_int_equal(client_open(&c, "/dev/null"), -ENOENT);
	assert_int_equal(client_open(&c, "/dev/dri/renderD127"), -ENOENT);
	assert_int_equal(client_open(&c, "/dev/dri/renderD130"), -ENOENT);
	assert_int_equal(client_open(&c, "/dev/kfd/"), -ENOENT);
	assert_true(client_open(&c, "/dev/dri/renderD129") >= 0);
	c.kfd = client_open(&c, "/dev/kfd");
	assert_int_equal(client_kfd(&c, GP_KFD_GET_VERSION, &v), 0);
	msg = (struct emu_message){ .type = EMU_IOCTL,
				    .file = 1 << 20,
				    .request = GP_KFD_GET_VERSION };
	assert_int_equal(client_call(&c, &msg, NULL, 0, NULL), -EBADF);
	msg = (struct emu_message){ .type = EMU_MMAP, .file = 1 << 20, .length = 4096 };
	assert_int_equal(client_call(&c, &msg, NULL, 0, NULL), -EBADF);
	client_close(&c);
}

static bool is_closed(void *ctx)
{
	struct client *c = ctx;
	struct gp_kfd_version v;

	return client_kfd(c, GP_KFD_GET_VERSION, &v) == -EBADF;
}

static void closed_file(void **state)
{
	struct client c = { 0 };
	struct gp_kfd_version v;
	int copy;

	client_setup(*state, &c, 3);
	copy = dup(c.kfd);
	close(c.kfd);
	usleep(20000);
	assert_int_equal(client_kfd(&c, GP_KFD_GET_VERSION, &v), 0);
	close(copy);
	assert_true(soon(is_closed, &c));
	/* A second file works like the first. */
	c.kfd = client_open(&c, "/dev/kfd");
	assert_int_equal(client_kfd(&c, GP_KFD_GET_VERSION, &v), 0);
	client_close(&c);
}

static void too_many_files(void **state)
{
	struct client c = { 0 };
	int fds[EMU_FILES_MAX + 1], n = 0;

	client_connect(*state, &c);
	assert_int_equal(client_hello(&c, 3), 0);
	do {
		c.nr_files = 0;
		fds[n] = client_open(&c, "/dev/kfd");
	} while (fds[n] >= 0 && ++n < EMU_FILES_MAX + 1);
	assert_int_equal(fds[n], -EMFILE);
	assert_int_equal(n, EMU_FILES_MAX);
	while (n)
		close(fds[--n]);
	c.nr_files = 0;
	client_close(&c);
}

/* A child has its parent's descriptor, and the kernel distinguishes the two. */
static void of_another_process(void **state)
{
	struct client c = { 0 }, child = { 0 };
	struct gp_kfd_version v;
	int status;
	pid_t pid;

	client_setup(*state, &c, 3);
	pid = fork();
	if (!pid) {
		child = c;
		client_connect(*state, &child);
		if (client_hello(&child, 4) || client_kfd(&child, GP_KFD_GET_VERSION, &v) != -EBADF)
			_exit(1);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(client_kfd(&c, GP_KFD_GET_VERSION, &v), 0);
	client_close(&c);
}

/*
 * The end of a process
 */

struct end {
	struct server *s;
	pid_t pid;
};

static bool is_gone(void *ctx)
{
	const struct end *e = ctx;
	char path[PATH_MAX + 64];
	struct stat st;

	snprintf(path, sizeof(path), "%s/sys/class/kfd/kfd/proc/%d", e->s->config.dir, e->pid);
	return stat(path, &st) != 0;
}

static void death(void **state)
{
	struct end e = { .s = *state };
	struct client c = { 0 };
	struct gp_kfd_alloc_memory args = { .va_addr = 1 << 30,
					    .size = 1 << 20,
					    .gpu_id = e.s->m.node[0]->gpu_id,
					    .flags = GP_KFD_MEM_VRAM };
	int go[2], over[2];
	char byte;

	assert_int_equal(pipe(go), 0);
	assert_int_equal(pipe(over), 0);
	e.pid = fork();
	if (!e.pid) {
		client_setup(e.s, &c, 8);
		if (client_kfd(&c, GP_KFD_ALLOC_MEMORY, &args) || write(go[1], "", 1) != 1)
			_exit(1);
		/* A child that lives on keeps all descriptors. */
		if (!fork()) {
			close(over[1]);
			_exit(read(over[0], &byte, 1) != 0);
		}
		pause();
	}
	close(go[1]);
	assert_int_equal(read(go[0], &byte, 1), 1);
	assert_false(is_gone(&e));
	assert_int_equal(e.s->m.node[0]->vram_used, 1 << 20);
	kill(e.pid, SIGKILL);
	waitpid(e.pid, NULL, 0);
	assert_true(soon(is_gone, &e));
	/* Only now does that child end. */
	close(over[1]);
	close(over[0]);
	close(go[0]);
}

/* exec: the same process with another cookie. */
static void successor(void **state)
{
	struct client old = { 0 }, new = { 0 };
	struct gp_kfd_version v;

	client_setup(*state, &old, 1);
	client_setup(*state, &new, 2);
	assert_int_equal(client_kfd(&old, GP_KFD_GET_VERSION, &v), -ECONNRESET);
	assert_int_equal(client_kfd(&new, GP_KFD_GET_VERSION, &v), 0);
	client_close(&old);
	client_close(&new);
}

/*
 * ioctls
 */

static void numbers(void **state)
{
	static const struct {
		enum emu_kernel kernel;
		uint32_t minor, last;
		bool series, aliases;
	} kernels[] = {
		{ EMU_KERNEL_6_1, 11, 0x23, false, false },
		{ EMU_KERNEL_6_12, 17, 0x26, false, false },
		{ EMU_KERNEL_GPREEMPT, 17, 0x26, true, false },
		{ EMU_KERNEL_GPREEMPT, 17, 0x26, true, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
		struct server *s = calloc(1, sizeof(*s));
		struct gp_kfd_version v = { 0 };
		uint8_t args[256] = { 0 };
		struct client c = { 0 };

		s->config.kernel = kernels[i].kernel;
		s->config.preempt_aliases = kernels[i].aliases;
		server_start(s);
		client_setup(s, &c, 1);
		assert_int_equal(client_kfd(&c, GP_KFD_GET_VERSION, &v), 0);
		assert_int_equal(v.major, 1);
		assert_int_equal(v.minor, kernels[i].minor);
		for (uint32_t nr = 0; nr < 256; nr++) {
			bool is = (nr && nr <= kernels[i].last) ||
				  (kernels[i].series && nr == 0xf0) ||
				  (kernels[i].aliases && (nr == 0x87 || nr == 0x88));

			/* Without arguments, which are zeros then. */
			if (is)
				assert_int_not_equal(client_kfd(&c, _IOC(BOTH, 'K', nr, 0), args),
						     -ENOTTY);
			else
				assert_int_equal(client_kfd(&c, _IOC(BOTH, 'K', nr, 64), args),
						 -ENOTTY);
		}
		assert_int_equal(client_kfd(&c, _IOC(BOTH, 'K', 0x0d, 8), args), -EPERM);
		client_close(&c);
		server_stop(s);
		free(s);
	}
}

/* As many bytes as the number says, in both directions; missing ones are zero. */
static void sizes(void **state)
{
	struct server *s = *state;
	struct {
		struct gp_kfd_get_clock_counters args;
		uint64_t more;
	} a;
	struct client c = { 0 };

	client_setup(s, &c, 1);
	memset(&a, 0xff, sizeof(a));
	a.args.gpu_id = s->m.node[1]->gpu_id;
	/* Without the GPU it asks for, it asks for none. */
	assert_int_equal(client_kfd(&c, _IOC(BOTH, 'K', 5, 16), &a), 0);
	assert_int_equal(a.args.gpu_clock_counter, 0);
	assert_int_not_equal(a.args.cpu_clock_counter, UINT64_MAX);
	assert_int_equal(a.args.system_clock_freq, UINT64_MAX);
	assert_int_equal(client_kfd(&c, _IOC(BOTH, 'K', 5, sizeof(a)), &a), 0);
	assert_int_equal(a.args.system_clock_freq, 1000000000);
	assert_int_equal(a.more, UINT64_MAX);
	/* The caller cannot choose the direction. */
	a.args.system_clock_freq = 0;
	assert_int_equal(client_kfd(&c, _IOC(0u, 'K', 5, sizeof(a.args)), &a), 0);
	assert_int_equal(a.args.system_clock_freq, 1000000000);
	assert_int_equal(client_kfd(&c, GP_KFD_GET_CLOCK_COUNTERS, NULL), -EFAULT);
	assert_int_equal(client_kfd(&c, GP_KFD_GET_VERSION, (void *)8), -EFAULT);
	client_close(&c);
}

static void apertures(void **state)
{
	struct server *s = *state;
	struct gp_kfd_apertures a[3];
	struct gp_kfd_get_apertures args = { .apertures_ptr = (uintptr_t)a };
	struct gp_kfd_get_apertures_old *old = calloc(1, sizeof(*old));
	struct client c = { 0 };

	client_setup(s, &c, 1);
	assert_int_equal(client_kfd(&c, GP_KFD_GET_APERTURES, &args), 0);
	assert_int_equal(args.num_of_nodes, 2);
	args.num_of_nodes = 4;
	assert_int_equal(client_kfd(&c, GP_KFD_GET_APERTURES, &args), -EINVAL);
	args.num_of_nodes = 3;
	assert_int_equal(client_kfd(&c, GP_KFD_GET_APERTURES, &args), 0);
	assert_int_equal(args.num_of_nodes, 2);
	assert_int_equal(a[1].gpu_id, s->m.node[1]->gpu_id);
	assert_int_equal(a[1].lds_base, 1ULL << 48);
	assert_int_equal(a[1].lds_limit, (1ULL << 48) + UINT32_MAX);
	assert_int_equal(a[1].gpuvm_limit, (1ULL << 47) - 1);
	args.num_of_nodes = 1;
	args.apertures_ptr = 8;
	assert_int_equal(client_kfd(&c, GP_KFD_GET_APERTURES, &args), -EFAULT);
	assert_int_equal(client_kfd(&c, GP_KFD_GET_APERTURES_OLD, old), 0);
	assert_int_equal(old->num_of_nodes, 2);
	assert_int_equal(old->apertures[0].gpu_id, s->m.node[0]->gpu_id);
	free(old);
	client_close(&c);
}

/* Before ACQUIRE_VM, and what it refuses. */
static void acquire(void **state)
{
	struct server *s = *state;
	uint32_t gpu = s->m.node[0]->gpu_id;
	struct gp_kfd_acquire_vm args = { .gpu_id = gpu };
	struct gp_kfd_set_memory_policy policy = { .gpu_id = gpu };
	struct gp_kfd_set_trap_handler trap = { .gpu_id = gpu, .tba_addr = 4096, .tma_addr = 8192 };
	struct gp_kfd_set_scratch_backing_va scratch = { .gpu_id = gpu };
	struct gp_kfd_alloc_memory alloc = { .size = 4096, .gpu_id = gpu, .flags = GP_KFD_MEM_GTT };
	struct client c = { 0 };
	struct emu_process *p;
	int render, other;

	client_connect(s, &c);
	assert_int_equal(client_hello(&c, 1), 0);
	c.kfd = client_open(&c, "/dev/kfd");
	render = client_open(&c, "/dev/dri/renderD128");
	other = client_open(&c, "/dev/dri/renderD129");
	assert_int_equal(client_kfd(&c, GP_KFD_SET_MEMORY_POLICY, &policy), -ESRCH);
	assert_int_equal(client_kfd(&c, GP_KFD_SET_TRAP_HANDLER, &trap), -ESRCH);
	assert_int_equal(client_kfd(&c, GP_KFD_SET_SCRATCH_BACKING_VA, &scratch), -ENODEV);
	assert_int_equal(client_kfd(&c, GP_KFD_ALLOC_MEMORY, &alloc), -ENODEV);
	args.drm_fd = 999;
	assert_int_equal(client_kfd(&c, GP_KFD_ACQUIRE_VM, &args), -EINVAL);
	args.drm_fd = (uint32_t)c.kfd;
	assert_int_equal(client_kfd(&c, GP_KFD_ACQUIRE_VM, &args), -EINVAL);
	args.drm_fd = (uint32_t)other;
	assert_int_equal(client_kfd(&c, GP_KFD_ACQUIRE_VM, &args), -EINVAL);
	args.drm_fd = (uint32_t)render;
	args.gpu_id = 1;
	assert_int_equal(client_kfd(&c, GP_KFD_ACQUIRE_VM, &args), -EINVAL);
	args.gpu_id = gpu;
	assert_int_equal(client_kfd(&c, GP_KFD_ACQUIRE_VM, &args), 0);
	assert_int_equal(client_kfd(&c, GP_KFD_ACQUIRE_VM, &args), 0);
	args.drm_fd = (uint32_t)client_open(&c, "/dev/dri/renderD128");
	assert_int_equal(client_kfd(&c, GP_KFD_ACQUIRE_VM, &args), -EBUSY);
	assert_int_equal(client_kfd(&c, GP_KFD_SET_MEMORY_POLICY, &policy), 0);
	policy.default_policy = 2;
	assert_int_equal(client_kfd(&c, GP_KFD_SET_MEMORY_POLICY, &policy), -EINVAL);
	/* The program's handler is the second level of ours. */
	assert_int_equal(client_kfd(&c, GP_KFD_SET_TRAP_HANDLER, &trap), 0);
	p = client_process(&c);
	assert_int_equal(p->node[0].tma_words[0], 4096);
	assert_int_equal(p->node[0].tma_words[1], 8192);
	assert_int_equal(p->node[0].tma, p->node[0].tba + 0x1800);
	client_close(&c);
}

static void facts(void **state)
{
	struct server *s = *state;
	uint32_t tiles[40];
	struct gp_kfd_get_tile_config tile = { .tile_config_ptr = (uintptr_t)tiles,
					       .macro_tile_config_ptr = (uintptr_t)tiles,
					       .num_tile_configs = 40,
					       .num_macro_tile_configs = 2,
					       .gpu_id = s->m.node[0]->gpu_id };
	struct gp_kfd_set_xnack_mode xnack = { .xnack_enabled = -1 };
	struct gp_kfd_svm svm = { .start_addr = 4096, .size = 4096 };
	struct gp_kfd_get_available_memory memory = { .gpu_id = s->m.node[1]->gpu_id };
	struct client c = { 0 };

	client_setup(s, &c, 1);
	assert_int_equal(client_kfd(&c, GP_KFD_GET_TILE_CONFIG, &tile), 0);
	assert_int_equal(tile.num_tile_configs, 32);
	assert_int_equal(tile.num_macro_tile_configs, 2);
	tile.tile_config_ptr = 8;
	assert_int_equal(client_kfd(&c, GP_KFD_GET_TILE_CONFIG, &tile), -EFAULT);
	assert_int_equal(tile.num_tile_configs, 0);
	assert_int_equal(client_kfd(&c, GP_KFD_SET_XNACK_MODE, &xnack), -EPERM);
	assert_int_equal(xnack.xnack_enabled, -1);
	xnack.xnack_enabled = 0;
	assert_int_equal(client_kfd(&c, GP_KFD_SET_XNACK_MODE, &xnack), -EPERM);
	assert_int_equal(client_kfd(&c, GP_KFD_SVM, &svm), -EPERM);
	svm.nattr = 1;
	assert_int_equal(client_kfd(&c, GP_KFD_SVM, &svm), -EINVAL);
	assert_int_equal(client_kfd(&c, GP_KFD_AVAILABLE_MEMORY, &memory), 0);
	assert_int_equal(memory.available, s->config.vram_bytes);
	memory.gpu_id = 0;
	assert_int_equal(client_kfd(&c, GP_KFD_AVAILABLE_MEMORY, &memory), -EINVAL);
	client_close(&c);
}

static void kfd_mmap(void **state)
{
	struct server *s = *state;
	uint64_t gpu = (uint64_t)s->m.node[0]->gpu_id << 46;
	struct client c = { 0 };
	uint64_t *doorbells;
	int err;

	client_setup(s, &c, 1);
	doorbells = client_mmap(&c, c.kfd, 3ULL << 62 | gpu, emu_doorbell_bytes(),
				PROT_READ | PROT_WRITE, &err);
	assert_non_null(doorbells);
	assert_int_equal(doorbells[0], UINT64_MAX);
	doorbells[5] = 17;
	assert_int_equal(client_process(&c)->node[0].doorbells[5], 17);
	munmap(doorbells, emu_doorbell_bytes());
	assert_null(client_mmap(&c, c.kfd, 3ULL << 62 | gpu, 4096, PROT_READ, &err));
	assert_int_equal(err, -EINVAL);
	assert_null(client_mmap(&c, c.kfd, 3ULL << 62, 8192, PROT_READ, &err));
	assert_int_equal(err, -ENODEV);
	assert_null(client_mmap(&c, c.kfd, 2ULL << 62, 4096, PROT_READ, &err));
	assert_int_equal(err, -EINVAL);
	assert_null(client_mmap(&c, c.kfd, 1ULL << 62 | gpu, 8192, PROT_READ, &err));
	assert_int_equal(err, -EINVAL);
	assert_null(client_mmap(&c, c.kfd, gpu, 8192, PROT_READ, &err));
	assert_int_equal(err, -EINVAL);
	client_close(&c);
}

static void render_node(void **state)
{
	struct server *s = *state;
	char name[8] = "", date[4] = "";
	struct {
		int32_t major, minor, patch, pad;
		uint64_t name_len, name, date_len, date, desc_len, desc;
	} version = {
		.name_len = 8, .name = (uintptr_t)name, .date_len = 4, .date = (uintptr_t)date
	};
	uint32_t working = 0;
	struct {
		uint64_t pointer;
		uint32_t size, query, more[4];
	} info = { (uintptr_t)&working, sizeof(working), 0, { 0 } };
	uint64_t cap[2] = { 5, 0 };
	struct client c = { 0 };
	int fd;

	client_setup(s, &c, 1);
	fd = c.render[0];
	assert_int_equal(client_ioctl(&c, fd, _IOC(BOTH, 'd', 0, sizeof(version)), &version), 0);
	assert_int_equal(version.major, 3);
	assert_string_equal(name, "amdgpu");
	assert_memory_equal(date, "2015", 4);
	assert_int_equal(version.date_len, 8);
	assert_int_equal(version.desc_len, 7);
	assert_int_equal(client_ioctl(&c, fd, _IOC(1u, 'd', 0x45, sizeof(info)), &info), 0);
	assert_int_equal(working, 1);
	info.query = 0x7f;
	assert_int_equal(client_ioctl(&c, fd, _IOC(1u, 'd', 0x45, sizeof(info)), &info), -EINVAL);
	info.pointer = 0;
	assert_int_equal(client_ioctl(&c, fd, _IOC(1u, 'd', 0x45, sizeof(info)), &info), -EINVAL);
	assert_int_equal(client_ioctl(&c, fd, _IOC(BOTH, 'd', 0x0c, sizeof(cap)), cap), 0);
	assert_int_equal(cap[1], 3);
	cap[0] = 99;
	assert_int_equal(client_ioctl(&c, fd, _IOC(BOTH, 'd', 0x0c, sizeof(cap)), cap), -EINVAL);
	assert_int_equal(client_ioctl(&c, fd, _IOC(BOTH, 'd', 0x02, 4), cap), -EACCES);
	assert_int_equal(client_ioctl(&c, fd, _IOC(BOTH, 'd', 0x40, 32), cap), -EOPNOTSUPP);
	assert_int_equal(client_ioctl(&c, fd, _IOC(BOTH, 'd', 0x9f, 32), cap), -EINVAL);
	assert_int_equal(client_ioctl(&c, fd, _IOC(BOTH, 'K', 0, 32), cap), -ENOTTY);
	client_close(&c);
}

static void injected(void **state)
{
	struct server *s = calloc(1, sizeof(*s));
	struct gp_kfd_create_event event = { 0 };
	struct gp_kfd_version v;
	struct client c = { 0 };

	(void)state;
	s->config.kernel = EMU_KERNEL_6_12;
	s->config.faults.ioctl_enomem = 1000000;
	server_start(s);
	client_connect(s, &c);
	assert_int_equal(client_hello(&c, 1), 0);
	c.kfd = client_open(&c, "/dev/kfd");
	assert_int_equal(client_kfd(&c, GP_KFD_GET_VERSION, &v), 0);
	assert_int_equal(client_kfd(&c, GP_KFD_CREATE_EVENT, &event), -ENOMEM);
	s->m.config.faults.ioctl_eintr = 1000000;
	assert_int_equal(client_kfd(&c, GP_KFD_GET_VERSION, &v), -EINTR);
	client_close(&c);
	server_stop(s);
	free(s);
}

/* A machine that stops: calls in progress fail. */
struct waiter {
	struct client c;
	_Atomic bool has_event;
};

static void *wait_for_ever(void *arg)
{
	struct waiter *w = arg;
	struct gp_kfd_create_event event = { 0 };
	struct gp_kfd_event_data data = { 0 };
	struct gp_kfd_wait_events wait = { .events_ptr = (uintptr_t)&data,
					   .num_events = 1,
					   .timeout = UINT32_MAX };

	if (client_kfd(&w->c, GP_KFD_CREATE_EVENT, &event))
		return NULL;
	data.event_id = event.event_id;
	w->has_event = true;
	return (void *)(intptr_t)client_kfd(&w->c, GP_KFD_WAIT_EVENTS, &wait);
}

/* A client that sends arguments along gets no further request, and the same results. */
static void arguments_along(void **state)
{
	struct server *s = *state;
	struct client c = { 0 };
	struct gp_kfd_alloc_memory a[2];
	struct gp_kfd_map_memory map = { .n_devices = 1 };
	unsigned int asked;

	client_setup(s, &c, 1);
	for (int along = 0; along < 2; along++) {
		struct gp_kfd_version version = { 0 };

		c.sends_arguments = along;
		asked = c.nr_asked;
		a[along] = (struct gp_kfd_alloc_memory){ .va_addr = (1 + along) * 0x100000000ULL,
							 .size = 4096,
							 .gpu_id = s->m.node[0]->gpu_id,
							 .flags = GP_KFD_MEM_GTT };
		assert_int_equal(client_kfd(&c, GP_KFD_GET_VERSION, &version), 0);
		assert_int_equal(version.major, 1);
		assert_int_equal(client_kfd(&c, GP_KFD_ALLOC_MEMORY, &a[along]), 0);
		assert_int_equal(c.nr_asked - asked, along ? 0 : 3);
	}
	assert_int_equal(a[1].handle, a[0].handle + 1);
	/* Only the argument's targets. */
	asked = c.nr_asked;
	map.handle = a[1].handle;
	map.device_ids_array_ptr = (uintptr_t)&s->m.node[0]->gpu_id;
	assert_int_equal(client_kfd(&c, GP_KFD_MAP_MEMORY, &map), 0);
	assert_int_equal(map.n_success, 1);
	assert_int_equal(c.nr_asked - asked, 1);
	client_close(&c);
}

static void stopped_machine(void **state)
{
	struct server *s = calloc(1, sizeof(*s));
	struct waiter w = { .has_event = false };
	pthread_t thread;
	void *result;

	(void)state;
	s->config.kernel = EMU_KERNEL_6_12;
	server_start(s);
	client_setup(s, &w.c, 1);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_ever, &w), 0);
	for (int i = 0; i < 10000 && !w.has_event; i++)
		usleep(1000);
	usleep(50000);
	server_stop(s);
	pthread_join(thread, &result);
	assert_int_equal((intptr_t)result, -ECONNRESET);
	client_close(&w.c);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(hello_first, setup, teardown),
		cmocka_unit_test_setup_teardown(nonsense, setup, teardown),
		cmocka_unit_test_setup_teardown(wrong_answers, setup, teardown),
		cmocka_unit_test_setup_teardown(no_answer, setup, teardown),
		cmocka_unit_test_setup_teardown(too_many_connections, setup, teardown),
		cmocka_unit_test_setup_teardown(files, setup, teardown),
		cmocka_unit_test_setup_teardown(closed_file, setup, teardown),
		cmocka_unit_test_setup_teardown(too_many_files, setup, teardown),
		cmocka_unit_test_setup_teardown(of_another_process, setup, teardown),
		cmocka_unit_test_setup_teardown(death, setup, teardown),
		cmocka_unit_test_setup_teardown(successor, setup, teardown),
		cmocka_unit_test(numbers),
		cmocka_unit_test_setup_teardown(sizes, setup, teardown),
		cmocka_unit_test_setup_teardown(apertures, setup, teardown),
		cmocka_unit_test_setup_teardown(acquire, setup, teardown),
		cmocka_unit_test_setup_teardown(facts, setup, teardown),
		cmocka_unit_test_setup_teardown(kfd_mmap, setup, teardown),
		cmocka_unit_test_setup_teardown(render_node, setup, teardown),
		cmocka_unit_test_setup_teardown(arguments_along, setup, teardown),
		cmocka_unit_test(injected),
		cmocka_unit_test(stopped_machine),
	};

	signal(SIGPIPE, SIG_IGN);
	if (!host_has_process_vm())
		return TEST_SKIPPED;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
