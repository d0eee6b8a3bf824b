/* SPDX-License-Identifier: Apache-2.0 */
/* test_metric_names.c - the cost of finding the names of an experiment's metrics. */
#include "store/engine/db.h"
#include "store/metric/metric_add.h"
#include "store/metric/metric_names.h"
#include "tests/unit/store/world.h"

TEST(types_of_texts_are_looked_for_in_a_bounded_number_of_trials)
{
    enum { TRIALS = METRIC_TYPE_LOOKS + 4 };
    struct world w;
    struct json *names;
    size_t at = 0;

    world_init(&w, true);
    add_experiment(&w, 1, SIMPLE_CONFIG);
    for (int64_t i = 1; i <= TRIALS; i++) {
        struct metric_report report = {.trial_id = i,
                                       .run_id = 1,
                                       .group = "training",
                                       .has_steps = true,
                                       .steps = 1,
                                       .report_us = i};
        bool is_new;

        add_trial(&w, i, 1);
        report.avg = parse(
            &w.mem, arena_printf(&w.mem, "{\"m%02d\":true,\"same\":true}", (int)i));
        CHECK_OK(db_begin(w.db, &test_err));
        CHECK_OK(store_metric_add(w.db, &report, &w.mem, &is_new, &test_err));
        CHECK_OK(db_commit(w.db, &test_err));
    }
    CHECK_OK(store_metric_names(w.db, 1, &w.mem, &names, &test_err));
    CHECK_EQ(names->list.count, TRIALS + 1);
    json_each(item, names) {
        bool is_first = !strcmp(json_str(json_get(item, "name"), ""), "same");

        CHECK_STR(json_str(json_get(item, "type"), ""),
                  at++ < METRIC_TYPE_LOOKS || is_first ? "boolean" : "string");
    }
    world_done(&w);
}
