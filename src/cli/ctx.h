/* SPDX-License-Identifier: Apache-2.0 */
/* ctx.h - what a command works with: memory, the master, output, and small words.
 *
 * A command's function gets a `struct cli`, writes results with cli_put() and friends,
 * and returns a status; the first failure's sentence is in `cli->err`.  The master is
 * looked for, and started if need be, at the first call. */
#ifndef CLI_CTX_H
#define CLI_CTX_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "cli/cli.h"
#include "cli/term.h"
#include "data/json.h"
#include "det/det.h"

struct local_master;
struct table;

struct cli {
    struct arena mem; /* dies with the command */
    struct err *err;
    const struct cli_invocation *in;
    det_client *client;         /* NULL: not needed yet */
    int identity;               /* enum det_identity of `client` */
    const char *password;       /* asked for; NULL: not yet */
    struct buf out;             /* for stdout; flushed at the end, or by cli_flush() */
    struct term term;           /* of stdout */
    struct local_master *local; /* of --local; NULL: none */
    int exit_code; /* for commands whose result is one; used when all went well */
};

/* ---- failing --------------------------------------------------------------------- */

/* Sets the sentence. */
#define cli_fail(cli, status, ...) err_set((cli)->err, (status), __VA_ARGS__)
/* Adds a line "hint: ..." behind the sentence; returns the status in it. */
det_status cli_hint(struct cli *cli, const char *fmt, ...) PRINTF_LIKE(2, 3);
det_status cli_nomem(struct cli *cli);

/* ---- printing -------------------------------------------------------------------- */

/* stdout. */
#define cli_put(cli, ...) buf_printf(&(cli)->out, __VA_ARGS__)
det_status cli_flush(struct cli *cli);
/* stderr, one line. */
void cli_note(struct cli *cli, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* After one of several tries has failed: the first failure is the result of all, later
 * ones are told. */
void cli_keep_first(struct cli *cli, struct err *first);

/* A table as text or CSV (`--json` is printed by the caller); frees it. */
det_status cli_print_table(struct cli *cli, struct table *table);
det_status cli_print_json(struct cli *cli, const struct json *value);
/* YAML for people, JSON for programs. */
det_status cli_print_tree(struct cli *cli, const struct json *value);

/* ---- calling --------------------------------------------------------------------- */

/* Finds the master and opens the client; starts a local one when none is named and none
 * runs. */
det_status cli_connect(struct cli *cli);
/* `path` is built from the format.  The reply's tree lives in cli->mem. */
det_status cli_get(struct cli *cli, struct json **ret_reply, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* The same in memory of the caller's, for what is asked again and again. */
det_status cli_get_in(struct cli *cli, struct arena *mem, struct json **ret_reply,
                      const char *fmt, ...) PRINTF_LIKE(4, 5);
/* `body` NULL: none.  `ret_reply` may be NULL. */
det_status cli_send(struct cli *cli, const char *method, const char *body,
                    struct json **ret_reply, const char *fmt, ...) PRINTF_LIKE(5, 6);
/* GET of a reply that comes line by line; see det_call_stream(). */
det_status cli_stream(struct cli *cli, const char *path, det_line_fn *on_line,
                      void *arg);
/* After DET_UNAUTHENTICATED: asks a user who was named (-u, DET_USER) for the password,
 * once, where there is a terminal.  True: the call may be repeated. */
bool cli_ask_and_log_in(struct cli *cli);
/* Takes over the client's sentence. */
det_status cli_client_failed(struct cli *cli, det_status status);

/* ---- words ----------------------------------------------------------------------- */

struct cli_ids {
    int64_t *at;
    size_t count;
};
/* "1", "1,2" and several arguments.  `what` is what they number: "experiment". */
det_status cli_ids(struct cli *cli, const char *what, const char *const *words,
                   size_t count, struct cli_ids *ret_ids);
det_status cli_id(struct cli *cli, const char *what, const char *word, int64_t *ret_id);

/* A path segment or query value, encoded; "" when memory is out (and mem.has_failed).
 */
const char *cli_url(struct cli *cli, const char *text);

/* "STATE_COMPLETED" -> "COMPLETED". */
const char *cli_state(const struct json *state);
enum term_color cli_state_color(const char *state);
/* Local time, to the second; "" for none. */
const char *cli_time(struct cli *cli, const struct json *time);
/* "1d 02h", "3h 20m", "12m 05s", "8s". */
const char *cli_duration(struct cli *cli, int64_t seconds);
/* Between two times, or until now. */
const char *cli_took(struct cli *cli, const struct json *start, const struct json *end);
/* At most 6 digits; "" for no number. */
const char *cli_number(struct cli *cli, const struct json *value);
const char *cli_percent(struct cli *cli, const struct json *value);
const char *cli_i64(struct cli *cli, int64_t value);
const char *cli_size(struct cli *cli, uint64_t bytes);

/* Asks "QUESTION [y/N] " on the terminal.  DET_INVALID: there is no terminal to ask. */
det_status cli_confirm(struct cli *cli, const char *question, bool *ret_yes);
/* Without echo from the terminal, else a line of standard input. */
det_status cli_password(struct cli *cli, const char *prompt, const char **ret_password);

#endif
