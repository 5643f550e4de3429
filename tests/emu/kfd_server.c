// SPDX-License-Identifier: MIT
#include "kfd_server.h"

#include "base/clock.h"
#include "emu/kfd/buffer.h"
#include "emu/kfd/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#define SOON_NS ((uint64_t)5000000000)

struct packet {
	struct emu_message msg;
	uint8_t data[EMU_DATA_MAX];
};

/*
 * The machine
 */

static void *serve(void *arg)
{
	struct server *s = arg;

	emu_machine_serve(&s->m, s->quit_fd);
	return NULL;
}

void server_start(struct server *s)
{
	struct emu_config *c = &s->config;

	c->chip = emu_chip_find("gfx90a");
	c->nr_gpus = s->has_no_gpu ? 0 : c->nr_gpus ? c->nr_gpus : 1;
	c->nr_xccs = 1;
	c->xcc_cus = 2;
	c->threads = 1;
	c->cwsr = true;
	c->vram_bytes = c->vram_bytes ? c->vram_bytes : (uint64_t)1 << 30;
	snprintf(c->dir, sizeof(c->dir), "/tmp/gpreempt-kfd-XXXXXX");
	assert_non_null(mkdtemp(c->dir));
	assert_int_equal(emu_machine_init(&s->m, c), 0);
	assert_int_equal(emu_machine_listen(&s->m), 0);
	s->quit_fd = eventfd(0, EFD_CLOEXEC);
	assert_true(s->quit_fd >= 0);
	assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

void server_stop(struct server *s)
{
	uint64_t one = 1;

	assert_int_equal(write(s->quit_fd, &one, sizeof(one)), sizeof(one));
	pthread_join(s->thread, NULL);
	assert_null(s->m.processes);
	assert_null(s->m.connections);
	/* Exported memory is only remembered. */
	for (const struct emu_shared *m = s->m.shared; m; m = m->next)
		assert_int_equal(m->refs, 0);
	assert_int_equal(s->m.gtt_used, 0);
	for (uint32_t i = 0; i < s->config.nr_gpus; i++)
		assert_int_equal(s->m.node[i]->vram_used, 0);
	emu_machine_destroy(&s->m);
	assert_int_equal(emu_tree_remove(s->config.dir, ""), 0);
	close(s->quit_fd);
}

/*
 * A client's answers
 */

/* Its own memory, if it has any there. */
static int64_t copy_memory(void *local, uint64_t address, size_t len, bool write)
{
	struct iovec here = { local, len }, there = { (void *)(uintptr_t)address, len };
	ssize_t n = write ? process_vm_writev(getpid(), &here, 1, &there, 1, 0)
			  : process_vm_readv(getpid(), &here, 1, &there, 1, 0);

	return n == (ssize_t)len ? 0 : -EFAULT;
}

static int64_t answer_share(struct client *c, const struct emu_message *q, struct packet *p,
			    int *fd)
{
	for (int i = 0; i < c->nr_shared; i++) {
		const struct shared_memory *s = &c->shared[i];
		uint64_t n = s->va + s->length - q->address;
		struct emu_piece *piece = (struct emu_piece *)p->data;

		if (q->address < s->va || q->address >= s->va + s->length)
			continue;
		*piece = (struct emu_piece){ .address = q->address,
					     .length = n < q->length ? n : q->length,
					     .offset = q->address - s->va };
		p->msg.data_len = sizeof(*piece);
		*fd = dup(s->fd);
		return 0;
	}
	return -EFAULT;
}

/* The latest one, if a descriptor was reused. */
static uint64_t id_of(struct client *c, int fd)
{
	for (int i = c->nr_files; i--;) {
		if (c->file_fd[i] == fd)
			return c->file_id[i];
	}
	return 0;
}

static int64_t answer_file(struct client *c, uint64_t fd, struct packet *p)
{
	p->msg.file = id_of(c, (int)fd);
	return p->msg.file ? 0 : -EBADF;
}

static void answer(struct client *c, struct packet *p, const int *fds)
{
	struct emu_message q = p->msg;
	int fd = -1;

	p->msg = (struct emu_message){ .type = EMU_ANSWER };
	switch (q.request) {
	case EMU_READ:
		p->msg.result = copy_memory(p->data, q.address, q.length, false);
		p->msg.data_len = p->msg.result ? 0 : (uint32_t)q.length;
		break;
	case EMU_WRITE:
		p->msg.result = copy_memory(p->data, q.address, q.data_len, true);
		break;
	case EMU_GET_FILE:
		p->msg.result = answer_file(c, q.address, p);
		break;
	case EMU_GET_FD:
		fd = fcntl((int)q.address, F_DUPFD_CLOEXEC, 0);
		p->msg.result = fd < 0 ? -errno : 0;
		break;
	case EMU_PUT_FD:
		p->msg.result = dup(fds[0]);
		break;
	case EMU_SHARE:
		p->msg.result = answer_share(c, &q, p, &fd);
		break;
	case EMU_UNSHARE:
		c->nr_unshared++;
		break;
	case EMU_WATCH:
		c->nr_watched++;
		p->msg.result = -ENOSYS;
		break;
	default:
		fail_msg("question %u", q.request);
	}
	for (uint32_t i = 0; i < q.nr_fds; i++)
		close(fds[i]);
	emu_message_send(c->fd, &p->msg, p->data, p->msg.data_len, &fd, fd >= 0);
	if (fd >= 0)
		close(fd);
}

/*
 * A client's calls
 */

void client_connect(struct server *s, struct client *c)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	c->s = s;
	snprintf(address.sun_path, sizeof(address.sun_path), "%.90s/" EMU_SOCKET, s->config.dir);
	c->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_true(c->fd >= 0);
	assert_int_equal(connect(c->fd, (struct sockaddr *)&address, sizeof(address)), 0);
}

