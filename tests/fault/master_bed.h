/* SPDX-License-Identifier: Apache-2.0 */
/* master_bed.h - the whole master on the twins, for sweeps: one client, one agent, one
 * process, and a ledger of everything that was acknowledged to them.
 *
 * A caller repeats its call until it is answered.  If the master has died (the power
 * failed, a sync failed), it is started again on the same files.  A call that the
 * master refuses must have no effect; a call without an answer may have one. */
#ifndef TESTS_FAULT_MASTER_BED_H
#define TESTS_FAULT_MASTER_BED_H

#include "base/clock.h"
#include "base/memory/arena.h"
#include "data/json/json.h"
#include "net/net.h"
#include "tests/fault/sweep.h"

struct bed {
    struct sweep *sweep;
    struct arena mem;
    struct clock_manual clock;
    struct io *io;
    struct json *config;
    struct executor *exec;
    struct net *net;
    struct net_client *client;
    struct master *master;
    bool is_dead;    /* a sync failed: the process ends */
    bool is_lenient; /* errors may have any status, but need their sentence */
    uint32_t lives;
    const char *user; /* tokens */
    const char *agent;
    const char *epoch;   /* the agent's; NULL: it has to say hello */
    const char *running; /* what the agent says it runs, JSON */
    /* the last answer */
    int status; /* 0: none */
    struct json *reply;
    const char *text;
    uint32_t unheard; /* of the last bed_tell(): tries that got no answer */
};

enum as { AS_NOBODY, AS_USER, AS_AGENT, AS_TASK };

void bed_open(struct bed *bed, struct sweep *sweep);
void bed_close(struct bed *bed);

det_status bed_begin(struct bed *bed, struct err *err);
void bed_end(struct bed *bed);
/* The master, started when it does not run; says whether it runs now. */
bool bed_revive(struct bed *bed);
/* Its proper end, and another start. */
void bed_restart(struct bed *bed);

/* One try.  An error must be a plain sentence with a status that fits the fault. */
void bed_call(struct bed *bed, enum as as, const char *token, enum net_method method,
              const char *path, const char *body);
/* Until it is answered with 200. */
void bed_tell(struct bed *bed, enum as as, const char *token, const char *path,
              const char *body);
struct json *bed_look(struct bed *bed, const char *path); /* a GET as the user */
void bed_log_in(struct bed *bed);
/* Says hello when the master does not know the agent (any more). */
void bed_hello(struct bed *bed);
/* In the bed's memory, whatever fails. */
const char *bed_printf(struct bed *bed, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void bed_pass(struct bed *bed, int64_t us);

#endif
