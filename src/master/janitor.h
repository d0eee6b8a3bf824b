/* SPDX-License-Identifier: Apache-2.0 */
/* janitor.h - what is done beside the traffic: experiments deleted, metrics and logs
 * compacted, old logs thrown away.
 *
 * One step at a time through the store's writer, each small, so that nobody waits long;
 * a step that finds nothing to do sleeps until the janitor is woken or its hour comes.
 */
#ifndef MASTER_JANITOR_H
#define MASTER_JANITOR_H

#include "base/err.h"

struct janitor;
struct master;

det_status janitor_new(struct master *master, struct janitor **ret_janitor,
                       struct err *err);
void janitor_free(struct janitor *janitor);
/* There may be something to do. */
void janitor_wake(struct janitor *janitor);

#endif
