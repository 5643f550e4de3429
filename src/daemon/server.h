/* SPDX-License-Identifier: MIT */
/*
 * gpreemptd's main thread: an epoll loop over connections, agents' notifications and the clock.
 *
 * The loop sleeps until a connection has something to read, or until the core wants to be woken.
 * While any queue is held it also wakes up to renew the holds; otherwise nothing ticks.
 *
 * A turn is short, whatever clients do. What epoll reports is only noted; then users are served in
 * turns, a bounded piece at a time, status pages before messages, until the time of the turn is
 * used up. Users that have used up their share of the thread's time are served later (user.h). No
 * system call of this thread can be stretched by a client: other threads write the decision log
 * and messages (journal.h), inspect processes (inspect.h, lineage.h), and close descriptors that
 * clients have a part in (closer.h).
 */
#ifndef GP__DAEMON_SERVER_H
#define GP__DAEMON_SERVER_H

#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

#include "base/hist.h"
#include "base/log.h"
#include "daemon/census_thread.h"
#include "daemon/closer.h"
#include "daemon/config.h"
#include "daemon/inspect.h"
#include "daemon/registry.h"
#include "daemon/journal.h"
#include "daemon/journald.h"
#include "daemon/keep.h"
#include "daemon/off.h"
#include "daemon/watch_thread.h"

struct gp__scrape;
struct gp__server;

/* A descriptor that epoll watches. */
struct gp__source {
	int fd;
	void (*ready)(struct gp__server *s, struct gp__source *source, u32 events);
};

/*
 * Reads the configuration in a thread: names of users may be looked up in a network. @done becomes
 * readable when it was read.
 */
struct gp__reload {
	struct gp__source done; /* an eventfd */
	pthread_t thread;
	bool runs, again; /* the thread; it is to be started once more */
	const char *path;
	bool required;
	struct gp__config config;
	char error[GP__CONFIG_ERROR_MAX];
	int result;
};

#define GP__GIDS_MAX 256
/* A hold is renewed this often within its lease. */
#define GP__RENEWALS 3

struct gp__answer;
struct gp__peer;

/* The result of serving a connection. */
enum gp__served {
	GP__SERVED_NOT, /* nothing: it comes first in the next turn, and this one ends */
	GP__SERVED_PART, /* it waits for more */
	GP__SERVED_ALL,
};

typedef enum gp__served gp__serve_fn(struct gp__server *s, struct gp__peer *p);

struct gp__peer {
	struct gp__link link;
	struct gp__user *user;
	struct gp__link lane[GP__LANES]; /* in the lanes of its user */
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
	u64 waits_since; /* for a hello, or for the client to read; 0: it does not */
	bool may_send_rights; /* its messages can carry descriptors */
	bool is_helper; /* it is ours, and speaks for the process of @cred (watches.c) */
	struct gp__limit limit;

	/* Of the command line: */
	struct gp__link watching; /* in server->watchers: receives decisions */
	u64 nr_dropped; /* lines that it had no room for, and was not told of yet */
	struct gp__answer *answer; /* being sent; NULL: none is */
	struct gp__link awaiting; /* in server->awaiting: the answer waits for another thread */

	/* Of an agent: */
	struct gp__program program;
	u64 parked_until; /* its messages wait until its control groups are known; 0: they do not */
	struct gp__inspection *inspection; /* NULL: it cannot be inspected, or has had no queue */
	u64 scanned_at; /* when it was last asked for its devices */
	u64 closed_at; /* when it was last seen that it has closed a device; 0: never */
	bool scan_again; /* at claims->retry_at */
	struct gp__wire_status_page *status;
	struct gp__wire_order_page *order;
	u32 nr_slots;
	u64 ttl_ns; /* the lease of a hold, as announced to this agent */
	struct gp__program_queue **queue; /* by slot */
	u32 next_word; /* of status->changed, to be read next */
	bool changed; /* the agent may have changed words that were read already */
	int agent_notify_fd; /* our end of the pipe that wakes the agent */
	struct gp__link notify_link; /* in server->to_notify */
};

struct gp__text_message {
	struct gp__wire_head head;
	char text[GP__WIRE_MESSAGE_MAX - sizeof(struct gp__wire_head)];
};

/* Claims of programs, and what the daemon sees of them (claims.c). */
struct gp__claims {
	struct gp__inspector inspector;
	struct gp__source answers;
	bool off; /* no process is inspected; for tests that must be deterministic */
	bool warned; /* that programs cannot be inspected */
	u32 nr_stopped; /* programs */
	u64 checked_at; /* when the programs that hold others were last asked about */
	u64 retry_at; /* when to repeat inspections that failed or came too early */
};

