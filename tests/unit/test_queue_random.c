// SPDX-License-Identifier: MIT
/*
 * Random sequences over the state machine and a model of a device that fails,
 * is slow, and sometimes stops although it said it timed out. What pq.h
 * promises is checked after every step.
 *
 * The seed is printed. GP_TEST_SEED=N repeats a run, GP_TEST_STEPS=N cuts it
 * short; a failure prints both and the last steps.
 */
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "queue/pq.h"

#define ROUNDS 2000
#define STEPS 600
#define TRAIL 40

struct model {
	struct gp__pq pq;
	uint64_t rng, seed, now;
	unsigned int step;

	/* The device as it really is. */
	bool interrupted, inactive;
	bool started; /* its first command has begun */
	uint64_t failed_launch; /* a ticket that has to be passed on, or 0 */
	bool healthy;

	/* The call being carried out. */
	enum gp__pq_op op;
	uint64_t ends_at;

	uint64_t launched; /* last ticket given to the device */
	bool closed;
	uint64_t first_cancelled, submitted_before_close;

	char trail[TRAIL][96];
	const char *broken;
};

static uint64_t rnd(struct model *m, uint64_t n)
{
	uint64_t z = (m->rng += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return (z ^ (z >> 31)) % n;
}

__attribute__((format(printf, 2, 3))) static void trail(struct model *m, const char *fmt, ...)
{
	char *line = m->trail[m->step % TRAIL];
	int n = snprintf(line, sizeof(m->trail[0]), "%6u %12llu ", m->step,
			 (unsigned long long)m->now);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line + n, sizeof(m->trail[0]) - (size_t)n, fmt, ap);
	va_end(ap);
}

#define must(m, cond)                        \
	do {                                 \
		if (!(cond) && !(m)->broken) \
			(m)->broken = #cond; \
	} while (0)

/* ------------------------------------------------------------- the device -- */

static void device_settle(struct model *m)
{
	uint64_t newest = m->pq.launched - (m->op == GP__PQ_LAUNCH);

	if (!m->interrupted && !m->inactive && m->pq.completed < newest &&
	    m->failed_launch != m->pq.completed + 1)
		m->started = true;
}

static bool device_runs(const struct model *m)
{
	return m->started && !m->interrupted;
}

static int random_result(struct model *m)
{
	static const int errors[] = { -EINTR, -EAGAIN,	   -EBUSY,  -ETIMEDOUT,
				      -EIO,   -EOPNOTSUPP, -ENOSYS, -EPERM };

	if (m->healthy || rnd(m, 4))
		return 0;
	/* Refusals are for good, so they are rarer. */
	return errors[rnd(m, rnd(m, 8) ? 5 : 8)];
}

static void device_effect(struct model *m, enum gp__pq_op op, int rc)
{
	bool happened = !rc || (rc == -ETIMEDOUT && rnd(m, 2));

	switch (op) {
	case GP__PQ_INTERRUPT:
		m->interrupted |= happened;
		break;
	case GP__PQ_RESTORE:
		m->interrupted &= !happened;
		break;
	case GP__PQ_DEACTIVATE:
		m->inactive |= happened;
		break;
	case GP__PQ_REACTIVATE:
		m->inactive &= !happened;
		break;
	default:
		break;
	}
}

/* ------------------------------------------------------------------ steps -- */

static void begin(struct model *m)
{
	struct gp__pq_action act = gp__pq_next(&m->pq, GP__PQ_MAY_ALL, m->now);

	if (act.op == GP__PQ_NONE) {
		trail(m, "nothing to do, wake at %llu", (unsigned long long)act.wake_at);
		if (act.wake_at && rnd(m, 2))
			m->now = act.wake_at;
		return;
	}
	must(m, m->op == GP__PQ_NONE);
	m->op = act.op;
	m->ends_at = m->now + rnd(m, 20000);
	trail(m, "begin %s %llu", gp__pq_op_name(act.op), (unsigned long long)act.ticket);
	if (act.op != GP__PQ_LAUNCH)
		return;
	must(m, act.ticket == m->launched + 1);
	must(m, !m->pq.holds);
	must(m, !m->interrupted && !m->inactive);
	must(m, !m->closed);
	must(m, gp__pq_inflight(&m->pq) <= gp__pq_window(&m->pq));
	m->launched = act.ticket;
}

