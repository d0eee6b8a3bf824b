/* SPDX-License-Identifier: Apache-2.0 */
#include "master/watch/metric_rows.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/histogram.h"
#include "master/watch/facts.h"
#include "master/watch/meters.h"
#include "store/engine/migrate.h"
#include "wire/route.h"

/* ---- calls ----------------------------------------------------------------------- */

static void read_requests(struct exposition *out, const struct watch_facts *facts)
{
    static const char *const classes[METER_CLASSES] = {"2xx", "3xx", "4xx", "5xx"};

    for (int route = 0; route < METER_ROUTES; route++)
        for (int i = 0; i < METER_CLASSES; i++)
            if (histogram_total(&facts->meters->request_us[route][i]))
                exposition_histogram(
                    out, route < ROUTE_COUNT ? routes[route].name : "unknown",
                    classes[i], &facts->meters->request_us[route][i],
                    &histogram_latency_us);
}

/* All of them from the start: a rate needs a first value. */
static void read_errors(struct exposition *out, const struct watch_facts *facts)
{
    for (int i = DET_OK + 1; i < METER_STATUSES; i++) {
        char code[8];

        snprintf(code, sizeof(code), "%d", det_status_http((det_status)i));
        exposition_sample(out, code, det_status_name((det_status)i),
                          (int64_t)facts->meters->errors[i]);
    }
}

static void read_meter(struct exposition *out, const struct watch_facts *facts,
                       enum meter meter)
{
    exposition_sample(out, NULL, NULL, (int64_t)facts->meters->count[meter]);
}

static void read_slow(struct exposition *out, const struct watch_facts *facts)
{
    read_meter(out, facts, METER_SLOW_REQUESTS);
}

static void read_agents_lost(struct exposition *out, const struct watch_facts *facts)
{
    read_meter(out, facts, METER_AGENTS_LOST);
}

static void read_reports_received(struct exposition *out,
                                  const struct watch_facts *facts)
{
    read_meter(out, facts, METER_REPORTS_RECEIVED);
}

static void read_reports_stored(struct exposition *out, const struct watch_facts *facts)
{
    read_meter(out, facts, METER_REPORTS_STORED);
}

static void read_lines_received(struct exposition *out, const struct watch_facts *facts)
{
    read_meter(out, facts, METER_LINES_RECEIVED);
}

static void read_lines_stored(struct exposition *out, const struct watch_facts *facts)
{
    read_meter(out, facts, METER_LINES_STORED);
}

/* ---- lanes and the writer -------------------------------------------------------- */

static void read_lanes_waiting(struct exposition *out, const struct watch_facts *facts)
{
    for (uint32_t i = 0; i < facts->lane_count; i++)
        exposition_sample(out, facts->lanes[i].name, NULL, facts->lanes[i].waiting);
}

static void read_lanes_running(struct exposition *out, const struct watch_facts *facts)
{
    for (uint32_t i = 0; i < facts->lane_count; i++)
        exposition_sample(out, facts->lanes[i].name, NULL, facts->lanes[i].running);
}

static void read_lanes_width(struct exposition *out, const struct watch_facts *facts)
{
    for (uint32_t i = 0; i < facts->lane_count; i++)
        exposition_sample(out, facts->lanes[i].name, NULL, facts->lanes[i].width);
}

static void read_lanes_busy(struct exposition *out, const struct watch_facts *facts)
{
    for (uint32_t i = 0; i < facts->lane_count; i++)
        exposition_sample(out, facts->lanes[i].name, NULL,
                          (int64_t)facts->lanes[i].busy_us);
}

static void read_lanes_wait(struct exposition *out, const struct watch_facts *facts)
{
    for (uint32_t i = 0; i < facts->lane_count; i++)
        exposition_histogram(out, facts->lanes[i].name, NULL, facts->lanes[i].wait,
                             &histogram_latency_us);
}

static void read_commit_times(struct exposition *out, const struct watch_facts *facts)
{
    exposition_histogram(out, NULL, NULL, facts->store.commit_us,
                         &histogram_latency_us);
}

static void read_commit_jobs(struct exposition *out, const struct watch_facts *facts)
{
    exposition_histogram(out, NULL, NULL, facts->store.group_jobs, &histogram_count);
}

