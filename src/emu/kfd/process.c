// SPDX-License-Identifier: MIT
/*
 * Processes and their open files: creation and end.
 *
 * A process is on the machine's list until all its resources are freed, so that a program that was
 * executed anew under the same pid starts with an empty table. A process without references is
 * ending, and lookups do not return it. The thread that drops the last reference ends it, with no
 * lock held.
 */
#include "emu/kfd/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emu/kfd/doorbell.h"
#include "emu/kfd/memfd.h"
#include "emu/kfd/node.h"
#include "emu/kfd/preempt.h"
#include "emu/kfd/queue.h"
#include "emu/kfd/server.h"
#include "emu/kfd/topology.h"

#define DOORBELL_BYTES (8 * EMU_QUEUES_MAX)

/*
 * Doorbells
 */

uint64_t emu_doorbell_bytes(void)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	return DOORBELL_BYTES > page ? DOORBELL_BYTES : page;
}

int emu_process_doorbells(struct emu_process *p, uint32_t node)
{
	struct emu_process_node *pn = &p->node[node];
	uint64_t bytes = emu_doorbell_bytes();
	void *host;
	int fd;

	if (pn->doorbell_fd >= 0)
		return pn->doorbell_fd;
	fd = emu_memfd("doorbells", bytes);
	if (fd < 0)
		return fd;
	host = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (host == MAP_FAILED) {
		close(fd);
		return -ENOMEM;
	}
	/* A queue's first doorbell value is 0, the index of its first packet. */
	memset(host, 0xff, bytes);
	pn->doorbells = host;
	pn->doorbell_fd = fd;
	return fd;
}

static void free_doorbells(struct emu_process_node *pn)
{
	if (pn->doorbell_fd < 0)
		return;
	munmap((void *)pn->doorbells, emu_doorbell_bytes());
	close(pn->doorbell_fd);
}

/*
 * A process
 */

static void watch_death(struct emu_process *p)
{
	p->pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	if (p->pidfd >= 0 && p->m->epoll_fd >= 0)
		emu_server_watch(p->m, p->pidfd, EPOLLIN, EMU_WATCHED_DEATH, p->pasid);
}

static struct emu_process *new_process(struct emu_machine *m, pid_t pid, uid_t uid, uint64_t cookie)
{
	struct emu_process *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->m = m;
	p->pid = pid;
	p->uid = uid;
	p->cookie = cookie;
	p->refs = 1;
	p->pidfd = -1;
	for (uint32_t i = 0; i < EMU_GPUS_MAX; i++)
		p->node[i].doorbell_fd = p->node[i].mmio_fd = -1;
	if (emu_memory_init(p))
		goto free_process;
	if (emu_events_init(p))
		goto destroy_memory;
	if (emu_debug_init(p))
		goto destroy_events;
	pthread_mutex_init(&p->lock, NULL);
	p->pasid = m->next_pasid++;
	watch_death(p);
	return p;

destroy_events:
	emu_events_destroy(p);
destroy_memory:
	emu_memory_destroy(p);
free_process:
	free(p);
	return NULL;
}

/* The process of this pid, whatever program it runs or ran; the machine's lock is held. */
static struct emu_process *find_pid(struct emu_machine *m, pid_t pid)
{
	struct emu_process *p = m->processes;

	while (p && p->pid != pid)
		p = p->next;
	return p;
}

/*
 * Closes its files, and shuts down its connections, which end as soon as their threads see it; with
 * the machine's lock. Returns the number of references dropped.
 */
static unsigned int retire(struct emu_process *p)
{
	unsigned int n = 0;

	while (p->files) {
		struct emu_file *f = p->files;

		p->files = f->next;
		close(f->fd);
		free(f);
		n++;
	}
	p->nr_files = 0;
	n += p->adopted;
	p->adopted = false;
	emu_server_hang_up(p->m, p);
	return n;
}

static void put_many(struct emu_process *p, unsigned int n);

/* Another cookie means that exec has replaced the program. */
static void replace(struct emu_machine *m, struct emu_process *old)
{
	unsigned int n = old->refs ? retire(old) : 0;
	uint32_t pasid = old->pasid;
	pid_t pid = old->pid;

	if (n) {
		pthread_mutex_unlock(&m->lock);
		put_many(old, n);
		pthread_mutex_lock(&m->lock);
	}
	/* It may be freed already, and its memory reused. */
	while ((old = find_pid(m, pid)) && old->pasid == pasid && !m->quit)
		gp__cond_wait(&m->ended, &m->lock, GP__FOREVER);
}

