/* SPDX-License-Identifier: Apache-2.0 */
/* local_master.h - --local: a master in the memory of this command. */
#ifndef CLI_OFFLINE_LOCAL_MASTER_H
#define CLI_OFFLINE_LOCAL_MASTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct cli;
struct json;
struct local_master;

/* The configuration of a master that runs nothing; in `mem`. */
det_status local_master_config(struct arena *mem, struct json **ret_tree,
                               struct err *err);
/* Starts it, imports the runs of the folder and opens cli->client.  cli_connect() calls
 * this for --local. */
det_status local_master_open(struct cli *cli);
void local_master_close(struct local_master *local); /* NULL does nothing */
/* The number of the run that a word names. */
det_status local_master_id(struct cli *cli, const char *word, int64_t *ret_id);
/* Imports what run `id` has printed since the last call.  *ret_is_over: the run has
 * ended and there was nothing new. */
det_status local_master_renew_output(struct cli *cli, int64_t id, bool *ret_is_over);

#endif
