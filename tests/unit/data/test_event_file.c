/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes are worked out by hand from the wire format of protobuf and the messages
 * Event, Summary, TensorProto, SummaryMetadata and HParamsPluginData; the checks of the
 * records are the CRC-32C of those bytes, masked. */
#include "data/event_file.h"

#include <string.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "data/base64.h"
#include "data/json/json.h"
#include "tests/support/test.h"

#define ONE "000000000000f03f" /* 1.0 */

static void check_bytes(const struct buf *got, const char *hex)
{
    char text[1024];

    CHECK_EQ(got->status, DET_OK);
    CHECK(got->len * 2 < sizeof(text));
    hex_encode(text, got->data, got->len);
    CHECK_STR(text, hex);
}

static const struct event_stamp at_three = {.wall_s = 1, .step = 3};

TEST(a_file_begins_with_the_version_of_its_format)
{
    struct buf out = BUF_INIT;

    event_version(&out, 1);
    check_bytes(&out, "1800000000000000a37f4b22" /* 24 bytes, and their check */
                      "09" ONE                   /* wall_time */
                      "1a0d"
                      "627261696e2e4576656e743a32" /* file_version: brain.Event:2 */
                      "86bf577a");
    buf_done(&out);
}

TEST(a_number_is_a_record_with_its_time_step_and_tag)
{
    struct buf out = BUF_INIT;

    event_numbers(&out, &at_three, &(det_metric){"a", 1}, 1);
    check_bytes(&out, "1700000000000000e7cef81e"
                      "09" ONE "1003"    /* step */
                      "2a0a0a08"         /* summary, value */
                      "0a0161150000803f" /* tag, simple_value */
                      "2374dc23");
    buf_done(&out);
}

TEST(a_step_of_zero_is_left_out_but_a_value_of_zero_is_not)
{
    struct event_stamp at_zero = {.wall_s = 1};
    struct buf out = BUF_INIT;

    event_numbers(&out, &at_zero, &(det_metric){"a", 0}, 1);
    check_bytes(&out, "1500000000000000d6ab6b2b09" ONE "2a0a0a08"
                      "0a01611500000000312d4dd5");
    buf_done(&out);
}

TEST(several_numbers_share_a_record)
{
    struct event_stamp at_300 = {.wall_s = 1, .step = 300};
    det_metric two[] = {{"a", 1}, {"bc", -2}};
    struct buf out = BUF_INIT;

    event_numbers(&out, &at_300, two, 2);
    check_bytes(&out, "2300000000000000b09f774309" ONE "10ac022a15"
                      "0a080a0161150000803f0a090a02626315000000c06b451e05");
    buf_done(&out);
}

TEST(a_restart_is_the_beginning_of_a_session)
{
    struct event_stamp at_five = {.wall_s = 1, .step = 5};
    struct buf out = BUF_INIT;

    event_restart(&out, &at_five);
    check_bytes(&out, "0f000000000000006d532b0909" ONE "10053a02080184236d36");
    buf_done(&out);
}

TEST(a_text_is_a_tensor_of_one_string)
{
    struct buf body = BUF_INIT;

    event_text(&body, "hi");
    check_bytes(&body, "420c0807"       /* tensor: strings */
                       "120412020801"   /* shape: 1 */
                       "42026869"       /* the text */
                       "4a0a0a060a04"   /* metadata, plugin */
                       "746578742002"); /* its name, class of data */
    buf_done(&body);
}

TEST(a_histogram_is_a_tensor_of_three_columns)
{
    static const det_bucket one[] = {{0, 1, 2}};
    struct buf body = BUF_INIT;

    event_buckets(&body, one, 1);
    check_bytes(&body, "42260802120812020801120208032218"
                       "0000000000000000" ONE "0000000000000040"
                       "4a100a0c0a0a686973746f6772616d732002");
    buf_clear(&body);
    event_buckets(&body, NULL, 0);
    check_bytes(&body, "420a080212061200120208034a100a0c0a0a686973746f6772616d732002");
    buf_done(&body);
}

TEST(a_picture_is_width_height_and_png)
{
    struct buf png = BUF_INIT;
    struct buf body = BUF_INIT;

    buf_puts(&png, "PNG");
    event_image(&body, 2, 10, &png);
    check_bytes(&body, "42140807120412020803420132420231304203504e47"
                       "4a0c0a080a06696d616765732003");
    buf_done(&body);
    buf_done(&png);
}

static void make_hparams(struct buf *body, const char *text)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    struct json *tree;

    CHECK_OK(json_parse(text, strlen(text), &mem, &tree, &test_err));
    event_hparams(body, tree, "g", 1);
}

TEST(hyperparameters_are_in_the_metadata)
{
    struct buf body = BUF_INIT;

    make_hparams(&body, "{\"lr\": 0.5}");
    check_bytes(&body, "420e08011204120208012a0400000000" /* a tensor of one zero */
                       "4a2c0a2a0a0768706172616d73121f"   /* plugin hparams, content */
                       "1a1d0a0f0a026c721209"             /* start, pair, lr */
                       "11000000000000e03f"               /* a number: 0.5 */
                       "22016729" ONE);                   /* group, begun */
    buf_clear(&body);
    event_end(&body, DET_RUN_SUCCEEDED, 1);
    check_bytes(&body, "420e08011204120208012a0400000000"
                       "4a1a0a180a0768706172616d73120d220b080111" ONE);
    buf_done(&body);
}

TEST(deeper_hyperparameters_have_longer_names)
{
    struct buf deep = BUF_INIT;
    struct buf flat = BUF_INIT;

    make_hparams(&deep, "{\"a\": {\"b\": {\"c\": 1}, \"d\": true}, \"none\": null, "
                        "\"list\": [1, {\"x\": 2}], \"s\": \"t\", \"empty\": {}}");
    make_hparams(&flat,
                 "{\"a.b.c\": 1.0, \"a.d\": true, \"list\": \"[1,{\\\"x\\\":2}]\", "
                 "\"s\": \"t\"}");
    CHECK_EQ(deep.len, flat.len);
    CHECK(memcmp(deep.data, flat.data, deep.len) == 0);
    buf_done(&deep);
    buf_done(&flat);
}

TEST(out_of_memory_shows_in_the_buffer)
{
    static const det_bucket one[] = {{0, 1, 2}};

    EACH_ALLOCATION_FAILS() {
        struct buf body = BUF_INIT;
        struct buf out = BUF_INIT;

        event_buckets(&body, one, 1);
        event_value(&out, &at_three, "tag", &body);
        CHECK_EQ(out.status, fault_fired() ? DET_NOMEM : DET_OK);
        buf_done(&body);
        buf_done(&out);
    }
}
