/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/report.h"

#include <math.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/memory/mem.h"
#include "tests/support/test.h"

/* ---- records --------------------------------------------------------------------- */

static size_t make(const char *payload, unsigned char *to)
{
    struct report report = {.kind = REPORT_STATUS,
                            .run = 3,
                            .number = 42,
                            .time_us = -5,
                            .payload = payload,
                            .len = (uint32_t)strlen(payload)};

    report_encode(&report, to);
    return report_size(report.len);
}

TEST(a_record_comes_back_as_it_was)
{
    static const char *const payloads[] = {"", "1", "1234567", "12345678", "123456789"};

    for (size_t i = 0; i < ARRAY_LEN(payloads); i++) {
        unsigned char bytes[64];
        size_t size = make(payloads[i], bytes);
        struct report back;
        size_t used;

        CHECK_EQ(size % 8, 0);
        CHECK_OK(report_decode(bytes, sizeof(bytes), &back, &used, &test_err));
        CHECK_EQ(used, size);
        CHECK_EQ(back.kind, REPORT_STATUS);
        CHECK_EQ(back.run, 3);
        CHECK_EQ(back.number, 42);
        CHECK_EQ(back.time_us, -5);
        CHECK_EQ(back.len, strlen(payloads[i]));
        CHECK_EQ(memcmp(back.payload, payloads[i], back.len), 0);
    }
}

/* What others have on disk must stay readable. */
TEST(a_record_has_these_bytes)
{
    static const unsigned char expected[] = {
        3, 0, 0,    0,    0x66, 0xfc, 0x54, 0xc4, 42,   0,    0, 0, 0, 0,
        0, 0, 0xfb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 5, 0, 0, 0,
        3, 0, 0,    0,    '{',  'x',  '}',  0,    0,    0,    0, 0};
    unsigned char bytes[64];

    CHECK_EQ(make("{x}", bytes), sizeof(expected));
    assert_memory_equal(bytes, expected, sizeof(expected));
}

TEST(the_payload_may_be_in_its_place_already)
{
    unsigned char bytes[64];
    unsigned char other[64];
    size_t size = make("in place", bytes);
    struct report report;
    size_t used;

    memset(other, 0xee, sizeof(other));
    memcpy(other + REPORT_HEADER, "in place", 8);
    CHECK_OK(report_decode(bytes, size, &report, &used, &test_err));
    report.payload = other + REPORT_HEADER;
    report_encode(&report, other);
    assert_memory_equal(bytes, other, size);
}

TEST(a_record_cut_short_is_not_there_yet)
{
    unsigned char bytes[64];
    size_t size = make("some payload", bytes);
    struct report report;
    size_t used;

    for (size_t len = 0; len < size; len++)
        CHECK_EQ(report_decode(bytes, len, &report, &used, &test_err), DET_NOT_FOUND);
}

