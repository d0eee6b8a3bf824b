/* SPDX-License-Identifier: Apache-2.0 */
/* batch.h - batches of ring records, as a supervisor sends them. */
#ifndef TESTS_API_BATCH_H
#define TESTS_API_BATCH_H

#include <string.h>

#include "base/compiler.h"
#include "base/memory/buf.h"
#include "tests/api/script.h"
#include "wire/batch.h"
#include "wire/report.h"

/* The batch that a supervisor would send; batch_begin() resets it. */
struct batch {
    struct share *share;
    struct batch_head head;
    uint32_t run;
    struct buf body;
};

static inline void batch_begin(struct batch *b, struct share *share, uint64_t first)
{
    buf_done(&b->body);
    *b = (struct batch){.share = share, .run = (uint32_t)share->run, .body = BUF_INIT};
    b->head.first = first;
    b->head.last = first - 1;
    (void)buf_room(&b->body, BATCH_HEAD);
    buf_took(&b->body, BATCH_HEAD);
}

static inline void batch_done(struct batch *b)
{
    buf_done(&b->body);
}
#define BATCH(name) CLEANUP(batch_done) struct batch name = {.body = BUF_INIT}

static inline void add(struct batch *b, enum report_kind kind, const void *payload,
                       size_t len)
{
    const struct report report = {.kind = kind,
                                  .run = b->run,
                                  .number = ++b->head.last,
                                  .time_us = INT64_C(1700000000000000),
                                  .payload = payload,
                                  .len = (uint32_t)len};
    char *room = buf_room(&b->body, report_size(len));

    CHECK(room != NULL);
    report_encode(&report, room);
    buf_took(&b->body, report_size(len));
    b->head.count++;
}

static inline void add_json(struct batch *b, enum report_kind kind, const char *pattern)
{
    const char *text = bed_fill(b->share->bed, pattern, true);

    add(b, kind, text, strlen(text));
}

static inline void add_metrics(struct batch *b, const struct report_metrics *metrics)
{
    size_t len = report_metrics_size(metrics);
    void *payload = arena_alloc(&b->share->bed->mem, len);

    CHECK(payload != NULL);
    report_metrics_encode(metrics, payload);
    add(b, REPORT_METRICS, payload, len);
}

static inline void add_values(struct batch *b, const char *group, int64_t steps,
                              const struct report_value *value, uint32_t count)
{
    const struct report_metrics metrics = {.steps = steps,
                                           .group = group,
                                           .group_len = strlen(group),
                                           .count = count,
                                           .value = value};

    add_metrics(b, &metrics);
}

static inline void add_loss(struct batch *b, const char *group, int64_t steps,
                            double loss)
{
    const struct report_value value = {.name = "loss", .name_len = 4, .number = loss};

    add_values(b, group, steps, &value, 1);
}

static inline struct reply send_as(struct batch *b, enum who who,
                                   const char *allocation)
{
    struct bed *bed = b->share->bed;

    batch_head_encode(&b->head, b->body.data);
    return bed_call_bytes(
        bed, who, NET_POST,
        arena_printf(&bed->mem, "/api/v1/allocations/%s/reports", allocation),
        b->body.data, b->body.len);
}

/* Sends it, once more if wanted; how far the master is. */
static inline int64_t send(struct batch *b, size_t refused)
{
    struct reply reply = send_as(b, TASK, b->share->allocation);

    if (reply.status != 200)
        fail_msg("%d %s", reply.status, reply.text);
    CHECK_EQ(json_get(reply.json, "refused")->list.count, refused);
    bed_let_json(b->share->bed, "sent", reply.json);
    return json_i64(json_get(reply.json, "stored"), -1);
}

static inline void send_refused(struct batch *b, int status, const char *text)
{
    struct reply reply = send_as(b, TASK, b->share->allocation);

    CHECK_EQ(reply.status, status);
    CHECK_HAS(reply.text, text);
}

static inline struct share one_running(struct bed *bed, struct agent *agent)
{
    struct share share;

    agent_join(agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(agent);
    share_speak(&share);
    return share;
}

#endif
