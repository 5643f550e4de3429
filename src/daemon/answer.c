// SPDX-License-Identifier: MIT
#include "daemon/answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "daemon/figures.h"
#include "daemon/show.h"

/* A step writes no further piece after this time. */
#define STEP_NS (100 * GP__US)
/* A message is sent when its text exceeds this size; there is room for one more piece. */
#define MESSAGE_TEXT (32u << 10)
#define TEXT_ROOM (GP__WIRE_MESSAGE_MAX - sizeof(struct gp__wire_head))
/* The number of a group's queues that are written as one piece. */
#define QUEUES_A_PIECE 8
/* How long it waits for other threads. */
#define PATIENCE_NS (2 * GP__S)

struct gp__answer {
	u32 seq;
	struct gp__pieces list;
	u32 at; /* the piece that is written next */
	bool in_array, array_empty;
	bool in_group; /* its head is written, its queues are not */
	u32 last_queue;
	bool ended; /* nothing is left to be written */
	u64 patient_until;
	char *text; /* not sent yet */
	size_t size, room;
};

void gp__pieces_add(struct gp__pieces *list, enum gp__piece_kind kind, u32 id)
{
	if (list->nr == list->room) {
		u32 room = list->room ? 2 * list->room : 64;
		struct gp__piece *more = realloc(list->piece, room * sizeof(*more));

		if (!more) {
			list->failed = true;
			return;
		}
		list->piece = more;
		list->room = room;
	}
	list->piece[list->nr++] = (struct gp__piece){ kind, id };
}

/*
 * Text
 */

static bool append(struct gp__answer *a, const char *text, size_t n)
{
	if (a->size + n > a->room) {
		size_t room = a->size + n + MESSAGE_TEXT;
		char *more = realloc(a->text, room);

		if (!more)
			return false;
		a->text = more;
		a->room = room;
	}
	memcpy(a->text + a->size, text, n);
	a->size += n;
	return true;
}

static bool append_text(struct gp__answer *a, const char *text)
{
	return append(a, text, strlen(text));
}

/* Takes over @json. @open: without its last bracket, so that more members can follow. */
static bool append_json(struct gp__answer *a, json_t *json, bool open)
{
	char *text = json_dumps(json, JSON_COMPACT);
	bool fits = text && append(a, text, strlen(text) - open);

	free(text);
	json_decref(json);
	return fits;
}

/* Takes over @json, whose members follow those that are written. */
static bool append_members(struct gp__answer *a, json_t *json)
{
	char *text = json_dumps(json, JSON_COMPACT);
	bool fits = text && append_text(a, ",") && append(a, text + 1, strlen(text) - 2);

	free(text);
	json_decref(json);
	return fits;
}

/*
 * Pieces
 */

static bool append_array(struct gp__answer *a, enum gp__piece_kind kind)
{
	static const char *const names[GP__PIECE_COUNT] = {
		[GP__PIECE_GROUPS] = ",\"groups\":[",
		[GP__PIECE_GPUS] = ",\"gpus\":[",
		[GP__PIECE_USERS] = ",\"users\":[",
		[GP__PIECE_PROCESSES] = ",\"processes\":[",
		[GP__PIECE_GPU_ROWS] = ",\"gpus\":[",
		[GP__PIECE_CLASS_ROWS] = ",\"classes\":[",
		[GP__PIECE_PROGRAM_ROWS] = ",\"programs\":[",
		[GP__PIECE_USER_ROWS] = ",\"users\":[",
	};
	bool follows = a->in_array;

	a->in_array = a->array_empty = true;
	return (!follows || append_text(a, "]")) && append_text(a, names[kind]);
}

static bool append_comma(struct gp__answer *a)
{
	bool first = a->array_empty;

	a->array_empty = false;
	return first || append_text(a, ",");
}

static json_t *ended_json(struct gp__server *s, struct gp__peer *p, u32 id)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &s->registry.ended)
	{
		const struct gp__ended *e = container_of(l, struct gp__ended, link);

		if (e->group == id)
			return gp__show_ended(s, p, e);
	}
	return NULL;
}

