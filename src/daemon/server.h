/* SPDX-License-Identifier: MIT */
/*
 * gpreemptd's main thread: an epoll loop over connections, agents' notifications and the clock.
 * Another thread writes the decision log to disk, and one reads the ancestors of programs; the main
 * thread never waits for them (journal.h, lineage.h).
 *
 * The loop sleeps until a connection has something to read, or until the core wants to be woken.
 * While any queue is held it also wakes up to renew the holds; otherwise nothing ticks.
 */
#ifndef GP__DAEMON_SERVER_H
#define GP__DAEMON_SERVER_H

#include <jansson.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/log.h"
#include "daemon/config.h"
#include "daemon/registry.h"
#include "daemon/journal.h"

struct gp__server;

/* A descriptor that epoll watches. */
struct gp__source {
	int fd;
	void (*ready)(struct gp__server *s, struct gp__source *source, u32 events);
};

/* A token bucket, kept as one time. */
struct gp__allowance {
	u64 empty_until; /* the bucket is empty up to this time, and fills from there */
};

#define GP__GIDS_MAX 256
/* A hold is renewed this often within its lease. */
#define GP__RENEWALS 3

struct gp__peer {
	struct gp__link link;
	u64 ticket; /* unique */
	struct gp__source socket;
	struct gp__source notify; /* the eventfd an agent writes to when its status page changed */
	struct gp__source life; /* a pidfd, because a child may keep the socket open; -1: none */
	struct ucred cred; /* as the kernel translates them into the daemon's namespaces */
	uid_t owner; /* whose limits apply: cred.uid, or the owner of that subordinate uid */
	gid_t gids[GP__GIDS_MAX];
	u32 nr_gids;
	bool admin, dead;
	enum gp__wire_role role; /* 0: no hello yet */
	struct gp__allowance messages, notifies;
	u64 muted_until; /* notifications are ignored until then; 0: they are not */
	struct gp__limit limit;

	/* Of the command line: */
	struct gp__link watching; /* in server->watchers: receives decisions */
	u64 nr_dropped; /* lines that it had no room for, and was not told of yet */
	char *answer; /* being sent; NULL: none is */
	size_t answer_size, answer_sent;
	u32 answer_seq;

	/* Of an agent: */
	struct gp__program program;
	struct gp__wire_status_page *status;
	struct gp__wire_order_page *order;
	u32 nr_slots;
	u64 ttl_ns; /* the lease of a hold, as announced to this agent */
	struct gp__program_queue **queue; /* by slot */
	int agent_notify_fd; /* our end of the pipe that wakes the agent */
	struct gp__link notify_link; /* in server->to_notify */
};

struct gp__text_message {
	struct gp__wire_head head;
	char text[GP__WIRE_MESSAGE_MAX - sizeof(struct gp__wire_head)];
};

struct gp__server {
	struct gp__registry registry;
	struct gp__config config;
	struct gp__journal journal;
	const char *config_path; /* NULL: defaults only */
	bool config_required;
	const struct gp__log *log;
	int epoll;
	struct gp__source listener, signals;
	struct gp__lineages *lineages;
	struct gp__source lineage; /* its answers */
	u64 last_ticket;
	int spare; /* closed to refuse a connection when no descriptor is left */
	u64 paused_until; /* no connection is accepted before; 0: they are */
	int lock; /* a locked file beside the socket */
	char path[108]; /* of the socket made here; "": it was handed over */
	struct gp__link peers, to_notify, watchers;
	u32 nr_peers;
	u64 renew_at, started_at;
	u64 now; /* of the event being handled */
	u32 requests_left; /* in this turn; other requests wait for the next */
	/* The user whose request was handled last, in this turn or the one before. */
	bool has_asked;
	uid_t asker;
	bool stop;
	u64 nr_refused; /* connections and messages; in the daemon's JSON */
	/* The message being read, aligned for every kind, and the one being written. */
	u64 received[GP__WIRE_MESSAGE_MAX / sizeof(u64)];
	struct gp__text_message sent;
};

/*
 * Opens the server. @fd: a listening socket that was handed over, or -1. Returns 0, or -errno after
 * logging the reason.
 */
int gp__server_open(struct gp__server *s, const struct gp__log *log, const char *config_path,
		    bool config_required, const char *socket_path, int fd);
