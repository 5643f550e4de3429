// SPDX-License-Identifier: MIT
/*
 * No arguments of an ioctl, and nothing that a client says they point to, may crash the machine or
 * be left behind when the process ends.
 *
 * An input is a list of calls: a byte that says which, one for the size, and the arguments.
 * Whatever is read besides them comes from the rest of the input.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/ioctl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "emu/kfd/buffer.h"
#include "emu/kfd/call.h"
#include "emu/kfd/ioctl.h"
#include "emu/kfd/memfd.h"
#include "emu/kfd/node.h"
#include "emu/kfd/process.h"
#include "emu/kfd/tree.h"
#include "emu/protocol.h"

#define ARGUMENTS 0x1000
#define RENDER_MAX 0x20 /* of the first byte: so much is for render nodes */
#define USER_BYTES (1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The call that is under way, as the client's thread knows it. */
struct client {
	int fd;
	uint8_t arguments[256];
	const uint8_t *rest;
	size_t left;
};

struct packet {
	struct emu_message msg;
	uint8_t data[EMU_DATA_MAX];
};

static struct emu_machine machine;

/* @len bytes of the input, and zeros behind its end. */
static void take(struct client *c, uint8_t *to, size_t len)
{
	size_t n = len < c->left ? len : c->left;

	memset(to, 0, len);
	memcpy(to, c->rest, n);
	c->rest += n;
	c->left -= n;
}

static void answer_read(struct client *c, struct packet *p)
{
	uint64_t len = p->msg.length;

	p->msg.data_len = (uint32_t)len;
	if (p->msg.address == ARGUMENTS && len <= sizeof(c->arguments))
		memcpy(p->data, c->arguments, len);
	else
		take(c, p->data, len);
	/* Now and then there is nothing. */
	p->msg.result = p->data[0] == 0xee ? -EFAULT : 0;
	if (p->msg.result)
		p->msg.data_len = 0;
}

/* Memory that is what it says, or smaller, or of no kind that can be used. */
static int answer_share(struct client *c, struct packet *p)
{
	struct emu_piece piece = { .address = p->msg.address, .length = p->msg.length };
	uint8_t how;

	take(c, &how, 1);
	if (how == 1)
		piece.offset = UINT64_MAX - 4095;
	if (how == 2)
		piece.fd = 1;
	if (how == 3)
		piece.length = 4096;
	memcpy(p->data, &piece, sizeof(piece));
	p->msg.data_len = sizeof(piece);
	p->msg.result = how == 4 ? -EFAULT : 0;
	return how == 5 ? open("/dev/zero", O_RDWR | O_CLOEXEC) : emu_memfd("user", USER_BYTES);
}

static void answer(struct client *c, struct packet *p, const int *fds)
{
	uint32_t question = p->msg.request, nr_fds = p->msg.nr_fds;
	int fd = -1;

	p->msg.type = EMU_ANSWER;
	p->msg.result = 0;
	p->msg.data_len = 0;
	if (question == EMU_READ)
		answer_read(c, p);
	else if (question == EMU_GET_FILE)
		p->msg.file = 1 + p->msg.address % 4;
	else if (question == EMU_SHARE)
		fd = answer_share(c, p);
	else if (question == EMU_GET_FD)
		fd = emu_memfd("any", 4096);
	else if (question == EMU_WATCH)
		p->msg.result = -ENOSYS;
	for (uint32_t i = 0; i < nr_fds; i++)
		close(fds[i]);
	emu_message_send(c->fd, &p->msg, p->data, p->msg.data_len, &fd, fd >= 0);
	if (fd >= 0)
		close(fd);
}

static void *be_client(void *arg)
{
	struct client *c = arg;
	int fds[EMU_FDS_MAX];
	struct packet p;

	while (!emu_message_receive(c->fd, &p.msg, fds) && p.msg.type == EMU_ASK)
		answer(c, &p, fds);
	return NULL;
}

static void remove_folder(void)
{
	emu_tree_remove(machine.config.dir, "");
}

static void start_machine(void)
{
	struct emu_config config = { .chip = emu_chip_find("gfx90a"),
				     .nr_gpus = 2,
				     .nr_xccs = 1,
				     .xcc_cus = 1,
				     .threads = 1,
				     .cwsr = true,
				     .vram_bytes = 1 << 28,
				     .preempt_timeout_ms = 100,
				     .kernel = EMU_KERNEL_GPREEMPT,
				     .kfd_sched = true };

	snprintf(config.dir, sizeof(config.dir), "/tmp/gpreempt-fuzz-XXXXXX");
	if (!mkdtemp(config.dir) || emu_machine_init(&machine, &config))
		abort();
	machine.gtt_bytes = 1 << 28;
	atexit(remove_folder);
}

static void run_call(struct emu_call *call, struct client *c)
{
	struct emu_file f = { .process = call->process };
	uint8_t head[2];
	uint32_t cmd;

	take(c, head, 2);
	memset(c->arguments, 0, sizeof(c->arguments));
	take(c, c->arguments, head[1]);
	call->cancelled = true; /* no thread waits */
	if (head[0] < RENDER_MAX) {
		cmd = _IOC(_IOC_READ | _IOC_WRITE, 'd', head[0] == 5 ? 0x45u : head[0], head[1]);
		emu_drm_ioctl(call, &f, cmd, ARGUMENTS);
		return;
	}
	cmd = _IOC(_IOC_READ | _IOC_WRITE, 'K', (uint32_t)head[0] - RENDER_MAX, head[1]);
	emu_kfd_ioctl(call, &f, cmd, ARGUMENTS);
}

/* A process with an address space on the first GPU, and a file on each. */
static void open_files(struct emu_process *p)
{
	uint64_t id;
	int fd;

	machine.next_file = 1;
	for (uint32_t i = 0; i < 2; i++) {
		if (!emu_file_open(p, EMU_FILE_RENDER, i, O_RDWR, &fd, &id))
			close(fd);
	}
	if (!emu_file_open(p, EMU_FILE_KFD, 0, O_RDWR, &fd, &id))
		close(fd);
	p->node[0].render_file = 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct client c = { .rest = data, .left = size };
	struct emu_call call = { .m = &machine, .pid = getpid(), .wake_fd = -1 };
	struct emu_process *p;
	pthread_t thread;
	int pair[2];

	if (!machine.node[0])
		start_machine();
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		abort();
	call.fd = pair[0];
	c.fd = pair[1];
	call.process = p = emu_process_get(&machine, call.pid, 0, 1);
	if (!p || pthread_create(&thread, NULL, be_client, &c))
		abort();
	open_files(p);
	for (int i = 0; i < 32 && c.left; i++)
		run_call(&call, &c);
	shutdown(pair[0], SHUT_RDWR);
	pthread_join(thread, NULL);
	close(pair[0]);
	close(pair[1]);
	if (call.wake_fd >= 0)
		close(call.wake_fd);
	for (uint64_t id = 1; id <= 3; id++)
		emu_file_close(&machine, id);
	emu_process_put(p);
	/* Files are closed by threads of their own. */
	pthread_mutex_lock(&machine.lock);
	while (machine.processes || machine.nr_threads)
		gp__cond_wait(&machine.ended, &machine.lock, GP__FOREVER);
	pthread_mutex_unlock(&machine.lock);
	if (machine.gtt_used || machine.node[0]->vram_used || machine.node[1]->vram_used)
		abort();
	/* Exported memory is remembered, and takes nothing. */
	for (const struct emu_shared *s = machine.shared; s; s = s->next) {
		if (s->refs)
			abort();
	}
	emu_shared_forget(&machine);
	return 0;
}
