/* SPDX-License-Identifier: Apache-2.0 */
/* unmanaged.c - experiments that the master only records.
 *
 * Their ids come from the core's counters, so ids are unique.  The core writes their
 * rows once and then forgets them: it schedules nothing, and core_restore() never sees
 * them.  If two events bring the same object at once, the second finds the row of the
 * first and writes none; its id stays unused. */
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
