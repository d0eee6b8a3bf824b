/* SPDX-License-Identifier: Apache-2.0 */
/* experiment_tables.c - the options of experiments, trials and checkpoints. */
#include "cli/frame/options.h"
#include "cli/options/option_rows.h"
#include "cli/options/option_tables.h"

const struct cli_opt create_opts[] = {
    FLAG(0, "paused", create_options, paused, "create it, but do not start it"),
    FLAG('f', "follow", create_options, follow,
         "print the first trial's logs until the experiment ends",
         ALSO("follow-first-trial")),
    PAIRS(0, "config", create_options, config, "KEY=VALUE",
          "override a key of CONFIG (the value is YAML); may be repeated"),
    NUMBER(0, "project_id", create_options, project_id, "ID", 1, COUNT_MOST,
           "put it in this project"),
    NUMBER(0, "fork", create_options, fork, "ID", 1, INT64_MAX,
           "start with the configuration and code of this experiment"),
    TEXT(0, "checkpoint", create_options, checkpoint, "UUID",
         "start its trials from this checkpoint"),
    FLAG('t', "test", create_options, test,
         "with --local: one batch, one validation, one checkpoint", ALSO("test-mode")),
    PAIRS('i', "include", create_options, includes, "PATH",
          "also send this file or folder; may be repeated"),
    END,
};

const struct cli_opt continue_opts[] = {
    PAIRS(0, "config", continue_options, config, "KEY=VALUE",
          "change a key of its configuration (the value is YAML); may be repeated"),
    TEXT(0, "config-file", continue_options, config_file, "FILE",
         "change the keys in this YAML file"),
    FLAG('f', "follow", continue_options, follow,
         "print the first trial's logs until the experiment ends",
         ALSO("follow-first-trial")),
    END,
};

const struct cli_opt list_opts[] = {
    FLAG('a', "all", list_options, all,
         "also archived experiments and those of other users"),
    TEXTS('s', "state", list_options, states, "STATE",
          "only in this state: ACTIVE, PAUSED, COMPLETED, CANCELED, ERROR",
          .offers = (const char *const[]){"ACTIVE", "PAUSED", "COMPLETED", "CANCELED",
                                          "ERROR", "QUEUED", "RUNNING", NULL}),
    TEXTS('l', "label", list_options, labels, "LABEL", "only with this label"),
    TEXT('n', "name", list_options, name, "TEXT", "only with this text in the name"),
    NUMBER(0, "limit", list_options, limit, "N", 0, COUNT_MOST,
           "only the newest N; 0: all"),
    NUMBER(0, "offset", list_options, offset, "N", 0, COUNT_MOST,
           "leave out the newest N"),
    PAGES(list_options),
    FLAG(0, "show-project", list_options, show_project,
         "also show the workspace and the project of each"),
    TEXT(0, "query", list_options, query, "QUERY",
         "only matches, as in 'val_loss < 0.3 and lr >= 1e-3'"),
    END,
};

#define TRIAL_LIST_OPTS                                                                \
    NUMBER(0, "best", trial_list_options, best, "N", 1, COUNT_MOST,                    \
           "only the best N trials by the searcher's metric, the best first"),         \
        NUMBER(                                                                        \
            0, "limit", trial_list_options, limit, "N", 0, COUNT_MOST,                 \
            "at most N trials; 0: all (default: what fits on the screen, else all)"),  \
        NUMBER(0, "offset", trial_list_options, offset, "N", 0, COUNT_MOST,            \
               "leave out the first N trials"),                                        \
        PAGES(trial_list_options),                                                     \
        TEXT(0, "sort", trial_list_options, sort, "KEY",                               \
             "order: id, state, batches, best, restarts, started, ended or took",      \
             CHOICES("id", "state", "batches", "best", "restarts", "started", "ended", \
                     "took")),                                                         \
        FLAG('r', "reverse", trial_list_options, reverse, "the other way round")

