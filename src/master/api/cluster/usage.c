/* SPDX-License-Identifier: Apache-2.0 */
/* usage.c - the history of the cluster: who held which slots, and for how long.
 *
 *   allocations (store/experiment/slot_use.h)
 *       --> one row each, clipped to a period                 as a stream, CSV or JSON
 *       --> slots x seconds per day or month, UTC, in total and by user, pool, label,
 *           and experiment                                    CSV or JSON
 *
 * Sums are made when somebody asks, from all allocations of the period. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/map.h"
#include "base/memory/vec.h"
#include "data/json/json.h"
#include "data/time.h"
#include "master/api/api.h"
#include "master/request/request_stream.h"
#include "store/experiment/slot_use.h"
#include "wire/queries.h"

#define DAY_US INT64_C(86400000000)
#define ALLOCATIONS_HEAD                                                               \
    "allocation_id,task_type,username,workspace_name,experiment_id,slots,start_time,"  \
    "end_time,imagepulling_time,slot_hours,resource_pool\n"

enum { PAGE = 1000, PAGE_MEMORY = 64 << 20, PERIODS_MOST = 3700 };

static int64_t held_until(const struct slot_use *row, int64_t now_us)
{
    return row->end_us ? row->end_us : now_us;
}

/* A field of a CSV row. */
static void put_csv(struct buf *out, const char *text)
{
    if (!text[strcspn(text, ",\"\r\n")]) {
        buf_puts(out, text);
        return;
    }
    buf_putc(out, '"');
    for (; *text; text++) {
        if (*text == '"')
            buf_putc(out, '"');
        buf_putc(out, *text);
    }
    buf_putc(out, '"');
}

static void put_csv_time(struct buf *out, int64_t time_us)
{
    char text[TIME_TEXT];

    if (!time_us)
        return;
    time_format(time_us, text);
    buf_puts(out, text);
}

/* ---- rows ------------------------------------------------------------------------ */

enum rows_format { ROWS_JSON, ROWS_RAW_CSV, ROWS_ALLOCATIONS_CSV };

struct rows_state {
    enum rows_format format;
    struct slot_use_query query;
    int64_t now_us;
    bool has_begun;
    bool has_row;
};

static double clipped_seconds(const struct rows_state *state,
                              const struct slot_use *row)
{
    int64_t from_us = MAX(row->start_us, state->query.from_us);
    int64_t to_us = MIN(held_until(row, state->now_us), state->query.to_us);

    return (double)MAX(to_us - from_us, 0) / 1e6;
}

static const char *kind_of(const struct slot_use *row)
{
    return row->experiment_id ? "training" : "job";
}

static void put_json_row(struct json_writer *w, const struct rows_state *state,
                         const struct slot_use *row)
{
    jw_object(w, NULL);
    jw_str(w, "kind", kind_of(row));
    jw_time(w, "startTime", row->start_us);
    jw_time(w, "endTime", row->end_us);
    jw_i64(w, "experimentId", row->experiment_id);
    jw_str(w, "username", row->username);
    jw_i64(w, "userId", row->user_id);
    jw_raw(w, "labels", row->labels);
    jw_real(w, "seconds", clipped_seconds(state, row));
    jw_i64(w, "slots", row->slots);
    jw_end_object(w);
}

/* experiment_id,kind,username,labels,slots,start_time,end_time,seconds */
static void put_raw_row(struct buf *out, const struct rows_state *state,
                        const struct slot_use *row)
{
    if (row->experiment_id)
        buf_printf(out, "%" PRId64, row->experiment_id);
    buf_printf(out, ",%s,", kind_of(row));
    put_csv(out, row->username);
    buf_putc(out, ',');
    put_csv(out, strcmp(row->labels, "[]") ? row->labels : "");
    buf_printf(out, ",%" PRId64 ",", row->slots);
    put_csv_time(out, row->start_us);
    buf_putc(out, ',');
    put_csv_time(out, row->end_us);
    buf_printf(out, ",%f\n", clipped_seconds(state, row));
}

/* See ALLOCATIONS_HEAD. */
static void put_allocation_row(struct buf *out, const struct rows_state *state,
                               const struct slot_use *row)
{
    put_csv(out, row->allocation);
    buf_printf(out, ",%s,", row->type);
    put_csv(out, row->username);
    buf_putc(out, ',');
    put_csv(out, row->workspace);
    buf_putc(out, ',');
    if (row->experiment_id)
        buf_printf(out, "%" PRId64, row->experiment_id);
    buf_printf(out, ",%" PRId64 ",", row->slots);
    put_csv_time(out, row->start_us);
    buf_putc(out, ',');
    put_csv_time(out, row->end_us);
    buf_printf(out, ",0.0,%f,",
               clipped_seconds(state, row) * (double)row->slots / 3600);
    put_csv(out, row->resource_pool);
    buf_putc(out, '\n');
}

