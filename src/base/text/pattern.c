/* SPDX-License-Identifier: Apache-2.0 */
/* pattern.c - compiles the text of a pattern to its program; see pattern_impl.h.
 *
 * One pass, with a level for each open parenthesis.  A level knows where its group, the
 * current branch and the last piece begin.  A repetition after a piece, or "|" after a
 * branch, is put around instructions that are written already. */
#include "base/text/pattern.h"

#include <string.h>

#include "base/compiler.h"
#include "base/memory/mem.h"
#include "base/memory/vec.h"
#include "base/text/find.h"
#include "base/text/pattern_impl.h"

struct level {
    size_t group;
    size_t branch;
    size_t piece;
    bool has_piece; /* there is a piece that can be repeated */
};

struct maker {
    const char *at;
    struct level level[PATTERN_DEPTH + 1];
    size_t depth;
    VEC(struct step) steps;
    VEC(struct byte_set) sets;
    bool folds;
    struct err *err;
};

/* ---- instructions ---------------------------------------------------------------- */

static det_status put_step(struct maker *m, struct step step)
{
    if (m->folds && step.kind == STEP_BYTE)
        step.byte = find_lower(step.byte);
    if (m->steps.count >= PATTERN_STEPS)
        return err_set(m->err, DET_INVALID,
                       "the pattern is too large with its repetitions written out");
    return vec_push(&m->steps, step) ? DET_OK : err_default(m->err, DET_NOMEM);
}

/* Puts `step` in front of the instructions from `at` on. */
static det_status put_step_before(struct maker *m, size_t at, struct step step)
{
    det_status st = put_step(m, step);

    if (st)
        return st;
    memmove(&m->steps.at[at + 1], &m->steps.at[at],
            (m->steps.count - 1 - at) * sizeof(step));
    m->steps.at[at] = step;
    return DET_OK;
}

/* Appends a copy of the `len` instructions from `at` on. */
static det_status put_copy(struct maker *m, size_t at, size_t len)
{
    det_status st = DET_OK;

    for (size_t i = 0; i < len && !st; i++)
        st = put_step(m, m->steps.at[at + i]);
    return st;
}

static void begin_piece(struct maker *m)
{
    m->level[m->depth].piece = m->steps.count;
    m->level[m->depth].has_piece = true;
}

static det_status put_piece(struct maker *m, struct step step)
{
    begin_piece(m);
    return put_step(m, step);
}

static det_status put_set(struct maker *m, const struct byte_set *set)
{
    struct step step = {.kind = STEP_SET, .set = (uint16_t)m->sets.count};

    if (!vec_push(&m->sets, *set))
        return err_default(m->err, DET_NOMEM);
    return put_piece(m, step);
}

/* ---- sets ------------------------------------------------------------------------ */

static void set_add(struct byte_set *set, int from, int to)
{
    for (int c = from; c <= to; c++)
        set->bits[c >> 6] |= UINT64_C(1) << (c & 63);
}

/* Bytes are looked up in lower case. */
static void set_fold(struct byte_set *set)
{
    for (int c = 'A'; c <= 'Z'; c++)
        if (set_has(set, (unsigned char)c))
            set_add(set, c | 0x20, c | 0x20);
}

static void set_flip(struct byte_set *set)
{
    for (size_t i = 0; i < ARRAY_LEN(set->bits); i++)
        set->bits[i] = ~set->bits[i];
}

/* Classes as pairs of bytes: from, to. */
static const struct {
    const char *name;
    const char *ranges;
} classes[] = {
    {"alpha", "azAZ"},    {"digit", "09"},     {"alnum", "azAZ09"},
    {"upper", "AZ"},      {"lower", "az"},     {"xdigit", "09afAF"},
    {"space", "\t\r  "},  {"blank", "\t\t  "}, {"punct", "!/:@[`{~"},
    {"print", " ~"},      {"graph", "!~"},     {"cntrl", "\1\x1f\x7f\x7f"},
    {"word", "azAZ09__"},
};

static bool set_add_class(struct byte_set *set, const char *name, size_t len)
{
    for (size_t i = 0; i < ARRAY_LEN(classes); i++) {
        if (strlen(classes[i].name) != len || memcmp(classes[i].name, name, len))
            continue;
        for (const char *r = classes[i].ranges; *r; r += 2)
            set_add(set, (unsigned char)r[0], (unsigned char)r[1]);
        return true;
    }
    return false;
}

