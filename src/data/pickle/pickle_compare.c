/* SPDX-License-Identifier: Apache-2.0 */
/* pickle_compare.c - compares objects of two pickles; see pickle.h.
 *
 * Objects may contain themselves.  An object that is being compared counts as equal to its
 * twin until a difference is found, as when two graphs are walked side by side.  Twins that
 * were found under this assumption may be wrong if it fails.  Outside of a search, that
 * does not matter: the first difference is the result.  In a search for an equal item, the
 * trail lists the values that got a twin, so a failed attempt forgets its twins. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "data/pickle/pickle.h"

enum {
    DEPTH_MOST = 2000,
    WORK_MOST = 200 * 1000 * 1000, /* comparisons: seconds */
    WORK_BYTES = 64,               /* bytes that take as long as one comparison */
};

struct comparison {
    const struct pickle_rules *rules;
    char *path;
    size_t path_size;
    size_t path_len;
    bool is_trying; /* a difference is not the result: another item may be equal */
    bool is_undecided;
    int depth;
    uint64_t work;
    struct pickle *trail; /* the last value that got a twin in a search */
};

static bool compare(struct comparison *c, struct pickle *a, struct pickle *b);

bool pickle_is_str(const struct pickle *value, const char *text)
{
    return value && value->kind == PICKLE_STR && value->len == strlen(text) &&
           !memcmp(value->text, text, value->len);
}

/* ---- the path -------------------------------------------------------------------- */

static void add_to_path(struct comparison *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void add_to_path(struct comparison *c, const char *fmt, ...)
{
    va_list args;
    int len;

    if (c->path_len >= c->path_size)
        return;
    va_start(args, fmt);
    len = vsnprintf(c->path + c->path_len, c->path_size - c->path_len, fmt, args);
    va_end(args);
    c->path_len = MIN(c->path_len + (size_t)MAX(len, 0), c->path_size - 1);
}

static void add_key_to_path(struct comparison *c, const struct pickle *key)
{
    int64_t number = 0;

    if (key->kind == PICKLE_STR) {
        add_to_path(c, "['%.*s']", (int)MIN(key->len, (size_t)80), key->text);
        return;
    }
    if (key->kind != PICKLE_INT || key->len > sizeof(number)) {
        add_to_path(c, "[...]");
        return;
    }
    for (size_t i = key->len; i > 0; i--) /* the highest byte has the sign */
        number = i == key->len ? (signed char)key->text[i - 1]
                               : number * 256 + (unsigned char)key->text[i - 1];
    add_to_path(c, "[%lld]", (long long)number);
}

/* Compares with a longer path, which stays if they differ. */
static bool compare_at(struct comparison *c, const struct pickle *key, size_t index,
                       struct pickle *a, struct pickle *b)
{
    size_t before = c->path_len;

    if (!c->is_trying && key)
        add_key_to_path(c, key);
    else if (!c->is_trying)
        add_to_path(c, "[%zu]", index);
    if (!compare(c, a, b))
        return false;
    c->path_len = before;
    if (c->path_size)
        c->path[before] = '\0';
    return true;
}

/* Whether they are equal; leaves the path alone. */
static bool try_compare(struct comparison *c, struct pickle *a, struct pickle *b)
{
    bool was_trying = c->is_trying;
    bool is_same;

    c->is_trying = true;
    is_same = compare(c, a, b);
    c->is_trying = was_trying;
    return is_same;
}

/* ---- values ---------------------------------------------------------------------- */

static bool is_same_text(struct comparison *c, const struct pickle *a,
                         const struct pickle *b)
{
    if (a->len != b->len)
        return false;
    c->work += a->len / WORK_BYTES;
    return !a->len || !memcmp(a->text, b->text, a->len);
}

static bool compare_items(struct comparison *c, struct pickle *a, struct pickle *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!compare_at(c, NULL, i, a->items[i], b->items[i]))
            return false;
    return true;
}

/* The place of a key or element in `in`; it is most often at the same place. */
static size_t find_item(struct comparison *c, struct pickle *item, struct pickle *in,
                        size_t first, size_t step)
{
    if (first < in->count && try_compare(c, item, in->items[first]))
        return first;
    for (size_t i = 0; i < in->count; i += step)
        if (i != first && try_compare(c, item, in->items[i]))
            return i;
    return in->count;
}

/* Whether `a` has all keys or elements of `b`.  If both have equally many, and `b` has all
 * of `a`, this fails only for a pickle that repeats one. */
static bool has_all_items(struct comparison *c, struct pickle *a, struct pickle *b,
                          size_t step)
{
    for (size_t k = 0; k < b->count; k += step) {
        size_t i = 0;

        while (i < a->count && !try_compare(c, a->items[i], b->items[k]))
            i += step;
        if (i >= a->count)
            return false;
    }
    return true;
}

static bool compare_sets(struct comparison *c, struct pickle *a, struct pickle *b)
{
    bool is_moved = false;

    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        size_t at = find_item(c, a->items[i], b, i, 1);

        if (at == b->count)
            return false;
        is_moved |= at != i;
    }
    return !is_moved || has_all_items(c, a, b, 1);
}

