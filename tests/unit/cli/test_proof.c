/* SPDX-License-Identifier: Apache-2.0 */
/* When `det resume-proof` kills, and what it compares. */
#include <string.h>

#include "base/io/io.h"
#include "base/memory/arena.h"
#include "cli/proof/proof_cause.h"
#include "cli/proof/proof_compare.h"
#include "cli/proof/proof_plan.h"
#include "cli/proof/proof_profile.h"
#include "cli/proof/proof_show.h"
#include "data/json/json.h"
#include "libdet/checkpoint/manifest.h"
#include "tests/support/test.h"

/* ---- the plan -------------------------------------------------------------------- */

/* Loads for 1 s, then 10 steps a second, reported each second. */
static struct proof_timeline steady(int64_t seconds)
{
    struct proof_timeline timeline = {0};

    for (int64_t i = 1; i <= seconds; i++)
        CHECK(proof_timeline_see(&timeline, 1000000 + i * 1000000, i * 10));
    timeline.end_us = (seconds + 1) * 1000000;
    return timeline;
}

TEST(a_timeline_knows_when_it_was_where)
{
    struct proof_timeline timeline = steady(5);

    CHECK(proof_timeline_see(&timeline, 9000000, 50)); /* no news */
    CHECK_EQ(timeline.points.count, 5);
    CHECK_EQ(proof_timeline_startup_us(&timeline), 1000000);
    CHECK_EQ(proof_timeline_time_of(&timeline, 0), 1000000);
    CHECK_EQ(proof_timeline_time_of(&timeline, 10), 2000000);
    CHECK_EQ(proof_timeline_time_of(&timeline, 25), 3500000);
    CHECK_EQ(proof_timeline_time_of(&timeline, 50), 6000000);
    CHECK_EQ(proof_timeline_time_of(&timeline, 900), 6000000);
    proof_timeline_done(&timeline);
}

TEST(a_timeline_of_silence_is_only_as_long_as_it_is)
{
    struct proof_timeline timeline = {.end_us = 500};
    struct proof_kill kill[4];

    CHECK_EQ(proof_timeline_startup_us(&timeline), 0);
    CHECK_EQ(proof_timeline_time_of(&timeline, 7), 0);
    proof_plan(&timeline, 1, kill, 4);
    for (int i = 0; i < 4; i++)
        CHECK(kill[i].at_us >= 0 && kill[i].at_us < 500);
}

TEST(kills_are_spread_over_the_whole_run_and_a_seed_repeats_them)
{
    struct proof_timeline timeline = steady(20);
    struct proof_kill kill[200], again[200];
    int64_t last_us = 0;
    int early = 0;

    proof_plan(&timeline, 7, kill, 200);
    proof_plan(&timeline, 7, again, 200);
    for (int i = 0; i < 200; i++) {
        CHECK_EQ(kill[i].at_us, again[i].at_us);
        if (kill[i].is_early) {
            CHECK(kill[i].at_us >= 0 && kill[i].at_us <= 1000000);
            early++;
            continue;
        }
        CHECK(kill[i].at_us >= last_us && kill[i].at_us < timeline.end_us);
        CHECK(kill[i].at_us >= 1000000);
        last_us = kill[i].at_us;
    }
    CHECK(early > 5 && early < 60);
    CHECK(last_us > 19 * INT64_C(1000000));
    proof_plan(&timeline, 8, again, 200);
    CHECK(kill[0].at_us != again[0].at_us);
    proof_timeline_done(&timeline);
}

