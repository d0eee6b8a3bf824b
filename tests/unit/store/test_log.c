/* SPDX-License-Identifier: Apache-2.0 */
/* test_log.c - paging, filters, merging and retention of logs against a plain list. */
#include "store/engine/db.h"
#include "store/log/log_add.h"
#include "store/log/log_chunk.h"
#include "store/log/log_compact.h"
#include "store/log/log_line.h"
#include "store/log/log_read.h"
#include "store/log/log_seek.h"
#include "tests/unit/store/world.h"

enum { LINES = 6000 };

static const char *const words[] = {
    "loss went down", "epoch 3", "error: no such file", "",
    "a longer line that says a little more than others do"};
static const char *const agents[] = {"agent-1", "agent-2", NULL};

struct plain {
    struct log_line line[LINES];
    uint32_t count;
};

static struct log_line some_line(struct rng64 *rng, int64_t time_us)
{
    struct log_line line = {.time_us = time_us,
                            .severity = (enum log_severity)rng64_below(rng, 7),
                            .stream = (enum log_stream)rng64_below(rng, 3),
                            .rank = (int64_t)rng64_below(rng, 4) - 1,
                            .text = words[rng64_below(rng, ARRAY_LEN(words))],
                            .allocation = "1.r.1",
                            .container = "c",
                            .source = "task"};

    line.len = (uint32_t)strlen(line.text);
    return line;
}

static det_status add_batch(struct world *w, const struct log_batch *batch,
                            uint32_t *ret_stored)
{
    det_status st;

    CHECK_OK(db_begin(w->db, &test_err));
    st = store_log_add(w->db, batch, &w->mem, ret_stored, &test_err);
    if (st)
        db_rollback(w->db);
    else
        CHECK_OK(db_commit(w->db, &test_err));
    return st;
}

static void merge_all(struct world *w)
{
    bool did = true;

    while (did) {
        CHECK_OK(db_begin(w->db, &test_err));
        CHECK_OK(store_log_compact(w->db, &did, &test_err));
        CHECK_OK(db_commit(w->db, &test_err));
    }
}

/* Batches of 1..200 lines from changing agents; some jobs fail in between. */
static void fill(struct world *w, struct plain *plain, uint64_t seed, uint32_t upto)
{
    struct rng64 rng = {.state = seed};

    while (plain->count < upto) {
        uint32_t count =
            1 + (uint32_t)rng64_below(&rng, rng64_below(&rng, 5) ? 20 : 200);
        struct log_batch batch = {.task_id = "1.r", .line = &plain->line[plain->count]};
        const char *agent = agents[rng64_below(&rng, 3)];
        uint32_t stored = 0;

        count = MIN(count, upto - plain->count);
        for (uint32_t i = 0; i < count; i++) {
            struct log_line *line = &plain->line[plain->count + i];

            *line = some_line(&rng, INT64_C(1000000000) + plain->count * 1000 + i);
            line->agent = agent;
            line->id = plain->count + i + 1;
        }
        batch.count = count;
        CHECK_OK(add_batch(w, &batch, &stored));
        CHECK_EQ(stored, count);
        plain->count += count;
        if (!rng64_below(&rng, 10)) { /* drops the cache; the numbers go on */
            CHECK_OK(db_begin(w->db, &test_err));
            CHECK_OK(store_log_add(w->db, &batch, &w->mem, &stored, &test_err));
            db_rollback(w->db);
        }
        if (!rng64_below(&rng, 8))
            merge_all(w);
    }
}

static bool wanted(const struct log_query *query, const struct log_line *line)
{
    if (query->after_id && line->id <= query->after_id)
        return false;
    if (query->before_id && line->id >= query->before_id)
        return false;
    if (query->severities && !(query->severities >> line->severity & 1))
        return false;
    if (query->agents.count &&
        (!line->agent || strcmp(query->agents.at[0], line->agent)))
        return false;
    if (query->ranks.count && query->ranks.at[0] != line->rank)
        return false;
    if (query->streams.count &&
        (line->stream == LOG_STREAM_NONE ||
         strcmp(query->streams.at[0],
                line->stream == LOG_STREAM_STDOUT ? "stdout" : "stderr")))
        return false;
    if (query->from_us && line->time_us <= query->from_us)
        return false;
    if (query->to_us && line->time_us > query->to_us)
        return false;
    if (query->is_regex)
        return !strcmp(line->text, "error: no such file");
    return !query->search || strstr(line->text, query->search);
}

