/* SPDX-License-Identifier: Apache-2.0 */
/* create_local.c - `det experiment create --local`: runs the experiment's first trial
 * here, without a master.
 *
 * It is the trial that a master would create first: the searcher gives its
 * hyperparameters and its seed.  This process becomes the entrypoint, in the folder
 * itself, with the environment of an offline run (libdet/offline/offline.c).  --local
 * shows the result like any other offline run. */
#include "cli/create/create_local.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/env/interpreter.h"
#include "agent/task/prepare/entrypoint.h"
#include "agent/task/prepare/task_layout.h"
#include "base/compiler.h"
#include "cli/frame/cli.h"
#include "cli/frame/options.h"
#include "cli/frame/program_path.h"
#include "cli/launch/launch.h"
#include "cli/output/format.h"
#include "config/experiment_config.h"
#include "data/json/json.h"
#include "model/determinism.h"
#include "search/searcher.h"

/* ---- the trial ------------------------------------------------------------------- */

static det_status first_trial(struct cli *cli, const struct experiment_config *config,
                              const struct search_op **ret_op)
{
    struct search_out out = {.mem = &cli->mem};
    struct searcher *searcher;
    det_status st = searcher_new(config->searcher, config->hyperparameters,
                                 config->seed, &searcher, cli->err);

    if (st)
        return st;
    searcher_start(searcher, &out);
    searcher_free(searcher);
    if (out.status)
        return cli_fail(cli, out.status, "%s", out.err.text);
    for (uint32_t i = 0; i < out.count; i++)
        if (out.op[i].kind == SEARCH_CREATE) {
            *ret_op = &out.op[i];
            return DET_OK;
        }
    return cli_fail(cli, DET_INVALID, "the search does not create a trial");
}

/* ---- the environment ------------------------------------------------------------- */

/* As in tasks: the folder of this program comes first in PATH, and the determined
 * package comes last in PYTHONPATH. */
static det_status set_paths(struct cli *cli, const char *program)
{
    const char *slash = strrchr(program, '/');
    const char *path = getenv("PATH");
    const char *python = getenv("PYTHONPATH");
    const char *package = task_layout_package(program, &cli->mem);
    det_status st =
        launch_set(cli, "PATH",
                   arena_printf(&cli->mem, "%.*s:%s", (int)(slash - program), program,
                                path ? path : "/usr/local/bin:/usr/bin:/bin"));

    if (!st && package)
        st = launch_set(cli, "PYTHONPATH",
                        arena_printf(&cli->mem, "%s%s%s", python ? python : "",
                                     python && *python ? ":" : "", package));
    return !st && cli->mem.has_failed ? cli_nomem(cli) : st;
}

static det_status set_variables(struct cli *cli, const struct experiment_config *config)
{
    det_status st = DET_OK;

    json_each(item, config->environment_variables) {
        const char *text = json_str(item, "");
        size_t len = strcspn(text, "=");
        const char *name = arena_strndup(&cli->mem, text, len);

        if (!name)
            return cli_nomem(cli);
        if (len && !st)
            st = launch_set(cli, name, text[len] ? text + len + 1 : "");
    }
    return st;
}

static det_status set_determinism(struct cli *cli, const char *seed)
{
    det_status st = launch_set(cli, DETERMINISM_HASH, seed);

    for (size_t i = 0; !st && i < determinism_variable_count; i++)
        st = launch_set(cli, determinism_variables[i].name,
                        determinism_variables[i].value);
    return st;
}

static det_status set_trial(struct cli *cli, const struct experiment_config *config,
                            const struct search_op *trial)
{
    int64_t seed = config->trial_seed >= 0 ? config->trial_seed : trial->trial_seed;
    const char *text = format_i64(cli, seed);
    det_status st = text ? launch_set(cli, "DET_TRIAL_SEED", text) : cli_nomem(cli);

    if (!st && determinism_is_wanted(config->tree))
        st = set_determinism(cli, text);
    if (!st)
        st = launch_set(cli, "DET_HPARAMS", trial->hparams);
    if (!st) /* a launcher in the entrypoint starts one process */
        st = launch_set(cli, "DET_SLOT_IDS", "[0]");
    return st ? st : launch_set(cli, "DET_EXPERIMENT_CONFIG", config->json);
}

