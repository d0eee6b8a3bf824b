/* SPDX-License-Identifier: Apache-2.0 */
/* tensorboard_events.h - det/tensorboard.h, for the library itself. */
#ifndef LIBDET_REPORT_TENSORBOARD_EVENTS_H
#define LIBDET_REPORT_TENSORBOARD_EVENTS_H

#include "base/err.h"
#include "det/tensorboard.h"

/* As det_events_scalars(), for metrics that were reported at `wall_us`. */
det_status tensorboard_events_scalars_at(det_events *events, int64_t wall_us,
                                         int64_t step, const det_metric *metrics,
                                         size_t count, struct err *err);

#endif
