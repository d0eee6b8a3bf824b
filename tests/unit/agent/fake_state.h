/* SPDX-License-Identifier: Apache-2.0 */
/* fake_state.h - what the master of fake_master.h remembers, and how it answers. */
#ifndef TESTS_UNIT_AGENT_FAKE_STATE_H
#define TESTS_UNIT_AGENT_FAKE_STATE_H

#include <string.h>

#include "base/memory/buf.h"
#include "base/memory/vec.h"
#include "base/thread/executor.h"
#include "base/thread/lock.h"
#include "net/net.h"

enum { HELD_MOST = 16 };

struct fake_call {
    enum net_method method;
    char *path;
    char *query;
    char *body;
};

struct fake_master {
    struct executor *exec;
    struct net *net;
    struct net_server *server;
    uint16_t port;

    struct lock lock; /* guards the rest */
    VEC(struct fake_call) calls;
    struct buf output[2]; /* text put together */
    uint64_t offset[2];   /* where it is */
    int64_t last_time[2];
    const char *problem; /* a batch that did not fit */
    bool is_bulk;        /* count the bytes only */
    bool holds_logs;
    bool holds_loads;
    const char *load_refusal; /* with 400 */
    struct net_exchange *held[HELD_MOST];
    size_t held_count;
    const char *context;         /* JSON */
    const char *logs_refusal;    /* with 400 */
    const char *refusal;         /* of states, with 400 */
    const char *alive;           /* the reply to signs of life; NULL: {} */
    int alive_status;            /* 0: 200 */
    uint64_t reports;            /* the number of the last that is stored */
    uint32_t records;            /* that came, each time */
    bool is_busy;                /* for reports */
    const char *reports_refusal; /* with 400 */
    bool has_given_up;           /* the run: it takes reports, and says so */
    const char *report_error;    /* refuses one report of each batch */
    const char *commands;        /* JSON list; handed out once */
    int hello_status;            /* 0: 200 */
    const char *epoch;
    struct net_exchange *poll; /* the long poll that waits */
    char dir[64];
};

/* ---- answering ------------------------------------------------------------------- */

static inline void fake_answer(struct net_exchange *x, int status, const char *text)
{
    struct buf body = BUF_INIT;

    buf_puts(&body, text);
    net_answer(x, status, "application/json", NULL, &body);
}

static inline int64_t fake_number(const char *body, const char *key)
{
    const char *at = strstr(body, key);

    return at ? strtoll(at + strlen(key), NULL, 10) : -1;
}

#endif
