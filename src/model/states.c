/* SPDX-License-Identifier: Apache-2.0 */
/* states.c - the tables behind states.h.
 *
 *                        +--------- activate ----------+
 *                        v                             |
 *   experiment:       ACTIVE ------- pause -------> PAUSED
 *                        |                             |
 *                        +------- stop, in order ------+
 *                        v     of growing severity
 *      STOPPING_COMPLETED  STOPPING_CANCELED  STOPPING_KILLED  STOPPING_ERROR
 *              |                   |                 |               |
 *              v                   v                 v               v
 *          COMPLETED            CANCELED          CANCELED         ERROR
 *              |___________________|_________________|_______________|
 *                                  v
 *                              DELETING <--> DELETE_FAILED      (then it is gone)
 *
 * When a user continues an experiment, COMPLETED, CANCELED and ERROR lead back to
 * ACTIVE.  These machines do not have that step; core/continue.c makes it.
 *
 * A generic job has one program, so there is less to stop:
 *
 *   ACTIVE -- pause --> STOPPING_PAUSED ---> PAUSED      (unpause leads back to ACTIVE)
 *     |  \                    |                 |
 *     |   +--- kill ----------+-----------------+---> STOPPING_CANCELED --> CANCELED
 *     +-- its program ended --+---> COMPLETED, ERROR
 *
 * A trial moves as its experiment does, without DELETING and DELETE_FAILED.  An
 * allocation only moves forward through PENDING, ASSIGNED, PULLING, STARTING, RUNNING,
 * TERMINATING, TERMINATED, and may skip states. */
#include "model/states.h"

#include <assert.h>
#include <stddef.h>

#define STATE(machine, name_, to_) [machine##_##name_] = {.name = #name_, .to = (to_)}

#define E(name) TO(EXPERIMENT_##name)
#define E_STOPS                                                                        \
    (E(STOPPING_COMPLETED) | E(STOPPING_CANCELED) | E(STOPPING_KILLED) |               \
     E(STOPPING_ERROR) | E(ERROR))

static const struct fsm_state experiment_states[] = {
    STATE(EXPERIMENT, ACTIVE, E(PAUSED) | E_STOPS),
    STATE(EXPERIMENT, PAUSED, E(ACTIVE) | E_STOPS),
    STATE(EXPERIMENT, STOPPING_COMPLETED,
          E(COMPLETED) | E(STOPPING_CANCELED) | E(STOPPING_KILLED) | E(STOPPING_ERROR) |
              E(ERROR)),
    STATE(EXPERIMENT, STOPPING_CANCELED,
          E(CANCELED) | E(STOPPING_KILLED) | E(STOPPING_ERROR) | E(ERROR)),
    STATE(EXPERIMENT, STOPPING_KILLED, E(CANCELED) | E(STOPPING_ERROR) | E(ERROR)),
    STATE(EXPERIMENT, STOPPING_ERROR, E(ERROR)),
    STATE(EXPERIMENT, COMPLETED, E(DELETING)),
    STATE(EXPERIMENT, CANCELED, E(DELETING)),
    STATE(EXPERIMENT, ERROR, E(DELETING)),
    STATE(EXPERIMENT, DELETING, E(DELETE_FAILED)),
    STATE(EXPERIMENT, DELETE_FAILED, E(DELETING)),
};

#define T(name) TO(TRIAL_##name)
#define T_STOPS                                                                        \
    (T(STOPPING_COMPLETED) | T(STOPPING_CANCELED) | T(STOPPING_KILLED) |               \
     T(STOPPING_ERROR) | T(ERROR))

static const struct fsm_state trial_states[] = {
    STATE(TRIAL, ACTIVE, T(PAUSED) | T_STOPS | T(COMPLETED)),
    STATE(TRIAL, PAUSED, T(ACTIVE) | T_STOPS),
    STATE(TRIAL, STOPPING_COMPLETED,
          T(COMPLETED) | T(STOPPING_CANCELED) | T(STOPPING_KILLED) | T(STOPPING_ERROR) |
              T(ERROR)),
    STATE(TRIAL, STOPPING_CANCELED,
          T(CANCELED) | T(STOPPING_KILLED) | T(STOPPING_ERROR) | T(ERROR)),
    STATE(TRIAL, STOPPING_KILLED, T(CANCELED) | T(STOPPING_ERROR) | T(ERROR)),
    STATE(TRIAL, STOPPING_ERROR, T(ERROR)),
    STATE(TRIAL, COMPLETED, 0),
    STATE(TRIAL, CANCELED, 0),
    STATE(TRIAL, ERROR, 0),
};

#define J(name) TO(JOB_##name)
#define J_ENDS  (J(STOPPING_CANCELED) | J(COMPLETED) | J(CANCELED) | J(ERROR))

static const struct fsm_state job_states[] = {
    STATE(JOB, ACTIVE, J(STOPPING_PAUSED) | J(PAUSED) | J_ENDS),
    STATE(JOB, STOPPING_PAUSED, J(PAUSED) | J(ACTIVE) | J_ENDS),
    STATE(JOB, PAUSED, J(ACTIVE) | J(CANCELED)),
    STATE(JOB, STOPPING_CANCELED, J(CANCELED)),
    STATE(JOB, COMPLETED, 0),
    STATE(JOB, CANCELED, 0),
    STATE(JOB, ERROR, 0),
};