const struct cli_opt trial_list_opts[] = {
    TRIAL_LIST_OPTS,
    END,
};

const struct cli_opt describe_opts[] = {
    TRIAL_LIST_OPTS,
    FLAG(0, "metrics", trial_list_options, metrics,
         "also the last, lowest and highest value of every metric"),
    END,
};

const struct cli_opt wait_opts[] = {
    NUMBER(0, "timeout", wait_options, timeout, "SECONDS", 1, COUNT_MOST,
           "give up after this time (exit code 9)"),
    NUMBER(0, "polling-interval", wait_options, interval, "SECONDS", 1, 86400,
           "ask the master this often (default: up to every 2 seconds)"),
    END,
};

#define LOG_LEVELS "TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"

const struct cli_opt log_opts[] = {
    FLAG('f', "follow", log_options, follow, "keep printing until the task ends"),
    NUMBER(0, "tail", log_options, tail, "N", 1, COUNT_MOST, "only the last N lines"),
    NUMBER(0, "head", log_options, head, "N", 1, COUNT_MOST, "only the first N lines"),
    TEXT(0, "level", log_options, level, "LEVEL", "only lines of this level and above",
         CHOICES(LOG_LEVELS)),
    TEXTS(0, "rank-id", log_options, rank_ids, "RANK",
          "only lines of this rank; may be repeated"),
    TEXTS(0, "agent-id", log_options, agent_ids, "AGENT",
          "only lines from this agent; may be repeated"),
    TEXTS(0, "container-id", log_options, container_ids, "ID",
          "only lines from this container; may be repeated"),
    TEXTS(0, "allocation-id", log_options, allocation_ids, "ID",
          "only lines of this run of the task; may be repeated"),
    TEXTS(0, "source", log_options, sources, "SOURCE",
          "only lines from this source: task, master, ...; may be repeated"),
    TEXTS(0, "stdtype", log_options, stdtypes, "STREAM", "only lines of this stream",
          CHOICES("stdout", "stderr")),
    TEXT(0, "timestamp-after", log_options, after, "TIME",
         "only lines after this time (2026-11-15T10:00:00Z)"),
    TEXT(0, "timestamp-before", log_options, before, "TIME",
         "only lines up to this time"),
    TEXT(0, "search", log_options, search, "TEXT", "only lines that contain this text"),
    FLAG(0, "regex", log_options, regex, "--search is a regular expression"),
    TEXT('o', "output", log_options, output, "FILE", "write the lines to this file"),
    END,
};

const struct cli_opt metric_opts[] = {
    TEXT('g', "group", metric_options, group, "GROUP",
         "only this group: training, validation, ..."),
    TEXTS('n', "name", metric_options, names, "NAME", "only this metric"),
    NUMBER(0, "trials", metric_options, trials, "N", 1, 64,
           "draw at most N trials, the best ones", .def = "6"),
    NUMBER(0, "height", metric_options, height, "ROWS", 3, 100, "height of a chart",
           .def = "12"),
    FLAG(0, "lost", metric_options, lost,
         "also reports that were lost and repeated; for --csv and --json"),
    END,
};

const struct cli_opt proof_opts[] = {
    NUMBER('n', "kills", proof_options, kills, "N", 1, 100000,
           "kill the experiment N times", .def = "20"),
    NUMBER(0, "seed", proof_options, seed, "N", 0, INT64_MAX,
           "seed of the kill times (default: random)"),
    PAIRS(0, "config", proof_options, config, "KEY=VALUE",
          "override a key of CONFIG (the value is YAML); may be repeated"),
    TEXTS(0, "ignore-metric", proof_options, ignored_metrics, "PATTERN",
          "do not compare metrics: 'seconds', 'training.*_time'; may be repeated"),
    TEXTS(0, "ignore-file", proof_options, ignored_files, "PATTERN",
          "do not compare files of the checkpoint: '*.log'; may be repeated"),
    TEXTS(0, "ignore-key", proof_options, ignored_keys, "PATTERN",
          "do not compare values of such keys: 'saved_at'; may be repeated"),
    TEXT(0, "profile", proof_options, profile, "NAME",
         "transformers, lightning or none (default: that of the checkpoint)"),
    END,
};

