// SPDX-License-Identifier: MIT
/*
 * The preemptible queue's state machine; pq.h has its guarantees.
 *
 * The state is not stored but follows from three things: which holders hold the queue, how the
 * device is held, and which call is being carried out. Every change of them ends in settle(), which
 * takes the steps that need no device.
 */
#include "queue/pq.h"

#include <errno.h>
#include <string.h>

#include "queue/level.h"

/* The device will never do this, however often it is asked. */
static bool is_refusal(int rc)
{
	return rc == -EOPNOTSUPP || rc == -ENOSYS || rc == -EPERM || rc == -ENOTTY;
}

/* Threads read the clock before they get to report; time may seem to run back. */
static uint64_t since(uint64_t then, uint64_t now)
{
	return now > then ? now - then : 0;
}

static int effective_level(uint32_t caps, int requested)
{
	uint32_t available = GP__HAS_LEVEL(1);

	if (caps & GP__PQ_CAP_LV2)
		available |= GP__HAS_LEVEL(2);
	if (caps & GP__PQ_CAP_LV3)
		available |= GP__HAS_LEVEL(3);
	return (int)gp__level_effective((uint32_t)requested, available);
}

/*
 * A hold at level 2 leaves commands frozen in the device. A holder that wants nothing left running
 * could not see that from completions alone, so if the device cannot tell, its promise is kept by
 * draining instead.
 */
static int stop_level_wanted(const struct gp__pq *pq)
{
	if (pq->effective == 2 && pq->drain && !(pq->caps & GP__PQ_CAP_PENDING))
		return 1;
	return pq->effective;
}

static int op_level(enum gp__pq_op op)
{
	switch (op) {
	case GP__PQ_INTERRUPT:
	case GP__PQ_RESTORE:
		return 3;
	case GP__PQ_DEACTIVATE:
	case GP__PQ_REACTIVATE:
		return 2;
	default:
		return 1;
	}
}

int gp__pq_init(struct gp__pq *pq, const struct gp__pq_config *cfg)
{
	int requested = cfg->level ? cfg->level : GP__LEVEL_BEST;

	if (cfg->level < 0 || cfg->level > 3)
		return -EINVAL;
	if (cfg->window && cfg->batch > cfg->window)
		return -EINVAL;

	memset(pq, 0, sizeof(*pq));
	pq->cfg = *cfg;
	if (!pq->cfg.budget_ns)
		pq->cfg.budget_ns = GP__PQ_BUDGET_NS;
	if (!pq->cfg.wide)
		pq->cfg.wide = GP__PQ_WIDE;
	pq->caps = cfg->caps;
	pq->requested = requested;
	pq->effective = effective_level(pq->caps, requested);
	if (cfg->strict && cfg->level && pq->effective != cfg->level)
		return -EOPNOTSUPP;
	gp__window_init(&pq->win, pq->cfg.budget_ns, GP__WINDOW_MAX);
	return 0;
}

static void note_quiet(struct gp__pq *pq, uint64_t now)
{
	if (pq->quiet_known || !gp__pq_quiet(pq))
		return;
	pq->quiet_known = true;
	pq->last_quiet_ns = since(pq->asked_at, now);
}

/* A hold has taken effect: what it promised is true from now on. */
static void stopped(struct gp__pq *pq, uint64_t now)
{
	pq->count.suspends++;
	pq->last_suspend_ns = since(pq->asked_at, now);
	pq->quiet_known = false;
	gp__window_break(&pq->win);
	note_quiet(pq, now);
}

static void stop(struct gp__pq *pq, int level, uint64_t now)
{
	pq->stop_level = level;
	pq->quiet_ticket = level == 3 ? pq->completed : pq->launched;
	pq->tries = 0;
	pq->eintr = 0;
	stopped(pq, now);
}

