// SPDX-License-Identifier: MIT
#include "join/process.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "join/say.h"

/* Says why the program runs without gpreempt. */
__attribute__((format(printf, 2, 3))) static void say(const struct gp__process *p, const char *fmt,
						      ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	p->say(text, true);
}

/*
 * Beginning
 */

static void agent_says(void *data, const char *text, bool unscheduled)
{
	const struct gp__process *p = data;

	p->say(text, unscheduled);
}

static int make_agent(struct gp__process *p)
{
	struct gp__agent_options options = { .program = program_invocation_short_name,
					     .say = agent_says,
					     .data = p };
	struct gp__rank rank;
	char path[108];
	int err = gp__wire_path(path, sizeof(path));

	options.path = path;
	if (!err)
		err = gp__agent_create(&options, &p->agent);
	if (err)
		return err;
	if (*p->request.gang)
		return gp__agent_gang(p->agent, p->request.gang, p->request.gang_members);
	gp__rank_read(&rank);
	if (!p->request.independent && !p->request.observed)
		gp__agent_rank(p->agent, &rank);
	return 0;
}

/* Reads the request and creates the agent, once; with the lock. False: the program runs without
 * gpreempt. */
static bool begin(struct gp__process *p)
{
	const char *bad, *expected;
	int err;

	if (p->begun)
		return p->usable;
	if (!gp__request_read(&p->request, &bad, &expected)) {
		const char *value = getenv(bad);

		say(p, "%s=%s is not %s; the program runs without gpreempt", bad,
		    value ? value : "", expected);
		p->begun = true;
		return false;
	}
	if (!p->request.joined)
		gp__join_note(GP__NOTE_UNSCHEDULED,
			      "uses a GPU and was started without " GP__ENV_PRIORITY
			      ", so it has no priority; put 'gpreempt run' directly in front of "
			      "it");
	err = p->request.joined ? make_agent(p) : 0;
	if (err == -ENOENT)
		say(p, "cannot tell where gpreemptd listens, as neither /run/gpreempt nor "
		       "$XDG_RUNTIME_DIR exists; the program runs without gpreempt");
	else if (err)
		say(p, "cannot start gpreempt's agent: %s; the program runs without gpreempt",
		    strerror(-err));
	p->usable = !err;
	p->begun = true;
	return p->usable;
}

/* With the lock. */
static void *begin_backend(struct gp__process *p, const struct gp__backend *b)
{
	char why[GP__WIRE_TEXT_MAX] = "out of memory";
	struct gp__port *port = NULL;
	void *state = NULL;

	if (!begin(p))
		return NULL;
	if (p->agent) {
		port = gp__agent_open(p->agent, &p->request, &b->program->queue);
		if (!port) {
			say(p, "%s; the program runs without gpreempt", why);
			return NULL;
		}
	}
	if (b->program->create(port, p->next, &state, why)) {
		say(p, "%s; the program runs without gpreempt", why);
		return NULL;
	}
	if (port && state)
		gp__agent_bind(port, state);
	return state;
}

/* Begins the @i-th backend if the program has not used it yet, and returns its state. */
static void *use(struct gp__process *p, size_t i)
{
	int err = errno;

	if (!atomic_load_explicit(&p->asked[i], memory_order_acquire)) {
		pthread_mutex_lock(&p->lock);
		if (!atomic_load(&p->asked[i])) {
			atomic_store(&p->state[i], begin_backend(p, p->backends[i]));
			atomic_store_explicit(&p->asked[i], true, memory_order_release);
		}
		pthread_mutex_unlock(&p->lock);
	}
	errno = err;
	return atomic_load_explicit(&p->state[i], memory_order_relaxed);
}

void *gp__process_use(struct gp__process *p, const struct gp__backend *backend)
{
	for (size_t i = 0; p->backends[i]; i++) {
		if (p->backends[i] == backend)
			return use(p, i);
	}
	return NULL;
}

struct gp__port *gp__process_open(struct gp__process *p, const struct gp__queue_ops *ops,
				  void *state)
{
	struct gp__port *port = NULL;

	pthread_mutex_lock(&p->lock);
	if (begin(p) && p->agent)
		port = gp__agent_open(p->agent, &p->request, ops);
	if (port)
		gp__agent_bind(port, state);
	pthread_mutex_unlock(&p->lock);
	return port;
}

/*
 * Calls
 */

bool gp__process_wants(const struct gp__process *p, unsigned long request)
{
	for (size_t i = 0; p->backends[i]; i++) {
		const struct gp__program_ops *ops = p->backends[i]->program;

		if (ops && ops->wants(request))
			return true;
	}
	return false;
}

int gp__process_ioctl(struct gp__process *p, int fd, unsigned long request, void *argument)
{
	for (size_t i = 0; p->backends[i]; i++) {
		const struct gp__program_ops *ops = p->backends[i]->program;
		void *state;

		if (!ops || !ops->wants(request) || !ops->is_device(fd))
			continue;
		state = use(p, i);
		if (state)
			return ops->ioctl(state, fd, request, argument);
		break;
	}
	return p->next(fd, request, argument);
}

/*
 * For all backends in use
 */

static void *state_of(struct gp__process *p, size_t i)
{
	return p->backends[i]->program ? atomic_load(&p->state[i]) : NULL;
}

int gp__process_arriving(struct gp__process *p, u64 at)
{
	int err;

	pthread_mutex_lock(&p->lock);
	err = p->agent ? 0 : -ENOTCONN;
	pthread_mutex_unlock(&p->lock);
	if (!err)
		err = gp__agent_arriving(p->agent, at);
	for (size_t i = 0; p->backends[i]; i++) {
		void *state = state_of(p, i);

		if (state && p->backends[i]->program->announced)
			p->backends[i]->program->announced(state, at, !err);
	}
	return err;
}

int gp__process_lead_time(struct gp__process *p, u64 *ns)
{
	bool is_joined;

	*ns = 0;
	pthread_mutex_lock(&p->lock);
	is_joined = p->agent;
	pthread_mutex_unlock(&p->lock);
	return is_joined ? gp__agent_lead_time(p->agent, ns) : -ENOTCONN;
}

int gp__process_gang(struct gp__process *p, const char *name, u32 members)
{
	bool is_joined;

	pthread_mutex_lock(&p->lock);
	is_joined = begin(p) && p->agent;
	pthread_mutex_unlock(&p->lock);
	return is_joined ? gp__agent_gang(p->agent, name, members) : -ENOTCONN;
}

void gp__process_forget(struct gp__process *p)
{
	pthread_mutex_init(&p->lock, NULL);
	for (size_t i = 0; p->backends[i]; i++) {
		void *state = state_of(p, i);

		if (state)
			p->backends[i]->program->forget(state);
	}
	if (p->agent)
		gp__agent_forget(p->agent);
}

void gp__process_exit(struct gp__process *p)
{
	for (size_t i = 0; p->backends[i]; i++) {
		void *state = state_of(p, i);

		if (state && p->backends[i]->program->exit)
			p->backends[i]->program->exit(state);
	}
}

void gp__process_end(struct gp__process *p)
{
	gp__agent_destroy(p->agent);
	p->agent = NULL;
}
