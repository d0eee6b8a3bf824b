/* SPDX-License-Identifier: Apache-2.0 */
/* Media of trials: stored once, listed by name and steps, and served so that a browser
 * runs nothing of them. */
#include <unistd.h>

#include "base/io/io.h"
#include "data/event_file.h"
#include "det/media.h"
#include "tests/api/batch.h"

static void add_media(struct batch *b, uint32_t type, const char *name, int64_t steps,
                      const char *bytes, size_t len)
{
    const struct report_media media = {.steps = steps,
                                       .type = type,
                                       .name = name,
                                       .name_len = strlen(name),
                                       .bytes = bytes,
                                       .len = len};
    size_t size = report_media_size(&media);
    void *payload = arena_alloc(&b->share->bed->mem, size);

    CHECK(payload != NULL);
    report_media_encode(&media, payload);
    add(b, REPORT_MEDIA, payload, size);
}

static void add_text(struct batch *b, uint32_t type, const char *name, int64_t steps,
                     const char *text)
{
    add_media(b, type, name, steps, text, strlen(text));
}

static struct reply fetch(struct bed *bed, const char *path)
{
    struct step step = GET("fetched", path, 200, NULL);

    return bed_step(bed, &step);
}

static void check_header(struct bed *bed, const struct reply *reply, const char *name,
                         const char *part)
{
    const char *value = bed_header(bed, reply, name);

    CHECK(value != NULL);
    CHECK_HAS(value, part);
}

#define MEDIA "/api/v1/det/trials/${share.trial}/media"

TEST(media_are_listed_by_name_and_steps_and_repeated_batches_change_nothing)
{
    static const struct step steps[] = {
        GET("list", MEDIA, 200,
            "media#2; media.0.name=a/picture; media.0.items#1; "
            "media.0.items.0.kind=image; media.0.items.0.type=png; "
            "media.0.items.0.bytes=12; media.0.items.0.steps=10; "
            "media.1.name=notes; media.1.items#2; media.1.items.0.steps=1; "
            "media.1.items.1.steps=2; media.1.items.1.isArchived=false; bytes=27; "
            "bytesMost=268435456"),
        GET("no item", MEDIA "/99", 404, "error.error~no media item 99"),
        GET("no number", MEDIA "/x", 400, NULL), END_STEPS};
    BED(bed, NULL);
    BATCH(batch);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);
    struct reply reply;

    batch_begin(&batch, &share, 1);
    add_text(&batch, DET_MEDIA_TEXT, "notes", 2, "first");
    add_media(&batch, DET_MEDIA_PNG, "a/picture", 10, "\x89PNG\r\n\x1a\n\0\0\0\0", 12);
    add_text(&batch, DET_MEDIA_TEXT, "notes", 1, "earlier");
    add_text(&batch, DET_MEDIA_TEXT, "notes", 2, "replaced");
    CHECK_EQ(send(&batch, 0), 4);
    CHECK_EQ(send(&batch, 0), 4);
    bed_restart(bed);
    CHECK_EQ(send(&batch, 0), 4);

    bed_play(bed, steps);
    reply = fetch(bed, MEDIA "/${list.media.1.items.1.id}");
    CHECK_STR(reply.text, "replaced");
    check_header(bed, &reply, "Content-Type", "text/plain; charset=utf-8");
    reply = fetch(bed, MEDIA "/${list.media.0.items.0.id}");
    CHECK_EQ(reply.len, 12);
    check_header(bed, &reply, "Content-Type", "image/png");
}

TEST(markup_is_served_into_a_sandbox)
{
    static const struct {
        uint32_t type;
        const char *content_type;
        const char *text;
    } items[] = {
        {DET_MEDIA_HTML, "text/html", "<script>alert(1)</script>"},
        {DET_MEDIA_SVG, "image/svg+xml", "<svg onload='alert(1)'/>"},
    };
    BED(bed, NULL);
    BATCH(batch);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);

    batch_begin(&batch, &share, 1);
    add_text(&batch, items[0].type, "a", 1, items[0].text);
    add_text(&batch, items[1].type, "b", 1, items[1].text);
    CHECK_EQ(send(&batch, 0), 2);
    for (int i = 0; i < 2; i++) {
        struct reply reply = fetch(bed, arena_printf(&bed->mem, "%s/%d", MEDIA, i + 1));
        const char *policy = bed_header(bed, &reply, "Content-Security-Policy");

        CHECK_STR(reply.text, items[i].text);
        CHECK_HAS(policy, "sandbox;");
        CHECK_HAS(policy, "default-src 'none'");
        CHECK(strstr(policy, "allow-") == NULL);
        CHECK(strstr(policy, "script-src") == NULL);
        check_header(bed, &reply, "Content-Type", items[i].content_type);
        check_header(bed, &reply, "X-Content-Type-Options", "nosniff");
    }
}