struct emu_process *emu_process_get(struct emu_machine *m, pid_t pid, uid_t uid, uint64_t cookie)
{
	struct emu_process *p;

	pthread_mutex_lock(&m->lock);
	p = find_pid(m, pid);
	if (p && p->adopted && !p->cookie) {
		p->cookie = cookie;
		p->uid = uid;
	}
	while ((p = find_pid(m, pid)) && (p->cookie != cookie || !p->refs) && !m->quit)
		replace(m, p);
	if (m->quit) {
		p = NULL;
	} else if (p) {
		p->refs++;
	} else {
		p = new_process(m, pid, uid, cookie);
		if (p) {
			p->next = m->processes;
			m->processes = p;
		}
	}
	pthread_mutex_unlock(&m->lock);
	return p;
}

static uid_t owner_of(pid_t pid)
{
	char name[32];
	struct stat st;

	snprintf(name, sizeof(name), "/proc/%d", (int)pid);
	return stat(name, &st) ? 0 : st.st_uid;
}

struct emu_process *emu_process_adopt(struct emu_machine *m, pid_t pid)
{
	struct emu_process *p;
	bool first = false;

	pthread_mutex_lock(&m->lock);
	p = find_pid(m, pid);
	if (p && !p->refs) {
		p = NULL; /* it is ending; its successor is not known yet */
	} else if (!p && !m->quit) {
		p = new_process(m, pid, owner_of(pid), 0);
		if (p) {
			p->adopted = true;
			p->next = m->processes;
			m->processes = p;
		}
	}
	if (p) {
		p->refs++;
		first = !p->opened;
		p->opened = true;
	}
	pthread_mutex_unlock(&m->lock);
	if (first)
		emu_topology_add_process(p);
	return p;
}

struct emu_process *emu_process_find(struct emu_machine *m, pid_t pid)
{
	struct emu_process *p;

	pthread_mutex_lock(&m->lock);
	p = find_pid(m, pid);
	if (p && (!p->opened || !p->refs))
		p = NULL;
	if (p)
		p->refs++;
	pthread_mutex_unlock(&m->lock);
	return p;
}