/* ---- the cluster ----------------------------------------------------------------- */

static void read_agents(struct exposition *out, const struct watch_facts *facts)
{
    for (uint32_t i = 0; i < facts->pool_count; i++)
        for (int state = 0; state < AGENT_STATES; state++)
            exposition_sample(out, facts->pools[i].name, watch_agent_state_names[state],
                              facts->pools[i].agents[state]);
}

static void read_slots(struct exposition *out, const struct watch_facts *facts)
{
    for (uint32_t i = 0; i < facts->pool_count; i++)
        for (int state = 0; state < SLOT_STATES; state++)
            exposition_sample(out, facts->pools[i].name, watch_slot_state_names[state],
                              facts->pools[i].slots[state]);
}

static void read_allocations(struct exposition *out, const struct watch_facts *facts)
{
    for (uint32_t i = 0; i < facts->pool_count; i++)
        for (int state = 0; state < ALLOCATION_TERMINATED; state++)
            exposition_sample(out, facts->pools[i].name, allocation_state_names[state],
                              facts->pools[i].allocations[state]);
}

static void read_slots_wanted(struct exposition *out, const struct watch_facts *facts)
{
    for (uint32_t i = 0; i < facts->pool_count; i++)
        exposition_sample(out, facts->pools[i].name, NULL,
                          facts->pools[i].slots_wanted);
}

static void read_oldest_wait(struct exposition *out, const struct watch_facts *facts)
{
    for (uint32_t i = 0; i < facts->pool_count; i++)
        exposition_sample(out, facts->pools[i].name, NULL,
                          facts->pools[i].oldest_wait_us);
}

static void read_agents_connected(struct exposition *out,
                                  const struct watch_facts *facts)
{
    for (uint32_t i = 0; i < facts->agent_count; i++)
        exposition_sample(out, facts->agents[i].name, NULL,
                          facts->agents[i].is_connected);
}

static void read_agents_heard(struct exposition *out, const struct watch_facts *facts)
{
    for (uint32_t i = 0; i < facts->agent_count; i++)
        exposition_sample(out, facts->agents[i].name, NULL,
                          facts->agents[i].sign.quiet_us);
}

static void read_agents_tasks(struct exposition *out, const struct watch_facts *facts)
{
    for (uint32_t i = 0; i < facts->agent_count; i++)
        exposition_sample(out, facts->agents[i].name, NULL, facts->agents[i].tasks);
}

static void read_agents_disk(struct exposition *out, const struct watch_facts *facts)
{
    for (uint32_t i = 0; i < facts->agent_count; i++)
        exposition_sample(out, facts->agents[i].name, NULL,
                          facts->agents[i].sign.disk_free_bytes);
}

static void read_agents_clock(struct exposition *out, const struct watch_facts *facts)
{
    for (uint32_t i = 0; i < facts->agent_count; i++)
        exposition_sample(out, facts->agents[i].name, NULL,
                          facts->agents[i].sign.clock_ahead_us);
}

static void read_counts(struct exposition *out, const struct watch_facts *facts,
                        const char *what)
{
    for (uint32_t i = 0; i < facts->count_count; i++)
        if (!strcmp(facts->counts[i].what, what))
            exposition_sample(out, facts->counts[i].state, NULL, facts->counts[i].rows);
}

static void read_experiments(struct exposition *out, const struct watch_facts *facts)
{
    read_counts(out, facts, "experiments");
}

static void read_trials(struct exposition *out, const struct watch_facts *facts)
{
    read_counts(out, facts, "trials");
}

static void read_jobs(struct exposition *out, const struct watch_facts *facts)
{
    read_counts(out, facts, "jobs");
}

static void read_build(struct exposition *out, const struct watch_facts *facts)
{
    char schema[16];

    (void)facts;
    snprintf(schema, sizeof(schema), "%u", (unsigned)migration_count);
    exposition_sample(out, DET_VERSION, schema, 1);
}

/* ---- the table ------------------------------------------------------------------- */

/* The number that is a member of struct watch_facts. */
#define FACT(name_, type_, unit_, member, help_)                                       \
    {                                                                                  \
        .name = (name_), .type = METRIC_##type_, .unit = METRIC_##unit_,               \
        .help = (help_), .offset = offsetof(struct watch_facts, member)                \
    }
