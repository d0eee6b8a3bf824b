/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/config/fixture.h"

TEST(steps_of_the_tutorial_become_batches)
{
    FIXTURE(f);

    CHECK_LOADS(&f, "description: mnist_keras_const_simple\n"
                    "hyperparameters:\n"
                    "    global_batch_size: 32\n"
                    "searcher:\n"
                    "    name: single\n"
                    "    metric: val_loss\n"
                    "    max_steps: 40\n"
                    "min_validation_period: 10\n"
                    "entrypoint: model_def:MNISTTrial\n");

    CHECK_STR(at(&f, "searcher.max_length"), "{\"batches\":4000}");
    CHECK_STR(at(&f, "searcher.max_steps"), "(absent)");
    CHECK_STR(at(&f, "min_validation_period"), "{\"batches\":1000}");
    CHECK_STR(
        lines(&f),
        "c.yaml:7:16: searcher.max_steps: counts steps; 40 steps of 100 batches "
        "are max_length: {batches: 4000}\n"
        "c.yaml:8:24: min_validation_period: counts steps; 10 steps of 100 batches "
        "are min_validation_period: {batches: 1000}\n");
}

TEST(the_grid_of_the_trainer_proposal_is_accepted)
{
    FIXTURE(f);

    CHECK_LOADS(&f, "# grid.yaml\n"
                    "entrypoint_script: python3 train.py\n"
                    "hyperparameters:\n"
                    "    global_batch_size:\n"
                    "        type: categorical\n"
                    "        vals: [16, 32, 64]\n"
                    "searcher:\n"
                    "    name: \"grid\"\n"
                    "    max_length:\n"
                    "        epochs: 20\n");

    CHECK_STR(at(&f, "entrypoint"), "\"python3 train.py\"");
    CHECK_STR(at(&f, "searcher.max_length"), "{\"epochs\":20}");
    CHECK_STR(lines(&f),
              "c.yaml:2:20: entrypoint_script: is called 'entrypoint' now\n");
}

TEST(the_launcher_of_the_keras_guide_is_accepted)
{
    FIXTURE(f);

    CHECK_LOADS(&f, SINGLE "entrypoint: >-\n"
                           "  python3 -m determined.launch.tensorflow --\n"
                           "  python3 my_train.py --my-arg...\n");
    CHECK_STR(at(&f, "entrypoint"), "\"python3 -m determined.launch.tensorflow -- "
                                    "python3 my_train.py --my-arg...\"");
    CHECK_EQ(f.report.notices, 0);
}

TEST(the_batch_inference_of_the_trainer_proposal_is_a_job)
{
    FIXTURE(f);

    CHECK_OK(load_file(&f, CONFIG_JOB,
                       "# batch_inference.yaml\n"
                       "entrypoint_script: python3 batch_inference.py\n"
                       "data:\n"
                       "    trial_id: 777\n"
                       "    batch_size: 64\n"
                       "resources:\n"
                       "    slots: 8\n",
                       NULL));
    CHECK_STR(at(&f, "entrypoint"), "\"python3 batch_inference.py\"");
    CHECK_STR(at(&f, "data.trial_id"), "777");
    CHECK_STR(at(&f, "resources.slots"), "8");
    CHECK_EQ(f.report.notices, 1);
}

TEST(a_step_may_have_another_length)
{
    FIXTURE(f);

    CHECK_LOADS(&f, "batches_per_step: 10\n"
                    "searcher: {name: single, max_steps: 40}\n"
                    "min_checkpoint_period: 2\n");

    CHECK_STR(at(&f, "searcher.max_length"), "{\"batches\":400}");
    CHECK_STR(at(&f, "min_checkpoint_period"), "{\"batches\":20}");
    CHECK_STR(at(&f, "scheduling_unit"), "10");
    CHECK_EQ(f.report.notices, 3);

    CHECK_REFUSES(&f, SINGLE "batches_per_step: 0\n", DET_INVALID,
                  "c.yaml:2:19: batches_per_step: expected a whole number from 1 to "
                  "2147483647");
}

TEST(steps_must_be_whole_numbers)
{
    FIXTURE(f);

    CHECK_REFUSES(&f, "searcher: {name: single, max_steps: many}\n", DET_INVALID,
                  "c.yaml:1:37: searcher.max_steps: expected a whole number of steps");
    CHECK_EQ(load(&f, "searcher: {name: single, max_steps: 1000000000000000000}\n"),
             DET_INVALID);
    CHECK_EQ(load(&f, SINGLE "min_validation_period: -1\n"), DET_INVALID);
}

