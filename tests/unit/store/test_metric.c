/* SPDX-License-Identifier: Apache-2.0 */
/* test_metric.c - merging, rollback, compaction and reading, compared with a naive
 * list. */
#include <math.h>

#include "store/engine/db.h"
#include "store/engine/db_impl.h"
#include "store/experiment/trial.h"
#include "store/experiment/trial_view.h"
#include "store/metric/metric.h"
#include "store/metric/metric_add.h"
#include "store/metric/metric_compact.h"
#include "store/metric/metric_cursor.h"
#include "store/metric/metric_names.h"
#include "store/metric/metric_summary.h"
#include "store/metric/validation.h"
#include "store/series/series.h"
#include "store/writer_cache.h"
#include "tests/unit/store/world.h"

/* ---- the plain list -----------------------------------------------------------------
 */

enum { ORACLE_ROWS = 4000, ORACLE_NAMES = 5 };

struct oracle_row {
    int64_t run;
    const char *group;
    int64_t steps; /* -1: none */
    int64_t order; /* of arrival */
    bool has[ORACLE_NAMES];
    double value[ORACLE_NAMES];
    bool has_text;
    bool has_batch;
    bool is_archived;
};

struct oracle {
    struct oracle_row row[ORACLE_ROWS];
    int count;
};

static const char *const oracle_names[ORACLE_NAMES] = {"a", "b", "c", "d", "e"};
static const char *const oracle_groups[] = {"inference", "training", "validation"};

static struct oracle_row *oracle_find(struct oracle *o, int64_t run, const char *group,
                                      int64_t steps)
{
    for (int i = 0; i < o->count; i++) {
        struct oracle_row *row = &o->row[i];

        if (row->run == run && !strcmp(row->group, group) && row->steps == steps &&
            steps >= 0)
            return row;
    }
    return NULL;
}

/* The expected status; DET_OK: the list was changed. */
static det_status oracle_add(struct oracle *o, const struct oracle_row *new,
                             bool *is_new)
{
    struct oracle_row *row = oracle_find(o, new->run, new->group, new->steps);

    *is_new = !row;
    if (row) {
        if (row->has_batch && new->has_batch)
            return DET_EXISTS;
        for (int i = 0; i < ORACLE_NAMES; i++) {
            if (row->has[i] && new->has[i] && row->value[i] != new->value[i])
                return DET_EXISTS;
        }
        for (int i = 0; i < ORACLE_NAMES; i++) {
            if (new->has[i]) {
                row->has[i] = true;
                row->value[i] = new->value[i];
            }
        }
        row->has_text |= new->has_text;
        row->has_batch |= new->has_batch;
    }
    for (int i = 0; i < o->count && new->steps >= 0; i++) {
        struct oracle_row *old = &o->row[i];

        if (old->run < new->run &&
            (old->steps > new->steps ||
             (old->steps == new->steps && !strcmp(old->group, new->group))))
            old->is_archived = true;
    }
    if (!row) {
        o->row[o->count] = *new;
        o->row[o->count].order = o->count;
        o->count++;
    }
    return DET_OK;
}

static int by_place(const void *a, const void *b)
{
    const struct oracle_row *x = a;
    const struct oracle_row *y = b;
    int order;

    if (x->run != y->run)
        return x->run < y->run ? -1 : 1;
    if (x->steps != y->steps)
        return x->steps < y->steps ? -1 : 1;
    order = strcmp(x->group, y->group);
    return order ? order : x->order < y->order ? -1 : 1;
}

/* ---- reports ------------------------------------------------------------------------
 */

static struct json *avg_of(const struct oracle_row *row, struct arena *mem)
{
    struct json *avg = json_new(mem, JSON_OBJECT);

    for (int i = ORACLE_NAMES - 1; i >= 0; i--) {
        if (row->has[i])
            (void)json_set(mem, avg, oracle_names[i],
                           json_new_real(mem, row->value[i]));
    }
    if (row->has_text)
        (void)json_set(mem, avg, "text", json_new_str(mem, "t"));
    return avg;
}

