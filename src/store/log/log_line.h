/* SPDX-License-Identifier: Apache-2.0 */
/* log_line.h - one line of a log. */
#ifndef STORE_LOG_LOG_LINE_H
#define STORE_LOG_LOG_LINE_H

#include <stdint.h>

enum log_stream { LOG_STREAM_NONE, LOG_STREAM_STDOUT, LOG_STREAM_STDERR };
enum log_severity {
    LOG_SEVERITY_UNSPECIFIED,
    LOG_SEVERITY_TRACE,
    LOG_SEVERITY_DEBUG,
    LOG_SEVERITY_INFO,
    LOG_SEVERITY_WARNING,
    LOG_SEVERITY_ERROR,
    LOG_SEVERITY_CRITICAL,
};
extern const char *const log_severity_names[]; /* wire names without LOG_LEVEL_ */

struct log_line {
    int64_t id; /* its number within the task, 1.. ; given by the store */
    int64_t time_us;
    enum log_severity severity;
    enum log_stream stream;
    int64_t rank;     /* -1: none */
    const char *text; /* without its newline; any bytes but NUL */
    uint32_t len;
    uint32_t cut;     /* bytes left out after these; see log_query */
    uint32_t skipped; /* bytes left out before these */
    /* the origin, equal for a whole batch */
    const char *allocation; /* NULL: unknown */
    const char *agent;
    const char *container;
    const char *source; /* "task", "master" */
};

#endif
