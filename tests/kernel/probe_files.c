// SPDX-License-Identifier: MIT
/* The device as a file, and mmap of it: what every call but ioctl says, and in whose hands. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe.h"

#define PAGE 4096
#define KERNEL_LARGEFILE 0100000 /* which a C library for 64 bits calls 0 */
#define MMAP_GPU(id) ((uint64_t)(id) << 46)
#define MMAP_TYPE(type) ((uint64_t)(type) << 62)

static long result_of(long value)
{
	return value < 0 ? -errno : value;
}

/*
 * Opening
 */

static void open_with(const struct probe *p, const char *name, int flags)
{
	struct gp_kfd_version version = { 0 };
	struct probe other = { .group = p->group, .kfd = probe_open(flags) };
	char text[PROBE_RESULT_MAX];
	int result;

	if (other.kfd < 0) {
		probe_answer(p, name, other.kfd);
		return;
	}
	result = probe_ioctl(&other, GP_KFD_GET_VERSION, &version);
	probe_say(p, name, "opened, flags %o, version: %s",
		  fcntl(other.kfd, F_GETFL) & ~KERNEL_LARGEFILE, probe_result(text, result));
	close(other.kfd);
}

static void opens(const struct probe *p)
{
	open_with(p, "open/read-only", O_RDONLY);
	open_with(p, "open/write-only", O_WRONLY);
	open_with(p, "open/read-write", O_RDWR);
	open_with(p, "open/no-block", O_RDWR | O_NONBLOCK);
	open_with(p, "open/append", O_RDWR | O_APPEND);
	open_with(p, "open/truncate", O_RDWR | O_TRUNC);
	open_with(p, "open/create", O_RDWR | O_CREAT);
	open_with(p, "open/create-exclusively", O_RDWR | O_CREAT | O_EXCL);
	open_with(p, "open/folder", O_RDONLY | O_DIRECTORY);
	open_with(p, "open/no-follow", O_RDWR | O_NOFOLLOW);
	open_with(p, "open/path", O_PATH);
	open_with(p, "open/direct", O_RDWR | O_DIRECT);
	probe_answer(p, "open/folder-in-it", result_of(open("/dev/kfd/", O_RDWR)));
	probe_answer(p, "open/file-in-it", result_of(open("/dev/kfd/x", O_RDWR)));
}

/*
 * Reading and all that
 */

static void stats(const struct probe *p)
{
	struct stat by_fd = { 0 }, by_name = { 0 };
	char link[64], target[128] = "";

	probe_answer(p, "fstat", result_of(fstat(p->kfd, &by_fd)));
	probe_answer(p, "stat", result_of(stat("/dev/kfd", &by_name)));
	probe_say(p, "stat/type", "%o %o minor %u, size %ld, links %lu, same device %d",
		  by_fd.st_mode & S_IFMT, by_name.st_mode & S_IFMT,
		  (unsigned int)(by_fd.st_rdev & 0xff), (long)by_fd.st_size,
		  (unsigned long)by_fd.st_nlink, by_fd.st_rdev == by_name.st_rdev);
	probe_answer(p, "access", result_of(access("/dev/kfd", R_OK | W_OK)));
	probe_answer(p, "access/execute", result_of(access("/dev/kfd", X_OK)));
	snprintf(link, sizeof(link), "/proc/self/fd/%d", p->kfd);
	if (readlink(link, target, sizeof(target) - 1) < 0)
		target[0] = '\0';
	probe_say(p, "name-of-descriptor", "%s", strncmp(target, "socket:", 7) ? target : "socket");
}

/* Through a descriptor that does not wait: one that has nothing to read should say so at once. */
static void transfers(const struct probe *p)
{
	int fd = probe_open(O_RDWR | O_NONBLOCK);
	struct iovec iov;
	char byte = 0;

	iov = (struct iovec){ &byte, 1 };
	probe_answer(p, "read", result_of(read(fd, &byte, 1)));
	probe_answer(p, "write", result_of(write(fd, &byte, 1)));
	probe_answer(p, "pread", result_of(pread(fd, &byte, 1, 0)));
	probe_answer(p, "pwrite", result_of(pwrite(fd, &byte, 1, 0)));
	probe_answer(p, "readv", result_of(readv(fd, &iov, 1)));
	probe_answer(p, "writev", result_of(writev(fd, &iov, 1)));
	probe_answer(p, "lseek/set", result_of(lseek(fd, 0, SEEK_SET)));
	probe_answer(p, "lseek/end", result_of(lseek(fd, 0, SEEK_END)));
	probe_answer(p, "ftruncate", result_of(ftruncate(fd, 0)));
	probe_answer(p, "fsync", result_of(fsync(fd)));
	close(fd);
}