TEST(a_kill_is_due_where_the_run_is_and_not_when)
{
    struct proof_timeline timeline = steady(10);
    struct proof_kill kill = {.at_us = 5500000};
    struct proof_kill kill_soon = {.at_us = 1500000};
    struct proof_run run = {.began_us = 100, .seen_us = 100};
    int64_t s = 1000000;

    /* nothing was reported yet: up to the first report the clock decides */
    CHECK(!proof_is_due(&timeline, &kill_soon, &run, 100 + s));
    CHECK(proof_is_due(&timeline, &kill_soon, &run, 100 + 1500000));
    /* a run that loads for very long has done nothing yet */
    CHECK(!proof_is_due(&timeline, &kill, &run, 100 + 5500000));
    CHECK(!proof_is_due(&timeline, &kill, &run, 100 * s));
    /* slower than it was: where it is decides, and it has not been there */
    run.seen_steps = 20;
    run.seen_us = 9 * s;
    CHECK(!proof_is_due(&timeline, &kill, &run, 9 * s));
    CHECK(!proof_is_due(&timeline, &kill, &run, 9 * s + 2500000));
    run.seen_steps = 40;
    run.seen_us = 20 * s;
    CHECK(!proof_is_due(&timeline, &kill, &run, 20 * s + 400000));
    CHECK(proof_is_due(&timeline, &kill, &run, 20 * s + 500000));
    /* resumed far ahead: due at once, but not before it has loaded */
    run = (struct proof_run){.began_us = 0, .from_steps = 40, .seen_steps = 40};
    CHECK(!proof_is_due(&timeline, &kill, &run, s));
    CHECK(proof_is_due(&timeline, &kill, &run, 2 * s));
    kill = (struct proof_kill){.is_early = true, .at_us = s / 2};
    CHECK(!proof_is_due(&timeline, &kill, &run, s / 4));
    CHECK(proof_is_due(&timeline, &kill, &run, s / 2));
    proof_timeline_done(&timeline);
}

TEST(what_a_killed_run_had_said_is_not_where_the_next_one_is)
{
    struct proof_timeline timeline = steady(10);
    struct proof_kill kill = {.at_us = 5500000};
    struct proof_run run;
    int64_t s = 1000000;

    /* killed at 40 with nothing saved, it begins again; the trial still stands at 40 */
    proof_run_begin(&run, 0, 40, 0);
    proof_run_see(&run, 40, s);
    CHECK_EQ(run.seen_steps, 0);
    CHECK(!proof_is_due(&timeline, &kill, &run, 2 * s));
    proof_run_see(&run, 10, 2 * s);
    CHECK_EQ(run.seen_steps, 10);
    CHECK_EQ(run.seen_us, 2 * s);
    CHECK(!proof_is_due(&timeline, &kill, &run, 2 * s));
    /* no news; then news */
    proof_run_see(&run, 10, 3 * s);
    CHECK_EQ(run.seen_us, 2 * s);
    proof_run_see(&run, 50, 4 * s);
    CHECK(proof_is_due(&timeline, &kill, &run, 4 * s));
    proof_timeline_done(&timeline);
}

TEST(a_run_that_can_say_nothing_new_goes_by_the_clock)
{
    struct proof_timeline timeline = {.end_us = 9000000};
    struct proof_kill kill = {.at_us = 8000000};
    struct proof_run run;
    int64_t s = 1000000;

    /* one report at 4 s; killed at 5 s with nothing saved, it will say the same */
    CHECK(proof_timeline_see(&timeline, 4 * s, 60));
    proof_run_begin(&run, 0, 60, 0);
    proof_run_see(&run, 60, 5 * s);
    CHECK(!proof_is_due(&timeline, &kill, &run, 7 * s));
    CHECK(proof_is_due(&timeline, &kill, &run, 9 * s));
    proof_timeline_done(&timeline);
}

/* ---- files ----------------------------------------------------------------------- */

struct place {
    struct io *io;
    struct arena mem;
    struct proof_parts parts;
};

static void put(struct place *p, const char *path, const char *text)
{
    CHECK_OK(io_replace(p->io, path, text, strlen(text), false, &test_err));
}

static void place_make(struct place *p)
{
    *p = (struct place){.mem = ARENA_INIT(64 << 20)};
    CHECK_OK(io_memory_new(&p->io, &test_err));
    CHECK_OK(io_mkdir(p->io, "/a/sub", false, &test_err));
    CHECK_OK(io_mkdir(p->io, "/b/sub", false, &test_err));
    put(p, "/a/same", "1234");
    put(p, "/b/same", "1234");
    put(p, "/a/sub/deep", "12345678");
    put(p, "/b/sub/deep", "12345678");
    put(p, "/a/manifest.det.json", "{}"); /* says nothing that the files do not */
}

