// SPDX-License-Identifier: MIT
/*
 * gpreempt-oci: an OCI runtime that lets the programs of a container join, and then executes the
 * runtime beneath. Before `create` and `run`, it edits config.json and registers the container's
 * control group with gpreemptd; every other command goes to the runtime beneath as it is.
 *
 * With --edit it is a filter for config.json, for engines that have hooks before the creation.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "cli/daemon.h"
#include "oci/edit.h"
#include "wire/wire.h"

#define CONFIG "/etc/gpreempt/oci.conf"
#define FAILURE 1

struct call {
	const char *command; /* NULL: none */
	const char *bundle;
	const char *log; /* a file in which engines look for the reason of a failure; NULL */
	bool log_is_json;
};

/*
 * Messages
 */

static void write_log(const struct call *c, const char *level, const char *text)
{
	FILE *f = c->log ? fopen(c->log, "ae") : NULL;
	time_t now = time(NULL);
	char when[32] = "";
	struct tm tm;
	json_t *line;

	if (!f)
		return;
	if (gmtime_r(&now, &tm))
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	line = json_pack("{s:s, s:s, s:s}", "level", level, "msg", text, "time", when);
	if (c->log_is_json && line)
		json_dumpf(line, f, JSON_COMPACT);
	else
		fprintf(f, "time=\"%s\" level=%s msg=\"%s\"", when, level, text);
	fputc('\n', f);
	json_decref(line);
	fclose(f);
}

GP__PRINTF(3, 4)
static int say(const struct call *c, const char *level, const char *fmt, ...)
{
	char text[2 * OCI_ERROR_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	fprintf(stderr, "gpreempt-oci: %s\n", text);
	write_log(c, level, text);
	return FAILURE;
}

/*
 * The command line
 */

/* The value of an option, "--NAME VALUE" or "--NAME=VALUE", at argv[*i]. NULL: it is another one.
 */
static const char *value_of(char **argv, int *i, const char *name)
{
	const char *word = argv[*i];
	size_t n = strlen(name);

	if (strncmp(word, name, n) != 0)
		return NULL;
	if (word[n] == '=')
		return word + n + 1;
	return !word[n] && argv[*i + 1] ? argv[++*i] : NULL;
}

/* Options before the command that have a value in the next word, of runc and of crun. */
static bool has_value(const char *word)
{
	static const char *const options[] = { "--root", "--log",      "--log-format",
					       "--criu", "--rootless", "--cgroup-manager",
					       "-r" };

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		if (!strcmp(word, options[i]))
			return true;
	}
	return false;
}

static void read_call(struct call *c, char **argv)
{
	const char *value;

	*c = (struct call){ .bundle = "." };
	for (int i = 1; argv[i]; i++) {
		const char *before = argv[i];

		if (!c->command && *before != '-') {
			c->command = before;
		} else if ((value = value_of(argv, &i, "--log-format"))) {
			c->log_is_json = !strcmp(value, "json");
		} else if ((value = value_of(argv, &i, "--log"))) {
			c->log = value;
		} else if (c->command && ((value = value_of(argv, &i, "--bundle")) ||
					  (value = value_of(argv, &i, "-b")))) {
			c->bundle = value;
		} else if (!c->command && has_value(before) && argv[i + 1]) {
			i++;
		}
	}
}

/*
 * config.json
 */

static json_t *read_config(const struct call *c, char path[PATH_MAX])
{
	json_error_t why;
	json_t *config;

	snprintf(path, PATH_MAX, "%.4000s/config.json", c->bundle);
	config = json_load_file(path, 0, &why);
	if (!config)
		say(c, "error", "%s: %s; the container is not started", path, why.text);
	return config;
}

/* The new file takes the place of the old one when it is complete. */
static int write_config(const struct call *c, const json_t *config, const char *path)
{
	char draft[PATH_MAX + 16];

	snprintf(draft, sizeof(draft), "%s.gpreempt", path);
	if (!json_dump_file(config, draft, JSON_INDENT(2)) && !rename(draft, path))
		return 0;
	say(c, "error", "cannot write %s: %s; the container is not started", path, strerror(errno));
	unlink(draft);
	return FAILURE;
}

/*
 * Registering
 */

/* What a container may have, and gets without a wish. NULL: the node says nothing. */
static json_t *make_request(const struct oci_plan *p)
{
	const struct oci_rule *rule = p->rule;
	s32 max, class;
	json_t *o;

	if (!rule)
		return NULL;
	max = rule->has_max ? rule->max : rule->class;
	class = p->wishes ? p->wish : rule->has_class ? rule->class : max;
	o = json_pack("{s:s, s:s, s:i, s:i}", "op", "cgroup-add", "cgroup", p->cgroup, "priority",
		      class < max ? class : max, "max_priority", max);
	if (o && p->tag)
		json_object_set_new(o, "tag", json_string(p->tag));
	return o;
}