static void polls(const struct probe *p)
{
	struct pollfd fd = { .fd = p->kfd, .events = POLLIN | POLLOUT | POLLPRI };
	struct epoll_event e = { .events = EPOLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	long n = result_of(poll(&fd, 1, 0));

	probe_say(p, "poll", "%ld events %x", n, fd.revents);
	probe_answer(p, "epoll", result_of(epoll_ctl(epoll, EPOLL_CTL_ADD, p->kfd, &e)));
	close(epoll);
}

/*
 * Whose it is
 */

static int create_event(const struct probe *p)
{
	struct gp_kfd_create_event e = { 0 };
	int result = probe_ioctl(p, GP_KFD_CREATE_EVENT, &e);

	return result < 0 ? result : (int)e.event_id;
}

static void *in_thread(void *arg)
{
	const struct probe *p = arg;

	probe_answer(p, "thread", create_event(p));
	return NULL;
}

/* All descriptors of a process are one to the driver, and what it has outlives them. */
static void duplicates(const struct probe *p, const void *arg)
{
	struct probe second = { .group = p->group, .kfd = probe_open(O_RDWR) };
	struct probe copy = { .group = p->group, .kfd = dup(p->kfd) };
	pthread_t thread;

	(void)arg;
	probe_answer(p, "first", create_event(p));
	probe_answer(p, "second-open", create_event(&second));
	probe_answer(p, "duplicate", create_event(&copy));
	if (!pthread_create(&thread, NULL, in_thread, &second))
		pthread_join(thread, NULL);
	close(p->kfd);
	probe_answer(p, "duplicate/other-closed", create_event(&copy));
	close(copy.kfd);
	close(second.kfd);
	probe_answer(p, "closed", create_event(&copy));
	second.kfd = probe_open(O_RDWR);
	probe_answer(p, "opened-again", create_event(&second));
}

static void in_child(const struct probe *p, const char *who)
{
	struct gp_kfd_version version = { 0 };
	struct probe own = { .group = p->group, .kfd = -1 };
	uint64_t none = 0;
	char name[48];
	void *at;

	snprintf(name, sizeof(name), "%s/version", who);
	probe_ask(p, name, GP_KFD_GET_VERSION, &version);
	snprintf(name, sizeof(name), "%s/null", who);
	probe_ask(p, name, GP_KFD_GET_VERSION, NULL);
	snprintf(name, sizeof(name), "%s/unknown-number", who);
	probe_ask(p, name, _IOWR(GP_KFD_MAGIC, 0x27, none), &none);
	snprintf(name, sizeof(name), "%s/criu", who);
	probe_ask(p, name, GP_KFD_CRIU, NULL);
	snprintf(name, sizeof(name), "%s/mmap", who);
	at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, p->kfd, (off_t)MMAP_TYPE(2));
	probe_answer(p, name, at == MAP_FAILED ? -errno : 0);
	own.kfd = probe_open(O_RDWR);
	snprintf(name, sizeof(name), "%s/own", who);
	probe_answer(p, name, create_event(&own));
	snprintf(name, sizeof(name), "%s/version-again", who);
	probe_ask(p, name, GP_KFD_GET_VERSION, &version);
}

static void forks(const struct probe *p)
{
	pid_t pid;
	int status;

	create_event(p);
	pid = fork();
	if (!pid) {
		alarm(30);
		in_child(p, "child");
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		probe_say(p, "child/end", "status %x", status);
	probe_answer(p, "after-child", create_event(p));
}

/* A program that is executed has the descriptor, if it was not to be closed. */
static void exec(const struct probe *p)
{
	int fd = probe_open(O_RDWR), status;
	char number[16], self[256] = "";
	pid_t pid;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return;
	snprintf(number, sizeof(number), "%d", fd);
	pid = fork();
	if (!pid) {
		alarm(30);
		close(fd);
		/* Its own, of the process that executes. */
		if (dup2(probe_open(O_RDWR), fd) == fd)
			execl(self, self, "--after-exec", number, (char *)NULL);
		_exit(2);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		probe_say(p, "inherited-by-exec/end", "status %x", status);
	close(fd);
}

static int take_fd(int from)
{
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { &byte, 1 };
	struct msghdr h = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	int fd = -1;

	if (recvmsg(from, &h, 0) == 1 && CMSG_FIRSTHDR(&h))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&h)), sizeof(fd));
	return fd;
}

static void give_fd(int to, int fd)
{
	char byte = 0, control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { &byte, 1 };
	struct msghdr h = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&h);

	*c = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
			       .cmsg_level = SOL_SOCKET,
			       .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	if (sendmsg(to, &h, 0) != 1)
		_exit(2);
}

