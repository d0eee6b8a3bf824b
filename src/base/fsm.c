/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fsm.h"

#include <assert.h>
#include <string.h>

bool fsm_may(const struct fsm *fsm, uint32_t from, uint32_t to)
{
    /* States come from enums that belong to the table; another number is a bug. */
    assert(from < fsm->count && to < fsm->count);
    return from == to || (fsm->state[from].to & TO(to));
}

const char *fsm_name(const struct fsm *fsm, uint32_t state)
{
    return state < fsm->count ? fsm->state[state].name : "?";
}

int fsm_find(const struct fsm *fsm, const char *name)
{
    for (uint32_t i = 0; i < fsm->count; i++)
        if (strcmp(fsm->state[i].name, name) == 0)
            return (int)i;
    return -1;
}

det_status fsm_move(const struct fsm *fsm, uint32_t *state, uint32_t to,
                    struct err *err)
{
    if (!fsm_may(fsm, *state, to))
        return err_set(err, DET_STATE, "a %s %s cannot become %s",
                       fsm_name(fsm, *state), fsm->what, fsm_name(fsm, to));
    *state = to;
    return DET_OK;
}
