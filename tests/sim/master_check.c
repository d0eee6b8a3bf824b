/* SPDX-License-Identifier: Apache-2.0 */
/* master_check.c - the final check: everything that was acknowledged is there, once.
 *
 *   experiments   each one whose creation was acknowledged
 *   checkpoints   each acknowledged one; those that are not deleted are exactly those
 *                 that the policy protects
 *   metrics       each acknowledged report, marked if a later run trained over it, or if its
 *                 own was given up;
 *                 each (run, group, steps) once, with the value that was sent
 *   records       of rings: each acknowledged one, once
 *   lines         each acknowledged line, once; those of a process in order
 *   runs          in a gentle world, none was given up */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "data/time.h"
#include "master/master_impl.h"
#include "model/checkpoint_keep.h"
#include "model/records.h"
#include "store/store.h"
#include "store/task/allocation.h"
#include "tests/sim/master_world.h"
#include "tests/support/checkpoint_top.h"

struct reader {
    struct world *w;
    struct actor *actor;
    const char *token;
};

static struct json *read_path(struct reader *r, const char *path)
{
    struct call call = {
        .use = TOKEN_BEARER, .token = r->token, .method = NET_GET, .path = path};

    if (!actor_call(r->actor, &call) || call.status != 200) {
        world_fail(r->w, "%s: %d %s", path, call.status, call.text ? call.text : "");
        return NULL;
    }
    return call.json;
}

static void check_wishes(struct reader *r)
{
    for (uint32_t i = 0; i < r->w->wishes; i++)
        (void)read_path(r, arena_printf(&r->actor->mem, "/api/v1/experiments/%" PRId64,
                                        r->w->wish[i].id));
}

static void check_checkpoints(struct reader *r, const struct process *p)
{
    for (uint32_t i = 0; i < p->saves; i++)
        if (p->saved[i].is_acked)
            (void)read_path(r, arena_printf(&r->actor->mem, "/api/v1/checkpoints/%s",
                                            p->saved[i].uuid));
}

/* ---- what is left of them ----------------------------------------------------------
 */

enum { CHECKPOINTS_MOST = 1000 };

struct left {
    struct checkpoint_keep_item item[CHECKPOINTS_MOST];
    const char *state[CHECKPOINTS_MOST]; /* by the order of `uuid` */
    const char *uuid[CHECKPOINTS_MOST];
    size_t count;
};

static void read_item(struct left *left, const struct json *row)
{
    struct checkpoint_keep_item *item = &left->item[left->count];

    *item = (struct checkpoint_keep_item){
        .uuid = json_str(json_get(row, "uuid"), ""),
        .trial_id = json_i64(json_path(row, "training.trialId"), 0),
        .steps = json_i64(json_path(row, "metadata.steps_completed"), 0)};
    item->has_metric =
        json_number(json_path(row, "training.searcherMetric"), &item->metric);
    (void)time_parse(json_str(json_get(row, "reportTime"), ""), &item->report_us);
    left->uuid[left->count] = item->uuid;
    left->state[left->count++] = json_str(json_get(row, "state"), "");
}

static const char *state_in(const struct left *left, const char *uuid)
{
    for (size_t i = 0; i < left->count; i++)
        if (left->uuid[i] == uuid)
            return left->state[i];
    return "";
}

/* Whether what may go is gone; what may not must be there. */
static bool is_as_judged(struct world *w, const struct left *left,
                         const struct checkpoint_keep_item *items, size_t count)
{
    bool is_done = true;

    for (size_t i = 0; i < count; i++) {
        const char *state = state_in(left, items[i].uuid);

        if (!items[i].may_go && strcmp(state, "STATE_COMPLETED"))
            world_fail(w, "checkpoint %s of trial %" PRId64 " is protected, and is %s",
                       items[i].uuid, items[i].trial_id, state);
        is_done &= !items[i].may_go || !strcmp(state, "STATE_DELETED");
        world_trace(w, "checkpoint %s of trial %" PRId64 " at %" PRId64 "%s: %s",
                    items[i].uuid, items[i].trial_id, items[i].steps,
                    items[i].may_go ? " may go" : "", state);
    }
    return is_done;
}

/* The policy does not judge a checkpoint of a run that was given up: it stays. */
static bool is_kept_apart(struct reader *r, const struct json *row)
{
    const char *state = json_str(json_get(row, "state"), "");

    if (!json_bool(json_get(row, "archived"), false))
        return false;
    if (strcmp(state, "STATE_COMPLETED"))
        world_fail(r->w, "checkpoint %s is archived, and is %s",
                   json_str(json_get(row, "uuid"), ""), state);
    return true;
}

/* A continued experiment was collected at each of its ends.  At the second end some
 * checkpoints were held although the policy would remove them, and validations of
 * removed ones still counted: the final state alone does not show which must
 * be left. */
