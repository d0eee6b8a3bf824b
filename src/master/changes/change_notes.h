/* SPDX-License-Identifier: Apache-2.0 */
/* change_notes.h - which notes of changes.h follow from a write.
 *
 * The heart's effects are noted here.  Reports and edits are noted by the call that writes
 * them, in req->committed or in a handler after the commit.  To note another change: add a
 * case to note_effect() in change_notes.c, or call changes_note() after the commit.  Nothing
 * is noted before it is durable. */
#ifndef MASTER_CHANGES_CHANGE_NOTES_H
#define MASTER_CHANGES_CHANGE_NOTES_H

#include <stdint.h>

#include "core/effect.h"

struct changes;
struct json;
struct request;

/* After the commit of these effects. */
void change_notes_effects(struct changes *changes, const struct core_effect *effects,
                          uint32_t count);

/* For req->committed: the experiment, or the trial (of req->experiment_id), in the path. */
void change_notes_path_experiment(struct request *req);
void change_notes_path_trial(struct request *req);
/* All trials of the experiment in the path, read from req->db; does not fail, as below. */
void change_notes_path_trials(struct request *req);

/* A list of checkpoints: uuids, or objects with one.  Their rows are read from req->db; a
 * checkpoint that cannot be read is not noted. */
void change_notes_checkpoints(struct request *req, const struct json *list,
                              uint32_t most);

/* The experiment of a trial that the caller reports for; 0: unknown, or nobody listens. */
int64_t change_notes_experiment_of(struct request *req, int64_t trial_id);

#endif
