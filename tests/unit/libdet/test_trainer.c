/* SPDX-License-Identifier: Apache-2.0 */
/* test_trainer.c - what is due at a batch boundary, compared with a naive
 * implementation; windows; an interrupted training does the same as an undisturbed one,
 * at the same batches. */
#include "det/trainer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/fault.h"
#include "base/rng.h"
#include "tests/support/test.h"

static det_trainer *trainer_of(const det_trainer_options *options)
{
    det_trainer *trainer = NULL;
    char error[256] = "";

    CHECK_EQ(det_trainer_new(options, &trainer, error, sizeof(error)), DET_OK);
    return trainer;
}

static det_trainer_options batches(int64_t length, int64_t validate, int64_t save)
{
    return (det_trainer_options){.size = sizeof(det_trainer_options),
                                 .max_length = {DET_BATCHES, length},
                                 .validation_period = {DET_BATCHES, validate},
                                 .checkpoint_period = {DET_BATCHES, save},
                                 .reporting_period = {DET_BATCHES, 2},
                                 .keep = DET_KEEP_NONE};
}

/* Does what is due, like a loop; one letter per action. */
static void step(det_trainer *trainer, char *story, size_t size)
{
    unsigned todo = det_trainer_batch_end(trainer);
    size_t len = strlen(story);
    const char *const *names;
    const double *means;

    if (todo & DET_REPORT) {
        det_trainer_window(trainer, &names, &means);
        len += (size_t)snprintf(story + len, size - len, "r");
    }
    if (todo & DET_VALIDATE) {
        todo |= det_trainer_validated(trainer, (double)-det_trainer_batches(trainer));
        len += (size_t)snprintf(story + len, size - len, "v");
    }
    if (todo & DET_CHECKPOINT) {
        det_trainer_saved(trainer);
        len += (size_t)snprintf(story + len, size - len, "c");
    }
    (void)snprintf(story + len, size - len, todo & DET_STOP ? "." : "|");
}

static const char *story_of(const det_trainer_options *options, int steps)
{
    static char story[1024];
    det_trainer *trainer = trainer_of(options);

    story[0] = '\0';
    for (int i = 0; i < steps; i++)
        step(trainer, story, sizeof(story));
    det_trainer_free(trainer);
    return story;
}

TEST(periods_in_batches)
{
    det_trainer_options options = batches(6, 3, 2);

    CHECK_STR(story_of(&options, 6), "|rc|rv|rc||rvc.");
}

TEST(the_end_validates_and_saves_also_without_periods)
{
    det_trainer_options options = batches(3, 0, 0);

    CHECK_STR(story_of(&options, 3), "|r|rvc.");
}

TEST(records_round_periods_down_and_lengths_up)
{
    det_trainer_options options = batches(0, 0, 0);

    options.records_per_batch = 10;
    options.max_length = (det_length){DET_RECORDS, 41};
    options.validation_period = (det_length){DET_RECORDS, 29};
    options.checkpoint_period = (det_length){DET_RECORDS, 3};
    CHECK_STR(story_of(&options, 5), "c|rvc|c|rvc|rvc.");
}

TEST(epochs_of_known_length)
{
    det_trainer_options options = batches(0, 0, 0);
    det_trainer *trainer;

    options.batches_per_epoch = 2;
    options.max_length = (det_length){DET_EPOCHS, 2};
    options.validation_period = (det_length){DET_EPOCHS, 1};
    CHECK_STR(story_of(&options, 4), "|rv||rvc.");
    trainer = trainer_of(&options);
    CHECK_EQ(det_trainer_batch_end(trainer), 0);
    CHECK_EQ(det_trainer_epoch_position(trainer), 1);
    CHECK(det_trainer_batch_end(trainer) & DET_EPOCH_END);
    CHECK_EQ(det_trainer_epoch_position(trainer), 0);
    CHECK_EQ(det_trainer_epochs(trainer), 1);
    CHECK(det_trainer_progress(trainer) == 0.5);
    CHECK_EQ(det_trainer_epoch_end(trainer), 0); /* it was counted already */
    det_trainer_free(trainer);
}

TEST(epochs_of_unknown_length_end_when_the_data_does)
{
    det_trainer_options options = batches(0, 0, 0);
    det_trainer *trainer;

    options.max_length = (det_length){DET_EPOCHS, 2};
    options.validation_period = (det_length){DET_EPOCHS, 1};
    trainer = trainer_of(&options);
    for (int i = 0; i < 5; i++)
        CHECK(!(det_trainer_batch_end(trainer) & (DET_VALIDATE | DET_STOP)));
    CHECK_EQ(det_trainer_epoch_end(trainer), DET_EPOCH_END | DET_VALIDATE | DET_REPORT);
    CHECK_EQ(det_trainer_validated(trainer, 1), 0);
    CHECK_EQ(det_trainer_batch_end(trainer) & DET_STOP, 0);
    CHECK(det_trainer_epoch_end(trainer) & DET_STOP);
    det_trainer_free(trainer);
}

