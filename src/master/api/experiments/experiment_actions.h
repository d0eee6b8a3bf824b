/* SPDX-License-Identifier: Apache-2.0 */
/* experiment_actions.h - one action on many experiments: the only way in which any call does
 * that.
 *
 * An action runs in chunks, so it does not block the heart or the writer: a chunk is one
 * batch of the heart and one job of the writer.  Each experiment is refused on its own, and a
 * refused one is not changed.  What a caller may do to one experiment by its own call
 * (`same_as`), the caller may do to many.
 *
 * To add an action: a row in experiment_actions.c, and, if the writer does it, a kind with its
 * case in change_one(). */
#ifndef MASTER_API_EXPERIMENTS_EXPERIMENT_ACTIONS_H
#define MASTER_API_EXPERIMENTS_EXPERIMENT_ACTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "core/event.h"
#include "wire/route.h"

struct request;

enum act_kind {
    ACT_EVENT, /* the heart does it */
    ACT_ARCHIVE,
    ACT_UNARCHIVE,
    ACT_DELETE,
    ACT_LABEL,
    ACT_UNLABEL,
    ACT_MOVE,
    ACT_RETAIN,
};

/* The states that a filter without states finds. */
enum act_finds {
    ACT_FINDS_ALL,
    ACT_FINDS_ACTIVE,
    ACT_FINDS_PAUSED,
    ACT_FINDS_LIVE,
    ACT_FINDS_ENDED
};
/* Whether it finds archived experiments. */
enum act_archived { ACT_NOT_ARCHIVED, ACT_ONLY_ARCHIVED, ACT_ANY_ARCHIVED };

struct act_row {
    const char *name; /* "pause" */
    enum act_kind kind;
    enum experiment_action action; /* of ACT_EVENT */
    enum route_id same_as;         /* the call that does this to one experiment */
    enum act_finds finds;
    enum act_archived archived;
};

/* NULL, and DET_INVALID in `err`: there is no such action. */
const struct act_row *act_row_find(const char *name, struct err *err);

struct experiment_act {
    const struct act_row *row;
    const char *label;  /* of ACT_LABEL and ACT_UNLABEL */
    int64_t to_project; /* of ACT_MOVE */
    int64_t log_days;   /* of ACT_RETAIN */
    int64_t only_in;    /* a project: the others are not found.  0: all projects */
    const int64_t *ids; /* borrowed from the request's memory */
    size_t count;
};

/* For a `named` row.  Checks the argument of the action and the rights on each experiment,
 * acts, and replies {"results": [{"id", "error"}]} in the order of the ids. */
det_status experiment_act(struct request *req, const struct experiment_act *what);

#endif
