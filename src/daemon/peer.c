// SPDX-License-Identifier: MIT
/*
 * A connection, and the memory that is shared with an agent. Whatever comes from the other side may
 * be anything: each field is loaded once, and a message that is not right ends the connection.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/server.h"

#define QUEUES_OF_USER 8192
#define GROUPS_OF_USER 1024
#define GPUS_OF_USER 64
#define MESSAGES_PER_S 2000
#define MESSAGES_BURST 4000
#define MESSAGES_AT_ONCE 32
/* Work that comes and goes faster than this is looked at less often. */
#define RINGS_PER_S 50000
#define RINGS_BURST 5000
#define MUTE_NS (10 * GP__MS)

bool gp__allowance_take(struct gp__allowance *a, u64 per_s, u64 burst, u64 now)
{
	u64 each = GP__S / per_s, oldest = now > burst * each ? now - burst * each : 0;

	if (a->empty_until < oldest)
		a->empty_until = oldest;
	if (a->empty_until + each > now)
		return false;
	a->empty_until += each;
	return true;
}

/*
 * Orders
 */

void gp__peer_deliver(void *data, struct gp__lodger *l, const struct gp__action *a)
{
	struct gp__server *s = data;
	struct gp__peer *p = l->group->program->peer;
	struct gp__wire_down_slot *slot = &p->down->slot[l->slot];

	l->number = l->number == UINT32_MAX ? 1 : l->number + 1;
	l->issued_at = a->time;
	/* The order comes last: who sees it sees the rest. */
	atomic_store_explicit(&slot->until_ns, s->now + p->ttl_ns, memory_order_relaxed);
	/* Not that of the turn: what it took to decide is to be seen. */
	atomic_store_explicit(&slot->issued_ns, gp__clock_ns(), memory_order_relaxed);
	atomic_store_explicit(&slot->order,
			      gp__wire_order(l->number, a->weight, (enum gp__wire_verb)l->verb),
			      memory_order_release);
	if (l->verb == GP__WIRE_STOP)
		s->renew_at = gp__min_u64(s->renew_at, s->now + p->ttl_ns / GP__RENEWALS);
	gp__list_del(&p->ringing);
	gp__list_push(&s->ringing, &p->ringing);
}

static void ring(int bell)
{
	/* A bell that is full has been rung. */
	ssize_t n = write(bell, "", 1);

	(void)n;
}

void gp__peers_ring(struct gp__server *s)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &s->ringing)
	{
		struct gp__peer *p = container_of(l, struct gp__peer, ringing);

		gp__list_del(&p->ringing);
		ring(p->agent_bell);
	}
}

u64 gp__peers_renew(struct gp__server *s)
{
	u64 shortest = s->config.ttl_ns;
	struct gp__link *l, *n;

	gp__list_each(l, n, &s->peers)
	{
		struct gp__peer *p = container_of(l, struct gp__peer, link);

		for (u32 i = 0; p->down && i < p->nr_slots; i++) {
			if (!p->lodger[i] || p->lodger[i]->verb != GP__WIRE_STOP)
				continue;
			atomic_store_explicit(&p->down->slot[i].until_ns, s->now + p->ttl_ns,
					      memory_order_relaxed);
			shortest = gp__min_u64(shortest, p->ttl_ns);
		}
	}
	return shortest;
}

/*
 * What agents report
 */

/* The agent gave the order up as it was not renewed in time; it still stands. */
static void order_again(struct gp__server *s, struct gp__lodger *l)
{
	struct gp__action again = { .time = s->now, .queue = &l->queue };

	gp__peer_deliver(s, l, &again);
}

static void read_arriving(struct gp__server *s, struct gp__lodger *l, u64 at)
{
	if (at == l->arriving)
		return;
	l->arriving = at;
	gp__entity_arriving(&l->group->entity, gp__min_u64(at, s->now + 3600 * GP__S), s->now);
}

