/* SPDX-License-Identifier: Apache-2.0 */
/* io_disk.h - the disk under the memory file system; it knows what a loss of power
 * would leave.  Only for io_*.c.
 *
 * Everything exists twice: as programs see it (NOW) and as it would be found after a
 * crash (DURABLE).
 *
 *   bytes   node_sync() copies changed bytes of a file to its durable ones.
 *   names   a node (file or directory) has at most one place NOW and at most one
 *           place DURABLE: a directory and a name in it.  disk_sync(D) *settles* every
 *           node that has a place in D in either world: its durable place becomes its
 *           present one.
 *
 * Settling a node as a whole makes renames atomic, as on a file system with a journal:
 * after a crash a renamed file has its old name or its new one, never both or none.
 * Two rules keep the durable world a tree:
 *
 *   1. a node whose durable place is taken by another is settled too;
 *   2. so are the moved directories above it, since otherwise two directories moved
 *      into one another in turn could end up each below the other.
 *
 * A crash makes NOW what DURABLE was, and drops nodes that are not below the root.
 * There are no links.  Functions that fail return an errno value, the one that the
 * kernel would choose.  Threading: the caller's lock. */
#ifndef BASE_IO_IO_DISK_H
#define BASE_IO_IO_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/io/io.h"
#include "base/memory/tree.h"

enum world { NOW, DURABLE, WORLDS };

struct node;

struct place {
    struct tree_node at; /* among the names of `directory` */
    struct node *owner;
    struct node *directory; /* NULL: it has no place */
    char *name;             /* owned, by both places of a node if they share it */
};

struct bytes {
    unsigned char *data;
    size_t len;
    size_t cap;
};

struct node {
    enum io_kind kind;
    uint32_t mode;
    int64_t modified; /* the disk's count of changes at its last one */
    struct place place[WORLDS];
    struct tree names[WORLDS];  /* of a directory */
    struct bytes bytes[WORLDS]; /* of a file */
    size_t dirty_from;          /* where the two may differ */
    size_t dirty_to;
    uint32_t open_count; /* kept by the file system: an open file outlives its name */
    uint32_t map_count;  /* likewise; a mapped file's bytes stay where they are */
    const void *locked_by;
    uint32_t shared_locks; /* number of shared holders; then nobody holds it alone */
    struct node *prev;     /* all nodes but the root */
    struct node *next;
};

struct disk {
    struct node *root;
    struct node *nodes;
    int64_t changes; /* used as the time: simulations repeat */
};

/* ENOMEM or 0. */
int disk_init(struct disk *disk);
void disk_done(struct disk *disk);

/* A part of a path: borrows. */
struct word {
    const char *text;
    size_t len;
};

/* Paths start at the root, with or without a slash.  NULL with *ret_code set. */
struct node *disk_walk(const struct disk *disk, const char *path, int *ret_code);
/* Everything but the last word, which is left in *ret_last (empty: the root). */
struct node *disk_walk_to_parent(const struct disk *disk, const char *path,
                                 struct word *ret_last, int *ret_code);
/* One step down ("..": up, ".": stays); NULL with *ret_code set. */
struct node *disk_step(const struct disk *disk, struct node *from, struct word word,
                       int *ret_code);
/* A new node in `directory`; NULL when out of memory. */
struct node *disk_make(struct disk *disk, struct node *directory, struct word word,
                       enum io_kind kind, uint32_t mode);
int disk_make_directories(struct disk *disk, const char *path, uint32_t last_mode);
int disk_rename(struct disk *disk, const char *from, const char *to);
/* Removes a file or an empty directory. */
void disk_remove(struct disk *disk, struct node *node);
void disk_remove_tree(struct disk *disk, struct node *top);
/* Frees the node if it has no place and nobody has it open or mapped. */
void disk_reap(struct disk *disk, struct node *node);
void disk_sync(struct disk *disk, struct node *directory);
/* Every name and every byte.  False: out of memory, a part may be durable. */
bool disk_sync_all(struct disk *disk);
/* Also forgets open files and locks. */
void disk_crash(struct disk *disk);
/* All bytes of files that have a name or are open. */
uint64_t disk_used_bytes(const struct disk *disk);

/* The names in a directory, in order: NULL after the last. */
const struct place *node_first_name(const struct node *directory);
const struct place *node_next_name(const struct place *place);

/* False when out of memory, or when its bytes are mapped and would have to move; then
 * the node is as it was. */
bool node_resize(struct disk *disk, struct node *node, size_t len);
bool node_sync(struct node *node);
/* The node is mapped: any of its bytes may have changed. */
void node_touched(struct node *node);
/* Changes existing bytes. */
void node_overwrite(struct disk *disk, struct node *node, size_t offset,
                    const void *bytes, size_t len);

#endif
