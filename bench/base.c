// SPDX-License-Identifier: MIT
/*
 * What everything else is made of: reading the clock, recording a sample, and
 * waking another thread by a futex or an eventfd and being woken by it.
 *
 * "hot" is one turn among many, "cold" a single one after the caches were filled
 * with other data (for a round trip: after 2 ms of sleep, so that the other
 * thread's core has gone idle).
 */
#include "benches.h"

#include "base/clock.h"
#include "base/hist.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int read_clock(void *arg, uint64_t times)
{
	volatile uint64_t *sink = arg;

	while (times--)
		*sink = gp__clock_ns();
	return 0;
}

static int record(void *arg, uint64_t times)
{
	struct gp__hist *h = arg;
	uint64_t value = 1;

	while (times--) {
		value = value * 6364136223846793005u + 1442695040888963407u;
		gp__hist_record(h, value >> (value & 63));
	}
	return 0;
}

/*
 * A ball goes back and forth between two threads. Each waits for its own side;
 * the partner returns every ball until it gets one with stop set.
 */
struct table_tennis {
	int (*give)(struct table_tennis *t, int side);
	int (*take)(struct table_tennis *t, int side);
	_Atomic uint32_t ball[2];
	int fd[2];
	_Atomic bool stop;
	pthread_t partner;
};

static int futex_give(struct table_tennis *t, int side)
{
	/* Release: what was written before the ball left is seen by its taker. */
	atomic_store_explicit(&t->ball[side], 1, memory_order_release);
	if (syscall(SYS_futex, &t->ball[side], FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) < 0)
		return -errno;
	return 0;
}

static int futex_take(struct table_tennis *t, int side)
{
	while (!atomic_exchange_explicit(&t->ball[side], 0, memory_order_acquire)) {
		if (syscall(SYS_futex, &t->ball[side], FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0) < 0 &&
		    errno != EAGAIN && errno != EINTR)
			return -errno;
	}
	return 0;
}

static int eventfd_give(struct table_tennis *t, int side)
{
	return eventfd_write(t->fd[side], 1) ? -errno : 0;
}

static int eventfd_take(struct table_tennis *t, int side)
{
	eventfd_t value;

	while (eventfd_read(t->fd[side], &value)) {
		if (errno != EINTR)
			return -errno;
	}
	return 0;
}

static void *play(void *arg)
{
	struct table_tennis *t = arg;

	while (!t->take(t, 1) && !atomic_load(&t->stop)) {
		if (t->give(t, 0))
			break;
	}
	return NULL;
}

static int round_trip(void *arg, uint64_t times)
{
	struct table_tennis *t = arg;
	int err = 0;

	while (!err && times--) {
		err = t->give(t, 1);
		if (!err)
			err = t->take(t, 0);
	}
	return err;
}

static void let_partner_sleep(void *arg)
{
	const struct timespec ts = { .tv_nsec = 2000000 };

	(void)arg;
	nanosleep(&ts, NULL);
}

static int start_game(struct table_tennis *t, bool futex)
{
	int err;

	*t = (struct table_tennis){
		.give = futex ? futex_give : eventfd_give,
		.take = futex ? futex_take : eventfd_take,
		.fd = { eventfd(0, EFD_CLOEXEC), eventfd(0, EFD_CLOEXEC) },
	};
	if (t->fd[0] < 0 || t->fd[1] < 0)
		err = -errno;
	else
		err = -pthread_create(&t->partner, NULL, play, t);
	if (!err)
		return 0;
	for (int i = 0; i < 2; i++) {
		if (t->fd[i] >= 0)
			close(t->fd[i]);
	}
	return err;
}

static void end_game(struct table_tennis *t)
{
	atomic_store(&t->stop, true);
	t->give(t, 1);
	pthread_join(t->partner, NULL);
	close(t->fd[0]);
	close(t->fd[1]);
}

static void add_row(struct gp__bench_run *run, const char *what, const char *state,
		    const struct gp__stats *ns)
{
	json_t *row = json_pack("{s:s, s:s}", "what", what, "state", state);

	gp__bench_set(row, "time", "ns", ns);
	gp__bench_set(row, "ratio", "", &(struct gp__stats){ .n = 0 });
	gp__bench_row(run, row);
}

static int measure(struct gp__bench_run *run, const char *what, gp__bench_fn *fn,
		   void (*before)(void *arg), void *arg)
{
	struct gp__stats ns;
	int err;

	err = gp__bench_hot(run, fn, arg, &ns);
	if (err)
		return gp__bench_fail(run, err, "%s", what);
	add_row(run, what, "hot", &ns);
	err = gp__bench_cold(run, fn, before, arg, &ns);
	if (err)
		return gp__bench_fail(run, err, "%s", what);
	add_row(run, what, "cold", &ns);
	return 0;
}

static int compare_wakes(struct gp__bench_run *run, struct table_tennis *futex,
			 struct table_tennis *event)
{
	struct gp__bench_pair pair;
	int err;
	json_t *row;

	err = gp__bench_compare(run, round_trip, futex, round_trip, event, &pair);
	if (err)
		return gp__bench_fail(run, err, "comparing futex with eventfd");
	row = json_pack("{s:s, s:s}", "what", "futex/eventfd", "state", "pairs");
	gp__bench_set(row, "time", "ns", &pair.a_ns);
	gp__bench_set(row, "ratio", "", &pair.ratio);
	gp__bench_row(run, row);
	return 0;
}

static int measure_wakes(struct gp__bench_run *run)
{
	struct table_tennis futex, event;
	int err;

	err = start_game(&futex, true);
	if (err)
		return gp__bench_fail(run, err, "starting a thread");
	err = start_game(&event, false);
	if (err) {
		gp__bench_fail(run, err, "starting a thread");
		goto out;
	}
	err = measure(run, "futex round trip", round_trip, let_partner_sleep, &futex);
	if (!err)
		err = measure(run, "eventfd round trip", round_trip, let_partner_sleep, &event);
	if (!err)
		err = compare_wakes(run, &futex, &event);
	end_game(&event);
out:
	end_game(&futex);
	return err;
}

int bench_base(struct gp__bench_run *run)
{
	struct gp__hist *h = calloc(1, sizeof(*h));
	uint64_t sink;
	int err;

	if (!h)
		return -ENOMEM;
	err = measure(run, "clock read", read_clock, NULL, &sink);
	if (!err)
		err = measure(run, "histogram record", record, NULL, h);
	if (!err)
		err = measure_wakes(run);
	free(h);
	return err;
}
