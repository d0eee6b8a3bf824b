/* SPDX-License-Identifier: Apache-2.0 */
/* field.h - the fields of a record, as a table.
 *
 * One row per field: its name, its type and its offset in the struct.  The same table
 * decodes database rows, reads JSON bodies and query parameters, writes JSON replies
 * and prints the API document.  On the wire names are lowerCamelCase; reading accepts
 * snake_case, too.
 *
 *   const struct field trial_fields[] = {
 *       FIELD(I64, trial, id, "its number"),
 *       FIELD_ENUM(trial, state, trial_state_names, "where it stands"),
 *       FIELD_END,
 *   };
 */
#ifndef MODEL_FIELD_H
#define MODEL_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct json;
struct json_writer;

enum field_type {
    FIELD_I64,     /* int64_t; a JSON number */
    FIELD_I64_STR, /* int64_t; a JSON string, as the API writes 64-bit numbers */
    FIELD_F64,     /* double */
    FIELD_BOOL,    /* bool */
    FIELD_STR,     /* const char *; NULL is null */
    FIELD_TIME,    /* int64_t, microseconds; RFC 3339; 0 is null */
    FIELD_JSON,    /* const char *: JSON text, inserted unchanged; NULL is null */
    FIELD_TREE, /* const struct json *: any JSON; only read; part of the tree that is read */
    FIELD_ENUM,    /* uint32_t, by the names in `names`, with `prefix` on the wire */
    FIELD_STRS,    /* struct field_strs: a list of strings */
    FIELD_I64S,    /* struct field_i64s: a list of numbers */
    FIELD_RECORD,  /* an embedded struct with its own table in `of` */
    FIELD_RECORDS, /* struct field_list: an array of structs with the table `of` */
};

/* An optional field has a bool `has_<name>` at the offset `has`: false means absent or
 * null when reading, and is written as null. */
struct field {
    const char *name; /* snake_case, as in C and SQL; NULL ends the table */
    const char *help;
    enum field_type type;
    uint32_t offset;
    uint32_t has; /* offset of the bool plus 1; 0: not optional */
    bool is_required;
    const char *const *names; /* FIELD_ENUM: ends with NULL */
    const char *prefix;       /* FIELD_ENUM: "STATE_" */
    const struct field *of;
    uint32_t size; /* FIELD_RECORDS: sizeof an element */
};

struct field_strs {
    const char **at;
    size_t count;
};

struct field_i64s {
    int64_t *at;
    size_t count;
};

struct field_list {
    void *at;
    size_t count;
};

#define FIELD(type_, struct_, name_, help_)                                            \
    {                                                                                  \
        .name = #name_, .help = (help_), .type = FIELD_##type_,                        \
        .offset = offsetof(struct struct_, name_)                                      \
    }
#define FIELD_REQUIRED(type_, struct_, name_, help_)                                   \
    {                                                                                  \
        .name = #name_, .help = (help_), .type = FIELD_##type_,                        \
        .offset = offsetof(struct struct_, name_), .is_required = true                 \
    }
#define FIELD_OPTIONAL(type_, struct_, name_, help_)                                   \
    {                                                                                  \
        .name = #name_, .help = (help_), .type = FIELD_##type_,                        \
        .offset = offsetof(struct struct_, name_),                                     \
        .has = offsetof(struct struct_, has_##name_) + 1                               \
    }
#define FIELD_AS_ENUM(struct_, name_, names_, prefix_, help_)                          \
    {                                                                                  \
        .name = #name_, .help = (help_), .type = FIELD_ENUM,                           \
        .offset = offsetof(struct struct_, name_), .names = (names_),                  \
        .prefix = (prefix_)                                                            \
    }
#define FIELD_OF(type_, struct_, name_, table_, element_, help_)                       \
    {                                                                                  \
        .name = #name_, .help = (help_), .type = FIELD_##type_,                        \
        .offset = offsetof(struct struct_, name_), .of = (table_),                     \
        .size = sizeof(element_)                                                       \
    }
#define FIELD_OF_REQUIRED(type_, struct_, name_, table_, element_, help_)              \
    {                                                                                  \
        .name = #name_, .help = (help_), .type = FIELD_##type_,                        \
        .offset = offsetof(struct struct_, name_), .of = (table_),                     \
        .size = sizeof(element_), .is_required = true                                  \
    }
/* A field whose name on the wire is not its name in C. */
#define FIELD_NAMED(type_, struct_, member_, name_, help_)                             \
    {                                                                                  \
        .name = (name_), .help = (help_), .type = FIELD_##type_,                       \
        .offset = offsetof(struct struct_, member_)                                    \
    }
#define FIELD_END                                                                      \
    {                                                                                  \
        0                                                                              \
    }

/* "total_batches" -> "totalBatches"; FIELD_NAME bytes. */
enum { FIELD_NAME = 64 };
void field_wire_name(const char *name, char text[FIELD_NAME]);

/* Writes the members of `record` into an object that is already open. */
void fields_write(struct json_writer *w, const struct field *fields,
                  const void *record);
/* The same as a whole object under `key` (NULL at the top). */
void fields_write_object(struct json_writer *w, const char *key,
                         const struct field *fields, const void *record);

/* Fills `record` from a JSON object (NULL counts as {}).  Copies strings and lists into
 * `mem`, ignores members that the table does not name, and takes null for absent.
 * DET_INVALID names the field, the value found and the values expected. */
det_status fields_read(const struct field *fields, const struct json *object,
                       struct arena *mem, void *record, struct err *err);

/* Reads one value from the text of a query parameter.  Repeated calls append to a list
 * (which must be empty or made by these functions).  "outer.inner" names a field of an
 * embedded record.  DET_NOT_FOUND if the table has no such field. */
det_status fields_read_text(const struct field *fields, const char *name,
                            const char *text, struct arena *mem, void *record,
                            struct err *err);

const struct field *field_find(const struct field *fields, const char *name);

#endif
