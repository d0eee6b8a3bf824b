/* SPDX-License-Identifier: Apache-2.0 */
/* cli.h - what every command works with: memory, the error, the output.
 *
 * A command's function gets a `struct cli`, prints with cli_put() and friends, and
 * returns a status.  The sentence of the first failure is in `cli->err`.  Calls to the
 * master are in call.h. */
#ifndef CLI_FRAME_CLI_H
#define CLI_FRAME_CLI_H

#include <stdint.h>

#include "base/err.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "cli/frame/parse.h"
#include "cli/output/progress_line.h"
#include "cli/output/term.h"
#include "det/det.h"

struct json;
struct local_master;
struct table;

struct cli {
    struct arena mem; /* freed when the command ends */
    struct err *err;
    const struct cli_invocation *in;
    det_client *client;   /* NULL: not needed yet */
    int identity;         /* enum det_identity of `client` */
    const char *password; /* as the user typed it; NULL: not asked yet */
    struct buf out;       /* stdout; flushed at the end, or by cli_flush() */
    struct term term;     /* of stdout */
    struct progress_line progress;
    struct local_master *local; /* of --local; NULL: none */
    bool is_raw;   /* the output is somebody's data, and not for a terminal */
    int exit_code; /* of a command that succeeded */
};

/* ---- failing --------------------------------------------------------------------- */

/* Sets the sentence. */
#define cli_fail(cli, status, ...) err_set((cli)->err, (status), __VA_ARGS__)
/* Adds a line "hint: ..." to the sentence; returns the status of the sentence. */
det_status cli_hint(struct cli *cli, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Adds the hint how to list objects to an error about one that is not found. */
void cli_hint_list(struct cli *cli);
det_status cli_nomem(struct cli *cli);
/* For commands that try several things: after a failure, keeps it in `first` if it is
 * the first one, and prints it otherwise. */
void cli_keep_first(struct cli *cli, struct err *first);

/* ---- printing -------------------------------------------------------------------- */

/* stdout. */
#define cli_put(cli, ...) buf_printf(&(cli)->out, __VA_ARGS__)
det_status cli_flush(struct cli *cli);
/* stderr, one line. */
void cli_note(struct cli *cli, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Prints a table as text or CSV and frees it.  The caller handles --json. */
det_status cli_print_table(struct cli *cli, struct table *table);
det_status cli_print_json(struct cli *cli, const struct json *value);
/* YAML for people, JSON for programs. */
det_status cli_print_tree(struct cli *cli, const struct json *value);
/* "  started      2026-11-15 10:00:00"; prints nothing for an empty value. */
void cli_print_field(struct cli *cli, const char *name, const char *value);

/* ---- waiting --------------------------------------------------------------------- */

void cli_sleep(int64_t milliseconds);

#endif
