/* SPDX-License-Identifier: Apache-2.0 */
/* json_report.c - see json_report.h. */
#include "libdet/json_report.h"

#include "base/clock.h"
#include "base/memory/buf.h"
#include "libdet/context.h"
#include "libdet/ring/ring.h"

det_status json_report_put(det_context *context, enum report_kind kind,
                           const struct buf *body, struct err *err)
{
    struct report report = {
        .kind = kind,
        .run = (uint32_t)context->info.run_id,
        .time_us = clock_wall_us(context->world.clock),
        .payload = body->data,
        .len = (uint32_t)body->len,
    };

    if (body->status)
        return err_default(err, body->status);
    if (body->len > REPORT_BYTES_MOST || !report_size(body->len))
        return err_set(err, DET_TOO_LARGE,
                       "a report of %zu bytes is larger than the limit of %d",
                       body->len, REPORT_BYTES_MOST);
    return ring_put(context->ring, &report, err);
}