static bool is_collected(struct reader *r, const struct wish *wish)
{
    const struct checkpoint_keep_trial over = {0};
    struct left *left = arena_new(&r->actor->mem, struct left);
    struct json *reply = read_path(
        r, arena_printf(&r->actor->mem, "/api/v1/experiments/%" PRId64 "/checkpoints",
                        wish->id));
    const struct json *first = json_first(json_get(reply, "checkpoints"));
    const struct json *config = json_path(first, "training.experimentConfig");
    const struct json *storage = json_get(config, "checkpoint_storage");
    struct checkpoint_keep_policy policy = {
        (uint32_t)json_i64(json_get(storage, "save_experiment_best"), 0),
        (uint32_t)json_i64(json_get(storage, "save_trial_best"), 0),
        (uint32_t)json_i64(json_get(storage, "save_trial_latest"), 0),
        json_bool(json_path(config, "searcher.smaller_is_better"), true)};
    bool is_all = true;

    if (!first || !left || wish->is_continued)
        return !r->w->is_over;
    json_each(row, json_get(reply, "checkpoints"))
        if (left->count < CHECKPOINTS_MOST && !is_kept_apart(r, row))
            read_item(left, row);
    checkpoint_mark_top(&policy, left->item, left->count);
    for (size_t i = 0; i < left->count && is_all; i++) {
        struct checkpoint_keep_item *mine =
            arena_array(&r->actor->mem, struct checkpoint_keep_item, left->count);
        size_t count = 0;

        for (size_t k = 0; mine && k < left->count; k++)
            if (left->item[k].trial_id == left->item[i].trial_id)
                mine[count++] = left->item[k];
        checkpoint_keep_judge(&policy, &over, mine, count);
        is_all = is_as_judged(r->w, left, mine, count);
    }
    return is_all;
}

bool check_collected(struct world *w, struct actor *actor, const char *token)
{
    struct reader r = {w, actor, token};

    for (uint32_t i = 0; i < w->wishes && !w->is_over; i++)
        if (!is_collected(&r, &w->wish[i]))
            return false;
    return !w->is_over;
}

/* ---- metrics ------------------------------------------------------------------------
 */

static bool is_report(const struct json *row, const struct process *p,
                      const struct metric *m)
{
    const char *group = json_str(json_get(row, "group"), "");

    return json_i64(json_get(row, "trialRunId"), -1) == p->run &&
           json_i64(json_get(row, "totalBatches"), -1) == m->steps &&
           !strcmp(group, m->is_validation ? "validation" : "training");
}

/* A later run of the trial sent a report that takes this one back: one with fewer
 * steps, or with the same in the same group.  `must_be_acked`: it is known to have
 * arrived. */
static bool is_trained_over(const struct world *w, const struct process *p,
                            const struct metric *m, bool must_be_acked)
{
    for (uint32_t i = 0; i < w->processes; i++) {
        const struct process *later = w->process[i];

        if (later->trial != p->trial || later->run <= p->run)
            continue;
        for (uint32_t k = 0; k < later->metrics; k++) {
            const struct metric *other = &later->metric[k];

            if (((other->is_acked && !other->is_late) || !must_be_acked) &&
                (other->steps < m->steps || (other->steps == m->steps &&
                                             other->is_validation == m->is_validation)))
                return true;
        }
    }
    return false;
}

/* The run saved these steps or later ones, and was told so. */
static bool is_saved(const struct process *p, int64_t steps)
{
    for (uint32_t i = 0; i < p->saves; i++)
        if (p->saved[i].is_acked && !p->saved[i].is_late && p->saved[i].steps >= steps)
            return true;
    return false;
}

/* Taken back is what was lost, and nothing else. */
static void check_line(struct reader *r, const struct json *row,
                       const struct process *p, const struct metric *m)
{
    bool is_archived = json_bool(json_get(row, "archived"), false);

    if (!is_archived && is_trained_over(r->w, p, m, true))
        world_fail(r->w,
                   "trial %" PRId64 " run %" PRId64 " steps %" PRId64
                   " was trained over and still counts",
                   p->trial, p->run, m->steps);
    /* Of a run that began farther back there need not be a process: somebody may have ended it
     * while it was queued. */
    if (is_archived && !m->is_late && is_saved(p, m->steps) && !process_may_forget(p) &&
        !is_trained_over(r->w, p, m, false))
        world_fail(r->w,
                   "trial %" PRId64 " run %" PRId64 " steps %" PRId64
                   " was saved and counts no more",
                   p->trial, p->run, m->steps);
}