static struct metric_report report_of(const struct oracle_row *row, struct arena *mem)
{
    struct metric_report report = {.trial_id = 1,
                                   .run_id = row->run,
                                   .group = row->group,
                                   .has_steps = row->steps >= 0,
                                   .steps = row->steps,
                                   .report_us = 1000000 + row->steps,
                                   .avg = avg_of(row, mem)};

    if (row->has_batch)
        report.batch = parse(mem, "[{\"x\":1},{\"x\":2}]");
    return report;
}

static det_status add(struct world *w, const char *group, int64_t run, int64_t steps,
                      const char *avg, bool *is_new)
{
    struct arena mem = ARENA_INIT(1 << 20);
    struct metric_report report = {.trial_id = 1,
                                   .run_id = run,
                                   .group = group,
                                   .has_steps = steps >= 0,
                                   .steps = steps,
                                   .report_us = 5 + steps,
                                   .avg = parse(&mem, avg)};
    bool ignored;
    det_status st;

    CHECK_OK(db_begin(w->db, &test_err));
    st = store_metric_add(w->db, &report, &mem, is_new ? is_new : &ignored, &test_err);
    if (st)
        db_rollback(w->db);
    else
        CHECK_OK(db_commit(w->db, &test_err));
    arena_done(&mem);
    return st;
}

static void compact(struct world *w, bool everything)
{
    bool did = true;

    while (did) {
        CHECK_OK(db_begin(w->db, &test_err));
        CHECK_OK(store_metric_compact(w->db, everything, &did, &test_err));
        CHECK_OK(db_commit(w->db, &test_err));
    }
}

static void check_row(const struct metric_row *row, const struct oracle_row *want,
                      struct arena *mem)
{
    struct json *avg = parse(mem, row->avg);

    CHECK_EQ(row->run_id, want->run);
    CHECK_STR(row->group, want->group);
    CHECK_EQ(row->has_steps, want->steps >= 0);
    CHECK_EQ(row->steps, want->steps >= 0 ? want->steps : 0);
    CHECK_EQ(row->is_archived, want->is_archived);
    CHECK_EQ(row->report_us, 1000000 + want->steps);
    if (!json_equal(avg, avg_of(want, mem)))
        fail_msg("%s at %d", row->avg, (int)want->steps);
    CHECK_EQ(row->batch != NULL, want->has_batch);
}

/* All rows, then the same in pages. */
static void check_rows(struct world *w, struct oracle *sorted, const char *group,
                       bool with_archived, uint32_t limit)
{
    struct metric_query query = {.trial_id = 1,
                                 .group = group,
                                 .with_archived = with_archived,
                                 .with_batch = true,
                                 .limit = limit};
    struct arena mem = ARENA_INIT(256 << 20);
    int at = 0;
    uint32_t count = 1;

    while (count) {
        struct metric_row *rows;

        CHECK_OK(store_metric_read(w->db, &query, &mem, &rows, &count, &test_err));
        for (uint32_t i = 0; i < count; i++, at++) {
            while (at < sorted->count &&
                   ((group && strcmp(sorted->row[at].group, group)) ||
                    (!with_archived && sorted->row[at].is_archived)))
                at++;
            CHECK(at < sorted->count);
            check_row(&rows[i], &sorted->row[at], &mem);
        }
        if (!limit)
            break;
        if (count) {
            const struct metric_row *last = &rows[count - 1];

            query.has_cursor = true;
            query.after_run = last->run_id;
            query.after_steps = last->has_steps ? last->steps : -1;
            query.after_group = last->group;
            query.after_id = last->id;
        }
    }
    while (at < sorted->count && ((group && strcmp(sorted->row[at].group, group)) ||
                                  (!with_archived && sorted->row[at].is_archived)))
        at++;
    CHECK_EQ(at, sorted->count);
    arena_done(&mem);
}