static json_t *gpu_json(struct gp__server *s, u32 id, bool row)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &s->registry.gpus)
	{
		const struct gp__gpu *g = container_of(l, struct gp__gpu, link);

		if (g->dev.id == id)
			return row ? gp__figures_gpu(g, s->now) : gp__show_gpu(s, g);
	}
	return NULL;
}

static json_t *user_json(struct gp__server *s, u32 id, bool row)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &s->registry.users)
	{
		const struct gp__user *u = container_of(l, struct gp__user, link);

		if (u->uid == id)
			return row ? gp__figures_user(u, s->now) : gp__show_user(s, u);
	}
	return NULL;
}

static json_t *class_json(struct gp__server *s, u32 id)
{
	const struct gp__class_account *c = gp__class_account_find(&s->registry, id);

	return c ? gp__figures_class(c, s->now) : NULL;
}

static json_t *program_json(struct gp__server *s, u32 id)
{
	const struct gp__account *a = gp__account_find(&s->registry, id);
	struct gp__peer *last = NULL;
	const struct gp__link *l;

	if (!a)
		return NULL;
	for (l = a->groups.next; l != &a->groups; l = l->next) {
		struct gp__peer *p = container_of(l, struct gp__group, of_account)->program->peer;

		if (p != last)
			gp__pages_read_alone(s, p);
		last = p;
	}
	return gp__figures_account(a, s->now);
}

/* Writes the head of a group. Its queues follow, if the client may see them. */
static bool append_group(struct gp__server *s, struct gp__peer *p, u32 id, bool history)
{
	struct gp__answer *a = p->answer;
	struct gp__group *g = gp__registry_find_group(&s->registry, id);

	if (!g)
		return true;
	gp__pages_read_alone(s, g->program->peer);
	if (!append_comma(a))
		return false;
	a->in_group = gp__may_see(p, g->program);
	a->last_queue = 0;
	return append_json(a, history ? gp__show_history(s, p, g) : gp__show_group(s, p, g),
			   a->in_group) &&
	       (!a->in_group || append_text(a, ",\"queues\":["));
}

/* The queue that comes after @last in the order of their numbers. NULL: there is none. */
static const struct gp__program_queue *next_queue(const struct gp__group *g, u32 last)
{
	const struct gp__program_queue *next = NULL;
	struct gp__link *l, *n;

	gp__list_each(l, n, &g->entity.queues)
	{
		const struct gp__program_queue *q =
			container_of(l, struct gp__program_queue, core.link);

		if (q->core.id > last && (!next || q->core.id < next->core.id))
			next = q;
	}
	return next;
}

static bool append_queues(struct gp__server *s, struct gp__answer *a)
{
	const struct gp__group *g = gp__registry_find_group(&s->registry, a->list.piece[a->at].id);

	for (u32 i = 0; i < QUEUES_A_PIECE; i++) {
		const struct gp__program_queue *q = g ? next_queue(g, a->last_queue) : NULL;

		if (!q) {
			a->in_group = false;
			return append_text(a, "]}");
		}
		if (a->last_queue && !append_text(a, ","))
			return false;
		a->last_queue = q->core.id;
		if (!append_json(a, gp__show_queue(q, s->now), false))
			return false;
	}
	return true;
}

static bool append_saved(const struct gp__server *s, struct gp__answer *a)
{
	json_t *o = json_object();
	const char *why;

	json_object_set_new(o, "saved", gp__switch_saved(s, &why));
	json_object_set_new(o, "unsaved_why", why ? json_string(why) : json_null());
	return append_members(a, o);
}

/* Members after an array. */
static bool end_array(struct gp__answer *a)
{
	bool open = a->in_array;

	a->in_array = false;
	return !open || append_text(a, "]");
}

