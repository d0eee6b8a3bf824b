/* SPDX-License-Identifier: Apache-2.0 */
/* test_metric_report.c - reports from rings: the same rows as from JSON, and high-water
 * marks. */
#include <math.h>

#include "store/engine/db.h"
#include "store/heart/mark.h"
#include "store/metric/metric.h"
#include "store/metric/metric_add.h"
#include "store/metric/metric_cursor.h"
#include "store/metric/metric_rows.h"
#include "store/task/allocation.h"
#include "tests/unit/store/world.h"
#include "wire/report.h"

static struct report_value number(const char *name, double value)
{
    return (struct report_value){
        .name = name, .name_len = strlen(name), .number = value};
}

static struct report_value json(const char *name, const char *text)
{
    return (struct report_value){.name = name,
                                 .name_len = strlen(name),
                                 .type = REPORT_JSON,
                                 .json = text,
                                 .json_len = strlen(text)};
}

static det_status add_with(struct world *w, int64_t steps,
                           const struct report_metrics *metrics, bool *is_new)
{
    struct arena mem = ARENA_INIT(1 << 20);
    struct metric_report report = {.trial_id = 1,
                                   .run_id = 1,
                                   .group = "training",
                                   .has_steps = steps >= 0,
                                   .steps = steps,
                                   .report_us = 5,
                                   .values = metrics};
    det_status st = store_metric_add(w->db, &report, &mem, is_new, &test_err);

    arena_done(&mem);
    return st;
}

static det_status add_values(struct world *w, int64_t steps,
                             const struct report_value *value, uint32_t count)
{
    const struct report_metrics metrics = {.count = count, .value = value};
    bool is_new;

    return add_with(w, steps, &metrics, &is_new);
}

static det_status add_tree(struct world *w, int64_t steps, const char *text)
{
    struct arena mem = ARENA_INIT(1 << 20);
    struct metric_report report = {.trial_id = 1,
                                   .run_id = 1,
                                   .group = "training",
                                   .has_steps = steps >= 0,
                                   .steps = steps,
                                   .report_us = 5,
                                   .avg = parse(&mem, text)};
    bool is_new;
    det_status st = store_metric_add(w->db, &report, &mem, &is_new, &test_err);

    arena_done(&mem);
    return st;
}

/* The values at some steps, as text. */
static const char *at(struct world *w, int64_t steps)
{
    struct json *found = NULL;

    CHECK_OK(store_metric_at(w->db, 1, "training", steps, &w->mem, &found, &test_err));
    return found ? json_text(&w->mem, found) : "nothing";
}

static void world_with_trial(struct world *w)
{
    const struct allocation allocation = {.id = 4,
                                          .trial_id = 1,
                                          .experiment_id = 1,
                                          .task_id = "t",
                                          .name = "t.1",
                                          .run_id = 1,
                                          .state = ALLOCATION_RUNNING,
                                          .resource_pool = "default",
                                          .slots = 1,
                                          .shares = 2};

    world_init(w, true);
    add_experiment(w, 1, "{}");
    add_trial(w, 1, 1);
    CHECK_OK(store_allocation_put(w->db, &allocation, &test_err));
}

/* A name with a NUL after the characters of a known name is another name, and not valid
 * text. */
TEST(a_name_that_goes_on_behind_a_nul_does_not_fit_a_known_shape)
{
    static const char name[4096] = "loss";
    struct report_value value = number("loss", 1);
    struct world w;

    world_with_trial(&w);
    CHECK_OK(add_values(&w, 1, &value, 1));
    value.name = name;
    for (value.name_len = 5; value.name_len <= sizeof(name); value.name_len++)
        CHECK_EQ(add_values(&w, 2, &value, 1), DET_INVALID);
    CHECK_HAS(test_err.text, "not UTF-8 text");
    CHECK_STR(at(&w, 2), "nothing");
    world_done(&w);
}

