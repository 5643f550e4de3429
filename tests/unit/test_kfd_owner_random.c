// SPDX-License-Identifier: MIT
/*
 * Runs the runtime's wishes, ours, queues that come and go, and a driver that fails, in random
 * order: in one thread, with the driver's state compared after each step, and in several at once,
 * compared whenever all of them have paused.
 */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "device/kfd/owner.h"
#include "fake_kfd.h"

enum { SLOTS = 6, STEPS = 1500, SEEDS = 8, RUNTIMES = 3, SETTERS = 2, ROUNDS = 12, TURNS = 60 };

#define NO_QUEUE UINT32_MAX

static uint32_t draw(uint64_t *seed, uint32_t below)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % below;
}

struct world {
	int kfd;
	struct gp__kfd_owner *o;
};

static void begin(struct world *w, enum gp__kfd_way way, unsigned int failing, uint64_t seed)
{
	fake_reset();
	fake.seed = seed + 1;
	fake.failing = failing;
	w->kfd = open(FAKE_DEVICE, O_RDWR | O_CLOEXEC);
	assert_int_equal(gp__kfd_owner_create(fake_ioctl, way, NULL, &w->o), 0);
}

static void end(struct world *w)
{
	gp__kfd_owner_destroy(w->o);
	close(w->kfd);
	assert_int_equal(fake.deadlocks, 0);
}

/* A runtime tries again until it knows the outcome. */
static void call(struct world *w, unsigned long request, void *args)
{
	while (gp__kfd_owner_ioctl(w->o, w->kfd, request, args) < 0)
		;
}

static uint32_t make_queue(struct world *w)
{
	struct gp_kfd_create_queue args = { .ring_base_address = 0x1000,
					    .ring_size = 4096,
					    .queue_percentage = 100,
					    .queue_priority = 7 };

	call(w, GP_KFD_CREATE_QUEUE, &args);
	return args.queue_id;
}

static void change(struct world *w, uint32_t id, uint32_t percentage)
{
	struct gp_kfd_update_queue args = { .queue_id = id,
					    .ring_base_address = 0x1000,
					    .ring_size = 4096,
					    .queue_percentage = percentage,
					    .queue_priority = 7 };

	call(w, GP_KFD_UPDATE_QUEUE, &args);
}

static void remove_queue(struct world *w, uint32_t id)
{
	struct gp_kfd_destroy_queue args = { .queue_id = id };

	call(w, GP_KFD_DESTROY_QUEUE, &args);
}

/* A program's actions on its debugger or runtime. */
static void disturb(struct world *w, uint32_t how)
{
	struct gp_kfd_runtime_enable args = { .mode_mask = how % 2 };

	gp__kfd_owner_ioctl(w->o, w->kfd, GP_KFD_RUNTIME_ENABLE, &args);
}

/* A queue that its program has, or not. */
struct slot {
	uint32_t id, percentage;
};

static void act_on(struct world *w, struct slot *s, uint64_t *seed)
{
	if (s->id == NO_QUEUE) {
		s->percentage = 100;
		s->id = make_queue(w);
	} else if (!draw(seed, 6)) {
		remove_queue(w, s->id);
		s->id = NO_QUEUE;
	} else {
		s->percentage = draw(seed, 3) * 50;
		change(w, s->id, s->percentage);
	}
}

static enum gp__kfd_verb draw_verb(uint64_t *seed)
{
	return draw(seed, 2) ? GP__KFD_RELEASE : GP__KFD_SAVE;
}

static bool is_held(struct world *w, uint32_t id)
{
	struct gp__kfd_owned list[FAKE_QUEUES];
	size_t n = gp__kfd_owner_list(w->o, list, FAKE_QUEUES);

	for (size_t i = 0; i < n; i++) {
		if (list[i].queue.id == id)
			return list[i].held;
	}
	fail_msg("queue %u is not listed", id);
	return false;
}

/* The driver runs the queues that the program wants to run and that are not held. */
static void compare(struct world *w, const struct slot *s)
{
	if (s->id != NO_QUEUE)
		assert_int_equal(fake_runs(s->id), s->percentage && !is_held(w, s->id));
}

static void release_all(struct world *w, const struct slot *slots, size_t n)
{
	int result;

	fake.failing = 0;
	for (size_t i = 0; i < n; i++) {
		if (slots[i].id == NO_QUEUE)
			continue;
		assert_int_equal(gp__kfd_owner_set(w->o, GP__KFD_RELEASE, &slots[i].id, &result, 1),
				 1);
		assert_false(is_held(w, slots[i].id));
		assert_int_equal(fake_runs(slots[i].id), slots[i].percentage != 0);
	}
}

/*
 * A single thread
 */

/* A hold that failed and could not be undone is retried. */
static void set_free(struct world *w, const struct slot *s)
{
	int result;

	while (s->percentage && !fake_runs(s->id) && !is_held(w, s->id))
		gp__kfd_owner_set(w->o, GP__KFD_RELEASE, &s->id, &result, 1);
}

