// SPDX-License-Identifier: MIT
/* Attacks that try to make the daemon or the emulated machine wait, compute, grow or write. */
#include "hostile.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/protocol.h"

static struct gp__wire_hello hello_of(enum gp__wire_role role)
{
	return (struct gp__wire_hello){ .head = { sizeof(struct gp__wire_hello), GP__WIRE_HELLO, 0,
						  1, 0 },
					.version_min = GP__WIRE_VERSION,
					.version_max = GP__WIRE_VERSION,
					.role = role };
}

/*
 * Lingering sockets
 */

/*
 * A delay of the whole linger time is a success: somebody waited for the socket. It began to linger
 * after @since. A shorter delay is that of a busy host.
 */
static void judge_delay(struct hostile *h, u64 since)
{
	note_time(h, since);
	count(h, gp__clock_ns() - since >= LINGER_S * GP__S ? 0 : -EACCES);
}

/*
 * Whether the attacker has waited itself: the other side closed the connection before the attacker
 * closed its own descriptor, which then was the last one.
 */
static bool waited_itself(u64 since)
{
	return gp__clock_ns() - since >= LINGER_S * GP__S / 2;
}

/*
 * Makes the last reference to a lingering TCP socket die in the daemon: in recvmsg(), with the
 * hello; or in close(), with a message that is queued behind one that ends the connection.
 */
static void pass_lingering(struct hostile *h, bool dies_in_close)
{
	struct gp__wire_hello hello = hello_of(GP__WIRE_CONTROL);
	char text[GP__WIRE_TEXT_MAX];
	int receiver, lingering = make_lingering(&receiver), fd, other, err;
	u64 since;

	fd = lingering < 0 ? lingering : gp__wire_connect(h->socket);
	if (fd < 0) {
		count(h, fd);
		if (lingering >= 0)
			close_lingering(lingering, receiver);
		return;
	}
	since = gp__clock_ns();
	if (dies_in_close)
		send(fd, "x", 1, MSG_NOSIGNAL);
	err = send_with(fd, &hello, sizeof(hello), lingering);
	if (waited_itself(since))
		since = gp__clock_ns();
	/* Another client of the same user sees the delay. */
	other = err ? err : gp__wire_control(h->socket, text);
	if (err || other == -EDQUOT)
		count(h, err ? err : other);
	else
		judge_delay(h, since);
	if (other >= 0)
		close(other);
	close(fd);
	close(receiver);
}

/* Attack 1: makes the daemon hang in close() for as long as a socket lingers. */
void attack_linger(struct hostile *h)
{
	for (int i = 0; i < 1000 && goes_on(h); i++) {
		u64 before = h->counts->succeeded;

		pass_lingering(h, i & 1);
		/* After a success, other attackers have their turn. */
		rest_ms(h, h->counts->succeeded > before ? LINGER_S * 1000 : 200);
	}
}

/* Sends a hello to the emulated machine and waits for the reply. 0 or -errno. */
static int greet_machine(const char *path)
{
	struct emu_message m = { .type = EMU_HELLO,
				 .length = EMU_PROTOCOL_VERSION,
				 .address = (uint64_t)getpid() };
	struct pollfd p = { .fd = connect_to(path), .events = POLLIN };
	int err = p.fd;

	if (p.fd < 0)
		return err;
	err = send(p.fd, &m, sizeof(m), MSG_NOSIGNAL) < 0 ? -errno : 0;
	if (!err && poll(&p, 1, 2 * LINGER_S * 1000) < 1)
		err = -ETIMEDOUT;
	close(p.fd);
	return err;
}

/*
 * Attack 16: the same on the emulated machine, whose thread closes the connection while it holds
 * the lock of the machine.
 */
void attack_machine(struct hostile *h)
{
	/* The first message ends the connection; the second is never read. */
	struct emu_message bad = { .type = EMU_HELLO, .length = UINT32_MAX };
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", h->machine, EMU_SOCKET);
	for (int i = 0; i < 1000 && goes_on(h); i++) {
		int receiver, lingering = make_lingering(&receiver);
		int fd = lingering < 0 ? lingering : connect_to(path), err;
		u64 since = gp__clock_ns();

		if (fd < 0) {
			count(h, fd);
			if (lingering >= 0)
				close_lingering(lingering, receiver);
			return;
		}
		send(fd, &bad, sizeof(bad), MSG_NOSIGNAL);
		err = send_with(fd, &bad, sizeof(bad), lingering);
		if (waited_itself(since))
			since = gp__clock_ns();
		rest_ms(h, 50);
		if (!err)
			err = greet_machine(path);
		if (err)
			count(h, err);
		else
			judge_delay(h, since);
		close(fd);
		close(receiver);
		rest_ms(h, 200);
	}
}

