/* SPDX-License-Identifier: Apache-2.0 */
#include "config/metric/metric_missing.h"

#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "tests/support/test.h"

#define DOUBT(metric, ...) doubt_of(&mem, metric, (const char *[]){__VA_ARGS__, NULL})

static const char *doubt_of(struct arena *mem, const char *metric, const char **names)
{
    struct metric_list list = {.at = names};

    while (names[list.count])
        list.count++;
    return metric_missing_doubt(metric, 3, &list, mem);
}

TEST(a_metric_that_is_there_is_not_in_doubt)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);

    CHECK(!DOUBT("val_loss", "accuracy", "val_loss"));
}

TEST(the_nearest_name_is_suggested)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);

    CHECK_STR(DOUBT("val_los", "val_loss", "accuracy"),
              "the validation of trial 3 has no 'val_los'; it has accuracy, val_loss: "
              "did you mean val_loss?");
}

TEST(the_only_name_with_the_same_last_word_is_suggested)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);

    CHECK_HAS(DOUBT("validation_loss", "eval/loss", "accuracy"),
              "did you mean eval/loss?");
    CHECK_HAS(DOUBT("loss", "validation_loss", "accuracy"),
              "did you mean validation_loss?");
}

TEST(without_a_similar_name_the_key_is_named)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);

    CHECK_STR(DOUBT("f1", "val_loss", "accuracy"),
              "the validation of trial 3 has no 'f1'; it has accuracy, val_loss: name "
              "one of these in searcher.metric");
    CHECK_HAS(DOUBT("validation_loss", "first/loss", "second/loss"),
              "name one of these in searcher.metric");
}

TEST(many_names_are_counted)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);

    CHECK_HAS(DOUBT("x1", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"),
              "it has a, b, c, d, e, f, g, h, i, j and 2 more: name");
}

TEST(a_validation_without_numbers_says_so)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    const char *none[] = {NULL};

    CHECK_STR(doubt_of(&mem, "f1", none),
              "the validation of trial 3 has no 'f1', nor any other number");
}

TEST(without_memory_nothing_is_said)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(8);

    CHECK(!DOUBT("f1", "val_loss"));
}
