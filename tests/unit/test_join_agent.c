// SPDX-License-Identifier: MIT
/* The agent of a joined program, and its messages, where there is no daemon. */
#include "host.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "join/agent_internal.h"
#include "join/say.h"

#define QUEUES 100

static struct gp__request request;

/* The exit status of the child; 128 and the number of the signal that ended it. */
static int wait_for_child(void)
{
	int status;

	assert_true(wait(&status) > 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static struct gp__port *begin(struct gp__agent **agent)
{
	static const struct gp__queue_ops ops;
	const struct gp__agent_options options = { .path = "/nonexistent/gpreemptd.sock",
						   .program = "program" };
	struct gp__port *port;

	assert_int_equal(gp__agent_create(&options, agent), 0);
	port = gp__agent_open(*agent, &request, &ops);
	assert_non_null(port);
	return port;
}

static int add(struct gp__port *port, u32 id)
{
	const struct gp__queue_desc queue = { .id = id, .level = 3, .device = "gpu" };

	return gp__port_add(port, &queue);
}

static u32 nr_queues(struct gp__agent *agent)
{
	struct gp__agent_state state;

	gp__agent_state(agent, &state);
	return state.nr_queues;
}

static bool is_empty(struct gp__agent *agent)
{
	bool empty;

	pthread_mutex_lock(&agent->lock);
	empty = gp__list_empty(&agent->queues);
	pthread_mutex_unlock(&agent->lock);
	return empty;
}

/* A program may create and destroy queues for days before a daemon starts. */
static void removed_queues_are_freed_without_a_daemon(void **state)
{
	struct gp__agent *agent;
	struct gp__port *port = begin(&agent);

	(void)state;
	for (u32 id = 0; id < QUEUES; id++) {
		assert_int_equal(add(port, id), 0);
		gp__port_remove(port, id);
	}
	assert_int_equal(nr_queues(agent), 0);
	assert_true(is_empty(agent));
	gp__agent_destroy(agent);
}

/* As fork() may find it: another thread has unlinked the first queue in one direction only. */
static void a_child_copes_with_a_list_that_is_half_changed(void **state)
{
	struct gp__link *first;
	struct gp__agent *agent;
	struct gp__port *port;
	struct queue *q;

	(void)state;
	needs_threads_after_fork();
	port = begin(&agent);
	assert_int_equal(add(port, 1), 0);
	assert_int_equal(add(port, 2), 0);
	first = agent->queues.next;
	if (!fork()) {
		agent->queues.next = first->next;
		gp__agent_forget(agent);
		if (!is_empty(agent) || nr_queues(agent) || add(port, 3))
			_exit(1);
		q = container_of(agent->queues.next, struct queue, link);
		_exit(q->is.id != 3 || q->link.next != &agent->queues);
	}
	assert_int_equal(wait_for_child(), 0);
	gp__agent_destroy(agent);
}

static u32 nr_sources(struct gp__agent *agent)
{
	u32 nr = 0;

	for (struct source *s = NULL; (s = gp__agent_next_source(agent, s));)
		nr++;
	return nr;
}

/* Another thread was opening a port at the fork: compilers may store either pointer first. */
static void a_child_copes_with_a_port_that_is_half_open(void **state)
{
	static const struct gp__queue_ops ops;

	(void)state;
	for (int stored = 0; stored < 2; stored++) {
		struct gp__agent *agent;
		struct gp__port *port = begin(&agent);
		struct source *first = container_of(port, struct source, port);
		struct source half = { .link = { &first->link, &agent->sources } };

		if (stored)
			first->link.next = &half.link;
		else
			agent->sources.prev = &half.link;
		gp__agent_forget(agent);
		assert_non_null(gp__agent_open(agent, &request, &ops));
		assert_int_equal(nr_sources(agent), 2 + stored);
		if (stored)
			gp__list_del(&half.link);
		gp__agent_destroy(agent);
	}
}

static void a_queue_that_cannot_be_added_leaves_nothing_behind(void **state)
{
	(void)state;
	if (!fork()) {
		struct gp__agent *agent;
		struct gp__port *port = begin(&agent);

		if (!host_forbid(SYS_clone, EAGAIN) || !host_forbid(SYS_clone3, EAGAIN))
			_exit(TEST_SKIPPED);
		if (add(port, 1) != -EAGAIN)
			_exit(1);
		_exit(!is_empty(agent) || nr_queues(agent));
	}
	switch (wait_for_child()) {
	case 0:
		return;
	case TEST_SKIPPED:
		skip();
		break;
	default:
		fail();
	}
}

static void a_message_does_not_kill_a_program_without_a_reader(void **state)
{
	(void)state;
	if (!fork()) {
		sigset_t pending;
		int ends[2];

		signal(SIGPIPE, SIG_DFL);
		if (pipe(ends) || dup2(ends[1], STDERR_FILENO) < 0)
			_exit(1);
		close(ends[0]);
		close(ends[1]);
		errno = ENOENT;
		gp__join_say("this is not read", false);
		if (errno != ENOENT)
			_exit(2);
		sigpending(&pending);
		_exit(sigismember(&pending, SIGPIPE) ? 3 : 0);
	}
	assert_int_equal(wait_for_child(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(removed_queues_are_freed_without_a_daemon),
		cmocka_unit_test(a_child_copes_with_a_list_that_is_half_changed),
		cmocka_unit_test(a_child_copes_with_a_port_that_is_half_open),
		cmocka_unit_test(a_queue_that_cannot_be_added_leaves_nothing_behind),
		cmocka_unit_test(a_message_does_not_kill_a_program_without_a_reader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
