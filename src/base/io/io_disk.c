/* SPDX-License-Identifier: Apache-2.0 */
#include "base/io/io_disk.h"

#include <errno.h>
#include <string.h>

#include "base/memory/mem.h"

/* ---- names ---- */

static const char *name_at(const struct tree_node *at)
{
    return CONTAINER_OF(at, const struct place, at)->name;
}

static int compare_places(const struct tree_node *a, const struct tree_node *b)
{
    return strcmp(name_at(a), name_at(b));
}

/* Compares with a part of a path, which does not end in NUL. */
static int compare_word(const void *key, const struct tree_node *at)
{
    const struct word *word = key;
    const char *name = name_at(at);
    int order = strncmp(word->text, name, word->len);

    return order ? order : -(name[word->len] != '\0');
}

static struct node *node_at(const struct tree_node *at)
{
    return at ? CONTAINER_OF(at, const struct place, at)->owner : NULL;
}

static struct node *child_named(const struct node *directory, enum world world,
                                struct word word)
{
    return node_at(tree_find(&directory->names[world], &word, compare_word));
}

static struct node *first_child(const struct node *directory, enum world world)
{
    return node_at(tree_first(&directory->names[world]));
}

static void hang_node(struct node *node, enum world world, struct node *directory,
                      char *name)
{
    struct place *place = &node->place[world];

    place->owner = node;
    place->directory = directory;
    place->name = name;
    tree_add(&directory->names[world], &place->at);
}

static void unhang_node(struct node *node, enum world world)
{
    struct place *place = &node->place[world];
    /* A settled node has one name in both places; the last place frees it. */
    const char *other = node->place[!world].name;

    if (!place->directory)
        return;
    tree_remove(&place->directory->names[world], &place->at);
    if (place->name != other)
        mem_free(place->name);
    *place = (struct place){0};
}

const struct place *node_first_name(const struct node *directory)
{
    const struct tree_node *at = tree_first(&directory->names[NOW]);

    return at ? CONTAINER_OF(at, const struct place, at) : NULL;
}

const struct place *node_next_name(const struct place *place)
{
    const struct tree_node *at = tree_next(&place->at);

    return at ? CONTAINER_OF(at, const struct place, at) : NULL;
}

/* ---- nodes ---- */

static struct node *node_new(struct disk *disk, enum io_kind kind, uint32_t mode)
{
    struct node *node = mem_new(struct node);

    if (!node)
        return NULL;
    node->kind = kind;
    node->mode = mode;
    node->modified = ++disk->changes;
    node->names[NOW] = node->names[DURABLE] = (struct tree)TREE_INIT(compare_places);
    return node;
}

static void node_free(struct node *node)
{
    mem_free(node->bytes[NOW].data);
    mem_free(node->bytes[DURABLE].data);
    mem_free(node);
}

/* All nodes are in one list: a crash also finds those that are in no directory. */
static void node_link(struct disk *disk, struct node *node)
{
    node->next = disk->nodes;
    if (disk->nodes)
        disk->nodes->prev = node;
    disk->nodes = node;
}

static void node_drop(struct disk *disk, struct node *node)
{
    if (node->prev)
        node->prev->next = node->next;
    else
        disk->nodes = node->next;
    if (node->next)
        node->next->prev = node->prev;
    node_free(node);
}

int disk_init(struct disk *disk)
{
    *disk = (struct disk){0};
    disk->root = node_new(disk, IO_DIRECTORY, 0755);
    return disk->root ? 0 : ENOMEM;
}

/* All names first, while the directories that hold them still exist. */
void disk_done(struct disk *disk)
{
    for (struct node *node = disk->nodes; node; node = node->next) {
        unhang_node(node, NOW);
        unhang_node(node, DURABLE);
    }
    while (disk->nodes)
        node_drop(disk, disk->nodes);
    if (disk->root)
        node_free(disk->root);
    disk->root = NULL;
}

/* ---- durability ---- */

static void settle_node(struct disk *disk, struct node *node);

/* Nodes that are still durable in a directory that goes have moved away or were
 * removed; settling finds out which. */
void disk_reap(struct disk *disk, struct node *node)
{
    struct node *inside;

    if (node == disk->root || node->open_count > 0 || node->map_count > 0 ||
        node->place[NOW].directory || node->place[DURABLE].directory)
        return;
    while ((inside = first_child(node, DURABLE)) != NULL)
        settle_node(disk, inside);
    node_drop(disk, node);
}

