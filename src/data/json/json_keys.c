/* SPDX-License-Identifier: Apache-2.0 */
/* json_keys.c - finds equal keys pairwise in small objects (most are), and by sorting
 * in large ones: no body can make it slow. */
#include "data/json/json_keys.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/mem.h"

enum { SMALL_OBJECT = 16 };

static void take_value(struct json *to, const struct json *from)
{
    struct json old = *to;

    *to = *from;
    to->key = old.key;
    to->next = old.next;
}

/* Members to be dropped have lost their key. */
static void drop_marked(struct json *object)
{
    struct json **at = &object->list.first;

    object->list.last = NULL;
    while (*at) {
        if (!(*at)->key) {
            *at = (*at)->next;
            object->list.count--;
            continue;
        }
        object->list.last = *at;
        at = &(*at)->next;
    }
}

static bool merge_small(struct json *object)
{
    bool has_marked = false;

    for (struct json *m = object->list.first; m; m = m->next) {
        for (struct json *e = object->list.first; e != m; e = e->next) {
            if (e->key && strcmp(e->key, m->key) == 0) {
                take_value(e, m);
                m->key = NULL;
                has_marked = true;
                break;
            }
        }
    }
    return has_marked;
}

struct member {
    struct json *value;
    size_t index;
};

static int by_key_then_place(const void *a, const void *b)
{
    const struct member *x = a;
    const struct member *y = b;
    int order = strcmp(x->value->key, y->value->key);

    return order ? order : (x->index > y->index) - (x->index < y->index);
}

static bool merge_sorted(struct member *member, size_t count)
{
    bool has_marked = false;

    for (size_t first = 0, next; first < count; first = next) {
        const char *key = member[first].value->key;

        for (next = first + 1; next < count; next++) {
            if (strcmp(member[next].value->key, key) != 0)
                break;
            take_value(member[first].value, member[next].value);
            member[next].value->key = NULL;
            has_marked = true;
        }
    }
    return has_marked;
}

det_status json_merge_equal_keys(struct json *object)
{
    struct member *member;
    size_t count = 0;
    bool has_marked;

    assert(object->kind == JSON_OBJECT);
    if (object->list.count <= SMALL_OBJECT) {
        has_marked = merge_small(object);
    } else {
        member = mem_array(object->list.count, sizeof(*member));
        if (!member)
            return DET_NOMEM;
        for (struct json *m = object->list.first; m; m = m->next, count++)
            member[count] = (struct member){m, count};
        qsort(member, count, sizeof(*member), by_key_then_place);
        has_marked = merge_sorted(member, count);
        mem_free(member);
    }
    if (has_marked)
        drop_marked(object);
    return DET_OK;
}
