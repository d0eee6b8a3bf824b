/* SPDX-License-Identifier: Apache-2.0 */
/* trial_report.c - the reports of a trial, as records of the ring (wire/report.h).
 *
 * Numbers take a fast path: names and doubles are encoded directly into the ring,
 * without allocation.  Every other report is JSON: the body of the corresponding API
 * call. */
#include <inttypes.h>
#include <string.h>

#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "data/json/json.h"
#include "libdet/checkpoint/saver.h"
#include "libdet/context.h"
#include "libdet/json_report.h"
#include "libdet/profile/profiler.h"
#include "libdet/report/name_count.h"
#include "libdet/report/tensorboard_reports.h"
#include "libdet/ring/ring.h"

enum {
    ON_STACK = 64,   /* metrics per report without allocation */
    TREE = 64 << 20, /* of a report's JSON */
    FLUSH_LEAST_US = 200,
    FLUSH_MOST_US = 20000,
};

/* 2^53: beyond it doubles are not exact integers. */
static const int64_t exact_most = INT64_C(1) << 53;

/* ---- metrics --------------------------------------------------------------------- */

static det_status check_group(const char *group, int64_t steps, struct err *err)
{
    if (!group || !*group)
        return err_set(err, DET_INVALID,
                       "a report needs a group: 'training', "
                       "'validation' or a name of your own");
    if (steps < -1)
        return err_set(err, DET_INVALID,
                       "steps is %" PRId64 "; expected 0 or more, or -1 for none",
                       steps);
    return report_check_name(group, strlen(group), true, err);
}

static det_status put_metrics(det_context *context, const char *group, int64_t steps,
                              const struct report_metrics *more, struct err *err)
{
    struct report_metrics metrics = *more;
    int64_t now_us = clock_wall_us(context->world.clock);
    det_timing timing;
    det_status st;

    metrics.group = group;
    metrics.group_len = strlen(group);
    metrics.steps = steps;
    st = name_count_check(context, &metrics, err);
    if (st)
        return st;
    det_timing_begin(context, &timing);
    st = ring_put_metrics(context->ring, (uint32_t)context->info.run_id, now_us,
                          &metrics, err);
    if (!st && context->tensorboard)
        tensorboard_reports_note(context, now_us, &metrics);
    det_timing_end(context, &timing, DET_TIMING_REPORT);
    if (steps >= 0)
        profiler_batches(context, steps);
    return st;
}

static det_status fill_values(const det_metric *metrics, size_t count,
                              struct report_value *values, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        det_status st;

        if (!metrics[i].name || !*metrics[i].name)
            return err_set(err, DET_INVALID, "metric number %zu has no name", i + 1);
        values[i].name = metrics[i].name;
        values[i].name_len = strlen(metrics[i].name);
        st = report_check_name(values[i].name, values[i].name_len, false, err);
        if (st)
            return st;
        values[i].type = REPORT_NUMBER;
        values[i].number = metrics[i].value;
        values[i].json = NULL;
        values[i].json_len = 0;
    }
    return DET_OK;
}

static det_status report_numbers(det_context *context, const char *group, int64_t steps,
                                 const det_metric *metrics, size_t count,
                                 struct report_value *values, struct err *err)
{
    struct report_metrics all = {.value = values, .count = (uint32_t)count};
    det_status st = fill_values(metrics, count, values, err);

    return st ? st : put_metrics(context, group, steps, &all, err);
}

det_status det_report(det_context *context, const char *group, int64_t steps,
                      const det_metric *metrics, size_t count)
{
    struct report_value few[ON_STACK];
    struct report_value *values = few;
    CONTEXT_ERR(err);
    det_status st = context_check_trial(context, &err);

    if (!st)
        st = check_group(group, steps, &err);
    if (!st && (!metrics || !count || count > REPORT_BYTES_MOST))
        st = err_set(&err, DET_INVALID, "a report holds %s metrics",
                     metrics && count ? "too many" : "no");
    if (!st && count > ON_STACK) {
        values = mem_array(count, sizeof(*values));
        if (!values)
            st = err_default(&err, DET_NOMEM);
    }
    if (!st)
        st = report_numbers(context, group, steps, metrics, count, values, &err);
    if (values != few)
        mem_free(values);
    return context_end(context, st, &err);
}

