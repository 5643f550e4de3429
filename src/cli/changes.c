// SPDX-License-Identifier: MIT
#include "cli/changes.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "core/log.h"
#include "wire/client.h"

/* Between two looks, however many lines arrive. */
#define LEAST_NS (100 * GP__MS)
#define RETRY_NS (1000 * GP__MS)

/*
 * Printing
 */

int changes_print(struct gp__env *env, json_t *object)
{
	struct timespec now;
	int err;

	clock_gettime(CLOCK_REALTIME, &now);
	json_object_set_new(object, "schema", json_integer(GP__JSON_SCHEMA));
	json_object_set_new(object, "time_s",
			    json_real((double)now.tv_sec + (double)now.tv_nsec / 1e9));
	err = object ? json_dumpf(object, env->out, JSON_COMPACT | JSON_REAL_PRECISION(15)) : -1;
	json_decref(object);
	if (err && !ferror(env->out))
		return -ENOMEM;
	fputc('\n', env->out);
	return 0;
}

/*
 * Comparing
 */

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && !strcmp(text + n - m, end);
}

/* Values that change while nothing else does. */
static bool is_volatile(const char *key)
{
	static const char *const names[] = { "pending",	  "excluded",  "holds",	    "switches",
					     "stop",	  "start",     "order",	    "turn",
					     "log_lines", "with_work", "inversions" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(key, names[i]))
			return true;
	}
	return ends_with(key, "_ms") || ends_with(key, "_us");
}

static bool same(const json_t *a, const json_t *b);

static bool same_objects(const json_t *a, const json_t *b)
{
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)a, key, value) {
		if (!is_volatile(key) && !same(value, json_object_get(b, key)))
			return false;
	}
	return json_object_size(a) == json_object_size(b);
}

static bool same(const json_t *a, const json_t *b)
{
	if (json_is_object(a) && json_is_object(b))
		return same_objects(a, b);
	if (!json_is_array(a) || !json_is_array(b))
		return json_equal(a, b);
	if (json_array_size(a) != json_array_size(b))
		return false;
	for (size_t i = 0; i < json_array_size(a); i++) {
		if (!same(json_array_get(a, i), json_array_get(b, i)))
			return false;
	}
	return true;
}

static json_t *find(const json_t *array, const char *key, const json_t *value)
{
	json_t *one;
	size_t i;

	json_array_foreach ((json_t *)array, i, one) {
		if (json_equal(json_object_get(one, key), value))
			return one;
	}
	return NULL;
}

/* The keys whose values differ. */
static json_t *changed_keys(const json_t *before, const json_t *after)
{
	json_t *keys = json_array(), *value;
	const char *key;

	json_object_foreach ((json_t *)after, key, value) {
		if (!is_volatile(key) && !same(value, json_object_get(before, key)))
			json_array_append_new(keys, json_string(key));
	}
	return keys;
}

static int print_change(struct gp__env *env, const char *event, const char *kind,
			const json_t *before, json_t *object)
{
	json_t *line = json_pack("{s:s, s:s, s:O}", "event", event, "kind", kind, kind, object);

	if (before)
		json_object_set_new(line, "keys", changed_keys(before, object));
	return changes_print(env, line);
}

int changes_compare(struct gp__env *env, const char *kind, const char *key, const json_t *before,
		    const json_t *after)
{
	json_t *one, *other;
	int err = 0;
	size_t i;

	json_array_foreach ((json_t *)before, i, one) {
		const json_t *id = json_object_get(one, key);

		if (!err && id && !find(after, key, id))
			err = print_change(env, "gone", kind, NULL, one);
	}
	json_array_foreach ((json_t *)after, i, one) {
		const json_t *id = json_object_get(one, key);

		other = id ? find(before, key, id) : NULL;
		if (err || !id)
			continue;
		if (!other)
			err = print_change(env, "appeared", kind, NULL, one);
		else if (!same(other, one))
			err = print_change(env, "changed", kind, other, one);
	}
	return err;
}

/*
 * Following
 */

struct connection {
	int ask, lines; /* -1: none */
	bool stale; /* a line says that something has changed */
	uint64_t looked_at;
	int status; /* of a request that was refused */
};

