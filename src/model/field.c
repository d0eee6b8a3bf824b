/* SPDX-License-Identifier: Apache-2.0 */
/* field.c - records to JSON and back, by their tables.
 *
 * Each type has one row in `codecs`: how to write a value and how to read it from a
 * tree.  Query parameters are read as strings of a tree, so they follow the same rules;
 * only booleans and embedded JSON differ in text.  To add a type, add it to enum
 * field_type and give it a row here.
 *
 * All lists made here have room for the next power of two elements.  So repeated query
 * parameters can extend them, and n values cost 2n copies. */
#include "model/field.h"

#include <ctype.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "data/json/json.h"
#include "data/text.h"
#include "data/time.h"

struct source {
    const struct field *field;
    const struct json *value;
    struct arena *mem;
    bool is_text; /* a query parameter */
};

/* `at` is the address of the field in the record. */
typedef void write_fn(struct json_writer *w, const char *key, const struct field *field,
                      const void *at);
typedef det_status read_fn(const struct source *from, void *at, struct err *err);

void field_wire_name(const char *name, char text[FIELD_NAME])
{
    size_t len = 0;
    bool is_upper = false;

    for (; *name && len < FIELD_NAME - 1; name++) {
        if (*name == '_' && len) {
            is_upper = true;
            continue;
        }
        text[len++] = is_upper ? (char)toupper((unsigned char)*name) : *name;
        is_upper = false;
    }
    text[len] = '\0';
}

const struct field *field_find(const struct field *fields, const char *name)
{
    char wire[FIELD_NAME];

    for (; fields->name; fields++) {
        if (strcmp(fields->name, name) == 0)
            return fields;
        field_wire_name(fields->name, wire);
        if (strcmp(wire, name) == 0)
            return fields;
    }
    return NULL;
}

/* ---- errors ---------------------------------------------------------------------- */

static det_status mismatch(const struct source *from, const char *expected,
                           struct err *err)
{
    char name[FIELD_NAME];

    field_wire_name(from->field->name, name);
    if (from->is_text)
        return err_set(err, DET_INVALID, "'%s' must be %s, not '%.100s'", name,
                       expected, json_str(from->value, ""));
    return err_set(err, DET_INVALID, "'%s' must be %s, not %s", name, expected,
                   json_kind_name(from->value->kind));
}

/* The kind is right, the value is not. */
static det_status bad_text(const struct source *from, const char *expected,
                           struct err *err)
{
    char name[FIELD_NAME];

    field_wire_name(from->field->name, name);
    return err_set(err, DET_INVALID, "'%s' must be %s, not '%.100s'", name, expected,
                   json_str(from->value, ""));
}

/* ---- numbers, booleans, strings, times ------------------------------------------- */

static void write_i64(struct json_writer *w, const char *key, const struct field *field,
                      const void *at)
{
    const int64_t *value = at;

    (void)field;
    jw_i64(w, key, *value);
}

static void write_i64_str(struct json_writer *w, const char *key,
                          const struct field *field, const void *at)
{
    const int64_t *value = at;

    (void)field;
    jw_i64_str(w, key, *value);
}

/* Asks with two fallbacks, to tell "not a number" from every number. */
static bool to_i64(const struct json *value, int64_t *ret_value)
{
    *ret_value = json_i64(value, 0);
    return *ret_value || json_i64(value, 1) == 0;
}

static det_status read_i64(const struct source *from, void *at, struct err *err)
{
    int64_t *value = at;
    int64_t number;

    if (!to_i64(from->value, &number))
        return mismatch(from, "an integer", err);
    *value = number;
    return DET_OK;
}

static void write_f64(struct json_writer *w, const char *key, const struct field *field,
                      const void *at)
{
    const double *value = at;

    (void)field;
    jw_real(w, key, *value);
}

