// SPDX-License-Identifier: MIT
/* Events: limits, wake-ups, and the results of waits. */
#include "../unit/host.h"
#include "kfd_server.h"

#include "base/clock.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define MS ((uint64_t)1000000)
#define FOR_EVER UINT32_MAX

struct world {
	struct server s;
	struct client c;
};

static int start(void **state, enum emu_kernel kernel)
{
	struct world *w = calloc(1, sizeof(*w));

	w->s.config.kernel = kernel;
	server_start(&w->s);
	client_setup(&w->s, &w->c, 1);
	*state = w;
	return 0;
}

static int setup(void **state)
{
	return start(state, EMU_KERNEL_6_12);
}

static int setup_old(void **state)
{
	return start(state, EMU_KERNEL_6_1);
}

static int teardown(void **state)
{
	struct world *w = *state;

	client_close(&w->c);
	server_stop(&w->s);
	free(w);
	return 0;
}

static uint32_t create(struct world *w, uint32_t type, bool auto_reset)
{
	struct gp_kfd_create_event e = { .event_type = type, .auto_reset = auto_reset };

	assert_int_equal(client_kfd(&w->c, GP_KFD_CREATE_EVENT, &e), 0);
	return e.event_id;
}

static int change(struct world *w, unsigned long cmd, uint32_t id)
{
	struct gp_kfd_event e = { .event_id = id };

	return client_kfd(&w->c, cmd, &e);
}

/* A wait, whose array is @data; the result or -errno. */
static int wait_many(struct client *c, struct gp_kfd_event_data *data, uint32_t n, bool all,
		     uint32_t ms)
{
	struct gp_kfd_wait_events args = { .events_ptr = (uintptr_t)data,
					   .num_events = n,
					   .wait_for_all = all,
					   .timeout = ms,
					   .wait_result = 99 };
	int err = client_kfd(c, GP_KFD_WAIT_EVENTS, &args);

	if (err)
		assert_int_equal(args.wait_result, GP_KFD_WAIT_FAIL);
	return err ? err : (int)args.wait_result;
}

static int wait_one(struct world *w, uint32_t id, uint32_t ms)
{
	struct gp_kfd_event_data data = { .event_id = id };

	return wait_many(&w->c, &data, 1, false, ms);
}

/* A waiting thread, with its own connection. */
struct waiter {
	struct world *w;
	struct client c;
	struct gp_kfd_event_data data[2];
	uint32_t n, ms;
	bool all;
	pthread_t thread;
	int result;
	atomic_bool ended;
};

/*
 * Nothing shows that a thread is in its wait by now: tests that need it are repeated if it was not.
 */
#define TRIES 20

static void *run_waiter(void *arg)
{
	struct waiter *wt = arg;

	wt->result = wait_many(&wt->c, wt->data, wt->n, wt->all, wt->ms);
	atomic_store(&wt->ended, true);
	return NULL;
}

/* Another connection of the same program, with its files. */
static void connect_too(struct world *w, struct client *c)
{
	client_connect(&w->s, c);
	assert_int_equal(client_hello(c, 1), 0);
	c->kfd = w->c.kfd;
	c->nr_files = w->c.nr_files;
	memcpy(c->file_fd, w->c.file_fd, sizeof(w->c.file_fd));
	memcpy(c->file_id, w->c.file_id, sizeof(w->c.file_id));
}

static void disconnect(struct client *c)
{
	c->nr_files = 0;
	client_close(c);
}

static void begin(struct world *w, struct waiter *wt)
{
	wt->w = w;
	connect_too(w, &wt->c);
	assert_int_equal(pthread_create(&wt->thread, NULL, run_waiter, wt), 0);
	usleep(50000);
}

static bool ends_soon(struct waiter *wt)
{
	for (int ms = 0; ms < 1000 && !atomic_load(&wt->ended); ms++)
		usleep(1000);
	return atomic_load(&wt->ended);
}

static int finish(struct waiter *wt)
{
	pthread_join(wt->thread, NULL);
	disconnect(&wt->c);
	return wt->result;
}