/* The role of a process with a GPU open, beside the programs that are joined. */
enum gp__holder_role {
	GP__HOLDER_JOINED,
	GP__HOLDER_CHILD, /* of a joined one */
	GP__HOLDER_WATCHES, /* it draws, or watches the GPU */
	GP__HOLDER_COMPUTES, /* where no joined program is */
	GP__HOLDER_DISTURBS, /* it computes where one is */
	GP__HOLDER_HELPER, /* our own, of a watched program */
};

struct gp__known_holder {
	pid_t pid;
	u64 start;
	bool told; /* there was a warning about it */
};

/* The processes that have GPUs open (holders.c). */
struct gp__holders {
	struct gp__census_thread thread;
	struct gp__source done;
	u64 asked_at; /* of a census that is being taken; 0: none is */
	u64 tried_at; /* when one was last asked for, for warnings */
	u64 took_ns; /* the latest one, until it was taken over */
	/* The latest one: */
	struct gp__census census;
	enum gp__holder_role *role; /* of each holder */
	u64 taken_at; /* 0: none was taken yet */
	int err; /* why there is no later one */
	struct gp__known_holder *known; /* that disturb others */
	u32 nr_known;
};

/* The programs that are watched although they have not joined (watches.c). */
struct gp__watches {
	bool on;
	struct gp__watch_thread thread;
	struct gp__source done;
	struct gp__link targets;
	u32 nr_targets;
	u64 check_at; /* the helpers */
};

