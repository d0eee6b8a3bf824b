/* SPDX-License-Identifier: Apache-2.0 */
/* pattern_impl.h - the program that a pattern is compiled to.
 *
 * pattern.c writes it, pattern_run.c and pattern_matcher.c run it.  Jumps are relative:
 * a stretch of instructions that stands for a piece of the pattern can be moved and
 * copied, and repetitions are written out that way.  A stretch is entered at its first
 * instruction and left behind its last. */
#ifndef BASE_TEXT_PATTERN_IMPL_H
#define BASE_TEXT_PATTERN_IMPL_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/text/pattern.h"

enum step_kind {
    STEP_BYTE,     /* this byte */
    STEP_ANY,      /* any byte */
    STEP_SET,      /* a byte of set `set` */
    STEP_JUMP,     /* continue at `to` */
    STEP_JUMP_END, /* the same, to the end of the group, not known yet */
    STEP_SPLIT,    /* continue behind it and at `to` */
    STEP_BEGIN,    /* only before the first byte */
    STEP_END,      /* only behind the last byte */
    STEP_EDGE,     /* only at a word edge ... */
    STEP_NO_EDGE,  /* ... not at one ... */
    STEP_WORD,     /* ... where a word begins ... */
    STEP_WORD_END, /* ... or ends */
    STEP_MATCH,
};

struct step {
    uint8_t kind;
    uint8_t byte;
    uint16_t set;
    int32_t to; /* relative to this instruction */
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
    bool folds;            /* bytes are compared in lower case */
    bool has_first;        /* every match begins with a byte of `first` */
    struct byte_set first; /* see pattern_run.c */
    struct pattern_literal literal[PATTERN_LITERALS];
    size_t literals;
};

/* Whether an instruction that waits for a byte accepts this one. */
static inline bool step_takes(const struct pattern *pattern, const struct step *step,
                              unsigned char byte)
{
    assert(step->kind <= STEP_SET);
    if (step->kind == STEP_BYTE)
        return step->byte == byte;
    return step->kind == STEP_ANY || set_has(&pattern->set[step->set], byte);
}

static inline bool is_word(unsigned char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
}

/* Fills `first`. */
void pattern_find_first(struct pattern *pattern);
/* Fills `literal`. */
void pattern_find_literals(struct pattern *pattern);

/* Where in a text a condition is asked. */
struct pattern_place {
    bool is_begin;
    bool is_end;
    bool is_after_word;  /* the byte before belongs to a word */
    bool is_before_word; /* the byte at it does */
};

/* Whether a step that takes no byte passes here. */
static inline bool pattern_condition_holds(enum step_kind kind,
                                           const struct pattern_place *place)
{
    switch (kind) {
    case STEP_BEGIN:
        return place->is_begin;
    case STEP_END:
        return place->is_end;
    case STEP_EDGE:
        return place->is_after_word != place->is_before_word;
    case STEP_NO_EDGE:
        return place->is_after_word == place->is_before_word;
    case STEP_WORD:
        return !place->is_after_word && place->is_before_word;
    case STEP_WORD_END:
        return place->is_after_word && !place->is_before_word;
    case STEP_BYTE:
    case STEP_ANY:
    case STEP_SET:
    case STEP_JUMP:
    case STEP_JUMP_END:
    case STEP_SPLIT:
    case STEP_MATCH:
        break;
    }
    assert(!"not a condition");
    return false;
}

#endif
