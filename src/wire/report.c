/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - see report.h. */
#include "wire/report.h"

#include <string.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/memory/arena.h"
#include "data/utf8.h"

/* The offsets of the fields of a record. */
enum {
    AT_LENGTH = 0,
    AT_CHECK = 4,
    AT_NUMBER = 8,
    AT_TIME = 16,
    AT_KIND = 24,
    AT_RUN = 28,
    ALIGNMENT = 8,
    /* The smallest value: type, empty name, empty JSON. */
    VALUE_LEAST = 1 + 4 + 4,
};

/* ---- bytes ----------------------------------------------------------------------- */

static unsigned char *put_bytes(unsigned char *to, const void *bytes, size_t len)
{
    if (len)
        memcpy(to, bytes, len);
    return to + len;
}

static unsigned char *put_text(unsigned char *to, const char *text, size_t len)
{
    return put_bytes(put_u32(to, (uint32_t)len), text, len);
}

/* ---- records --------------------------------------------------------------------- */

size_t report_size(size_t payload_len)
{
    if (payload_len > REPORT_BYTES_MOST)
        return 0;
    return (REPORT_HEADER + payload_len + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* The checksum covers the length; otherwise a length that grew into the padding would
 * pass. */
static uint32_t check_of(const unsigned char *record, size_t size)
{
    return crc32c(crc32c(0, record + AT_LENGTH, 4), record + AT_NUMBER,
                  size - AT_NUMBER);
}

void report_encode(const struct report *report, void *to)
{
    unsigned char *record = to;
    size_t size = report_size(report->len);
    unsigned char *end = record + REPORT_HEADER + report->len;

    if (report->payload != record + REPORT_HEADER)
        put_bytes(record + REPORT_HEADER, report->payload, report->len);
    memset(end, 0, size - REPORT_HEADER - report->len);
    put_u32(record + AT_LENGTH, report->len);
    put_u64(record + AT_NUMBER, report->number);
    put_u64(record + AT_TIME, (uint64_t)report->time_us);
    put_u32(record + AT_KIND, report->kind);
    put_u32(record + AT_RUN, report->run);
    put_u32(record + AT_CHECK, check_of(record, size));
}

static bool is_padded(const unsigned char *from, const unsigned char *end)
{
    while (from < end && *from == 0)
        from++;
    return from == end;
}

det_status report_decode(const void *bytes, size_t len, struct report *ret_report,
                         size_t *ret_used, struct err *err)
{
    const unsigned char *record = bytes;
    uint32_t length;
    size_t size;

    if (len < REPORT_HEADER)
        return err_set(err, DET_NOT_FOUND, "no whole record in %zu bytes", len);
    length = get_u32(record + AT_LENGTH);
    size = report_size(length);
    if (!size) {
        *ret_used = 0;
        return err_set(err, DET_CORRUPT, "a record says that it has %u bytes", length);
    }
    if (size > len)
        return err_set(err, DET_NOT_FOUND, "a record of %zu bytes ends after %zu", size,
                       len);
    *ret_used = size;
    if (get_u32(record + AT_CHECK) != check_of(record, size) ||
        !is_padded(record + REPORT_HEADER + length, record + size))
        return err_set(err, DET_CORRUPT, "the check of a record of %zu bytes fails",
                       size);
    *ret_report = (struct report){
        .kind = (enum report_kind)get_u32(record + AT_KIND),
        .run = get_u32(record + AT_RUN),
        .number = get_u64(record + AT_NUMBER),
        .time_us = (int64_t)get_u64(record + AT_TIME),
        .payload = record + REPORT_HEADER,
        .len = length,
    };
    return DET_OK;
}

bool report_peek(const void *bytes, uint64_t *ret_number, size_t *ret_size)
{
    *ret_number = get_u64((const unsigned char *)bytes + AT_NUMBER);
    *ret_size = report_size(get_u32((const unsigned char *)bytes + AT_LENGTH));
    return *ret_size > 0;
}

/* ---- metrics --------------------------------------------------------------------- */

/* A saturating sum. */
static size_t add_size(size_t a, size_t b)
{
    size_t sum;

    return __builtin_add_overflow(a, b, &sum) ? SIZE_MAX : sum;
}

/* C0, DEL, and C1 in UTF-8. */
static bool has_control(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c < 0x20 || c == 0x7f)
            return true;
        if (c == 0xc2 && i + 1 < len && (unsigned char)text[i + 1] < 0xa0)
            return true;
    }
    return false;
}

