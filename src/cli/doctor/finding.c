/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor/finding.h"

#include <inttypes.h>
#include <stdarg.h>

#include "base/memory/arena.h"
#include "data/text.h"

const char *const finding_mark_names[] = {"ok", "skip", "warn", "fail"};

static const char *text_of(struct findings *out, const char *fmt, va_list args)
    PRINTF_LIKE(2, 0);

static const char *text_of(struct findings *out, const char *fmt, va_list args)
{
    const char *text = arena_vprintf(out->mem, fmt, args);

    return text ? text : "";
}

const char *finding_text(struct findings *out, const char *fmt, ...)
{
    const char *text;
    va_list args;

    va_start(args, fmt);
    text = text_of(out, fmt, args);
    va_end(args);
    return text;
}

const char *finding_size(struct findings *out, int64_t bytes)
{
    char text[16];

    size_format(bytes > 0 ? (uint64_t)bytes : 0, text);
    return finding_text(out, "%s", text);
}

const char *finding_time(struct findings *out, int64_t us)
{
    int64_t s = us / 1000000;

    if (us < 10000)
        return finding_text(out, "%.1f ms", (double)us / 1000);
    if (us < 1000000)
        return finding_text(out, "%" PRId64 " ms", us / 1000);
    if (s < 120)
        return finding_text(out, "%" PRId64 " s", s);
    if (s < 2 * 3600)
        return finding_text(out, "%" PRId64 " min", s / 60);
    return s < 2 * 86400 ? finding_text(out, "%" PRId64 " h", s / 3600)
                         : finding_text(out, "%" PRId64 " days", s / 86400);
}

/* ---- adding ---------------------------------------------------------------------- */

static void add(struct findings *out, const struct finding *finding)
{
    struct finding *copy = arena_new(out->mem, struct finding);

    if (!copy)
        return;
    *copy = *finding;
    copy->check = out->check;
    if (out->last)
        out->last->next = copy;
    else
        out->first = copy;
    out->last = copy;
    out->count[copy->mark]++;
}

void finding_ok(struct findings *out, const char *fmt, ...)
{
    struct finding finding = {.mark = FINDING_OK};
    va_list args;

    va_start(args, fmt);
    finding.what = text_of(out, fmt, args);
    va_end(args);
    add(out, &finding);
}

void finding_skip(struct findings *out, const char *fmt, ...)
{
    struct finding finding = {.mark = FINDING_SKIP};
    va_list args;

    va_start(args, fmt);
    finding.what = text_of(out, fmt, args);
    va_end(args);
    add(out, &finding);
}

void finding_bad(struct findings *out, enum finding_mark mark, const char *what,
                 const char *why, const char *todo)
{
    add(out, &(struct finding){.mark = mark, .what = what, .why = why, .todo = todo});
}

const char *finding_sentence(struct findings *out, const struct finding *finding)
{
    if (!finding->why)
        return finding_text(out, "%s.", finding->what);
    return finding_text(out, "%s: %s; %s.", finding->what, finding->why, finding->todo);
}
