/* SPDX-License-Identifier: Apache-2.0 */
/* env.c - `det env`: the environments that agents have built on this machine.
 *
 * They are files in the agents' folders.  The master does not know them, so these
 * commands do not call it, and they show this machine only. */
#include <string.h>

#include "agent/env/envs.h"
#include "base/clock.h"
#include "base/io/io.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/options.h"
#include "cli/output/format.h"
#include "cli/output/table.h"
#include "data/json/json.h"
#include "data/time.h"
#include "libdet/client/runfile.h"

enum { KEY_SHOWN = 10 };

static const int64_t day_us = INT64_C(86400) * 1000000;

/* Adds the environments in DIR/envs.  find_environments() also looks in DIR/agent/envs and
 * DIR/agent-NAME/envs: DIR is an agent's folder, or that of a master with its agents. */
static det_status add_environments(struct cli *cli, const char *dir,
                                   struct envs_list *all)
{
    const char *path = arena_printf(&cli->mem, "%s/envs", dir);
    struct envs_list more = {0};
    struct env *at;
    det_status st;

    if (!path)
        return cli_nomem(cli);
    st = envs_list(io_system(), path, &cli->mem, &more, cli->err);
    if (st || !more.count)
        return st;
    at = arena_array(&cli->mem, struct env, all->count + more.count);
    if (!at)
        return cli_nomem(cli);
    if (all->count)
        memcpy(at, all->at, all->count * sizeof(*at));
    memcpy(at + all->count, more.at, more.count * sizeof(*at));
    *all = (struct envs_list){at, all->count + more.count};
    return DET_OK;
}

static det_status find_environments(struct cli *cli, const char *dir,
                                    struct envs_list *ret_all)
{
    const char **names;
    bool is_named = dir != NULL;
    det_status st = DET_OK;

    *ret_all = (struct envs_list){0};
    if (!dir)
        st = runfile_data_dir(&cli->mem, &dir, cli->err);
    if (!st)
        st = add_environments(cli, dir, ret_all);
    if (!st)
        st = io_list(io_system(), dir, &cli->mem, &names, NULL);
    if (st == DET_NOT_FOUND)
        return is_named ? cli_fail(cli, st, "there is no folder '%s'", dir) : DET_OK;
    for (; !st && *names; names++) {
        const char *inner = arena_printf(&cli->mem, "%s/%s", dir, *names);

        if (!inner)
            return cli_nomem(cli);
        if (!strcmp(*names, "agent") || !strncmp(*names, "agent-", 6))
            st = add_environments(cli, inner, ret_all);
    }
    return st;
}

static struct json *used_of(struct cli *cli, const struct env *env)
{
    char text[TIME_TEXT] = "";

    if (env->used_us)
        time_format(env->used_us, text);
    return *text ? json_new_str(&cli->mem, text) : json_new(&cli->mem, JSON_NULL);
}

static const char *state_of(const struct env *env)
{
    if (!env->marker)
        return env->is_in_use ? "being built" : "left over";
    return env->is_in_use ? "in use" : "";
}

static int64_t size_of(const struct env *env)
{
    return json_i64(json_get(env->marker, "sizeBytes"), 0);
}

static size_t package_count(const struct env *env)
{
    const struct json *packages = json_get(env->marker, "packages");

    return packages && packages->kind == JSON_OBJECT ? packages->list.count : 0;
}

static det_status print_json(struct cli *cli, const struct envs_list *all)
{
    struct json *list = json_new(&cli->mem, JSON_ARRAY);

    for (size_t i = 0; i < all->count; i++) {
        const struct env *env = &all->at[i];
        struct json *one = env->marker ? json_copy(&cli->mem, env->marker)
                                       : json_new(&cli->mem, JSON_OBJECT);

        json_set(&cli->mem, one, "key", json_new_str(&cli->mem, env->key));
        json_set(&cli->mem, one, "directory", json_new_str(&cli->mem, env->dir));
        json_set(&cli->mem, one, "isWhole",
                 json_new_bool(&cli->mem, env->marker != NULL));
        json_set(&cli->mem, one, "isInUse", json_new_bool(&cli->mem, env->is_in_use));
        json_set(&cli->mem, one, "lastUsed", used_of(cli, env));
        json_push(list, one);
    }
    return cli->mem.has_failed ? cli_nomem(cli) : cli_print_json(cli, list);
}

det_status run_env_list(struct cli *cli, const struct cli_invocation *in)
{
    static const struct table_column columns[] = {
        {"KEY", TABLE_LEFT},       {"PYTHON", TABLE_LEFT},
        {"PACKAGES", TABLE_RIGHT}, {"SIZE", TABLE_RIGHT},
        {"STATE", TABLE_LEFT},     {"LAST USED", TABLE_LEFT},
        {"DIRECTORY", TABLE_FLEX}, {0}};
    const struct env_list_options *options = in->options;
    struct envs_list all;
    struct table table;
    det_status st = find_environments(cli, options->data_dir, &all);

    if (st)
        return st;
    if (in->format == CLI_JSON)
        return print_json(cli, &all);
    table_init(&table, &cli->mem, columns);
    for (size_t i = 0; i < all.count; i++) {
        const struct env *env = &all.at[i];

        table_add_raw(&table, arena_strndup(&cli->mem, env->key, KEY_SHOWN), env->key);
        table_add(&table, json_str(json_get(env->marker, "python"), ""));
        table_add(&table, format_i64(cli, (int64_t)package_count(env)));
        table_add_raw(&table, format_size(cli, (uint64_t)size_of(env)),
                      format_i64(cli, size_of(env)));
        table_add(&table, state_of(env));
        table_add(&table, format_time(cli, used_of(cli, env)));
        table_add(&table, env->dir);
    }
    return cli_print_table(cli, &table);
}

static bool is_due(const struct env *env, const struct env_prune_options *options,
                   int64_t now_us)
{
    if (env->is_in_use)
        return false;
    if (options->all || !env->marker)
        return true;
    return now_us - env->used_us >= options->unused_for * day_us;
}

det_status run_env_prune(struct cli *cli, const struct cli_invocation *in)
{
    const struct env_prune_options *options = in->options;
    int64_t now_us = clock_wall_us(&clock_system);
    struct envs_list all;
    size_t removed = 0, kept = 0;
    int64_t bytes = 0;
    det_status st = find_environments(cli, options->data_dir, &all);

    for (size_t i = 0; !st && i < all.count; i++) {
        const struct env *env = &all.at[i];

        st = is_due(env, options, now_us)
                 ? envs_remove(io_system(), env, &cli->mem, cli->err)
                 : DET_BUSY;
        if (st && st != DET_BUSY)
            return st;
        if (st) {
            kept++;
        } else {
            removed++;
            bytes += size_of(env);
            cli_put(cli, "Removed environment %.*s\n", KEY_SHOWN, env->key);
        }
        st = DET_OK;
    }
    if (!st)
        cli_put(cli, "%zu removed (%s), %zu kept\n", removed,
                format_size(cli, (uint64_t)bytes), kept);
    return st;
}
