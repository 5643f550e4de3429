/* SPDX-License-Identifier: MIT */
/*
 * Between a joined program's agent and gpreemptd.
 *
 * What is rare goes through a SEQPACKET socket as messages: who is there, which queues it has, what
 * it asks for. What is frequent goes through two pieces of memory that the daemon makes, sealed
 * against being resized: "up", which the agent writes, and "down", which it can only read. A bell
 * each way says that there is something new: an eventfd to the daemon, and a pipe to the agent,
 * whose ends are open files of their own, so that neither side can make the other wait.
 *
 * Neither side trusts the other's memory: every field is loaded once and checked. An order to stop
 * has a time at which it is void, which the daemon moves on while it means it; so a daemon that
 * dies or hangs stops nobody for longer than that.
 */
#ifndef GP__WIRE_WIRE_H
#define GP__WIRE_WIRE_H

#include <stdatomic.h>
#include <sys/types.h>

#include "core/types.h"

#define GP__WIRE_VERSION 1
#define GP__WIRE_MESSAGE_MAX 65536

#define GP__WIRE_TAG_MAX 32
#define GP__WIRE_DEVICE_MAX 40
#define GP__WIRE_NAME_MAX 64
#define GP__WIRE_TEXT_MAX 256

enum gp__wire_type {
	GP__WIRE_HELLO = 1,
	GP__WIRE_WELCOME,
	GP__WIRE_REPLY, /* to what asked; its seq is that one's */
	GP__WIRE_QUEUE_ADD,
	GP__WIRE_QUEUE_REMOVE,
	GP__WIRE_QUEUE_LEVEL,
	GP__WIRE_HINTS,
	GP__WIRE_TEXT, /* JSON: requests of the command line, and what is answered */
	GP__WIRE_TYPES,
};

struct gp__wire_head {
	u32 size; /* of the message, this included */
	u16 type;
	u16 flags; /* GP__WIRE_MORE */
	u32 seq;
	u32 pad;
};

#define GP__WIRE_MORE 1 /* of a TEXT: another one belongs to the same answer */

enum gp__wire_role { GP__WIRE_AGENT = 1, GP__WIRE_CONTROL };

struct gp__wire_hello {
	struct gp__wire_head head;
	u32 version_min, version_max; /* that the sender speaks */
	u32 role;
	u32 nr_slots; /* an agent's: for how many queues there should be room */
	char program[GP__WIRE_NAME_MAX];
};

/* Comes with four descriptors for an agent: up, down, the daemon's bell to write, the agent's to
 * read. */
struct gp__wire_welcome {
	struct gp__wire_head head;
	u32 version;
	u32 nr_slots;
	u64 ttl_ns; /* how long an order to stop is good for, unless renewed */
};

struct gp__wire_reply {
	struct gp__wire_head head;
	s32 result; /* 0 or -errno */
	u32 id; /* of a queue added: by which people name it */
	char text[GP__WIRE_TEXT_MAX]; /* why not */
};

/* What a program asks for; see struct gp__hints. */
struct gp__wire_hints {
	s32 prio;
	u32 weight, share_pct, min_share_pct;
	u64 deadline_ns, max_hold_ns, memory;
};

#define GP__WIRE_CAN_WEIGH 1
#define GP__WIRE_CAN_YIELD 2 /* who has the least weight makes way at once */

