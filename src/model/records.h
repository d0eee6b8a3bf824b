/* SPDX-License-Identifier: Apache-2.0 */
/* records.h - the records of the platform, which the core makes, the store keeps and the
 * API shows.
 *
 *   experiment 1--n trial 1--n allocation 1--n share (on an agent)
 *                     job 1--n allocation
 *
 * These structs hold what the *core* owns: rows that its effects write and that
 * core_restore() reads back.  Data that the core does not decide on (metrics, logs,
 * checkpoints, names and notes that users edit) is only in the store.  Strings borrow
 * from the maker of the record. */
#ifndef MODEL_RECORDS_H
#define MODEL_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "model/field.h"
#include "model/states.h"

struct experiment {
    int64_t id;
    uint32_t state; /* enum experiment_state */
    const char *job_id;
    int64_t owner_id;
    int64_t project_id;
    int64_t parent_id;           /* 0: none */
    const char *config;          /* complete, JSON */
    const char *original_config; /* as submitted, YAML */
    const char *resource_pool;
    int64_t priority;
    double weight;
    int64_t max_slots;    /* -1: no cap */
    int64_t submitted_us; /* its place in the queue */
    int64_t start_us;
    int64_t end_us;
    double progress;
    int64_t trials;       /* created so far */
    int64_t search_seq;   /* inputs given to the searcher so far */
    int64_t snapshot_seq; /* ... when its last snapshot was taken */
    int64_t
        starter_id; /* who submitted or last continued it; its runs act as that user */
    int64_t paused_us;       /* how long it was not at work, before... */
    int64_t paused_since_us; /* ... this pause; 0: it is not paused */
};

/* An experiment's duration is the time between its start and its end, or now, without
 * the pauses.  Until it is continued, an experiment that ended is not at work either. */
struct work_span {
    int64_t start_us;
    int64_t end_us;
    int64_t paused_us;
    int64_t paused_since_us;
};
#define WORK_SPAN(row)                                                                 \
    {                                                                                  \
        (row)->start_us, (row)->end_us, (row)->paused_us, (row)->paused_since_us       \
    }
int64_t work_time_us(const struct work_span *span, int64_t now_us); /* never below 0 */

struct trial {
    int64_t id;
    int64_t experiment_id;
    int64_t number; /* 0, 1, ... within the experiment */
    uint32_t state; /* enum trial_state */
    const char *request_id;
    const char *task_id; /* "<experiment>.<request id>" */
    int64_t seed;
    const char *hparams; /* JSON */
    int64_t restarts;
    int64_t run_id; /* of the latest allocation; 0: none yet */
    int64_t start_us;
    int64_t end_us;
    const char *latest_checkpoint; /* uuid, or NULL */
    int64_t latest_steps;
    const char *warm_start; /* checkpoint it began from, or NULL */
    bool is_stopped_by_searcher;
    bool has_invalid_hparams;   /* the trial reported that */
    bool is_retry_cancelled;    /* a log policy matched */
    const char *blocked_agents; /* JSON list of agent ids, or NULL */
    double progress;            /* as last reported, in whole hundredths */
    bool is_metric_checked;     /* a validation came */
    bool lacks_metric;          /* it was without the searcher's metric */
};

/* A generic job: one task; each run begins at the start.  Its row has everything the
 * core needs of its configuration. */
struct job {
    int64_t id;
    uint32_t state;      /* enum job_state */
    const char *task_id; /* a uuid; also its name in the queue */
    int64_t owner_id;
    const char *resource_pool;
    int64_t priority;
    double weight;
    int64_t slots;
    bool is_single_node;
    bool is_pausable;              /* it may be stopped and begun again later */
    int64_t preemption_timeout_us; /* how long it may take to stop when asked */
    int64_t submitted_us;          /* its place in the queue */
    int64_t start_us;
    int64_t end_us;
    int64_t run_id; /* of the latest allocation; 0: none yet */
};

