/* SPDX-License-Identifier: Apache-2.0 */
/* experiment.h - experiments as a table. */
#ifndef CLI_NOUNS_EXPERIMENT_H
#define CLI_NOUNS_EXPERIMENT_H

#include "base/err.h"

struct cli;
struct json;

/* Prints a list of experiments of the API, as text or CSV. */
det_status experiment_print_table(struct cli *cli, const struct json *experiments);

#endif