/*
 * Without gpreemptd the container starts all the same: its programs have then what gpreemptd allows
 * their user.
 */
static void register_cgroup(const struct call *c, const struct oci_plan *p,
			    const struct oci_node *n)
{
	json_t *request = make_request(p), *answer = NULL;
	struct daemon_problem why = { 0 };
	int fd;

	if (!request)
		return;
	if (!*p->cgroup) {
		say(c, "warning",
		    "the control group of the container is not known (linux.cgroupsPath), so its "
		    "programs have the limits of their user");
		json_decref(request);
		return;
	}
	setenv("GPREEMPT_SOCKET", n->socket, 1);
	fd = daemon_connect(&why);
	if (fd >= 0) {
		answer = daemon_ask(fd, request, &why);
		close(fd);
	} else {
		json_decref(request);
	}
	if (!answer)
		say(c, "warning",
		    "cannot register control group %s: %s; the programs of the container have the "
		    "limits of their user",
		    p->cgroup, why.message);
	json_decref(answer);
}

/*
 * Commands
 */

static int plan(const struct call *c, struct oci_plan *p, const json_t *config,
		const struct oci_node *n)
{
	char error[OCI_ERROR_MAX];

	if (oci_plan(p, config, n, c->bundle, getuid(), error))
		return say(c, "error", "%s; the container is not started", error);
	/* A container that asks for a class is not to run without one. */
	if (*p->unjoined && p->wishes)
		return say(c, "error",
			   "the programs of this container cannot join, though "
			   "annotation " OCI_ANNOTATION_CLASS " asks for a class: %s",
			   p->unjoined);
	if (*p->unjoined)
		say(c, "warning", "the programs of this container run without gpreempt: %s",
		    p->unjoined);
	return 0;
}

static int prepare(const struct call *c, const struct oci_node *n)
{
	char path[PATH_MAX];
	json_t *config = read_config(c, path);
	struct oci_plan p;
	int status;

	if (!config)
		return FAILURE;
	status = plan(c, &p, config, n);
	if (!status && !*p.unjoined) {
		status = oci_edit(config, &p, n) ? say(c, "error", "out of memory")
						 : write_config(c, config, path);
		if (!status)
			register_cgroup(c, &p, n);
	}
	json_decref(config);
	return status;
}

static int filter(const struct call *c, const struct oci_node *n)
{
	json_error_t why;
	json_t *config = json_loadf(stdin, 0, &why);
	struct oci_plan p;
	int status;

	if (!config)
		return say(c, "error", "standard input: %s", why.text);
	status = plan(c, &p, config, n);
	if (!status && oci_edit(config, &p, n))
		status = say(c, "error", "out of memory");
	if (!status && (json_dumpf(config, stdout, JSON_INDENT(2)) || fflush(stdout)))
		status = say(c, "error", "cannot write to standard output: %s", strerror(errno));
	if (!status && !*p.unjoined)
		register_cgroup(c, &p, n);
	json_decref(config);
	return status;
}

/* Executes the runtime beneath. Returns only if that fails. */
static int go_on(const struct call *c, const struct oci_node *n, char **argv)
{
	static const char *const usual[] = { "runc", "crun" };
	const char *name = n->runtime;

	if (*name)
		execvp(name, argv);
	for (size_t i = 0; !*name && i < sizeof(usual) / sizeof(usual[0]); i++)
		execvp(usual[i], argv);
	return say(c, "error", "cannot execute the runtime beneath, %s: %s; set runtime in " CONFIG,
		   *name ? name : "runc or crun", strerror(errno));
}

int main(int argc, char **argv)
{
	const char *path = getenv("GPREEMPT_OCI_CONF");
	char error[OCI_ERROR_MAX];
	static struct oci_node node;
	struct call call;

	(void)argc;
	read_call(&call, argv);
	if (oci_node_read(&node, path ? path : CONFIG, GP_LIB_DIR, error))
		return say(&call, "error", "%s; the container is not started", error);
	if (argv[1] && !strcmp(argv[1], "--edit"))
		return filter(&call, &node);
	if (call.command && (!strcmp(call.command, "create") || !strcmp(call.command, "run"))) {
		int status = prepare(&call, &node);

		if (status)
			return status;
	}
	return go_on(&call, &node, argv);
}