static void put_row(struct buf *out, struct rows_state *state,
                    const struct slot_use *row)
{
    struct json_writer w = JSON_WRITER(out);

    switch (state->format) {
    case ROWS_JSON:
        if (state->has_row)
            buf_putc(out, ',');
        put_json_row(&w, state, row);
        break;
    case ROWS_RAW_CSV:
        put_raw_row(out, state, row);
        break;
    case ROWS_ALLOCATIONS_CSV:
        put_allocation_row(out, state, row);
        break;
    }
    state->has_row = true;
}

static det_status next_rows(struct request *req, struct buf *out,
                            enum net_more *ret_more)
{
    static const char *const heads[] = {
        [ROWS_JSON] = "{\"resourceEntries\":[",
        [ROWS_RAW_CSV] =
            "experiment_id,kind,username,labels,slots,start_time,end_time,seconds\n",
        [ROWS_ALLOCATIONS_CSV] = ALLOCATIONS_HEAD,
    };
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(PAGE_MEMORY);
    struct rows_state *state = req->state;
    struct slot_use *rows;
    uint32_t count = 0;
    det_status st =
        store_slot_uses(req->db, &state->query, &mem, &rows, &count, req->err);

    if (st)
        return st;
    if (!state->has_begun)
        buf_puts(out, heads[state->format]);
    state->has_begun = true;
    for (uint32_t i = 0; i < count; i++)
        put_row(out, state, &rows[i]);
    *ret_more = count < PAGE ? NET_END : NET_MORE;
    if (count)
        state->query.after = rows[count - 1].id;
    if (*ret_more == NET_END && state->format == ROWS_JSON)
        buf_puts(out, "]}");
    return out->status;
}

static det_status read_time(struct request *req, const char *which, const char *text,
                            int64_t *ret_us)
{
    if (!text || !*text)
        return err_set(req->err, DET_INVALID, "no %s time provided", which);
    if (!time_parse(text, ret_us))
        return err_set(
            req->err, DET_INVALID,
            "invalid %s time '%s'; expected a time like 2026-11-15T10:00:00Z", which,
            text);
    return DET_OK;
}

static det_status stream_rows(struct request *req, enum rows_format format)
{
    const struct slot_use_rows_query *in = req->query;
    struct rows_state *state = arena_new(&req->mem, struct rows_state);
    det_status st;

    if (!state)
        return DET_NOMEM;
    st = read_time(req, "start", in->timestamp_after, &state->query.from_us);
    if (!st)
        st = read_time(req, "end", in->timestamp_before, &state->query.to_us);
    if (!st && state->query.from_us > state->query.to_us)
        st = err_set(req->err, DET_INVALID, "start time cannot be after end time");
    if (st)
        return st;
    state->format = format;
    state->query.limit = PAGE;
    state->now_us = master_now_us(req->master);
    req->state = state;
    if (format != ROWS_JSON)
        req->content_type = "text/csv; charset=utf-8";
    return request_stream(req, next_rows);
}

det_status api_usage_raw(struct request *req)
{
    return stream_rows(req, ROWS_JSON);
}

det_status api_usage_raw_csv(struct request *req)
{
    return stream_rows(req, ROWS_RAW_CSV);
}

det_status api_usage_allocations_csv(struct request *req)
{
    return stream_rows(req, ROWS_ALLOCATIONS_CSV);
}

/* ---- sums ------------------------------------------------------------------------ */

enum { BY_USER, BY_POOL, BY_LABEL, BY_EXPERIMENT, BYS };

/* The sum of one key; a list in the order of first use. */
struct sum {
    struct sum *next;
    const char *key;
    double seconds;
};

struct period {
    int64_t start_us;
    double seconds;
    struct map by[BYS];
    struct sum *first[BYS];
    struct sum **last[BYS];
};

struct sums {
    struct period *period; /* one more than `count`: its start is the end */
    uint32_t count;
    bool is_monthly;
    bool has_experiments;
    int64_t now_us;
    struct arena *mem;
};

static void sums_ended(struct request *req)
{
    struct sums *sums = req->state;

    for (uint32_t i = 0; sums->period && i < sums->count; i++)
        for (size_t by = 0; by < BYS; by++)
            map_done(&sums->period[i].by[by]);
}

static bool add_sum(struct sums *sums, struct period *period, size_t by,
                    const char *key, double seconds)
{
    struct sum *sum = smap_get(&period->by[by], key);

    if (!sum) {
        sum = arena_new(sums->mem, struct sum);
        if (!sum)
            return false;
        sum->key = arena_strdup(sums->mem, key);
        if (!sum->key || !smap_put(&period->by[by], sum->key, sum))
            return false;
        *period->last[by] = sum;
        period->last[by] = &sum->next;
    }
    sum->seconds += seconds;
    return true;
}

