// SPDX-License-Identifier: MIT
/*
 * Victims of attacks on gpreemptd: fake programs without a GPU that measure how they are scheduled.
 *
 *	victim pair [--socket PATH] [--gpu KEY] [--users URGENT,PATIENT] [--seconds N]
 *	victim patient [--socket PATH] [--gpu KEY] [--users UID] [--prio N] [--seconds N]
 *
 * A pair is an urgent and a patient program of two users. The patient one always has work. The
 *urgent one gets work now and then, and measures the time until the order to hold the patient one
 *is written, and until its agent sees it. "patient" is the second alone, beside whatever else is on
 *the GPU: it measures how long it runs and is held.
 *
 * Twice a second each prints a JSON line with what was measured since the last one. They behave as
 * agents do: a hold ends when its lease runs out or the daemon is gone, and they join again.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "wire/client.h"

#define REPORT_NS (GP__S / 2)
#define REJOIN_MS 20
/* The urgent program works for so long, then rests for a random time around the other one. */
#define WORK_NS (2 * GP__MS)
#define REST_NS (10 * GP__MS)
/* An order that has not come by then is lost; its time counts as this. */
#define LOST_NS (10 * GP__S)
#define SAMPLES_MAX 256

struct options {
	const char *socket, *gpu;
	uid_t users[2];
	s32 prio;
	u64 until;
};

/* A program with one queue. */
struct program {
	const struct options *o;
	const char *name;
	s32 prio;
	struct gp__wire_client client;
	bool joined, held;
	u32 number; /* of the latest order */
	u64 held_since, out_since; /* out: not joined */
};

/* The patient program of a pair tells the urgent one this, in a pipe. */
struct told {
	bool held;
	u64 issued_ns, seen_ns;
};

static void become(uid_t user)
{
	if (geteuid())
		return;
	if (setgroups(0, NULL) || setgid(user) || setuid(user)) {
		perror("setuid");
		_exit(EXIT_FAILURE);
	}
}

/*
 * Joining
 */

static void leave(struct program *p)
{
	if (p->joined)
		gp__wire_client_close(&p->client);
	p->joined = false;
	p->number = 0;
	p->out_since = gp__clock_ns();
}

static void try_to_join(struct program *p)
{
	char text[GP__WIRE_TEXT_MAX];
	struct gp__wire_queue_add q = { .head = { sizeof(q), GP__WIRE_QUEUE_ADD, 0, 0, 0 },
					.level_requested = 3,
					.level = 3,
					.hints = { .prio = p->prio } };

	if (gp__wire_client_open(&p->client, p->o->socket, p->name, 1, text))
		return;
	gp__wire_text(q.device, sizeof(q.device), p->o->gpu);
	gp__wire_text(q.device_name, sizeof(q.device_name), "a GPU");
	p->joined = !gp__wire_client_request(&p->client, &q, NULL);
	if (!p->joined)
		gp__wire_client_close(&p->client);
}

static bool is_gone(struct program *p)
{
	struct pollfd s = { .fd = p->client.socket, .events = POLLIN };

	return poll(&s, 1, 0) > 0;
}

/* Joins if it is not joined. Returns whether it is. */
static bool stay_joined(struct program *p)
{
	if (p->joined && is_gone(p))
		leave(p);
	if (p->joined)
		return true;
	try_to_join(p);
	if (!p->joined)
		gp__sleep_ns(REJOIN_MS * GP__MS);
	return p->joined;
}

static void wait_for_orders(struct program *p, u64 ns)
{
	struct pollfd s[] = { { .fd = p->client.notify_fd, .events = POLLIN },
			      { .fd = p->client.socket, .events = POLLIN } };
	struct timespec ts = gp__timespec(ns);
	char bytes[64];

	if (ppoll(s, 2, &ts, NULL) > 0 && s[0].revents)
		while (read(p->client.notify_fd, bytes, sizeof(bytes)) == sizeof(bytes))
			;
}

