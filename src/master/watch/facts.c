/* SPDX-License-Identifier: Apache-2.0 */
#include "master/watch/facts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/io/io.h"
#include "base/memory/buf.h"
#include "base/memory/map.h"
#include "data/json/json.h"
#include "master/heart/heart.h"
#include "master/master_impl.h"
#include "master/request/waits.h"
#include "master/watch/exposition.h"
#include "model/records.h"
#include "net/server_state.h"
#include "store/engine/db.h"
#include "store/task/agent.h"
#include "store/task/allocation.h"

const char *const watch_agent_state_names[] = {"ready", "draining", "disabled",
                                               "silent"};
const char *const watch_slot_state_names[] = {"free", "used", "disabled", "offline"};

/* ---- the cluster ----------------------------------------------------------------- */

/* The rows of agents, and which of their slots are held. */
struct board {
    struct agent *agents;
    uint32_t count;
    struct map by_id; /* id -> 1 + index, as a pointer */
    bool **is_held;   /* by agent and slot */
};

static struct pool_facts *find_pool(struct watch_facts *facts, const char *name)
{
    for (uint32_t i = 0; i < facts->pool_count; i++)
        if (!strcmp(facts->pools[i].name, name))
            return &facts->pools[i];
    return NULL;
}

static void board_done(struct board *board)
{
    map_done(&board->by_id);
}

static det_status make_board(struct db *db, struct arena *mem, struct board *board,
                             struct err *err)
{
    det_status st = store_agent_list(db, mem, &board->agents, &board->count, err);

    if (st)
        return st;
    board->is_held = arena_array(mem, bool *, (size_t)board->count + 1);
    if (!board->is_held)
        return err_default(err, DET_NOMEM);
    for (uint32_t i = 0; i < board->count; i++) {
        board->is_held[i] = arena_array(mem, bool, (size_t)board->agents[i].slots + 1);
        if (!board->is_held[i] ||
            !map_put(&board->by_id, board->agents[i].id, &board->is_held[i]))
            return err_default(err, DET_NOMEM);
    }
    return DET_OK;
}

/* Marks the slots in a JSON list, which comes from our own rows; NULL: an empty one. */
static det_status mark_slots(const char *list, bool *is_marked, int64_t slots,
                             struct arena *mem, struct err *err)
{
    struct json *tree = NULL;
    det_status st = list ? json_parse(list, strlen(list), mem, &tree, err) : DET_OK;

    if (st || !tree || tree->kind != JSON_ARRAY)
        return st;
    json_each(slot, tree) {
        int64_t at = json_i64(slot, -1);

        if (at >= 0 && at < slots)
            is_marked[at] = true;
    }
    return DET_OK;
}

static det_status mark_shares(struct db *db, struct arena *mem, struct board *board,
                              struct watch_facts *facts, struct err *err)
{
    struct share *shares;
    uint32_t count = 0;
    det_status st = store_shares_live(db, mem, &shares, &count, err);

    for (uint32_t i = 0; !st && i < count; i++) {
        bool **held = map_get(&board->by_id, shares[i].agent_id);

        if (!held || shares[i].has_exited)
            continue;
        facts->agents[held - board->is_held].tasks++;
        st = mark_slots(shares[i].slots, *held,
                        board->agents[held - board->is_held].slots, mem, err);
    }
    return st;
}

static det_status count_agent(const struct agent *agent, const bool *is_held,
                              struct pool_facts *pool, struct arena *mem,
                              struct err *err)
{
    bool *is_off = arena_array(mem, bool, (size_t)agent->slots + 1);
    det_status st =
        is_off ? mark_slots(agent->disabled_slots, is_off, agent->slots, mem, err)
               : err_default(err, DET_NOMEM);

    if (st)
        return st;
    pool->agents[!agent->is_connected ? AGENT_SILENT
                 : agent->is_draining ? AGENT_DRAINING
                 : !agent->is_enabled ? AGENT_DISABLED
                                      : AGENT_READY]++;
    for (int64_t slot = 0; slot < agent->slots; slot++)
        pool->slots[is_held[slot]                        ? SLOT_USED
                    : !agent->is_connected               ? SLOT_OFFLINE
                    : !agent->is_enabled || is_off[slot] ? SLOT_DISABLED
                                                         : SLOT_FREE]++;
    return DET_OK;
}

static det_status count_agents(struct master *master, struct db *db, struct arena *mem,
                               struct watch_facts *facts, struct err *err)
{
    CLEANUP(board_done) struct board board = {0};
    det_status st = make_board(db, mem, &board, err);

    if (st)
        return st;
    facts->agents = arena_array(mem, struct agent_facts, (size_t)board.count + 1);
    if (!facts->agents)
        return err_default(err, DET_NOMEM);
    facts->agent_count = board.count;
    st = mark_shares(db, mem, &board, facts, err);
    for (uint32_t i = 0; !st && i < board.count; i++) {
        const struct agent *agent = &board.agents[i];
        struct pool_facts *pool = find_pool(facts, agent->resource_pool);

        facts->agents[i].name = agent->name;
        facts->agents[i].is_connected = agent->is_connected;
        agents_look(master->agents, agent->name, &facts->agents[i].sign);
        if (pool)
            st = count_agent(agent, board.is_held[i], pool, mem, err);
    }
    return st;
}

