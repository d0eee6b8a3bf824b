/* SPDX-License-Identifier: Apache-2.0 */
/* project.h - rows of projects, which experiments are in them, and who looked at them. */
#ifndef STORE_SPACE_PROJECT_H
#define STORE_SPACE_PROJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;

enum { PROJECT_KEY_MOST = 5 };

struct project {
    int64_t id;
    int64_t workspace_id;
    const char *name;
    const char *description;
    const char *project_key; /* upper case */
    int64_t owner_id;
    bool is_archived; /* itself, whatever its workspace is */
    bool is_immutable;
    int64_t created_us;
    const char *state; /* "", SPACE_DELETING, SPACE_DELETE_FAILED */
    const char *error;
    const char *notes; /* JSON: [{"name", "contents"}] */
};

struct project_view {
    struct project row;
    const char *username; /* of its owner; "": unknown */
    const char *workspace_name;
    int64_t workspace_owner_id;
    bool workspace_is_archived;
    const char *workspace_state;
    int64_t num_experiments;
    int64_t num_active;
    int64_t num_runs;
    int64_t last_start_us; /* 0: no experiment yet */
};

/* Gives it a number, and a key if `project_key` is NULL.  DET_EXISTS: the name is taken in
 * its workspace, or the key anywhere. */
det_status store_project_add(struct db *db, const struct project *row, int64_t *ret_id,
                             struct err *err);
/* Everything but the number. */
det_status store_project_put(struct db *db, const struct project *row, struct err *err);
/* DET_NOT_FOUND. */
det_status store_project_get(struct db *db, int64_t id, struct arena *mem,
                             struct project_view *ret_view, struct err *err);
det_status store_project_by_key(struct db *db, const char *key, struct arena *mem,
                                struct project_view *ret_view, struct err *err);
/* The one of exactly this name. */
det_status store_project_named(struct db *db, int64_t workspace_id, const char *name,
                               struct arena *mem, struct project_view *ret_view,
                               struct err *err);
/* All of a workspace, or of all for 0, by number. */
det_status store_project_list(struct db *db, int64_t workspace_id, struct arena *mem,
                              struct project_view **ret_views, uint32_t *ret_count,
                              struct err *err);

/* Where every project is, by number; without counting what is in it. */
struct project_place {
    int64_t id;
    int64_t workspace_id;
    bool is_archived; /* itself or its workspace */
};
det_status store_project_places(struct db *db, struct arena *mem,
                                struct project_place **ret_places, uint32_t *ret_count,
                                struct err *err);

/* `now_us`: the user looks at the project. */
det_status store_project_visit(struct db *db, int64_t id, int64_t user_id,
                               int64_t now_us, struct err *err);
/* The projects a user looked at, the latest first. */
det_status store_project_visited(struct db *db, int64_t user_id, int64_t limit,
                                 struct arena *mem, struct project_view **ret_views,
                                 uint32_t *ret_count, struct err *err);

/* Moves an experiment.  DET_STATE: it or one of the projects is archived. */
det_status store_project_take(struct db *db, int64_t id, int64_t experiment_id,
                              struct err *err);

/* Checks a key and writes it in upper case.  DET_INVALID. */
det_status project_read_key(const char *text, char key[PROJECT_KEY_MOST + 1],
                            struct err *err);
/* DET_STATE unless experiments may be added. */
det_status project_check_open(const struct project_view *view, struct err *err);
bool project_is_archived(const struct project_view *view);

#endif
