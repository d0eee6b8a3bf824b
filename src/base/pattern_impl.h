/* SPDX-License-Identifier: Apache-2.0 */
/* pattern_impl.h - the program a pattern becomes.
 *
 * pattern.c writes it, pattern_run.c runs it.  Jumps are relative, so that a stretch of
 * instructions that stands for a piece of the pattern can be moved and copied: that is
 * how repetitions are written out.  A stretch is entered at its first instruction and
 * left behind its last. */
#ifndef BASE_PATTERN_IMPL_H
#define BASE_PATTERN_IMPL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/pattern.h"

enum step_kind {
    STEP_BYTE,     /* this byte */
    STEP_ANY,      /* any byte */
    STEP_SET,      /* a byte of set `set` */
    STEP_JUMP,     /* go on at `to` */
    STEP_JUMP_END, /* the same, where the group ends: not yet known */
    STEP_SPLIT,    /* go on behind it and at `to` */
    STEP_BEGIN,    /* only at the first byte */
    STEP_END,      /* only behind the last */
    STEP_EDGE,     /* only at an edge of a word ... */
    STEP_NO_EDGE,  /* ... not at one ... */
    STEP_WORD,     /* ... where one begins ... */
    STEP_WORD_END, /* ... or ends */
    STEP_MATCH,
};

struct step {
    uint8_t kind;
    uint8_t byte;
    uint16_t set;
    int32_t to; /* from this one */
};

struct byte_set {
    uint64_t bits[4];
};

static inline bool set_has(const struct byte_set *set, unsigned char byte)
{
    return set->bits[byte >> 6] >> (byte & 63) & 1;
}

struct pattern {
    struct step *step;
    struct byte_set *set;
    uint32_t count;
    bool folds;            /* bytes are looked at in small letters */
    bool has_first;        /* a match begins with a byte of `first` */
    struct byte_set first; /* see pattern_run.c */
    struct pattern_literal literal[PATTERN_LITERALS];
    size_t literals;
};

static inline bool is_word(unsigned char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
}

/* Fills `first`. */
void pattern_find_first(struct pattern *pattern);
/* Fills `literal`. */
void pattern_find_literals(struct pattern *pattern);

#endif
