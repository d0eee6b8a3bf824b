/* SPDX-License-Identifier: Apache-2.0 */
/* task_command_list.h - rows of commands.c: jobs, the queue, tasks.  Included there,
 * hence no guard. */

#define JOB_HELP                                                                       \
    "CONFIG is the job's YAML file ('-': standard input): its entrypoint, its data, "  \
    "what it runs on.  CONTEXT is the folder with the code, sent as for an "           \
    "experiment.  A job has no trials, no metrics and no checkpoints; it is never "    \
    "restarted: an exit code that is not 0 ends it as ERROR.\n\n"                      \
    "With --follow the exit code says how it ended: 0 when it COMPLETED, else 1."

COMMAND("job", "run", "CONFIG [CONTEXT]", run_job_run, CLI_CALLS,
        "Run a program that trains nothing", OPTS(job_run_opts, job_run_options),
        .help = JOB_HELP),
    COMMAND("job", "list", "", run_job_list, CLI_CALLS | CLI_LISTS,
            "Show the queue: experiments and jobs that run or wait",
            OPTS(job_list_opts, job_list_options), ALIAS("ls")),
    COMMAND("job", "update", "JOB", run_job_update, CLI_CALLS,
            "Change priority, weight or resource pool of a job",
            OPTS(job_update_opts, job_update_options),
            .help = "JOB is the number of an experiment, or the job's own id."),

    COMMAND("task", "create", "CONFIG [CONTEXT]", run_job_run, CLI_CALLS,
            "Run a program that trains nothing: 'det job run' by its later name",
            OPTS(job_run_opts, job_run_options), .help = JOB_HELP),
    COMMAND(
        "task", "fork", "TASK [CONTEXT]", run_task_fork, CLI_CALLS,
        "Run a job again, as it was or changed", OPTS(job_run_opts, job_run_options),
        .help = "Its configuration is that of the job, as --config changes it; without "
                "CONTEXT also its files are."),
    COMMAND("task", "list", "", run_task_list, CLI_CALLS | CLI_LISTS,
            "List what runs or waits, and jobs that are paused",
            OPTS(task_list_opts, task_list_options), ALIAS("ls")),
    COMMAND("task", "describe", "TASK...", run_task_describe, CLI_CALLS | CLI_SHOWS,
            "Show tasks with their runs",
            .help =
                "TASK is its id in 'det task list'; of a job the first few digits will "
                "do."),
    COMMAND("task", "logs", "TASK", run_task_logs, CLI_CALLS | CLI_SHOWS,
            "Print a task's logs", OPTS(log_opts, log_options)),
    COMMAND("task", "config", "TASK", run_task_config, CLI_CALLS | CLI_SHOWS,
            "Print a job's complete configuration"),
    COMMAND("task", "kill", "TASK...", run_task_kill, CLI_CALLS, "Kill jobs"),
    COMMAND("task", "pause", "TASK...", run_task_pause, CLI_CALLS,
            "Pause jobs: they end, and give their slots back",
            .help =
                "A job hears of it as a trial does ('det preempted'); one that has not "
                "ended after its preemption_timeout is killed.  Nothing of it is kept: "
                "it begins at its start when it is unpaused."),
    COMMAND("task", "unpause", "TASK...", run_task_unpause, CLI_CALLS,
            "Let paused jobs begin again, from their start"),
    COMMAND("task", "run", "DIR", NULL, CLI_ROLE | CLI_HIDDEN,
            "Supervise the task in DIR"),
    COMMAND("task", "enter", "COMMAND...", NULL, CLI_ROLE | CLI_HIDDEN,
            "Make the task's environment and become COMMAND",
            OPTS(enter_opts, enter_options)),

    COMMAND(
        "tensorboard", "start", "[EXPERIMENT...]", run_tensorboard_start, CLI_CALLS,
        "Run TensorBoard on experiments or trials, and open it",
        OPTS(tensorboard_start_opts, tensorboard_start_options),
        .help =
            "TensorBoard runs as a task that needs no slots, and is reached through "
            "the master's address.  It shows the event files of the trials, or, "
            "for trials that have written none, the metrics that they have "
            "reported.  It ends when nobody has looked for a while."),
    COMMAND("tensorboard", "list", "", run_tensorboard_list, CLI_CALLS | CLI_LISTS,
            "List TensorBoards", OPTS(task_list_opts, task_list_options), ALIAS("ls")),
    COMMAND("tensorboard", "open", "ID", run_tensorboard_open, CLI_CALLS,
            "Open a TensorBoard that runs, or is starting",
            OPTS(tensorboard_open_opts, tensorboard_open_options),
            .help = "Of its id the first few digits will do."),
    COMMAND("tensorboard", "logs", "ID", run_tensorboard_logs, CLI_CALLS | CLI_SHOWS,
            "Print a TensorBoard's logs", OPTS(log_opts, log_options)),
    COMMAND("tensorboard", "config", "ID", run_tensorboard_config,
            CLI_CALLS | CLI_SHOWS, "Print a TensorBoard's complete configuration"),
    COMMAND("tensorboard", "kill", "ID...", run_tensorboard_kill, CLI_CALLS,
            "Kill TensorBoards"),