static void started(struct gp__pq *pq)
{
	pq->count.resumes++;
	pq->stop_level = 0;
	pq->unsure = false;
	pq->eintr = 0;
	pq->tries = 0;
	pq->retry_at = 0;
}

/* The steps that need no call into the device: level 1, both ways. */
static void settle(struct gp__pq *pq, uint64_t now)
{
	if (pq->op != GP__PQ_NONE)
		return;
	if (!pq->holds && pq->stop_level == 1)
		started(pq);
	else if (pq->holds && !pq->stop_level && stop_level_wanted(pq) == 1)
		stop(pq, 1, now);
}

uint64_t gp__pq_submit(struct gp__pq *pq, uint64_t now)
{
	(void)now;
	return pq->closing ? 0 : ++pq->submitted;
}

void gp__pq_complete(struct gp__pq *pq, uint64_t ticket, bool exact, uint64_t now)
{
	uint64_t n;

	if (ticket > pq->launched)
		ticket = pq->launched;
	if (ticket <= pq->completed)
		return;
	n = ticket - pq->completed;
	pq->completed = ticket;
	gp__window_complete(&pq->win, (uint32_t)n, exact, gp__pq_inflight(pq) > 0, now);
	note_quiet(pq, now);
}

int gp__pq_hold(struct gp__pq *pq, enum gp__pq_holder by, bool drain, uint64_t now)
{
	bool first = !pq->holds;

	if (pq->closing)
		return -ESHUTDOWN;
	pq->holds |= by;
	pq->drain |= drain;
	if (first) {
		pq->asked_at = now;
		pq->eintr = 0;
		/* Still stopped from last time: nothing to do again. */
		if (pq->stop_level && !pq->unsure && pq->op == GP__PQ_NONE)
			stopped(pq, now);
	}
	settle(pq, now);
	return 0;
}

void gp__pq_release(struct gp__pq *pq, enum gp__pq_holder by, uint64_t now)
{
	pq->holds &= ~(uint32_t)by;
	if (pq->holds)
		return;
	pq->drain = false;
	settle(pq, now);
}

uint64_t gp__pq_close(struct gp__pq *pq, uint64_t *last, uint64_t now)
{
	*last = pq->submitted;
	pq->closing = true;
	pq->submitted = pq->launched;
	pq->holds = 0;
	pq->drain = false;
	settle(pq, now);
	return pq->launched + 1;
}

/* Stopped, and it should not be. */
static bool owes_start(const struct gp__pq *pq)
{
	return pq->stop_level && (!pq->holds || pq->unsure);
}

static enum gp__pq_op due(const struct gp__pq *pq, uint64_t now)
{
	if (pq->op != GP__PQ_NONE)
		return GP__PQ_NONE;
	if (pq->stop_level) {
		if (!owes_start(pq) || now < pq->retry_at)
			return GP__PQ_NONE;
		return pq->stop_level == 3 ? GP__PQ_RESTORE : GP__PQ_REACTIVATE;
	}
	if (pq->holds)
		return stop_level_wanted(pq) == 3 ? GP__PQ_INTERRUPT : GP__PQ_DEACTIVATE;
	if (gp__pq_pending(pq) && gp__pq_inflight(pq) < gp__pq_window(pq))
		return GP__PQ_LAUNCH;
	return GP__PQ_NONE;
}

struct gp__pq_action gp__pq_peek(const struct gp__pq *pq, uint64_t now)
{
	enum gp__pq_op op = due(pq, now);
	bool later = op == GP__PQ_NONE && pq->op == GP__PQ_NONE && owes_start(pq);

	return (struct gp__pq_action){
		.op = op,
		.ticket = op == GP__PQ_LAUNCH ? pq->launched + 1 : 0,
		.wake_at = later ? pq->retry_at : 0,
	};
}

struct gp__pq_action gp__pq_next(struct gp__pq *pq, unsigned int may, uint64_t now)
{
	struct gp__pq_action act = gp__pq_peek(pq, now);
	unsigned int need = act.op == GP__PQ_LAUNCH ? GP__PQ_MAY_LAUNCH : GP__PQ_MAY_VERB;

