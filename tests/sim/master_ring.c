/* SPDX-License-Identifier: Apache-2.0 */
/* master_ring.c - processes that report through a ring: a numbered list of records.  A
 * supervisor sends ranges of it until they are acknowledged.
 *
 * A range whose answer was lost is sent again: longer, shorter or unchanged.  Some
 * ranges leave a gap, or start far before the master's position.  In the end each
 * acknowledged record must be there once.  Records of the group "ring" have no steps:
 * only their number tells them apart.
 *
 * What a process has put into its ring is accepted.  It is stored even if its run is given up
 * meanwhile, unless its machine dies. */
#include <inttypes.h>
#include <string.h>

#include "base/memory/buf.h"
#include "tests/sim/master_world.h"
#include "wire/batch.h"
#include "wire/report.h"

static void push(struct process *p, enum report_kind kind, uint32_t at)
{
    if (p->rungs < RUNGS_MOST)
        p->rung[p->rungs++] = (struct rung){kind, at};
}

void ring_put_last(struct process *p)
{
    if (p->op == OP_CHECKPOINT)
        push(p, REPORT_CHECKPOINT, p->saves - 1);
    else
        push(p, REPORT_METRICS, p->metrics - 1);
    for (uint64_t more = roll(p->actor.world, 4); more; more--)
        push(p, REPORT_METRICS, RUNG_PLAIN);
    if (one_in(p->actor.world, 5))
        push(p, REPORT_PROGRESS, RUNG_PLAIN);
    p->op = OP_BATCH;
}

static void add(struct buf *body, const struct report *report)
{
    char *room = buf_room(body, report_size(report->len));

    report_encode(report, room);
    buf_took(body, report_size(report->len));
}

static void add_metrics(struct process *p, struct buf *body, struct report *report,
                        uint32_t at)
{
    const struct metric *m = at == RUNG_PLAIN ? NULL : &p->metric[at];
    const char *group = !m ? "ring" : m->is_validation ? "validation" : "training";
    const struct report_value value = {.name = m ? "loss" : "number",
                                       .name_len = m ? 4 : 6,
                                       .number = m ? (double)metric_value(p, m)
                                                   : (double)report->number};
    const struct report_metrics metrics = {.steps = m ? m->steps : -1,
                                           .group = group,
                                           .group_len = strlen(group),
                                           .count = 1,
                                           .value = &value};
    void *payload = arena_alloc(&p->actor.mem, report_metrics_size(&metrics));

    report_metrics_encode(&metrics, payload);
    report->payload = payload;
    report->len = (uint32_t)report_metrics_size(&metrics);
    add(body, report);
}

static void add_rung(struct process *p, struct buf *body, uint32_t i)
{
    const struct rung *rung = &p->rung[i];
    struct report report = {
        .kind = rung->kind, .run = (uint32_t)p->run, .number = i + 1, .time_us = 1 + i};
    const struct saved *saved;

    if (rung->kind == REPORT_METRICS) {
        add_metrics(p, body, &report, rung->at);
        return;
    }
    if (rung->kind == REPORT_PROGRESS) {
        report.payload = "{\"progress\":0.5}";
    } else {
        saved = &p->saved[rung->at];
        report.payload =
            arena_printf(&p->actor.mem,
                         "{\"uuid\":\"%s\",\"metadata\":{\"steps_completed\":%" PRId64
                         "},\"resources\":{\"model\":\"1\"}}",
                         saved->uuid, saved->steps);
    }
    report.len = (uint32_t)strlen(report.payload);
    add(body, &report);
}

void ring_fill_call(struct process *p, struct call *call)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct world *w = p->actor.world;
    uint32_t from = p->rungs_acked;
    struct batch_head head = {.source = (uint32_t)p->rank};
    char *copy;

    if (from && one_in(w, 6))
        from -= (uint32_t)roll(w, from + 1); /* it forgot how far it was */
    else if (from + 2 < p->rungs && one_in(w, 6))
        from++; /* out of order */
    head.first = from + 1;
    head.last = head.first + roll(w, p->rungs - from);
    head.count = (uint32_t)(head.last - head.first + 1);
    (void)buf_room(&body, BATCH_HEAD);
    buf_took(&body, BATCH_HEAD);
    batch_head_encode(&head, body.data);
    for (uint32_t i = from; i < head.last; i++)
        add_rung(p, &body, i);
    copy = arena_alloc(&p->actor.mem, body.len);
    memcpy(copy, body.data, body.len);
    call->path =
        arena_printf(&p->actor.mem, "/api/v1/allocations/%s/reports", p->allocation);
    call->body = copy;
    call->body_len = body.len;
    p->batch_first = head.first;
    p->batch_last = head.last;
}

void ring_heard(struct process *p, const struct call *call)
{
    struct world *w = p->actor.world;
    int64_t stored = json_i64(json_get(call->json, "stored"), -1);
    bool is_late = json_bool(json_get(call->json, "mustEnd"), false);
    uint32_t from = p->rungs_acked;

    if (stored < p->rungs_acked || stored > p->rungs)
        world_fail(w, "%s: %" PRId64 " of %u records are stored, %u were before",
                   p->allocation, stored, p->rungs, p->rungs_acked);
    else if (stored < (int64_t)p->batch_last && stored + 1 >= (int64_t)p->batch_first)
        world_fail(w, "%s: only a part of a batch was stored", p->allocation);
    else if (json_get(call->json, "refused")->list.count)
        world_fail(w, "%s: %s", p->allocation, call->text);
    else
        p->rungs_acked = (uint32_t)stored;
    for (uint32_t i = from; i < p->rungs_acked; i++) {
        const struct rung *rung = &p->rung[i];

        if (rung->at == RUNG_PLAIN)
            continue;
        if (rung->kind == REPORT_METRICS) {
            p->metric[rung->at].is_acked = true;
            p->metric[rung->at].is_late = is_late;
        } else {
            p->saved[rung->at].is_acked = true;
            p->saved[rung->at].is_late = is_late;
        }
    }
    if (is_late)
        world_trace(w, "%s was given up: %u of its records are stored", p->allocation,
                    p->rungs_acked - from);
    p->is_killed |= is_late;
    p->op = p->rungs_acked < p->rungs ? OP_BATCH : p->exit ? OP_EXIT : OP_NONE;
}

void ring_check(struct world *w, const struct process *p, const struct json *rows)
{
    uint8_t times[RUNGS_MOST] = {0};

    if (p->rank)
        return; /* only the chief reports */
    json_each(row, rows) {
        int64_t number = json_i64(json_path(row, "metrics.avg_metrics.number"), 0);

        if (strcmp(json_str(json_get(row, "group"), ""), "ring") ||
            json_i64(json_get(row, "trialRunId"), -1) != p->run)
            continue;
        if (number < 1 || number > p->rungs ||
            p->rung[number - 1].kind != REPORT_METRICS ||
            p->rung[number - 1].at != RUNG_PLAIN)
            world_fail(w, "%s never put a record %" PRId64, p->allocation, number);
        else if (times[number - 1]++)
            world_fail(w, "%s: record %" PRId64 " is there twice", p->allocation,
                       number);
    }
    if (!p->is_gone && p->rungs_acked < p->rungs)
        world_fail(w, "%s: of %u accepted records %u are stored", p->allocation,
                   p->rungs, p->rungs_acked);
    for (uint32_t i = 0; i < p->rungs_acked; i++)
        if (p->rung[i].kind == REPORT_METRICS && p->rung[i].at == RUNG_PLAIN &&
            !times[i])
            world_fail(w, "%s: record %u was acknowledged and is not there",
                       p->allocation, i + 1);
}