TEST(a_flipped_bit_is_seen_wherever_it_is)
{
    unsigned char bytes[64] = {0};
    size_t size = make("some payload", bytes);
    struct report report;
    size_t used;

    for (size_t bit = 0; bit < size * 8; bit++) {
        det_status status;

        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        status = report_decode(bytes, sizeof(bytes), &report, &used, &test_err);
        CHECK(status == DET_CORRUPT || (status == DET_NOT_FOUND && bit < 32));
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
}

TEST(a_length_that_makes_no_sense_leads_nowhere)
{
    unsigned char bytes[64];
    struct report report;
    size_t used = 99;

    (void)make("x", bytes);
    memcpy(bytes, (uint32_t[]){UINT32_MAX}, 4);
    CHECK_EQ(report_decode(bytes, sizeof(bytes), &report, &used, &test_err),
             DET_CORRUPT);
    CHECK_EQ(used, 0);
    CHECK_HAS(test_err.text, "4294967295 bytes");

    CHECK_EQ(report_size(REPORT_BYTES_MOST) % 8, 0);
    CHECK_EQ(report_size(REPORT_BYTES_MOST + 1), 0);
    CHECK_EQ(report_size(SIZE_MAX), 0);
}

TEST(behind_a_damaged_record_lies_the_next)
{
    unsigned char bytes[128];
    size_t first = make("first", bytes);
    size_t second = make("second", bytes + first);
    struct report report;
    size_t used;

    bytes[REPORT_HEADER] ^= 1;
    CHECK_EQ(report_decode(bytes, first + second, &report, &used, &test_err),
             DET_CORRUPT);
    CHECK_EQ(used, first);
    CHECK_OK(report_decode(bytes + used, second, &report, &used, &test_err));
}

/* ---- metrics --------------------------------------------------------------------- */

static const struct report_value values[] = {
    {.name = "loss", .name_len = 4, .number = 0.5},
    {.name = "", .name_len = 0, .number = INFINITY},
    {.name = "tags",
     .name_len = 4,
     .type = REPORT_JSON,
     .json = "[\"a\"]",
     .json_len = 5},
    {.name = "nil", .name_len = 3, .type = REPORT_JSON, .json = "", .json_len = 0}};
static const struct report_metrics sample = {.steps = 12,
                                             .group = "validation",
                                             .group_len = 10,
                                             .count = ARRAY_LEN(values),
                                             .value = values,
                                             .batch = "[{}]",
                                             .batch_len = 4};

static void check_same(const struct report_metrics *a, const struct report_metrics *b)
{
    CHECK_EQ(a->steps, b->steps);
    CHECK_EQ(a->group_len, b->group_len);
    CHECK_EQ(memcmp(a->group, b->group, a->group_len), 0);
    CHECK_EQ(a->count, b->count);
    for (uint32_t i = 0; i < a->count; i++) {
        const struct report_value *x = &a->value[i];
        const struct report_value *y = &b->value[i];

        CHECK_EQ(x->type, y->type);
        CHECK_EQ(x->name_len, y->name_len);
        CHECK_EQ(memcmp(x->name, y->name, x->name_len), 0);
        CHECK_EQ(memcmp(&x->number, &y->number, 8), 0);
        CHECK_EQ(x->json_len, y->json_len);
        CHECK_EQ(x->json_len ? memcmp(x->json, y->json, x->json_len) : 0, 0);
    }
    CHECK_EQ(a->batch_len, b->batch_len);
    CHECK_EQ(!a->batch, !b->batch);
}

static size_t encode(const struct report_metrics *metrics, unsigned char *to,
                     size_t room)
{
    size_t size = report_metrics_size(metrics);

    CHECK(size < room);
    memset(to, 0xee, room);
    report_metrics_encode(metrics, to);
    /* Exactly so many bytes were written. */
    for (size_t i = size; i < room; i++)
        CHECK_EQ(to[i], 0xee);
    return size;
}

TEST(metrics_come_back_as_they_were)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    struct report_metrics none = {.steps = -1, .group = "", .value = values};
    struct report_metrics back;
    unsigned char bytes[256];
    size_t len = encode(&sample, bytes, sizeof(bytes));

    CHECK_OK(report_metrics_decode(bytes, len, &mem, &back, &test_err));
    check_same(&sample, &back);
    len = encode(&none, bytes, sizeof(bytes));
    CHECK_OK(report_metrics_decode(bytes, len, &mem, &back, &test_err));
    check_same(&none, &back);
}

TEST(the_group_of_metrics_is_its_whole_name)
{
    unsigned char bytes[512];
    size_t len = encode(&sample, bytes, sizeof(bytes));

    CHECK(report_metrics_is_of(bytes, len, "validation"));
    CHECK(!report_metrics_is_of(bytes, len, "validatio"));
    CHECK(!report_metrics_is_of(bytes, len, "validation2"));
    for (size_t cut = 0; cut < 8 + 4 + strlen("validation"); cut++)
        CHECK(!report_metrics_is_of(bytes, cut, "validation"));
}

TEST(metrics_cut_short_or_with_something_behind_are_refused)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct report_metrics back;
    unsigned char bytes[256];
    size_t size = encode(&sample, bytes, sizeof(bytes));

    for (size_t len = 0; len <= size + 8; len++) {
        /* Of exactly that size, so that a sanitizer sees who reads on. */
        unsigned char *exact = mem_alloc(len);

        memcpy(exact, bytes, len);
        CHECK_EQ(report_metrics_decode(exact, len, &mem, &back, &test_err),
                 len == size ? DET_OK : DET_CORRUPT);
        mem_free(exact);
    }
}

TEST(metrics_whose_bytes_lie_are_refused_or_harmless)
{
    struct report_metrics back;
    unsigned char bytes[256];
    size_t size = encode(&sample, bytes, sizeof(bytes));

    for (size_t at = 0; at < size; at++)
        for (unsigned byte = 0; byte < 256; byte += 15) {
            CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
            unsigned char kept = bytes[at];
            unsigned char *exact = mem_alloc(size);
            det_status status;

            bytes[at] = (unsigned char)byte;
            memcpy(exact, bytes, size);
            status = report_metrics_decode(exact, size, &mem, &back, &test_err);
            CHECK(status == DET_OK || status == DET_CORRUPT);
            bytes[at] = kept;
            mem_free(exact);
        }
}

