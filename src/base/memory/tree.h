/* SPDX-License-Identifier: Apache-2.0 */
/* tree.h - an ordered set of objects.  It is intrusive: the node lives inside the
 * object, and adding cannot fail.
 *
 * A treap whose priorities are hashes of an insertion counter kept in the tree: O(log
 * n) for everything, and the same inserts give the same shape on every machine.  The
 * caller gives the order; objects that compare equal stay in the order of their
 * inserts. */
#ifndef BASE_MEMORY_TREE_H
#define BASE_MEMORY_TREE_H

#include <stddef.h>
#include <stdint.h>

struct tree_node {
    struct tree_node *parent;
    struct tree_node *left;
    struct tree_node *right;
    uint64_t weight;
};

/* Negative: a comes before b. */
typedef int tree_compare_fn(const struct tree_node *a, const struct tree_node *b);
/* Negative: the key comes before the node; 0: this is the node. */
typedef int tree_key_fn(const void *key, const struct tree_node *node);

struct tree {
    struct tree_node *root;
    tree_compare_fn *compare;
    size_t count;
    uint64_t inserted;
};

#define TREE_INIT(compare_fn)                                                          \
    {                                                                                  \
        .compare = (compare_fn)                                                        \
    }

void tree_add(struct tree *tree, struct tree_node *node);
void tree_remove(struct tree *tree, struct tree_node *node);
/* The node of that key, or NULL; `compare` follows the tree's order. */
struct tree_node *tree_find(const struct tree *tree, const void *key,
                            tree_key_fn *compare);
struct tree_node *tree_first(const struct tree *tree); /* NULL: empty */
struct tree_node *tree_last(const struct tree *tree);
struct tree_node *tree_next(const struct tree_node *node); /* NULL: it was the last */
struct tree_node *tree_prev(const struct tree_node *node);

#endif
