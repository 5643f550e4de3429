// SPDX-License-Identifier: MIT
/*
 * Programs and command lines of several users, who send well-formed messages in any order, leave
 * and come again, open and close GPUs, and are stopped: the daemon's counts of each user are always
 * right, programs share a GPU with those of other users only if they have it open, and nothing is
 * left at the end.
 *
 * Each byte of the input that is not a value chooses a client and what it does. Without root all
 * clients are of one user.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/memory.h"
#include "daemon_ends.h"

#define USERS 3
#define ENDS (2 * USERS) /* an agent and a command line of each */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct gp__server server;
static struct bytes input;
static struct end ends[ENDS];
static u64 ticket[ENDS]; /* of their connections */

static uint8_t one_of(uint8_t n)
{
	return next_byte(&input) % n;
}

/*
 * Clients
 */

/* Only of this thread. */
static void become(uid_t uid)
{
	if (!getuid() && syscall(SYS_setresuid, -1, uid, -1))
		abort();
}

/* The first user is root. */
static void join(int i)
{
	become(i / 2 ? 1000 + (uid_t)i / 2 : 0);
	come(&server, &ends[i], i % 2 ? GP__WIRE_CONTROL : GP__WIRE_AGENT);
	become(0);
	ticket[i] = server.last_ticket;
}

static struct gp__wire_hints some_hints(void)
{
	static const s32 prios[] = { 0, 2, 7, 15, 99, -3 };
	static const u32 percents[] = { 0, 1, 10, 50, 100, 200 };
	struct gp__wire_hints h = { .prio = prios[one_of(6)] };

	h.weight = percents[one_of(6)];
	h.share_pct = percents[one_of(6)];
	h.min_share_pct = percents[one_of(6)];
	h.max_hold_ns = one_of(4) * 500 * GP__MS;
	h.deadline_ns = one_of(4) * 5 * GP__MS;
	return h;
}

static void add_queue(struct end *e)
{
	struct gp__wire_queue_add m = { .head = { sizeof(m), GP__WIRE_QUEUE_ADD, 0, 1, 0 },
					.slot = one_of(SLOTS + 1),
					.level = one_of(3) + 1u,
					.level_requested = one_of(4),
					.flags = one_of(8),
					.hints = some_hints() };

	snprintf(m.device, sizeof(m.device), "gpu-%u", one_of(3));
	if (one_of(2))
		snprintf(m.tag, sizeof(m.tag), "t%u", one_of(3));
	gp__wire_send(e->fd, &m, NULL, 0);
}

static void change_queue(struct end *e)
{
	struct gp__wire_set_hints m = { .head = { sizeof(m), GP__WIRE_HINTS, 0, 1, 0 },
					.slot = one_of(SLOTS + 1),
					.flags = one_of(2),
					.hints = some_hints() };

	gp__wire_send(e->fd, &m, NULL, 0);
}

static void remove_queue(struct end *e)
{
	struct gp__wire_queue_remove m = { .head = { sizeof(m), GP__WIRE_QUEUE_REMOVE, 0, 1, 0 },
					   .slot = one_of(SLOTS + 1) };

	gp__wire_send(e->fd, &m, NULL, 0);
}

static void join_gang(struct end *e)
{
	struct gp__wire_gang m = { .head = { sizeof(m), GP__WIRE_GANG, 0, 1, 0 },
				   .members = one_of(4) };

	snprintf(m.name, sizeof(m.name), "gang-%u", one_of(2));
	gp__wire_send(e->fd, &m, NULL, 0);
}

/* Work comes or ends, is announced, or an order was carried out, failed or expired. */
static void report(struct end *e)
{
	u32 slot = one_of(SLOTS), what = one_of(5);
	struct gp__wire_status_slot *s;
	u32 number;

	if (!e->status)
		return;
	s = &e->status->slot[slot];
	number = gp__wire_order_number(atomic_load(&e->order->slot[slot].order));
	if (what == 0)
		atomic_fetch_add(&s->work, 1);
	else if (what == 1)
		atomic_store(&s->arriving_ns, one_of(2) * UINT64_MAX);
	else if (what == 2)
		atomic_store(&s->expired, number);
	else
		atomic_store(&s->done, gp__wire_done(number, what == 3 ? 0 : -EIO));
	atomic_store(&e->status->changed[0], 1u << slot);
	read_pages(&server);
}

