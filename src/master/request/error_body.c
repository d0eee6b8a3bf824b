/* SPDX-License-Identifier: Apache-2.0 */
#include "master/request/error_body.h"

#include "base/memory/buf.h"
#include "data/json/json.h"

static const char *const grpc_names[] = {
    "OK",
    "Canceled",
    "Unknown",
    "InvalidArgument",
    "DeadlineExceeded",
    "NotFound",
    "AlreadyExists",
    "PermissionDenied",
    "ResourceExhausted",
    "FailedPrecondition",
    "Aborted",
    "OutOfRange",
    "Unimplemented",
    "Internal",
    "Unavailable",
    "DataLoss",
    "Unauthenticated",
};

void error_body_write(struct buf *out, det_status status, const char *text)
{
    struct json_writer w = JSON_WRITER(out);
    int code = det_status_grpc(status);

    jw_object(&w, NULL);
    jw_object(&w, "error");
    jw_i64(&w, "code", code);
    jw_str(&w, "reason", grpc_names[code]);
    jw_str(&w, "error", text && *text ? text : det_status_text(status));
    jw_end_object(&w);
    jw_end_object(&w);
}

void error_body_write_stream(struct buf *out, det_status status, const char *text)
{
    struct json_writer w = JSON_WRITER(out);
    int code = det_status_grpc(status);

    jw_object(&w, NULL);
    jw_object(&w, "error");
    jw_i64(&w, "grpcCode", code);
    jw_i64(&w, "httpCode", det_status_http(status));
    jw_str(&w, "message", text && *text ? text : det_status_text(status));
    jw_str(&w, "httpStatus", grpc_names[code]);
    jw_array(&w, "details");
    jw_end_array(&w);
    jw_end_object(&w);
    jw_end_object(&w);
    buf_putc(out, '\n');
}
