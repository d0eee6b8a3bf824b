/* SPDX-License-Identifier: Apache-2.0 */
#include "master/heart/counters.h"

#include <stddef.h>

#include "core/effect.h"
#include "store/heart/journal.h"
#include "store/setting.h"

/* The names are in databases: they must not follow a renamed member. */
#define COUNTER(name_, member, first_)                                                 \
    {                                                                                  \
        .name = (name_), .offset = offsetof(struct core_counters, member),             \
        .first = (first_)                                                              \
    }

static const struct {
    const char *name;
    size_t offset;
    int64_t first;
} counter_rows[] = {
    COUNTER("next_experiment", next_experiment, 1),
    COUNTER("next_trial", next_trial, 1),
    COUNTER("next_job", next_job, 1),
    COUNTER("next_allocation", next_allocation, 1),
    COUNTER("next_agent", next_agent, 1),
    COUNTER("first_run", first_run, 1),
    COUNTER("journal_seq", journal_seq, 0),
};

_Static_assert(sizeof(struct core_counters) ==
                   ARRAY_LEN(counter_rows) * sizeof(int64_t),
               "every counter has a row");

det_status counters_write(struct db *db, const struct core_counters *counters,
                          struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(counter_rows); i++) {
        const int64_t *value =
            (const int64_t *)((const char *)counters + counter_rows[i].offset);
        det_status st = store_number_put(db, counter_rows[i].name, *value, err);

        if (st)
            return st;
    }
    return store_journal_drop(db, counters->journal_seq, err);
}

det_status counters_read(struct db *db, struct core_counters *ret_counters,
                         struct err *err)
{
    struct core_counters counters;

    for (size_t i = 0; i < ARRAY_LEN(counter_rows); i++) {
        int64_t *value = (int64_t *)((char *)&counters + counter_rows[i].offset);
        det_status st = store_number_get(db, counter_rows[i].name,
                                         counter_rows[i].first, value, err);

        if (st)
            return st;
    }
    *ret_counters = counters;
    return DET_OK;
}