TEST(the_best_is_saved_and_the_worse_is_not)
{
    det_trainer_options options = batches(100, 1, 0);
    det_trainer *trainer;

    options.keep = DET_KEEP_BEST;
    trainer = trainer_of(&options);
    (void)det_trainer_batch_end(trainer);
    CHECK_EQ(det_trainer_validated(trainer, 0.5), DET_CHECKPOINT);
    (void)det_trainer_batch_end(trainer);
    CHECK_EQ(det_trainer_validated(trainer, 0.5), 0);
    (void)det_trainer_batch_end(trainer);
    CHECK_EQ(det_trainer_validated(trainer, NAN), 0);
    (void)det_trainer_batch_end(trainer);
    CHECK_EQ(det_trainer_validated(trainer, 0.4), DET_CHECKPOINT);
    det_trainer_free(trainer);
}

TEST(who_asks_to_stop_gets_a_checkpoint_and_nothing_else)
{
    det_trainer_options options = batches(100, 5, 0);
    det_trainer *trainer = trainer_of(&options);

    (void)det_trainer_batch_end(trainer);
    det_trainer_stop(trainer);
    CHECK_EQ(det_trainer_batch_end(trainer), DET_STOP | DET_CHECKPOINT | DET_REPORT);
    det_trainer_free(trainer);
}

TEST(a_validation_that_was_due_when_somebody_asked_to_stop_comes_first_afterwards)
{
    det_trainer_options options = batches(100, 3, 0);
    det_trainer *trainer = trainer_of(&options), *next = trainer_of(&options);
    const char *text;

    for (int i = 0; i < 2; i++)
        (void)det_trainer_batch_end(trainer);
    det_trainer_stop(trainer);
    CHECK_EQ(det_trainer_batch_end(trainer) & (DET_VALIDATE | DET_STOP), DET_STOP);
    det_trainer_saved(trainer);
    CHECK_OK(det_trainer_save(trainer, &text));
    CHECK_OK(det_trainer_load(next, text));
    CHECK_EQ(det_trainer_begin(next), DET_VALIDATE | DET_REPORT);
    CHECK_EQ(det_trainer_validated(next, 1), 0); /* this state is saved */
    CHECK_EQ(det_trainer_begin(next) & DET_VALIDATE, 0);
    CHECK_EQ(det_trainer_batch_end(next) & DET_VALIDATE, 0);
    det_trainer_free(trainer);
    det_trainer_free(next);
}

TEST(before_the_first_batch)
{
    det_trainer_options options = batches(5, 0, 0);
    det_trainer *trainer = trainer_of(&options);

    CHECK_EQ(det_trainer_begin(trainer), 0);
    det_trainer_free(trainer);
    options.initial_validation = 1;
    trainer = trainer_of(&options);
    CHECK_EQ(det_trainer_begin(trainer), DET_VALIDATE);
    CHECK_EQ(det_trainer_validated(trainer, 1), 0); /* nothing to save yet */
    CHECK_EQ(det_trainer_begin(trainer), 0);
    det_trainer_free(trainer);
    options = batches(0, 0, 0);
    trainer = trainer_of(&options);
    CHECK_EQ(det_trainer_begin(trainer), DET_STOP);
    det_trainer_free(trainer);
}

TEST(windows_average_what_came_since_the_last)
{
    det_trainer_options options = batches(100, 0, 0);
    det_trainer *trainer = trainer_of(&options);
    const char *const *names;
    const double *means;

    CHECK_OK(det_trainer_metric(trainer, "loss", 1));
    CHECK_OK(det_trainer_metric(trainer, "accuracy", 0.5));
    CHECK_OK(det_trainer_metric(trainer, "loss", 2));
    CHECK_EQ(det_trainer_window(trainer, &names, &means), 2);
    CHECK_STR(names[0], "loss");
    CHECK(means[0] == 1.5);
    CHECK(means[1] == 0.5);
    CHECK_OK(det_trainer_metric(trainer, "accuracy", 1));
    CHECK_EQ(det_trainer_window(trainer, &names, &means), 1);
    CHECK_STR(names[0], "accuracy");
    CHECK_EQ(det_trainer_metric(trainer, "", 1), DET_INVALID);
    CHECK_EQ(det_trainer_metric(trainer, "a\nb", 1), DET_INVALID);
    det_trainer_free(trainer);
}

