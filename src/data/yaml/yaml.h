/* SPDX-License-Identifier: Apache-2.0 */
/* yaml.h - YAML, read into the tree of data/json/json.h and written from it.
 *
 * The dialect is that of Go's YAML-to-JSON converter, for which existing configuration
 * files were written: YAML 1.1 scalars (yes, no, on, off, y, n are booleans, also as
 * keys; 017, 0o17, 0x1F, 0b11, 1_000 are numbers), anchors, merge keys; the last of
 * equal keys wins; `.inf` and `.nan` are refused. */
#ifndef DATA_YAML_YAML_H
#define DATA_YAML_YAML_H

#include "data/json/json.h"

/* `name` (a file's name, for messages) may be NULL.  An empty document is null.
 * Failures: "NAME:4:2: what is wrong".  DET_INVALID or DET_NOMEM. */
det_status yaml_parse(const char *text, size_t len, const char *name, struct arena *mem,
                      struct json **ret_json, struct err *err);

/* Accepted, but probably not meant: a key that YAML reads as a boolean (`n`), a
 * repeated key, a number that is too large.  In the order of the file. */
struct yaml_note {
    uint32_t line;
    uint32_t column;
    const char *text;
    struct yaml_note *next;
};

/* The same, and gives the first of the notes (NULL: none), in `mem`. */
det_status yaml_parse_noting(const char *text, size_t len, const char *name,
                             struct arena *mem, const struct yaml_note **ret_notes,
                             struct json **ret_json, struct err *err);

/* Block style, keys in the order of the tree; strings that would read back as another
 * kind are quoted. */
void yaml_write(struct buf *out, const struct json *value);

#endif
