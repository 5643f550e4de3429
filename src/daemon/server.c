// SPDX-License-Identifier: MIT
/* The daemon's event loop: sockets, timers and signals, and the core's turn after each of them. */
#include "daemon/server.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/address.h"
#include "daemon/entries.h"
#include "daemon/gangs.h"
#include "daemon/scrape.h"
#include "daemon/systemd.h"
#include "daemon/verdict.h"

/* Lines about GPUs that fail, at most so many in this time. */
#define GPU_LINES_MAX 8
#define GPU_LINES_NS (10 * GP__S)
#define EVENTS 64
#define BACKLOG 128
/* A request may take milliseconds; programs must not wait for many of them. */
#define REQUESTS_A_TURN 1
/* The turns for which messages wait while there are reports. */
#define POSTPONED_MAX 8
/* How long holds last when the daemon may be restarting, at most. */
#define SUCCESSOR_NS GP__S

/*
 * Events
 */

static int watch(struct gp__server *s, int op, struct gp__source *source, u32 events)
{
	struct epoll_event e = { .events = events, .data.ptr = source };

	return epoll_ctl(s->epoll, op, source->fd, &e) ? -errno : 0;
}

int gp__server_watch(struct gp__server *s, struct gp__source *source, u32 events)
{
	return watch(s, EPOLL_CTL_ADD, source, events);
}

int gp__server_rewatch(struct gp__server *s, struct gp__source *source, u32 events)
{
	return watch(s, EPOLL_CTL_MOD, source, events);
}

void gp__server_unwatch(struct gp__server *s, struct gp__source *source)
{
	if (source->fd >= 0)
		watch(s, EPOLL_CTL_DEL, source, 0);
}

static void connection_ready(struct gp__server *s, struct gp__source *source, u32 events)
{
	(void)source;
	(void)events;
	gp__listener_accept(s);
}

static void lineage_known(struct gp__server *s, struct gp__source *source, u32 events)
{
	struct gp__lineage lineage;
	struct gp__link *l, *n;
	u64 ticket;

	(void)source;
	(void)events;
	while (gp__lineages_take(s->lineages, &ticket, &lineage)) {
		if (ticket & GP__TICKET_CGROUP) {
			gp__registered_found(s, ticket & ~GP__TICKET_CGROUP, lineage.nr);
			continue;
		}
		gp__list_each(l, n, &s->peers)
		{
			struct gp__peer *p = container_of(l, struct gp__peer, link);

			if (p->ticket != ticket || p->dead)
				continue;
			gp__verdict_judge(&s->registry, &p->program, &lineage, s->now);
			gp__peer_unpark(s, p);
		}
	}
	gp__registry_settle(&s->registry, s->now);
}

static int start_lineages(struct gp__server *s)
{
	s->lineages = gp__lineages_start();
	if (!s->lineages)
		return -ENOMEM;
	s->lineage.fd = gp__lineages_fd(s->lineages);
	return gp__server_watch(s, &s->lineage, EPOLLIN);
}

/*
 * Configuration
 */

/* Lines about a group are charged to its user, who is slowed if they are too many. */
static void charge_line(struct gp__server *s, const struct gp__record *r)
{
	struct gp__group *g = r->entity == GP__NOBODY || s->journal.fd < 0
				      ? NULL
				      : gp__registry_find_group(&s->registry, r->entity);
	struct gp__peer *p = g ? g->program->peer : NULL;

	if (p && !p->admin)
		gp__user_charge_line(p->user, p->limit.log_lines, s->now);
}

/* A comment names the program of a group before its first queue. Only the journal has comments. */
static void name_group(struct gp__server *s, const struct gp__record *r)
{
	char line[GP__WIRE_NAME_MAX + 32], name[GP__WIRE_NAME_MAX];
	struct gp__group *g;
	int n;

	if (r->what != GP__WHAT_QUEUE_ADD || s->journal.fd < 0)
		return;
	g = gp__registry_find_group(&s->registry, r->entity);
	if (!g || g->named)
		return;
	g->named = true;
	gp__wire_text(name, sizeof(name), g->program->name);
	n = snprintf(line, sizeof(line), "# e%u is %s\n", r->entity, name);
	gp__journal_line(&s->journal, line, (size_t)n);
	charge_line(s, r);
}

