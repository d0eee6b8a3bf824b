/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "data/base64.h"
#include "data/text.h"
#include "data/time.h"
#include "data/url.h"
#include "tests/support/test.h"

static const char *time_text(int64_t wall_us)
{
    static char text[TIME_TEXT];

    time_format(wall_us, text);
    return text;
}

TEST(times_are_written_with_microseconds)
{
    CHECK_STR(time_text(0), "1970-01-01T00:00:00.000000Z");
    CHECK_STR(time_text(INT64_C(1646187318299569)), "2022-03-02T02:15:18.299569Z");
    CHECK_STR(time_text(INT64_C(951782400000000)), "2000-02-29T00:00:00.000000Z");
    CHECK_STR(time_text(-1), "1969-12-31T23:59:59.999999Z");
    CHECK_STR(time_text(INT64_MAX), "9999-12-31T23:59:59.999999Z");
    CHECK_STR(time_text(INT64_MIN), "0000-01-01T00:00:00.000000Z");
}

static int64_t time_of(const char *text)
{
    int64_t wall_us = -7;

    return time_parse(text, &wall_us) ? wall_us : -7;
}

TEST(times_are_read_with_or_without_fraction_and_offset)
{
    CHECK_EQ(time_of("2022-03-02T02:15:18.299569Z"), INT64_C(1646187318299569));
    CHECK_EQ(time_of("2022-03-02T02:15:18.299569123Z"), INT64_C(1646187318299569));
    CHECK_EQ(time_of("2022-03-02T02:15:18Z"), INT64_C(1646187318000000));
    CHECK_EQ(time_of("2022-03-02T04:15:18.5+02:00"), INT64_C(1646187318500000));
    CHECK_EQ(time_of("2022-03-01T21:45:18.5-04:30"), INT64_C(1646187318500000));
    CHECK_EQ(time_of("0000-01-01T00:00:00Z"), INT64_C(-62167219200000000));
}

TEST(what_is_no_time_is_refused)
{
    static const char *const texts[] = {
        "",
        "2022-03-02",
        "2022-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "2022-13-01T00:00:00Z",
        "2022-00-01T00:00:00Z",
        "2022-01-01T24:00:00Z",
        "2022-01-01T00:60:00Z",
        "2022-01-01T00:00:00",
        "2022-01-01T00:00:00.Z",
        "2022-01-01T00:00:00Zx",
        "22-01-01T00:00:00Z",
        "2022-01-01T00:00:00+2:00",
    };

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        CHECK_EQ(time_of(texts[i]), -7);
}

TEST(times_come_back_as_they_were)
{
    for (int64_t us = INT64_C(-62167219200000000); us < INT64_C(253402300800000000);
         us += INT64_C(86400000000) * 97 + 123457)
        CHECK_EQ(time_of(time_text(us)), us);
}

TEST(integers_are_read_whole_or_not_at_all)
{
    int64_t value = 0;

    CHECK(parse_i64("-9223372036854775808", &value));
    CHECK_EQ(value, INT64_MIN);
    CHECK(parse_i64("+7", &value));
    CHECK_EQ(value, 7);
    CHECK(!parse_i64("9223372036854775808", &value));
    CHECK(!parse_i64("", &value));
    CHECK(!parse_i64("-", &value));
    CHECK(!parse_i64(" 1", &value));
    CHECK(!parse_i64("1 ", &value));
    CHECK(!parse_i64("0x1", &value));
    CHECK_EQ(value, 7);
}

TEST(reals_are_read_whole_or_not_at_all)
{
    static const char *const bad[] = {"",   ".",   "e5",  "1e",  "1e+",   "1.5x",
                                      " 1", "nan", "inf", "0x1", "1e999", "1,5"};
    double value = 0;

    CHECK(parse_real("-1.5e-3", &value));
    CHECK(value == -1.5e-3);
    CHECK(parse_real(".5", &value));
    CHECK(value == 0.5);
    CHECK(parse_real("1.", &value));
    CHECK(value == 1);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK(!parse_real(bad[i], &value));
}