static void unknown_ids(void **state)
{
	struct world *w = *state;

	for (uint32_t id = 0; id < 3; id++) {
		assert_int_equal(change(w, GP_KFD_SET_EVENT, id), -EINVAL);
		assert_int_equal(change(w, GP_KFD_DESTROY_EVENT, id), -EINVAL);
		assert_int_equal(wait_one(w, id, 0), -EINVAL);
	}
	assert_int_equal(change(w, GP_KFD_RESET_EVENT, UINT32_MAX), -EINVAL);
	assert_int_equal(change(w, GP_KFD_RESET_EVENT, EMU_EVENT_OTHER), -EINVAL);
}

/* A program can set only signals. */
static void kinds(void **state)
{
	struct world *w = *state;
	uint32_t signal = create(w, GP_KFD_EVENT_SIGNAL, false);
	uint32_t debug = create(w, GP_KFD_EVENT_DEBUG_EVENT, false);
	uint32_t memory = create(w, GP_KFD_EVENT_MEMORY, false);

	assert_int_equal(signal, 1);
	assert_int_equal(debug, 2);
	assert_int_equal(memory, EMU_EVENT_OTHER);
	assert_int_equal(change(w, GP_KFD_SET_EVENT, signal), 0);
	assert_int_equal(change(w, GP_KFD_SET_EVENT, debug), -EINVAL);
	assert_int_equal(change(w, GP_KFD_RESET_EVENT, memory), -EINVAL);
	assert_int_equal(change(w, GP_KFD_DESTROY_EVENT, signal), 0);
	/* The lowest free id is used again. */
	assert_int_equal(create(w, GP_KFD_EVENT_SIGNAL, true), signal);
}

static void latch(void **state)
{
	struct world *w = *state;
	uint32_t manual = create(w, GP_KFD_EVENT_SIGNAL, false);
	uint32_t automatic = create(w, GP_KFD_EVENT_SIGNAL, true);

	assert_int_equal(wait_one(w, manual, 0), GP_KFD_WAIT_TIMEOUT);
	assert_int_equal(change(w, GP_KFD_SET_EVENT, manual), 0);
	assert_int_equal(wait_one(w, manual, 0), GP_KFD_WAIT_COMPLETE);
	assert_int_equal(wait_one(w, manual, FOR_EVER), GP_KFD_WAIT_COMPLETE);
	assert_int_equal(change(w, GP_KFD_RESET_EVENT, manual), 0);
	assert_int_equal(wait_one(w, manual, 0), GP_KFD_WAIT_TIMEOUT);
	assert_int_equal(change(w, GP_KFD_SET_EVENT, automatic), 0);
	assert_int_equal(wait_one(w, automatic, 0), GP_KFD_WAIT_COMPLETE);
	assert_int_equal(wait_one(w, automatic, 0), GP_KFD_WAIT_TIMEOUT);
}

static void timeouts(void **state)
{
	struct world *w = *state;
	uint32_t id = create(w, GP_KFD_EVENT_SIGNAL, false);
	uint64_t start = gp__clock_ns();

	assert_int_equal(wait_one(w, id, 50), GP_KFD_WAIT_TIMEOUT);
	assert_true(gp__clock_ns() - start >= 50 * MS);
	/* Of no events, all have happened, and none has. */
	assert_int_equal(wait_many(&w->c, NULL, 0, true, 0), GP_KFD_WAIT_COMPLETE);
	assert_int_equal(wait_many(&w->c, NULL, 0, false, 0), GP_KFD_WAIT_COMPLETE);
}

/* All waiting threads continue, and then it is reset. */
static void wake_all(void **state)
{
	struct world *w = *state;
	uint32_t id = create(w, GP_KFD_EVENT_SIGNAL, true);
	bool both = false;

	for (int i = 0; i < TRIES && !both; i++) {
		struct waiter a = { .data[0].event_id = id, .n = 1, .ms = FOR_EVER };
		struct waiter b = { .data[0].event_id = id, .n = 1, .ms = FOR_EVER };

		begin(w, &a);
		begin(w, &b);
		assert_int_equal(change(w, GP_KFD_SET_EVENT, id), 0);
		both = ends_soon(&a) && ends_soon(&b);
		while (!ends_soon(&a) || !ends_soon(&b))
			assert_int_equal(change(w, GP_KFD_SET_EVENT, id), 0);
		assert_int_equal(finish(&a), GP_KFD_WAIT_COMPLETE);
		assert_int_equal(finish(&b), GP_KFD_WAIT_COMPLETE);
	}
	assert_true(both);
	assert_int_equal(wait_one(w, id, 0), GP_KFD_WAIT_TIMEOUT);
}