	if (act.op == GP__PQ_NONE)
		return act;
	if (!(may & need))
		return (struct gp__pq_action){ .op = GP__PQ_NONE };
	pq->op = act.op;
	if (act.op == GP__PQ_LAUNCH) {
		if (!gp__pq_inflight(pq))
			gp__window_start(&pq->win, now);
		pq->launched++;
	} else {
		gp__window_break(&pq->win);
	}
	return act;
}

/*
 * The queue keeps running, and its holders are told so. A stop that timed out may still happen
 * later, so it is undone as if it had happened.
 */
static enum gp__pq_note stop_failed(struct gp__pq *pq, int level, int rc)
{
	pq->last_error = rc;
	pq->count.failures++;
	pq->holds = 0;
	pq->drain = false;
	if (rc == -ETIMEDOUT) {
		pq->stop_level = level;
		pq->unsure = true;
	}
	return GP__PQ_NOTE_STOP_FAILED;
}

static enum gp__pq_note stop_done(struct gp__pq *pq, int level, int rc, uint64_t now)
{
	if (!rc) {
		stop(pq, level, now);
		return GP__PQ_NOTE_NONE;
	}
	if (rc == -EINTR && ++pq->eintr < GP__PQ_EINTR_MAX)
		return GP__PQ_NOTE_NONE;
	if (!is_refusal(rc) || pq->cfg.strict)
		return stop_failed(pq, level, rc);

	pq->last_error = rc;
	pq->caps &= level == 3 ? ~GP__PQ_CAP_LV3 : ~GP__PQ_CAP_LV2;
	pq->effective = effective_level(pq->caps, pq->requested);
	pq->count.fallbacks++;
	return GP__PQ_NOTE_FALLBACK;
}

static void retry_later(struct gp__pq *pq, uint64_t now)
{
	uint64_t pause = GP__PQ_RETRY_MIN_NS;
	uint32_t i;

	for (i = 1; i < pq->tries && pause < GP__PQ_RETRY_MAX_NS; i++)
		pause *= 2;
	if (pause > GP__PQ_RETRY_MAX_NS)
		pause = GP__PQ_RETRY_MAX_NS;
	pq->retry_at = now + pause;
}

static enum gp__pq_note start_done(struct gp__pq *pq, int rc, uint64_t now)
{
	bool late = pq->tries > 0;

	/* The stop that timed out had not happened, or the release had. */
	if (pq->unsure && (rc == -EALREADY || rc == -EINVAL))
		rc = 0;
	if (!rc) {
		started(pq);
		return late ? GP__PQ_NOTE_START_RECOVERED : GP__PQ_NOTE_NONE;
	}
	if (rc == -EINTR && ++pq->eintr < GP__PQ_EINTR_MAX)
		return GP__PQ_NOTE_NONE;

	pq->eintr = 0;
	pq->last_error = rc;
	pq->tries++;
	pq->count.retries++;
	/* It may have been released after all, and must not count as stopped. */
	pq->unsure |= rc == -ETIMEDOUT;
	retry_later(pq, now);
	/* It is to be held again in the meantime, and was never released. */
	if (pq->holds && !pq->unsure)
		stopped(pq, now);
	return late ? GP__PQ_NOTE_NONE : GP__PQ_NOTE_START_FAILED;
}

enum gp__pq_note gp__pq_done(struct gp__pq *pq, int rc, uint64_t now)
{
	enum gp__pq_note note = GP__PQ_NOTE_NONE;
	enum gp__pq_op op = pq->op;

