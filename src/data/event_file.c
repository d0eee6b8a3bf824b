/* SPDX-License-Identifier: Apache-2.0 */
/* event_file.c - TensorBoard's event files: records, and the messages in them.
 *
 * A message inside a message has its length in front.  Bodies are made first, in a
 * separate buffer.  Then every length is known, and a record is written from front to
 * back into room that was reserved once: numbers, of which there are many, take one
 * pass. */
#include "data/event_file.h"

#include <string.h>

#include "base/compiler.h"
#include "base/crc32c.h"
#include "base/memory/buf.h"
#include "data/json/json.h"

/* Protobuf: the low three bits of a field's key say how its value is written. */
enum wire { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

/* The numbers of the fields of each message. */
enum { EVENT_WALL = 1, EVENT_STEP = 2, EVENT_VERSION = 3, EVENT_SUMMARY = 5 };
enum { EVENT_SESSION = 7, SESSION_STATUS = 1, SESSION_START = 1 };
enum { SUMMARY_VALUE = 1 };
enum { VALUE_TAG = 1, VALUE_NUMBER = 2, VALUE_TENSOR = 8, VALUE_METADATA = 9 };
enum { METADATA_PLUGIN = 1, METADATA_CLASS = 4, PLUGIN_NAME = 1, PLUGIN_CONTENT = 2 };
enum { TENSOR_TYPE = 1, TENSOR_SHAPE = 2, TENSOR_CONTENT = 4, TENSOR_FLOAT = 5 };
enum { TENSOR_STRING = 8, SHAPE_DIM = 2, DIM_SIZE = 1 };
enum { HPARAMS_START = 3, HPARAMS_END = 4 };
enum {
    START_HPARAMS = 1,
    START_GROUP = 4,
    START_TIME = 5,
    END_STATUS = 1,
    END_TIME = 2
};
enum { PAIR_KEY = 1, PAIR_VALUE = 2 };
enum { ANY_NUMBER = 2, ANY_STRING = 3, ANY_BOOL = 4 };

enum { TYPE_FLOAT = 1, TYPE_DOUBLE = 2, TYPE_STRING = 7 };
enum { CLASS_NONE = 0, CLASS_TENSOR = 2, CLASS_BLOBS = 3 };

enum {
    RECORD_HEAD = 12,
    RECORD_TAIL = 4,
    NUMBER_BODY = 5,
    BUCKET_DOUBLES = 3,
    DOUBLE_BYTES = 8,
};

#define VERSION "brain.Event:2"

/* ---- records --------------------------------------------------------------------- */

static uint32_t masked_crc(const void *bytes, size_t len)
{
    uint32_t crc = crc32c(0, bytes, len);

    return (crc >> 15 | crc << 17) + UINT32_C(0xa282ead8);
}

static size_t varint_len(uint64_t value)
{
    size_t len = 1;

    for (; value >= 0x80; value >>= 7)
        len++;
    return len;
}

static unsigned char *write_varint(unsigned char *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (unsigned char)(value | 0x80);
    *at++ = (unsigned char)value;
    return at;
}

static unsigned char *write_u32(unsigned char *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        *at++ = (unsigned char)(value >> (8 * i));
    return at;
}

static unsigned char *write_u64(unsigned char *at, uint64_t value)
{
    return write_u32(write_u32(at, (uint32_t)value), (uint32_t)(value >> 32));
}

/* Protobuf uses little-endian IEEE 754; all machines that we run on use the same
 * bits. */
static uint64_t bits_of(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static uint32_t bits_of_float(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static unsigned char *write_key(unsigned char *at, unsigned field, enum wire wire)
{
    *at++ = (unsigned char)(field << 3 | wire); /* no field here is above 15 */
    return at;
}

static unsigned char *write_bytes(unsigned char *at, unsigned field, const void *bytes,
                                  size_t len)
{
    at = write_varint(write_key(at, field, WIRE_BYTES), len);
    if (len)
        memcpy(at, bytes, len);
    return at + len;
}

static size_t bytes_len(size_t len)
{
    return 1 + varint_len(len) + len;
}

/* The record of an event with one field behind its stamp: reserves room for all of it,
 * and writes its head, the stamp, and the field's key and length.  NULL: out of
 * memory. */
struct record {
    unsigned char *begin;
    unsigned char *at; /* where the field's bytes go */
    size_t event_len;
};

static bool record_begin(struct buf *out, const struct event_stamp *stamp,
                         unsigned field, size_t field_len, struct record *record)
{
    size_t stamp_len = 1 + DOUBLE_BYTES;
    unsigned char *at;

    if (stamp->step)
        stamp_len += 1 + varint_len((uint64_t)stamp->step);
    record->event_len = stamp_len + bytes_len(field_len);
    at = (unsigned char *)buf_room(out, RECORD_HEAD + record->event_len + RECORD_TAIL);
    if (!at)
        return false;
    record->begin = at;
    write_u64(at, record->event_len);
    write_u32(at + 8, masked_crc(at, 8));
    at = write_u64(write_key(at + RECORD_HEAD, EVENT_WALL, WIRE_64),
                   bits_of(stamp->wall_s));
    if (stamp->step)
        at =
            write_varint(write_key(at, EVENT_STEP, WIRE_VARINT), (uint64_t)stamp->step);
    record->at = write_varint(write_key(at, field, WIRE_BYTES), field_len);
    return true;
}

static void record_end(struct buf *out, const struct record *record)
{
    unsigned char *event = record->begin + RECORD_HEAD;

    write_u32(event + record->event_len, masked_crc(event, record->event_len));
    buf_took(out, RECORD_HEAD + record->event_len + RECORD_TAIL);
}

static void put_record(struct buf *out, const struct event_stamp *stamp, unsigned field,
                       const void *bytes, size_t len)
{
    struct record record;

    if (!record_begin(out, stamp, field, len, &record))
        return;
    memcpy(record.at, bytes, len);
    record_end(out, &record);
}

void event_version(struct buf *out, double wall_s)
{
    struct event_stamp stamp = {.wall_s = wall_s};

    put_record(out, &stamp, EVENT_VERSION, VERSION, strlen(VERSION));
}

void event_restart(struct buf *out, const struct event_stamp *stamp)
{
    static const unsigned char start[2] = {SESSION_STATUS << 3 | WIRE_VARINT,
                                           SESSION_START};

    put_record(out, stamp, EVENT_SESSION, start, sizeof(start));
}

/* ---- values ---------------------------------------------------------------------- */

static size_t value_len(const char *tag, size_t body_len)
{
    return bytes_len(strlen(tag)) + body_len;
}

static unsigned char *write_value(unsigned char *at, const char *tag, size_t body_len)
{
    size_t len = strlen(tag);

    at = write_varint(write_key(at, SUMMARY_VALUE, WIRE_BYTES),
                      bytes_len(len) + body_len);
    return write_bytes(at, VALUE_TAG, tag, len);
}

void event_value(struct buf *out, const struct event_stamp *stamp, const char *tag,
                 const struct buf *body)
{
    struct record record;

    if (body->status && !out->status)
        out->status = body->status;
    if (!record_begin(out, stamp, EVENT_SUMMARY, bytes_len(value_len(tag, body->len)),
                      &record))
        return;
    memcpy(write_value(record.at, tag, body->len), body->data, body->len);
    record_end(out, &record);
}

void event_numbers(struct buf *out, const struct event_stamp *stamp,
                   const det_metric *metrics, size_t count)
{
    struct record record;
    size_t len = 0;

    for (size_t i = 0; i < count; i++)
        len += bytes_len(value_len(metrics[i].name, NUMBER_BODY));
    if (!record_begin(out, stamp, EVENT_SUMMARY, len, &record))
        return;
    for (size_t i = 0; i < count; i++) {
        unsigned char *at = write_value(record.at, metrics[i].name, NUMBER_BODY);

        record.at = write_u32(write_key(at, VALUE_NUMBER, WIRE_32),
                              bits_of_float((float)metrics[i].value));
    }
    record_end(out, &record);
}

/* ---- bodies ---------------------------------------------------------------------- */

static void put_key(struct buf *out, unsigned field, enum wire wire)
{
    buf_putc(out, (char)(field << 3 | wire));
}

static void put_int(struct buf *out, unsigned field, uint64_t value)
{
    put_key(out, field, WIRE_VARINT);
    buf_put_varint(out, value);
}

static void put_double(struct buf *out, unsigned field, double value)
{
    put_key(out, field, WIRE_64);
    buf_put_u64(out, bits_of(value));
}

static void put_bytes(struct buf *out, unsigned field, const void *bytes, size_t len)
{
    put_key(out, field, WIRE_BYTES);
    buf_put_varint(out, len);
    buf_add(out, bytes, len);
}

static void put_str(struct buf *out, unsigned field, const char *text)
{
    put_bytes(out, field, text, strlen(text));
}

/* Adds a message that was made in another buffer. */
static void put_message(struct buf *out, unsigned field, const struct buf *message)
{
    if (message->status && !out->status)
        out->status = message->status;
    put_bytes(out, field, message->data, message->len);
}

/* The page that shows the value: its name, its data, and the kind of data. */
static void put_metadata(struct buf *body, const char *name, const struct buf *content,
                         unsigned class)
{
    CLEANUP(buf_done) struct buf metadata = BUF_INIT;
    CLEANUP(buf_done) struct buf plugin = BUF_INIT;

    put_str(&plugin, PLUGIN_NAME, name);
    if (content)
        put_message(&plugin, PLUGIN_CONTENT, content);
    put_message(&metadata, METADATA_PLUGIN, &plugin);
    if (class != CLASS_NONE)
        put_int(&metadata, METADATA_CLASS, class);
    put_message(body, VALUE_METADATA, &metadata);
}

/* A tensor's type, and its shape of one or two dimensions; `columns` 0: one. */
static void put_shape(struct buf *tensor, unsigned type, size_t rows, size_t columns)
{
    CLEANUP(buf_done) struct buf shape = BUF_INIT;
    size_t sizes[2] = {rows, columns};

    for (size_t i = 0; i < (columns ? 2u : 1u); i++) {
        CLEANUP(buf_done) struct buf dim = BUF_INIT;

        if (sizes[i])
            put_int(&dim, DIM_SIZE, sizes[i]);
        put_message(&shape, SHAPE_DIM, &dim);
    }
    put_int(tensor, TENSOR_TYPE, type);
    put_message(tensor, TENSOR_SHAPE, &shape);
}

void event_text(struct buf *body, const char *text)
{
    CLEANUP(buf_done) struct buf tensor = BUF_INIT;

    put_shape(&tensor, TYPE_STRING, 1, 0);
    put_str(&tensor, TENSOR_STRING, text);
    put_message(body, VALUE_TENSOR, &tensor);
    put_metadata(body, "text", NULL, CLASS_TENSOR);
}

void event_buckets(struct buf *body, const det_bucket *buckets, size_t count)
{
    CLEANUP(buf_done) struct buf tensor = BUF_INIT;

    put_shape(&tensor, TYPE_DOUBLE, count, BUCKET_DOUBLES);
    if (count) {
        put_key(&tensor, TENSOR_CONTENT, WIRE_BYTES);
        buf_put_varint(&tensor, count * BUCKET_DOUBLES * DOUBLE_BYTES);
    }
    for (size_t i = 0; i < count; i++) {
        buf_put_u64(&tensor, bits_of(buckets[i].left));
        buf_put_u64(&tensor, bits_of(buckets[i].right));
        buf_put_u64(&tensor, bits_of(buckets[i].count));
    }
    put_message(body, VALUE_TENSOR, &tensor);
    put_metadata(body, "histograms", NULL, CLASS_TENSOR);
}

/* Strings: the width, the height, the picture. */
void event_image(struct buf *body, uint32_t width, uint32_t height,
                 const struct buf *png)
{
    CLEANUP(buf_done) struct buf tensor = BUF_INIT;
    CLEANUP(buf_done) struct buf number = BUF_INIT;

    put_shape(&tensor, TYPE_STRING, 3, 0);
    buf_printf(&number, "%u", width);
    put_message(&tensor, TENSOR_STRING, &number);
    buf_clear(&number);
    buf_printf(&number, "%u", height);
    put_message(&tensor, TENSOR_STRING, &number);
    put_message(&tensor, TENSOR_STRING, png);
    put_message(body, VALUE_TENSOR, &tensor);
    put_metadata(body, "images", NULL, CLASS_BLOBS);
}

/* ---- hyperparameters ------------------------------------------------------------- */

/* As protobuf's Value: a number, a text or a boolean. */
static void put_any(struct buf *any, const struct json *value)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);

    switch (value->kind) {
    case JSON_INT:
        put_double(any, ANY_NUMBER, (double)value->integer);
        break;
    case JSON_REAL:
        put_double(any, ANY_NUMBER, value->real);
        break;
    case JSON_BOOL:
        put_int(any, ANY_BOOL, value->boolean);
        break;
    case JSON_STRING:
        put_bytes(any, ANY_STRING, value->string.text, value->string.len);
        break;
    case JSON_NULL:
    case JSON_ARRAY:
    case JSON_OBJECT:
        jw_json(&w, NULL, value);
        put_message(any, ANY_STRING, &text);
        break;
    }
}

/* Adds members, and members of objects among them under both names.  Trees are at most
 * JSON_DEPTH deep. */
static void put_members(struct buf *start, struct buf *name, const struct json *object)
{
    size_t len = name->len;

    json_each(member, object) {
        CLEANUP(buf_done) struct buf pair = BUF_INIT;
        CLEANUP(buf_done) struct buf any = BUF_INIT;

        buf_puts(name, len ? "." : "");
        buf_puts(name, member->key);
        if (member->kind == JSON_OBJECT) {
            put_members(start, name, member);
        } else if (member->kind != JSON_NULL) {
            put_any(&any, member);
            put_message(&pair, PAIR_KEY, name);
            put_message(&pair, PAIR_VALUE, &any);
            put_message(start, START_HPARAMS, &pair);
        }
        buf_cut(name, len);
    }
}

/* All data is in the metadata; the tensor is there because one is required. */
static void put_session(struct buf *body, unsigned field, const struct buf *info)
{
    static const unsigned char zero[4];
    CLEANUP(buf_done) struct buf tensor = BUF_INIT;
    CLEANUP(buf_done) struct buf content = BUF_INIT;

    put_shape(&tensor, TYPE_FLOAT, 1, 0);
    put_bytes(&tensor, TENSOR_FLOAT, zero, sizeof(zero));
    put_message(body, VALUE_TENSOR, &tensor);
    put_message(&content, field, info);
    put_metadata(body, "hparams", &content, CLASS_NONE);
}

void event_hparams(struct buf *body, const struct json *hparams, const char *group,
                   double begun_s)
{
    CLEANUP(buf_done) struct buf start = BUF_INIT;
    CLEANUP(buf_done) struct buf name = BUF_INIT;

    put_members(&start, &name, hparams);
    if (group && *group)
        put_str(&start, START_GROUP, group);
    put_double(&start, START_TIME, begun_s);
    if (name.status && !start.status)
        start.status = name.status;
    put_session(body, HPARAMS_START, &start);
}

void event_end(struct buf *body, det_run_end end, double ended_s)
{
    CLEANUP(buf_done) struct buf info = BUF_INIT;

    put_int(&info, END_STATUS, (uint64_t)end);
    put_double(&info, END_TIME, ended_s);
    put_session(body, HPARAMS_END, &info);
}
