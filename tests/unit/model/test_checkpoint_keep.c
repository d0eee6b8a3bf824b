/* SPDX-License-Identifier: Apache-2.0 */
/* Which checkpoints may go: examples, and random histories against a naive oracle. */
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/rng.h"
#include "model/checkpoint_keep.h"
#include "tests/support/checkpoint_top.h"
#include "tests/support/test.h"

enum { TRIALS = 4, MOST = 60 };

static const struct checkpoint_keep_trial over = {0};

static struct checkpoint_keep_item item(const char *uuid, int64_t steps, double metric)
{
    return (struct checkpoint_keep_item){.uuid = uuid,
                                         .trial_id = 1,
                                         .steps = steps,
                                         .has_metric = metric >= 0,
                                         .metric = metric};
}

static bool goes(const struct checkpoint_keep_item *items, size_t count,
                 const char *uuid)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(items[i].uuid, uuid))
            return items[i].may_go;
    fail_msg("no item %s", uuid);
    return false;
}

TEST(by_default_the_best_and_the_last_of_a_trial_stay)
{
    struct checkpoint_keep_policy policy = {0, 1, 1, true};
    struct checkpoint_keep_item items[] = {item("a", 1, 0.5), item("b", 2, 0.1),
                                           item("c", 3, 0.2), item("d", 4, 0.9)};

    checkpoint_keep_judge(&policy, &over, items, 4);

    CHECK(goes(items, 4, "a"));
    CHECK(!goes(items, 4, "b"));
    CHECK(goes(items, 4, "c"));
    CHECK(!goes(items, 4, "d"));
}

TEST(larger_may_be_better_and_of_equals_the_first_stays)
{
    struct checkpoint_keep_policy policy = {0, 1, 0, false};
    struct checkpoint_keep_item items[] = {item("a", 1, 0.5), item("b", 2, 0.5),
                                           item("c", 3, 0.2)};

    checkpoint_keep_judge(&policy, &over, items, 3);

    CHECK(!goes(items, 3, "a"));
    CHECK(goes(items, 3, "b"));
    CHECK(goes(items, 3, "c"));
}

TEST(of_equal_steps_the_last_report_is_the_latest)
{
    struct checkpoint_keep_policy policy = {0, 0, 1, true};
    struct checkpoint_keep_item items[] = {item("a", 5, 0.1), item("b", 5, 0.1),
                                           item("c", 5, 0.1)};

    items[1].report_us = 7;
    checkpoint_keep_judge(&policy, &over, items, 3);

    CHECK(goes(items, 3, "a"));
    CHECK(!goes(items, 3, "b"));
    CHECK(goes(items, 3, "c"));
}

TEST(what_a_live_trial_would_resume_from_stays)
{
    struct checkpoint_keep_policy policy = {0, 0, 0, true};
    struct checkpoint_keep_trial live = {
        .is_live = true, .resumes_from = "b", .resumes_steps = 2};
    struct checkpoint_keep_item items[] = {item("a", 1, 0.5), item("b", 2, 0.4),
                                           item("c", 3, 0.3)};

    checkpoint_keep_judge(&policy, &live, items, 3);
    CHECK(goes(items, 3, "a"));
    CHECK(!goes(items, 3, "b"));
    CHECK(!goes(items, 3, "c")); /* the heart is about to hear of it */

    live.resumes_from = NULL;
    checkpoint_keep_judge(&policy, &live, items, 3);
    CHECK(!goes(items, 3, "a"));

    live.is_live = false;
    checkpoint_keep_judge(&policy, &live, items, 3);
    CHECK(goes(items, 3, "a"));
    CHECK(goes(items, 3, "c"));
}

TEST(one_that_may_still_be_validated_waits)
{
    struct checkpoint_keep_policy policy = {0, 1, 1, true};
    struct checkpoint_keep_trial live = {
        .is_live = true, .resumes_from = "c", .resumes_steps = 30};
    struct checkpoint_keep_item items[] = {item("a", 10, -1), item("b", 20, 0.4),
                                           item("c", 30, -1)};

    live.validated_steps = 10; /* at these very steps, and it has no metric: wait */
    checkpoint_keep_judge(&policy, &live, items, 3);
    CHECK(!goes(items, 3, "a"));

    live.validated_steps = 20;
    checkpoint_keep_judge(&policy, &live, items, 3);
    CHECK(goes(items, 3, "a"));
    CHECK(!goes(items, 3, "b"));

    items[0] = item("a", 10, -1);
    items[0].report_us = 7; /* saved by a later run, after that validation */
    live.validated_us = 6;
    items[1] = item("b", 20, 0.4);
    items[2] = item("c", 30, -1);
    checkpoint_keep_judge(&policy, &live, items, 3);
    CHECK(!goes(items, 3, "a"));

    policy.trial_best = 0; /* no validation could save it */
    live.validated_steps = 0;
    checkpoint_keep_judge(&policy, &live, items, 3);
    CHECK(goes(items, 3, "a"));
}

TEST(held_ones_and_the_experiments_best_stay)
{
    struct checkpoint_keep_policy policy = {1, 0, 0, true};
    struct checkpoint_keep_item items[] = {item("a", 1, 0.5), item("b", 2, 0.1),
                                           item("c", 3, 0.2)};

    items[0].is_held = true;
    checkpoint_mark_top(&policy, items, 3);
    checkpoint_keep_judge(&policy, &over, items, 3);

    CHECK(!goes(items, 3, "a"));
    CHECK(!goes(items, 3, "b"));
    CHECK(goes(items, 3, "c"));
}

TEST(nothing_at_all_is_fine)
{
    struct checkpoint_keep_policy policy = {1, 1, 1, true};

    checkpoint_mark_top(&policy, NULL, 0);
    checkpoint_keep_judge(&policy, &over, NULL, 0);
}

