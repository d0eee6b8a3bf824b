/* SPDX-License-Identifier: Apache-2.0 */
/* pattern_matcher.c - a matcher that caches the states of a pattern.
 *
 * A state is the set of instructions that wait after some bytes; from a state, a byte
 * always leads to the same next state.  States are made when they are first needed and
 * kept: most bytes cost one table lookup.  A full table is emptied and filled again:
 * the memory is bounded, and the time is not worse than without the table.
 *
 * A state waits behind the last byte, before it is known whether an end or a word edge
 * follows; those instructions are settled when the next byte is known.
 *
 * In the first three states nothing waits.  When every match begins with the same text,
 * find.h searches for that text from these states, which is several times faster than
 * one byte after the other. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/map.h"
#include "base/memory/mem.h"
#include "base/memory/vec.h"
#include "base/text/find.h"
#include "base/text/pattern_impl.h"

enum {
    STATES = 256,
    SLOTS = 512, /* of the hash table of states */
    ENDS = 256,  /* behind the bytes: the end of the text ... */
    ENDS_CUT,    /* ... or only the end of the searched part */
};

/* A transition that does not lead to a state. */
enum { NO_ROOM = 65532, NO_MATCH, MATCHED, UNKNOWN };

/* What a state knows of the byte before.  The numbers of the first states, in which
 * nothing waits, are their flags. */
enum { IS_BEGIN = 1, AFTER_WORD = 2, IDLES };

enum { HEAD_LEAST = 3 }; /* shorter texts occur in too many places */

struct state {
    uint32_t first; /* its instructions, in `pool` */
    uint16_t count;
    uint8_t flags;
    uint16_t end[2]; /* transitions at the ends */
};

struct pattern_matcher {
    const struct pattern *pattern;
    struct find head; /* every match begins with this text */
    char head_text[PATTERN_LITERAL];
    uint16_t (*to)[256]; /* transitions of each state by byte */
    struct state state[STATES];
    size_t states;
    uint16_t slot[SLOTS]; /* a state plus 1; 0: free */
    VEC(uint16_t) pool;
    /* scratch space for making a state */
    uint8_t seen[PATTERN_STEPS + 1];
    uint16_t todo[PATTERN_STEPS + 1];
    uint16_t waiting[PATTERN_STEPS + 1]; /* instructions that wait for a byte */
    uint16_t next[PATTERN_STEPS + 1];
};

/* ---- states ---------------------------------------------------------------------- */

static bool is_same_state(const struct pattern_matcher *m, const struct state *state,
                          const uint16_t *at, size_t count, uint8_t flags)
{
    return state->count == count && state->flags == flags &&
           (!count || !memcmp(&m->pool.at[state->first], at, count * sizeof(*at)));
}

/* The number of the state with these instructions, made if it is new; or NO_ROOM. */
static uint16_t state_of(struct pattern_matcher *m, const uint16_t *at, size_t count,
                         uint8_t flags)
{
    size_t slot = (hash_bytes(at, count * sizeof(*at)) + flags) % SLOTS;
    struct state *state;

    for (; m->slot[slot]; slot = (slot + 1) % SLOTS)
        if (is_same_state(m, &m->state[m->slot[slot] - 1], at, count, flags))
            return (uint16_t)(m->slot[slot] - 1);
    if (m->states == STATES)
        return NO_ROOM;
    state = &m->state[m->states];
    *state = (struct state){.first = (uint32_t)m->pool.count,
                            .count = (uint16_t)count,
                            .flags = flags,
                            .end = {UNKNOWN, UNKNOWN}};
    memset(m->to[m->states], 0xff, sizeof(m->to[0])); /* UNKNOWN */
    for (size_t i = 0; i < count; i++)
        if (!vec_push(&m->pool, at[i]))
            return NO_ROOM;
    m->slot[slot] = (uint16_t)(m->states + 1);
    return (uint16_t)m->states++;
}

static void empty_table(struct pattern_matcher *m)
{
    m->states = 0;
    m->pool.count = 0;
    memset(m->slot, 0, sizeof(m->slot));
    for (uint8_t flags = 0; flags < IDLES; flags++)
        (void)state_of(m, m->next, 0, flags);
}

