// SPDX-License-Identifier: MIT
/*
 * Litmus tests of the memory model that docs/emulator.md promises: kernels as clang compiles them,
 * with the scopes and cache bits that it emits, on compute units that different host threads run.
 *
 * Usage: test_gfx9_litmus CODE_OBJECT [TURNS]. A turn is one try in each of up to 64 lanes.
 */
#include "../unit/test.h"

#include "emu/gfx9/machine.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#define MEMORY ((uint64_t)1 << 30)
#define WAVE 64
#define OFF UINT32_MAX
#define WIDEST 16
#define STRETCH 512 /* of litmus.cl */

static const char *path;
static enum gfx9_target target;
static uint32_t turns = 1 << 14; /* 2^20 tries in 64 lanes */

/* The kernel's arguments: struct litmus of litmus.cl. */
struct litmus {
	uint64_t at, data, flag, other, log[2], bad, meet;
	uint32_t n, row;
};

/*
 * The layout of lanes. Each takes another path through the emulated GPU's memory accesses.
 */
enum layout {
	IN_SEQUENCE,
	IN_ONE_PAGE,
	IN_BLOCKS,
	ODD_LANES,
	ONE_LANE,
	SCATTERED,
	IN_MANY_PAGES,
	BLOCKS_IN_MANY_PAGES,
	LAYOUTS,
};
#define DENSE_LAYOUTS IN_MANY_PAGES /* these fit into rows of ROW elements */
#define ROW 256

static uint32_t place(enum layout l, uint32_t lane)
{
	switch (l) {
	case IN_SEQUENCE:
		return lane;
	case IN_ONE_PAGE:
		return WAVE - 1 - lane;
	case IN_BLOCKS:
		return lane / 8 * 16 + lane % 8;
	case ODD_LANES:
		return lane % 2 ? lane : OFF;
	case ONE_LANE:
		return lane == 5 ? 0 : OFF;
	case SCATTERED:
		return lane * 37 % WAVE * 3;
	case IN_MANY_PAGES:
		return lane * 37 % WAVE * 1031;
	default:
		return lane / 8 * 8192 + lane % 8;
	}
}

struct setting {
	uint32_t cus, xccs;
	uint32_t grid; /* work-items; a role is a workgroup or, with @waves, a wave */
	bool waves;
};

static const struct setting across_cus = { 2, 1, 2 * WAVE, false };
static const struct setting within_a_cu = { 1, 1, 2 * WAVE, false };
static const struct setting within_a_workgroup = { 1, 1, 2 * WAVE, true };
static const struct setting beside_the_host = { 1, 1, WAVE, false };

static int setup(void **state)
{
	*state = machine_new(target, MEMORY, path);
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	machine_free(*state);
	return 0;
}

static uint32_t *words(struct machine *m, uint64_t va)
{
	return machine_at(m, va);
}

static struct litmus prepare(struct machine *m, enum layout l, uint32_t n, uint64_t data_bytes)
{
	struct litmus t = {
		.at = machine_alloc(m, WAVE * 4),
		.data = machine_alloc(m, data_bytes),
		.flag = machine_alloc(m, (uint64_t)WAVE * 8192 * 4),
		.other = machine_alloc(m, (uint64_t)WAVE * 8192 * 4),
		.bad = machine_alloc(m, 4),
		.meet = machine_alloc(m, 8),
		.n = n,
		.row = l == ONE_LANE ? 1 : ROW,
	};

	for (int i = 0; i < 2; i++)
		t.log[i] = machine_alloc(m, (uint64_t)(n + 1) * WAVE * 4);
	for (uint32_t lane = 0; lane < WAVE; lane++)
		words(m, t.at)[lane] = place(l, lane);
	return t;
}

static void run(struct machine *m, const char *kernel, const struct setting *s,
		const struct litmus *t)
{
	struct gfx9_report r = { 0 };
	int err;

	m->config.nr_xccs = s->xccs;
	m->config.xcc_cus = s->cus;
	m->config.threads = 2;
	err = machine_run(m, kernel, s->grid, s->waves ? 2 * WAVE : WAVE, t, sizeof(*t), &r);
	if (err)
		fail_msg("%s: error %d, stop %d at pc %#llx, words %08x %08x", kernel, err, r.stop,
			 (unsigned long long)r.pc, r.words[0], r.words[1]);
}