static bool add_to_period(struct sums *sums, struct period *period,
                          const struct slot_use *row, const struct json *labels,
                          double seconds)
{
    char id[24];
    bool ok = add_sum(sums, period, BY_USER, row->username, seconds) &&
              add_sum(sums, period, BY_POOL, row->resource_pool, seconds);

    json_each(label, labels)
        ok = ok && add_sum(sums, period, BY_LABEL, json_str(label, ""), seconds);
    if (ok && sums->has_experiments && row->experiment_id) {
        snprintf(id, sizeof(id), "%" PRId64, row->experiment_id);
        ok = add_sum(sums, period, BY_EXPERIMENT, id, seconds);
    }
    period->seconds += seconds;
    return ok;
}

/* The last period that begins at or before the time; 0 if none does. */
static uint32_t period_at(const struct sums *sums, int64_t time_us)
{
    uint32_t low = 0, high = sums->count;

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;

        if (sums->period[middle].start_us <= time_us)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static det_status add_row(struct sums *sums, const struct slot_use *row,
                          struct arena *mem, struct err *err)
{
    int64_t end_us = held_until(row, sums->now_us);
    struct json *labels = NULL;
    det_status st = json_parse(row->labels, strlen(row->labels), mem, &labels, NULL);

    if (st == DET_NOMEM)
        return err_default(err, st);
    if (!row->slots)
        return DET_OK;
    for (uint32_t i = period_at(sums, row->start_us);
         i < sums->count && sums->period[i].start_us < end_us; i++) {
        int64_t from_us = MAX(row->start_us, sums->period[i].start_us);
        int64_t to_us = MIN(end_us, sums->period[i + 1].start_us);

        if (to_us > from_us &&
            !add_to_period(sums, &sums->period[i], row, labels,
                           (double)row->slots * (double)(to_us - from_us) / 1e6))
            return err_default(err, DET_NOMEM);
    }
    return DET_OK;
}

static det_status add_rows(struct request *req, struct sums *sums)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(PAGE_MEMORY);
    struct slot_use_query query = {.from_us = sums->period[0].start_us,
                                   .to_us = sums->period[sums->count].start_us,
                                   .limit = PAGE};
    struct slot_use *rows;
    uint32_t count = 0;
    det_status st;

    do {
        arena_clear(&mem);
        st = store_slot_uses(req->db, &query, &mem, &rows, &count, req->err);
        for (uint32_t i = 0; !st && i < count; i++)
            st = add_row(sums, &rows[i], &mem, req->err);
        if (!st && count)
            query.after = rows[count - 1].id;
    } while (!st && count == PAGE);
    return st;
}

/* "2026-11-15" or, for months, "2026-11". */
static bool parse_date(const char *text, bool is_monthly, int64_t *ret_us)
{
    char whole[32];

    if (strlen(text) != (is_monthly ? 7u : 10u))
        return false;
    snprintf(whole, sizeof(whole), "%s%sT00:00:00Z", text, is_monthly ? "-01" : "");
    return time_parse(whole, ret_us);
}

/* The start of the next day or month. */
static int64_t next_start(int64_t start_us, bool is_monthly)
{
    char text[TIME_TEXT];
    int year, month;
    int64_t next_us;

    if (!is_monthly)
        return start_us + DAY_US;
    time_format(start_us, text);
    if (sscanf(text, "%4d-%2d", &year, &month) != 2)
        return start_us + 31 * DAY_US;
    snprintf(text, sizeof(text), "%04d-%02d-01T00:00:00Z",
             (year + (month == 12)) % 10000, month == 12 ? 1 : month + 1);
    return time_parse(text, &next_us) ? next_us : start_us + 31 * DAY_US;
}

static det_status make_periods(struct request *req, struct sums *sums, int64_t from_us,
                               int64_t to_us)
{
    int64_t at_us = from_us;

    while (at_us <= to_us && sums->count <= PERIODS_MOST) {
        at_us = next_start(at_us, sums->is_monthly);
        sums->count++;
    }
    if (sums->count > PERIODS_MOST)
        return err_set(req->err, DET_INVALID,
                       "the dates span more than %d periods: choose a shorter time",
                       PERIODS_MOST);
    sums->period = arena_array(&req->mem, struct period, (size_t)sums->count + 1);
    if (!sums->period)
        return DET_NOMEM;
    at_us = from_us;
    for (uint32_t i = 0; i <= sums->count; i++) {
        struct period *period = &sums->period[i];

        *period = (struct period){.start_us = at_us};
        for (size_t by = 0; by < BYS; by++)
            period->last[by] = &period->first[by];
        at_us = next_start(at_us, sums->is_monthly);
    }
    return DET_OK;
}

