// SPDX-License-Identifier: MIT
/*
 * Connections and their messages. Nothing that a client sends is trusted: a message that is not
 * well-formed, or not allowed in the connection's state, ends the connection.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/answer.h"
#include "daemon/gangs.h"
#include "daemon/verdict.h"

#define MESSAGES_PER_S 2000
#define MESSAGES_BURST 4000
/* How long a connection may keep the daemon waiting, and how often that is checked. */
#define PATIENCE_NS (10 * GP__S)
#define SWEEP_NS GP__S

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

struct gp__quota gp__peer_quota(const struct gp__peer *p)
{
	const struct gp__quota none = { 0 };

	return p->admin ? none : p->limit.gpu_time;
}

static void welcome_agent(struct gp__server *s, struct gp__peer *p,
			  const struct gp__wire_hello *hello)
{
	struct gp__wire_welcome welcome = {
		.head = { sizeof(welcome), GP__WIRE_WELCOME, 0, hello->head.seq, 0 },
		.version = gp__wire_agree(hello->version_min, hello->version_max),
		.ttl_ns = s->config.ttl_ns
	};
	int fds[4] = { -1, -1, -1, -1 }, err;
	u32 slots = hello->nr_slots;

	if (p->cred.pid <= 0) {
		gp__peer_reply(s, p, hello->head.seq, -ESRCH, 0,
			       "gpreemptd does not see this process: it is in another pid "
			       "namespace; run gpreemptd on the host, or in the same container");
		return;
	}
	if (p->user->nr_programs >= p->limit.max_programs && !p->admin) {
		p->user->refused[GP__BUDGET_PROGRAMS]++;
		gp__peer_reply(s, p, hello->head.seq, -EDQUOT, 0,
			       "this user has reached the limit of programs, max_programs");
		return;
	}
	if (!p->limit.max_queues) {
		gp__peer_reply(s, p, hello->head.seq, -EDQUOT, 0,
			       "this user's queues are not scheduled: max_queues is 0");
		return;
	}
	/* Never two schedulers of one queue. */
	if (!p->is_helper) {
		gp__watches_joined(s, p->cred.pid);
	} else if (gp__watches_has_joined(s, p->cred.pid)) {
		gp__peer_drop(s, p, "its program has joined");
		return;
	}
	slots = slots < 1 ? 1 : slots > p->limit.max_queues ? p->limit.max_queues : slots;
	err = gp__pages_make(p, slots, fds);
	if (!err)
		err = gp__server_watch(s, &p->notify, EPOLLIN | EPOLLET);
	if (err) {
		gp__peer_reply(s, p, hello->head.seq, err, 0, gp__listener_explain(err));
		gp__peer_drop(s, p, "its pages cannot be made");
	} else {
		welcome.nr_slots = slots;
		p->ttl_ns = s->config.ttl_ns;
		p->role = GP__WIRE_AGENT;
		p->program.pid = p->cred.pid;
		p->program.uid = p->cred.uid;
		p->program.user = p->user;
		p->program.owner = p->owner;
		p->program.peer = p;
		p->program.limited = !p->admin;
		p->program.max_priority = p->limit.max_priority;
		gp__wire_text(p->program.name, sizeof(p->program.name), hello->program);
		gp__quota_set(&s->registry, p->user, gp__peer_quota(p), s->now);
		gp__program_enter(&s->registry, &p->program, s->now);
		gp__lineages_ask(s->lineages, p->ticket, p->cred.pid);
		atomic_store(&p->order->alone, gp__program_is_alone(&p->program));
		if (gp__wire_send(p->socket.fd, &welcome, fds, 4))
			gp__peer_drop(s, p, "it does not read its welcome");
	}
	/* The pages stay mapped and our end of the agent's pipe stays open without these. */
	for (int i = 0; i < 4; i++) {
		if (i != 2 && fds[i] >= 0)
			close(fds[i]);
	}
}