static void expect_none(struct machine *m, const char *kernel, enum layout l,
			const struct litmus *t)
{
	uint32_t bad = *words(m, t->bad);

	if (bad)
		fail_msg("%s, layout %d: %u forbidden outcomes", kernel, l, bad);
}

/*
 * Message passing
 */

static void pass_messages(struct machine *m, const char *kernel, unsigned int bytes,
			  const struct setting *s)
{
	for (enum layout l = 0; l < DENSE_LAYOUTS; l++) {
		uint32_t n = l == ONE_LANE ? 64 * turns / 8 : turns / 8;
		uint64_t mark = m->used;
		struct litmus t = prepare(m, l, n, (uint64_t)(n + 1) * ROW * bytes);

		run(m, kernel, s, &t);
		expect_none(m, kernel, l, &t);
		m->used = mark;
	}
}

static void messages_arrive_whole(void **state)
{
	pass_messages(*state, "message_1", 1, &across_cus);
	pass_messages(*state, "message_2", 2, &across_cus);
	pass_messages(*state, "message_4", 4, &across_cus);
	pass_messages(*state, "message_8", 8, &across_cus);
	pass_messages(*state, "message_system", 8, &across_cus);
}

static void messages_arrive_whole_within_a_cu(void **state)
{
	pass_messages(*state, "message_1", 1, &within_a_cu);
	pass_messages(*state, "message_4", 4, &within_a_cu);
	pass_messages(*state, "message_8", 8, &within_a_cu);
	pass_messages(*state, "message_waves", 8, &within_a_workgroup);
}

/*
 * Store buffering and load buffering: the logs of both roles combined
 */

/* Turn i of one role did not see turn j of the other, which then must have seen turn i. */
static uint32_t both_missed(const uint32_t *mine, const uint32_t *others, uint32_t n, uint32_t lane)
{
	uint32_t bad = 0;

	for (uint32_t i = 1; i <= n; i++) {
		uint32_t j = mine[i * WAVE + lane] + 1;

		bad += j <= n && others[j * WAVE + lane] < i;
	}
	return bad;
}

/* Turn i of one role saw turn j of the other, which then cannot have seen turn i. */
static uint32_t both_saw(const uint32_t *mine, const uint32_t *others, uint32_t n, uint32_t lane)
{
	uint32_t bad = 0;

	for (uint32_t i = 1; i <= n; i++) {
		uint32_t j = mine[i * WAVE + lane];

		bad += j && others[j * WAVE + lane] >= i;
	}
	return bad;
}

typedef uint32_t judge_fn(const uint32_t *mine, const uint32_t *others, uint32_t n, uint32_t lane);

static void judge(struct machine *m, const char *kernel, enum layout l, const struct litmus *t,
		  judge_fn *forbidden)
{
	uint32_t bad = 0;

	for (uint32_t lane = 0; lane < WAVE; lane++)
		if (place(l, lane) != OFF)
			bad += forbidden(words(m, t->log[0]), words(m, t->log[1]), t->n, lane);
	if (bad)
		fail_msg("%s, layout %d: %u forbidden outcomes", kernel, l, bad);
}

static void buffer(struct machine *m, const char *kernel, const struct setting *s,
		   judge_fn *forbidden)
{
	for (enum layout l = 0; l < LAYOUTS; l++) {
		uint64_t mark = m->used;
		struct litmus t = prepare(m, l, turns, 4);

		run(m, kernel, s, &t);
		judge(m, kernel, l, &t, forbidden);
		m->used = mark;
	}
}

static void a_store_is_seen_before_the_next_load(void **state)
{
	buffer(*state, "buffering", &across_cus, both_missed);
	buffer(*state, "buffering_system", &across_cus, both_missed);
	buffer(*state, "buffering", &within_a_cu, both_missed);
	buffer(*state, "buffering_waves", &within_a_workgroup, both_missed);
}