static void read_slot(struct gp__server *s, struct gp__peer *p, u32 i)
{
	struct gp__wire_up_slot *slot = &p->up->slot[i];
	struct gp__lodger *l = p->lodger[i];
	u64 done = atomic_load_explicit(&slot->done, memory_order_acquire);
	u64 work = atomic_load_explicit(&slot->work, memory_order_acquire);
	u64 before;

	if (!l)
		return;
	if (l->waits && (u32)(done >> 32) == l->number)
		gp__lodger_done(&s->house, l, l->number, (s32)(u32)done,
				atomic_load_explicit(&slot->took_ns, memory_order_relaxed), s->now);
	if (l->verb == GP__WIRE_STOP &&
	    atomic_load_explicit(&slot->expired, memory_order_relaxed) == l->number)
		order_again(s, l);
	/* Before the work: what was announced and is there needs no room kept any more. */
	read_arriving(s, l, atomic_load_explicit(&slot->arriving_ns, memory_order_relaxed));
	before = l->work;
	l->work = work;
	if ((work & 1) && !(before & 1))
		gp__queue_ready(&l->queue,
				atomic_load_explicit(&slot->pending, memory_order_relaxed), s->now);
	else if (!(work & 1) && (before & 1))
		gp__queue_idle(&l->queue, s->now);
}

static void read_changes(struct gp__server *s, struct gp__peer *p)
{
	for (u32 w = 0; w <= (p->nr_slots - 1) / 64; w++) {
		u64 bits = atomic_exchange(&p->up->changed[w], 0);

		for (; bits; bits &= bits - 1) {
			u32 i = w * 64 + (u32)__builtin_ctzll(bits);

			if (i < p->nr_slots)
				read_slot(s, p, i);
		}
	}
	gp__house_settle(&s->house, s->now);
}

/*
 * The counter is never read: each ring is an edge of its own, and the agent, which shares the open
 * file, could have made a read wait.
 */
static void bell_rang(struct gp__server *s, struct gp__source *source, u32 events)
{
	struct gp__peer *p = container_of(source, struct gp__peer, bell);

	(void)events;
	if (p->dead)
		return;
	read_changes(s, p);
	if (!gp__allowance_take(&p->rings, RINGS_PER_S, RINGS_BURST, s->now)) {
		p->muted_until = s->now + MUTE_NS;
		/* Errors are told whether asked for or not: but not again and again. */
		gp__server_rewatch(s, &p->bell, EPOLLET);
	}
}

u64 gp__peers_unmute(struct gp__server *s)
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
		gp__server_rewatch(s, &p->bell, EPOLLIN | EPOLLET);
	}
	return next;
}

void gp__peers_set_alone(struct gp__server *s)
{
	struct gp__link *l, *n;

	s->house.crowd_changed = false;
	gp__list_each(l, n, &s->peers)
	{
		struct gp__peer *p = container_of(l, struct gp__peer, link);
		u32 alone;

		if (!p->down)
			continue;
		alone = gp__program_is_alone(&s->house, &p->program);
		if (atomic_exchange(&p->down->alone, alone) == alone)
			continue;
		if (!alone)
			read_changes(s, p);
		gp__list_del(&p->ringing);
		gp__list_push(&s->ringing, &p->ringing);
	}
}

void gp__peers_read_all(struct gp__server *s)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &s->peers)
	{
		struct gp__peer *p = container_of(l, struct gp__peer, link);

		if (p->up)
			read_changes(s, p);
	}
}

/*
 * Messages
 */

int gp__peer_reply(struct gp__server *s, struct gp__peer *p, u32 seq, int result, u32 id,
		   const char *text)
{
	struct gp__wire_reply reply = { .head = { sizeof(reply), GP__WIRE_REPLY, 0, seq, 0 },
					.result = result,
					.id = id };
	int err;

	gp__wire_text(reply.text, sizeof(reply.text), text ? text : "");
	s->nr_refused += result < 0;
	err = gp__wire_send(p->socket.fd, &reply, NULL, 0);
	if (err)
		gp__peer_drop(s, p, "it does not read its answers");
	return err;
}

