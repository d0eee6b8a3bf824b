/* SPDX-License-Identifier: Apache-2.0 */
/* err.h - a failure is a status and one sentence.
 *
 * Every function that can fail returns det_status and takes `struct err *` last (NULL:
 * the caller does not want the sentence).  The first function that notices the failure
 * writes the sentence; its callers may put context in front.  The text has a fixed
 * size: reporting a failure never fails. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdarg.h>
#include <stdbool.h>

#include "base/compiler.h"
#include "det/status.h"

#define ERR_TEXT_SIZE 2048

struct err {
    det_status status;
    char text[ERR_TEXT_SIZE];
};

/* Writes the sentence and returns `status`: one line reports and leaves. */
det_status err_set(struct err *err, det_status status, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
det_status err_setv(struct err *err, det_status status, const char *fmt, va_list args)
    PRINTF_LIKE(3, 0);

/* Writes the default sentence of `status` unless a sentence is there already. */
det_status err_default(struct err *err, det_status status);

/* The status that fits an errno value: DET_NOMEM, DET_FULL, DET_BUSY (no more processes
 * or files), DET_NOT_FOUND, DET_FORBIDDEN, DET_EXISTS, else DET_IO. */
det_status err_status_of(int code);
/* Whether a failure of this machine says that it lacks memory, disk space, processes or
 * files: what fails now may work later, or elsewhere. */
bool err_is_lack(det_status status);

/* "<what>: <strerror>", with the status that fits errno value `code`. */
det_status err_errno(struct err *err, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Puts "<context>: " in front of the sentence; returns the status in it. */
det_status err_prefix(struct err *err, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