/* Releases its holds on others, then its own resources, in the order of their dependencies. */
static void end_process(struct emu_process *p)
{
	struct emu_machine *m = p->m;
	struct emu_process **link = &m->processes;

	emu_debug_end(p);
	emu_preempt_end(p);
	emu_destroy_queues(p);
	emu_debug_destroy(p);
	emu_doorbell_forget(p);
	if (p->opened)
		emu_topology_remove_process(p);
	emu_events_destroy(p);
	emu_memory_destroy(p);
	for (uint32_t i = 0; i < EMU_GPUS_MAX; i++) {
		free_doorbells(&p->node[i]);
		if (p->node[i].mmio_fd >= 0)
			close(p->node[i].mmio_fd);
	}
	if (p->pidfd >= 0)
		close(p->pidfd);
	pthread_mutex_lock(&m->lock);
	while (*link != p)
		link = &(*link)->next;
	*link = p->next;
	gp__cond_broadcast(&m->ended);
	pthread_mutex_unlock(&m->lock);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

static void put_many(struct emu_process *p, unsigned int n)
{
	struct emu_machine *m = p->m;
	bool last;

	pthread_mutex_lock(&m->lock);
	p->refs -= n;
	last = n && !p->refs;
	pthread_mutex_unlock(&m->lock);
	if (last)
		end_process(p);
}

void emu_process_put(struct emu_process *p)
{
	put_many(p, 1);
}

/*
 * For threads that must not wait for the end of a process, which takes as long as its queues take.
 */
struct farewell {
	struct emu_process *p;
	unsigned int n;
	uint64_t file; /* the closed file; 0: all of them */
};

static void *say_farewell(void *arg)
{
	struct farewell *f = arg;
	struct emu_machine *m = f->p->m;

	if (f->file)
		emu_preempt_file_closed(m, f->file);
	put_many(f->p, f->n);
	free(f);
	pthread_mutex_lock(&m->lock);
	m->nr_threads--;
	gp__cond_broadcast(&m->ended);
	pthread_mutex_unlock(&m->lock);
	return NULL;
}

static void put_elsewhere(struct emu_process *p, unsigned int n, uint64_t file)
{
	struct farewell *f = malloc(sizeof(*f));
	struct emu_machine *m = p->m;
	pthread_t thread;
	bool started = false;

	if (f) {
		*f = (struct farewell){ p, n, file };
		pthread_mutex_lock(&m->lock);
		started = !pthread_create(&thread, NULL, say_farewell, f);
		m->nr_threads += started;
		pthread_mutex_unlock(&m->lock);
	}
	if (started) {
		pthread_detach(thread);
	} else {
		free(f);
		if (file)
			emu_preempt_file_closed(m, file);
		put_many(p, n);
	}
}

void emu_process_died(struct emu_machine *m, uint32_t pasid)
{
	struct emu_process *p;
	unsigned int n = 0;

	pthread_mutex_lock(&m->lock);
	for (p = m->processes; p && p->pasid != pasid;)
		p = p->next;
	if (p && p->refs) {
		epoll_ctl(m->epoll_fd, EPOLL_CTL_DEL, p->pidfd, NULL);
		n = retire(p);
	}
	pthread_mutex_unlock(&m->lock);
	if (n)
		put_elsewhere(p, n, 0);
}

void emu_processes_end(struct emu_machine *m)
{
	pthread_mutex_lock(&m->lock);
	m->quit = true;
	gp__cond_broadcast(&m->ended);
	for (struct emu_process *p = m->processes, *next; p; p = next) {
		unsigned int n = p->refs ? retire(p) : 0;

		next = p->next;
		if (n) {
			pthread_mutex_unlock(&m->lock);
			put_many(p, n);
			pthread_mutex_lock(&m->lock);
			/* The list may have changed. */
			next = m->processes;
		}
	}
	emu_server_hang_up(m, NULL);
	while (m->processes || m->nr_threads)
		gp__cond_wait(&m->ended, &m->lock, GP__FOREVER);
	pthread_mutex_unlock(&m->lock);
}

/*
 * Files
 */

int emu_file_open(struct emu_process *p, enum emu_file_kind kind, uint32_t node, uint32_t flags,
		  int *client_fd, uint64_t *id)
{
	struct emu_machine *m = p->m;
	struct emu_file *f = calloc(1, sizeof(*f));
	bool first = false;
	int pair[2];

	if (!f)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		free(f);
		return -errno;
	}
	*f = (struct emu_file){
		.kind = kind, .node = node, .flags = flags, .fd = pair[0], .process = p
	};
	pthread_mutex_lock(&m->lock);
	if (p->nr_files >= EMU_FILES_MAX || m->quit) {
		pthread_mutex_unlock(&m->lock);
		close(pair[0]);
		close(pair[1]);
		free(f);
		return -EMFILE;
	}
	*id = f->id = m->next_file++;
	f->next = p->files;
	p->files = f;
	p->nr_files++;
	p->refs++;
	if (kind == EMU_FILE_KFD && !p->opened)
		first = p->opened = true;
	if (m->epoll_fd >= 0)
		emu_server_watch(m, f->fd, 0, EMU_WATCHED_FILE, f->id);
	pthread_mutex_unlock(&m->lock);
	if (first)
		emu_topology_add_process(p);
	*client_fd = pair[1];
	return 0;
}

uint32_t emu_process_holds_of_user(struct emu_machine *m, uid_t uid)
{
	uint32_t nr = 0;

	pthread_mutex_lock(&m->lock);
	for (const struct emu_process *p = m->processes; p; p = p->next)
		nr += p->uid == uid ? atomic_load(&p->nr_holds) : 0;
	pthread_mutex_unlock(&m->lock);
	return nr;
}

bool emu_file_find(struct emu_machine *m, uint64_t id, struct emu_file *file)
{
	bool found = false;

	pthread_mutex_lock(&m->lock);
	for (struct emu_process *p = m->processes; p && !found; p = p->next) {
		for (struct emu_file *f = p->files; f && !found; f = f->next) {
			found = f->id == id;
			if (found)
				*file = *f;
		}
	}
	pthread_mutex_unlock(&m->lock);
	return found;
}

/* Finds the link to a file; the machine's lock is held. */
static struct emu_file **find_link(struct emu_machine *m, uint64_t id)
{
	for (struct emu_process *p = m->processes; p; p = p->next) {
		for (struct emu_file **link = &p->files; *link; link = &(*link)->next) {
			if ((*link)->id == id)
				return link;
		}
	}
	return NULL;
}

void emu_file_close(struct emu_machine *m, uint64_t id)
{
	struct emu_process *p = NULL;
	struct emu_file **link, *f;

	pthread_mutex_lock(&m->lock);
	link = find_link(m, id);
	if (link) {
		f = *link;
		p = f->process;
		*link = f->next;
		p->nr_files--;
		close(f->fd);
		free(f);
	}
	pthread_mutex_unlock(&m->lock);
	if (p)
		put_elsewhere(p, 1, id);
}
