/* SPDX-License-Identifier: Apache-2.0 */
/* call.h - calls to the master.
 *
 * The first call finds the master (connect.h).  Replies are trees in cli->mem. */
#ifndef CLI_FRAME_CALL_H
#define CLI_FRAME_CALL_H

#include "base/compiler.h"
#include "base/err.h"
#include "det/det.h"

struct arena;
struct cli;
struct json;

/* `path` is built from the format. */
det_status cli_get(struct cli *cli, struct json **ret_reply, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* The same with the caller's memory, for calls that are repeated. */
det_status cli_get_in(struct cli *cli, struct arena *mem, struct json **ret_reply,
                      const char *fmt, ...) PRINTF_LIKE(4, 5);
/* `body` NULL: none.  `ret_reply` may be NULL. */
det_status cli_send(struct cli *cli, const char *method, const char *body,
                    struct json **ret_reply, const char *fmt, ...) PRINTF_LIKE(5, 6);
/* GET of a reply that comes line by line; see det_call_stream(). */
det_status cli_stream(struct cli *cli, const char *path, det_line_fn *on_line,
                      void *arg);
/* After a call of cli->client failed: copies its sentence and adds a hint. */
det_status cli_client_failed(struct cli *cli, det_status status);

/* Encodes a path segment or query value; "" when memory runs out (mem.has_failed). */
const char *cli_url(struct cli *cli, const char *text);

/* The reply to a GET that nobody waits for: NULL if there is none, for whatever reason.  A
 * `path` of NULL is out of memory. */
struct json *cli_try_get(det_client *client, const char *path, struct arena *mem);

#endif