static det_status read_f64(const struct source *from, void *at, struct err *err)
{
    double *value = at;
    const char *text = json_str(from->value, NULL);
    double number;

    if (!json_number(from->value, &number) && !(text && parse_real(text, &number)))
        return mismatch(from, "a number", err);
    *value = number;
    return DET_OK;
}

static void write_bool(struct json_writer *w, const char *key,
                       const struct field *field, const void *at)
{
    const bool *value = at;

    (void)field;
    jw_bool(w, key, *value);
}

static det_status read_bool(const struct source *from, void *at, struct err *err)
{
    bool *value = at;
    const char *text = from->is_text ? json_str(from->value, "") : NULL;

    if (!text && from->value->kind == JSON_BOOL)
        *value = from->value->boolean;
    else if (text && (strcasecmp(text, "true") == 0 || strcmp(text, "1") == 0))
        *value = true;
    else if (text && (strcasecmp(text, "false") == 0 || strcmp(text, "0") == 0))
        *value = false;
    else
        return mismatch(from, "true or false", err);
    return DET_OK;
}

static void write_str(struct json_writer *w, const char *key, const struct field *field,
                      const void *at)
{
    const char *const *value = at;

    (void)field;
    jw_str(w, key, *value);
}

static det_status copy_string(const struct source *from, const struct json *value,
                              const char **ret_text, struct err *err)
{
    const char *text;

    if (value->kind != JSON_STRING)
        return mismatch(from, "a string", err);
    if (memchr(value->string.text, '\0', value->string.len))
        return mismatch(from, "a string without NUL characters", err);
    text = arena_strndup(from->mem, value->string.text, value->string.len);
    if (!text)
        return err_default(err, DET_NOMEM);
    *ret_text = text;
    return DET_OK;
}

static det_status read_str(const struct source *from, void *at, struct err *err)
{
    return copy_string(from, from->value, at, err);
}

static void write_time(struct json_writer *w, const char *key,
                       const struct field *field, const void *at)
{
    const int64_t *wall_us = at;

    (void)field;
    jw_time(w, key, *wall_us);
}

static det_status read_time(const struct source *from, void *at, struct err *err)
{
    const char *text = json_str(from->value, NULL);
    int64_t *wall_us = at;
    int64_t time_us;

    if (!text)
        return mismatch(from, "a time", err);
    if (!time_parse(text, &time_us))
        return bad_text(from, "a time like 2022-03-02T02:15:18Z", err);
    *wall_us = time_us;
    return DET_OK;
}

/* ---- JSON in JSON -------------------------------------------------------------- */

static void write_json(struct json_writer *w, const char *key,
                       const struct field *field, const void *at)
{
    const char *const *text = at;

    (void)field;
    jw_raw(w, key, *text);
}

/* The tree whose text a query parameter holds. */
static det_status parse_text(const struct source *from, struct json **ret_tree,
                             struct err *err)
{
    char name[FIELD_NAME];
    det_status st = json_parse(from->value->string.text, from->value->string.len,
                               from->mem, ret_tree, err);

    if (st && err) {
        field_wire_name(from->field->name, name);
        return err_prefix(err, "'%s'", name);
    }
    return st;
}

static det_status read_json(const struct source *from, void *at, struct err *err)
{
    const char **text = at;
    struct json *tree = NULL;
    char *copy;
    det_status st = DET_OK;

    if (from->is_text)
        st = parse_text(from, &tree, err);
    if (st)
        return st;
    copy = json_text(from->mem, from->is_text ? tree : from->value);
    if (!copy)
        return err_default(err, DET_NOMEM);
    *text = copy;
    return DET_OK;
}

static void write_tree(struct json_writer *w, const char *key,
                       const struct field *field, const void *at)
{
    const struct json *const *tree = at;

    (void)field;
    jw_json(w, key, *tree);
}

