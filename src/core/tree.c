// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "core/tree.h"

static u32 height(const struct gp__node *n)
{
	return n ? n->height : 0;
}

static void set_height(struct gp__node *n)
{
	u32 l = height(n->left), r = height(n->right);

	n->height = 1 + (l > r ? l : r);
}

/* Puts @new, which may be NULL, where @old hangs. */
static void replace(struct gp__tree *t, struct gp__node *old, struct gp__node *new)
{
	struct gp__node *p = old->parent;

	if (!p)
		t->root = new;
	else if (p->left == old)
		p->left = new;
	else
		p->right = new;
	if (new)
		new->parent = p;
}

static struct gp__node *rotate_left(struct gp__tree *t, struct gp__node *n)
{
	struct gp__node *r = n->right;

	replace(t, n, r);
	n->right = r->left;
	if (n->right)
		n->right->parent = n;
	r->left = n;
	n->parent = r;
	set_height(n);
	set_height(r);
	return r;
}

static struct gp__node *rotate_right(struct gp__tree *t, struct gp__node *n)
{
	struct gp__node *l = n->left;

	replace(t, n, l);
	n->left = l->right;
	if (n->left)
		n->left->parent = n;
	l->right = n;
	n->parent = l;
	set_height(n);
	set_height(l);
	return l;
}

static struct gp__node *balance(struct gp__tree *t, struct gp__node *n)
{
	u32 l = height(n->left), r = height(n->right);

	if (l > r + 1) {
		if (height(n->left->left) < height(n->left->right))
			rotate_left(t, n->left);
		return rotate_right(t, n);
	}
	if (r > l + 1) {
		if (height(n->right->right) < height(n->right->left))
			rotate_right(t, n->right);
		return rotate_left(t, n);
	}
	set_height(n);
	return n;
}

/* Restores the balance from @n upwards; stops where a subtree kept its height. */
static void rebalance(struct gp__tree *t, struct gp__node *n)
{
	while (n) {
		u32 old = n->height;

		n = balance(t, n);
		if (n->height == old)
			return;
		n = n->parent;
	}
}

static void ring_append(struct gp__node *first, struct gp__node *n)
{
	n->prev = first->prev;
	n->next = first;
	first->prev->next = n;
	first->prev = n;
	n->height = GP__IN_RING;
}

void gp__tree_insert(struct gp__tree *t, struct gp__node *n, s64 key)
{
	struct gp__node **link = &t->root, *p = NULL;
	bool is_first = true, is_last = true;

	t->count++;
	n->key = key;
	while (*link) {
		p = *link;
		if (key == p->key) {
			ring_append(p, n);
			return;
		}
		if (key < p->key) {
			link = &p->left;
			is_last = false;
		} else {
			link = &p->right;
			is_first = false;
		}
	}
	n->parent = p;
	n->left = n->right = NULL;
	n->prev = n->next = n;
	n->height = 1;
	*link = n;
	if (is_first)
		t->first = n;
	if (is_last)
		t->last_ring = n;
	rebalance(t, p);
}

/* The next larger key's ring. */
static struct gp__node *ring_after(const struct gp__node *n)
{
	if (n->right) {
		n = n->right;
		while (n->left)
			n = n->left;
		return (struct gp__node *)n;
	}
	while (n->parent && n->parent->right == n)
		n = n->parent;
	return n->parent;
}

static struct gp__node *ring_before(const struct gp__node *n)
{
	if (n->left) {
		n = n->left;
		while (n->right)
			n = n->right;
		return (struct gp__node *)n;
	}
	while (n->parent && n->parent->left == n)
		n = n->parent;
	return n->parent;
}

struct gp__node *gp__tree_next(const struct gp__node *n)
{
	/* Behind the last of a ring comes its first again. */
	return n->next->height == GP__IN_RING ? n->next : ring_after(n->next);
}

/* The second of the ring takes the place of the first. */
static void promote_second(struct gp__tree *t, struct gp__node *n)
{
	struct gp__node *s = n->next;

	s->left = n->left;
	s->right = n->right;
	s->height = n->height;
	replace(t, n, s);
	s->parent = n->parent;
	if (s->left)
		s->left->parent = s;
	if (s->right)
		s->right->parent = s;
	if (t->first == n)
		t->first = s;
	if (t->last_ring == n)
		t->last_ring = s;
}

/* @n has two children: its successor takes its place. Returns where the heights may be wrong. */
static struct gp__node *erase_inner(struct gp__tree *t, struct gp__node *n)
{
	struct gp__node *s = n->right, *dirty;

	while (s->left)
		s = s->left;
	dirty = s;
	if (s != n->right) {
		dirty = s->parent;
		replace(t, s, s->right);
		s->right = n->right;
		s->right->parent = s;
	}
	s->left = n->left;
	s->left->parent = s;
	replace(t, n, s);
	s->height = n->height;
	return dirty;
}

/* @n is alone at its key. */
static void erase_ring(struct gp__tree *t, struct gp__node *n)
{
	struct gp__node *dirty;

	if (t->first == n)
		t->first = ring_after(n);
	if (t->last_ring == n)
		t->last_ring = ring_before(n);
	if (n->left && n->right) {
		dirty = erase_inner(t, n);
	} else {
		dirty = n->parent;
		replace(t, n, n->left ? n->left : n->right);
	}
	rebalance(t, dirty);
}

void gp__tree_erase(struct gp__tree *t, struct gp__node *n)
{
	if (n->next == n) {
		erase_ring(t, n);
	} else {
		if (n->height != GP__IN_RING)
			promote_second(t, n);
		n->prev->next = n->next;
		n->next->prev = n->prev;
	}
	n->height = 0;
	t->count--;
}
