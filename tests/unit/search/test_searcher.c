/* SPDX-License-Identifier: Apache-2.0 */
/* test_searcher.c - searches from start to shutdown: which trials they create, how many
 * at a time, and how they end. */
#include <math.h>

#include "search/method.h"
#include "search/methods.h"
#include "search/preview.h"
#include "tests/unit/search/world.h"

/* The reference sequence: seed 42, these hyperparameters. */
#define GOLDEN_HPARAMS                                                                 \
    "{\"e\":{\"type\":\"const\",\"val\":7},"                                           \
    "\"a\":{\"type\":\"log\",\"base\":10,\"minval\":-4,\"maxval\":-1},"                \
    "\"b\":{\"type\":\"int\",\"minval\":1,\"maxval\":10},"                             \
    "\"c\":{\"type\":\"categorical\",\"vals\":[\"x\",\"yy\",\"z\"]},"                  \
    "\"d\":{\"type\":\"double\",\"minval\":0,\"maxval\":1}}"

#define GOLDEN_GRID                                                                    \
    "{\"a\":{\"type\":\"log\",\"base\":10,\"minval\":-4,\"maxval\":-1,\"count\":2},"   \
    "\"b\":{\"type\":\"int\",\"minval\":1,\"maxval\":10,\"count\":3},"                 \
    "\"c\":{\"type\":\"categorical\",\"vals\":[\"x\",\"yy\"]}}"

#define RANDOM(max_trials, at_once)                                                    \
    "{\"name\":\"random\",\"max_trials\":" #max_trials                                 \
    ",\"max_concurrent_trials\":" #at_once "}"
#define GRID(at_once) "{\"name\":\"grid\",\"max_concurrent_trials\":" #at_once "}"
#define SINGLE        "{\"name\":\"single\"}"
#define ONE_CHOICE    "{\"x\":{\"type\":\"int\",\"minval\":0,\"maxval\":1000000}}"

struct golden {
    const char *request_id;
    uint32_t trial_seed;
    double a;
    int64_t b;
    const char *c;
    double d;
};

static const struct golden golden[] = {
    {"79182272-d241-4f27-96f4-97194a91de0e", 1972458954, 0.0013292918943162153, 8, "x",
     0.596850157946487},
    {"01034cf8-57e9-44b8-abf5-1ad59dfd44f0", 911989541, 0.03967605077052987, 4, "z",
     0.020584494295802447},
    {"15705686-fc18-4f01-abf2-936e586be705", 1250819632, 0.0001005394019469302, 5, "x",
     0.3042422429595377},
};

static void check_golden(struct world *world, const struct search_op *op,
                         const struct golden *expected)
{
    struct json *hparams = world_parse(&world->mem, op->hparams);
    double a = NAN;
    double d = NAN;

    CHECK_EQ(op->kind, SEARCH_CREATE);
    CHECK_STR(op->request_id, expected->request_id);
    CHECK_EQ(op->trial_seed, expected->trial_seed);
    CHECK(json_number(json_get(hparams, "a"), &a));
    CHECK(fabs(a - expected->a) <= 1e-15 * expected->a);
    CHECK_EQ(json_i64(json_get(hparams, "b"), 0), expected->b);
    CHECK_STR(json_str(json_get(hparams, "c"), ""), expected->c);
    CHECK(json_number(json_get(hparams, "d"), &d));
    CHECK(d == expected->d);
    CHECK_EQ(json_i64(json_get(hparams, "e"), 0), 7);
    CHECK_EQ(hparams->list.count, 5);
}

TEST(random_creates_the_reference_trials)
{
    CLEANUP(world_done)
    struct world world = world_of(RANDOM(3, 16), GOLDEN_HPARAMS, 42);

    world_start(&world);

    CHECK_OK(world.out.status);
    CHECK_EQ(world.out.count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        CHECK_EQ(world.out.op[i].trial, i);
        check_golden(&world, &world.out.op[i], &golden[i]);
    }
}

TEST(random_one_at_a_time_creates_the_same_trials)
{
    CLEANUP(world_done) struct world world = world_of(RANDOM(3, 1), GOLDEN_HPARAMS, 42);

    check_golden(&world, &world_start(&world)->op[0], &golden[0]);
    check_golden(&world, &world_exit(&world, 0, SEARCH_EXIT_DONE)->op[0], &golden[1]);
    check_golden(&world, &world_exit(&world, 1, SEARCH_EXIT_ERRORED)->op[0],
                 &golden[2]);
    CHECK_EQ(world.out.count, 1);
}

