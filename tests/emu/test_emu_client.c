// SPDX-License-Identifier: MIT
/*
 * The preload, linked into this program, against a scripted machine in another process.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>

#include "../unit/host.h"
#include "../unit/sanitized.h"
#include "emu/client/client.h"
#include "emu/client/convert.h"
#include "emu/client/maps.h"
#include "emu/client/segments.h"
#include "emu/protocol.h"
#include "gpreempt/uapi/gpreempt_kfd.h"
#include "scripted_machine.h"

#define STATE_VARIABLE "TEST_STATE_FD"
#define PID_VARIABLE "TEST_MACHINE_PID"
#define PAGE 4096ul
#define NR_THREADS 100
#define TOPOLOGY "/sys/class/kfd/kfd/topology"

static struct script_state *state;
static const char *dir;
static bool plain; /* without userfaultfd */

/*
 * Helpers
 */

static int open_kfd(void)
{
	int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static int call(int fd, unsigned long request, uint64_t a, uint64_t b, uint64_t c)
{
	struct script_args args = { a, b, c, 0 };

	return ioctl(fd, request, &args);
}

static void assert_errno(int result, int err)
{
	int seen = errno;

	assert_int_equal(result, -1);
	assert_int_equal(seen, err);
}

static void sleep_ms(unsigned int ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000l };

	nanosleep(&ts, NULL);
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* Memory of this process that is in RAM. */
static size_t resident_bytes(void)
{
	unsigned long total, resident = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%lu %lu", &total, &resident), 2);
	fclose(f);
	return resident * PAGE;
}

static void assert_becomes(_Atomic uint32_t *what, uint32_t value)
{
	for (int i = 0; i < 6000 && atomic_load(what) != value; i++)
		sleep_ms(10);
	assert_int_equal(atomic_load(what), value);
}

/* Runs in a child; returns its exit status. */
static int in_child(int (*work)(void *), void *arg)
{
	pid_t pid = fork();
	int status = 0;

	assert_true(pid >= 0);
	if (!pid)
		_exit(work(arg));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static char *map_private(size_t len)
{
	char *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(at != MAP_FAILED);
	return at;
}

static int share(int fd, const void *at, size_t len)
{
	return call(fd, SCRIPT_SHARE, (uint64_t)at, len, 1);
}

static int take_back(int fd, const void *at, size_t len)
{
	return call(fd, SCRIPT_UNSHARE, (uint64_t)at, len, 0);
}

static uint64_t peek(int fd, const void *at)
{
	struct script_args args = { .a = (uint64_t)at };

	assert_int_equal(ioctl(fd, SCRIPT_PEEK, &args), 0);
	return args.d;
}

static void poke(int fd, void *at, uint64_t value)
{
	assert_int_equal(call(fd, SCRIPT_POKE, (uint64_t)at, value, 0), 0);
}

/*
 * Paths
 */

static void read_text(const char *path, char *to, size_t room)
{
	int fd = open(path, O_RDONLY);
	ssize_t n;

	assert_true(fd >= 0);
	n = read(fd, to, room - 1);
	assert_true(n >= 0);
	to[n] = '\0';
	close(fd);
}

static void test_tree(void **unused)
{
	char text[64];
	struct stat st;
	struct statx stx;
	FILE *stream;

	(void)unused;
	read_text(TOPOLOGY "/generation_id", text, sizeof(text));
	assert_string_equal(text, "4\n");
	read_text("//sys/./class/kfd//kfd/topology/nodes/../generation_id", text, sizeof(text));
	assert_string_equal(text, "4\n");
	/* Behind a symbolic link. */
	read_text("/sys/class/kfd/kfd/../beside", text, sizeof(text));
	assert_string_equal(text, "5\n");
	stream = fopen(TOPOLOGY "/generation_id", "re");
	assert_non_null(stream);
	assert_int_equal(fgetc(stream), '4');
	fclose(stream);
	assert_int_equal(stat(TOPOLOGY "/generation_id", &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(lstat("/sys/class/kfd/kfd", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(lstat("/sys/class/kfd/kfd/", &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(statx(AT_FDCWD, TOPOLOGY, 0, STATX_TYPE, &stx), 0);
	assert_true(S_ISDIR(stx.stx_mode));
	assert_int_equal(access(TOPOLOGY, R_OK), 0);
	assert_int_equal(faccessat(AT_FDCWD, TOPOLOGY, F_OK, AT_EACCESS), 0);
}

static void test_not_there(void **unused)
{
	struct stat st;
	int fd;

	(void)unused;
	assert_errno(open(TOPOLOGY "/none", O_RDONLY), ENOENT);
	assert_errno(stat("/sys/class/kfd/none", &st), ENOENT);
	assert_errno(access("/dev/dri/renderD129", F_OK), ENOENT);
	assert_errno(open("/dev/dri/renderD129", O_RDWR), ENOENT);
	assert_null(fopen(TOPOLOGY "/none", "r"));
	assert_errno(open(TOPOLOGY "/none", O_WRONLY | O_CREAT, 0644), EACCES);
	assert_errno(open(TOPOLOGY "/generation_id", O_WRONLY | O_TRUNC), EACCES);
	/* The host's own. */
	fd = open("/dev/null", O_RDWR);
	assert_true(fd >= 0);
	close(fd);
	/* Through a folder of the tree, and out again. */
	fd = open("/sys/class/kfd/../../../dev/null", O_RDWR);
	assert_true(fd >= 0);
	close(fd);
}

static void test_names(void **unused)
{
	char to[PATH_MAX];
	char *name;
	ssize_t n;

	(void)unused;
	assert_string_equal(realpath(TOPOLOGY, to), "/sys/devices/virtual/kfd/kfd/topology");
	name = realpath("/dev/kfd", NULL);
	assert_string_equal(name, "/dev/kfd");
	free(name);
	name = canonicalize_file_name("/dev/null");
	assert_string_equal(name, "/dev/null");
	free(name);
	n = readlink("/sys/class/kfd/kfd", to, sizeof(to));
	assert_true(n > 0);
	to[n] = '\0';
	assert_string_equal(to, "../../devices/virtual/kfd/kfd");
	assert_errno((int)readlink("/dev/kfd", to, sizeof(to)), EINVAL);
}

static void test_folders(void **unused)
{
	char text[16], here[PATH_MAX], before[PATH_MAX];
	struct dirent **names;
	DIR *folder = opendir(TOPOLOGY);
	struct stat st;
	int n = 0, fd;

	(void)unused;
	assert_non_null(folder);
	for (struct dirent *d; (d = readdir(folder));)
		n += !strcmp(d->d_name, "nodes") || !strcmp(d->d_name, "generation_id");
	assert_int_equal(n, 2);
	/* From an open folder, and from the current one. */
	fd = openat(dirfd(folder), "generation_id", O_RDONLY);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(fstatat(dirfd(folder), "../topology", &st, 0), 0);
	closedir(folder);
	n = scandir("/sys/class/kfd", &names, NULL, alphasort);
	assert_int_equal(n, 3);
	while (n--)
		free(names[n]);
	free(names);
	assert_non_null(getcwd(before, sizeof(before)));
	assert_int_equal(chdir("/sys/class/kfd/kfd"), 0);
	assert_string_equal(getcwd(here, sizeof(here)), "/sys/devices/virtual/kfd/kfd");
	read_text("topology/generation_id", text, sizeof(text));
	assert_string_equal(text, "4\n");
	assert_int_equal(chdir(before), 0);
}

static void test_opened_at_machine(void **unused)
{
	char text[64];
	struct stat st;
	FILE *stream;

	(void)unused;
	assert_int_equal(stat("/sys/kernel/debug/kfd/mqds", &st), 0);
	read_text("/sys/kernel/debug/kfd/mqds", text, sizeof(text));
	assert_string_equal(text, "of /sys/kernel/debug/kfd/mqds\n");
	stream = fopen("/sys/kernel/debug/kfd/mqds", "r");
	assert_non_null(stream);
	assert_non_null(fgets(text, sizeof(text), stream));
	assert_string_equal(text, "of /sys/kernel/debug/kfd/mqds\n");
	fclose(stream);
	assert_errno(open("/sys/kernel/debug/kfd/none", O_RDONLY), ENOENT);
	assert_int_equal(stat("/sys/kernel/debug/kfd", &st), 0);
	assert_true(S_ISDIR(st.st_mode));
}

/*
 * Devices
 */

static void check_device(const struct stat *st, unsigned int major_number,
			 unsigned int minor_number)
{
	assert_true(S_ISCHR(st->st_mode));
	assert_int_equal(major(st->st_rdev), major_number);
	assert_int_equal(minor(st->st_rdev), minor_number);
}

static void test_device_stat(void **unused)
{
	int kfd = open_kfd(), render = open("/dev/dri/renderD128", O_RDWR);
	int copy = dup(render);
	struct stat st, by_name;
	struct statx stx;

	(void)unused;
	assert_true(render >= 0);
	assert_int_equal(fcntl(kfd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(render, F_GETFD), 0);
	assert_int_equal(stat("/dev/kfd", &by_name), 0);
	check_device(&by_name, EMU_KFD_MAJOR, EMU_KFD_MINOR);
	assert_int_equal(fstat(kfd, &st), 0);
	check_device(&st, EMU_KFD_MAJOR, EMU_KFD_MINOR);
	assert_int_equal(st.st_ino, by_name.st_ino);
	assert_int_equal(st.st_dev, by_name.st_dev);
	close(render);
	assert_int_equal(fstat(copy, &st), 0);
	check_device(&st, EMU_DRM_MAJOR, EMU_RENDER_MINOR);
	assert_int_equal(fstatat(copy, "", &st, AT_EMPTY_PATH), 0);
	check_device(&st, EMU_DRM_MAJOR, EMU_RENDER_MINOR);
	assert_int_equal(statx(copy, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &stx), 0);
	assert_int_equal(stx.stx_rdev_minor, EMU_RENDER_MINOR);
	assert_int_equal(access("/dev/kfd", R_OK | W_OK), 0);
	assert_errno(open("/dev/kfd", O_RDONLY | O_DIRECTORY), ENOTDIR);
	close(copy);
	close(kfd);
}

/* Ways to open it that do not work on a device. */
static void test_device_open(void **unused)
{
	int fd = open("/dev/kfd", O_PATH | O_CLOEXEC);
	struct script_args args = { 1, 2, 3, 0 };
	struct stat st;

	(void)unused;
	assert_true(fd >= 0);
	assert_errno(ioctl(fd, SCRIPT_ADD, &args), EBADF);
	close(fd);
	assert_errno(open("/dev/kfd", O_RDWR | O_DIRECT), EINVAL);
	assert_errno(open("/dev/kfd/", O_RDWR), ENOTDIR);
	assert_errno(open("/dev/kfd/x", O_RDWR), ENOTDIR);
	assert_errno(stat("/dev/kfd/x", &st), ENOTDIR);
	fd = open("/dev/kfd", O_RDWR | O_APPEND | O_NONBLOCK | O_CLOEXEC);
	assert_int_equal(fcntl(fd, F_GETFL), O_RDWR | O_APPEND | O_NONBLOCK);
	close(fd);
}

/* The machine answers all ioctls but those that the kernel handles for any descriptor. */
static void test_calls_of_others(void **unused)
{
	int fd = open_kfd(), value = 1;

	(void)unused;
	assert_errno(ioctl(fd, FIONREAD, &value), ENOTTY);
	assert_errno(ioctl(fd, _IOW('q', 1, int), &value), ENOTTY);
	assert_int_equal(ioctl(fd, FIONBIO, &value), 0);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_int_equal(ioctl(fd, FIONCLEX), 0);
	assert_int_equal(fcntl(fd, F_GETFD), 0);
	close(fd);
}

static void test_call(void **unused)
{
	int fd = open_kfd();
	struct script_args args = { 40, 2, 11, 0 };

	(void)unused;
	assert_int_equal(ioctl(fd, SCRIPT_ADD, &args), 11);
	assert_int_equal(args.d, 42);
	args.d = 0;
	assert_int_equal(ioctl(fd, SCRIPT_SLOW_ADD, &args), 11);
	assert_int_equal(args.d, 42);
	args.d = 0;
	assert_int_equal(ioctl(fd, SCRIPT_QUICK_ADD, &args), 11);
	assert_int_equal(args.d, 42);
	errno = 0;
	assert_int_equal(ioctl(fd, SCRIPT_ADD, &args), 11);
	assert_int_equal(errno, 0);
	assert_errno(ioctl(fd, SCRIPT(99), &args), ENOTTY);
	close(fd);
}

static uint64_t known_after(int fd, uint64_t nr_sets)
{
	struct script_args args = { 1, 2, 0, 0 };

	atomic_store(&state->nr_sets, nr_sets);
	if (ioctl(fd, SCRIPT_ADD, &args))
		return UINT64_MAX;
	return atomic_load(&state->nr_sets_known);
}

static int know_nothing(void *unused)
{
	int fd = open("/dev/kfd", O_RDWR);

	(void)unused;
	return fd < 0 || known_after(fd, 0) != 0;
}

static void *know_from_others(void *arg)
{
	int fd = *(int *)arg;

	return (void *)(intptr_t)(known_after(fd, 9) == 7 && known_after(fd, 9) == 9);
}

/* A call says how often events were set when the thread's last call ended, or else any call. */
static void test_sets_known(void **unused)
{
	int fd = open_kfd();
	pthread_t thread;
	void *knew;

	(void)unused;
	known_after(fd, 7);
	assert_int_equal(known_after(fd, 5), 7);
	assert_int_equal(known_after(fd, 0), 5);
	assert_int_equal(pthread_create(&thread, NULL, know_from_others, &fd), 0);
	pthread_join(thread, &knew);
	assert_true(knew);
	assert_int_equal(known_after(fd, 0), 5);
	assert_int_equal(in_child(know_nothing, NULL), 0);
	close(fd);
}

static void test_bad_pointers(void **unused)
{
	int fd = open_kfd();
	char *page = map_private(2 * PAGE);

	(void)unused;
	assert_errno(ioctl(fd, SCRIPT_READ, NULL), EFAULT);
	assert_errno(ioctl(fd, SCRIPT_WRITE, (void *)8), EFAULT);
	assert_errno(ioctl(fd, SCRIPT_ADD, (void *)-16l), EFAULT);
	assert_int_equal(mprotect(page, PAGE, PROT_READ), 0);
	assert_int_equal(ioctl(fd, SCRIPT_READ, page), 0);
	assert_errno(ioctl(fd, SCRIPT_WRITE, page), EFAULT);
	assert_errno(ioctl(fd, SCRIPT_QUICK_ADD, page), EFAULT);
	assert_int_equal(munmap(page + PAGE, PAGE), 0);
	assert_errno(ioctl(fd, SCRIPT_ADD, page + PAGE - 8), EFAULT);
	assert_errno(ioctl(fd, SCRIPT_QUICK_ADD, page + PAGE - 8), EFAULT);
	munmap(page, PAGE);
	close(fd);
}

static void test_duplicates(void **unused)
{
	int fd = open_kfd();
	int other = fcntl(fd, F_DUPFD_CLOEXEC, 100), null = open("/dev/null", O_RDWR);
	struct script_args args = { 1, 2, 0, 0 };

	(void)unused;
	assert_becomes(&state->nr_files, 1);
	assert_int_equal(ioctl(other, SCRIPT_ADD, &args), 0);
	/* A reused number is not ours. */
	assert_int_equal(dup2(null, fd), fd);
	assert_errno(ioctl(fd, SCRIPT_ADD, &args), ENOTTY);
	assert_int_equal(ioctl(other, SCRIPT_ADD, &args), 0);
	close(fd);
	assert_errno(ioctl(fd, SCRIPT_ADD, &args), EBADF);
	close(other);
	close(null);
	assert_becomes(&state->nr_files, 0);
}

/* More than the table of open files holds, one after another. */
static void test_many_files(void **unused)
{
	int kept = open_kfd();
	struct script_args args = { 1, 2, 0, 0 };

	(void)unused;
	for (int i = 0; i < 3000; i++) {
		int fd = open_kfd();

		if (i % 500 == 0)
			assert_int_equal(ioctl(fd, SCRIPT_ADD, &args), 0);
		close(fd);
	}
	assert_int_equal(ioctl(kept, SCRIPT_ADD, &args), 0);
	close(kept);
}

static void test_descriptors(void **unused)
{
	int fd = open_kfd(), render = open("/dev/dri/renderD128", O_RDWR), ends[2], got;
	char byte = 0;

	(void)unused;
	assert_int_equal(pipe(ends), 0);
	assert_true(call(fd, SCRIPT_GET_FILE, (uint64_t)fd, 0, 0) > 0);
	assert_int_equal(call(fd, SCRIPT_GET_FILE, (uint64_t)render, 0, 0),
			 call(fd, SCRIPT_GET_FILE, (uint64_t)fd, 0, 0) + 1);
	assert_errno(call(fd, SCRIPT_GET_FILE, (uint64_t)ends[0], 0, 0), EBADF);
	assert_errno(call(fd, SCRIPT_GET_FILE, 999, 0, 0), EBADF);
	assert_int_equal(call(fd, SCRIPT_GET_FD, (uint64_t)ends[1], 77, 0), 1);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	assert_int_equal(byte, 77);
	assert_errno(call(fd, SCRIPT_GET_FD, 999, 0, 0), EBADF);
	assert_errno(call(fd, SCRIPT_GET_FD, ~0ull, 0, 0), EBADF);
	got = call(fd, SCRIPT_PUT_FD, 99, O_CLOEXEC, 0);
	assert_true(got > 0);
	assert_int_equal(read(got, &byte, 1), 1);
	assert_int_equal(byte, 99);
	assert_int_equal(fcntl(got, F_GETFD), FD_CLOEXEC);
	close(got);
	got = call(fd, SCRIPT_PUT_FD, 99, 0, 0);
	assert_int_equal(fcntl(got, F_GETFD), 0);
	close(got);
	close(ends[0]);
	close(ends[1]);
	close(render);
	close(fd);
}

static void test_mmap(void **unused)
{
	int fd = open_kfd();
	char *room = map_private(4 * PAGE);
	uint64_t *at;

	(void)unused;
	at = mmap(room + PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		  (off_t)(3ull << 62 | 77ull << 46));
	assert_ptr_equal(at, room + PAGE);
	assert_int_equal(*at, 3ull << 62 | 77ull << 46);
	munmap(room, 4 * PAGE);
	at = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	assert_true(at != MAP_FAILED);
	assert_int_equal(*at, 0);
	munmap(at, PAGE);
	errno = 0;
	assert_ptr_equal(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 8), MAP_FAILED);
	assert_int_equal(errno, EINVAL);
	close(fd);
}

/*
 * Signals and threads
 */

static _Atomic int nr_signals;
static int handler_fd = -1;
static _Atomic int handler_result;

static void on_signal(int number)
{
	int saved = errno;

	(void)number;
	atomic_fetch_add(&nr_signals, 1);
	if (handler_fd >= 0) {
		struct script_args args = { 20, 3, 0, 0 };

		if (!ioctl(handler_fd, SCRIPT_ADD, &args))
			atomic_store(&handler_result, (int)args.d);
	}
	errno = saved;
}

static void *send_signals(void *arg)
{
	uint32_t waits = atomic_load(&state->nr_waits);

	/* While the call is in progress. */
	for (int i = 0; i < 1000 && atomic_load(&state->nr_waits) == waits; i++)
		sleep_ms(1);
	sleep_ms(20);
	pthread_kill(*(pthread_t *)arg, SIGUSR1);
	return NULL;
}

static int interrupted_wait(int fd, int flags, uint64_t ms)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags };
	struct script_args args = { .a = ms };
	pthread_t self = pthread_self(), thread;
	int result, err;

	atomic_store(&nr_signals, 0);
	sigaction(SIGUSR1, &action, NULL);
	pthread_create(&thread, NULL, send_signals, &self);
	/* It starts to count when it sees what was before. */
	sleep_ms(5);
	result = ioctl(fd, SCRIPT_WAIT, &args);
	err = errno;
	pthread_join(thread, NULL);
	assert_int_equal(atomic_load(&nr_signals), 1);
	errno = err;
	return result;
}

static void test_interrupted(void **unused)
{
	int fd = open_kfd();
	struct script_args args = { 1, 2, 0, 0 };

	(void)unused;
	assert_errno(interrupted_wait(fd, 0, 10000), EINTR);
	assert_int_equal(ioctl(fd, SCRIPT_ADD, &args), 0);
	assert_int_equal(interrupted_wait(fd, SA_RESTART, 300), 7);
	assert_int_equal(ioctl(fd, SCRIPT_ADD, &args), 0);
	/* A call within a call. */
	handler_fd = fd;
	assert_int_equal(interrupted_wait(fd, SA_RESTART, 300), 7);
	assert_int_equal(atomic_load(&handler_result), 23);
	assert_errno(interrupted_wait(fd, 0, 10000), EINTR);
	handler_fd = -1;
	close(fd);
}

/* Signals at any time in calls that do not wait change nothing. */
static void test_signal_storm(void **unused)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct itimerspec often = { { 0, 200000 }, { 0, 200000 } };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	int fd = open_kfd();
	timer_t timer;

	(void)unused;
	atomic_store(&nr_signals, 0);
	sigaction(SIGUSR1, &action, NULL);
	assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	handler_fd = fd;
	timer_settime(timer, 0, &often, NULL);
	for (int i = 0; i < 300; i++) {
		struct script_args args = { (uint64_t)i, 2, 5, 0 };

		assert_int_equal(ioctl(fd, i % 10 ? SCRIPT_ADD : SCRIPT_SLOW_ADD, &args), 5);
		assert_int_equal(args.d, i + 2);
	}
	timer_delete(timer);
	handler_fd = -1;
	assert_true(atomic_load(&nr_signals) > 0);
	close(fd);
}

/* Longer than the test may take: it ends by a signal. */
static void *wait_in_thread(void *arg)
{
	struct script_args args = { .a = 600000 };
	int result = ioctl(*(int *)arg, SCRIPT_WAIT, &args);

	return (void *)(intptr_t)(result ? errno : 0);
}

static void test_threads(void **unused)
{
	struct sigaction action = { .sa_handler = on_signal };
	uint32_t waits = atomic_load(&state->nr_waits);
	int fd = open_kfd();
	pthread_t thread[NR_THREADS];
	void *result;

	(void)unused;
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < NR_THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, wait_in_thread, &fd), 0);
	/* All of them wait at the same time: none has ended yet. */
	assert_becomes(&state->nr_waits, waits + NR_THREADS);
	for (int i = 0; i < NR_THREADS; i++) {
		/* The machine counts the call before the program waits for its answer. */
		while (pthread_tryjoin_np(thread[i], &result)) {
			pthread_kill(thread[i], SIGUSR1);
			sleep_ms(1);
		}
		assert_int_equal((intptr_t)result, EINTR);
	}
	close(fd);
}

/*
 * Processes
 */

static void test_closed_descriptors(void **unused)
{
	struct script_args args = { 1, 2, 0, 0 };
	int kept[10], fd = open_kfd(), n = 0;

	(void)unused;
	assert_int_equal(ioctl(fd, SCRIPT_ADD, &args), 0);
	/* Also descriptors that it does not know; others reuse their numbers. */
	for (int i = 3; i < 5000; i++) {
		if (i != state->pid)
			close(i);
	}
	for (int i = 0; i < 10; i++)
		kept[n++] = open("/dev/null", O_RDWR);
	for (int i = 3000; i < 4200; i++)
		dup2(kept[0], i);
	assert_errno(ioctl(fd, SCRIPT_ADD, &args), ENOTTY);
	fd = open_kfd();
	assert_int_equal(ioctl(fd, SCRIPT_ADD, &args), 0);
	close(fd);
	for (int i = 3000; i < 4200; i++)
		close(i);
	for (int i = 0; i < n; i++)
		close(kept[i]);
}

static int use_parents_file(void *arg)
{
	int inherited = *(int *)arg, own;
	uint64_t cookie = atomic_load(&state->cookie);
	struct script_args args = { 1, 2, 0, 0 };

	if (ioctl(inherited, SCRIPT_ADD, &args) != -1 || errno != EBADF)
		return 1;
	own = open("/dev/kfd", O_RDWR);
	if (own < 0 || ioctl(own, SCRIPT_ADD, &args))
		return 2;
	if (atomic_load(&state->cookie) == cookie || atomic_load(&state->pid) != getpid())
		return 3;
	return 0;
}

static void test_fork(void **unused)
{
	int fd = open_kfd();
	struct script_args args = { 1, 2, 0, 0 };
	uint32_t connections;

	(void)unused;
	assert_int_equal(ioctl(fd, SCRIPT_ADD, &args), 0);
	connections = atomic_load(&state->nr_connections);
	assert_int_equal(in_child(use_parents_file, &fd), 0);
	assert_int_equal(ioctl(fd, SCRIPT_ADD, &args), 0);
	/* The child's are gone; some that threads had before may have been closing. */
	for (int i = 0; i < 500 && atomic_load(&state->nr_connections) > connections; i++)
		sleep_ms(10);
	assert_true(atomic_load(&state->nr_connections) <= connections);
	/* Without the handlers of fork(). */
	if (!SANITIZED) {
		pid_t pid = _Fork();
		int status = 0;

		if (!pid)
			_exit(use_parents_file(&fd));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	assert_int_equal(ioctl(fd, SCRIPT_ADD, &args), 0);
	close(fd);
}

static void run_shell(const char *script, const char *expected)
{
	char text[1024] = "";
	size_t n;
	FILE *out = popen(script, "r");

	assert_non_null(out);
	n = fread(text, 1, sizeof(text) - 1, out);
	text[n] = '\0';
	pclose(out);
	assert_string_equal(text, expected);
}

static void test_other_programs(void **unused)
{
	const char *preload = getenv("EMU_PRELOAD");

	(void)unused;
	if (!preload || SANITIZED) {
		print_message("no preload in a program with a sanitizer\n");
		skip();
	}
	setenv("LD_PRELOAD", preload, 1);
	run_shell("cat " TOPOLOGY "/generation_id", "4\n");
	run_shell("ls /sys/class/kfd/", "kfd\n");
	run_shell("ls -l " TOPOLOGY " 2>&1 >/dev/null", "");
	run_shell("bash -c '[ -e /dev/kfd ] && [ -c /dev/dri/renderD128 ] && echo yes'", "yes\n");
	run_shell("bash -c '[ -e " TOPOLOGY "/none ] || echo no'", "no\n");
	run_shell("stat -c '%F %t:%T' /dev/kfd", "character special file 1ff:0\n");
	run_shell("readlink -f " TOPOLOGY, "/sys/devices/virtual/kfd/kfd/topology\n");
	run_shell("cat < /sys/kernel/debug/kfd/mqds", "of /sys/kernel/debug/kfd/mqds\n");
	run_shell("cd /sys/class/kfd/kfd && cat topology/generation_id", "4\n");
	run_shell("lsmod | grep amdgpu", "amdgpu 1 0 - Live 0x0000000000000000\n");
	unsetenv("LD_PRELOAD");
}

/*
 * Shared memory
 */

static void test_share(void **unused)
{
	int fd = open_kfd();
	size_t len = 3 * PAGE;
	uint64_t *at = (uint64_t *)map_private(len);
	size_t last = len / 8 - 1;

	(void)unused;
	at[0] = 1;
	at[last] = 2;
	assert_int_equal(share(fd, at, len), 1);
	assert_int_equal(at[0], 1);
	assert_int_equal(at[PAGE / 8], 0);
	assert_int_equal(peek(fd, &at[0]), 1);
	assert_int_equal(peek(fd, &at[last]), 2);
	at[5] = 55;
	assert_int_equal(peek(fd, &at[5]), 55);
	poke(fd, &at[PAGE / 8 + 1], 66);
	assert_int_equal(at[PAGE / 8 + 1], 66);
	assert_int_equal(take_back(fd, at, len), 0);
	assert_int_equal(at[0], 1);
	assert_int_equal(at[5], 55);
	assert_int_equal(at[PAGE / 8 + 1], 66);
	assert_int_equal(at[last], 2);
	/* Again, and with another protection. */
	assert_int_equal(mprotect(at, PAGE, PROT_READ), 0);
	assert_errno(share(fd, at, len), EFAULT);
	assert_int_equal(call(fd, SCRIPT_SHARE, (uint64_t)at, len, 0), 1);
	assert_int_equal(peek(fd, &at[5]), 55);
	assert_errno(ioctl(fd, SCRIPT_WRITE, at), EFAULT);
	assert_int_equal(take_back(fd, at, len), 0);
	assert_errno(ioctl(fd, SCRIPT_WRITE, at), EFAULT);
	assert_int_equal(at[last], 2);
	munmap(at, len);
	close(fd);
}

static void test_share_refused(void **unused)
{
	int fd = open_kfd();
	char *at = map_private(4 * PAGE);

	(void)unused;
	at[0] = 9;
	assert_errno(share(fd, at + 1, PAGE), EINVAL);
	assert_errno(share(fd, at, PAGE + 1), EINVAL);
	assert_errno(share(fd, (void *)(-8 * PAGE), 16 * PAGE), EFAULT);
	munmap(at + 2 * PAGE, PAGE);
	assert_errno(share(fd, at + 2 * PAGE, PAGE), EFAULT);
	assert_errno(share(fd, at, 4 * PAGE), EFAULT);
	/* Nothing has happened. */
	assert_int_equal(at[0], 9);
	assert_int_equal(share(fd, at, 2 * PAGE), 1);
	assert_int_equal(take_back(fd, at, 2 * PAGE), 0);
	assert_int_equal(mprotect(at, PAGE, PROT_NONE), 0);
	assert_errno(share(fd, at, 2 * PAGE), EFAULT);
	assert_int_equal(take_back(fd, at, 2 * PAGE), 0);
	munmap(at, 4 * PAGE);
	close(fd);
}

static void test_share_overlap(void **unused)
{
	int fd = open_kfd();
	uint64_t *at = (uint64_t *)map_private(6 * PAGE);
	uint64_t *page[6];

	(void)unused;
	for (int i = 0; i < 6; i++) {
		page[i] = at + (size_t)i * PAGE / 8;
		*page[i] = 100 + (uint64_t)i;
	}
	assert_int_equal(share(fd, page[0], 4 * PAGE), 1);
	assert_int_equal(share(fd, page[2], 4 * PAGE), 1);
	/* Private again where it is not shared by others. */
	assert_int_equal(take_back(fd, page[0], 4 * PAGE), 0);
	for (int i = 0; i < 6; i++)
		assert_int_equal(*page[i], 100 + i);
	*page[5] = 7;
	assert_int_equal(peek(fd, page[5]), 7);
	assert_int_equal(take_back(fd, page[2], 4 * PAGE), 0);
	for (int i = 0; i < 5; i++)
		assert_int_equal(*page[i], 100 + i);
	assert_int_equal(*page[5], 7);
	/* Memory that was unmapped while it was shared, and other memory in its place. */
	assert_int_equal(share(fd, page[0], 6 * PAGE), 1);
	assert_ptr_equal(mmap(page[1], PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 page[1]);
	*page[1] = 1;
	assert_int_equal(share(fd, page[1], PAGE), 1);
	assert_int_equal(*page[1], 1);
	assert_int_equal(take_back(fd, page[0], 6 * PAGE), 0);
	assert_int_equal(*page[1], 1);
	assert_int_equal(*page[2], 102);
	assert_int_equal(take_back(fd, page[1], PAGE), 0);
	assert_int_equal(*page[1], 1);
	munmap(at, 6 * PAGE);
	close(fd);
}

static void test_share_file(void **unused)
{
	int fd = open_kfd(), memory = memfd_create("own", MFD_CLOEXEC);
	uint64_t *at, *view;

	(void)unused;
	assert_int_equal(ftruncate(memory, 4 * PAGE), 0);
	at = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, memory, PAGE);
	view = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	assert_int_equal(share(fd, at, 2 * PAGE), 1);
	poke(fd, at, 5);
	assert_int_equal(*at, 5);
	assert_int_equal(view[PAGE / 8], 5);
	assert_int_equal(take_back(fd, at, 2 * PAGE), 0);
	view[PAGE / 8] = 6;
	assert_int_equal(*at, 6);
	munmap(at, 2 * PAGE);
	munmap(view, 4 * PAGE);
	close(memory);
	close(fd);
}

/* A part of the program itself: initialised variables. */
static _Alignas(4096) uint64_t initialised[3 * PAGE / 8] = { [0] = 1, [600] = 2 };

static void test_share_data(void **unused)
{
	int fd = open_kfd();

	(void)unused;
	initialised[1] = 3;
	assert_true(share(fd, initialised, sizeof(initialised)) > 0);
	assert_int_equal(initialised[0], 1);
	assert_int_equal(initialised[600], 2);
	assert_int_equal(peek(fd, &initialised[1]), 3);
	assert_int_equal(take_back(fd, initialised, sizeof(initialised)), 0);
	assert_int_equal(initialised[600], 2);
	close(fd);
}

#define NR_WRITERS 3
#define WORDS 64

struct writer {
	_Atomic uint64_t *word; /* of this thread, far apart */
	size_t step;
	_Atomic bool *stop;
	uint64_t nr_lost, nr_written;
};

/* Writes all the time, and keeps track of what it has written. */
static void *write_always(void *arg)
{
	struct writer *w = arg;
	uint64_t last[WORDS] = { 0 };

	for (uint64_t n = 1; !atomic_load(w->stop); n++) {
		size_t i = n % WORDS;
		_Atomic uint64_t *word = &w->word[i * w->step];

		w->nr_lost += atomic_load_explicit(word, memory_order_relaxed) != last[i];
		atomic_store_explicit(word, n, memory_order_relaxed);
		last[i] = n;
		w->nr_written++;
	}
	for (size_t i = 0; i < WORDS; i++)
		w->nr_lost += w->word[i * w->step] != last[i];
	return NULL;
}

/* No write of another thread is lost, whenever memory becomes shared or private. */
static void test_share_while_written(void **unused)
{
	int fd = open_kfd();
	size_t len = 4ul << 20;
	char *at = map_private(len);
	_Atomic bool stop = false;
	struct writer writer[NR_WRITERS];
	pthread_t thread[NR_WRITERS];
	uint64_t begin = now_ms();

	(void)unused;
	if (plain) {
		print_message("without the fault handler nothing holds the writers\n");
		skip();
	}
	for (size_t i = 0; i < NR_WRITERS; i++) {
		writer[i] = (struct writer){ .word = (_Atomic uint64_t *)(at + 8 * i),
					     .step = len / WORDS / 8,
					     .stop = &stop };
		pthread_create(&thread[i], NULL, write_always, &writer[i]);
	}
	for (int i = 0; i < 200 && now_ms() - begin < 5000; i++) {
		size_t from = (size_t)(i % 3) * PAGE;

		assert_int_equal(share(fd, at + from, len - from), 1);
		assert_int_equal(take_back(fd, at + from, len - from), 0);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < NR_WRITERS; i++) {
		pthread_join(thread[i], NULL);
		assert_true(writer[i].nr_written > 0);
		assert_int_equal(writer[i].nr_lost, 0);
	}
	munmap(at, len);
	close(fd);
}

static char *page_of(const void *at)
{
	return (char *)((uintptr_t)at & ~(PAGE - 1));
}

/* Pages with other data: the allocator's headers between blocks. */
static void test_share_heap(void **unused)
{
	int fd = open_kfd();
	char *block[200];

	(void)unused;
	for (int i = 0; i < 200; i++) {
		block[i] = malloc(100 + (size_t)i * 10);
		memset(block[i], i, 100);
	}
	for (int i = 0; i < 200; i += 10)
		assert_true(share(fd, page_of(block[i]), 2 * PAGE) > 0);
	for (int i = 0; i < 200; i += 2)
		free(block[i]);
	for (int i = 0; i < 200; i += 2) {
		block[i] = malloc(60 + (size_t)i * 20);
		memset(block[i], i, 60);
	}
	for (int i = 0; i < 200; i += 10)
		take_back(fd, page_of(block[i]), 2 * PAGE);
	for (int i = 0; i < 200; i++) {
		for (int j = 0; j < 60; j++)
			assert_int_equal((uint8_t)block[i][j], i);
		free(block[i]);
	}
	close(fd);
}

static uint64_t deep(int levels)
{
	volatile char room[2000];

	room[0] = (char)levels;
	return levels ? deep(levels - 1) + (uint64_t)room[0] : 0;
}

/* The current stack, a good part of it, and the page with thread-local variables. */
static void *share_stack(void *arg)
{
	volatile uint64_t word = 12345;
	int fd = *(int *)arg;
	char *page = page_of((const void *)&word);
	size_t before = 4, len = 8 * PAGE;

	page -= before * PAGE;
	/* There may be less above it than that. */
	while (share(fd, page, len) < 0)
		len -= PAGE;
	assert_true(len > before * PAGE);
	assert_int_equal(peek(fd, (const void *)&word), 12345);
	word = 54321;
	assert_int_equal(peek(fd, (const void *)&word), 54321);
	assert_int_equal(deep(100), 5050);
	for (int i = 0; i < 50; i++) {
		assert_int_equal(take_back(fd, page, len), 0);
		assert_int_equal(share(fd, page, len), 1);
	}
	assert_int_equal(take_back(fd, page, len), 0);
	assert_int_equal(word, 54321);
	assert_int_equal(deep(100), 5050);
	return NULL;
}

static void test_share_stack(void **unused)
{
	int fd = open_kfd();
	pthread_t thread;

	(void)unused;
	if (SANITIZED) {
		print_message("sanitizers keep track of stacks\n");
		skip();
	}
	share_stack(&fd);
	pthread_create(&thread, NULL, share_stack, &fd);
	pthread_join(thread, NULL);
	close(fd);
}

/* A range that is mostly absent costs only its present pages. */
static void test_share_sparse(void **unused)
{
	int fd = open_kfd();
	size_t len = 4ul << 30;
	char *at = mmap(NULL, len, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t before = resident_bytes();

	(void)unused;
	assert_true(at != MAP_FAILED);
	at[len / 2] = 1;
	at[len - 1] = 2;
	assert_int_equal(share(fd, at, len), 1);
	assert_int_equal(at[len / 2], 1);
	assert_int_equal(take_back(fd, at, len), 0);
	assert_int_equal(at[len - 1], 2);
	assert_int_equal(at[len / 2], 1);
	/* Pages that nobody wrote were not copied. */
	assert_true(resident_bytes() < before + (len >> 4));
	munmap(at, len);
	close(fd);
}

/*
 * Many mappings
 */

static struct client_maps listed, queried;

/* Queries show the same as the list. */
static void test_maps(void **unused)
{
	struct client_vma a, b;
	int nr = 0;

	(void)unused;
	assert_int_equal(client_maps_open(&queried, 1), 0);
	if (!client_maps_next(&queried, &b) || queried.lists) {
		client_maps_close(&queried);
		print_message("this kernel knows no PROCMAP_QUERY\n");
		skip();
	}
	assert_int_equal(client_maps_open(&listed, 0), 0);
	while (client_maps_next(&listed, &a)) {
		if (!strcmp(a.path, "[vsyscall]")) /* of the kernel, which queries leave out */
			continue;
		assert_int_equal(a.start, b.start);
		assert_int_equal(a.end, b.end);
		assert_int_equal(a.offset, b.offset);
		assert_int_equal(a.ino, b.ino);
		assert_int_equal(a.dev, b.dev);
		assert_int_equal(a.prot, b.prot);
		assert_int_equal(a.shared, b.shared);
		assert_string_equal(a.path, b.path);
		nr++;
		client_maps_next(&queried, &b);
	}
	assert_true(nr > 10);
	client_maps_close(&listed);
	client_maps_close(&queried);
	/* A kernel without queries: the list, from an address on. */
	listed.no_queries = true;
	assert_int_equal(client_maps_open(&listed, (uint64_t)&listed), 0);
	assert_true(client_maps_next(&listed, &a));
	assert_true(listed.lists);
	assert_true(a.start <= (uint64_t)&listed && a.end > (uint64_t)&listed);
	client_maps_close(&listed);
}

/* Bytes that this process has read(2) so far. */
static uint64_t bytes_read(void)
{
	char text[512], *at;

	read_text("/proc/self/io", text, sizeof(text));
	at = strstr(text, "rchar: ");
	assert_non_null(at);
	return strtoull(at + strlen("rchar: "), NULL, 10);
}

static unsigned int nr_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned int n = 0;

	assert_non_null(folder);
	while (readdir(folder))
		n++;
	closedir(folder);
	return n;
}

/* The cost of one page does not depend on the number of mappings, nor on descriptors. */
static void test_share_among_many(void **unused)
{
	enum { MAPPINGS = 10000 };
	int fd = open_kfd();
	char *many = map_private(MAPPINGS * PAGE), *page = many + (MAPPINGS - 1) * PAGE;
	unsigned int descriptors;
	uint64_t before;

	(void)unused;
	for (size_t i = 0; i < MAPPINGS; i += 2)
		assert_int_equal(mprotect(many + i * PAGE, PAGE, PROT_READ), 0);
	assert_int_equal(share(fd, page, PAGE), 1);
	assert_int_equal(take_back(fd, page, PAGE), 0);
	if (queried.no_queries) {
		print_message("this kernel has no PROCMAP_QUERY\n");
		skip();
	}
	descriptors = nr_descriptors();
	before = bytes_read();
	for (int i = 0; i < 10; i++) {
		page[i] = 5;
		assert_int_equal(share(fd, page, PAGE), 1);
		assert_int_equal(peek(fd, page) & 0xff, 5);
		assert_int_equal(take_back(fd, page, PAGE), 0);
	}
	/* The list would be some 500,000 bytes each time. */
	assert_true(bytes_read() - before < 100000);
	assert_int_equal(nr_descriptors(), descriptors);
	munmap(many, MAPPINGS * PAGE);
	close(fd);
}

/* Data that is read in chunks: the kernel searches for its end once. */
static void test_convert_read(void **unused)
{
	enum { PAGES = 12, DATA = 4, HOLE = 4 };
	static struct client_converter c;
	char *to = map_private(PAGES * PAGE), *expected = map_private(PAGES * PAGE);

	(void)unused;
	c.backing = memfd_create("data", 0);
	assert_true(c.backing >= 0);
	assert_int_equal(ftruncate(c.backing, PAGES * PAGE), 0);
	for (size_t i = 0; i < PAGES; i++) {
		memset(expected + i * PAGE, i < DATA || i >= DATA + HOLE ? (int)i + 1 : 0, PAGE);
		if (expected[i * PAGE])
			assert_int_equal(
				pwrite(c.backing, expected + i * PAGE, PAGE, (off_t)(i * PAGE)),
				PAGE);
	}
	for (uint64_t at = 0; at < PAGES * PAGE; at += PAGE) {
		assert_int_equal(client_convert_read(&c, at, at + PAGE, (uint64_t)to + at), 0);
		if (at < DATA * PAGE) {
			assert_int_equal(c.data_from, 0);
			assert_int_equal(c.data_to, DATA * PAGE);
		}
	}
	assert_memory_equal(to, expected, PAGES * PAGE);
	assert_int_equal(c.data_from, (DATA + HOLE) * PAGE);
	memset(to, 0, PAGES * PAGE);
	assert_int_equal(client_convert_read(&c, 0, PAGES * PAGE, (uint64_t)to), 0);
	assert_memory_equal(to, expected, PAGES * PAGE);
	close(c.backing);
	munmap(to, PAGES * PAGE);
	munmap(expected, PAGES * PAGE);
}

static void test_share_dropped(void **unused)
{
	int fd = open_kfd();
	uint64_t *at = (uint64_t *)map_private(4 * PAGE);

	(void)unused;
	for (int i = 0; i < 4; i++)
		at[(size_t)i * PAGE / 8] = 9;
	assert_int_equal(share(fd, at + PAGE / 8, PAGE), 1);
	assert_int_equal(madvise(at, 3 * PAGE, MADV_DONTNEED), 0);
	assert_int_equal(at[0], 0);
	assert_int_equal(at[PAGE / 8], 0);
	assert_int_equal(peek(fd, &at[PAGE / 8]), 0);
	assert_int_equal(at[2 * PAGE / 8], 0);
	assert_int_equal(at[3 * PAGE / 8], 9);
	assert_int_equal(take_back(fd, at + PAGE / 8, PAGE), 0);
	munmap(at, 4 * PAGE);
	close(fd);
}

struct family {
	uint64_t *shared;
	int to_child[2], to_parent[2];
	_Atomic int *go;
};

static int be_a_child(void *arg)
{
	struct family *f = arg;
	char byte;

	if (f->shared[0] != 1)
		return 1;
	f->shared[1] = 2;
	if (write(f->to_parent[1], "x", 1) != 1 || read(f->to_child[0], &byte, 1) != 1)
		return 2;
	if (f->shared[0] != 1 || f->shared[1] != 2)
		return 3;
	/* It can share its memory with a machine of its own. */
	int fd = open("/dev/kfd", O_RDWR);

	if (fd < 0 || share(fd, f->shared, PAGE) != 1 || peek(fd, &f->shared[1]) != 2)
		return 4;
	return take_back(fd, f->shared, PAGE) ? 5 : 0;
}

static void test_fork_is_private(void **unused)
{
	int fd = open_kfd(), status = 0;
	struct family f = { .shared = (uint64_t *)map_private(PAGE) };
	char byte;
	pid_t pid;

	(void)unused;
	assert_int_equal(pipe(f.to_child), 0);
	assert_int_equal(pipe(f.to_parent), 0);
	f.shared[0] = 1;
	assert_int_equal(share(fd, f.shared, PAGE), 1);
	pid = fork();
	if (!pid)
		_exit(be_a_child(&f));
	f.shared[0] = 10;
	assert_int_equal(read(f.to_parent[0], &byte, 1), 1);
	assert_int_equal(f.shared[1], 0);
	poke(fd, &f.shared[0], 11);
	assert_int_equal(write(f.to_child[1], "x", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	/* The parent's is still shared with the machine. */
	assert_int_equal(f.shared[0], 11);
	f.shared[0] = 12;
	assert_int_equal(peek(fd, &f.shared[0]), 12);
	assert_int_equal(take_back(fd, f.shared, PAGE), 0);
	munmap(f.shared, PAGE);
	close(f.to_child[0]);
	close(f.to_child[1]);
	close(f.to_parent[0]);
	close(f.to_parent[1]);
	close(fd);
}

/* Both continue on a stack that was shared at the time of the fork. */
static void test_fork_on_shared_stack(void **unused)
{
	volatile uint64_t word = 1;
	char *page = page_of((const void *)&word) - 4 * PAGE;
	int fd = open_kfd();

	(void)unused;
	if (SANITIZED) {
		print_message("not in a program with a sanitizer\n");
		skip();
	}
	assert_true(share(fd, page, 6 * PAGE) > 0);
	for (int i = 0; i < 20; i++) {
		int status = 0;
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (!pid) {
			word = 100;
			_exit(deep(20) == 210 && word == 100 ? 33 : 1);
		}
		word = 2;
		assert_int_equal(deep(20), 210);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 33);
		assert_int_equal(word, 2);
		assert_int_equal(system("true"), 0);
	}
	assert_int_equal(peek(fd, (const void *)&word), 2);
	assert_int_equal(take_back(fd, page, 6 * PAGE), 0);
	close(fd);
}

static void test_watch(void **unused)
{
	int fd = open_kfd();
	volatile uint64_t *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	uint32_t before = atomic_load(&state->doorbells);

	(void)unused;
	assert_true(at != MAP_FAILED);
	if (call(fd, SCRIPT_WATCH, (uint64_t)at, PAGE, 0)) {
		print_message("no userfaultfd: %s\n", strerror(errno));
		skip();
	}
	at[3] = 17;
	assert_int_equal(at[3], 17);
	assert_int_equal(atomic_load(&state->doorbells), before + 1);
	at[4] = 18;
	munmap((void *)at, PAGE);
	assert_errno(call(fd, SCRIPT_WATCH, (uint64_t)at, PAGE, 0), EINVAL);
	close(fd);
}

static uint64_t gone_from, gone_to;

static void note_gone(uint64_t start, uint64_t end)
{
	gone_from = start;
	gone_to = end;
}

static void test_segments(void **unused)
{
	static struct client_segments s;
	uint8_t count[64] = { 0 };
	unsigned int seed = 1;

	(void)unused;
	/* Against a plain count of each page. */
	for (int turn = 0; turn < 20000; turn++) {
		uint32_t a = (uint32_t)rand_r(&seed) % 64, b = (uint32_t)rand_r(&seed) % 64, at = 0;
		uint32_t from = a < b ? a : b, to = (a < b ? b : a) + 1;
		bool add = rand_r(&seed) % 2;

		if (add)
			assert_int_equal(client_segments_add(&s, from, to), 0);
		else
			client_segments_remove(&s, from, to, note_gone);
		for (uint32_t i = from; i < to; i++)
			count[i] = (uint8_t)(add ? count[i] + 1 : count[i] ? count[i] - 1 : 0);
		for (uint32_t i = 0; i < s.nr; i++) {
			struct client_segment *g = &s.segment[i];

			for (; at < g->start; at++)
				assert_int_equal(count[at], 0);
			for (; at < g->end; at++)
				assert_int_equal(count[at], g->refs);
			assert_true(!i || g[-1].end < g->start || g[-1].refs != g->refs);
		}
		for (; at < 64; at++)
			assert_int_equal(count[at], 0);
		for (uint32_t i = 0; i < 64; i++)
			count[i] = count[i] > 200 ? (uint8_t)(turn = 20000, 0) : count[i];
	}
	s.nr = 0;
	assert_int_equal(client_segments_add(&s, 10, 20), 0);
	client_segments_remove(&s, 5, 12, note_gone);
	assert_int_equal(gone_from, 10);
	assert_int_equal(gone_to, 12);
}

/*
 * The machine ends: the last of all tests.
 */

static void start_machine(void);

static void *wait_for_machine(void *arg)
{
	struct script_args args = { .a = 60000 };
	int result = ioctl(*(int *)arg, SCRIPT_WAIT, &args);

	return (void *)(intptr_t)(result ? errno : 0);
}

/* Waits for one event after the machine has ended. */
static int wait_for_event(int fd, struct gp_kfd_event_data *data, uint32_t id, uint32_t *result)
{
	struct gp_kfd_wait_events wait = { .events_ptr = (uint64_t)data,
					   .num_events = 1,
					   .timeout = UINT32_MAX,
					   .wait_result = GP_KFD_WAIT_FAIL };
	int err;

	*data = (struct gp_kfd_event_data){ .event_id = id };
	err = ioctl(fd, GP_KFD_WAIT_EVENTS, &wait);
	*result = wait.wait_result;
	return err;
}

/*
 * A runtime is notified that its GPU is lost if it has an event for that, and gets an error
 * otherwise.
 */
static void gpus_are_lost(int fd)
{
	const struct gp_kfd_acquire_vm acquire = { .gpu_id = 77 };
	const struct gp_kfd_create_event memory = { .event_type = GP_KFD_EVENT_MEMORY,
						    .event_id = 5 },
					 hw = { .event_type = GP_KFD_EVENT_HW_EXCEPTION,
						.event_id = 6 },
					 signal = { .event_id = 7 };
	const struct gp_kfd_event destroy = { .event_id = 5 };
	struct gp_kfd_event_data data;
	uint32_t result;

	client_lost_note(GP_KFD_ACQUIRE_VM, &acquire);
	client_lost_note(GP_KFD_CREATE_EVENT, &memory);
	client_lost_note(GP_KFD_CREATE_EVENT, &hw);
	client_lost_note(GP_KFD_CREATE_EVENT, &signal);
	assert_int_equal(wait_for_event(fd, &data, 5, &result), 0);
	assert_int_equal(result, GP_KFD_WAIT_COMPLETE);
	assert_int_equal(data.memory.gpu_id, 77);
	assert_int_equal(data.memory.not_present, 1);
	assert_int_equal(wait_for_event(fd, &data, 6, &result), 0);
	assert_int_equal(data.hw.gpu_id, 77);
	assert_errno(wait_for_event(fd, &data, 7, &result), ENODEV);
	assert_int_equal(result, GP_KFD_WAIT_FAIL);
	client_lost_note(GP_KFD_DESTROY_EVENT, &destroy);
	assert_errno(wait_for_event(fd, &data, 5, &result), ENODEV);
	assert_errno(ioctl(fd, GP_KFD_WAIT_EVENTS, (void *)-16l), ENODEV);
}

static uint64_t sleeps(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return (uint64_t)usage.ru_nvcsw;
}

/* Calls sched_yield() for @ms, after @work_us of work each time. Returns how often it slept. */
static uint64_t yield_for(uint64_t ms, uint64_t work_us)
{
	uint64_t begin = now_ms(), before = sleeps();
	volatile unsigned int work = 0;

	while (now_ms() - begin < ms) {
		struct timespec ts;
		uint64_t since;

		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
		since = (uint64_t)ts.tv_nsec / 1000 + (uint64_t)ts.tv_sec * 1000000;
		do {
			work++;
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
		} while ((uint64_t)ts.tv_nsec / 1000 + (uint64_t)ts.tv_sec * 1000000 - since <
			 work_us);
		sched_yield();
	}
	return sleeps() - before;
}

/* A thread that only polls leaves the processor to the compute units; one that works keeps it. */
static void test_yield(void **unused)
{
	(void)unused;
	assert_true(yield_for(200, 0) > 0);
	assert_int_equal(yield_for(50, 100), 0);
}

/* As the runtime's signals begin (amd_signal_t). */
struct fake_signal {
	int64_t kind;
	_Atomic int64_t value;
};

int64_t hsa_signal_wait_scacquire(uint64_t signal, uint32_t condition, int64_t value,
				  uint64_t timeout, uint32_t state);

#define WAIT_LT 2
#define WAIT_ACTIVE 1

static void *signal_later(void *value)
{
	usleep(50000);
	atomic_store((_Atomic int64_t *)value, 0);
	return NULL;
}

/* A wait for a signal that is to poll leaves the processor to the compute units as well. */
static void test_signal_wait(void **unused)
{
	struct fake_signal s = { .value = 1 };
	uint64_t before, begin = now_ms();
	pthread_t thread;

	(void)unused;
	assert_int_equal(hsa_signal_wait_scacquire((uint64_t)&s, WAIT_LT, 1, 20000000, WAIT_ACTIVE),
			 1);
	assert_in_range(now_ms() - begin, 19, 10000);
	assert_int_equal(pthread_create(&thread, NULL, signal_later, &s.value), 0);
	before = sleeps();
	assert_int_equal(
		hsa_signal_wait_scacquire((uint64_t)&s, WAIT_LT, 1, UINT64_MAX, WAIT_ACTIVE), 0);
	assert_true(sleeps() - before > 10);
	pthread_join(thread, NULL);
	before = sleeps();
	assert_int_equal(
		hsa_signal_wait_scacquire((uint64_t)&s, WAIT_LT, 1, UINT64_MAX, WAIT_ACTIVE), 0);
	assert_int_equal(sleeps() - before, 0);
}

static void test_machine_ends(void **unused)
{
	int fd = open_kfd();
	struct script_args args = { 1, 2, 0, 0 };
	uint32_t waits = atomic_load(&state->nr_waits) + 1;
	pthread_t waiter;
	void *err;

	(void)unused;
	pthread_create(&waiter, NULL, wait_for_machine, &fd);
	assert_becomes(&state->nr_waits, waits);
	assert_errno(ioctl(fd, SCRIPT_DIE, &args), ENODEV);
	pthread_join(waiter, &err);
	assert_int_equal((intptr_t)err, ENODEV);
	assert_errno(ioctl(fd, SCRIPT_ADD, &args), ENODEV);
	assert_errno(open("/dev/kfd", O_RDWR), ENODEV);
	assert_true(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED);
	assert_int_equal(errno, ENODEV);
	gpus_are_lost(fd);
	close(fd);
	/* Another one in its place. */
	start_machine();
	fd = open_kfd();
	assert_int_equal(ioctl(fd, SCRIPT_ADD, &args), 0);
	close(fd);
}

/*
 * The machine's folder, and starting the test in it
 */

static void put_file(const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f))
		abort();
}

static void put_folder(const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	for (char *slash = path + strlen(dir) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
	if (mkdir(path, 0755))
		abort();
}

static void make_tree(void)
{
	char link[PATH_MAX];

	put_folder("sys/devices/virtual/kfd/kfd/topology/nodes/0");
	put_folder("sys/class/kfd");
	put_folder("sys/dev/char/226:128");
	put_folder("sys/kernel/debug/kfd");
	put_folder("sys/module/amdgpu");
	put_folder("proc");
	snprintf(link, sizeof(link), "%s/sys/class/kfd/kfd", dir);
	if (symlink("../../devices/virtual/kfd/kfd", link))
		abort();
	put_file("sys/devices/virtual/kfd/kfd/topology/generation_id", "4\n");
	put_file("sys/devices/virtual/kfd/beside", "5\n");
	put_file("sys/kernel/debug/kfd/mqds", "");
	put_file("proc/modules", "amdgpu 1 0 - Live 0x0000000000000000\n");
	put_file(EMU_SYSFS_PREFIXES,
		 "/sys/devices/virtual/kfd\n/sys/class/kfd\n/sys/dev/char/226:128\n"
		 "!/sys/kernel/debug/kfd\n/sys/module/amdgpu\n/proc/modules\n");
}

static void start_machine(void)
{
	char socket_path[PATH_MAX], number[16];
	pid_t parent = getpid(), pid;

	snprintf(socket_path, sizeof(socket_path), "%s/" EMU_SOCKET, dir);
	unlink(socket_path);
	atomic_store(&state->nr_connections, 0);
	atomic_store(&state->nr_files, 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == parent)
			script_serve(dir, state);
		_exit(1);
	}
	snprintf(number, sizeof(number), "%d", (int)pid);
	setenv(PID_VARIABLE, number, 1);
	while (access(socket_path, F_OK))
		sleep_ms(5);
	sleep_ms(20); /* until it listens */
}

static void clean_up(void)
{
	char command[PATH_MAX + 16];

	kill((pid_t)atoi(getenv(PID_VARIABLE)), SIGKILL);
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	if (system(command))
		fprintf(stderr, "%s is left\n", dir);
}

/* Runs this program again, with a machine. */
static int start_again(char **argv)
{
	char name[] = "/tmp/test-emu-client-XXXXXX", number[16];
	int fd = memfd_create("state", 0), err;

	dir = mkdtemp(name);
	if (!dir || fd < 0 || ftruncate(fd, PAGE))
		return 1;
	state = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	make_tree();
	start_machine();
	snprintf(number, sizeof(number), "%d", fd);
	setenv(STATE_VARIABLE, number, 1);
	setenv(EMU_DIR_VARIABLE, dir, 1);
	execv("/proc/self/exe", argv);
	err = errno;
	clean_up();
	if (err != ENOEXEC)
		return 1;
	puts("skipped: it starts itself again, and the kernel knows no such programs");
	return TEST_SKIPPED;
}

/* A host without userfaultfd, or that forbids it, as containers do. */
static void forbid_userfaultfd(void)
{
	if (!host_forbid(SYS_userfaultfd, EPERM))
		_exit(TEST_SKIPPED);
	plain = true;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_not_there),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_folders),
		cmocka_unit_test(test_opened_at_machine),
		cmocka_unit_test(test_device_stat),
		cmocka_unit_test(test_device_open),
		cmocka_unit_test(test_calls_of_others),
		cmocka_unit_test(test_call),
		cmocka_unit_test(test_sets_known),
		cmocka_unit_test(test_bad_pointers),
		cmocka_unit_test(test_duplicates),
		cmocka_unit_test(test_many_files),
		cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_mmap),
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_signal_storm),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_other_programs),
		cmocka_unit_test(test_segments),
		cmocka_unit_test(test_share),
		cmocka_unit_test(test_share_refused),
		cmocka_unit_test(test_share_overlap),
		cmocka_unit_test(test_share_file),
		cmocka_unit_test(test_share_data),
		cmocka_unit_test(test_share_while_written),
		cmocka_unit_test(test_share_heap),
		cmocka_unit_test(test_share_stack),
		cmocka_unit_test(test_share_sparse),
		cmocka_unit_test(test_maps),
		cmocka_unit_test(test_share_among_many),
		cmocka_unit_test(test_convert_read),
		cmocka_unit_test(test_share_dropped),
		cmocka_unit_test(test_fork_is_private),
		cmocka_unit_test(test_fork_on_shared_stack),
		cmocka_unit_test(test_watch),
		cmocka_unit_test(test_closed_descriptors),
		cmocka_unit_test(test_yield),
		cmocka_unit_test(test_signal_wait),
		cmocka_unit_test(test_machine_ends),
	};
	const char *fd = getenv(STATE_VARIABLE);
	int failed;

	dir = getenv(EMU_DIR_VARIABLE);
	if (!dir || !fd)
		return start_again(argv);
	state = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(fd), 0);
	if (argc > 1 && !strcmp(argv[1], "--plain"))
		forbid_userfaultfd();
	else if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	clean_up();
	return failed;
}