/* Memory that cannot be resized, so that nobody's access to it can fail. */
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
	/* From now on no other mapping of it can be written to; ours stays as it is. */
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

/* Its ends are open files of their own, so that the agent cannot have us wait at ours. */
static int make_agent_bell(struct gp__peer *p, int *theirs)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	*theirs = ends[0];
	p->agent_bell = ends[1];
	return 0;
}

/* fds: up, down, the daemon's bell, the agent's bell. What was made stays for gp__peer_free(). */
static int make_room(struct gp__peer *p, u32 nr_slots, int fds[4])
{
	void *up = NULL, *down = NULL;

	p->lodger = calloc(nr_slots, sizeof(*p->lodger));
	p->nr_slots = nr_slots;
	if (!p->lodger)
		return -ENOMEM;
	fds[0] = make_memory("gpreempt-up", gp__wire_up_bytes(nr_slots), true, &up);
	p->up = up;
	if (fds[0] < 0)
		return fds[0];
	fds[1] = make_memory("gpreempt-down", gp__wire_down_bytes(nr_slots), false, &down);
	p->down = down;
	if (fds[1] < 0)
		return fds[1];
	fds[2] = p->bell.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return fds[2] < 0 ? -errno : make_agent_bell(p, &fds[3]);
}

static u32 count_programs(struct gp__server *s, uid_t uid)
{
	struct gp__link *l, *n;
	u32 nr = 0;

	gp__list_each(l, n, &s->house.programs) nr +=
		container_of(l, struct gp__program, link)->uid == uid;
	return nr;
}

static void welcome_agent(struct gp__server *s, struct gp__peer *p,
			  const struct gp__wire_hello *hello)
{
	struct gp__wire_welcome welcome = { .head = { sizeof(welcome), GP__WIRE_WELCOME, 0,
						      hello->head.seq, 0 },
					    .version = GP__WIRE_VERSION,
					    .ttl_ns = s->config.ttl_ns };
	int fds[4] = { -1, -1, -1, -1 }, err;
	u32 slots = hello->nr_slots;

	if (count_programs(s, p->cred.uid) >= p->limit.max_programs && !p->admin) {
		gp__peer_reply(s, p, hello->head.seq, -EDQUOT, 0,
			       "this user has as many programs joined as max_programs allows");
		return;
	}
	if (!p->limit.max_queues) {
		gp__peer_reply(s, p, hello->head.seq, -EDQUOT, 0,
			       "this user may have no queues scheduled: max_queues is 0");
		return;
	}
	slots = slots < 1 ? 1 : slots > p->limit.max_queues ? p->limit.max_queues : slots;
	err = make_room(p, slots, fds);
	if (!err)
		err = gp__server_watch(s, &p->bell, EPOLLIN | EPOLLET);
	if (err) {
		gp__peer_reply(s, p, hello->head.seq, err, 0, gp__door_explain(err));
		gp__peer_drop(s, p, "there is no room for its pages");
	} else {
		welcome.nr_slots = slots;
		p->ttl_ns = s->config.ttl_ns;
		p->role = GP__WIRE_AGENT;
		p->program.pid = p->cred.pid;
		p->program.uid = p->cred.uid;
		p->program.peer = p;
		memcpy(p->program.name, hello->program, sizeof(p->program.name));
		gp__program_enter(&s->house, &p->program, s->now);
		atomic_store(&p->down->alone, 1);
		if (gp__wire_send(p->socket.fd, &welcome, fds, 4))
			gp__peer_drop(s, p, "it does not read its welcome");
	}
	/* The memory is mapped; of the agent's bell, the other end stays. */
	for (int i = 0; i < 4; i++) {
		if (i != 2 && fds[i] >= 0)
			close(fds[i]);
	}
}

