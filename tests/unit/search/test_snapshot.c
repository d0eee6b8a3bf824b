/* SPDX-License-Identifier: Apache-2.0 */
/* test_snapshot.c - a search that is saved and loaded at any point continues unchanged. */
#include <stdio.h>

#include "base/rng.h"
#include "search/hparam.h"
#include "search/method.h"
#include "tests/unit/search/world.h"

#define HPARAMS                                                                        \
    "{\"a\":{\"type\":\"log\",\"base\":10,\"minval\":-4,\"maxval\":-1,\"count\":3},"   \
    "\"b\":{\"d\":{\"type\":\"double\",\"minval\":0,\"maxval\":1,\"count\":2},"        \
    "\"c\":{\"type\":\"categorical\",\"vals\":[\"x\",[1],null]}},"                     \
    "\"e\":{\"type\":\"int\",\"minval\":1,\"maxval\":4,\"count\":4}}"

static const char *const configs[] = {
    "{\"name\":\"single\"}",
    "{\"name\":\"random\",\"max_trials\":30,\"max_concurrent_trials\":5}",
    "{\"name\":\"random\",\"max_trials\":12,\"max_concurrent_trials\":0}",
    "{\"name\":\"grid\",\"max_concurrent_trials\":7}",
    "{\"name\":\"grid\",\"max_concurrent_trials\":0}",
};

/* The experiment of a search: knows which trials are open. */
struct driver {
    struct world world;
    struct rng64 dice;
    uint32_t open[128];
    uint32_t open_count;
    bool is_over;
};

static void driver_done(struct driver *driver)
{
    world_done(&driver->world);
}

static void note(struct driver *driver, struct buf *diary)
{
    const struct search_out *out = &driver->world.out;

    CHECK_OK(out->status);
    for (uint32_t i = 0; i < out->count; i++) {
        const struct search_op *op = &out->op[i];

        buf_printf(diary, "%d %u %s %u %s %d %d\n", op->kind, op->trial, op->request_id,
                   op->trial_seed, op->hparams ? op->hparams : "", op->is_failure,
                   op->is_cancel);
        if (op->kind == SEARCH_CREATE) {
            CHECK(driver->open_count < ARRAY_LEN(driver->open));
            driver->open[driver->open_count++] = op->trial;
        }
        driver->is_over |= op->kind == SEARCH_SHUTDOWN;
    }
    buf_printf(diary, "%a\n", searcher_progress(driver->world.searcher));
}

/* One random input. */
static void step(struct driver *driver, struct buf *diary)
{
    struct searcher *s = driver->world.searcher;
    struct search_out *out = world_begin(&driver->world);
    uint32_t pick = (uint32_t)rng64_below(&driver->dice, driver->open_count);
    uint32_t trial = driver->open[pick];
    double progress = (double)rng64_below(&driver->dice, 1000) / 999;
    uint64_t what = rng64_below(&driver->dice, 8);

    if (what < 2) {
        searcher_trial_created(s, trial, out);
    } else if (what < 4) {
        searcher_set_progress(s, trial, progress);
    } else if (what < 5) {
        searcher_validated(s, trial, NULL, out);
    } else {
        driver->open[pick] = driver->open[--driver->open_count];
        searcher_trial_exited(s, trial, (enum search_exit)rng64_below(&driver->dice, 4),
                              out);
    }
    note(driver, diary);
}

static void save(const struct searcher *s, struct buf *out)
{
    buf_clear(out);
    searcher_save(s, out);
    CHECK_OK(out->status);
}

/* Frees the searcher and makes it again from its snapshot. */
static void reincarnate(struct driver *driver, const char *config)
{
    CLEANUP(buf_done) struct buf before = BUF_INIT;
    CLEANUP(buf_done) struct buf after = BUF_INIT;
    struct world fresh = world_of(config, HPARAMS, 999);

    save(driver->world.searcher, &before);
    CHECK_OK(
        searcher_load(fresh.searcher, world_parse(&fresh.mem, before.data), &test_err));
    save(fresh.searcher, &after);
    CHECK_STR(after.data, before.data);

    world_done(&driver->world);
    driver->world = fresh;
}

/* Runs a whole search from a seed; `every` n: through a snapshot at each n-th input. */
static void play(const char *config, uint32_t seed, uint32_t every, struct buf *diary)
{
    CLEANUP(driver_done)
    struct driver driver = {
        .world = world_of(config, HPARAMS, seed),
        .dice = {.state = seed},
    };
    uint32_t inputs = 0;

    world_start(&driver.world);
    note(&driver, diary);
    while (!driver.is_over) {
        if (every && ++inputs % every == 0)
            reincarnate(&driver, config);
        step(&driver, diary);
    }
}

