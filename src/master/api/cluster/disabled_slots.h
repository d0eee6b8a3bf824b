/* SPDX-License-Identifier: Apache-2.0 */
/* disabled_slots.h - which slots of an agent take no tasks. */
#ifndef MASTER_API_CLUSTER_DISABLED_SLOTS_H
#define MASTER_API_CLUSTER_DISABLED_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct agent;
struct json;
struct request;

/* The numbers of the slots that were disabled one by one, in the request's memory. */
det_status disabled_slots_parse(struct request *req, const struct agent *agent,
                                struct json **ret_slots);
/* Whether a slot takes no tasks, because it or its whole agent is disabled. */
bool disabled_slots_has(const struct agent *agent, const struct json *disabled,
                        int64_t slot);

#endif
