/* SPDX-License-Identifier: Apache-2.0 */
/* space_delete.h - deleting projects and workspaces with all that is in them.
 *
 *   "" or DELETE_FAILED --store_..._set_deleting()--> DELETING --steps--> no row
 *                                                        `--> DELETE_FAILED
 *
 * The mark is set together with those of the experiments; from then on nothing can be
 * added.  The janitor deletes the experiments, then takes steps here: a project goes when
 * it has no experiments, a workspace when it has no projects and none of its jobs runs. */
#ifndef STORE_SPACE_SPACE_DELETE_H
#define STORE_SPACE_SPACE_DELETE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;
struct field_i64s;

/* Marks the project and its experiments.  DET_STATE: an experiment has not ended, or the
 * project cannot be deleted.  *ret_is_gone: it was empty and is gone. */
det_status store_project_set_deleting(struct db *db, int64_t id, bool *ret_is_gone,
                                      struct err *err);
/* The same with all projects of a workspace.  Its jobs must be killed by the caller. */
det_status store_workspace_set_deleting(struct db *db, int64_t id, bool *ret_is_gone,
                                        struct err *err);
/* The jobs of a workspace that are not over. */
det_status store_workspace_jobs(struct db *db, int64_t id, struct arena *mem,
                                struct field_i64s *ret_ids, struct err *err);

/* Removes what can be removed, and notes what failed.  *ret_did: something changed. */
det_status store_space_delete_step(struct db *db, bool *ret_did, struct err *err);

#endif