/*
 * The patient program
 */

struct patience {
	u64 run_ns, held_ns, longest_ns, out_ns; /* since the last report; longest: of the holds */
	u64 at; /* up to which time they count */
	u32 nr_holds, nr_expired;
};

/* Adds the time since the last call to the state that it was spent in. */
static void account(struct program *p, struct patience *m)
{
	u64 now = gp__clock_ns(), passed = now - m->at;

	m->at = now;
	if (p->held)
		m->held_ns += passed;
	else if (p->joined)
		m->run_ns += passed;
	else
		m->out_ns += passed;
	if (p->held && now - p->held_since > m->longest_ns)
		m->longest_ns = now - p->held_since;
}

static void set_held(struct program *p, struct patience *m, bool held)
{
	account(p, m);
	if (held && !p->held) {
		p->held_since = gp__clock_ns();
		m->nr_holds++;
	}
	p->held = held;
}

static void tell(int pipe, const struct told *told)
{
	/* The urgent program may be gone. */
	if (pipe >= 0 && write(pipe, told, sizeof(*told)) < 0)
		return;
}

/* Carries out a new order. */
static void obey(struct program *p, struct patience *m, int pipe)
{
	const struct gp__wire_order_slot *slot = &p->client.order->slot[0];
	u64 order = atomic_load(&slot->order);
	struct told told = { .held = gp__wire_order_verb(order) == GP__WIRE_HOLD };

	if (gp__wire_order_number(order) == p->number)
		return;
	p->number = gp__wire_order_number(order);
	told.issued_ns = atomic_load(&slot->issued_ns);
	told.seen_ns = gp__clock_ns();
	set_held(p, m, told.held);
	gp__wire_client_done(&p->client, 0, p->number, 0, told.seen_ns, 1000);
	tell(pipe, &told);
}

/* A hold that was not renewed ends. */
static void expire(struct program *p, struct patience *m, int pipe)
{
	if (!p->held || gp__clock_ns() < atomic_load(&p->client.order->slot[0].until_ns))
		return;
	set_held(p, m, false);
	m->nr_expired++;
	gp__wire_client_expired(&p->client, 0, p->number);
	tell(pipe, &(struct told){ .held = false });
}

static void report_patience(struct program *p, struct patience *m, bool prints)
{
	account(p, m);
	if (prints)
		printf("{\"run_ms\":%.3f,\"held_ms\":%.3f,\"longest_hold_ms\":%.3f,\"out_ms\":%.3f,"
		       "\"holds\":%u,\"expired\":%u}\n",
		       gp__to_ms(m->run_ns), gp__to_ms(m->held_ns), gp__to_ms(m->longest_ns),
		       gp__to_ms(m->out_ns), m->nr_holds, m->nr_expired);
	*m = (struct patience){ .at = m->at };
}

/* Whether nobody reads from the pipe any more. */
static bool is_unread(int pipe)
{
	struct pollfd s = { .fd = pipe, .events = 0 };

	return pipe >= 0 && poll(&s, 1, 0) > 0;
}

/* @pipe: where the urgent program listens, which it ends with; -1: it is alone, and prints. */
static void be_patient(struct program *p, int pipe)
{
	struct patience m = { .at = gp__clock_ns() };
	u64 report_at = m.at + REPORT_NS;

	while (gp__clock_ns() < p->o->until && !is_unread(pipe)) {
		bool was_joined = p->joined;

		if (was_joined && is_gone(p)) {
			set_held(p, &m, false);
			tell(pipe, &(struct told){ .held = false });
		}
		if (stay_joined(p)) {
			if (!was_joined)
				gp__wire_client_work(&p->client, 0, true, 1, gp__clock_ns());
			obey(p, &m, pipe);
			expire(p, &m, pipe);
			wait_for_orders(p, 20 * GP__MS);
		}
		account(p, &m);
		if (gp__clock_ns() >= report_at) {
			report_patience(p, &m, pipe < 0);
			report_at += REPORT_NS;
		}
	}
}