/* Its lines would mix with answers, so they have a connection of their own. */
static void ask_for_lines(struct connection *n)
{
	struct daemon_problem why;
	json_t *answer;

	n->lines = daemon_connect(&why);
	if (n->lines < 0)
		return;
	answer = daemon_ask(n->lines, json_pack("{s:s}", "op", "watch"), &why);
	if (!answer) {
		close(n->lines);
		n->lines = -1;
	}
	json_decref(answer);
}

static void disconnect(struct connection *n)
{
	if (n->ask >= 0)
		close(n->ask);
	if (n->lines >= 0)
		close(n->lines);
	n->ask = n->lines = -1;
}

/* False: the daemon has ended. */
static bool take_lines(const struct changes *c, struct connection *n)
{
	char line[GP__LOG_LINE_MAX];
	ssize_t len;

	while ((len = gp__wire_next_line(n->lines, line, sizeof(line), 0)) > 0)
		n->stale |= !c->concerns || *line == '#' || c->concerns(line);
	return len == -EAGAIN;
}

/* When to ask again. */
static uint64_t due(const struct changes *c, const struct connection *n)
{
	if (n->ask < 0)
		return n->looked_at + RETRY_NS;
	if (n->stale)
		return n->looked_at + LEAST_NS;
	if (n->lines >= 0 && !c->always)
		return UINT64_MAX;
	return n->looked_at + c->period_ns;
}

static int until(uint64_t at)
{
	uint64_t now = gp__clock_ns();

	if (at == UINT64_MAX)
		return -1;
	return at <= now ? 0 : (int)((at - now + GP__MS - 1) / GP__MS);
}

/* 0, or -errno after which nothing follows: the reader has gone. */
static int wait_for_more(const struct changes *c, struct connection *n)
{
	/* poll() reports POLLERR of a pipe whose reader has gone, also if nothing is asked for. */
	struct pollfd fds[] = { { fileno(c->env->out), 0, 0 }, { n->lines, POLLIN, 0 } };

	if (poll(fds, 2, until(due(c, n))) < 0)
		return errno == EINTR ? 0 : -errno;
	if (fds[0].revents & (POLLERR | POLLHUP))
		return -EPIPE;
	if (!fds[1].revents || take_lines(c, n))
		return 0;
	disconnect(n);
	n->looked_at = gp__clock_ns();
	return c->lose(c->data, false);
}

static int connect_again(const struct changes *c, struct connection *n)
{
	struct daemon_problem why;

	n->ask = daemon_connect(&why);
	n->looked_at = gp__clock_ns();
	if (n->ask < 0)
		return 0;
	ask_for_lines(n);
	n->stale = true;
	n->looked_at = 0;
	return c->lose(c->data, true);
}

static bool has_ended(const struct daemon_problem *why)
{
	return why->status == GP__EXIT_NO_DAEMON;
}

/* 0; -EACCES: it was refused, and *@status is the exit status; another -errno: of the output. */
static int look(const struct changes *c, struct connection *n)
{
	struct daemon_problem why;
	json_t *answer;
	int err;

	n->stale = false;
	answer = c->ask(c->data, n->ask, &why);
	n->looked_at = gp__clock_ns();
	if (!answer && has_ended(&why)) {
		disconnect(n);
		return c->lose(c->data, false);
	}
	if (!answer) {
		n->status = daemon_tell(c->env, &why);
		return -EACCES;
	}
	err = c->show(c->data, answer);
	json_decref(answer);
	return err ? err : fflush(c->env->out) ? -EPIPE : 0;
}

int changes_follow(struct changes *c, int fd)
{
	struct connection n = { .ask = fd, .lines = -1, .stale = true };
	int err;

	ask_for_lines(&n);
	err = c->lose(c->data, true);
	while (!err) {
		if (due(c, &n) > gp__clock_ns())
			err = wait_for_more(c, &n);
		else
			err = n.ask < 0 ? connect_again(c, &n) : look(c, &n);
		if (!err && fflush(c->env->out))
			err = -EPIPE;
	}
	disconnect(&n);
	if (err == -ENOMEM)
		return gp__env_fail(c->env, GP__EXIT_FAILURE, NULL, "out of memory");
	return err == -EACCES ? n.status : GP__EXIT_FAILURE;
}
