/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - the options of commands, one struct each; commands.c has their tables. */
#ifndef CLI_FRAME_OPTIONS_H
#define CLI_FRAME_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/field.h"

struct create_options {
    bool paused;
    bool follow;
    struct field_strs config; /* "key=value" */
    int64_t project_id;
    bool test;
    int64_t fork;           /* CLI_UNSET: no fork */
    const char *checkpoint; /* NULL: from the beginning */
    struct field_strs includes;
};

struct continue_options {
    bool follow;
    const char *config_file;  /* NULL: none */
    struct field_strs config; /* "key=value" */
};

struct list_options {
    bool all;
    struct field_strs states;
    struct field_strs labels;
    const char *name;
    int64_t limit;     /* 0, CLI_UNSET: all */
    int64_t offset;    /* CLI_UNSET: 0 */
    const char *pages; /* "1" or "all"; NULL: not given */
    bool show_project;
    const char *query;
};

struct trial_list_options {
    int64_t limit;  /* 0: all; CLI_UNSET: what fits */
    int64_t offset; /* CLI_UNSET: 0 */
    int64_t best;   /* CLI_UNSET: not only the best */
    const char *sort;
    bool reverse;
    const char *pages; /* "1" or "all"; NULL: not given */
    bool metrics;      /* only describe */
};

struct space_list_options {
    bool all;
    const char *sort_by;  /* "id" or "name" */
    const char *order_by; /* "asc" or "desc" */
};

struct workspace_options {
    const char *name;         /* edit */
    const char *storage;      /* YAML */
    const char *storage_file; /* a file with that */
    int64_t agent_uid;        /* CLI_UNSET: not given */
    int64_t agent_gid;
    const char *agent_user;
    const char *agent_group;
    const char *compute_pool;
    const char *aux_pool;
};

struct project_options {
    const char *name; /* edit */
    const char *description;
    const char *key;
};

struct yes_options {
    bool yes;
};

struct wait_options {
    int64_t timeout;
    int64_t interval; /* seconds; CLI_UNSET: ours */
};

struct log_options {
    bool follow;
    int64_t tail;
    int64_t head;
    const char *level;
    struct field_strs rank_ids;
    struct field_strs agent_ids;
    struct field_strs container_ids;
    struct field_strs allocation_ids;
    struct field_strs sources;
    struct field_strs stdtypes;
    const char *after;
    const char *before;
    const char *search;
    bool regex;
    const char *output;
};

struct metric_options {
    const char *group;
    struct field_strs names;
    int64_t trials;
    int64_t height;
    bool lost;
};

struct proof_options {
    int64_t kills;
    int64_t seed;             /* CLI_UNSET: chance */
    struct field_strs config; /* "key=value" */
    struct field_strs ignored_metrics;
    struct field_strs ignored_files;
    struct field_strs ignored_keys;
    const char *profile; /* NULL: the one that fits the checkpoint */
};

struct checkpoint_options {
    int64_t best;
};

struct checkpoint_list_options {
    int64_t experiment;
    int64_t trial;
};

struct gc_options {
    int64_t save_experiment_best;
    int64_t save_trial_best;
    int64_t save_trial_latest;
    bool yes;
};

struct import_options {
    bool in_place;
};

struct retention_options {
    int64_t days;
    bool forever;
};

struct download_options {
    const char *output;
    /* only checkpoints */
    bool quiet;
    const char *mode;
    bool best;        /* of a trial */
    bool latest;      /* likewise */
    const char *uuid; /* likewise */
    int64_t top;      /* of an experiment */
};

struct drain_options {
    bool drain;
    bool all; /* only agents */
};

struct trial_describe_options {
    bool metrics; /* they are always printed */
};

struct job_run_options {
    bool follow;
    bool no_pause;
    struct field_strs config; /* "key=value" */
    int64_t project_id;
    const char *workspace;
    struct field_strs includes;
};

struct task_list_options {
    bool all;
};

struct job_list_options {
    const char *resource_pool;
    int64_t limit;     /* 0, CLI_UNSET: all */
    int64_t offset;    /* CLI_UNSET: 0 */
    const char *pages; /* "1" or "all"; NULL: not given */
    bool reverse;
};

struct job_update_options {
    int64_t priority;
    double weight;
    const char *resource_pool;
};

struct resources_options {
    bool monthly;
    bool by_experiment;
};

struct audit_list_options {
    const char *by;
    const char *action;
    const char *object;
    const char *since;
    int64_t limit;
};

struct kind_options {
    const char *kind;
};

struct report_options {
    int64_t steps;
    bool validation;
    const char *group;
    double progress;
    const char *status;
    bool invalid_hp;
    bool wait;
};

struct checkpoint_save_options {
    int64_t steps;
    const char *metadata;
    bool wait;
};

struct tensorboard_list_options {
    bool all;
    const char *workspace;
};

struct tensorboard_start_options {
    struct field_strs trial_ids;
    const char *name;
    const char *workspace;
    int64_t timeout; /* seconds; CLI_UNSET: the master's */
    bool detach;
    bool no_browser;
};

struct tensorboard_open_options {
    bool no_browser;
};

struct master_certificate_options {
    const char *data_dir;
};

struct trust_options {
    const char *fingerprint;
    bool forget;
};

struct doctor_options {
    const char *data_dir;
};

struct env_list_options {
    const char *data_dir;
};

struct env_prune_options {
    const char *data_dir;
    int64_t unused_for; /* days */
    bool all;
};

struct reproduce_options {
    bool follow;
};

struct launch_options {
    int64_t ranks;
};

struct launch_torch_options {
    int64_t ranks;
    int64_t nodes;
    int64_t node_rank;
    const char *address;
    int64_t port;
};

struct ui_options {
    int64_t port; /* 0: a free one */
    bool no_browser;
};

struct launch_tensorflow_options {
    int64_t port;
    int64_t replicas;
};

struct checkpoint_restore_options {
    const char *uuid;
    bool unchecked;
};

#endif
