/* SPDX-License-Identifier: Apache-2.0 */
/* commands.c - all commands of det, one row each.
 *
 * The parser, help, man pages and completion read these tables.  To add a command, see
 * command_row.h. */
#include "cli/frame/commands.h"

#include <stddef.h>

#include "agent/env/enter.h"
#include "base/compiler.h"
#include "cli/doctor/check_list.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/command_row.h"
#include "cli/frame/options.h"
#include "cli/frame/people_options.h"
#include "cli/frame/role_options.h"
#include "cli/options/option_tables.h"

/* ---- nouns ----------------------------------------------------------------------- */

const struct cli_noun cli_nouns[] = {
    {"experiment", "e", "Create, watch and control experiments"},
    {"trial", "t", "Show and control trials"},
    {"checkpoint", "c", "List, download and delete checkpoints"},
    {"agent", "a", "List, enable, disable and run agents"},
    {"env", NULL, "List and remove the environments of this machine"},
    {"slot", "s", "List, enable and disable slots"},
    {"job", "j", "Run generic jobs, and show the queue"},
    {"task", NULL, "List, show and control tasks"},
    {"tensorboard", "tb", "Run TensorBoard as a task"},
    {"workspace", "w", "Create, show and change workspaces"},
    {"project", "p", "Create, show and change projects"},
    {"master", NULL, "Show or run a master"},
    {"resources", "res", "Show who used the slots of the cluster"},
    {"user", "u", "Log in and out, manage accounts"},
    {"audit", NULL, "Show who did what"},
    {"user-group", "ug", "Manage groups of users"},
    {"rbac", NULL, "Show and assign roles"},
    {"token", NULL, "Manage access tokens for programs"},
    {"config", NULL, "Check and explain configuration files"},
    {"serve", NULL, NULL},
    {"stop", NULL, NULL},
    {"backup", NULL, NULL},
    {"restore", NULL, NULL},
    {"trust", NULL, NULL},
    {"doctor", NULL, NULL},
    {"import", NULL, NULL},
    {"ui", NULL, NULL},
    {"preview-search", NULL, NULL},
    {"resume-proof", NULL, NULL},
    {"report", NULL, NULL},
    {"hparam", NULL, NULL},
    {"preempted", NULL, NULL},
    {"launch", NULL, "Start one process per rank"},
    {"docs", NULL, NULL},
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

#define JOB_HELP                                                                       \
    "CONFIG is the job's YAML file ('-': standard input): its "                        \
    "entrypoint, data and resources.  CONTEXT is the folder with the "                 \
    "code; it is sent as for an experiment.  A generic job is any "                    \
    "program: it has no trials, metrics or checkpoints.  It is never "                 \
    "restarted: an exit code other than 0 ends it as ERROR.\n\n"                       \
    "With --follow, the exit code is 0 if the job ends as COMPLETED, "                 \
    "else 1."

#define TRIALS_HELP                                                                    \
    "On a terminal, shows as many trials as fit, and says how many there are.  In a "  \
    "pipe or a file, with --csv and with --json, all trials are printed unless "       \
    "--limit or --best is given."

const struct cli_command cli_commands[] = {
    E("create", "[CONFIG] [CONTEXT]", run_experiment_create, CLI_LOCAL,
      "Submit an experiment", OPTS(create_opts, create_options),
      .help = "CONFIG is the experiment's YAML file ('-': standard input).  "
              "CONTEXT is the folder with the code.  It is sent without .git and "
              "without the files that .detignore names (the patterns are those of "
              ".gitignore).  The configuration is checked before anything is sent."
              "\n\n"
              "With --fork, the experiment starts with the configuration of "
              "another one, seeds included, and with its code.  CONFIG replaces "
              "the configuration, --config changes keys of it, and CONTEXT "
              "replaces the code.  With --checkpoint, the trials start from a "
              "checkpoint of any trial.\n\n"
              "With --follow, the exit code is 0 if the experiment ends as "
              "COMPLETED, else 1.\n\n"
              "With --local, no master is used.  The first trial runs here, in "
              "CONTEXT itself, as one process, and its exit code is that of this "
              "command.  Its reports are kept like those of every offline run, in "
              "DIR of --local=DIR; 'det experiment list --local' shows them.  With "
              "--test, DET_TEST_MODE=1 tells the training loops to do one batch, "
              "one validation and one checkpoint."),
    E("list", "", run_experiment_list, CLI_LISTS | CLI_LOCAL, "List experiments",
      OPTS(list_opts, list_options), ALIAS("ls")),
    E("describe", "ID...", run_experiment_describe, CLI_LISTS | CLI_LOCAL,
      "Show experiments with their trials", OPTS(describe_opts, trial_list_options),
      .help = TRIALS_HELP),
    E("config", "ID", run_experiment_config, CLI_SHOWS | CLI_LOCAL,
      "Print the complete configuration"),
    E("pause", "ID...", run_experiment_pause, 0,
      "Pause experiments: their trials save their state and free their slots"),
    E("activate", "ID...", run_experiment_activate, 0, "Resume paused experiments",
      ALIAS("unpause")),
    E("cancel", "ID...", run_experiment_cancel, 0, "Stop experiments gracefully"),
    E("kill", "ID...", run_experiment_kill, 0, "Stop experiments at once"),
    E("continue", "ID", run_experiment_continue, 0,
      "Continue an experiment that has ended", OPTS(continue_opts, continue_options),
      .help = "The trial continues from its latest checkpoint, in the same "
              "experiment, and its restarts are counted from 0 again.  --config "
              "and --config-file change its configuration: with a greater length "
              "it trains longer.  Grid and random searches continue, too: trials "
              "that failed or were canceled run again, completed trials do not, "
              "and trials that never started are started.\n\n"
              "With --follow, the exit code is 0 if it ends as COMPLETED, else 1."),
    E("archive", "ID...", run_experiment_archive, 0, "Hide experiments from lists"),
    E("unarchive", "ID...", run_experiment_unarchive, 0,
      "Show experiments in lists again"),
    E("delete", "ID...", run_experiment_delete, 0,
      "Delete ended experiments with their checkpoints", OPTS(yes_opts, yes_options)),
    E("wait", "ID", run_experiment_wait, 0, "Wait until an experiment ends",
      OPTS(wait_opts, wait_options),
      .help = "The exit code is 0 if it ends as COMPLETED, else 1."),
    E("logs", "ID", run_experiment_logs, CLI_SHOWS | CLI_LOCAL,
      "Print the first trial's logs", OPTS(log_opts, log_options)),
    E("metrics", "ID", run_experiment_metrics, CLI_LISTS | CLI_LOCAL,
      "Draw an experiment's metrics in the terminal",
      OPTS(metric_opts, metric_options)),
    E("list-trials", "ID", run_experiment_list_trials, CLI_LISTS | CLI_LOCAL,
      "List an experiment's trials", OPTS(trial_list_opts, trial_list_options),
      ALIAS("lt"), .help = TRIALS_HELP),
    E("list-checkpoints", "ID", run_experiment_list_checkpoints, CLI_LISTS | CLI_LOCAL,
      "List an experiment's checkpoints", OPTS(checkpoint_opts, checkpoint_options),
      ALIAS("lc")),
    E("download", "ID", run_experiment_download_best, 0,
      "Copy the files of an experiment's best checkpoints into folders",
      OPTS(experiment_download_opts, download_options)),
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
      .help = "Lists the checkpoints that would be deleted, and asks before it "
              "deletes them."),
    E("set log-retention", "ID", run_experiment_set_log_retention, 0,
      "Change how long its logs are kept", OPTS(retention_opts, retention_options)),
    E("move", "ID WORKSPACE PROJECT", run_experiment_move, 0,
      "Move experiments to another project",
      .help = "ID may also be several ids: 3,5,8."),
    E("download-model-def", "ID", run_experiment_download, 0,
      "Download the files that it was submitted with",
      OPTS(download_opts, download_options), ALIAS("download-code")),

    COMMAND("trial", "describe", "ID...", run_trial_describe,
            CLI_CALLS | CLI_LOCAL | CLI_LISTS, "Show trials",
            OPTS(trial_describe_opts, trial_describe_options)),
    COMMAND("trial", "logs", "ID", run_trial_logs, CLI_CALLS | CLI_LOCAL | CLI_SHOWS,
            "Print a trial's logs", OPTS(log_opts, log_options)),
    COMMAND("trial", "kill", "ID...", run_trial_kill, CLI_CALLS,
            "Kill trials and free their slots"),
    COMMAND("trial", "download", "ID", run_trial_download, CLI_CALLS,
            "Copy the files of one of a trial's checkpoints into a folder",
            OPTS(trial_download_opts, download_options)),
    COMMAND("trial", "set log-retention", "ID", run_trial_set_log_retention, CLI_CALLS,
            "Change how long a trial's logs are kept",
            OPTS(retention_opts, retention_options)),
    COMMAND("trial", "metrics", "ID...", run_trial_metrics,
            CLI_CALLS | CLI_LOCAL | CLI_LISTS,
            "Draw the metrics of trials in the terminal",
            OPTS(metric_opts, metric_options)),
    COMMAND("trial", "profile", "ID", run_trial_profile, CLI_CALLS | CLI_LISTS,
            "Show a trial's use of the machine, and where its time went",
            .help = "The load of the machines is measured for every trial.  Timings "
                    "exist if the experiment's configuration sets profiling.enabled, "
                    "or if the program turns the profiler on."),

    COMMAND("trial", "environment", "ID", run_trial_environment, CLI_CALLS | CLI_SHOWS,
            "Show what a trial ran on: machine, packages, code, seeds",
            .help = "Every run of the trial has a record: the version of det, system, "
                    "processor, memory, GPUs, a checksum of the code, and the packages "
                    "of the task's Python."),
    COMMAND("trial", "reproduce", "ID", run_trial_reproduce, CLI_CALLS,
            "Run a trial again: same code, configuration, hyperparameters and seeds",
            OPTS(reproduce_opts, reproduce_options),
            .help = "Creates an experiment with one trial.  With --follow, prints its "
                    "logs.  When it has ended, compares the two trials as 'det trial "
                    "compare' does, and exits with 0 if every metric is the same, else "
                    "with 1."),
    COMMAND("trial", "compare", "ID ID", run_trial_compare, CLI_CALLS,
            "Show what differs between two trials: what they ran on, and their metrics",
            .help =
                "Metrics are compared bit by bit.  The exit code is 0 if all are the "
                "same, else 1."),

    COMMAND("checkpoint", "list", "", run_checkpoint_list,
            CLI_CALLS | CLI_LOCAL | CLI_LISTS,
            "List checkpoints of an experiment or a trial",
            OPTS(checkpoint_list_opts, checkpoint_list_options), ALIAS("ls")),
    COMMAND("checkpoint", "describe", "UUID", run_checkpoint_describe,
            CLI_CALLS | CLI_LOCAL | CLI_SHOWS, "Show a checkpoint and its files"),
    COMMAND(
        "checkpoint", "download", "UUID", run_checkpoint_download,
        CLI_CALLS | CLI_LOCAL, "Copy a checkpoint's files into a folder",
        OPTS(checkpoint_download_opts, download_options),
        .help =
            "Reads the storage directory directly if this machine sees it; otherwise "
            "the master sends the files, if it sees them.  Checks the size of every "
            "file and, if the checkpoint has a manifest, the checksum."),
    COMMAND("checkpoint", "delete", "UUID...", run_checkpoint_delete, CLI_CALLS,
            "Delete checkpoints", OPTS(yes_opts, yes_options),
            .help =
                "An agent with access to the storage removes the files; 'det "
                "checkpoint describe' shows its progress.  A checkpoint from which a "
                "trial would resume cannot be deleted."),

    COMMAND("agent", "list", "", run_agent_list, CLI_CALLS | CLI_LISTS, "List agents",
            ALIAS("ls")),
    COMMAND("agent", "enable", "[AGENT...]", run_agent_enable, CLI_CALLS,
            "Allow agents to take tasks", OPTS(agent_enable_opts, drain_options)),
    COMMAND("agent", "disable", "[AGENT...]", run_agent_disable, CLI_CALLS,
            "Stop agents from taking tasks", OPTS(agent_disable_opts, drain_options),
            .help = "Running tasks are stopped, unless --drain is given."),
    COMMAND("agent", "run", "", NULL, CLI_ROLE | CLI_CALLS,
            "Run an agent: offer this machine's slots to a master",
            OPTS(agent_run_opts, agent_run_options)),

    COMMAND("env", "list", "", run_env_list, CLI_LISTS,
            "List the environments that agents have built on this machine",
            OPTS(env_list_opts, env_list_options), ALIAS("ls")),
    COMMAND("env", "prune", "", run_env_prune, 0,
            "Remove unused environments from this machine",
            OPTS(env_prune_opts, env_prune_options),
            .help = "Environments that a task uses or an agent builds are never "
                    "removed.  The remains of failed builds are always removed."),

    COMMAND("slot", "list", "", run_slot_list, CLI_CALLS | CLI_LISTS, "List slots",
            ALIAS("ls")),
    COMMAND("slot", "enable", "AGENT SLOT", run_slot_enable, CLI_CALLS,
            "Allow a slot to take tasks"),
    COMMAND("slot", "disable", "AGENT SLOT", run_slot_disable, CLI_CALLS,
            "Stop a slot from taking tasks", OPTS(drain_opts, drain_options)),

    COMMAND("job", "run", "CONFIG [CONTEXT]", run_job_run, CLI_CALLS,
            "Run a generic job", OPTS(job_run_opts, job_run_options), .help = JOB_HELP),
    COMMAND("job", "list", "", run_job_list, CLI_CALLS | CLI_LISTS,
            "Show the queue of experiments and jobs",
            OPTS(job_list_opts, job_list_options), ALIAS("ls")),
    COMMAND("job", "update", "JOB", run_job_update, CLI_CALLS,
            "Change the priority, weight or resource pool of a job",
            OPTS(job_update_opts, job_update_options),
            .help = "JOB is the id of an experiment or of a job."),

    COMMAND("task", "create", "CONFIG [CONTEXT]", run_job_run, CLI_CALLS,
            "Run a generic job (the same as 'det job run')",
            OPTS(job_run_opts, job_run_options), .help = JOB_HELP),
    COMMAND("task", "fork", "TASK [CONTEXT]", run_task_fork, CLI_CALLS,
            "Run a job again, as it was or changed",
            OPTS(job_run_opts, job_run_options),
            .help = "Uses the configuration of the job, with the changes of --config.  "
                    "Without CONTEXT it also uses the job's files."),
    COMMAND("task", "list", "", run_task_list, CLI_CALLS | CLI_LISTS,
            "List running and waiting tasks, and paused jobs",
            OPTS(task_list_opts, task_list_options), ALIAS("ls")),
    COMMAND("task", "describe", "TASK...", run_task_describe, CLI_CALLS | CLI_SHOWS,
            "Show tasks with their runs",
            .help = "TASK is an id from 'det task list'; the first few characters of a "
                    "job's id are enough."),
    COMMAND("task", "logs", "TASK", run_task_logs, CLI_CALLS | CLI_SHOWS,
            "Print a task's logs", OPTS(log_opts, log_options)),
    COMMAND("task", "config", "TASK", run_task_config, CLI_CALLS | CLI_SHOWS,
            "Print a job's complete configuration"),
    COMMAND("task", "kill", "TASK...", run_task_kill, CLI_CALLS, "Kill jobs"),
    COMMAND("task", "pause", "TASK...", run_task_pause, CLI_CALLS,
            "Pause jobs: they end and free their slots",
            .help =
                "The job is told as a trial is ('det preempted').  If it has not "
                "ended after its preemption_timeout, it is killed.  Its state is not "
                "saved: an unpaused job starts from the beginning."),
    COMMAND("task", "unpause", "TASK...", run_task_unpause, CLI_CALLS,
            "Start paused jobs again, from the beginning"),
    COMMAND("task", "run", "DIR", NULL, CLI_ROLE | CLI_HIDDEN,
            "Supervise the task in DIR"),
    COMMAND("task", "enter", "COMMAND...", NULL, CLI_ROLE | CLI_HIDDEN,
            "Prepare the task's environment and run COMMAND in it",
            OPTS(enter_opts, enter_options)),
    COMMAND("task", "keep", "FILE...", run_task_keep, CLI_HIDDEN,
            "Save files that the task's program left behind"),

    COMMAND("tensorboard", "start", "[EXPERIMENT...]", run_tensorboard_start, CLI_CALLS,
            "Start TensorBoard for experiments or trials, and open it",
            OPTS(tensorboard_start_opts, tensorboard_start_options),
            .help =
                "TensorBoard runs as a task without slots, at an address of the "
                "master.  It shows the event files of the trials; for trials without "
                "event files it shows the metrics that they have reported.  It ends "
                "when nobody has used it for a while."),
    COMMAND("tensorboard", "list", "", run_tensorboard_list, CLI_CALLS | CLI_LISTS,
            "List TensorBoards", OPTS(tensorboard_list_opts, tensorboard_list_options),
            ALIAS("ls")),
    COMMAND("tensorboard", "open", "ID", run_tensorboard_open, CLI_CALLS,
            "Open a TensorBoard, when it is ready",
            OPTS(tensorboard_open_opts, tensorboard_open_options),
            .help = "The first few characters of its id are enough."),
    COMMAND("tensorboard", "logs", "ID", run_tensorboard_logs, CLI_CALLS | CLI_SHOWS,
            "Print a TensorBoard's logs", OPTS(log_opts, log_options)),
    COMMAND("tensorboard", "config", "ID", run_tensorboard_config,
            CLI_CALLS | CLI_SHOWS, "Print a TensorBoard's complete configuration"),
    COMMAND("tensorboard", "kill", "ID...", run_tensorboard_kill, CLI_CALLS,
            "Kill TensorBoards"),

    COMMAND("workspace", "list", "", run_workspace_list, CLI_CALLS | CLI_LISTS,
            "List workspaces", OPTS(space_list_opts, space_list_options), ALIAS("ls")),
    COMMAND("workspace", "create", "NAME", run_workspace_create, CLI_CALLS,
            "Create a workspace", OPTS(workspace_create_opts, workspace_options),
            .help = "The storage of a workspace is used by its experiments that name "
                    "none, its pools by everything in it that names none.  Only an "
                    "administrator may set the Unix user of its tasks."),
    COMMAND("workspace", "describe", "NAME", run_workspace_describe,
            CLI_CALLS | CLI_SHOWS, "Show a workspace"),
    COMMAND("workspace", "edit", "NAME", run_workspace_edit, CLI_CALLS,
            "Change a workspace", OPTS(workspace_edit_opts, workspace_options)),
    COMMAND("workspace", "archive", "NAME", run_workspace_archive, CLI_CALLS,
            "Archive a workspace: nothing can be added to it"),
    COMMAND("workspace", "unarchive", "NAME", run_workspace_unarchive, CLI_CALLS,
            "Use an archived workspace again"),
    COMMAND("workspace", "delete", "NAME", run_workspace_delete, CLI_CALLS,
            "Delete a workspace with its projects and experiments",
            OPTS(yes_opts, yes_options),
            .help = "Its experiments must have ended.  Its jobs are killed.  Returns "
                    "when everything is gone."),
    COMMAND("workspace", "pin", "NAME", run_workspace_pin, CLI_CALLS,
            "Pin a workspace: the WebUI's navigation shows it"),
    COMMAND("workspace", "unpin", "NAME", run_workspace_unpin, CLI_CALLS,
            "Do not pin a workspace any longer"),
    COMMAND("workspace", "list-projects", "NAME", run_workspace_list_projects,
            CLI_CALLS | CLI_LISTS, "List the projects of a workspace",
            OPTS(space_list_opts, space_list_options)),
    COMMAND("workspace", "list-pools", "NAME", run_workspace_list_pools,
            CLI_CALLS | CLI_LISTS, "List the resource pools that a workspace may use"),

    COMMAND("workspace", "list-members", "NAME", run_workspace_list_members,
            CLI_CALLS | CLI_LISTS, "List users and groups with a role in a workspace",
            .help = "Only roles that are assigned in this workspace; 'det workspace "
                    "access' also shows roles on the cluster, owners and members of "
                    "groups."),
    COMMAND("workspace", "access", "NAME", run_workspace_access, CLI_CALLS | CLI_LISTS,
            "List who may do what in a workspace, and why",
            .help =
                "For administrators, the owner of the workspace (mode basic) and those "
                "who assign its roles (mode rbac).  SUBMIT: create experiments; TASKS: "
                "start TensorBoards and jobs; CONTROL: pause, cancel, kill, move; "
                "DELETE, PROJECTS, WORKSPACE: change or delete them; ROLES: assign "
                "roles.  WHY names the role, and the group through which the user has "
                "it.  'det rbac who-may' lists every permission."),

    COMMAND("project", "list", "WORKSPACE", run_workspace_list_projects,
            CLI_CALLS | CLI_LISTS, "List the projects of a workspace",
            OPTS(space_list_opts, space_list_options), ALIAS("ls")),
    COMMAND("project", "create", "WORKSPACE PROJECT", run_project_create, CLI_CALLS,
            "Create a project", OPTS(project_create_opts, project_options)),
    COMMAND("project", "describe", "WORKSPACE PROJECT", run_project_describe,
            CLI_CALLS | CLI_SHOWS, "Show a project with its notes"),
    COMMAND("project", "list-experiments", "WORKSPACE PROJECT",
            run_project_list_experiments, CLI_CALLS | CLI_LISTS,
            "List the experiments of a project",
            OPTS(space_list_opts, space_list_options), ALIAS("le")),
    COMMAND("project", "edit", "WORKSPACE PROJECT", run_project_edit, CLI_CALLS,
            "Change name, description or key of a project",
            OPTS(project_edit_opts, project_options)),
    COMMAND("project", "add-note", "WORKSPACE PROJECT NAME TEXT", run_project_add_note,
            CLI_CALLS, "Add a note to a project"),
    COMMAND("project", "archive", "WORKSPACE PROJECT", run_project_archive, CLI_CALLS,
            "Archive a project: nothing can be added to it"),
    COMMAND("project", "unarchive", "WORKSPACE PROJECT", run_project_unarchive,
            CLI_CALLS, "Use an archived project again"),
    COMMAND("project", "move", "WORKSPACE PROJECT DESTINATION", run_project_move,
            CLI_CALLS, "Move a project to another workspace"),
    COMMAND("project", "delete", "WORKSPACE PROJECT", run_project_delete, CLI_CALLS,
            "Delete a project with its experiments", OPTS(yes_opts, yes_options),
            .help = "Its experiments must have ended.  Returns when everything is "
                    "gone."),

    COMMAND("master", "info", "", run_master_info, CLI_CALLS | CLI_SHOWS,
            "Show address, version and ids of the master"),
    COMMAND("master", "config", "", run_master_config, CLI_CALLS | CLI_SHOWS,
            "Show the master's configuration"),
    COMMAND("master", "logs", "", run_master_logs, CLI_CALLS | CLI_SHOWS,
            "Print the last lines of the master's log",
            OPTS(master_logs_opts, log_options),
            .help = "For administrators.  The master keeps the last 5000 lines since "
                    "its start; its file has all of them."),
    COMMAND("master", "certificate", "", run_master_certificate, CLI_SHOWS,
            "Show the certificate of the master on this machine",
            OPTS(master_certificate_opts, master_certificate_options),
            .help = "Prints its SHA-256 fingerprint, its names and until when it is "
                    "valid.  Compare the fingerprint with the one that the first "
                    "command on another machine shows, before you trust it there."),
    COMMAND("master", "run", "", NULL, CLI_ROLE, "Run a master without an agent",
            OPTS(master_run_opts, master_run_options)),

    COMMAND("resources", "raw", "START END", run_resources_raw, CLI_CALLS | CLI_SHOWS,
            "Print who held which slots in a period",
            .help = "For administrators.  START and END are times like "
                    "2026-11-15T00:00:00Z.  Prints CSV, one row per run of a trial or "
                    "job; `seconds` is the part within the period.  --json prints the "
                    "same as JSON."),
    COMMAND("resources", "aggregated", "START END", run_resources_aggregated,
            CLI_CALLS | CLI_SHOWS, "Print the use of slots per day or month",
            OPTS(resources_opts, resources_options),
            .help = "For administrators.  START and END are the first and the last "
                    "day, like 2026-11-15, in UTC.  Prints CSV: slots times seconds, "
                    "in total and by user, resource pool and label.  --json prints the "
                    "same as JSON."),

    COMMAND("user", "login", "[NAME]", run_user_login, CLI_CALLS, "Log in",
            OPTS(login_opts, login_options),
            .help =
                "Asks for the password; without a terminal, reads it from standard "
                "input.\n\n--sso opens the sign-in page of the WebUI, where any kind "
                "of sign-in works, and waits for its answer on a port of this "
                "computer.  --device is for computers without a browser: it prints "
                "an address and a code to enter there."),
    COMMAND("user", "logout", "", run_user_logout, CLI_CALLS, "Log out"),
    COMMAND("user", "whoami", "", run_user_whoami, CLI_CALLS | CLI_SHOWS,
            "Show the current user"),
    COMMAND("user", "list", "", run_user_list, CLI_CALLS | CLI_LISTS, "List users",
            OPTS(user_list_opts, user_list_options), ALIAS("ls")),
    COMMAND("user", "create", "NAME", run_user_create, CLI_CALLS, "Add a user",
            OPTS(user_create_opts, user_create_options)),
    COMMAND("user", "change-password", "[NAME]", run_user_change_password, CLI_CALLS,
            "Change a password", OPTS(password_opts, password_options)),
    COMMAND("user", "reset-password", "NAME", run_user_reset_password, 0,
            "Set a forgotten password, as the owner of the data directory",
            OPTS(user_reset_opts, user_reset_options),
            .help =
                "Needs no session, but write access to the data directory of a master "
                "that runs.  Asks for the new password; without a terminal, reads it "
                "from standard input.  Ends the sessions of the user.  A remote user "
                "becomes a local one."),
    COMMAND("user", "link-with-agent-user", "NAME", run_user_link, CLI_CALLS,
            "Run the tasks of a user as a Unix user",
            OPTS(user_link_opts, user_link_options),
            .help =
                "For administrators.  Agents that run as root run new tasks of NAME "
                "with these numbers; other agents refuse them, unless they run as "
                "that user."),

    COMMAND("audit", "list", "", run_audit_list, CLI_CALLS | CLI_LISTS,
            "List changes, logins and refused calls",
            OPTS(audit_list_opts, audit_list_options), ALIAS("ls"),
            .help =
                "For administrators; the newest first.  FIELDS names the fields that a "
                "call carried, with the values of ids only."),
    COMMAND("user", "activate", "NAME", run_user_activate, CLI_CALLS,
            "Let a user log in"),
    COMMAND("user", "deactivate", "NAME", run_user_deactivate, CLI_CALLS,
            "End a user's sessions and tokens, and allow no new ones"),
    COMMAND("user", "rename", "NAME NEW-NAME", run_user_rename, CLI_CALLS,
            "Change the name a user logs in with"),
    COMMAND("user", "edit", "NAME", run_user_edit, CLI_CALLS, "Change a user",
            OPTS(user_edit_opts, user_edit_options)),

    COMMAND("user-group", "create", "NAME", run_user_group_create, CLI_CALLS,
            "Add a group", OPTS(user_group_create_opts, user_group_create_options)),
    COMMAND("user-group", "list", "", run_user_group_list, CLI_CALLS | CLI_LISTS,
            "List groups", OPTS(user_group_list_opts, user_group_list_options),
            ALIAS("ls")),
    COMMAND("user-group", "describe", "NAME", run_user_group_describe,
            CLI_CALLS | CLI_LISTS, "List the members of a group"),
    COMMAND("user-group", "add-user", "NAME USER...", run_user_group_add_user,
            CLI_CALLS, "Add users to a group"),
    COMMAND("user-group", "remove-user", "NAME USER...", run_user_group_remove_user,
            CLI_CALLS, "Remove users from a group"),
    COMMAND("user-group", "change-name", "NAME NEW-NAME", run_user_group_change_name,
            CLI_CALLS, "Rename a group"),
    COMMAND("user-group", "delete", "NAME", run_user_group_delete, CLI_CALLS,
            "Delete a group and its role assignments", OPTS(yes_opts, yes_options)),

    COMMAND("rbac", "my-permissions", "", run_rbac_my_permissions,
            CLI_CALLS | CLI_LISTS, "List what your roles allow"),
    COMMAND("rbac", "list-roles", "", run_rbac_list_roles, CLI_CALLS | CLI_LISTS,
            "List roles", OPTS(role_list_opts, role_list_options)),
    COMMAND("rbac", "describe-role", "ROLE", run_rbac_describe_role,
            CLI_CALLS | CLI_LISTS, "List the permissions of a role"),
    COMMAND("rbac", "list-users-roles", "USER", run_rbac_list_users_roles,
            CLI_CALLS | CLI_LISTS, "List a user's roles, also through groups"),
    COMMAND("rbac", "list-groups-roles", "GROUP", run_rbac_list_groups_roles,
            CLI_CALLS | CLI_LISTS, "List a group's roles"),
    COMMAND("rbac", "assign-role", "ROLE", run_rbac_assign_role, CLI_CALLS,
            "Assign a role to a user or group",
            OPTS(role_assign_opts, role_assign_options)),
    COMMAND("rbac", "unassign-role", "ROLE", run_rbac_unassign_role, CLI_CALLS,
            "Remove a role from a user or group",
            OPTS(role_assign_opts, role_assign_options)),
    COMMAND("rbac", "who-may", "WORKSPACE", run_rbac_who_may, CLI_CALLS | CLI_LISTS,
            "List who may do what in a workspace, and why",
            .help = "For administrators and the owner of the workspace.  WORKSPACE is "
                    "its name or number."),

    COMMAND("token", "create", "[USER]", run_token_create, CLI_CALLS | CLI_SHOWS,
            "Create an access token", OPTS(token_create_opts, token_create_options),
            .help = "Prints the token to standard output.  It is never shown again.  "
                    "Without USER it acts as the caller."),
    COMMAND("token", "list", "[USER]", run_token_list, CLI_CALLS | CLI_LISTS,
            "List access tokens", OPTS(token_list_opts, token_list_options),
            ALIAS("ls")),
    COMMAND("token", "describe", "ID...", run_token_describe, CLI_CALLS | CLI_LISTS,
            "Show access tokens"),
    COMMAND("token", "edit", "ID", run_token_edit, CLI_CALLS,
            "Change the description of an access token",
            OPTS(token_edit_opts, token_edit_options)),
    COMMAND("token", "revoke", "ID", run_token_revoke, CLI_CALLS,
            "Revoke an access token"),
    COMMAND("token", "login", "[TOKEN]", run_token_login, CLI_CALLS,
            "Log in with an access token",
            .help = "Without TOKEN, asks for it; without a terminal, reads it from "
                    "standard input, where other users of the machine cannot see it."),

    COMMAND("config", "check", "FILE", run_config_check, 0,
            "Check a configuration file", OPTS(config_check_opts, kind_options),
            .help =
                "FILE '-' is standard input.  Prints every problem with its line and "
                "column.  The exit code is 0 if there is no problem, 2 if there is "
                "one, and 11 if all problems are features that are not built yet."),
    COMMAND("config", "explain", "[KEY]", run_config_explain, 0,
            "Explain a key, or list all keys", OPTS(kind_opts, kind_options)),
    COMMAND("config", "defaults", "", run_config_defaults, 0,
            "Print every key with its default, as a valid file",
            OPTS(kind_opts, kind_options)),

    COMMAND(
        "serve", NULL, "", NULL, CLI_ROLE, "Run a master and an agent on this machine",
        OPTS(serve_opts, serve_options),
        .help = "Listens on the loopback interface only, until passwords are set.  "
                "On any other address it speaks TLS: with --tls-cert and --tls-key, "
                "or with a certificate of its own, whose fingerprint it prints.  "
                "Ctrl-C or 'det stop' ends it and its tasks."),
    COMMAND("stop", NULL, "", NULL, CLI_ROLE,
            "Stop the master and the agent of this machine",
            OPTS(stop_opts, stop_options)),
    COMMAND(
        "backup", NULL, "DIR", NULL, CLI_ROLE,
        "Back up the data directory of this machine's master",
        OPTS(backup_opts, backup_options),
        .help =
            "Also while the master runs.  DIR holds any number of backups; each is "
            "complete, and adds only what has changed since the earlier ones.  What "
            "is written is read back.  Run it as the user who runs the master.  DIR "
            "is private: it holds password hashes and keys.  Checkpoints are left "
            "out unless --checkpoints is given, and then only those in the data "
            "directory."),
    COMMAND("restore", NULL, "DIR", NULL, CLI_ROLE,
            "Make a data directory from a backup", OPTS(restore_opts, restore_options),
            .help =
                "DIR is that of 'det backup'.  Everything is verified before it is put "
                "in place.  All sessions and access tokens end.  What ran at the time "
                "of the backup begins again from its latest checkpoint; what was "
                "started later is unknown, and agents end it.  New experiments get "
                "numbers that were not in use before."),
    COMMAND("trust", NULL, "ADDRESS", run_trust, 0,
            "Trust the certificate of the master at an https:// address",
            OPTS(trust_opts, trust_options),
            .help = "Shows the certificate's SHA-256 fingerprint and asks; compare it "
                    "with the one that 'det master certificate' prints on the master's "
                    "machine.  What you trust "
                    "is in ~/.config/determined/known_masters.  A certificate that "
                    "changes later is refused until you trust the new one."),
    COMMAND("doctor", NULL, "[CHECK...]", run_doctor, CLI_CALLS | CLI_SHOWS,
            "Check this host and the cluster", OPTS(doctor_opts, doctor_options),
            .help = "Says of each thing that is wrong why it matters and what to do.  "
                    "Changes nothing and starts no master: without one, only this host "
                    "is checked.  CHECK limits it to some checks: their names, 'host' "
                    "or 'cluster'.\n\n" DOCTOR_HELP
                    "\nThe exit code is 0 if no check failed, else 1; warnings do not "
                    "count."),
    COMMAND("import", NULL, "DIR...", run_import, CLI_CALLS | CLI_SHOWS,
            "Import offline runs into a master", OPTS(import_opts, import_options),
            .help =
                "DIR is the folder of an offline run (a run without a master), or a "
                "folder that contains such folders.  Each run becomes an unmanaged "
                "experiment with one trial: its metrics, output, checkpoints and "
                "final state.  Checkpoints are copied into the experiment's "
                "checkpoint storage, which this machine must be able to see, and "
                "checked against their manifests.  Data that the master already has "
                "is not imported again: repeat an import that was interrupted, or "
                "import a run again after it has continued."),
    COMMAND("ui", NULL, "[DIR]", run_ui, 0, "Show offline runs in the browser",
            OPTS(ui_opts, ui_options),
            .help =
                "DIR is the folder of an offline run (a run without a master), or a "
                "folder that contains such folders (default: "
                "~/.local/share/det/offline).  The pages are those of a master; they "
                "follow the runs live, and nothing can be changed there.  No master "
                "is asked or started, and only you have access.  Ctrl-C ends it.  "
                "Without DIR and without any run, the pages of the master on this "
                "machine are opened."),
    COMMAND("preview-search", NULL, "CONFIG", run_preview_search, CLI_LISTS,
            "Show what a search would run, without running it"),
    COMMAND("resume-proof", NULL, "CONFIG [CONTEXT]", run_resume_proof,
            CLI_CALLS | CLI_SHOWS, "Prove that a killed experiment resumes exactly",
            OPTS(proof_opts, proof_options),
            .help =
                "Runs the experiment twice with the same seed: once undisturbed, and "
                "once killed (SIGKILL to all its processes) at random moments and "
                "resumed from its latest checkpoint each time.  Then compares the "
                "final checkpoints byte by byte and all metrics value by value, and "
                "lists the differences.  If something differs, the experiment runs "
                "undisturbed once more: if that run differs too, the program is not "
                "deterministic; otherwise the resume is the cause.  A search is "
                "reduced to one trial.  Kills do "
                "not count as restarts; a failure of the program itself ends the "
                "proof.  The experiments have the label 'resume-proof' and are "
                "archived; 'det experiment list -a' shows them.\n\n"
                "The exit code is 0 if everything is the same after all N kills.  It "
                "is 1 if something differs, if fewer kills were possible, or if no "
                "kill came after a checkpoint.  'cause' of --json is 'program' if the "
                "program is not deterministic, and 'resume' if the resume loses "
                "something.  This machine must be able to see the "
                "checkpoint storage."),

    COMMAND("report", NULL, "[NAME=VALUE...]", run_report, 0,
            "Inside a task: report metrics", OPTS(report_opts, report_options),
            .help =
                "Values are numbers (also NaN and inf); NAME:=TEXT reports text.  "
                "Returns as soon as the report is in the task's own file, from which "
                "it is sent.  With --wait, returns when the master has stored it, "
                "and fails if the master refuses it."),
    COMMAND("checkpoint", "save", "DIR", run_checkpoint_save, 0,
            "Inside a task: save a folder as a checkpoint",
            OPTS(checkpoint_save_opts, checkpoint_save_options),
            .help = "Copies DIR into the checkpoint storage, syncs it, reports it and "
                    "prints its uuid."),
    COMMAND("checkpoint", "restore", "DIR", run_checkpoint_restore, 0,
            "Inside a task: copy a checkpoint into a folder",
            OPTS(checkpoint_restore_opts, checkpoint_restore_options),
            .help =
                "Copies the trial's latest checkpoint, or that of --uuid.  Checks "
                "every file against the checkpoint's manifest.  DIR must be empty or "
                "not exist.  The exit code is 4 if there is no checkpoint yet, and 8 "
                "if it is damaged or missing."),
    COMMAND(
        "hparam", NULL, "NAME", run_hparam, 0, "Inside a task: print a hyperparameter",
        .help = "Nested hyperparameters are named with dots, elements of lists with "
                "numbers: optimizer.lr, layers[0].  Strings are printed as they are, "
                "other values as JSON."),
    COMMAND("preempted", NULL, "", run_preempted, 0,
            "Inside a task: check whether it must stop now",
            .help = "The exit code is 0 if the task must save its state and end, else "
                    "1.  It is 1 while the master is unreachable."),

    COMMAND("launch", "mpi", "COMMAND...", run_launch_mpi, 0,
            "Start one process per rank with mpirun", OPTS(launch_opts, launch_options),
            .help =
                "det launch mpi -n 4 -- python3 train.py --lr 0.1\n\n"
                "Each rank has RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_SIZE, "
                "LOCAL_WORLD_SIZE, CROSS_RANK and CROSS_SIZE in its environment, and "
                "its lines begin with [rank=N].  Several ranks share the processors: "
                "OMP_NUM_THREADS, TF_NUM_INTRAOP_THREADS and TF_NUM_INTEROP_THREADS "
                "are set to each rank's share, unless they are set already.  Signals "
                "are forwarded.  If a rank fails, its number is printed, all ranks "
                "are ended, and its exit code is that of this command.  Needs Open "
                "MPI; all ranks run on one node."),

    COMMAND("launch", "torch_distributed", "COMMAND...", run_launch_torch, 0,
            "Start one process per slot for torch.distributed",
            OPTS(launch_torch_opts, launch_torch_options),
            .help =
                "det launch torch_distributed -n 2 -- python3 train.py --lr 0.1\n\n"
                "Each process has the variables that torchrun sets: RANK, "
                "WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, GROUP_RANK, "
                "GROUP_WORLD_SIZE, MASTER_ADDR, MASTER_PORT, those that begin with "
                "ROLE_ and TORCHELASTIC_, and OMP_NUM_THREADS=1 unless it is set.  "
                "Its lines begin with [rank=N].  Signals are forwarded.  If a "
                "process fails, its rank is printed, the others get SIGTERM and 5 "
                "seconds later SIGKILL, and its exit code is that of this command.  "
                "In a task with several nodes it runs on each of them, and ranks are "
                "numbered from node to node.  Needs neither torchrun nor mpirun."),

    COMMAND("launch", "tensorflow", "COMMAND...", run_launch_tensorflow, 0,
            "Start one process per node for tf.distribute",
            OPTS(launch_tensorflow_opts, launch_tensorflow_options),
            .help =
                "det launch tensorflow -- python3 train.py --lr 0.1\n\n"
                "In a task with several nodes, TF_CONFIG tells each process where "
                "the others are, as MultiWorkerMirroredStrategy needs it, and its "
                "lines begin with [rank=N].  On a single node the command runs "
                "unchanged.  DistributedContext.from_tf_config() gives the context "
                "and the strategy for both.  If the task has several slots that are "
                "processors, programs that import determined have one replica of "
                "MirroredStrategy per slot."),
    COMMAND("launch", "tensorflow_distributed", "COMMAND...",
            run_launch_tensorflow_distributed, 0,
            "Start a command with one MirroredStrategy replica per slot",
            OPTS(launch_mirrored_opts, launch_tensorflow_options),
            .help =
                "det launch tensorflow_distributed -- python3 train.py\n\n"
                "The command runs once.  In it, tf.distribute.MirroredStrategy() has "
                "one replica per slot of the task.  If the slots are processors and "
                "not GPUs, the program must import determined before it uses "
                "TensorFlow.  A task with several nodes is refused."),

    COMMAND("docs", NULL, "[PAGE]", run_docs, 0, "Show the documentation in a browser",
            .help =
                "Guide and references of this version, with a search.  They are in the "
                "program: neither a network nor a master is needed.  Prints the "
                "address, and opens it if there is a screen.  PAGE is a page's name: "
                "'det docs checkpoints'.  A master shows the same at its address, "
                "below /docs/."),
    COMMAND("completion", NULL, "SHELL", run_completion, 0,
            "Print a completion script for bash, zsh or fish",
            .help = "bash:  source <(det completion bash)\n"
                    "zsh:   source <(det completion zsh)\n"
                    "fish:  det completion fish | source"),
    COMMAND("version", NULL, "", run_version, CLI_SHOWS, "Print the version"),
    COMMAND("internal", "rank", "COMMAND...", run_internal_rank, CLI_HIDDEN,
            "Run one rank of 'det launch'"),
    COMMAND("internal", "record", "DIR WAY...", run_internal_record, CLI_HIDDEN,
            "Record the output of an offline run"),
    COMMAND("internal", "config", "FILE", run_internal_config, CLI_HIDDEN,
            "Print the complete configuration of FILE as JSON"),
    COMMAND("internal", "tensorboard", "", run_internal_tensorboard, CLI_HIDDEN,
            "Run TensorBoard inside its task"),
    COMMAND("internal", "complete", "KIND", run_internal_complete,
            CLI_CALLS | CLI_HIDDEN, "Print the ids that completion offers"),
    COMMAND("internal", "man", "DIR", run_internal_man, CLI_HIDDEN,
            "Write the man pages into DIR"),
    {.noun = NULL},
};
