/* SPDX-License-Identifier: Apache-2.0 */
/* fsm.h - state machines as tables.
 *
 * A machine is an array of states, each with its name and the set of states that may
 * follow. fsm_move() is the only way to move and refuses moves that the table does
 * not allow.  The same tables give the names in the API and the drawings in the
 * documents. */
#ifndef BASE_FSM_H
#define BASE_FSM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define TO(state) (UINT32_C(1) << (state))

struct fsm_state {
    const char *name;
    uint32_t to; /* bit set of successors; 0: terminal */
};

struct fsm {
    const char *what; /* "trial", for messages */
    const struct fsm_state *state;
    uint32_t count;
};

/* A state may always "move" to itself. */
bool fsm_may(const struct fsm *fsm, uint32_t from, uint32_t to);
const char *fsm_name(const struct fsm *fsm, uint32_t state);
/* The state of that name; -1 when there is none. */
int fsm_find(const struct fsm *fsm, const char *name);

/* DET_STATE when the table forbids it: "a COMPLETED trial cannot become PAUSED". */
det_status fsm_move(const struct fsm *fsm, uint32_t *state, uint32_t to,
                    struct err *err);

#endif
