/* SPDX-License-Identifier: Apache-2.0 */
/* preempt_ranks.c - the question whether to stop, asked by several processes together.
 */
#include "libdet/ranks/distributed.h"

static det_status ask_chief(det_distributed *group, const det_context *context,
                            int *ret_preempted)
{
    unsigned char answer = (unsigned char)det_preempted(context);
    det_part part;
    det_status st = det_distributed_broadcast(group, &answer, sizeof(answer), &part);

    if (!st)
        *ret_preempted = part.len == 1 && *(const unsigned char *)part.data;
    return st;
}

det_status det_distributed_preempted(det_distributed *group, const det_context *context,
                                     int mode, int *ret_preempted)
{
    const det_ranks *ranks = det_distributed_ranks(group);
    bool is_chief = ranks->rank == 0;
    CONTEXT_ERR(err);
    det_status st = DET_OK;

    if (!ret_preempted)
        st = err_set(&err, DET_INVALID, "ret_preempted is NULL");
    else if (mode < DET_WORKERS_ASK_CHIEF || mode > DET_WORKERS_ASK_MASTER)
        st = err_set(&err, DET_INVALID, "mode is %d; expected an enum det_preempt_mode",
                     mode);
    else if (!context && (is_chief || mode != DET_WORKERS_ASK_CHIEF))
        st = err_set(&err, DET_INVALID, "the context is NULL");
    else if (!is_chief && mode == DET_CHIEF_ONLY)
        st = err_set(&err, DET_STATE,
                     "only rank 0 may ask whether to stop, and this is rank %d: so the "
                     "mode says",
                     ranks->rank);
    if (st)
        return distributed_keep_error(group, st, &err);
    if (mode == DET_WORKERS_ASK_CHIEF && ranks->size > 1)
        return ask_chief(group, context, ret_preempted);
    *ret_preempted = det_preempted(context);
    return DET_OK;
}