TEST(sizes_are_read_with_units)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } rows[] = {{"1024", 1024},
                {"4GiB", UINT64_C(4) << 30},
                {"64kb", 65536},
                {"1.5m", 1572864},
                {"10 MB", 10 << 20},
                {"0", 0},
                {"2T", UINT64_C(2) << 40},
                {"7b", 7}};
    static const char *const bad[] = {
        "", "GB", "-1", "1x", "1ib2", "16E", "1..5k", "99999999999999999999", ".5k"};
    uint64_t bytes;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CHECK(parse_size(rows[i].text, &bytes));
        CHECK_EQ(bytes, rows[i].bytes);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK(!parse_size(bad[i], &bytes));
}

TEST(sizes_are_written_with_one_decimal)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } rows[] = {{0, "0B"},
                {1023, "1023B"},
                {1024, "1.0KB"},
                {2560, "2.5KB"},
                {1048575, "1.0MB"},
                {1048576, "1.0MB"},
                {1047552, "1023.0KB"},
                {UINT64_C(5) << 40, "5.0TB"},
                {UINT64_MAX, "16.0EB"}};
    char text[16];

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_format(rows[i].bytes, text);
        CHECK_STR(text, rows[i].text);
    }
}

TEST(base64_goes_both_ways)
{
    static const char *const rows[][2] = {
        {"", ""},        {"f", "Zg=="},        {"fo", "Zm8="},
        {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"\xFF\xFE\xFD", "//79"}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(buf_done) struct buf out = BUF_INIT;
        CLEANUP(buf_done) struct buf back = BUF_INIT;
        CLEANUP(buf_done) struct buf bare = BUF_INIT;

        base64_encode(&out, rows[i][0], strlen(rows[i][0]));
        CHECK_STR(out.data, rows[i][1]);
        CHECK_OK(base64_decode(&back, out.data, out.len, &test_err));
        CHECK_STR(back.data, rows[i][0]);
        CHECK_OK(base64_decode(&bare, out.data, strcspn(out.data, "="), &test_err));
        CHECK_STR(bare.data, rows[i][0]);
    }
}

TEST(what_is_no_base64_is_refused)
{
    static const char *const bad[] = {"Z",    "Zg=",  "Zg===", "Z===", "Zm9v!",
                                      "Zh==", "Z=g=", "Zm 9",  "===="};

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        CLEANUP(buf_done) struct buf out = BUF_INIT;

        CHECK_EQ(base64_decode(&out, bad[i], strlen(bad[i]), NULL), DET_INVALID);
        CHECK_EQ(out.len, 0);
    }
}

TEST(hex_goes_both_ways)
{
    unsigned char bytes[3];
    char text[7];

    hex_encode(text, "\x00\xAB\x7F", 3);
    CHECK_STR(text, "00ab7f");
    CHECK(hex_decode(bytes, 3, "00AB7f"));
    CHECK_EQ(memcmp(bytes, "\x00\xAB\x7F", 3), 0);
    CHECK(!hex_decode(bytes, 3, "00ab7"));
    CHECK(!hex_decode(bytes, 3, "00ab7g"));
}

TEST(percent_encoding_goes_both_ways)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(4096);
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    url_encode(&out, "a b/\xC3\xA4?&=~");
    CHECK_STR(out.data, "a%20b%2F%C3%A4%3F%26%3D~");
    CHECK_STR(url_decode(&mem, out.data, out.len, false), "a b/\xC3\xA4?&=~");
    CHECK_STR(url_decode(&mem, "a+b", 3, true), "a b");
    CHECK_STR(url_decode(&mem, "a+b", 3, false), "a+b");
    CHECK_STR(url_decode(&mem, "%zz%4%00%41", 11, false), "%zz%4%00A");
    CHECK_STR(url_decode(&mem, "%", 1, false), "%");
}