static void check_line(const struct log_line *got, const struct log_line *want)
{
    CHECK_EQ(got->id, want->id);
    CHECK_EQ(got->time_us, want->time_us);
    CHECK_EQ(got->severity, want->severity);
    CHECK_EQ(got->stream, want->stream);
    CHECK_EQ(got->rank, want->rank);
    CHECK_EQ(got->len, want->len);
    CHECK_STR(got->text, want->text);
    CHECK_EQ(!got->agent, !want->agent);
    if (got->agent)
        CHECK_STR(got->agent, want->agent);
    CHECK_STR(got->allocation, "1.r.1");
}

/* Pages of any size return all lines of the plain list, in its order. */
static void check_query(struct world *w, const struct plain *plain,
                        struct log_query query)
{
    struct log_query first = query;
    struct arena mem = ARENA_INIT(64 << 20);
    struct log_page page = {0};
    uint32_t at = 0;
    int pages = 0;

    while (!page.is_end) {
        CHECK_OK(store_log_read(w->db, &query, &mem, &page, &test_err));
        if (query.limit)
            CHECK(page.count <= query.limit);
        for (uint32_t i = 0; i < page.count; i++, at++) {
            const struct log_line *want = NULL;

            for (; at < plain->count; at++) {
                want = query.is_descending ? &plain->line[plain->count - 1 - at]
                                           : &plain->line[at];
                if (wanted(&first, want))
                    break;
            }
            CHECK(at < plain->count);
            check_line(&page.line[i], want);
        }
        if (query.is_descending)
            query.before_id = page.next;
        else
            query.after_id = page.next;
        arena_clear(&mem);
        CHECK(++pages < 10000);
    }
    for (; at < plain->count; at++)
        CHECK(!wanted(&first, query.is_descending ? &plain->line[plain->count - 1 - at]
                                                  : &plain->line[at]));
    arena_done(&mem);
}

static void check_queries(struct world *w, const struct plain *plain)
{
    const char *agent[] = {"agent-2"};
    const char *stream[] = {"stderr"};
    int64_t rank[] = {-1};
    struct field_strs one_agent = {agent, 1};
    struct field_strs one_stream = {stream, 1};
    struct field_i64s no_rank = {rank, 1};
    uint32_t limits[] = {0, 7, 100};

    for (int way = 0; way < 2; way++) {
        for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
            struct log_query all = {
                .task_id = "1.r", .limit = limits[i], .is_descending = way};
            struct log_query query = all;

            check_query(w, plain, query);
            query.after_id = 500;
            query.before_id = 800;
            check_query(w, plain, query);
            query = all;
            query.severities = 1u << LOG_SEVERITY_ERROR | 1u << LOG_SEVERITY_WARNING;
            query.agents = one_agent;
            check_query(w, plain, query);
            query = all;
            query.streams = one_stream;
            query.ranks = no_rank;
            check_query(w, plain, query);
            query = all;
            query.from_us = INT64_C(1000000000) + 700000;
            query.to_us = INT64_C(1000000000) + 900000;
            check_query(w, plain, query);
            query = all;
            query.search = "no such";
            check_query(w, plain, query);
            query.search = "nothing has this";
            check_query(w, plain, query);
            query.search = "^e.*e$"; /* "error: no such file" */
            query.is_regex = true;
            check_query(w, plain, query);
        }
    }
}