static void ask(struct end *e)
{
	static const char *const ops[] = { "list",   "users", "why",	"suspend",
					   "resume", "set",   "policy", "watch" };
	static const char *const targets[] = {
		"",	     ",\"tag\":\"t0\"", ",\"tag\":\"t1\"", ",\"group\":1", ",\"group\":5",
		",\"pid\":1"
	};
	static const char *const members[] = { "",
					       ",\"priority\":15",
					       ",\"priority\":2",
					       ",\"share_pct\":40",
					       ",\"weight\":7",
					       ",\"name\":\"fair\"",
					       ",\"name\":\"hpf\",\"force\":true" };
	struct gp__text_message m;
	int n = snprintf(m.text, sizeof(m.text), "{\"op\":\"%s\"%s%s}", ops[one_of(8)],
			 targets[one_of(6)], members[one_of(7)]);

	m.head =
		(struct gp__wire_head){ (u32)(sizeof(m.head) + (size_t)n), GP__WIRE_TEXT, 0, 2, 0 };
	gp__wire_send(e->fd, &m, NULL, 0);
}

/*
 * Answers of the inspector, whose thread does not run
 */

/* The agent's connection. NULL: it is not joined. */
static struct gp__peer *find_agent(int i)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &server.peers)
	{
		struct gp__peer *p = container_of(l, struct gp__peer, link);

		if (p->ticket == ticket[i] && !p->dead && p->role == GP__WIRE_AGENT)
			return p;
	}
	return NULL;
}

static struct gp__devices *some_devices(void)
{
	u8 open = one_of(4);
	struct gp__devices *d;

	if (!open)
		return NULL;
	d = calloc(1, sizeof(*d) + 2 * sizeof(d->device[0]));
	if (!d)
		abort();
	d->nr = 2;
	for (u32 i = 0; i < d->nr; i++) {
		snprintf(d->device[i].key, sizeof(d->device[i].key), "gpu-%u", i);
		d->device[i].number = 1 + i;
		d->device[i].is_open = open >> i & 1;
		d->device[i].is_used_known = one_of(2);
		d->device[i].used = one_of(3) * 1000000;
	}
	return d;
}

static void inspect(struct gp__program *p)
{
	free(p->devices);
	p->devices = some_devices();
	gp__program_place(&server.registry, p, server.now);
	gp__memory_changed(&server.registry, p);
	gp__registry_settle(&server.registry, server.now);
}

static void stop(struct gp__program *p)
{
	bool stopped = one_of(2);

	server.claims.nr_stopped += stopped;
	server.claims.nr_stopped -= p->stopped;
	gp__program_stop(p, stopped, server.now);
	gp__registry_settle(&server.registry, server.now);
}

/*
 * Invariants
 */

struct counts {
	u32 peers, programs, queues, groups;
};

static struct counts count(const struct gp__user *u)
{
	struct counts c = { 0 };
	struct gp__link *l, *n;

	gp__list_each(l, n, &server.peers)
	{
		const struct gp__peer *p = container_of(l, struct gp__peer, link);

		if (p->user != u)
			continue;
		c.peers++;
		if (p->dead)
			continue;
		c.programs += p->role == GP__WIRE_AGENT;
		for (u32 i = 0; p->queue && i < p->nr_slots; i++)
			c.queues += p->queue[i] != NULL;
	}
	gp__list_each(l, n, &server.registry.groups) c.groups +=
		container_of(l, struct gp__group, link)->program->user == u;
	return c;
}

/* A group is among those of its own user, or its program has a GPU open. */
static void check_group(const struct gp__group *g)
{
	if (g->gpu->is_shared ? !gp__devices_any_open(g->program->devices)
			      : g->gpu->named_by != g->program->user)
		abort();
}

static void check(void)
{
	struct gp__link *l, *n;

	if (!server.registry.one_user) {
		gp__list_each(l, n, &server.registry.groups)
			check_group(container_of(l, struct gp__group, link));
	}
	gp__list_each(l, n, &server.registry.users)
	{
		struct gp__user *u = container_of(l, struct gp__user, link);
		struct counts c = count(u);

		if (u->nr_peers != c.peers || u->nr_programs != c.programs ||
		    u->nr_queues != c.queues || u->nr_groups != c.groups)
			abort();
	}
}

static void step(void)
{
	int i = one_of(ENDS);
	struct end *e = &ends[i];
	struct gp__peer *agent = find_agent(i);

	switch (one_of(12)) {
	case 0:
	case 1:
		add_queue(e);
		break;
	case 2:
		change_queue(e);
		break;
	case 3:
		remove_queue(e);
		break;
	case 4:
		report(e);
		break;
	case 5:
		go(e);
		turn(&server);
		join(i);
		break;
	case 6:
		join_gang(e);
		break;
	case 7:
	case 8:
		if (agent)
			inspect(&agent->program);
		break;
	case 9:
		if (agent)
			stop(&agent->program);
		break;
	default:
		ask(e);
	}
	turn(&server);
	if (one_of(4)) /* or it does not read its answers yet */
		drain(e);
	check();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	input = (struct bytes){ data, size };
	open_server(&server);
	for (int i = 0; i < ENDS; i++)
		join(i);
	while (input.left)
		step();
	for (int i = 0; i < ENDS; i++)
		go(&ends[i]);
	close_server(&server);
	return 0;
}