static void log_record(void *data, const struct gp__record *r)
{
	struct gp__server *s = data;
	char line[GP__LOG_LINE_MAX];
	size_t len;

	gp__entries_take(s, r);
	/* A turn may have thousands of records: do not format them for nothing. */
	if (s->journal.fd < 0 && gp__list_empty(&s->watchers))
		return;
	name_group(s, r);
	len = gp__record_format(r, line);
	gp__journal_line(&s->journal, line, len);
	charge_line(s, r);
	gp__control_watch_line(s, line);
}

static void open_journal(struct gp__server *s, const char *header)
{
	const char *path = s->config.log;
	int err = gp__journal_open(&s->journal, s->log, path, s->config.log_max);

	if (err)
		gp__log_warning(s->log,
				"cannot open the decision log %s: %s; decisions are not logged",
				path, strerror(-err));
	gp__journal_line(&s->journal, header, strlen(header));
}

/* After a reload. The file may have been moved away, or another one be configured. */
static void reopen_journal(struct gp__server *s)
{
	struct gp__journal *j = &s->journal;

	if (j->fd >= 0 && !strcmp(j->path, s->config.log) && j->max == s->config.log_max)
		gp__journal_reopen(j);
	else
		open_journal(s, GP__JOURNAL_CONTINUED);
}

static void apply_config(struct gp__server *s)
{
	gp__choice_apply(&s->config.choice, &s->registry.core, s->now);
	gp__registry_settle(&s->registry, s->now);
}

static int load_config(struct gp__server *s)
{
	char error[GP__CONFIG_ERROR_MAX];
	int err;

	if (!s->config_path) {
		gp__config_defaults(&s->config);
		return 0;
	}
	err = gp__config_read(&s->config, s->config_path, s->config_required, error);
	if (err)
		gp__log_error(s->log, "%s", error);
	return err;
}

static void begin_reload(struct gp__server *s)
{
	int err;

	gp__systemd_notify("RELOADING=1");
	err = gp__reload_begin(&s->reload, s->config_path, s->config_required);
	if (err) {
		gp__log_warning(s->log, "cannot read the configuration again: %s; it is unchanged",
				strerror(-err));
		gp__systemd_notify("READY=1");
	}
}

static void end_reload(struct gp__server *s, struct gp__source *source, u32 events)
{
	char error[GP__CONFIG_ERROR_MAX];
	int err = gp__reload_end(&s->reload, &s->config, error);

	(void)source;
	(void)events;
	if (err == -EAGAIN)
		return;
	reopen_journal(s);
	gp__entries_apply(s);
	if (err) {
		gp__log_error(s->log, "%s", error);
		gp__log_warning(s->log, "the configuration in force is unchanged");
	} else {
		apply_config(s);
		gp__claims_configure(s);
		gp__holders_configure(s);
		gp__hours_configure(s);
		s->registry.nr_rules = s->config.nr_rules;
		gp__cgroups_follow_all(&s->registry, s->now);
		gp__hours_apply(s);
		gp__gangs_limit(&s->registry, s->config.rank_hold, s->now);
		if (strcmp(s->metrics, s->config.metrics) != 0)
			gp__log_warning(s->log,
					"metrics = %s takes effect when gpreemptd is restarted",
					s->config.metrics);
		gp__log_info(s->log, "configuration read again: policy %s",
			     s->config.choice.policy->name);
	}
	gp__systemd_notify("READY=1");
}

static void signal_came(struct gp__server *s, struct gp__source *source, u32 events)
{
	struct signalfd_siginfo info;

	(void)events;
	if (read(source->fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGHUP)
		begin_reload(s);
	else
		s->stop = true;
	s->interrupted |= info.ssi_signo == SIGINT;
}

/*
 * Opening
 */

static int make_parent(const char *path)
{
	char folder[128];
	char *slash;

	snprintf(folder, sizeof(folder), "%s", path);
	slash = strrchr(folder, '/');
	if (!slash || slash == folder)
		return 0;
	*slash = '\0';
	/* All users may reach root's socket, and only the user its own. */
	return mkdir(folder, geteuid() ? 0700 : 0755) && errno != EEXIST ? -errno : 0;
}

/* Held while the process lives, so that a socket left behind is recognised as stale. */
static int lock(struct gp__server *s, const char *path)
{
	char name[128];
	int fd, err;

	snprintf(name, sizeof(name), "%s.lock", path);
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	if (!flock(fd, LOCK_EX | LOCK_NB)) {
		s->lock = fd;
		return 0;
	}
	err = errno == EWOULDBLOCK ? -EADDRINUSE : -errno;
	close(fd);
	return err;
}

static int listen_at(struct gp__server *s, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int err = strlen(path) < sizeof(address.sun_path) ? make_parent(path) : -ENAMETOOLONG;

	if (!err && !access(path, F_OK) && !gp__is_socket(path))
		err = -ENOTSOCK;
	if (!err)
		err = lock(s, path);
	if (err)
		return err;
	strcpy(address.sun_path, path);
	s->listener.fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->listener.fd < 0)
		return -errno;
	unlink(path);
	/* Any user may connect; the peer credentials decide what it may do. */
	if (bind(s->listener.fd, (struct sockaddr *)&address, sizeof(address)) ||
	    chmod(path, 0666) || listen(s->listener.fd, BACKLOG))
		return -errno;
	strcpy(s->path, path);
	return 0;
}

