// SPDX-License-Identifier: MIT
#include "daemon/scrape.h"

#include "daemon/address.h"
#include "daemon/systemd.h"

#ifdef GP_HAVE_MICROHTTPD

#include <errno.h>
#include <jansson.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/latency.h"
#include "base/thread.h"
#include "metrics/metrics.h"
#include "wire/client.h"

#define CONNECTIONS 64
/* A connection ends after this time, however busy it is. */
#define TIMEOUT_S 5
/* A client that reads slowly keeps the text that it gets. While so many texts are kept, everybody
 * gets the latest one, which is then at most as old as a connection may be. */
#define TEXTS_MAX 4
#define STACK_BYTES (256 * 1024)
/* Requests within this time get the same text. */
#define FRESH_NS (200 * GP__MS)
#define TEXT_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct gp__scrape {
	const struct gp__log *log;
	struct gp__address address; /* empty for a socket of systemd's */
	char daemon[108]; /* the path of the daemon's socket */
	pthread_t thread;
	int wake; /* an eventfd: the thread is to end */
	_Atomic bool refuses;
	/* Of the thread: */
	struct MHD_Daemon *http;
	struct MHD_Response *latest; /* of /metrics; NULL: there is none */
	u64 made_at;
	u32 nr_texts; /* the latest one, and those that are still being sent */
	struct connection {
		int fd;
		u64 until; /* 0: free */
	} connection[CONNECTIONS];
};

struct text {
	struct gp__scrape *s;
	char *text;
};

/*
 * Requests
 */

static struct MHD_Response *response_of(const char *text)
{
	/* libmicrohttpd only reads it. */
	return MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result reply(struct MHD_Connection *connection, unsigned int status,
			     struct MHD_Response *response)
{
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

/* Asks the daemon, as a command does. NULL: it does not answer. */
static char *ask(const struct gp__scrape *s, size_t *size)
{
	char why[GP__WIRE_TEXT_MAX], *answer = NULL, *text = NULL;
	int fd = gp__wire_control(s->daemon, why);
	json_t *document;

	if (fd < 0)
		return NULL;
	if (!gp__wire_ask(fd, "{\"op\":\"metrics\"}", &answer)) {
		document = json_loads(answer, 0, NULL);
		if (document && !json_object_get(document, "error"))
			text = gp__metrics_text(document, size);
		json_decref(document);
	}
	free(answer);
	close(fd);
	return text;
}

static void forget_latest(struct gp__scrape *s)
{
	if (s->latest)
		MHD_destroy_response(s->latest);
	s->latest = NULL;
}

static void free_text(void *data)
{
	struct text *t = data;

	t->s->nr_texts--;
	free(t->text);
	free(t);
}

/* Takes over the text. NULL: out of memory. */
static struct MHD_Response *keep_text(struct gp__scrape *s, char *text, size_t size)
{
	struct text *t = malloc(sizeof(*t));
	struct MHD_Response *response;

	if (!t) {
		free(text);
		return NULL;
	}
	*t = (struct text){ s, text };
	s->nr_texts++;
	response = MHD_create_response_from_buffer_with_free_callback_cls(size, text, free_text, t);
	if (!response)
		free_text(t);
	return response;
}

static void renew_latest(struct gp__scrape *s)
{
	size_t size;
	char *text;

	if (s->latest && (gp__clock_ns() < s->made_at + FRESH_NS || s->nr_texts >= TEXTS_MAX))
		return;
	forget_latest(s);
	text = ask(s, &size);
	if (!text)
		return;
	s->latest = keep_text(s, text, size);
	if (!s->latest)
		return;
	MHD_add_response_header(s->latest, MHD_HTTP_HEADER_CONTENT_TYPE, TEXT_TYPE);
	s->made_at = gp__clock_ns();
}

static enum MHD_Result reply_metrics(struct gp__scrape *s, struct MHD_Connection *connection)
{
	if (!atomic_load(&s->refuses))
		renew_latest(s);
	if (!s->latest)
		return reply(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
			     response_of("gpreemptd does not answer; try again\n"));
	return MHD_queue_response(connection, MHD_HTTP_OK, s->latest);
}

static enum MHD_Result serve(void *data, struct MHD_Connection *connection, const char *url,
			     const char *method, const char *version, const char *upload,
			     size_t *upload_size, void **state)
{
	static char known;

	(void)version;
	(void)upload;
	(void)upload_size;
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return reply(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
			     response_of("only GET and HEAD are known here\n"));
	/* An answer to the headers alone would end the connection. */
	if (!*state) {
		*state = &known;
		return MHD_YES;
	}
	if (!strcmp(url, "/metrics"))
		return reply_metrics(data, connection);
	if (!strcmp(url, "/-/healthy"))
		return reply(connection, MHD_HTTP_OK, response_of("gpreemptd is healthy\n"));
	return reply(connection, MHD_HTTP_NOT_FOUND,
		     response_of("there are only /metrics and /-/healthy\n"));
}

/*
 * Connections
 */

static struct connection *find_free(struct gp__scrape *s)
{
	for (u32 i = 0; i < CONNECTIONS; i++) {
		if (!s->connection[i].until)
			return &s->connection[i];
	}
	return NULL;
}

static void note_connection(void *data, struct MHD_Connection *connection, void **state,
			    enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *info;
	struct gp__scrape *s = data;
	struct connection *c = *state;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (c)
			c->until = 0;
		return;
	}
	c = find_free(s);
	info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	if (!c || !info)
		return;
	*c = (struct connection){ info->connect_fd, gp__clock_ns() + TIMEOUT_S * GP__S };
	*state = c;
}

/* Cuts the connections whose time is over, which libmicrohttpd then closes. Returns when the next
 * one's will be. */
static u64 cut_old(struct gp__scrape *s)
{
	u64 now = gp__clock_ns(), next = GP__NEVER;

	for (u32 i = 0; i < CONNECTIONS; i++) {
		struct connection *c = &s->connection[i];

		if (!c->until)
			continue;
		if (c->until <= now) {
			shutdown(c->fd, SHUT_RDWR);
			c->until = now + TIMEOUT_S * GP__S;
		}
		next = gp__min_u64(next, c->until);
	}
	return next;
}

/*
 * The thread
 */

static int wait_of(struct gp__scrape *s)
{
	u64 next = cut_old(s), now = gp__clock_ns();
	u64 wait = next == GP__NEVER ? TIMEOUT_S * GP__S : next > now ? next - now : 0;
	MHD_UNSIGNED_LONG_LONG ms;

	if (MHD_get_timeout(s->http, &ms) == MHD_YES)
		wait = gp__min_u64(wait, ms * GP__MS);
	else if (next == GP__NEVER)
		return -1;
	return (int)((gp__min_u64(wait, TIMEOUT_S * GP__S) + GP__MS - 1) / GP__MS);
}

static void *run(void *data)
{
	struct gp__scrape *s = data;
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->http, MHD_DAEMON_INFO_EPOLL_FD);
	struct pollfd fds[] = { { .fd = s->wake, .events = POLLIN },
				{ .fd = info->epoll_fd, .events = POLLIN } };