static void play(bool is_memory, uint32_t lines)
{
    struct world w;
    struct plain *plain = calloc(1, sizeof(*plain));

    CHECK(plain != NULL);
    world_init(&w, is_memory);
    fill(&w, plain, 7, lines / 3);
    check_queries(&w, plain);
    fill(&w, plain, 8, lines);
    check_queries(&w, plain);
    merge_all(&w);
    check_queries(&w, plain);
    if (lines == LINES) /* 300 KB in batches of about 1 KB */
        CHECK(count_of(w.db, "log_chunks") < 100);
    free(plain);
    world_done(&w);
}

TEST(pages_and_filters_agree_with_a_plain_list)
{
    play(true, LINES);
}

TEST(pages_and_filters_agree_on_disk_too)
{
    play(false, 1500);
}

static const char *live_of(struct world *w, const struct log_query *query)
{
    struct log_page page;

    CHECK_OK(store_log_live(w->db, query, &w->mem, &page, &test_err));
    return page.count == 1 ? page.line[0].text : page.count ? "several" : "none";
}

TEST(a_line_that_is_rewritten_is_not_in_the_log_before_it_ends)
{
    static const struct log_query all = {.task_id = "t"};
    static const char *streams[] = {"stdout"};
    struct log_query of_stdout = {.task_id = "t", .streams = {streams, 1}};
    struct log_query with_text = {.task_id = "t", .search = "20"};
    struct log_line line = {.text = "100%", .len = 4, .rank = -1};
    struct log_line live = {
        .text = "10%", .len = 3, .rank = -1, .stream = LOG_STREAM_STDERR};
    struct log_batch batch = {.task_id = "t", .sender = "t.1/0/stderr", .live = &live};
    struct log_page page;
    struct world w;
    uint32_t stored;

    world_init(&w, true);
    CHECK_STR(live_of(&w, &all), "none");
    CHECK_OK(add_batch(&w, &batch, &stored));
    CHECK_EQ(stored, 0);
    CHECK_STR(live_of(&w, &all), "10%");
    live.text = "20%";
    batch.end_offset = 4;
    CHECK_OK(add_batch(&w, &batch, &stored));
    CHECK_STR(live_of(&w, &all), "20%");
    CHECK_STR(live_of(&w, &of_stdout), "none");
    CHECK_STR(live_of(&w, &with_text), "20%");
    CHECK_OK(store_log_read(w.db, &all, &w.mem, &page, &test_err));
    CHECK_EQ(page.count, 0);

    live.text = "old";
    batch.end_offset = 2; /* an earlier batch that was delayed */
    CHECK_OK(add_batch(&w, &batch, &stored));
    CHECK_STR(live_of(&w, &all), "20%");

    batch.line = &line;
    batch.count = 1;
    batch.live = NULL;
    batch.offset = 4;
    batch.end_offset = 12;
    CHECK_OK(add_batch(&w, &batch, &stored));
    CHECK_STR(live_of(&w, &all), "none");
    CHECK_OK(store_log_read(w.db, &all, &w.mem, &page, &test_err));
    CHECK_EQ(page.count, 1);
    CHECK_STR(page.line[0].text, "100%");
    world_done(&w);
}

TEST(what_a_line_showed_last_is_kept_when_its_sender_is_gone)
{
    static const struct log_query all = {.task_id = "t"};
    struct log_line live = {.text = "57%", .len = 3, .rank = 2, .allocation = "t.1"};
    struct log_batch batch = {.task_id = "t", .sender = "t.1/0/stderr", .live = &live};
    struct log_batch other = {.task_id = "t", .sender = "t.12/0/stderr", .live = &live};
    struct log_page page;
    struct world w;
    uint32_t stored;

    world_init(&w, true);
    CHECK_OK(add_batch(&w, &batch, &stored));
    CHECK_OK(add_batch(&w, &other, &stored));
    for (int i = 0; i < 2; i++) {
        CHECK_OK(db_begin(w.db, &test_err));
        CHECK_OK(store_log_settle(w.db, "t", "t.1", &test_err));
        CHECK_OK(db_commit(w.db, &test_err));
    }

    CHECK_OK(store_log_read(w.db, &all, &w.mem, &page, &test_err));
    CHECK_EQ(page.count, 1);
    CHECK_STR(page.line[0].text, "57%");
    CHECK_STR(page.line[0].allocation, "t.1");
    CHECK_EQ(page.line[0].rank, 2);
    CHECK_STR(live_of(&w, &all), "57%"); /* of the other sender */
    world_done(&w);
}