static void place_done(struct place *p)
{
    proof_parts_done(&p->parts);
    arena_done(&p->mem);
    io_free(p->io);
}

static det_status compare_files(struct place *p, const struct field_strs *ignored)
{
    struct proof_directories directories = {p->io, "/a", "/b"};
    struct proof_rules rules = {0};

    if (ignored)
        rules.files = *ignored;
    return proof_compare_files(&directories, &rules, &p->mem, &p->parts, &test_err);
}

TEST(equal_directories_are_the_same)
{
    struct place p;

    place_make(&p);
    CHECK_OK(compare_files(&p, NULL));
    CHECK(proof_is_same(&p.parts));
    CHECK_EQ(p.parts.all.count, 1);
    CHECK_EQ(p.parts.all.at[0].items, 2);
    CHECK_EQ(p.parts.all.at[0].size_bytes, 12);
    place_done(&p);
}

TEST(what_differs_in_files_is_named_with_its_first_byte)
{
    struct place p;
    const struct proof_difference *it;

    place_make(&p);
    put(&p, "/b/sub/deep", "12345x78");
    put(&p, "/b/same", "123456");
    put(&p, "/a/only", "x");
    put(&p, "/b/too", "xy");
    CHECK_OK(compare_files(&p, NULL));
    CHECK(!proof_is_same(&p.parts));
    CHECK_EQ(p.parts.all.at[0].items, 4);
    CHECK_EQ(p.parts.all.at[0].differences.count, 4);
    it = p.parts.all.at[0].differences.at;
    CHECK_STR(it[0].name, "only");
    CHECK_STR(it[0].undisturbed, "1 bytes");
    CHECK(!it[0].killed);
    CHECK_STR(it[1].name, "same");
    CHECK_EQ(it[1].place, 4);
    CHECK_STR(it[1].killed, "6 bytes");
    CHECK_STR(it[2].name, "sub/deep");
    CHECK_EQ(it[2].place, 5);
    CHECK_STR(it[3].name, "too");
    CHECK(!it[3].undisturbed);
    place_done(&p);
}

TEST(files_that_are_longer_than_a_chunk_are_compared_to_their_end)
{
    enum { LENGTH = 600000 };
    static char text[LENGTH + 1];
    struct place p;

    memset(text, 'x', LENGTH);
    place_make(&p);
    put(&p, "/a/long", text);
    text[LENGTH - 1] = 'y';
    put(&p, "/b/long", text);
    CHECK_OK(compare_files(&p, NULL));
    CHECK_EQ(p.parts.all.at[0].differences.count, 1);
    CHECK_EQ(p.parts.all.at[0].differences.at[0].place, LENGTH - 1);
    place_done(&p);
}

TEST(files_may_be_left_out)
{
    const char *patterns[] = {"*.log", "sub/*"};
    struct field_strs ignored = {.at = patterns, .count = 2};
    struct place p;

    place_make(&p);
    put(&p, "/b/sub/deep", "other");
    put(&p, "/b/a.log", "only here");
    CHECK_OK(compare_files(&p, &ignored));
    CHECK(proof_is_same(&p.parts));
    CHECK_EQ(p.parts.all.at[0].left_out, 2);
    CHECK_EQ(p.parts.all.at[0].items, 1);
    place_done(&p);
}

static struct json *parse_json(struct arena *mem, const char *text)
{
    struct json *tree = NULL;

    CHECK_OK(json_parse(text, strlen(text), mem, &tree, &test_err));
    return tree;
}

TEST(a_checkpoint_names_what_is_no_state)
{
    const char *patterns[] = {"*.txt"};
    struct proof_rules rules = {.files = {.at = patterns, .count = 1}};
    const struct proof_profile *none;
    struct place p;

    place_make(&p);
    put(&p, "/b/sub/deep", "other");
    put(&p, "/b/a.log", "only here");
    put(&p, "/b/b.txt", "only here");
    CHECK_OK(proof_profile_find("none", &none, &test_err));
    CHECK_OK(proof_rules_add(
        none, parse_json(&p.mem, "{\"not_state\":[\"sub/*\",\"a.log\",7]}"), &p.mem,
        &rules, NULL));
    CHECK_EQ(rules.files.count, 4);
    CHECK_OK(compare_files(&p, &rules.files));
    CHECK(proof_is_same(&p.parts));
    CHECK_EQ(p.parts.all.at[0].left_out, 3);
    CHECK_OK(proof_rules_add(none, NULL, &p.mem, &rules, NULL));
    CHECK_EQ(rules.files.count, 4);
    place_done(&p);
}

