/* SPDX-License-Identifier: Apache-2.0 */
/* tell.h - which notes of changes.h follow from what was written.
 *
 * What the heart decides is told by its effects; what takes the data road, and what
 * people edit, by the call that writes it: req->committed, or a handler behind the
 * commit. To note another thing: a line in tell_effects(), or a call of changes_note()
 * where it is written; nothing is told before it is durable. */
#ifndef MASTER_TELL_H
#define MASTER_TELL_H

#include <stdint.h>

#include "core/effect.h"

struct changes;
struct json;
struct request;

/* Rows that were committed. */
void tell_effects(struct changes *changes, const struct core_effect *effects,
                  uint32_t count);

/* For req->committed: the experiment, or the trial (of req->experiment_id), that the
 * path begins with. */
void tell_experiment_of_path(struct request *req);
void tell_trial_of_path(struct request *req);
/* All trials of the experiment in the path; with req->db.  As tell_checkpoints(). */
void tell_trials_of_path(struct request *req);

/* Checkpoints of a list: their uuids, or objects with one; with req->db.  Does not
 * fail: what cannot be found out is not told. */
void tell_checkpoints(struct request *req, const struct json *list, uint32_t most);

/* The experiment of a trial that the caller reports for; 0: nobody listens, or it
 * cannot be found out. */
int64_t tell_experiment_of(struct request *req, int64_t trial_id);

#endif
