/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Intrusive ordered tree: an AVL tree of distinct keys, and a ring of nodes at each key, first come
 * first served. Keys live in the node, so a search touches one cache line a level; with few
 * distinct keys (priorities) the tree is tiny and all but its rings stays in the cache.
 *
 * The order, and with it every decision, never depends on addresses. A node is in at most one tree.
 */
#ifndef GP__CORE_TREE_H
#define GP__CORE_TREE_H

#include "core/types.h"

struct gp__node {
	struct gp__node *parent, *left, *right; /* of the first in its ring only */
	struct gp__node *prev, *next; /* the ring */
	s64 key;
	u32 height; /* 0: in no tree; GP__IN_RING: behind the first of its ring */
};

#define GP__IN_RING (~(u32)0)

struct gp__tree {
	struct gp__node *root;
	struct gp__node *first; /* smallest key, first come */
	struct gp__node *last_ring; /* first come of the largest key */
	u32 count;
};

void gp__tree_insert(struct gp__tree *t, struct gp__node *n, s64 key);
void gp__tree_erase(struct gp__tree *t, struct gp__node *n);
struct gp__node *gp__tree_next(const struct gp__node *n);

/* Largest key, last come. */
static inline struct gp__node *gp__tree_last(const struct gp__tree *t)
{
	return t->last_ring ? t->last_ring->prev : NULL;
}

static inline bool gp__node_linked(const struct gp__node *n)
{
	return n->height != 0;
}

#endif