static void take_hello(struct gp__server *s, struct gp__peer *p, const struct gp__wire_hello *hello)
{
	struct gp__wire_welcome welcome = {
		.head = { sizeof(welcome), GP__WIRE_WELCOME, 0, hello->head.seq, 0 },
		.version = gp__wire_agree(hello->version_min, hello->version_max)
	};

	gp__peer_wait(s, p, false);
	if (p->role) {
		gp__peer_drop(s, p, "it sent two hellos");
	} else if (!welcome.version) {
		gp__peer_reply(
			s, p, hello->head.seq, -EPROTONOSUPPORT, 0,
			"the daemon speaks versions 1 to 3 of the protocol; install the same "
			"version of gpreempt on both sides");
	} else if (hello->role == GP__WIRE_AGENT) {
		welcome_agent(s, p, hello);
	} else if (hello->role == GP__WIRE_CONTROL) {
		p->role = GP__WIRE_CONTROL;
		if (gp__wire_send(p->socket.fd, &welcome, NULL, 0))
			gp__peer_drop(s, p, "it does not read its welcome");
	} else {
		gp__peer_drop(s, p, "its role is unknown");
	}
}

bool gp__exceeds_guarantees(const struct gp__server *s, u32 min_share_pct, u64 max_hold_ns)
{
	const u64 *cfg = s->registry.core.cfg;

	u64 hold_ns = cfg[GP__CFG_MAX_HOLD_MS] * GP__MS; /* 0: for ever */

	return min_share_pct > cfg[GP__CFG_MIN_SHARE_PCT] ||
	       (max_hold_ns && (!hold_ns || max_hold_ns < hold_ns));
}

/* Checks a new queue against the user's limits. 0, or -errno with the reason in @text. */
static int check_limits(struct gp__server *s, struct gp__peer *p,
			const struct gp__wire_queue_add *add, char *text, size_t size)
{
	if (p->admin)
		return 0;
	if (gp__exceeds_guarantees(s, add->hints.min_share_pct, add->hints.max_hold_ns)) {
		snprintf(text, size, GP__GUARANTEES_REFUSED);
		return -EACCES;
	}
	if (gp__limit_explain(&p->limit, add->hints.weight, add->hints.share_pct,
			      add->hints.deadline_ns, text, size)) {
		p->user->refused[GP__BUDGET_HINTS]++;
		return -EACCES;
	}
	if (p->user->nr_queues >= GP__USER_QUEUES_MAX) {
		p->user->refused[GP__BUDGET_QUEUES]++;
		snprintf(text, size, "this user has reached the limit of %d queues",
			 GP__USER_QUEUES_MAX);
		return -EDQUOT;
	}
	return 0;
}

/*
 * The part of a priority that the program may have at some time of the day, or by a rule about its
 * control group. Of that, the registry lowers what is too high now.
 */
static s32 keep_priority(const struct gp__peer *p, s32 wish)
{
	s32 most = p->limit.ever_priority, by_rule = gp__program_max_priority(&p->program);

	most = p->program.terms.set & GP__CGROUP_MAX_PRIORITY && by_rule > most ? by_rule : most;
	return p->admin || wish < most ? wish : most;
}

/*
 * Lowers the priority of a new queue to the limit, with a sentence in @text if that changes what
 * the program has asked for.
 */
static void lower_priority(struct gp__peer *p, struct gp__wire_queue_add *add, char *text,
			   size_t size)
{
	bool by_rule = add->flags & GP__WIRE_BY_DEFAULT && p->program.terms.set & GP__CGROUP_CLASS;
	s32 most = gp__program_max_priority(&p->program);

	*text = '\0';
	if (add->hints.prio <= most)
		return;
	if (!by_rule) {
		bool now = p->limit.ever_priority > p->limit.max_priority;

		gp__program_explain_priority(&p->program, add->hints.prio,
					     now ? ", and is lowered to it at this time of the day"
						 : ", and is lowered to it",
					     text, size);
		p->user->refused[GP__BUDGET_HINTS]++;
	}
	add->hints.prio = keep_priority(p, add->hints.prio);
}

