/* SPDX-License-Identifier: Apache-2.0 */
/* requirements.h - pip's requirements files, as far as they matter to others than pip.
 *
 * Comments, blank lines, continuations, a byte order mark and the blanks around a line
 * go; what stays is said in the same order, so that two files that mean the same to pip
 * in the same words give the same lines.  Which packages a line names is pip's
 * business. */
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
    uint32_t line;    /* where it begins, 1.. */
    const char *text; /* the whole line, without what does not matter */
    const char
        *value; /* what an option is given ("" for none); of a package its text */
};

struct requirements {
    struct requirement *at;
    size_t count;
};

/* Everything lies in `mem`.  DET_INVALID: these bytes are no text (UTF-8, no NUL), with
 * the line in the sentence. */
det_status requirements_parse(const char *text, size_t len, struct arena *mem,
                              struct requirements *ret_list, struct err *err);

#endif
