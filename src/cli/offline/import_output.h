/* SPDX-License-Identifier: Apache-2.0 */
/* import_output.h - imports the output of an offline run. */
#ifndef CLI_OFFLINE_IMPORT_OUTPUT_H
#define CLI_OFFLINE_IMPORT_OUTPUT_H

#include <stdint.h>

#include "base/err.h"

struct cli;
struct offline_run;

/* What the run has printed since the last import. */
det_status import_more_output(struct cli *cli, const struct offline_run *run,
                              int64_t trial_id, uint64_t *ret_bytes);

#endif
