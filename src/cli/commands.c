/* SPDX-License-Identifier: Apache-2.0 */
/* commands.c - the whole command line of det, one row a command.
 *
 * Help, man pages, completion and the parser read these tables; nothing about a command
 * is said a second time. */
#include <stddef.h>

#include "agent/env/enter.h"
#include "base/compiler.h"
#include "cli/option_tables.h"
#include "cli/options.h"
#include "cli/roles.h"
#include "cli/run.h"
#include "cli/table_of_commands.h"

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