/* Begins the list of processes and adds a piece for each. */
static bool append_processes(struct gp__server *s, struct gp__answer *a)
{
	const struct gp__holders *h = &s->holders;
	json_t *o = json_object();
	bool fits;

	json_object_set_new(o, "census", gp__show_census(s));
	if (!h->taken_at)
		json_object_set_new(o, "processes", json_null());
	fits = end_array(a) && append_members(a, o);
	if (!fits || !h->taken_at)
		return fits;
	gp__holders_judge(s);
	for (u32 i = 0; i < h->census.nr; i++) {
		if (h->role[i] != GP__HOLDER_HELPER)
			gp__pieces_add(&a->list, GP__PIECE_PROCESS, (u32)h->census.holder[i].pid);
	}
	return !a->list.failed && append_array(a, GP__PIECE_PROCESSES);
}

/* A piece that is gone leaves nothing. */
static bool append_one(struct gp__answer *a, json_t *json)
{
	return !json || (append_comma(a) && append_json(a, json, false));
}

/* An element that is written as a whole. */
static json_t *element_json(struct gp__server *s, struct gp__peer *p, const struct gp__piece *piece)
{
	switch (piece->kind) {
	case GP__PIECE_GPU:
	case GP__PIECE_GPU_ROW:
		return gpu_json(s, piece->id, piece->kind == GP__PIECE_GPU_ROW);
	case GP__PIECE_USER:
	case GP__PIECE_USER_ROW:
		return user_json(s, piece->id, piece->kind == GP__PIECE_USER_ROW);
	case GP__PIECE_CLASS_ROW:
		return class_json(s, piece->id);
	case GP__PIECE_PROGRAM_ROW:
		return program_json(s, piece->id);
	default:
		return ended_json(s, p, piece->id);
	}
}

static bool append_piece(struct gp__server *s, struct gp__peer *p)
{
	struct gp__answer *a = p->answer;
	const struct gp__piece *piece = &a->list.piece[a->at];
	bool fits;

	if (a->in_group) {
		fits = append_queues(s, a);
		a->at += !a->in_group;
		return fits;
	}
	switch (piece->kind) {
	case GP__PIECE_GROUPS:
	case GP__PIECE_GPUS:
	case GP__PIECE_USERS:
	case GP__PIECE_GPU_ROWS:
	case GP__PIECE_CLASS_ROWS:
	case GP__PIECE_PROGRAM_ROWS:
	case GP__PIECE_USER_ROWS:
		fits = append_array(a, piece->kind);
		break;
	case GP__PIECE_GROUP:
	case GP__PIECE_HISTORY:
		fits = append_group(s, p, piece->id, piece->kind == GP__PIECE_HISTORY);
		break;
	case GP__PIECE_SAVED:
		fits = append_saved(s, a);
		break;
	case GP__PIECE_PROCESSES:
	case GP__PIECE_KNOWN_PROCESSES:
		fits = append_processes(s, a);
		break;
	case GP__PIECE_PROCESS:
		fits = append_one(a, gp__show_holder(s, p, (pid_t)piece->id));
		break;
	default:
		fits = append_one(a, element_json(s, p, piece));
	}
	a->at += !a->in_group;
	return fits;
}

static bool append_end(struct gp__answer *a)
{
	a->ended = true;
	return append_text(a, a->in_array ? "]}" : "}");
}

/*
 * Steps
 */

/* Whether the next piece is not there yet. */
static bool waits(const struct gp__server *s, const struct gp__answer *a)
{
	if (a->at == a->list.nr || s->now >= a->patient_until)
		return false;
	switch (a->list.piece[a->at].kind) {
	case GP__PIECE_SAVED:
		return s->off.runs;
	case GP__PIECE_PROCESSES:
		return s->holders.asked_at;
	default:
		return false;
	}
}

/* Writes pieces until the message is large enough or the time is up. False: out of memory. */
static bool write_pieces(struct gp__server *s, struct gp__peer *p)
{
	struct gp__answer *a = p->answer;
	u64 end = gp__clock_ns() + STEP_NS;

	while (a->at < a->list.nr && a->size < MESSAGE_TEXT && !waits(s, a)) {
		if (!append_piece(s, p))
			return false;
		if (gp__clock_ns() >= end)
			break;
	}
	return a->at < a->list.nr || a->ended || append_end(a);
}

