// SPDX-License-Identifier: MIT
/*
 * The pages shared with agents: orders are written into them, and the agents' reports are read from
 * them. The agent can write its status page at any time, so each field is loaded once and checked.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/gangs.h"
#include "daemon/server.h"

/* Work that comes and goes faster than this is read less often. */
#define NOTIFIES_PER_S 50000
#define NOTIFIES_BURST 5000
#define MUTE_NS (10 * GP__MS)

/*
 * Orders
 */

/* The first order of a hold tells how long the work that caused it has waited for that. */
static void note_cause(struct gp__group *g, u64 clock)
{
	if (g->cause_at)
		gp__buckets_record(&g->gpu->work, clock - g->cause_at);
	g->cause_at = 0;
}

void gp__pages_deliver(void *data, struct gp__program_queue *q, const struct gp__action *a)
{
	struct gp__server *s = data;
	struct gp__peer *p = q->group->program->peer;
	struct gp__wire_order_slot *slot = &p->order->slot[q->slot];
	u64 clock = gp__clock_ns();

	q->number = q->number == UINT32_MAX ? 1 : q->number + 1;
	q->issued_at = a->time;
	/* The order is stored last, with release: an agent that sees it sees the rest. */
	atomic_store_explicit(&slot->until_ns, s->now + p->ttl_ns, memory_order_relaxed);
	/* The clock, not the time of the turn: benchmarks see how long the decision took. */
	atomic_store_explicit(&slot->issued_ns, clock, memory_order_relaxed);
	atomic_store_explicit(&slot->order,
			      gp__wire_order(q->number, a->weight, (enum gp__wire_verb)q->verb),
			      memory_order_release);
	if (q->verb == GP__WIRE_HOLD)
		s->renew_at = gp__min_u64(s->renew_at, s->now + p->ttl_ns / GP__RENEWALS);
	note_cause(q->group, clock);
	gp__list_del(&p->notify_link);
	gp__list_push(&s->to_notify, &p->notify_link);
}

static void notify(int fd)
{
	/* A full pipe has a notification in it already. */
	ssize_t n = write(fd, "", 1);

	(void)n;
}

void gp__pages_notify(struct gp__server *s)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &s->to_notify)
	{
		struct gp__peer *p = container_of(l, struct gp__peer, notify_link);

		gp__list_del(&p->notify_link);
		notify(p->agent_notify_fd);
	}
}

u64 gp__pages_renew(struct gp__server *s)
{
	u64 shortest = s->config.ttl_ns;
	struct gp__link *l, *n;

	gp__list_each(l, n, &s->peers)
	{
		struct gp__peer *p = container_of(l, struct gp__peer, link);

		for (u32 i = 0; p->order && i < p->nr_slots; i++) {
			if (!p->queue[i] || p->queue[i]->verb != GP__WIRE_HOLD)
				continue;
			atomic_store_explicit(&p->order->slot[i].until_ns, s->now + p->ttl_ns,
					      memory_order_relaxed);
			shortest = gp__min_u64(shortest, p->ttl_ns);
		}
	}
	return shortest;
}

/*
 * Reports
 */

/* Repeats an order that the agent gave up, because it was not renewed in time. */
static void order_again(struct gp__server *s, struct gp__program_queue *q)
{
	struct gp__action again = { .time = s->now, .queue = &q->core };

	gp__pages_deliver(s, q, &again);
}

static void tell_lead(const struct gp__peer *p, const struct gp__program_queue *q)
{
	atomic_store(&p->order->slot[q->slot].lead_ns, gp__dev_lead_ns(&q->group->gpu->dev));
}

static void read_arriving(struct gp__server *s, struct gp__program_queue *q, u64 at)
{
	if (at == q->arriving)
		return;
	q->arriving = at;
	gp__entity_arriving(&q->group->entity, gp__min_u64(at, s->now + 3600 * GP__S), s->now);
	tell_lead(q->group->program->peer, q);
}

/* How long new work in the queue goes unseen. */
static u64 sees_within(const struct gp__wire_status_slot *slot)
{
	u32 sees = atomic_load_explicit(&slot->sees, memory_order_relaxed);

	return sees == GP__WIRE_SEES_LAUNCH ? 0 : GP__WIRE_POLL_NS;
}

/*
 * A deadline counts from the arrival of work. Where only the presence of a program is seen, under a
 * policy that needs arrivals, it would count from anything, so the program has none.
 */
static void drop_unseen_deadline(struct gp__server *s, const struct gp__wire_status_slot *slot,
				 struct gp__entity *e)
{
	u32 sees = atomic_load_explicit(&slot->sees, memory_order_relaxed);

	if (s->registry.core.policy->needs_arrivals && sees == GP__WIRE_SEES_PRESENCE &&
	    e->deadline_at)
		gp__entity_deadline(e, 0, s->now);
}

