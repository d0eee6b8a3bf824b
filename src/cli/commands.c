/* SPDX-License-Identifier: Apache-2.0 */
/* commands.c - the whole command line of det, one row a command.
 *
 * Help, man pages, completion and the parser read these tables; nothing about a command
 * is said a second time. */
#include <stddef.h>

#include "agent/env/enter.h"
#include "base/compiler.h"
#include "cli/options.h"
#include "cli/roles.h"
#include "cli/run.h"
#include "cli/table_of_commands.h"

/* ---- options ----------------------------------------------------------------------
 * letter, name, struct, member, ... */

#define FLAG(letter_, name_, struct_, member_, help_)                                  \
    {                                                                                  \
        .kind = OPT_FLAG, .letter = (letter_), .name = (name_), .help = (help_),       \
        .offset = offsetof(struct struct_, member_)                                    \
    }
#define TEXT(letter_, name_, struct_, member_, value_, help_, ...)                     \
    {                                                                                  \
        .kind = OPT_TEXT, .letter = (letter_), .name = (name_), .value = (value_),     \
        .help = (help_), .offset = offsetof(struct struct_, member_), __VA_ARGS__      \
    }
#define TEXTS(letter_, name_, struct_, member_, value_, help_, ...)                    \
    {                                                                                  \
        .kind = OPT_TEXTS, .letter = (letter_), .name = (name_), .value = (value_),    \
        .help = (help_), .offset = offsetof(struct struct_, member_), __VA_ARGS__      \
    }
#define PAIRS(letter_, name_, struct_, member_, value_, help_)                         \
    {                                                                                  \
        .kind = OPT_PAIRS, .letter = (letter_), .name = (name_), .value = (value_),    \
        .help = (help_), .offset = offsetof(struct struct_, member_)                   \
    }
#define NUMBER(letter_, name_, struct_, member_, value_, min_, max_, help_, ...)       \
    {                                                                                  \
        .kind = OPT_NUMBER, .letter = (letter_), .name = (name_), .value = (value_),   \
        .help = (help_), .offset = offsetof(struct struct_, member_), .min = (min_),   \
        .max = (max_), __VA_ARGS__                                                     \
    }
#define REAL(letter_, name_, struct_, member_, value_, help_)                          \
    {                                                                                  \
        .kind = OPT_REAL, .letter = (letter_), .name = (name_), .value = (value_),     \
        .help = (help_), .offset = offsetof(struct struct_, member_)                   \
    }
#define END                                                                            \
    {                                                                                  \
        .kind = OPT_END                                                                \
    }
#define CHOICES(...)                                                                   \
    .choices = (const char *const[])                                                   \
    {                                                                                  \
        __VA_ARGS__, NULL                                                              \
    }
#define HAS(struct_, member_) .has = offsetof(struct struct_, member_) + 1

enum { COUNT_MOST = 1000000000, DAYS_MOST = 36500 };

const struct cli_opt cli_global_opts[] = {
    TEXT('m', "master", cli_globals, master, "URL",
         "the master (default: DET_MASTER, else the local one)"),
    TEXT('u', "user", cli_globals, user, "NAME", "call as this user"),
    FLAG('h', "help", cli_globals, wants_help, "print help and exit"),
    FLAG(0, "version", cli_globals, wants_version, "print the version and exit"),
    FLAG(0, "json", cli_globals, wants_json, "print JSON"),
    FLAG(0, "csv", cli_globals, wants_csv, "print comma-separated values"),
    TEXT(0, "local", cli_globals, local, "DIR",
         "runs without a master, in DIR or where they usually lie",
         .is_optional = true),
    END,
};

static const struct cli_opt create_opts[] = {
    FLAG(0, "paused", create_options, paused, "create it, but do not start it"),
    FLAG('f', "follow", create_options, follow,
         "print the first trial's logs until the experiment ends"),
    PAIRS(0, "config", create_options, config, "KEY=VALUE",
          "override a key of CONFIG (the value is YAML); may be repeated"),
    NUMBER(0, "project_id", create_options, project_id, "ID", 1, COUNT_MOST,
           "put it in this project"),
    TEXT(0, "template", create_options, template_name, "NAME",
         "complete CONFIG from this template"),
    NUMBER(0, "fork", create_options, fork, "ID", 1, INT64_MAX,
           "begin with the configuration and the code of this experiment"),
    TEXT(0, "checkpoint", create_options, checkpoint, "UUID",
         "let its trials begin from this checkpoint"),
    FLAG('t', "test", create_options, test,
         "with --local: one batch, one validation, one checkpoint"),
    END,
};

static const struct cli_opt continue_opts[] = {
    PAIRS(0, "config", continue_options, config, "KEY=VALUE",
          "change a key of its configuration (the value is YAML); may be repeated"),
    TEXT(0, "config-file", continue_options, config_file, "FILE",
         "change what this YAML file has"),
    FLAG('f', "follow", continue_options, follow,
         "print the first trial's logs until the experiment ends"),
    END,
};

static const struct cli_opt list_opts[] = {
    FLAG('a', "all", list_options, all, "also archived ones and those of other users"),
    TEXTS('s', "state", list_options, states, "STATE",
          "only those in this state: ACTIVE, PAUSED, COMPLETED, CANCELED, ERROR"),
    TEXTS('l', "label", list_options, labels, "LABEL", "only those with this label"),
    TEXT('n', "name", list_options, name, "TEXT", "only those with this in their name"),
    NUMBER(0, "limit", list_options, limit, "N", 1, COUNT_MOST, "only the newest N"),
    END,
};

