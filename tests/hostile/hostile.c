// SPDX-License-Identifier: MIT
/*
 * Attacks gpreemptd, or the emulated machine, for a while and prints what came of it:
 *
 *	hostile ATTACK [--seconds N] [--socket PATH] [--user UID] [--gpu KEY] [--machine FOLDER]
 *	hostile --list
 *
 * Started by root, it becomes the user before it attacks. The line is a JSON object: how many tries
 * succeeded, were refused, or ended the connection, and the longest time without an answer. The
 * status is 77 if the attack needs something that is not there.
 */
#include "hostile.h"

#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/units.h"

#define SKIPPED 77
#define SECONDS_MOST 86400

/* Uses a processor as much as it can and nothing else: attackers are compared with it. */
static void be_a_hog(struct hostile *h)
{
	while (goes_on(h))
		h->counts->succeeded++;
}

static const struct attack attacks[] = {
	{ "linger", "the daemon closes a socket that lingers", attack_linger, IS_HOLE },
	{ "groups", "more groups than a user may have", attack_groups, IS_HOLE },
	{ "regroup", "priorities of 255 programs change 30 times a second", attack_regroup, 0 },
	{ "why", "'why' for 256 targets, back to back", attack_why, 0 },
	{ "deaf", "100 connections ask and do not read", attack_deaf, 0 },
	{ "toggle", "work comes and goes in 1024 queues, for the decision log", attack_toggle, 0 },
	{ "weight", "weight 10000 and share 100 in 20 groups", attack_weight, 0 },
	{ "claim", "work that does not exist, in 300 groups and a stopped process", attack_claim,
	  0 },
	{ "announce", "five programs announce in turn and never work", attack_announce, 0 },
	{ "escape", "a suspended program makes a new group", attack_escape,
	  IS_HOLE | NEEDS_OPERATOR },
	{ "subuids", "13 subordinate uids take all connections", attack_subuids,
	  IS_HOLE | NEEDS_ROOT | STAYS_ROOT },
	{ "presence", "root cannot choose a policy", attack_presence,
	  IS_HOLE | NEEDS_OPERATOR | NEEDS_ROOT },
	{ "names", "names that mislead people, and a second GPU", attack_names, IS_HOLE },
	{ "probe", "learns of the processes of others", attack_probe, IS_HOLE },
	{ "container", "root in a container is an administrator", attack_container,
	  IS_HOLE | NEEDS_ROOT | STAYS_ROOT },
	{ "machine", "the emulated machine closes a socket that lingers", attack_machine, IS_HOLE },
	{ "hog", "uses a processor and never contacts the daemon", be_a_hog, 0 },
};

#define NR_ATTACKS (sizeof(attacks) / sizeof(attacks[0]))

static void list(void)
{
	for (size_t i = 0; i < NR_ATTACKS; i++)
		printf("%-9s  %s%s\n", attacks[i].name, attacks[i].tries,
		       attacks[i].flags & IS_HOLE ? " (a success is a hole)" : "");
}

static const struct attack *find(const char *name)
{
	for (size_t i = 0; name && i < NR_ATTACKS; i++) {
		if (!strcmp(attacks[i].name, name))
			return &attacks[i];
	}
	return NULL;
}

static u64 number(const char *text, u64 most)
{
	u64 n;

	if (!gp__parse_u64(text, 0, most, &n))
		return n;
	fprintf(stderr, "hostile: '%s' is not a number from 0 to %llu\n", text,
		(unsigned long long)most);
	exit(2);
}

