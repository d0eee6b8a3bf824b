/* SPDX-License-Identifier: Apache-2.0 */
/* lines.h - what the two roads to a task's lines share: the official streams (logs.c)
 * and pages by number for somebody who looks (lines.c). */
#ifndef MASTER_API_LINES_H
#define MASTER_API_LINES_H

#include "base/err.h"
#include "store/data.h"

struct buf;

/* "ERROR" or "LOG_LEVEL_ERROR"; LOG_SEVERITY_UNSPECIFIED for any other. */
enum log_severity api_severity(const char *name);
/* As people read it: time, container, rank, level and text, and a newline. */
void api_line_text(struct buf *text, const struct log_line *line);

#endif
