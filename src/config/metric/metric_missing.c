/* SPDX-License-Identifier: Apache-2.0 */
/* metric_missing.c - see metric_missing.h.
 *
 * The suggested name is the nearest one by its letters ('val_los': val_loss), else the
 * only one with the same last word ('validation_loss': val_loss). */
#include "config/metric/metric_missing.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "data/text.h"

enum { NAMES_SHOWN = 10 };

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *last_word(const char *name)
{
    const char *word = name;

    for (; *name; name++)
        if (strchr("_/.- ", *name) && name[1])
            word = name + 1;
    return word;
}

static const char *same_last_word(const char *metric, const struct metric_list *names)
{
    const char *found = NULL;

    for (size_t i = 0; i < names->count; i++) {
        if (strcmp(last_word(names->at[i]), last_word(metric)) != 0)
            continue;
        if (found)
            return NULL;
        found = names->at[i];
    }
    return found;
}

/* "a, b, c and 12 more" */
static const char *list_names(const struct metric_list *names, struct arena *mem)
{
    const char *text = "";

    for (size_t i = 0; text && i < MIN(names->count, (size_t)NAMES_SHOWN); i++)
        text = arena_printf(mem, "%s%s%s", text, i ? ", " : "", names->at[i]);
    if (text && names->count > NAMES_SHOWN)
        text = arena_printf(mem, "%s and %zu more", text, names->count - NAMES_SHOWN);
    return text;
}

const char *metric_missing_doubt(const char *metric, int64_t trial_id,
                                 struct metric_list *names, struct arena *mem)
{
    const char *listed;
    const char *near;

    for (size_t i = 0; i < names->count; i++)
        if (!strcmp(names->at[i], metric))
            return NULL;
    if (!names->count)
        return arena_printf(mem,
                            "the validation of trial %" PRId64
                            " has no '%s', nor any other number",
                            trial_id, metric);
    qsort(names->at, names->count, sizeof(*names->at), by_name);
    names->at[names->count] = NULL;
    near = nearest_word(metric, names->at);
    if (!near)
        near = same_last_word(metric, names);
    listed = list_names(names, mem);
    if (!listed)
        return NULL;
    return arena_printf(mem,
                        "the validation of trial %" PRId64 " has no '%s'; it has %s: "
                        "%s%s%s",
                        trial_id, metric, listed,
                        near ? "did you mean " : "name one of these in searcher.metric",
                        near ? near : "", near ? "?" : "");
}
