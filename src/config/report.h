/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - adding to a config_report.
 *
 * Reporting is sticky: when the report's arena is full, `report->mem->has_failed` says
 * so and config_report_status() turns it into DET_NOMEM. */
#ifndef CONFIG_REPORT_H
#define CONFIG_REPORT_H

#include "base/compiler.h"
#include "config/config.h"

/* Where in the file it is: `at` gives line and column and may be NULL; copies `path`.
 */
void report_error(struct config_report *report, const struct json *at, const char *path,
                  const char *fmt, ...) PRINTF_LIKE(4, 5);
/* An error only because it is not built yet. */
void report_unsupported(struct config_report *report, const struct json *at,
                        const char *path, const char *fmt, ...) PRINTF_LIKE(4, 5);
void report_notice(struct config_report *report, const struct json *at,
                   const char *path, const char *fmt, ...) PRINTF_LIKE(4, 5);

/* Makes the report end as DET_NOMEM. */
void report_out_of_memory(struct config_report *report);

#endif
