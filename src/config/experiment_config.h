/* SPDX-License-Identifier: Apache-2.0 */
/* experiment_config.h - the configuration of an experiment. */
#ifndef CONFIG_EXPERIMENT_CONFIG_H
#define CONFIG_EXPERIMENT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct config_report;
struct json;

/* What the master adds to the file. */
struct experiment_defaults {
    const struct json *template_config;         /* NULL: none; wins over the rest */
    const struct json *workspace_storage;       /* NULL: none; over the next */
    const struct json *checkpoint_storage;      /* NULL: the directory below */
    const char *checkpoint_directory;           /* shared_fs at this path */
    const struct json *task_container_defaults; /* NULL: none */
    uint32_t seed;                              /* reproducibility.experiment_seed */
    const char *name;                           /* for an experiment without one */
    const char *compute_pool; /* if it names no pool: with slots; NULL: the cluster's */
    const char *aux_pool;     /* likewise without slots */
};

enum checkpoint_storage_kind { STORAGE_SHARED_FS, STORAGE_DIRECTORY };

/* A complete, checked configuration: the tree, and the values that the platform uses.
 * Everything lives in the arena it was loaded into. */
struct experiment_config {
    const struct json *tree; /* complete, every key in the reference's order */
    const char *json;        /* the same as text */
    const char *name;
    const char *description; /* NULL: none */
    const struct json *labels;
    const struct json *entrypoint; /* string or list; NULL: __init__.py of the folder */
    const struct json *searcher;
    const struct json *hyperparameters;
    const char *searcher_name;
    const char *metric; /* NULL: the only validation metric, else loss */
    bool smaller_is_better;
    uint32_t seed;
    int64_t trial_seed; /* of every trial; -1: one drawn per trial */
    uint32_t max_restarts;
    uint32_t slots_per_trial;
    uint32_t priority; /* 0: the pool's default */
    double weight;
    int64_t max_slots; /* -1: no cap */
    bool is_single_node;
    bool prefers_single_node;     /* its program may be unable to use several agents */
    const char *resource_pool;    /* "": the default */
    int64_t preemption_timeout_s; /* -1: the cluster's default */
    int64_t log_retention_days;   /* -2: not given; -1: for ever */
    uint32_t save_experiment_best;
    uint32_t save_trial_best;
    uint32_t save_trial_latest;
    const struct json *checkpoint_storage;
    enum checkpoint_storage_kind storage_kind;
    const char *storage_directory; /* where checkpoints are; NULL: not a directory */
    const struct json *environment_variables; /* list of "K=V" for CPU tasks */
    const struct json *log_policies;
    const char *metric_doubt; /* metric_goal_doubt() of a submitted file, or NULL */
    const char *project;
    const char *workspace;
    int64_t source_trial_id;            /* 0: none */
    const char *source_checkpoint_uuid; /* NULL: none */
};

/* Loads a submitted file.  Problems go to `report`.  DET_INVALID if there are errors,
 * DET_UNSUPPORTED if all of them are keys or values that are not built yet.  Borrows only
 * the trees of `defaults`. */
det_status experiment_config_load(const char *text, size_t len,
                                  const struct experiment_defaults *defaults,
                                  struct arena *mem, struct config_report *report,
                                  struct experiment_config *ret_config,
                                  struct err *err);
/* The same from a tree that the caller parsed; changes the tree.  A value with `line` 0
 * and `column` n comes from the report's n-th option. */
det_status experiment_config_load_tree(struct json *tree,
                                       const struct experiment_defaults *defaults,
                                       struct arena *mem, struct config_report *report,
                                       struct experiment_config *ret_config,
                                       struct err *err);
/* The same from a complete, stored tree (no translation, no merging). */
det_status experiment_config_open(const char *json, size_t len, struct arena *mem,
                                  struct experiment_config *ret_config,
                                  struct err *err);

#endif
