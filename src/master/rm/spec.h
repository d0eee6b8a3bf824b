/* SPDX-License-Identifier: Apache-2.0 */
/* spec.h - the data that an agent needs to start a share. */
#ifndef MASTER_RM_SPEC_H
#define MASTER_RM_SPEC_H

#include <stdint.h>

#include "base/err.h"

struct db;
struct json_writer;
struct master;

/* Writes the specification as one JSON object. */
det_status spec_write(struct master *master, struct db *db, int64_t allocation_id,
                      int64_t rank, struct json_writer *w, struct err *err);

/* The user that runs tasks; uid 0: the agent's own. */
struct spec_user {
    int64_t uid;
    int64_t gid;
};
struct spec_user spec_user(const struct master *master);

/* Writes the user that runs tasks as "user", or nothing if it is the agent's own. */
void spec_write_user(struct json_writer *w, const struct master *master);

#endif
