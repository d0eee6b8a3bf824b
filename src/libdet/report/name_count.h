/* SPDX-License-Identifier: Apache-2.0 */
/* name_count.h - how many names and groups of metrics this process has used.
 *
 * The master keeps a limited number of names and of groups per trial.  Reports are acknowledged before it
 * sees them, so the library counts, and refuses what the master would drop.  (The master
 * counts too: a trial may have several processes.) */
#ifndef LIBDET_REPORT_NAME_COUNT_H
#define LIBDET_REPORT_NAME_COUNT_H

#include "det/det.h"

struct err;
struct report_metrics;

/* DET_INVALID: the report has new names or a new group, and they are too many; none of them
 * counts. */
det_status name_count_check(det_context *context, const struct report_metrics *metrics,
                            struct err *err);

#endif