static void take_queue(struct gp__server *s, struct gp__peer *p,
		       const struct gp__wire_queue_add *wanted)
{
	struct gp__wire_queue_add granted = *wanted, *add = &granted;
	u32 seq = add->head.seq, slot = add->slot;
	char text[GP__WIRE_TEXT_MAX], lowered[GP__WIRE_TEXT_MAX];
	const char *why;
	int err;

	if (slot >= p->nr_slots || p->queue[slot]) {
		gp__peer_reply(s, p, seq, -EINVAL, 0, "this slot is taken or out of range");
		return;
	}
	err = check_limits(s, p, add, text, sizeof(text));
	if (err) {
		gp__peer_reply(s, p, seq, err, 0, text);
		return;
	}
	lower_priority(p, add, lowered, sizeof(lowered));
	err = gp__program_queue_add(&s->registry, &p->program, add, !p->admin, &p->queue[slot],
				    s->now, &why);
	if (err) {
		gp__peer_reply(s, p, seq, err, 0, why);
		return;
	}
	/* Acknowledgements in the slot up to this number are those of an earlier queue. */
	p->queue[slot]->number = gp__wire_order_number(
		atomic_load_explicit(&p->order->slot[slot].order, memory_order_relaxed));
	gp__peer_reply(s, p, seq, 0, p->queue[slot]->core.id, lowered);
	if (!p->dead)
		gp__pages_read_slot(s, p, slot);
	if (!p->dead)
		gp__claims_added(s, p);
}

static struct gp__program_queue *find_queue(struct gp__server *s, struct gp__peer *p, u32 slot,
					    u32 seq)
{
	if (slot < p->nr_slots && p->queue[slot])
		return p->queue[slot];
	gp__peer_reply(s, p, seq, -ENOENT, 0, "there is no queue in this slot");
	return NULL;
}

static void remove_queue(struct gp__server *s, struct gp__peer *p, u32 slot)
{
	gp__program_queue_remove(&s->registry, p->queue[slot], s->now);
	p->queue[slot] = NULL;
}

static void take_hints(struct gp__server *s, struct gp__peer *p, struct gp__program_queue *q,
		       const struct gp__wire_set_hints *m)
{
	struct gp__wire_hints hints = m->hints;
	char text[GP__WIRE_TEXT_MAX];
	const char *why = "";
	int err;

	if (hints.prio > gp__program_max_priority(&p->program)) {
		if (!(m->flags & GP__WIRE_AT_MOST)) {
			gp__program_explain_priority(&p->program, hints.prio, "", text,
						     sizeof(text));
			gp__peer_reply(s, p, m->head.seq, -EACCES, 0, text);
			return;
		}
		hints.prio = keep_priority(p, hints.prio);
	}
	if (!p->admin && gp__exceeds_guarantees(s, hints.min_share_pct, hints.max_hold_ns)) {
		gp__peer_reply(s, p, m->head.seq, -EACCES, 0, GP__GUARANTEES_REFUSED);
		return;
	}
	if (!p->admin && gp__limit_explain(&p->limit, hints.weight, hints.share_pct,
					   hints.deadline_ns, text, sizeof(text))) {
		p->user->refused[GP__BUDGET_HINTS]++;
		gp__peer_reply(s, p, m->head.seq, -EACCES, 0, text);
		return;
	}
	err = gp__program_queue_hints(&s->registry, q, &hints, !p->admin, s->now, &why);
	gp__peer_reply(s, p, m->head.seq, err, 0, err ? why : NULL);
}

static void take_gang(struct gp__server *s, struct gp__peer *p, const struct gp__wire_gang *m)
{
	const char *why;
	int err = gp__program_join_gang(&s->registry, &p->program, m, !p->admin, s->now, &why);

	gp__peer_reply(s, p, m->head.seq, err, 0, why);
}

static void take_agent_message(struct gp__server *s, struct gp__peer *p, int type,
			       const void *message)
{
	const struct gp__wire_queue_remove *any = message; /* all have the slot in this place */
	const struct gp__wire_queue_level *level = message;
	struct gp__program_queue *q;

	if (type == GP__WIRE_QUEUE_ADD) {
		take_queue(s, p, message);
		return;
	}
	if (type == GP__WIRE_GANG) {
		take_gang(s, p, message);
		return;
	}
	q = find_queue(s, p, any->slot, any->head.seq);
	if (!q)
		return;
	switch (type) {
	case GP__WIRE_QUEUE_REMOVE:
		remove_queue(s, p, any->slot);
		gp__peer_reply(s, p, any->head.seq, 0, 0, NULL);
		break;
	case GP__WIRE_QUEUE_LEVEL:
		if (level->level < 1 || level->level > 3)
			gp__peer_drop(s, p, "its queue has an unknown level");
		else
			gp__queue_level(&q->core, (u8)level->level, s->now);
		break;
	default: /* GP__WIRE_HINTS */
		take_hints(s, p, q, message);
	}
}

