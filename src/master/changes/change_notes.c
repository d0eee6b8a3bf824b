/* SPDX-License-Identifier: Apache-2.0 */
#include "master/changes/change_notes.h"

#include "data/json/json.h"
#include "master/changes/changes.h"
#include "master/request/request.h"
#include "store/checkpoint/checkpoint.h"
#include "store/experiment/experiment_continue.h"
#include "store/experiment/trial_view.h"

/* ---- the heart's rows ------------------------------------------------------------ */

static void note_queue(struct changes *changes)
{
    changes_note_text(changes, CHANGE_QUEUE, "");
}

static void note_new_trial(struct changes *changes, const struct trial *row)
{
    changes_note(changes, CHANGE_TRIAL, row->id, row->experiment_id);
    changes_note(changes, CHANGE_EXPERIMENT, row->experiment_id, 0);
}

static void note_allocation(struct changes *changes, const struct allocation *row)
{
    if (row->trial_id)
        changes_note(changes, CHANGE_TRIAL, row->trial_id, row->experiment_id);
    else
        changes_note_text(changes, CHANGE_JOB, row->task_id);
    note_queue(changes);
}

static void note_effect(struct changes *changes, const struct core_effect *effect)
{
    switch (effect->kind) {
    case EFFECT_ADD_EXPERIMENT:
    case EFFECT_PUT_EXPERIMENT:
    case EFFECT_CONTINUE_EXPERIMENT:
        changes_note(changes, CHANGE_EXPERIMENT, effect->experiment.row.id, 0);
        note_queue(changes);
        break;
    case EFFECT_ADD_TRIAL:
    case EFFECT_ADD_UNMANAGED_TRIAL:
        note_new_trial(changes, &effect->trial);
        break;
    case EFFECT_PUT_TRIAL:
        changes_note(changes, CHANGE_TRIAL, effect->trial.id,
                     effect->trial.experiment_id);
        break;
    case EFFECT_ADD_JOB:
    case EFFECT_PUT_JOB:
        changes_note_text(changes, CHANGE_JOB, effect->job.row.task_id);
        note_queue(changes);
        break;
    case EFFECT_PUT_ALLOCATION:
        note_allocation(changes, &effect->allocation);
        break;
    case EFFECT_PUT_SHARE:
        changes_note_text(changes, CHANGE_AGENT, effect->share.agent);
        break;
    case EFFECT_PUT_AGENT:
    case EFFECT_DROP_AGENT:
        changes_note_text(changes, CHANGE_AGENT, effect->agent.name);
        break;
    case EFFECT_TASK_LOG:
        changes_note_text(changes, CHANGE_LOGS, effect->log.task_id);
        break;
    case EFFECT_ADD_SEARCH_INPUT:
    case EFFECT_PUT_SNAPSHOT:
    case EFFECT_DROP_SEARCH:
    case EFFECT_PUT_COUNTERS:
    case EFFECT_START:
    case EFFECT_KILL:
    case EFFECT_KILL_STRAY:
    case EFFECT_PREEMPT:
    case EFFECT_OVER:
    case EFFECT_EXPERIMENT_OVER:
        break;
    }
}

void change_notes_effects(struct changes *changes, const struct core_effect *effects,
                          uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        note_effect(changes, &effects[i]);
}

/* ---- calls that write ------------------------------------------------------------ */

void change_notes_path_experiment(struct request *req)
{
    int64_t id;

    if (!request_id(req, 0, &id))
        changes_note(req->master->changes, CHANGE_EXPERIMENT, id, 0);
}

void change_notes_path_trial(struct request *req)
{
    struct changes *changes = req->master->changes;
    int64_t id;

    if (request_id(req, 0, &id))
        return;
    changes_note(changes, CHANGE_TRIAL, id, req->experiment_id);
    if (req->experiment_id)
        changes_note(changes, CHANGE_EXPERIMENT, req->experiment_id, 0);
}

void change_notes_path_trials(struct request *req)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 20);
    struct changes *changes = req->master->changes;
    struct trial *rows;
    uint32_t count = 0;
    int64_t id;

    if (!changes_is_heard(changes) || request_id(req, 0, &id) ||
        store_experiment_past(req->db, id, &mem, &rows, &count, NULL))
        return;
    for (uint32_t i = 0; i < count; i++)
        changes_note(changes, CHANGE_TRIAL, rows[i].id, id);
}

int64_t change_notes_experiment_of(struct request *req, int64_t trial_id)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(4 << 20);
    struct trial_view trial;

    if (req->caller.experiment_id || !changes_is_heard(req->master->changes))
        return req->caller.experiment_id;
    if (store_trial_get(req->db, trial_id, &mem, &trial, NULL))
        return 0;
    return trial.row.experiment_id;
}

void change_notes_checkpoints(struct request *req, const struct json *list,
                              uint32_t most)
{
    struct changes *changes = req->master->changes;
    uint32_t count = 0;

    if (!changes_is_heard(changes))
        return;
    for (const struct json *item = list; item && count < most; item = item->next) {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(4 << 20);
        const char *uuid =
            json_str(item->kind == JSON_OBJECT ? json_find(item, "uuid") : item, "");
        struct checkpoint row;

        count++;
        if (store_checkpoint_get(req->db, uuid, &mem, &row, NULL))
            continue;
        changes_note(changes, CHANGE_CHECKPOINT, row.trial_id, row.experiment_id);
        changes_note(changes, CHANGE_EXPERIMENT, row.experiment_id, 0);
    }
}
