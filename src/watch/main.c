// SPDX-License-Identifier: MIT
/*
 * gpreempt-watch: the helper of `gpreemptd --watch` for one program that has not joined. gpreemptd
 * starts it with a connection to itself, which it has given the program's identity; nobody else has
 * a use for it.
 *
 * Usage: gpreempt-watch PID NAME SOCKET PIDFD (two numbers of descriptors)
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/latency.h"
#include "base/units.h"
#include "watch/watch.h"

/* How often it looks for new queues. */
#define LOOK_MS 20

/* What the daemon shows of the program: lines, of which the last counts. */
static void tell(const char *text)
{
	printf("%s\n", text);
	fflush(stdout);
}

static void agent_says(void *data, const char *text, bool unscheduled)
{
	(void)data;
	(void)unscheduled;
	tell(text);
}

static bool has_ended(const struct watch *w)
{
	struct pollfd life = { .fd = w->life, .events = POLLIN };

	return poll(&life, 1, 0) != 0;
}

static int open_agent(struct watch *w, int socket)
{
	const struct gp__agent_options options = {
		.has_socket = true, .socket = socket, .program = w->name, .say = agent_says
	};
	int err = gp__agent_create(&options, &w->agent);

	if (err)
		return err;
	w->port = gp__agent_open(w->agent, &w->request, &watch_queue_ops);
	if (!w->port)
		return -ENOMEM;
	gp__agent_bind(w->port, w);
	return 0;
}

/* The agent starts with the first queue. */
static bool is_connected(const struct watch *w)
{
	struct gp__agent_state state;

	gp__agent_state(w->agent, &state);
	return !state.is_over;
}

static void sleep_until_something(const struct watch *w)
{
	struct pollfd fds[] = { { .fd = w->life, .events = POLLIN },
				{ .fd = w->control.events, .events = POLLIN } };

	poll(fds, 2, LOOK_MS);
}

static enum watch_status follow(struct watch *w, char why[GP__WIRE_TEXT_MAX])
{
	while (!has_ended(w) && is_connected(w)) {
		watch_answer(w);
		if (watch_look(w, why))
			return has_ended(w) ? WATCH_OVER : WATCH_UNWATCHABLE;
		/* execve() ends all queues, and gives the program another memory. */
		if (w->had_queues && !w->nr)
			return WATCH_OVER;
		sleep_until_something(w);
	}
	return WATCH_OVER;
}

/* Nothing reports to the agent when it ends, and the agent releases all queues while there is still
 * control of them. */
static void close_all(struct watch *w)
{
	watch_end_reports(w);
	gp__agent_destroy(w->agent);
	w->agent = NULL;
	watch_close_queues(w);
	watch_close_control(w);
}

static enum watch_status run(struct watch *w, int socket, char why[GP__WIRE_TEXT_MAX])
{
	enum watch_status status;
	int err;

	if (watch_is_joined(w->pid, why))
		return WATCH_JOINS;
	watch_read_wishes(w);
	/* Whatever was read of the process so far was the program's, if it lives. */
	if (has_ended(w))
		return WATCH_OVER;
	err = watch_open_control(w, why);
	if (err)
		return err == -ESRCH || has_ended(w) ? WATCH_OVER : WATCH_UNWATCHABLE;
	err = open_agent(w, socket);
	if (!err)
		err = watch_open_queues(w);
	if (err) {
		snprintf(why, GP__WIRE_TEXT_MAX, "its helper cannot watch it: %s", strerror(-err));
		status = WATCH_UNWATCHABLE;
	} else {
		status = follow(w, why);
	}
	return status;
}

static bool parse(int argc, char **argv, struct watch *w, int *socket)
{
	u64 pid, fd, life;

	if (argc != 5 || gp__parse_u64(argv[1], 1, INT32_MAX, &pid) ||
	    gp__parse_u64(argv[3], 3, INT32_MAX, &fd) ||
	    gp__parse_u64(argv[4], 3, INT32_MAX, &life))
		return false;
	w->pid = (pid_t)pid;
	w->name = argv[2];
	w->life = (int)life;
	*socket = (int)fd;
	return true;
}

int main(int argc, char **argv)
{
	static struct watch w = { .kfd = -1, .mem = -1, .control.events = -1 };
	char why[GP__WIRE_TEXT_MAX] = "";
	enum watch_status status;
	int socket;

	if (!parse(argc, argv, &w, &socket)) {
		fprintf(stderr,
			"gpreempt-watch: only gpreemptd starts this program; run 'gpreemptd "
			"--watch'\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	gp__prefer_latency();
	pthread_mutex_init(&w.lock, NULL);
	status = run(&w, socket, why);
	close_all(&w);
	if (status != WATCH_OVER)
		tell(why);
	return status;
}