static void check_metric(struct reader *r, const struct json *rows,
                         const struct process *p, const struct metric *m)
{
    const struct json *found = NULL;
    int64_t value;

    json_each(row, rows) {
        if (!is_report(row, p, m))
            continue;
        if (found)
            world_fail(r->w,
                       "trial %" PRId64 " run %" PRId64 " steps %" PRId64
                       " is there twice",
                       p->trial, p->run, m->steps);
        found = row;
    }
    if (!found) {
        if (m->is_acked)
            world_fail(r->w,
                       "trial %" PRId64 " run %" PRId64 " steps %" PRId64
                       " was acknowledged and is not there",
                       p->trial, p->run, m->steps);
        return;
    }
    check_line(r, found, p, m);
    value =
        json_i64(json_path(found, m->is_validation ? "metrics.validation_metrics.loss"
                                                   : "metrics.avg_metrics.loss"),
                 -1);
    if (value != metric_value(p, m))
        world_fail(r->w,
                   "trial %" PRId64 " run %" PRId64 " steps %" PRId64
                   " has the value %" PRId64,
                   p->trial, p->run, m->steps, value);
}

/* All records of a stream of reports as one list. */
static struct json *read_reports(struct reader *r, int64_t trial)
{
    struct arena *mem = &r->actor->mem;
    struct json *reply = read_path(
        r, arena_printf(mem,
                        "/api/v1/trials/metrics/trial_metrics?withArchived=true"
                        "&trialIds=%" PRId64,
                        trial));
    struct json *rows = json_new(mem, JSON_ARRAY);

    if (json_get(reply, "result"))
        return json_path(reply, "result.metrics");
    json_each(line, json_get(reply, "lines"))
        json_each(row, json_path(line, "result.metrics"))
            json_push(rows, json_copy(mem, row));
    return rows;
}

/* ---- lines --------------------------------------------------------------------------
 */

/* The number of a line of that process; -1: it is another's. */
static int64_t line_of(const struct json *record, const struct process *p)
{
    const char *text = json_str(json_path(record, "result.log"), "");
    char prefix[200];
    size_t len = (size_t)snprintf(prefix, sizeof(prefix), "%s/%" PRId64 " ",
                                  p->allocation, p->rank);

    return strncmp(text, prefix, len) ? -1 : strtoll(text + len, NULL, 10);
}

static void check_lines(struct reader *r, const struct json *records,
                        const struct process *p)
{
    int64_t next = 0;

    json_each(record, records) {
        int64_t number = line_of(record, p);

        if (number < 0)
            continue;
        if (number != next)
            world_fail(r->w,
                       "%s/%" PRId64 ": line %" PRId64 " where %" PRId64 " should be",
                       p->allocation, p->rank, number, next);
        next++;
    }
    if (next < p->lines_acked || next > p->lines_sent)
        world_fail(r->w,
                   "%s/%" PRId64 ": %" PRId64 " lines are there; %" PRId64
                   " were acknowledged, %" PRId64 " sent",
                   p->allocation, p->rank, next, p->lines_acked, p->lines_sent);
}

static struct json *read_lines(struct reader *r, int64_t trial)
{
    struct arena *mem = &r->actor->mem;
    struct json *reply =
        read_path(r, arena_printf(mem, "/api/v1/trials/%" PRId64 "/logs", trial));
    struct json *records;

    if (!json_get(reply, "result"))
        return json_get(reply, "lines");
    records = json_new(mem, JSON_ARRAY);
    json_push(records, reply);
    return records;
}

/* ---- all ----------------------------------------------------------------------------
 */

static bool is_first_of_trial(const struct world *w, uint32_t at)
{
    for (uint32_t i = 0; i < at; i++)
        if (w->process[i]->trial == w->process[at]->trial)
            return false;
    return true;
}

static void check_trial(struct reader *r, int64_t trial)
{
    struct world *w = r->w;
    struct json *reports = read_reports(r, trial);
    struct json *lines = read_lines(r, trial);

    for (uint32_t i = 0; i < w->processes && !w->is_over; i++) {
        const struct process *p = w->process[i];

        if (p->trial != trial)
            continue;
        check_lines(r, lines, p);
        ring_check(w, p, reports);
        for (uint32_t k = 0; k < p->metrics; k++)
            check_metric(r, reports, p, &p->metric[k]);
        check_checkpoints(r, p);
    }
}

/* A slow master is no reason to take an agent that talks to it for lost. */
static void check_runs(struct world *w, struct arena *mem)
{
    struct db *db;

    if (store_reader_take(w->master->store, &db, NULL)) {
        world_fail(w, "no reader");
        return;
    }
    for (uint32_t i = 0; i < w->processes; i++) {
        struct allocation row;

        if (store_allocation_get(db, w->process[i]->allocation, mem, &row, NULL))
            continue; /* deleted with its experiment */
        if (row.exit_reason && strstr(row.exit_reason, "agent was lost"))
            world_fail(w, "%s was given up although its agent lives", row.name);
    }
    store_reader_give(w->master->store, db);
}

void check_all(struct world *w, struct actor *actor, const char *token)
{
    struct reader r = {w, actor, token};

    check_wishes(&r);
    for (uint32_t i = 0; i < w->processes && !w->is_over; i++)
        if (is_first_of_trial(w, i))
            check_trial(&r, w->process[i]->trial);
    if (w->is_gentle)
        check_runs(w, &actor->mem);
}
