/* SPDX-License-Identifier: Apache-2.0 */
/* log_tail.c - see log_tail.h. */
#include "master/watch/log_tail.h"

#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/mem.h"
#include "base/thread/lock.h"

struct kept {
    int64_t time_us;
    enum log_level level;
    char *text;
    size_t len;
};

struct log_tail {
    struct log_tap tap;
    struct lock lock; /* guards the rest */
    struct kept kept[LOG_TAIL_LINES];
    int64_t first; /* the number of the oldest entry; entry n is kept[n % LINES] */
    int64_t next;
    size_t bytes;

    struct lock watch_lock; /* held while `watch` runs; waits follows */
    void (*watch)(void *arg);
    void *watch_arg;
};

static struct kept *place_of(struct log_tail *tail, int64_t id)
{
    return &tail->kept[id % LOG_TAIL_LINES];
}

static void drop_oldest(struct log_tail *tail)
{
    struct kept *oldest = place_of(tail, tail->first++);

    tail->bytes -= oldest->len;
    mem_free(oldest->text);
    *oldest = (struct kept){0};
}

det_status log_tail_new(struct log_tail **ret_tail, struct err *err)
{
    struct log_tail *tail = mem_new(struct log_tail);
    det_status st;

    if (!tail)
        return err_default(err, DET_NOMEM);
    tail->tap = (struct log_tap){log_tail_add, tail};
    st = lock_init(&tail->lock, err);
    if (!st)
        st = lock_init(&tail->watch_lock, err);
    if (st) {
        log_tail_free(tail);
        return st;
    }
    *ret_tail = tail;
    return DET_OK;
}

void log_tail_free(struct log_tail *tail)
{
    if (!tail)
        return;
    log_set_tap(NULL);
    while (tail->first < tail->next)
        drop_oldest(tail);
    lock_done(&tail->lock);
    lock_done(&tail->watch_lock);
    mem_free(tail);
}

void log_tail_listen(struct log_tail *tail)
{
    log_set_tap(&tail->tap);
}

void log_tail_add(void *arg, enum log_level level, int64_t time_us, const char *text,
                  size_t len)
{
    struct log_tail *tail = arg;
    char *copy = mem_alloc(len + 1);

    if (!copy)
        return;
    memcpy(copy, text, len);
    copy[len] = '\0';
    lock_take(&tail->lock);
    while (tail->first < tail->next && (tail->next - tail->first >= LOG_TAIL_LINES ||
                                        tail->bytes + len > LOG_TAIL_BYTES))
        drop_oldest(tail);
    *place_of(tail, tail->next++) = (struct kept){time_us, level, copy, len};
    tail->bytes += len;
    lock_give(&tail->lock);

    lock_take(&tail->watch_lock);
    if (tail->watch)
        tail->watch(tail->watch_arg);
    lock_give(&tail->watch_lock);
}

void log_tail_set_watch(struct log_tail *tail, void (*fn)(void *arg), void *arg)
{
    lock_take(&tail->watch_lock);
    tail->watch = fn;
    tail->watch_arg = arg;
    lock_give(&tail->watch_lock);
}

int64_t log_tail_next(struct log_tail *tail)
{
    int64_t next;

    lock_take(&tail->lock);
    next = tail->next;
    lock_give(&tail->lock);
    return next;
}

static bool copy_entries(struct log_tail *tail, int64_t from, uint32_t count,
                         struct arena *mem, struct log_tail_entry *entries)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct kept *kept = place_of(tail, from + i);

        entries[i] = (struct log_tail_entry){from + i, kept->time_us, kept->level,
                                             arena_strndup(mem, kept->text, kept->len)};
    }
    return !mem->has_failed;
}

det_status log_tail_read(struct log_tail *tail, int64_t from, uint32_t most,
                         struct arena *mem, struct log_tail_entry **ret_entries,
                         uint32_t *ret_count, struct err *err)
{
    struct log_tail_entry *entries;
    uint32_t count;
    bool is_copied;

    lock_take(&tail->lock);
    from = MAX(from, tail->first);
    count = (uint32_t)MIN(MAX(tail->next - from, 0), (int64_t)most);
    entries = arena_array(mem, struct log_tail_entry, (size_t)count + 1);
    is_copied = entries && copy_entries(tail, from, count, mem, entries);
    lock_give(&tail->lock);
    if (!is_copied)
        return err_default(err, DET_NOMEM);
    *ret_entries = entries;
    *ret_count = count;
    return DET_OK;
}