static void take_hello(struct gp__server *s, struct gp__peer *p, const struct gp__wire_hello *hello)
{
	struct gp__wire_welcome welcome = { .head = { sizeof(welcome), GP__WIRE_WELCOME, 0,
						      hello->head.seq, 0 },
					    .version = GP__WIRE_VERSION };

	if (p->role) {
		gp__peer_drop(s, p, "it says hello twice");
	} else if (hello->version_min > GP__WIRE_VERSION || hello->version_max < GP__WIRE_VERSION) {
		gp__peer_reply(s, p, hello->head.seq, -EPROTONOSUPPORT, 0,
			       "the daemon speaks version 1 of the protocol; install the same "
			       "version of gpreempt on both sides");
	} else if (hello->role == GP__WIRE_AGENT) {
		welcome_agent(s, p, hello);
	} else if (hello->role == GP__WIRE_CONTROL) {
		p->role = GP__WIRE_CONTROL;
		if (gp__wire_send(p->socket.fd, &welcome, NULL, 0))
			gp__peer_drop(s, p, "it does not read its welcome");
	} else {
		gp__peer_drop(s, p, "it has a role that is none");
	}
}

static u32 count_queues(struct gp__server *s, uid_t uid)
{
	struct gp__link *l, *n;
	u32 nr = 0;

	gp__list_each(l, n, &s->house.programs)
	{
		const struct gp__program *p = container_of(l, struct gp__program, link);

		nr += p->uid == uid ? p->nr_queues : 0;
	}
	return nr;
}

bool gp__exceeds_guarantees(const struct gp__server *s, u32 min_share_pct, u64 max_hold_ns)
{
	const u64 *cfg = s->house.core.cfg;

	u64 hold_ns = cfg[GP__CFG_MAX_HOLD_MS] * GP__MS; /* 0: for ever */

	return min_share_pct > cfg[GP__CFG_MIN_SHARE_PCT] ||
	       (max_hold_ns && (!hold_ns || max_hold_ns < hold_ns));
}

/* What a queue is refused for before it is looked at further; 0: nothing. */
static int check_limits(struct gp__server *s, struct gp__peer *p,
			const struct gp__wire_queue_add *add, char *text, size_t size)
{
	if (p->admin)
		return 0;
	if (add->hints.prio > p->limit.max_priority) {
		snprintf(text, size,
			 "priority %d is above this user's limit, %d: ask an administrator",
			 add->hints.prio, p->limit.max_priority);
		return -EACCES;
	}
	if (gp__exceeds_guarantees(s, add->hints.min_share_pct, add->hints.max_hold_ns)) {
		snprintf(text, size, GP__GUARANTEES_REFUSED);
		return -EACCES;
	}
	if (count_queues(s, p->cred.uid) >= QUEUES_OF_USER) {
		snprintf(text, size, "this user has as many queues joined as one may, %d",
			 QUEUES_OF_USER);
		return -EDQUOT;
	}
	if (gp__house_groups_of(&s->house, p->cred.uid) >= GROUPS_OF_USER) {
		snprintf(text, size, "this user has as many groups of queues as one may, %d",
			 GROUPS_OF_USER);
		return -EDQUOT;
	}
	if (!gp__house_knows_gpu(&s->house, add) &&
	    gp__house_gpus_of(&s->house, p->cred.uid) >= GPUS_OF_USER) {
		snprintf(text, size, "this user has named as many GPUs as one may, %d",
			 GPUS_OF_USER);
		return -EDQUOT;
	}
	return 0;
}

static void take_queue(struct gp__server *s, struct gp__peer *p,
		       const struct gp__wire_queue_add *add)
{
	u32 seq = add->head.seq, slot = add->slot;
	const char *why;
	char text[128];
	int err;

	if (slot >= p->nr_slots || p->lodger[slot]) {
		gp__peer_reply(s, p, seq, -EINVAL, 0, "this slot is taken, or there is none such");
		return;
	}
	err = check_limits(s, p, add, text, sizeof(text));
	if (err) {
		gp__peer_reply(s, p, seq, err, 0, text);
		return;
	}
	err = gp__lodger_add(&s->house, &p->program, add, &p->lodger[slot], s->now, &why);
	if (err) {
		gp__peer_reply(s, p, seq, err, 0, why);
		return;
	}
	/* What the slot has from a queue before is not this one's. */
	p->lodger[slot]->number = gp__wire_order_number(
		atomic_load_explicit(&p->down->slot[slot].order, memory_order_relaxed));
	gp__peer_reply(s, p, seq, 0, p->lodger[slot]->queue.id, NULL);
	if (!p->dead)
		read_slot(s, p, slot);
}

