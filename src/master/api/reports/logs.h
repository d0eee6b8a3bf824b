/* SPDX-License-Identifier: Apache-2.0 */
/* logs.h - log levels and log lines as people read them. */
#ifndef MASTER_API_REPORTS_LOGS_H
#define MASTER_API_REPORTS_LOGS_H

#include "store/log/log_line.h"

struct buf;

/* "ERROR" or "LOG_LEVEL_ERROR"; LOG_SEVERITY_UNSPECIFIED for any other name. */
enum log_severity logs_severity(const char *name);
/* Appends time, container, rank, level and text, and a newline. */
void logs_print_line(struct buf *text, const struct log_line *line);

#endif
