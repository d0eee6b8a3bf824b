/* SPDX-License-Identifier: Apache-2.0 */
#include "data/json/json_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/mem.h"

enum { FEW = 16 };

static int by_key(const void *a, const void *b)
{
    return strcmp((*(struct json *const *)a)->key, (*(struct json *const *)b)->key);
}

static int is_key(const void *key, const void *member)
{
    return strcmp(key, (*(struct json *const *)member)->key);
}

void json_index_init(struct json_index *index, const struct json *object, size_t looks)
{
    size_t at = 0;

    *index = (struct json_index){.first = json_first(object)};
    if (!index->first || object->kind != JSON_OBJECT)
        return;
    index->count = object->list.count;
    if (index->count <= FEW || looks <= FEW)
        return;
    index->member = mem_array(index->count, sizeof(struct json *));
    if (!index->member)
        return;
    json_each(member, object)
        index->member[at++] = member;
    qsort(index->member, index->count, sizeof(struct json *), by_key);
}

void json_index_done(struct json_index *index)
{
    mem_free(index->member);
    *index = (struct json_index){0};
}

struct json *json_index_get(const struct json_index *index, const char *key)
{
    struct json *member = index->first;
    struct json **found;

    if (!index->member) {
        for (size_t i = 0; i < index->count; i++, member = member->next)
            if (!strcmp(member->key, key))
                return member;
        return NULL;
    }
    found = bsearch(key, index->member, index->count, sizeof(struct json *), is_key);
    return found ? *found : NULL;
}
