/* SPDX-License-Identifier: MIT */
/*
 * The protocol between a joined program's agent and gpreemptd.
 *
 * Rare events are messages on a SEQPACKET socket: joining, adding and removing queues, hints.
 * Frequent ones go through two pages of shared memory that the daemon makes and seals against being
 * resized: the agent writes the status page, and can only read the order page. Each side notifies
 * the other of changes: the agent through an eventfd, the daemon through a pipe, whose two ends are
 * separate open files, so that neither side can make the other block.
 *
 * Neither side trusts the other's memory: every field is loaded once and checked. A hold expires
 * unless the daemon renews it, so a daemon that dies or hangs holds no queue for longer than that.
 *
 * A connection that ends without a goodbye leaves holds in force until they expire: the agent
 * connects again meanwhile, and says which of its queues are held.
 *
 * Versions: the hello has the range of versions that the client speaks, and the daemon answers with
 * the highest that both speak. A version never changes a field of an earlier one.
 *	1	0.1.0
 *	2	adds GP__WIRE_HELD and `goodbye` in the order page
 *	3	adds the memory behind the slots of the status page
 *		and GP__WIRE_GANG and `gang` in the order page
 *	4	adds GP__WIRE_OBSERVED and GP__WIRE_GANG_RANKS
 */
#ifndef GP__WIRE_WIRE_H
#define GP__WIRE_WIRE_H

#include <stdatomic.h>
#include <sys/types.h>

#include "core/types.h"

#define GP__WIRE_VERSION_MIN 1
#define GP__WIRE_VERSION 4 /* the highest that this side speaks */
#define GP__WIRE_MESSAGE_MAX 65536

#define GP__WIRE_TAG_MAX 32
#define GP__WIRE_DEVICE_MAX 40
#define GP__WIRE_NAME_MAX 64
#define GP__WIRE_TEXT_MAX 256
#define GP__WIRE_FDS_MAX 253 /* the most that the kernel passes with a message */

enum gp__wire_type {
	GP__WIRE_HELLO = 1,
	GP__WIRE_WELCOME,
	GP__WIRE_REPLY, /* has the seq of its request */
	GP__WIRE_QUEUE_ADD,
	GP__WIRE_QUEUE_REMOVE,
	GP__WIRE_QUEUE_LEVEL,
	GP__WIRE_HINTS,
	GP__WIRE_TEXT, /* JSON: requests of the command line, and answers */
	GP__WIRE_GANG, /* version 3 */
	GP__WIRE_TYPES,
};

struct gp__wire_head {
	u32 size; /* of the message, this included */
	u16 type;
	u16 flags; /* GP__WIRE_MORE */
	u32 seq;
	u32 pad;
};

#define GP__WIRE_MORE 1 /* another TEXT of the same answer follows */

enum gp__wire_role { GP__WIRE_AGENT = 1, GP__WIRE_CONTROL };

struct gp__wire_hello {
	struct gp__wire_head head;
	u32 version_min, version_max; /* that the sender speaks */
	u32 role;
	u32 nr_slots; /* of an agent: the number of queues it wants */
	char program[GP__WIRE_NAME_MAX];
};

/* For an agent, four descriptors come with it: the status page, the order page, the eventfd that
 * notifies the daemon, and the reading end of the pipe that notifies the agent. */
struct gp__wire_welcome {
	struct gp__wire_head head;
	u32 version;
	u32 nr_slots;
	u64 ttl_ns; /* the lease of a hold */
};

struct gp__wire_reply {
	struct gp__wire_head head;
	s32 result; /* 0 or -errno */
	u32 id; /* of an added queue, as people see it */
	char text[GP__WIRE_TEXT_MAX]; /* the reason of a refusal, or what was granted instead */
};

/* Hints of a program; see struct gp__hints. */
struct gp__wire_hints {
	s32 prio;
	u32 weight, share_pct, min_share_pct;
	u64 deadline_ns, max_hold_ns, memory;
};

#define GP__WIRE_CAN_WEIGH 1
#define GP__WIRE_CAN_YIELD 2 /* the least weight yields at once */
#define GP__WIRE_HELD 4 /* version 2: an earlier daemon's hold is still in force */
#define GP__WIRE_OBSERVED 8 /* version 4: the program is neither held, nor are others for it */
/* The program has asked for no priority. Earlier daemons ignore it. */
#define GP__WIRE_BY_DEFAULT 16

struct gp__wire_queue_add {
	struct gp__wire_head head;
	u32 slot;
	u32 flags; /* the five above */
	u32 level_requested, level;
	char device[GP__WIRE_DEVICE_MAX]; /* identifies the GPU, the same in all programs */
	char device_name[GP__WIRE_NAME_MAX];
	u64 device_memory;
	char tag[GP__WIRE_TAG_MAX];
	struct gp__wire_hints hints;
};

