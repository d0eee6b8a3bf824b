/* SPDX-License-Identifier: Apache-2.0 */
/* log_policies.h - the actions that lines of a trial's log cause (`log_policies`). */
#ifndef MASTER_BACKGROUND_LOG_POLICIES_H
#define MASTER_BACKGROUND_LOG_POLICIES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct db;
struct log_line;
struct log_policies;

struct policy_match {
    char name[64]; /* "": the policy has no name */
    bool cancels_retries;
    bool excludes_node;
};

det_status log_policies_new(struct log_policies **ret_policies, struct err *err);
void log_policies_free(struct log_policies *policies);

struct policy_lines {
    int64_t experiment_id;
    const struct log_line *line; /* of a trial of that experiment */
    uint32_t count;
};

/* The combined actions of these lines; all false if no policy matches.  The compiled
 * policies of recent experiments are cached.  From any thread. */
det_status log_policies_match(struct log_policies *policies, struct db *db,
                              const struct policy_lines *lines,
                              struct policy_match *ret_match, struct err *err);

#endif