/*
 * Groups
 */

/* Counts groups that are made beyond the limit as successes. */
static int split_queues(struct hostile *h, struct gp__wire_client *c, u32 *nr_groups)
{
	for (u32 i = 0; i < c->nr_slots && goes_on(h); i++) {
		int err = set_prio(c, i, -1 - (s32)i);

		if (err)
			count(h, err);
		if (err && err != -EDQUOT && err != -EACCES)
			return err;
		if (!err && ++*nr_groups > GROUPS_OF_USER)
			count(h, 0);
	}
	return 0;
}

/*
 * Attack 2: makes more groups than a user may have, by changing the priority of each of many queues
 * that began in one group.
 */
void attack_groups(struct hostile *h)
{
	struct gp__wire_client *all;
	int n = join_with_queues(h, &all), err = n < 1 ? -EPIPE : 0;
	u32 nr_groups = 0;

	if (n < 0)
		return;
	for (int i = 0; i < n && !err && goes_on(h); i++)
		err = split_queues(h, &all[i], &nr_groups);
	/* The groups stay while others run. */
	while (!err && goes_on(h) && obey(&all[0], 0, 0) != -EPIPE)
		rest_ms(h, 100);
	leave_all(all, (u32)n);
}

#define REGROUPING_PROGRAMS 96 /* they have to join within the time of a short attack */
#define REGROUPS_PER_S 30

/* Attack 3: changes the priority of many programs, 30 times a second each. */
void attack_regroup(struct hostile *h)
{
	struct gp__wire_client *all;
	u32 n = join_many(h, &all, REGROUPING_PROGRAMS, "regroup");
	int err = n ? 0 : -ENOENT;

	for (s32 prio = 0; !err && goes_on(h); prio = !prio) {
		u64 began = gp__clock_ns(), passed;

		for (u32 i = 0; i < n && !err && goes_on(h); i++) {
			err = set_prio(&all[i], 0, prio - 1);
			count(h, err);
		}
		note_time(h, began);
		passed = gp__clock_ns() - began;
		if (passed < GP__S / REGROUPS_PER_S)
			rest_ms(h, (unsigned int)((GP__S / REGROUPS_PER_S - passed) / GP__MS));
	}
	leave_all(all, n);
}

/*
 * Requests
 */

#define TARGETS 256

/* A request with as many targets as the daemon allows; the last one matches all groups. */
static char *request_of_targets(void)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	fprintf(f, "{\"op\":\"why\",\"targets\":[");
	for (int i = 1; i < TARGETS; i++)
		fprintf(f, "{\"tag\":\"group-%d\"},", i);
	fprintf(f, "{\"pid\":%d}]}", (int)getpid());
	fclose(f);
	return text;
}

/* Attack 4: asks `why` for 256 targets that match all its groups, back to back. */
void attack_why(struct hostile *h)
{
	char text[GP__WIRE_TEXT_MAX], *request = request_of_targets();
	struct gp__wire_client c;
	int fd;

	if (!join_with_groups(h, &c, GP__WIRE_SLOTS_MAX)) {
		fd = gp__wire_control(h->socket, text);
		while (goes_on(h)) {
			u64 since = gp__clock_ns();
			json_t *answer = ask(fd, request);

			note_time(h, since);
			count(h, !answer ? -EPIPE : is_refused(answer) ? -EACCES : 0);
			if (!answer)
				break;
			json_decref(answer);
		}
		if (fd >= 0)
			close(fd);
		gp__wire_client_close(&c);
	}
	free(request);
}

#define DEAF_CONNECTIONS 100

/* Connects, says hello and asks; does not read the answer. A descriptor or -errno. */
static int ask_without_reading(const struct hostile *h)
{
	static const char request[] = "{\"op\":\"list\"}";
	struct gp__wire_hello hello = hello_of(GP__WIRE_CONTROL);
	struct {
		struct gp__wire_head head;
		char text[sizeof(request) - 1];
	} __attribute__((packed)) m = { .head = { sizeof(m), GP__WIRE_TEXT, 0, 2, 0 } };
	int fd = gp__wire_connect(h->socket);

	if (fd < 0)
		return fd;
	memcpy(m.text, request, sizeof(m.text));
	if (send(fd, &hello, sizeof(hello), MSG_NOSIGNAL) > 0 &&
	    send(fd, &m, sizeof(m), MSG_NOSIGNAL) > 0)
		return fd;
	close(fd);
	return -EPIPE;
}

