/* SPDX-License-Identifier: Apache-2.0 */
/* user_edit.c - `det user activate, deactivate, rename, edit`. */
#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/options.h"
#include "cli/frame/people_options.h"
#include "cli/people/people_find.h"
#include "data/json/json.h"

/* Sends the object that `body` holds. */
static det_status patch_user(struct cli *cli, const char *name, const struct buf *body)
{
    int64_t id;
    det_status st = people_find_user_id(cli, name, &id);

    if (!st && body->status)
        st = cli_nomem(cli);
    if (st)
        return st;
    st = cli_send(cli, "PATCH", body->data, NULL, "/api/v1/users/%" PRId64, id);
    if (st == DET_FORBIDDEN)
        return cli_hint(cli, "an administrator acts with 'det -u admin user ...'");
    return st;
}

static det_status set_active(struct cli *cli, const char *name, bool is_active)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);
    det_status st;

    jw_object(&w, NULL);
    jw_bool(&w, "active", is_active);
    jw_end_object(&w);
    st = patch_user(cli, name, &body);
    if (!st)
        cli_put(cli, "%s user %s\n", is_active ? "Activated" : "Deactivated", name);
    return st;
}

det_status run_user_activate(struct cli *cli, const struct cli_invocation *in)
{
    return set_active(cli, in->args[0], true);
}

det_status run_user_deactivate(struct cli *cli, const struct cli_invocation *in)
{
    return set_active(cli, in->args[0], false);
}

det_status run_user_rename(struct cli *cli, const struct cli_invocation *in)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);
    det_status st;

    jw_object(&w, NULL);
    jw_str(&w, "username", in->args[1]);
    jw_end_object(&w);
    st = patch_user(cli, in->args[0], &body);
    if (!st)
        cli_put(cli, "Renamed user %s to %s\n", in->args[0], in->args[1]);
    return st;
}

static void write_choice(struct json_writer *w, const char *key, const char *word)
{
    if (word)
        jw_bool(w, key, !strcmp(word, "true"));
}

det_status run_user_edit(struct cli *cli, const struct cli_invocation *in)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    const struct user_edit_options *options = in->options;
    struct json_writer w = JSON_WRITER(&body);
    det_status st;

    if (!options->username && !options->display_name && !options->admin &&
        !options->active && !options->remote)
        return cli_fail(cli, DET_INVALID,
                        "say what to change; 'det user edit --help' lists it");
    jw_object(&w, NULL);
    if (options->username)
        jw_str(&w, "username", options->username);
    if (options->display_name)
        jw_str(&w, "displayName", options->display_name);
    write_choice(&w, "admin", options->admin);
    write_choice(&w, "active", options->active);
    write_choice(&w, "remote", options->remote);
    jw_end_object(&w);
    st = patch_user(cli, in->args[0], &body);
    if (!st)
        cli_put(cli, "Changed user %s\n", in->args[0]);
    return st;
}
