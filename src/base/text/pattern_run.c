/* SPDX-License-Identifier: Apache-2.0 */
/* pattern_run.c - matches a pattern without a cache, and finds its literals.
 *
 * All ways through the program are followed at once, byte by byte.  A list holds each
 * instruction that waits for the next byte once.  A new way begins at each byte; while
 * there is no other, bytes that cannot begin a match are skipped. */
#include <assert.h>
#include <string.h>

#include "base/compiler.h"
#include "base/text/find.h"
#include "base/text/pattern_impl.h"

struct ways {
    uint16_t at[PATTERN_STEPS + 1];
    uint32_t count;
};

/* About 10 KB, on the stack. */
struct run {
    const struct pattern *pattern;
    const unsigned char *text;
    size_t len;  /* the searched part */
    bool is_cut; /* more bytes follow */
    size_t pos;
    uint8_t seen[PATTERN_STEPS + 1]; /* instructions reached at `pos` */
    uint16_t todo[PATTERN_STEPS + 1];
    uint32_t todo_count;
    struct ways ways[2];
    bool has_matched;
};

static bool condition_holds(const struct run *run, enum step_kind kind)
{
    bool is_end = run->pos == run->len;
    const struct pattern_place place = {
        .is_begin = !run->pos,
        .is_end = is_end && !run->is_cut,
        .is_after_word = run->pos && is_word(run->text[run->pos - 1]),
        .is_before_word = !is_end && is_word(run->text[run->pos]),
    };

    return pattern_condition_holds(kind, &place);
}

static void reach_step(struct run *run, size_t at)
{
    if (run->seen[at])
        return;
    run->seen[at] = true;
    run->todo[run->todo_count++] = (uint16_t)at;
}

/* Adds to `ways` all instructions that are reached from `start` without a byte. */
static void follow_jumps(struct run *run, struct ways *ways, size_t start)
{
    reach_step(run, start);
    while (run->todo_count) {
        uint16_t at = run->todo[--run->todo_count];
        const struct step *step = &run->pattern->step[at];

        switch ((enum step_kind)step->kind) {
        case STEP_BYTE:
        case STEP_ANY:
        case STEP_SET:
            ways->at[ways->count++] = at;
            break;
        case STEP_SPLIT:
            reach_step(run, (size_t)(at + step->to));
            reach_step(run, at + 1u);
            break;
        case STEP_JUMP:
        case STEP_JUMP_END:
            reach_step(run, (size_t)(at + step->to));
            break;
        case STEP_MATCH:
            run->has_matched = true;
            break;
        case STEP_BEGIN:
        case STEP_END:
        case STEP_EDGE:
        case STEP_NO_EDGE:
        case STEP_WORD:
        case STEP_WORD_END:
            if (condition_holds(run, (enum step_kind)step->kind))
                reach_step(run, at + 1u);
        }
    }
}

static unsigned char byte_at(const struct run *run)
{
    unsigned char byte = run->text[run->pos];

    return run->pattern->folds ? find_lower(byte) : byte;
}

static void skip_bytes(struct run *run)
{
    const struct pattern *pattern = run->pattern;

    while (run->pos < run->len && !set_has(&pattern->first, byte_at(run)))
        run->pos++;
    memset(run->seen, 0, pattern->count); /* those of another position */
}

bool pattern_matches(const struct pattern *pattern, const char *bytes, size_t len)
{
    struct run run;
    struct ways *now = &run.ways[0];
    struct ways *next = &run.ways[1];

    run.pattern = pattern;
    run.text = (const unsigned char *)bytes;
    run.len = MIN(len, (size_t)PATTERN_TEXT_BYTES);
    run.is_cut = run.len < len;
    run.todo_count = 0;
    run.has_matched = false;
    now->count = 0;
    run.pos = 0;
    memset(run.seen, 0, pattern->count);
    for (;;) {
        if (!now->count && pattern->has_first)
            skip_bytes(&run);
        follow_jumps(&run, now, 0);
        if (run.has_matched || run.pos == run.len)
            return run.has_matched;
        unsigned char byte = byte_at(&run);

        run.pos++;

        next->count = 0;
        memset(run.seen, 0, pattern->count);
        for (uint32_t i = 0; i < now->count; i++)
            if (step_takes(pattern, &pattern->step[now->at[i]], byte))
                follow_jumps(&run, next, now->at[i] + 1u);
        struct ways *swap = now;

        now = next;
        next = swap;
    }
}