static det_status bad_set(struct maker *m)
{
    return err_set(m->err, DET_INVALID,
                   "a set of the pattern is not valid, or its ']' is missing");
}

/* At "[:name:]" within a set. */
static det_status read_class(struct maker *m, struct byte_set *set)
{
    const char *name = m->at + 2;
    const char *end = strstr(name, ":]");

    if (!end || !set_add_class(set, name, (size_t)(end - name)))
        return bad_set(m);
    m->at = end + 2;
    return DET_OK;
}

/* A byte, or "[.x.]" and "[=x=]", which are the same. */
static det_status read_member(struct maker *m, int *ret_byte)
{
    if (!*m->at)
        return bad_set(m);
    if (m->at[0] == '[' && (m->at[1] == '.' || m->at[1] == '=')) {
        if (!m->at[2] || m->at[3] != m->at[1] || m->at[4] != ']')
            return bad_set(m);
        *ret_byte = (unsigned char)m->at[2];
        m->at += 5;
        return DET_OK;
    }
    *ret_byte = (unsigned char)*m->at++;
    return DET_OK;
}

static det_status read_range(struct maker *m, struct byte_set *set)
{
    int from, to;
    det_status st = read_member(m, &from);

    to = st ? 0 : from;
    if (!st && m->at[0] == '-' && m->at[1] != ']') {
        m->at++;
        st = read_member(m, &to);
    }
    if (st)
        return st;
    if (to < from)
        return bad_set(m);
    set_add(set, from, to);
    return DET_OK;
}

/* Behind "[". */
static det_status read_set(struct maker *m)
{
    struct byte_set set = {0};
    bool is_not = *m->at == '^';
    bool is_first = true;
    det_status st = DET_OK;

    if (is_not)
        m->at++;
    for (; !st && (is_first || *m->at != ']'); is_first = false) {
        if (m->at[0] == '[' && m->at[1] == ':')
            st = read_class(m, &set);
        else
            st = read_range(m, &set);
    }
    if (st)
        return st;
    m->at++;
    if (m->folds)
        set_fold(&set);
    if (is_not)
        set_flip(&set);
    return put_set(m, &set);
}

/* ---- repetitions ----------------------------------------------------------------- */

static det_status put_star(struct maker *m, size_t at)
{
    int32_t len = (int32_t)(m->steps.count - at);
    det_status st =
        put_step_before(m, at, (struct step){.kind = STEP_SPLIT, .to = len + 2});

    return st ? st : put_step(m, (struct step){.kind = STEP_JUMP, .to = -len - 1});
}

static det_status put_plus(struct maker *m, size_t at)
{
    int32_t len = (int32_t)(m->steps.count - at);

    return put_step(m, (struct step){.kind = STEP_SPLIT, .to = -len});
}

static det_status put_maybe(struct maker *m, size_t at)
{
    int32_t len = (int32_t)(m->steps.count - at);

    return put_step_before(m, at, (struct step){.kind = STEP_SPLIT, .to = len + 1});
}

/* Repeats the last piece `least` to `most` times; `most` 0 with `is_open`: any
 * number. */
static det_status put_counted(struct maker *m, size_t least, size_t most, bool is_open)
{
    size_t piece = m->level[m->depth].piece;
    size_t len = m->steps.count - piece;
    size_t last = piece; /* where the newest copy begins */
    det_status st = DET_OK;

    if (!least && is_open)
        return put_star(m, piece);
    if (!least && !most) {
        m->steps.count = piece;
        return DET_OK;
    }
    for (size_t i = 1; i < least && !st; i++) {
        last = m->steps.count;
        st = put_copy(m, piece, len);
    }
    if (!st && is_open)
        return put_plus(m, last);
    if (!st && !least)
        st = put_maybe(m, piece); /* copies are taken from behind the split */
    for (size_t i = least ? least : 1; i < most && !st; i++) {
        size_t copy = m->steps.count;

        st = put_copy(m, piece + !least, len);
        if (!st)
            st = put_maybe(m, copy);
    }
    return st;
}

