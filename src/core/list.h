/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Intrusive circular list: a head is a link whose neighbours are itself when the list is empty, and
 * so is a link that is on no list. Removing an unlinked link is therefore harmless.
 */
#ifndef GP__CORE_LIST_H
#define GP__CORE_LIST_H

#include "core/types.h"

struct gp__link {
	struct gp__link *prev, *next;
};

static inline void gp__list_init(struct gp__link *l)
{
	l->prev = l->next = l;
}

static inline bool gp__list_empty(const struct gp__link *l)
{
	return l->next == l;
}

static inline void gp__list_push(struct gp__link *head, struct gp__link *l)
{
	l->prev = head->prev;
	l->next = head;
	head->prev->next = l;
	head->prev = l;
}

static inline void gp__list_del(struct gp__link *l)
{
	l->prev->next = l->next;
	l->next->prev = l->prev;
	gp__list_init(l);
}

/* The element may be unlinked inside the loop; its successor may not. */
#define gp__list_each(pos, n, head)                                    \
	for ((pos) = (head)->next, (n) = (pos)->next; (pos) != (head); \
	     (pos) = (n), (n) = (pos)->next)

#endif
