/* SPDX-License-Identifier: Apache-2.0 */
/* unmanaged.c - experiments that somebody else runs, or has run.
 *
 * Numbers come from the heart's counters, so that no two experiments or trials share
 * one; that is all it has to do with these.  Their rows are written once by it and are
 * the store's from then on: nothing is scheduled, and core_restore() never sees them.
 * Where two bring the same at once the second finds the first one's row in its way and
 * writes none; its number stays unused.
 */
#include "core/core_impl.h"

det_status unmanaged_experiment(struct core *core, const struct core_event *event,
                                struct err *err)
{
    struct core_effect *effect = core_emit(core, EFFECT_ADD_EXPERIMENT);

    if (!effect)
        return err_default(err, DET_NOMEM);
    effect->experiment.row = *event->unmanaged.row;
    effect->experiment.row.id = core->counters.next_experiment++;
    effect->experiment.name = event->unmanaged.name;
    effect->experiment.description = event->unmanaged.description;
    effect->experiment.labels = event->unmanaged.labels;
    effect->experiment.external_id = event->unmanaged.external_id;
    effect->experiment.is_unmanaged = true;
    core->has_counted = true;
    core->out->id = effect->experiment.row.id;
    return DET_OK;
}

det_status unmanaged_trial(struct core *core, const struct core_event *event,
                           struct err *err)
{
    struct core_effect *effect = core_emit(core, EFFECT_ADD_UNMANAGED_TRIAL);

    if (!effect)
        return err_default(err, DET_NOMEM);
    effect->trial = *event->unmanaged_trial;
    effect->trial.id = core->counters.next_trial++;
    core->has_counted = true;
    core->out->id = effect->trial.id;
    return DET_OK;
}