static void read_memory(struct gp__server *s, struct gp__peer *p, struct gp__program_queue *q)
{
	u64 memory = atomic_load_explicit(&gp__wire_memory(p->status, p->nr_slots)[q->slot],
					  memory_order_relaxed);

	if (gp__program_queue_memory(&s->registry, q, memory))
		gp__claims_memory(s, p);
}

void gp__pages_read_slot(struct gp__server *s, struct gp__peer *p, u32 i)
{
	struct gp__wire_status_slot *slot = &p->status->slot[i];
	struct gp__program_queue *q = p->queue[i];
	u64 done = atomic_load_explicit(&slot->done, memory_order_acquire);
	u64 work = atomic_load_explicit(&slot->work, memory_order_acquire);
	u64 before;

	if (!q)
		return;
	if (q->waits && (u32)(done >> 32) == q->number)
		gp__program_queue_done(&s->registry, q, q->number, (s32)(u32)done,
				       atomic_load_explicit(&slot->took_ns, memory_order_relaxed),
				       s->now);
	read_memory(s, p, q);
	if (q->verb == GP__WIRE_HOLD &&
	    atomic_load_explicit(&slot->expired, memory_order_relaxed) == q->number)
		order_again(s, q);
	before = q->work;
	q->work = work;
	/* See gp__program_stop(), and note_gone() in registry.c. */
	if (q->group->program->stopped || q->group->gone_in)
		return;
	/* Before the work, which ends the wait for announced work. */
	read_arriving(s, q, atomic_load_explicit(&slot->arriving_ns, memory_order_relaxed));
	if ((work & 1) && !(before & 1)) {
		gp__program_queue_arrived(
			&s->registry, q, atomic_load_explicit(&slot->seen_ns, memory_order_relaxed),
			s->now);
		gp__queue_ready(&q->core,
				atomic_load_explicit(&slot->pending, memory_order_relaxed), s->now);
	} else if (!(work & 1) && (before & 1)) {
		gp__queue_idle(&q->core, atomic_load_explicit(&slot->seen_ns, memory_order_relaxed),
			       sees_within(slot), s->now);
	}
	drop_unseen_deadline(s, slot, &q->group->entity);
}

void gp__pages_drop_deadlines(struct gp__server *s)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &s->peers)
	{
		struct gp__peer *p = container_of(l, struct gp__peer, link);

		for (u32 i = 0; p->queue && i < p->nr_slots; i++) {
			if (p->queue[i])
				drop_unseen_deadline(s, &p->status->slot[i],
						     &p->queue[i]->group->entity);
		}
	}
}

/* Reads the changes in a word of the page. */
static void read_word(struct gp__server *s, struct gp__peer *p, u32 w)
{
	u64 bits = atomic_exchange(&p->status->changed[w], 0);

	for (; bits; bits &= bits - 1) {
		u32 i = w * 64 + (u32)__builtin_ctzll(bits);

		if (i < p->nr_slots)
			gp__pages_read_slot(s, p, i);
	}
}

static u32 nr_words(const struct gp__peer *p)
{
	return (p->nr_slots - 1) / 64 + 1;
}

static void read_changes(struct gp__server *s, struct gp__peer *p)
{
	for (u32 w = 0; w < nr_words(p); w++)
		read_word(s, p, w);
	gp__registry_settle(&s->registry, s->now);
}

static void read_later(struct gp__server *s, struct gp__peer *p)
{
	p->changed = true;
	gp__serve_later(s, p, GP__LANE_REPORTS);
}

/* Reads the words up to the first one that has changes, and that one. A notification that comes
 * after the first word was read is about any of them: all are read again. */
enum gp__served gp__pages_serve(struct gp__server *s, struct gp__peer *p)
{
	bool any = false;

	if (!p->next_word)
		p->changed = false;
	while (!any && p->next_word < nr_words(p)) {
		u32 w = p->next_word++;

		any = atomic_load_explicit(&p->status->changed[w], memory_order_relaxed);
		if (any)
			read_word(s, p, w);
	}
	gp__registry_settle(&s->registry, s->now);
	if (p->next_word < nr_words(p))
		return GP__SERVED_PART;
	p->next_word = 0;
	return p->changed ? GP__SERVED_PART : GP__SERVED_ALL;
}

static void mute(struct gp__server *s, struct gp__peer *p, u64 until)
{
	p->muted_until = until;
	/* epoll always reports errors; edge-triggered, it does so only once. */
	gp__server_rewatch(s, &p->notify, EPOLLET);
}

/*
 * Handles a notification from an agent. The eventfd is never read: epoll is edge-triggered, and the
 * agent, which shares the open file, could make a read block.
 */
static void agent_notified(struct gp__server *s, struct gp__source *source, u32 events)
{
	struct gp__peer *p = container_of(source, struct gp__peer, notify);

	(void)events;
	if (p->dead)
		return;
	read_later(s, p);
	if (!gp__allowance_take(&p->notifies, NOTIFIES_PER_S, NOTIFIES_BURST, s->now))
		mute(s, p, s->now + MUTE_NS);
	else if (!p->admin && !gp__user_may_work(p->user, s->now))
		mute(s, p, gp__user_ready_at(p->user));
}