/* `whose`: "group", "metric", ... */
static det_status check_name(const char *name, size_t len, const char *whose,
                             struct err *err)
{
    if (!len)
        return err_set(err, DET_INVALID, "a %s has no name", whose);
    if (len > REPORT_NAME_MOST)
        return err_set(err, DET_INVALID,
                       "a %s's name has %zu bytes; expected %d at most", whose, len,
                       REPORT_NAME_MOST);
    if (utf8_valid(name, len) < len)
        return err_set(err, DET_INVALID, "a %s's name is not UTF-8 text", whose);
    if (has_control(name, len))
        return err_set(err, DET_INVALID,
                       "a %s's name holds a line's end or another control character",
                       whose);
    return DET_OK;
}

det_status report_check_name(const char *name, size_t len, bool is_group,
                             struct err *err)
{
    det_status st = check_name(name, len, is_group ? "group" : "metric", err);

    if (st)
        return st;
    if (is_group && memchr(name, '.', len))
        return err_set(err, DET_INVALID,
                       "the group '%.*s' has a dot in its name, which is not allowed",
                       (int)len, name);
    return DET_OK;
}

size_t report_metrics_size(const struct report_metrics *metrics)
{
    size_t size = add_size(8 + 4 + 4 + 4, metrics->group_len);

    for (uint32_t i = 0; i < metrics->count; i++) {
        const struct report_value *value = &metrics->value[i];

        size = add_size(size, 1 + 4);
        size = add_size(size, value->name_len);
        size = value->type == REPORT_NUMBER
                   ? add_size(size, 8)
                   : add_size(size, add_size(4, value->json_len));
    }
    return add_size(size, metrics->batch ? metrics->batch_len : 0);
}

void report_metrics_encode(const struct report_metrics *metrics, void *to)
{
    unsigned char *at = put_u64(to, (uint64_t)metrics->steps);

    at = put_text(at, metrics->group, metrics->group_len);
    at = put_u32(at, metrics->count);
    for (uint32_t i = 0; i < metrics->count; i++) {
        const struct report_value *value = &metrics->value[i];
        uint64_t bits;

        *at++ = (unsigned char)value->type;
        at = put_text(at, value->name, value->name_len);
        memcpy(&bits, &value->number, sizeof(bits));
        at = value->type == REPORT_NUMBER ? put_u64(at, bits)
                                          : put_text(at, value->json, value->json_len);
    }
    put_text(at, metrics->batch, metrics->batch ? metrics->batch_len : 0);
}

/* Reading is sticky: past the end all values are empty and `is_bad` is set. */
struct cursor {
    const unsigned char *at;
    const unsigned char *end;
    bool is_bad;
};

static const unsigned char *take_bytes(struct cursor *from, size_t len)
{
    static const unsigned char nothing[8];
    const unsigned char *at = from->at;

    if (from->is_bad || len > (size_t)(from->end - from->at)) {
        from->is_bad = true;
        return nothing;
    }
    from->at += len;
    return at;
}

static const char *take_text(struct cursor *from, size_t *ret_len)
{
    uint32_t len = get_u32(take_bytes(from, 4));
    const unsigned char *text = take_bytes(from, len);

    *ret_len = from->is_bad ? 0 : len;
    return (const char *)text;
}