/* Walks from the first instruction as if every condition held. */
void pattern_find_first(struct pattern *pattern)
{
    uint8_t seen[PATTERN_STEPS + 1] = {0};
    uint16_t todo[2 * (PATTERN_STEPS + 1)] = {0};
    size_t count = 1;

    while (count) {
        uint16_t at = todo[--count];
        const struct step *step = &pattern->step[at];

        if (seen[at])
            continue;
        seen[at] = true;
        if (step->kind == STEP_MATCH || step->kind == STEP_ANY)
            return; /* the empty text, or any byte */
        if (step->kind == STEP_BYTE)
            pattern->first.bits[step->byte >> 6] |= UINT64_C(1) << (step->byte & 63);
        else if (step->kind == STEP_SET)
            for (size_t i = 0; i < ARRAY_LEN(pattern->first.bits); i++)
                pattern->first.bits[i] |= pattern->set[step->set].bits[i];
        else if (step->kind != STEP_JUMP)
            todo[count++] = (uint16_t)(at + 1);
        if (step->kind == STEP_SPLIT || step->kind == STEP_JUMP)
            todo[count++] = (uint16_t)(at + step->to);
    }
    pattern->has_first = true;
}

/* Every match runs through an instruction that no jump leads past.  A run of such bytes
 * is therefore part of every match.  Finds the longest one of [at, end). */
static void find_literal(const struct pattern *pattern, size_t at, size_t end,
                         struct pattern_literal *ret_literal)
{
    size_t past = 0; /* an earlier jump leads there */
    size_t run = 0;

    ret_literal->len = 0;
    for (; at < end; at++) {
        const struct step *step = &pattern->step[at];
        bool is_jump = step->kind == STEP_SPLIT || step->kind == STEP_JUMP;

        if (is_jump && step->to > 0)
            past = MAX(past, at + (size_t)step->to);
        run = step->kind == STEP_BYTE && at >= past ? run + 1 : 0;
        if (run <= ret_literal->len || run > PATTERN_LITERAL)
            continue;
        ret_literal->len = run;
        for (size_t i = 0; i < run; i++)
            ret_literal->text[i] = (char)pattern->step[at - run + 1 + i].byte;
    }
}

/* Finds the end of the branch that begins at `at`, if another branch follows: a split
 * to that one enters it, and a jump behind all branches leaves it. */
static bool has_branch(const struct pattern *pattern, size_t at, size_t *ret_end)
{
    const struct step *step = &pattern->step[at];
    const struct step *leave;

    if (step->kind != STEP_SPLIT || step->to < 2)
        return false;
    *ret_end = at + (size_t)step->to - 1;
    leave = &pattern->step[*ret_end];
    return leave->kind == STEP_JUMP && leave->to > 0 &&
           *ret_end + (size_t)leave->to == pattern->count - 1;
}

void pattern_find_literals(struct pattern *pattern)
{
    size_t at = 0;
    size_t end;
    bool is_last = false;

    while (!is_last) {
        struct pattern_literal *literal = &pattern->literal[pattern->literals];

        if (pattern->literals == PATTERN_LITERALS) {
            pattern->literals = 0;
            return;
        }
        is_last = !has_branch(pattern, at, &end);
        if (is_last)
            find_literal(pattern, at, pattern->count, literal);
        else
            find_literal(pattern, at + 1, end, literal);
        if (!literal->len) { /* one branch without a literal spoils it for all */
            pattern->literals = 0;
            return;
        }
        pattern->literals++;
        at = end + 1;
    }
}

size_t pattern_literals(const struct pattern *pattern,
                        const struct pattern_literal **ret_literals)
{
    *ret_literals = pattern->literal;
    return pattern->literals;
}