/* Saves, and loads the state into a new trainer. */
static det_trainer *reborn(det_trainer *trainer, const det_trainer_options *options)
{
    det_trainer *next = trainer_of(options);
    const char *text = NULL;

    CHECK_OK(det_trainer_save(trainer, &text));
    CHECK_OK(det_trainer_load(next, text));
    det_trainer_free(trainer);
    return next;
}

static int64_t upto(struct rng64 *rng, int64_t most)
{
    return (int64_t)rng64_below(rng, (uint64_t)most + 1);
}

TEST(an_interrupted_training_does_the_same_at_the_same_batches)
{
    struct rng64 rng = {.state = 20261115};

    for (int round = 0; round < 500; round++) {
        det_trainer_options options =
            batches(1 + upto(&rng, 40), upto(&rng, 9), upto(&rng, 9));
        char calm[1024] = "";
        char rough[1024] = "";
        det_trainer *a, *b;
        const char *left = NULL, *right = NULL;

        options.keep = (int)upto(&rng, 2);
        options.reporting_period.count = 1 + upto(&rng, 6);
        options.batches_per_epoch = upto(&rng, 7);
        a = trainer_of(&options);
        b = trainer_of(&options);
        for (int64_t i = 0; i < options.max_length.count; i++) {
            double value = (double)rng64_next(&rng) / 3e18;

            CHECK_OK(det_trainer_metric(a, "loss", value));
            CHECK_OK(det_trainer_metric(b, "loss", value));
            step(a, calm, sizeof(calm));
            step(b, rough, sizeof(rough));
            if (!upto(&rng, 3))
                b = reborn(b, &options);
        }
        CHECK_STR(rough, calm);
        CHECK_OK(det_trainer_save(a, &left));
        CHECK_OK(det_trainer_save(b, &right));
        CHECK_STR(right, left);
        det_trainer_free(a);
        det_trainer_free(b);
    }
}

TEST(a_damaged_state_changes_nothing)
{
    det_trainer_options options = batches(100, 0, 0);
    det_trainer *trainer = trainer_of(&options);
    const char *text = NULL;
    char copy[512];

    CHECK_OK(det_trainer_metric(trainer, "loss", 0.1));
    (void)det_trainer_batch_end(trainer);
    CHECK_OK(det_trainer_save(trainer, &text));
    (void)snprintf(copy, sizeof(copy), "%s", text);
    for (size_t len = 0; len + 1 < strlen(text); len++) {
        char cut[512];

        (void)snprintf(cut, sizeof(cut), "%.*s", (int)len, copy);
        if (len && cut[len - 1] == '\n' && strstr(cut, "best"))
            continue; /* complete lines: missing windows are allowed */
        CHECK_EQ(det_trainer_load(trainer, cut), DET_CORRUPT);
        CHECK_EQ(det_trainer_batches(trainer), 1);
    }
    det_trainer_free(trainer);
}

TEST(options_that_make_no_sense_are_told)
{
    det_trainer_options options = {.size = sizeof(options)};
    det_trainer *trainer = NULL;
    char error[256];

    CHECK_EQ(det_trainer_new(&options, &trainer, error, sizeof(error)), DET_INVALID);
    CHECK_STR(error, "nothing says how long to train: give max_length");
    options.max_length = (det_length){DET_RECORDS, 10};
    CHECK_EQ(det_trainer_new(&options, &trainer, error, sizeof(error)), DET_INVALID);
    CHECK_STR(error, "max_length is in records, but the size of a batch is not known");
    options.max_length = (det_length){DET_BATCHES, -1};
    CHECK_EQ(det_trainer_new(&options, &trainer, NULL, 0), DET_INVALID);
    options.max_length = (det_length){17, 1};
    CHECK_EQ(det_trainer_new(&options, &trainer, NULL, 0), DET_INVALID);
    CHECK(!trainer);
}

TEST(without_memory_nothing_is_lost)
{
    EACH_ALLOCATION_FAILS() {
        det_trainer_options options = batches(100, 0, 0);
        det_trainer *trainer = NULL;
        const char *text;
        det_status st = det_trainer_new(&options, &trainer, NULL, 0);

        if (!st)
            st = det_trainer_metric(trainer, "loss", 1);
        if (!st)
            st = det_trainer_save(trainer, &text);
        if (!st)
            st = det_trainer_load(trainer, text);
        CHECK_EQ(st, fault_fired() ? DET_NOMEM : DET_OK);
        det_trainer_free(trainer);
    }
}