#define READ(name_, type_, unit_, labels_, reader, help_)                              \
    {                                                                                  \
        .name = (name_), .type = METRIC_##type_, .unit = METRIC_##unit_,               \
        .help = (help_), .labels = labels_, .read = (reader)                           \
    }
#define NO_LABELS                                                                      \
    {                                                                                  \
        NULL                                                                           \
    }
#define LABELS(...)                                                                    \
    {                                                                                  \
        __VA_ARGS__                                                                    \
    }

/* clang-format off */
const struct metric_row metric_rows[] = {
    /* the master */
    READ("det_build_info", GAUGE, NUMBER, LABELS("version", "schema"), read_build, "The program: 1, with its version and the number of its database schema"),
    FACT("det_read_only", GAUGE, NUMBER, is_read_only, "1 if the master is read-only, or its disk is full"),
    FACT("det_disk_failed", GAUGE, NUMBER, has_failed_disk, "1 if the disk failed and the master writes nothing any more"),
    FACT("det_certificate_expires_timestamp_seconds", GAUGE, SECONDS, certificate_expires_us, "When the master's TLS certificate expires, as Unix time; absent without TLS"),
    FACT("process_start_time_seconds", GAUGE, SECONDS, start_us, "When the master started, as Unix time"),
    FACT("process_cpu_seconds_total", COUNTER, SECONDS, cpu_us, "CPU time that the master has used"),
    FACT("process_resident_memory_bytes", GAUGE, NUMBER, resident_bytes, "Resident memory of the master"),
    FACT("process_open_fds", GAUGE, NUMBER, open_files, "Open file descriptors of the master"),
    FACT("process_max_fds", GAUGE, NUMBER, max_files, "Most file descriptors that it may open"),

    /* calls */
    READ("det_request_seconds", HISTOGRAM, SECONDS, LABELS("route", "class"), read_requests, "Latency of calls, by route and class of the HTTP status, without the time a caller asked to wait; of a stream, the time until it begins"),
    READ("det_errors_total", COUNTER, NUMBER, LABELS("status", "reason"), read_errors, "Calls that were answered with an error; status 503 and reason BUSY: refused for now, the caller may try again"),
    READ("det_slow_requests_total", COUNTER, NUMBER, NO_LABELS, read_slow, "Calls that took longer than log.slow_request_ms"),
    FACT("det_open_requests", GAUGE, NUMBER, open_requests, "Calls that are not answered yet, with streams and long polls"),
    FACT("det_long_polls", GAUGE, NUMBER, long_polls, "Callers that wait for news: long polls and streams without data"),
    FACT("det_streams", GAUGE, NUMBER, streams, "Replies in pieces that have not ended: followers of logs, open pages, downloads"),
    FACT("det_connections", GAUGE, NUMBER, connections, "Open connections"),
    FACT("det_max_connections", GAUGE, NUMBER, max_connections, "Most connections at once"),
    FACT("det_body_memory_bytes", GAUGE, NUMBER, body_bytes, "Memory that requests hold: bodies, what is made of them, replies"),
    FACT("det_max_body_memory_bytes", GAUGE, NUMBER, max_body_bytes, "Most memory that requests may hold; more is refused with 503"),

    /* lanes */
    READ("det_lane_waiting", GAUGE, NUMBER, LABELS("lane"), read_lanes_waiting, "Items in the queue of a lane"),
    READ("det_lane_running", GAUGE, NUMBER, LABELS("lane"), read_lanes_running, "Items that run on a lane"),
    READ("det_lane_width", GAUGE, NUMBER, LABELS("lane"), read_lanes_width, "Most items that run on a lane at once"),
    READ("det_lane_busy_seconds_total", COUNTER, SECONDS, LABELS("lane"), read_lanes_busy, "Time that the threads of a lane have worked; its rate divided by det_lane_width is the occupancy"),
    READ("det_lane_wait_seconds", HISTOGRAM, SECONDS, LABELS("lane"), read_lanes_wait, "How long items waited in the queue of a lane"),

    /* the database */
    READ("det_commit_seconds", HISTOGRAM, SECONDS, NO_LABELS, read_commit_times, "How long a group commit took, with its jobs"),
    READ("det_commit_jobs", HISTOGRAM, NUMBER, NO_LABELS, read_commit_jobs, "Jobs of a group commit"),
    FACT("det_failed_commits_total", COUNTER, NUMBER, failed_groups, "Group commits that failed"),
    FACT("det_writer_waiting", GAUGE, NUMBER, writer_waiting, "Jobs that wait for the next group commit"),
    FACT("det_heart_waiting", GAUGE, NUMBER, heart_waiting, "Events that wait for the heart"),
    FACT("det_journal_entries", GAUGE, NUMBER, journal_entries, "Committed reports that the heart has not applied yet"),
    FACT("det_database_bytes", GAUGE, NUMBER, database_bytes, "Size of the database file"),
    FACT("det_wal_bytes", GAUGE, NUMBER, wal_bytes, "Size of its write-ahead log"),
    FACT("det_disk_free_bytes", GAUGE, NUMBER, disk_free_bytes, "Free space where the master keeps its data"),
    FACT("det_disk_size_bytes", GAUGE, NUMBER, disk_size_bytes, "Size of that file system"),
    FACT("det_deletions", GAUGE, NUMBER, deletions, "Experiments that the janitor still has to delete"),
    FACT("det_checkpoint_removals", GAUGE, NUMBER, removals, "Checkpoints whose files agents still have to remove"),

    /* reports and logs */
    READ("det_reports_received_total", COUNTER, NUMBER, NO_LABELS, read_reports_received, "Reports of trials that arrived, repeated ones too"),
    READ("det_reports_stored_total", COUNTER, NUMBER, NO_LABELS, read_reports_stored, "Reports of trials that were stored"),
    READ("det_log_lines_received_total", COUNTER, NUMBER, NO_LABELS, read_lines_received, "Log lines of tasks that arrived, repeated ones too"),
    READ("det_log_lines_stored_total", COUNTER, NUMBER, NO_LABELS, read_lines_stored, "Log lines of tasks that were stored"),

    /* the cluster */
    READ("det_agents", GAUGE, NUMBER, LABELS("pool", "state"), read_agents, "Agents by pool and state: ready, draining, disabled or silent"),
    READ("det_slots", GAUGE, NUMBER, LABELS("pool", "state"), read_slots, "Slots by pool and state: free, used, disabled or offline"),
    READ("det_slots_wanted", GAUGE, NUMBER, LABELS("pool"), read_slots_wanted, "Slots that waiting allocations need"),
    READ("det_allocations", GAUGE, NUMBER, LABELS("pool", "state"), read_allocations, "Runs of trials and jobs that have not ended; PENDING: in the queue"),
    READ("det_queue_oldest_seconds", GAUGE, SECONDS, LABELS("pool"), read_oldest_wait, "How long the oldest allocation in the queue of a pool has waited; 0: the queue is empty"),
    READ("det_experiments", GAUGE, NUMBER, LABELS("state"), read_experiments, "Experiments by state"),
    READ("det_trials", GAUGE, NUMBER, LABELS("state"), read_trials, "Trials that have not ended, by state"),
    READ("det_jobs", GAUGE, NUMBER, LABELS("state"), read_jobs, "Jobs other than trials that have not ended, by state"),
    READ("det_agent_connected", GAUGE, NUMBER, LABELS("agent"), read_agents_connected, "1 if the agent is connected"),
    READ("det_agents_lost_total", COUNTER, NUMBER, NO_LABELS, read_agents_lost, "Agents that the master has given up; their series end then"),
    READ("det_agent_quiet_seconds", GAUGE, SECONDS, LABELS("agent"), read_agents_heard, "Time since the agent's last sign of life; 0 while it waits for commands"),
    READ("det_agent_tasks", GAUGE, NUMBER, LABELS("agent"), read_agents_tasks, "Tasks on the agent that have not ended"),
    READ("det_agent_disk_free_bytes", GAUGE, NUMBER, LABELS("agent"), read_agents_disk, "Free space where the agent keeps its tasks"),
    READ("det_agent_clock_ahead_seconds", GAUGE, SECONDS, LABELS("agent"), read_agents_clock, "How far the agent's clock is ahead of the master's; negative if it is behind"),
};
/* clang-format on */
const uint32_t metric_row_count = ARRAY_LEN(metric_rows);