/*
 * The urgent program
 */

struct urgency {
	bool patient_is_held; /* as it was told last */
	u32 nr, nr_lost;
	u64 issued_ns[SAMPLES_MAX], seen_ns[SAMPLES_MAX];
};

/* Acknowledges its own orders: some policies hold the urgent program as well. */
static void keep_up(struct program *p)
{
	u32 number = gp__wire_order_number(atomic_load(&p->client.order->slot[0].order));

	if (number == p->number)
		return;
	p->number = number;
	gp__wire_client_done(&p->client, 0, number, 0, gp__clock_ns(), 1000);
}

static void rest(struct program *p, u64 ns)
{
	u64 end = gp__clock_ns() + ns, now;

	while ((now = gp__clock_ns()) < end && !is_gone(p)) {
		wait_for_orders(p, end - now);
		keep_up(p);
	}
}

/* Receives what the patient program tells, within @ns. */
static bool next_told(struct program *p, int pipe, struct told *told, u64 ns)
{
	struct pollfd s[] = { { .fd = pipe, .events = POLLIN },
			      { .fd = p->client.notify_fd, .events = POLLIN } };
	struct timespec ts = gp__timespec(ns);

	if (ppoll(s, 2, &ts, NULL) < 1)
		return false;
	if (s[1].revents) {
		wait_for_orders(p, 0);
		keep_up(p);
	}
	return s[0].revents && read(pipe, told, sizeof(*told)) == sizeof(*told);
}

static void add_sample(struct urgency *u, u64 issued, u64 seen)
{
	if (u->nr == SAMPLES_MAX)
		return;
	u->issued_ns[u->nr] = issued;
	u->seen_ns[u->nr++] = seen;
}

/* Waits for the hold order of the work that began at @began. */
static void measure(struct program *p, struct urgency *u, int pipe, u64 began)
{
	struct told told;
	u64 now;

	while ((now = gp__clock_ns()) < began + LOST_NS && now < p->o->until) {
		if (is_gone(p))
			return; /* the daemon was killed: nothing is measured */
		if (!next_told(p, pipe, &told, 100 * GP__MS))
			continue;
		u->patient_is_held = told.held;
		if (!told.held || told.seen_ns < began)
			continue;
		/* An order that was under way is not the one for this work. */
		if (told.issued_ns >= began)
			add_sample(u, told.issued_ns - began, told.seen_ns - began);
		return;
	}
	if (now >= began + LOST_NS) {
		u->nr_lost++;
		add_sample(u, LOST_NS, LOST_NS);
	}
}

/* Waits until the patient program runs, for a while. Returns whether it does. */
static bool wait_for_patient(struct program *p, struct urgency *u, int pipe)
{
	u64 end = gp__clock_ns() + REPORT_NS;
	struct told told;

	while (u->patient_is_held && gp__clock_ns() < end && !is_gone(p)) {
		if (next_told(p, pipe, &told, 50 * GP__MS))
			u->patient_is_held = told.held;
	}
	return !u->patient_is_held;
}

static void report_urgency(struct urgency *u)
{
	printf("{\"lost\":%u,\"order_us\":[", u->nr_lost);
	for (u32 i = 0; i < u->nr; i++)
		printf("%s%.1f", i ? "," : "", gp__to_us(u->issued_ns[i]));
	printf("],\"seen_us\":[");
	for (u32 i = 0; i < u->nr; i++)
		printf("%s%.1f", i ? "," : "", gp__to_us(u->seen_ns[i]));
	printf("]}\n");
	u->nr = u->nr_lost = 0;
}

/* A piece of work, and the rest after it. */
static void work_once(struct program *p, struct urgency *u, int pipe)
{
	u64 began;

	if (!wait_for_patient(p, u, pipe))
		return;
	rest(p, REST_NS / 2 + (u64)random() % REST_NS);
	began = gp__clock_ns();
	gp__wire_client_work(&p->client, 0, true, 1, began);
	measure(p, u, pipe, began);
	rest(p, WORK_NS);
	gp__wire_client_work(&p->client, 0, false, 0, gp__clock_ns());
}