static void check_steps(struct world *w, const struct oracle *o)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct trial_view view;
    int64_t want = 0;

    for (int i = 0; i < o->count; i++) {
        if (!o->row[i].is_archived && o->row[i].steps > want)
            want = o->row[i].steps;
    }
    CHECK_OK(store_trial_get(w->db, 1, &mem, &view, &test_err));
    CHECK_EQ(view.total_batches, want);
}

static void check_summary(struct world *w, const struct oracle *sorted)
{
    struct arena mem = ARENA_INIT(1 << 20);
    struct buf text = BUF_INIT;
    struct json *summary;

    CHECK_OK(store_metric_summary(w->db, 1, &text, &test_err));
    summary = parse(&mem, text.data);
    for (int g = 0; g < 3; g++) {
        const char *key = g == 1   ? "avg_metrics"
                          : g == 2 ? "validation_metrics"
                                   : "inference";

        for (int n = 0; n < ORACLE_NAMES; n++) {
            const struct json *stat = json_get(json_get(summary, key), oracle_names[n]);
            int64_t count = 0;
            double sum = 0, low = 0, high = 0, last = 0, got = 0;

            for (int i = 0; i < sorted->count; i++) {
                const struct oracle_row *row = &sorted->row[i];
                double value = row->value[n];

                if (!row->has[n] || row->is_archived ||
                    strcmp(row->group, oracle_groups[g]))
                    continue;
                low = !count || value < low ? value : low;
                high = !count || value > high ? value : high;
                sum += value;
                last = value;
                count++;
            }
            CHECK_EQ(json_i64(json_get(stat, "count"), 0), count);
            if (!count)
                continue;
            CHECK_STR(json_str(json_get(stat, "type"), ""), "number");
            CHECK(json_number(json_get(stat, "min"), &got) && got == low);
            CHECK(json_number(json_get(stat, "max"), &got) && got == high);
            CHECK(json_number(json_get(stat, "last"), &got) && got == last);
            CHECK(json_number(json_get(stat, "sum"), &got) &&
                  fabs(got - sum) <= 1e-9 * (1 + fabs(sum)));
            CHECK(json_number(json_get(stat, "mean"), &got) &&
                  fabs(got - sum / (double)count) < 1e-9 * (1 + fabs(sum)));
        }
    }
    buf_done(&text);
    arena_done(&mem);
}

static void check_all(struct world *w, struct oracle *o)
{
    struct oracle *sorted = malloc(sizeof(*sorted));

    CHECK(sorted != NULL);
    *sorted = *o;
    qsort(sorted->row, (size_t)sorted->count, sizeof(sorted->row[0]), by_place);
    check_rows(w, sorted, NULL, true, 0);
    check_rows(w, sorted, NULL, false, 0);
    check_rows(w, sorted, "training", true, 0);
    check_rows(w, sorted, NULL, true, 7);
    check_rows(w, sorted, "validation", false, 3);
    check_steps(w, o);
    check_summary(w, sorted);
    free(sorted);
}

/* Values of one key are nearly always equal, so merging mostly succeeds. */
static struct oracle_row some_report(struct rng64 *rng, int64_t run, int64_t steps)
{
    struct oracle_row row = {.run = run, .steps = steps};

    row.group = oracle_groups[rng64_below(rng, 3)];
    if (!rng64_below(rng, 20))
        row.steps = -1;
    for (int i = 0; i < ORACLE_NAMES; i++) {
        row.has[i] = rng64_below(rng, 10) < (i < 2 ? 9u : 3u);
        row.value[i] = (double)(steps * 10 + i) / 4;
        if (row.has[i] && !rng64_below(rng, 60))
            row.value[i] += 1;
    }
    row.has_text = !rng64_below(rng, 10);
    row.has_batch = !rng64_below(rng, 15);
    return row;
}