/* ---- random histories ------------------------------------------------------------ */

struct history {
    struct checkpoint_keep_policy policy;
    struct checkpoint_keep_item item[MOST];
    bool is_gone[MOST];
    char name[MOST][8];
    size_t count;
    struct checkpoint_keep_trial trial[TRIALS + 1];
    size_t latest[TRIALS + 1]; /* what each trial saved last */
    struct rng rng;
};

static uint32_t below(struct history *h, uint32_t n)
{
    return (uint32_t)(rng_u32(&h->rng) % n);
}

/* How many of those that are counted rank before this one; the definition, word by
 * word. */
static uint32_t better_ones(const struct history *h, size_t of, bool in_trial)
{
    uint32_t rank = 0;

    for (size_t i = 0; i < h->count; i++)
        if (i != of && h->item[i].has_metric &&
            (!in_trial || h->item[i].trial_id == h->item[of].trial_id) &&
            checkpoint_is_better(&h->policy, &h->item[i], &h->item[of]))
            rank++;
    return rank;
}

static uint32_t later_ones(const struct history *h, size_t of)
{
    const struct checkpoint_keep_item *x = &h->item[of];
    uint32_t rank = 0;

    for (size_t i = 0; i < h->count; i++) {
        const struct checkpoint_keep_item *y = &h->item[i];

        if (y->trial_id == x->trial_id &&
            (y->steps > x->steps ||
             (y->steps == x->steps && strcmp(y->uuid, x->uuid) > 0)))
            rank++;
    }
    return rank;
}

/* What stays when all is over, were nothing ever removed. */
static bool stays(const struct history *h, size_t of)
{
    const struct checkpoint_keep_item *x = &h->item[of];

    if (x->is_held || later_ones(h, of) < h->policy.trial_latest)
        return true;
    return x->has_metric && (better_ones(h, of, false) < h->policy.experiment_best ||
                             better_ones(h, of, true) < h->policy.trial_best);
}

/* The rule over what is still there, a trial at a time. */
static void collect(struct history *h, int64_t trial)
{
    struct checkpoint_keep_item top[MOST];
    struct checkpoint_keep_item mine[MOST];
    size_t tops = 0, count = 0;

    for (size_t i = 0; i < h->count; i++)
        if (!h->is_gone[i])
            top[tops++] = h->item[i];
    checkpoint_mark_top(&h->policy, top, tops);
    for (size_t i = 0; i < tops; i++)
        if (top[i].trial_id == trial)
            mine[count++] = top[i];
    checkpoint_keep_judge(&h->policy, &h->trial[trial], mine, count);
    for (size_t k = 0; k < count; k++)
        for (size_t i = 0; i < h->count && mine[k].may_go; i++)
            if (!strcmp(h->item[i].uuid, mine[k].uuid))
                h->is_gone[i] = true;
}

static void validate(struct history *h, size_t i)
{
    struct checkpoint_keep_trial *trial = &h->trial[h->item[i].trial_id];

    h->item[i].has_metric = true;
    h->item[i].metric = below(h, 8) / 8.0; /* many ties */
    if (h->item[i].steps > trial->validated_steps)
        trial->validated_steps = h->item[i].steps;
}

static void save(struct history *h)
{
    struct checkpoint_keep_item *x = &h->item[h->count];
    int64_t trial = 1 + below(h, TRIALS);
    int64_t steps = 1;

    for (size_t i = 0; i < h->count; i++)
        if (h->item[i].trial_id == trial && h->item[i].steps >= steps)
            steps = h->item[i].steps + 1;
    snprintf(h->name[h->count], sizeof(h->name[0]), "%c%zu", 'a' + below(h, 26),
             h->count);
    *x = (struct checkpoint_keep_item){.uuid = h->name[h->count],
                                       .trial_id = trial,
                                       .steps = steps,
                                       .is_held = below(h, 20) == 0};
    h->trial[trial].is_live = true;
    h->latest[trial] = h->count;
    if (below(h, 2)) { /* or the heart hears of it when it hears of the next one */
        h->trial[trial].resumes_from = x->uuid;
        h->trial[trial].resumes_steps = steps;
    }
    if (below(h, 3))
        validate(h, h->count);
    h->count++;
}

TEST(collecting_all_along_leaves_exactly_what_the_definition_protects)
{
    for (uint32_t seed = 1; seed <= 400; seed++) {
        struct history h = {0};

        rng_seed(&h.rng, seed);
        h.policy = (struct checkpoint_keep_policy){below(&h, 4), below(&h, 3),
                                                   below(&h, 3), below(&h, 2)};
        while (h.count < MOST - 5) {
            size_t last = h.count;

            save(&h);
            if (below(&h, 2))
                collect(&h, h.item[last].trial_id);
            /* A validation that comes after its checkpoint, before the next one. */
            if (!h.item[last].has_metric && below(&h, 2)) {
                validate(&h, last);
                collect(&h, h.item[last].trial_id);
            }
            for (int64_t t = 1; t <= TRIALS; t++)
                if (h.trial[t].is_live && h.is_gone[h.latest[t]])
                    fail_msg("seed %u: trial %d cannot resume", seed, (int)t);
        }
        for (int64_t t = 1; t <= TRIALS; t++)
            h.trial[t].is_live = false;
        for (int64_t t = 1; t <= TRIALS; t++)
            collect(&h, t);
        for (size_t i = 0; i < h.count; i++)
            if (h.is_gone[i] == stays(&h, i))
                fail_msg("seed %u: %s %s", seed, h.item[i].uuid,
                         h.is_gone[i] ? "was lost" : "is left over");
    }
}