TEST(single_creates_the_first_reference_trial_and_ends_with_it)
{
    CLEANUP(world_done) struct world world = world_of(SINGLE, GOLDEN_HPARAMS, 42);

    CHECK_EQ(world_start(&world)->count, 1);
    check_golden(&world, &world.out.op[0], &golden[0]);
    CHECK_EQ(world_exit(&world, 0, SEARCH_EXIT_DONE)->count, 1);
    CHECK_EQ(world.out.op[0].kind, SEARCH_SHUTDOWN);
    CHECK(!world.out.op[0].is_failure);
    CHECK(!world.out.op[0].is_cancel);
}

TEST(grid_creates_the_reference_trials_from_the_end_of_the_product)
{
    static const struct {
        const char *request_id;
        uint32_t seed;
        const char *hparams;
    } expected[] = {
        {"66dce15f-b33d-4acb-9c03-62f30e95f52e", 996406378,
         "{\"a\":0.1,\"b\":10,\"c\":\"yy\"}"},
        {"47d499c7-bcae-4199-942c-cb9866d6f027", 1914837113,
         "{\"a\":0.1,\"b\":10,\"c\":\"x\"}"},
        {"d241ef27-d6f4-4719-8a91-de0eca559175", 1572714583,
         "{\"a\":0.1,\"b\":6,\"c\":\"yy\"}"},
    };
    CLEANUP(world_done) struct world world = world_of(GRID(3), GOLDEN_GRID, 42);

    world_start(&world);

    CHECK_EQ(world.out.count, ARRAY_LEN(expected));
    for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
        CHECK_STR(world.out.op[i].request_id, expected[i].request_id);
        CHECK_EQ(world.out.op[i].trial_seed, expected[i].seed);
        CHECK_STR(world.out.op[i].hparams, expected[i].hparams);
    }
}

/* Runs a search to its end, the oldest open trial exiting first; returns the number of
 * trials, checking that never more than `at_once` are open. */
static uint32_t run_to_the_end(struct world *world, uint32_t at_once,
                               enum search_exit why)
{
    uint32_t created = world_count(world_start(world), SEARCH_CREATE);

    for (uint32_t trial = 0; trial < created; trial++) {
        uint32_t open = created - trial;

        CHECK(open <= at_once);
        CHECK_EQ(world_count(&world->out, SEARCH_SHUTDOWN), 0);
        created += world_count(world_exit(world, trial, why), SEARCH_CREATE);
        CHECK_OK(world->out.status);
    }
    CHECK_EQ(world->out.count, 1);
    CHECK_EQ(world->out.op[0].kind, SEARCH_SHUTDOWN);
    return created;
}

TEST(a_grid_visits_every_point_once)
{
    CLEANUP(world_done) struct world world = world_of(GRID(5), GOLDEN_GRID, 1);

    CHECK_EQ(run_to_the_end(&world, 5, SEARCH_EXIT_DONE), 12);
}

TEST(no_more_trials_are_open_than_may_be)
{
    CLEANUP(world_done) struct world few = world_of(RANDOM(50, 4), ONE_CHOICE, 1);
    CLEANUP(world_done) struct world all = world_of(RANDOM(50, 0), ONE_CHOICE, 1);
    CLEANUP(world_done)
    struct world standard =
        world_of("{\"name\":\"random\",\"max_trials\":50}", ONE_CHOICE, 1);
    CLEANUP(world_done) struct world grid = world_of(GRID(0), GOLDEN_GRID, 1);

    CHECK_EQ(run_to_the_end(&few, 4, SEARCH_EXIT_DONE), 50);
    CHECK_EQ(run_to_the_end(&all, 50, SEARCH_EXIT_DONE), 50);
    CHECK_EQ(run_to_the_end(&standard, 16, SEARCH_EXIT_DONE), 50);
    CHECK_EQ(run_to_the_end(&grid, 12, SEARCH_EXIT_DONE), 12);
}

TEST(the_limit_is_used_fully_from_the_start)
{
    CLEANUP(world_done) struct world few = world_of(RANDOM(50, 4), ONE_CHOICE, 1);
    CLEANUP(world_done) struct world all = world_of(RANDOM(50, 0), ONE_CHOICE, 1);
    CLEANUP(world_done) struct world grid = world_of(GRID(0), GOLDEN_GRID, 1);

    CHECK_EQ(world_start(&few)->count, 4);
    CHECK_EQ(world_start(&all)->count, 50);
    CHECK_EQ(world_start(&grid)->count, 12);
}

