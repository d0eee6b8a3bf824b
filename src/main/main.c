/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - one program, several roles.
 *
 * The roles (serve, stop, backup, restore, master run, agent run, task run, task enter) run
 * here.  All
 * other commands run in src/cli and talk to a master through libdet. */
#include <assert.h>
#include <string.h>

#include "agent/env/enter.h"
#include "agent/task/supervisor.h"
#include "base/compiler.h"
#include "cli/frame/cli_main.h"
#include "cli/frame/parse.h"
#include "cli/frame/role_options.h"
#include "main/agent_run.h"
#include "main/backup_role.h"
#include "main/serve.h"
#include "main/stop.h"

static int run_serve(const struct cli_invocation *in)
{
    return serve_main(in->options);
}

static int run_master(const struct cli_invocation *in)
{
    const struct master_run_options *given = in->options;
    const struct serve_options options = {
        .port = given->port,
        .has_port = given->has_port,
        .host = given->host,
        .has_host = given->has_host,
        .data_dir = given->data_dir,
        .config = given->config,
        .slots = CLI_UNSET,
        .initial_password = given->initial_password,
        .initial_password_file = given->initial_password_file,
        .tls_cert = given->tls_cert,
        .tls_key = given->tls_key,
        .tls = given->tls,
        .no_tls = given->no_tls,
        .no_agent = true,
    };

    return serve_main(&options);
}

static int run_agent(const struct cli_invocation *in)
{
    return agent_run_main(in->globals.master, in->options);
}

static int run_task(const struct cli_invocation *in)
{
    return supervisor_run(in->args[0]);
}

static int run_enter(const struct cli_invocation *in)
{
    return enter_run(in->options, in->args);
}

static int run_stop(const struct cli_invocation *in)
{
    return stop_main(in->options);
}

static int run_backup(const struct cli_invocation *in)
{
    return backup_main(in->options, in->args[0]);
}

static int run_restore(const struct cli_invocation *in)
{
    return restore_main(in->options, in->args[0]);
}

static const struct {
    const char *words;
    int (*run)(const struct cli_invocation *in);
} roles[] = {
    {"serve", run_serve},   {"master run", run_master}, {"agent run", run_agent},
    {"task run", run_task}, {"task enter", run_enter},  {"stop", run_stop},
    {"backup", run_backup}, {"restore", run_restore},
};

static int run_role(const struct cli_invocation *in)
{
    const char *words = cli_words(in);

    for (size_t i = 0; i < ARRAY_LEN(roles); i++)
        if (!strcmp(roles[i].words, words))
            return roles[i].run(in);
    assert(!"each row with CLI_ROLE has a row in roles[]");
    return det_status_exit(DET_INVALID);
}

int main(int argc, char **argv)
{
    CLEANUP(cli_invocation_done) struct cli_invocation in = {0};
    struct err err = {0};
    det_status st = cli_parse(argc, argv, &in, &err);

    if (!st && cli_is_role(&in) && !in.globals.wants_help)
        return run_role(&in);
    return cli_main(argc, argv);
}