static void finish(struct model *m)
{
	enum gp__pq_op op = m->op;
	enum gp__pq_note note;
	uint64_t failures = m->pq.count.failures;
	int effective = m->pq.effective, rc;

	if (op == GP__PQ_NONE)
		return;
	if (m->now < m->ends_at)
		m->now = m->ends_at;
	rc = op == GP__PQ_LAUNCH && rnd(m, 20) ? 0 : random_result(m);
	if (op == GP__PQ_LAUNCH && m->failed_launch)
		rc = 0;
	m->op = GP__PQ_NONE;
	device_effect(m, op, rc);
	note = gp__pq_done(&m->pq, rc, m->now);
	trail(m, "%s returned %d, note %d", gp__pq_op_name(op), rc, (int)note);

	if (op == GP__PQ_DEACTIVATE && !rc && (m->pq.caps & GP__PQ_CAP_PENDING))
		gp__pq_unstarted(&m->pq, (int64_t)(gp__pq_inflight(&m->pq) - m->started), m->now);
	if (op == GP__PQ_LAUNCH && rc)
		m->failed_launch = m->launched;
	if (m->pq.count.failures != failures) {
		must(m, note == GP__PQ_NOTE_STOP_FAILED);
		must(m, !m->pq.holds);
		must(m, m->pq.effective == effective);
	}
	if (m->pq.effective != effective) {
		must(m, note == GP__PQ_NOTE_FALLBACK);
		must(m, m->pq.effective < effective && !m->pq.cfg.strict);
	}
}

static void complete(struct model *m)
{
	uint64_t ticket = m->pq.completed + 1;

	device_settle(m);
	if (m->failed_launch == ticket) {
		m->failed_launch = 0;
	} else {
		if (!device_runs(m))
			return;
		m->started = false;
	}
	trail(m, "complete %llu", (unsigned long long)ticket);
	gp__pq_complete(&m->pq, ticket, rnd(m, 4) != 0, m->now);
	must(m, m->pq.completed == ticket);
	device_settle(m);
}

static void hold(struct model *m)
{
	enum gp__pq_holder by = rnd(m, 2) ? GP__PQ_BY_USER : GP__PQ_BY_SCHED;
	bool drain = rnd(m, 2);
	int rc = gp__pq_hold(&m->pq, by, drain, m->now);

	trail(m, "hold by %d%s: %d", (int)by, drain ? " drain" : "", rc);
	must(m, rc == (m->closed ? -ESHUTDOWN : 0));
}

static void release(struct model *m)
{
	enum gp__pq_holder by = rnd(m, 2) ? GP__PQ_BY_USER : GP__PQ_BY_SCHED;

	trail(m, "release by %d", (int)by);
	gp__pq_release(&m->pq, by, m->now);
}

static void close_queue(struct model *m)
{
	if (m->closed)
		return;
	m->closed = true;
	m->submitted_before_close = m->pq.submitted;
	m->first_cancelled = gp__pq_close(&m->pq, &m->submitted_before_close, m->now);
	trail(m, "close, first cancelled %llu", (unsigned long long)m->first_cancelled);
	must(m, m->first_cancelled == m->launched + 1);
}

static void check(struct model *m)
{
	const struct gp__pq *pq = &m->pq;
	enum gp__pq_state state = gp__pq_state(pq);

	must(m, pq->completed <= pq->launched && pq->launched <= pq->submitted);
	must(m, pq->op == m->op);
	must(m, pq->launched == m->launched);
	must(m, pq->effective <= pq->requested);
	must(m, state != GP__PQ_SUSPENDED || pq->holds);
	if (state == GP__PQ_SUSPENDED && pq->stop_level == 3)
		must(m, m->interrupted);
	if (state == GP__PQ_SUSPENDED && pq->stop_level == 2)
		must(m, m->inactive);
	/* A queue that is really stopped will be started again. */
	if (m->interrupted || m->inactive)
		must(m, pq->stop_level || pq->op == GP__PQ_RESTORE || pq->op == GP__PQ_REACTIVATE);
	if (gp__pq_quiet(pq))
		must(m, !device_runs(m));
}

