/* SPDX-License-Identifier: Apache-2.0 */
/* json_report.h - puts a report with a JSON body into the trial's ring. */
#ifndef LIBDET_JSON_REPORT_H
#define LIBDET_JSON_REPORT_H

#include "base/err.h"
#include "det/trial.h"
#include "wire/report.h"

struct buf;

/* The context must be a trial's.  DET_TOO_LARGE; otherwise fails as ring_put(). */
det_status json_report_put(det_context *context, enum report_kind kind,
                           const struct buf *body, struct err *err);

#endif
