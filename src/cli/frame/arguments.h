/* SPDX-License-Identifier: Apache-2.0 */
/* arguments.h - the ids among a command's arguments. */
#ifndef CLI_FRAME_ARGUMENTS_H
#define CLI_FRAME_ARGUMENTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct cli;

struct cli_ids {
    int64_t *at;
    size_t count;
};

/* "1", "1,2" and several arguments.  `what` names what they number: "experiment". */
det_status cli_ids(struct cli *cli, const char *what, const char *const *words,
                   size_t count, struct cli_ids *ret_ids);
/* With --local, `word` may also be the name or the path of a run. */
det_status cli_id(struct cli *cli, const char *what, const char *word, int64_t *ret_id);

#endif