static void take_value(struct cursor *from, struct report_value *ret_value)
{
    unsigned type = *take_bytes(from, 1);
    uint64_t bits;

    ret_value->type = type == REPORT_JSON ? REPORT_JSON : REPORT_NUMBER;
    ret_value->name = take_text(from, &ret_value->name_len);
    if (type == REPORT_NUMBER) {
        bits = get_u64(take_bytes(from, 8));
        memcpy(&ret_value->number, &bits, sizeof(bits));
    } else if (type == REPORT_JSON) {
        ret_value->json = take_text(from, &ret_value->json_len);
    } else {
        from->is_bad = true;
    }
}

det_status report_metrics_decode(const void *payload, size_t len, struct arena *mem,
                                 struct report_metrics *ret_metrics, struct err *err)
{
    struct cursor from = {payload, (const unsigned char *)payload + len, false};
    struct report_metrics metrics = {.steps = (int64_t)get_u64(take_bytes(&from, 8))};
    struct report_value *value;

    metrics.group = take_text(&from, &metrics.group_len);
    metrics.count = get_u32(take_bytes(&from, 4));
    /* The count may be wrong: check it before allocating. */
    if (metrics.count > (size_t)(from.end - from.at) / VALUE_LEAST)
        return err_set(err, DET_CORRUPT, "%u metrics cannot lie in %zu bytes",
                       metrics.count, len);
    value = arena_array(mem, struct report_value, metrics.count);
    if (!value)
        return err_default(err, DET_NOMEM);
    for (uint32_t i = 0; i < metrics.count; i++)
        take_value(&from, &value[i]);
    metrics.value = value;
    metrics.batch = take_text(&from, &metrics.batch_len);
    if (metrics.batch_len == 0)
        metrics.batch = NULL;
    if (from.is_bad || from.at != from.end)
        return err_set(err, DET_CORRUPT,
                       "the bytes of a report of %u metrics contradict themselves",
                       metrics.count);
    *ret_metrics = metrics;
    return DET_OK;
}

bool report_metrics_is_of(const void *payload, size_t len, const char *group)
{
    struct cursor from = {payload, (const unsigned char *)payload + len, false};
    const char *name;
    size_t name_len;

    (void)take_bytes(&from, 8); /* the steps */
    name = take_text(&from, &name_len);
    return !from.is_bad && name_len == strlen(group) && !memcmp(name, group, name_len);
}

bool report_is_of_build(const struct report *report)
{
    static const char *const texts[] = {"\"" STATUS_BUILDING, "\"" STATUS_BUILT "\""};

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (report->kind == REPORT_STATUS &&
            memmem(report->payload, report->len, texts[i], strlen(texts[i])))
            return true;
    return false;
}

/* ---- media ----------------------------------------------------------------------- */

det_status report_check_media_name(const char *name, size_t len, struct err *err)
{
    return check_name(name, len, "media item", err);
}

size_t report_media_size(const struct report_media *media)
{
    return add_size(8 + 4 + 4, add_size(media->name_len, media->len));
}

void report_media_encode(const struct report_media *media, void *to)
{
    unsigned char *at = put_u64(to, (uint64_t)media->steps);

    at = put_u32(at, media->type);
    at = put_text(at, media->name, media->name_len);
    put_bytes(at, media->bytes, media->len);
}

det_status report_media_decode(const void *payload, size_t len,
                               struct report_media *ret_media, struct err *err)
{
    struct cursor from = {payload, (const unsigned char *)payload + len, false};
    struct report_media media = {.steps = (int64_t)get_u64(take_bytes(&from, 8))};

    media.type = get_u32(take_bytes(&from, 4));
    media.name = take_text(&from, &media.name_len);
    if (from.is_bad)
        return err_set(err, DET_CORRUPT, "a media item of %zu bytes is cut off", len);
    media.bytes = from.at;
    media.len = (size_t)(from.end - from.at);
    *ret_media = media;
    return DET_OK;
}