static const struct cli_opt yes_opts[] = {
    FLAG('y', "yes", yes_options, yes, "do not ask"),
    END,
};

static const struct cli_opt wait_opts[] = {
    NUMBER(0, "timeout", wait_options, timeout, "SECONDS", 1, COUNT_MOST,
           "give up after this time (exit code 9)"),
    END,
};

#define LOG_LEVELS "TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"

static const struct cli_opt log_opts[] = {
    FLAG('f', "follow", log_options, follow, "go on until the task ends"),
    NUMBER(0, "tail", log_options, tail, "N", 1, COUNT_MOST, "only the last N lines"),
    NUMBER(0, "head", log_options, head, "N", 1, COUNT_MOST, "only the first N lines"),
    TEXT(0, "level", log_options, level, "LEVEL", "only lines of this level and above",
         CHOICES(LOG_LEVELS)),
    TEXTS(0, "rank-id", log_options, rank_ids, "RANK",
          "only lines of this process; may be repeated"),
    TEXTS(0, "agent-id", log_options, agent_ids, "AGENT",
          "only lines from this agent; may be repeated"),
    TEXTS(0, "container-id", log_options, container_ids, "ID",
          "only lines from this container; may be repeated"),
    TEXTS(0, "stdtype", log_options, stdtypes, "STREAM", "only lines of this stream",
          CHOICES("stdout", "stderr")),
    TEXT(0, "timestamp-after", log_options, after, "TIME",
         "only lines after this time (2026-11-15T10:00:00Z)"),
    TEXT(0, "timestamp-before", log_options, before, "TIME",
         "only lines up to this time"),
    TEXT(0, "search", log_options, search, "TEXT", "only lines that contain this"),
    FLAG(0, "regex", log_options, regex, "--search is a regular expression"),
    TEXT('o', "output", log_options, output, "FILE", "write the lines to this file"),
    END,
};

static const struct cli_opt metric_opts[] = {
    TEXT('g', "group", metric_options, group, "GROUP",
         "only this group: training, validation, ..."),
    TEXTS('n', "name", metric_options, names, "NAME", "only this metric"),
    NUMBER(0, "trials", metric_options, trials, "N", 1, 64,
           "draw at most N trials, the best ones", .def = "6"),
    NUMBER(0, "height", metric_options, height, "ROWS", 3, 100, "height of a chart",
           .def = "12"),
    FLAG(0, "lost", metric_options, lost,
         "also what was lost and redone; for --csv and --json"),
    END,
};

static const struct cli_opt proof_opts[] = {
    NUMBER('n', "kills", proof_options, kills, "N", 1, 100000,
           "kill it that many times", .def = "20"),
    NUMBER(0, "seed", proof_options, seed, "N", 0, INT64_MAX,
           "of the moments (default: others each time)"),
    PAIRS(0, "config", proof_options, config, "KEY=VALUE",
          "override a key of CONFIG (the value is YAML); may be repeated"),
    TEXTS(0, "ignore-metric", proof_options, ignored_metrics, "PATTERN",
          "leave out metrics: 'seconds', 'training.*_time'; may be repeated"),
    TEXTS(0, "ignore-file", proof_options, ignored_files, "PATTERN",
          "leave out files of the checkpoint: '*.log'; may be repeated"),
    END,
};

static const struct cli_opt checkpoint_opts[] = {
    NUMBER(0, "best", checkpoint_options, best, "N", 1, COUNT_MOST,
           "only the best N by the searcher's metric"),
    END,
};

static const struct cli_opt checkpoint_list_opts[] = {
    NUMBER('e', "experiment", checkpoint_list_options, experiment, "ID", 1, INT64_MAX,
           "those of this experiment"),
    NUMBER('t', "trial", checkpoint_list_options, trial, "ID", 1, INT64_MAX,
           "those of this trial"),
    END,
};

static const struct cli_opt checkpoint_download_opts[] = {
    TEXT('o', "output-dir", download_options, output, "DIR",
         "write into this directory (default: checkpoints/UUID)"),
    END,
};

static const struct cli_opt gc_opts[] = {
    NUMBER(0, "save-experiment-best", gc_options, save_experiment_best, "N", 0,
           COUNT_MOST, "keep the best N checkpoints of the experiment"),
    NUMBER(0, "save-trial-best", gc_options, save_trial_best, "N", 0, COUNT_MOST,
           "keep the best N checkpoints of each trial"),
    NUMBER(0, "save-trial-latest", gc_options, save_trial_latest, "N", 0, COUNT_MOST,
           "keep the latest N checkpoints of each trial"),
    FLAG('y', "yes", gc_options, yes, "do not ask"),
    END,
};

static const struct cli_opt import_opts[] = {
    FLAG(0, "in-place", import_options, in_place,
         "leave checkpoints where they are, as the experiment's storage"),
    END,
};

static const struct cli_opt ui_opts[] = {
    NUMBER(0, "port", ui_options, port, "PORT", 0, 65535,
           "listen on this port of 127.0.0.1 (default: a free one)"),
    FLAG(0, "no-browser", ui_options, no_browser, "only print the address"),
    END,
};

static const struct cli_opt retention_opts[] = {
    NUMBER(0, "days", retention_options, days, "N", 0, DAYS_MOST,
           "drop log lines after N days"),
    FLAG(0, "forever", retention_options, forever, "keep them for ever"),
    END,
};