/* Not copied: the files of a folder may be as large as all memory that one user gets. */
static det_status read_tree(const struct source *from, void *at, struct err *err)
{
    const struct json **value = at;
    struct json *tree = NULL;
    det_status st;

    if (!from->is_text) {
        *value = from->value;
        return DET_OK;
    }
    st = parse_text(from, &tree, err);
    if (st)
        return st;
    *value = tree;
    return DET_OK;
}

/* ---- enums --------------------------------------------------------------------- */

static uint32_t name_count(const struct field *field)
{
    uint32_t count = 0;

    while (field->names[count])
        count++;
    return count;
}

static void write_enum(struct json_writer *w, const char *key,
                       const struct field *field, const void *at)
{
    const uint32_t *value = at;
    char name[2 * FIELD_NAME];

    if (*value >= name_count(field)) {
        jw_null(w, key);
        return;
    }
    snprintf(name, sizeof(name), "%s%s", field->prefix ? field->prefix : "",
             field->names[*value]);
    jw_str(w, key, name);
}

/* "A, B or C", as much of it as fits. */
static void list_names(const struct field *field, char *text, size_t size)
{
    uint32_t count = name_count(field);
    size_t len = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < count && len < size; i++) {
        const char *glue = i == 0 ? "" : i + 1 == count ? " or " : ", ";

        len += (size_t)snprintf(text + len, size - len, "%s%s%s", glue,
                                field->prefix ? field->prefix : "", field->names[i]);
    }
}

static det_status read_enum(const struct source *from, void *at, struct err *err)
{
    const char *text = json_str(from->value, NULL);
    const struct field *field = from->field;
    size_t prefix_len = field->prefix ? strlen(field->prefix) : 0;
    char expected[512];
    uint32_t *value = at;
    int64_t number;

    /* The number is accepted, and the name without the prefix. */
    if (to_i64(from->value, &number) && number >= 0 && number < name_count(field)) {
        *value = (uint32_t)number;
        return DET_OK;
    }
    list_names(field, expected, sizeof(expected));
    if (!text)
        return mismatch(from, expected, err);
    if (prefix_len && strncmp(text, field->prefix, prefix_len) == 0)
        text += prefix_len;
    for (uint32_t i = 0; field->names[i]; i++) {
        if (strcmp(field->names[i], text) == 0) {
            *value = i;
            return DET_OK;
        }
    }
    return bad_text(from, expected, err);
}

/* ---- lists --------------------------------------------------------------------- */

static size_t room_for(size_t count)
{
    size_t room = 1;

    while (room < count)
        room *= 2;
    return room;
}

/* `at` with room for one more; NULL: out of memory. */
static void *grow_list(struct arena *mem, void *at, size_t count, size_t size)
{
    void *copy;

    if (count && room_for(count) > count)
        return at;
    copy = arena_array_of(mem, room_for(count + 1), size);
    if (copy && count)
        memcpy(copy, at, count * size);
    return copy;
}

static void write_strs(struct json_writer *w, const char *key,
                       const struct field *field, const void *at)
{
    const struct field_strs *list = at;

    (void)field;
    jw_array(w, key);
    for (size_t i = 0; i < list->count; i++)
        jw_str(w, NULL, list->at[i]);
    jw_end_array(w);
}

static det_status add_str(const struct source *from, const struct json *value,
                          struct field_strs *list, struct err *err)
{
    const char *text;
    det_status st = copy_string(from, value, &text, err);
    const char **grown;

    if (st)
        return st;
    grown = grow_list(from->mem, list->at, list->count, sizeof(*list->at));
    if (!grown)
        return err_default(err, DET_NOMEM);
    list->at = grown;
    list->at[list->count++] = text;
    return DET_OK;
}

