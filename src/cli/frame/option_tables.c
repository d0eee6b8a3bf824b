/* SPDX-License-Identifier: Apache-2.0 */
/* option_tables.c - every option of det, one row each: letter, name, struct, member,
 * ..., help text. */
#include "cli/frame/option_tables.h"

#include <stddef.h>

#include "agent/env/enter.h"
#include "base/compiler.h"
#include "cli/frame/command_row.h"
#include "cli/frame/options.h"
#include "cli/frame/parse.h"
#include "cli/frame/people_options.h"
#include "cli/frame/role_options.h"

#define FLAG(letter_, name_, struct_, member_, help_, ...)                             \
    {                                                                                  \
        .kind = OPT_FLAG, .letter = (letter_), .name = (name_), .help = (help_),       \
        .offset = offsetof(struct struct_, member_), __VA_ARGS__                       \
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
#define ALSO(names_)          .also = (names_)
#define HAS(struct_, member_) .has = offsetof(struct struct_, member_) + 1

enum { COUNT_MOST = 1000000000, DAYS_MOST = 36500 };

const struct cli_opt cli_global_opts[] = {
    TEXT('m', "master", cli_globals, master, "URL",
         "the master (default: DET_MASTER, else the local one)"),
    TEXT('u', "user", cli_globals, user, "NAME", "act as this user"),
    FLAG('h', "help", cli_globals, wants_help, "print help and exit"),
    FLAG('v', "version", cli_globals, wants_version, "print the version and exit"),
    FLAG(0, "json", cli_globals, wants_json, "print JSON"),
    FLAG(0, "csv", cli_globals, wants_csv, "print comma-separated values"),
    TEXT(0, "local", cli_globals, local, "DIR",
         "work with offline runs, in DIR or the default folder", .is_optional = true),
    END,
};

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

#define PAGES(struct_)                                                                 \
    TEXT(0, "pages", struct_, pages, "PAGES",                                          \
         "1: one page of --limit; all: all of it", CHOICES("1", "all"))

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

const struct cli_opt space_list_opts[] = {
    FLAG('a', "all", space_list_options, all, "also archived ones"),
    TEXT(0, "sort-by", space_list_options, sort_by, "KEY", "order of the list",
         CHOICES("id", "name"), .def = "id"),
    TEXT(0, "order-by", space_list_options, order_by, "ORDER", "asc or desc",
         CHOICES("asc", "desc"), .def = "asc"),
    END,
};

#define WORKSPACE_OPTS                                                                 \
    TEXT(0, "checkpoint-storage-config", workspace_options, storage, "YAML",           \
         "checkpoint_storage of experiments that name none"),                          \
        TEXT(0, "checkpoint-storage-config-file", workspace_options, storage_file,     \
             "FILE", "the same, from a file"),                                         \
        NUMBER(0, "agent-uid", workspace_options, agent_uid, "UID", 0, 4294967294,     \
               "Unix user of its tasks"),                                              \
        NUMBER(0, "agent-gid", workspace_options, agent_gid, "GID", 0, 4294967294,     \
               "Unix group of its tasks"),                                             \
        TEXT(0, "agent-user", workspace_options, agent_user, "NAME",                   \
             "name of that user"),                                                     \
        TEXT(0, "agent-group", workspace_options, agent_group, "NAME",                 \
             "name of that group"),                                                    \
        TEXT(0, "default-compute-pool", workspace_options, compute_pool, "POOL",       \
             "pool of tasks with slots that name none"),                               \
        TEXT(0, "default-aux-pool", workspace_options, aux_pool, "POOL",               \
             "pool of tasks without slots that name none")

const struct cli_opt workspace_create_opts[] = {
    WORKSPACE_OPTS,
    END,
};

const struct cli_opt workspace_edit_opts[] = {
    TEXT('n', "name", workspace_options, name, "NAME", "its new name"),
    WORKSPACE_OPTS,
    END,
};

const struct cli_opt project_create_opts[] = {
    TEXT('d', "description", project_options, description, "TEXT", "describes it"),
    TEXT('k', "key", project_options, key, "KEY",
         "short name, 1 to 5 letters or digits (default: made from the name)"),
    END,
};

const struct cli_opt project_edit_opts[] = {
    TEXT('n', "name", project_options, name, "NAME", "its new name", ALSO("new_name")),
    TEXT('d', "description", project_options, description, "TEXT",
         "its new description"),
    TEXT('k', "key", project_options, key, "KEY", "its new short name"),
    END,
};

const struct cli_opt yes_opts[] = {
    FLAG('y', "yes", yes_options, yes, "do not ask"),
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

const struct cli_opt ui_opts[] = {
    NUMBER(0, "port", ui_options, port, "PORT", 0, 65535,
           "listen on this port of 127.0.0.1 (default: a free port)"),
    FLAG(0, "no-browser", ui_options, no_browser, "only print the address"),
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

const struct cli_opt drain_opts[] = {
    FLAG(0, "drain", drain_options, drain, "let running tasks finish"),
    END,
};

const struct cli_opt agent_enable_opts[] = {
    FLAG(0, "all", drain_options, all, "all agents"),
    END,
};

const struct cli_opt agent_disable_opts[] = {
    FLAG(0, "all", drain_options, all, "all agents"),
    FLAG(0, "drain", drain_options, drain, "let running tasks finish"),
    END,
};

const struct cli_opt trial_describe_opts[] = {
    FLAG(0, "metrics", trial_describe_options, metrics,
         "print the metrics (as without it)"),
    END,
};

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

const struct cli_opt user_create_opts[] = {
    FLAG(0, "admin", user_create_options, admin, "make the user an administrator"),
    FLAG(0, "remote", user_create_options, remote,
         "another service signs the user in; no password here"),
    TEXT(0, "password", user_create_options, password, "PASSWORD",
         "the password (default: det asks for it)"),
    END,
};

const struct cli_opt user_list_opts[] = {
    FLAG('a', "all", user_list_options, all, "also inactive users"),
    END,
};

const struct cli_opt login_opts[] = {
    TEXT('p', "password", login_options, password, "PASSWORD",
         "the password (default: det asks for it)"),
    TEXT(0, "sso", login_options, sso, "PROVIDER",
         "sign in with a browser on this computer", .is_optional = true),
    FLAG(0, "device", login_options, device,
         "sign in with a browser on any computer: prints a short code"),
    END,
};

const struct cli_opt password_opts[] = {
    TEXT('p', "password", password_options, password, "PASSWORD",
         "the password (default: det asks for it)"),
    END,
};

const struct cli_opt audit_list_opts[] = {
    TEXT(0, "by", audit_list_options, by, "NAME", "only what this user did"),
    TEXT(0, "action", audit_list_options, action, "CALL",
         "only this call, by name: patch_user"),
    TEXT(0, "object", audit_list_options, object, "OBJECT",
         "only this kind ('experiment'), or one of it ('experiment 3')"),
    TEXT(0, "since", audit_list_options, since, "TIME", "only after this time"),
    NUMBER(0, "limit", audit_list_options, limit, "N", 1, 1000000, "at most N entries",
           .def = "100"),
    END,
};

#define TRUE_OR_FALSE CHOICES("true", "false")

const struct cli_opt user_edit_opts[] = {
    TEXT(0, "username", user_edit_options, username, "NAME",
         "a new name to log in with"),
    TEXT(0, "display-name", user_edit_options, display_name, "NAME",
         "name to display; '' removes it"),
    TEXT(0, "admin", user_edit_options, admin, "BOOL", "whether it is an administrator",
         TRUE_OR_FALSE),
    TEXT(0, "active", user_edit_options, active, "BOOL", "whether it may log in",
         TRUE_OR_FALSE),
    TEXT(0, "remote", user_edit_options, remote, "BOOL",
         "whether another service signs it in", TRUE_OR_FALSE),
    END,
};

const struct cli_opt user_link_opts[] = {
    NUMBER(0, "agent-uid", user_link_options, uid, "UID", 0, 4294967294,
           "user number of the tasks"),
    NUMBER(0, "agent-gid", user_link_options, gid, "GID", 0, 4294967294,
           "group number of the tasks"),
    TEXT(0, "agent-user", user_link_options, user, "NAME", "user name of the tasks"),
    TEXT(0, "agent-group", user_link_options, group, "NAME", "group name of the tasks"),
    FLAG(0, "remove", user_link_options, remove, "end the link"),
    END,
};

const struct cli_opt user_reset_opts[] = {
    TEXT(0, "data-dir", user_reset_options, data_dir, "DIR",
         "data directory of the master (default: ~/.local/share/det)"),
    END,
};

const struct cli_opt user_group_create_opts[] = {
    TEXTS(0, "add-user", user_group_create_options, add_user, "USER",
          "a member; may be repeated"),
    END,
};

const struct cli_opt user_group_list_opts[] = {
    TEXT(0, "groups-user-belongs-to", user_group_list_options, user, "USER",
         "only groups of this user"),
    END,
};

const struct cli_opt role_list_opts[] = {
    FLAG(0, "exclude-global-permissions", role_list_options, exclude_global,
         "only roles that fit a workspace"),
    END,
};

const struct cli_opt role_assign_opts[] = {
    TEXT(0, "username-to-assign", role_assign_options, user, "USER",
         "the user who gets the role"),
    TEXT(0, "group-name-to-assign", role_assign_options, group, "GROUP",
         "the group that gets the role"),
    TEXT('w', "workspace-name", role_assign_options, workspace, "WORKSPACE",
         "only in this workspace (default: the cluster)"),
    END,
};

const struct cli_opt token_create_opts[] = {
    NUMBER('e', "expiration-days", token_create_options, days, "DAYS", -1, DAYS_MOST,
           "days until it expires; -1: the longest allowed"),
    TEXT(0, "lifespan", token_create_options, lifespan, "TIME",
         "the same as a duration, such as 12h"),
    TEXT('d', "description", token_create_options, description, "TEXT",
         "what it is for"),
    END,
};

const struct cli_opt token_list_opts[] = {
    FLAG('a', "show-inactive", token_list_options, show_inactive,
         "also expired and revoked tokens"),
    TEXT(0, "sort-by", token_list_options, sort_by, "KEY", "order of the list",
         .def = "id",
         CHOICES("id", "user", "expiry", "created", "revoked", "description")),
    FLAG('r', "reverse", token_list_options, reverse, "largest first"),
    END,
};

const struct cli_opt token_edit_opts[] = {
    TEXT('d', "description", token_edit_options, description, "TEXT",
         "a new description"),
    END,
};

const struct cli_opt config_check_opts[] = {
    TEXT('k', "kind", kind_options, kind, "KIND",
         "kind of configuration (default: the one whose keys it has)",
         CHOICES("experiment", "master", "agent", "job")),
    END,
};

const struct cli_opt kind_opts[] = {
    TEXT('k', "kind", kind_options, kind, "KIND", "kind of configuration",
         .def = "experiment", CHOICES("experiment", "master", "agent", "job")),
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

#define SERVING_OPTS(struct_)                                                          \
    NUMBER('p', "port", struct_, port, "PORT", 0, 65535, "listen on this port",        \
           .def = "8080", HAS(struct_, has_port)),                                     \
        TEXT(0, "host", struct_, host, "ADDRESS", "listen on this address",            \
             .def = "127.0.0.1", HAS(struct_, has_host)),                              \
        TEXT(0, "data-dir", struct_, data_dir, "DIR",                                  \
             "data directory (default: ~/.local/share/det)"),                          \
        TEXT(0, "config", struct_, config, "FILE", "configuration file"),              \
        TEXT(0, "initial-password-file", struct_, initial_password_file, "FILE",       \
             "file with the password for users without one ('-': standard input)"),    \
        TEXT(0, "initial-password", struct_, initial_password, "PASSWORD",             \
             "the same on the command line, where other users may see it"),            \
        TEXT(0, "tls-cert", struct_, tls_cert, "FILE",                                 \
             "speak TLS with the certificate in this PEM file"),                       \
        TEXT(0, "tls-key", struct_, tls_key, "FILE",                                   \
             "the private key of --tls-cert, in PEM form"),                            \
        FLAG(0, "tls", struct_, tls,                                                   \
             "speak TLS also on loopback, with a certificate of its own"),             \
        FLAG(0, "no-tls", struct_, no_tls,                                             \
             "plain HTTP, which everybody on the network can read")

const struct cli_opt serve_opts[] = {
    SERVING_OPTS(serve_options),
    NUMBER(0, "slots", serve_options, slots, "N", 0, 4096,
           "offer N slots (default: all GPUs, else all cores)"),
    FLAG(0, "background", serve_options, background,
         "return when it is ready, and run in the background"),
    FLAG(0, "no-agent", serve_options, no_agent, "do not start an agent"),
    TEXT(0, "agent-config", serve_options, agent_config, "FILE",
         "configuration file of its agent"),
    END,
};

const struct cli_opt master_run_opts[] = {
    SERVING_OPTS(master_run_options),
    END,
};

const struct cli_opt agent_run_opts[] = {
    TEXT(0, "id", agent_run_options, id, "ID",
         "id of the agent (default: the host's name)"),
    NUMBER(0, "slots", agent_run_options, slots, "N", 0, 4096,
           "offer N slots (default: all GPUs, else all cores)"),
    TEXT(0, "resource-pool", agent_run_options, resource_pool, "POOL",
         "join this resource pool"),
    TEXT(0, "data-dir", agent_run_options, data_dir, "DIR", "data directory"),
    TEXT(0, "token-file", agent_run_options, token_file, "FILE",
         "file with the agent token of the master"),
    TEXT(0, "config", agent_run_options, config, "FILE", "configuration file"),
    TEXT(0, "master-cert", agent_run_options, master_cert, "FILE",
         "certificate of the master or its signer; noverify: anybody's"),
    TEXT(0, "master-cert-name", agent_run_options, master_cert_name, "NAME",
         "a name that the master's certificate must have"),
    TEXT(0, "master-fingerprint", agent_run_options, master_fingerprint, "SHA256",
         "only the master whose certificate has this fingerprint"),
    END,
};

const struct cli_opt trust_opts[] = {
    TEXT(0, "fingerprint", trust_options, fingerprint, "SHA256",
         "trust it only if its certificate has this fingerprint; do not ask"),
    FLAG(0, "forget", trust_options, forget, "no longer trust it"),
    END,
};

const struct cli_opt master_certificate_opts[] = {
    TEXT(0, "data-dir", master_certificate_options, data_dir, "DIR",
         "data directory of the master (default: ~/.local/share/det)"),
    END,
};

const struct cli_opt backup_opts[] = {
    TEXT(0, "data-dir", backup_options, data_dir, "DIR",
         "data directory of the master (default: ~/.local/share/det)"),
    FLAG(0, "checkpoints", backup_options, checkpoints,
         "also the checkpoints in the data directory"),
    NUMBER(0, "keep", backup_options, keep, "N", 1, COUNT_MOST,
           "then remove all but the N newest backups"),
    NUMBER(0, "rate", backup_options, rate, "MB", 1, 1000000,
           "read at most so many MB a second"),
    FLAG(0, "list", backup_options, list, "list the backups in DIR; make none"),
    FLAG(0, "verify", backup_options, verify,
         "read all backups in DIR and compare their checksums; make none"),
    END,
};

const struct cli_opt restore_opts[] = {
    TEXT(0, "data-dir", restore_options, data_dir, "DIR",
         "where to (default: ~/.local/share/det)"),
    TEXT(0, "backup", restore_options, backup, "ID", "this one (default: the newest)"),
    TEXT(0, "at", restore_options, at, "TIME",
         "the newest one that is not younger than TIME"),
    FLAG(0, "replace", restore_options, replace,
         "put an existing data directory aside"),
    END,
};

const struct cli_opt stop_opts[] = {
    TEXT(0, "data-dir", stop_options, data_dir, "DIR", "data directory of the master"),
    END,
};

#define ENV_DATA(struct_)                                                              \
    TEXT(0, "data-dir", struct_, data_dir, "DIR",                                      \
         "data directory of agent or master (default: ~/.local/share/det)")

const struct cli_opt doctor_opts[] = {
    ENV_DATA(doctor_options),
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

const struct cli_opt reproduce_opts[] = {
    FLAG('f', "follow", reproduce_options, follow,
         "print its logs until it ends, then compare"),
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