	gp__prefer_others();
	while (poll(fds, 2, wait_of(s)) >= 0 && !fds[0].revents)
		MHD_run(s->http);
	return NULL;
}

/* @fd: a listening socket, which belongs to the thread from now on. */
static int start_thread(struct gp__scrape *s, int fd)
{
	int err;

	s->wake = eventfd(0, EFD_CLOEXEC);
	if (s->wake >= 0)
		s->http = MHD_start_daemon(
			MHD_USE_EPOLL, 0, NULL, NULL, serve, s, MHD_OPTION_LISTEN_SOCKET, fd,
			MHD_OPTION_CONNECTION_LIMIT, (unsigned int)CONNECTIONS,
			MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)TIMEOUT_S,
			MHD_OPTION_NOTIFY_CONNECTION, note_connection, s, MHD_OPTION_END);
	if (!s->http) {
		err = s->wake < 0 ? -errno : -EIO;
		close(fd);
		return err;
	}
	return gp__thread_start(&s->thread, STACK_BYTES, run, s);
}

static void free_all(struct gp__scrape *s)
{
	forget_latest(s);
	if (s->http)
		MHD_stop_daemon(s->http);
	if (s->wake >= 0)
		close(s->wake);
	gp__address_remove(&s->address);
	free(s);
}

bool gp__scrape_is_built(void)
{
	return true;
}

static int listen_for(struct gp__scrape *s, const struct gp__config *config)
{
	int fd = gp__systemd_socket(SOCK_STREAM), err;

	if (fd >= 0)
		return fd;
	fd = gp__address_parse(&s->address, config->metrics);
	if (!fd)
		fd = gp__address_listen(&s->address);
	if (fd < 0) { /* whose file it may be is not known */
		s->address.socket.ss_family = AF_UNSPEC;
		return fd;
	}
	err = config->has_admin_gid ? gp__address_share(&s->address, config->admin_gid) : 0;
	if (err)
		gp__log_warning(s->log,
				"cannot let group %s read %s: %s; only the user of gpreemptd can; "
				"with systemd, use gpreemptd-metrics.socket",
				config->group, config->metrics, strerror(-err));
	return fd;
}

static void find_daemon(struct gp__scrape *s, int listener)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	socklen_t size = sizeof(un);

	if (!getsockname(listener, (struct sockaddr *)&un, &size))
		memcpy(s->daemon, un.sun_path, sizeof(s->daemon));
}

struct gp__scrape *gp__scrape_start(const struct gp__log *log, const struct gp__config *config,
				    int listener)
{
	const char *where = *config->metrics ? config->metrics : "the socket of systemd";
	struct gp__scrape *s;
	int err;

	if (!*config->metrics && gp__systemd_socket(SOCK_STREAM) < 0)
		return NULL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->log = log;
	s->wake = -1;
	find_daemon(s, listener);
	err = listen_for(s, config);
	if (err >= 0)
		err = start_thread(s, err);
	if (!err)
		return s;
	gp__log_error(log,
		      "cannot serve metrics at %s: %s; programs are scheduled without, and "
		      "'gpreempt metrics' prints them",
		      where, strerror(-err));
	free_all(s);
	return NULL;
}

void gp__scrape_refuse(struct gp__scrape *s)
{
	if (s)
		atomic_store(&s->refuses, true);
}

void gp__scrape_stop(struct gp__scrape *s)
{
	ssize_t n;

	if (!s)
		return;
	n = write(s->wake, &(u64){ 1 }, sizeof(u64));
	(void)n; /* it has room */
	pthread_join(s->thread, NULL);
	free_all(s);
}

#else

bool gp__scrape_is_built(void)
{
	return false;
}

/* The configuration refuses the key in this build. */
struct gp__scrape *gp__scrape_start(const struct gp__log *log, const struct gp__config *config,
				    int listener)
{
	(void)config;
	(void)listener;
	if (gp__systemd_socket(SOCK_STREAM) >= 0)
		gp__log_warning(log, "metrics are not served: gpreemptd was built without "
				     "libmicrohttpd; 'gpreempt metrics' prints them");
	return NULL;
}

void gp__scrape_refuse(struct gp__scrape *s)
{
	(void)s;
}

void gp__scrape_stop(struct gp__scrape *s)
{
	(void)s;
}

#endif