static int open_listener(struct gp__server *s, const char *path, int fd)
{
	int err = 0;

	if (fd >= 0)
		s->listener.fd = fd;
	else
		err = listen_at(s, path);
	if (err == -EADDRINUSE)
		gp__log_error(s->log,
			      "another gpreemptd uses %s; stop it, or choose another socket with "
			      "--socket",
			      path);
	else if (err == -ENOTSOCK)
		gp__log_error(
			s->log,
			"cannot listen at %s: this file is not a socket, and is not replaced; "
			"remove it, or choose another path with --socket",
			path);
	else if (err)
		gp__log_error(s->log, "cannot listen at %s: %s", path, strerror(-err));
	return err;
}

static int open_signals(struct gp__server *s)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	/* An agent that ended is noticed at its socket; writing to its pipe must not kill us. */
	sigaddset(&set, SIGPIPE);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	sigdelset(&set, SIGPIPE);
	s->signals.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signals.fd < 0 ? -errno : 0;
}

/* A program takes five descriptors. */
static void allow_descriptors(void)
{
	struct rlimit r;

	if (!getrlimit(RLIMIT_NOFILE, &r)) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
}

/* A program can make its GPU fail and return as often as it likes. */
static bool may_tell_gpu(struct gp__server *s)
{
	if (s->now >= s->gpu_lines.until)
		s->gpu_lines.nr = 0;
	if (!s->gpu_lines.nr)
		s->gpu_lines.until = s->now + GPU_LINES_NS;
	return s->gpu_lines.nr++ < GPU_LINES_MAX;
}

static void tell_gpu(void *data, const struct gp__gpu *gpu, enum gp__gpu_event event,
		     const struct gp__group *g)
{
	struct gp__server *s = data;

	if (!may_tell_gpu(s))
		return;
	switch (event) {
	case GP__GPU_LOST:
		gp__log_warning(s->log,
				"gpu%u (%s) does not answer: it was reset or has fallen off the "
				"bus, as the kernel's log may say; its programs run unscheduled "
				"and may have to be started again",
				gpu->dev.id, gpu->name);
		break;
	case GP__GPU_RESET:
		gp__log_warning(s->log,
				"gpu%u (%s) has lost the queues of %s (pid %d), by a reset or an "
				"error of that program; start it again",
				gpu->dev.id, gpu->name, g->program->name, (int)g->program->pid);
		break;
	case GP__GPU_BACK:
		gp__log_warning(s->log,
				"gpu%u (%s) is back: a program has started on it, and it is "
				"scheduled again",
				gpu->dev.id, gpu->name);
		break;
	case GP__GPU_LEFT:
		gp__log_warning(s->log,
				"the last program has left gpu%u (%s), which did not answer; the "
				"next one is scheduled",
				gpu->dev.id, gpu->name);
		break;
	}
}