static void play(bool is_memory, uint64_t seed, int reports)
{
    struct world w;
    struct rng64 rng = {.state = seed};
    struct oracle *o = calloc(1, sizeof(*o));
    int64_t run = 1;
    int64_t steps = 0;

    CHECK(o != NULL);
    world_init(&w, is_memory);
    add_experiment(&w, 1, SIMPLE_CONFIG);
    add_trial(&w, 1, 1);
    for (int i = 0; i < reports; i++) {
        struct arena mem = ARENA_INIT(1 << 20);
        struct oracle_row row;
        struct metric_report report;
        bool want_new, got_new = false;
        det_status want, got;

        steps += (int64_t)rng64_below(&rng, 3);
        if (!rng64_below(&rng, 150)) { /* a restart, back to some checkpoint */
            run += 1 + (int64_t)rng64_below(&rng, 2);
            steps = (int64_t)rng64_below(&rng, (uint64_t)steps + 1);
            set_run(&w, 1, 1, run);
        }
        row = some_report(
            &rng, run, rng64_below(&rng, 10) ? steps : (int64_t)rng64_below(&rng, 300));
        report = report_of(&row, &mem);
        want = oracle_add(o, &row, &want_new);
        CHECK_OK(db_begin(w.db, &test_err));
        CHECK_OK(db_save(w.db, &test_err));
        got = store_metric_add(w.db, &report, &mem, &got_new, &test_err);
        if (got)
            db_undo(w.db);
        else
            CHECK_OK(db_release(w.db, &test_err));
        CHECK_OK(db_commit(w.db, &test_err));
        CHECK_EQ(got, want);
        if (!got)
            CHECK_EQ(got_new, want_new);
        if (!rng64_below(&rng, 120))
            compact(&w, true);
        if (!rng64_below(&rng, 300))
            check_all(&w, o);
        arena_done(&mem);
    }
    check_all(&w, o);
    compact(&w, true);
    CHECK_EQ(count_of(w.db, "metric_tail"), 0);
    check_all(&w, o);
    free(o);
    world_done(&w);
}

TEST(reports_merge_and_roll_back_as_a_plain_list_does)
{
    for (uint64_t seed = 1; seed <= 6; seed++)
        play(true, seed, 900);
}

TEST(reports_merge_and_roll_back_on_disk_too)
{
    play(false, 99, 400);
}

/* ---- rules one by one ---------------------------------------------------------------
 */

static void setup(struct world *w)
{
    world_init(w, true);
    add_experiment(w, 1, SIMPLE_CONFIG);
    add_trial(w, 1, 1);
}

TEST(a_second_report_adds_names_and_repeats_only_the_same_values)
{
    struct world w;
    struct metric_query query = {.trial_id = 1};
    struct metric_row *rows;
    uint32_t count;
    bool is_new;

    setup(&w);
    CHECK_OK(add(&w, "training", 1, 10, "{\"loss\":1,\"nan\":\"NaN\"}", &is_new));
    CHECK(is_new);
    CHECK_OK(add(&w, "training", 1, 10, "{\"acc\":0.5,\"loss\":1.0,\"nan\":\"NaN\"}",
                 &is_new));
    CHECK(!is_new);
    CHECK_EQ(add(&w, "training", 1, 10, "{\"acc\":0.6}", NULL), DET_EXISTS);
    CHECK_HAS(test_err.text, "'acc'");
    compact(&w, true);
    CHECK_OK(add(&w, "training", 1, 10, "{\"late\":[1,null,\"x\"]}", &is_new));
    CHECK(!is_new);
    CHECK_EQ(add(&w, "training", 1, 10, "{\"late\":[1]}", NULL), DET_EXISTS);
    CHECK_OK(store_metric_read(w.db, &query, &w.mem, &rows, &count, &test_err));
    CHECK_EQ(count, 1);
    CHECK_STR(rows[0].avg,
              "{\"acc\":0.5,\"loss\":1,\"nan\":\"NaN\",\"late\":[1,null,\"x\"]}");
    world_done(&w);
}

