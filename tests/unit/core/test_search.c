/* SPDX-License-Identifier: Apache-2.0 */
/* test_search.c - the core and a scripted searcher.  This program has its own functions
 * of search/searcher.h, so a test can cause any operation: the metrics of a validation
 * name it, as in {"stop": 1}, {"create": 1}, {"fail": 1}. */
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "data/json/json.h"
#include "search/searcher.h"
#include "tests/support/core_view.h"
#include "tests/unit/core/events.h"

struct searcher {
    uint32_t asked;
    uint32_t closed;
    enum search_exit last_exit;
};

static struct search_op *add(struct search_out *out, enum search_op_kind kind)
{
    struct search_op *op = arena_array(out->mem, struct search_op, 4);

    if (out->count)
        memcpy(op, out->op, out->count * sizeof(*op));
    out->op = op;
    op[out->count] = (struct search_op){.kind = kind};
    return &op[out->count++];
}

static void create(struct searcher *s, struct search_out *out)
{
    struct search_op *op = add(out, SEARCH_CREATE);

    op->trial = s->asked++;
    op->hparams = "{}";
    snprintf(op->request_id, sizeof(op->request_id), "request-%u", op->trial);
}

det_status searcher_new(const struct json *searcher_config,
                        const struct json *hyperparameters, uint32_t seed,
                        struct searcher **ret_searcher, struct err *err)
{
    (void)searcher_config;
    (void)hyperparameters;
    (void)seed;
    (void)err;
    *ret_searcher = mem_new(struct searcher);
    return DET_OK;
}

void searcher_free(struct searcher *s)
{
    mem_free(s);
}

uint32_t searcher_first(const struct searcher *s)
{
    (void)s;
    return 1;
}

det_status searcher_hparams_bytes(const struct searcher *s, size_t *ret_bytes)
{
    (void)s;
    *ret_bytes = 0;
    return DET_OK;
}

size_t searcher_bytes(const struct searcher *s)
{
    return sizeof(*s);
}

void searcher_start(struct searcher *s, struct search_out *out)
{
    create(s, out);
    create(s, out);
}

void searcher_trial_created(struct searcher *s, uint32_t trial, struct search_out *out)
{
    (void)s;
    (void)trial;
    (void)out;
}

void searcher_validated(struct searcher *s, uint32_t trial, const struct json *metrics,
                        struct search_out *out)
{
    if (json_get(metrics, "stop"))
        add(out, SEARCH_STOP)->trial = trial;
    if (json_get(metrics, "create"))
        create(s, out);
    if (json_get(metrics, "fail"))
        out->status = err_set(&out->err, DET_INVALID, "no metric called loss");
}

void searcher_trial_exited(struct searcher *s, uint32_t trial, enum search_exit why,
                           struct search_out *out)
{
    (void)trial;
    s->last_exit = why;
    if (++s->closed == s->asked)
        add(out, SEARCH_SHUTDOWN);
}

void searcher_trial_reopened(struct searcher *s, uint32_t trial)
{
    (void)trial;
    s->closed--;
}

void searcher_set_progress(struct searcher *s, uint32_t trial, double progress)
{
    (void)s;
    (void)trial;
    (void)progress;
}

double searcher_progress(const struct searcher *s)
{
    return s->asked ? (double)s->closed / s->asked : 0;
}

void searcher_save(const struct searcher *s, struct buf *out)
{
    buf_printf(out, "{\"asked\":%u,\"closed\":%u,\"last_exit\":%d}", s->asked,
               s->closed, (int)s->last_exit);
}

det_status searcher_load(struct searcher *s, const struct json *state, struct err *err)
{
    (void)s;
    (void)state;
    (void)err;
    return DET_OK;
}

/* Two trials that run. */
static void two(struct bed *bed)
{
    bed_join(bed, "a", 2);
    bed_submit(bed, &(struct wish){.slots = 1, .max_restarts = 3});
    bed_start(bed, 1);
    bed_start(bed, 2);
}