static const struct cli_opt download_opts[] = {
    TEXT('o', "output-dir", download_options, output, "DIR",
         "unpack into this directory (default: experiment_ID_model_def)"),
    END,
};

static const struct cli_opt drain_opts[] = {
    FLAG(0, "drain", drain_options, drain, "let what runs there end by itself"),
    END,
};

static const struct cli_opt job_run_opts[] = {
    FLAG('f', "follow", job_run_options, follow, "print its logs until it ends"),
    FLAG(0, "no-pause", job_run_options, no_pause,
         "never pause it, and never preempt it"),
    PAIRS(0, "config", job_run_options, config, "KEY=VALUE",
          "override a key of CONFIG (the value is YAML); may be repeated"),
    NUMBER(0, "project_id", job_run_options, project_id, "ID", 1, COUNT_MOST,
           "put it in this project"),
    END,
};

static const struct cli_opt task_list_opts[] = {
    FLAG('a', "all", task_list_options, all, "also jobs that have ended"),
    END,
};

static const struct cli_opt job_list_opts[] = {
    TEXT('p', "resource-pool", job_list_options, resource_pool, "POOL",
         "only this resource pool"),
    END,
};

static const struct cli_opt job_update_opts[] = {
    NUMBER(0, "priority", job_update_options, priority, "1-99", 1, 99,
           "a new priority; 1 comes first"),
    REAL(0, "weight", job_update_options, weight, "W", "a new weight for fair share"),
    TEXT(0, "resource-pool", job_update_options, resource_pool, "POOL",
         "move it to this resource pool"),
    END,
};

static const struct cli_opt user_create_opts[] = {
    FLAG(0, "admin", user_create_options, admin, "an administrator"),
    TEXT(0, "password", user_create_options, password, "PASSWORD",
         "its password (default: asked for)"),
    END,
};

static const struct cli_opt user_list_opts[] = {
    FLAG('a', "all", user_list_options, all, "also inactive ones"),
    END,
};

static const struct cli_opt password_opts[] = {
    TEXT('p', "password", password_options, password, "PASSWORD",
         "the password (default: asked for)"),
    END,
};

static const struct cli_opt kind_opts[] = {
    TEXT('k', "kind", kind_options, kind, "KIND", "which kind of file",
         .def = "experiment", CHOICES("experiment", "master", "agent", "job")),
    END,
};

static const struct cli_opt report_opts[] = {
    NUMBER(0, "steps", report_options, steps, "N", 0, INT64_MAX,
           "batches trained so far"),
    FLAG(0, "validation", report_options, validation, "these are validation metrics"),
    TEXT(0, "group", report_options, group, "GROUP", "their group (default: training)"),
    REAL(0, "progress", report_options, progress, "P", "how far the trial is, 0 to 1"),
    TEXT(0, "status", report_options, status, "WORD", "what the trial is doing"),
    FLAG(0, "invalid-hp", report_options, invalid_hp,
         "it cannot be trained with these hyperparameters"),
    FLAG(0, "wait", report_options, wait, "return when everything is stored"),
    END,
};

static const struct cli_opt checkpoint_save_opts[] = {
    NUMBER(0, "steps", checkpoint_save_options, steps, "N", 0, INT64_MAX,
           "batches that the state has seen"),
    TEXT(0, "metadata", checkpoint_save_options, metadata, "JSON",
         "an object of your own"),
    FLAG(0, "wait", checkpoint_save_options, wait, "return when the master knows"),
    END,
};

static const struct cli_opt checkpoint_restore_opts[] = {
    TEXT(0, "uuid", checkpoint_restore_options, uuid, "UUID",
         "another than the latest"),
    FLAG(0, "unchecked", checkpoint_restore_options, unchecked,
         "take it as it is, without its manifest"),
    END,
};

#define SERVING_OPTS(struct_)                                                          \
    NUMBER('p', "port", struct_, port, "PORT", 0, 65535, "listen on this port",        \
           .def = "8080", HAS(struct_, has_port)),                                     \
        TEXT(0, "host", struct_, host, "ADDRESS", "listen on this address",            \
             .def = "127.0.0.1", HAS(struct_, has_host)),                              \
        TEXT(0, "data-dir", struct_, data_dir, "DIR",                                  \
             "keep everything here (default: ~/.local/share/det)"),                    \
        TEXT(0, "config", struct_, config, "FILE", "read this configuration"),         \
        TEXT(0, "initial-password", struct_, initial_password, "PASSWORD",             \
             "password of a new master's users")

static const struct cli_opt serve_opts[] = {
    SERVING_OPTS(serve_options),
    NUMBER(0, "slots", serve_options, slots, "N", 0, 4096,
           "offer N slots (default: the GPUs, else the cores)"),
    FLAG(0, "background", serve_options, background,
         "return once it answers, and go on in the background"),
    FLAG(0, "no-agent", serve_options, no_agent, "start no agent"),
    END,
};

static const struct cli_opt master_run_opts[] = {
    SERVING_OPTS(master_run_options),
    END,
};

static const struct cli_opt agent_run_opts[] = {
    TEXT(0, "id", agent_run_options, id, "ID", "its name (default: the host's)"),
    NUMBER(0, "slots", agent_run_options, slots, "N", 0, 4096,
           "offer N slots (default: the GPUs, else the cores)"),
    TEXT(0, "resource-pool", agent_run_options, resource_pool, "POOL",
         "join this resource pool"),
    TEXT(0, "data-dir", agent_run_options, data_dir, "DIR", "keep tasks here"),
    TEXT(0, "token-file", agent_run_options, token_file, "FILE",
         "the token that opens the master to agents"),
    TEXT(0, "config", agent_run_options, config, "FILE", "read this configuration"),
    END,
};

