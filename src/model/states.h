/* SPDX-License-Identifier: Apache-2.0 */
/* states.h - the state machines of the platform, drawn in states.c.
 *
 * The names are those of the database; on the wire they carry the prefix "STATE_". */
#ifndef MODEL_STATES_H
#define MODEL_STATES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fsm.h"

enum experiment_state {
    EXPERIMENT_ACTIVE,
    EXPERIMENT_PAUSED,
    EXPERIMENT_STOPPING_COMPLETED,
    EXPERIMENT_STOPPING_CANCELED,
    EXPERIMENT_STOPPING_KILLED,
    EXPERIMENT_STOPPING_ERROR,
    EXPERIMENT_COMPLETED,
    EXPERIMENT_CANCELED,
    EXPERIMENT_ERROR,
    EXPERIMENT_DELETING,
    EXPERIMENT_DELETE_FAILED,
    EXPERIMENT_STATES,
};

enum trial_state {
    TRIAL_ACTIVE,
    TRIAL_PAUSED,
    TRIAL_STOPPING_COMPLETED,
    TRIAL_STOPPING_CANCELED,
    TRIAL_STOPPING_KILLED,
    TRIAL_STOPPING_ERROR,
    TRIAL_COMPLETED,
    TRIAL_CANCELED,
    TRIAL_ERROR,
    TRIAL_STATES,
};

enum job_state {
    JOB_ACTIVE,
    JOB_STOPPING_PAUSED, /* its run was asked to stop */
    JOB_PAUSED,
    JOB_STOPPING_CANCELED,
    JOB_COMPLETED,
    JOB_CANCELED,
    JOB_ERROR,
    JOB_STATES,
};

enum allocation_state {
    ALLOCATION_PENDING,
    ALLOCATION_ASSIGNED,
    ALLOCATION_PULLING, /* the agent prepares its files */
    ALLOCATION_STARTING,
    ALLOCATION_RUNNING,
    ALLOCATION_TERMINATING,
    ALLOCATION_TERMINATED,
    ALLOCATION_STATES,
};

enum checkpoint_state {
    CHECKPOINT_ACTIVE,
    CHECKPOINT_COMPLETED,
    CHECKPOINT_ERROR,
    CHECKPOINT_DELETED,
    CHECKPOINT_PARTIALLY_DELETED,
    CHECKPOINT_DELETING, /* an agent removes its files; see checkpoint_wire_state() */
    CHECKPOINT_STATES,
};

extern const struct fsm experiment_fsm;
extern const struct fsm trial_fsm;
extern const struct fsm job_fsm;
extern const struct fsm allocation_fsm;

/* For field tables; each ends with NULL. */
extern const char *const experiment_state_names[];
extern const char *const trial_state_names[];
extern const char *const job_state_names[];
extern const char *const allocation_state_names[];
extern const char *const checkpoint_state_names[];
/* The name in the API, which has no DELETING: it shows PARTIALLY_DELETED. */
const char *checkpoint_wire_state(uint32_t state);

bool experiment_is_terminal(enum experiment_state state); /* COMPLETED and beyond */
bool experiment_is_stopping(enum experiment_state state);
bool trial_is_terminal(enum trial_state state);
bool trial_is_stopping(enum trial_state state);
bool job_is_terminal(enum job_state state);
/* STOPPING_KILLED ends as CANCELED, and so on; only for a stopping state. */
enum experiment_state experiment_end_of(enum experiment_state stopping);
enum trial_state trial_end_of(enum trial_state stopping);

#endif
