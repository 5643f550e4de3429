/* SPDX-License-Identifier: MIT */
/*
 * gpreemptd's one thread: connections, their messages, bells and memory, and the clock. What it
 * writes to a disk has another, which it never waits for (journal.h).
 *
 * It sleeps until somebody rings, writes, comes or goes, or until the core wants to be woken. While
 * anybody is held, it also wakes up to renew the orders to stop; while nobody is, nothing ticks.
 */
#ifndef GP__DAEMON_SERVER_H
#define GP__DAEMON_SERVER_H

#include <jansson.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/log.h"
#include "daemon/config.h"
#include "daemon/house.h"
#include "daemon/journal.h"

struct gp__server;

/* Something that epoll watches. */
struct gp__source {
	int fd;
	void (*ready)(struct gp__server *s, struct gp__source *source, u32 events);
};

/* Somebody who may do a number of things a second, saved up for a while. */
struct gp__allowance {
	u64 empty_until; /* the time before which nothing is left, as a bucket's level */
};

#define GP__GIDS_MAX 256
/* An order to stop is renewed this often within its time. */
#define GP__RENEWALS 3

struct gp__peer {
	struct gp__link link;
	struct gp__source socket, bell;
	struct gp__source life; /* a pidfd: a child may have the socket open for longer; -1: none */
	struct ucred cred;
	gid_t gids[GP__GIDS_MAX];
	u32 nr_gids;
	bool admin, dead;
	enum gp__wire_role role; /* 0: has not said hello */
	struct gp__allowance messages, rings;
	u64 muted_until; /* its bell is not listened to before; 0: it is */
	struct gp__limit limit;

	/* Of the command line's. */
	struct gp__link watching; /* in server->watchers: gets the decisions */
	u64 nr_dropped; /* of them, as it did not read */
	char *answer; /* what is still to be sent of it; NULL: nothing */
	size_t answer_size, answer_sent;
	u32 answer_seq;

	/* An agent's. */
	struct gp__program program;
	struct gp__wire_up *up;
	struct gp__wire_down *down;
	u32 nr_slots;
	u64 ttl_ns; /* as was agreed with it */
	struct gp__lodger **lodger; /* by slot */
	int agent_bell; /* our end of it */
	struct gp__link ringing; /* in server->ringing */
};

struct gp__text_message {
	struct gp__wire_head head;
	char text[GP__WIRE_MESSAGE_MAX - sizeof(struct gp__wire_head)];
};

struct gp__server {
	struct gp__house house;
	struct gp__config config;
	struct gp__journal journal;
	const char *config_path; /* NULL: defaults only */
	bool config_required;
	const struct gp__log *log;
	int epoll;
	struct gp__source listener, signals;
	int spare; /* a descriptor to be given up for refusing a connection when there is none left
		    */
	u64 deaf_until; /* the listener is not watched before; 0: it is */
	int lock; /* beside the socket, held while it is ours */
	char path[108]; /* of the socket made here; "": it was given to us */
	struct gp__link peers, ringing, watchers;
	u32 nr_peers;
	u64 renew_at, started_at;
	u64 now; /* of the event being handled */
	u32 requests_left; /* that this turn has time for; the others wait for the next */
	bool has_asked; /* in this turn or the one before, and who */
	uid_t asker;
	bool stop;
	u64 nr_refused; /* connections and messages */
	/* The message being read, aligned for every kind, and the one being written. */
	u64 received[GP__WIRE_MESSAGE_MAX / sizeof(u64)];
	struct gp__text_message sent;
};

/* @fd: a listening socket that was handed over, or -1. 0 or -errno after saying why in the log. */
int gp__server_open(struct gp__server *s, const struct gp__log *log, const char *config_path,
		    bool config_required, const char *socket_path, int fd);
/* What happens until *@wake at the latest, and what follows from it; *@wake is the next one's. */
int gp__server_turn(struct gp__server *s, u64 *wake);
/* Until SIGTERM or SIGINT. */
int gp__server_run(struct gp__server *s);
/* Everybody is admitted. */
void gp__server_close(struct gp__server *s);

/* In door.c: the next one who wants to come in. */
void gp__door_accept(struct gp__server *s);
/* At this socket, which is not blocking and is his from now on. */
void gp__door_let_in(struct gp__server *s, int fd);
/* Listens again, when its time has come. When to call it next; GP__NEVER: no need to. */
u64 gp__door_wake(struct gp__server *s);
/* Why there is no room for another one. */
const char *gp__door_explain(int err);

/* In peer.c. NULL: there is no memory. */
struct gp__peer *gp__peer_create(int fd);
void gp__peer_drop(struct gp__server *s, struct gp__peer *p, const char *why);

/* Guarantees count against everybody else: who is no administrator has those of the configuration.
 */
bool gp__exceeds_guarantees(const struct gp__server *s, u32 min_share_pct, u64 max_hold_ns);
#define GP__GUARANTEES_REFUSED \
	"only an administrator guarantees more of a GPU, or a shorter hold, than is configured"
void gp__peer_free(struct gp__peer *p);
int gp__peer_reply(struct gp__server *s, struct gp__peer *p, u32 seq, int result, u32 id,
		   const char *text);
/* Rings for orders that were written; sets who is alone. */
void gp__peers_ring(struct gp__server *s);
void gp__peers_set_alone(struct gp__server *s);
/* What agents have not rung for, as they are alone. */
void gp__peers_read_all(struct gp__server *s);
/* Of orders to stop; their time moves on. The shortest that was agreed for them. */
u64 gp__peers_renew(struct gp__server *s);
/* Bells that were muted, when their time has come. The next one's time. */
u64 gp__peers_unmute(struct gp__server *s);
void gp__peer_deliver(void *data, struct gp__lodger *l, const struct gp__action *a);

/* False: there is nothing left. @per_s: how many a second, @burst: how many at once. */
bool gp__allowance_take(struct gp__allowance *a, u64 per_s, u64 burst, u64 now);

/* In control.c: a request of the command line, as JSON; answers it. */
void gp__control_request(struct gp__server *s, struct gp__peer *p, const char *text, size_t size,
			 u32 seq);
/* Sends as much of the answer as the other side has room for. */
void gp__control_send(struct gp__server *s, struct gp__peer *p);
/* A line of the decision log, for those who watch. */
void gp__control_watch_line(struct gp__server *s, const char *line);

/* In server.c */
int gp__server_watch(struct gp__server *s, struct gp__source *source, u32 events);
int gp__server_rewatch(struct gp__server *s, struct gp__source *source, u32 events);
/* To be called before it is closed: another process may have the same file open. */
void gp__server_unwatch(struct gp__server *s, struct gp__source *source);

#endif