#define A(name) TO(ALLOCATION_##name)
#define A_END   (A(TERMINATING) | A(TERMINATED))

static const struct fsm_state allocation_states[] = {
    STATE(ALLOCATION, PENDING, A(ASSIGNED) | A(TERMINATED)),
    STATE(ALLOCATION, ASSIGNED, A(PULLING) | A(STARTING) | A(RUNNING) | A_END),
    STATE(ALLOCATION, PULLING, A(STARTING) | A(RUNNING) | A_END),
    STATE(ALLOCATION, STARTING, A(RUNNING) | A_END),
    STATE(ALLOCATION, RUNNING, A_END),
    STATE(ALLOCATION, TERMINATING, A(TERMINATED)),
    STATE(ALLOCATION, TERMINATED, 0),
};

const struct fsm experiment_fsm = {"experiment", experiment_states,
                                   ARRAY_LEN(experiment_states)};
const struct fsm trial_fsm = {"trial", trial_states, ARRAY_LEN(trial_states)};
const struct fsm job_fsm = {"job", job_states, ARRAY_LEN(job_states)};
const struct fsm allocation_fsm = {"allocation", allocation_states,
                                   ARRAY_LEN(allocation_states)};

const char *const experiment_state_names[] = {
    "ACTIVE",          "PAUSED",         "STOPPING_COMPLETED", "STOPPING_CANCELED",
    "STOPPING_KILLED", "STOPPING_ERROR", "COMPLETED",          "CANCELED",
    "ERROR",           "DELETING",       "DELETE_FAILED",      NULL,
};

const char *const trial_state_names[] = {
    "ACTIVE",
    "PAUSED",
    "STOPPING_COMPLETED",
    "STOPPING_CANCELED",
    "STOPPING_KILLED",
    "STOPPING_ERROR",
    "COMPLETED",
    "CANCELED",
    "ERROR",
    NULL,
};

const char *const job_state_names[] = {
    "ACTIVE",    "STOPPING_PAUSED", "PAUSED", "STOPPING_CANCELED",
    "COMPLETED", "CANCELED",        "ERROR",  NULL,
};

const char *const allocation_state_names[] = {
    "PENDING", "ASSIGNED",    "PULLING",    "STARTING",
    "RUNNING", "TERMINATING", "TERMINATED", NULL,
};

const char *const checkpoint_state_names[] = {
    "ACTIVE", "COMPLETED", "ERROR", "DELETED", "PARTIALLY_DELETED", "DELETING", NULL,
};

const char *checkpoint_wire_state(uint32_t state)
{
    /* The API has no DELETING. */
    if (state == CHECKPOINT_DELETING)
        state = CHECKPOINT_PARTIALLY_DELETED;
    return checkpoint_state_names[state];
}

bool experiment_is_terminal(enum experiment_state state)
{
    return state >= EXPERIMENT_COMPLETED;
}

bool experiment_is_stopping(enum experiment_state state)
{
    return state >= EXPERIMENT_STOPPING_COMPLETED && state <= EXPERIMENT_STOPPING_ERROR;
}

bool trial_is_terminal(enum trial_state state)
{
    return state >= TRIAL_COMPLETED;
}

bool job_is_terminal(enum job_state state)
{
    return state >= JOB_COMPLETED;
}

bool trial_is_stopping(enum trial_state state)
{
    return state >= TRIAL_STOPPING_COMPLETED && state <= TRIAL_STOPPING_ERROR;
}

enum experiment_state experiment_end_of(enum experiment_state stopping)
{
    assert(experiment_is_stopping(stopping));
    switch (stopping) {
    case EXPERIMENT_STOPPING_COMPLETED:
        return EXPERIMENT_COMPLETED;
    case EXPERIMENT_STOPPING_CANCELED:
    case EXPERIMENT_STOPPING_KILLED:
        return EXPERIMENT_CANCELED;
    case EXPERIMENT_STOPPING_ERROR:
    case EXPERIMENT_ACTIVE:
    case EXPERIMENT_PAUSED:
    case EXPERIMENT_COMPLETED:
    case EXPERIMENT_CANCELED:
    case EXPERIMENT_ERROR:
    case EXPERIMENT_DELETING:
    case EXPERIMENT_DELETE_FAILED:
    case EXPERIMENT_STATES:
        break;
    }
    return EXPERIMENT_ERROR;
}

enum trial_state trial_end_of(enum trial_state stopping)
{
    assert(trial_is_stopping(stopping));
    switch (stopping) {
    case TRIAL_STOPPING_COMPLETED:
        return TRIAL_COMPLETED;
    case TRIAL_STOPPING_CANCELED:
    case TRIAL_STOPPING_KILLED:
        return TRIAL_CANCELED;
    case TRIAL_STOPPING_ERROR:
    case TRIAL_ACTIVE:
    case TRIAL_PAUSED:
    case TRIAL_COMPLETED:
    case TRIAL_CANCELED:
    case TRIAL_ERROR:
    case TRIAL_STATES:
        break;
    }
    return TRIAL_ERROR;
}