/* ---- profiles -------------------------------------------------------------------- */

TEST(the_profile_is_that_of_the_framework_or_of_its_files)
{
    struct place p;
    struct manifest files = {0};
    const struct proof_profile *profile = NULL;

    place_make(&p);
    CHECK_OK(manifest_walk(p.io, "/a", &p.mem, &files, &test_err));
    CHECK_STR(proof_profile_name(proof_profile_detect(NULL, &files)), "none");
    profile = proof_profile_detect(parse_json(&p.mem, "{\"framework\":\"lightning\"}"),
                                   &files);
    CHECK_STR(proof_profile_name(profile), "lightning");
    manifest_done(&files);
    files = (struct manifest){0};
    put(&p, "/a/sub/trainer_state.json", "{}");
    CHECK_OK(manifest_walk(p.io, "/a", &p.mem, &files, &test_err));
    CHECK_STR(proof_profile_name(proof_profile_detect(NULL, &files)), "transformers");
    manifest_done(&files);
    CHECK_EQ(proof_profile_find("keras", &profile, &test_err), DET_INVALID);
    CHECK_STR(test_err.text,
              "there is no profile 'keras': use transformers, lightning or none");
    place_done(&p);
}

TEST(the_profile_of_transformers_leaves_times_out_and_compares_the_rest)
{
    static const char written[] = "{\"log_history\":[{\"loss\":0.5,\"step\":1},"
                                  "{\"train_runtime\":%d.5,\"train_loss\":%d}]}";
    struct proof_rules rules = {0};
    const struct proof_profile *profile;
    struct proof_directories directories;
    struct place p;

    place_make(&p);
    directories = (struct proof_directories){p.io, "/a", "/b"};
    put(&p, "/a/trainer_state.json", arena_printf(&p.mem, written, 3, 1));
    put(&p, "/b/trainer_state.json", arena_printf(&p.mem, written, 4, 1));
    put(&p, "/a/sub/training_args.bin", "folder 1");
    put(&p, "/b/sub/training_args.bin", "folder 2");
    CHECK_OK(proof_profile_find("transformers", &profile, &test_err));
    CHECK_OK(proof_rules_add(profile, NULL, &p.mem, &rules, &test_err));
    CHECK_OK(proof_compare_files(&directories, &rules, &p.mem, &p.parts, &test_err));
    CHECK(proof_is_same(&p.parts));
    CHECK_EQ(p.parts.all.at[0].left_out, 1);
    CHECK_EQ(p.parts.all.at[0].same_contents.count, 1);
    CHECK_STR(p.parts.all.at[0].same_contents.at[0], "trainer_state.json");
    put(&p, "/b/trainer_state.json", arena_printf(&p.mem, written, 4, 2));
    CHECK_OK(proof_compare_files(&directories, &rules, &p.mem, &p.parts, &test_err));
    CHECK(!proof_is_same(&p.parts));
    place_done(&p);
}

TEST(a_directory_that_is_gone_is_an_error)
{
    struct place p;

    place_make(&p);
    CHECK_OK(io_remove_tree(p.io, "/b", &test_err));
    CHECK(compare_files(&p, NULL) != DET_OK);
    place_done(&p);
}

/* ---- reports --------------------------------------------------------------------- */

static void report(struct proof_reports *reports, struct arena *mem, const char *group,
                   int64_t steps, const char *values)
{
    struct proof_report row = {
        .group = group, .steps = steps, .order = reports->all.count};
    struct json *tree = NULL;

    CHECK_OK(json_parse(values, strlen(values), mem, &tree, &test_err));
    row.values = tree;
    CHECK(vec_push(&reports->all, row));
}