static const struct cli_opt stop_opts[] = {
    TEXT(0, "data-dir", stop_options, data_dir, "DIR",
         "the master that keeps its data here"),
    END,
};

#define ENV_DATA(struct_)                                                              \
    TEXT(0, "data-dir", struct_, data_dir, "DIR",                                      \
         "of the agent, or of its master (default: ~/.local/share/det)")

static const struct cli_opt env_list_opts[] = {
    ENV_DATA(env_list_options),
    END,
};

static const struct cli_opt env_prune_opts[] = {
    ENV_DATA(env_prune_options),
    NUMBER(0, "unused-for", env_prune_options, unused_for, "DAYS", 0, DAYS_MOST,
           "only what no task has begun with for so long", .def = "30"),
    FLAG(0, "all", env_prune_options, all, "everything that is not in use"),
    END,
};

static const struct cli_opt reproduce_opts[] = {
    FLAG('f', "follow", reproduce_options, follow,
         "print its logs until it ends, then compare"),
    END,
};

static const struct cli_opt enter_opts[] = {
    TEXT(0, "envs", enter_options, envs, "DIR", "where environments are"),
    TEXT(0, "record", enter_options, record, "FILE", "what is written"),
    TEXT(0, "failure", enter_options, failure, "FILE", "what is written instead"),
    TEXT(0, "python", enter_options, python, "NAME", "the interpreter"),
    TEXT(0, "requirements", enter_options, requirements, "FILE", "packages"),
    PAIRS(0, "require", enter_options, require, "LINE", "one package"),
    TEXT(0, "package", enter_options, package, "DIR", "what holds determined"),
    TEXT(0, "code", enter_options, code, "SUM", "of the task's files"),
    PAIRS(0, "gpu", enter_options, gpus, "NAME", "one GPU"),
    END,
};

static const struct cli_opt tensorboard_start_opts[] = {
    TEXTS('t', "trial-ids", tensorboard_start_options, trial_ids, "ID",
          "single trials, with or without experiments"),
    TEXT(0, "name", tensorboard_start_options, name, "NAME", "shown in lists"),
    NUMBER(0, "timeout", tensorboard_start_options, timeout, "SECONDS", 0, 2147483647,
           "ends when nobody looks for so long; 0: never (default: the master's)"),
    FLAG('d', "detach", tensorboard_start_options, detach,
         "do not wait until it can be looked at"),
    FLAG(0, "no-browser", tensorboard_start_options, no_browser,
         "print its address only"),
    END,
};

static const struct cli_opt tensorboard_open_opts[] = {
    FLAG(0, "no-browser", tensorboard_open_options, no_browser,
         "print its address only"),
    END,
};

static const struct cli_opt launch_opts[] = {
    NUMBER('n', "ranks", launch_options, ranks, "N", 1, 65536,
           "how many; inside a task without it: as many as it has slots"),
    END,
};

/* By the names that torchrun has for them. */
static const struct cli_opt launch_torch_opts[] = {
    NUMBER('n', "nproc-per-node", launch_torch_options, ranks, "N", 1, 65536,
           "processes here; inside a task without it: as many as it has slots"),
    NUMBER(0, "nnodes", launch_torch_options, nodes, "N", 1, 65536,
           "nodes (default: those of the task)"),
    NUMBER(0, "node-rank", launch_torch_options, node_rank, "N", 0, 65535,
           "which of them this is"),
    TEXT(0, "master-addr", launch_torch_options, address, "HOST",
         "the first of them (default: that of the task)"),
    NUMBER(0, "master-port", launch_torch_options, port, "PORT", 1, 65535,
           "on which they talk (default: C10D_PORT, else a free one, or 29400)"),
    END,
};

#define REPLICAS                                                                       \
    NUMBER('n', "replicas", launch_tensorflow_options, replicas, "N", 1, 1024,         \
           "replicas on the processors of one node (default: its slots)")

static const struct cli_opt launch_tensorflow_opts[] = {
    NUMBER(0, "port", launch_tensorflow_options, port, "PORT", 1, 65535,
           "on which the nodes talk (default: C10D_PORT, else 29400)"),
    REPLICAS,
    END,
};

static const struct cli_opt launch_mirrored_opts[] = {
    REPLICAS,
    END,
};

/* ---- nouns ----------------------------------------------------------------------- */

const struct cli_noun cli_nouns[] = {
    {"experiment", "e", "Submit, watch and steer experiments"},
    {"trial", "t", "Look at the trials of experiments"},
    {"checkpoint", "c", "What trials have saved"},
    {"agent", NULL, "The machines that offer slots"},
    {"env", NULL, "The environments that agents have built here"},
    {"slot", NULL, "The slots of agents"},
    {"job", NULL, "Programs that train nothing, and the queue"},
    {"task", NULL, "What runs or waits; jobs by their task"},
    {"tensorboard", "tb", "TensorBoard on experiments, as a task"},
    {"master", NULL, "The master itself"},
    {"user", NULL, "People: log in and out, accounts"},
    {"config", NULL, "Configuration files: check, explain, defaults"},
    {"serve", NULL, NULL},
    {"stop", NULL, NULL},
    {"import", NULL, NULL},
    {"ui", NULL, NULL},
    {"preview-search", NULL, NULL},
    {"resume-proof", NULL, NULL},
    {"report", NULL, NULL},
    {"hparam", NULL, NULL},
    {"preempted", NULL, NULL},
    {"launch", NULL, "Start a program as several ranks"},
    {"completion", NULL, NULL},
    {"version", NULL, NULL},
    {"internal", NULL, NULL},
    {NULL, NULL, NULL},
};

