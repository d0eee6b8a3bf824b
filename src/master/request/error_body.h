/* SPDX-License-Identifier: Apache-2.0 */
/* error_body.h - errors as the API sends them. */
#ifndef MASTER_REQUEST_ERROR_BODY_H
#define MASTER_REQUEST_ERROR_BODY_H

#include "base/err.h"

struct buf;

/* {"error":{"code":..,"reason":..,"error":..}}.  `text` NULL or empty: the default text of
 * the status. */
void error_body_write(struct buf *out, det_status status, const char *text);
/* {"error":{...}} and a newline: the last record of a stream that failed. */
void error_body_write_stream(struct buf *out, det_status status, const char *text);

#endif