static void a_load_does_not_see_what_follows_it(void **state)
{
	buffer(*state, "load_buffering", &across_cus, both_saw);
	buffer(*state, "load_buffering", &within_a_cu, both_saw);
	buffer(*state, "load_buffering_waves", &within_a_workgroup, both_saw);
}

/*
 * Coherence of one location
 */

static void cohere(struct machine *m, const char *kernel, const struct setting *s)
{
	for (enum layout l = 0; l < LAYOUTS; l++) {
		uint64_t mark = m->used;
		struct litmus t = prepare(m, l, turns, (uint64_t)WAVE * 8192 * WIDEST);

		run(m, kernel, s, &t);
		expect_none(m, kernel, l, &t);
		m->used = mark;
	}
}

static void an_aligned_access_is_one_access(void **state)
{
	cohere(*state, "coherence_4", &across_cus);
	cohere(*state, "coherence_8", &across_cus);
	cohere(*state, "coherence_16", &across_cus);
	cohere(*state, "coherence_16_flat", &across_cus);
	cohere(*state, "coherence_16", &within_a_cu);
}

/* Lanes in range keep the guarantee if another lane is not. */
static void an_access_to_a_buffer_is_one_access(void **state)
{
	struct machine *m = *state;
	struct litmus t = prepare(m, IN_SEQUENCE, turns, WAVE * WIDEST);

	run(m, "coherence_16_buffer", &across_cus, &t);
	expect_none(m, "coherence_16_buffer", IN_SEQUENCE, &t);
}

/*
 * The host as one of the two
 */

struct host_role {
	uint32_t *mine, *others, *log, *meet;
	uint32_t n;
};

/* As meet() of litmus.cl, as role 1. */
static uint32_t host_meets(struct host_role *h, uint32_t done)
{
	uint32_t end = done + STRETCH < h->n ? done + STRETCH : h->n;

	__atomic_store_n(&h->meet[1], end, __ATOMIC_RELAXED);
	while (__atomic_load_n(&h->meet[0], __ATOMIC_RELAXED) < end)
		sched_yield();
	return end;
}

static void *host_turns(void *arg)
{
	struct host_role *h = arg;
	uint32_t i = 0;

	while (i < h->n) {
		for (uint32_t end = host_meets(h, i); i < end;) {
			__atomic_store_n(h->mine, ++i, __ATOMIC_SEQ_CST);
			h->log[i * WAVE] = __atomic_load_n(h->others, __ATOMIC_SEQ_CST);
		}
	}
	return NULL;
}

static void the_host_is_one_of_two(void **state)
{
	struct machine *m = *state;
	struct litmus t = prepare(m, IN_SEQUENCE, turns, 4);
	struct host_role h = { words(m, t.flag), words(m, t.other), words(m, t.log[1]),
			       words(m, t.meet), t.n };
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, host_turns, &h), 0);
	run(m, "buffering_system", &beside_the_host, &t);
	pthread_join(thread, NULL);
	assert_int_equal(both_missed(words(m, t.log[0]), words(m, t.log[1]), t.n, 0), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(messages_arrive_whole, setup, teardown),
		cmocka_unit_test_setup_teardown(messages_arrive_whole_within_a_cu, setup, teardown),
		cmocka_unit_test_setup_teardown(a_store_is_seen_before_the_next_load, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_load_does_not_see_what_follows_it, setup,
						teardown),
		cmocka_unit_test_setup_teardown(an_aligned_access_is_one_access, setup, teardown),
		cmocka_unit_test_setup_teardown(an_access_to_a_buffer_is_one_access, setup,
						teardown),
		cmocka_unit_test_setup_teardown(the_host_is_one_of_two, setup, teardown),
	};

	if (argc < 2) {
		fprintf(stderr, "usage: %s CODE_OBJECT [TURNS]\n", argv[0]);
		return 2;
	}
	path = argv[1];
	target = machine_target(path);
	if (argc > 2)
		turns = (uint32_t)strtoul(argv[2], NULL, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