const struct cli_opt checkpoint_opts[] = {
    NUMBER(0, "best", checkpoint_options, best, "N", 1, COUNT_MOST,
           "only the best N by the searcher's metric"),
    END,
};

const struct cli_opt checkpoint_list_opts[] = {
    NUMBER('e', "experiment", checkpoint_list_options, experiment, "ID", 1, INT64_MAX,
           "checkpoints of this experiment"),
    NUMBER('t', "trial", checkpoint_list_options, trial, "ID", 1, INT64_MAX,
           "checkpoints of this trial"),
    END,
};

#define DOWNLOAD_OPTS                                                                  \
    TEXT(0, "mode", download_options, mode, "MODE",                                    \
         "direct (from the storage), master (through it) or auto",                     \
         CHOICES("auto", "direct", "master"), .def = "auto"),                          \
        FLAG('q', "quiet", download_options, quiet, "print nothing")

const struct cli_opt checkpoint_download_opts[] = {
    TEXT('o', "output-dir", download_options, output, "DIR",
         "write into this directory (default: checkpoints/UUID)"),
    DOWNLOAD_OPTS,
    END,
};

const struct cli_opt trial_download_opts[] = {
    FLAG(0, "best", download_options, best, "the one with the best validation"),
    FLAG(0, "latest", download_options, latest, "the latest one"),
    TEXT(0, "uuid", download_options, uuid, "UUID", "this one"),
    TEXT('o', "output-dir", download_options, output, "DIR",
         "write into this directory (default: checkpoints/UUID)"),
    DOWNLOAD_OPTS,
    END,
};

const struct cli_opt experiment_download_opts[] = {
    NUMBER(0, "top-n", download_options, top, "N", 1, COUNT_MOST,
           "the best N by the searcher's metric", .def = "1"),
    TEXT('o', "output-dir", download_options, output, "DIR",
         "write into folders of this directory", .def = "checkpoints"),
    DOWNLOAD_OPTS,
    END,
};

const struct cli_opt gc_opts[] = {
    NUMBER(0, "save-experiment-best", gc_options, save_experiment_best, "N", 0,
           COUNT_MOST, "keep the best N checkpoints of the experiment"),
    NUMBER(0, "save-trial-best", gc_options, save_trial_best, "N", 0, COUNT_MOST,
           "keep the best N checkpoints of each trial"),
    NUMBER(0, "save-trial-latest", gc_options, save_trial_latest, "N", 0, COUNT_MOST,
           "keep the latest N checkpoints of each trial"),
    FLAG('y', "yes", gc_options, yes, "do not ask"),
    END,
};

const struct cli_opt import_opts[] = {
    FLAG(0, "in-place", import_options, in_place,
         "use checkpoints where they are, and do not copy them"),
    END,
};

const struct cli_opt retention_opts[] = {
    NUMBER(0, "days", retention_options, days, "N", 0, DAYS_MOST,
           "delete log lines after N days"),
    FLAG(0, "forever", retention_options, forever, "never delete log lines"),
    END,
};

const struct cli_opt download_opts[] = {
    TEXT('o', "output-dir", download_options, output, "DIR",
         "unpack into this directory (default: experiment_ID_model_def)"),
    END,
};

const struct cli_opt trial_describe_opts[] = {
    FLAG(0, "metrics", trial_describe_options, metrics,
         "print the metrics (as without it)"),
    END,
};

const struct cli_opt reproduce_opts[] = {
    FLAG('f', "follow", reproduce_options, follow,
         "print its logs until it ends, then compare"),
    END,
};