void client_close(struct client *c)
{
	for (int i = 0; i < c->nr_files; i++)
		close(c->file_fd[i]);
	if (c->fd >= 0)
		close(c->fd);
	if (c->process)
		emu_process_put(c->process);
	*c = (struct client){ .fd = -1 };
}

int64_t client_call(struct client *c, struct emu_message *msg, const void *data, size_t len,
		    int *fd)
{
	int fds[EMU_FDS_MAX];
	struct packet p;

	if (emu_message_send(c->fd, msg, data, len, NULL, 0))
		return -ECONNRESET;
	for (;;) {
		if (emu_message_receive(c->fd, &p.msg, fds))
			return -ECONNRESET;
		if (p.msg.type == EMU_REPLY)
			break;
		assert_int_equal(p.msg.type, EMU_ASK);
		c->nr_asked++;
		if (!c->asked || c->asked(c, &p.msg))
			answer(c, &p, fds);
	}
	*msg = p.msg;
	if (p.msg.data_len) {
		assert_true(c->sends_arguments);
		memcpy((void *)(uintptr_t)p.msg.address, p.data, p.msg.data_len);
	}
	for (uint32_t i = 0; i < p.msg.nr_fds; i++) {
		if (fd && !i)
			*fd = fds[0];
		else
			close(fds[i]);
	}
	return p.msg.result;
}

int64_t client_hello(struct client *c, uint64_t cookie)
{
	struct emu_message msg = { .type = EMU_HELLO,
				   .length = EMU_PROTOCOL_VERSION,
				   .address = cookie };

	return client_call(c, &msg, NULL, 0, NULL);
}

int client_open(struct client *c, const char *path)
{
	return client_open_with(c, path, O_RDWR);
}

int client_open_with(struct client *c, const char *path, int flags)
{
	struct emu_message msg = { .type = EMU_OPEN, .flags = (uint32_t)flags };
	int fd = -1;
	int64_t err = client_call(c, &msg, path, strlen(path), &fd);

	if (err)
		return (int)err;
	assert_true(fd >= 0 && c->nr_files < FILES_MAX);
	c->file_fd[c->nr_files] = fd;
	c->file_id[c->nr_files++] = msg.file;
	return fd;
}

int client_ioctl(struct client *c, int fd, unsigned long cmd, void *args)
{
	struct emu_message msg = { .type = EMU_IOCTL,
				   .file = id_of(c, fd),
				   .request = (uint32_t)cmd,
				   .address = (uintptr_t)args,
				   .offset = c->nr_sets,
				   .flags = c->sends_arguments ? EMU_TAKES_DATA : 0 };
	size_t len = c->sends_arguments ? _IOC_SIZE(cmd) : 0;
	int result = (int)client_call(c, &msg, args, len, NULL);

	c->nr_sets = msg.offset;
	return result;
}

void *client_mmap(struct client *c, int fd, uint64_t offset, uint64_t length, int prot, int *err)
{
	struct emu_message msg = { .type = EMU_MMAP,
				   .file = id_of(c, fd),
				   .length = length,
				   .offset = offset,
				   .flags = MAP_SHARED,
				   .prot = (uint32_t)prot };
	int real = -1;
	void *at;

	*err = (int)client_call(c, &msg, NULL, 0, &real);
	if (*err)
		return NULL;
	at = mmap(NULL, length, (int)msg.prot, (int)msg.flags, real, (off_t)msg.offset);
	close(real);
	assert_ptr_not_equal(at, MAP_FAILED);
	return at;
}

void client_setup(struct server *s, struct client *c, uint64_t cookie)
{
	char path[32];

	client_connect(s, c);
	assert_int_equal(client_hello(c, cookie), 0);
	c->kfd = client_open(c, "/dev/kfd");
	assert_true(c->kfd >= 0);
	for (uint32_t i = 0; i < s->config.nr_gpus; i++) {
		struct gp_kfd_acquire_vm args = { .gpu_id = s->m.node[i]->gpu_id };

		snprintf(path, sizeof(path), "/dev/dri/renderD%u", s->m.node[i]->render_minor);
		c->render[i] = client_open(c, path);
		assert_true(c->render[i] >= 0);
		args.drm_fd = (uint32_t)c->render[i];
		assert_int_equal(client_kfd(c, GP_KFD_ACQUIRE_VM, &args), 0);
	}
}

int client_kfd(struct client *c, unsigned long cmd, void *args)
{
	return client_ioctl(c, c->kfd, cmd, args);
}

struct emu_process *client_process(struct client *c)
{
	if (!c->process)
		c->process = emu_process_find(&c->s->m, getpid());
	assert_non_null(c->process);
	return c->process;
}

bool soon(bool (*is_so)(void *ctx), void *ctx)
{
	uint64_t end = gp__clock_ns() + SOON_NS;

	while (!is_so(ctx)) {
		if (gp__clock_ns() > end)
			return false;
		usleep(1000);
	}
	return true;
}