TEST(a_grid_without_hyperparameters_cannot_start)
{
    CLEANUP(world_done) struct world world = world_of(GRID(1), "{}", 1);

    world_start(&world);

    CHECK_EQ(world.out.status, DET_INVALID);
    CHECK_HAS(world.out.err.text, "at least one hyperparameter");
    CHECK_EQ(world.out.count, 0);
}

TEST(a_search_is_a_failure_only_if_every_trial_failed)
{
    CLEANUP(world_done) struct world all = world_of(RANDOM(3, 2), ONE_CHOICE, 1);
    CLEANUP(world_done) struct world some = world_of(RANDOM(2, 2), ONE_CHOICE, 1);

    run_to_the_end(&all, 2, SEARCH_EXIT_ERRORED);
    CHECK(all.out.op[0].is_failure);
    CHECK(!all.out.op[0].is_cancel);

    world_start(&some);
    CHECK_EQ(world_exit(&some, 1, SEARCH_EXIT_ERRORED)->count, 0);
    CHECK_EQ(world_exit(&some, 0, SEARCH_EXIT_DONE)->count, 1);
    CHECK(!some.out.op[0].is_failure);
}

TEST(a_search_is_cancelled_only_if_every_trial_was)
{
    CLEANUP(world_done) struct world all = world_of(GRID(4), GOLDEN_GRID, 1);
    CLEANUP(world_done) struct world some = world_of(RANDOM(2, 2), ONE_CHOICE, 1);

    run_to_the_end(&all, 4, SEARCH_EXIT_CANCELED);
    CHECK(all.out.op[0].is_cancel);
    CHECK(!all.out.op[0].is_failure);

    world_start(&some);
    world_exit(&some, 0, SEARCH_EXIT_CANCELED);
    world_exit(&some, 1, SEARCH_EXIT_ERRORED);
    CHECK_EQ(some.out.op[0].kind, SEARCH_SHUTDOWN);
    CHECK(!some.out.op[0].is_cancel);
    CHECK(!some.out.op[0].is_failure);
}

TEST(random_replaces_trials_of_invalid_hyperparameters)
{
    CLEANUP(world_done) struct world world = world_of(RANDOM(2, 2), ONE_CHOICE, 1);

    world_start(&world);
    CHECK_EQ(world_exit(&world, 1, SEARCH_EXIT_INVALID_HPARAMS)->count, 1);
    CHECK_EQ(world.out.op[0].kind, SEARCH_CREATE);
    CHECK_EQ(world.out.op[0].trial, 2);
    CHECK_EQ(world_exit(&world, 0, SEARCH_EXIT_DONE)->count, 0);
    CHECK_EQ(world_exit(&world, 2, SEARCH_EXIT_DONE)->count, 1);
    CHECK_EQ(world.out.op[0].kind, SEARCH_SHUTDOWN);
    CHECK(!world.out.op[0].is_failure);
}

TEST(grid_and_single_do_not_replace_invalid_hyperparameters)
{
    CLEANUP(world_done) struct world grid = world_of(GRID(1), GOLDEN_GRID, 1);
    CLEANUP(world_done) struct world single = world_of(SINGLE, ONE_CHOICE, 1);

    CHECK_EQ(run_to_the_end(&grid, 1, SEARCH_EXIT_INVALID_HPARAMS), 12);
    CHECK_EQ(run_to_the_end(&single, 1, SEARCH_EXIT_INVALID_HPARAMS), 1);
    CHECK(!grid.out.op[0].is_failure);
    CHECK(!single.out.op[0].is_failure);
}

TEST(a_search_that_only_draws_invalid_hyperparameters_gives_up)
{
    CLEANUP(world_done) struct world one = world_of(RANDOM(5, 1), ONE_CHOICE, 1);
    CLEANUP(world_done) struct world three = world_of(RANDOM(5, 3), ONE_CHOICE, 1);
    CLEANUP(world_done) struct world many = world_of(RANDOM(5000, 0), ONE_CHOICE, 1);

    /* With the last invalid one, those still open are waited for. */
    CHECK_EQ(run_to_the_end(&one, 1, SEARCH_EXIT_INVALID_HPARAMS),
             SEARCH_INVALID_LIMIT);
    CHECK(one.out.op[0].is_failure);
    CHECK_EQ(run_to_the_end(&three, 3, SEARCH_EXIT_INVALID_HPARAMS),
             3 * SEARCH_INVALID_LIMIT + 2);
    CHECK(three.out.op[0].is_failure);
    CHECK_EQ(run_to_the_end(&many, 5000, SEARCH_EXIT_INVALID_HPARAMS),
             SEARCH_INVALID_LANES * SEARCH_INVALID_LIMIT + 4999);
    CHECK(many.out.op[0].is_failure);
}