/* Names are compared as pointers: a settled node's two places share one. */
static bool is_settled(const struct node *node)
{
    return node->place[NOW].directory == node->place[DURABLE].directory &&
           node->place[NOW].name == node->place[DURABLE].name;
}

/* Rule 2: moved directories above `node` become durable where they are now; new ones
 * stay lost until their own parent is synced.  Settling the first such directory
 * settles those above it. */
static void settle_above(struct disk *disk, const struct node *node)
{
    struct node *above = node->place[NOW].directory;

    while (above && (!above->place[DURABLE].directory || is_settled(above)))
        above = above->place[NOW].directory;
    if (above)
        settle_node(disk, above);
}

static void settle_node(struct disk *disk, struct node *node)
{
    const struct place *now = &node->place[NOW];
    struct node *rival;

    if (now->directory && is_settled(node))
        return;
    /* Out of the old place first: it may be the rival's new one. */
    unhang_node(node, DURABLE);
    if (!now->directory) {
        disk_reap(disk, node);
        return;
    }
    rival = child_named(now->directory, DURABLE,
                        (struct word){now->name, strlen(now->name)});
    if (rival)
        unhang_node(rival, DURABLE);
    hang_node(node, DURABLE, now->directory, now->name);
    if (node->kind == IO_DIRECTORY)
        settle_above(disk, node);
    /* The recursion ends: a settled node has the same place in both worlds, so it is
     * never a rival. */
    if (rival)
        settle_node(disk, rival);
}

void disk_sync(struct disk *disk, struct node *directory)
{
    const struct tree *durable = &directory->names[DURABLE];
    struct tree_node *kept = NULL;
    struct tree_node *at;

    for (at = tree_first(&directory->names[NOW]); at; at = tree_next(at))
        settle_node(disk, node_at(at));
    /* The others in the durable directory are gone or have moved away.  Settling one
     * may take further ones out of it, but never one that belongs there. */
    while ((at = kept ? tree_next(kept) : tree_first(durable)) != NULL) {
        if (node_at(at)->place[NOW].directory == directory)
            kept = at;
        else
            settle_node(disk, node_at(at));
    }
}

/* Settling removes nodes that have no name NOW; these are not met here. */
static bool sync_below(struct disk *disk, struct node *directory)
{
    const struct place *at = node_first_name(directory);
    bool is_whole = true;

    disk_sync(disk, directory);
    for (; at && is_whole; at = node_next_name(at))
        is_whole = at->owner->kind == IO_DIRECTORY ? sync_below(disk, at->owner)
                                                   : node_sync(at->owner);
    return is_whole;
}

bool disk_sync_all(struct disk *disk)
{
    return sync_below(disk, disk->root);
}

/* Ends, since the durable world is a tree (rules 1 and 2). */
static bool node_survives(const struct disk *disk, const struct node *node)
{
    while (node && node != disk->root)
        node = node->place[DURABLE].directory;
    return node != NULL;
}

static void node_revert(struct node *node)
{
    struct bytes *now = &node->bytes[NOW];
    const struct bytes *kept = &node->bytes[DURABLE];

    /* There is room: the synced bytes were there once, and a node never gives up
     * room. */
    now->len = kept->len;
    if (kept->len)
        memcpy(now->data, kept->data, kept->len);
    node->dirty_from = node->dirty_to = 0;
}

/* In passes over all nodes: the place of one says nothing about the others until all
 * have left the world of NOW. */
void disk_crash(struct disk *disk)
{
    struct node *next;

    for (struct node *node = disk->nodes; node; node = node->next) {
        node->open_count = 0;
        node->locked_by = NULL;
        node->shared_locks = 0;
        unhang_node(node, NOW);
    }
    for (struct node *node = disk->nodes; node; node = node->next)
        if (node_survives(disk, node)) {
            hang_node(node, NOW, node->place[DURABLE].directory,
                      node->place[DURABLE].name);
            node_revert(node);
        }
    /* The lost ones leave together: one may be inside another. */
    for (struct node *node = disk->nodes; node; node = node->next)
        if (!node->place[NOW].directory)
            unhang_node(node, DURABLE);
    for (struct node *node = disk->nodes; node; node = next) {
        next = node->next;
        /* A map of a dead file still points at its bytes; the last unmap frees them. */
        if (!node->place[NOW].directory && !node->map_count)
            node_drop(disk, node);
    }
}

