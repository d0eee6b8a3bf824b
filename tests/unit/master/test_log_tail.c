/* SPDX-License-Identifier: Apache-2.0 */
#include "master/watch/log_tail.h"

#include <stdio.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/memory/mem.h"
#include "tests/support/test.h"

static struct log_tail *tail_new(void)
{
    struct log_tail *tail;

    CHECK_OK(log_tail_new(&tail, &test_err));
    return tail;
}

static void add(struct log_tail *tail, const char *text)
{
    log_tail_add(tail, LOG_INFO, 7, text, strlen(text));
}

static uint32_t read_from(struct log_tail *tail, int64_t from, uint32_t most,
                          struct arena *mem, struct log_tail_entry **ret_entries)
{
    uint32_t count = 0;

    CHECK_OK(log_tail_read(tail, from, most, mem, ret_entries, &count, &test_err));
    return count;
}

TEST(lines_are_numbered_and_read_from_any_place)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct log_tail *tail = tail_new();
    struct log_tail_entry *entries;

    CHECK_EQ(read_from(tail, 0, 10, &mem, &entries), 0);
    add(tail, "a");
    add(tail, "b");
    add(tail, "c");
    CHECK_EQ(log_tail_next(tail), 3);
    CHECK_EQ(read_from(tail, -5, 2, &mem, &entries), 2);
    CHECK_EQ(entries[0].id, 0);
    CHECK_STR(entries[1].text, "b");
    CHECK_EQ(read_from(tail, 2, 10, &mem, &entries), 1);
    CHECK_STR(entries[0].text, "c");
    CHECK_EQ(entries[0].time_us, 7);
    CHECK_EQ(read_from(tail, 99, 10, &mem, &entries), 0);
    log_tail_free(tail);
}

TEST(the_oldest_lines_go_when_there_are_too_many)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct log_tail *tail = tail_new();
    struct log_tail_entry *entries;
    char text[16];

    for (int i = 0; i < LOG_TAIL_LINES + 3; i++) {
        snprintf(text, sizeof(text), "%d", i);
        add(tail, text);
    }
    CHECK_EQ(read_from(tail, 0, 1, &mem, &entries), 1);
    CHECK_EQ(entries[0].id, 3);
    CHECK_STR(entries[0].text, "3");
    log_tail_free(tail);
}

TEST(long_lines_take_no_more_than_their_bytes)
{
    enum { LONG = 64 << 10 };
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(4 * LOG_TAIL_BYTES);
    struct log_tail *tail = tail_new();
    struct log_tail_entry *entries;
    char *text = mem_alloc(LONG);

    CHECK(text != NULL);
    memset(text, 'x', LONG);
    for (int i = 0; i < 2 * LOG_TAIL_BYTES / LONG; i++)
        log_tail_add(tail, LOG_INFO, 7, text, LONG);
    CHECK_EQ(read_from(tail, 0, 1000, &mem, &entries), LOG_TAIL_BYTES / LONG);
    mem_free(text);
    log_tail_free(tail);
}

static void count_call(void *arg)
{
    ++*(int *)arg;
}

TEST(a_watch_is_called_for_each_line_of_the_log)
{
    struct log_tail *tail = tail_new();
    int calls = 0;

    log_setup(LOG_INFO, -1);
    log_tail_listen(tail);
    log_tail_set_watch(tail, count_call, &calls);
    log_info("one");
    log_debug("not logged");
    CHECK_EQ(calls, 1);
    log_tail_set_watch(tail, NULL, NULL);
    log_info("two");
    CHECK_EQ(calls, 1);
    CHECK_EQ(log_tail_next(tail), 2);
    log_tail_free(tail);
    log_info("nobody listens");
    log_setup(LOG_INFO, 2);
}
