/* SPDX-License-Identifier: Apache-2.0 */
/* create.h - what other commands that submit share with `det experiment create`. */
#ifndef CLI_CREATE_CREATE_H
#define CLI_CREATE_CREATE_H

#include "base/err.h"

struct buf;
struct cli;
struct json;

/* Posts a submission.  The master may create the `what` ("experiment") although its caller
 * leaves, so a first Ctrl-C only waits for the answer.  *ret_interrupt is that signal, or 0:
 * raise() it after the number was printed. */
det_status create_post(struct cli *cli, const char *what, const char *path,
                       const struct buf *body, struct json **ret_reply,
                       int *ret_interrupt);
/* Prints the warnings in the master's reply to a submission. */
void create_show_warnings(struct cli *cli, const struct json *reply);

#endif
