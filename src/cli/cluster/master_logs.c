/* SPDX-License-Identifier: Apache-2.0 */
/* master_logs.c - `det master logs`: the last lines of the master's log.
 *
 * The master keeps them in memory, so a new one starts with none.  A command that follows
 * ends with the master. */
#include <inttypes.h>
#include <string.h>

#include "base/memory/arena.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/options.h"
#include "data/json/json.h"

enum { FLUSH_BYTES = 1 << 16, LINE_TREE = 1 << 20 };

struct printing {
    struct cli *cli;
    struct arena line;
    bool follows;
    det_status status;
};

static int print_line(void *arg, const char *text, size_t len)
{
    struct printing *printing = arg;
    struct cli *cli = printing->cli;
    const struct json *entry;
    const char *level;
    struct json *tree;

    arena_clear(&printing->line);
    if (json_parse(text, len, &printing->line, &tree, NULL))
        return 0;
    entry = json_path(tree, "result.logEntry");
    if (!entry) {
        const char *why = json_str(json_path(tree, "error.message"), NULL);

        if (why)
            printing->status = cli_fail(cli, DET_FAILED, "%s", why);
        return why != NULL;
    }
    level = json_str(json_get(entry, "level"), "");
    if (!strncmp(level, "LOG_LEVEL_", 10))
        level += 10;
    if (cli->in->format == CLI_JSON)
        cli_put(cli, "%s\n", json_text(&printing->line, entry));
    else
        cli_put(cli, "%s %-7s %s\n", json_str(json_get(entry, "timestamp"), ""), level,
                json_str(json_get(entry, "message"), ""));
    if (printing->follows || cli->out.len > FLUSH_BYTES)
        printing->status = cli_flush(cli);
    return printing->status != DET_OK;
}

det_status run_master_logs(struct cli *cli, const struct cli_invocation *in)
{
    const struct log_options *options = in->options;
    struct printing printing = {
        .cli = cli, .line = ARENA_INIT(LINE_TREE), .follows = options->follow};
    int64_t offset = options->tail == CLI_UNSET ? 0 : -options->tail;
    const char *path =
        arena_printf(&cli->mem, "/api/v1/master/logs?follow=%s&offset=%" PRId64,
                     options->follow ? "true" : "false", offset);
    det_status st =
        path ? cli_stream(cli, path, print_line, &printing) : cli_nomem(cli);

    arena_done(&printing.line);
    return printing.status ? printing.status : st;
}