static void check_url(const char *text, bool is_tls, const char *host, int port,
                      const char *path)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(4096);
    struct url url;

    CHECK_OK(url_parse(text, &mem, &url, &test_err));
    CHECK_EQ(url.is_tls, is_tls);
    CHECK_STR(url.host, host);
    CHECK_EQ(url.port, port);
    CHECK_STR(url.path, path);
}

TEST(addresses_have_defaults)
{
    check_url("localhost", false, "localhost", 8080, "");
    check_url("localhost:80", false, "localhost", 80, "");
    check_url("http://m.example", false, "m.example", 80, "");
    check_url("https://m.example/", true, "m.example", 443, "");
    check_url("HTTPS://m.example:8443/det//", true, "m.example", 8443, "/det");
    check_url("[::1]", false, "::1", 8080, "");
    check_url("http://[fe80::1%eth0]:9/x/y", false, "fe80::1%eth0", 9, "/x/y");
}

TEST(what_is_no_address_is_refused)
{
    static const char *const bad[] = {
        "",           "http://",      "ftp://x",      "http://:80",
        "x:",         "x:0",          "x:65536",      "x:1x",
        "x:-1",       "http://u:p@x", "http://[::1",  "http://[x]",
        "http://x?q", "http://x/#f",  "http://x/a b", "x\ny",
        "http://[]",
    };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(4096);
        struct url url;
        struct err err = {0};

        CHECK_EQ(url_parse(bad[i], &mem, &url, &err), DET_INVALID);
        CHECK_HAS(err.text, "is not an address");
    }
}

TEST(parsing_an_address_survives_every_failed_allocation)
{
    EACH_ALLOCATION_FAILS() {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(4096);
        struct url url = {.port = 1};
        det_status st = url_parse("http://h:2/p", &mem, &url, NULL);

        CHECK_EQ(st, fault_fired() ? DET_NOMEM : DET_OK);
        CHECK_EQ(url.port, fault_fired() ? 1 : 2);
    }
}

TEST(slips_find_the_word_that_was_meant)
{
    static const char *const words[] = {"experiment", "trial", "checkpoint", "ls",
                                        NULL};

    CHECK_STR(nearest_word("experimant", words), "experiment");
    CHECK_STR(nearest_word("tiral", words), "trial");
    CHECK_STR(nearest_word("Checkpoints", words), "checkpoint");
    CHECK_STR(nearest_word("sl", words), "ls");
    CHECK_NULL(nearest_word("banana", words));
    CHECK_NULL(nearest_word("", words));
    CHECK_NULL(nearest_word("x", words));
}

TEST(paths_that_lead_outside_are_known)
{
    CHECK(path_is_inside("a"));
    CHECK(path_is_inside("./a/b/"));
    CHECK(path_is_inside("a/..b/c.."));
    CHECK(!path_is_inside(""));
    CHECK(!path_is_inside("/a"));
    CHECK(!path_is_inside(".."));
    CHECK(!path_is_inside("a/../b"));
    CHECK(!path_is_inside("a/.."));
    CHECK(!path_is_inside(NULL));
}

TEST(a_path_is_below_a_root_by_whole_parts)
{
    CHECK_STR(path_under("/data/a/b", "/data"), "a/b");
    CHECK_STR(path_under("/data//a", "/data/"), "a");
    CHECK_STR(path_under("/data", "/data"), "");
    CHECK_STR(path_under("/data/", "/data"), "");
    CHECK_STR(path_under("/etc", "/"), "etc");
    CHECK(!path_under("/database", "/data"));
    CHECK(!path_under("/data/../etc", "/data"));
    CHECK(!path_under("/data/a/..", "/data"));
    CHECK(!path_under("data/a", "data"));
    CHECK(!path_under("/dat", "/data"));
}
