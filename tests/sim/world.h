/* SPDX-License-Identifier: Apache-2.0 */
/* world.h - a simulated world around the core: a virtual clock, a store, a heart that
 * crashes, agents that vanish, tasks that fail, users who change their minds.  One seed
 * decides everything.
 *
 *   users, agents, tasks --messages--> inbox, journal --batch--> core --rows--> store
 *            ^                                                     |
 *            +------------------- START, KILL, PREEMPT ------------+
 *
 *   world.c   the clock, the queue of messages, the heart with its crashes
 *   agents.c  agents and tasks: how they react to orders, and what they report
 *   people.c  submissions and actions of users; the end, where everything must finish
 *   store.c   the committed rows, and the conditions they must meet */
#ifndef TESTS_SIM_WORLD_H
#define TESTS_SIM_WORLD_H

#include "base/memory/arena.h"
#include "base/memory/tree.h"
#include "base/memory/vec.h"
#include "base/rng.h"
#include "core/core.h"
#include "tests/sim/store.h"

enum { SECOND = 1000000, AGENTS_MOST = 6, TEXT_SIZE = 112 };

enum message_kind {
    /* to the master; the first of them straight into the inbox */
    SAYS_STATE,
    SAYS_PROGRESS,
    SAYS_EARLY_EXIT,
    SAYS_LOG_POLICY,
    SAYS_ACKNOWLEDGED,
    SAYS_PREEMPT_ME,
    SAYS_JOINED,
    SAYS_SILENT,
    SAYS_HEARD,
    SAYS_TASK_HEARD, /* a supervisor, of a silent agent's task */
    SAYS_TWIN,       /* another agent wants to join under this one's name */
    SAYS_USER,       /* `event` is filled in */
    SAYS_TICK,
    SAYS_STARTED,
    SAYS_JUMP,
    /* into the journal, which survives crashes */
    REPORTS_VALIDATION,
    REPORTS_CHECKPOINT,
    REPORTS_EXIT,
    /* to an agent; lost with the master's memory */
    ORDERS_START,
    ORDERS_KILL,
    ORDERS_STRAY,
    ORDERS_PREEMPT,
    /* what happens by itself */
    TASK_STEP,
    AGENT_BEAT,
    AGENT_RETURNS,
    PERSON_ACTS,
};

struct message {
    struct tree_node node;
    int64_t at_us;
    uint64_t seq;
    enum message_kind kind;
    uint32_t agent;   /* from or to */
    uint32_t session; /* orders: of the agent's session */
    bool is_refused;
    int64_t allocation;
    int64_t rank;
    int64_t trial;
    int64_t run;
    int64_t number; /* a state, steps, an exit kind, percent */
    bool is_final;  /* of an exit: a retry would fail, too */
    char text[TEXT_SIZE];
    char *long_text; /* owned: a configuration, or lines of tasks */
    struct core_event event;
};

struct sim_task {
    int64_t allocation;
    int64_t rank;
    int64_t trial;
    int64_t run;
    int64_t steps;
    uint32_t phase;
    uint32_t work_left;
    bool has_exited;
    bool is_reported;  /* its exit is in the journal */
    bool is_finishing; /* exits 0 at its next step */
    bool hangs;        /* only a kill ends it */
    enum exit_kind exit;
    int64_t code;
    char name[TEXT_SIZE]; /* "<allocation>/<rank>" */
};

struct sim_agent {
    char name[16];
    char boot_id[16];
    char instance[16];
    const char *pool;
    int64_t slots;
    uint32_t boot;
    uint32_t session;
    uint32_t known_session; /* the last one the master has for good */
    bool is_up;
    bool is_taken;          /* a twin has its place in the heart */
    int64_t heard_us;       /* when the heart heard of it last, or of a task of it */
    int64_t last_order_us;  /* orders arrive in order, */
    int64_t last_join_us;   /* and so do requests to join */
    int64_t lacks_until_us; /* until then it starts no process */
    VEC(struct sim_task *) tasks; /* owned; exited ones are remembered */
};

struct world {
    struct rng64 rng;
    bool traces;
    bool is_calm;
    bool lacks_memory; /* in this batch an allocation fails */
    int64_t now_us;
    int64_t skew_us; /* the wall clock jumps */
    uint64_t next_seq;
    uint64_t next_uuid;
    struct tree queue;
    VEC(struct message *) inbox;
    VEC(struct message *) spent;   /* of this batch: its effects borrow from them */
    VEC(struct message *) journal; /* entry i has number i + 1 */
    struct sim_agent agent[AGENTS_MOST];
    uint32_t agents;
    uint32_t actions_left;
    VEC(int64_t) max_restarts; /* of experiment i + 1 */
    struct core_pool pool[2];
    struct core_config config;
    struct core *core;
    struct core
        *twin; /* the heart as it was before a restart, for a while; may be NULL */
    uint32_t twin_left;
    struct sim_store store;
    struct arena mem; /* of effects */
    struct core_out out;
    struct arena twin_mem;
    uint64_t events;
    uint64_t crashes;
    char why[WHY_SIZE]; /* the first thing that went wrong; "": nothing */
};

struct world_result {
    uint64_t events;
    uint64_t crashes;
    int64_t lived_us; /* simulated */
    char why[WHY_SIZE];
};

/* Lives through one seed; false, with a sentence, when a promise was broken. */
bool world_run(uint64_t seed, bool traces, struct world_result *ret_result);

/* ---- for the files of the world -------------------------------------------------- */

void world_fail(struct world *w, const char *fmt, ...) PRINTF_LIKE(2, 3);
void world_trace(const struct world *w, const char *fmt, ...) PRINTF_LIKE(2, 3);
uint64_t world_below(struct world *w, uint64_t bound);
/* True in `percent` of the cases; never when the world is calm. */
bool world_mishap(struct world *w, uint32_t percent);
/* A message after a while: now plus `from_s`..`to_s` seconds, random in between. */
struct message *world_send(struct world *w, enum message_kind kind, int64_t from_s,
                           int64_t to_s);

/* The wall clock is set; the heart is told. */
void world_set_clock(struct world *w, int64_t skew_us);

/* agents.c */
/* An event was taken: who counts as heard now. */
void agents_event_taken(struct world *w, const struct message *message);
/* An agent leaves because its time is over: it must have been. */
void agents_check_lost(struct world *w, const struct core_effect *effect);
void agents_init(struct world *w);
void agents_done(struct world *w);
void agents_order(struct world *w, const struct core_effect *effect);
/* True when the message is used up (else it was sent again). */
bool agents_deliver(struct world *w, struct message *message);
void agents_join_stored(struct world *w, const struct message *message);
void agents_exit_stored(struct world *w, const struct message *message);
void agents_calm(struct world *w);

/* people.c */
void people_init(struct world *w);
void people_act(struct world *w);
/* No more mishaps: everything must come to its end soon. */
void people_calm(struct world *w);
/* A failure if something that could end has not. */
void people_check_rest(struct world *w);

#endif
