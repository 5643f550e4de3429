// SPDX-License-Identifier: MIT
/* Attacks that take GPU time from others by claiming weights, shares and work. */
#include "hostile.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Claims work in all slots, and counts it. */
static void claim_work(struct hostile *h, struct gp__wire_client *c, u32 nr_slots)
{
	for (u32 i = 0; i < nr_slots; i++) {
		gp__wire_client_work(c, i, true, 1, gp__clock_ns());
		count(h, 0);
	}
}

/* Carries out orders until the time is over or the daemon is gone. */
static void obey_to_the_end(struct hostile *h, struct gp__wire_client *c, u32 nr_slots)
{
	while (goes_on(h) && obey(c, nr_slots, 20) != -EPIPE)
		;
}

#define HEAVY_TAGS 20

/*
 * Attack 7: asks for the greatest weight and all of the GPU, in 20 groups, at the highest priority
 * of everybody.
 */
void attack_weight(struct hostile *h)
{
	struct gp__wire_client c;
	u32 n = 0;

	if (join(h, &c, "heavy", HEAVY_TAGS))
		return;
	for (u32 i = 0; i < c.nr_slots && goes_on(h); i++) {
		char tag[GP__WIRE_TAG_MAX];
		struct gp__wire_queue_add q;
		int err;

		snprintf(tag, sizeof(tag), "heavy-%u", i);
		q = queue_of(h, n, PRIO_MOST, tag);
		q.hints.weight = 10000;
		q.hints.share_pct = 100;
		err = gp__wire_client_request(&c, &q, NULL);
		if (err == -EACCES || err == -ERANGE) {
			/* The limits of weight and share hold: it tries without. */
			count(h, err);
			q.hints.weight = q.hints.share_pct = 0;
			err = gp__wire_client_request(&c, &q, NULL);
		}
		if (err)
			count(h, err);
		n += !err;
	}
	claim_work(h, &c, n);
	obey_to_the_end(h, &c, n);
	gp__wire_client_close(&c);
}

#define CLAIMED_GROUPS 300

/* Joins, claims work in all its groups and stays. */
static void claim(struct hostile *h, u32 nr_groups, bool stops)
{
	struct gp__wire_client c;
	u32 n = 0;

	if (join(h, &c, "claim", nr_groups))
		return;
	for (u32 i = 0; i < c.nr_slots && goes_on(h); i++) {
		char tag[GP__WIRE_TAG_MAX];
		int err;

		snprintf(tag, sizeof(tag), "claim-%u", i);
		err = add(h, &c, n, PRIO_MOST, tag);
		if (err)
			count(h, err);
		n += !err;
	}
	claim_work(h, &c, n);
	if (stops)
		raise(SIGSTOP);
	obey_to_the_end(h, &c, n);
	gp__wire_client_close(&c);
}

/*
 * Attack 8: claims work that does not exist, at the highest priority of everybody and without a
 * GPU, in 300 groups. A second process does so with one group and stops itself.
 */
void attack_claim(struct hostile *h)
{
	pid_t stopped = fork_child();

	if (!stopped) {
		claim(h, 1, true);
		_exit(0);
	}
	claim(h, CLAIMED_GROUPS, false);
	if (stopped > 0) {
		kill(stopped, SIGKILL);
		waitpid(stopped, NULL, 0);
	}
}

#define ANNOUNCERS 5
#define ANNOUNCED_EVERY_MS 10

/*
 * Attack 9: five programs announce work in turn, and none of them ever works. The GPU is made free
 * for each of them.
 */
void attack_announce(struct hostile *h)
{
	struct gp__wire_client all[ANNOUNCERS];
	u32 n = 0;
	int err = 0;

	for (; n < ANNOUNCERS && !err; n++) {
		err = join(h, &all[n], "announce", 1);
		if (err)
			break;
		err = add(h, &all[n], 0, PRIO_MOST, "");
	}
	for (u32 i = 0; !err && goes_on(h); i = (i + 1) % ANNOUNCERS) {
		gp__wire_client_arriving(&all[i], 0, gp__clock_ns() + ANNOUNCED_EVERY_MS * GP__MS);
		count(h, 0);
		err = obey(&all[i], 1, ANNOUNCED_EVERY_MS);
	}
	if (err)
		count(h, err);
	while (n)
		gp__wire_client_close(&all[--n]);
}