TEST(a_count_that_lies_asks_for_no_memory)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SIZE_MAX);
    struct report_metrics back;
    unsigned char bytes[256];
    size_t size = encode(&sample, bytes, sizeof(bytes));

    memset(bytes + 8 + 4 + sample.group_len, 0xff, 4);
    CHECK_EQ(report_metrics_decode(bytes, size, &mem, &back, &test_err), DET_CORRUPT);
    CHECK_HAS(test_err.text, "4294967295 metrics");
    CHECK_EQ(mem.used, 0);
}

TEST(sizes_beyond_all_bounds_do_not_begin_again_at_nothing)
{
    struct report_value value = {.name = "x", .name_len = SIZE_MAX - 3};
    struct report_metrics metrics = {.group = "", .count = 1, .value = &value};

    CHECK_EQ(report_size(report_metrics_size(&metrics)), 0);
    value = (struct report_value){.type = REPORT_JSON, .json_len = SIZE_MAX};
    CHECK_EQ(report_size(report_metrics_size(&metrics)), 0);
    metrics = (struct report_metrics){.batch = "x", .batch_len = SIZE_MAX - 5};
    CHECK_EQ(report_size(report_metrics_size(&metrics)), 0);
}

TEST(decoding_without_memory_says_so)
{
    unsigned char bytes[256];
    size_t size = encode(&sample, bytes, sizeof(bytes));

    EACH_ALLOCATION_FAILS() {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
        struct report_metrics back;

        CHECK_EQ(report_metrics_decode(bytes, size, &mem, &back, &test_err),
                 fault_fired() ? DET_NOMEM : DET_OK);
    }
}

TEST(names_are_short_lines_of_text)
{
    static const struct {
        const char *name;
        const char *sentence; /* NULL: it is fine */
    } cases[] = {
        {"loss", NULL},
        {"val/top 5 (%)", NULL},
        {"\xc3\xa9t\xc3\xa9", NULL},
        {"a.b", NULL},
        {"", "a metric has no name"},
        {"a\nb", "a line's end or another control character"},
        {"a\x1b[0m", "control character"},
        {"a\x7f", "control character"},
        {"a\xc2\x9b", "control character"},
        {"a\xff", "a metric's name is not UTF-8 text"},
    };
    char name[REPORT_NAME_MOST + 1];

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        det_status st =
            report_check_name(cases[i].name, strlen(cases[i].name), false, &test_err);

        CHECK_EQ(st, cases[i].sentence ? DET_INVALID : DET_OK);
        if (cases[i].sentence)
            CHECK_HAS(test_err.text, cases[i].sentence);
    }
    memset(name, 'x', sizeof(name));
    CHECK_OK(report_check_name(name, REPORT_NAME_MOST, true, &test_err));
    CHECK_EQ(report_check_name(name, sizeof(name), true, &test_err), DET_INVALID);
    CHECK_STR(test_err.text, "a group's name has 257 bytes; expected 256 at most");
    CHECK_EQ(report_check_name("a.b", 3, true, &test_err), DET_INVALID);
    CHECK_EQ(report_check_name("a", 2, false, &test_err), DET_INVALID); /* a NUL */
}

/* ---- media ----------------------------------------------------------------------- */

TEST(a_media_item_comes_back_and_a_part_of_its_head_does_not)
{
    const struct report_media media = {.steps = 70,
                                       .type = 9,
                                       .name = "a/b",
                                       .name_len = 3,
                                       .bytes = "hello",
                                       .len = 5};
    unsigned char bytes[64];
    struct report_media back;
    size_t len = report_media_size(&media);

    CHECK_EQ(len, 8 + 4 + 4 + 3 + 5);
    report_media_encode(&media, bytes);
    CHECK_OK(report_media_decode(bytes, len, &back, &test_err));
    CHECK_EQ(back.steps, 70);
    CHECK_EQ(back.type, 9);
    CHECK_EQ(back.name_len, 3);
    CHECK_EQ(memcmp(back.name, "a/b", 3), 0);
    CHECK_EQ(back.len, 5);
    CHECK_EQ(memcmp(back.bytes, "hello", 5), 0);
    for (size_t cut = 0; cut < len - 5; cut++)
        CHECK_EQ(report_media_decode(bytes, cut, &back, NULL), DET_CORRUPT);
}

TEST(the_name_of_a_media_item_follows_the_rules_of_metrics)
{
    CHECK_OK(report_check_media_name("images/a.png", 12, &test_err));
    CHECK_EQ(report_check_media_name("", 0, &test_err), DET_INVALID);
    CHECK_HAS(test_err.text, "media item");
    CHECK_EQ(report_check_media_name("a\nb", 3, NULL), DET_INVALID);
    CHECK_EQ(report_check_media_name("\xff", 1, NULL), DET_INVALID);
}