struct curves {
    struct arena mem;
    struct proof_reports a;
    struct proof_reports b;
    struct proof_parts parts;
};

static void curves_done(struct curves *c)
{
    vec_done(&c->a.all);
    vec_done(&c->b.all);
    proof_parts_done(&c->parts);
    arena_done(&c->mem);
}

static void compare_reports(struct curves *c, const char *pattern)
{
    struct proof_rules rules = {.metrics = {.at = &pattern, .count = pattern ? 1 : 0}};

    CHECK_OK(
        proof_compare_reports(&c->a, &c->b, &rules, &c->mem, &c->parts, &test_err));
}

TEST(curves_are_the_same_in_whatever_order_their_reports_came)
{
    struct curves c = {.mem = ARENA_INIT(1 << 20)};

    report(&c.a, &c.mem, "training", 10, "{\"loss\":0.1,\"x\":\"NaN\"}");
    report(&c.a, &c.mem, "training", 20, "{\"loss\":0.05}");
    report(&c.a, &c.mem, "validation", 20, "{\"loss\":0.2}");
    report(&c.b, &c.mem, "validation", 20, "{\"loss\":0.2}");
    report(&c.b, &c.mem, "training", 20, "{\"loss\":0.05}");
    report(&c.b, &c.mem, "training", 10, "{\"x\":\"NaN\",\"loss\":0.1}");
    compare_reports(&c, NULL);
    CHECK(proof_is_same(&c.parts));
    CHECK_EQ(c.parts.all.count, 2);
    CHECK_STR(c.parts.all.at[0].group, "training");
    CHECK_EQ(c.parts.all.at[0].items, 2);
    CHECK_EQ(c.parts.all.at[1].items, 1);
    curves_done(&c);
}

TEST(the_first_difference_of_each_metric_is_named_with_all_digits)
{
    struct curves c = {.mem = ARENA_INIT(1 << 20)};
    const struct proof_difference *it;

    report(&c.a, &c.mem, "training", 10, "{\"loss\":0.1,\"zero\":0.0}");
    report(&c.a, &c.mem, "training", 20, "{\"loss\":0.1,\"zero\":0.0}");
    report(&c.a, &c.mem, "training", 30, "{\"loss\":0.3,\"zero\":1}");
    report(&c.a, &c.mem, "training", 40, "{\"loss\":0.3}");
    report(&c.b, &c.mem, "training", 10, "{\"loss\":0.1,\"zero\":0.0}");
    report(&c.b, &c.mem, "training", 20,
           "{\"loss\":0.10000000000000002,\"zero\":-0.0}");
    report(&c.b, &c.mem, "training", 30, "{\"loss\":0.4,\"new\":true,\"zero\":1}");
    compare_reports(&c, NULL);
    CHECK_EQ(c.parts.all.at[0].items, 4);
    CHECK_EQ(c.parts.all.at[0].differences.count, 4);
    it = c.parts.all.at[0].differences.at;
    CHECK_STR(it[0].name, "loss");
    CHECK_EQ(it[0].place, 20);
    CHECK_STR(it[0].undisturbed, "0.10000000000000001");
    CHECK_STR(it[0].killed, "0.10000000000000002");
    CHECK_EQ(it[0].count, 2);
    CHECK_STR(it[1].name, "zero"); /* all bits count */
    CHECK_STR(it[2].name, "new");
    CHECK(!it[2].undisturbed);
    CHECK_STR(it[2].killed, "true");
    CHECK(!it[3].name); /* a report that is not there at all */
    CHECK_EQ(it[3].place, 40);
    CHECK(!it[3].killed);
    curves_done(&c);
}

TEST(metrics_may_be_left_out_by_name_and_by_group)
{
    struct curves c = {.mem = ARENA_INIT(1 << 20)};

    report(&c.a, &c.mem, "training", 1, "{\"seconds\":1,\"loss\":1}");
    report(&c.b, &c.mem, "training", 1, "{\"seconds\":2,\"loss\":1}");
    compare_reports(&c, "sec*");
    CHECK(proof_is_same(&c.parts));
    CHECK_EQ(c.parts.all.at[0].left_out, 1);
    proof_parts_done(&c.parts);
    c.parts = (struct proof_parts){0};
    compare_reports(&c, "validation.seconds");
    CHECK(!proof_is_same(&c.parts));
    proof_parts_done(&c.parts);
    c.parts = (struct proof_parts){0};
    compare_reports(&c, "training.seconds");
    CHECK(proof_is_same(&c.parts));
    curves_done(&c);
}