TEST(reports_of_another_run_or_trial_are_refused)
{
    struct world w;

    setup(&w);
    CHECK_EQ(add(&w, "training", 2, 10, "{}", NULL), DET_STATE);
    set_run(&w, 1, 1, 3);
    CHECK_EQ(add(&w, "training", 2, 10, "{}", NULL), DET_STATE);
    CHECK_OK(add(&w, "training", 3, 10, "{}", NULL));
    CHECK_OK(db_exec(w.db, "DELETE FROM trials", &test_err));
    db_rollback(w.db); /* drops the cache */
    CHECK_EQ(add(&w, "training", 3, 20, "{}", NULL), DET_NOT_FOUND);
    world_done(&w);
}

TEST(groups_have_names_without_dots)
{
    struct world w;

    setup(&w);
    CHECK_EQ(add(&w, "", 1, 1, "{}", NULL), DET_INVALID);
    CHECK_EQ(add(&w, "a.b", 1, 1, "{}", NULL), DET_INVALID);
    CHECK_EQ(add(&w, "a", 1, 1, "[]", NULL), DET_INVALID);
    CHECK_OK(add(&w, "anything else", 1, 1, "{}", NULL));
    world_done(&w);
}

TEST(a_trial_whose_names_never_repeat_is_stored_too)
{
    struct world w;
    struct metric_query query = {.trial_id = 1};
    struct metric_row *rows;
    uint32_t count;

    setup(&w);
    for (int i = 0; i < METRIC_SHAPES + 50; i++) {
        char avg[64];

        (void)snprintf(avg, sizeof(avg), "{\"m%d\":%d}", i, i);
        CHECK_OK(add(&w, "training", 1, i, avg, NULL));
    }
    CHECK_EQ(count_of(w.db, "metric_shapes"), METRIC_SHAPES);
    for (int pass = 0; pass < 2; pass++) {
        CHECK_OK(store_metric_read(w.db, &query, &w.mem, &rows, &count, &test_err));
        CHECK_EQ(count, METRIC_SHAPES + 50);
        CHECK_STR(rows[METRIC_SHAPES + 49].avg, "{\"m305\":305}");
        compact(&w, true);
    }
    world_done(&w);
}

TEST(full_tails_are_packed_and_short_ones_wait)
{
    struct world w;
    bool did;

    setup(&w);
    for (int i = 0; i < METRIC_BLOCK_ROWS - 1; i++)
        CHECK_OK(add(&w, "training", 1, i, "{\"loss\":1}", NULL));
    CHECK_OK(store_metric_compact(w.db, false, &did, &test_err));
    CHECK(!did);
    CHECK_OK(add(&w, "training", 1, METRIC_BLOCK_ROWS, "{\"loss\":1}", NULL));
    CHECK_OK(store_metric_compact(w.db, false, &did, &test_err));
    CHECK(did);
    CHECK_EQ(count_of(w.db, "metric_blocks"), 1);
    CHECK_EQ(count_of(w.db, "metric_tail"), 0);
    /* After a restart the full tails are found again. */
    for (int i = 0; i < METRIC_BLOCK_ROWS; i++)
        CHECK_OK(add(&w, "training", 1, 5000 + i, "{\"loss\":1}", NULL));
    db_close(w.db);
    CHECK_OK(db_open(w.io, w.path, false, &w.db, &test_err));
    CHECK_OK(store_metric_compact(w.db, false, &did, &test_err));
    CHECK(did);
    CHECK_EQ(count_of(w.db, "metric_blocks"), 2);
    world_done(&w);
}