static det_status read_strs(const struct source *from, void *at, struct err *err)
{
    struct field_strs *ret_list = at;
    struct field_strs list = {0};

    if (from->is_text)
        return add_str(from, from->value, ret_list, err);
    if (from->value->kind != JSON_ARRAY)
        return mismatch(from, "a list of strings", err);
    json_each(item, from->value) {
        det_status st;

        if (item->kind != JSON_STRING)
            return mismatch(from, "a list of strings only", err);
        st = add_str(from, item, &list, err);
        if (st)
            return st;
    }
    *ret_list = list;
    return DET_OK;
}

static void write_i64s(struct json_writer *w, const char *key,
                       const struct field *field, const void *at)
{
    const struct field_i64s *list = at;

    (void)field;
    jw_array(w, key);
    for (size_t i = 0; i < list->count; i++)
        jw_i64(w, NULL, list->at[i]);
    jw_end_array(w);
}

static det_status add_i64(const struct source *from, const struct json *value,
                          struct field_i64s *list, struct err *err)
{
    int64_t number;
    int64_t *grown;

    if (!to_i64(value, &number))
        return mismatch(from, "a list of integers only", err);
    grown = grow_list(from->mem, list->at, list->count, sizeof(*list->at));
    if (!grown)
        return err_default(err, DET_NOMEM);
    list->at = grown;
    list->at[list->count++] = number;
    return DET_OK;
}

static det_status read_i64s(const struct source *from, void *at, struct err *err)
{
    struct field_i64s *ret_list = at;
    struct field_i64s list = {0};

    if (from->is_text)
        return add_i64(from, from->value, ret_list, err);
    if (from->value->kind != JSON_ARRAY)
        return mismatch(from, "a list of integers", err);
    json_each(item, from->value) {
        det_status st = add_i64(from, item, &list, err);

        if (st)
            return st;
    }
    *ret_list = list;
    return DET_OK;
}

/* ---- records in records ---------------------------------------------------------- */

static void write_record(struct json_writer *w, const char *key,
                         const struct field *field, const void *at)
{
    fields_write_object(w, key, field->of, at);
}

/* Puts the place before the message: "in 'a': in 'b[3]': 'c' must be ..." */
static det_status prefix_place(const struct source *from, det_status status,
                               struct err *err)
{
    char name[FIELD_NAME];

    if (!err || status == DET_NOMEM)
        return status;
    field_wire_name(from->field->name, name);
    return err_prefix(err, "in '%s'", name);
}

static det_status read_record(const struct source *from, void *at, struct err *err)
{
    det_status st;

    if (from->value->kind != JSON_OBJECT)
        return mismatch(from, "an object", err);
    st = fields_read(from->field->of, from->value, from->mem, at, err);
    return st ? prefix_place(from, st, err) : DET_OK;
}

static void write_records(struct json_writer *w, const char *key,
                          const struct field *field, const void *at)
{
    const struct field_list *list = at;
    const char *record = list->at;

    jw_array(w, key);
    for (size_t i = 0; i < list->count; i++, record += field->size)
        fields_write_object(w, NULL, field->of, record);
    jw_end_array(w);
}

static det_status read_records(const struct source *from, void *at, struct err *err)
{
    struct field_list *list = at;
    const struct field *field = from->field;
    size_t count;
    char *records;
    char *record;

    if (from->value->kind != JSON_ARRAY)
        return mismatch(from, "a list of objects", err);
    count = from->value->list.count;
    records = record = arena_array_of(from->mem, count, field->size);
    if (!records)
        return err_default(err, DET_NOMEM);
    json_each(item, from->value) {
        det_status st;

        if (item->kind != JSON_OBJECT)
            return mismatch(from, "a list of objects only", err);
        st = fields_read(field->of, item, from->mem, record, err);
        if (st)
            return prefix_place(from, st, err);
        record += field->size;
    }
    list->at = records;
    list->count = count;
    return DET_OK;
}

/* ---- tables -------------------------------------------------------------------- */