static size_t read_count(struct maker *m, bool *ret_has)
{
    size_t count = 0;

    *ret_has = *m->at >= '0' && *m->at <= '9';
    for (; *m->at >= '0' && *m->at <= '9'; m->at++)
        if (count <= PATTERN_COUNT)
            count = count * 10 + (size_t)(*m->at - '0');
    return count;
}

/* Behind "{": "2}", "2,}", ",5}" or "2,5}". */
static det_status read_counted(struct maker *m)
{
    bool has_least, has_most = true, is_open = false;
    size_t least = read_count(m, &has_least);
    size_t most = least;

    if (*m->at == ',') {
        m->at++;
        most = read_count(m, &has_most);
        is_open = !has_most;
    }
    if (*m->at != '}' || (!has_least && !has_most) || (!is_open && most < least))
        return err_set(m->err, DET_INVALID,
                       "a '{' of the pattern begins no count like {2,5}; write \\{ for "
                       "the sign itself");
    m->at++;
    if (MAX(least, most) > PATTERN_COUNT)
        return err_set(m->err, DET_INVALID, "a count of the pattern is above %d",
                       PATTERN_COUNT);
    return put_counted(m, least, most, is_open);
}

static det_status read_repetition(struct maker *m, char c)
{
    const struct level *level = &m->level[m->depth];

    if (!level->has_piece)
        return err_set(m->err, DET_INVALID,
                       "there is nothing before a '%c' of the pattern to repeat", c);
    switch (c) {
    case '*':
        return put_star(m, level->piece);
    case '+':
        return put_plus(m, level->piece);
    case '?':
        return put_maybe(m, level->piece);
    default:
        return read_counted(m);
    }
}

/* ---- groups ---------------------------------------------------------------------- */

static det_status open_group(struct maker *m)
{
    if (m->depth == PATTERN_DEPTH)
        return err_set(m->err, DET_INVALID,
                       "the pattern is nested more than %d levels deep", PATTERN_DEPTH);
    begin_piece(m);
    if (m->at[0] == '?' && m->at[1] == ':')
        m->at += 2;
    m->level[++m->depth] = (struct level){m->steps.count, m->steps.count, 0, false};
    return DET_OK;
}

static void end_group(struct maker *m)
{
    for (size_t i = m->level[m->depth].group; i < m->steps.count; i++)
        if (m->steps.at[i].kind == STEP_JUMP_END)
            m->steps.at[i] =
                (struct step){.kind = STEP_JUMP, .to = (int32_t)(m->steps.count - i)};
}

static det_status close_group(struct maker *m)
{
    if (!m->depth)
        return err_set(m->err, DET_INVALID, "a ')' of the pattern has no '('");
    end_group(m);
    m->depth--;
    return DET_OK;
}

static det_status begin_branch(struct maker *m)
{
    struct level *level = &m->level[m->depth];
    int32_t len = (int32_t)(m->steps.count - level->branch);
    det_status st = put_step_before(m, level->branch,
                                    (struct step){.kind = STEP_SPLIT, .to = len + 2});

    if (!st)
        st = put_step(m, (struct step){.kind = STEP_JUMP_END});
    level->branch = m->steps.count;
    level->has_piece = false;
    return st;
}

/* ---- the rest -------------------------------------------------------------------- */

/* \d and the like; false: `c` does not name a class. */
static bool class_escape(char c, struct byte_set *set)
{
    static const char names[] = "wWdDsS";
    static const char *const of[] = {"word", "digit", "space"};
    const char *at = memchr(names, c, sizeof(names) - 1);

    if (!at)
        return false;
    *set = (struct byte_set){0};
    (void)set_add_class(set, of[(at - names) / 2], strlen(of[(at - names) / 2]));
    if ((at - names) % 2)
        set_flip(set);
    return true;
}

