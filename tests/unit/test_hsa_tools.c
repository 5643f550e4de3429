/* SPDX-License-Identifier: MIT */
/* Our functions in the HSA runtime's tables, with a runtime of this test behind them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "join/hsa/tools.h"

enum { OUT_OF_RESOURCES = 0x1008 };

/*
 * The runtime
 */

struct fake_queue {
	struct gp__hsa_queue hsa;
	struct gp__hsa_signal doorbell;
	int64_t rang;
	unsigned int nr_rings;
};

static struct {
	uint32_t status; /* that the next call returns */
	struct gp__hsa_signal other; /* not a doorbell */
	int64_t other_value;
	unsigned int nr_destroyed;
} runtime;

static uint32_t fake_create(uint64_t agent, uint32_t size, uint32_t type, void *callback,
			    void *data, uint32_t private_bytes, uint32_t group_bytes,
			    struct gp__hsa_queue **queue)
{
	struct fake_queue *q;

	(void)agent, (void)type, (void)callback, (void)data, (void)private_bytes, (void)group_bytes;
	if (runtime.status)
		return runtime.status;
	q = calloc(1, sizeof(*q));
	assert_non_null(q);
	q->hsa.size = size;
	q->hsa.doorbell = (uint64_t)(uintptr_t)&q->doorbell;
	q->doorbell.kind = -1;
	q->doorbell.queue = &q->hsa;
	*queue = &q->hsa;
	return 0;
}

static uint32_t fake_destroy(struct gp__hsa_queue *queue)
{
	runtime.nr_destroyed++;
	free(queue);
	return 0;
}

static void fake_signal_store(uint64_t signal, int64_t value)
{
	struct gp__hsa_signal *s = (struct gp__hsa_signal *)(uintptr_t)signal;

	if (s->kind < 0) {
		struct fake_queue *q = (struct fake_queue *)s->queue;

		q->rang = value;
		q->nr_rings++;
	} else {
		runtime.other_value = value;
	}
}

static uint64_t fake_add_write(struct gp__hsa_queue *queue, uint64_t n)
{
	return atomic_fetch_add(&queue->write_index, n);
}

static uint64_t fake_load_write(const struct gp__hsa_queue *queue)
{
	return atomic_load(&queue->write_index);
}

/*
 * The program
 */

struct fixture {
	struct gp__hsa_core core;
	struct gp__hsa_table table;
	struct gp__hsa_host host;
	bool unknown; /* the backend knows no queue */
	uint32_t next_id;
	uint32_t added, arrived_at, nr_arrivals;
	uint32_t foreign;
};

static bool find_queue(void *data, const void *write_index, uint32_t *id)
{
	struct fixture *f = data;

	assert_non_null(write_index);
	*id = f->next_id++;
	return !f->unknown;
}

static void note_added(void *data, uint32_t id, const void *write_index)
{
	struct fixture *f = data;

	assert_non_null(write_index);
	f->added = id;
}

static void note_arrival(void *data, uint32_t id)
{
	struct fixture *f = data;

	f->arrived_at = id;
	f->nr_arrivals++;
}

static void note_foreign(void *data, uint32_t id)
{
	struct fixture *f = data;

	f->foreign += id;
}

static void set_up(struct fixture *f, bool windows)
{
	const char *why;

	memset(f, 0, sizeof(*f));
	memset(&runtime, 0, sizeof(runtime));
	runtime.other.kind = 1;
	f->next_id = 7;
	f->core.version = (struct gp__hsa_version){ 1, sizeof(f->core), 0, 0 };
	f->table = (struct gp__hsa_table){ { 1, sizeof(f->table), 0, 0 }, &f->core };
	f->core.fn[GP__HSA_QUEUE_CREATE] = (gp__hsa_fn *)fake_create;
	f->core.fn[GP__HSA_QUEUE_DESTROY] = (gp__hsa_fn *)fake_destroy;
	f->core.fn[GP__HSA_SIGNAL_STORE_RELAXED] = (gp__hsa_fn *)fake_signal_store;
	f->core.fn[GP__HSA_SIGNAL_STORE_SCRELEASE] = (gp__hsa_fn *)fake_signal_store;
	f->core.fn[GP__HSA_ADD_WRITE_RELAXED] = (gp__hsa_fn *)fake_add_write;
	f->core.fn[GP__HSA_LOAD_WRITE_RELAXED] = (gp__hsa_fn *)fake_load_write;
	f->host = (struct gp__hsa_host){
		find_queue, note_added, note_arrival, note_foreign, f, windows, 2, 0, false
	};
	assert_true(gp__hsa_load(&f->table, &f->host, &why));
}