TEST(a_search_saved_and_loaded_before_every_input_is_the_same_search)
{
    for (size_t i = 0; i < ARRAY_LEN(configs); i++) {
        for (uint32_t seed = 1; seed <= 8; seed++) {
            CLEANUP(buf_done) struct buf plain = BUF_INIT;
            CLEANUP(buf_done) struct buf disturbed = BUF_INIT;

            play(configs[i], seed, 0, &plain);
            play(configs[i], seed, 1, &disturbed);

            CHECK_STR(disturbed.data, plain.data);
        }
    }
}

TEST(a_search_saved_and_loaded_now_and_then_is_the_same_search)
{
    for (size_t i = 0; i < ARRAY_LEN(configs); i++) {
        for (uint32_t seed = 100; seed < 160; seed++) {
            CLEANUP(buf_done) struct buf plain = BUF_INIT;
            CLEANUP(buf_done) struct buf disturbed = BUF_INIT;

            play(configs[i], seed, 0, &plain);
            play(configs[i], seed, 5 + seed % 20, &disturbed);

            CHECK_STR(disturbed.data, plain.data);
        }
    }
}

/* Compares the progress with a sum over all trials. */
TEST(progress_agrees_with_a_sum_over_all_trials)
{
    CLEANUP(world_done) struct world world = world_of(configs[2], HPARAMS, 5);
    struct rng64 dice = {.state = 77};
    double progress[12] = {0};
    double sum = 0;

    world_start(&world);
    for (uint32_t i = 0; i < 12; i++)
        searcher_trial_created(world.searcher, i, world_begin(&world));
    for (int i = 0; i < 5000; i++) {
        uint32_t trial = (uint32_t)rng64_below(&dice, 12);

        progress[trial] = (double)rng64_below(&dice, 1u << 20) / (1u << 20);
        searcher_set_progress(world.searcher, trial, progress[trial]);
    }
    for (uint32_t i = 0; i < 12; i++)
        sum += progress[i];

    CHECK(searcher_progress(world.searcher) == sum / 12);
}

/* A running search with every kind of state to save. */
static void busy_world(struct world *world)
{
    world_start(world);
    searcher_trial_created(world->searcher, 0, &world->out);
    searcher_trial_created(world->searcher, 1, &world->out);
    searcher_set_progress(world->searcher, 1, 0.1);
    searcher_trial_exited(world->searcher, 0, SEARCH_EXIT_ERRORED, &world->out);
    searcher_trial_exited(world->searcher, 2, SEARCH_EXIT_INVALID_HPARAMS, &world->out);
}

TEST(a_snapshot_is_compact_and_readable)
{
    CLEANUP(world_done) struct world world = world_of(configs[1], HPARAMS, 1);
    CLEANUP(buf_done) struct buf text = BUF_INIT;

    busy_world(&world);
    save(world.searcher, &text);

    CHECK_HAS(text.data, "{\"version\":2,\"method\":\"random\",\"rng\":{\"key\":\"");
    CHECK_HAS(text.data, "\"trials\":\"euirrrr\",\"progress\":[[1,0.1]],"
                         "\"invalid_in_a_row\":1,\"has_given_up\":false,"
                         "\"state\":{\"created\":6}}");
}

/* The same snapshot as earlier programs wrote it: the key as a list of numbers. */
static void put_version_1(const struct searcher *s, struct buf *out)
{
    CLEANUP(buf_done) struct buf now = BUF_INIT;
    const char *rest;

    save(s, &now);
    buf_puts(out, "{\"version\":1,\"method\":\"random\",\"rng\":{\"key\":[");
    for (size_t i = 0; i < RNG_WORDS; i++)
        buf_printf(out, "%s%u", i ? "," : "", s->rng.key[i]);
    rest = strstr(now.data, "\",\"pos\"");
    CHECK(rest != NULL);
    buf_printf(out, "]%s", rest + 1);
    CHECK_OK(out->status);
}

TEST(a_snapshot_of_an_earlier_version_is_the_same_search)
{
    CLEANUP(world_done) struct world world = world_of(configs[1], HPARAMS, 1);
    CLEANUP(world_done) struct world again = world_of(configs[1], HPARAMS, 999);
    CLEANUP(buf_done) struct buf old = BUF_INIT;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    CLEANUP(buf_done) struct buf loaded = BUF_INIT;

    busy_world(&world);
    put_version_1(world.searcher, &old);
    CHECK_OK(
        searcher_load(again.searcher, world_parse(&again.mem, old.data), &test_err));
    save(world.searcher, &text);
    save(again.searcher, &loaded);
    CHECK_STR(loaded.data, text.data);
}

TEST(the_row_of_invalid_trials_survives_a_snapshot)
{
    static const char config[] =
        "{\"name\":\"random\",\"max_trials\":3,\"max_concurrent_trials\":1}";
    CLEANUP(driver_done) struct driver driver = {.world = world_of(config, HPARAMS, 1)};
    uint32_t trial = 0;

    world_start(&driver.world);
    do {
        reincarnate(&driver, config);
        world_exit(&driver.world, trial++, SEARCH_EXIT_INVALID_HPARAMS);
    } while (driver.world.out.op[0].kind == SEARCH_CREATE);

    CHECK_EQ(trial, SEARCH_INVALID_LIMIT);
    CHECK(driver.world.out.op[0].is_failure);
}

