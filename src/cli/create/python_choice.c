/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/create/python_choice.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory/buf.h"
#include "cli/create/config_file.h"
#include "cli/create/context_folder.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "data/json/json.h"
#include "data/yaml/yaml.h"
#include "model/field.h"

#define REQUIREMENTS "requirements.txt"

/* The interpreter of the environment that the caller's shell has activated; NULL: none.
 * A virtual environment inside a Conda environment is the one that counts. */
static const char *caller_python(struct cli *cli)
{
    static const char *const names[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *prefix = getenv(names[i]);
        const char *path;

        if (!prefix || prefix[0] != '/')
            continue;
        path = arena_printf(&cli->mem, "%s/bin/python", prefix);
        if (path && access(path, X_OK) == 0)
            return path;
    }
    return NULL;
}

static bool is_loopback(const struct json *address)
{
    const char *text = json_str(address, "");

    return strncmp(text, "127.", 4) == 0 || strcmp(text, "::1") == 0;
}

/* Whether a task can only run on this machine. */
static det_status is_only_here(struct cli *cli, bool *ret_is_here)
{
    const char *named = getenv("DET_MASTER");
    struct json *reply;
    det_status st;

    *ret_is_here = false;
    if (cli->in->globals.master || (named && *named))
        return DET_OK; /* perhaps another user's, or a cluster */
    st = cli_get(cli, &reply, "/api/v1/agents");
    if (st)
        return st;
    json_each(agent, json_get(reply, "agents"))
        json_each(address, json_get(agent, "addresses"))
            if (!is_loopback(address))
                return DET_OK;
    *ret_is_here = true;
    return DET_OK;
}

/* Writes "KEY: VALUE" into the configuration. */
static det_status put_value(struct cli *cli, const char *key, const char *value,
                            struct buf *text, const struct json **tree)
{
    CLEANUP(buf_done) struct buf quoted = BUF_INIT;
    struct json_writer w = JSON_WRITER(&quoted);
    const char *pair;
    struct field_strs pairs = {&pair, 1};
    struct json *raw;
    det_status st;

    jw_str(&w, NULL, value);
    pair = arena_printf(&cli->mem, "%s=%s", key, quoted.data);
    if (!pair || quoted.status)
        return cli_nomem(cli);
    st = yaml_parse(text->data, text->len, NULL, &cli->mem, &raw, cli->err);
    if (!st)
        st = config_file_override(cli, "the configuration", &pairs, &raw, text);
    if (!st)
        *tree = raw;
    return st;
}

static bool is_silent(const struct json *tree)
{
    return json_is_null(json_path(tree, "environment.python")) &&
           json_is_null(json_path(tree, "environment.requirements"));
}

static det_status choose_caller(struct cli *cli, struct buf *text,
                                const struct json **tree)
{
    const char *python = caller_python(cli);
    bool is_here;
    det_status st;

    if (!python || getenv("DET_ALLOCATION_ID")) /* in a task it is the task's own */
        return DET_OK;
    st = is_only_here(cli, &is_here);
    if (st)
        return st;
    if (!is_here) {
        cli_note(
            cli,
            "hint: the environment of this shell (%s) is not used, because the task "
            "may run elsewhere; list its packages in " REQUIREMENTS
            ", or name a Python of the agents with environment.python",
            python);
        return DET_OK;
    }
    cli_note(cli,
             "It runs with the environment of this shell: %s (environment.python names "
             "another)",
             python);
    return put_value(cli, "environment.python", python, text, tree);
}

det_status python_choice_make(struct cli *cli, const struct pack *pack,
                              struct buf *text, const struct json **tree)
{
    if (!is_silent(*tree))
        return DET_OK;
    if (!context_folder_has(pack, REQUIREMENTS))
        return choose_caller(cli, text, tree);
    cli_note(cli, "It runs with the packages of " REQUIREMENTS
                  " (environment.python names a Python that has its own)");
    return put_value(cli, "environment.requirements", REQUIREMENTS, text, tree);
}
