/* SPDX-License-Identifier: Apache-2.0 */
/* tree.c - a treap: ordered by the caller's comparison from left to right, and by
 * weight from the root down.  Weights look random: the depth is logarithmic for every
 * order of inserts. */
#include "base/memory/tree.h"

#include <assert.h>

#include "base/memory/map.h"

/* Puts `new` (may be NULL) where `old` hangs below its parent. */
static void hang_node(struct tree *tree, struct tree_node *old, struct tree_node *new)
{
    struct tree_node *parent = old->parent;

    if (!parent)
        tree->root = new;
    else if (parent->left == old)
        parent->left = new;
    else
        parent->right = new;
    if (new)
        new->parent = parent;
}

/* Swaps the levels of `node` and its parent; the order stays as it is. */
static void rotate_up(struct tree *tree, struct tree_node *node)
{
    struct tree_node *parent = node->parent;
    struct tree_node *inner;

    hang_node(tree, parent, node);
    if (parent->left == node) {
        inner = node->right;
        parent->left = inner;
        node->right = parent;
    } else {
        inner = node->left;
        parent->right = inner;
        node->left = parent;
    }
    parent->parent = node;
    if (inner)
        inner->parent = parent;
}

/* As a leaf where the order wants it, then up to where its weight belongs.  An equal
 * key goes to the right: equal objects stay in the order of their inserts. */
void tree_add(struct tree *tree, struct tree_node *node)
{
    struct tree_node **at = &tree->root;
    struct tree_node *parent = NULL;

    while (*at) {
        parent = *at;
        at = tree->compare(node, parent) < 0 ? &parent->left : &parent->right;
    }
    /* Overwrites the node: objects need not prepare it. */
    *node =
        (struct tree_node){.parent = parent, .weight = hash_number(++tree->inserted)};
    *at = node;
    tree->count++;

    while (node->parent && node->parent->weight < node->weight)
        rotate_up(tree, node);
}

void tree_remove(struct tree *tree, struct tree_node *node)
{
    /* A node that is in no tree would otherwise cut off the root. */
    assert(tree->count > 0 && (node->parent || tree->root == node));
    /* Sinks below its heavier child, which keeps the weights in order, until at most
     * one child is left to take its place. */
    while (node->left && node->right)
        rotate_up(tree,
                  node->left->weight > node->right->weight ? node->left : node->right);
    hang_node(tree, node, node->left ? node->left : node->right);
    /* The assertion above then catches a second removal. */
    *node = (struct tree_node){0};
    tree->count--;
}

static struct tree_node *leftmost_of(struct tree_node *node)
{
    while (node && node->left)
        node = node->left;
    return node;
}

static struct tree_node *rightmost_of(struct tree_node *node)
{
    while (node && node->right)
        node = node->right;
    return node;
}

struct tree_node *tree_find(const struct tree *tree, const void *key,
                            tree_key_fn *compare)
{
    struct tree_node *node = tree->root;

    while (node) {
        int order = compare(key, node);

        if (order == 0)
            return node;
        node = order < 0 ? node->left : node->right;
    }
    return NULL;
}

struct tree_node *tree_first(const struct tree *tree)
{
    return leftmost_of(tree->root);
}

struct tree_node *tree_last(const struct tree *tree)
{
    return rightmost_of(tree->root);
}

/* Without a right side the next node is the first ancestor that has this one on its
 * left; parents make that possible without a stack. */
struct tree_node *tree_next(const struct tree_node *node)
{
    if (node->right)
        return leftmost_of(node->right);
    while (node->parent && node->parent->right == node)
        node = node->parent;
    return node->parent;
}

struct tree_node *tree_prev(const struct tree_node *node)
{
    if (node->left)
        return rightmost_of(node->left);
    while (node->parent && node->parent->left == node)
        node = node->parent;
    return node->parent;
}