det_status det_report_training(det_context *context, int64_t steps,
                               const det_metric *metrics, size_t count)
{
    return det_report(context, DET_GROUP_TRAINING, steps, metrics, count);
}

det_status det_report_validation(det_context *context, int64_t steps,
                                 const det_metric *metrics, size_t count)
{
    return det_report(context, DET_GROUP_VALIDATION, steps, metrics, count);
}

/* ---- metrics of any kind --------------------------------------------------------- */

static bool is_plain_number(const struct json *item, double *ret_number)
{
    if (item->kind == JSON_INT &&
        (item->integer > exact_most || item->integer < -exact_most))
        return false;
    return json_number(item, ret_number);
}

/* The searcher's metric must be a number: with any other value the search would
 * silently get none. */
static det_status check_searched(const det_context *context, const char *group,
                                 const struct json *item, struct err *err)
{
    const char *metric = json_str(json_path(context->config, "searcher.metric"), "");
    double number;

    if (strcmp(group, DET_GROUP_VALIDATION) != 0 || strcmp(metric, item->key) != 0 ||
        json_number(item, &number))
        return DET_OK;
    return err_set(
        err, DET_INVALID,
        "the metric '%s' is %s; the experiment's searcher uses it and needs a number",
        item->key, json_kind_name(item->kind));
}

static det_status fill_value(const det_context *context, const char *group,
                             const struct json *item, struct arena *mem,
                             struct report_value *value, struct err *err)
{
    det_status st = report_check_name(item->key, strlen(item->key), false, err);

    if (st)
        return st;
    if (item->kind == JSON_NULL && !strcmp(group, DET_GROUP_VALIDATION))
        return err_set(err, DET_INVALID, "the validation metric '%s' is null",
                       item->key);
    value->name = item->key;
    value->name_len = strlen(item->key);
    value->type = REPORT_NUMBER;
    if (is_plain_number(item, &value->number))
        return DET_OK;
    st = check_searched(context, group, item, err);
    if (st)
        return st;
    value->type = REPORT_JSON;
    value->json = json_text(mem, item);
    if (!value->json)
        return err_default(err, DET_NOMEM);
    value->json_len = strlen(value->json);
    return DET_OK;
}

static det_status parse_metrics_json(const char *what, const char *text,
                                     enum json_kind kind, struct arena *mem,
                                     struct json **ret_tree, struct err *err)
{
    struct json *tree;
    det_status st = json_parse(text, strlen(text), mem, &tree, err);

    if (st == DET_INVALID)
        return err_prefix(err, "the %s are not JSON", what);
    if (st)
        return st;
    if (tree->kind != kind)
        return err_set(err, DET_INVALID, "the %s are %s; expected %s", what,
                       json_kind_name(tree->kind), json_kind_name(kind));
    *ret_tree = tree;
    return DET_OK;
}

static det_status check_batches(const char *batches, struct arena *mem, struct err *err)
{
    struct json *list;
    det_status st =
        parse_metrics_json("batch metrics", batches, JSON_ARRAY, mem, &list, err);

    if (st)
        return st;
    json_each(item, list)
        if (item->kind != JSON_OBJECT)
            return err_set(err, DET_INVALID,
                           "the batch metrics hold %s; expected an object for each "
                           "batch",
                           json_kind_name(item->kind));
    return DET_OK;
}