TEST(validations_that_are_taken_back_are_not_best_any_more)
{
    struct world w;
    struct trial_view trial;

    setup(&w);
    for (int i = 1; i <= 5; i++) {
        char avg[64];

        (void)snprintf(avg, sizeof(avg), "{\"loss\":%d}", 10 - i);
        CHECK_OK(add(&w, "validation", 1, i * 10, avg, NULL));
        CHECK_OK(store_validation_add(w.db, 1, i * 10, i, parse(&w.mem, avg), &w.mem,
                                      &test_err));
    }
    CHECK_OK(store_trial_get(w.db, 1, &w.mem, &trial, &test_err));
    CHECK_EQ(trial.best_steps, 50);
    CHECK(trial.has_best && trial.best_metric == 5);
    compact(&w, true);
    set_run(&w, 1, 1, 2);
    CHECK_OK(add(&w, "training", 2, 30, "{\"loss\":3}", NULL));
    CHECK_OK(store_trial_get(w.db, 1, &w.mem, &trial, &test_err));
    CHECK_EQ(trial.best_steps, 30);
    CHECK_EQ(trial.latest_validation_steps, 30);
    CHECK(trial.best_metric == 7);
    CHECK_EQ(trial.total_batches, 30);
    CHECK_OK(add(&w, "validation", 2, 30, "{\"loss\":8}", NULL));
    CHECK_OK(store_trial_get(w.db, 1, &w.mem, &trial, &test_err));
    CHECK_EQ(trial.best_steps, 20);
    world_done(&w);
}

TEST(summaries_name_the_type_of_what_is_no_number)
{
    struct world w;
    struct buf text = BUF_INIT;
    struct json *all;

    setup(&w);
    CHECK_OK(
        add(&w, "training", 1, 1,
            "{\"s\":\"x\",\"b\":true,\"d\":\"2022-03-02T02:15:18Z\",\"o\":{\"a\":1},"
            "\"l\":[1],\"n\":null,\"m\":1,\"big\":9007199254740993}",
            NULL));
    CHECK_OK(add(&w, "training", 1, 2, "{\"m\":\"now text\",\"s\":\"y\"}", NULL));
    for (int pass = 0; pass < 2; pass++) {
        buf_clear(&text);
        CHECK_OK(store_metric_summary(w.db, 1, &text, &test_err));
        all = json_get(parse(&w.mem, text.data), "avg_metrics");
        CHECK_STR(json_str(json_path(all, "s.type"), ""), "string");
        CHECK_STR(json_str(json_path(all, "s.last"), ""), "y");
        CHECK_STR(json_str(json_path(all, "b.type"), ""), "boolean");
        CHECK_STR(json_str(json_path(all, "d.type"), ""), "date");
        CHECK_STR(json_str(json_path(all, "o.type"), ""), "object");
        CHECK_STR(json_str(json_path(all, "l.type"), ""), "array");
        CHECK_STR(json_str(json_path(all, "n.type"), ""), "null");
        CHECK_STR(json_str(json_path(all, "m.type"), ""), "string");
        CHECK_STR(json_str(json_path(all, "big.type"), ""), "number");
        compact(&w, true);
    }
    buf_done(&text);
    world_done(&w);
}

TEST(names_of_an_experiment_are_listed_once_and_sorted)
{
    struct world w;
    struct json *names;

    setup(&w);
    CHECK_OK(add(&w, "validation", 1, 1, "{\"z\":1,\"a\":\"text\"}", NULL));
    CHECK_OK(add(&w, "training", 1, 1, "{\"loss\":1}", NULL));
    CHECK_OK(add(&w, "training", 1, 2, "{\"loss\":1,\"acc\":2}", NULL));
    CHECK_OK(store_metric_names(w.db, 1, &w.mem, &names, &test_err));
    CHECK_STR(json_text(&w.mem, names),
              "[{\"group\":\"training\",\"name\":\"acc\",\"type\":\"number\"},"
              "{\"group\":\"training\",\"name\":\"loss\",\"type\":\"number\"},"
              "{\"group\":\"validation\",\"name\":\"a\",\"type\":\"string\"},"
              "{\"group\":\"validation\",\"name\":\"z\",\"type\":\"number\"}]");
    world_done(&w);
}

