/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_url.c - addresses, percent-encoding, and the other small formats of text.h. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "data/base64.h"
#include "data/text.h"
#include "data/time.h"
#include "data/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check_encoding(const char *text, struct arena *mem)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    char *back;

    url_encode(&out, text);
    back = url_decode(mem, out.data, out.len, true);
    if (!back || strcmp(back, text) != 0)
        __builtin_trap();
}

static void check_base64(const char *text, size_t len)
{
    CLEANUP(buf_done) struct buf bytes = BUF_INIT;
    CLEANUP(buf_done) struct buf back = BUF_INIT;
    CLEANUP(buf_done) struct buf again = BUF_INIT;

    if (base64_decode(&bytes, text, len, NULL))
        return;
    base64_encode(&back, bytes.data, bytes.len);
    if (base64_decode(&again, back.data, back.len, NULL) || again.len != bytes.len ||
        memcmp(again.data, bytes.data, bytes.len) != 0)
        __builtin_trap();
}

static void check_time(const char *text)
{
    char formatted[TIME_TEXT];
    int64_t wall_us;
    int64_t back;

    if (!time_parse(text, &wall_us))
        return;
    time_format(wall_us, formatted);
    if (!time_parse(formatted, &back))
        __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static const char *const words[] = {"experiment", "trial", "checkpoint", NULL};
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    char *text = arena_strndup(&mem, (const char *)bytes, len);
    struct url url;
    uint64_t size;
    double real;

    if (!text)
        return 0;
    if (!url_parse(text, &mem, &url, NULL) && (!url.port || !*url.host))
        __builtin_trap();
    (void)url_decode(&mem, text, len, false);
    check_encoding(text, &mem);
    check_base64(text, len);
    check_time(text);
    (void)parse_size(text, &size);
    (void)parse_real(text, &real);
    (void)nearest_word(text, words);
    (void)path_is_inside(text);
    return 0;
}
