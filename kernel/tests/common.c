// SPDX-License-Identifier: GPL-2.0-only
#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "gpreempt/uapi/gpreempt_kfd.h"

const char *scheduler;
const char *current_case;
int failures;

void expect(bool holds, const char *text, int line)
{
	if (holds)
		return;
	printf("  %s: line %d: not so: %s\n", current_case, line, text);
	failures++;
}

void expect_eq(long got, long want, const char *text, int line)
{
	if (got == want)
		return;
	printf("  %s: line %d: %s is %ld, not %ld\n", current_case, line, text, got, want);
	failures++;
}

_Noreturn void die(const char *what)
{
	printf("not ok %s %s: %s: %s\n", scheduler, current_case, what, strerror(errno));
	exit(1);
}

void run(const char *name, void (*body)(void))
{
	int before = failures;

	current_case = name;
	body();
	printf("%s %s %s\n", failures == before ? "ok" : "not ok", scheduler, name);
	fflush(stdout);
}

void control(const char *format, ...)
{
	char path[64], text[64];
	va_list args;
	int fd, size;

	snprintf(path, sizeof(path), "/sys/kernel/debug/kfd_fake/%s/control", scheduler);
	va_start(args, format);
	size = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, (size_t)size) != size)
		die(text);
	close(fd);
}

void look(struct look *l)
{
	size_t size = 0;
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/sys/kernel/debug/kfd_fake/%s/state", scheduler);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die(path);
	while ((n = read(fd, l->text + size, sizeof(l->text) - 1 - size)) > 0)
		size += (size_t)n;
	if (n < 0)
		die(path);
	close(fd);
	l->text[size] = '\0';
}

struct state state_in(const struct look *l, pid_t pid, uint32_t id)
{
	struct state s = { 0 };
	char name[32];
	const char *at;

	snprintf(name, sizeof(name), "queue %d %u ", (int)pid, id);
	at = strstr(l->text, name);
	if (!at)
		return s;
	s.exists = sscanf(at + strlen(name), "mapped %d preempted %d evicted %d suspended %d",
			  &s.mapped, &s.preempted, &s.evicted, &s.suspended) == 4;
	return s;
}

struct state state_of(pid_t pid, uint32_t id)
{
	struct look now;

	look(&now);
	return state_in(&now, pid, id);
}

int number_in(const struct look *l, const char *name)
{
	const char *at = strstr(l->text, name);

	return at ? atoi(at + strlen(name)) : -1;
}

int number(const char *name)
{
	struct look now;

	look(&now);
	return number_in(&now, name);
}

void expect_consistent(void)
{
	EXPECT_EQ(number("consistent"), 1);
}

unsigned int fake_gpu_id(void)
{
	char path[64], text[32] = "";
	int fd;

	snprintf(path, sizeof(path), "/sys/kernel/debug/kfd_fake/%s/gpu_id", scheduler);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		die(path);
	close(fd);
	return (unsigned int)strtoul(text, NULL, 0);
}

struct gp_kfd_create_queue usual_queue(void)
{
	return (struct gp_kfd_create_queue){
		.ring_base_address = RING_ADDRESS,
		.read_pointer_address = POINTERS_ADDRESS,
		.write_pointer_address = POINTERS_ADDRESS + 8,
		.ring_size = BUFFER_BYTES,
		.gpu_id = fake_gpu_id(),
		.queue_type = GP_KFD_QUEUE_COMPUTE_AQL,
		.queue_percentage = 100,
		.queue_priority = 7,
		.ctx_save_restore_address = SAVE_ADDRESS,
		.ctx_save_restore_size = BUFFER_BYTES,
	};
}

int open_kfd(void)
{
	int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		die("/dev/kfd");
	return fd;
}

int call(int fd, unsigned long cmd, void *args)
{
	int result = ioctl(fd, cmd, args);

	return result < 0 ? -errno : result;
}
