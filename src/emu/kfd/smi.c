// SPDX-License-Identifier: MIT
#include "emu/kfd/smi.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "emu/kfd/call.h"
#include "emu/kfd/node.h"
#include "emu/kfd/process.h"
#include "gpreempt/uapi/gpreempt_kfd.h"

#define CLIENTS_MAX 1024
#define LINE_BYTES 96

struct emu_smi_client {
	struct emu_smi_client *next;
	int fd;
	pid_t pid;
	bool is_admin;
	uint64_t wanted; /* GP_KFD_SMI_MASK */
	uint8_t mask[sizeof(uint64_t)]; /* the part of the next mask that has arrived */
	uint32_t mask_len;
};

int emu_smi_init(struct emu_smi *smi)
{
	*smi = (struct emu_smi){ 0 };
	return -pthread_mutex_init(&smi->lock, NULL);
}

static void remove_client(struct emu_smi *smi, struct emu_smi_client **link)
{
	struct emu_smi_client *c = *link;

	*link = c->next;
	smi->nr_clients--;
	close(c->fd);
	free(c);
}

void emu_smi_destroy(struct emu_smi *smi)
{
	while (smi->clients)
		remove_client(smi, &smi->clients);
	pthread_mutex_destroy(&smi->lock);
}

/* Reads the events that the client wants now. False: it is gone. */
static bool listen_to(struct emu_smi_client *c)
{
	for (;;) {
		ssize_t n = recv(c->fd, c->mask + c->mask_len, sizeof(c->mask) - c->mask_len,
				 MSG_DONTWAIT);

		if (n <= 0)
			return n < 0 && (errno == EAGAIN || errno == EINTR);
		c->mask_len += (uint32_t)n;
		if (c->mask_len < sizeof(c->mask))
			continue;
		memcpy(&c->wanted, c->mask, sizeof(c->wanted));
		c->mask_len = 0;
	}
}

static void sweep(struct emu_smi *smi)
{
	struct emu_smi_client **link = &smi->clients;

	while (*link) {
		if (listen_to(*link))
			link = &(*link)->next;
		else
			remove_client(smi, link);
	}
}

static bool wants(const struct emu_smi_client *c, pid_t pid, uint32_t event)
{
	bool of_all = c->is_admin && c->wanted & GP_KFD_SMI_MASK(GP_KFD_SMI_ALL_PROCESS);

	if (pid && c->pid != pid && !of_all)
		return false;
	return c->wanted & GP_KFD_SMI_MASK(event);
}

/* An event of a process or, if @pid is 0, of the node. */
__attribute__((format(printf, 4, 5))) static void tell(struct emu_node *n, pid_t pid,
						       uint32_t event, const char *format, ...)
{
	struct emu_smi *smi = &n->smi;
	char line[LINE_BYTES];
	va_list args;
	int len, more;

	len = snprintf(line, sizeof(line), "%x ", event);
	va_start(args, format);
	more = vsnprintf(line + len, sizeof(line) - (size_t)len, format, args);
	va_end(args);
	if (more < 0 || (size_t)(len + more) >= sizeof(line))
		return;
	pthread_mutex_lock(&smi->lock);
	sweep(smi);
	for (struct emu_smi_client *c = smi->clients; c; c = c->next) {
		if (wants(c, pid, event) &&
		    send(c->fd, line, (size_t)(len + more), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			continue; /* its buffer is full, or it is gone */
	}
	pthread_mutex_unlock(&smi->lock);
}

static unsigned long long boot_time_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (unsigned long long)ts.tv_sec * 1000000000 + (unsigned long long)ts.tv_nsec;
}

void emu_smi_vmfault(struct emu_node *n, struct emu_process *p)
{
	char path[40], name[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)p->pid);
	f = fopen(path, "re");
	if (f) {
		if (fgets(name, sizeof(name), f))
			name[strcspn(name, "\n")] = '\0';
		fclose(f);
	}
	tell(n, p->pid, GP_KFD_SMI_VMFAULT, "%x:%s\n", (unsigned int)p->pid, name);
}

void emu_smi_reset(struct emu_node *n, const char *cause)
{
	uint32_t number;

	pthread_mutex_lock(&n->smi.lock);
	n->smi.nr_resets += !!cause;
	number = n->smi.nr_resets;
	pthread_mutex_unlock(&n->smi.lock);
	tell(n, 0, cause ? GP_KFD_SMI_GPU_PRE_RESET : GP_KFD_SMI_GPU_POST_RESET, "%x %s\n", number,
	     cause ? cause : "");
}

void emu_smi_eviction(struct emu_node *n, struct emu_process *p, uint32_t trigger)
{
	tell(n, p->pid, GP_KFD_SMI_QUEUE_EVICTION, "%lld -%d %x %d\n", boot_time_ns(), (int)p->pid,
	     n->gpu_id, (int)trigger);
}

/* Takes our end of the pair, and closes it on failure. */
static int add_client(struct emu_call *call, struct emu_node *n, int fd)
{
	struct emu_smi_client *c = calloc(1, sizeof(*c));
	struct emu_smi *smi = &n->smi;
	int err = c ? 0 : -ENOMEM;

	pthread_mutex_lock(&smi->lock);
	sweep(smi);
	if (smi->nr_clients >= CLIENTS_MAX)
		err = -ENOMEM;
	if (!err) {
		*c = (struct emu_smi_client){
			.next = smi->clients, .fd = fd, .pid = call->pid, .is_admin = !call->uid
		};
		smi->clients = c;
		smi->nr_clients++;
	}
	pthread_mutex_unlock(&smi->lock);
	if (err) {
		free(c);
		close(fd);
	}
	return err;
}

int emu_smi_events(struct emu_call *call, struct gp_kfd_smi_events *args)
{
	uint32_t node;
	int pair[2], err, number;

	if (!emu_process_node(call->process, args->gpu_id, &node))
		return -EINVAL;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -errno;
	/* A read never blocks, whatever flags the program sets on its descriptor. */
	if (fcntl(pair[1], F_SETFL, O_RDWR | O_NONBLOCK)) {
		close(pair[0]);
		close(pair[1]);
		return -EMFILE;
	}
	err = add_client(call, call->m->node[node], pair[0]);
	number = err ? err : emu_call_put_fd(call, pair[1], 0);
	close(pair[1]);
	if (number < 0)
		return number;
	args->anon_fd = (uint32_t)number;
	return 0;
}