static void any_and_all(void **state)
{
	struct world *w = *state;
	uint32_t x = create(w, GP_KFD_EVENT_SIGNAL, true), y = create(w, GP_KFD_EVENT_SIGNAL, true);
	bool both = false;

	for (int i = 0; i < TRIES && !both; i++) {
		struct waiter any = { .data = { { .event_id = x }, { .event_id = y } },
				      .n = 2,
				      .ms = FOR_EVER };
		struct waiter all = { .data = { { .event_id = x }, { .event_id = y } },
				      .n = 2,
				      .ms = FOR_EVER,
				      .all = true };

		begin(w, &any);
		begin(w, &all);
		assert_int_equal(change(w, GP_KFD_SET_EVENT, y), 0);
		assert_int_equal(finish(&any), GP_KFD_WAIT_COMPLETE);
		usleep(20000);
		assert_false(atomic_load(&all.ended));
		assert_int_equal(change(w, GP_KFD_SET_EVENT, x), 0);
		both = ends_soon(&all);
		/* The first one was consumed before it came. */
		while (!ends_soon(&all))
			assert_int_equal(change(w, GP_KFD_SET_EVENT, y), 0);
		assert_int_equal(finish(&all), GP_KFD_WAIT_COMPLETE);
	}
	assert_true(both);
}

static void destroyed(void **state)
{
	struct world *w = *state;
	int result = 0;

	for (int i = 0; i < TRIES && result != -EIO; i++) {
		uint32_t id = create(w, GP_KFD_EVENT_SIGNAL, true);
		struct waiter a = { .data[0].event_id = id, .n = 1, .ms = FOR_EVER };

		begin(w, &a);
		assert_int_equal(change(w, GP_KFD_DESTROY_EVENT, id), 0);
		result = finish(&a);
		assert_true(result == -EIO || result == -EINVAL);
	}
	assert_int_equal(result, -EIO);
}

static void set_and_take(struct world *w, uint32_t id)
{
	assert_int_equal(change(w, GP_KFD_SET_EVENT, id), 0);
	assert_int_equal(wait_one(w, id, 0), GP_KFD_WAIT_COMPLETE);
	assert_int_equal(wait_one(w, id, 0), GP_KFD_WAIT_TIMEOUT);
}

/*
 * A set is not lost for a thread that called before, even if another thread resets the event before
 * this one's next wait is read. A thread that makes its first call missed nothing.
 */
static void set_since_last_call(void **state)
{
	struct world *w = *state;
	struct gp_kfd_event_data data = { .event_id = create(w, GP_KFD_EVENT_SIGNAL, true) };
	struct client c = { 0 }, first = { 0 };

	connect_too(w, &c);
	connect_too(w, &first);
	assert_int_equal(wait_many(&c, &data, 1, false, 0), GP_KFD_WAIT_TIMEOUT);
	set_and_take(w, data.event_id);
	assert_int_equal(wait_many(&c, &data, 1, false, 0), GP_KFD_WAIT_COMPLETE);
	assert_int_equal(wait_many(&c, &data, 1, false, 0), GP_KFD_WAIT_TIMEOUT);
	assert_int_equal(wait_many(&first, &data, 1, false, 0), GP_KFD_WAIT_TIMEOUT);
	/* An event that does not reset itself is as the program left it. */
	data.event_id = create(w, GP_KFD_EVENT_SIGNAL, false);
	assert_int_equal(change(w, GP_KFD_SET_EVENT, data.event_id), 0);
	assert_int_equal(change(w, GP_KFD_RESET_EVENT, data.event_id), 0);
	assert_int_equal(wait_many(&c, &data, 1, false, 0), GP_KFD_WAIT_TIMEOUT);
	disconnect(&c);
	disconnect(&first);
}

