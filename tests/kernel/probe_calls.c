// SPDX-License-Identifier: MIT
/*
 * Every number, with arguments that need no thought: none, all zero, all ones; fewer bytes and more
 * than the kernel knows; memory that cannot be read or written; another direction or letter. Each
 * number has a process of its own.
 */
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe.h"

#define TAIL 0xa5
#define LAST_STOCK 0x26
#define WORDS_MAX 256 /* of the largest arguments, and more */

struct call {
	const char *name;
	unsigned int request;
	int hide; /* what comes back changes with time */
};

/* Not in our header: calls that are obsolete, or that gpreempt does not use. */
#define OLD(nr, size) _IOC(_IOC_WRITE, GP_KFD_MAGIC, nr, size)

/* Without what the series adds. */
#define STOCK_CREATE_QUEUE                            \
	_IOC(_IOC_READ | _IOC_WRITE, GP_KFD_MAGIC, 2, \
	     offsetof(struct gp_kfd_create_queue, logical_priority))

static const struct call calls[] = {
	{ "get-version", GP_KFD_GET_VERSION, 0 },
	{ "create-queue", STOCK_CREATE_QUEUE, 0 },
	{ "destroy-queue", GP_KFD_DESTROY_QUEUE, 0 },
	{ "set-memory-policy", GP_KFD_SET_MEMORY_POLICY, 0 },
	{ "get-clock-counters", GP_KFD_GET_CLOCK_COUNTERS, 1 },
	{ "get-apertures-old", GP_KFD_GET_APERTURES_OLD, 0 },
	{ "update-queue", GP_KFD_UPDATE_QUEUE, 0 },
	{ "create-event", GP_KFD_CREATE_EVENT, 0 },
	{ "destroy-event", GP_KFD_DESTROY_EVENT, 0 },
	{ "set-event", GP_KFD_SET_EVENT, 0 },
	{ "reset-event", GP_KFD_RESET_EVENT, 0 },
	{ "wait-events", GP_KFD_WAIT_EVENTS, 0 },
	{ "dbg-register", OLD(0x0d, 8), 0 },
	{ "dbg-unregister", OLD(0x0e, 8), 0 },
	{ "dbg-address-watch", OLD(0x0f, 16), 0 },
	{ "dbg-wave-control", OLD(0x10, 16), 0 },
	{ "set-scratch-backing-va", GP_KFD_SET_SCRATCH_BACKING_VA, 0 },
	{ "get-tile-config", GP_KFD_GET_TILE_CONFIG, 0 },
	{ "set-trap-handler", GP_KFD_SET_TRAP_HANDLER, 0 },
	{ "get-apertures", GP_KFD_GET_APERTURES, 0 },
	{ "acquire-vm", GP_KFD_ACQUIRE_VM, 0 },
	{ "alloc-memory", GP_KFD_ALLOC_MEMORY, 0 },
	{ "free-memory", GP_KFD_FREE_MEMORY, 0 },
	{ "map-memory", GP_KFD_MAP_MEMORY, 0 },
	{ "unmap-memory", GP_KFD_UNMAP_MEMORY, 0 },
	{ "set-cu-mask", GP_KFD_SET_CU_MASK, 0 },
	{ "get-queue-wave-state", GP_KFD_GET_QUEUE_WAVE_STATE, 0 },
	{ "get-dmabuf-info", GP_KFD_GET_DMABUF_INFO, 0 },
	{ "import-dmabuf", GP_KFD_IMPORT_DMABUF, 0 },
	{ "alloc-queue-gws", GP_KFD_ALLOC_QUEUE_GWS, 0 },
	{ "smi-events", GP_KFD_SMI_EVENTS, 0 },
	{ "svm", GP_KFD_SVM, 0 },
	{ "set-xnack-mode", GP_KFD_SET_XNACK_MODE, 0 },
	{ "criu", GP_KFD_CRIU, 0 },
	{ "available-memory", GP_KFD_AVAILABLE_MEMORY, 0 },
	{ "export-dmabuf", GP_KFD_EXPORT_DMABUF, 0 },
	{ "runtime-enable", GP_KFD_RUNTIME_ENABLE, 0 },
	{ "dbg-trap", GP_KFD_DBG_TRAP, 0 },
	{ "preempt", GP_KFD_PREEMPT, 0 },
};