static const struct attack *parse(struct hostile *h, u64 *seconds, int argc, char **argv)
{
	static const struct option options[] = {
		{ "seconds", required_argument, NULL, 'n' },
		{ "socket", required_argument, NULL, 's' },
		{ "user", required_argument, NULL, 'u' },
		{ "gpu", required_argument, NULL, 'g' },
		{ "machine", required_argument, NULL, 'm' },
		{ "list", no_argument, NULL, 'l' },
		{ NULL, 0, NULL, 0 },
	};
	const struct attack *a;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'n':
			*seconds = number(optarg, SECONDS_MOST);
			break;
		case 's':
			h->socket = optarg;
			break;
		case 'u':
			h->user = (uid_t)number(optarg, UINT32_MAX - 1);
			break;
		case 'g':
			h->gpu = optarg;
			break;
		case 'm':
			h->machine = optarg;
			break;
		case 'l':
			list();
			exit(0);
		default:
			exit(2);
		}
	}
	a = find(argv[optind]);
	if (a && h->socket)
		return a;
	fprintf(stderr, "hostile: %s; 'hostile --list' lists the attacks\n",
		a ? "no socket: use --socket or set GPREEMPT_SOCKET" : "no such attack");
	exit(2);
}

static void skip_without(bool is_there, const char *what)
{
	if (is_there)
		return;
	printf("hostile: SKIPPED: %s\n", what);
	exit(SKIPPED);
}

/* A program takes four descriptors. */
static void allow_descriptors(void)
{
	struct rlimit r;

	if (!getrlimit(RLIMIT_NOFILE, &r)) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
}

/* Does not outlive the program that started it. */
static void prepare(struct hostile *h, const struct attack *a)
{
	char text[GP__WIRE_TEXT_MAX];

	signal(SIGPIPE, SIG_IGN);
	allow_descriptors();
	h->counts = mmap(NULL, sizeof(*h->counts), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (h->counts == MAP_FAILED) {
		perror("mmap");
		exit(EXIT_FAILURE);
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	h->operator_fd = -1;
	if (h->is_root && (a->flags & NEEDS_OPERATOR))
		h->operator_fd = gp__wire_control(h->socket, text);
	if (h->is_root && !(a->flags & STAYS_ROOT))
		become(h->user);
}

/* Root's connection cannot be made again. */
static bool has_lost_operator(const struct hostile *h, const struct attack *a)
{
	struct pollfd p = { .fd = h->operator_fd, .events = 0 };

	return h->is_root && (a->flags & NEEDS_OPERATOR) &&
	       (h->operator_fd < 0 || (poll(&p, 1, 0) > 0 && p.revents));
}

static void report(const struct hostile *h, const struct attack *a, u64 began)
{
	printf("{\"schema\":1,\"attack\":\"%s\",\"hole\":%s,\"seconds\":%.1f,\"succeeded\":%llu,"
	       "\"refused\":%llu,\"dropped\":%llu,\"longest_ms\":%.1f}\n",
	       a->name, (a->flags & IS_HOLE) && h->counts->succeeded ? "true" : "false",
	       gp__to_s(gp__clock_ns() - began), (unsigned long long)h->counts->succeeded,
	       (unsigned long long)h->counts->refused, (unsigned long long)h->counts->dropped,
	       gp__to_ms(h->counts->longest_ns));
}

int main(int argc, char **argv)
{
	struct hostile h = { .socket = getenv("GPREEMPT_SOCKET"),
			     .gpu = "gpu-a",
			     .user = 65534,
			     .is_root = !geteuid() };
	u64 seconds = 1, began = gp__clock_ns();
	const struct attack *a = parse(&h, &seconds, argc, argv);

	skip_without(h.is_root || !(a->flags & NEEDS_ROOT), "this attack needs root to set it up");
	skip_without(h.machine || a->run != attack_machine,
		     "no emulated machine: use --machine FOLDER");
	h.until = began + seconds * GP__S;
	/* It stands for a GPU, as stage.py configures: all but one attacker have it open. */
	skip_without(a->run == attack_claim || open("/dev/full", O_RDWR | O_CLOEXEC) >= 0,
		     "no /dev/full");
	prepare(&h, a);
	/* An attack returns when its connections end. */
	do {
		a->run(&h);
		rest_ms(&h, 100);
	} while (goes_on(&h) && !has_lost_operator(&h, a));
	report(&h, a, began);
	return EXIT_SUCCESS;
}