static det_status count_allocations(struct db *db, struct arena *mem, int64_t now_us,
                                    struct watch_facts *facts, struct err *err)
{
    struct allocation *rows;
    uint32_t count = 0;
    det_status st = store_allocations_live(db, mem, &rows, &count, err);

    for (uint32_t i = 0; !st && i < count; i++) {
        struct pool_facts *pool = find_pool(facts, rows[i].resource_pool);

        if (!pool || rows[i].state >= ALLOCATION_STATES)
            continue;
        pool->allocations[rows[i].state]++;
        if (rows[i].state != ALLOCATION_PENDING)
            continue;
        pool->slots_wanted += rows[i].slots;
        pool->oldest_wait_us = MAX(pool->oldest_wait_us, now_us - rows[i].request_us);
    }
    return st;
}

static det_status count_rows(struct db *db, struct arena *mem,
                             struct watch_facts *facts, struct err *err)
{
    const struct {
        const char *what;
        int64_t *value;
    } numbers[] = {{"journal", &facts->journal_entries},
                   {"removals", &facts->removals},
                   {"deletions", &facts->deletions}};
    det_status st = store_count(db, mem, &facts->counts, &facts->count_count, err);

    for (uint32_t i = 0; !st && i < facts->count_count; i++)
        for (size_t j = 0; j < ARRAY_LEN(numbers); j++)
            if (!strcmp(facts->counts[i].what, numbers[j].what))
                *numbers[j].value = facts->counts[i].rows;
    return st;
}

static det_status look_at_cluster(struct master *master, struct db *db,
                                  struct arena *mem, struct watch_facts *facts,
                                  struct err *err)
{
    const struct core_config *config = &master->core_config;
    det_status st = db_snapshot(db, err);

    facts->pools = arena_array(mem, struct pool_facts, config->pool_count);
    if (!st && !facts->pools)
        st = err_default(err, DET_NOMEM);
    if (st)
        return st;
    facts->pool_count = config->pool_count;
    for (uint32_t i = 0; i < config->pool_count; i++)
        facts->pools[i].name = config->pool[i].name;
    st = count_agents(master, db, mem, facts, err);
    if (!st)
        st = count_allocations(db, mem, master_now_us(master), facts, err);
    return st ? st : count_rows(db, mem, facts, err);
}

/* ---- the master and its process -------------------------------------------------- */

static void look_at_master(struct master *master, struct watch_facts *facts)
{
    struct net_server_state net = {0};
    struct io_space space;

    facts->lane_count = executor_look(master->exec, facts->lanes, WATCH_LANES);
    store_look(master->store, &facts->store);
    facts->writer_waiting = facts->store.waiting;
    facts->failed_groups = (int64_t)facts->store.failed_groups;
    facts->database_bytes = facts->store.database_bytes;
    facts->wal_bytes = facts->store.wal_bytes;
    facts->heart_waiting = heart_waiting(master->heart);
    facts->is_read_only = master->is_read_only || master_is_full(master);
    facts->has_failed_disk = store_is_dead(master->store);
    facts->certificate_expires_us = master->certificate_expires_us
                                        ? master->certificate_expires_us
                                        : METRIC_UNKNOWN;
    facts->open_requests = master->open_requests;
    facts->long_polls = waits_count(master->waits);
    net_server_look(master->server, &net);
    facts->connections = net.connections;
    facts->max_connections = net.max_connections;
    facts->streams = net.streams;
    facts->body_bytes = (int64_t)net.held_bytes;
    facts->max_body_bytes = (int64_t)net.max_held_bytes;
    facts->disk_free_bytes = facts->disk_size_bytes = METRIC_UNKNOWN;
    if (!io_space(master->io, master->data_dir, &space, NULL)) {
        facts->disk_free_bytes = (int64_t)space.free_bytes;
        facts->disk_size_bytes = (int64_t)space.size_bytes;
    }
    facts->start_us = master->started_us;
}

/* Only with real files is there a process to look at. */
static void look_at_process(struct io *io, struct arena *mem, struct watch_facts *facts)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct rlimit limit;
    struct rusage used;
    const char **files;

    facts->resident_bytes = facts->open_files = facts->max_files = facts->cpu_us =
        METRIC_UNKNOWN;
    if (io_is_memory(io))
        return;
    if (!io_read_file(io, "/proc/self/statm", &text, NULL) && strchr(text.data, ' '))
        facts->resident_bytes =
            strtoll(strchr(text.data, ' '), NULL, 10) * sysconf(_SC_PAGESIZE);
    if (!io_list(io, "/proc/self/fd", mem, &files, NULL))
        for (facts->open_files = 0; files[facts->open_files];)
            facts->open_files++;
    if (!getrlimit(RLIMIT_NOFILE, &limit))
        facts->max_files = (int64_t)limit.rlim_cur;
    if (!getrusage(RUSAGE_SELF, &used))
        facts->cpu_us = (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
                        used.ru_utime.tv_usec + used.ru_stime.tv_usec;
}

det_status facts_gather(struct master *master, struct db *db, struct arena *mem,
                        struct watch_facts *ret_facts, struct err *err)
{
    struct watch_facts facts = {.meters = master->meters};
    det_status st = look_at_cluster(master, db, mem, &facts, err);

    if (st)
        return st;
    look_at_master(master, &facts);
    look_at_process(master->io, mem, &facts);
    *ret_facts = facts;
    return DET_OK;
}