struct gp__server {
	struct gp__registry registry;
	struct gp__claims claims;
	struct gp__watches watches;
	struct gp__holders holders;
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
	struct gp__reload reload;
	struct {
		u64 until;
		u32 nr;
	} gpu_lines; /* in the log, about GPUs that fail */
	struct gp__journald journald; /* for decisions */
	struct {
		u64 time, nr_missing;
		u32 entity;
		u8 what;
	} entries; /* the latest one in systemd's journal; entries.c */
	struct gp__devices *machine; /* as it was when the daemon started */
	struct gp__keeper off; /* keeps registry.off in a file */
	struct gp__keeper registered; /* keeps registry.registered in a file */
	struct gp__source registered_saved;
	struct gp__source off_kept;
	struct {
		struct gp__keeper keeper;
		struct gp__source done;
		u64 saved_at;
		bool has_file;
		int told; /* the latest result that was logged */
	} spent; /* GPU time; spent.c */
	struct gp__source hours; /* the timer of limits that apply at some times */
	time_t limits_until; /* when they may change next; 0: never */
	struct gp__scrape *scrape; /* NULL: metrics are not served */
	char metrics[GP__CONFIG_PATH_MAX]; /* the key when it was started */
	struct gp__closer *closer;
	bool refuses_rights; /* the kernel refuses descriptors that clients send */
	struct gp__link peers, to_notify, watchers, awaiting;
	struct gp__link lane[GP__LANES]; /* the lanes of users whose connections wait */
	u32 nr_peers, nr_waiting; /* connections; those with waits_since */
	u32 nr_parked; /* programs whose control groups are waited for */
	u64 sweep_at;
	u64 watchdog_at; /* when systemd's watchdog is notified next; 0: it is not known yet */
	u64 renew_at, started_at;
	time_t started_unix; /* in seconds since 1970 */
	u64 now; /* of the event being handled */
	u64 turn_end; /* nothing more is begun in this turn after this time */
	u32 requests_left; /* in this turn; other requests wait for the next */
	u32 nr_postponed; /* turns in which messages waited for reports */
	struct gp__hist turn_ns; /* how long turns took */
	struct gp__buckets turns; /* the same, for metrics */
	bool stop, interrupted; /* interrupted: by SIGINT */
	bool managed; /* by a service manager, which may start another daemon after this one */
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
/* Closes all connections. Tells agents to release every queue, unless another daemon may follow. */
void gp__server_close(struct gp__server *s);

/*
 * listener.c: accepts connections
 */

void gp__listener_accept(struct gp__server *s);
/*
 * Adds a peer with this non-blocking socket, which it owns from now on, or refuses it. @has_rights:
 * its messages can carry descriptors.
 */
void gp__listener_add_peer(struct gp__server *s, int fd, bool has_rights);
/* Asks the kernel to refuse descriptors that clients send (Linux 6.16); sets refuses_rights. */
void gp__listener_refuse_rights(struct gp__server *s);
/* Adds the connection of a helper, which speaks for another process, or closes it. @life: a pidfd
 * of that process, the peer's from now on. NULL: it was closed, with the reason in *@why. */
struct gp__peer *gp__listener_add_helper(struct gp__server *s, const struct gp__helper *helper,
					 const char **why);
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
void gp__peer_free(struct gp__server *s, struct gp__peer *p);
int gp__peer_reply(struct gp__server *s, struct gp__peer *p, u32 seq, int result, u32 id,
		   const char *text);

/* The GPU time that its user may use. */
struct gp__quota gp__peer_quota(const struct gp__peer *p);

/* Guarantees cost all other programs, so only an administrator may exceed the configured ones. */
bool gp__exceeds_guarantees(const struct gp__server *s, u32 min_share_pct, u64 max_hold_ns);
#define GP__GUARANTEES_REFUSED                                                                   \
	"a minimum share above, or a longest hold below, the configured one is refused: ask an " \
	"administrator"

/* Drops connections that have waited for too long. Returns when to call it next. */
u64 gp__peers_sweep(struct gp__server *s);
/* The connection waits for its client from now on, or no longer. */
void gp__peer_wait(struct gp__server *s, struct gp__peer *p, bool waits);
/* Reads one message, or sends a part of an answer. */
enum gp__served gp__peer_serve(struct gp__server *s, struct gp__peer *p);

/* The answer about the program's control groups is there: its messages are read. */
void gp__peer_unpark(struct gp__server *s, struct gp__peer *p);
/* Reads the messages of those that have waited for that for too long. Returns when to call it next.
 */
u64 gp__peers_unpark(struct gp__server *s);

/*
 * reload.c: reads the configuration again
 */

int gp__reload_open(struct gp__reload *r);
/* Starts reading, or notes that it must be read once more. */
int gp__reload_begin(struct gp__reload *r, const char *path, bool required);
/*
 * Takes over what was read. -EAGAIN: it is being read once more; another -errno: @error has a
 * sentence, and @config is unchanged.
 */
int gp__reload_end(struct gp__reload *r, struct gp__config *config,
		   char error[GP__CONFIG_ERROR_MAX]);
void gp__reload_close(struct gp__reload *r);

/*
 * hours.c: limits at times of the day
 */

int gp__hours_open(struct gp__server *s);
void gp__hours_close(struct gp__server *s);
/* The configuration was read: puts into force what applies now. */
void gp__hours_configure(struct gp__server *s);
/* Applies the limits in force to the programs that are joined. */
void gp__hours_apply(struct gp__server *s);

/*
 * spent.c: GPU time that users have spent, over restarts
 */

/* Reads what an earlier daemon has written. */
int gp__spent_open(struct gp__server *s, const char *socket_path);
/* Writes it, if it is time. Returns when to call it next. */
u64 gp__spent_wake(struct gp__server *s);
/* Writes it. The users are still there, and their groups are gone. */
void gp__spent_close(struct gp__server *s);

/*
 * answer.c: answers that wait for another thread
 */

/* It has what they wait for. */
void gp__answers_go_on(struct gp__server *s);
/* Ends waits that have lasted too long. Returns when to call it next. */
u64 gp__answers_wake(struct gp__server *s);

/*
 * switch.c: switches scheduling off and on
 */

/* Reads which GPUs are off. */
int gp__switch_open(struct gp__server *s, const char *socket_path);
/* Switches the GPU that agents call @key, or all GPUs if that is NULL. 0, or -errno and a sentence
 * in @error. */
int gp__switch_turn(struct gp__server *s, const char *key, bool off, char error[GP__WIRE_TEXT_MAX]);
/* Whether the file has what was last switched: true, false or, if it is not known yet, null; if it
 * is false, *@why has the reason. */
json_t *gp__switch_saved(const struct gp__server *s, const char **why);
void gp__switch_close(struct gp__server *s);

/*
 * registered.c: control groups that root has registered
 */

/* Reads those of the daemon before this one. */
int gp__registered_open(struct gp__server *s, const char *socket_path);
void gp__registered_close(struct gp__server *s);
/* By the request of an administrator. 0, or -errno and a sentence in @error. */
int gp__registered_add(struct gp__server *s, const json_t *o, char error[GP__WIRE_TEXT_MAX]);
int gp__registered_remove(struct gp__server *s, const json_t *o, char error[GP__WIRE_TEXT_MAX]);
/* All rules, those of the configuration as well. */
json_t *gp__registered_list(const struct gp__server *s);
/* The answer to a question of gp__registered_wake(). */
void gp__registered_found(struct gp__server *s, u64 ticket, bool exists);
/* Asks which groups are gone. Returns when to call it next. */
u64 gp__registered_wake(struct gp__server *s);

/*
 * serve.c: serves users in turns
 */

/* The connection waits for what the lane says. */
void gp__serve_later(struct gp__server *s, struct gp__peer *p, enum gp__lane_kind kind);
/* It waits for nothing. */
void gp__serve_never(struct gp__peer *p);
/* Begins a turn. */
void gp__serve_begin(struct gp__server *s);
/*
 * Serves connections, one of each user after another, until none waits or the time of the turn is
 * used up. Returns the time of the next turn.
 */
u64 gp__serve(struct gp__server *s, enum gp__lane_kind kind, gp__serve_fn *serve);

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
/* Updates `alone` and `gang` in the order pages. Whether pages are to be read now. */
bool gp__pages_tell(struct gp__server *s);
void gp__pages_read_slot(struct gp__server *s, struct gp__peer *p, u32 slot);
/* Reads the changes that the agent did not notify us of, because it is alone. */
void gp__pages_read_alone(struct gp__server *s, struct gp__peer *p);
/* The policy has changed: takes deadlines from programs whose arrivals it needs but are not seen.
 */
void gp__pages_drop_deadlines(struct gp__server *s);
/* Reads a part of its changes. */
enum gp__served gp__pages_serve(struct gp__server *s, struct gp__peer *p);
/* Extends every hold. Returns the shortest lease among them. */
u64 gp__pages_renew(struct gp__server *s);
/* Listens again to agents whose mute time is over. Returns when the next one's is. */
u64 gp__pages_unmute(struct gp__server *s);

/*
 * claims.c: whether programs use the devices that they claim work for, and run at all
 */

int gp__claims_open(struct gp__server *s);
void gp__claims_close(struct gp__server *s);
/* The configuration has changed. */
void gp__claims_configure(struct gp__server *s);
/* The program has a new queue. */
void gp__claims_added(struct gp__server *s, struct gp__peer *p);
/* The program's agent reports another use of memory. */
void gp__claims_memory(struct gp__server *s, struct gp__peer *p);
/* The program is gone. */
void gp__claims_end(struct gp__server *s, struct gp__peer *p);
/* Asks about programs that hold others, if it is time. Returns when to call it at the latest. */
u64 gp__claims_wake(struct gp__server *s);

/*
 * holders.c: the processes that have GPUs open
 */

int gp__holders_open(struct gp__server *s);
void gp__holders_close(struct gp__server *s);
/* The configuration has changed. */
void gp__holders_configure(struct gp__server *s);
/* Somebody asks: takes a census, unless the latest one is younger than @fresh_ns. */
void gp__holders_want(struct gp__server *s, u64 fresh_ns);
/* The process of the latest census that has this pid. NULL: none. */
const struct gp__holder *gp__holders_find(const struct gp__holders *h, pid_t pid);
/* Sets the role of each holder, as programs are joined now. */
void gp__holders_judge(struct gp__server *s);
/* Takes the census for warnings, if it is time. Returns when to call it at the latest. */
u64 gp__holders_wake(struct gp__server *s);

/*
 * watches.c: programs that have not joined, and are watched all the same
 */

/* Begins to look for them. 0, or -errno after logging the reason. */
int gp__watches_open(struct gp__server *s);
void gp__watches_close(struct gp__server *s);
/* A program has joined: it is no longer watched. */
void gp__watches_joined(struct gp__server *s, pid_t pid);
/* Whether the process has joined, so that it is not to be watched. */
bool gp__watches_has_joined(const struct gp__server *s, pid_t pid);
/* Whether the process is a helper of ours. */
bool gp__watches_is_helper(const struct gp__server *s, pid_t pid);
/* How the program is watched, as JSON; null: it is not, and need not be. */
json_t *gp__watches_json(const struct gp__server *s, pid_t pid);
/* Ends helpers that hang. Returns when to call it next. */
u64 gp__watches_wake(struct gp__server *s);

/*
 * control.c: requests of the command line
 */

/* Carries out a request, which is JSON, and begins to answer it. */
void gp__control_request(struct gp__server *s, struct gp__peer *p, const char *text, size_t size,
			 u32 seq);
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