TEST(reports_without_batches_are_counted_and_not_compared)
{
    struct curves c = {.mem = ARENA_INIT(1 << 20)};

    report(&c.a, &c.mem, "notes", 0, "{\"n\":1}");
    report(&c.b, &c.mem, "notes", 0, "{\"n\":1}");
    report(&c.b, &c.mem, "notes", 0, "{\"n\":1}"); /* said again after a kill */
    report(&c.a, &c.mem, "notes", 5, "{\"n\":2}");
    report(&c.b, &c.mem, "notes", 5, "{\"n\":2}");
    compare_reports(&c, NULL);
    CHECK(proof_is_same(&c.parts));
    CHECK_EQ(c.parts.all.at[0].unplaced, 2);
    CHECK_EQ(c.parts.all.at[0].items, 1);
    curves_done(&c);
}

/* ---- the cause ------------------------------------------------------------------- */

static void put_loss(struct curves *c, int64_t at, const char *other)
{
    for (int64_t i = 10; i <= 50; i += 10) {
        report(&c->a, &c->mem, "training", i, "{\"loss\":1}");
        report(&c->b, &c->mem, "training", i, i < at ? "{\"loss\":1}" : other);
    }
    compare_reports(c, NULL);
}

TEST(a_difference_is_the_resume_unless_the_program_differs_by_itself)
{
    static const struct {
        int64_t killed_at; /* 99: nowhere */
        int64_t twin_at;   /* -1: there is no twin */
        int64_t first_resume;
        enum proof_cause cause;
        int64_t origin;
    } rows[] = {
        {99, 99, 20, PROOF_NO_CAUSE, 0},
        {99, 30, 20, PROOF_NO_CAUSE, 30},
        {30, 99, 20, PROOF_CAUSE_RESUME, 30},
        {20, 99, 20, PROOF_CAUSE_RESUME, 20},  /* it may have reported this again */
        {10, 99, 20, PROOF_CAUSE_PROGRAM, 10}, /* before the first kill */
        {10, -1, 20, PROOF_CAUSE_PROGRAM, 10},
        {10, 99, 0, PROOF_CAUSE_RESUME, 10}, /* it started again, and found something */
        {30, 40, 20, PROOF_CAUSE_PROGRAM, 40},
        {30, -1, 20, PROOF_CAUSE_UNKNOWN, 30},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct curves killed = {.mem = ARENA_INIT(1 << 20)};
        struct curves twin = {.mem = ARENA_INIT(1 << 20)};
        struct proof_evidence evidence = {.killed = &killed.parts,
                                          .twin = &twin.parts,
                                          .first_resume = rows[i].first_resume};
        struct proof_origin origin;

        put_loss(&killed, rows[i].killed_at, "{\"loss\":2}");
        put_loss(&twin, rows[i].twin_at, "{\"loss\":3}");
        if (rows[i].twin_at < 0)
            evidence.twin = NULL;
        CHECK_EQ(proof_find_cause(&evidence, &origin), rows[i].cause);
        CHECK_EQ(origin.difference ? origin.difference->place : 0, rows[i].origin);
        evidence.may_agree_by_chance = true; /* only the resume is not blamed then */
        CHECK_EQ(proof_find_cause(&evidence, &origin),
                 rows[i].cause == PROOF_CAUSE_RESUME ? PROOF_CAUSE_UNSURE
                                                     : rows[i].cause);
        curves_done(&killed);
        curves_done(&twin);
    }
}