TEST(values_and_trees_make_the_same_rows)
{
    const struct report_value mixed[] = {
        number("z", 1.5),  json("a", "\"x\""),
        number("b", -0.0), json("big", "9007199254740993"),
        json("c", "3"),    json("n", "\"NaN\"")};
    struct world w;

    world_with_trial(&w);
    CHECK_OK(add_tree(&w, 1,
                      "{\"z\":1.5,\"a\":\"x\",\"b\":-0.0,"
                      "\"big\":9007199254740993,\"c\":3,\"n\":\"NaN\"}"));
    CHECK_OK(add_values(&w, 2, mixed, ARRAY_LEN(mixed)));
    CHECK_STR(at(&w, 2), at(&w, 1));
    CHECK_EQ(count_of(w.db, "metric_shapes"), 1); /* both reports share it */
    CHECK_EQ(count_of(w.db, "metric_tail t JOIN metric_tail u ON u.data = t.data"), 4);
    CHECK_OK(add_values(&w, 3, NULL, 0));
    CHECK_STR(at(&w, 3), "{}");
    world_done(&w);
}

TEST(values_merge_and_contradict_as_trees_do)
{
    const struct report_value first[] = {number("a", 1), number("b", NAN)};
    const struct report_value more[] = {number("b", NAN), number("c", 3)};
    const struct report_value other[] = {number("c", 4)};
    const struct report_value text[] = {json("c", "\"3\"")};
    struct world w;

    world_with_trial(&w);
    CHECK_OK(add_values(&w, 1, first, 2));
    CHECK_OK(add_values(&w, 1, more, 2));
    CHECK_OK(add_tree(&w, 1, "{\"c\":3,\"d\":4}"));
    CHECK_OK(add_values(&w, 1, more, 2));
    CHECK_STR(at(&w, 1), "{\"a\":1,\"b\":\"NaN\",\"c\":3,\"d\":4}");
    CHECK_EQ(add_values(&w, 1, other, 1), DET_EXISTS);
    CHECK_HAS(test_err.text, "'c'");
    CHECK_EQ(add_values(&w, 1, text, 1), DET_EXISTS);
    world_done(&w);
}

TEST(batch_metrics_of_a_record_are_checked_and_kept)
{
    const struct report_value value = number("a", 1);
    struct report_metrics metrics = {
        .count = 1, .value = &value, .batch = "[{\"x\": 1}]", .batch_len = 10};
    struct metric_query query = {.trial_id = 1, .with_batch = true};
    struct metric_row *rows;
    uint32_t count;
    bool is_new;
    struct world w;

    world_with_trial(&w);
    CHECK_OK(add_with(&w, 1, &metrics, &is_new));
    CHECK_EQ(add_with(&w, 1, &metrics, &is_new), DET_EXISTS);
    CHECK_OK(store_metric_read(w.db, &query, &w.mem, &rows, &count, &test_err));
    CHECK_EQ(count, 1);
    CHECK_STR(rows[0].batch, "[{\"x\":1}]");
    metrics.batch_len = 5;
    CHECK_EQ(add_with(&w, 2, &metrics, &is_new), DET_INVALID);
    CHECK_HAS(test_err.text, "batch metrics");
    world_done(&w);
}

TEST(names_that_are_none_are_refused)
{
    const struct report_value twice[] = {number("a", 1), number("a", 1)};
    const struct report_value both[] = {number("b", 1), number("c", 1),
                                        json("c", "[]")};
    const struct report_value bad[] = {number("\xc3", 1)};
    const struct report_value nul[] = {
        {.name = "a\0", .name_len = 2, .type = REPORT_NUMBER}};
    const struct report_value broken[] = {json("a", "{")};
    struct world w;

    world_with_trial(&w);
    CHECK_EQ(add_values(&w, 1, twice, 2), DET_INVALID);
    CHECK_HAS(test_err.text, "'a' is in the report twice");
    CHECK_EQ(add_values(&w, 1, both, 3), DET_INVALID);
    CHECK_EQ(add_values(&w, 1, bad, 1), DET_INVALID);
    CHECK_EQ(add_values(&w, 1, nul, 1), DET_INVALID);
    CHECK_EQ(add_values(&w, 1, broken, 1), DET_INVALID);
    CHECK_HAS(test_err.text, "'a' is not JSON");
    /* a name that begins like a known one is another name */
    CHECK_OK(add_values(&w, 1, &(struct report_value){.name = "ab", .name_len = 2}, 1));
    CHECK_OK(add_values(&w, 2, &(struct report_value){.name = "ab", .name_len = 1}, 1));
    CHECK_STR(at(&w, 1), "{\"ab\":0}");
    CHECK_STR(at(&w, 2), "{\"a\":0}");
    world_done(&w);
}

