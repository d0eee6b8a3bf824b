/* SPDX-License-Identifier: Apache-2.0 */
/* event_media.c - see event_media.h.
 *
 * Protobuf's wire format: a message is a list of fields; each has a key (number and form)
 * and a value.  next_field() reads one; unknown fields are skipped, as protobuf's own
 * readers do. */
#include "data/event/event_media.h"

#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "base/compiler.h"
#include "base/memory/buf.h"
#include "data/json/json.h"
#include "det/media.h"

enum wire { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };
enum { EVENT_WALL = 1, EVENT_STEP = 2, EVENT_SUMMARY = 5, SUMMARY_VALUE = 1 };
enum {
    VALUE_TAG = 1,
    VALUE_IMAGE = 4,
    VALUE_HISTOGRAM = 5,
    VALUE_AUDIO = 6,
    VALUE_TENSOR = 8,
    VALUE_METADATA = 9
};
enum { ENCODED = 4 }; /* of an Image and of an Audio */
enum { METADATA_PLUGIN = 1, PLUGIN_NAME = 1 };
enum { TENSOR_CONTENT = 4, TENSOR_DOUBLE = 6, TENSOR_STRING = 8 };
enum { HISTOGRAM_MIN = 1, HISTOGRAM_MAX = 2, HISTOGRAM_LIMIT = 6, HISTOGRAM_COUNT = 7 };
enum { PARTS_MOST = 256, BINS_MOST = 2048, BUCKET_DOUBLES = 3, DOUBLE_BYTES = 8 };

/* ---- fields ---------------------------------------------------------------------- */

struct span {
    const unsigned char *at;
    size_t len;
};

struct field_in {
    uint32_t number;
    enum wire wire;
    uint64_t integer;  /* WIRE_VARINT, WIRE_64, WIRE_32 */
    struct span bytes; /* WIRE_BYTES */
};

static bool take_varint(struct span *from, uint64_t *ret_value)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64 && from->len; shift += 7) {
        unsigned char byte = *from->at;

        from->at++;
        from->len--;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret_value = value;
            return true;
        }
    }
    return false;
}

static bool take_span(struct span *from, uint64_t len, struct span *ret_span)
{
    if (len > from->len)
        return false;
    *ret_span = (struct span){from->at, (size_t)len};
    from->at += len;
    from->len -= (size_t)len;
    return true;
}

/* False: the message is at its end, or wrong from here on. */
static bool next_field(struct span *from, struct field_in *ret_field)
{
    uint64_t key, len;
    struct span raw;

    if (!take_varint(from, &key))
        return false;
    *ret_field =
        (struct field_in){.number = (uint32_t)(key >> 3), .wire = (enum wire)(key & 7)};
    switch (key & 7) {
    case WIRE_VARINT:
        return take_varint(from, &ret_field->integer);
    case WIRE_BYTES:
        return take_varint(from, &len) && take_span(from, len, &ret_field->bytes);
    case WIRE_64:
        if (!take_span(from, 8, &raw))
            return false;
        ret_field->integer = get_u64(raw.at);
        return true;
    case WIRE_32:
        return take_span(from, 4, &raw);
    default:
        return false;
    }
}

