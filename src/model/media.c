/* SPDX-License-Identifier: Apache-2.0 */
/* media.c - see media.h. */
#include "model/media.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/compiler.h"
#include "data/json/json.h"
#include "data/utf8.h"
#include "det/media.h"

enum { COLUMNS_MOST = 256, BINS_MOST = 4096 };

#define TYPE(id, ...) [DET_MEDIA_##id] = {__VA_ARGS__}
static const struct media_type types[] = {
    TYPE(PNG, "png", "image", "image/png"),
    TYPE(JPEG, "jpeg", "image", "image/jpeg"),
    TYPE(GIF, "gif", "image", "image/gif"),
    TYPE(WEBP, "webp", "image", "image/webp"),
    TYPE(SVG, "svg", "image", "image/svg+xml"),
    TYPE(WAV, "wav", "audio", "audio/wav"),
    TYPE(MP3, "mp3", "audio", "audio/mpeg"),
    TYPE(OGG, "ogg", "audio", "audio/ogg"),
    TYPE(TEXT, "text", "text", "text/plain; charset=utf-8"),
    TYPE(HTML, "html", "html", "text/html; charset=utf-8"),
    TYPE(TABLE, "table", "table", "application/json"),
    TYPE(HISTOGRAM, "histogram", "histogram", "application/json"),
};

const struct media_type *media_type(uint32_t type)
{
    return type < ARRAY_LEN(types) && types[type].name ? &types[type] : NULL;
}

uint32_t media_type_named(const char *name)
{
    for (uint32_t i = 0; i < ARRAY_LEN(types); i++)
        if (types[i].name && !strcmp(types[i].name, name))
            return i;
    return 0;
}

/* ---- signatures ------------------------------------------------------------------ */

static bool begins(const void *bytes, size_t len, size_t at, const char *sign,
                   size_t sign_len)
{
    return len >= at + sign_len && !memcmp((const char *)bytes + at, sign, sign_len);
}

/* An MP3 begins with a tag, or with the sync bits of a frame of layer III. */
static bool is_mp3(const void *bytes, size_t len)
{
    const unsigned char *at = bytes;

    if (begins(bytes, len, 0, "ID3", 3))
        return true;
    return len >= 4 && at[0] == 0xff && (at[1] & 0xe6) == 0xe2;
}

uint32_t media_recognise(const void *bytes, size_t len)
{
    if (begins(bytes, len, 0, "\x89PNG\r\n\x1a\n", 8))
        return DET_MEDIA_PNG;
    if (begins(bytes, len, 0, "\xff\xd8\xff", 3))
        return DET_MEDIA_JPEG;
    if (begins(bytes, len, 0, "GIF87a", 6) || begins(bytes, len, 0, "GIF89a", 6))
        return DET_MEDIA_GIF;
    if (begins(bytes, len, 0, "RIFF", 4) && begins(bytes, len, 8, "WEBP", 4))
        return DET_MEDIA_WEBP;
    if (begins(bytes, len, 0, "RIFF", 4) && begins(bytes, len, 8, "WAVE", 4))
        return DET_MEDIA_WAV;
    if (begins(bytes, len, 0, "OggS", 4))
        return DET_MEDIA_OGG;
    return is_mp3(bytes, len) ? DET_MEDIA_MP3 : 0;
}

/* ---- JSON ------------------------------------------------------------------------ */

static det_status check_columns(const struct json *columns, struct err *err)
{
    if (!columns || columns->kind != JSON_ARRAY || !columns->list.count)
        return err_set(err, DET_INVALID, "a table needs a list of 'columns'");
    if (columns->list.count > COLUMNS_MOST)
        return err_set(err, DET_INVALID, "a table has %zu columns; expected %d at most",
                       columns->list.count, COLUMNS_MOST);
    json_each(item, columns)
        if (item->kind != JSON_STRING)
            return err_set(err, DET_INVALID, "a column's name is %s; expected a string",
                           json_kind_name(item->kind));
    return DET_OK;
}

