/* SPDX-License-Identifier: Apache-2.0 */
/* views.h - what the API shows of experiments, trials, allocations and people: rows of
 * the heart joined with what only the store knows. */
#ifndef STORE_VIEWS_H
#define STORE_VIEWS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/records.h"
#include "store/db.h"

struct arena;
struct buf;
struct json;

struct page {
    int64_t offset; /* negative: from the end */
    int64_t limit;  /* 0: 100, -1: all, -2: none, as the experiment lists have it */
    int64_t total;  /* filled in */
    int64_t start;
    int64_t end;
};

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
    int64_t num_trials;
    int64_t best_trial_id; /* 0: none */
    double best_metric;
    bool has_best_metric;
    int64_t checkpoint_count;
    int64_t checkpoint_size;
    int64_t files_size;
    bool is_unmanaged;
    const char *external_id;
    uint32_t live_state; /* ACTIVE refined: QUEUED, PULLING, STARTING, RUNNING */
};

enum live_state { LIVE_NONE, LIVE_QUEUED, LIVE_PULLING, LIVE_STARTING, LIVE_RUNNING };
extern const char *const live_state_names[]; /* "", "QUEUED", ... */

struct experiment_query {
    const char *name;         /* case-insensitive part */
    const char *description;  /* likewise */
    struct field_strs labels; /* all of them */
    bool has_archived;
    bool archived;
    uint32_t states; /* bit set of enum experiment_state; 0: all */
    struct field_strs users;
    struct field_i64s user_ids;
    struct field_i64s ids;
    struct field_i64s not_ids;
    int64_t id_gt, id_gte, id_lt, id_lte; /* 0: no bound */
    int64_t project_id;                   /* 0: all */
    bool without_config;                  /* configurations are left out: NULL */
    const char *sort;                     /* SORT_BY_*; NULL: by id */
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
/* Those that were forked from it. */
det_status store_experiment_forks(struct db *db, int64_t id, struct arena *mem,
                                  struct field_i64s *ret_ids, struct err *err);
det_status store_experiment_files(struct db *db, int64_t id, struct buf *ret_tgz,
                                  struct err *err);

/* What people edit; NULL leaves as it is. */
struct experiment_patch {
    const char *name;
    const char *description;
    const char *notes;
    const char *notes_before; /* DET_EXISTS when the notes are others; NULL: whatever */
    const char *labels;
    bool has_gc;
    int64_t save_experiment_best; /* into the stored configuration; -1: as it is */
    int64_t save_trial_best;
    int64_t save_trial_latest;
    bool has_log_retention;
    int64_t log_retention_days;
};
det_status store_experiment_patch(struct db *db, int64_t id,
                                  const struct experiment_patch *patch,
                                  struct arena *mem, struct err *err);
/* Adds a label unless it is there, or takes one away; either may be NULL.  The result
 * is a JSON list in `mem`. */
det_status store_experiment_relabel(struct db *db, int64_t id, const char *add,
                                    const char *drop, struct arena *mem,
                                    const char **ret_labels, struct err *err);
/* DET_STATE with the reference's sentences. */
det_status store_experiment_archive(struct db *db, int64_t id, bool is_archived,
                                    struct err *err);
/* DELETING, from a terminal state or DELETE_FAILED; then everything it left. */
det_status store_experiment_set_deleting(struct db *db, int64_t id, struct err *err);
det_status store_experiment_delete_failed(struct db *db, int64_t id, struct err *err);
/* Removes rows in steps of bounded size; *ret_done when nothing is left. */
det_status store_experiment_delete_step(struct db *db, int64_t id, bool *ret_done,
                                        struct err *err);
det_status store_experiments_deleting(struct db *db, struct arena *mem,
                                      struct field_i64s *ret_ids, struct err *err);
/* The best validation of the searcher's metric: DET_NOT_FOUND when there is none. */
det_status store_experiment_best_metric(struct db *db, int64_t id, double *ret_metric,
                                        struct err *err);

struct trial_view {
    struct trial row;
    int64_t total_batches;
    const char *runner_state;
    const char *metadata; /* JSON object */
    bool has_best;
    double best_metric; /* the searcher's metric at its best validation */
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
    const char *exit_reason; /* of its latest run; NULL: it has said none */
    const char *log_policy_matched;
    uint32_t live_state;
    bool is_unmanaged;
};
/* How long it was on slots, by what the store says; negative there while a run goes on:
 * the time of those that ended less the time of day when it began.  Clocks can be set.
 */
static inline int64_t trial_on_slots_us(int64_t said_us, int64_t now_us)
{
    return said_us >= 0 ? said_us : said_us + now_us > 0 ? said_us + now_us : 0;
}
struct trial_query {
    int64_t experiment_id;
    uint32_t states; /* bit set; 0: all */
    const char *sort;
    int64_t now_us; /* SORT_BY_DURATION: where those that still run are now */
    bool is_descending;
    struct page page;
};
det_status store_trial_list(struct db *db, struct trial_query *query, struct arena *mem,
                            struct trial_view **ret_rows, uint32_t *ret_count,
                            struct err *err);
det_status store_trial_get(struct db *db, int64_t id, struct arena *mem,
                           struct trial_view *ret_row, struct err *err);
/* By number, for whoever continues it: latest_checkpoint is the last still there. */
det_status store_experiment_past(struct db *db, int64_t id, struct arena *mem,
                                 struct trial **ret_rows, uint32_t *ret_count,
                                 struct err *err);
/* The last of a trial's checkpoints that is still there; NULL: none is. */
det_status store_trial_still_there(struct db *db, int64_t id, struct arena *mem,
                                   const char **ret_uuid, struct err *err);
det_status store_trial_set_runner_state(struct db *db, int64_t id, const char *state,
                                        struct err *err);
/* Merges `metadata` (a JSON object) into what is there; gives the result. */
det_status store_trial_merge_metadata(struct db *db, int64_t id,
                                      const struct json *metadata, struct arena *mem,
                                      const char **ret_metadata, struct err *err);
/* Called with each new validation: keeps best and latest by the searcher's metric, or
 * where none was named by the only metric, else by loss. */
det_status store_trial_validated(struct db *db, int64_t trial_id, int64_t steps,
                                 int64_t report_us, const struct json *metrics,
                                 struct arena *mem, struct err *err);
det_status store_trial_set_log_policy(struct db *db, int64_t id, const char *name,
                                      struct err *err);

det_status store_allocation_get(struct db *db, const char *name, struct arena *mem,
                                struct allocation *ret_row, struct err *err);
det_status store_allocation_by_id(struct db *db, int64_t id, struct arena *mem,
                                  struct allocation *ret_row, struct err *err);
/* Only what it is called on the wire; in `mem`. */
det_status store_allocation_name(struct db *db, int64_t id, struct arena *mem,
                                 const char **ret_name, struct err *err);
/* Of a task, unfinished first, then the most recently ended. */
det_status store_allocations_of_task(struct db *db, const char *task_id,
                                     struct arena *mem, struct allocation **ret_rows,
                                     uint32_t *ret_count, struct err *err);
det_status store_allocations_live(struct db *db, struct arena *mem,
                                  struct allocation **ret_rows, uint32_t *ret_count,
                                  struct err *err);
det_status store_shares_of(struct db *db, int64_t allocation_id, struct arena *mem,
                           struct share **ret_rows, uint32_t *ret_count,
                           struct err *err);
/* Of all allocations that are not over, by allocation and rank. */
det_status store_shares_live(struct db *db, struct arena *mem, struct share **ret_rows,
                             uint32_t *ret_count, struct err *err);
det_status store_agent_list(struct db *db, struct arena *mem, struct agent **ret_rows,
                            uint32_t *ret_count, struct err *err);

/* An experiment or a job in the queue: it has allocations that are not over. */
struct queue_view {
    int64_t experiment_id; /* 0: it is a job */
    int64_t job;           /* its number; 0: it is an experiment */
    const char *type;      /* "EXPERIMENT", or a job's: JOB_GENERIC, JOB_TENSORBOARD */
    const char *job_id;    /* of a job: its task's id */
    const char *name;
    const char *username;
    int64_t owner_id;
    const char *resource_pool;
    int64_t submitted_us;
    int64_t priority;
    double weight;
    double progress;
    int64_t requested; /* slots */
    int64_t allocated;
    bool is_scheduled; /* some allocation holds slots */
    bool is_preemptible;
    int64_t ahead; /* jobs of its pool that wait before it */
};
/* In the order of their turn. */
det_status store_queue_list(struct db *db, struct arena *mem,
                            struct queue_view **ret_rows, uint32_t *ret_count,
                            struct err *err);
/* DET_NOT_FOUND for none, and for one that is over; of the two numbers one is 0. */
det_status store_queue_find(struct db *db, const char *job_id,
                            int64_t *ret_experiment_id, int64_t *ret_job,
                            struct err *err);

/* ---- people ---------------------------------------------------------------------- */

struct user {
    int64_t id;
    const char *username;
    const char *password; /* Argon2id of the client's hash; NULL: blank */
    const char *display_name;
    bool is_admin;
    bool is_active;
    bool is_remote;
    int64_t modified_us;
    int64_t last_auth_us;
};
extern const struct field user_fields[];

det_status store_user_add(struct db *db, const struct user *row, int64_t *ret_id,
                          struct err *err); /* DET_EXISTS */
det_status store_user_put(struct db *db, const struct user *row, struct err *err);
/* It logged in just now; nothing else of it changes. */
det_status store_user_seen(struct db *db, int64_t id, int64_t now_us, struct err *err);
det_status store_user_get(struct db *db, int64_t id, struct arena *mem,
                          struct user *ret_row, struct err *err);
det_status store_user_named(struct db *db, const char *username, struct arena *mem,
                            struct user *ret_row, struct err *err);
det_status store_user_list(struct db *db, struct arena *mem, struct user **ret_rows,
                           uint32_t *ret_count, struct err *err);

/* Sessions hold no secret: a token is the session's number under a key (master/auth.c).
 */
struct session {
    int64_t id;
    int64_t user_id;
    int64_t created_us;
    int64_t expires_us;
};
det_status store_session_add(struct db *db, const struct session *row, int64_t *ret_id,
                             struct err *err);
det_status store_session_drop(struct db *db, int64_t id, struct err *err);
det_status store_sessions_drop_of(struct db *db, int64_t user_id, struct err *err);
/* Those that ended before `now_us` go. */
det_status store_sessions_expire(struct db *db, int64_t now_us, struct err *err);

/* Who is behind a token; DET_NOT_FOUND. */
struct caller_view {
    int64_t user_id;
    const char *username;
    bool is_admin;
    bool is_active;
    int64_t expires_us; /* of a session */
    /* of an allocation's token: */
    bool is_over;
    const char *allocation; /* its name */
    const char *task_id;
    int64_t trial_id;
    int64_t experiment_id;
};
det_status store_caller_by_session(struct db *db, int64_t session_id, struct arena *mem,
                                   struct caller_view *ret_caller, struct err *err);
det_status store_caller_by_allocation(struct db *db, int64_t allocation_id,
                                      struct arena *mem, struct caller_view *ret_caller,
                                      struct err *err);

#endif
