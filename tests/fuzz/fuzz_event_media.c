/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_event_media.c - the media of any message are inside of it, and a histogram is valid or
 * refused. */
#include <stddef.h>
#include <stdint.h>

#include "base/memory/buf.h"
#include "data/event/event_media.h"
#include "det/media.h"
#include "model/media.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

struct message {
    const uint8_t *bytes;
    size_t len;
};

static bool is_inside(const struct message *message, const void *at, size_t len)
{
    const uint8_t *from = at;

    return from >= message->bytes && len <= message->len &&
           (size_t)(from - message->bytes) <= message->len - len;
}

static bool check_media(void *arg, const struct event_media *media)
{
    CLEANUP(buf_done) struct buf json = BUF_INIT;

    if (!is_inside(arg, media->bytes, media->len) ||
        !is_inside(arg, media->tag, media->tag_len) || !media_type(media->type))
        __builtin_trap();
    if (media->type == DET_MEDIA_HISTOGRAM && event_histogram_json(media, &json) &&
        json.data[json.len - 1] != '}')
        __builtin_trap();
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct message message = {bytes, len};

    event_media_each(bytes, len, check_media, &message);
    return 0;
}
