/* SPDX-License-Identifier: Apache-2.0 */
/* master_world.h - the whole master in a world that a seed decides.
 *
 * The code of src/master runs on the twins: the one-thread executor, the network in
 * memory (which loses requests and replies and repeats calls) and the file system in
 * memory, which loses unsynced data when the power fails.  Agents, their processes and
 * people are *actors*: an actor is work on its own lane that makes one call, looks at
 * the reply and posts itself again.
 *
 *   power on --> actors call, are answered or not --> power off, or a proper stop
 *       ^                                                     |
 *       +-------------- the same files <----------------------+
 *
 * In some lives lanes of the master are slow, each by itself: a server under load is unfair.
 * A *gentle* world has no other fault: nobody may lose a run in it.
 *
 * An actor's call pumps the executor: calls of other actors run within it, as deep as
 * there are actors.  When the power fails, every call under way breaks and the stack
 * unwinds to run_master(), which discards the master and builds another.
 *
 * The ledger (struct process, struct wish) holds everything that was acknowledged.  At
 * the end there are no more faults, everything must end, and master_check.c compares
 * the ledger with the master's replies. */
#ifndef TESTS_SIM_MASTER_WORLD_H
#define TESTS_SIM_MASTER_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/rng.h"
#include "base/thread/executor.h"
#include "data/json/json.h"
#include "net/net.h"

enum {
    AGENTS = 2,
    AGENT_SLOTS = 2,
    PEOPLE = 2,
    PROCESSES_MOST = 400,
    REPORTS_MOST = 40, /* of one process */
    RUNGS_MOST = 200,  /* records in its ring */
    WISHES_MOST = 40,
    SECOND = 1000000,
};

struct world;
struct actor;
struct agent_machine;

typedef void actor_fn(struct actor *actor);

struct actor {
    struct world *world;
    actor_fn *step;
    struct work task;
    struct lane *lane;         /* of this life of the master */
    struct net_client *client; /* likewise */
    struct arena mem;          /* what the last call brought */
    const char *name;
    bool is_over; /* it has nothing more to do, for ever */
};

/* A message that a process repeats until it is acknowledged. */
enum op {
    OP_NONE,
    OP_STATE,
    OP_METRIC,
    OP_LOG,
    OP_CHECKPOINT,
    OP_BATCH, /* of its ring: in place of the metrics and checkpoints one by one */
    OP_POLL,
    OP_ALIVE,
    OP_ACK,
    OP_EXIT
};

struct metric {
    int64_t steps;
    bool is_validation;
    bool is_acked;
    bool
        is_late; /* acknowledged when its run was given up, and stored then or before */
};

struct saved {
    char uuid[UUID_TEXT];
    int64_t steps;
    bool is_acked;
    bool is_late;    /* as a metric */
    bool is_removed; /* an agent was told to, and did */
};

/* A record of a ring: its number is its place, from 1. */
#define RUNG_PLAIN UINT32_MAX
struct rung {
    uint32_t kind; /* enum report_kind */
    uint32_t at;   /* which metric or checkpoint of the process; RUNG_PLAIN: neither */
};

/* One task process: a share of an allocation, with its supervisor. */
struct process {
    struct actor actor;
    struct agent_machine *agent;
    const char *allocation;
    int64_t rank;
    const char *token;
    int64_t experiment;
    int64_t trial;
    int64_t run;
    int64_t began;    /* the steps of the checkpoint that it began from */
    int64_t steps;    /* trained so far */
    int64_t until;    /* then it is done */
    enum op op;       /* not yet answered */
    const char *exit; /* once it has ended */
    bool has_ring;
    bool is_killed;
    bool is_preempted;
    bool is_gone;         /* its machine died, or nobody listens to it any more */
    bool is_said;         /* its exit was acknowledged */
    bool keeps_no_latest; /* the policy of its experiment */
    /* ledger */
    struct metric metric[REPORTS_MOST];
    uint32_t metrics;
    struct saved saved[REPORTS_MOST];
    uint32_t saves;
    struct rung rung[RUNGS_MOST];
    uint32_t rungs;
    uint32_t rungs_acked; /* of these, acknowledged */
    uint64_t batch_first; /* of the batch under way */
    uint64_t batch_last;
    int64_t lines;       /* printed */
    int64_t lines_sent;  /* of these, sent at least once */
    int64_t lines_acked; /* of these, acknowledged */
};

/* The value of a report.  The same weights give the same loss in every run. */
static inline int64_t metric_value(const struct process *p, const struct metric *m)
{
    return m->is_validation ? (p->trial * 31 + m->steps * 17) % 97
                            : p->run * 1000 + m->steps;
}

