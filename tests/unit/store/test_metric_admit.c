/* SPDX-License-Identifier: Apache-2.0 */
/* test_metric_admit.c - a trial uses a limited number of names. */
#include "store/metric/metric_add.h"
#include "store/metric/metric_admit.h"
#include "store/metric/metric_names.h"
#include "tests/unit/store/world.h"
#include "wire/report.h"

enum { MOST = 4 };

/* `ret_dropped` NULL: a report over the limit is refused. */
static det_status add(struct world *w, const char *group, int64_t steps,
                      const char *avg, const char **ret_dropped)
{
    struct metric_report report = {.trial_id = 1,
                                   .run_id = 1,
                                   .group = group,
                                   .has_steps = true,
                                   .steps = steps,
                                   .report_us = 5 + steps,
                                   .avg = parse(&w->mem, avg),
                                   .names_most = MOST,
                                   .ret_dropped = ret_dropped};
    bool is_new;
    det_status st;

    CHECK_OK(db_begin(w->db, &test_err));
    st = store_metric_add(w->db, &report, &w->mem, &is_new, &test_err);
    if (st)
        db_rollback(w->db);
    else
        CHECK_OK(db_commit(w->db, &test_err));
    return st;
}

static size_t names(struct world *w)
{
    struct json *list = NULL;

    CHECK_OK(store_metric_names(w->db, 1, &w->mem, &list, &test_err));
    return list->list.count;
}

static void begin(struct world *w, bool is_memory)
{
    world_init(w, is_memory);
    add_experiment(w, 1, "{}");
    add_trial(w, 1, 1);
}

TEST_ON_BOTH(a_report_with_too_many_new_names_is_refused_by_name)
{
    struct world w;

    begin(&w, is_memory);
    CHECK_OK(add(&w, "training", 1, "{\"a\":1,\"b\":2}", NULL));
    CHECK_OK(add(&w, "validation", 1, "{\"a\":1,\"c\":\"x\"}", NULL));
    CHECK_EQ(names(&w), 4);
    CHECK_EQ(add(&w, "training", 2, "{\"a\":1,\"new\":2}", NULL), DET_INVALID);
    CHECK_HAS(test_err.text, "uses 4 names of metrics");
    CHECK_HAS(test_err.text, "'new' is new");
    CHECK_OK(add(&w, "training", 2, "{\"a\":1}", NULL));
    CHECK_OK(add(&w, "training", 3, "{\"b\":1}", NULL));
    CHECK_EQ(names(&w), 4);
    world_done(&w);
}

TEST_ON_BOTH(only_new_names_are_dropped)
{
    const char *dropped = NULL;
    struct world w;

    begin(&w, is_memory);
    CHECK_OK(add(&w, "training", 1, "{\"a\":1,\"b\":2,\"c\":3}", &dropped));
    CHECK(!dropped);
    CHECK_OK(add(&w, "training", 2, "{\"a\":1,\"x\":1,\"y\":\"t\",\"z\":1}", &dropped));
    CHECK(dropped != NULL);
    CHECK_HAS(dropped, "'z' and others are new; 2 of its metrics are not stored");
    CHECK_EQ(names(&w), 4);
    dropped = NULL;
    CHECK_OK(
        add(&w, "training", 1, "{\"a\":1,\"x\":7,\"q\":8}", &dropped)); /* merged */
    CHECK_HAS(dropped, "'q' is new; 1 of its metrics is not stored");
    CHECK_OK(add(&w, "training", 9, "{\"q\":8}", &dropped)); /* nothing is left */
    CHECK_EQ(count_of(w.db, "metric_tail"), 2);
    CHECK_EQ(names(&w), 4);
    /* The names are counted again by the next writer. */
    db_close(w.db);
    CHECK_OK(db_open(w.io, w.path, false, &w.db, &test_err));
    CHECK_EQ(add(&w, "validation", 1, "{\"a\":1}", NULL), DET_INVALID);
    CHECK_OK(add(&w, "training", 9, "{\"x\":8}", NULL));
    world_done(&w);
}

/* After so many shapes the rows are JSON; the names are known nevertheless. */
TEST(names_count_though_they_never_repeat_together)
{
    const char *dropped = NULL;
    struct world w;
    char text[64];

    begin(&w, true);
    for (int i = 0; i < 400; i++) {
        struct metric_report report = {.trial_id = 1,
                                       .run_id = 1,
                                       .group = "training",
                                       .has_steps = true,
                                       .steps = i,
                                       .names_most = 300,
                                       .ret_dropped = &dropped};
        bool is_new;

        (void)snprintf(text, sizeof(text), "{\"n%d\":1}", i);
        report.avg = parse(&w.mem, text);
        dropped = NULL;
        CHECK_OK(db_begin(w.db, &test_err));
        CHECK_OK(store_metric_add(w.db, &report, &w.mem, &is_new, &test_err));
        CHECK_OK(db_commit(w.db, &test_err));
        CHECK_EQ(dropped != NULL, i >= 300);
        if (i == 280) { /* another writer */
            db_close(w.db);
            CHECK_OK(db_open(w.io, w.path, false, &w.db, &test_err));
        }
    }
    CHECK_EQ(names(&w), 300);
    world_done(&w);
}

TEST(a_trial_has_a_limited_number_of_groups)
{
    struct world w;
    char group[32];

    begin(&w, true);
    for (int i = 0; i < REPORT_GROUPS_MOST; i++) {
        (void)snprintf(group, sizeof(group), "g%d", i);
        CHECK_OK(add(&w, group, 1, "{}", NULL));
    }
    CHECK_EQ(add(&w, "more", 1, "{}", NULL), DET_INVALID);
    CHECK_HAS(test_err.text, "256 groups");
    CHECK_OK(add(&w, "g0", 2, "{}", NULL));

    /* More of a time without this limit. */
    CHECK_OK(db_exec(w.db,
                     "INSERT INTO metric_runs (trial_id, group_id, run_id)"
                     " VALUES (1, 1000, 1), (1, 1001, 1)",
                     &test_err));
    db_close(w.db);
    CHECK_OK(db_open(w.io, w.path, false, &w.db, &test_err));
    CHECK_OK(add(&w, "g1", 2, "{}", NULL));
    CHECK_EQ(add(&w, "more", 2, "{}", NULL), DET_INVALID);
    world_done(&w);
}