static void say(const struct probe *p, const struct call *c, const char *how, const char *text)
{
	char name[64];

	snprintf(name, sizeof(name), "%s/%s", c->name, how);
	probe_say(p, name, "%s", text);
}

/* "[2]=11 [7-9]=ffffffff": the words that are not zero. */
static void print_words(char *text, size_t room, const uint32_t *words, size_t nr)
{
	size_t len = strlen(text);

	for (size_t i = 0, next; i < nr && len < room; i = next) {
		for (next = i + 1; next < nr && words[next] == words[i];)
			next++;
		if (!words[i])
			continue;
		len += (size_t)snprintf(text + len, room - len, " [%zu", i);
		if (next > i + 1 && len < room)
			len += (size_t)snprintf(text + len, room - len, "-%zu", next - 1);
		if (len < room)
			len += (size_t)snprintf(text + len, room - len, "]=%x", words[i]);
	}
}

/* Calls with @size bytes that are all @fill; what is behind what the kernel knows is TAIL. */
static void call_with(const struct probe *p, const struct call *c, const char *how,
		      unsigned int request, int fill)
{
	size_t size = _IOC_SIZE(request), known = _IOC_SIZE(c->request);
	char *arg = probe_edge(size, PROT_READ | PROT_WRITE), text[2048];
	uint32_t words[WORDS_MAX];
	int result;

	memset(arg, fill, size);
	if (size > known)
		memset(arg + known, TAIL, size - known);
	result = probe_ioctl(p, request, arg);
	probe_result(text, result);
	memcpy(words, arg, size < known ? size : known);
	if (!c->hide)
		print_words(text, sizeof(text), words,
			    (size < known ? size : known) / sizeof(words[0]));
	if (size > known)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " tail %02x %02x",
			 (unsigned char)arg[known], (unsigned char)arg[size - 1]);
	say(p, c, how, text);
}

static unsigned int resize(unsigned int request, unsigned int size)
{
	return _IOC(_IOC_DIR(request), _IOC_TYPE(request), _IOC_NR(request), size);
}

static void call_sizes(const struct probe *p, const void *arg)
{
	const struct call *c = arg;
	unsigned int size = _IOC_SIZE(c->request);

	call_with(p, c, "zero", c->request, 0);
	call_with(p, c, "none", resize(c->request, 0), 0);
	call_with(p, c, "half", resize(c->request, size / 2), 0);
	call_with(p, c, "double", resize(c->request, 2 * size), 0);
	call_with(p, c, "other-direction", c->request ^ (_IOC_READ | _IOC_WRITE) << _IOC_DIRSHIFT,
		  0);
	call_with(p, c, "no-direction", c->request & ~(_IOC_DIRMASK << _IOC_DIRSHIFT), 0);
	/* The driver looks at the number only. */
	call_with(p, c, "other-letter", _IOC(_IOC_DIR(c->request), 'q', _IOC_NR(c->request), size),
		  0);
}

static void call_ones(const struct probe *p, const void *arg)
{
	const struct call *c = arg;

	call_with(p, c, "ones", c->request, 0xff);
}

