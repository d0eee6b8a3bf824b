/* SPDX-License-Identifier: Apache-2.0 */
/* create_local.h - `det experiment create --local`. */
#ifndef CLI_CREATE_CREATE_LOCAL_H
#define CLI_CREATE_CREATE_LOCAL_H

#include "base/err.h"

struct cli;
struct experiment_config;

/* DET_INVALID: another option of the command does not go with --local. */
det_status create_local_check_options(struct cli *cli);
/* Becomes the entrypoint of the first trial, in `folder` (NULL: the current one).
 * Returns only after a failure. */
det_status create_local_run(struct cli *cli, const struct experiment_config *config,
                            const char *folder);

#endif
