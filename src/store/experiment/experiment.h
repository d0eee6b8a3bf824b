/* SPDX-License-Identifier: Apache-2.0 */
/* experiment.h - rows of experiments, and lists of them for the API. */
#ifndef STORE_EXPERIMENT_EXPERIMENT_H
#define STORE_EXPERIMENT_EXPERIMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/permission.h"
#include "model/records.h"
#include "store/page.h"

struct arena;
struct buf;
struct db;
struct sql_build;

/* ---- rows (inside a write job) --------------------------------------------------- */

struct experiment_texts {
    const char *name;
    const char *description;
    const char *labels; /* JSON list */
    const void *files;
    uint64_t files_len;
    bool is_unmanaged;       /* the core does not know it */
    const char *external_id; /* NULL: none */
};
det_status store_experiment_add(struct db *db, const struct experiment *row,
                                const struct experiment_texts *texts, struct err *err);
/* Does not change the configurations: only store_experiment_patch() and
 * store_experiment_continue() do.  Nor the project: only store_project_take() does. */
det_status store_experiment_put(struct db *db, const struct experiment *row,
                                struct err *err);

/* ---- views ----------------------------------------------------------------------- */

/* What an ACTIVE experiment or trial is doing. */
enum live_state {
    LIVE_NONE,
    LIVE_QUEUED,
    LIVE_PULLING,
    LIVE_STARTING,
    LIVE_RUNNING,
    LIVE_STATES
};
extern const char *const live_state_names[]; /* "", "QUEUED", ... */
/* Its bit in a set of states that also holds stored ones: behind all of these. */
#define LIVE_BIT(live) (UINT32_C(1) << (24 + (live)))
/* " AND (what IN ('A', 'B') OR live IN (1, 2))" for such a set; `live`: LIVE_STATE_SQL(). */
void experiment_build_states(struct sql_build *b, const char *what,
                             const char *const *names, uint32_t states,
                             const char *live);

struct experiment_view {
    struct experiment row;
    const char *name;
    const char *description;
    const char *notes;
    const char *labels; /* JSON list */
    const char *searcher_type;
    const char *searcher_metric; /* NULL: none given */
    bool smaller_is_better;
    bool is_archived;
    int64_t log_retention_days; /* -2: not given */
    const char *username;
    const char *display_name;
    const char *project_name;
    int64_t project_owner_id;
    int64_t workspace_id;
    const char *workspace_name;
    bool is_parent_archived; /* its project or workspace is */
    int64_t num_trials;
    int64_t best_trial_id; /* 0: none */
    double best_metric;
    bool has_best_metric;
    int64_t checkpoint_count;
    int64_t checkpoint_size;
    int64_t files_size;
    bool is_unmanaged;
    const char *external_id;
    uint32_t live_state; /* enum live_state */
};

struct experiment_query {
    const char *name;         /* case-insensitive part */
    const char *description;  /* likewise */
    struct field_strs labels; /* all of them */
    bool has_archived;
    bool archived;
    uint32_t states; /* bits of enum experiment_state, and LIVE_BIT()s; 0: all */
    struct field_strs users;
    struct field_i64s user_ids;
    struct field_i64s ids;
    struct field_i64s not_ids;
    int64_t id_gt, id_gte, id_lt, id_lte; /* 0: no bound */
    int64_t project_id;                   /* 0: all */
    struct scope scope;
    bool hides_archived_spaces; /* not those of archived projects and workspaces */
    bool without_config;        /* leave configurations out: NULL */
    const char *sort;           /* SORT_BY_*; NULL: by id */
    bool is_descending;
    struct page page;
};

det_status store_experiment_list(struct db *db, struct experiment_query *query,
                                 struct arena *mem, struct experiment_view **ret_rows,
                                 uint32_t *ret_count, struct err *err);
det_status store_experiment_get(struct db *db, int64_t id, struct arena *mem,
                                struct experiment_view *ret_row, struct err *err);
det_status store_experiment_trial_ids(struct db *db, int64_t id, struct arena *mem,
                                      struct field_i64s *ret_ids, struct err *err);
/* The experiments that were forked from this one. */
det_status store_experiment_forks(struct db *db, int64_t id, struct arena *mem,
                                  struct field_i64s *ret_ids, struct err *err);
/* The folder of code, tar.gz. */
det_status store_experiment_files(struct db *db, int64_t id, struct buf *ret_tgz,
                                  struct err *err);
/* The best validation of the searcher's metric.  DET_NOT_FOUND: there is none. */
det_status store_experiment_best_metric(struct db *db, int64_t id, double *ret_metric,
                                        struct err *err);

/* Only what decides whether an action is allowed.  DET_NOT_FOUND. */
struct experiment_standing {
    enum experiment_state state;
    bool is_unmanaged;
    bool is_archived;
    int64_t project_id;
};
det_status store_experiment_standing(struct db *db, int64_t id,
                                     struct experiment_standing *ret_standing,
                                     struct err *err);

#endif