TEST(wrong_items_and_items_beyond_the_limit_are_refused_alone)
{
    static const struct step steps[] = {
        GET("list", MEDIA, 200, "media#2; media.0.name=a; media.1.name=g; bytes=18"),
        END_STEPS};
    BED(bed, "max_media_bytes: 20\n");
    BATCH(batch);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);

    batch_begin(&batch, &share, 1);
    add_text(&batch, DET_MEDIA_TEXT, "a", 1, "0123456789");
    add_text(&batch, DET_MEDIA_TEXT, "b", 1, "0123456789x");
    add_text(&batch, DET_MEDIA_PNG, "c", 1, "no png");
    add_text(&batch, DET_MEDIA_TEXT, "d", -1, "x");
    add_text(&batch, DET_MEDIA_TEXT, "", 1, "x");
    add_text(&batch, 99, "e", 1, "x");
    add(&batch, REPORT_MEDIA, "short", 5);
    add_text(&batch, DET_MEDIA_TEXT, "g", 1, "01234567");
    CHECK_EQ(send(&batch, 6), 8);
    CHECK_STR(bed_get(bed, "sent.refused.0.status"), "TOO_LARGE");
    CHECK_HAS(bed_get(bed, "sent.refused.0.error"), "'b' of step 1 is not stored");
    CHECK_HAS(bed_get(bed, "sent.refused.1.error"), "do not begin like");
    bed_play(bed, steps);
}

/* ---- event files ----------------------------------------------------------------- */

#define EVENTS "/api/v1/det/trials/${share.trial}/events"

static struct share one_with_storage(struct bed *bed, struct agent *agent)
{
    struct share share;

    agent_join(agent, bed, "a1", 1);
    (void)create(bed, arena_printf(&bed->mem,
                                   "name: one\nentrypoint: run\n"
                                   "searcher: {name: single, metric: loss}\n"
                                   "checkpoint_storage: {type: shared_fs, host_path: "
                                   "%s/storage}\n",
                                   bed->dir));
    share = agent_run(agent);
    share_speak(&share);
    return share;
}

/* Writes a file of texts "NAME of step STEP", and half a record. */
static void write_events(struct bed *bed, const char *folder, const char *file,
                         const char *name, int64_t first, int64_t last, double wall_s)
{
    CLEANUP(buf_done) struct buf bytes = BUF_INIT;
    char half[20];

    event_version(&bytes, wall_s);
    for (int64_t step = first; step <= last; step++) {
        CLEANUP(buf_done) struct buf body = BUF_INIT;
        const struct event_stamp stamp = {.wall_s = wall_s, .step = step};

        event_text(&body, arena_printf(&bed->mem, "%s of step %d", file, (int)step));
        event_value(&bytes, &stamp, name, &body);
    }
    memcpy(half, bytes.data, sizeof(half)); /* buf_add() may move what it grows */
    buf_add(&bytes, half, sizeof(half));
    CHECK_OK(io_mkdir(io_system(), folder, false, &test_err));
    CHECK_OK(io_replace(io_system(), arena_printf(&bed->mem, "%s/%s", folder, file),
                        bytes.data, bytes.len, false, &test_err));
}

TEST(media_of_event_files_are_listed_and_fetched_and_other_files_are_not)
{
    static const struct step lists[] = {GET("info", "/info", 200, NULL),
                                        GET("none", EVENTS, 200, "media#0"), END_STEPS};
    static const struct step steps[] = {
        GET("list", EVENTS, 200,
            "media#2; media.0.name=sub/more; media.0.items#1; media.1.name=words; "
            "media.1.items#3; media.1.items.0.steps=1; media.1.items.2.kind=text; "
            "media.1.items.1.file=b.tfevents; note="),
        GET("outside", EVENTS "/item?file=../x.tfevents&offset=0&value=0", 400,
            "error.error~not the name of an event file"),
        GET("another", EVENTS "/item?file=plain.txt&offset=0&value=0", 400, NULL),
        GET("a symlink", EVENTS "/item?file=link.tfevents&offset=0&value=0", 500,
            "error.error~symbolic links"),
        GET("no record", EVENTS "/item?file=b.tfevents&offset=3&value=0", 404,
            "error.error~no such item"),
        GET("no file", EVENTS "/item?file=c.tfevents&offset=0&value=0", 404, NULL),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share = one_with_storage(bed, &agent);
    struct reply reply;
    const char *folder;

    (void)share;
    bed_play(bed, lists);
    folder = arena_printf(&bed->mem, "%s/storage/%s/tensorboard/experiment/%d/trial/%d",
                          bed->dir, bed_get(bed, "info.cluster_id"), 1,
                          (int)bed_i64(bed, "share.trial"));
    write_events(bed, folder, "a.tfevents", "words", 1, 2, 100);
    write_events(bed, folder, "b.tfevents", "words", 2, 3, 200); /* trained again */
    write_events(bed, arena_printf(&bed->mem, "%s/sub", folder), "c.tfevents", "more",
                 5, 5, 100);
    CHECK_EQ(
        symlink("/etc/passwd", arena_printf(&bed->mem, "%s/link.tfevents", folder)), 0);
    bed_play(bed, steps);
    reply = fetch(bed, EVENTS "/item?file=${list.media.1.items.1.file}"
                              "&offset=${list.media.1.items.1.offset}"
                              "&value=${list.media.1.items.1.value}");
    CHECK_STR(reply.text, "b.tfevents of step 2");
    check_header(bed, &reply, "Content-Type", "text/plain");
    check_header(bed, &reply, "Content-Security-Policy", "sandbox;");
}