static det_status read_dates(struct request *req, struct sums *sums)
{
    const struct slot_use_sums_query *in = req->query;
    const char *form = sums->is_monthly ? "2026-11" : "2026-11-15";
    int64_t from_us, to_us;

    if (!in->start_date || !*in->start_date)
        return err_set(req->err, DET_INVALID, "no start time provided");
    if (!in->end_date || !*in->end_date)
        return err_set(req->err, DET_INVALID, "no end time provided");
    if (!parse_date(in->start_date, sums->is_monthly, &from_us))
        return err_set(req->err, DET_INVALID,
                       "invalid start date '%s'; expected one like %s", in->start_date,
                       form);
    if (!parse_date(in->end_date, sums->is_monthly, &to_us))
        return err_set(req->err, DET_INVALID,
                       "invalid end date '%s'; expected one like %s", in->end_date,
                       form);
    if (from_us > to_us)
        return err_set(req->err, DET_INVALID, "start date cannot be after end date");
    return make_periods(req, sums, from_us, to_us);
}

static det_status make_sums(struct request *req, struct sums **ret_sums)
{
    const struct slot_use_sums_query *in = req->query;
    struct sums *sums = arena_new(&req->mem, struct sums);
    const char *period = in->period ? in->period : "";
    det_status st;

    if (!sums)
        return DET_NOMEM;
    sums->is_monthly =
        !strcmp(period, "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY");
    if (!sums->is_monthly &&
        strcmp(period, "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY") != 0)
        return err_set(req->err, DET_INVALID,
                       "no aggregation period specified: period must be "
                       "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY or "
                       "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY");
    sums->has_experiments = in->experiments;
    sums->now_us = master_now_us(req->master);
    sums->mem = &req->mem;
    req->state = sums;
    req->ended = sums_ended;
    st = read_dates(req, sums);
    if (!st)
        st = add_rows(req, sums);
    *ret_sums = sums;
    return st;
}

/* "2026-11-15" or "2026-11" */
static void period_name(const struct sums *sums, const struct period *period,
                        char text[TIME_TEXT])
{
    time_format(period->start_us, text);
    text[sums->is_monthly ? 7 : 10] = '\0';
}

static void write_map(struct json_writer *w, const char *key, const struct sum *first)
{
    jw_object(w, key);
    for (const struct sum *sum = first; sum; sum = sum->next)
        jw_real(w, sum->key, sum->seconds);
    jw_end_object(w);
}

det_status api_usage_aggregated(struct request *req)
{
    struct json_writer *w = &req->w;
    struct sums *sums;
    det_status st = make_sums(req, &sums);

    if (st)
        return st;
    jw_object(w, NULL);
    jw_array(w, "resourceEntries");
    for (uint32_t i = 0; i < sums->count; i++) {
        const struct period *period = &sums->period[i];
        char name[TIME_TEXT];

        period_name(sums, period, name);
        jw_object(w, NULL);
        jw_str(w, "periodStart", name);
        jw_str(w, "period",
               sums->is_monthly ? "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY"
                                : "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY");
        jw_real(w, "seconds", period->seconds);
        write_map(w, "byUsername", period->first[BY_USER]);
        write_map(w, "byExperimentLabel", period->first[BY_LABEL]);
        write_map(w, "byResourcePool", period->first[BY_POOL]);
        if (sums->has_experiments)
            write_map(w, "byExperiment", period->first[BY_EXPERIMENT]);
        jw_end_object(w);
    }
    jw_end_array(w);
    jw_end_object(w);
    return DET_OK;
}

static void put_sums(struct buf *out, const char *type, const char *date,
                     const struct sum *first)
{
    for (const struct sum *sum = first; sum; sum = sum->next) {
        buf_printf(out, "%s,", type);
        put_csv(out, sum->key);
        buf_printf(out, ",%s,%f\n", date, sum->seconds);
    }
}

det_status api_usage_aggregated_csv(struct request *req)
{
    struct sums *sums;
    det_status st = make_sums(req, &sums);

    if (st)
        return st;
    req->content_type = "text/csv; charset=utf-8";
    buf_puts(&req->out, "aggregation_type,aggregation_key,date,seconds\n");
    for (uint32_t i = 0; i < sums->count; i++) {
        const struct period *period = &sums->period[i];
        char name[TIME_TEXT];

        period_name(sums, period, name);
        put_sums(&req->out, "experiment_label", name, period->first[BY_LABEL]);
        put_sums(&req->out, "username", name, period->first[BY_USER]);
        put_sums(&req->out, "resource_pool", name, period->first[BY_POOL]);
        put_sums(&req->out, "experiment", name, period->first[BY_EXPERIMENT]);
        buf_printf(&req->out, "total,total,%s,%f\n", name, period->seconds);
    }
    return req->out.status;
}