/* How an allocation ended. */
enum exit_kind {
    EXIT_NONE,      /* it has not ended */
    EXIT_CLEAN,     /* code 0 */
    EXIT_FAILED,    /* another code, or a signal: the program's fault */
    EXIT_TRANSIENT, /* the agent or the machine was lost: nobody's fault */
    EXIT_KILLED,    /* we killed it */
    EXIT_LACKING,   /* its machine lacked processes, memory, disk space or the like */
    EXIT_KINDS,
};

struct allocation {
    int64_t id;
    int64_t trial_id; /* 0: it is a job's */
    int64_t experiment_id;
    const char *task_id;
    const char *name; /* "<task id>.<run id>", its id in the API */
    int64_t run_id;
    uint32_t state; /* enum allocation_state */
    const char *resource_pool;
    int64_t slots;
    int64_t request_us;
    int64_t start_us; /* when it was assigned */
    int64_t end_us;
    bool is_ready;               /* its entrypoint started */
    bool is_preempted;           /* was asked to stop */
    bool is_acknowledged;        /* the task answered that it will stop */
    bool is_killed;              /* the kill was ordered */
    int64_t preempt_deadline_us; /* when it is killed; 0: none */
    uint32_t exit;               /* enum exit_kind, once all shares ended */
    int64_t exit_code;
    const char *exit_reason;
    int64_t shares;
    int64_t ports[4]; /* DTRAIN_SSH_PORT, INTER_TRAIN_..._1, _2, C10D_PORT; 0: none */
    int64_t job_id;   /* 0: it is a trial's */
    /* Retries (core/retry.c): */
    int64_t quick_ends;      /* how many runs in a row ended too soon before this one */
    int64_t retry_us;        /* until then it waits outside its pool; 0: it does not */
    const char *wait_reason; /* why it waits or waited, or NULL */
    int64_t avoided_agent;   /* an agent that lacked resources: others come first; 0 */
    bool has_progressed;     /* it validated, saved a checkpoint or told its progress */
};

/* The part of an allocation that runs on one agent: one process tree. */
struct share {
    int64_t allocation_id;
    int64_t rank; /* 0 is the chief */
    int64_t agent_id;
    const char *agent;        /* its name */
    const char *container_id; /* uuid, derived from allocation and rank */
    const char *slots;        /* JSON list of slot numbers */
    bool is_running;          /* its entrypoint started */
    bool has_exited;
    uint32_t exit; /* enum exit_kind */
    int64_t exit_code;
};

struct agent {
    int64_t id;
    const char *name;
    const char *resource_pool;
    const char *devices;   /* JSON list of {id, brand, uuid, type} */
    const char *addresses; /* JSON list of strings */
    int64_t slots;
    bool is_enabled;
    bool is_draining;
    bool is_connected;
    const char *disabled_slots; /* JSON list of slot numbers */
    const char *boot_id;
    const char *version;
    int64_t joined_us;
    int64_t
        silent_us; /* when it, or a supervisor on it, was last heard; 0: connected */
    const char *instance; /* the id of its directory: two agents may claim one name */
};

/* One input of a searcher since its last snapshot. */
enum search_input_kind {
    SEARCH_INPUT_START,
    SEARCH_INPUT_CREATED,
    SEARCH_INPUT_VALIDATED,
    SEARCH_INPUT_EXITED,
    SEARCH_INPUT_PROGRESS,
    SEARCH_INPUT_REOPENED, /* an exited trial goes on */
};

struct search_input {
    int64_t experiment_id;
    int64_t seq;
    uint32_t kind;
    int64_t trial; /* its number */
    uint32_t why;  /* EXITED: enum search_exit */
    double progress;
    const char *metrics; /* VALIDATED: JSON */
};

struct search_snapshot {
    int64_t experiment_id;
    int64_t seq; /* inputs it contains */
    const char *state;
};

extern const char *const exit_kind_names[]; /* ends with NULL */

/* Column order of the tables of the same name; also the API document. */
extern const struct field experiment_fields[];
extern const struct field trial_fields[];
extern const struct field job_fields[];
extern const struct field allocation_fields[];
extern const struct field share_fields[];
extern const struct field agent_fields[];
extern const struct field search_input_fields[];
extern const struct field search_snapshot_fields[];

#endif
