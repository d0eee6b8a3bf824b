/* SPDX-License-Identifier: Apache-2.0 */
/* show.h - pieces of listings and descriptions that several commands share. */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H

#include "base/err.h"
#include "cli/table.h"

struct buf;
struct cli;
struct json;

/* A configuration file, or standard input for "-". */
det_status cli_read_config(struct cli *cli, const char *path, struct buf *text);

/* A value for CSV: numbers and texts as they came, nested ones as JSON, null as "". */
const char *show_raw(struct cli *cli, const struct json *value);
/* "lr=0.1 optimizer.name=adam" */
const char *show_hparams(struct cli *cli, const struct json *hparams);
/* "  started      2026-11-15 10:00:00"; nothing for an empty value. */
void show_field(struct cli *cli, const char *name, const char *value);
/* Trials as rows of a table (trial.c). */
extern const struct table_column show_trial_columns[];
void show_trial_row(struct cli *cli, struct table *table, const struct json *trial);
det_status show_trials(struct cli *cli, const struct json *trials);
/* Why a trial failed and where to look, as a field, behind `who`; nothing of NULL and
 * of others. */
void show_failure(struct cli *cli, const char *who, const struct json *trial);
/* Checkpoints as a table (checkpoint.c). */
det_status show_checkpoints(struct cli *cli, const struct json *checkpoints);
/* The last element first. */
void show_reverse(struct json *list);

#endif