static void set_some(struct world *w, const struct slot *slots, uint64_t *seed)
{
	enum gp__kfd_verb verb = draw_verb(seed);
	const struct slot *chosen[SLOTS];
	uint32_t ids[SLOTS], n = 0;
	int results[SLOTS];

	for (int i = 0; i < SLOTS; i++) {
		if (!draw(seed, 2) || slots[i].id == NO_QUEUE)
			continue;
		chosen[n] = &slots[i];
		ids[n++] = slots[i].id;
	}
	if (n)
		gp__kfd_owner_set(w->o, verb, ids, results, n);
	for (uint32_t i = 0; i < n; i++) {
		if (!results[i])
			assert_int_equal(is_held(w, ids[i]), verb != GP__KFD_RELEASE);
		else if (fake.failing)
			set_free(w, chosen[i]);
		else
			fail_msg("queue %u: %d", ids[i], results[i]);
	}
}

static void run_alone(enum gp__kfd_way way, unsigned int failing, uint64_t seed)
{
	struct slot slots[SLOTS];
	struct world w;

	begin(&w, way, failing, seed);
	for (int i = 0; i < SLOTS; i++)
		slots[i] = (struct slot){ NO_QUEUE, 0 };
	for (int step = 0; step < STEPS; step++) {
		if (draw(&seed, 3))
			set_some(&w, slots, &seed);
		else if (draw(&seed, 400))
			act_on(&w, &slots[draw(&seed, SLOTS)], &seed);
		else
			disturb(&w, draw(&seed, 2));
		for (int i = 0; i < SLOTS; i++)
			compare(&w, &slots[i]);
	}
	release_all(&w, slots, SLOTS);
	end(&w);
}

static void one_thread_always_finds_both_wishes_combined(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		for (int way = 0; way < GP__KFD_WAYS; way++)
			run_alone(way, 0, seed);
	}
}

static void the_same_where_the_driver_fails_now_and_then(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS / 2; seed++) {
		for (int way = 0; way < GP__KFD_WAYS; way++)
			run_alone(way, 20, seed);
	}
}

/*
 * Several
 */

struct actor {
	struct world *w;
	struct slot *slots; /* of a runtime: its own, of a setter: all */
	uint64_t seed;
	pthread_barrier_t *pause;
	pthread_t thread;
};

static void *be_runtime(void *data)
{
	struct actor *a = data;

	for (int round = 0; round < ROUNDS; round++) {
		for (int turn = 0; turn < TURNS; turn++)
			act_on(a->w, &a->slots[draw(&a->seed, SLOTS / RUNTIMES)], &a->seed);
		pthread_barrier_wait(a->pause);
		pthread_barrier_wait(a->pause);
	}
	return NULL;
}

/* Whatever ids there may be. */
static void *be_setter(void *data)
{
	struct actor *a = data;
	uint32_t ids[SLOTS];
	int results[SLOTS];

	for (int round = 0; round < ROUNDS; round++) {
		for (int turn = 0; turn < TURNS; turn++) {
			uint32_t n = 1 + draw(&a->seed, SLOTS);

			for (uint32_t i = 0; i < n; i++)
				ids[i] = draw(&a->seed, SLOTS + 2);
			gp__kfd_owner_set(a->w->o, draw_verb(&a->seed), ids, results, n);
		}
		pthread_barrier_wait(a->pause);
		pthread_barrier_wait(a->pause);
	}
	return NULL;
}

static void start(struct actor *a, struct world *w, struct slot *slots, uint64_t seed,
		  pthread_barrier_t *pause, void *(*run)(void *))
{
	*a = (struct actor){ .w = w, .slots = slots, .seed = seed, .pause = pause };
	assert_int_equal(pthread_create(&a->thread, NULL, run, a), 0);
}

static void run_together(enum gp__kfd_way way, unsigned int failing, uint64_t seed)
{
	struct actor actor[RUNTIMES + SETTERS];
	struct slot slots[SLOTS];
	pthread_barrier_t pause;
	struct world w;

	begin(&w, way, failing, seed);
	for (int i = 0; i < SLOTS; i++)
		slots[i] = (struct slot){ NO_QUEUE, 0 };
	pthread_barrier_init(&pause, NULL, RUNTIMES + SETTERS + 1);
	for (int i = 0; i < RUNTIMES + SETTERS; i++)
		start(&actor[i], &w, i < RUNTIMES ? &slots[i * SLOTS / RUNTIMES] : slots,
		      seed * 100 + i, &pause, i < RUNTIMES ? be_runtime : be_setter);
	for (int round = 0; round < ROUNDS; round++) {
		if (round == ROUNDS / 2)
			disturb(&w, 0);
		pthread_barrier_wait(&pause);
		if (failing)
			release_all(&w, slots, SLOTS);
		for (int i = 0; i < SLOTS; i++)
			compare(&w, &slots[i]);
		fake.failing = failing;
		pthread_barrier_wait(&pause);
	}
	for (int i = 0; i < RUNTIMES + SETTERS; i++)
		pthread_join(actor[i].thread, NULL);
	release_all(&w, slots, SLOTS);
	pthread_barrier_destroy(&pause);
	end(&w);
}

static void several_threads_end_with_both_wishes_combined(void **state)
{
	(void)state;
	for (int way = 0; way < GP__KFD_WAYS; way++) {
		run_together(way, 0, 1);
		run_together(way, 0, 2);
	}
}

static void several_threads_and_a_driver_that_fails(void **state)
{
	(void)state;
	for (int way = 0; way < GP__KFD_WAYS; way++)
		run_together(way, 20, 3);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_thread_always_finds_both_wishes_combined),
		cmocka_unit_test(the_same_where_the_driver_fails_now_and_then),
		cmocka_unit_test(several_threads_end_with_both_wishes_combined),
		cmocka_unit_test(several_threads_and_a_driver_that_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
