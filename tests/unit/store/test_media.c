/* SPDX-License-Identifier: Apache-2.0 */
/* Media of trials: one item per name and steps, of the latest run; limits; removal. */
#include "store/media/media.h"

#include "det/media.h"
#include "model/media.h"
#include "store/experiment/experiment_delete.h"
#include "tests/unit/store/world.h"

static void world_of_trials(struct world *w)
{
    world_init(w, true);
    add_experiment(w, 1, SIMPLE_CONFIG);
    add_trial(w, 1, 1);
    add_trial(w, 2, 1);
}

static struct media_new text_item(int64_t run, const char *name, int64_t steps,
                                  const char *text)
{
    return (struct media_new){
        .item = {.trial_id = 1,
                 .name = name,
                 .steps = steps,
                 .run_id = run,
                 .type = DET_MEDIA_TEXT,
                 .report_us = 1000 + steps},
        .bytes = text,
        .len = strlen(text),
        .bytes_most = 1 << 20,
    };
}

static void put(struct world *w, int64_t run, const char *name, int64_t steps,
                const char *text)
{
    struct media_new media = text_item(run, name, steps, text);

    CHECK_OK(store_media_add(w->db, &media, &test_err));
}

/* "name@steps/run=text", with '!' for an archived one, one after the other. */
static const char *all_of(struct world *w, int64_t trial)
{
    CLEANUP(buf_done) struct buf all = BUF_INIT;
    struct media_item *items;
    uint32_t count;

    CHECK_OK(store_media_of_trial(w->db, trial, &w->mem, &items, &count, &test_err));
    for (uint32_t i = 0; i < count; i++) {
        CLEANUP(buf_done) struct buf bytes = BUF_INIT;
        struct media_item item;

        CHECK_OK(store_media_get(w->db, trial, items[i].id, &w->mem, &item, &bytes,
                                 &test_err));
        CHECK_EQ(item.size_bytes, bytes.len);
        buf_printf(&all, "%s%s@%d/%d=%s%s", i ? " " : "", item.name, (int)item.steps,
                   (int)item.run_id, bytes.data, item.is_archived ? "!" : "");
    }
    return arena_strdup(&w->mem, all.data);
}

TEST(an_item_replaces_the_one_of_the_same_name_and_steps)
{
    struct world w;

    world_of_trials(&w);
    put(&w, 1, "b", 10, "one");
    put(&w, 1, "a", 20, "two");
    put(&w, 1, "b", 10, "three");
    put(&w, 1, "b", 5, "four");

    CHECK_STR(all_of(&w, 1), "a@20/1=two b@5/1=four b@10/1=three");
    CHECK_STR(all_of(&w, 2), "");
    CHECK_EQ(count_of(w.db, "media_bytes"), 3);
    world_done(&w);
}

TEST(a_run_that_goes_on_from_a_checkpoint_replaces_or_archives_what_was_after_it)
{
    struct world w;

    world_of_trials(&w);
    put(&w, 1, "a", 10, "x");
    put(&w, 1, "a", 20, "x");
    put(&w, 1, "a", 25, "x");
    CHECK_OK(media_resumes(w.db, 1, 2, 10, &test_err));
    CHECK_STR(all_of(&w, 1), "a@10/1=x a@20/1=x! a@25/1=x!");
    put(&w, 2, "a", 20, "y");
    CHECK_STR(all_of(&w, 1), "a@10/1=x a@20/2=y a@25/1=x!");
    put(&w, 1, "a", 20, "late"); /* of an earlier run: nothing changes */
    CHECK_STR(all_of(&w, 1), "a@10/1=x a@20/2=y a@25/1=x!");
    put(&w, 3, "b", 0, "z"); /* a run from the beginning */
    CHECK_STR(all_of(&w, 1), "a@10/1=x! a@20/2=y! a@25/1=x! b@0/3=z");
    world_done(&w);
}

TEST(a_run_that_was_given_up_replaces_nothing)
{
    struct world w;
    struct media_new late = text_item(2, "a", 10, "late");

    world_of_trials(&w);
    put(&w, 1, "a", 10, "x");
    late.is_late = true;
    CHECK_OK(store_media_add(w.db, &late, &test_err));
    late.item.steps = 11;
    CHECK_OK(store_media_add(w.db, &late, &test_err));
    CHECK_STR(all_of(&w, 1), "a@10/1=x a@11/2=late!");
    world_done(&w);
}

TEST(items_beyond_the_limits_of_the_trial_are_refused_by_name)
{
    struct world w;
    struct media_new media = text_item(1, "a", 1, "12345678");

    world_of_trials(&w);
    media.bytes_most = 10;
    CHECK_OK(store_media_add(w.db, &media, &test_err));
    CHECK_OK(store_media_add(w.db, &media, &test_err)); /* replaced: still 8 bytes */
    media.item.steps = 2;
    CHECK_EQ(store_media_add(w.db, &media, &test_err), DET_TOO_LARGE);
    CHECK_HAS(test_err.text, "'a' of step 2 is not stored");
    CHECK_HAS(test_err.text, "max_media_bytes");
    media.item.trial_id = 2; /* has its own room */
    CHECK_OK(store_media_add(w.db, &media, &test_err));
    CHECK_OK(db_exec(w.db,
                     "WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n"
                     " WHERE i < 10097) INSERT INTO media (id, trial_id, name, steps,"
                     " run_id, type, size_bytes, report_us)"
                     " SELECT i, 1, 'n', i, 1, 9, 0, 0 FROM n",
                     &test_err));
    CHECK_OK(db_exec(w.db,
                     "UPDATE media_sums SET items = items + 9998 WHERE trial_id = 1",
                     &test_err));
    media = text_item(1, "b", 1, "x");
    CHECK_OK(store_media_add(w.db, &media, &test_err));
    media.item.steps = 2;
    CHECK_EQ(store_media_add(w.db, &media, &test_err), DET_TOO_LARGE);
    CHECK_HAS(test_err.text, "10000 media items");
    world_done(&w);
}

TEST(media_are_removed_in_steps_and_by_age)
{
    struct world w;
    int64_t removed;
    bool more = true;
    int steps = 0;

    world_of_trials(&w);
    for (int i = 0; i < 40; i++)
        put(&w, 1, "a", i, "x");
    CHECK_OK(store_media_expire(w.db, 1003, &removed, &test_err));
    CHECK_EQ(removed, 3);
    CHECK_EQ(count_of(w.db, "media"), 37);
    CHECK_EQ(count_of(w.db, "media_bytes"), 37);
    for (; more; steps++)
        CHECK_OK(media_delete_step(w.db, 1, &more, &test_err));
    CHECK_EQ(steps, 3);
    CHECK_EQ(count_of(w.db, "media"), 0);
    CHECK_EQ(count_of(w.db, "media_bytes"), 0);
    world_done(&w);
}
