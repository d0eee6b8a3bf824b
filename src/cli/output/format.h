/* SPDX-License-Identifier: Apache-2.0 */
/* format.h - values of replies as short texts: states, times, numbers, sizes.
 *
 * All texts live in cli->mem.  When memory runs out they are "", and mem.has_failed is
 * set. */
#ifndef CLI_OUTPUT_FORMAT_H
#define CLI_OUTPUT_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/output/term.h"

struct cli;
struct json;

/* "STATE_COMPLETED" -> "COMPLETED". */
const char *format_state(const struct json *state);
/* Whether the state of an experiment, trial or job is final: COMPLETED, CANCELED or
 * ERROR. */
bool format_state_is_final(const char *state);
enum term_color format_state_color(const char *state);
/* Local time, to the second; "" for null. */
const char *format_time(struct cli *cli, const struct json *time);
/* "1d 02h", "3h 20m", "12m 05s", "8s". */
const char *format_duration(struct cli *cli, int64_t seconds);
/* Between two times; until now if `end` is null. */
const char *format_elapsed(struct cli *cli, const struct json *start,
                           const struct json *end);
/* Absent means no. */
const char *format_yes_no(const struct json *flag);
/* At most 6 digits; "" if it is not a number. */
const char *format_number(struct cli *cli, const struct json *value);
const char *format_percent(struct cli *cli, const struct json *value);
const char *format_i64(struct cli *cli, int64_t value);
/* With separators: "1,000". */
const char *format_count(struct cli *cli, int64_t value);
const char *format_size(struct cli *cli, uint64_t bytes);
/* For CSV: numbers and strings unchanged, nested values as JSON, null as "". */
const char *format_json(struct cli *cli, const struct json *value);
/* "lr=0.1 optimizer.name=adam" */
const char *format_hparams(struct cli *cli, const struct json *hparams);

#endif
