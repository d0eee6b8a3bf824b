/* SPDX-License-Identifier: Apache-2.0 */
/* policies.h - log_policies: what a line of a trial's log can bring about. */
#ifndef MASTER_POLICIES_H
#define MASTER_POLICIES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct db;
struct log_line;
struct policies;

struct policy_match {
    char name[64]; /* "": the policy has none */
    bool cancels_retries;
    bool excludes_node;
};

det_status policies_new(struct policies **ret_policies, struct err *err);
void policies_free(struct policies *policies);

struct policy_lines {
    int64_t experiment_id;
    const struct log_line *line; /* of a trial of that experiment */
    uint32_t count;
};

/* What these lines bring about, all together; nothing is all false.  The compiled
 * policies of the experiments heard last are kept.  Any number of threads at once. */
det_status policies_match(struct policies *policies, struct db *db,
                          const struct policy_lines *lines,
                          struct policy_match *ret_match, struct err *err);

#endif