/* With an age, only that counts. */
static void age_since_last_call(void **state)
{
	struct world *w = *state;
	struct gp_kfd_event_data data = { .event_id = create(w, GP_KFD_EVENT_SIGNAL, true) };
	struct client c = { 0 };

	connect_too(w, &c);
	assert_int_equal(wait_many(&c, &data, 1, false, 0), GP_KFD_WAIT_TIMEOUT);
	set_and_take(w, data.event_id);
	data.last_event_age = 2;
	assert_int_equal(wait_many(&c, &data, 1, false, 0), GP_KFD_WAIT_TIMEOUT);
	disconnect(&c);
}

/* The wait contains the last age that was seen: no event in between is missed. */
static void age(void **state)
{
	struct world *w = *state;
	uint32_t id = create(w, GP_KFD_EVENT_SIGNAL, true);
	struct gp_kfd_event_data data = { .event_id = id, .last_event_age = 1 };

	assert_int_equal(wait_many(&w->c, &data, 1, false, 0), GP_KFD_WAIT_TIMEOUT);
	assert_int_equal(change(w, GP_KFD_SET_EVENT, id), 0);
	assert_int_equal(wait_many(&w->c, &data, 1, false, 0), GP_KFD_WAIT_COMPLETE);
	assert_int_equal(data.last_event_age, 2);
	assert_int_equal(wait_many(&w->c, &data, 1, false, 0), GP_KFD_WAIT_TIMEOUT);
	/* Set, and consumed by a thread that did not pass an age. */
	assert_int_equal(change(w, GP_KFD_SET_EVENT, id), 0);
	assert_int_equal(wait_one(w, id, 0), GP_KFD_WAIT_COMPLETE);
	assert_int_equal(wait_many(&w->c, &data, 1, false, FOR_EVER), GP_KFD_WAIT_COMPLETE);
	assert_int_equal(data.last_event_age, 3);
}

static void no_age_before(void **state)
{
	struct world *w = *state;
	uint32_t id = create(w, GP_KFD_EVENT_SIGNAL, true);
	struct gp_kfd_event_data data = { .event_id = id, .last_event_age = 7 };

	assert_int_equal(wait_many(&w->c, &data, 1, false, 0), GP_KFD_WAIT_TIMEOUT);
	assert_int_equal(data.last_event_age, 7);
}

/* A signal for the program: consumed events are returned, and the remaining time is reported. */
struct cancelled {
	struct waiter wt;
	uint32_t left;
};

static void *run_cancelled(void *arg)
{
	struct cancelled *x = arg;
	struct gp_kfd_wait_events args = { .events_ptr = (uintptr_t)x->wt.data,
					   .num_events = x->wt.n,
					   .wait_for_all = true,
					   .timeout = 60000 };

	x->wt.result = client_kfd(&x->wt.c, GP_KFD_WAIT_EVENTS, &args);
	x->left = args.timeout;
	return NULL;
}

static void cancel(void **state)
{
	struct world *w = *state;
	uint32_t x = create(w, GP_KFD_EVENT_SIGNAL, true), y = create(w, GP_KFD_EVENT_SIGNAL, true);
	struct cancelled a = { .wt = { .data = { { .event_id = x }, { .event_id = y } }, .n = 2 } };
	struct emu_message msg = { .type = EMU_CANCEL };
	struct waiter *wt = &a.wt;

	connect_too(w, &wt->c);
	assert_int_equal(change(w, GP_KFD_SET_EVENT, x), 0);
	assert_int_equal(pthread_create(&wt->thread, NULL, run_cancelled, &a), 0);
	usleep(100000);
	assert_int_equal(emu_message_send(wt->c.fd, &msg, NULL, 0, NULL, 0), 0);
	pthread_join(wt->thread, NULL);
	assert_int_equal(wt->result, -EINTR);
	assert_in_range(a.left, 30000, 59999);
	assert_int_equal(wait_one(w, x, 0), GP_KFD_WAIT_COMPLETE);
	/* A late signal affects no other call. */
	assert_int_equal(emu_message_send(wt->c.fd, &msg, NULL, 0, NULL, 0), 0);
	assert_int_equal(wait_many(&wt->c, wt->data, 1, false, 20), GP_KFD_WAIT_TIMEOUT);
	wt->c.nr_files = 0;
	client_close(&wt->c);
}