static void be_urgent(struct program *p, int pipe)
{
	struct urgency u = { 0 };
	u64 report_at = gp__clock_ns() + REPORT_NS;

	while (gp__clock_ns() < p->o->until) {
		if (stay_joined(p))
			work_once(p, &u, pipe);
		if (gp__clock_ns() >= report_at) {
			report_urgency(&u);
			report_at = gp__clock_ns() + REPORT_NS;
		}
	}
}

/*
 * Starting
 */

static void run_pair(const struct options *o)
{
	struct program urgent = { .o = o, .name = "urgent", .prio = 15 };
	struct program patient = { .o = o, .name = "patient", .prio = 2 };
	int ends[2];
	pid_t pid;

	if (pipe(ends) || (pid = fork()) < 0) {
		perror("victim");
		exit(EXIT_FAILURE);
	}
	if (!pid) {
		close(ends[0]);
		become(o->users[1]);
		be_patient(&patient, ends[1]);
		_exit(0);
	}
	close(ends[1]);
	become(o->users[0]);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	be_urgent(&urgent, ends[0]);
}

static void run_patient(const struct options *o)
{
	struct program p = { .o = o, .name = "patient", .prio = o->prio };

	become(o->users[0]);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	be_patient(&p, -1);
}

static void die(const char *why)
{
	fprintf(stderr, "victim: %s\n", why);
	exit(2);
}

static void parse_users(struct options *o, char *text)
{
	char *second = strchr(text, ',');
	u64 uid;

	if (second)
		*second++ = '\0';
	for (int i = 0; i < 2; i++) {
		const char *one = i && second ? second : text;

		if (gp__parse_u64(one, 1, UINT32_MAX - 1, &uid))
			die("--users wants one or two uids");
		o->users[i] = (uid_t)uid;
	}
}

static u64 parse_options(struct options *o, int argc, char **argv)
{
	static const struct option options[] = {
		{ "seconds", required_argument, NULL, 'n' },
		{ "socket", required_argument, NULL, 's' },
		{ "users", required_argument, NULL, 'u' },
		{ "gpu", required_argument, NULL, 'g' },
		{ "prio", required_argument, NULL, 'p' },
		{ NULL, 0, NULL, 0 },
	};
	u64 seconds = 1, prio;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'n' && gp__parse_u64(optarg, 0, 86400, &seconds))
			die("--seconds wants a number up to 86400");
		else if (c == 'p' && gp__parse_u64(optarg, 0, 15, &prio))
			die("--prio wants a number up to 15");
		else if (c == 'p')
			o->prio = (s32)prio;
		else if (c == 's')
			o->socket = optarg;
		else if (c == 'g')
			o->gpu = optarg;
		else if (c == 'u')
			parse_users(o, optarg);
		else if (c == '?')
			exit(2);
	}
	return seconds;
}

int main(int argc, char **argv)
{
	struct options o = { .socket = getenv("GPREEMPT_SOCKET"),
			     .gpu = "gpu-v",
			     .users = { 65533, 65532 },
			     .prio = 2 };
	u64 seconds = parse_options(&o, argc, argv);
	const char *mode = optind < argc ? argv[optind] : "";

	if (!o.socket)
		die("no socket: use --socket or set GPREEMPT_SOCKET");
	/* It stands for a GPU, as stage.py configures. */
	if (open("/dev/full", O_RDWR | O_CLOEXEC) < 0)
		die("cannot open /dev/full");
	o.until = gp__clock_ns() + seconds * GP__S;
	signal(SIGPIPE, SIG_IGN);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(mode, "pair"))
		run_pair(&o);
	else if (!strcmp(mode, "patient"))
		run_patient(&o);
	else
		die("'pair' or 'patient' is wanted");
	return EXIT_SUCCESS;
}