/* Sends what there is, as one message or several. */
static int send_text(struct gp__server *s, struct gp__peer *p)
{
	struct gp__text_message *m = &s->sent;
	struct gp__answer *a = p->answer;
	size_t sent = 0;
	int err = 0;

	while (sent < a->size && !err) {
		size_t n = a->size - sent < TEXT_ROOM ? a->size - sent : TEXT_ROOM;
		bool last = a->ended && sent + n == a->size;

		m->head = (struct gp__wire_head){ (u32)(sizeof(m->head) + n), GP__WIRE_TEXT,
						  last ? 0 : GP__WIRE_MORE, a->seq, 0 };
		memcpy(m->text, a->text + sent, n);
		err = gp__wire_send(p->socket.fd, m, NULL, 0);
		sent += err ? 0 : n;
	}
	memmove(a->text, a->text + sent, a->size - sent);
	a->size -= sent;
	return err;
}

/* Accounts for the text that waits for the client. False: it is too much. */
static bool account(struct gp__peer *p, size_t before)
{
	struct gp__user *u = p->user;

	u->unsent += p->answer->room;
	u->unsent -= before;
	if (p->admin || u->unsent <= GP__USER_UNSENT_MAX)
		return true;
	u->refused[GP__BUDGET_UNSENT]++;
	return false;
}

enum gp__answer_state gp__answer_step(struct gp__server *s, struct gp__peer *p)
{
	struct gp__answer *a = p->answer;
	size_t before = a->room;
	bool written = a->size >= MESSAGE_TEXT || a->ended || write_pieces(s, p);
	bool within = account(p, before);
	int err = 0;

	if (!written || !within) {
		gp__peer_drop(s, p,
			      within ? "out of memory for its answer"
				     : "its user does not read its answers");
		return GP__ANSWER_DONE;
	}
	if (a->size >= MESSAGE_TEXT || a->ended)
		err = send_text(s, p);
	if (err == -EAGAIN)
		return GP__ANSWER_BLOCKED;
	if (err) {
		gp__peer_drop(s, p, NULL);
		return GP__ANSWER_DONE;
	}
	if (waits(s, a)) {
		gp__list_push(&s->awaiting, &p->awaiting);
		return GP__ANSWER_WAITS;
	}
	if (!a->ended || a->size)
		return GP__ANSWER_GOES_ON;
	gp__answer_free(p);
	return GP__ANSWER_DONE;
}

void gp__answer_begin(struct gp__server *s, struct gp__peer *p, u32 seq, json_t *head,
		      struct gp__pieces *list)
{
	struct gp__answer *a = calloc(1, sizeof(*a));
	bool written;

	if (!a || !head || list->failed) {
		free(a);
		free(list->piece);
		json_decref(head);
		gp__peer_drop(s, p, "out of memory for its answer");
		return;
	}
	a->seq = seq;
	a->list = *list;
	a->patient_until = s->now + PATIENCE_NS;
	p->answer = a;
	written = append_json(a, head, true);
	p->user->unsent += a->room;
	if (!written)
		gp__peer_drop(s, p, "out of memory for its answer");
}

void gp__answers_go_on(struct gp__server *s)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &s->awaiting)
	{
		gp__list_del(l);
		gp__serve_later(s, container_of(l, struct gp__peer, awaiting), GP__LANE_MESSAGES);
	}
}

u64 gp__answers_wake(struct gp__server *s)
{
	u64 next = GP__NEVER;
	struct gp__link *l, *n;

	gp__list_each(l, n, &s->awaiting)
	{
		const struct gp__peer *p = container_of(l, struct gp__peer, awaiting);

		next = gp__min_u64(next, p->answer->patient_until);
	}
	if (next > s->now)
		return next;
	gp__answers_go_on(s);
	return s->now;
}

void gp__answer_free(struct gp__peer *p)
{
	struct gp__answer *a = p->answer;

	if (!a)
		return;
	p->user->unsent -= a->room;
	gp__list_del(&p->awaiting);
	free(a->list.piece);
	free(a->text);
	free(a);
	p->answer = NULL;
}