TEST(a_trial_that_works_ends_the_row_of_invalid_ones)
{
    CLEANUP(world_done) struct world world = world_of(RANDOM(4, 2), ONE_CHOICE, 1);
    uint32_t trial = 1;

    world_start(&world);
    /* Trial 0 validates now and then; all others are invalid for a long time. */
    for (; trial < 10 * SEARCH_INVALID_LIMIT; trial++) {
        if (trial % SEARCH_INVALID_LIMIT == 0)
            searcher_trial_created(world.searcher, 0, world_begin(&world));
        if (trial % SEARCH_INVALID_LIMIT == 0)
            searcher_validated(world.searcher, 0, NULL, world_begin(&world));
        CHECK_EQ(world_exit(&world, trial, SEARCH_EXIT_INVALID_HPARAMS)->count, 1);
        CHECK_EQ(world.out.op[0].kind, SEARCH_CREATE);
    }
    world_exit(&world, 0, SEARCH_EXIT_DONE);
    CHECK_EQ(world.out.op[0].kind, SEARCH_CREATE);
    for (uint32_t i = 0; i < 3; i++)
        world_exit(&world, trial + i, SEARCH_EXIT_DONE);
    CHECK_EQ(world.out.op[0].kind, SEARCH_SHUTDOWN);
    CHECK(!world.out.op[0].is_failure);
}

TEST(a_second_exit_does_nothing)
{
    CLEANUP(world_done) struct world world = world_of(RANDOM(9, 2), ONE_CHOICE, 1);

    world_start(&world);
    CHECK_EQ(world_exit(&world, 0, SEARCH_EXIT_DONE)->count, 1);
    CHECK_EQ(world_exit(&world, 0, SEARCH_EXIT_DONE)->count, 0);
    CHECK_EQ(world_exit(&world, 0, SEARCH_EXIT_INVALID_HPARAMS)->count, 0);
}

TEST(trials_that_nobody_asked_for_are_ignored)
{
    CLEANUP(world_done) struct world world = world_of(RANDOM(9, 2), ONE_CHOICE, 1);

    world_start(&world);
    world_begin(&world);
    searcher_trial_created(world.searcher, 2, &world.out);
    searcher_validated(world.searcher, UINT32_MAX, NULL, &world.out);
    searcher_trial_exited(world.searcher, 77, SEARCH_EXIT_DONE, &world.out);
    searcher_set_progress(world.searcher, 2, 1);

    CHECK_EQ(world.out.count, 0);
    CHECK(searcher_progress(world.searcher) == 0);
}

TEST(progress_is_the_mean_over_all_trials_also_those_to_come)
{
    CLEANUP(world_done) struct world world = world_of(RANDOM(4, 3), ONE_CHOICE, 1);
    struct searcher *s = world.searcher;

    CHECK(searcher_progress(s) == 0);
    world_start(&world);
    CHECK(searcher_progress(s) == 0);
    for (uint32_t i = 0; i < 3; i++)
        searcher_trial_created(s, i, world_begin(&world));
    searcher_trial_created(s, 0, world_begin(&world));
    searcher_set_progress(s, 0, 0.75);
    searcher_set_progress(s, 1, 0.3);
    searcher_set_progress(s, 1, 0.75);
    CHECK(searcher_progress(s) == 1.5 / 4);
    world_exit(&world, 2, SEARCH_EXIT_ERRORED);
    CHECK(searcher_progress(s) == 2.5 / 3);
    /* Invalid ones are left out. */
    world_exit(&world, 1, SEARCH_EXIT_INVALID_HPARAMS);
    CHECK(searcher_progress(s) == 0.875);
    searcher_set_progress(s, 2, 0);
    searcher_set_progress(s, 1, 0);
    CHECK(searcher_progress(s) == 0.875);
}

