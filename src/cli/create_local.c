/* SPDX-License-Identifier: Apache-2.0 */
/* create_local.c - `det experiment create --local`: the experiment's first trial here
 * and now, without a master.
 *
 * It is the trial that a master would have created first: the searcher is asked for its
 * hyperparameters and its seed.  This process becomes the entrypoint, in the folder
 * itself, with what a run without a master reads (libdet/offline.c); what it leaves
 * behind is looked at with --local like any other run. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/task/entrypoint.h"
#include "agent/task/world.h"
#include "base/compiler.h"
#include "cli/create.h"
#include "cli/ctx.h"
#include "cli/launch.h"
#include "cli/options.h"
#include "data/json.h"
#include "search/searcher.h"

/* ---- its trial ------------------------------------------------------------------- */

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
    return cli_fail(cli, DET_INVALID, "the search would create no trial");
}

/* ---- its world ------------------------------------------------------------------- */

/* Other tools of the program are found before others of the same name, and the package
 * behind what the user's own PYTHONPATH names; as in tasks. */
static det_status set_paths(struct cli *cli, const char *program)
{
    const char *slash = strrchr(program, '/');
    const char *path = getenv("PATH");
    const char *python = getenv("PYTHONPATH");
    const char *package = world_package(program, &cli->mem);
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

static det_status set_configured(struct cli *cli,
                                 const struct experiment_config *config)
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

static det_status set_trial(struct cli *cli, const struct experiment_config *config,
                            const struct search_op *trial)
{
    int64_t seed = config->trial_seed >= 0 ? config->trial_seed : trial->trial_seed;
    const char *text = cli_i64(cli, seed);
    det_status st = text ? launch_set(cli, "DET_TRIAL_SEED", text) : cli_nomem(cli);

    if (!st)
        st = launch_set(cli, "DET_HPARAMS", trial->hparams);
    if (!st) /* a launch layer in the entrypoint starts one process */
        st = launch_set(cli, "DET_SLOT_IDS", "[0]");
    return st ? st : launch_set(cli, "DET_EXPERIMENT_CONFIG", config->json);
}

/* Also where this is a task, as in a notebook: the trial is none of it. */
static void leave_task(void)
{
    static const char *const names[] = {"DET_ALLOCATION_ID", "DET_RUN_DIR",
                                        "DET_LAUNCH"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        unsetenv(names[i]);
}

/* What --local=DIR names is seen from here, not from the folder. */
static det_status set_directory(struct cli *cli)
{
    const char *dir = cli->in->globals.local;
    char here[PATH_MAX];

    if (!*dir)
        return DET_OK;
    if (*dir != '/') {
        if (!getcwd(here, sizeof(here)))
            return err_errno(cli->err, errno, "the current folder");
        dir = arena_printf(&cli->mem, "%s/%s", here, dir);
        if (!dir)
            return cli_nomem(cli);
    }
    return launch_set(cli, "DET_OFFLINE_DIR", dir);
}

/* ---- becoming it ----------------------------------------------------------------- */

det_status create_may_be_here(struct cli *cli)
{
    const struct create_options *options = cli->in->options;
    static const char sentence[] =
        "--local and %s exclude each other: without a master there is %s";

    if (cli->in->globals.master)
        return cli_fail(cli, DET_INVALID, sentence, "--master", "none to be asked");
    if (options->paused)
        return cli_fail(cli, DET_INVALID, sentence, "--paused",
                        "nothing that would start it later");
    if (options->fork != CLI_UNSET || options->checkpoint)
        return cli_fail(cli, DET_INVALID, sentence,
                        options->checkpoint ? "--checkpoint" : "--fork",
                        "no other experiment");
    if (options->template_name)
        return cli_fail(cli, DET_INVALID, sentence, "--template", "no template");
    return DET_OK;
}

static void say_what_differs(struct cli *cli, const struct experiment_config *config)
{
    if (strcmp(config->searcher_name, "single") != 0)
        cli_note(cli, "searcher '%s': only its first trial runs here",
                 config->searcher_name);
    if (config->slots_per_trial > 1)
        cli_note(cli, "slots_per_trial is %u: here it is one process",
                 config->slots_per_trial);
    if (!json_is_null(json_path(config->tree, "environment.requirements")))
        cli_note(cli, "environment.requirements: here it runs with the packages that "
                      "are installed");
}

static det_status become(struct cli *cli, const struct experiment_config *config,
                         const char *folder)
{
    const char *python =
        json_str(json_path(config->tree, "environment.python"), "python3");
    const char **argv;
    det_status st =
        entrypoint_argv(config->entrypoint, python, &cli->mem, &argv, cli->err);

    if (st)
        return st;
    if (folder && chdir(folder))
        return err_errno(cli->err, errno, "cannot go to '%s'", folder);
    return launch_become(cli, argv);
}

det_status create_here(struct cli *cli, const struct experiment_config *config,
                       const char *folder)
{
    const struct create_options *options = cli->in->options;
    const struct search_op *trial = NULL;
    char program[PATH_MAX] = "";
    det_status st = first_trial(cli, config, &trial);

    if (st)
        return st;
    if (readlink("/proc/self/exe", program, sizeof(program) - 1) <= 0)
        return err_errno(cli->err, errno, "where is this program?");
    say_what_differs(cli, config);
    leave_task();
    st = set_configured(cli, config);
    if (!st)
        st = set_trial(cli, config, trial);
    if (!st)
        st = set_directory(cli);
    if (!st && options->test)
        st = launch_set(cli, "DET_TEST_MODE", "1");
    if (!st)
        st = set_paths(cli, program);
    return st ? st : become(cli, config, folder);
}