TEST(a_search_that_gave_up_stays_so_after_a_snapshot)
{
    static const char config[] =
        "{\"name\":\"random\",\"max_trials\":3,\"max_concurrent_trials\":2}";
    CLEANUP(driver_done) struct driver driver = {.world = world_of(config, HPARAMS, 1)};
    uint32_t trial = 1;

    world_start(&driver.world);
    while (world_exit(&driver.world, trial++, SEARCH_EXIT_INVALID_HPARAMS)->count)
        ;
    reincarnate(&driver, config);
    world_exit(&driver.world, 0, SEARCH_EXIT_DONE);

    CHECK_EQ(trial - 1, 2 * SEARCH_INVALID_LIMIT);
    CHECK_EQ(driver.world.out.count, 1);
    CHECK_EQ(driver.world.out.op[0].kind, SEARCH_SHUTDOWN);
    CHECK(driver.world.out.op[0].is_failure);
}

TEST(a_snapshot_can_be_loaded_over_a_search_under_way)
{
    CLEANUP(world_done) struct world world = world_of(configs[1], HPARAMS, 1);
    CLEANUP(buf_done) struct buf start = BUF_INIT;
    CLEANUP(buf_done) struct buf again = BUF_INIT;

    save(world.searcher, &start);
    busy_world(&world);
    CHECK_OK(
        searcher_load(world.searcher, world_parse(&world.mem, start.data), &test_err));
    save(world.searcher, &again);

    CHECK_STR(again.data, start.data);
    CHECK(searcher_progress(world.searcher) == 0);
}

/* Loads the snapshot of a busy search with member `key` replaced (NULL: removed). */
static void check_damage(const char *key, const char *value, const char *part)
{
    CLEANUP(world_done) struct world world = world_of(configs[1], HPARAMS, 1);
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json *good;
    struct json *state;
    struct err err = {0};

    busy_world(&world);
    save(world.searcher, &text);
    good = world_parse(&world.mem, text.data);
    state = json_copy(&world.mem, good);
    if (value)
        json_set(&world.mem, state, key, world_parse(&world.mem, value));
    else
        json_remove(state, key);

    CHECK_EQ(searcher_load(world.searcher, state, &err), DET_CORRUPT);
    CHECK_HAS(err.text, part);
    CHECK_OK(searcher_load(world.searcher, good, &test_err));
}

TEST(damaged_snapshots_are_refused_and_a_good_one_still_loads)
{
    check_damage("version", "3", "'version'");
    check_damage("version", "1", "'rng'");
    check_damage("method", "\"grid\"", "by 'grid', not 'random'");
    check_damage("method", NULL, "not 'random'");
    check_damage("rng", NULL, "'rng'");
    check_damage("rng", "{\"key\":[1,2,3],\"pos\":1}", "'rng'");
    check_damage("rng", "{\"key\":\"00ff\",\"pos\":1}", "'rng'");
    check_damage("trials", "\"euxr\"", "'trials'");
    check_damage("trials", "\"eu\\u0000r\"", "'trials'");
    check_damage("trials", "7", "'trials'");
    check_damage("progress", "[[99,0.5]]", "'progress'");
    check_damage("progress", "[[1,1.5]]", "'progress'");
    check_damage("progress", "[[0,0.5]]", "'progress'"); /* that one has exited */
    check_damage("progress", "[[5,0.5]]", "'progress'"); /* that one does not run */
    check_damage("progress", "[3]", "'progress'");
    check_damage("invalid_in_a_row", "-1", "'invalid_in_a_row'");
    check_damage("invalid_in_a_row", "\"1\"", "'invalid_in_a_row'");
    check_damage("state", "{\"created\":31}", "'created'");
    check_damage("state", "null", "'created'");
}

TEST(nothing_at_all_is_no_snapshot)
{
    CLEANUP(world_done) struct world world = world_of(configs[3], HPARAMS, 1);

    CHECK_EQ(searcher_load(world.searcher, NULL, NULL), DET_CORRUPT);
}

TEST(saving_and_loading_without_memory_say_so)
{
    EACH_ALLOCATION_FAILS() {
        CLEANUP(world_done) struct world world = world_try(configs[1], HPARAMS, 1);
        CLEANUP(buf_done) struct buf text = BUF_INIT;
        struct json *saved = NULL;
        det_status status = world.status;

        if (!status)
            status = world_start(&world)->status;
        if (!status) {
            searcher_save(world.searcher, &text);
            status = text.status;
        }
        if (!status)
            status = json_parse(text.data, text.len, &world.mem, &saved, NULL);
        if (!status)
            status = searcher_load(world.searcher, saved, NULL);

        CHECK_EQ(status, fault_fired() ? DET_NOMEM : DET_OK);
    }
}