static det_status report_tree(det_context *context, const char *group, int64_t steps,
                              const struct json *metrics, const char *batches,
                              struct arena *mem, struct err *err)
{
    size_t count = metrics->list.count;
    struct report_value *values = arena_array(mem, struct report_value, count + 1);
    struct report_metrics all = {.value = values,
                                 .count = (uint32_t)count,
                                 .batch = batches,
                                 .batch_len = batches ? strlen(batches) : 0};
    det_status st = DET_OK;
    size_t i = 0;

    if (!values)
        return err_default(err, DET_NOMEM);
    json_each(item, metrics)
        if (!st)
            st = fill_value(context, group, item, mem, &values[i++], err);
    return st ? st : put_metrics(context, group, steps, &all, err);
}

det_status det_report_json(det_context *context, const char *group, int64_t steps,
                           const char *metrics, const char *batches)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(TREE);
    struct json *tree;
    CONTEXT_ERR(err);
    det_status st = context_check_trial(context, &err);

    if (!st)
        st = check_group(group, steps, &err);
    if (!st && !metrics)
        st = err_set(&err, DET_INVALID, "a report holds no metrics");
    if (!st)
        st = parse_metrics_json("metrics", metrics, JSON_OBJECT, &mem, &tree, &err);
    if (!st && batches)
        st = check_batches(batches, &mem, &err);
    if (!st && !tree->list.count && !batches)
        st = err_set(&err, DET_INVALID, "a report holds no metrics");
    if (!st)
        st = report_tree(context, group, steps, tree, batches, &mem, &err);
    return context_end(context, st, &err);
}

/* ---- everything else ------------------------------------------------------------- */

det_status det_report_progress(det_context *context, double progress)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);
    CONTEXT_ERR(err);
    det_status st = context_check_trial(context, &err);

    if (!st && !(progress >= 0 && progress <= 1))
        st =
            err_set(&err, DET_INVALID, "the progress is %g; expected 0 to 1", progress);
    if (st)
        return context_end(context, st, &err);
    jw_object(&w, NULL);
    jw_real(&w, "progress", progress);
    jw_bool(&w, "isRaw", true);
    jw_end_object(&w);
    return context_end(context, json_report_put(context, REPORT_PROGRESS, &body, &err),
                       &err);
}

/* Puts a record with one word. */
static det_status put_word(det_context *context, enum report_kind kind, const char *key,
                           const char *word, struct err *err)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);

    jw_object(&w, NULL);
    jw_str(&w, key, word);
    jw_end_object(&w);
    return json_report_put(context, kind, &body, err);
}

det_status det_set_status(det_context *context, const char *status)
{
    CONTEXT_ERR(err);
    det_status st = context_check_trial(context, &err);

    if (!st && (!status || !*status))
        st = err_set(&err, DET_INVALID, "a status needs a word");
    if (!st && strlen(status) > REPORT_STATUS_MOST)
        st = err_set(&err, DET_INVALID, "the status has %zu bytes; expected %d at most",
                     strlen(status), REPORT_STATUS_MOST);
    if (!st)
        st = put_word(context, REPORT_STATUS, "state", status, &err);
    return context_end(context, st, &err);
}

det_status det_report_early_exit(det_context *context, enum det_exit_reason reason)
{
    static const char *const names[] = {
        [DET_EXIT_INVALID_HP] = "EXITED_REASON_INVALID_HP",
        [DET_EXIT_INIT_INVALID_HP] = "EXITED_REASON_INIT_INVALID_HP",
        [DET_EXIT_USER_REQUESTED_STOP] = "", /* the end of the program is enough */
    };
    CONTEXT_ERR(err);
    det_status st = context_check_trial(context, &err);

    if (!st && ((size_t)reason >= ARRAY_LEN(names) || !names[reason]))
        st = err_set(&err, DET_INVALID, "%d is not a reason for an early exit",
                     (int)reason);
    if (!st && *names[reason])
        st = put_word(context, REPORT_EARLY_EXIT, "reason", names[reason], &err);
    return context_end(context, st, &err);
}