/* An array with an unreadable end: errors before that count first. */
static void bad_array(void **state)
{
	struct world *w = *state;
	uint32_t id = create(w, GP_KFD_EVENT_SIGNAL, true);
	uint8_t *pages =
		mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct gp_kfd_event_data *data = (struct gp_kfd_event_data *)(pages + 4096 - sizeof(*data));

	munmap(pages + 4096, 4096);
	data->event_id = id;
	assert_int_equal(wait_many(&w->c, data, 2, false, 0), -EFAULT);
	data->event_id = 99;
	assert_int_equal(wait_many(&w->c, data, 2, false, 0), -EINVAL);
	assert_int_equal(wait_many(&w->c, data, UINT32_MAX, false, 0), -ENOMEM);
	munmap(pages, 4096);
}

/*
 * Events from a GPU
 */

/* The kernel's own page, of which a quarter is usable until it is mapped. */
static void own_page(void **state)
{
	struct world *w = *state;
	struct gp_kfd_create_event e = { 0 };
	struct emu_process *p = client_process(&w->c);
	uint64_t *slots;
	int err;

	for (uint32_t i = 1; i < 256; i++)
		assert_int_equal(create(w, GP_KFD_EVENT_SIGNAL, true), i);
	assert_int_equal(client_kfd(&w->c, GP_KFD_CREATE_EVENT, &e), -ENOSPC);
	slots = client_mmap(&w->c, w->c.kfd, 2ULL << 62, 32768, PROT_READ | PROT_WRITE, &err);
	assert_non_null(slots);
	assert_int_equal(client_kfd(&w->c, GP_KFD_CREATE_EVENT, &e), 0);
	assert_int_equal(e.event_id, 256);
	assert_int_equal(e.event_slot_index, 256);
	assert_int_equal(e.event_page_offset, 2ULL << 62);
	for (uint32_t i = 257; i < GP_KFD_SIGNAL_EVENT_LIMIT; i++)
		create(w, GP_KFD_EVENT_SIGNAL, true);
	e = (struct gp_kfd_create_event){ 0 };
	assert_int_equal(client_kfd(&w->c, GP_KFD_CREATE_EVENT, &e), -ENOSPC);
	/* Other events are not limited by it. */
	create(w, GP_KFD_EVENT_MEMORY, true);
	/* With a smaller mapping, slots that were freed are allocated. */
	assert_non_null(client_mmap(&w->c, w->c.kfd, 2ULL << 62, 4096, PROT_READ, &err));
	assert_int_equal(change(w, GP_KFD_DESTROY_EVENT, GP_KFD_SIGNAL_EVENT_LIMIT - 1), 0);
	assert_int_equal(client_kfd(&w->c, GP_KFD_CREATE_EVENT, &e), -ENOSPC);
	assert_int_equal(change(w, GP_KFD_DESTROY_EVENT, 9), 0);
	assert_int_equal(create(w, GP_KFD_EVENT_SIGNAL, true), 9);

	/* An interrupt counts for an event whose slot was written. */
	emu_event_interrupt(p, 300);
	assert_int_equal(wait_one(w, 300, 0), GP_KFD_WAIT_TIMEOUT);
	slots[300] = 300;
	emu_event_interrupt(p, 300);
	assert_int_equal(slots[300], UINT64_MAX);
	assert_int_equal(wait_one(w, 300, 0), GP_KFD_WAIT_COMPLETE);
	/* An interrupt without an id, for all of those. */
	slots[7] = 7;
	slots[4000] = 1;
	emu_event_interrupt(p, 0);
	assert_int_equal(wait_one(w, 7, 0), GP_KFD_WAIT_COMPLETE);
	assert_int_equal(wait_one(w, 4000, 0), GP_KFD_WAIT_COMPLETE);
	slots[8] = 8;
	emu_event_interrupt(p, UINT32_MAX);
	assert_int_equal(wait_one(w, 8, 0), GP_KFD_WAIT_COMPLETE);
	munmap(slots, 32768);
}

