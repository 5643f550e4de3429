// SPDX-License-Identifier: MIT
/*
 * A fake program for gpreemptd, without a GPU: it joins, has queues that get work and run out of
 * it, and carries out orders at once, printing them:
 *
 *	joined QUEUE...		the queues' numbers
 *	stop SLOT  run SLOT  weigh SLOT WEIGHT
 *	end WHY
 *
 * Standard input tells it what to do: "ready SLOT", "idle SLOT", "arriving SLOT" (announces work),
 * "over SLOT" (no work follows) and "quit". With -w the clock does. It ends at the end of standard
 * input, unless -w is given, and with the daemon. With -y its GPU weighs. With -o it has that file
 * open, such as a GPU's.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "wire/client.h"

#define QUEUES_MAX 64

struct fake {
	struct gp__wire_client client;
	struct gp__wire_queue_add queue; /* the pattern of each */
	const char *program, *socket;
	u32 nr_queues, number[QUEUES_MAX]; /* of the order carried out last */
	u64 work_ns, rest_ns; /* with -w */
	bool working, present; /* -P: of its work only that it is there is seen */
	int timer;
};

static void die(const char *what, const char *why)
{
	printf("end %s: %s\n", what, why);
	exit(EXIT_FAILURE);
}

static u64 number(const char *text, u64 most)
{
	u64 n;

	if (gp__parse_u64(text, 0, most, &n))
		die("not a number in range", text);
	return n;
}

static void parse_rhythm(struct fake *f, char *text)
{
	char *rest = strchr(text, ':');

	if (!rest)
		die("-w wants WORK:REST", text);
	*rest++ = '\0';
	if (gp__parse_duration(text, &f->work_ns) || gp__parse_duration(rest, &f->rest_ns) ||
	    !f->work_ns || !f->rest_ns)
		die("-w wants two durations", text);
}

static void parse_options(struct fake *f, int argc, char **argv)
{
	int64_t prio;
	int c;

	while ((c = getopt(argc, argv, "s:n:p:t:g:q:l:w:o:Py")) != -1) {
		switch (c) {
		case 's':
			f->socket = optarg;
			break;
		case 'n':
			f->program = optarg;
			break;
		case 'p':
			if (gp__parse_i64(optarg, -1000000, 1000000, &prio))
				die("not a priority", optarg);
			f->queue.hints.prio = (s32)prio;
			break;
		case 't':
			gp__wire_text(f->queue.tag, sizeof(f->queue.tag), optarg);
			break;
		case 'g':
			gp__wire_text(f->queue.device, sizeof(f->queue.device), optarg);
			break;
		case 'q':
			f->nr_queues = (u32)number(optarg, QUEUES_MAX);
			break;
		case 'l':
			f->queue.level = (u32)number(optarg, 3);
			break;
		case 'w':
			parse_rhythm(f, optarg);
			break;
		case 'o':
			if (open(optarg, O_RDWR | O_CLOEXEC) < 0)
				die(optarg, strerror(errno));
			break;
		case 'P':
			f->present = true;
			break;
		case 'y':
			f->queue.flags = GP__WIRE_CAN_WEIGH | GP__WIRE_CAN_YIELD;
			break;
		default:
			exit(2);
		}
	}
}

static void join(struct fake *f)
{
	char text[GP__WIRE_TEXT_MAX];
	struct gp__wire_reply reply;
	int err = gp__wire_client_open(&f->client, f->socket, f->program, QUEUES_MAX, text);

	if (err)
		die("cannot join", *text ? text : strerror(-err));
	printf("joined");
	for (u32 i = 0; i < f->nr_queues; i++) {
		struct gp__wire_queue_add q = f->queue;

		q.slot = i;
		if (gp__wire_client_request(&f->client, &q, &reply))
			die("queue refused", reply.text);
		if (f->present)
			atomic_store(&f->client.status->slot[i].sees, GP__WIRE_SEES_PRESENCE);
		printf(" %u", reply.id);
	}
	printf("\n");
}

static void set_work(struct fake *f, u32 slot, bool has_work)
{
	gp__wire_client_work(&f->client, slot, has_work, has_work, gp__clock_ns());
}