static det_status check_table(const struct json *table, struct err *err)
{
    const struct json *columns = json_get(table, "columns");
    const struct json *rows = json_get(table, "rows");
    size_t number = 0;
    det_status st = check_columns(columns, err);

    if (st)
        return st;
    if (!rows || rows->kind != JSON_ARRAY)
        return err_set(err, DET_INVALID, "a table needs a list of 'rows'");
    json_each(row, rows) {
        number++;
        if (row->kind != JSON_ARRAY || row->list.count != columns->list.count)
            return err_set(err, DET_INVALID,
                           "row %zu of a table has not the %zu cells of its columns",
                           number, columns->list.count);
        json_each(cell, row)
            if (cell->kind == JSON_ARRAY || cell->kind == JSON_OBJECT)
                return err_set(
                    err, DET_INVALID,
                    "a cell in row %zu is %s; expected text, a number, true, "
                    "false or null",
                    number, json_kind_name(cell->kind));
    }
    return DET_OK;
}

static det_status check_histogram(const struct json *histogram, struct err *err)
{
    const struct json *edges = json_get(histogram, "edges");
    const struct json *counts = json_get(histogram, "counts");
    double last = -INFINITY;
    double value;

    if (!edges || !counts || edges->kind != JSON_ARRAY || counts->kind != JSON_ARRAY)
        return err_set(err, DET_INVALID,
                       "a histogram needs the lists 'edges' and 'counts'");
    if (!counts->list.count || counts->list.count > BINS_MOST ||
        edges->list.count != counts->list.count + 1)
        return err_set(err, DET_INVALID,
                       "a histogram has %zu edges and %zu counts; expected one edge "
                       "more than counts, and 1 to %d counts",
                       edges->list.count, counts->list.count, BINS_MOST);
    json_each(item, edges) {
        if (!json_number(item, &value) || !isfinite(value) || value < last)
            return err_set(err, DET_INVALID,
                           "the edges of a histogram must be finite numbers that do "
                           "not fall");
        last = value;
    }
    json_each(item, counts)
        if (!json_number(item, &value) || !isfinite(value) || value < 0)
            return err_set(
                err, DET_INVALID,
                "the counts of a histogram must be finite numbers from 0 on");
    return DET_OK;
}

static det_status check_json(uint32_t type, const void *bytes, size_t len,
                             struct arena *mem, struct err *err)
{
    struct json *tree;
    det_status st = json_parse(bytes, len, mem, &tree, err);

    if (st)
        return err_prefix(err, "a %s is not valid JSON", types[type].name);
    if (tree->kind != JSON_OBJECT)
        return err_set(err, DET_INVALID, "a %s is %s; expected an object",
                       types[type].name, json_kind_name(tree->kind));
    return type == DET_MEDIA_TABLE ? check_table(tree, err)
                                   : check_histogram(tree, err);
}

/* ---- bytes ----------------------------------------------------------------------- */

static det_status check_text(uint32_t type, const char *text, size_t len,
                             struct err *err)
{
    if (utf8_valid(text, len) < len)
        return err_set(err, DET_INVALID, "the %s is not UTF-8", types[type].name);
    if (type == DET_MEDIA_SVG && !memmem(text, len, "<svg", 4))
        return err_set(err, DET_INVALID, "the SVG has no element <svg>");
    return DET_OK;
}

det_status media_check(uint32_t type, const void *bytes, size_t len, struct arena *mem,
                       struct err *err)
{
    if (!media_type(type))
        return err_set(err, DET_INVALID, "%u is not a type of media", type);
    if (len > DET_MEDIA_BYTES_MOST)
        return err_set(err, DET_TOO_LARGE,
                       "%zu bytes are too many for one item; expected %d at most", len,
                       DET_MEDIA_BYTES_MOST);
    if (!len)
        return err_set(err, DET_INVALID, "the %s is empty", types[type].name);
    switch (type) {
    case DET_MEDIA_TABLE:
    case DET_MEDIA_HISTOGRAM:
        return check_json(type, bytes, len, mem, err);
    case DET_MEDIA_SVG:
    case DET_MEDIA_TEXT:
    case DET_MEDIA_HTML:
        return check_text(type, bytes, len, err);
    default:
        break;
    }
    if (media_recognise(bytes, len) != type)
        return err_set(err, DET_INVALID,
                       "the bytes do not begin like a file of type %s",
                       types[type].name);
    return DET_OK;
}
