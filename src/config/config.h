/* SPDX-License-Identifier: Apache-2.0 */
/* config.h - configuration files: read, translated, merged, completed, checked.
 *
 *   text --yaml--> tree --translate--> tree --check--> tree --merge, defaults--> tree
 *
 * One mechanism serves experiment, job, master and agent files: a table of keys (path,
 * type, default, bounds, help) drives checking, defaults, `det config explain` and the
 * reference pages.  Old spellings are rewritten first, in one place (translate.c), each
 * with a notice; the tables know only today's.
 *
 * Everything that is wrong is reported, not only the first: a report is a list of
 * problems with line, column, key path, what was found, what is allowed and the nearest
 * known key.
 *
 * To add a key: one row in experiment_keys.c, master_keys.c, agent_keys.c or
 * job_keys.c.  To add an old spelling: one row in translate.c. */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct buf;
struct json;

/* ---- what is wrong, and what was translated -------------------------------------- */

enum config_severity { CONFIG_NOTICE, CONFIG_ERROR };

struct config_problem {
    enum config_severity severity;
    uint32_t line;   /* 0: not from a file */
    uint32_t column; /* without a line: from this option, counted from 1; 0: neither */
    bool is_unsupported; /* an error only because it is not built yet */
    const char *path;    /* "searcher.max_trials" */
    const char *text;    /* "found 'many'; expected a whole number >= 1" */
    struct config_problem *next;
};

/* More problems than this are counted, but not kept. */
enum { CONFIG_PROBLEMS_MOST = 200 };

struct config_report {
    struct arena *mem;            /* what is reported lives here */
    const char *name;             /* the file, for messages; may be NULL */
    const char *const *options;   /* what was said beside it: "--config a.b=1"; may be
                                     NULL */
    struct config_problem *first; /* in the order of the file */
    uint32_t count;               /* how many are kept */
    uint32_t errors;
    uint32_t unsupported; /* of the errors, those of things not built yet */
    uint32_t notices;
};

#define CONFIG_REPORT(arena, file)                                                     \
    {                                                                                  \
        .mem = (arena), .name = (file)                                                 \
    }

/* One line a problem: "c.yaml:4:3: searcher.max_trials: found ...; expected ...". */
void config_report_write(const struct config_report *report,
                         enum config_severity at_least, struct buf *out);
/* DET_OK when there are no errors; DET_UNSUPPORTED when all of them are about things
 * that are not built yet; else DET_INVALID.  All lines go into one text.  DET_NOMEM
 * when the report itself ran out of memory. */
det_status config_report_status(const struct config_report *report, struct err *err);

/* A file's text to a tree in the report's arena, with notices of what YAML takes for
 * something else than what was probably meant. */
det_status config_parse(const char *text, size_t len, struct config_report *report,
                        struct json **ret_tree, struct err *err);

/* ---- experiments ---------------------------------------------------------------- */

/* A grid of more points would not end in a lifetime: it is a slip, and refused. */
enum { CONFIG_GRID_MOST = 1000000 };

/* What the master adds where the file is silent. */
struct experiment_defaults {
    const struct json *template_config;         /* NULL: none; wins over the rest */
    const struct json *checkpoint_storage;      /* NULL: the directory below */
    const char *checkpoint_directory;           /* shared_fs at this path */
    const struct json *task_container_defaults; /* NULL: none */
    uint32_t seed;                              /* reproducibility.experiment_seed */
    const char *name;                           /* for an experiment without one */
};

enum checkpoint_storage_kind { STORAGE_SHARED_FS, STORAGE_DIRECTORY };

/* A complete, checked configuration: the tree, and what the platform itself uses of it.
 * Everything lives in the arena it was loaded into. */
struct experiment_config {
    const struct json *tree; /* complete, every key in the reference's order */
    const char *json;        /* the same as text */
    const char *name;
    const char *description; /* NULL: none */
    const struct json *labels;
    const struct json *entrypoint; /* string, list; NULL: the folder's __init__.py */
    const struct json *searcher;
    const struct json *hyperparameters;
    const char *searcher_name;
    const char *metric; /* NULL: the only validation metric, else loss */
    bool smaller_is_better;
    uint32_t seed;
    int64_t trial_seed; /* of every trial; -1: each draws its own */
    uint32_t max_restarts;
    uint32_t slots_per_trial;
    uint32_t priority; /* 0: the pool's default */
    double weight;
    int64_t max_slots; /* -1: no cap */
    bool is_single_node;
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
    const char *project;
    const char *workspace;
    int64_t source_trial_id;            /* 0: none */
    const char *source_checkpoint_uuid; /* NULL: none */
};