static struct fake_queue *create(struct fixture *f)
{
	uint32_t (*fn)(uint64_t, uint32_t, uint32_t, void *, void *, uint32_t, uint32_t,
		       struct gp__hsa_queue **) = (void *)f->core.fn[GP__HSA_QUEUE_CREATE];
	struct gp__hsa_queue *q = NULL;

	assert_int_equal(fn(1, 64, 0, NULL, NULL, 0, 0, &q), 0);
	return (struct fake_queue *)q;
}

static void destroy(struct fixture *f, struct fake_queue *q)
{
	uint32_t (*fn)(struct gp__hsa_queue *) = (void *)f->core.fn[GP__HSA_QUEUE_DESTROY];

	assert_int_equal(fn(&q->hsa), 0);
}

static void store(struct fixture *f, uint64_t signal, int64_t value)
{
	void (*fn)(uint64_t, int64_t) = (void *)f->core.fn[GP__HSA_SIGNAL_STORE_RELAXED];

	fn(signal, value);
}

static uint64_t launch(struct fixture *f, struct fake_queue *q)
{
	uint64_t (*add)(struct gp__hsa_queue *, uint64_t) =
		(void *)f->core.fn[GP__HSA_ADD_WRITE_RELAXED];
	uint64_t at = add(&q->hsa, 1);

	store(f, q->hsa.doorbell, (int64_t)at);
	return at;
}

static void only_the_first_launch_after_a_rest_is_reported(void **state)
{
	struct fixture f;
	struct fake_queue *q;

	(void)state;
	set_up(&f, false);
	q = create(&f);
	assert_int_equal(f.added, 7);
	launch(&f, q);
	assert_int_equal(f.nr_arrivals, 1);
	assert_int_equal(f.arrived_at, 7);
	launch(&f, q);
	launch(&f, q);
	assert_int_equal(f.nr_arrivals, 1);
	assert_int_equal(q->nr_rings, 3);
	assert_int_equal(q->rang, 2);
	gp__hsa_rest(7);
	launch(&f, q);
	assert_int_equal(f.nr_arrivals, 2);
	destroy(&f, q);
	assert_int_equal(runtime.nr_destroyed, 1);
	gp__hsa_unload();
}

static void other_signals_and_queues_go_to_the_runtime(void **state)
{
	struct fixture f;
	struct fake_queue *q;

	(void)state;
	set_up(&f, true);
	store(&f, (uint64_t)(uintptr_t)&runtime.other, 5);
	assert_int_equal(runtime.other_value, 5);
	f.unknown = true;
	q = create(&f);
	launch(&f, q);
	assert_int_equal(q->hsa.write_index, 1);
	assert_int_equal(q->nr_rings, 1);
	assert_int_equal(f.nr_arrivals, 0);
	assert_int_equal(gp__hsa_hold(7, true), -ENOENT);
	destroy(&f, q);
	gp__hsa_unload();
}

static void a_program_does_not_see_its_window(void **state)
{
	struct fixture f;
	struct fake_queue *q;
	uint64_t (*load)(const struct gp__hsa_queue *);

	(void)state;
	set_up(&f, true);
	load = (void *)f.core.fn[GP__HSA_LOAD_WRITE_RELAXED];
	q = create(&f);
	assert_int_equal(gp__hsa_hold(7, true), 0);
	for (uint64_t i = 0; i < 5; i++) {
		assert_int_equal(launch(&f, q), i);
		assert_int_equal(load(&q->hsa), i + 1);
	}
	assert_int_equal(q->hsa.write_index, 0);
	assert_int_equal(q->nr_rings, 0);
	assert_int_equal(f.nr_arrivals, 1);
	gp__hsa_narrow(true);
	assert_false(gp__hsa_advance(0));
	assert_int_equal(q->hsa.write_index, 0);
	assert_int_equal(gp__hsa_hold(7, false), 0);
	assert_int_equal(q->hsa.write_index, 2);
	q->hsa.read_index = 2;
	assert_true(gp__hsa_advance(0));
	assert_int_equal(q->hsa.write_index, 4);
	q->hsa.read_index = 4;
	assert_false(gp__hsa_advance(0));
	assert_int_equal(q->hsa.write_index, 5);
	assert_int_equal(q->rang, 4);
	gp__hsa_narrow(false);
	for (int i = 0; i < 10; i++)
		launch(&f, q);
	assert_int_equal(q->hsa.write_index, 15);
	destroy(&f, q);
	gp__hsa_unload();
}