/* Whether the daemon has ended a connection. Nothing is read from it. */
static bool is_ended(int fd)
{
	struct pollfd p = { .fd = fd, .events = 0 };

	return poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLERR);
}

/* Attack 5: asks for long answers over 100 connections and reads none. */
void attack_deaf(struct hostile *h)
{
	int fds[DEAF_CONNECTIONS];
	struct gp__wire_client *all;
	int n = join_with_queues(h, &all);

	memset(fds, -1, sizeof(fds));
	if (n < 0)
		return;
	for (u32 i = 0; goes_on(h) && n && !is_ended(all[0].socket);
	     i = (i + 1) % DEAF_CONNECTIONS) {
		if (fds[i] >= 0 && is_ended(fds[i])) {
			h->counts->dropped++;
			close(fds[i]);
			fds[i] = -1;
		}
		if (fds[i] < 0) {
			fds[i] = ask_without_reading(h);
			count(h, fds[i] < 0 ? fds[i] : 0);
		}
		rest_ms(h, 5);
	}
	for (u32 i = 0; i < DEAF_CONNECTIONS; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
	leave_all(all, (u32)n);
}

/*
 * The decision log
 */

#define TOGGLED_QUEUES 1024

/* Attack 6: work comes and goes in many queues as fast as the daemon reads it; each is a line. */
void attack_toggle(struct hostile *h)
{
	struct gp__wire_client c;
	u64 one = 1;
	int err = join(h, &c, "toggle", TOGGLED_QUEUES);

	if (err)
		return;
	for (u32 i = 0; i < c.nr_slots && !err && goes_on(h); i++)
		err = add(h, &c, i, 1, "");
	while (!err && goes_on(h)) {
		for (u32 i = 0; i < c.nr_slots; i++) {
			atomic_fetch_add(&c.status->slot[i].work, 1); /* flips bit 0 */
			atomic_fetch_or(&c.status->changed[i / 64], 1ull << i % 64);
		}
		if (write(c.daemon_notify_fd, &one, sizeof(one)) > 0)
			h->counts->succeeded++;
		err = obey(&c, c.nr_slots, 0);
	}
	if (err)
		count(h, err);
	gp__wire_client_close(&c);
}

/*
 * Subordinate users
 */

#define SUBORDINATE_UIDS 13
#define SUBORDINATE_FIRST 1000000

/* Takes the places of a user, and keeps them. Returns how many. */
static u64 take_places(struct hostile *h)
{
	char text[GP__WIRE_TEXT_MAX];
	u64 n = 0;

	for (int i = 0; i < CONNECTIONS_OF_USER && goes_on(h); i++) {
		int fd = gp__wire_control(h->socket, text);

		if (fd < 0) {
			count(h, fd);
			break;
		}
		n++;
	}
	return n;
}

/*
 * Attack 11: takes the connections of 13 users with the subordinate uids of one. A real user would
 * do so with newuidmap(1), in a user namespace; root stands in for it. More connections than one
 * user may have are successes.
 */
void attack_subuids(struct hostile *h)
{
	pid_t child[SUBORDINATE_UIDS];
	int places[2];
	u64 n, total = 0;

	if (pipe(places))
		return;
	for (u32 i = 0; i < SUBORDINATE_UIDS; i++) {
		child[i] = fork_child();
		if (child[i])
			continue;
		close(places[0]);
		become(SUBORDINATE_FIRST + i);
		n = take_places(h);
		if (write(places[1], &n, sizeof(n)) == sizeof(n))
			rest_ms(h, UINT32_MAX);
		_exit(0);
	}
	close(places[1]);
	while (read(places[0], &n, sizeof(n)) == sizeof(n))
		total += n;
	h->counts->succeeded += total > CONNECTIONS_OF_USER ? total - CONNECTIONS_OF_USER : 0;
	close(places[0]);
	for (u32 i = 0; i < SUBORDINATE_UIDS; i++)
		waitpid(child[i], NULL, 0);
}
