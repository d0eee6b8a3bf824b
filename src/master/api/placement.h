/* SPDX-License-Identifier: Apache-2.0 */
/* placement.h - the project and workspace of what is submitted, and the defaults that come
 * with it. */
#ifndef MASTER_API_PLACEMENT_H
#define MASTER_API_PLACEMENT_H

#include <stdint.h>

#include "base/err.h"
#include "store/space/workspace.h"

struct request;
struct json;

struct placement {
    int64_t project_id; /* 0: of a job, which has none */
    const char *project_name;
    int64_t project_owner_id;
    struct workspace workspace;
    const struct json *storage; /* of the workspace; NULL: none */
};

/* Of an experiment: `project_id`, or, if that is 0, what the configuration (YAML) names as
 * workspace and project, else the first project.  DET_STATE: archived or being deleted.
 * Also the caller's right to add an experiment there is checked. */
det_status placement_of_experiment(struct request *req, int64_t project_id,
                                   const char *config, struct placement *ret_placement);
/* Of a job: the workspace of `project_id`, or `workspace_id`, or the first one.  Without
 * either, the name in `config` (a tree, or NULL) is used.  DET_NOT_FOUND also for an archived
 * one. */
det_status placement_of_job(struct request *req, int64_t project_id,
                            int64_t workspace_id, const char *workspace_name,
                            struct placement *ret_placement);

#endif
