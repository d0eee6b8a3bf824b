/* SPDX-License-Identifier: Apache-2.0 */
/* trial_view.h - trials as the API shows them. */
#ifndef STORE_EXPERIMENT_TRIAL_VIEW_H
#define STORE_EXPERIMENT_TRIAL_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/records.h"
#include "store/page.h"

struct arena;
struct db;

struct trial_view {
    struct trial row;
    int64_t total_batches;
    const char *runner_state;
    const char *metadata; /* JSON object */
    bool has_best;
    double best_metric; /* the searcher's metric at the best validation */
    int64_t best_steps;
    bool has_latest;
    double latest_metric;
    int64_t latest_validation_steps;
    const char *best_validation;   /* JSON metrics */
    const char *latest_validation; /* JSON metrics */
    int64_t best_validation_us;
    int64_t latest_validation_us;
    int64_t checkpoint_count;
    int64_t checkpoint_size;
    int64_t on_slots_us;     /* see trial_on_slots_us() */
    const char *exit_reason; /* of the latest run; NULL: none */
    const char *log_policy_matched;
    uint32_t live_state; /* enum live_state */
    bool is_unmanaged;
    int64_t local_number;    /* in its project; 0: none */
    const char *project_key; /* NULL: it has no project */
};

/* The slot time of a trial, from a stored `on_slots_us`.  While a run goes on, the
 * stored value is negative: the time of the ended runs minus the start of this one.
 * Never negative, even if the clock was set back. */
static inline int64_t trial_on_slots_us(int64_t stored_us, int64_t now_us)
{
    return stored_us >= 0 ? stored_us : stored_us + now_us > 0 ? stored_us + now_us : 0;
}

struct trial_query {
    int64_t experiment_id;
    uint32_t states; /* as in experiment_query */
    const char *sort;
    int64_t now_us; /* for SORT_BY_DURATION: runs that go on count until now */
    bool is_descending;
    struct page page;
};
det_status store_trial_list(struct db *db, struct trial_query *query, struct arena *mem,
                            struct trial_view **ret_rows, uint32_t *ret_count,
                            struct err *err);
det_status store_trial_get(struct db *db, int64_t id, struct arena *mem,
                           struct trial_view *ret_row, struct err *err);

#endif
