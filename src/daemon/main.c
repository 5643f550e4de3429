// SPDX-License-Identifier: MIT
/* gpreemptd: schedules the programs of this machine that were started with gpreempt run. */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/latency.h"
#include "daemon/server.h"
#include "daemon/systemd.h"

#define SYSTEM_CONFIG "/etc/gpreempt/gpreemptd.conf"

struct options {
	const char *config, *socket;
	bool check, verbose, watch;
};

static const struct argp_option option_table[] = {
	{ "config", 'c', "FILE", 0, "configuration; " SYSTEM_CONFIG " if there is one", 0 },
	{ "socket", 's', "PATH", 0, "where to listen; see gpreemptd(8)", 0 },
	{ "watch", 'w', NULL, 0, "schedule AMD programs that have not joined, too; needs root", 0 },
	{ "check", 't', NULL, 0, "check the configuration and exit", 0 },
	{ "verbose", 'v', NULL, 0, "log more", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'c':
		o->config = arg;
		return 0;
	case 's':
		o->socket = arg;
		return 0;
	case 't':
		o->check = true;
		return 0;
	case 'w':
		o->watch = true;
		return 0;
	case 'v':
		o->verbose = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = option_table,
	.parser = parse,
	.doc = "Schedule the GPU programs of this machine that were started with 'gpreempt run'. "
	       "As "
	       "root it schedules the programs of all users, otherwise those of its own user; with "
	       "--watch also AMD programs that were started without it.",
};

const char *argp_program_version = "gpreemptd " GP_VERSION;

static int check_config(const struct gp__log *log, const char *path, bool required)
{
	static struct gp__config config;
	char error[GP__CONFIG_ERROR_MAX];

	if (gp__config_read(&config, path, required, error)) {
		gp__log_error(log, "%s", error);
		return EXIT_FAILURE;
	}
	if (access(path, F_OK)) {
		printf("there is no %s: the defaults of gpreemptd.conf(5) apply\n", path);
		return EXIT_SUCCESS;
	}
	printf("%s is valid: policy %s, %u sections with limits\n", path,
	       config.choice.policy->name, config.limits.nr_sections);
	return EXIT_SUCCESS;
}

static int find_socket(const struct options *o, char *path, size_t size)
{
	if (o->socket) {
		snprintf(path, size, "%s", o->socket);
		return strlen(o->socket) < size ? 0 : -ENAMETOOLONG;
	}
	return gp__wire_path(path, size);
}

/*
 * From now on a thread writes the messages: a pipe that nobody reads, or a terminal that is
 * stopped, delays no program. 0 or -errno.
 */
static int log_from_thread(struct gp__journal *messages, struct gp__log *log)
{
	FILE *stream;
	int err = gp__journal_open_fd(messages, STDERR_FILENO,
				      log->journal ? "<4>" : "gpreemptd: warning: ");

	if (err == -EBADF) {
		log->level = 0; /* standard error is closed: another file may get its number */
		return 0;
	}
	stream = err ? NULL : gp__journal_stream(messages);
	if (!stream)
		return err ? err : -ENOMEM;
	log->stream = stream;
	return 0;
}

/* Where standard error is the journal's, messages go there with fields; the stream is what is left
 * if journald does not take one. */
static void log_to_journald(struct gp__journald *journald, struct gp__log *log)
{
	if (!log->journal || gp__journald_open(journald, GP__JOURNALD_SOCKET))
		return;
	log->entry = gp__journald_entry;
	log->entry_data = journald;
}

static int serve(struct gp__log *log, const struct options *o, const char *path)
{
	static struct gp__server server;
	int err = gp__server_open(&server, log, o->config ? o->config : SYSTEM_CONFIG, o->config,
				  path, gp__systemd_socket(SOCK_SEQPACKET));

	if (!err && (o->watch || server.config.watch))
		err = gp__watches_open(&server);
	if (!err) {
		server.managed = gp__systemd_runs_us();
		gp__systemd_notify("READY=1");
		gp__log_info(log, "listening at %s with policy %s", path,
			     server.config.choice.policy->name);
		err = gp__server_run(&server);
	}
	gp__server_close(&server);
	return err;
}

int main(int argc, char **argv)
{
	static struct gp__journal messages = { .fd = -1 };
	static struct gp__journald journald = { .fd = -1 };
	struct options o = { 0 };
	struct gp__log log;
	char path[108];
	int err;

	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &o);
	signal(SIGPIPE, SIG_IGN);
	gp__prefer_latency();
	gp__log_init(&log, "gpreemptd", stderr);
	log.level = o.verbose ? GP__LOG_DEBUG : GP__LOG_WARNING;
	if (o.check)
		return check_config(&log, o.config ? o.config : SYSTEM_CONFIG, o.config);
	err = find_socket(&o, path, sizeof(path));
	if (err) {
		gp__log_error(&log,
			      "cannot choose a socket: %s; set XDG_RUNTIME_DIR or use --socket",
			      strerror(-err));
		return EXIT_FAILURE;
	}
	err = log_from_thread(&messages, &log);
	if (err) {
		gp__log_error(&log, "cannot start the thread that writes messages: %s",
			      strerror(-err));
		return EXIT_FAILURE;
	}
	log_to_journald(&journald, &log);
	err = serve(&log, &o, path);
	gp__journal_close(&messages);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