TEST(a_trial_its_searcher_stops_is_asked_to_leave_and_is_completed)
{
    BED(bed);
    two(&bed);

    bed_validate(&bed, 1, 1, "{\"stop\":1}");
    CHECK_EQ(bed.trial[1].state, TRIAL_STOPPING_COMPLETED);
    CHECK_EQ(bed.trial[1].is_stopped_by_searcher, true);
    CHECK_EQ(bed_count(&bed, EFFECT_PREEMPT), 1);
    bed_acknowledge(&bed, 1);
    bed_exit(&bed, 1, 0, EXIT_CLEAN);

    CHECK_EQ(bed.trial[1].state, TRIAL_COMPLETED);
    CHECK_EQ(bed.trial[1].run_id, 1);
}

TEST(a_trial_its_searcher_stopped_is_not_heard_again)
{
    BED(bed);
    two(&bed);

    bed_validate(&bed, 1, 1, "{\"stop\":1}");
    bed_validate(&bed, 1, 1, "{\"create\":1}");

    CHECK_EQ(bed_count(&bed, EFFECT_ADD_SEARCH_INPUT), 0);
    CHECK_EQ(bed.trial[3].id, 0);
}

TEST(a_stopped_trial_that_fails_on_its_way_out_is_an_error)
{
    BED(bed);
    two(&bed);

    bed_validate(&bed, 1, 1, "{\"stop\":1}");
    bed_exit(&bed, 1, 0, EXIT_FAILED);

    CHECK_EQ(bed.trial[1].state, TRIAL_ERROR);
    CHECK_EQ(bed.trial[1].restarts, 0);
}

TEST(a_stopped_trial_may_be_waiting_and_then_ends_at_once)
{
    BED(bed);
    bed_join(&bed, "a", 1);
    bed_submit(&bed, &(struct wish){.slots = 1});

    bed_validate(&bed, 2, 1, "{\"stop\":1}");

    CHECK_EQ(bed.trial[2].state, TRIAL_COMPLETED);
    CHECK_EQ(bed.experiment[1].state, EXPERIMENT_ACTIVE);
}

TEST(stopping_and_creating_come_in_one_breath)
{
    BED(bed);
    two(&bed);

    bed_validate(&bed, 1, 1, "{\"stop\":1,\"create\":1}");

    CHECK_EQ(bed.trial[3].number, 2);
    CHECK_EQ(bed.trial[3].state, TRIAL_ACTIVE);
    CHECK_EQ(bed.experiment[1].trials, 3);
    CHECK_STR(core_trial(bed.core, 3)->task_id, "1.request-2");
}

TEST(a_search_that_cannot_go_on_ends_its_experiment_with_an_error)
{
    BED(bed);
    two(&bed);

    bed_validate(&bed, 1, 1, "{\"fail\":1}");
    CHECK_EQ(bed_count(&bed, EFFECT_KILL), 2);
    CHECK(bed_logs(&bed, "the search cannot go on: no metric called loss"));
    CHECK_EQ(bed.experiment[1].state, EXPERIMENT_STOPPING_ERROR);
    bed_exit(&bed, 1, 0, EXIT_KILLED);
    bed_exit(&bed, 2, 0, EXIT_KILLED);

    CHECK_EQ(bed.trial[1].state, TRIAL_ERROR);
    CHECK_EQ(bed.experiment[1].state, EXPERIMENT_ERROR);
}

TEST(metrics_that_are_no_json_are_passed_over)
{
    BED(bed);
    two(&bed);

    bed_validate(&bed, 1, 1, "{\"stop\":");

    CHECK_EQ(bed_count(&bed, EFFECT_ADD_SEARCH_INPUT), 0);
    CHECK_EQ(core_journal_seq(bed.core), 1);
    CHECK_EQ(bed.trial[1].state, TRIAL_ACTIVE);
}

TEST(an_experiment_that_is_stopped_gets_no_new_trials)
{
    BED(bed);
    two(&bed);

    CHECK_EQ(bed_act(&bed, 1, ACTION_PAUSE), DET_OK);
    bed_validate(&bed, 1, 1, "{\"create\":1}");
    CHECK_EQ(bed.trial[3].state, TRIAL_PAUSED);
    CHECK_EQ(bed_act(&bed, 1, ACTION_CANCEL), DET_OK);
    CHECK_EQ(bed.trial[3].state, TRIAL_CANCELED);
    bed_validate(&bed, 2, 1, "{\"create\":1}");

    CHECK_EQ(bed.trial[4].id, 0);
}
