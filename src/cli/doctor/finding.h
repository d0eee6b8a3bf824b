/* SPDX-License-Identifier: Apache-2.0 */
/* finding.h - what a check says: a mark and one sentence.
 *
 * A finding that is not good has three parts: what is wrong, why it matters, what to do.
 * The sentence is made of them: "What: why; what to do." */
#ifndef CLI_DOCTOR_FINDING_H
#define CLI_DOCTOR_FINDING_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

struct arena;
struct doctor_check;

enum finding_mark {
    FINDING_OK,
    FINDING_SKIP,
    FINDING_WARN,
    FINDING_FAIL,
    FINDING_MARKS
};
extern const char *const finding_mark_names[]; /* "ok", "skip", "warn", "fail" */

struct finding {
    const struct doctor_check *check;
    enum finding_mark mark;
    const char *what; /* all without a full stop */
    const char *why;  /* NULL: it is good */
    const char *todo;
    struct finding *next;
};

struct findings {
    struct arena *mem;
    const struct doctor_check *check; /* whose findings are added now */
    struct finding *first;
    struct finding *last;
    size_t count[FINDING_MARKS];
};

/* Text in the arena; "" when memory runs out (mem.has_failed). */
const char *finding_text(struct findings *out, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* "1.2GB", "350 ms", "3 h" likewise. */
const char *finding_size(struct findings *out, int64_t bytes);
const char *finding_time(struct findings *out, int64_t us);

void finding_ok(struct findings *out, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Could not be looked at, and need not be. */
void finding_skip(struct findings *out, const char *fmt, ...) PRINTF_LIKE(2, 3);
void finding_bad(struct findings *out, enum finding_mark mark, const char *what,
                 const char *why, const char *todo);

/* The sentence, in the arena. */
const char *finding_sentence(struct findings *out, const struct finding *finding);

#endif