TEST(a_batch_that_comes_again_is_stored_once)
{
    struct world w;
    struct log_line line[4] = {{.text = "one", .len = 3, .rank = -1},
                               {.text = "two", .len = 3, .rank = -1},
                               {.text = "three", .len = 5, .rank = -1},
                               {.text = "four", .len = 4, .rank = -1}};
    struct log_batch batch = {.task_id = "t",
                              .line = line,
                              .count = 2,
                              .sender = "a/0/stdout",
                              .offset = 0,
                              .end_offset = 8};
    int64_t offset = -1;
    uint32_t stored = 9;

    world_init(&w, true);
    CHECK_OK(store_log_offset(w.db, "a/0/stdout", &offset, &test_err));
    CHECK_EQ(offset, 0);
    CHECK_OK(add_batch(&w, &batch, &stored));
    CHECK_EQ(stored, 2);
    CHECK_OK(add_batch(&w, &batch, &stored));
    CHECK_EQ(stored, 0);
    batch.count = 4; /* the same again and two more */
    batch.end_offset = 19;
    CHECK_OK(add_batch(&w, &batch, &stored));
    CHECK_EQ(stored, 2);
    CHECK_OK(store_log_offset(w.db, "a/0/stdout", &offset, &test_err));
    CHECK_EQ(offset, 19);
    batch.line = line + 3; /* something before it is missing */
    batch.count = 1;
    batch.offset = 100;
    batch.end_offset = 105;
    CHECK_OK(add_batch(&w, &batch, &stored));
    CHECK_EQ(stored, 0);
    CHECK_OK(store_log_offset(w.db, "a/0/stdout", &offset, &test_err));
    CHECK_EQ(offset, 19);
    batch.offset = 19;
    batch.end_offset = 24;
    CHECK_OK(add_batch(&w, &batch, &stored));
    CHECK_EQ(stored, 1);
    {
        struct log_query query = {.task_id = "t"};
        struct log_page page;

        CHECK_OK(store_log_read(w.db, &query, &w.mem, &page, &test_err));
        CHECK_EQ(page.count, 5);
        CHECK_STR(page.line[2].text, "three");
        CHECK_STR(page.line[4].text, "four");
        CHECK_NULL(page.line[0].agent);
    }
    world_done(&w);
}

TEST(regular_expressions_find_and_wrong_ones_are_named)
{
    struct world w;
    struct log_line line[2] = {{.text = "epoch 12 done", .len = 13, .rank = -1},
                               {.text = "epoch x", .len = 7, .rank = -1}};
    struct log_batch batch = {.task_id = "t", .line = line, .count = 2};
    struct log_query query = {
        .task_id = "t", .search = "^epoch [0-9]+", .is_regex = true};
    struct log_page page;
    uint32_t count;

    world_init(&w, true);
    CHECK_OK(add_batch(&w, &batch, &count));
    CHECK_OK(store_log_read(w.db, &query, &w.mem, &page, &test_err));
    CHECK_EQ(page.count, 1);
    CHECK_EQ(page.line[0].id, 1);
    query.search = "(";
    CHECK_EQ(store_log_read(w.db, &query, &w.mem, &page, &test_err), DET_INVALID);
    CHECK_HAS(test_err.text, "'('");
    query.task_id = "another";
    query.search = NULL;
    CHECK_OK(store_log_read(w.db, &query, &w.mem, &page, &test_err));
    CHECK_EQ(page.count, 0);
    CHECK(page.is_end);
    world_done(&w);
}