static bool is_ignored(const struct comparison *c, const struct pickle *key)
{
    return c->rules->is_ignored && key->kind == PICKLE_STR &&
           c->rules->is_ignored(c->rules->arg, key);
}

static bool compare_dicts(struct comparison *c, struct pickle *a, struct pickle *b,
                          bool is_ordered)
{
    bool is_moved = false;

    if (a->count != b->count)
        return false;
    for (size_t i = 0; i + 1 < a->count; i += 2) {
        size_t at = is_ordered && !try_compare(c, a->items[i], b->items[i])
                        ? b->count
                        : find_item(c, a->items[i], b, i, 2);

        if (at == b->count) {
            if (!c->is_trying)
                add_key_to_path(c, a->items[i]);
            return false;
        }
        is_moved |= at != i;
        if (!is_ignored(c, a->items[i]) &&
            !compare_at(c, a->items[i], 0, a->items[i + 1], b->items[at + 1]))
            return false;
    }
    return !is_moved || has_all_items(c, a, b, 2);
}

static bool is_ordered_dict(const struct pickle *object)
{
    const struct pickle *maker = object->maker;

    return maker->kind == PICKLE_GLOBAL &&
           pickle_is_str(maker->module, "collections") &&
           pickle_is_str(maker->name, "OrderedDict");
}

/* Either both are absent or both are equal. */
static bool compare_optional(struct comparison *c, struct pickle *a, struct pickle *b)
{
    return a && b ? compare(c, a, b) : a == b;
}

/* The arguments of a call have no names that a reader would know. */
static bool compare_arguments(struct comparison *c, struct pickle *a, struct pickle *b)
{
    size_t before = c->path_len;

    if (compare(c, a, b))
        return true;
    if (!c->is_trying && c->path_size) {
        c->path_len = before;
        c->path[before] = '\0';
    }
    return false;
}

static bool compare_objects(struct comparison *c, struct pickle *a, struct pickle *b)
{
    if (!compare_arguments(c, a->maker, b->maker) ||
        !compare_arguments(c, a->args, b->args) || !compare_items(c, a, b) ||
        !a->entries != !b->entries)
        return false;
    return !a->entries || compare_dicts(c, a->entries, b->entries, is_ordered_dict(a));
}

static bool compare_contents(struct comparison *c, struct pickle *a, struct pickle *b)
{
    switch (a->kind) {
    case PICKLE_NONE:
        return true;
    case PICKLE_BOOL:
    case PICKLE_FLOAT:
        return !memcmp(&a->real, &b->real, sizeof(a->real)); /* all bits */
    case PICKLE_INT:
    case PICKLE_STR:
    case PICKLE_BYTES:
        return is_same_text(c, a, b);
    case PICKLE_TUPLE:
    case PICKLE_LIST:
        return compare_items(c, a, b);
    case PICKLE_DICT:
        return compare_dicts(c, a, b, false);
    case PICKLE_SET:
        return compare_sets(c, a, b);
    case PICKLE_GLOBAL:
        return is_same_text(c, a->module, b->module) &&
               is_same_text(c, a->name, b->name);
    case PICKLE_OBJECT:
        return compare_objects(c, a, b);
    case PICKLE_PERSISTENT:
        return c->rules->is_same
                   ? c->rules->is_same(c->rules->arg, a->items[0], b->items[0])
                   : try_compare(c, a->items[0], b->items[0]);
    }
    return false;
}

static void forget_twins(struct comparison *c, const struct pickle *since)
{
    while (c->trail != since) {
        c->trail->twin = NULL;
        c->trail = c->trail->trail;
    }
}

/* A value that has a twin already keeps it in a search: the trail could not restore it. */
static bool compare(struct comparison *c, struct pickle *a, struct pickle *b)
{
    const struct pickle *had = a->twin;
    const struct pickle *since = c->trail;
    bool is_same;

    if (had == b)
        return true;
    if (a->kind != b->kind || c->is_undecided)
        return false;
    if (c->depth >= DEPTH_MOST || c->work >= WORK_MOST) {
        c->is_undecided = true;
        return false;
    }
    c->work++;
    c->depth++;
    a->twin = b;
    if (c->is_trying && !had) {
        a->trail = c->trail;
        c->trail = a;
    }
    is_same = compare_contents(c, a, b) && compare_optional(c, a->state, b->state);
    c->depth--;
    if (!is_same)
        forget_twins(c, since);
    if (!is_same || (c->is_trying && had))
        a->twin = had;
    return is_same;
}

enum pickle_result pickle_compare(struct pickle *a, struct pickle *b,
                                  const struct pickle_rules *rules, char *ret_path,
                                  size_t path_size)
{
    struct comparison c = {.rules = rules, .path = ret_path, .path_size = path_size};

    if (path_size)
        ret_path[0] = '\0';
    if (compare(&c, a, b))
        return PICKLE_EQUAL;
    return c.is_undecided ? PICKLE_UNDECIDED : PICKLE_DIFFERENT;
}
