// SPDX-License-Identifier: MIT
/*
 * Runs contexts that come and go, the program's wishes, ours, and a driver that fails, in random
 * order, on each known version of the driver: in one thread, with the driver's state compared after
 * each step, and in several at once, compared whenever all of them have paused.
 */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "device/nvrm/owner.h"
#include "fake_rm.h"

enum {
	CONTEXTS = 4,
	CHANNELS = 5,
	STEPS = 4000,
	SEEDS = 8,
	THREADS = 3,
	ROUNDS = 30,
	TURNS = 60,
	DRIVERS = 6
};

static struct gp__nvrm_owner *owner;
static bool takes_copies;
static int fd;

static uint32_t draw(uint64_t *seed, uint32_t below)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % below;
}

struct context {
	bool there;
	uint32_t last, client, device, subdevice, group, copies, nr_channels, nr_copies;
	uint32_t channel[CHANNELS], copy[CHANNELS];
};

static uint32_t make_on(struct context *c, uint32_t client, uint32_t parent, uint32_t class,
			uint32_t engine)
{
	const struct gp__nvrm_group_params group = { .engine = engine };
	const union {
		struct gp__nvrm_channel_params params;
		uint8_t bytes[FAKE_RM_PARAMS];
	} channel = { .params.entries = 8 };
	struct gp__nvrm_alloc32 args = {
		.client = client,
		.parent = parent,
		.object = client ? ++c->last : 0,
		.class = class,
		.params = class == GP__NVRM_CLASS_GROUP ? (uint64_t)(uintptr_t)&group
							: (uint64_t)(uintptr_t)&channel,
	};

	assert_int_equal(gp__nvrm_owner_ioctl(owner, fd, GP__NVRM_ALLOC32, &args), 0);
	assert_int_equal(args.status, 0);
	return args.object;
}

static uint32_t make(struct context *c, uint32_t client, uint32_t parent, uint32_t class)
{
	return make_on(c, client, parent, class, GP__NVRM_ENGINE_GRAPHICS);
}

static bool end(struct context *c, uint32_t handle)
{
	struct gp__nvrm_free args = { .client = c->client, .object = handle };

	return !gp__nvrm_owner_ioctl(owner, fd, GP__NVRM_FREE, &args) && !args.status;
}

static void begin_context(struct context *c)
{
	*c = (struct context){ .there = true, .last = 0x5c000000 };
	c->client = make(c, 0, 0, GP__NVRM_CLASS_ROOT_CLIENT);
	c->device = make(c, c->client, c->client, GP__NVRM_CLASS_DEVICE);
	c->subdevice = make(c, c->client, c->device, GP__NVRM_CLASS_SUBDEVICE);
	c->group = make(c, c->client, c->device, GP__NVRM_CLASS_GROUP);
	c->copies = make_on(c, c->client, c->device, GP__NVRM_CLASS_GROUP, GP__NVRM_ENGINE_COPY);
}

/* The program is at one of its contexts. */
static void step_program(struct context *c, uint64_t *seed)
{
	uint64_t slice = 1 + draw(seed, 5000);
	struct gp__nvrm_control args = { .client = c->client,
					 .object = c->group,
					 .cmd = (uint32_t)GP__NVRM_CMD_SET_TIMESLICE,
					 .params = (uint64_t)(uintptr_t)&slice,
					 .params_size = sizeof(slice) };

	if (!c->there) {
		begin_context(c);
		return;
	}
	switch (draw(seed, 10)) {
	case 8:
		if (c->nr_copies && end(c, c->copy[c->nr_copies - 1]))
			c->nr_copies--;
		break;
	case 9:
		if (c->nr_copies < CHANNELS)
			c->copy[c->nr_copies++] = make(c, c->client, c->copies, 0xc86f);
		break;
	case 0:
		c->there = !end(c, draw(seed, 2) ? c->client : c->device);
		break;
	case 1:
	case 2:
		if (c->nr_channels && end(c, c->channel[c->nr_channels - 1]))
			c->nr_channels--;
		break;
	case 3:
		gp__nvrm_owner_ioctl(owner, fd, GP__NVRM_CONTROL, &args);
		break;
	default:
		if (c->nr_channels < CHANNELS)
			c->channel[c->nr_channels++] = make(c, c->client, c->group, 0xc86f);
	}
}