static void foreign_work_is_reported_once_and_not_overwritten(void **state)
{
	struct fixture f;
	struct fake_queue *q;

	(void)state;
	set_up(&f, true);
	q = create(&f);
	assert_int_equal(launch(&f, q), 0);
	gp__hsa_advance(0);
	assert_int_equal(f.foreign, 0);
	atomic_fetch_add(&q->hsa.write_index, 2);
	assert_int_equal(launch(&f, q), 3);
	assert_int_equal(q->hsa.write_index, 4);
	gp__hsa_advance(0);
	gp__hsa_advance(0);
	assert_int_equal(f.foreign, 7);
	destroy(&f, q);
	gp__hsa_unload();
}

/* Without windows the functions of the indices are not replaced. */
static void without_windows_the_indices_are_the_runtimes_own(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f, false);
	assert_ptr_equal(f.core.fn[GP__HSA_ADD_WRITE_RELAXED], (gp__hsa_fn *)fake_add_write);
	assert_ptr_equal(f.core.fn[GP__HSA_LOAD_WRITE_RELAXED], (gp__hsa_fn *)fake_load_write);
	gp__hsa_unload();
}

static void the_latest_doorbell_of_a_thread_is_noted(void **state)
{
	struct gp__hsa_rung before = gp__hsa_rung();
	struct fake_queue *a, *b;
	struct fixture f;

	(void)state;
	set_up(&f, false);
	a = create(&f);
	b = create(&f);
	launch(&f, b);
	assert_int_equal(gp__hsa_rung().id, 8);
	launch(&f, a);
	assert_int_equal(gp__hsa_rung().id, 7);
	assert_int_equal(gp__hsa_rung().nr, before.nr + 2);
	destroy(&f, a);
	destroy(&f, b);
	gp__hsa_unload();
}

static void a_queue_that_could_not_be_created_is_not_known(void **state)
{
	uint32_t (*fn)(uint64_t, uint32_t, uint32_t, void *, void *, uint32_t, uint32_t,
		       struct gp__hsa_queue **);
	struct gp__hsa_queue *q = NULL;
	struct fixture f;

	(void)state;
	set_up(&f, true);
	fn = (void *)f.core.fn[GP__HSA_QUEUE_CREATE];
	runtime.status = OUT_OF_RESOURCES;
	assert_int_equal(fn(1, 64, 0, NULL, NULL, 0, 0, &q), OUT_OF_RESOURCES);
	assert_null(q);
	assert_int_equal(f.added, 0);
	gp__hsa_unload();
}

static void many_queues_are_created_and_destroyed(void **state)
{
	enum { AT_ONCE = 200, ROUNDS = 100 };
	static struct fake_queue *q[AT_ONCE];
	struct fixture f;

	(void)state;
	set_up(&f, false);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = round % 2; i < AT_ONCE; i += 1 + round % 3) {
			if (q[i])
				destroy(&f, q[i]);
			q[i] = create(&f);
		}
		for (int i = 0; i < AT_ONCE; i++) {
			unsigned int before = f.nr_arrivals;

			if (!q[i])
				continue;
			launch(&f, q[i]);
			assert_int_equal(f.nr_arrivals, before + (q[i]->nr_rings == 1 ? 1 : 0));
		}
	}
	for (int i = 0; i < AT_ONCE; i++)
		destroy(&f, q[i]);
	gp__hsa_unload();
}

static void an_unknown_runtime_is_left_alone(void **state)
{
	struct fixture f;
	struct gp__hsa_core before;
	const char *why;

	(void)state;
	set_up(&f, false);
	gp__hsa_unload();
	before = f.core;
	f.core.version.bytes = sizeof(f.core) - 8;
	assert_false(gp__hsa_load(&f.table, &f.host, &why));
	assert_non_null(why);
	f.core.version = before.version;
	f.table.version.major = 4;
	assert_false(gp__hsa_load(&f.table, &f.host, &why));
	assert_memory_equal(&f.core, &before, sizeof(before));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_first_launch_after_a_rest_is_reported),
		cmocka_unit_test(other_signals_and_queues_go_to_the_runtime),
		cmocka_unit_test(a_program_does_not_see_its_window),
		cmocka_unit_test(foreign_work_is_reported_once_and_not_overwritten),
		cmocka_unit_test(without_windows_the_indices_are_the_runtimes_own),
		cmocka_unit_test(the_latest_doorbell_of_a_thread_is_noted),
		cmocka_unit_test(a_queue_that_could_not_be_created_is_not_known),
		cmocka_unit_test(many_queues_are_created_and_destroyed),
		cmocka_unit_test(an_unknown_runtime_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