/* Handles the events until *@wake at the latest, and sets *@wake for the next call. */
int gp__server_turn(struct gp__server *s, u64 *wake);
/* Runs until SIGTERM or SIGINT. */
int gp__server_run(struct gp__server *s);
/* Releases every queue and closes all connections. */
void gp__server_close(struct gp__server *s);

/*
 * listener.c: accepts connections
 */

void gp__listener_accept(struct gp__server *s);
/* Adds a peer with this non-blocking socket, which it owns from now on, or refuses it. */
void gp__listener_add_peer(struct gp__server *s, int fd);
/* Determines the limits and permissions of a peer by the configuration. */
void gp__listener_permit(struct gp__server *s, struct gp__peer *p);
/* Resumes accepting after a pause. Returns when to call it next; GP__NEVER: no need to. */
u64 gp__listener_wake(struct gp__server *s);
/* Explains a failure to make room for a connection. */
const char *gp__listener_explain(int err);

/*
 * peer.c: connections and their messages
 */

/* NULL: out of memory. */
struct gp__peer *gp__peer_create(int fd);
/* Ends a connection and removes its queues. @why: for the log; NULL: it ended normally. */
void gp__peer_drop(struct gp__server *s, struct gp__peer *p, const char *why);
void gp__peer_free(struct gp__peer *p);
int gp__peer_reply(struct gp__server *s, struct gp__peer *p, u32 seq, int result, u32 id,
		   const char *text);

/* Guarantees cost all other programs, so only an administrator may exceed the configured ones. */
bool gp__exceeds_guarantees(const struct gp__server *s, u32 min_share_pct, u64 max_hold_ns);
#define GP__GUARANTEES_REFUSED                                                                   \
	"a minimum share above, or a longest hold below, the configured one is refused: ask an " \
	"administrator"

/* A token bucket: @per_s tokens a second, at most @burst of them. False: it is empty. */
bool gp__allowance_take(struct gp__allowance *a, u64 per_s, u64 burst, u64 now);

/*
 * pages.c: the pages shared with agents
 */

void gp__pages_init(struct gp__peer *p);
/*
 * Makes what is shared with an agent. fds: the status page, the order page, the daemon's eventfd,
 * the agent's pipe. On failure, gp__pages_free() releases what was made.
 */
int gp__pages_make(struct gp__peer *p, u32 nr_slots, int fds[4]);
void gp__pages_free(struct gp__peer *p);
/* Writes an order; the registry's deliver(). */
void gp__pages_deliver(void *data, struct gp__program_queue *q, const struct gp__action *a);
/* Notifies the agents whose order pages changed. */
void gp__pages_notify(struct gp__server *s);
/* Updates `alone` in the order pages. */
void gp__pages_set_alone(struct gp__server *s);
void gp__pages_read_slot(struct gp__server *s, struct gp__peer *p, u32 slot);
/* The policy has changed: takes deadlines from programs whose arrivals it needs but are not seen.
 */
void gp__pages_drop_deadlines(struct gp__server *s);
/* Reads the changes that agents did not notify us of, because they are alone. */
void gp__pages_read_all(struct gp__server *s);
/* Extends every hold. Returns the shortest lease among them. */
u64 gp__pages_renew(struct gp__server *s);
/* Listens again to agents whose mute time is over. Returns when the next one's is. */
u64 gp__pages_unmute(struct gp__server *s);

/*
 * control.c: requests of the command line
 */

/* Carries out a request, which is JSON, and answers it. */
void gp__control_request(struct gp__server *s, struct gp__peer *p, const char *text, size_t size,
			 u32 seq);
/* Sends as much of the answer as the socket has room for. */
void gp__control_send(struct gp__server *s, struct gp__peer *p);
/* Sends a line of the decision log to all watchers. */
void gp__control_watch_line(struct gp__server *s, const char *line);

/*
 * server.c: the event loop
 */

int gp__server_watch(struct gp__server *s, struct gp__source *source, u32 events);
int gp__server_rewatch(struct gp__server *s, struct gp__source *source, u32 events);
/* Call before closing it: another process may have the same file open. */
void gp__server_unwatch(struct gp__server *s, struct gp__source *source);

#endif
