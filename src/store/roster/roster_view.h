/* SPDX-License-Identifier: Apache-2.0 */
/* roster_view.h - one row of the table of experiments, as it is shown. */
#ifndef STORE_ROSTER_ROSTER_VIEW_H
#define STORE_ROSTER_ROSTER_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/records.h"
#include "model/states.h"

struct arena;
struct db;

enum { ROSTER_DESCRIPTION = 300 };

struct roster_view {
    int64_t id;
    enum experiment_state state;
    const char *name;
    const char *description; /* its first ROSTER_DESCRIPTION characters */
    int64_t description_length;
    int64_t notes_length;
    const char *labels; /* JSON list */
    int64_t owner_id;
    const char *username;
    int64_t start_us;
    int64_t end_us;
    int64_t paused_us;
    int64_t paused_since_us;
    double progress;
    int64_t trials;
    const char *searcher_type;
    const char *searcher_metric;
    bool smaller_is_better;
    int64_t best_trial_id; /* 0: none */
    bool has_best_metric;
    double best_metric;
    const char *resource_pool;
    bool is_archived;
    bool is_unmanaged;
    int64_t parent_id;
    int64_t checkpoint_size;
    int64_t checkpoint_count;
    int64_t priority;
    int64_t project_id;
    const char *project_name;
    int64_t workspace_id;
    const char *workspace_name;
    uint32_t live_state;
};
/* *ret_found is false if the experiment was deleted. */
det_status store_roster_view(struct db *db, int64_t id, struct arena *mem,
                             struct roster_view *ret_view, bool *ret_found,
                             struct err *err);

#endif
