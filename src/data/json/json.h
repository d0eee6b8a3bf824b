/* SPDX-License-Identifier: Apache-2.0 */
/* json.h - JSON as a tree in an arena, and a writer that streams it out.
 *
 * One tree serves JSON and YAML (data/yaml/yaml.h).  Values from a file keep their line
 * and column: every message about a value can name its place.  Trees are plain data in
 * an arena; nothing in them is freed singly.
 *
 * Numbers keep their kind: JSON_INT holds integers that fit in 64 bits, JSON_REAL the
 * rest.  NaN and the infinities do not exist in JSON: they travel as the strings "NaN",
 * "Infinity" and "-Infinity" (json_number() reads them back). */
#ifndef DATA_JSON_JSON_H
#define DATA_JSON_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct buf;

enum json_kind {
    JSON_NULL,
    JSON_BOOL,
    JSON_INT,
    JSON_REAL,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT,
};

struct json {
    enum json_kind kind;
    uint32_t line; /* 1.. for values from a file, else 0 */
    uint32_t column;
    const char *key;   /* its name, when it is a member of an object */
    struct json *next; /* its right neighbour in an array or object */
    union {
        bool boolean;
        int64_t integer;
        double real;
        struct {
            const char *text; /* ends with a NUL; may hold others before it */
            size_t len;
        } string;
        struct {
            struct json *first;
            struct json *last;
            size_t count;
        } list; /* arrays and objects, in order */
    };
};

/* Parses exactly one value.  At most JSON_DEPTH levels deep.  Of equal keys the last
 * wins.  Failures say line and column.  DET_INVALID or DET_NOMEM. */
enum { JSON_DEPTH = 200 };
det_status json_parse(const char *text, size_t len, struct arena *mem,
                      struct json **ret_json, struct err *err);
/* The same for a large text: the tree borrows its long strings from `text`, which is changed
 * (a NUL behind each of them). */
det_status json_parse_in_place(char *text, size_t len, struct arena *mem,
                               struct json **ret_json, struct err *err);

/* Reading. json_get() accepts NULL or a non-object and then finds nothing: look-ups
 * chain. json_find() accepts snake_case and lowerCamelCase for one another. */
struct json *json_get(const struct json *object, const char *key);
struct json *json_find(const struct json *object, const char *key);
/* "a.b.c" */
struct json *json_path(const struct json *object, const char *path);
/* The value, or `fallback` when it is absent, null or of another kind. */
const char *json_str(const struct json *value, const char *fallback);
int64_t json_i64(const struct json *value, int64_t fallback); /* also "12", 12.0 */
bool json_bool(const struct json *value, bool fallback);
/* Also integers and "NaN", "Infinity", "-Infinity".  False: not a number. */
bool json_number(const struct json *value, double *ret_number);
bool json_is_null(const struct json *value);                 /* absent counts as null */
bool json_equal(const struct json *a, const struct json *b); /* objects in any order */
size_t json_count(const struct json *value);     /* of all values below it */
const char *json_kind_name(enum json_kind kind); /* "a string", for messages */

/* json_each(item, list) { ... }: every element of an array or object, NULL for none. */
#define json_each(item, parent)                                                        \
    for (struct json *item = json_first(parent); item; item = item->next)
struct json *json_first(const struct json *list);

/* Building trees.  NULL when out of memory; adding to NULL or adding NULL does nothing
 * and returns NULL.  A builder checks once, at the end: `mem->has_failed`. */
struct json *json_new(struct arena *mem, enum json_kind kind);
struct json *json_new_str(struct arena *mem, const char *text); /* copies; NULL: null */
struct json *json_new_i64(struct arena *mem, int64_t value);
struct json *json_new_real(struct arena *mem, double value);
struct json *json_new_bool(struct arena *mem, bool value);
/* Adds at the end; json_set() replaces a member of that name in place. */
struct json *json_push(struct json *array, struct json *value);
struct json *json_set(struct arena *mem, struct json *object, const char *key,
                      struct json *value);
/* Like json_set(), for a key that the object does not have: the caller must know this. */
struct json *json_add(struct arena *mem, struct json *object, const char *key,
                      struct json *value);
/* The member or element keeps its name and place and gets another value. */
void json_replace(struct json *member, const struct json *value);
bool json_remove(struct json *object, const char *key);
struct json *json_copy(struct arena *mem, const struct json *value);
/* Copies the members of `from` into `into`.  Objects in both are merged; everything
 * else is replaced. */
void json_merge(struct arena *mem, struct json *into, const struct json *from);

/* ---- writing ----------------------------------------------------------------------
 * A sticky builder over a buffer: commas and quotes take care of themselves; the first
 * failure is kept in out->status.  The key comes first in objects; NULL in arrays and
 * at the top. */
struct json_writer {
    struct buf *out;
    uint32_t depth;
    bool needs_comma;
    bool is_pretty; /* two spaces per level */
};

#define JSON_WRITER(buffer)                                                            \
    {                                                                                  \
        .out = (buffer)                                                                \
    }

void jw_object(struct json_writer *w, const char *key);
void jw_end_object(struct json_writer *w);
void jw_array(struct json_writer *w, const char *key);
void jw_end_array(struct json_writer *w);
void jw_str(struct json_writer *w, const char *key, const char *text); /* NULL: null */
void jw_strn(struct json_writer *w, const char *key, const char *text, size_t len);
void jw_base64(struct json_writer *w, const char *key, const void *bytes, size_t len);
void jw_i64(struct json_writer *w, const char *key, int64_t value);
/* A whole array. */
void jw_i64s(struct json_writer *w, const char *key, const int64_t *values,
             size_t count);
void jw_i64_str(struct json_writer *w, const char *key, int64_t value); /* "12" */
void jw_real(struct json_writer *w, const char *key,
             double value); /* shortest; NaN as text */
void jw_bool(struct json_writer *w, const char *key, bool value);
void jw_null(struct json_writer *w, const char *key);
void jw_time(struct json_writer *w, const char *key, int64_t wall_us); /* 0: null */
/* `text` is JSON and is inserted unchanged; NULL or "": null. */
void jw_raw(struct json_writer *w, const char *key, const char *text);
void jw_rawn(struct json_writer *w, const char *key, const char *text, size_t len);
void jw_json(struct json_writer *w, const char *key, const struct json *value);

/* The whole tree as text. */
void json_write(struct buf *out, const struct json *value);
char *json_text(struct arena *mem, const struct json *value); /* NULL: out of memory */

/* The shortest decimal that reads back as the same double; 25 bytes are enough.
 * "NaN", "Infinity", "-Infinity" without quotes. */
size_t json_format_real(double value, char text[32]);

#endif