static const struct codec {
    write_fn *write;
    read_fn *read;
} codecs[] = {
#define CODEC(type, write_, read_) [FIELD_##type] = {write_, read_}
    CODEC(I64, write_i64, read_i64),
    CODEC(I64_STR, write_i64_str, read_i64),
    CODEC(F64, write_f64, read_f64),
    CODEC(BOOL, write_bool, read_bool),
    CODEC(STR, write_str, read_str),
    CODEC(TIME, write_time, read_time),
    CODEC(JSON, write_json, read_json),
    CODEC(TREE, write_tree, read_tree),
    CODEC(ENUM, write_enum, read_enum),
    CODEC(STRS, write_strs, read_strs),
    CODEC(I64S, write_i64s, read_i64s),
    CODEC(RECORD, write_record, read_record),
    CODEC(RECORDS, write_records, read_records),
#undef CODEC
};

void fields_write(struct json_writer *w, const struct field *fields, const void *record)
{
    const char *base = record;
    char name[FIELD_NAME];

    for (; fields->name; fields++) {
        const bool *has = fields->has ? (const void *)(base + fields->has - 1) : NULL;

        field_wire_name(fields->name, name);
        if (has && !*has)
            jw_null(w, name);
        else
            codecs[fields->type].write(w, name, fields, base + fields->offset);
    }
}

void fields_write_object(struct json_writer *w, const char *key,
                         const struct field *fields, const void *record)
{
    jw_object(w, key);
    fields_write(w, fields, record);
    jw_end_object(w);
}

/* Reads one value and marks it as present. */
static det_status read_one(const struct source *from, void *record, struct err *err)
{
    const struct field *field = from->field;
    char *base = record;
    det_status st = codecs[field->type].read(from, base + field->offset, err);

    if (!st && field->has)
        *(bool *)(void *)(base + field->has - 1) = true;
    return st;
}

det_status fields_read(const struct field *fields, const struct json *object,
                       struct arena *mem, void *record, struct err *err)
{
    char name[FIELD_NAME];

    if (object && object->kind != JSON_OBJECT)
        return err_set(err, DET_INVALID, "an object is expected, not %s",
                       json_kind_name(object->kind));
    for (; fields->name; fields++) {
        struct source from = {fields, json_find(object, fields->name), mem, false};
        det_status st = DET_OK;

        if (!json_is_null(from.value)) {
            st = read_one(&from, record, err);
        } else if (fields->is_required) {
            field_wire_name(fields->name, name);
            return err_set(err, DET_INVALID, "'%s' is required", name);
        }
        if (st)
            return st;
    }
    return DET_OK;
}

/* "pagination.limit": the part before the dot is a record. */
static det_status read_nested(const struct field *fields, const char *name,
                              const char *text, struct arena *mem, void *record,
                              struct err *err)
{
    char outer[FIELD_NAME];
    size_t len = strcspn(name, ".");
    const struct field *field;
    det_status st;

    snprintf(outer, sizeof(outer), "%.*s", (int)MIN(len, sizeof(outer)), name);
    field = field_find(fields, outer);
    if (!field || field->type != FIELD_RECORD)
        return err_set(err, DET_NOT_FOUND, "there is no field '%.100s'", name);
    st = fields_read_text(field->of, name + len + 1, text, mem,
                          (char *)record + field->offset, err);
    if (!st && field->has)
        *(bool *)(void *)((char *)record + field->has - 1) = true;
    return st;
}

det_status fields_read_text(const struct field *fields, const char *name,
                            const char *text, struct arena *mem, void *record,
                            struct err *err)
{
    const struct field *field = field_find(fields, name);
    struct json value = {.kind = JSON_STRING};
    struct source from = {field, &value, mem, true};

    if (!field && strchr(name, '.'))
        return read_nested(fields, name, text, mem, record, err);
    if (!field)
        return err_set(err, DET_NOT_FOUND, "there is no field '%.100s'", name);
    value.string.text = text;
    value.string.len = strlen(text);
    return read_one(&from, record, err);
}
