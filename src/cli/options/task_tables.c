/* SPDX-License-Identifier: Apache-2.0 */
/* task_tables.c - the options of jobs, TensorBoards, environments, and scripts inside a task. */
#include "agent/env/enter.h"
#include "cli/frame/options.h"
#include "cli/options/option_rows.h"
#include "cli/options/option_tables.h"

const struct cli_opt job_run_opts[] = {
    FLAG('f', "follow", job_run_options, follow, "print its logs until it ends"),
    FLAG(0, "no-pause", job_run_options, no_pause, "never pause or preempt it"),
    PAIRS(0, "config", job_run_options, config, "KEY=VALUE",
          "override a key of CONFIG (the value is YAML); may be repeated"),
    NUMBER(0, "project_id", job_run_options, project_id, "ID", 1, COUNT_MOST,
           "put it in the workspace of this project"),
    TEXT('w', "workspace-name", job_run_options, workspace, "WORKSPACE",
         "put it in this workspace"),
    PAIRS('i', "include", job_run_options, includes, "PATH",
          "also send this file or folder; may be repeated"),
    END,
};

const struct cli_opt task_list_opts[] = {
    FLAG('a', "all", task_list_options, all, "also ended jobs"),
    END,
};

const struct cli_opt job_list_opts[] = {
    TEXT('p', "resource-pool", job_list_options, resource_pool, "POOL",
         "only this resource pool", ALSO("-rp")),
    NUMBER(0, "limit", job_list_options, limit, "N", 0, COUNT_MOST,
           "only the first N; 0: all"),
    NUMBER(0, "offset", job_list_options, offset, "N", 0, COUNT_MOST,
           "leave out the first N"),
    PAGES(job_list_options),
    FLAG(0, "reverse", job_list_options, reverse, "the last of the queue first"),
    END,
};

const struct cli_opt job_update_opts[] = {
    NUMBER('p', "priority", job_update_options, priority, "1-99", 1, 99,
           "a new priority; 1 comes first"),
    REAL('w', "weight", job_update_options, weight, "W", "a new weight for fair share"),
    TEXT(0, "resource-pool", job_update_options, resource_pool, "POOL",
         "move it to this resource pool", ALSO("-rp")),
    END,
};

const struct cli_opt report_opts[] = {
    NUMBER(0, "steps", report_options, steps, "N", 0, INT64_MAX,
           "batches trained so far"),
    FLAG(0, "validation", report_options, validation, "these are validation metrics"),
    TEXT(0, "group", report_options, group, "GROUP",
         "group of the metrics (default: training)"),
    REAL(0, "progress", report_options, progress, "P",
         "progress of the trial, from 0 to 1"),
    TEXT(0, "status", report_options, status, "WORD", "what the trial is doing"),
    FLAG(0, "invalid-hp", report_options, invalid_hp,
         "these hyperparameters cannot be trained"),
    FLAG(0, "wait", report_options, wait,
         "return when the master has stored everything"),
    END,
};

const struct cli_opt checkpoint_save_opts[] = {
    NUMBER(0, "steps", checkpoint_save_options, steps, "N", 0, INT64_MAX,
           "batches trained so far"),
    TEXT(0, "metadata", checkpoint_save_options, metadata, "JSON",
         "your own metadata, a JSON object"),
    FLAG(0, "wait", checkpoint_save_options, wait,
         "return when the master has stored the report"),
    END,
};

const struct cli_opt checkpoint_restore_opts[] = {
    TEXT(0, "uuid", checkpoint_restore_options, uuid, "UUID",
         "the checkpoint (default: the latest)"),
    FLAG(0, "unchecked", checkpoint_restore_options, unchecked,
         "do not check the files against the manifest"),
    END,
};

const struct cli_opt env_list_opts[] = {
    ENV_DATA(env_list_options),
    END,
};

