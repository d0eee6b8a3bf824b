/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory/allowance.h"

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "tests/support/test.h"

TEST(a_group_leaves_room_for_others)
{
    struct allowance a = {.most = 100, .group_most = 70};

    CHECK(allowance_take(&a, 1, 70));
    CHECK(!allowance_take(&a, 1, 1));
    CHECK(!allowance_take(&a, 1 + ALLOWANCE_GROUPS, 1)); /* the same group */
    CHECK(allowance_take(&a, 2, 30));
    CHECK(!allowance_take(&a, 3, 1));
    allowance_give(&a, 1, 70);
    CHECK(allowance_take(&a, 3, 70));
    CHECK(!allowance_take(&a, 1, 1)); /* what failed has taken nothing: */
    allowance_give(&a, 2, 30);
    CHECK(allowance_take(&a, 1, 30));
}

TEST(the_largest_archive_and_its_reply_fit_into_one_user_s_part)
{
    const size_t archive = 128u << 20;
    struct allowance a = {.most = 418u << 20, .group_most = 313u << 20};
    struct buf tgz = {.data = buf_empty, .part = {.from = &a, .group = 1}};
    struct buf reply = tgz;

    CHECK(buf_room(&tgz, archive) != NULL);
    buf_puts(&reply, "{\"b64Tgz\":\"");
    CHECK(buf_room(&reply, (archive + 2) / 3 * 4) != NULL);
    buf_took(&reply, (archive + 2) / 3 * 4);
    buf_puts(&reply, "\"}");
    CHECK_EQ(reply.status, DET_OK);
    buf_done(&tgz);
    buf_done(&reply);
    CHECK_EQ(a.taken, 0);
}

TEST(more_than_all_is_never_given_and_without_a_bound_everything_is)
{
    struct allowance a = {.most = 100, .group_most = 70};
    struct allowance none = {0};

    CHECK(!allowance_take(&a, 1, SIZE_MAX));
    CHECK(!allowance_take(&a, 1, 71));
    CHECK(allowance_take(&none, 1, SIZE_MAX));
    allowance_give(&none, 1, SIZE_MAX);
}

TEST(buffers_and_arenas_take_their_part_and_give_it_back)
{
    struct allowance a = {.most = 100000, .group_most = 100000};
    struct arena mem = ARENA_INIT(1 << 20);
    struct buf buf = {.data = buf_empty, .part = {.from = &a, .group = 1}};

    mem.part = (struct allowance_part){.from = &a, .group = 1};
    CHECK(buf_room(&buf, 100) != NULL && arena_alloc(&mem, 1000) != NULL);
    CHECK_EQ(a.taken, 0); /* small ones are not counted */
    CHECK(buf_room(&buf, 50000) != NULL);
    CHECK(a.taken >= 50000);
    CHECK_NULL(arena_alloc(&mem, 60000));
    CHECK(mem.has_failed);
    CHECK_NULL(buf_room(&buf, 150000));
    CHECK_EQ(buf.status, DET_BUSY);

    buf_done(&buf);

    CHECK_EQ(a.taken, 0);
    CHECK(arena_alloc(&mem, 60000) != NULL);
    CHECK_EQ(a.taken, a.group[1]);
    CHECK(a.taken >= 60000);
    arena_done(&mem);
    CHECK_EQ(a.taken, 0);
}

TEST(an_arena_keeps_the_memory_of_a_buffer_and_its_part)
{
    struct allowance a = {.most = 1 << 20, .group_most = 1 << 20};
    struct arena mem = ARENA_INIT(1 << 20);
    struct buf buf = {.data = buf_empty, .part = {.from = &a, .group = 1}};
    const char *bytes;
    const char *kept;
    size_t taken;

    mem.part = (struct allowance_part){.from = &a, .group = 1};
    CHECK(buf_room(&buf, 20000) != NULL);
    buf_puts(&buf, "files");
    bytes = buf.data;
    taken = a.taken;

    kept = arena_keep(&mem, &buf);

    CHECK(kept == bytes);
    CHECK_STR(kept, "files");
    CHECK_EQ(a.taken, taken);
    buf_done(&buf);
    CHECK_EQ(a.taken, taken);
    arena_clear(&mem);
    CHECK_EQ(a.taken, 0);
    arena_done(&mem);
}