TEST(large_lines_and_batches_are_cut_into_chunks)
{
    struct world w;
    struct log_line *line = calloc(3000, sizeof(*line));
    struct log_batch batch = {.task_id = "t", .line = line, .count = 3000};
    struct log_query query = {.task_id = "t", .limit = 5000};
    char *big = malloc(200001);
    struct log_page page;
    uint32_t count;

    CHECK(line && big);
    memset(big, 'x', 200000);
    big[200000] = '\0';
    for (int i = 0; i < 3000; i++)
        line[i] =
            (struct log_line){.text = "0123456789 0123456789 0123456789 0123456789",
                              .len = 43,
                              .rank = 100};
    line[1500].text = big;
    line[1500].len = 200000;
    world_init(&w, true);
    CHECK_OK(add_batch(&w, &batch, &count));
    CHECK(count_of(w.db, "log_chunks") >= 4);
    CHECK_EQ(count_of(w.db, "log_chunks WHERE size > 65536"), 1);
    CHECK_OK(store_log_read(w.db, &query, &w.mem, &page, &test_err));
    CHECK_EQ(page.count, 3000);
    CHECK_STR(page.line[1500].text, big);
    CHECK_EQ(page.line[2999].rank, 100);
    free(line);
    free(big);
    world_done(&w);
}

static void add_at(struct world *w, const char *task_id, int64_t time_us)
{
    struct log_line line = {.text = "x", .len = 1, .time_us = time_us, .rank = -1};
    struct log_batch batch = {.task_id = task_id, .line = &line, .count = 1};
    uint32_t stored;

    CHECK_OK(add_batch(w, &batch, &stored));
}

TEST(old_lines_go_by_their_experiments_days_and_numbers_go_on)
{
    const int64_t day = INT64_C(86400000000);
    struct world w;
    struct log_query query = {.task_id = "1.r"};
    struct log_page page;
    int64_t removed = -1;

    world_init(&w, true);
    add_experiment(&w, 1, "{\"retention_policy\":{\"log_retention_days\":10}}");
    add_trial(&w, 1, 1); /* task 1.r */
    add_at(&w, "1.r", 5 * day);
    add_at(&w, "1.r", 18 * day);
    add_at(&w, "other", 5 * day);
    CHECK_OK(store_log_expire(w.db, 20 * day, -1, &removed, &test_err));
    CHECK_EQ(removed, 1);
    CHECK_OK(store_log_expire(w.db, 20 * day, 14, &removed, &test_err));
    CHECK_EQ(removed, 1);
    CHECK_EQ(count_of(w.db, "log_chunks"), 1);
    CHECK_OK(store_log_expire(w.db, 100 * day, -1, &removed, &test_err));
    CHECK_EQ(removed, 1);
    db_close(w.db);
    CHECK_OK(db_open(w.io, w.path, false, &w.db, &test_err));
    add_at(&w, "1.r", 100 * day);
    CHECK_OK(store_log_read(w.db, &query, &w.mem, &page, &test_err));
    CHECK_EQ(page.count, 1);
    CHECK_EQ(page.line[0].id, 3);
    world_done(&w);
}

TEST(fields_list_what_the_lines_have_had)
{
    struct world w;
    struct buf text = BUF_INIT;
    struct log_line line[3] = {
        {.text = "a", .len = 1, .rank = 11, .stream = LOG_STREAM_STDERR, .agent = "b"},
        {.text = "a", .len = 1, .rank = 2, .agent = "a", .source = "task"},
        {.text = "a", .len = 1, .rank = 100, .agent = "a", .source = "task"}};
    struct log_batch batch = {.task_id = "t", .line = line, .count = 3};
    uint32_t stored;

    world_init(&w, true);
    CHECK_OK(add_batch(&w, &batch, &stored));
    CHECK_OK(add_batch(&w, &batch, &stored));
    CHECK_OK(store_log_fields(w.db, "t", &text, &test_err));
    CHECK_STR(text.data,
              "{\"allocationIds\":[],\"agentIds\":[\"a\",\"b\"],\"containerIds\":[],"
              "\"rankIds\":[2,11,100],\"sources\":[\"task\"],\"stdtypes\":"
              "[\"stderr\"]}");
    buf_done(&text);
    world_done(&w);
}