const struct cli_opt env_prune_opts[] = {
    ENV_DATA(env_prune_options),
    NUMBER(0, "unused-for", env_prune_options, unused_for, "DAYS", 0, DAYS_MOST,
           "only environments unused for DAYS days", .def = "30"),
    FLAG(0, "all", env_prune_options, all, "all environments that are not in use"),
    END,
};

const struct cli_opt enter_opts[] = {
    TEXT(0, "envs", enter_options, envs, "DIR", "folder of environments"),
    TEXT(0, "record", enter_options, record, "FILE",
         "file for the record of the environment"),
    TEXT(0, "failure", enter_options, failure, "FILE",
         "file for the error, after a failure"),
    TEXT(0, "python", enter_options, python, "NAME", "the interpreter"),
    TEXT(0, "requirements", enter_options, requirements, "FILE", "packages"),
    PAIRS(0, "require", enter_options, require, "LINE", "one package"),
    TEXT(0, "package", enter_options, package, "DIR",
         "folder of the determined package"),
    TEXT(0, "code", enter_options, code, "SUM", "checksum of the task's files"),
    PAIRS(0, "gpu", enter_options, gpus, "NAME", "one GPU"),
    END,
};

const struct cli_opt tensorboard_list_opts[] = {
    FLAG('a', "all", tensorboard_list_options, all, "also ended ones"),
    TEXT('w', "workspace-name", tensorboard_list_options, workspace, "WORKSPACE",
         "only of this workspace"),
    END,
};

const struct cli_opt tensorboard_start_opts[] = {
    TEXTS('t', "trial-ids", tensorboard_start_options, trial_ids, "ID",
          "show these trials, with or without experiments"),
    TEXT(0, "name", tensorboard_start_options, name, "NAME", "name in lists"),
    TEXT('w', "workspace-name", tensorboard_start_options, workspace, "WORKSPACE",
         "put it in this workspace"),
    NUMBER(0, "timeout", tensorboard_start_options, timeout, "SECONDS", 0, 2147483647,
           "end after this time without use; 0: never (default: the master's)"),
    FLAG('d', "detach", tensorboard_start_options, detach,
         "do not wait until it is ready"),
    FLAG(0, "no-browser", tensorboard_start_options, no_browser,
         "only print its address"),
    END,
};

const struct cli_opt tensorboard_open_opts[] = {
    FLAG(0, "no-browser", tensorboard_open_options, no_browser,
         "only print its address"),
    END,
};

const struct cli_opt launch_opts[] = {
    NUMBER('n', "ranks", launch_options, ranks, "N", 1, 65536,
           "number of ranks (default: one per slot of the task)"),
    END,
};

/* The names are those of torchrun. */
const struct cli_opt launch_torch_opts[] = {
    NUMBER('n', "nproc-per-node", launch_torch_options, ranks, "N", 1, 65536,
           "processes on this node (default: one per slot)"),
    NUMBER(0, "nnodes", launch_torch_options, nodes, "N", 1, 65536,
           "number of nodes (default: those of the task)"),
    NUMBER(0, "node-rank", launch_torch_options, node_rank, "N", 0, 65535,
           "rank of this node"),
    TEXT(0, "master-addr", launch_torch_options, address, "HOST",
         "address of the first node (default: from the task)"),
    NUMBER(0, "master-port", launch_torch_options, port, "PORT", 1, 65535,
           "port of the first node (default: C10D_PORT, else a free one, or 29400)"),
    END,
};

#define REPLICAS                                                                       \
    NUMBER('n', "replicas", launch_tensorflow_options, replicas, "N", 1, 1024,         \
           "replicas on processors (default: one per slot)")

const struct cli_opt launch_tensorflow_opts[] = {
    NUMBER(0, "port", launch_tensorflow_options, port, "PORT", 1, 65535,
           "port of the nodes (default: C10D_PORT, else 29400)"),
    REPLICAS,
    END,
};

const struct cli_opt launch_mirrored_opts[] = {
    REPLICAS,
    END,
};