static struct gp__lodger *find_lodger(struct gp__server *s, struct gp__peer *p, u32 slot, u32 seq)
{
	if (slot < p->nr_slots && p->lodger[slot])
		return p->lodger[slot];
	gp__peer_reply(s, p, seq, -ENOENT, 0, "there is no queue in this slot");
	return NULL;
}

static void remove_lodger(struct gp__server *s, struct gp__peer *p, u32 slot)
{
	gp__lodger_remove(&s->house, p->lodger[slot], s->now);
	p->lodger[slot] = NULL;
}

static void take_hints(struct gp__server *s, struct gp__peer *p, struct gp__lodger *l,
		       const struct gp__wire_set_hints *m)
{
	struct gp__wire_hints hints = m->hints;
	const char *why = "";
	int err;

	if (!p->admin && hints.prio > p->limit.max_priority) {
		if (!(m->flags & GP__WIRE_AT_MOST)) {
			gp__peer_reply(s, p, m->head.seq, -EACCES, 0,
				       "the priority is above this user's limit: ask an "
				       "administrator");
			return;
		}
		hints.prio = p->limit.max_priority;
	}
	if (!p->admin && gp__exceeds_guarantees(s, hints.min_share_pct, hints.max_hold_ns)) {
		gp__peer_reply(s, p, m->head.seq, -EACCES, 0, GP__GUARANTEES_REFUSED);
		return;
	}
	err = gp__lodger_hints(&s->house, l, &hints, s->now, &why);
	gp__peer_reply(s, p, m->head.seq, err, 0, err ? why : NULL);
}

static void take_agent_message(struct gp__server *s, struct gp__peer *p, int type,
			       const void *message)
{
	const struct gp__wire_queue_remove *any = message; /* all have the slot in this place */
	const struct gp__wire_queue_level *level = message;
	struct gp__lodger *l;

	if (type == GP__WIRE_QUEUE_ADD) {
		take_queue(s, p, message);
		return;
	}
	l = find_lodger(s, p, any->slot, any->head.seq);
	if (!l)
		return;
	switch (type) {
	case GP__WIRE_QUEUE_REMOVE:
		remove_lodger(s, p, any->slot);
		gp__peer_reply(s, p, any->head.seq, 0, 0, NULL);
		break;
	case GP__WIRE_QUEUE_LEVEL:
		if (level->level < 1 || level->level > 3)
			gp__peer_drop(s, p, "its queue has a level that is none");
		else
			gp__queue_level(&l->queue, (u8)level->level, s->now);
		break;
	default: /* GP__WIRE_HINTS */
		take_hints(s, p, l, message);
	}
}

static void take_message(struct gp__server *s, struct gp__peer *p, const void *message, size_t size)
{
	const struct gp__wire_head *head = message;
	const char *why;
	int type = gp__wire_check(message, size, &why);

	if (type < 0)
		gp__peer_drop(s, p, why);
	else if (type == GP__WIRE_HELLO)
		take_hello(s, p, message);
	else if (p->role == GP__WIRE_CONTROL && type == GP__WIRE_TEXT)
		gp__control_request(s, p, (const char *)message + sizeof(*head),
				    size - sizeof(*head), head->seq);
	else if (p->role == GP__WIRE_AGENT && type >= GP__WIRE_QUEUE_ADD && type <= GP__WIRE_HINTS)
		take_agent_message(s, p, type, message);
	else
		gp__peer_drop(s, p, "it sends what is not its to send");
	gp__house_settle(&s->house, s->now);
}