static void call_bad_memory(const struct probe *p, const void *arg)
{
	const struct call *c = arg;
	size_t size = _IOC_SIZE(c->request);
	char text[PROBE_RESULT_MAX];
	char *edge = probe_edge(size, PROT_READ | PROT_WRITE);

	memset(edge, 0, size);
	say(p, c, "null", probe_result(text, probe_ioctl(p, c->request, NULL)));
	say(p, c, "unmapped", probe_result(text, probe_ioctl(p, c->request, edge + size)));
	say(p, c, "over-the-edge", probe_result(text, probe_ioctl(p, c->request, edge + 4)));
	say(p, c, "read-only",
	    probe_result(text, probe_ioctl(p, c->request, probe_edge(size, PROT_READ))));
	say(p, c, "kernel-address",
	    probe_result(text, probe_ioctl(p, c->request, (void *)0xffff800000000000)));
}

/* Numbers behind the last one, those of newer drivers and of our series among them. */
static void call_unknown(const struct probe *p, const void *arg)
{
	uint64_t words[8] = { 0 };
	char name[32];

	(void)arg;
	for (unsigned int nr = 0; nr < 0x100; nr++) {
		if (nr && nr <= LAST_STOCK)
			continue;
		if (nr > LAST_STOCK + 4 && (nr < 0x80 || nr > 0x8b) && (nr < 0xef || nr > 0xf1) &&
		    nr != 0xff)
			continue;
		snprintf(name, sizeof(name), "number-%02x", nr);
		probe_ask(p, name, _IOWR(GP_KFD_MAGIC, nr, words), words);
	}
}

/* The series' answers without a GPU; a stock kernel has nothing at its number. */
static void call_series(const struct probe *p, const void *arg)
{
	uint32_t ids[2];
	struct gp_kfd_preempt query = { .op = GP_KFD_OP_QUERY },
			      queues = { .queues = { (uintptr_t)ids, 2, 0, 0, 0 } };
	char name[48], text[PROBE_RESULT_MAX];
	int result;

	(void)arg;
	probe_ask(p, "series/query", GP_KFD_PREEMPT, &query);
	query.query.gpu_id = PROBE_NO_GPU;
	probe_ask(p, "series/query-gpu", GP_KFD_PREEMPT, &query);
	query.query.magic = 1;
	probe_ask(p, "series/query-not-zero", GP_KFD_PREEMPT, &query);
	for (uint32_t op = 0; op <= GP_KFD_OP_SET_PRIORITY + 1; op++) {
		struct gp_kfd_preempt a = queues;

		a.op = op;
		snprintf(name, sizeof(name), "series/op-%u", op);
		ids[0] = 0;
		ids[1] = PROBE_NO_QUEUE;
		result = probe_ioctl(p, GP_KFD_PREEMPT, &a);
		probe_say(p, name, "%s ids %x %x", probe_result(text, result), ids[0], ids[1]);
		a.pidfd = -1;
		snprintf(name, sizeof(name), "series/op-%u/pidfd-without-target", op);
		probe_ask(p, name, GP_KFD_PREEMPT, &a);
		a.flags = GP_KFD_PREEMPT_TARGET;
		snprintf(name, sizeof(name), "series/op-%u/no-pidfd", op);
		probe_ask(p, name, GP_KFD_PREEMPT, &a);
		a.pidfd = p->kfd;
		snprintf(name, sizeof(name), "series/op-%u/another-file", op);
		probe_ask(p, name, GP_KFD_PREEMPT, &a);
		a.pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
		snprintf(name, sizeof(name), "series/op-%u/self", op);
		probe_ask(p, name, GP_KFD_PREEMPT, &a);
		close(a.pidfd);
		a.pidfd = (int)syscall(SYS_pidfd_open, 1, 0);
		snprintf(name, sizeof(name), "series/op-%u/init", op);
		probe_ask(p, name, GP_KFD_PREEMPT, &a);
		close(a.pidfd);
	}
}

