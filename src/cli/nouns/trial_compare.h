/* SPDX-License-Identifier: Apache-2.0 */
/* trial_compare.h - the differences between two trials. */
#ifndef CLI_NOUNS_TRIAL_COMPARE_H
#define CLI_NOUNS_TRIAL_COMPARE_H

#include <stdint.h>

#include "base/err.h"

struct cli;

/* Prints them.  Sets cli->exit_code to 1 if a metric differs. */
det_status trial_compare(struct cli *cli, int64_t one, int64_t other);

#endif
