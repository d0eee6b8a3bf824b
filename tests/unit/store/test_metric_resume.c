/* SPDX-License-Identifier: Apache-2.0 */
/* A run that goes on from a checkpoint: reports of earlier runs beyond it are archived
 * in the same transaction. */
#include "store/engine/db.h"
#include "store/experiment/trial.h"
#include "store/experiment/trial_view.h"
#include "store/metric/metric_add.h"
#include "store/metric/metric_compact.h"
#include "store/metric/metric_cursor.h"
#include "store/metric/validation.h"
#include "store/writer_cache.h"
#include "tests/unit/store/world.h"

static det_status add(struct world *w, const char *group, int64_t run, int64_t steps,
                      const char *avg)
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
    st = store_metric_add(w->db, &report, &mem, &ignored, &test_err);
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

static void setup(struct world *w)
{
    world_init(w, true);
    add_experiment(w, 1, SIMPLE_CONFIG);
    add_trial(w, 1, 1);
}

/* The trial's row as the heart writes it for a run that goes on from a checkpoint. */
static void resume(struct world *w, int64_t run, int64_t steps)
{
    struct trial row = a_trial(1, 1);

    row.run_id = run;
    row.latest_checkpoint = "11111111-1111-4111-8111-111111111111";
    row.latest_steps = steps;
    CHECK_OK(db_begin(w->db, &test_err));
    CHECK_OK(store_trial_put(w->db, &row, &test_err));
    CHECK_OK(db_commit(w->db, &test_err));
}

/* "1:10 1:20+ ..." in order, + for archived ones. */
static const char *line_of(struct world *w, bool with_archived)
{
    struct metric_query query = {.trial_id = 1, .with_archived = with_archived};
    struct metric_row *rows;
    struct buf text = BUF_INIT;
    const char *line;
    uint32_t count;

    CHECK_OK(store_metric_read(w->db, &query, &w->mem, &rows, &count, &test_err));
    for (uint32_t i = 0; i < count; i++)
        buf_printf(&text, "%s%d:%d%s", i ? " " : "", (int)rows[i].run_id,
                   (int)rows[i].steps, rows[i].is_archived ? "+" : "");
    line = arena_strdup(&w->mem, text.data ? text.data : "");
    buf_done(&text);
    return line;
}

TEST(what_lies_behind_the_checkpoint_of_a_resumed_run_is_archived_at_once)
{
    struct world w;
    struct trial_view trial;

    setup(&w);
    for (int i = 1; i <= 5; i++) { /* at places that the next run does not use */
        CHECK_OK(add(&w, "training", 1, i * 10 + 3, "{\"loss\":1}"));
        CHECK_OK(add(&w, "validation", 1, i * 10, "{\"loss\":2}"));
        CHECK_OK(store_validation_add(
            w.db, 1, i * 10, i, parse(&w.mem, i == 4 ? "{\"loss\":1}" : "{\"loss\":2}"),
            &w.mem, &test_err));
    }
    compact(&w, true);
    CHECK_OK(store_trial_get(w.db, 1, &w.mem, &trial, &test_err));
    CHECK_EQ(trial.best_steps, 40);
    resume(&w, 2, 30);
    CHECK_STR(line_of(&w, false), "1:10 1:13 1:20 1:23 1:30");
    CHECK_STR(line_of(&w, true),
              "1:10 1:13 1:20 1:23 1:30 1:33+ 1:40+ 1:43+ 1:50+ 1:53+");
    CHECK_OK(store_trial_get(w.db, 1, &w.mem, &trial, &test_err));
    CHECK_EQ(trial.best_steps, 10);
    CHECK_EQ(trial.latest_validation_steps, 30);
    CHECK_EQ(trial.total_batches, 30);

    CHECK_OK(add(&w, "training", 2, 38, "{\"loss\":1}"));
    resume(&w, 2, 40); /* it saved a checkpoint: none of its own reports are archived */
    CHECK_STR(line_of(&w, false), "1:10 1:13 1:20 1:23 1:30 2:38");
    CHECK_OK(add(&w, "training", 2, 48, "{\"loss\":1}"));
    resume(&w, 3, 40);
    CHECK_STR(line_of(&w, false), "1:10 1:13 1:20 1:23 1:30 2:38");
    CHECK_OK(add(&w, "training", 3, 44, "{\"loss\":1}"));
    CHECK_STR(line_of(&w, false), "1:10 1:13 1:20 1:23 1:30 2:38 3:44");
    world_done(&w);
}

TEST(a_run_without_a_checkpoint_takes_back_what_its_reports_redo)
{
    struct world w;

    setup(&w);
    CHECK_OK(add(&w, "training", 1, 10, "{\"loss\":1}"));
    CHECK_OK(add(&w, "training", 1, 20, "{\"loss\":1}"));
    set_run(&w, 1, 1, 2); /* without a checkpoint: it may keep its state elsewhere */
    CHECK_STR(line_of(&w, false), "1:10 1:20");
    CHECK_OK(add(&w, "training", 2, 20, "{\"loss\":1}"));
    CHECK_STR(line_of(&w, false), "1:10 2:20");
    world_done(&w);
}

TEST(resuming_survives_each_failing_allocation)
{
    EACH_ALLOCATION_FAILS() {
        struct world w;
        struct trial row = a_trial(1, 1);
        int64_t nth = fault_state.left[FAULT_MEMORY];
        det_status st;

        fault_disarm(FAULT_MEMORY);
        setup(&w);
        CHECK_OK(add(&w, "validation", 1, 10, "{\"loss\":1}"));
        CHECK_OK(add(&w, "validation", 1, 20, "{\"loss\":1}"));
        row.run_id = 2;
        row.latest_checkpoint = "u";
        row.latest_steps = 10;
        fault_arm(FAULT_MEMORY, nth);
        st = store_trial_put(w.db, &row, NULL);
        CHECK_EQ(st, fault_fired() ? DET_NOMEM : DET_OK);
        nth = fault_state.left[FAULT_MEMORY];
        fault_state.left[FAULT_MEMORY] = 0;
        world_done(&w);
        fault_state.left[FAULT_MEMORY] = nth;
    }
}