static void arm(struct fake *f)
{
	u64 ns = f->working ? f->work_ns : f->rest_ns;
	struct itimerspec t = { .it_value = { (time_t)(ns / GP__S), (long)(ns % GP__S) } };

	if (timerfd_settime(f->timer, 0, &t, NULL))
		die("timer", strerror(errno));
}

static void change_work(struct fake *f)
{
	u64 expirations;

	if (read(f->timer, &expirations, sizeof(expirations)) < 0)
		return;
	f->working = !f->working;
	for (u32 i = 0; i < f->nr_queues; i++)
		set_work(f, i, f->working);
	arm(f);
}

static void obey(struct fake *f)
{
	static const char *const verbs[] = {
		[GP__WIRE_RELEASE] = "run", [GP__WIRE_HOLD] = "stop", [GP__WIRE_WEIGH] = "weigh"
	};
	u64 notifies;

	if (read(f->client.notify_fd, &notifies, sizeof(notifies)) < 0)
		return;
	for (u32 i = 0; i < f->nr_queues; i++) {
		u64 order = atomic_load(&f->client.order->slot[i].order);

		if (gp__wire_order_number(order) == f->number[i])
			continue;
		f->number[i] = gp__wire_order_number(order);
		printf("%s %u", verbs[gp__wire_order_verb(order)], i);
		if (gp__wire_order_verb(order) == GP__WIRE_WEIGH)
			printf(" %u", gp__wire_order_weight(order));
		printf("\n");
		gp__wire_client_done(&f->client, i, f->number[i], 0, gp__clock_ns(), 1000);
	}
}

/* False: it was the last one. */
static bool follow_script(struct fake *f)
{
	char line[128];
	u32 slot;

	if (!fgets(line, sizeof(line), stdin) || !strcmp(line, "quit\n"))
		return false;
	if (sscanf(line, "ready %u", &slot) == 1 && slot < f->nr_queues)
		set_work(f, slot, true);
	else if (sscanf(line, "idle %u", &slot) == 1 && slot < f->nr_queues)
		set_work(f, slot, false);
	else if (sscanf(line, "arriving %u", &slot) == 1 && slot < f->nr_queues)
		gp__wire_client_arriving(&f->client, slot, gp__clock_ns());
	else if (sscanf(line, "over %u", &slot) == 1 && slot < f->nr_queues)
		gp__wire_client_arriving(&f->client, slot, 0);
	else
		die("not understood", line);
	return true;
}

static void live(struct fake *f)
{
	struct pollfd p[] = { { .fd = f->client.socket, .events = POLLIN },
			      { .fd = f->client.notify_fd, .events = POLLIN },
			      { .fd = f->timer, .events = POLLIN },
			      { .fd = f->work_ns ? -1 : STDIN_FILENO, .events = POLLIN } };

	for (;;) {
		if (poll(p, sizeof(p) / sizeof(p[0]), -1) < 0 && errno != EINTR)
			die("poll", strerror(errno));
		if (p[1].revents)
			obey(f);
		if (p[2].revents)
			change_work(f);
		/* Unbuffered, so that poll() knows of every line. */
		if (p[3].revents && !follow_script(f))
			return;
		if (p[0].revents)
			die("the daemon", "is gone");
	}
}

int main(int argc, char **argv)
{
	struct fake f = { .program = "fake",
			  .socket = getenv("GPREEMPT_SOCKET"),
			  .nr_queues = 1,
			  .queue = { .head = { sizeof(f.queue), GP__WIRE_QUEUE_ADD, 0, 0, 0 },
				     .level_requested = 3,
				     .level = 3,
				     .device = "gpu-a",
				     .device_name = "a GPU",
				     .hints.prio = 7 } };

	setvbuf(stdout, NULL, _IOLBF, 0);
	setvbuf(stdin, NULL, _IONBF, 0);
	parse_options(&f, argc, argv);
	if (!f.socket)
		die("no socket", "set GPREEMPT_SOCKET or use -s");
	f.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	join(&f);
	if (f.work_ns)
		arm(&f);
	live(&f);
	gp__wire_client_close(&f.client);
	printf("end as told\n");
	return EXIT_SUCCESS;
}