det_status det_alert(det_context *context, enum det_alert_level level,
                     const char *title, const char *description)
{
    static const char *const names[] = {"debug", "info", "warn", "error"};
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);
    CONTEXT_ERR(err);
    det_status st = context_check_trial(context, &err);

    if (!st && (size_t)level >= ARRAY_LEN(names))
        st = err_set(&err, DET_INVALID, "%d is not an alert level", (int)level);
    if (!st && (!title || !*title))
        st = err_set(&err, DET_INVALID, "an alert needs a title");
    if (st)
        return context_end(context, st, &err);
    jw_object(&w, NULL);
    jw_str(&w, "title", title);
    jw_str(&w, "description", description ? description : "");
    jw_str(&w, "level", names[level]);
    jw_end_object(&w);
    return context_end(context, json_report_put(context, REPORT_ALERT, &body, &err),
                       &err);
}

/* ---- waiting --------------------------------------------------------------------- */

/* Polls the ring's head, less and less often: the caller waits for a remote disk
 * anyway, and the supervisor does not know who waits. */
static det_status wait_until(det_context *context, uint64_t wanted, int64_t deadline_us,
                             struct err *err)
{
    const struct clock *clock = context->world.clock;
    int64_t pause_us = FLUSH_LEAST_US;
    uint64_t accepted, stored;

    for (;;) {
        int64_t now = clock_mono_us(clock);

        ring_numbers(context->ring, &accepted, &stored);
        if (stored >= wanted)
            return DET_OK;
        if (now >= deadline_us)
            return err_set(err, DET_TIMEOUT,
                           "the master has not stored everything yet: %" PRIu64
                           " of %" PRIu64 " reports; nothing is lost",
                           stored, wanted);
        clock_pause(clock, MIN(pause_us, deadline_us - now));
        pause_us = MIN(pause_us * 2, (int64_t)FLUSH_MOST_US);
    }
}

/* Reports each refusal once. */
static det_status say_refused(det_context *context, struct err *err)
{
    uint64_t told = atomic_load(&context->refusal_told);
    struct ring_refusal refusal;
    uint64_t last;

    if (!ring_refused(context->ring, told, &refusal, &last))
        return DET_OK;
    atomic_store(&context->refusal_told, last);
    if (refusal.others)
        return err_set(err, refusal.status,
                       "the master refused a report, and %" PRIu32 " more: %s",
                       refusal.others, refusal.text);
    return err_set(err, refusal.status, "the master refused a report: %s",
                   refusal.text);
}

/* A checkpoint that is being written will be reported. */
static det_status wait_saved(det_context *context, int64_t timeout_ms, struct err *err)
{
    int64_t deadline_us = 0;

    if (timeout_ms >= 0 && timeout_ms < INT64_MAX / 2000)
        deadline_us = clock_mono_us(&clock_system) + timeout_ms * 1000;
    if (!saver_is_quiet(context, deadline_us))
        return err_set(err, DET_TIMEOUT, "a checkpoint is still being written");
    return saver_collect(context, NULL, err);
}

det_status det_flush(det_context *context, int64_t timeout_ms)
{
    uint64_t accepted, stored;
    int64_t deadline_us = INT64_MAX;
    CONTEXT_ERR(err);
    det_status st = context_check_trial(context, &err);

    if (!st)
        st = wait_saved(context, timeout_ms, &err);
    if (st || !context->info.is_on_cluster)
        return context_end(context, st, &err);
    ring_numbers(context->ring, &accepted, &stored);
    if (timeout_ms >= 0 && timeout_ms < INT64_MAX / 2000)
        deadline_us = clock_mono_us(context->world.clock) + timeout_ms * 1000;
    st = wait_until(context, accepted, deadline_us, &err);
    if (!st)
        st = say_refused(context, &err);
    return context_end(context, st, &err);
}
