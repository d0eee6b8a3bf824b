/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/frame/cli_main.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/command_row.h"
#include "cli/help/help.h"
#include "cli/offline/local_master.h"
#include "cli/output/term.h"

enum { MEM_LIMIT = 1 << 30 };

int cli_report(det_status status, const struct err *err)
{
    const char *text = err && err->text[0] ? err->text : det_status_text(status);

    CLEANUP(buf_done) struct buf safe = BUF_INIT;

    term_escape(&safe, text, strlen(text), TERM_PLAIN); /* it may quote names */
    fprintf(stderr, "det: %s\n", safe.status ? "out of memory" : safe.data);
    return det_status_exit(status);
}

static void print_help(struct cli *cli, const struct cli_invocation *in)
{
    if (in->command)
        help_command(&cli->out, in->command);
    else if (in->noun)
        help_noun(&cli->out, in->noun);
    else
        help_all(&cli->out);
}

det_status run_version(struct cli *cli, const struct cli_invocation *in)
{
    if (in->format == CLI_JSON)
        cli_put(cli, "{\"version\": \"%s\"}\n", DET_VERSION);
    else
        cli_put(cli, "det %s\n", DET_VERSION);
    return DET_OK;
}

static det_status run_command(struct cli *cli, const struct cli_invocation *in)
{
    if (in->globals.wants_help) {
        print_help(cli, in);
        return DET_OK;
    }
    if (in->globals.wants_version)
        return run_version(cli, in);
    assert(in->command->run); /* src/main carries out the roles */
    return in->command->run(cli, in);
}

static int run_invocation(const struct cli_invocation *in, struct err *err)
{
    struct cli cli = {.mem = ARENA_INIT(MEM_LIMIT),
                      .err = err,
                      .in = in,
                      .out = BUF_INIT,
                      .term = term_of(STDOUT_FILENO)};
    det_status st, flushed;

    memset(err, 0, sizeof(*err));
    progress_line_init(&cli.progress);
    st = run_command(&cli, in);
    progress_line_end(&cli.progress);
    if (st && !err->text[0])
        (void)err_default(err, st);
    cli_hint_list(&cli);
    if (st) { /* still print the output from before the failure */
        struct err first = *err;

        (void)cli_flush(&cli);
        *err = first;
    } else {
        flushed = cli_flush(&cli);
        st = flushed;
    }
    det_client_close(cli.client);
    local_master_close(cli.local);
    buf_done(&cli.out);
    arena_done(&cli.mem);
    return st ? cli_report(st, err) : cli.exit_code;
}

int cli_main(int argc, char **argv)
{
    struct cli_invocation in;
    struct err err = {0};
    det_status st = cli_parse(argc, argv, &in, &err);
    int code = st ? cli_report(st, &err) : run_invocation(&in, &err);

    cli_invocation_done(&in);
    return code;
}