static void step_ours(uint64_t *seed)
{
	struct gp__nvrm_owned list[CONTEXTS * 4];
	size_t n = gp__nvrm_owner_list(owner, list, CONTEXTS * 4);
	uint32_t ids[CONTEXTS * 4];
	int results[CONTEXTS * 4];
	size_t chosen = 0;

	for (size_t i = 0; i < n && i < CONTEXTS * 4; i++) {
		if (draw(seed, 2))
			ids[chosen++] = list[i].group.id;
	}
	if (chosen && !draw(seed, 4)) {
		gp__nvrm_owner_slice(owner, ids[0], draw(seed, 2));
		return;
	}
	gp__nvrm_owner_set(owner, (enum gp__nvrm_verb)draw(seed, 3), ids, results, chosen);
	for (size_t i = 0; i < chosen; i++)
		assert_true(results[i] <= 0);
}

/* A group that counts as held is held as a whole; any other runs. */
static void check(const struct context *contexts, size_t nr)
{
	struct gp__nvrm_owned list[64];
	size_t n = gp__nvrm_owner_list(owner, list, 64), held = 0, channels = 0, with = 0, off = 0;

	for (size_t i = 0; i < n; i++) {
		held += list[i].held ? list[i].group.nr_channels : 0;
		channels += list[i].group.nr_channels;
		for (size_t j = 0; j < i; j++)
			assert_int_not_equal(list[i].group.id, list[j].group.id);
	}
	for (size_t i = 0; i < nr; i++) {
		const struct context *c = &contexts[i];
		uint32_t runs, all = c->nr_channels;

		if (!c->there)
			continue;
		runs = fake_rm_count(c->client, c->group, FAKE_RM_RUNS);
		assert_true(runs == all || !runs);
		assert_int_equal(fake_rm_count(c->client, c->copies, FAKE_RM_RUNS),
				 takes_copies && runs != all ? 0 : c->nr_copies);
		with += all != 0;
		channels -= all;
		off += all - runs;
	}
	assert_int_equal(n, with);
	assert_int_equal(channels, 0);
	assert_int_equal(held, off);
}

static void begin(uint64_t seed)
{
	fake_rm_reset();
	fake_rm.driver = &fake_rm_drivers[seed % DRIVERS];
	takes_copies = seed % 2;
	fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	assert_int_equal(gp__nvrm_owner_create(fake_rm_ioctl, NULL, &owner), 0);
	if (takes_copies)
		gp__nvrm_owner_take_copies(owner);
}

static void finish(const struct context *contexts, size_t nr)
{
	gp__nvrm_owner_destroy(owner);
	for (size_t i = 0; i < nr; i++) {
		if (!contexts[i].there)
			continue;
		assert_int_equal(fake_rm_count(contexts[i].client, contexts[i].group, FAKE_RM_HELD),
				 0);
	}
	close(fd);
	assert_int_equal(fake_rm.held_frees, 0);
	assert_int_equal(fake_rm.unknown, 0);
}

static void test_one_thread(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct context contexts[CONTEXTS] = { 0 };
		uint64_t s = seed;

		begin(seed);
		for (int i = 0; i < STEPS; i++) {
			/* A hold, a slice or a free fails now and then. */
			fake_rm.status = draw(&s, 2) ? 0x56 : 0;
			fake_rm.disable_fails_in = draw(&s, 4) ? 0 : 1 + draw(&s, 2);
			fake_rm.slice_fails_in = draw(&s, 4) ? 0 : 1;
			fake_rm.free_fails_in = draw(&s, 4) ? 0 : 1;
			if (draw(&s, 2))
				step_program(&contexts[draw(&s, CONTEXTS)], &s);
			else
				step_ours(&s);
			check(contexts, CONTEXTS);
		}
		fake_rm.slice_fails_in = 0;
		finish(contexts, CONTEXTS);
	}
}

struct worker {
	struct context context;
	uint64_t seed;
	bool ours;
};

static void *work(void *data)
{
	struct worker *w = data;

	for (int i = 0; i < TURNS; i++) {
		if (w->ours)
			step_ours(&w->seed);
		else
			step_program(&w->context, &w->seed);
	}
	return NULL;
}

static void test_threads(void **state)
{
	struct worker w[2 * THREADS] = { 0 };
	struct context contexts[2 * THREADS];
	pthread_t thread[2 * THREADS];

	(void)state;
	begin(1);
	for (int i = 0; i < 2 * THREADS; i++)
		w[i] = (struct worker){ .seed = (uint64_t)i + 1, .ours = i >= THREADS };
	for (int r = 0; r < ROUNDS; r++) {
		for (int i = 0; i < 2 * THREADS; i++)
			assert_int_equal(pthread_create(&thread[i], NULL, work, &w[i]), 0);
		for (int i = 0; i < 2 * THREADS; i++)
			pthread_join(thread[i], NULL);
		for (int i = 0; i < 2 * THREADS; i++)
			contexts[i] = w[i].context;
		check(contexts, THREADS);
	}
	finish(contexts, THREADS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_thread),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