TEST(metrics_tell_the_origin_before_files_do)
{
    struct curves c = {.mem = ARENA_INIT(1 << 20)};
    struct proof_origin origin;
    struct place p;

    place_make(&p);
    CHECK(!proof_origin_of(&p.parts).difference);
    put(&p, "/b/same", "other");
    CHECK_OK(compare_files(&p, NULL));
    origin = proof_origin_of(&p.parts);
    CHECK(!origin.group);
    CHECK_STR(origin.difference->name, "same");
    CHECK(proof_has_difference(&p.parts, NULL, "same"));
    CHECK(!proof_has_difference(&p.parts, "training", "same"));
    report(&c.a, &c.mem, "training", 9, "{\"loss\":1}");
    report(&c.b, &c.mem, "training", 9, "{\"loss\":2}");
    report(&c.a, &c.mem, "validation", 7, "{\"loss\":1}");
    report(&c.b, &c.mem, "validation", 7, "{\"loss\":2}");
    CHECK_OK(proof_compare_reports(&c.a, &c.b, &(struct proof_rules){0}, &c.mem,
                                   &p.parts, &test_err));
    origin = proof_origin_of(&p.parts);
    CHECK_STR(origin.group, "validation");
    CHECK_EQ(origin.difference->place, 7);
    curves_done(&c);
    place_done(&p);
}

TEST(each_framework_has_its_advice)
{
    CHECK(strstr(proof_advice("torch-2.1")[0], "torch.manual_seed"));
    CHECK(strstr(proof_advice("keras")[1], "enable_op_determinism"));
    CHECK(strstr(proof_advice("lightning")[1], "deterministic=True"));
    CHECK(strstr(proof_advice("transformers")[1], "full_determinism"));
    CHECK(strstr(proof_advice("other")[0], "seed"));
    CHECK(proof_advice(NULL) == proof_advice("other"));
    CHECK_STR(proof_cause_name(PROOF_CAUSE_PROGRAM), "program");
    CHECK(!proof_cause_name(PROOF_CAUSE_UNKNOWN));
}

TEST(counts_have_commas)
{
    static const struct {
        int64_t count;
        const char *text;
    } rows[] = {{0, "0"},          {999, "999"},   {1000, "1,000"},
                {-1234, "-1,234"}, {-123, "-123"}, {12345678, "12,345,678"}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char text[PROOF_COUNT];

        proof_show_count(rows[i].count, text);
        CHECK_STR(text, rows[i].text);
    }
}

TEST(comparing_survives_each_failing_allocation)
{
    EACH_ALLOCATION_FAILS() {
        int64_t nth = fault_state.left[FAULT_MEMORY];
        struct curves c = {.mem = ARENA_INIT(1 << 20)};
        const struct proof_profile *profile = NULL;
        struct proof_directories directories;
        struct proof_rules rules = {0};
        struct place p;
        det_status st;

        fault_disarm(FAULT_MEMORY);
        place_make(&p);
        directories = (struct proof_directories){p.io, "/a", "/b"};
        CHECK_OK(proof_profile_find("transformers", &profile, NULL));
        put(&p, "/a/same", "{\"a\":1}");
        put(&p, "/b/same", "{\"a\":2}");
        put(&p, "/b/too", "more");
        report(&c.a, &c.mem, "training", 1, "{\"loss\":1}");
        report(&c.b, &c.mem, "training", 1, "{\"loss\":2}");
        fault_arm(FAULT_MEMORY, nth);
        st = proof_rules_add(profile, NULL, &p.mem, &rules, NULL);
        if (!st)
            st = proof_compare_files(&directories, &rules, &p.mem, &p.parts, NULL);
        if (!st)
            st = proof_compare_reports(&c.a, &c.b, &rules, &p.mem, &p.parts, NULL);
        if (!fault_fired())
            CHECK_EQ(st, DET_OK);
        if (st) { /* some do without: threads that are not needed, ... */
            CHECK_EQ(st, DET_NOMEM);
        } else {
            CHECK_EQ(p.parts.all.at[0].differences.count, 2);
            CHECK_EQ(p.parts.all.at[1].differences.count, 1);
        }
        nth = fault_state.left[FAULT_MEMORY];
        fault_state.left[FAULT_MEMORY] = 0;
        curves_done(&c);
        place_done(&p);
        fault_state.left[FAULT_MEMORY] = nth;
    }
}
