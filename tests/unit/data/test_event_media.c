/* SPDX-License-Identifier: Apache-2.0 */
/* Media in event files, in both encodings, and in damaged messages. */
#include "data/event/event_media.h"

#include <stdio.h>
#include <string.h>

#include "base/memory/buf.h"
#include "data/event_file.h"
#include "det/media.h"
#include "tests/support/test.h"

static const char png[] = "\x89PNG\r\n\x1a\n.........";
static const char wav[] = "RIFF....WAVEfmt ";

struct found {
    char text[512];
    struct event_media last;
    uint32_t count;
};

static bool note(void *arg, const struct event_media *media)
{
    struct found *found = arg;
    size_t len = strlen(found->text);

    (void)snprintf(found->text + len, sizeof(found->text) - len, "%.*s@%d:%u.%u ",
                   (int)media->tag_len, media->tag, (int)media->step, media->type,
                   media->part);
    found->last = *media;
    found->count++;
    return true;
}

/* The messages of a file. */
static struct found read_all(const struct buf *file)
{
    struct found found = {0};
    const unsigned char *at = (const unsigned char *)file->data;
    const unsigned char *end = at + file->len;

    while (at < end) {
        uint64_t len = event_record_len(at);

        event_media_each(at + EVENT_RECORD_HEAD, len, note, &found);
        at += EVENT_RECORD_HEAD + len + EVENT_RECORD_TAIL;
    }
    return found;
}

static void put_bytes(struct buf *out, uint32_t field, const void *bytes, size_t len)
{
    buf_put_varint(out, field << 3 | 2);
    buf_put_varint(out, len);
    buf_add(out, bytes, len);
}

static void put_double(struct buf *out, uint32_t field, double value)
{
    buf_put_varint(out, field << 3 | 1);
    buf_add(out, &value, sizeof(value));
}

/* An event of step 7 with one value "t", whose field has this content. */
static void put_event(struct buf *out, uint32_t field, const struct buf *content)
{
    CLEANUP(buf_done) struct buf value = BUF_INIT;
    CLEANUP(buf_done) struct buf summary = BUF_INIT;

    put_bytes(&value, 1, "t", 1);
    put_bytes(&value, field, content->data, content->len);
    put_bytes(&summary, 1, value.data, value.len);
    put_double(out, 1, 12.5);
    buf_put_varint(out, 2 << 3);
    buf_put_varint(out, 7);
    put_bytes(out, 5, summary.data, summary.len);
}

TEST(media_of_our_own_writer_are_found_and_numbers_are_not)
{
    const struct event_stamp stamp = {.wall_s = 5, .step = 3};
    const det_bucket buckets[] = {{0, 1, 4}, {1, 3, 2}};
    const det_metric metric = {"loss", 1};
    const struct buf image = {.data = (char *)png, .len = sizeof(png)};
    CLEANUP(buf_done) struct buf file = BUF_INIT;
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    CLEANUP(buf_done) struct buf json = BUF_INIT;
    struct found found;

    event_version(&file, 1);
    event_numbers(&file, &stamp, &metric, 1);
    event_text(&body, "hello");
    event_value(&file, &stamp, "words", &body);
    buf_clear(&body);
    event_image(&body, 4, 4, &image);
    event_value(&file, &stamp, "picture", &body);
    buf_clear(&body);
    event_buckets(&body, buckets, 2);
    event_value(&file, &stamp, "weights", &body);

    found = read_all(&file);
    CHECK_STR(found.text, "words@3:9.0 picture@3:1.0 weights@3:12.0 ");
    CHECK(event_histogram_json(&found.last, &json));
    CHECK_STR(json.data, "{\"edges\":[0,1,3],\"counts\":[4,2]}");
}

TEST(pictures_sounds_and_histograms_of_the_old_encoding_are_found)
{
    CLEANUP(buf_done) struct buf content = BUF_INIT;
    CLEANUP(buf_done) struct buf event = BUF_INIT;
    CLEANUP(buf_done) struct buf json = BUF_INIT;
    const double limits[] = {-2, 0, 5};
    const double counts[] = {0, 3, 1};
    struct found found = {0};

    put_bytes(&content, 4, png, sizeof(png));
    put_event(&event, 4, &content);
    event_media_each(event.data, event.len, note, &found);
    CHECK_STR(found.text, "t@7:1.0 ");
    CHECK_EQ(found.last.len, sizeof(png));
    CHECK(found.last.wall_s == 12.5);

    buf_clear(&content);
    buf_clear(&event);
    put_bytes(&content, 4, wav, sizeof(wav));
    put_event(&event, 6, &content);
    event_media_each(event.data, event.len, note, &found);
    CHECK_EQ(found.last.type, DET_MEDIA_WAV);

    /* as PyTorch writes it: an empty bucket up to the smallest value */
    buf_clear(&content);
    buf_clear(&event);
    put_double(&content, 1, -1.5);
    put_double(&content, 2, 4);
    put_bytes(&content, 6, limits, sizeof(limits));
    put_bytes(&content, 7, counts, sizeof(counts));
    put_event(&event, 5, &content);
    event_media_each(event.data, event.len, note, &found);
    CHECK_EQ(found.last.type, DET_MEDIA_HISTOGRAM);
    CHECK(event_histogram_json(&found.last, &json));
    CHECK_STR(json.data, "{\"edges\":[-1.5,0,4],\"counts\":[3,1]}");
}

TEST(a_message_that_is_cut_anywhere_is_read_up_to_there)
{
    CLEANUP(buf_done) struct buf content = BUF_INIT;
    CLEANUP(buf_done) struct buf event = BUF_INIT;
    struct found found = {0};

    put_bytes(&content, 4, png, sizeof(png));
    put_event(&event, 4, &content);
    for (size_t len = 0; len < event.len; len++) {
        CLEANUP(buf_done) struct buf part = BUF_INIT; /* so a read beyond is found */

        buf_add(&part, event.data, len);
        event_media_each(part.data, len, note, &found);
    }
    CHECK_EQ(found.count, 0);
    for (size_t at = 0; at < event.len; at++) {
        event.data[at] ^= (char)0xff;
        event_media_each(event.data, event.len, note, &found);
        event.data[at] ^= (char)0xff;
    }
}