/* The whole road for a submitted file.  Problems go to `report`; the status is
 * DET_INVALID when there are any errors, DET_UNSUPPORTED when the only errors are keys
 * or values that are not built yet (each named).  Borrows nothing but `defaults`'
 * trees. */
det_status experiment_config_load(const char *text, size_t len,
                                  const struct experiment_defaults *defaults,
                                  struct arena *mem, struct config_report *report,
                                  struct experiment_config *ret_config,
                                  struct err *err);
/* The same from a tree that was parsed by the caller, and is changed.  A value of
 * `line` 0 and `column` n comes from the report's n-th option. */
det_status experiment_config_load_tree(struct json *tree,
                                       const struct experiment_defaults *defaults,
                                       struct arena *mem, struct config_report *report,
                                       struct experiment_config *ret_config,
                                       struct err *err);
/* The same from a complete tree that was stored before (no translation, no merging). */
det_status experiment_config_open(const char *json, size_t len, struct arena *mem,
                                  struct experiment_config *ret_config,
                                  struct err *err);

/* `base` below `over`: maps merge, the rest is replaced, lists as the facts say.
 * Returns a new tree in `mem` (NULL: out of memory). */
struct json *config_merge(struct arena *mem, const struct json *over,
                          const struct json *base);

/* ---- jobs ------------------------------------------------------------------------ */

struct job_defaults {
    const struct json *task_container_defaults; /* NULL: none */
    const char *name;                           /* for a job without one */
};

/* A complete, checked configuration of a program that trains nothing; lives in the
 * arena it was loaded into. */
struct job_config {
    const struct json *tree;
    const char *json; /* the same as text */
    const char *name;
    const struct json *entrypoint; /* string or list */
    int64_t slots;
    int64_t priority; /* 0: the pool's default */
    double weight;
    bool is_single_node;
    const char *resource_pool; /* "": the default */
    int64_t preemption_timeout_s;
    const struct json *environment_variables; /* list of "K=V" for CPU tasks */
};

/* As experiment_config_load() and its kin. */
det_status job_config_load(const char *text, size_t len,
                           const struct job_defaults *defaults, struct arena *mem,
                           struct config_report *report, struct job_config *ret_config,
                           struct err *err);
det_status job_config_load_tree(struct json *tree, const struct job_defaults *defaults,
                                struct arena *mem, struct config_report *report,
                                struct job_config *ret_config, struct err *err);
/* Borrows `json`, which is complete. */
det_status job_config_open(const char *json, struct arena *mem,
                           struct job_config *ret_config, struct err *err);

/* ---- the tables, for `det config explain`, `det config defaults` and the docs ---- */

enum config_kind { CONFIG_EXPERIMENT, CONFIG_MASTER, CONFIG_AGENT, CONFIG_JOB };

struct config_key;
const struct config_key *config_keys(enum config_kind kind, size_t *ret_count);
/* "searcher.max_trials"; DET_NOT_FOUND names the nearest key. */
det_status config_explain(enum config_kind kind, const char *path, struct buf *out,
                          struct err *err);
/* The defaults as YAML, with the help as comments. */
void config_defaults_write(enum config_kind kind, struct buf *out);
/* Every key as a Markdown table, for docs/guide. */
void config_reference_write(enum config_kind kind, struct buf *out);

/* ---- master, agent and job files ------------------------------------------------- */

/* A checked, completed tree; read it with json_path().  Sizes are bytes and durations
 * seconds there, whatever was written.  `overrides` (from flags and environment; may be
 * NULL) win over the file; their strings are read as YAML scalars where the key is not
 * a string.  `text` may be NULL for no file.  The tree lives in the report's arena. Not
 * for experiments, which need more: see experiment_config_load(). */
det_status config_load(enum config_kind kind, const char *text, size_t len,
                       const struct json *overrides, struct config_report *report,
                       struct json **ret_tree, struct err *err);

/* A copy with every secret shown as stars; NULL: out of memory. */
struct json *config_mask(enum config_kind kind, const struct json *tree,
                         struct arena *mem);

#endif
