// SPDX-License-Identifier: MIT
/* Waking and sleeping: no wake-up is lost, whatever else goes on. */
#include "test.h"

#include <errno.h>
#include <pthread.h>

#include "base/clock.h"
#include "base/cond.h"

#define LONG_NS 60000000000ull /* nothing here takes that long, on any machine */
#define TOKENS 20000
#define CONSUMERS 3

static void test_sleeps_until_the_time_is_up(void **state)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct gp__cond cond = { 0 };
	uint64_t until = gp__clock_ns() + 2000000;

	(void)state;
	pthread_mutex_lock(&lock);
	errno = EXDEV;
	while (gp__cond_wait(&cond, &lock, until) == 0)
		;
	assert_true(gp__clock_ns() >= until);
	assert_int_equal(gp__cond_wait(&cond, &lock, 0), -ETIMEDOUT);
	/* It is held again, and errno is the caller's own. */
	assert_int_equal(pthread_mutex_trylock(&lock), EBUSY);
	assert_int_equal(errno, EXDEV);
	pthread_mutex_unlock(&lock);
}

struct market {
	pthread_mutex_t lock;
	struct gp__cond goods, sold;
	unsigned int stock, taken;
	unsigned int late; /* waits that timed out */
};

/* Each consumer sleeps in another way: the short sleeps end beside the wake-ups. */
static void *consume(void *arg)
{
	static const uint64_t patience[CONSUMERS] = { GP__FOREVER, LONG_NS, 20000 };
	static atomic_uint next;
	uint64_t sleep_ns = patience[atomic_fetch_add(&next, 1) % CONSUMERS];
	struct market *m = arg;

	pthread_mutex_lock(&m->lock);
	while (m->taken < TOKENS) {
		if (m->stock) {
			m->stock--;
			if (++m->taken == TOKENS)
				gp__cond_broadcast(&m->goods);
			gp__cond_signal(&m->sold);
			continue;
		}
		if (sleep_ns == GP__FOREVER)
			gp__cond_wait(&m->goods, &m->lock, GP__FOREVER);
		else if (gp__cond_wait(&m->goods, &m->lock, gp__clock_ns() + sleep_ns))
			m->late += sleep_ns == LONG_NS;
	}
	pthread_mutex_unlock(&m->lock);
	return NULL;
}

static void test_every_signal_reaches_somebody(void **state)
{
	struct market m = { .lock = PTHREAD_MUTEX_INITIALIZER };
	pthread_t consumer[CONSUMERS];
	unsigned int i;

	(void)state;
	for (i = 0; i < CONSUMERS; i++)
		assert_int_equal(pthread_create(&consumer[i], NULL, consume, &m), 0);
	pthread_mutex_lock(&m.lock);
	for (i = 0; i < TOKENS; i++) {
		m.stock++;
		gp__cond_signal(&m.goods);
		/* Two at most: with a full store no thread would sleep. */
		while (m.stock > 1 && !m.late)
			m.late += gp__cond_wait(&m.sold, &m.lock, gp__clock_ns() + LONG_NS) != 0;
	}
	pthread_mutex_unlock(&m.lock);
	for (i = 0; i < CONSUMERS; i++)
		pthread_join(consumer[i], NULL);
	assert_int_equal(m.taken, TOKENS);
	assert_int_equal(m.late, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sleeps_until_the_time_is_up),
		cmocka_unit_test(test_every_signal_reaches_somebody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