struct gp__wire_queue_remove {
	struct gp__wire_head head;
	u32 slot, pad;
};

struct gp__wire_queue_level {
	struct gp__wire_head head;
	u32 slot, level;
};

#define GP__WIRE_AT_MOST 1 /* lower the priority to the user's limit */

struct gp__wire_set_hints {
	struct gp__wire_head head;
	u32 slot;
	u32 flags; /* GP__WIRE_AT_MOST */
	struct gp__wire_hints hints;
};

#define GP__WIRE_GANG_FORMED 1 /* all members had joined: it is not waited for again */
#define GP__WIRE_GANG_MEMBERS_MAX 64
/*
 * Version 4. The members are the ranks of a collective, from 0 to the number of members - 1, and
 * this program is one of them. While one is missing, or they cannot be tied, none is held.
 */
#define GP__WIRE_GANG_RANKS 2
#define GP__WIRE_GANG_RANK(flags) ((flags) >> 8)
#define GP__WIRE_RANKS_MAX (1u << 23) /* of which GP__WIRE_GANG_MEMBERS_MAX can be tied */

/* Makes the program a member of its user's gang of this name: its present queues and later ones. */
struct gp__wire_gang {
	struct gp__wire_head head;
	u32 members; /* for which the gang waits; 0: none */
	u32 flags; /* GP__WIRE_GANG_FORMED; or GP__WIRE_GANG_RANKS and a rank << 8 */
	char name[GP__WIRE_TAG_MAX];
};

/*
 * Pages
 */

#define GP__WIRE_SLOTS_MAX 1024

/* How an agent sees work arrive: in the ring, at the launch, or only that the queue exists. */
/* The time within which an agent sees work by polling, about. */
#define GP__WIRE_POLL_NS 1000000ull

enum gp__wire_sees { GP__WIRE_SEES_RING, GP__WIRE_SEES_LAUNCH, GP__WIRE_SEES_PRESENCE };

/* Notes on a queue, for people. */
#define GP__WIRE_NOTE_DROPS 1 /* running kernels may be dropped and run again */
#define GP__WIRE_NOTE_FOREIGN 2 /* work that bypasses the window is not held at level 1 */
/* The program's own priority for the queue: -1, 0 or 1; at most one of the three notes. */
#define GP__WIRE_NOTE_OWN(own) (4u << ((own) + 1))
#define GP__WIRE_NOTES_OWN (4u | 8u | 16u)
#define GP__WIRE_NOTE_WHOLE 32 /* all streams of a context, which cannot be held apart */
#define GP__WIRE_NOTE_UNGUARDED(why) (1u << (8 + (why))) /* a kernel in it has no guard */

/* Why a kernel has no guard at level 2; it runs to its end before its queue is held. */
enum gp__wire_why {
	GP__WIRE_GUARDED,
	GP__WIRE_NO_SOURCE, /* a binary, SPIR-V, or built into the driver */
	GP__WIRE_UNSEEN, /* its definition is not in the source as such */
	GP__WIRE_WAITS, /* it may wait for other work-groups */
	GP__WIRE_SHARES, /* it has variables that outlive a launch, or pipes */
	GP__WIRE_ENQUEUES, /* it launches kernels itself */
	GP__WIRE_CALLED, /* by other kernels */
	GP__WIRE_STRANGE, /* it has unknown attributes */
	GP__WIRE_FAILS, /* the driver refuses the guarded kernel */
	GP__WIRE_TOO_LARGE, /* a launch of it has too many work-groups */
	GP__WIRE_NR_WHYS,
};

struct gp__wire_status_slot {
	_Atomic u64 work; /* bit 0: it has work; above: a count of changes */
	/* When the agent saw the latest change; if it has no work any more: since when. */
	_Atomic u64 seen_ns;
	_Atomic u64 done; /* the acknowledged order: its number << 32 | the result, an s32 */
	_Atomic u64 took_ns; /* how long the device took */
	_Atomic u64 began_ns; /* when the agent began to carry it out */
	_Atomic u32 pending;
	_Atomic u32 expired; /* the number of a hold that expired */
	_Atomic u64 arriving_ns; /* announced time of work, CLOCK_MONOTONIC; 0: none */
	_Atomic u32 sees; /* enum gp__wire_sees */
	_Atomic u32 notes; /* GP__WIRE_NOTE_... */
};

struct gp__wire_status_page {
	/* A bit for each slot that has changed; the daemon clears them. */
	_Atomic u64 changed[GP__WIRE_SLOTS_MAX / 64];
	struct gp__wire_status_slot slot[]; /* followed by gp__wire_memory() */
};

enum gp__wire_gang_state {
	GP__WIRE_UNGROUPED,
	GP__WIRE_GANG_WAITS, /* for other members: its queues are held */
	GP__WIRE_GANG_TOGETHER,
	GP__WIRE_GANG_PARTLY, /* together, but another member is on one of the program's GPUs */
	GP__WIRE_GANG_GAVE_UP, /* members were missing for too long: they run ungrouped */
	GP__WIRE_GANG_FREE, /* version 4: ranks that are not tied, and not held */
};

