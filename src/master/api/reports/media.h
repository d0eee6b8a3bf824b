/* SPDX-License-Identifier: Apache-2.0 */
/* media.h - the media of trials: from a report, and to a browser. */
#ifndef MASTER_API_REPORTS_MEDIA_H
#define MASTER_API_REPORTS_MEDIA_H

#include "base/err.h"

struct media_new;
struct report;
struct request;

/* Reads and checks a record of the ring; borrows from it.  The caller has set trial and
 * run.  DET_INVALID, DET_TOO_LARGE: the record is refused. */
det_status media_from_record(struct request *req, const struct report *record,
                             struct media_new *ret_media, struct err *err);

/* Adds the headers for bytes that a task chose: whatever they are, a browser runs nothing
 * of them in the master's name. */
void media_put_headers(struct request *req);

#endif