TEST(a_bare_length_counts_batches)
{
    FIXTURE(f);

    CHECK_LOADS(&f, "searcher: {name: single, max_length: 500}\n");

    CHECK_STR(at(&f, "searcher.max_length"), "{\"batches\":500}");
    CHECK_STR(lines(&f), "c.yaml:1:38: searcher.max_length: a bare number counts "
                         "batches: {batches: 500}\n");
}

TEST(old_and_new_spelling_together_are_refused)
{
    FIXTURE(f);

    CHECK_REFUSES(
        &f, SINGLE "entrypoint: a\nentrypoint_script: b\n", DET_INVALID,
        "c.yaml:3:20: entrypoint_script: is the old spelling of 'entrypoint', "
        "which is given too; keep one");
}

TEST(old_searchers_become_those_of_today_and_are_then_refused)
{
    static const struct {
        const char *searcher;
        const char *notice;
        const char *refusal;
    } rows[] = {
        {"{name: asha, metric: m, max_trials: 8, num_rungs: 2, max_steps: 4}",
         "'asha' is called 'async_halving' now", "'async_halving' is not built yet"},
        {"{name: sync_halving, metric: m, num_rungs: 2, max_length: {epochs: 4}, "
         "budget: {epochs: 16}, divisor: 2, train_stragglers: false}",
         "here that is max_trials: 4", "'async_halving' is not built yet"},
        {"{name: adaptive, metric: m, target_trial_steps: 4, step_budget: 40, "
         "bracket_rungs: [1, 2], divisor: 3, mode: aggressive, max_rungs: 2}",
         "here that is max_trials: 10", "'adaptive_asha' is not built yet"},
        {"{name: adaptive_simple, metric: m, max_length: {records: 9}, max_trials: 3, "
         "divisor: 4, mode: standard, max_rungs: 2}",
         "is now written as time_metric: records, max_time: 9",
         "'adaptive_asha' is not built yet"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        FIXTURE(f);
        char *yaml = arena_printf(&f.mem, "searcher: %s\n", rows[i].searcher);

        if (load(&f, yaml) != DET_UNSUPPORTED)
            fail_msg("%s: %s", yaml, f.err.text);
        CHECK_EQ(f.report.errors, 1);
        CHECK_HAS(lines(&f), rows[i].notice);
        CHECK_HAS(f.err.text, rows[i].refusal);
    }
}

TEST(a_budget_is_counted_like_the_length)
{
    FIXTURE(f);

    CHECK_EQ(load(&f, "searcher: {name: adaptive, metric: m, max_length: {epochs: 4}, "
                      "budget: {batches: 4}, mode: standard}\n"),
             DET_INVALID);
    CHECK_HAS(f.err.text,
              "searcher.budget: expected a length in the unit of max_length");
}

TEST(gpu_is_called_cuda_now)
{
    FIXTURE(f);

    CHECK_LOADS(&f, SINGLE "environment:\n"
                           "  image: {gpu: a}\n"
                           "  environment_variables: {gpu: [A=1]}\n");

    CHECK_STR(at(&f, "environment.image.cuda"), "\"a\"");
    CHECK_STR(at(&f, "environment.environment_variables.cuda"), "[\"A=1\"]");
    CHECK_HAS(lines(&f), "c.yaml:3:16: environment.image.gpu: is called 'cuda' now\n");
}

TEST(an_action_is_a_plain_word)
{
    FIXTURE(f);

    CHECK_LOADS(&f, SINGLE "log_policies:\n"
                           "- {pattern: a, action: {type: cancel_retries}}\n");
    CHECK_HAS(at(&f, "log_policies"), "\"action\":\"cancel_retries\"");
    CHECK_HAS(lines(&f), "log_policies[0].action: is a plain word now");
}

TEST(old_keys_of_another_searcher_stay_unknown)
{
    FIXTURE(f);

    CHECK_EQ(load(&f, "searcher: {name: single, train_stragglers: true}\n"),
             DET_INVALID);
    CHECK_HAS(f.err.text, "searcher.train_stragglers: unknown key");
}
