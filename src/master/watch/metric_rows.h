/* SPDX-License-Identifier: Apache-2.0 */
/* metric_rows.h - every metric of `GET /metrics`, one row each.
 *
 * To add one: a row in metric_rows.c, and either a number in struct watch_facts or a reader.
 * `tools/check-tables --write` puts it into docs/guide/monitoring.md.  A label must have few
 * values: routes, lanes, pools, states and agents, never users, experiments or trials. */
#ifndef MASTER_WATCH_METRIC_ROWS_H
#define MASTER_WATCH_METRIC_ROWS_H

#include <stdint.h>

#include "master/watch/exposition.h"

extern const struct metric_row metric_rows[];
extern const uint32_t metric_row_count;

#endif
