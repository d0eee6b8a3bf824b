/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - one program, several roles.
 *
 * A command line that names a role (serve, master run, agent run, task run, stop)
 * becomes that role; everything else is a command, which talks to a master through
 * libdet. */
#include <string.h>

#include "agent/env/enter.h"
#include "agent/task/supervisor.h"
#include "cli/cli.h"
#include "cli/roles.h"
#include "main/roles.h"

static int run_serve(const struct cli_invocation *in)
{
    return role_serve(in->options);
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
        .no_agent = true,
    };

    return role_serve(&options);
}

static int run_agent(const struct cli_invocation *in)
{
    return role_agent(in->globals.master, in->options);
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
    return role_stop(in->options);
}

static const struct {
    const char *words;
    int (*run)(const struct cli_invocation *in);
} roles[] = {
    {"serve", run_serve},   {"master run", run_master}, {"agent run", run_agent},
    {"task run", run_task}, {"task enter", run_enter},  {"stop", run_stop},
};

static int run_role(const struct cli_invocation *in)
{
    const char *words = cli_words(in);

    for (size_t i = 0; i < ARRAY_LEN(roles); i++)
        if (!strcmp(roles[i].words, words))
            return roles[i].run(in);
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