/* Whose request was dealt with last comes after all other users'. */
static bool may_ask(const struct gp__server *s, const struct gp__peer *p)
{
	return s->requests_left && !(s->has_asked && s->asker == p->cred.uid);
}

static void note_asked(struct gp__server *s, const struct gp__peer *p)
{
	s->requests_left--;
	s->has_asked = true;
	s->asker = p->cred.uid;
}

/* Of one that has hung up. */
static bool has_said_all(const struct gp__peer *p)
{
	char byte;

	return recv(p->socket.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
}

static void socket_ready(struct gp__server *s, struct gp__source *source, u32 events)
{
	struct gp__peer *p = container_of(source, struct gp__peer, socket);

	if (!p->dead && (events & ~(u32)EPOLLIN))
		gp__control_send(s, p);
	/* Who has an answer to read reads it before he asks again. */
	for (int i = 0; i < MESSAGES_AT_ONCE && !p->dead && !p->answer; i++) {
		bool asks = p->role == GP__WIRE_CONTROL;
		ssize_t n;

		if (asks && !may_ask(s, p)) {
			if (events & EPOLLHUP && has_said_all(p))
				gp__peer_drop(s, p, NULL);
			return;
		}
		n = gp__wire_receive(p->socket.fd, s->received, sizeof(s->received), NULL, NULL);
		if (n == -EAGAIN)
			return;
		if (asks)
			note_asked(s, p);
		if (n <= 0)
			gp__peer_drop(s, p, n == -EMSGSIZE ? "its message is too long" : NULL);
		else if (!gp__allowance_take(&p->messages, MESSAGES_PER_S, MESSAGES_BURST, s->now))
			gp__peer_drop(s, p, "it sends too many messages");
		else
			take_message(s, p, s->received, (size_t)n);
	}
}

/*
 * Coming and going
 */

static void process_ended(struct gp__server *s, struct gp__source *source, u32 events)
{
	(void)events;
	gp__peer_drop(s, container_of(source, struct gp__peer, life), NULL);
}

struct gp__peer *gp__peer_create(int fd)
{
	struct gp__peer *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->socket = (struct gp__source){ fd, socket_ready };
	p->bell = (struct gp__source){ -1, bell_rang };
	p->life = (struct gp__source){ -1, process_ended };
	p->agent_bell = -1;
	gp__list_init(&p->link);
	gp__list_init(&p->ringing);
	gp__list_init(&p->watching);
	gp__list_init(&p->program.link);
	return p;
}

/* Nobody refers to it any more afterwards; its memory is freed at the end of the turn. */
void gp__peer_drop(struct gp__server *s, struct gp__peer *p, const char *why)
{
	if (p->dead)
		return;
	p->dead = true;
	s->nr_refused += why != NULL;
	if (why)
		gp__log_info(s->log, "connection of process %d, user %u, ended: %s",
			     (int)p->cred.pid, p->cred.uid, why);
	for (u32 i = 0; p->lodger && i < p->nr_slots; i++) {
		if (p->lodger[i])
			remove_lodger(s, p, i);
	}
	gp__program_leave(&p->program);
	gp__list_del(&p->ringing);
	gp__list_del(&p->watching);
	gp__server_unwatch(s, &p->socket);
	gp__server_unwatch(s, &p->bell);
	gp__server_unwatch(s, &p->life);
}

void gp__peer_free(struct gp__peer *p)
{
	if (p->up)
		munmap(p->up, gp__wire_up_bytes(p->nr_slots));
	if (p->down)
		munmap(p->down, gp__wire_down_bytes(p->nr_slots));
	if (p->bell.fd >= 0)
		close(p->bell.fd);
	if (p->agent_bell >= 0)
		close(p->agent_bell);
	if (p->life.fd >= 0)
		close(p->life.fd);
	close(p->socket.fd);
	free(p->answer);
	free(p->lodger);
	free(p);
}
