/* SPDX-License-Identifier: Apache-2.0 */
/* trial.h - trials as rows of a table, for several commands. */
#ifndef CLI_NOUNS_TRIAL_H
#define CLI_NOUNS_TRIAL_H

#include <stdbool.h>

#include "base/err.h"
#include "cli/output/table.h"

struct cli;
struct json;

extern const struct table_column trial_columns[];
void trial_add_row(struct cli *cli, struct table *table, const struct json *trial);
det_status trial_print_table(struct cli *cli, const struct json *trials);
/* If the trial failed: prints a field with `who`, the reason and the command that shows
 * more.  `trial` may be NULL. */
void trial_print_failure(struct cli *cli, const char *who, const struct json *trial);
/* The last, lowest and highest value of every metric.  `is_named`: under a line that
 * names the trial. */
det_status trial_print_metrics(struct cli *cli, const struct json *trial,
                               bool is_named);
/* If the trial failed: prints the last lines of its log, at most TRIAL_END_LINES with the
 * heading.  `trial` may be NULL. */
enum { TRIAL_END_LINES = 12 };
det_status trial_print_end(struct cli *cli, const struct json *trial);

#endif