static bool is_of_agent(int type)
{
	return (type >= GP__WIRE_QUEUE_ADD && type <= GP__WIRE_HINTS) || type == GP__WIRE_GANG;
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
	else if (p->role == GP__WIRE_AGENT && is_of_agent(type))
		take_agent_message(s, p, type, message);
	else
		gp__peer_drop(s, p, "its message is not allowed in its role");
	gp__registry_settle(&s->registry, s->now);
}

/* Closing a descriptor that a client sent may block, so a thread does it. */
static void refuse_descriptors(struct gp__server *s, struct gp__peer *p, const int *fds, u32 nr)
{
	for (u32 i = 0; i < nr; i++)
		gp__closer_put(s->closer, p->user, fds[i]);
	gp__peer_drop(s, p, "it sent descriptors");
}

/* False: there is none now. */
static bool read_message(struct gp__server *s, struct gp__peer *p)
{
	int fds[GP__WIRE_FDS_MAX];
	u32 nr_fds = p->may_send_rights ? GP__WIRE_FDS_MAX : 0;
	ssize_t n = gp__wire_receive(p->socket.fd, s->received, sizeof(s->received), fds, &nr_fds);

	if (n == -EAGAIN)
		return false;
	if (nr_fds) {
		refuse_descriptors(s, p, fds, nr_fds);
	} else if (n <= 0) {
		gp__peer_drop(s, p, n == -EMSGSIZE ? "its message is too long" : NULL);
	} else if (!gp__allowance_take(&p->messages, MESSAGES_PER_S, MESSAGES_BURST, s->now)) {
		p->user->refused[GP__BUDGET_MESSAGES]++;
		gp__peer_drop(s, p, "it sends too many messages");
	} else {
		take_message(s, p, s->received, (size_t)n);
	}
	return true;
}

/* Waits until the socket is ready, without being served. */
static enum gp__served await(struct gp__server *s, struct gp__peer *p, u32 event)
{
	gp__server_rewatch(s, &p->socket, event | EPOLLONESHOT);
	return GP__SERVED_ALL;
}

static enum gp__served send_answer(struct gp__server *s, struct gp__peer *p)
{
	enum gp__answer_state state = gp__answer_step(s, p);

	if (p->dead)
		return GP__SERVED_ALL;
	gp__peer_wait(s, p, state == GP__ANSWER_BLOCKED);
	if (state == GP__ANSWER_WAITS)
		return GP__SERVED_ALL;
	return state == GP__ANSWER_BLOCKED ? await(s, p, EPOLLOUT) : GP__SERVED_PART;
}

/*
 * The control groups of a program decide about its priority, so its messages wait until they are
 * known, but not for long: then the program gets what all rules allow.
 */
#define PARK_NS (500 * GP__MS)

/* Whether its messages wait. They do not wait twice. */
static bool parks(struct gp__server *s, struct gp__peer *p)
{
	if (p->role != GP__WIRE_AGENT || p->program.cgroups || p->program.judged ||
	    p->parked_until == GP__NEVER || !gp__cgroups_rule(&s->registry))
		return false;
	if (!p->parked_until) {
		p->parked_until = s->now + PARK_NS;
		s->nr_parked++;
	}
	return true;
}

void gp__peer_unpark(struct gp__server *s, struct gp__peer *p)
{
	bool parked = p->parked_until && p->parked_until != GP__NEVER;

	p->parked_until = GP__NEVER;
	s->nr_parked -= parked;
	if (parked && !p->dead)
		gp__server_rewatch(s, &p->socket, EPOLLIN | EPOLLONESHOT);
}

u64 gp__peers_unpark(struct gp__server *s)
{
	struct gp__link *l, *n;
	u64 next = GP__NEVER;

	if (!s->nr_parked)
		return GP__NEVER;
	gp__list_each(l, n, &s->peers)
	{
		struct gp__peer *p = container_of(l, struct gp__peer, link);

		if (p->parked_until && p->parked_until <= s->now)
			gp__peer_unpark(s, p);
		else if (p->parked_until && !p->dead)
			next = gp__min_u64(next, p->parked_until);
	}
	return next;
}