/* ---- paths ---- */

static bool next_word(const char **path, struct word *ret_word)
{
    while (**path == '/')
        ++*path;
    ret_word->text = *path;
    ret_word->len = strcspn(*path, "/");
    *path += ret_word->len;
    return ret_word->len > 0;
}

static bool word_is(struct word word, const char *text)
{
    return strlen(text) == word.len && memcmp(word.text, text, word.len) == 0;
}

struct node *disk_step(const struct disk *disk, struct node *from, struct word word,
                       int *ret_code)
{
    struct node *found;

    if (from->kind != IO_DIRECTORY) {
        *ret_code = ENOTDIR;
        return NULL;
    }
    /* As the kernel walks: the root is its own parent. */
    if (word_is(word, "."))
        return from;
    if (word_is(word, ".."))
        return from == disk->root ? from : from->place[NOW].directory;
    found = child_named(from, NOW, word);
    if (!found)
        *ret_code = ENOENT;
    return found;
}

struct node *disk_walk(const struct disk *disk, const char *path, int *ret_code)
{
    struct node *node = disk->root;
    struct word word;

    if (!*path) {
        *ret_code = ENOENT;
        return NULL;
    }
    while (node && next_word(&path, &word))
        node = disk_step(disk, node, word, ret_code);
    return node;
}

struct node *disk_walk_to_parent(const struct disk *disk, const char *path,
                                 struct word *ret_last, int *ret_code)
{
    struct node *node = disk->root;
    struct word ahead;

    if (!*path) {
        *ret_code = ENOENT;
        return NULL;
    }
    if (!next_word(&path, ret_last))
        return node;
    while (node && next_word(&path, &ahead)) {
        node = disk_step(disk, node, *ret_last, ret_code);
        *ret_last = ahead;
    }
    if (node && node->kind != IO_DIRECTORY) {
        *ret_code = ENOTDIR;
        return NULL;
    }
    return node;
}

/* ---- names that change ---- */

/* Not durable: that takes a sync of `directory`.  The node is linked last: nothing must
 * be undone when memory is out. */
struct node *disk_make(struct disk *disk, struct node *directory, struct word word,
                       enum io_kind kind, uint32_t mode)
{
    char *name = mem_strndup(word.text, word.len);
    struct node *node = name ? node_new(disk, kind, mode) : NULL;

    if (!node) {
        mem_free(name);
        return NULL;
    }
    node_link(disk, node);
    hang_node(node, NOW, directory, name);
    directory->modified = disk->changes;
    return node;
}

/* Directories made before a failure stay, as in the machine's file system. */
int disk_make_directories(struct disk *disk, const char *path, uint32_t last_mode)
{
    struct node *node = disk->root;
    struct node *made = NULL;
    struct word word;
    int code = *path ? 0 : ENOENT;

    while (!code && next_word(&path, &word)) {
        struct node *below = disk_step(disk, node, word, &code);

        if (code == ENOENT) {
            below = made = disk_make(disk, node, word, IO_DIRECTORY, 0755);
            code = made ? 0 : ENOMEM;
        }
        node = below;
    }
    if (code)
        return code;
    /* Parents that were made on the way are readable by everybody. */
    if (made == node)
        made->mode = last_mode;
    return node->kind == IO_DIRECTORY ? 0 : EEXIST;
}

void disk_remove(struct disk *disk, struct node *node)
{
    node->place[NOW].directory->modified = ++disk->changes;
    unhang_node(node, NOW);
    disk_reap(disk, node);
}

/* Down to a leaf, remove it, up again: without recursion, however deep the tree is. */
void disk_remove_tree(struct disk *disk, struct node *top)
{
    struct node *end = top->place[NOW].directory;
    struct node *node = top;

    while (node != end) {
        struct node *up = node->place[NOW].directory;
        struct node *inside = first_child(node, NOW);

        if (!inside)
            disk_remove(disk, node);
        node = inside ? inside : up;
    }
}

/* A node counts as below itself. */
static bool is_below(const struct node *node, const struct node *top)
{
    for (; node; node = node->place[NOW].directory)
        if (node == top)
            return true;
    return false;
}

