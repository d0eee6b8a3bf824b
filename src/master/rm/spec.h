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

#endif