/* ---- transitions ----------------------------------------------------------------- */

static bool condition_holds(enum step_kind kind, uint8_t flags, int sign)
{
    const struct pattern_place place = {
        .is_begin = flags & IS_BEGIN,
        .is_end = sign == ENDS,
        .is_after_word = flags & AFTER_WORD,
        .is_before_word = sign < ENDS && is_word((unsigned char)sign),
    };

    return pattern_condition_holds(kind, &place);
}

static void reach_step(struct pattern_matcher *m, size_t at, size_t *count)
{
    if (m->seen[at])
        return;
    m->seen[at] = true;
    m->todo[(*count)++] = (uint16_t)at;
}

/* Collects the instructions that wait for `sign`, from `state` and from a new start;
 * true: the pattern has matched here. */
static bool settle_state(struct pattern_matcher *m, const struct state *state, int sign,
                         size_t *ret_waiting)
{
    size_t todo = 0;
    bool has_matched = false;

    memset(m->seen, 0, m->pattern->count);
    *ret_waiting = 0;
    for (size_t i = 0; i < state->count; i++)
        reach_step(m, m->pool.at[state->first + i], &todo);
    reach_step(m, 0, &todo);
    while (todo) {
        uint16_t at = m->todo[--todo];
        const struct step *step = &m->pattern->step[at];

        switch ((enum step_kind)step->kind) {
        case STEP_BYTE:
        case STEP_ANY:
        case STEP_SET:
            m->waiting[(*ret_waiting)++] = at;
            break;
        case STEP_SPLIT:
            reach_step(m, (size_t)(at + step->to), &todo);
            reach_step(m, at + 1u, &todo);
            break;
        case STEP_JUMP:
        case STEP_JUMP_END:
            reach_step(m, (size_t)(at + step->to), &todo);
            break;
        case STEP_MATCH:
            has_matched = true;
            break;
        case STEP_BEGIN:
        case STEP_END:
        case STEP_EDGE:
        case STEP_NO_EDGE:
        case STEP_WORD:
        case STEP_WORD_END:
            if (condition_holds((enum step_kind)step->kind, state->flags, sign))
                reach_step(m, at + 1u, &todo);
        }
    }
    return has_matched;
}

/* Collects the instructions behind those that accept the byte, in order: equal sets are
 * the same state. */
static size_t step_over_byte(struct pattern_matcher *m, size_t waiting,
                             unsigned char byte)
{
    size_t count = 0;

    if (m->pattern->folds)
        byte = find_lower(byte);
    memset(m->seen, 0, m->pattern->count);
    for (size_t i = 0; i < waiting; i++)
        if (step_takes(m->pattern, &m->pattern->step[m->waiting[i]], byte))
            m->seen[m->waiting[i] + 1u] = true;
    for (size_t i = 0; i < m->pattern->count; i++)
        if (m->seen[i])
            m->next[count++] = (uint16_t)i;
    return count;
}

/* Computes where a byte leads from state `at`. */
static uint16_t learn_transition(struct pattern_matcher *m, size_t at,
                                 unsigned char byte)
{
    uint8_t flags = is_word(byte) ? AFTER_WORD : 0;
    size_t waiting;
    size_t count;
    uint16_t to;

    if (settle_state(m, &m->state[at], byte, &waiting))
        return m->to[at][byte] = MATCHED;
    count = step_over_byte(m, waiting, byte);
    to = state_of(m, m->next, count, flags);
    if (to != NO_ROOM)
        return m->to[at][byte] = to;
    empty_table(m);
    return state_of(m, m->next, count, flags);
}

static bool matches_at_end(struct pattern_matcher *m, size_t at, int sign)
{
    uint16_t *to = &m->state[at].end[sign - ENDS];
    size_t waiting;

    if (*to == UNKNOWN)
        *to = settle_state(m, &m->state[at], sign, &waiting) ? MATCHED : NO_MATCH;
    return *to == MATCHED;
}

/* ---- searching ------------------------------------------------------------------- */

