/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/task/prepare/entrypoint.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "base/memory/arena.h"
#include "data/json/json.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

/* ^[a-zA-Z0-9_.]+:[a-zA-Z0-9_]+$ */
static bool is_class(const char *text)
{
    size_t module = strspn(text, LETTERS ".");
    size_t class;

    if (!module || text[module] != ':')
        return false;
    class = strspn(text + module + 1, LETTERS);
    return class && !text[module + 1 + class];
}

static const char **fixed(struct arena *mem, const char *const *words, size_t count)
{
    const char **argv = arena_array(mem, const char *, count + 1);

    for (size_t i = 0; argv && i < count; i++)
        argv[i] = words[i];
    return argv;
}

static det_status from_list(const struct json *list, struct arena *mem,
                            const char ***ret_argv, struct err *err)
{
    const char **argv = arena_array(mem, const char *, list->list.count + 1);
    size_t count = 0;

    if (!argv)
        return err_default(err, DET_NOMEM);
    json_each(item, list) {
        argv[count] = json_str(item, NULL);
        if (!argv[count])
            return err_set(err, DET_INVALID,
                           "the entrypoint's list holds %s where a string is expected",
                           json_kind_name(item->kind));
        count++;
    }
    if (!count)
        return err_set(err, DET_INVALID, "the entrypoint is an empty list");
    *ret_argv = argv;
    return DET_OK;
}

det_status entrypoint_argv(const struct json *entrypoint, const char *python,
                           struct arena *mem, const char ***ret_argv, struct err *err)
{
    const char *text = json_str(entrypoint, NULL);
    const char *harness[] = {python, "-m", "determined.exec.harness", text};
    const char *shell[] = {"/bin/sh", "-c", text};
    const char **argv;

    if (entrypoint && entrypoint->kind == JSON_ARRAY)
        return from_list(entrypoint, mem, ret_argv, err);
    if (json_is_null(entrypoint))
        argv = fixed(mem, harness, 3);
    else if (!text || !text[0])
        return err_set(err, DET_INVALID,
                       "the entrypoint is %s where a command is expected",
                       text ? "empty" : json_kind_name(entrypoint->kind));
    else if (is_class(text))
        argv = fixed(mem, harness, 4);
    else
        argv = fixed(mem, shell, 3);
    if (!argv)
        return err_default(err, DET_NOMEM);
    *ret_argv = argv;
    return DET_OK;
}

det_status entrypoint_behind_hooks(const char **argv,
                                   const struct entrypoint_hooks *hooks,
                                   struct arena *mem, const char ***ret_argv,
                                   struct err *err)
{
    /* $0 is the first hook's path, so $@ is the command. */
    const char *source = hooks->has_bash ? "source" : ".";
    const char *script = arena_printf(
        mem, "set -e; %s%s%s%s%sexec \"$@\"", hooks->defaults ? source : "",
        hooks->defaults ? " \"$0\"; " : "", hooks->own ? source : "",
        hooks->own ? " " : "", hooks->own ? "./startup-hook.sh; " : "");
    size_t count = 0;
    const char **chain;

    if (!hooks->defaults && !hooks->own) {
        *ret_argv = argv;
        return DET_OK;
    }
    while (argv[count])
        count++;
    chain = arena_array(mem, const char *, count + 5);
    if (!chain || !script)
        return err_default(err, DET_NOMEM);
    chain[0] = hooks->has_bash ? "bash" : "/bin/sh";
    chain[1] = "-c";
    chain[2] = script;
    chain[3] = hooks->defaults ? hooks->defaults : hooks->own;
    memcpy(&chain[4], argv, count * sizeof(*argv));
    *ret_argv = chain;
    return DET_OK;
}