/* A request, and a part of an answer, may take a while: there is one of them in a turn. */
enum gp__served gp__peer_serve(struct gp__server *s, struct gp__peer *p)
{
	if (p->role == GP__WIRE_CONTROL && !s->requests_left)
		return GP__SERVED_NOT;
	s->requests_left -= p->role == GP__WIRE_CONTROL;
	/* A client must read its answer before its next request is read. */
	if (p->answer)
		return send_answer(s, p);
	if (parks(s, p))
		return GP__SERVED_ALL;
	return read_message(s, p) ? GP__SERVED_PART : await(s, p, EPOLLIN);
}

static void socket_ready(struct gp__server *s, struct gp__source *source, u32 events)
{
	struct gp__peer *p = container_of(source, struct gp__peer, socket);

	(void)events;
	if (!p->dead)
		gp__serve_later(s, p, GP__LANE_MESSAGES);
}

/*
 * Connections
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
	for (u32 i = 0; i < GP__LANES; i++)
		gp__list_init(&p->lane[i]);
	p->socket = (struct gp__source){ fd, socket_ready };
	p->life = (struct gp__source){ -1, process_ended };
	gp__pages_init(p);
	gp__list_init(&p->link);
	gp__list_init(&p->notify_link);
	gp__list_init(&p->watching);
	gp__list_init(&p->awaiting);
	gp__list_init(&p->program.link);
	return p;
}

/* Its memory is freed at the end of the turn: other events of the turn may point to it. */
void gp__peer_drop(struct gp__server *s, struct gp__peer *p, const char *why)
{
	if (p->dead)
		return;
	p->dead = true;
	s->nr_refused += why != NULL;
	if (why)
		gp__log_about(s->log, GP__LOG_INFO, GP__ABOUT(p->cred.pid, p->cred.uid),
			      "connection of process %d, user %u, ended: %s", (int)p->cred.pid,
			      p->cred.uid, why);
	for (u32 i = 0; p->queue && i < p->nr_slots; i++) {
		if (p->queue[i])
			remove_queue(s, p, i);
	}
	/* A client that connects again and again must not fill the queue of questions. */
	if (p->role == GP__WIRE_AGENT && !p->program.judged)
		gp__lineages_cancel(s->lineages, p->ticket);
	gp__peer_unpark(s, p);
	gp__verdict_leave(&s->registry, &p->program);
	gp__program_leave_gang(&s->registry, &p->program, s->now);
	if (p->program.user)
		gp__program_leave(&p->program);
	gp__claims_end(s, p);
	gp__serve_never(p);
	gp__peer_wait(s, p, false);
	gp__answer_free(p);
	gp__list_del(&p->notify_link);
	gp__list_del(&p->watching);
	gp__server_unwatch(s, &p->socket);
	gp__server_unwatch(s, &p->notify);
	gp__server_unwatch(s, &p->life);
}

void gp__peer_free(struct gp__server *s, struct gp__peer *p)
{
	gp__pages_free(p);
	if (p->life.fd >= 0)
		close(p->life.fd);
	/* Descriptors in its unread messages are closed with it; the client need not wait for that.
	 */
	shutdown(p->socket.fd, SHUT_RDWR);
	if (p->may_send_rights)
		gp__closer_put(s->closer, p->user, p->socket.fd);
	else
		close(p->socket.fd);
	p->user->nr_peers--;
	free(p->queue);
	free(p);
}

void gp__peer_wait(struct gp__server *s, struct gp__peer *p, bool waits)
{
	if (waits == (p->waits_since != 0))
		return;
	p->waits_since = waits ? s->now : 0;
	s->nr_waiting += waits ? 1 : (u32)-1;
	if (waits && s->nr_waiting == 1)
		s->sweep_at = s->now + SWEEP_NS;
}

u64 gp__peers_sweep(struct gp__server *s)
{
	struct gp__link *l, *n;

	if (!s->nr_waiting)
		return GP__NEVER;
	if (s->now < s->sweep_at)
		return s->sweep_at;
	gp__list_each(l, n, &s->peers)
	{
		struct gp__peer *p = container_of(l, struct gp__peer, link);

		if (p->waits_since && s->now >= p->waits_since + PATIENCE_NS)
			gp__peer_drop(s, p,
				      p->role ? "it does not read its answer" : "it says no hello");
	}
	s->sweep_at = s->now + SWEEP_NS;
	return s->nr_waiting ? s->sweep_at : GP__NEVER;
}