enum gp__wire_verb { GP__WIRE_RELEASE, GP__WIRE_HOLD, GP__WIRE_WEIGH };

struct gp__wire_order_slot {
	_Atomic u64 order; /* its number << 32 | weight << 8 | verb */
	_Atomic u64 until_ns; /* when a hold expires */
	_Atomic u64 issued_ns;
	/* How long before work an announcement makes room in time; 0: not known. Earlier daemons
	 * leave it 0. */
	_Atomic u64 lead_ns;
};

struct gp__wire_order_page {
	/*
	 * Not 0: no other program is on any of the agent's GPUs, so it need not notify the daemon
	 * of work that comes and goes. The daemon clears it, then reads all slots; the agent writes
	 * a slot, then reads it: at least one of the two sees the other's write.
	 */
	_Atomic u32 alone;
	/*
	 * Version 2. Not 0: the daemon ends, and no other one is about to follow. Set before the
	 * connection is closed.
	 */
	_Atomic u32 goodbye;
	_Atomic u32 gang; /* version 3: enum gp__wire_gang_state, of the program */
	u32 pad[13];
	struct gp__wire_order_slot slot[];
};

static inline u64 gp__wire_order(u32 number, u32 weight, enum gp__wire_verb verb)
{
	return (u64)number << 32 | (u64)(weight & 0xffffff) << 8 | (u64)verb;
}

static inline u32 gp__wire_order_number(u64 order)
{
	return (u32)(order >> 32);
}

static inline u32 gp__wire_order_weight(u64 order)
{
	return (u32)(order >> 8) & 0xffffff;
}

static inline enum gp__wire_verb gp__wire_order_verb(u64 order)
{
	return (enum gp__wire_verb)(order & 0xff);
}

static inline u64 gp__wire_done(u32 number, s32 result)
{
	return (u64)number << 32 | (u32)result;
}

/*
 * Version 3: for each slot, how much memory of the queue's GPU the whole program uses: bytes with
 * GP__WIRE_MEMORY_KNOWN, or 0 if that is not measured.
 */
#define GP__WIRE_MEMORY_KNOWN (1ull << 63)

static inline _Atomic u64 *gp__wire_memory(struct gp__wire_status_page *page, u32 nr_slots)
{
	return (_Atomic u64 *)&page->slot[nr_slots];
}

/* @version: that both sides speak. */
static inline size_t gp__wire_status_bytes(u32 nr_slots, u32 version)
{
	size_t slot = sizeof(struct gp__wire_status_slot) + (version < 3 ? 0 : sizeof(u64));

	return sizeof(struct gp__wire_status_page) + nr_slots * slot;
}

static inline size_t gp__wire_order_bytes(u32 nr_slots)
{
	return sizeof(struct gp__wire_order_page) + nr_slots * sizeof(struct gp__wire_order_slot);
}

/*
 * Messages
 */

/* The highest version in the client's range that this side speaks; 0: there is none. */
u32 gp__wire_agree(u32 version_min, u32 version_max);

/*
 * Checks a received message: its size, and that its texts are terminated and printable. Returns its
 * type, or -EPROTO with the reason in @why.
 */
int gp__wire_check(const void *message, size_t size, const char **why);

/* Sends a whole message or nothing. 0 or -errno (-EAGAIN: the receiver does not read). */
int gp__wire_send(int fd, const void *message, const int *fds, u32 nr_fds);
/*
 * Receives a message of at most @size bytes. Returns its length, 0 at the end, or -errno.
 * Descriptors have O_CLOEXEC; @nr_fds: how many are wanted, and how many came. Others are closed,
 * which may block.
 */
ssize_t gp__wire_receive(int fd, void *message, size_t size, int *fds, u32 *nr_fds);

/*
 * Copies text into a field: truncated between two characters, and with '?' for what is not UTF-8
 * and for characters that a terminal does not show as themselves, such as controls, direction marks
 * and characters without width. Text from others goes through this before it is shown.
 */
void gp__wire_text(char *field, size_t size, const char *text);

/*
 * Finds the socket of the daemon: $GPREEMPT_SOCKET; else /run/gpreempt/control.sock if it exists or
 * for root; else gpreempt/control.sock in $XDG_RUNTIME_DIR. 0 or -errno (-ENOENT: none).
 */
int gp__wire_path(char *path, size_t size);
/* Connects. Returns a descriptor or -errno (-ETIMEDOUT: the daemon does not accept). Sending over
 * it blocks for at most a second. */
int gp__wire_connect(const char *path);
/* As gp__wire_connect(), with another timeout for connecting, which is not 0. */
int gp__wire_connect_within(const char *path, int timeout_ms);

#endif
