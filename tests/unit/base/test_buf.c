/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory/buf.h"

#include <string.h>

#include "base/memory/mem.h"
#include "tests/support/test.h"

TEST(an_empty_buffer_reads_as_an_empty_string)
{
    struct buf buf = BUF_INIT;

    CHECK_STR(buf.data, "");
    buf_cut(&buf, 0);
    buf_drop(&buf, 5);
    buf_clear(&buf);
    CHECK_STR(buf.data, "");
    buf_done(&buf);
}

TEST(what_is_added_follows_what_was_there)
{
    struct buf buf = BUF_INIT;

    buf_puts(&buf, "trial");
    buf_putc(&buf, ' ');
    buf_printf(&buf, "%d of %d", 7, 9);
    buf_add(&buf, "\0x", 2);

    CHECK_OK(buf.status);
    CHECK_EQ(buf.len, 14);
    CHECK_EQ(memcmp(buf.data, "trial 7 of 9\0x", 15), 0);
    buf_done(&buf);
}

TEST(bytes_can_be_dropped_at_both_ends)
{
    struct buf buf = BUF_INIT;

    buf_puts(&buf, "0123456789");
    buf_drop(&buf, 3);
    CHECK_STR(buf.data, "3456789");
    buf_cut(&buf, 2);
    CHECK_STR(buf.data, "34");
    buf_drop(&buf, 99);
    CHECK_STR(buf.data, "");
    buf_done(&buf);
}

TEST(numbers_are_little_endian_and_varints_as_short_as_can_be)
{
    struct buf buf = BUF_INIT;

    buf_put_u32(&buf, 0x01020304);
    buf_put_u64(&buf, 0x1112131415161718);
    buf_put_varint(&buf, 0);
    buf_put_varint(&buf, 127);
    buf_put_varint(&buf, 300);
    buf_put_varint(&buf, UINT64_MAX);

    CHECK_EQ(buf.len, 4 + 8 + 1 + 1 + 2 + 10);
    CHECK_EQ(memcmp(buf.data, "\x04\x03\x02\x01\x18\x17\x16\x15\x14\x13\x12\x11", 12),
             0);
    CHECK_EQ(memcmp(buf.data + 12,
                    "\x00\x7f\xac\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 14),
             0);
    buf_done(&buf);
}

TEST(a_buffer_remembers_that_it_was_too_small)
{
    struct buf buf = BUF_LIMITED(8);

    buf_puts(&buf, "12345678");
    CHECK_OK(buf.status);
    buf_putc(&buf, '9');
    CHECK_EQ(buf.status, DET_TOO_LARGE);
    buf_puts(&buf, "");
    CHECK_STR(buf.data, "12345678");
    CHECK_NULL(buf_take(&buf));

    buf_clear(&buf);
    buf_puts(&buf, "again");
    CHECK_STR(buf.data, "again");
    buf_done(&buf);
}

TEST(room_is_filled_by_the_caller)
{
    struct buf buf = BUF_INIT;
    char *room = buf_room(&buf, 100);

    memcpy(room, "abc", 3);
    buf_took(&buf, 3);
    CHECK_STR(buf.data, "abc");
    CHECK_NULL(buf_room(&buf, SIZE_MAX));
    CHECK_EQ(buf.status, DET_TOO_LARGE);
    buf_done(&buf);
}

TEST(the_bytes_can_be_taken_even_when_there_are_none)
{
    struct buf buf = BUF_INIT;
    char *text = buf_take(&buf);

    CHECK_STR(text, "");
    mem_free(text);
    buf_puts(&buf, "trial");
    text = buf_take(&buf);
    CHECK_STR(text, "trial");
    CHECK_STR(buf.data, "");
    mem_free(text);
}

TEST(a_buffer_out_of_memory_says_so_and_keeps_what_it_had)
{
    EACH_ALLOCATION_FAILS() {
        struct buf buf = BUF_INIT;

        buf_puts(&buf, "begin");
        for (int i = 0; i < 100; i++)
            buf_printf(&buf, " %d", i);
        CHECK_EQ(buf.status, fault_fired() ? DET_NOMEM : DET_OK);
        CHECK(buf.len == 0 || strncmp(buf.data, "begin", 5) == 0);
        buf_done(&buf);
    }
}