TEST(names_of_an_experiment_tell_the_type_of_what_is_no_number)
{
    struct world w;
    struct json *names;
    const char *wanted[] = {"number", "boolean", "number", "array", "date", "string"};

    setup(&w);
    CHECK_OK(add(&w, "training", 1, 1,
                 "{\"a\":\"once text\",\"b\":true,\"c\":9007199254740993,\"d\":[1],"
                 "\"e\":\"2022-03-02T02:15:18Z\",\"f\":\"x\"}",
                 NULL));
    CHECK_OK(add(&w, "training", 1, 2, "{\"a\":2,\"f\":null}", NULL));
    for (int pass = 0; pass < 2; pass++) {
        size_t at = 0;

        CHECK_OK(store_metric_names(w.db, 1, &w.mem, &names, &test_err));
        CHECK_EQ(names->list.count, ARRAY_LEN(wanted));
        json_each(item, names) {
            CHECK_STR(json_str(json_get(item, "type"), ""), wanted[at++]);
        }
        compact(&w, true);
    }
    world_done(&w);
}

static void check_series(struct world *w, uint32_t want)
{
    const struct metric_line line = {1, "training", "v", want};
    struct metric_series got;
    double low = 1e9, high = -1e9;

    CHECK_OK(store_metric_series(w->db, &line, &w->mem, &got, &test_err));
    CHECK(got.count <= want && got.count > want / 3);
    CHECK_EQ(got.point[0].steps, 0);
    CHECK_EQ(got.point[got.count - 1].steps, 4999);
    for (uint32_t i = 0; i < got.count; i++) {
        low = fmin(low, got.point[i].value);
        high = fmax(high, got.point[i].value);
        if (i)
            CHECK(got.point[i].steps > got.point[i - 1].steps);
    }
    CHECK(low == -777 && high == 888);
}

TEST(a_line_keeps_its_ends_and_its_extremes)
{
    struct world w;
    struct metric_line line = {1, "training", "v", 6000};
    struct metric_series got;

    setup(&w);
    for (int i = 0; i < 5000; i++) {
        char avg[64];

        (void)snprintf(avg, sizeof(avg), "{\"v\":%d}",
                       i == 1234   ? -777
                       : i == 3210 ? 888
                                   : i % 50);
        CHECK_OK(add(&w, "training", 1, i, avg, NULL));
    }
    check_series(&w, 100);
    compact(&w, true);
    check_series(&w, 100);
    check_series(&w, 10); /* from heads only */
    CHECK_OK(store_metric_series(w.db, &line, &w.mem, &got, &test_err));
    CHECK_EQ(got.count, 5000);
    line.name = "none";
    CHECK_OK(store_metric_series(w.db, &line, &w.mem, &got, &test_err));
    CHECK_EQ(got.count, 0);
    world_done(&w);
}

TEST(a_report_takes_few_bytes_once_packed)
{
    struct world w;
    struct arena mem = ARENA_INIT(64 << 20);
    struct rng64 rng = {.state = 4};
    struct io_stat stat;
    uint64_t before;
    int count = 20000;

    setup(&w);
    CHECK_OK(db_checkpoint(w.db, true, &test_err));
    CHECK_OK(io_stat(w.io, w.path, &stat, &test_err));
    before = stat.size_bytes;
    CHECK_OK(db_begin(w.db, &test_err));
    for (int i = 0; i < count; i++) {
        struct json *avg = json_new(&mem, JSON_OBJECT);
        struct metric_report report = {.trial_id = 1,
                                       .run_id = 1,
                                       .group = "training",
                                       .has_steps = true,
                                       .steps = i * 100,
                                       .report_us = INT64_C(1700000000000000) +
                                                    i * INT64_C(250000) +
                                                    (int64_t)rng64_below(&rng, 5000),
                                       .avg = avg};
        bool is_new;

        for (int k = 0; k < 5; k++)
            (void)json_set(&mem, avg, oracle_names[k],
                           json_new_real(&mem, (double)rng64_next(&rng) / 1e19));
        CHECK_OK(store_metric_add(w.db, &report, &mem, &is_new, &test_err));
        arena_clear(&mem);
    }
    CHECK_OK(db_commit(w.db, &test_err));
    compact(&w, true);
    CHECK_OK(db_checkpoint(w.db, true, &test_err));
    CHECK_OK(io_stat(w.io, w.path, &stat, &test_err));
    CHECK((stat.size_bytes - before) / (uint64_t)count <= 50);
    arena_done(&mem);
    world_done(&w);
}

