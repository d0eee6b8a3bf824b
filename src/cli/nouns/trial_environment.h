/* SPDX-License-Identifier: Apache-2.0 */
/* trial_environment.h - what the runs of a trial ran on: machine, packages, code, seeds. */
#ifndef CLI_NOUNS_TRIAL_ENVIRONMENT_H
#define CLI_NOUNS_TRIAL_ENVIRONMENT_H

#include <stdint.h>

#include "base/err.h"

struct cli;
struct json;

/* The master's reply. */
det_status trial_environment_get(struct cli *cli, int64_t trial,
                                 struct json **ret_reply);

#endif