/* This may run inside a task (a notebook, for example), which the trial is not part of. */
static void leave_task(void)
{
    static const char *const names[] = {"DET_ALLOCATION_ID", "DET_RUN_DIR",
                                        "DET_LAUNCH"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        unsetenv(names[i]);
}

/* DIR of --local=DIR is relative to the current folder, not to CONTEXT. */
static det_status set_directory(struct cli *cli)
{
    const char *dir = cli->in->globals.local;
    char here[PATH_MAX];

    if (!*dir)
        return DET_OK;
    if (*dir != '/') {
        if (!getcwd(here, sizeof(here)))
            return err_errno(cli->err, errno, "cannot find the current folder");
        dir = arena_printf(&cli->mem, "%s/%s", here, dir);
        if (!dir)
            return cli_nomem(cli);
    }
    return launch_set(cli, "DET_OFFLINE_DIR", dir);
}

/* ---- running it ------------------------------------------------------------------ */

det_status create_local_check_options(struct cli *cli)
{
    const struct create_options *options = cli->in->options;
    static const char sentence[] =
        "--local and %s cannot be used together: without a master there is %s";

    if (cli->in->globals.master)
        return cli_fail(cli, DET_INVALID, sentence, "--master", "nobody to ask");
    if (options->paused)
        return cli_fail(cli, DET_INVALID, sentence, "--paused",
                        "nothing that could start it later");
    if (options->fork != CLI_UNSET || options->checkpoint)
        return cli_fail(cli, DET_INVALID, sentence,
                        options->checkpoint ? "--checkpoint" : "--fork",
                        "no other experiment");
    if (options->includes.count)
        return cli_fail(cli, DET_INVALID,
                        "--local and --include cannot be used together: the trial runs "
                        "in CONTEXT itself");
    return DET_OK;
}

static void print_differences(struct cli *cli, const struct experiment_config *config)
{
    if (strcmp(config->searcher_name, "single") != 0)
        cli_note(cli, "searcher '%s': only the first trial runs here",
                 config->searcher_name);
    if (config->slots_per_trial > 1)
        cli_note(cli, "slots_per_trial is %u: here the trial is one process",
                 config->slots_per_trial);
    if (!json_is_null(json_path(config->tree, "environment.requirements")))
        cli_note(cli, "environment.requirements: here the trial uses the packages that "
                      "are installed");
}

static det_status become_entrypoint(struct cli *cli,
                                    const struct experiment_config *config,
                                    const char *folder)
{
    const char *python =
        json_str(json_path(config->tree, "environment.python"), "python3");
    const char **argv;
    det_status st = interpreter_expand(python, &cli->mem, &python, cli->err);

    if (!st)
        st = entrypoint_argv(config->entrypoint, python, &cli->mem, &argv, cli->err);
    if (st)
        return st;
    if (folder && chdir(folder))
        return err_errno(cli->err, errno, "cannot change to folder '%s'", folder);
    return launch_become(cli, argv);
}

det_status create_local_run(struct cli *cli, const struct experiment_config *config,
                            const char *folder)
{
    const struct create_options *options = cli->in->options;
    const struct search_op *trial = NULL;
    const char *program;
    det_status st = first_trial(cli, config, &trial);

    if (st)
        return st;
    st = program_path(&cli->mem, &program, cli->err);
    if (st)
        return st;
    print_differences(cli, config);
    leave_task();
    st = set_variables(cli, config);
    if (!st)
        st = set_trial(cli, config, trial);
    if (!st)
        st = set_directory(cli);
    if (!st && options->test)
        st = launch_set(cli, "DET_TEST_MODE", "1");
    if (!st)
        st = set_paths(cli, program);
    return st ? st : become_entrypoint(cli, config, folder);
}