struct agent_machine {
    struct actor actor;
    const char *epoch;
    int64_t after;
    int64_t boot;
    int64_t down_until_us; /* > 0: it is off */
    int64_t cut_until_us;  /* > 0: nobody hears it and its processes, which go on */
    bool is_cleaning;      /* it was told that there is something to remove */
};

/* An experiment that somebody was told exists. */
struct wish {
    int64_t id;
    bool is_continued; /* somebody tried to */
};

struct person {
    struct actor actor;
    const char *token; /* acknowledged: it must last */
};

struct world {
    uint64_t seed;
    struct rng64 rng;
    struct arena mem; /* as long as the world */
    struct clock_manual clock;
    struct io *io;
    const struct json *config;
    struct executor *exec;
    struct net *net;
    struct master *master;
    struct lane *fate_lane;
    struct work fate; /* the power goes, the disk is full, the disk is free again */
    uint32_t hover;   /* steps of others it still waits for */
    bool is_up;       /* the master answers */
    bool has_no_power;
    bool wants_stop; /* properly */
    bool is_full;    /* the disk */
    bool is_calm;
    bool is_gentle; /* no fault but slowness */
    bool is_last;   /* all is over, and this is the life to look at it in */
    bool is_over;
    bool traces;
    uint32_t lives;
    uint32_t lives_most;
    uint32_t depth; /* of calls within calls */
    uint64_t calls;
    uint64_t hash; /* of everything that happened */
    char why[512]; /* "": all is well */

    const char *agent_token;
    struct agent_machine agent[AGENTS];
    struct person person[PEOPLE];
    struct process *process[PROCESSES_MOST];
    uint32_t processes;
    struct wish wish[WISHES_MOST];
    uint32_t wishes;
};

/* ---- master_world.c */

struct world_result {
    char why[512];
    uint64_t hash;
    uint64_t calls;
    uint32_t lives;
    int64_t lived_us; /* simulated */
};
/* One seed from its beginning to its end; true: all was well. */
bool world_run(uint64_t seed, bool traces, struct world_result *ret_result);

/* Everything not synced is lost, every call breaks.  The caller returns at once. */
void power_goes(struct world *w);
/* The first complaint ends the world. */
void world_fail(struct world *w, const char *fmt, ...) PRINTF_LIKE(2, 3);
void world_trace(struct world *w, const char *fmt, ...) PRINTF_LIKE(2, 3);
uint64_t roll(struct world *w, uint64_t sides); /* 0..sides-1 */
bool one_in(struct world *w, uint64_t n);

void actor_init(struct actor *actor, struct world *w, const char *name, actor_fn *step);
/* Gives it a lane and a client in this life of the master, and its turn. */
void actor_wake(struct actor *actor);
void actor_again(struct actor *actor, int64_t in_us);

enum token_use { TOKEN_NONE, TOKEN_BEARER, TOKEN_OF_TASK };
struct call {
    enum token_use use;
    const char *token;
    enum net_method method;
    const char *path;
    const char *body;
    size_t body_len;    /* of bytes; 0: it is text */
    int64_t timeout_ms; /* 0: 5 s */
    /* the answer, in the actor's memory until its next call */
    int status; /* 0: none came */
    struct json *json;
    const char *text;
};
/* False: no answer, or 503; it may or may not have been done: once more. */
bool actor_call(struct actor *actor, struct call *call);

/* ---- master_tasks.c: agents and processes */

void agent_step(struct actor *actor);
void process_step(struct actor *actor);
/* Whether its trial may go back behind what it has saved.  The policy of an ended experiment
 * need not keep the latest checkpoint; a continued trial then starts from an older one. */
bool process_may_forget(const struct process *p);

/* ---- master_ring.c: what a process reports through a ring */

/* The metric or checkpoint that it was about to tell goes into the ring. */
void ring_put_last(struct process *p);
void ring_fill_call(struct process *p, struct call *call);
void ring_heard(struct process *p, const struct call *call);
/* Among the reports of its trial: each acknowledged record once, and no other. */
void ring_check(struct world *w, const struct process *p, const struct json *rows);

/* ---- master_people.c */

void person_step(struct actor *actor);

/* ---- master_check.c */

void check_all(struct world *w, struct actor *actor, const char *token);
/* Whether exactly the checkpoints are left that the rule protects; one that it protects
 * and that is gone ends the world. */
bool check_collected(struct world *w, struct actor *actor, const char *token);

#endif