int gp__server_open(struct gp__server *s, const struct gp__log *log, const char *config_path,
		    bool config_required, const char *socket_path, int fd)
{
	int err;

	memset(s, 0, sizeof(*s));
	s->log = log;
	s->config_path = config_path;
	s->config_required = config_required;
	s->journal.fd = s->journald.fd = s->lock = s->claims.answers.fd = s->off.done_fd = -1;
	s->hours.fd = s->spent.keeper.done_fd = s->registered.done_fd = -1;
	s->holders.done.fd = s->watches.done.fd = -1;
	gp__list_init(&s->watches.targets);
	s->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	s->listener = (struct gp__source){ -1, connection_ready };
	s->signals = (struct gp__source){ -1, signal_came };
	s->reload.done = (struct gp__source){ -1, end_reload };
	s->lineage = (struct gp__source){ -1, lineage_known };
	gp__list_init(&s->peers);
	gp__list_init(&s->to_notify);
	gp__list_init(&s->watchers);
	gp__list_init(&s->awaiting);
	for (u32 i = 0; i < GP__LANES; i++)
		gp__list_init(&s->lane[i]);
	s->now = s->started_at = gp__clock_ns();
	s->started_unix = time(NULL);
	s->renew_at = GP__NEVER;
	allow_descriptors();
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->closer = gp__closer_open();
	err = s->epoll < 0 ? -errno : s->closer ? load_config(s) : -ENOMEM;
	if (!err)
		err = open_signals(s);
	if (!err)
		err = start_lineages(s);
	if (!err)
		err = open_listener(s, socket_path, fd);
	if (!err)
		gp__listener_refuse_rights(s);
	if (!err)
		err = gp__server_watch(s, &s->signals, EPOLLIN);
	if (!err)
		err = gp__server_watch(s, &s->listener, EPOLLIN);
	if (!err)
		err = gp__reload_open(&s->reload);
	if (!err)
		err = gp__server_watch(s, &s->reload.done, EPOLLIN);
	if (err)
		return err;
	gp__registry_init(&s->registry, s->config.choice.policy, gp__pages_deliver, s);
	s->registry.rank_hold = s->config.rank_hold;
	s->registry.limits = &s->config.limits;
	s->machine = gp__devices_find(s->config.devices, "");
	s->registry.machine = s->machine;
	s->registry.rules = s->config.rules;
	s->registry.nr_rules = s->config.nr_rules;
	s->registry.tell_gpu = tell_gpu;
	err = s->machine ? gp__claims_open(s) : -ENOMEM;
	if (!err)
		err = gp__switch_open(s, socket_path);
	if (!err)
		err = gp__registered_open(s, socket_path);
	if (!err)
		err = gp__holders_open(s);
	if (!err)
		err = gp__hours_open(s);
	if (!err)
		err = gp__spent_open(s, socket_path);
	if (err)
		return err;
	apply_config(s);
	open_journal(s, GP__LOG_HEADER);
	gp__entries_apply(s);
	gp__core_log(&s->registry.core, log_record, s);
	memcpy(s->metrics, s->config.metrics, sizeof(s->metrics));
	s->scrape = gp__scrape_start(s->log, &s->config, s->listener.fd);
	return 0;
}

/*
 * The loop
 */

static void free_dead(struct gp__server *s)
{
	struct gp__link *l, *n;
	bool any = false;

	gp__list_each(l, n, &s->peers)
	{
		struct gp__peer *p = container_of(l, struct gp__peer, link);

		if (!p->dead)
			continue;
		gp__list_del(&p->link);
		s->nr_peers--;
		gp__peer_free(s, p);
		any = true;
	}
	if (any)
		gp__users_sweep(&s->registry.users, s->now);
}

/* Settles what the events of this turn changed. Returns the time of the next turn. */
static u64 end_turn(struct gp__server *s)
{
	u64 wake, quotas_wake = gp__quotas_wake(&s->registry, s->now);

	gp__registry_settle(&s->registry, s->now);
	wake = gp__pages_tell(s) ? s->now : GP__NEVER;
	gp__pages_notify(s);
	if (!s->registry.nr_held) {
		s->renew_at = GP__NEVER;
	} else if (s->renew_at == GP__NEVER || s->now >= s->renew_at) {
		s->renew_at = s->now + gp__pages_renew(s) / GP__RENEWALS;
	}
	wake = gp__min_u64(wake, gp__registry_wake(&s->registry));
	wake = gp__min_u64(wake, quotas_wake);
	wake = gp__min_u64(wake, gp__spent_wake(s));
	wake = gp__min_u64(wake, s->renew_at);
	wake = gp__min_u64(wake, gp__listener_wake(s));
	wake = gp__min_u64(wake, gp__peers_sweep(s));
	wake = gp__min_u64(wake, gp__peers_unpark(s));
	wake = gp__min_u64(wake, gp__registered_wake(s));
	wake = gp__min_u64(wake, gp__systemd_watchdog(&s->watchdog_at, s->now));
	wake = gp__min_u64(wake, gp__claims_wake(s));
	wake = gp__min_u64(wake, gp__holders_wake(s));
	wake = gp__min_u64(wake, gp__watches_wake(s));
	wake = gp__min_u64(wake, gp__answers_wake(s));
	return gp__min_u64(wake, gp__pages_unmute(s));
}

/* Linux before 5.11 and QEMU's user emulation only know milliseconds: round up. */
static int wait_in_ms(int epoll, struct epoll_event *events, u64 left)
{
	u64 ms = left / GP__MS + (left % GP__MS != 0);

	return epoll_wait(epoll, events, EVENTS, (int)gp__min_u64(ms, INT_MAX));
}