TEST(a_trial_whose_names_never_repeat_is_kept_all_the_same)
{
    struct world w;

    world_with_trial(&w);
    for (int i = 0; i < METRIC_SHAPES + 20; i++) {
        char name[16];
        struct report_value values[20] = {0};
        uint32_t count = 1 + (uint32_t)i % 20;
        static const char *const letters[] = {"a", "b", "c", "d", "e", "f", "g",
                                              "h", "i", "j", "k", "l", "m", "n",
                                              "o", "p", "q", "r", "s", "t"};

        /* sorts few and many names, in reverse order */
        for (uint32_t k = 0; k + 1 < count; k++)
            values[k] = number(letters[19 - k], k);
        (void)snprintf(name, sizeof(name), "name-%d", i);
        values[count - 1] = number(name, i);
        CHECK_OK(add_values(&w, i, values, count));
    }
    CHECK_EQ(count_of(w.db, "metric_shapes"), METRIC_SHAPES);
    CHECK_STR(at(&w, 60), "{\"name-60\":60}");
    CHECK_STR(at(&w, 261), "{\"name-261\":261,\"t\":0}");
    world_done(&w);
}

TEST(memory_that_runs_out_is_an_ordinary_error)
{
    const struct report_value values[] = {number("b", 1), json("a", "[1]")};
    struct world w;
    int64_t steps = 0;

    world_with_trial(&w);
    EACH_ALLOCATION_FAILS() {
        det_status st = db_begin(w.db, &test_err);

        if (!st)
            st = add_values(&w, steps++, values, 2);
        if (!st)
            st = db_commit(w.db, &test_err);
        if (st) {
            CHECK_EQ(st, DET_NOMEM);
            db_rollback(w.db);
        }
    }
    world_done(&w);
}

/* ---- marks ----------------------------------------------------------------------- */

TEST(each_share_has_a_mark_of_its_own)
{
    const struct report_sender one = {4, 0}, two = {4, 1};
    struct report_mark mark;
    struct world w;

    world_with_trial(&w);
    CHECK_OK(store_report_mark(w.db, &one, &mark, &test_err));
    CHECK_EQ(mark.number, 0);
    CHECK(!mark.is_late);
    CHECK_OK(store_report_mark_set(w.db, &one, 7, &test_err));
    CHECK_OK(store_report_mark_set(w.db, &one, 9, &test_err));
    CHECK_OK(store_report_mark(w.db, &one, &mark, &test_err));
    CHECK_EQ(mark.number, 9);
    CHECK_OK(store_report_mark(w.db, &two, &mark, &test_err));
    CHECK_EQ(mark.number, 0);
    CHECK(!mark.is_late);
    world_done(&w);
}

TEST(a_run_that_was_given_up_is_late_and_one_that_has_ended_has_no_mark_any_more)
{
    const struct report_sender one = {4, 0}, two = {4, 1}, gone = {5, 0};
    bool is_new;
    struct report_mark mark;
    struct world w;

    world_with_trial(&w);
    CHECK_EQ(store_report_mark(w.db, &gone, &mark, &test_err), DET_STATE);
    CHECK_OK(store_mark_advance(w.db, "exit t.1/1", 1, &is_new, &test_err));
    CHECK_EQ(store_report_mark(w.db, &two, &mark, &test_err), DET_STATE);
    CHECK_OK(store_report_mark(w.db, &one, &mark, &test_err));
    CHECK_OK(db_exec(w.db, "UPDATE trials SET run_id = 2", &test_err));
    CHECK_OK(store_report_mark(w.db, &one, &mark, &test_err));
    CHECK(mark.is_late);
    CHECK_OK(db_exec(w.db,
                     "UPDATE trials SET run_id = 1;"
                     "UPDATE allocations SET state = 'TERMINATED'",
                     &test_err));
    CHECK_OK(store_report_mark(w.db, &one, &mark, &test_err));
    CHECK(mark.is_late);
    CHECK_EQ(store_report_mark(w.db, &two, &mark, &test_err), DET_STATE);
    world_done(&w);
}