TEST(damaged_chunks_are_refused_or_read_without_harm)
{
    struct rng64 rng = {.state = 5};
    struct log_writer w = LOG_WRITER_INIT;

    for (int i = 0; i < 100; i++) {
        struct log_line line = some_line(&rng, 1000 * i);

        line.agent = agents[rng64_below(&rng, 3)];
        log_writer_add(&w, &line);
    }
    CHECK_EQ(log_writer_end(&w), DET_OK);
    for (int round = 0; round < 3000; round++) {
        struct buf bad = BUF_INIT;
        struct log_reader r;
        int lines = 0;

        buf_add(&bad, w.out.data, w.out.len);
        for (int i = 0; i < 3; i++)
            bad.data[rng64_below(&rng, bad.len)] = (char)rng64_next(&rng);
        log_reader_init(&r, bad.data, 1 + rng64_below(&rng, bad.len), 1);
        while (log_reader_next(&r) && lines < 100000)
            lines++;
        CHECK(lines < 100000);
        buf_done(&bad);
    }
    log_writer_done(&w);
}

/* ---- times ----------------------------------------------------------------------- */

enum { JUMBLED = 3000 };

/* Senders whose clocks differ, one by far; batches of a few lines. */
static void fill_jumbled(struct world *w, int64_t *times)
{
    struct rng64 rng = {.state = 3};

    for (uint32_t at = 0; at < JUMBLED;) {
        struct log_line line[40];
        struct log_batch batch = {.task_id = "t", .line = line};
        int64_t skew = (int64_t)rng64_below(&rng, 5) * 70000 - 100000;

        batch.count =
            MIN(1 + (uint32_t)rng64_below(&rng, ARRAY_LEN(line)), JUMBLED - at);
        for (uint32_t i = 0; i < batch.count; i++, at++) {
            times[at] = 1000000 + at * 100 + skew;
            if (at == JUMBLED / 2)
                times[at] += 150000;
            line[i] = (struct log_line){.time_us = times[at],
                                        .rank = -1,
                                        .text = "some words of a line",
                                        .len = 20};
        }
        uint32_t stored;

        CHECK_OK(add_batch(w, &batch, &stored));
        if (!rng64_below(&rng, 20)) { /* drops the cache */
            CHECK_OK(db_begin(w->db, &test_err));
            CHECK_OK(store_log_add(w->db, &batch, &w->mem, &stored, &test_err));
            db_rollback(w->db);
        }
        if (!rng64_below(&rng, 9))
            merge_all(w);
    }
}

static int64_t first_at(const int64_t *times, int64_t from_line, int64_t time_us)
{
    for (int64_t i = from_line; i <= JUMBLED; i++)
        if (times[i - 1] >= time_us)
            return i;
    return JUMBLED + 1;
}

static void check_times(struct world *w, const int64_t *times, int64_t from_line)
{
    struct rng64 rng = {.state = 4};

    for (int i = 0; i < 500; i++) {
        int64_t time_us = 800000 + (int64_t)rng64_below(&rng, 800000);
        int64_t line = -1;

        CHECK_OK(store_log_at(w->db, "t", time_us, &w->mem, &line, &test_err));
        CHECK_EQ(line, first_at(times, from_line, time_us));
    }
}

TEST(the_first_line_of_a_time_is_found_though_senders_differ)
{
    struct world w;
    int64_t *times = calloc(JUMBLED, sizeof(*times));
    int64_t line = -1;

    CHECK(times != NULL);
    world_init(&w, true);
    CHECK_OK(store_log_at(w.db, "t", 5, &w.mem, &line, &test_err));
    CHECK_EQ(line, 1); /* an empty log */
    fill_jumbled(&w, times);
    check_times(&w, times, 1);
    merge_all(&w);
    check_times(&w, times, 1);
    CHECK_OK(store_log_at(w.db, "t", 1, &w.mem, &line, &test_err));
    CHECK_EQ(line, 1);
    CHECK_OK(store_log_at(w.db, "t", INT64_MAX, &w.mem, &line, &test_err));
    CHECK_EQ(line, JUMBLED + 1);
    free(times);
    world_done(&w);
}