/* ---- commands -------------------------------------------------------------------- */

#define COMMAND(noun_, verb_, synopsis_, run_, flags_, summary_, ...)                  \
    {                                                                                  \
        .noun = (noun_), .verb = (verb_), .synopsis = (synopsis_), .run = (run_),      \
        .flags = (flags_), .summary = (summary_), __VA_ARGS__                          \
    }
#define OPTS(table_, struct_) .opts = (table_), .opts_size = sizeof(struct struct_)

#define E(verb, synopsis, run, flags, summary, ...)                                    \
    COMMAND("experiment", verb, synopsis, run, CLI_CALLS | (flags), summary,           \
            __VA_ARGS__)
#define ALIAS(words) .aliases = words

const struct cli_command cli_commands[] = {
    E("create", "[CONFIG] [CONTEXT]", run_experiment_create, CLI_LOCAL,
      "Submit an experiment", OPTS(create_opts, create_options),
      .help =
          "CONFIG is the experiment's YAML file ('-': standard input).  CONTEXT is "
          "the folder with the code; it is sent as it is, without .git and without "
          "what its .detignore file names (the patterns are those of .gitignore).  "
          "The configuration is checked before anything is sent.\n\n"
          "With --fork the configuration and the code are those of another "
          "experiment: without CONFIG its complete configuration, seeds included, "
          "as --config changes it; without CONTEXT its files.  With --checkpoint "
          "the trials begin from what any trial has saved.\n\n"
          "With --follow the exit code says how the experiment ended: 0 when it "
          "COMPLETED, else 1.\n\n"
          "With --local no master takes part: the first trial runs here, in CONTEXT "
          "itself, as one process, and its exit code is that of this command.  "
          "What it reports is kept as that of every run without a master, in DIR "
          "of --local=DIR, and shown by 'det experiment list --local'.  With "
          "--test, DET_TEST_MODE=1 asks the training loops for one batch, one "
          "validation and one checkpoint."),
    E("list", "", run_experiment_list, CLI_LISTS | CLI_LOCAL, "List experiments",
      OPTS(list_opts, list_options), ALIAS("ls")),
    E("describe", "ID...", run_experiment_describe, CLI_LISTS | CLI_LOCAL,
      "Show experiments with their trials"),
    E("config", "ID", run_experiment_config, CLI_SHOWS | CLI_LOCAL,
      "Print the complete configuration"),
    E("pause", "ID...", run_experiment_pause, 0,
      "Pause: trials save their state and give their slots back"),
    E("activate", "ID...", run_experiment_activate, 0, "Let paused experiments go on"),
    E("cancel", "ID...", run_experiment_cancel, 0, "Stop experiments gracefully"),
    E("kill", "ID...", run_experiment_kill, 0, "Stop experiments at once"),
    E("continue", "ID", run_experiment_continue, 0,
      "Let an experiment that has ended go on", OPTS(continue_opts, continue_options),
      .help = "The trial goes on from its latest checkpoint, in the same experiment, "
              "and may restart as often as one that is new.  What --config and "
              "--config-file say changes its configuration: give it a greater length "
              "to train longer.  Grid and random searches go on as they were: trials "
              "that failed or were canceled run again, completed ones do not, and what "
              "was never begun is begun.\n\n"
              "With --follow the exit code says how it ended: 0 when it COMPLETED, "
              "else 1."),
    E("archive", "ID...", run_experiment_archive, 0, "Hide experiments from lists"),
    E("unarchive", "ID...", run_experiment_unarchive, 0,
      "Show experiments in lists again"),
    E("delete", "ID...", run_experiment_delete, 0,
      "Delete experiments that are over, with their checkpoints",
      OPTS(yes_opts, yes_options)),
    E("wait", "ID", run_experiment_wait, 0, "Wait until an experiment ends",
      OPTS(wait_opts, wait_options),
      .help = "The exit code is 0 when it COMPLETED, else 1."),
    E("logs", "ID", run_experiment_logs, CLI_SHOWS | CLI_LOCAL,
      "Print the first trial's logs", OPTS(log_opts, log_options)),
    E("metrics", "ID", run_experiment_metrics, CLI_LISTS | CLI_LOCAL,
      "Draw an experiment's metrics in the terminal",
      OPTS(metric_opts, metric_options)),
    E("list-trials", "ID", run_experiment_list_trials, CLI_LISTS | CLI_LOCAL,
      "List an experiment's trials", ALIAS("lt")),
    E("list-checkpoints", "ID", run_experiment_list_checkpoints, CLI_LISTS | CLI_LOCAL,
      "List an experiment's checkpoints", OPTS(checkpoint_opts, checkpoint_options),
      ALIAS("lc")),
    E("label add", "ID LABEL", run_experiment_label_add, 0, "Add a label"),
    E("label remove", "ID LABEL", run_experiment_label_remove, 0, "Remove a label"),
    E("set name", "ID NAME", run_experiment_set_name, 0, "Change the name"),
    E("set description", "ID TEXT", run_experiment_set_description, 0,
      "Change the description"),
    E("set priority", "ID PRIORITY", run_experiment_set_priority, 0,
      "Change the priority (1 to 99; 1 comes first)"),
    E("set weight", "ID WEIGHT", run_experiment_set_weight, 0,
      "Change the weight for fair share"),
    E("set max-slots", "ID SLOTS", run_experiment_set_max_slots, 0,
      "Change how many slots it may use at once ('none': no limit)"),
    E("set gc-policy", "ID", run_experiment_set_gc_policy, 0,
      "Change which checkpoints are kept", OPTS(gc_opts, gc_options),
      .help = "Lists the checkpoints that would go, and asks."),
    E("set log-retention", "ID", run_experiment_set_log_retention, 0,
      "Change how long its logs are kept", OPTS(retention_opts, retention_options)),
    E("download-model-def", "ID", run_experiment_download, 0,
      "Fetch the files it was submitted with", OPTS(download_opts, download_options),
      ALIAS("download-code")),

    COMMAND("trial", "describe", "ID...", run_trial_describe,
            CLI_CALLS | CLI_LOCAL | CLI_LISTS, "Show trials"),
    COMMAND("trial", "logs", "ID", run_trial_logs, CLI_CALLS | CLI_LOCAL | CLI_SHOWS,
            "Print a trial's logs", OPTS(log_opts, log_options)),
    COMMAND("trial", "kill", "ID...", run_trial_kill, CLI_CALLS,
            "Kill trials and free their slots"),
    COMMAND("trial", "metrics", "ID...", run_trial_metrics,
            CLI_CALLS | CLI_LOCAL | CLI_LISTS,
            "Draw the metrics of trials in the terminal",
            OPTS(metric_opts, metric_options)),
    COMMAND("trial", "profile", "ID", run_trial_profile, CLI_CALLS | CLI_LISTS,
            "Show what the machine did while a trial ran, and where its time went",
            .help = "There is something to show where the experiment's configuration "
                    "has profiling.enabled, or the program turns the profiler on."),

    COMMAND("trial", "environment", "ID", run_trial_environment, CLI_CALLS | CLI_SHOWS,
            "Show what a trial ran on: machine, packages, code, seeds",
            .help = "Every run of the trial has its record: version of det, system, "
                    "processor, memory, GPUs, a sum of the code, and what the task's "
                    "Python interpreter reports as installed."),
    COMMAND("trial", "reproduce", "ID", run_trial_reproduce, CLI_CALLS,
            "Do a trial again: same code, configuration, hyperparameters and seeds",
            OPTS(reproduce_opts, reproduce_options),
            .help = "Creates an experiment of one trial.  With --follow its logs are "
                    "printed; when it has ended the two are compared as 'det trial "
                    "compare' does, and the exit code is 0 when every metric is the "
                    "same, else 1."),
    COMMAND("trial", "compare", "ID ID", run_trial_compare, CLI_CALLS,
            "Say what differs between two trials: what they ran on, and every metric",
            .help = "Metrics are the same when they have the same bits.  The exit code "
                    "is 0 when all are, else 1."),

    COMMAND("checkpoint", "list", "", run_checkpoint_list,
            CLI_CALLS | CLI_LOCAL | CLI_LISTS,
            "List checkpoints of an experiment or a trial",
            OPTS(checkpoint_list_opts, checkpoint_list_options), ALIAS("ls")),
    COMMAND("checkpoint", "describe", "UUID", run_checkpoint_describe,
            CLI_CALLS | CLI_LOCAL | CLI_SHOWS, "Show a checkpoint and its files"),
    COMMAND("checkpoint", "download", "UUID", run_checkpoint_download,
            CLI_CALLS | CLI_LOCAL, "Copy a checkpoint's files into a folder",
            OPTS(checkpoint_download_opts, download_options),
            .help = "Reads the storage directory itself, which must be visible here.  "
                    "Every file is compared with what was reported, and with the "
                    "checkpoint's manifest where it has one."),
    COMMAND("checkpoint", "delete", "UUID...", run_checkpoint_delete, CLI_CALLS,
            "Delete checkpoints", OPTS(yes_opts, yes_options),
            .help = "An agent that reaches the storage removes the files; 'det "
                    "checkpoint describe' shows how far it is.  One that a live trial "
                    "would resume from cannot be deleted."),

    COMMAND("agent", "list", "", run_agent_list, CLI_CALLS | CLI_LISTS, "List agents",
            ALIAS("ls")),
    COMMAND("agent", "enable", "AGENT...", run_agent_enable, CLI_CALLS,
            "Let agents take tasks"),
    COMMAND("agent", "disable", "AGENT...", run_agent_disable, CLI_CALLS,
            "Give agents no more tasks", OPTS(drain_opts, drain_options),
            .help = "What runs there is stopped, unless --drain is given."),
    COMMAND("agent", "run", "", NULL, CLI_ROLE | CLI_CALLS,
            "Be an agent: offer this machine's slots to a master",
            OPTS(agent_run_opts, agent_run_options)),

    COMMAND("env", "list", "", run_env_list, CLI_LISTS,
            "List the environments that agents have built on this machine",
            OPTS(env_list_opts, env_list_options), ALIAS("ls")),
    COMMAND("env", "prune", "", run_env_prune, 0,
            "Remove environments of this machine that are not in use",
            OPTS(env_prune_opts, env_prune_options),
            .help = "What a task uses is never removed, nor what is being built.  What "
                    "builds that died have left is."),

    COMMAND("slot", "list", "", run_slot_list, CLI_CALLS | CLI_LISTS, "List slots",
            ALIAS("ls")),
    COMMAND("slot", "enable", "AGENT SLOT", run_slot_enable, CLI_CALLS,
            "Let a slot take tasks"),
    COMMAND("slot", "disable", "AGENT SLOT", run_slot_disable, CLI_CALLS,
            "Give a slot no more tasks", OPTS(drain_opts, drain_options)),

#include "cli/task_command_list.h"

    COMMAND("master", "info", "", run_master_info, CLI_CALLS | CLI_SHOWS,
            "Show the master"),
    COMMAND("master", "config", "", run_master_config, CLI_CALLS | CLI_SHOWS,
            "Show the master's configuration"),
    COMMAND("master", "run", "", NULL, CLI_ROLE, "Be a master",
            OPTS(master_run_opts, master_run_options)),

    COMMAND("user", "login", "[NAME]", run_user_login, CLI_CALLS, "Log in",
            OPTS(password_opts, password_options),
            .help = "The password is asked for; where there is no terminal it is read "
                    "from standard input."),
    COMMAND("user", "logout", "", run_user_logout, CLI_CALLS, "Log out"),
    COMMAND("user", "whoami", "", run_user_whoami, CLI_CALLS | CLI_SHOWS,
            "Show who is calling"),
    COMMAND("user", "list", "", run_user_list, CLI_CALLS | CLI_LISTS, "List people",
            OPTS(user_list_opts, user_list_options), ALIAS("ls")),
    COMMAND("user", "create", "NAME", run_user_create, CLI_CALLS, "Add a user",
            OPTS(user_create_opts, user_create_options)),
    COMMAND("user", "change-password", "[NAME]", run_user_change_password, CLI_CALLS,
            "Change a password", OPTS(password_opts, password_options)),

    COMMAND("config", "check", "FILE", run_config_check, 0, "Check a file",
            OPTS(kind_opts, kind_options),
            .help =
                "FILE '-' is standard input.  Prints every problem with its line and "
                "column.  The exit code is 0 "
                "when there are none, 2 when something is wrong, and 11 when the only "
                "problems are things that are not built yet."),
    COMMAND("config", "explain", "[KEY]", run_config_explain, 0,
            "Say what a key means, or list all keys", OPTS(kind_opts, kind_options)),
    COMMAND("config", "defaults", "", run_config_defaults, 0,
            "Print every key with its default, as a valid file",
            OPTS(kind_opts, kind_options)),

    COMMAND("serve", NULL, "", NULL, CLI_ROLE,
            "Run the whole platform here: master and agent",
            OPTS(serve_opts, serve_options),
            .help = "Listens on loopback only, until passwords are set.  Ctrl-C or "
                    "'det stop' ends it, and what it runs."),
    COMMAND("stop", NULL, "", NULL, CLI_ROLE, "Stop the platform that runs here",
            OPTS(stop_opts, stop_options)),
    COMMAND("import", NULL, "DIR...", run_import, CLI_CALLS | CLI_SHOWS,
            "Bring runs without a master into one", OPTS(import_opts, import_options),
            .help = "DIR is the folder of a run, or one with such folders in it.  Each "
                    "run becomes an experiment with one trial, which nobody schedules: "
                    "its metrics, its output, its checkpoints and how it ended.  "
                    "Checkpoints are copied into the experiment's checkpoint storage, "
                    "which must be visible here, and compared with their manifests.  "
                    "What is there already is not brought again: an import that was "
                    "interrupted is repeated, and a run that went on brings the rest."),
    COMMAND("ui", NULL, "[DIR]", run_ui, 0, "Show runs without a master in the browser",
            OPTS(ui_opts, ui_options),
            .help = "DIR is the folder of a run, or one with such folders in it "
                    "(default: where runs usually lie).  They are shown in the same "
                    "pages as a master's, live, and nothing can be changed there; no "
                    "master is asked or started, and only you can look.  Ctrl-C ends "
                    "it.  Without DIR and without any run, the pages of the master "
                    "that runs here are opened."),
    COMMAND("preview-search", NULL, "CONFIG", run_preview_search, CLI_LISTS,
            "Show what a search would run, without running it"),
    COMMAND("resume-proof", NULL, "CONFIG [CONTEXT]", run_resume_proof,
            CLI_CALLS | CLI_SHOWS,
            "Prove that an experiment resumes exactly where it was killed",
            OPTS(proof_opts, proof_options),
            .help =
                "Runs the experiment twice with the same seed: once undisturbed, and "
                "once killed (SIGKILL, all its processes) at random moments and "
                "resumed from its latest checkpoint each time.  Then compares the "
                "final checkpoints file by file and byte by byte, and all metrics "
                "value by value, and names what differs.  Of a search one trial is "
                "run.  Kills spend none of max_restarts, and a failure of the program "
                "itself ends the proof.  The experiments are labelled 'resume-proof' "
                "and archived; 'det experiment list -a' shows them.\n\n"
                "Exits 0 when everything is the same after all N kills, and 1 when "
                "something differs, fewer kills could be placed, or none came "
                "behind a checkpoint.  The checkpoint "
                "storage must be visible here."),

    COMMAND("report", NULL, "[NAME=VALUE...]", run_report, 0,
            "Inside a task: report metrics", OPTS(report_opts, report_options),
            .help =
                "Values are numbers (NaN and inf too); NAME:=TEXT reports text.  "
                "Returns as soon as the report is in the task's own file, from which "
                "it is sent; --wait waits until the master has stored it, and fails "
                "when it was refused."),
    COMMAND("checkpoint", "save", "DIR", run_checkpoint_save, 0,
            "Inside a task: save a folder as a checkpoint",
            OPTS(checkpoint_save_opts, checkpoint_save_options),
            .help = "Copies DIR into the checkpoint storage, syncs it, reports it and "
                    "prints its uuid."),
    COMMAND("checkpoint", "restore", "DIR", run_checkpoint_restore, 0,
            "Inside a task: copy a checkpoint into a folder",
            OPTS(checkpoint_restore_opts, checkpoint_restore_options),
            .help = "The latest one of the trial, unless --uuid names another.  Every "
                    "file is compared with the checkpoint's manifest.  DIR is made, "
                    "or is empty.  Exits 4 when there is none yet, and 8 when it is "
                    "damaged or gone."),
    COMMAND("hparam", NULL, "NAME", run_hparam, 0,
            "Inside a task: print a hyperparameter",
            .help = "Nested ones are named with dots, elements of lists with numbers: "
                    "optimizer.lr, layers[0].  Strings are printed as they are, "
                    "everything else as JSON."),
    COMMAND("preempted", NULL, "", run_preempted, 0,
            "Inside a task: say whether it must stop now",
            .help = "Exits 0 when the task has to save its state and end, else 1; also "
                    "while the master is away."),

    COMMAND("launch", "mpi", "COMMAND...", run_launch_mpi, 0,
            "Start a command several times over through mpirun",
            OPTS(launch_opts, launch_options),
            .help = "det launch mpi -n 4 -- python3 train.py --lr 0.1\n\n"
                    "Each rank finds RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_SIZE, "
                    "LOCAL_WORLD_SIZE, CROSS_RANK and CROSS_SIZE in its environment, "
                    "and its lines begin with [rank=N].  Of several ranks each gets "
                    "its share of the processors in OMP_NUM_THREADS, "
                    "TF_NUM_INTRAOP_THREADS and TF_NUM_INTEROP_THREADS, unless they "
                    "are set.  Signals are handed on.  When "
                    "one rank fails it is named, all are taken down, and its exit code "
                    "is that of this command.  Needs Open MPI; ranks run on one node."),

    COMMAND("launch", "torch_distributed", "COMMAND...", run_launch_torch, 0,
            "Start a command once for each slot, for torch.distributed",
            OPTS(launch_torch_opts, launch_torch_options),
            .help =
                "det launch torch_distributed -n 2 -- python3 train.py --lr 0.1\n\n"
                "Each process finds what torchrun would set: RANK, WORLD_SIZE, "
                "LOCAL_RANK, LOCAL_WORLD_SIZE, GROUP_RANK, GROUP_WORLD_SIZE, "
                "MASTER_ADDR, MASTER_PORT, the ROLE_ and TORCHELASTIC_ ones, and "
                "OMP_NUM_THREADS=1 unless it is set.  Its lines begin with "
                "[rank=N].  Signals are handed on.  When one fails it is named, "
                "the others get SIGTERM and, 5 seconds later, SIGKILL, and its exit "
                "code is that of this command.  In a task of several nodes it runs "
                "on each of them, and ranks go on from node to node.  Neither "
                "torchrun nor mpirun is needed."),

    COMMAND("launch", "tensorflow", "COMMAND...", run_launch_tensorflow, 0,
            "Start a command once on each node, for tf.distribute",
            OPTS(launch_tensorflow_opts, launch_tensorflow_options),
            .help = "det launch tensorflow -- python3 train.py --lr 0.1\n\n"
                    "In a task of several nodes each node's process finds the others "
                    "in TF_CONFIG, as MultiWorkerMirroredStrategy wants it, and its "
                    "lines begin with [rank=N].  On one node the command runs as it "
                    "is.  DistributedContext.from_tf_config() gives the context and "
                    "the strategy for both.  Several slots that are processors become "
                    "as many replicas of MirroredStrategy, in programs that import "
                    "determined."),
    COMMAND("launch", "tensorflow_distributed", "COMMAND...",
            run_launch_tensorflow_distributed, 0,
            "Start a command with a replica of MirroredStrategy for each slot",
            OPTS(launch_mirrored_opts, launch_tensorflow_options),
            .help = "det launch tensorflow_distributed -- python3 train.py\n\n"
                    "The command runs once.  tf.distribute.MirroredStrategy() in it "
                    "has a replica for each slot of the task: for each GPU, or, where "
                    "slots are processors, for each of them in programs that import "
                    "determined before they use TensorFlow.  A task of several nodes "
                    "is refused."),

    COMMAND("completion", NULL, "SHELL", run_completion, 0,
            "Print completion for bash, zsh or fish",
            .help = "bash:  source <(det completion bash)\n"
                    "zsh:   source <(det completion zsh)\n"
                    "fish:  det completion fish | source"),
    COMMAND("version", NULL, "", run_version, CLI_SHOWS, "Print the version"),
    COMMAND("internal", "rank", "COMMAND...", run_internal_rank, CLI_HIDDEN,
            "One rank of det launch"),
    COMMAND("internal", "record", "DIR WAY...", run_internal_record, CLI_HIDDEN,
            "Keep what a run without a master prints"),
    COMMAND("internal", "config", "FILE", run_internal_config, CLI_HIDDEN,
            "Print the complete configuration of FILE as JSON"),
    COMMAND("internal", "tensorboard", "", run_internal_tensorboard, CLI_HIDDEN,
            "What runs inside of a TensorBoard's task"),
    COMMAND("internal", "man", "DIR", run_internal_man, CLI_HIDDEN,
            "Write the man pages into DIR"),
    {.noun = NULL},
};
