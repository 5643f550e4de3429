// SPDX-License-Identifier: MIT
/*
 * Work that comes and ends in channels, in memory that looks as libcuda's does: indices, a ring,
 * the launch of a kernel, and the number that changes when it is done.
 */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "device/nvrm/done.h"
#include "device/nvrm/monitor.h"
#include "fake_rm.h"

enum { ENTRIES = 4, WORDS = 24 };

/* An address that no architecture uses by itself. */
#define LOW_ADDRESS ((void *)0x60000000)

static struct {
	int fd, memory;
	uint32_t *userd; /* the test's own mapping of it */
	uint64_t ring[ENTRIES + 1];
	uint32_t (*words)[WORDS]; /* where an entry's forty bits reach */
	_Atomic uint32_t number[2];
	struct gp__nvrm_owner *owner;
	struct gp__nvrm_monitor *monitor;
	uint32_t client, device, group, id;
	_Atomic unsigned int ready, idle, pending;
	uint32_t put, last;
	bool no_node;
} m;

#define EVENTUALLY(condition)                                    \
	do {                                                     \
		uint64_t end_ = gp__clock_ns() + 20000000000ull; \
		while (!(condition)) {                           \
			if (gp__clock_ns() > end_)               \
				fail_msg("not: %s", #condition); \
			usleep(200);                             \
		}                                                \
	} while (0)

/*
 * Memory
 */

static void write_userd(uint32_t offset, uint32_t value)
{
	atomic_store((_Atomic uint32_t *)&m.userd[offset / 4], value);
}

/* Adds a submission; @ends: a kernel's launch, which adds one to the number when it is done. */
static void submit(bool ends)
{
	uint64_t at = (uint64_t)(uintptr_t)m.number;
	uint32_t *w = m.words[m.put];
	const uint32_t launch[] = { 0x20022062,
				    (uint32_t)(at >> 32),
				    (uint32_t)at,
				    0x20022060,
				    4,
				    1,
				    0x2001206c,
				    0x41,
				    0x6001206d,
				    m.last++,
				    0x200120ad,
				    0x204e540,
				    0x200120b0,
				    0xa,
				    0x200426c0,
				    2,
				    0x460ffe0,
				    0x6e,
				    4 };

	memset(w, 0, WORDS * sizeof(*w));
	if (ends)
		memcpy(w + WORDS - sizeof(launch) / sizeof(launch[0]), launch, sizeof(launch));
	m.ring[m.put] = (uint64_t)(uintptr_t)w | (uint64_t)WORDS << 42;
	m.put = (m.put + 1) % ENTRIES;
	write_userd(GP__NVRM_USERD_PUT, m.put);
}

static void fetch(void)
{
	write_userd(GP__NVRM_USERD_GET, m.put);
}

static void finish(void)
{
	atomic_store(&m.number[0], m.last);
}

/*
 * The program and its monitor
 */

static uint32_t make(uint32_t client, uint32_t parent, uint32_t class, const void *params)
{
	static uint32_t last = 0x5c000000;
	struct gp__nvrm_alloc48 args = { .client = client,
					 .parent = parent,
					 .object = client ? ++last : 0,
					 .class = class,
					 .params = (uint64_t)(uintptr_t)params };

	assert_int_equal(gp__nvrm_owner_ioctl(m.owner, m.fd, GP__NVRM_ALLOC48, &args), 0);
	assert_int_equal(args.status, 0);
	return args.object;
}

static bool node(void *data, const struct gp__nvrm_group_info *group, char *path, size_t size)
{
	(void)data;
	(void)group;
	snprintf(path, size, "/proc/self/fd/%d", m.memory);
	return !m.no_node;
}

static void became_ready(void *data, uint32_t id, uint32_t pending, uint64_t now)
{
	(void)data;
	(void)now;
	assert_int_equal(id, m.id);
	m.pending = pending;
	m.ready++;
}

static void became_idle(void *data, uint32_t id, uint64_t now)
{
	(void)data;
	(void)now;
	assert_int_equal(id, m.id);
	m.idle++;
}

static void make_memory(void)
{
	m.words = mmap(LOW_ADDRESS, 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	assert_ptr_not_equal(m.words, MAP_FAILED);
	m.memory = memfd_create("userd", MFD_CLOEXEC);
	assert_int_equal(ftruncate(m.memory, 4096), 0);
	m.userd = (uint32_t *)((char *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
					    m.memory, 0) +
			       1024);
}

static void free_memory(void)
{
	munmap((char *)m.userd - 1024, 4096);
	munmap(m.words, 4096);
	close(m.memory);
	memset(&m, 0, sizeof(m));
}

static void begin(uint64_t grace_ns)
{
	const struct gp__nvrm_group_params group = { .engine = GP__NVRM_ENGINE_GRAPHICS };
	const struct gp__nvrm_channel_params channel = {
		.ring = (uint64_t)(uintptr_t)m.ring,
		.entries = ENTRIES,
		.userd_memory = { 1 },
		.userd_offset = { 1024 },
	};
	struct gp__nvrm_monitor_options options = { .period_ns = 200000,
						    .calm_period_ns = 400000,
						    .times = { 1000000, grace_ns },
						    .node = node,
						    .ready = became_ready,
						    .idle = became_idle };
	struct gp__nvrm_owned list[1];

	fake_rm_reset();
	make_memory();
	m.fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	assert_int_equal(gp__nvrm_owner_create(fake_rm_ioctl, NULL, &m.owner), 0);
	m.client = make(0, 0, GP__NVRM_CLASS_ROOT_CLIENT, NULL);
	m.device = make(m.client, m.client, GP__NVRM_CLASS_DEVICE, NULL);
	make(m.client, m.device, GP__NVRM_CLASS_SUBDEVICE, NULL);
	m.group = make(m.client, m.device, GP__NVRM_CLASS_GROUP, &group);
	make(m.client, m.group, 0xc86f, &channel);
	assert_int_equal(gp__nvrm_owner_list(m.owner, list, 1), 1);
	m.id = list[0].group.id;
	options.owner = m.owner;
	assert_int_equal(gp__nvrm_monitor_create(&options, &m.monitor), 0);
	assert_int_equal(gp__nvrm_monitor_add(m.monitor, &list[0].group), 0);
	assert_int_equal(gp__nvrm_monitor_add(m.monitor, &list[0].group), -EEXIST);
}

static int teardown(void **state)
{
	(void)state;
	gp__nvrm_monitor_remove(m.monitor, m.id);
	gp__nvrm_monitor_destroy(m.monitor);
	gp__nvrm_owner_destroy(m.owner);
	close(m.fd);
	assert_int_equal(fake_rm.nr_maps, fake_rm.nr_unmaps);
	free_memory();
	return 0;
}

/*
 * Tests
 */

/* So long a grace that only the number can have ended it. */
static void test_ends_by_number(void **state)
{
	(void)state;
	begin(3600000000000ull);
	for (unsigned int i = 0; i < 3 * ENTRIES; i++) {
		unsigned int before = m.ready;

		submit(true);
		if (i)
			EVENTUALLY(m.ready == before + 1);
		fetch();
		usleep(5000);
		assert_int_equal(m.idle, i);
		finish();
		EVENTUALLY(m.idle == i + 1);
	}
	assert_true(gp__nvrm_monitor_sees(m.monitor));
}

static void test_held_is_not_idle(void **state)
{
	(void)state;
	begin(3600000000000ull);
	gp__nvrm_monitor_hold(m.monitor, m.id, true);
	submit(true);
	EVENTUALLY(m.ready);
	fetch();
	finish();
	usleep(10000);
	assert_int_equal(m.idle, 0);
	gp__nvrm_monitor_hold(m.monitor, m.id, false);
	EVENTUALLY(m.idle == 1);
	/* Calm, it sees it later, and sees it. */
	gp__nvrm_monitor_calm(m.monitor, true);
	submit(true);
	EVENTUALLY(m.ready == 2);
}

/* Nothing says when it ends: all was fetched, and nothing has moved for the grace time. */
static void test_ends_by_grace(void **state)
{
	(void)state;
	begin(20000000);
	submit(false);
	EVENTUALLY(m.ready);
	usleep(40000);
	assert_int_equal(m.idle, 0); /* not fetched */
	fetch();
	EVENTUALLY(m.idle == 1);
	submit(false);
	fetch();
	EVENTUALLY(m.ready == 2);
	EVENTUALLY(m.idle == 2);
}

/* Other work on a channel does not hide the end of the next kernel. */
static void test_ends_by_number_after_something_else(void **state)
{
	(void)state;
	begin(3600000000000ull);
	submit(false);
	EVENTUALLY(m.ready);
	fetch();
	submit(true);
	fetch();
	finish();
	EVENTUALLY(m.idle == 1);
}

static void test_presence_only(void **state)
{
	(void)state;
	m.no_node = true;
	begin(1000000);
	EVENTUALLY(m.ready == 1);
	assert_false(gp__nvrm_monitor_sees(m.monitor));
	usleep(10000);
	assert_int_equal(m.idle, 0);
}

/*
 * Tokens of a language model in virtual time: kernels of 1.14 ms with gaps of 20 us, and a look
 * every millisecond, which often falls into a gap.
 */
enum { TOKENS = 100, TOKEN_NS = 1140000, GAP_NS = 20000 };
#define TOKENS_END ((uint64_t)TOKENS * (TOKEN_NS + GAP_NS) - GAP_NS)

/* Submits and finishes what is due by @now. */
static void run_tokens(uint64_t now)
{
	for (; m.last < TOKENS && now >= (uint64_t)m.last * (TOKEN_NS + GAP_NS); fetch()) {
		finish();
		submit(true);
	}
	if (now >= (uint64_t)m.last * (TOKEN_NS + GAP_NS) - GAP_NS)
		finish();
}

struct looks {
	struct gp__nvrm_work work;
	uint64_t idle_at;
	unsigned int nr, nr_quiet, nr_busy, nr_idle;
};

static void look_at_tokens(struct looks *l, struct gp__peek *peek, uint64_t first)
{
	const struct gp__nvrm_work_times times = { GP__NVRM_SETTLE_NS, GP__NVRM_GRACE_NS };
	uint64_t next, settles;

	for (uint64_t now = first; now < TOKENS_END + 20 * GP__MS; now = next) {
		run_tokens(now);
		switch (gp__nvrm_work_look(&l->work, peek, &times, now)) {
		case GP__NVRM_BECAME_BUSY:
			l->nr_busy++;
			break;
		case GP__NVRM_BECAME_IDLE:
			l->nr_idle++;
			l->idle_at = now;
			break;
		case GP__NVRM_NO_CHANGE:
			break;
		}
		l->nr++;
		l->nr_quiet += l->work.quiet_at == now;
		settles = gp__nvrm_work_settles(&l->work, &times);
		next = now + GP__NVRM_PERIOD_NS;
		if (settles < next)
			next = settles;
	}
}

static void check_tokens(uint64_t first, struct gp__peek *peek, unsigned int *nr_quiet)
{
	struct looks l = { .idle_at = 0 };
	unsigned int nr_periods = (TOKENS_END + 20 * GP__MS - first) / GP__NVRM_PERIOD_NS + 1;

	make_memory();
	l.work.ring[0] = (struct gp__nvrm_ring){ m.userd, (uintptr_t)m.ring, ENTRIES };
	gp__nvrm_work_begin(&l.work, 1);
	look_at_tokens(&l, peek, first);
	assert_int_equal(l.nr_busy, 1);
	assert_int_equal(l.nr_idle, 1);
	assert_in_range(l.idle_at, TOKENS_END + GP__NVRM_SETTLE_NS, TOKENS_END + 2 * GP__MS);
	assert_in_range(l.work.moved_at, TOKENS_END - GP__NVRM_PERIOD_NS, TOKENS_END);
	/* A look more for each that found nothing. */
	assert_in_range(l.nr, 1, nr_periods + l.nr_quiet);
	*nr_quiet += l.nr_quiet;
	free_memory();
}

static void test_gap_is_not_the_end(void **state)
{
	unsigned int nr_quiet = 0, nr_runs = 0;
	struct gp__peek peek;

	(void)state;
	assert_int_equal(gp__peek_open(&peek), 0);
	for (uint64_t first = 0; first < GP__NVRM_PERIOD_NS; first += 10000, nr_runs++)
		check_tokens(first, &peek, &nr_quiet);
	gp__peek_close(&peek);
	/* Looks fell into gaps, too, not only after the end. */
	assert_in_range(nr_quiet, nr_runs + nr_runs / 4, TOKENS * nr_runs);
}

static void test_end_of_a_submission(void **state)
{
	/* As libcuda 580 has it for a kernel on an H200. */
	static const uint32_t words_seen[GP__NVRM_END_WORDS] = {
		0,	    0x20022062, 2,	    0x4637a9c, 0x20022060, 4,	      1,
		0x2001206c, 0x41,	0x6001206d, 0x39,      0x200120ad, 0x204e560, 0x200120b0,
		0xa,	    0x200426c0, 2,	    0x460ffe0, 0x6e,	   4,
	};
	static const uint8_t fixed[] = { 1, 4, 5, 6, 7, 9, 11, 13, 15 };
	uint32_t w[GP__NVRM_END_WORDS];
	struct gp__nvrm_end end;
	uint64_t at;
	uint32_t words;

	(void)state;
	assert_true(gp__nvrm_end_parse(words_seen, &end));
	assert_int_equal(end.at, 0x204637a9c);
	assert_int_equal(end.number, 0x3a);
	for (size_t i = 0; i < sizeof(fixed); i++) {
		memcpy(w, words_seen, sizeof(w));
		w[fixed[i]] ^= 8;
		assert_false(gp__nvrm_end_parse(w, &end));
	}
	memcpy(w, words_seen, sizeof(w));
	w[3] |= 1;
	assert_false(gp__nvrm_end_parse(w, &end));
	w[2] = w[3] = 0;
	assert_false(gp__nvrm_end_parse(w, &end));
	gp__nvrm_entry_decode(0x00060e0200c2a2e0, &at, &words);
	assert_int_equal(at, 0x200c2a2e0);
	assert_int_equal(words, 387);
}

/* Rings and submissions that are not there. */
static void test_end_that_is_nowhere(void **state)
{
	uint64_t entry = (uint64_t)WORDS << 42 | 0x1000;
	struct gp__nvrm_ring ring = { .at = (uint64_t)(uintptr_t)&entry, .entries = 1 };
	struct gp__nvrm_end end;
	struct gp__peek peek;

	(void)state;
	assert_int_equal(gp__peek_open(&peek), 0);
	gp__nvrm_end_find(&peek, &ring, 0, &end);
	assert_int_equal(end.at, 0);
	gp__nvrm_end_find(&peek, &ring, 2, &end);
	assert_int_equal(end.at, 0);
	ring.at = 0x1000;
	gp__nvrm_end_find(&peek, &ring, 1, &end);
	assert_int_equal(end.at, 0);
	ring.entries = 0;
	gp__nvrm_end_find(&peek, &ring, 0, &end);
	assert_int_equal(end.at, 0);
	end = (struct gp__nvrm_end){ 0x1000, 1 };
	assert_int_equal(gp__nvrm_end_reached(&peek, &end), -1);
	gp__peek_close(&peek);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_ends_by_number, teardown),
		cmocka_unit_test_teardown(test_held_is_not_idle, teardown),
		cmocka_unit_test_teardown(test_ends_by_grace, teardown),
		cmocka_unit_test_teardown(test_ends_by_number_after_something_else, teardown),
		cmocka_unit_test_teardown(test_presence_only, teardown),
		cmocka_unit_test(test_gap_is_not_the_end),
		cmocka_unit_test(test_end_of_a_submission),
		cmocka_unit_test(test_end_that_is_nowhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
