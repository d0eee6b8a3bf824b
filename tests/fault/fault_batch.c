/* SPDX-License-Identifier: Apache-2.0 */
/* fault_batch.c - events of several callers in one batch of the heart, and memory that is
 * enough for all but one of them. */
#include "base/thread/executor.h"
#include "master/heart/heart.h"
#include "master/master_impl.h"
#include "tests/fault/master_bed.h"

enum { SMALL = 64 << 10, LARGE = 256 << 20, CALLERS = 7 };

#define CONFIG(searcher_)                                                              \
    "{\"config\":\"name: t\\nentrypoint: x\\nhyperparameters: {a: {type: int, "        \
    "minval: "                                                                         \
    "1, maxval: 9}}\\nsearcher: {metric: loss, " searcher_ "}\\n\","                   \
    "\"modelDefinition\":[]}"

struct caller {
    struct heart_item item;
    bool is_answered;
};

static void answered(struct heart_item *item)
{
    struct caller *caller = item->event_owner;

    caller->is_answered = true;
}

static void submit_kill(struct bed *bed, struct caller *caller, int64_t experiment_id)
{
    *caller =
        (struct caller){.item = {.event = {.kind = EVENT_EXPERIMENT_ACTION,
                                           .action = {experiment_id, ACTION_KILL}},
                                 .event_owner = caller,
                                 .done = answered}};
    heart_submit(bed->master->heart, &caller->item);
}

static void await_all(struct bed *bed, const struct caller *callers, int count)
{
    for (int i = 0; i < count; i++) {
        for (int tries = 0; !callers[i].is_answered && tries < 100; tries++)
            bed_pass(bed, 100000);
        CHECK(callers[i].is_answered);
    }
}

static void check_state(struct bed *bed, int64_t id, const char *state)
{
    const struct json *reply =
        bed_look(bed, bed_printf(bed, "/api/v1/experiments/%d", (int)id));

    CHECK_STR(json_str(json_path(reply, "experiment.state"), ""), state);
}

/* Experiment 4 has many trials, so its end has many effects; the other six are small. */
static void tell_of_a_batch(struct sweep *sweep)
{
    struct caller callers[CALLERS];
    struct bed bed = {0};

    bed_open(&bed, sweep);
    bed_log_in(&bed);
    for (int i = 1; i <= CALLERS; i++)
        bed_tell(&bed, AS_USER, bed.user, "/api/v1/experiments",
                 i == 4 ? CONFIG("name: random, max_trials: 400, "
                                 "max_concurrent_trials: 400")
                        : CONFIG("name: single"));
    sweep_begin(sweep);
    bed.master->batch_memory = SMALL;
    for (int i = 0; i < CALLERS; i++)
        submit_kill(&bed, &callers[i], i + 1);
    await_all(&bed, callers, CALLERS);
    for (int i = 0; i < CALLERS; i++) {
        det_status expected = i == 3 ? DET_BUSY : DET_OK;

        if (callers[i].item.status != expected)
            fail_msg("the caller of experiment %d hears: %d %s", i + 1,
                     (int)callers[i].item.status, callers[i].item.err.text);
    }
    check_state(&bed, 4, "STATE_PAUSED");
    bed.master->batch_memory = LARGE;
    submit_kill(&bed, &callers[0], 4);
    await_all(&bed, callers, 1);
    CHECK(callers[0].item.status == DET_OK);
    sweep_end(sweep);
    for (int i = 1; i <= CALLERS; i++)
        check_state(&bed, i, "STATE_CANCELED");
    bed_close(&bed);
}

TEST(memory_that_is_out_for_one_event_refuses_that_event_alone)
{
    sweep_run("batch", tell_of_a_batch, 0, 0);
}