TEST(progress_is_never_out_of_bounds_nor_changed_by_rounding)
{
    CLEANUP(world_done) struct world world = world_of(SINGLE, ONE_CHOICE, 1);
    struct searcher *s = world.searcher;
    struct rng64 dice = {.state = 9};

    world_start(&world);
    searcher_trial_created(s, 0, world_begin(&world));
    searcher_set_progress(s, 0, NAN);
    CHECK(searcher_progress(s) == 0);
    searcher_set_progress(s, 0, -INFINITY);
    CHECK(searcher_progress(s) == 0);
    searcher_set_progress(s, 0, 7);
    CHECK(searcher_progress(s) == 1);
    for (int i = 0; i < 1000; i++) {
        double progress = 0.01 + (double)rng64_below(&dice, 1000000) / 1234567.0;

        searcher_set_progress(s, 0, progress);
        CHECK(searcher_progress(s) == progress);
    }
}

TEST(a_trial_is_asked_to_stop_once_and_not_listened_to_after)
{
    CLEANUP(world_done) struct world world = world_of(RANDOM(2, 2), ONE_CHOICE, 1);
    struct searcher *s = world.searcher;

    world_start(&world);
    world_begin(&world);
    search_stop(s, 0, &world.out); /* it does not run yet */
    CHECK_EQ(world.out.count, 0);
    searcher_trial_created(s, 0, &world.out);
    search_stop(s, 0, &world.out);
    search_stop(s, 0, &world.out);
    search_stop(s, 9, &world.out);
    CHECK_EQ(world.out.count, 1);
    CHECK_EQ(world.out.op[0].kind, SEARCH_STOP);
    CHECK_EQ(world.out.op[0].trial, 0);
    CHECK_EQ(world_exit(&world, 0, SEARCH_EXIT_DONE)->count, 0);
    CHECK_EQ(world_exit(&world, 1, SEARCH_EXIT_DONE)->count, 1);
}

TEST(every_name_is_a_method_and_others_are_not_built)
{
    CLEANUP(world_done)
    struct world world = world_try("{\"name\":\"adaptive_simple\"}", "{}", 1);

#define CHECK_FOUND(name_) CHECK_STR(search_method_find(#name_)->name, #name_);
    SEARCH_METHOD_MAP(CHECK_FOUND)
#undef CHECK_FOUND
    CHECK_EQ(world.status, DET_UNSUPPORTED);
    CHECK_HAS(world.err.text, "'adaptive_simple'");
}

TEST(a_configuration_without_sense_is_refused)
{
    CLEANUP(world_done)
    struct world none = world_try("{\"name\":\"random\"}", ONE_CHOICE, 1);
    CLEANUP(world_done) struct world zero = world_try(RANDOM(0, 1), ONE_CHOICE, 1);
    CLEANUP(world_done)
    struct world huge = world_try(RANDOM(4294967295, 1), ONE_CHOICE, 1);
    CLEANUP(world_done) struct world negative = world_try(GRID(-1), GOLDEN_GRID, 1);
    CLEANUP(world_done) struct world uncounted = world_try(GRID(1), ONE_CHOICE, 1);

    CHECK_EQ(none.status, DET_INVALID);
    CHECK_HAS(none.err.text, "searcher.max_trials");
    CHECK_EQ(zero.status, DET_INVALID);
    CHECK_EQ(huge.status, DET_INVALID);
    CHECK_HAS(huge.err.text, "4294967294");
    CHECK_EQ(negative.status, DET_INVALID);
    CHECK_HAS(negative.err.text, "searcher.max_concurrent_trials");
    CHECK_EQ(uncounted.status, DET_INVALID);
}

static void check_preview(const char *config, const char *hparams, const char *expected)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(WORLD_MEMORY);
    struct json *trials = NULL;

    CHECK_OK(search_preview(world_parse(&mem, config), world_parse(&mem, hparams), &mem,
                            &trials, &test_err));

    CHECK_STR(json_text(&mem, trials), expected);
}

TEST(the_preview_counts_without_running)
{
    check_preview(SINGLE, ONE_CHOICE, "[{\"count\":1,\"unit\":{\"maxLength\":true}}]");
    check_preview(RANDOM(70, 3), ONE_CHOICE,
                  "[{\"count\":70,\"unit\":{\"maxLength\":true}}]");
    check_preview(GRID(3), GOLDEN_GRID,
                  "[{\"count\":12,\"unit\":{\"maxLength\":true}}]");
    check_preview(GRID(3), "{}", "[{\"count\":0,\"unit\":{\"maxLength\":true}}]");
}

TEST(the_preview_of_no_method_fails)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(WORLD_MEMORY);
    struct json *trials = NULL;

    CHECK_EQ(search_preview(world_parse(&mem, "{\"name\":\"custom\"}"), NULL, &mem,
                            &trials, NULL),
             DET_UNSUPPORTED);
    CHECK_NULL(trials);
}

