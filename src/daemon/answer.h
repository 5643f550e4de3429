/* SPDX-License-Identifier: MIT */
/*
 * Answers to requests of the command line.
 *
 * An answer is a JSON object: a head that exists when the request was carried out, then arrays of
 * groups, GPUs and users. These may be long, so they are written piece by piece: a few of them in
 * each turn of the daemon, and only as fast as the client reads them. A group that has gone
 * meanwhile is left out. What another thread does is waited for, but not for long.
 */
#ifndef GP__DAEMON_ANSWER_H
#define GP__DAEMON_ANSWER_H

#include "daemon/server.h"

enum gp__piece_kind {
	GP__PIECE_GROUPS, /* begins an array of groups; always present, even if it is empty */
	GP__PIECE_GPUS,
	GP__PIECE_USERS,
	/* The arrays of metrics.h, and their rows. */
	GP__PIECE_GPU_ROWS,
	GP__PIECE_CLASS_ROWS,
	GP__PIECE_PROGRAM_ROWS,
	GP__PIECE_USER_ROWS,
	GP__PIECE_GPU_ROW,
	GP__PIECE_CLASS_ROW,
	GP__PIECE_PROGRAM_ROW,
	GP__PIECE_USER_ROW,
	GP__PIECE_GROUP, /* as gp__show_group() */
	GP__PIECE_HISTORY, /* the same, with its holds */
	GP__PIECE_ENDED, /* a group that has ended */
	GP__PIECE_GPU,
	GP__PIECE_USER,
	GP__PIECE_SAVED, /* what gp__switch_saved() says, which is waited for; before any array */
	GP__PIECE_PROCESSES, /* with GPUs open; the last piece, followed by one for each */
	GP__PIECE_KNOWN_PROCESSES, /* the same, without waiting for a census */
	GP__PIECE_PROCESS,
	GP__PIECE_COUNT,
};

struct gp__piece {
	enum gp__piece_kind kind;
	u32 id;
};

/* A list of pieces: an array, its elements, another array, and so on. */
struct gp__pieces {
	struct gp__piece *piece;
	u32 nr, room;
	bool failed; /* out of memory */
};

void gp__pieces_add(struct gp__pieces *list, enum gp__piece_kind kind, u32 id);

/* Begins an answer. Takes over @head, which may be NULL after an error, and @list. */
void gp__answer_begin(struct gp__server *s, struct gp__peer *p, u32 seq, json_t *head,
		      struct gp__pieces *list);
/* Writes and sends the next part. The peer may be dropped. */
enum gp__answer_state {
	GP__ANSWER_GOES_ON,
	GP__ANSWER_BLOCKED, /* until the client reads */
	GP__ANSWER_WAITS, /* for another thread */
	GP__ANSWER_DONE,
};
enum gp__answer_state gp__answer_step(struct gp__server *s, struct gp__peer *p);
void gp__answer_free(struct gp__peer *p);

#endif
