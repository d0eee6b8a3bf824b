/* SPDX-License-Identifier: Apache-2.0 */
/* mask.c - see mask.h. */
#include "config/mask.h"
#include "base/memory/arena.h"
#include "config/keys/key.h"
#include "config/keys/key_tables.h"
#include "data/json/json.h"

static struct json *mask(const struct key_table *table, const char *pattern,
                         const struct json *value, struct arena *mem)
{
    struct json *copy;

    if (value->kind != JSON_OBJECT && value->kind != JSON_ARRAY)
        return json_copy(mem, value);
    copy = json_new(mem, value->kind);
    json_each(item, value) {
        const char *name = value->kind == JSON_ARRAY ? "[]" : item->key;
        const struct config_key *row = key_child(table, pattern, name, NULL);
        struct json *shown;

        if (row && (row->flags & KEY_SECRET) && !json_is_null(item))
            shown = json_new_str(mem, "********");
        else
            shown = row ? mask(table, row->path, item, mem) : json_copy(mem, item);
        if (value->kind == JSON_ARRAY)
            json_push(copy, shown);
        else
            json_add(mem, copy, item->key, shown);
    }
    return copy;
}

struct json *config_mask(enum config_kind kind, const struct json *tree,
                         struct arena *mem)
{
    struct key_table table = kind == CONFIG_MASTER  ? master_key_table()
                             : kind == CONFIG_AGENT ? agent_key_table()
                                                    : experiment_key_table();

    return mask(&table, "", tree, mem);
}
