/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.h - checkpoints as the API shows them, for several commands. */
#ifndef CLI_NOUNS_CHECKPOINT_H
#define CLI_NOUNS_CHECKPOINT_H

#include "base/err.h"

struct cli;
struct json;

det_status checkpoint_print_table(struct cli *cli, const struct json *checkpoints);
/* The directory of a checkpoint's files.  Fails if this machine cannot see it. */
det_status checkpoint_directory(struct cli *cli, const struct json *checkpoint,
                                const char **ret_path);

#endif