/* Every match runs through the leading instructions of the program. */
static void init_head(struct pattern_matcher *m)
{
    const struct step *step = m->pattern->step;
    size_t len = 0;

    for (; len < PATTERN_LITERAL && step[len].kind == STEP_BYTE; len++)
        m->head_text[len] = (char)step[len].byte;
    find_init(&m->head, m->head_text, len, m->pattern->folds);
}

det_status pattern_matcher_new(const struct pattern *pattern,
                               struct pattern_matcher **ret_matcher, struct err *err)
{
    struct pattern_matcher *m = mem_new(struct pattern_matcher);

    if (m)
        m->to = mem_array(STATES, sizeof(*m->to));
    if (!m || !m->to) {
        pattern_matcher_free(m);
        return err_default(err, DET_NOMEM);
    }
    m->pattern = pattern;
    init_head(m);
    empty_table(m);
    *ret_matcher = m;
    return DET_OK;
}

void pattern_matcher_free(struct pattern_matcher *matcher)
{
    if (!matcher)
        return;
    vec_done(&matcher->pool);
    mem_free(matcher->to);
    mem_free(matcher);
}

/* Instead of a position. */
enum { NOWHERE = PATTERN_TEXT_BYTES + 1, NOT_KNOWN };

static uint16_t idle_at(const char *bytes, size_t at)
{
    if (!at)
        return IS_BEGIN;
    return is_word((unsigned char)bytes[at - 1]) ? AFTER_WORD : 0;
}

/* The end of the match that ends first, among those that begin at `from` or later and
 * end at `last` or before.  NOT_KNOWN: out of memory. */
static size_t first_end(struct pattern_matcher *m, const char *bytes, size_t len,
                        size_t from, size_t last)
{
    size_t upto = MIN(len, (size_t)PATTERN_TEXT_BYTES);
    size_t stop = MIN(upto, last + 1);
    uint16_t at = idle_at(bytes, from);

    for (size_t i = from; i < stop; i++) {
        uint16_t to;

        if (at < IDLES && m->head.len >= HEAD_LEAST) {
            const char *head = find_in(&m->head, bytes + i, upto - i);

            i = head ? (size_t)(head - bytes) : upto;
            if (i >= stop)
                return NOWHERE;
            at = idle_at(bytes, i);
        }
        to = m->to[at][(unsigned char)bytes[i]];
        if (to < NO_ROOM) {
            at = to;
            continue;
        }
        if (to == UNKNOWN)
            to = learn_transition(m, at, (unsigned char)bytes[i]);
        if (to == NO_ROOM) /* not even for one more */
            return NOT_KNOWN;
        if (to == MATCHED)
            return i;
        at = to;
    }
    if (stop < upto || last < upto)
        return NOWHERE;
    return matches_at_end(m, at, upto < len ? ENDS_CUT : ENDS) ? upto : NOWHERE;
}

bool pattern_matcher_finds(struct pattern_matcher *m, const char *bytes, size_t len)
{
    size_t end = first_end(m, bytes, len, 0, PATTERN_TEXT_BYTES);

    if (end == NOT_KNOWN)
        return pattern_matches(m->pattern, bytes, len);
    return end != NOWHERE;
}

/* The earlier a match may begin, the more matches end by `end`.  Doubling strides go
 * back from there until a match is found, then a binary search finds its beginning. */
bool pattern_matcher_where(struct pattern_matcher *m, const char *bytes, size_t len,
                           size_t *ret_begin, size_t *ret_end)
{
    size_t end = first_end(m, bytes, len, 0, PATTERN_TEXT_BYTES);
    size_t low = end;      /* a match begins here, once one is found ... */
    size_t high = end + 1; /* ... and none here or later */
    size_t stride = 1;

    if (end == NOWHERE)
        return false;
    if (end == NOT_KNOWN) {
        *ret_begin = 0;
        *ret_end = MIN(len, (size_t)PATTERN_TEXT_BYTES);
        return pattern_matches(m->pattern, bytes, len);
    }
    while (low && first_end(m, bytes, len, low, end) != end) {
        high = low;
        low -= MIN(low, stride);
        stride *= 2;
    }
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (first_end(m, bytes, len, middle, end) == end)
            low = middle;
        else
            high = middle;
    }
    *ret_begin = low;
    *ret_end = end;
    return true;
}
