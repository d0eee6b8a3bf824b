/* SPDX-License-Identifier: Apache-2.0 */
/* facts.h - the state of the master at one moment, for `GET /metrics`.
 *
 * Numbers that are not known are METRIC_UNKNOWN: a master in a simulation has no processes,
 * one without TLS has no certificate. */
#ifndef MASTER_WATCH_FACTS_H
#define MASTER_WATCH_FACTS_H

#include "base/err.h"
#include "base/thread/executor.h"
#include "master/rm/agents.h"
#include "model/states.h"
#include "net/net.h"
#include "store/count.h"
#include "store/store.h"

struct agent;
struct arena;
struct db;
struct master;
struct meters;

enum watch_agent_state {
    AGENT_READY,
    AGENT_DRAINING,
    AGENT_DISABLED,
    AGENT_SILENT,
    AGENT_STATES
};
enum watch_slot_state {
    SLOT_FREE,
    SLOT_USED,
    SLOT_DISABLED,
    SLOT_OFFLINE,
    SLOT_STATES
};
extern const char *const watch_agent_state_names[];
extern const char *const watch_slot_state_names[];

enum { WATCH_LANES = 32 };

struct pool_facts {
    const char *name;
    int64_t agents[AGENT_STATES];
    int64_t slots[SLOT_STATES];
    int64_t allocations[ALLOCATION_STATES];
    int64_t slots_wanted;   /* by allocations that wait */
    int64_t oldest_wait_us; /* 0: none waits */
};

struct agent_facts {
    const char *name;
    int64_t tasks; /* that have not ended */
    bool is_connected;
    struct agent_sign sign;
};

struct watch_facts {
    const struct meters *meters;
    struct lane_state lanes[WATCH_LANES];
    uint32_t lane_count;
    struct store_state store;
    struct pool_facts *pools;
    uint32_t pool_count;
    struct agent_facts *agents;
    uint32_t agent_count;
    struct row_count *counts;
    uint32_t count_count;

    /* Each is the value of one metric. */
    int64_t is_read_only, has_failed_disk, certificate_expires_us;
    int64_t open_requests, long_polls, connections, max_connections, streams;
    int64_t body_bytes, max_body_bytes;
    int64_t writer_waiting, failed_groups, heart_waiting;
    int64_t journal_entries, removals, deletions;
    int64_t database_bytes, wal_bytes, disk_free_bytes, disk_size_bytes;
    int64_t resident_bytes, open_files, max_files, cpu_us, start_us;
};

/* Reads the rows and looks at the parts of the master; everything is in `mem`. */
det_status facts_gather(struct master *master, struct db *db, struct arena *mem,
                        struct watch_facts *ret_facts, struct err *err);

#endif