static void random_step(struct model *m)
{
	m->now += rnd(m, 5000);
	trail(m, "-");
	switch (rnd(m, 16)) {
	case 0:
	case 1:
	case 2:
		trail(m, "submit %llu", (unsigned long long)gp__pq_submit(&m->pq, m->now));
		break;
	case 3:
		hold(m);
		break;
	case 4:
	case 5:
		release(m);
		break;
	case 6:
	case 7:
	case 8:
	case 9:
		begin(m);
		break;
	case 10:
	case 11:
	case 12:
		finish(m);
		break;
	case 13:
	case 14:
		complete(m);
		break;
	default:
		trail(m, "time");
		if (!rnd(m, 60))
			close_queue(m);
		break;
	}
	device_settle(m);
	check(m);
	m->step++;
}

/* No holder holds it and the device works: everything must end. */
static void run_out(struct model *m)
{
	unsigned int i;

	m->healthy = true;
	gp__pq_release(&m->pq, GP__PQ_BY_USER, m->now);
	gp__pq_release(&m->pq, GP__PQ_BY_SCHED, m->now);
	for (i = 0; i < 20000 && !m->broken; i++) {
		m->now += 1000;
		trail(m, "-");
		finish(m);
		complete(m);
		begin(m);
		device_settle(m);
		check(m);
		m->step++;
		if (!gp__pq_has_work(&m->pq) && gp__pq_state(&m->pq) == GP__PQ_RUNNING &&
		    m->op == GP__PQ_NONE)
			break;
	}
	must(m, !gp__pq_has_work(&m->pq));
	must(m, gp__pq_state(&m->pq) == GP__PQ_RUNNING);
	must(m, !m->interrupted && !m->inactive);
	must(m, m->pq.completed == m->launched);
	must(m, !m->closed || gp__pq_closed(&m->pq));
	must(m, !m->closed || m->launched + 1 == m->first_cancelled);
}

static void model_init(struct model *m, uint64_t seed)
{
	struct gp__pq_config cfg;

	memset(m, 0, sizeof(*m));
	m->rng = m->seed = seed;
	cfg = (struct gp__pq_config){
		.caps = (uint32_t)rnd(m, 8),
		.level = (int)rnd(m, 4),
		.strict = !rnd(m, 4),
		.window = (uint32_t)rnd(m, 5),
		.wide = (uint32_t)(1 + rnd(m, 8)),
	};
	if (cfg.window)
		cfg.batch = (uint32_t)rnd(m, cfg.window + 1);
	if (gp__pq_init(&m->pq, &cfg) == -EOPNOTSUPP) {
		cfg.strict = false;
		must(m, !gp__pq_init(&m->pq, &cfg));
	}
}

static void tell(const struct model *m, unsigned int steps)
{
	unsigned int i = m->step > TRAIL ? m->step - TRAIL : 0;

	for (; i <= m->step; i++)
		print_error("%s\n", m->trail[i % TRAIL]);
	print_error("repeat with GP_TEST_SEED=%llu GP_TEST_STEPS=%u\n", (unsigned long long)m->seed,
		    m->step < steps ? m->step : steps);
}

static void one_round(uint64_t seed, unsigned int steps)
{
	static struct model m;

	model_init(&m, seed);
	while (m.step < steps && !m.broken)
		random_step(&m);
	if (!m.broken)
		run_out(&m);
	if (m.broken) {
		tell(&m, steps);
		fail_msg("at step %u does not hold: %s", m.step, m.broken);
	}
}

static void test_random_sequences(void **state)
{
	const char *text = getenv("GP_TEST_SEED"), *cut = getenv("GP_TEST_STEPS");
	uint64_t seed = text ? strtoull(text, NULL, 0) : (uint64_t)time(NULL) * 1000003;
	unsigned int steps = cut ? (unsigned int)atoi(cut) : STEPS;
	unsigned int i, rounds = text ? 1 : ROUNDS;

	(void)state;
	print_message("seed %llu, %u rounds of %u steps\n", (unsigned long long)seed, rounds,
		      steps);
	for (i = 0; i < rounds; i++)
		one_round(seed + i, steps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_sequences),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
