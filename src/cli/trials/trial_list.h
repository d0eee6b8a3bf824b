/* SPDX-License-Identifier: Apache-2.0 */
/* trial_list.h - the trials of an experiment, as many as the user asked for.
 *
 * A search may have thousands of trials.  On a terminal, only as many are shown as fit;
 * a last line says how many there are.  Pipes, CSV and JSON get all of them unless an
 * option limits them. */
#ifndef CLI_TRIALS_TRIAL_LIST_H
#define CLI_TRIALS_TRIAL_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct cli;
struct json;
struct trial_list_options;

struct trial_list {
    struct json *trials; /* those to show */
    int64_t total;       /* of the experiment */
    int64_t shown;
    bool is_cut_to_fit; /* the terminal decided, not the user */
};

/* DET_INVALID: options that contradict each other. */
det_status trial_list_check(struct cli *cli, const struct trial_list_options *options);

/* `lines_taken`: lines of the screen that other output takes. */
det_status trial_list_get(struct cli *cli, int64_t experiment_id,
                          const struct trial_list_options *options, size_t lines_taken,
                          struct trial_list *ret_list);

/* As a table; on a terminal with the line that says how many are not shown. */
det_status trial_list_print(struct cli *cli, const struct trial_list *list);

/* The first trial that failed, NULL without one; *ret_failed: how many did. */
det_status trial_list_failed(struct cli *cli, int64_t experiment_id,
                             const struct json **ret_first, int64_t *ret_failed);

#endif
