/* SPDX-License-Identifier: Apache-2.0 */
/* sql_build.c - see sql_build.h. */
#include "store/engine/sql_build.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory/arena.h"
#include "model/field.h"
#include "store/engine/db.h"

void sql_build_done(struct sql_build *b)
{
    buf_done(&b->text);
    vec_done(&b->strs);
}

void sql_build_str(struct sql_build *b, const char *before, const char *value,
                   const char *after)
{
    if (!value || !vec_push(&b->strs, value)) {
        b->has_failed = true;
        return;
    }
    buf_printf(&b->text, "%s$%zu%s", before, b->strs.count, after);
}

void sql_build_like(struct sql_build *b, const char *before, const char *part,
                    const char *after)
{
    char *pattern = arena_alloc(b->mem, strlen(part) * 2 + 3);
    char *to = pattern;

    if (!pattern) {
        b->has_failed = true;
        return;
    }
    *to++ = '%';
    for (const char *at = part; *at; at++) {
        if (strchr("%_\\", *at))
            *to++ = '\\';
        *to++ = *at;
    }
    *to++ = '%';
    *to = '\0';
    sql_build_str(b, before, pattern, after);
}

void sql_build_ids(struct sql_build *b, const char *what, const struct field_i64s *ids)
{
    if (!ids->count)
        return;
    buf_printf(&b->text, " AND %s IN (", what);
    for (size_t i = 0; i < ids->count; i++)
        buf_printf(&b->text, "%s%" PRId64, i ? ", " : "", ids->at[i]);
    buf_puts(&b->text, ")");
}

void sql_build_state_list(struct sql_build *b, const char *what,
                          const char *const *names, uint32_t states)
{
    const char *comma = "";

    buf_printf(&b->text, "%s IN (", what);
    for (uint32_t i = 0; names[i]; i++) {
        if (!(states >> i & 1))
            continue;
        buf_printf(&b->text, "%s'%s'", comma, names[i]);
        comma = ", ";
    }
    buf_puts(&b->text, ")");
}

void sql_build_states(struct sql_build *b, const char *what, const char *const *names,
                      uint32_t states)
{
    if (!states)
        return;
    buf_puts(&b->text, " AND ");
    sql_build_state_list(b, what, names, states);
}

void sql_build_columns(struct sql_build *b, const char *prefix,
                       const struct field *fields)
{
    for (const struct field *field = fields; field->name; field++)
        buf_printf(&b->text, "%s%s.%s", field == fields ? "" : ", ", prefix,
                   field->name);
}

struct db_query sql_build_query(struct sql_build *b, struct db *db, const char *head,
                                struct err *err)
{
    struct db_query q = {.db = db, .err = err};
    char *text = NULL;

    if (!b->has_failed && !b->text.status)
        text = arena_printf(b->mem, "%s%s", head, b->text.data);
    if (!text) {
        q.status = err_default(err, DET_NOMEM);
        return q;
    }
    q = db_query_text(db, text, err);
    for (size_t i = 0; i < b->strs.count; i++)
        db_bind_str(&q, b->strs.at[i]);
    return q;
}