/* A descriptor that another process has opened, and gives away. */
static void given(const struct probe *p)
{
	struct gp_kfd_version version = { 0 };
	struct probe theirs = { .group = p->group };
	int pair[2], status;
	char byte;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return;
	pid = fork();
	if (!pid) {
		alarm(30);
		close(pair[0]);
		give_fd(pair[1], probe_open(O_RDWR));
		_exit(read(pair[1], &byte, 1) != 0);
	}
	close(pair[1]);
	theirs.kfd = take_fd(pair[0]);
	probe_ask(&theirs, "given/version", GP_KFD_GET_VERSION, &version);
	close(pair[0]);
	waitpid(pid, &status, 0);
	probe_ask(&theirs, "given/version-of-the-dead", GP_KFD_GET_VERSION, &version);
	close(theirs.kfd);
}

void probe_files(const struct probe *p)
{
	opens(p);
	stats(p);
	transfers(p);
	polls(p);
	probe_fresh(p, "duplicates", duplicates, NULL);
	forks(p);
	exec(p);
	given(p);
}

/*
 * mmap
 */

static void *map(const struct probe *p, const char *name, size_t len, int prot, int flags,
		 uint64_t offset)
{
	void *at = mmap(NULL, len, prot, flags, p->kfd, (off_t)offset);

	probe_answer(p, name, at == MAP_FAILED ? -errno : 0);
	return at == MAP_FAILED ? NULL : at;
}

static void map_types(const struct probe *p)
{
	static const char *const types[] = { "mmio", "reserved", "events", "doorbell" };
	const int prot = PROT_READ | PROT_WRITE;
	char name[48];

	for (unsigned int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "%s/no-gpu", types[i]);
		map(p, name, PAGE, prot, MAP_SHARED, MMAP_TYPE(i));
		snprintf(name, sizeof(name), "%s/unknown-gpu", types[i]);
		map(p, name, PAGE, prot, MAP_SHARED, MMAP_TYPE(i) | MMAP_GPU(PROBE_NO_GPU));
		snprintf(name, sizeof(name), "%s/two-pages", types[i]);
		map(p, name, 2 * PAGE, prot, MAP_SHARED, MMAP_TYPE(i) | MMAP_GPU(PROBE_NO_GPU));
		snprintf(name, sizeof(name), "%s/private", types[i]);
		map(p, name, PAGE, prot, MAP_PRIVATE, MMAP_TYPE(i));
		snprintf(name, sizeof(name), "%s/no-length", types[i]);
		map(p, name, 0, prot, MAP_SHARED, MMAP_TYPE(i));
		snprintf(name, sizeof(name), "%s/odd-offset", types[i]);
		map(p, name, PAGE, prot, MAP_SHARED, MMAP_TYPE(i) | 1);
	}
}

static void map_events(const struct probe *p)
{
	const int prot = PROT_READ | PROT_WRITE;
	uint64_t *slots;

	probe_answer(p, "page/create-event", create_event(p));
	map(p, "page/too-long", 16 * PAGE, prot, MAP_SHARED, MMAP_TYPE(2));
	map(p, "page/nine-pages", 9 * PAGE, prot, MAP_SHARED, MMAP_TYPE(2));
	slots = map(p, "page/eight-pages", 8 * PAGE, prot, MAP_SHARED, MMAP_TYPE(2));
	if (slots) {
		probe_say(p, "page/slots", "%llx %llx %llx", (unsigned long long)slots[0],
			  (unsigned long long)slots[1], (unsigned long long)slots[4095]);
		slots[1] = 5;
		probe_say(p, "page/written", "%llx", (unsigned long long)slots[1]);
	}
	map(p, "page/again", PAGE, prot, MAP_SHARED, MMAP_TYPE(2));
	map(p, "page/read-only", PAGE, PROT_READ, MAP_SHARED, MMAP_TYPE(2));
	map(p, "page/private", PAGE, prot, MAP_PRIVATE, MMAP_TYPE(2));
	map(p, "page/executable", PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, MMAP_TYPE(2));
	map(p, "page/behind-its-start", PAGE, prot, MAP_SHARED, MMAP_TYPE(2) + PAGE);
	if (slots)
		probe_answer(p, "page/unmap", result_of(munmap(slots, 8 * PAGE)));
	/* Created anew, its slot says that nothing has come. */
	probe_answer(p, "page/create-event-after", create_event(p));
}

static void map_access(const struct probe *p, const void *arg)
{
	struct probe reader = { .group = p->group, .kfd = probe_open(O_RDONLY) };
	struct probe writer = { .group = p->group, .kfd = probe_open(O_WRONLY) };

	(void)arg;
	create_event(p);
	map(&reader, "opened-to-read/writable", PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
	    MMAP_TYPE(2));
	map(&reader, "opened-to-read/readable", PAGE, PROT_READ, MAP_SHARED, MMAP_TYPE(2));
	map(&writer, "opened-to-write/readable", PAGE, PROT_READ, MAP_SHARED, MMAP_TYPE(2));
}

void probe_mappings(const struct probe *p)
{
	map_types(p);
	map_events(p);
	probe_fresh(p, "access", map_access, NULL);
}