TEST(any_times_come_back_as_they_were)
{
    const int64_t times[] = {INT64_MAX, INT64_MIN, 0, INT64_MIN + 1, -1, INT64_MAX};
    struct log_line line[ARRAY_LEN(times)];
    struct log_batch batch = {.task_id = "t", .line = line, .count = ARRAY_LEN(times)};
    struct log_query query = {.task_id = "t"};
    struct log_page page;
    struct world w;
    uint32_t stored;

    for (size_t i = 0; i < ARRAY_LEN(times); i++)
        line[i] =
            (struct log_line){.time_us = times[i], .rank = -1, .text = "x", .len = 1};
    world_init(&w, true);
    CHECK_OK(add_batch(&w, &batch, &stored));
    CHECK_OK(store_log_read(w.db, &query, &w.mem, &page, &test_err));
    CHECK_EQ(page.count, ARRAY_LEN(times));
    for (size_t i = 0; i < ARRAY_LEN(times); i++)
        CHECK_EQ(page.line[i].time_us, times[i]);
    world_done(&w);
}

TEST(times_are_found_when_the_first_lines_have_expired)
{
    const int64_t day = INT64_C(86400000000);
    struct world w;
    struct log_span span;
    int64_t removed;
    int64_t line;

    world_init(&w, true);
    CHECK_OK(store_log_span(w.db, "t", &span, &test_err));
    CHECK_EQ(span.first, 1);
    CHECK_EQ(span.last, 0);
    for (int i = 0; i < 300; i++) /* one per chunk, more than one call removes */
        add_at(&w, "t", (i % 2 ? 5 : 6) * day + i);
    add_at(&w, "t", 3 * day); /* late: its chunk waits for the earlier ones */
    add_at(&w, "t", 30 * day);
    CHECK_OK(store_log_expire(w.db, 20 * day, 10, &removed, &test_err));
    CHECK_EQ(removed, 256);
    CHECK_OK(store_log_span(w.db, "t", &span, &test_err));
    CHECK_EQ(span.first, 257);
    CHECK_EQ(span.last, 302);
    CHECK_OK(store_log_at(w.db, "t", 6 * day + 260, &w.mem, &line, &test_err));
    CHECK_EQ(line, 261);
    CHECK_OK(store_log_at(w.db, "t", 7 * day, &w.mem, &line, &test_err));
    CHECK_EQ(line, 302);
    CHECK_OK(store_log_expire(w.db, 20 * day, 10, &removed, &test_err));
    CHECK_EQ(removed, 45);
    CHECK_OK(store_log_at(w.db, "t", 1, &w.mem, &line, &test_err));
    CHECK_EQ(line, 302);
    world_done(&w);
}

TEST(a_line_that_no_log_reaches_is_not_one_of_another_task)
{
    static const int64_t far[] = {INT64_C(1) << 38, INT64_C(1) << 40, INT64_MAX};
    struct world w;

    world_init(&w, true);
    add_at(&w, "t", 1);
    for (int i = 0; i < 5; i++)
        add_at(&w, (const char *[]){"a", "b", "c", "d", "e"}[i], 2);
    for (size_t i = 0; i < ARRAY_LEN(far); i++) {
        struct log_query back = {
            .task_id = "t", .before_id = far[i], .is_descending = true, .limit = 9};
        struct log_query forth = {.task_id = "t", .after_id = far[i] - 1, .limit = 9};
        struct log_page page;

        CHECK_OK(store_log_read(w.db, &back, &w.mem, &page, &test_err));
        CHECK_EQ(page.count, 1);
        CHECK_EQ(page.line[0].time_us, 1);
        CHECK(page.is_end);
        CHECK_OK(store_log_read(w.db, &forth, &w.mem, &page, &test_err));
        CHECK_EQ(page.count, 0);
        CHECK(page.is_end);
    }
    world_done(&w);
}

/* ---- search ---------------------------------------------------------------------- */

