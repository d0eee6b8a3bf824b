/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct status_row {
    const char *name;
    int http;
    int grpc;
    int exit;
    const char *text;
} status_rows[] = {
#define STATUS_ROW(code, http, grpc, exit, text) {#code, http, grpc, exit, text},
    DET_STATUS_MAP(STATUS_ROW)
#undef STATUS_ROW
};

/* A newer program may send codes that this one does not know. */
static const struct status_row *row_of(det_status status)
{
    size_t at = (size_t)status;

    return at < ARRAY_LEN(status_rows) ? &status_rows[at] : &status_rows[DET_FAILED];
}

const char *det_status_name(det_status status)
{
    return row_of(status)->name;
}

const char *det_status_text(det_status status)
{
    return row_of(status)->text;
}

int det_status_http(det_status status)
{
    return row_of(status)->http;
}

int det_status_grpc(det_status status)
{
    return row_of(status)->grpc;
}

int det_status_exit(det_status status)
{
    return row_of(status)->exit;
}

det_status err_setv(struct err *err, det_status status, const char *fmt, va_list args)
{
    if (err) {
        err->status = status;
        vsnprintf(err->text, sizeof(err->text), fmt, args);
    }
    return status;
}

det_status err_set(struct err *err, det_status status, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    status = err_setv(err, status, fmt, args);
    va_end(args);
    return status;
}

/* For callers that pass a failure on and do not know whether it has a sentence. */
det_status err_default(struct err *err, det_status status)
{
    if (err && err->status == status && err->text[0])
        return status;
    return err_set(err, status, "%s", det_status_text(status));
}

/* Only codes that callers act upon; the rest is DET_IO, and the sentence tells. */
det_status err_status_of(int code)
{
    switch (code) {
    case EAGAIN: /* of fork() and pthread_create() */
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case EUSERS:
        return DET_BUSY;
    case ENOMEM:
        return DET_NOMEM;
    case ENOSPC:
    case EDQUOT:
        return DET_FULL;
    case ENOENT:
    case ENOTDIR:
        return DET_NOT_FOUND;
    case EACCES:
    case EPERM:
    case EROFS:
        return DET_FORBIDDEN;
    case EEXIST:
        return DET_EXISTS;
    default:
        return DET_IO;
    }
}

det_status err_errno(struct err *err, int code, const char *fmt, ...)
{
    char what[ERR_TEXT_SIZE / 2];
    va_list args;

    va_start(args, fmt);
    vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    return err_set(err, err_status_of(code), "%s: %s", what, strerror(code));
}

bool err_is_lack(det_status status)
{
    return status == DET_NOMEM || status == DET_FULL || status == DET_BUSY;
}

det_status err_prefix(struct err *err, const char *fmt, ...)
{
    char context[ERR_TEXT_SIZE / 4];
    char text[ERR_TEXT_SIZE];
    va_list args;

    if (!err)
        return DET_FAILED;

    va_start(args, fmt);
    vsnprintf(context, sizeof(context), fmt, args);
    va_end(args);
    /* The sentence cannot be printed onto itself. */
    memcpy(text, err->text, sizeof(text));
    return err_set(err, err->status, "%s: %s", context, text);
}
