/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory/tree.h"

#include "base/compiler.h"
#include "base/rng.h"
#include "tests/support/test.h"

enum { ITEMS = 200 };

struct item {
    int64_t key;
    int order; /* among equal keys */
    struct tree_node node;
};

static struct item *item_at(const struct tree_node *node)
{
    return node ? CONTAINER_OF(node, struct item, node) : NULL;
}

static int compare(const struct tree_node *a, const struct tree_node *b)
{
    return (item_at(a)->key > item_at(b)->key) - (item_at(a)->key < item_at(b)->key);
}

static int compare_key(const void *key, const struct tree_node *node)
{
    int64_t wanted = *(const int64_t *)key;

    return (wanted > item_at(node)->key) - (wanted < item_at(node)->key);
}

/* The oracle: a sorted array. */
struct naive {
    struct item *at[ITEMS];
    size_t count;
};

static void naive_add(struct naive *naive, struct item *item)
{
    size_t i = naive->count++;

    for (; i > 0 && naive->at[i - 1]->key > item->key; i--)
        naive->at[i] = naive->at[i - 1];
    naive->at[i] = item;
}

static void naive_remove(struct naive *naive, const struct item *item)
{
    size_t i = 0;

    while (naive->at[i] != item)
        i++;
    for (naive->count--; i < naive->count; i++)
        naive->at[i] = naive->at[i + 1];
}

static void check_same(const struct tree *tree, const struct naive *naive)
{
    const struct tree_node *up = tree_first(tree);
    const struct tree_node *down = tree_last(tree);

    CHECK_EQ(tree->count, naive->count);
    for (size_t i = 0; i < naive->count; i++) {
        CHECK(item_at(up) == naive->at[i]);
        CHECK(item_at(down) == naive->at[naive->count - 1 - i]);
        up = tree_next(up);
        down = tree_prev(down);
    }
    CHECK_NULL(up);
    CHECK_NULL(down);
}

static size_t depth(const struct tree_node *node)
{
    return node ? 1 + MAX(depth(node->left), depth(node->right)) : 0;
}

TEST(an_empty_tree_has_no_first_and_no_last)
{
    struct tree tree = TREE_INIT(compare);
    int64_t key = 3;

    CHECK_NULL(tree_first(&tree));
    CHECK_NULL(tree_last(&tree));
    CHECK_NULL(tree_find(&tree, &key, compare_key));
}

TEST(a_tree_agrees_with_a_sorted_array_under_random_changes)
{
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct tree tree = TREE_INIT(compare);
        struct rng64 rng = {seed};
        struct naive naive = {.count = 0};
        struct item items[ITEMS] = {0};
        bool is_in[ITEMS] = {0};

        for (int step = 0; step < 2000; step++) {
            size_t i = rng64_below(&rng, ITEMS);

            if (is_in[i]) {
                tree_remove(&tree, &items[i].node);
                naive_remove(&naive, &items[i]);
            } else {
                /* Few keys, so that many are equal. */
                items[i].key = (int64_t)rng64_below(&rng, ITEMS / 4);
                tree_add(&tree, &items[i].node);
                naive_add(&naive, &items[i]);
            }
            is_in[i] = !is_in[i];
            if (step % 50 == 0)
                check_same(&tree, &naive);
        }
        check_same(&tree, &naive);
    }
}

TEST(a_key_is_found_where_the_order_puts_it)
{
    struct tree tree = TREE_INIT(compare);
    struct item items[ITEMS];

    for (int i = 0; i < ITEMS; i++) {
        items[i].key = i * 2;
        tree_add(&tree, &items[i].node);
    }
    for (int64_t key = 0; key < ITEMS * 2; key++) {
        const struct tree_node *found = tree_find(&tree, &key, compare_key);

        CHECK(item_at(found) == (key % 2 ? NULL : &items[key / 2]));
    }
}

TEST(a_tree_stays_shallow_when_items_come_in_order)
{
    struct tree tree = TREE_INIT(compare);
    static struct item items[20000];

    for (size_t i = 0; i < ARRAY_LEN(items); i++) {
        items[i].key = (int64_t)i;
        tree_add(&tree, &items[i].node);
    }
    CHECK(depth(tree.root) < 60);
}

TEST(the_same_inserts_give_the_same_shape)
{
    struct tree one = TREE_INIT(compare);
    struct tree two = TREE_INIT(compare);
    struct item a[ITEMS], b[ITEMS];

    for (int i = 0; i < ITEMS; i++) {
        a[i].key = b[i].key = (i * 7919) % ITEMS;
        tree_add(&one, &a[i].node);
        tree_add(&two, &b[i].node);
    }
    for (int i = 0; i < ITEMS; i++) {
        struct item *parent_a = item_at(a[i].node.parent);
        struct item *parent_b = item_at(b[i].node.parent);

        CHECK_EQ(parent_a ? parent_a - a : -1, parent_b ? parent_b - b : -1);
    }
}