u64 gp__pages_unmute(struct gp__server *s)
{
	u64 next = GP__NEVER;
	struct gp__link *l, *n;

	gp__list_each(l, n, &s->peers)
	{
		struct gp__peer *p = container_of(l, struct gp__peer, link);

		if (!p->muted_until)
			continue;
		if (p->muted_until > s->now) {
			next = gp__min_u64(next, p->muted_until);
			continue;
		}
		p->muted_until = 0;
		gp__server_rewatch(s, &p->notify, EPOLLIN | EPOLLET);
	}
	return next;
}

static void say_gave_up(struct gp__server *s, struct gp__named_gang *g)
{
	if (g->state != GP__WIRE_GANG_GAVE_UP || g->said)
		return;
	g->said = true;
	gp__log_warning(s->log,
			"gang '%s' of user %u: %u of %u members have joined within %llu s; they "
			"run ungrouped",
			g->name, g->user->uid, g->nr_programs, g->size, GP__GANG_WAIT_NS / GP__S);
}

/* Tells the agent about its gang. Whether that is news. */
static bool set_gang(struct gp__server *s, struct gp__peer *p)
{
	u32 state = gp__program_gang_state(&p->program);

	if (p->program.gang)
		say_gave_up(s, p->program.gang);
	return atomic_exchange(&p->order->gang, state) != state;
}

static void tell_leads(const struct gp__peer *p)
{
	for (u32 i = 0; i < p->nr_slots; i++) {
		if (p->queue[i])
			tell_lead(p, p->queue[i]);
	}
}

bool gp__pages_tell(struct gp__server *s)
{
	struct gp__link *l, *n;
	bool any = false;

	gp__list_each(l, n, &s->registry.changed)
	{
		struct gp__program *program = container_of(l, struct gp__program, changed);
		struct gp__peer *p = program->peer;
		u32 alone = gp__program_is_alone(program);
		bool gang_changed = set_gang(s, p);
		bool alone_changed = atomic_exchange(&p->order->alone, alone) != alone;

		gp__list_del(&program->changed);
		if (!alone)
			tell_leads(p);
		if (!gang_changed && !alone_changed)
			continue;
		if (!alone && alone_changed)
			read_later(s, p);
		any |= !alone && alone_changed;
		gp__list_del(&p->notify_link);
		gp__list_push(&s->to_notify, &p->notify_link);
	}
	return any;
}

void gp__pages_read_alone(struct gp__server *s, struct gp__peer *p)
{
	if (gp__program_is_alone(&p->program))
		read_changes(s, p);
}

/*
 * Memory
 */

void gp__pages_init(struct gp__peer *p)
{
	p->notify = (struct gp__source){ -1, agent_notified };
	p->agent_notify_fd = -1;
}

/* For the latest version: the agent of an earlier one maps less. */
static size_t status_bytes(u32 nr_slots)
{
	return gp__wire_status_bytes(nr_slots, GP__WIRE_VERSION);
}

/* Makes memory that is sealed against being resized, so that no access to it can fault. */
static int make_memory(const char *name, size_t bytes, bool theirs_to_write, void **at)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING), err;
	int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)bytes))
		goto fail;
	*at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*at == MAP_FAILED)
		goto fail;
	/* The agent can only map it for reading; our mapping stays writable. */
	if (!theirs_to_write)
		seals |= F_SEAL_FUTURE_WRITE;
	if (!fcntl(fd, F_ADD_SEALS, seals))
		return fd;
	munmap(*at, bytes);
fail:
	err = -errno;
	*at = NULL;
	close(fd);
	return err;
}

/* The two ends are separate open files, so that the agent cannot make our end blocking. */
static int make_agent_pipe(struct gp__peer *p, int *theirs)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	*theirs = ends[0];
	p->agent_notify_fd = ends[1];
	return 0;
}

int gp__pages_make(struct gp__peer *p, u32 nr_slots, int fds[4])
{
	void *status = NULL, *order = NULL;

	p->queue = calloc(nr_slots, sizeof(*p->queue));
	p->nr_slots = nr_slots;
	if (!p->queue)
		return -ENOMEM;
	fds[0] = make_memory("gpreempt-status", status_bytes(nr_slots), true, &status);
	p->status = status;
	if (fds[0] < 0)
		return fds[0];
	fds[1] = make_memory("gpreempt-order", gp__wire_order_bytes(nr_slots), false, &order);
	p->order = order;
	if (fds[1] < 0)
		return fds[1];
	fds[2] = p->notify.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return fds[2] < 0 ? -errno : make_agent_pipe(p, &fds[3]);
}

void gp__pages_free(struct gp__peer *p)
{
	if (p->status)
		munmap(p->status, status_bytes(p->nr_slots));
	if (p->order)
		munmap(p->order, gp__wire_order_bytes(p->nr_slots));
	if (p->notify.fd >= 0)
		close(p->notify.fd);
	if (p->agent_notify_fd >= 0)
		close(p->agent_notify_fd);
}