/* Whether `from` may take the place of `there` (NULL: the place is free). */
static int check_replace(const struct node *from, const struct node *there)
{
    if (!there)
        return 0;
    if (from->kind == IO_DIRECTORY && there->kind != IO_DIRECTORY)
        return ENOTDIR;
    if (from->kind != IO_DIRECTORY && there->kind == IO_DIRECTORY)
        return EISDIR;
    return there->names[NOW].count ? ENOTEMPTY : 0;
}

int disk_rename(struct disk *disk, const char *from, const char *to)
{
    int code = 0;
    struct word last = {"", 0};
    struct node *node = disk_walk(disk, from, &code);
    struct node *directory = node ? disk_walk_to_parent(disk, to, &last, &code) : NULL;
    struct node *there;
    char *name;

    if (code)
        return code;
    if (node == disk->root || !last.len || word_is(last, ".") || word_is(last, ".."))
        return EBUSY;
    /* A directory inside itself would be in no directory. */
    if (is_below(directory, node))
        return EINVAL;
    there = child_named(directory, NOW, last);
    /* Two names of one file: rename(2) does nothing. */
    if (there == node)
        return 0;
    code = check_replace(node, there);
    /* The last thing that can fail, before the first change. */
    name = code ? NULL : mem_strndup(last.text, last.len);
    if (!name)
        return code ? code : ENOMEM;

    if (there)
        disk_remove(disk, there);
    node->place[NOW].directory->modified = ++disk->changes;
    unhang_node(node, NOW);
    hang_node(node, NOW, directory, name);
    directory->modified = disk->changes;
    return 0;
}

/* ---- bytes ---- */

/* Added bytes are zero.  A shrinking file keeps its memory: node_revert() relies on the
 * room. */
static bool bytes_resize(struct bytes *bytes, size_t len)
{
    size_t cap = MAX(bytes->cap, (size_t)64);

    while (cap < len)
        cap = cap > SIZE_MAX / 2 ? len : cap * 2;
    if (len > bytes->cap) {
        unsigned char *data = mem_resize(bytes->data, cap, 1);

        if (!data)
            return false;
        bytes->data = data;
        bytes->cap = cap;
    }
    if (len > bytes->len)
        memset(bytes->data + bytes->len, 0, len - bytes->len);
    bytes->len = len;
    return true;
}

/* One range is enough: it may copy too much, never too little.  Bytes that a cut
 * removed are marked when the file grows over them again. */
static void mark_dirty(struct node *node, size_t from, size_t to)
{
    bool is_clean = node->dirty_from == node->dirty_to;

    node->dirty_from = is_clean ? from : MIN(node->dirty_from, from);
    node->dirty_to = is_clean ? to : MAX(node->dirty_to, to);
}

bool node_resize(struct disk *disk, struct node *node, size_t len)
{
    size_t before = node->bytes[NOW].len;

    if (node->map_count && len > node->bytes[NOW].cap)
        return false;
    if (!bytes_resize(&node->bytes[NOW], len))
        return false;
    if (len > before)
        mark_dirty(node, before, len);
    node->modified = ++disk->changes;
    return true;
}

void node_touched(struct node *node)
{
    mark_dirty(node, 0, node->bytes[NOW].len);
}

void node_overwrite(struct disk *disk, struct node *node, size_t offset,
                    const void *bytes, size_t len)
{
    memcpy(node->bytes[NOW].data + offset, bytes, len);
    mark_dirty(node, offset, offset + len);
    node->modified = ++disk->changes;
}

/* Only the marked range is copied: a database syncs often and changes little. */
bool node_sync(struct node *node)
{
    const struct bytes *now = &node->bytes[NOW];
    size_t to;
    size_t from;

    if (node->map_count)
        node_touched(node);
    to = MIN(node->dirty_to, now->len);
    from = MIN(node->dirty_from, to);
    if (!bytes_resize(&node->bytes[DURABLE], now->len))
        return false;
    if (from < to)
        memcpy(node->bytes[DURABLE].data + from, now->data + from, to - from);
    node->dirty_from = node->dirty_to = 0;
    return true;
}

/* As a real disk counts: a removed file takes space until it is closed.  Durable copies
 * are an artefact of the model and are not counted. */
uint64_t disk_used_bytes(const struct disk *disk)
{
    uint64_t used = 0;

    for (const struct node *node = disk->nodes; node; node = node->next)
        if (node->place[NOW].directory || node->open_count || node->map_count)
            used += node->bytes[NOW].len;
    return used;
}