TEST(a_preview_without_memory_says_so)
{
    EACH_ALLOCATION_FAILS() {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(WORLD_MEMORY);
        struct json *config = world_parse(&mem, GRID(3));
        struct json *hparams = world_parse(&mem, GOLDEN_GRID);
        struct json *trials = NULL;
        det_status status = DET_NOMEM;

        if (config && hparams)
            status = search_preview(config, hparams, &mem, &trials, NULL);

        CHECK_EQ(status, fault_fired() ? DET_NOMEM : DET_OK);
        CHECK_EQ(trials != NULL, !fault_fired());
    }
}

/* A failed input is told once and leaves nothing behind that leaks or breaks. */
static void run_without_memory(const char *config)
{
    EACH_ALLOCATION_FAILS() {
        CLEANUP(world_done) struct world world = world_try(config, GOLDEN_GRID, 3);
        det_status status = world.status;

        if (!status)
            status = world_start(&world)->status;
        for (uint32_t i = 0; i < 12 && !status; i++)
            status = world_exit(&world, i, i % 4)->status;

        CHECK_EQ(status, fault_fired() ? DET_NOMEM : DET_OK);
    }
}

TEST(a_search_without_memory_says_so)
{
    run_without_memory(SINGLE);
    run_without_memory(RANDOM(20, 6));
    run_without_memory(GRID(2));
}

TEST(a_trial_that_goes_on_after_all_is_open_again)
{
    CLEANUP(world_done) struct world world = world_of(RANDOM(3, 1), ONE_CHOICE, 1);
    CLEANUP(buf_done) struct buf saved = BUF_INIT;
    double before;

    world_start(&world);
    world_exit(&world, 0, SEARCH_EXIT_DONE);
    searcher_trial_reopened(world.searcher, 0); /* it is done, and stays so */
    before = searcher_progress(world.searcher);
    CHECK_EQ(world_exit(&world, 1, SEARCH_EXIT_ERRORED)->count, 1);
    searcher_trial_reopened(world.searcher, 1);
    searcher_trial_reopened(world.searcher, 1); /* once is enough */
    searcher_trial_reopened(world.searcher, 9);
    CHECK(searcher_progress(world.searcher) <= before);
    searcher_save(world.searcher, &saved);
    CHECK_HAS(saved.data, "\"trials\":\"dur\"");
    CHECK_EQ(world_exit(&world, 2, SEARCH_EXIT_DONE)->count, 0);
    CHECK_EQ(world_exit(&world, 1, SEARCH_EXIT_CANCELED)->count, 1);
    CHECK_EQ(world.out.op[0].kind, SEARCH_SHUTDOWN);
    CHECK(!world.out.op[0].is_failure && !world.out.op[0].is_cancel);
}

TEST(a_failure_that_was_taken_back_does_not_count)
{
    CLEANUP(world_done) struct world world = world_of(RANDOM(2, 2), ONE_CHOICE, 1);

    world_start(&world);
    CHECK_EQ(world_exit(&world, 0, SEARCH_EXIT_ERRORED)->count, 0);
    searcher_trial_reopened(world.searcher, 0);
    CHECK_EQ(world_exit(&world, 0, SEARCH_EXIT_DONE)->count, 0);
    CHECK_EQ(world_exit(&world, 1, SEARCH_EXIT_DONE)->count, 1);
    CHECK_EQ(world.out.op[0].kind, SEARCH_SHUTDOWN);
    CHECK(!world.out.op[0].is_failure && !world.out.op[0].is_cancel);
}

TEST(a_trial_that_fails_twice_is_one_failure)
{
    CLEANUP(world_done) struct world world = world_of(RANDOM(2, 2), ONE_CHOICE, 1);

    world_start(&world);
    world_exit(&world, 0, SEARCH_EXIT_ERRORED);
    searcher_trial_reopened(world.searcher, 0);
    world_exit(&world, 0, SEARCH_EXIT_ERRORED);
    CHECK_EQ(world_exit(&world, 1, SEARCH_EXIT_DONE)->count, 1);
    CHECK(!world.out.op[0].is_failure && !world.out.op[0].is_cancel);
}

TEST(the_arena_of_the_operations_may_be_too_small)
{
    CLEANUP(world_done) struct world world = world_of(RANDOM(100000, 0), ONE_CHOICE, 1);

    world.mem.limit = 10000;
    world_start(&world);

    CHECK_EQ(world.out.status, DET_NOMEM);
    CHECK(world.out.count > 0);
}