static uint32_t hits_of(struct world *w, struct log_query query)
{
    struct log_page page = {0};
    uint32_t hits = 0;

    query.task_id = "t";
    while (!page.is_end) {
        query.after_id = page.next;
        CHECK_OK(store_log_read(w->db, &query, &w->mem, &page, &test_err));
        hits += page.count;
    }
    return hits;
}

TEST(what_is_searched_for_stands_in_lines_and_not_between_them)
{
    struct world w;
    struct log_line line[] = {
        {.text = "Loss=0.5 ERROR", .rank = 7},
        {.text = "loss", .rank = 7},
        {.text = "", .rank = 7},
        {.text = "=0.5 and more", .rank = 7},
        {.text = "xxLOSSLoss=1.25", .rank = 7},
        {.text = "the end", .rank = 7},
    };
    struct log_batch batch = {.task_id = "t", .line = line, .count = ARRAY_LEN(line)};
    uint32_t stored;

    for (size_t i = 0; i < ARRAY_LEN(line); i++) {
        line[i].len = (uint32_t)strlen(line[i].text);
        line[i].agent = "loss agent";
        line[i].time_us = (int64_t)i;
    }
    world_init(&w, true);
    CHECK_OK(add_batch(&w, &batch, &stored));
    CHECK_EQ(hits_of(&w, (struct log_query){.search = "loss"}), 1);
    CHECK_EQ(hits_of(&w, (struct log_query){.search = "loss", .folds = true}), 3);
    CHECK_EQ(hits_of(&w, (struct log_query){.search = "agent"}), 0);
    CHECK_EQ(hits_of(&w, (struct log_query){.search = "end"}), 1);
    CHECK_EQ(hits_of(&w, (struct log_query){.search = "the end", .limit = 1}), 1);
    CHECK_EQ(
        hits_of(&w, (struct log_query){.search = "loss=[0-9.]+", .is_regex = true}), 0);
    CHECK_EQ(hits_of(&w, (struct log_query){.search = "LOSS=[0-9.]+",
                                            .is_regex = true,
                                            .folds = true}),
             2);
    CHECK_EQ(hits_of(&w, (struct log_query){.search = "^$", .is_regex = true}), 1);
    /* the end of one line and the bytes after it: time, flags, rank */
    CHECK_EQ(hits_of(&w, (struct log_query){.search = "ERROR\x02 \x07"}), 0);
    world_done(&w);
}

TEST(adding_merging_and_reading_survive_each_failing_allocation)
{
    EACH_ALLOCATION_FAILS() {
        struct world w;
        int64_t nth = fault_state.left[FAULT_MEMORY];
        struct log_line line[2] = {{.text = "a", .len = 1, .rank = 1, .agent = "x"},
                                   {.text = "b", .len = 1, .rank = 2, .agent = "y"}};
        struct log_batch batch = {
            .task_id = "t", .line = line, .count = 2, .sender = "s", .end_offset = 4};
        struct log_query query = {.task_id = "t"};
        struct arena mem = ARENA_INIT(1 << 20);
        struct log_page page;
        struct log_span span;
        int64_t line_number;
        uint32_t count;
        bool flag;
        det_status st;

        fault_disarm(FAULT_MEMORY);
        world_init(&w, true);
        fault_arm(FAULT_MEMORY, nth);
        st = store_log_add(w.db, &batch, &mem, &count, &test_err);
        if (!st)
            st = store_log_compact(w.db, &flag, NULL);
        if (!st)
            st = store_log_read(w.db, &query, &mem, &page, NULL);
        query.search = "A+";
        query.is_regex = query.folds = true;
        if (!st)
            st = store_log_read(w.db, &query, &mem, &page, NULL);
        if (!st)
            st = store_log_at(w.db, "t", 1, &mem, &line_number, NULL);
        if (!st)
            st = store_log_span(w.db, "t", &span, NULL);
        if (fault_fired())
            CHECK(st == DET_NOMEM || st == DET_OK);
        else
            CHECK_EQ(st, DET_OK);
        fault_state.left[FAULT_MEMORY] = 0;
        arena_done(&mem);
        world_done(&w);
    }
}
