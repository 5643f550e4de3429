// SPDX-License-Identifier: MIT
/* The ordered tree against a sorted array, with random insertions and removals. */
#include "../unit/test.h"

#include <stdlib.h>

#include "core/tree.h"

#define NODES 300
#define STEPS 20000

static struct gp__node node[NODES];
static struct gp__node *sorted[NODES];
static u32 nr_sorted;
static struct gp__tree tree;

static u64 draw(u64 *rng, u64 n)
{
	u64 z = (*rng += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return (z ^ (z >> 31)) % n;
}

static void array_insert(struct gp__node *n)
{
	u32 i = nr_sorted++;

	for (; i && n->key < sorted[i - 1]->key; i--)
		sorted[i] = sorted[i - 1];
	sorted[i] = n;
}

static void array_erase(const struct gp__node *n)
{
	u32 i = 0;

	while (sorted[i] != n)
		i++;
	for (nr_sorted--; i < nr_sorted; i++)
		sorted[i] = sorted[i + 1];
}

/* Its height; checks links, heights and balance on the way. */
static u32 check_node(const struct gp__node *n, const struct gp__node *parent)
{
	u32 l, r;

	if (!n)
		return 0;
	assert_ptr_equal(n->parent, parent);
	l = check_node(n->left, n);
	r = check_node(n->right, n);
	assert_true(l <= r + 1 && r <= l + 1);
	assert_int_equal(n->height, 1 + (l > r ? l : r));
	return n->height;
}

static void check_tree(void)
{
	const struct gp__node *n = tree.first;
	u32 i;

	check_node(tree.root, NULL);
	assert_int_equal(tree.count, nr_sorted);
	assert_ptr_equal(tree.first, nr_sorted ? sorted[0] : NULL);
	assert_ptr_equal(gp__tree_last(&tree), nr_sorted ? sorted[nr_sorted - 1] : NULL);
	for (i = 0; i < nr_sorted; i++) {
		assert_ptr_equal(n, sorted[i]);
		n = gp__tree_next(n);
	}
	assert_null(n);
}

static void flip(u32 i, s64 key)
{
	if (gp__node_linked(&node[i])) {
		array_erase(&node[i]);
		gp__tree_erase(&tree, &node[i]);
		assert_false(gp__node_linked(&node[i]));
	} else {
		gp__tree_insert(&tree, &node[i], key);
		array_insert(&node[i]);
	}
}

static void test_random_insertions_and_removals(void **state)
{
	u64 rng = 1;
	u32 i;

	(void)state;
	for (i = 0; i < STEPS; i++) {
		/* Few keys at first, so that many are equal; later the whole range. */
		u64 span = i < STEPS / 2 ? 8 : ~(u64)0;

		flip((u32)draw(&rng, NODES), (s64)draw(&rng, span));
		check_tree();
	}
	for (i = 0; i < NODES; i++) {
		if (gp__node_linked(&node[i]))
			flip(i, 0);
		check_tree();
	}
}

static void test_in_order_and_in_reverse(void **state)
{
	u32 i;

	(void)state;
	for (i = 0; i < NODES; i++) {
		flip(i, i);
		check_tree();
	}
	/* 1.44 log2(300) */
	assert_true(tree.root->height <= 11);
	for (i = NODES; i--;) {
		flip(i, 0);
		check_tree();
	}
	for (i = 0; i < NODES; i++)
		flip(i, -(s64)i);
	check_tree();
	while (tree.first) {
		flip((u32)(tree.first - node), 0);
		check_tree();
	}
}

static void test_equal_keys_are_served_in_turn(void **state)
{
	(void)state;
	flip(2, INT64_MAX);
	flip(0, INT64_MAX);
	flip(1, INT64_MAX);
	flip(3, INT64_MIN);
	assert_ptr_equal(tree.first, &node[3]);
	assert_ptr_equal(gp__tree_next(&node[3]), &node[2]);
	assert_ptr_equal(gp__tree_next(&node[2]), &node[0]);
	assert_ptr_equal(gp__tree_last(&tree), &node[1]);
	/* The first of several goes; the second stands where it stood. */
	flip(2, 0);
	assert_ptr_equal(gp__tree_next(&node[3]), &node[0]);
	check_tree();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_insertions_and_removals),
		cmocka_unit_test(test_in_order_and_in_reverse),
		cmocka_unit_test(test_equal_keys_are_served_in_turn),
	};

	return cmocka_run_group_tests_name("core tree", tests, NULL, NULL);
}