/* The program's buffer, which it cannot free. */
static void adopted_page(void **state)
{
	struct world *w = *state;
	struct gp_kfd_alloc_memory small = { .va_addr = 1 << 30,
					     .size = 4096,
					     .gpu_id = w->s.m.node[0]->gpu_id,
					     .flags = GP_KFD_MEM_GTT },
				   vram = small, page = small;
	struct gp_kfd_create_event e = { .event_page_offset = 12345 };
	struct gp_kfd_free_memory f;

	vram.flags = GP_KFD_MEM_VRAM;
	page.size = 65536;
	assert_int_equal(client_kfd(&w->c, GP_KFD_ALLOC_MEMORY, &small), 0);
	assert_int_equal(client_kfd(&w->c, GP_KFD_ALLOC_MEMORY, &vram), 0);
	assert_int_equal(client_kfd(&w->c, GP_KFD_ALLOC_MEMORY, &page), 0);
	assert_int_equal(client_kfd(&w->c, GP_KFD_CREATE_EVENT, &e), -EINVAL);
	e.event_page_offset = small.handle;
	assert_int_equal(client_kfd(&w->c, GP_KFD_CREATE_EVENT, &e), -EINVAL);
	e.event_page_offset = vram.handle;
	assert_int_equal(client_kfd(&w->c, GP_KFD_CREATE_EVENT, &e), -EINVAL);
	e.event_page_offset = page.handle;
	assert_int_equal(client_kfd(&w->c, GP_KFD_CREATE_EVENT, &e), 0);
	assert_int_equal(e.event_id, 1);
	e.event_page_offset = page.handle;
	assert_int_equal(client_kfd(&w->c, GP_KFD_CREATE_EVENT, &e), -EINVAL);
	f.handle = page.handle;
	assert_int_equal(client_kfd(&w->c, GP_KFD_FREE_MEMORY, &f), -EPERM);
	f.handle = small.handle;
	assert_int_equal(client_kfd(&w->c, GP_KFD_FREE_MEMORY, &f), 0);
}

static void exceptions(void **state)
{
	struct world *w = *state;
	struct emu_process *p = client_process(&w->c);
	struct gp_kfd_memory_exception fault = { .not_present = 1, .va = 0x1234000, .gpu_id = 5 };
	struct gp_kfd_event_data data = { .event_id = create(w, GP_KFD_EVENT_MEMORY, true) };
	struct gp_kfd_event_data hw = { .event_id = create(w, GP_KFD_EVENT_HW_EXCEPTION, true) };

	emu_event_memory(p, &fault);
	assert_int_equal(wait_many(&w->c, &data, 1, false, 0), GP_KFD_WAIT_COMPLETE);
	assert_memory_equal(&data.memory, &fault, sizeof(fault));
	assert_int_equal(wait_many(&w->c, &hw, 1, false, 0), GP_KFD_WAIT_TIMEOUT);
	emu_event_reset(p, 6);
	assert_int_equal(wait_many(&w->c, &hw, 1, false, 0), GP_KFD_WAIT_COMPLETE);
	assert_int_equal(hw.hw.gpu_id, 6);
	assert_int_equal(hw.hw.memory_lost, 1);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(unknown_ids),
		T(kinds),
		T(latch),
		T(timeouts),
		T(wake_all),
		T(set_since_last_call),
		T(any_and_all),
		T(destroyed),
		T(age),
		T(age_since_last_call),
		cmocka_unit_test_setup_teardown(no_age_before, setup_old, teardown),
		cmocka_unit_test_setup_teardown(set_since_last_call, setup_old, teardown),
		T(cancel),
		T(bad_array),
		T(own_page),
		T(adopted_page),
		T(exceptions),
	};

	if (!host_has_process_vm())
		return TEST_SKIPPED;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
