/* SPDX-License-Identifier: Apache-2.0 */
/* requirements.h - pip's requirements files, for everyone but pip.
 *
 * Comments, blank lines, continuations, a byte order mark and the blanks around a line
 * are dropped; the order stays.  Two files with the same words for pip give the same
 * lines.  Only pip knows which packages a line names. */
#ifndef DATA_REQUIREMENTS_H
#define DATA_REQUIREMENTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct arena;

enum requirement_kind {
    REQUIREMENT_PACKAGE,    /* "numpy>=1.26", "./wheels/x.whl", "x @ https://..." */
    REQUIREMENT_EDITABLE,   /* -e PATH */
    REQUIREMENT_INCLUDE,    /* -r FILE */
    REQUIREMENT_CONSTRAINT, /* -c FILE */
    REQUIREMENT_OPTION,     /* any other option: --find-links DIR, --index-url URL */
};

struct requirement {
    enum requirement_kind kind;
    uint32_t line;     /* where it begins, 1.. */
    const char *text;  /* the whole line, without the dropped parts */
    const char *value; /* the value of an option ("" for none); of a package its text */
};

struct requirements {
    struct requirement *at;
    size_t count;
};

/* Everything is in `mem`.  DET_INVALID: the bytes are not text (UTF-8 without NUL); the
 * sentence names the line. */
det_status requirements_parse(const char *text, size_t len, struct arena *mem,
                              struct requirements *ret_list, struct err *err);

#endif
