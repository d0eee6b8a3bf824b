/* SPDX-License-Identifier: Apache-2.0 */
/* janitor.h - background work: deletes experiments, compacts metrics and logs, and expires
 * old logs and sessions.
 *
 * The janitor runs one small step at a time through the store's writer, so other writes do
 * not wait long.  When no step finds work, it sleeps until it is woken or a timeout ends.
 */
#ifndef MASTER_BACKGROUND_JANITOR_H
#define MASTER_BACKGROUND_JANITOR_H

#include "base/err.h"

struct janitor;
struct master;

det_status janitor_new(struct master *master, struct janitor **ret_janitor,
                       struct err *err);
void janitor_free(struct janitor *janitor);
/* There may be work. */
void janitor_wake(struct janitor *janitor);

#endif