	pq->op = GP__PQ_NONE;
	switch (op) {
	case GP__PQ_LAUNCH:
		if (!rc)
			pq->count.launches++;
		else
			gp__window_break(&pq->win);
		break;
	case GP__PQ_DEACTIVATE:
	case GP__PQ_INTERRUPT:
		note = stop_done(pq, op_level(op), rc, now);
		break;
	case GP__PQ_REACTIVATE:
	case GP__PQ_RESTORE:
		note = start_done(pq, rc, now);
		break;
	case GP__PQ_BORROWED:
	case GP__PQ_NONE:
		break;
	}
	settle(pq, now);
	return note;
}

bool gp__pq_borrow(struct gp__pq *pq)
{
	if (pq->op != GP__PQ_NONE)
		return false;
	pq->op = GP__PQ_BORROWED;
	return true;
}

void gp__pq_unstarted(struct gp__pq *pq, int64_t n, uint64_t now)
{
	if (n < 0) {
		pq->caps &= ~GP__PQ_CAP_PENDING;
		return;
	}
	if (pq->stop_level != 2)
		return;
	pq->quiet_ticket = (uint64_t)n < pq->launched ? pq->launched - (uint64_t)n : 0;
	note_quiet(pq, now);
}

enum gp__pq_state gp__pq_state(const struct gp__pq *pq)
{
	if (pq->op == GP__PQ_DEACTIVATE || pq->op == GP__PQ_INTERRUPT)
		return GP__PQ_SUSPENDING;
	if (pq->op == GP__PQ_REACTIVATE || pq->op == GP__PQ_RESTORE)
		return GP__PQ_RESUMING;
	if (pq->stop_level)
		return pq->holds && !pq->unsure ? GP__PQ_SUSPENDED : GP__PQ_RESUMING;
	return pq->holds ? GP__PQ_SUSPENDING : GP__PQ_RUNNING;
}

const char *gp__pq_op_name(enum gp__pq_op op)
{
	static const char *const names[] = {
		[GP__PQ_NONE] = "none",
		[GP__PQ_LAUNCH] = "nlaunch",
		[GP__PQ_DEACTIVATE] = "deactivate",
		[GP__PQ_REACTIVATE] = "reactivate",
		[GP__PQ_INTERRUPT] = "interrupt",
		[GP__PQ_RESTORE] = "restore",
		[GP__PQ_BORROWED] = "borrowed",
	};

	return names[op];
}

bool gp__pq_quiet(const struct gp__pq *pq)
{
	return gp__pq_state(pq) == GP__PQ_SUSPENDED && pq->completed >= pq->quiet_ticket;
}

bool gp__pq_can_quiet(const struct gp__pq *pq)
{
	return pq->stop_level != 2 || (pq->caps & GP__PQ_CAP_PENDING) ||
	       pq->completed >= pq->quiet_ticket;
}

bool gp__pq_closed(const struct gp__pq *pq)
{
	return pq->closing && pq->op == GP__PQ_NONE && !gp__pq_inflight(pq) &&
	       (!pq->stop_level || pq->tries >= GP__PQ_CLOSE_TRIES);
}

void gp__pq_set_window(struct gp__pq *pq, uint32_t window)
{
	pq->cfg.window = window;
}

uint32_t gp__pq_window(const struct gp__pq *pq)
{
	if (pq->effective > 1)
		return pq->cfg.wide;
	return pq->cfg.window ? pq->cfg.window : pq->win.size;
}

uint32_t gp__pq_batch(const struct gp__pq *pq)
{
	uint32_t window = gp__pq_window(pq);

	if (!pq->cfg.batch)
		return gp__window_batch(pq->win.est_ns, window);
	return pq->cfg.batch < window ? pq->cfg.batch : window;
}

uint64_t gp__pq_sync_target(const struct gp__pq *pq, uint64_t wanted)
{
	uint64_t newest = pq->launched - (pq->op == GP__PQ_LAUNCH);
	uint64_t target = pq->completed + gp__pq_batch(pq);

	if (pq->completed >= newest)
		return 0;
	if (wanted > pq->completed && wanted < target)
		target = wanted;
	return target < newest ? target : newest;
}