struct gp__wire_queue_add {
	struct gp__wire_head head;
	u32 slot;
	u32 flags; /* GP__WIRE_CAN_WEIGH, GP__WIRE_CAN_YIELD */
	u32 level_requested, level;
	char device[GP__WIRE_DEVICE_MAX]; /* the same for everybody who means the same GPU */
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

#define GP__WIRE_AT_MOST 1 /* as much of the priority as the user may have */

struct gp__wire_set_hints {
	struct gp__wire_head head;
	u32 slot;
	u32 flags; /* GP__WIRE_AT_MOST */
	struct gp__wire_hints hints;
};

/*
 * Memory
 */

#define GP__WIRE_SLOTS_MAX 1024

/* How an agent sees work come. */
enum gp__wire_sees { GP__WIRE_SEES_RING, GP__WIRE_SEES_LAUNCH, GP__WIRE_SEES_PRESENCE };

/* What else people should know of a queue. */
#define GP__WIRE_NOTE_DROPS 1 /* what runs may be dropped and run again */
#define GP__WIRE_NOTE_FOREIGN 2 /* others put work into it, which is not held at level 1 */
#define GP__WIRE_NOTE_UNGUARDED(why) (1u << (8 + (why))) /* a kernel in it has no guard */

/* Why a kernel has no guard at level 2, so that it ends before its queue is stopped. */
enum gp__wire_why {
	GP__WIRE_GUARDED,
	GP__WIRE_NO_SOURCE, /* a binary, SPIR-V, or built into the driver */
	GP__WIRE_UNSEEN, /* its definition is not in the source as such */
	GP__WIRE_WAITS, /* it may wait for other work-groups */
	GP__WIRE_SHARES, /* it has variables that outlive a launch, or pipes */
	GP__WIRE_ENQUEUES, /* it launches kernels itself */
	GP__WIRE_CALLED, /* by other kernels */
	GP__WIRE_STRANGE, /* it has attributes that nobody here knows */
	GP__WIRE_FAILS, /* the driver refuses what is made of it */
	GP__WIRE_TOO_LARGE, /* a launch of it has too many work-groups */
	GP__WIRE_NR_WHYS,
};

struct gp__wire_up_slot {
	_Atomic u64 work; /* bit 0: it has work; above: how often that has changed */
	_Atomic u64 seen_ns; /* when the agent saw that */
	_Atomic u64 done; /* the order carried out: its number << 32 | the result, an s32 */
	_Atomic u64 took_ns; /* by the device */
	_Atomic u64 began_ns; /* when the agent set about it */
	_Atomic u32 pending;
	_Atomic u32 expired; /* the number of an order whose time was over: it is void */
	_Atomic u64 arriving_ns; /* CLOCK_MONOTONIC: work is announced for then; 0: none is */
	_Atomic u32 sees; /* enum gp__wire_sees */
	_Atomic u32 notes; /* GP__WIRE_NOTE_... */
};

struct gp__wire_up {
	/* A bit for each slot that has something new; the daemon takes them. */
	_Atomic u64 changed[GP__WIRE_SLOTS_MAX / 64];
	struct gp__wire_up_slot slot[];
};

enum gp__wire_verb { GP__WIRE_RUN, GP__WIRE_STOP, GP__WIRE_WEIGH };

struct gp__wire_down_slot {
	_Atomic u64 order; /* its number << 32 | weight << 8 | verb */
	_Atomic u64 until_ns; /* of a STOP: void from then on */
	_Atomic u64 issued_ns;
	u64 pad;
};

struct gp__wire_down {
	/*
	 * Not 0: nobody else is on any of the agent's GPUs, so it need not ring for work that comes
	 * and goes. The daemon clears it, then looks at all slots; the agent writes a slot, then
	 * looks at it: one of the two sees the other.
	 */
	_Atomic u32 alone;
	u32 pad[15];
	struct gp__wire_down_slot slot[];
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

static inline size_t gp__wire_up_bytes(u32 nr_slots)
{
	return sizeof(struct gp__wire_up) + nr_slots * sizeof(struct gp__wire_up_slot);
}

static inline size_t gp__wire_down_bytes(u32 nr_slots)
{
	return sizeof(struct gp__wire_down) + nr_slots * sizeof(struct gp__wire_down_slot);
}

/*
 * Messages
 */

/*
 * What came in: its type, if it is a message that may be looked into as that type (size right, text
 * ended and printable); -EPROTO otherwise, with what is wrong in @why.
 */
int gp__wire_check(const void *message, size_t size, const char **why);

/* Sends a whole message or none. 0 or -errno (-EAGAIN: a reader that does not read). */
int gp__wire_send(int fd, const void *message, const int *fds, u32 nr_fds);
/*
 * One message into @size bytes: its length, 0 at the end, or -errno. Descriptors come with
 * O_CLOEXEC; @nr_fds: how many are wanted, and how many came. More than wanted are closed.
 */
ssize_t gp__wire_receive(int fd, void *message, size_t size, int *fds, u32 *nr_fds);

/* Ends text that is copied into a field: cut off, and with '?' for what cannot be shown. */
void gp__wire_text(char *field, size_t size, const char *text);

/*
 * Where the daemon listens: $GPREEMPT_SOCKET; /run/gpreempt/control.sock where there is one, or for
 * root; otherwise gpreempt/control.sock in $XDG_RUNTIME_DIR. 0 or -errno (-ENOENT: nowhere).
 */
int gp__wire_path(char *path, size_t size);
/* A connection to it: a descriptor or -errno (-ETIMEDOUT: it is there, and takes none). Sending
 * over it does not wait for longer than a second. */
int gp__wire_connect(const char *path);

#endif
