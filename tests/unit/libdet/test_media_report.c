/* SPDX-License-Identifier: Apache-2.0 */
/* Media become records of the ring, or are refused by name. */
#include "data/png.h"
#include "tests/unit/libdet/world.h"
#include "wire/report.h"

static const char png_bytes[] = "\x89PNG\r\n\x1a\n....";

static det_media item_of(const char *name, const void *bytes, size_t len)
{
    return (det_media){.size = sizeof(det_media),
                       .name = name,
                       .steps = 5,
                       .bytes = bytes,
                       .len = len};
}

static struct report_media next_media(struct ring_reader *reader, struct buf *bytes)
{
    struct report report = world_next(reader, bytes);
    struct report_media media;

    CHECK_EQ(report.kind, REPORT_MEDIA);
    CHECK_EQ(report.run, 2);
    CHECK_OK(report_media_decode(report.payload, report.len, &media, &test_err));
    CHECK_EQ(media.steps, 5);
    return media;
}

TEST(an_item_of_bytes_or_of_a_file_is_one_record)
{
    CLEANUP(buf_done) struct buf bytes = BUF_INIT;
    det_media item = item_of("image", png_bytes, sizeof(png_bytes) - 1);
    struct ring_reader *reader;
    struct report_media media;
    struct world w;
    det_context *det;

    world_make(&w);
    det = world_open(&w);
    reader = world_reader(&w, "/task/reports");
    world_file(&w, "/task/page.html", "<p>hello");

    CHECK_OK(det_report_media(det, &item));
    media = next_media(reader, &bytes);
    CHECK_EQ(media.type, DET_MEDIA_PNG);
    CHECK_EQ(memcmp(media.bytes, png_bytes, media.len), 0);
    item = item_of("page", NULL, 0);
    item.path = "/task/page.html";
    item.type = DET_MEDIA_HTML;
    CHECK_OK(det_report_media(det, &item));
    media = next_media(reader, &bytes);
    CHECK_EQ(media.type, DET_MEDIA_HTML);
    CHECK_EQ(media.len, 8);

    ring_reader_close(reader);
    det_close(det);
    world_end(&w);
}

TEST(pixels_are_sent_as_a_compressed_png)
{
    static unsigned char pixels[64 * 64 * 3];
    CLEANUP(buf_done) struct buf bytes = BUF_INIT;
    det_image image = {.size = sizeof(image),
                       .pixels = pixels,
                       .width = 64,
                       .height = 64,
                       .channels = 3};
    struct ring_reader *reader;
    struct report_media media;
    uint32_t width, height;
    struct world w;
    det_context *det;

    world_make(&w);
    det = world_open(&w);
    reader = world_reader(&w, "/task/reports");

    CHECK_OK(det_report_image(det, "black", 5, &image));
    media = next_media(reader, &bytes);
    CHECK_EQ(media.type, DET_MEDIA_PNG);
    CHECK(png_size(media.bytes, media.len, &width, &height));
    CHECK_EQ(width, 64);
    CHECK_EQ(height, 64);
    CHECK(media.len < 500);
    image.channels = 5;
    CHECK_EQ(det_report_image(det, "black", 5, &image), DET_INVALID);

    ring_reader_close(reader);
    det_close(det);
    world_end(&w);
}

TEST(wrong_items_are_refused_and_the_message_says_why)
{
    static const struct {
        det_media item;
        det_status status;
        const char *text;
    } wrong[] = {
        {{.name = NULL, .bytes = "x", .len = 1, .type = DET_MEDIA_TEXT},
         DET_INVALID,
         "needs a name"},
        {{.name = "a\nb", .bytes = "x", .len = 1, .type = DET_MEDIA_TEXT},
         DET_INVALID,
         "control character"},
        {{.name = "a", .bytes = "x", .len = 1, .type = DET_MEDIA_TEXT, .steps = -1},
         DET_INVALID,
         "expected 0 or more"},
        {{.name = "a", .type = DET_MEDIA_TEXT}, DET_INVALID, "needs a content"},
        {{.name = "a", .bytes = "x", .len = 1, .path = "/x"},
         DET_INVALID,
         "needs one content"},
        {{.name = "a", .bytes = "xxx", .len = 3}, DET_INVALID, "set the type"},
        {{.name = "a", .bytes = "xxx", .len = 3, .type = DET_MEDIA_PNG},
         DET_INVALID,
         "'a' is not reported"},
        {{.name = "a", .bytes = "xxx", .len = 3, .type = 99},
         DET_INVALID,
         "99 is not a type"},
        {{.name = "a", .path = "/none", .type = DET_MEDIA_TEXT},
         DET_NOT_FOUND,
         "/none"},
        {{.name = "a",
          .bytes = "x",
          .len = DET_MEDIA_BYTES_MOST + 1,
          .type = DET_MEDIA_TEXT},
         DET_TOO_LARGE,
         "4000000 at most"},
    };
    struct world w;
    det_context *det;

    world_make(&w);
    det = world_open(&w);
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        det_media item = wrong[i].item;

        item.size = sizeof(item);
        CHECK_EQ(det_report_media(det, &item), wrong[i].status);
        CHECK_HAS(det_context_error(det), wrong[i].text);
    }
    CHECK_EQ(det_report_media(det, NULL), DET_INVALID);
    det_close(det);
    world_end(&w);
}