static int wait_for_events(struct gp__server *s, struct epoll_event *events, u64 wake)
{
	u64 now = gp__clock_ns(), left = wake > now ? wake - now : 0;
	struct timespec ts = gp__timespec(left);
	int n;

	/* Not between two close events: waking the writer takes a moment. */
	if (left > GP__MS)
		gp__journal_flush(&s->journal);
	n = epoll_pwait2(s->epoll, events, EVENTS, wake == GP__NEVER ? NULL : &ts, NULL);
	if (n < 0 && errno == ENOSYS)
		n = wait_in_ms(s->epoll, events, left);
	s->now = gp__clock_ns();
	return n < 0 && errno == EINTR ? 0 : n < 0 ? -errno : n;
}

/* Reports come first, but messages do not wait for them for ever. */
static u64 serve(struct gp__server *s)
{
	u64 wake = gp__serve(s, GP__LANE_REPORTS, gp__pages_serve);

	if (wake == s->now && s->nr_postponed < POSTPONED_MAX) {
		s->nr_postponed++;
		return wake;
	}
	s->nr_postponed = 0;
	return gp__min_u64(wake, gp__serve(s, GP__LANE_MESSAGES, gp__peer_serve));
}

int gp__server_turn(struct gp__server *s, u64 *wake)
{
	struct epoll_event events[EVENTS];
	int n = wait_for_events(s, events, *wake);
	u64 next, took;

	if (n < 0) {
		gp__log_error(s->log, "cannot wait for events: %s", strerror(-n));
		return n;
	}
	gp__serve_begin(s);
	s->requests_left = REQUESTS_A_TURN;
	for (int i = 0; i < n; i++) {
		struct gp__source *source = events[i].data.ptr;

		source->ready(s, source, events[i].events);
	}
	next = serve(s);
	*wake = gp__min_u64(next, end_turn(s));
	free_dead(s);
	took = gp__clock_ns() - s->now;
	gp__hist_record(&s->turn_ns, took);
	gp__buckets_record(&s->turns, took);
	return 0;
}

int gp__server_run(struct gp__server *s)
{
	u64 wake = 0; /* the first turn is at once: it notifies the watchdog */
	int err = 0;

	while (!s->stop && !err)
		err = gp__server_turn(s, &wake);
	return err;
}

/*
 * Says goodbye to an agent, or leaves its holds in force for a moment, so that a daemon that
 * follows finds them. A service manager sends the same signal to stop and to restart a daemon.
 */
static void leave(struct gp__server *s, struct gp__peer *p)
{
	bool goodbye = !s->managed || s->interrupted;
	u64 until = goodbye ? 0 : s->now + gp__min_u64(p->ttl_ns, SUCCESSOR_NS);

	if (!p->order)
		return;
	for (u32 i = 0; i < p->nr_slots; i++)
		atomic_store(&p->order->slot[i].until_ns, until);
	atomic_store(&p->order->goodbye, goodbye);
}

void gp__server_close(struct gp__server *s)
{
	struct gp__link *l, *n;

	gp__systemd_notify("STOPPING=1");
	gp__scrape_refuse(s->scrape);
	s->now = gp__clock_ns();
	gp__list_each(l, n, &s->peers)
	{
		struct gp__peer *p = container_of(l, struct gp__peer, link);

		leave(s, p);
		gp__peer_drop(s, p, NULL);
	}
	free_dead(s);
	gp__closer_close(s->closer);
	gp__reload_close(&s->reload);
	gp__switch_close(s);
	gp__registered_close(s);
	gp__hours_close(s);
	gp__spent_close(s);
	gp__lineages_stop(s->lineages);
	gp__registry_close(&s->registry);
	free(s->machine);
	gp__journal_close(&s->journal);
	gp__journald_close(&s->journald);
	if (*s->path)
		unlink(s->path);
	if (s->listener.fd >= 0)
		close(s->listener.fd);
	if (s->signals.fd >= 0)
		close(s->signals.fd);
	if (s->spare >= 0)
		close(s->spare);
	if (s->lock >= 0)
		close(s->lock);
	/* Late, as these wait for a census, an inspection and an answer to end. */
	gp__holders_close(s);
	gp__watches_close(s);
	gp__claims_close(s);
	gp__scrape_stop(s->scrape);
	if (s->epoll >= 0)
		close(s->epoll);
}