static double double_of(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* The first field of that number that has bytes; empty: none. */
static struct span find_bytes(struct span message, uint32_t number)
{
    struct field_in field;

    while (next_field(&message, &field))
        if (field.number == number && field.wire == WIRE_BYTES)
            return field.bytes;
    return (struct span){0};
}

/* ---- values ---------------------------------------------------------------------- */

struct walk {
    struct event_media media;
    uint32_t value; /* index in the summary */
    event_media_fn *fn;
    void *arg;
    bool is_over;
};

struct value_in {
    struct span tag, image, histogram, audio, tensor, plugin;
};

static bool is_named(struct span text, const char *name)
{
    return text.len == strlen(name) && !memcmp(text.at, name, text.len);
}

static void give(struct walk *walk, uint32_t type, uint32_t part, struct span bytes)
{
    if (walk->is_over || !bytes.len || part >= PARTS_MOST)
        return;
    walk->media.type = type;
    walk->media.part = part;
    walk->media.place = walk->value * PARTS_MOST + part;
    walk->media.bytes = bytes.at;
    walk->media.len = bytes.len;
    walk->is_over = !walk->fn(walk->arg, &walk->media);
}

static bool begins_with(struct span bytes, const char *sign, size_t len)
{
    return bytes.len >= len && !memcmp(bytes.at, sign, len);
}

/* TensorBoard's writers encode pictures as PNG, JPEG or GIF. */
static void give_image(struct walk *walk, uint32_t part, struct span bytes)
{
    if (begins_with(bytes, "\x89PNG\r\n\x1a\n", 8))
        give(walk, DET_MEDIA_PNG, part, bytes);
    else if (begins_with(bytes, "\xff\xd8\xff", 3))
        give(walk, DET_MEDIA_JPEG, part, bytes);
    else if (begins_with(bytes, "GIF8", 4))
        give(walk, DET_MEDIA_GIF, part, bytes);
}

/* Sounds are always WAV. */
static void give_audio(struct walk *walk, uint32_t part, struct span bytes)
{
    if (begins_with(bytes, "RIFF", 4))
        give(walk, DET_MEDIA_WAV, part, bytes);
}

/* The strings of a tensor.  Of pictures the first two are width and height, which do not
 * begin like a picture; of sounds every second is a label, which does not begin like a
 * sound. */
static void give_strings(struct walk *walk, struct span tensor, uint32_t type)
{
    struct field_in field;
    uint32_t part = 0;

    while (!walk->is_over && next_field(&tensor, &field)) {
        if (field.number != TENSOR_STRING || field.wire != WIRE_BYTES)
            continue;
        if (type == DET_MEDIA_TEXT)
            give(walk, type, part++, field.bytes);
        else if (type == DET_MEDIA_WAV && begins_with(field.bytes, "RIFF", 4))
            give_audio(walk, part++, field.bytes);
        else if (type == DET_MEDIA_PNG && field.bytes.len > 16)
            give_image(walk, part++, field.bytes);
    }
}

static void give_tensor(struct walk *walk, const struct value_in *value)
{
    if (is_named(value->plugin, "images")) {
        give_strings(walk, value->tensor, DET_MEDIA_PNG);
    } else if (is_named(value->plugin, "audio")) {
        give_strings(walk, value->tensor, DET_MEDIA_WAV);
    } else if (is_named(value->plugin, "text")) {
        give_strings(walk, value->tensor, DET_MEDIA_TEXT);
    } else if (is_named(value->plugin, "histograms")) {
        walk->media.is_tensor = true;
        give(walk, DET_MEDIA_HISTOGRAM, 0, value->tensor);
    }
}

static void give_value(struct walk *walk, struct span message)
{
    struct value_in value = {0};
    struct field_in field;

    while (next_field(&message, &field)) {
        if (field.wire != WIRE_BYTES)
            continue;
        switch (field.number) {
        case VALUE_TAG:
            value.tag = field.bytes;
            break;
        case VALUE_IMAGE:
            value.image = find_bytes(field.bytes, ENCODED);
            break;
        case VALUE_HISTOGRAM:
            value.histogram = field.bytes;
            break;
        case VALUE_AUDIO:
            value.audio = find_bytes(field.bytes, ENCODED);
            break;
        case VALUE_TENSOR:
            value.tensor = field.bytes;
            break;
        case VALUE_METADATA:
            value.plugin =
                find_bytes(find_bytes(field.bytes, METADATA_PLUGIN), PLUGIN_NAME);
            break;
        default:
            break;
        }
    }
    walk->media.tag = (const char *)value.tag.at;
    walk->media.tag_len = value.tag.len;
    walk->media.is_tensor = false;
    if (!value.tag.len)
        return;
    give_image(walk, 0, value.image);
    give_audio(walk, 0, value.audio);
    give(walk, DET_MEDIA_HISTOGRAM, 0, value.histogram);
    if (value.tensor.len)
        give_tensor(walk, &value);
}

uint64_t event_record_len(const unsigned char head[EVENT_RECORD_HEAD])
{
    return get_u64(head);
}

void event_media_each(const void *message, size_t len, event_media_fn *fn, void *arg)
{
    struct walk walk = {.fn = fn, .arg = arg};
    struct span from = {message, len};
    struct span summary = {0};
    struct field_in field;

    while (next_field(&from, &field)) {
        if (field.number == EVENT_WALL && field.wire == WIRE_64)
            walk.media.wall_s = double_of(field.integer);
        else if (field.number == EVENT_STEP && field.wire == WIRE_VARINT)
            walk.media.step = (int64_t)field.integer;
        else if (field.number == EVENT_SUMMARY && field.wire == WIRE_BYTES)
            summary = field.bytes;
    }
    while (!walk.is_over && next_field(&summary, &field))
        if (field.number == SUMMARY_VALUE && field.wire == WIRE_BYTES) {
            give_value(&walk, field.bytes);
            walk.value++;
        }
}

/* ---- histograms ------------------------------------------------------------------ */

struct buckets {
    uint32_t count;
    double edge[BINS_MOST + 1];
    double size[BINS_MOST];
};

static double double_at(struct span doubles, size_t at)
{
    return double_of(get_u64(doubles.at + at * DOUBLE_BYTES));
}

/* Adds a bucket; edges never fall, whatever a writer says. */
static void add_bucket(struct buckets *b, double right, double size)
{
    if (b->count == BINS_MOST)
        return;
    b->edge[b->count + 1] = fmax(right, b->edge[b->count]);
    b->size[b->count++] = size;
}

/* Left, right and count of each bucket, one after the other. */
static void read_tensor(struct span tensor, struct buckets *b)
{
    struct span doubles = find_bytes(tensor, TENSOR_CONTENT);
    size_t count;

    if (!doubles.len)
        doubles = find_bytes(tensor, TENSOR_DOUBLE);
    count = doubles.len / DOUBLE_BYTES / BUCKET_DOUBLES;
    if (count)
        b->edge[0] = double_at(doubles, 0);
    for (size_t i = 0; i < count; i++)
        add_bucket(b, double_at(doubles, BUCKET_DOUBLES * i + 1),
                   double_at(doubles, BUCKET_DOUBLES * i + 2));
}

/* The right edges of the buckets; the outermost edges are the smallest and largest value. */
static void read_proto(struct span proto, struct buckets *b)
{
    struct span limits = find_bytes(proto, HISTOGRAM_LIMIT);
    struct span counts = find_bytes(proto, HISTOGRAM_COUNT);
    size_t count = MIN(limits.len, counts.len) / DOUBLE_BYTES;
    struct span rest = proto;
    struct field_in field;
    double most = 0;

    while (next_field(&rest, &field)) {
        if (field.number == HISTOGRAM_MIN && field.wire == WIRE_64)
            b->edge[0] = double_of(field.integer);
        if (field.number == HISTOGRAM_MAX && field.wire == WIRE_64)
            most = double_of(field.integer);
    }
    /* PyTorch's first bucket is empty and ends at or before the smallest value. */
    for (size_t i = 0; i < count; i++) {
        double right = i + 1 == count ? most : fmin(double_at(limits, i), most);

        if (b->count || right > b->edge[0] || double_at(counts, i) > 0)
            add_bucket(b, right, double_at(counts, i));
    }
}

bool event_histogram_json(const struct event_media *media, struct buf *out)
{
    struct span body = {media->bytes, media->len};
    struct json_writer w = JSON_WRITER(out);
    struct buckets b = {0};

    if (media->is_tensor)
        read_tensor(body, &b);
    else
        read_proto(body, &b);
    for (uint32_t i = 0; i < b.count; i++)
        if (!isfinite(b.edge[i]) || !isfinite(b.edge[i + 1]) || !isfinite(b.size[i]))
            return false;
    if (!b.count)
        return false;
    jw_object(&w, NULL);
    jw_array(&w, "edges");
    for (uint32_t i = 0; i <= b.count; i++)
        jw_real(&w, NULL, b.edge[i]);
    jw_end_array(&w);
    jw_array(&w, "counts");
    for (uint32_t i = 0; i < b.count; i++)
        jw_real(&w, NULL, b.size[i]);
    jw_end_array(&w);
    jw_end_object(&w);
    return true;
}