TEST(all_names_are_known_however_many_sets_of_them_came)
{
    enum { SETS = METRIC_SHAPES + 50 };
    struct world w;
    struct arena mem = ARENA_INIT(64 << 20);
    struct series_metric *found;
    struct json *list;
    int64_t trial = 1;
    uint32_t count;

    setup(&w);
    CHECK_OK(db_begin(w.db, &test_err));
    for (int i = 0; i < SETS; i++) {
        struct metric_report report = {.trial_id = 1,
                                       .run_id = 1,
                                       .group = "training",
                                       .has_steps = true,
                                       .steps = i,
                                       .report_us = 1 + i};
        char *text = arena_printf(&mem, "{\"n%03d\": %d, \"t\": \"x\"}", i, i);
        bool is_new;

        report.avg = parse(&mem, text);
        CHECK_OK(store_metric_add(w.db, &report, &mem, &is_new, &test_err));
    }
    CHECK_OK(db_commit(w.db, &test_err));
    for (int i = 0; i < 2; i++) {
        CHECK_OK(store_series_names(w.db, &trial, 1, &mem, &found, &count, &test_err));
        CHECK_EQ(count, SETS);
        CHECK_STR(found[SETS - 1].name, "n305");
        CHECK_OK(store_metric_names(w.db, 1, &mem, &list, &test_err));
        CHECK_EQ(list->list.count, SETS + 1);
        compact(&w, true);
    }
    arena_done(&mem);
    world_done(&w);
}

TEST(adding_reading_and_packing_survive_each_failing_allocation)
{
    EACH_ALLOCATION_FAILS() {
        struct world w;
        struct arena mem = ARENA_INIT(1 << 20);
        struct metric_row *rows;
        struct buf text = BUF_INIT;
        uint32_t count = 0;
        bool flag;
        int64_t nth = fault_state.left[FAULT_MEMORY];
        struct metric_report report = {.trial_id = 1,
                                       .run_id = 1,
                                       .group = "training",
                                       .has_steps = true,
                                       .steps = 1};
        struct metric_query query = {.trial_id = 1};
        det_status st;

        fault_disarm(FAULT_MEMORY);
        setup(&w);
        report.avg = parse(&w.mem, "{\"a\":1,\"b\":\"text\"}");
        fault_arm(FAULT_MEMORY, nth);
        st = store_metric_add(w.db, &report, &mem, &flag, NULL);
        if (!st)
            st = store_metric_compact(w.db, true, &flag, NULL);
        if (!st)
            st = store_metric_add(w.db, &report, &mem, &flag, NULL);
        if (!st)
            st = store_metric_read(w.db, &query, &mem, &rows, &count, NULL);
        if (!st)
            st = store_metric_summary(w.db, 1, &text, NULL);
        if (fault_fired())
            CHECK(st == DET_NOMEM || st == DET_OK);
        else
            CHECK_EQ(st, DET_OK);
        nth = fault_state.left[FAULT_MEMORY];
        fault_state.left[FAULT_MEMORY] = 0;
        buf_done(&text);
        arena_done(&mem);
        world_done(&w);
        fault_state.left[FAULT_MEMORY] = nth;
    }
}