/* A C library asks this of any descriptor, and the driver takes it for one of its own. */
static void call_of_others(const struct probe *p, const void *arg)
{
	char buf[256] = { 0 };

	(void)arg;
	probe_ask(p, "tcgets", TCGETS, buf);
	probe_ask(p, "tiocgwinsz", TIOCGWINSZ, buf);
	probe_ask(p, "fionread", FIONREAD, buf);
	probe_ask(p, "siocgifname", 0x8910, buf);
	probe_ask(p, "siocgstamp", 0x8906, buf);
	probe_ask(p, "fioclex", FIOCLEX, buf);
	probe_ask(p, "fionclex", FIONCLEX, buf);
	probe_ask(p, "fionbio", FIONBIO, buf);
	probe_ask(p, "upper-half", GP_KFD_GET_VERSION | 0x100000000UL, buf);
}

/* An unprivileged process may make no checkpoints. */
static void call_unprivileged(const struct probe *p, const void *arg)
{
	struct gp_kfd_criu args = { 0 };

	(void)arg;
	probe_answer(p, "criu/unprivileged/setuid", setuid(65534));
	probe_ask(p, "criu/unprivileged", GP_KFD_CRIU, &args);
	probe_ask(p, "criu/unprivileged-null", GP_KFD_CRIU, NULL);
}

static void open_and_stay(const struct probe *p)
{
	(void)p;
	probe_open(O_RDWR | O_CLOEXEC);
}

/* Of a process that uses KFD, and has no queue. */
static void call_series_of_others(const struct probe *p, const void *arg)
{
	static const char *const names[] = {
		[GP_KFD_OP_PREEMPT] = "preempt",
		[GP_KFD_OP_RESUME] = "resume",
		[GP_KFD_OP_SET_PRIORITY] = "set-priority",
	};
	pid_t other = probe_child(p, open_and_stay);
	uint32_t id = 0;
	char name[64];

	(void)arg;
	for (uint32_t op = GP_KFD_OP_PREEMPT; op <= GP_KFD_OP_SET_PRIORITY; op++) {
		struct gp_kfd_preempt a = {
			.op = op,
			.flags = GP_KFD_PREEMPT_TARGET,
			.pidfd = (int)syscall(SYS_pidfd_open, other, 0),
			.queues = { (uintptr_t)&id, 1, 0, 0, 0 },
		};

		snprintf(name, sizeof(name), "series/%s-others", names[op]);
		probe_ask(p, name, GP_KFD_PREEMPT, &a);
		close(a.pidfd);
	}
}

static void check_clocks(const struct probe *p, const void *arg)
{
	struct gp_kfd_get_clock_counters a = { .gpu_id = PROBE_NO_GPU, .gpu_clock_counter = 1 }, b;
	int result = probe_ioctl(p, GP_KFD_GET_CLOCK_COUNTERS, &a);
	char text[PROBE_RESULT_MAX];

	(void)arg;
	b = a;
	probe_ioctl(p, GP_KFD_GET_CLOCK_COUNTERS, &b);
	probe_say(p, "get-clock-counters/values",
		  "%s gpu %llu freq %llu cpu %s system %s gpu_id %x", probe_result(text, result),
		  a.gpu_clock_counter, a.system_clock_freq,
		  b.cpu_clock_counter > a.cpu_clock_counter ? "goes on" : "stands",
		  b.system_clock_counter > a.system_clock_counter ? "goes on" : "stands", a.gpu_id);
}

void probe_calls(const struct probe *p)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		probe_fresh(p, calls[i].name, call_sizes, &calls[i]);
		probe_fresh(p, calls[i].name, call_ones, &calls[i]);
		probe_fresh(p, calls[i].name, call_bad_memory, &calls[i]);
	}
	probe_fresh(p, "unknown", call_unknown, NULL);
	probe_fresh(p, "series", call_series, NULL);
	probe_fresh(p, "of-others", call_of_others, NULL);
	probe_fresh(p, "clocks", check_clocks, NULL);
	probe_fresh(p, "unprivileged", call_unprivileged, NULL);
	probe_fresh(p, "series-of-others", call_series_of_others, NULL);
}