static det_status read_escape(struct maker *m)
{
    static const char from[] = "bB<>tnr";
    static const struct step to[] = {
        {.kind = STEP_EDGE},
        {.kind = STEP_NO_EDGE},
        {.kind = STEP_WORD},
        {.kind = STEP_WORD_END},
        {.kind = STEP_BYTE, .byte = '\t'},
        {.kind = STEP_BYTE, .byte = '\n'},
        {.kind = STEP_BYTE, .byte = '\r'},
    };
    struct byte_set set;
    char c = *m->at;
    const char *known = c ? strchr(from, c) : NULL;

    if (!c)
        return err_set(m->err, DET_INVALID, "the pattern ends with a backslash");
    m->at++;
    if (c >= '1' && c <= '9')
        return err_set(m->err, DET_INVALID,
                       "the pattern has a back-reference, \\%c: these are not taken",
                       c);
    if (class_escape(c, &set))
        return put_set(m, &set);
    if (known)
        return put_piece(m, to[known - from]);
    if (is_word((unsigned char)c) && c != '_')
        return err_set(m->err, DET_INVALID, "the pattern has an unknown escape, \\%c",
                       c);
    return put_piece(m, (struct step){.kind = STEP_BYTE, .byte = (uint8_t)c});
}

/* All bytes of a character are one piece. */
static det_status read_character(struct maker *m, char c)
{
    det_status st = put_piece(m, (struct step){.kind = STEP_BYTE, .byte = (uint8_t)c});

    while (!st && (unsigned char)c >= 0xc0 && (*m->at & 0xc0) == 0x80)
        st = put_step(m, (struct step){.kind = STEP_BYTE, .byte = (uint8_t)*m->at++});
    return st;
}

/* An anchor cannot be repeated. */
static det_status read_anchor(struct maker *m, enum step_kind kind)
{
    m->level[m->depth].has_piece = false;
    return put_step(m, (struct step){.kind = (uint8_t)kind});
}

static det_status read_next(struct maker *m)
{
    char c = *m->at++;

    switch (c) {
    case '(':
        return open_group(m);
    case ')':
        return close_group(m);
    case '|':
        return begin_branch(m);
    case '[':
        return read_set(m);
    case '\\':
        return read_escape(m);
    case '*':
    case '+':
    case '?':
    case '{':
        return read_repetition(m, c);
    case '.':
        return put_piece(m, (struct step){.kind = STEP_ANY});
    case '^':
        return read_anchor(m, STEP_BEGIN);
    case '$':
        return read_anchor(m, STEP_END);
    default:
        return read_character(m, c);
    }
}

static det_status make_program(struct maker *m, const char *text)
{
    det_status st = DET_OK;

    if (strnlen(text, PATTERN_BYTES + 1) > PATTERN_BYTES)
        return err_set(m->err, DET_INVALID, "the pattern is longer than %d bytes",
                       PATTERN_BYTES);
    m->at = text;
    while (!st && *m->at)
        st = read_next(m);
    if (!st && m->depth)
        st = err_set(m->err, DET_INVALID, "a '(' of the pattern has no ')'");
    if (st)
        return st;
    end_group(m);
    if (!vec_push(&m->steps, ((struct step){.kind = STEP_MATCH})))
        return err_default(m->err, DET_NOMEM);
    return DET_OK;
}

static det_status pattern_make(const char *text, bool folds,
                               struct pattern **ret_pattern, struct err *err)
{
    struct maker m = {.folds = folds, .err = err};
    struct pattern *pattern = mem_new(struct pattern);
    det_status st = pattern ? make_program(&m, text) : err_default(err, DET_NOMEM);

    if (st) {
        vec_done(&m.steps);
        vec_done(&m.sets);
        mem_free(pattern);
        return st;
    }
    pattern->step = m.steps.at;
    pattern->count = (uint32_t)m.steps.count;
    pattern->set = m.sets.at;
    pattern->folds = folds;
    pattern_find_first(pattern);
    pattern_find_literals(pattern);
    *ret_pattern = pattern;
    return DET_OK;
}

det_status pattern_new(const char *text, struct pattern **ret_pattern, struct err *err)
{
    return pattern_make(text, false, ret_pattern, err);
}

det_status pattern_new_folding(const char *text, struct pattern **ret_pattern,
                               struct err *err)
{
    return pattern_make(text, true, ret_pattern, err);
}

void pattern_free(struct pattern *pattern)
{
    if (!pattern)
        return;
    mem_free(pattern->step);
    mem_free(pattern->set);
    mem_free(pattern);
}

void pattern_freep(struct pattern **pattern)
{
    pattern_free(*pattern);
}
