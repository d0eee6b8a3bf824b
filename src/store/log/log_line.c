/* SPDX-License-Identifier: Apache-2.0 */
/* log_line.c - see log_line.h. */
#include "store/log/log_line.h"

#include <stddef.h>

const char *const log_severity_names[] = {"UNSPECIFIED", "TRACE", "DEBUG",    "INFO",
                                          "WARNING",     "ERROR", "CRITICAL", NULL};
