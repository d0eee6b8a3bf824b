/* SPDX-License-Identifier: Apache-2.0 */
/* journal.c - one field table per kind of report that is also an event. */
#include "master/heart/journal.h"

#include <assert.h>
#include <stddef.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "core/event.h"
#include "data/json/json.h"
#include "model/field.h"
#include "store/heart/journal.h"

#define EVENT_FIELD(type_, part_, name_)                                               \
    {                                                                                  \
        .name = #name_, .type = FIELD_##type_,                                         \
        .offset = offsetof(struct core_event, part_.name_)                             \
    }

static const struct field validated_fields[] = {
    EVENT_FIELD(I64, validated, trial_id),
    EVENT_FIELD(I64, validated, run_id),
    EVENT_FIELD(I64, validated, steps),
    EVENT_FIELD(STR, validated, metrics),
    FIELD_END,
};

static const struct field checkpointed_fields[] = {
    EVENT_FIELD(I64, checkpointed, trial_id),
    EVENT_FIELD(I64, checkpointed, run_id),
    EVENT_FIELD(STR, checkpointed, uuid),
    EVENT_FIELD(I64, checkpointed, steps),
    FIELD_END,
};

static const struct field share_exited_fields[] = {
    EVENT_FIELD(I64, share_exited, allocation_id),
    EVENT_FIELD(I64, share_exited, rank),
    {.name = "exit",
     .type = FIELD_ENUM,
     .offset = offsetof(struct core_event, share_exited.exit),
     .names = exit_kind_names,
     .prefix = ""},
    EVENT_FIELD(I64, share_exited, code),
    EVENT_FIELD(STR, share_exited, reason),
    EVENT_FIELD(BOOL, share_exited, is_final),
    FIELD_END,
};

static const struct field progress_fields[] = {
    EVENT_FIELD(I64, progress, trial_id),
    EVENT_FIELD(F64, progress, progress),
    FIELD_END,
};

static const struct field early_exit_fields[] = {
    EVENT_FIELD(I64, early_exit, trial_id),
    FIELD_END,
};

static const struct field *fields_of(uint32_t kind)
{
    switch (kind) {
    case EVENT_VALIDATED:
        return validated_fields;
    case EVENT_CHECKPOINTED:
        return checkpointed_fields;
    case EVENT_SHARE_EXITED:
        return share_exited_fields;
    case EVENT_PROGRESS:
        return progress_fields;
    case EVENT_EARLY_EXIT:
        return early_exit_fields;
    default:
        return NULL;
    }
}

det_status journal_add(struct db *db, const struct core_event *event, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);
    int64_t seq;

    assert(fields_of(event->kind));
    fields_write_object(&w, NULL, fields_of(event->kind), event);
    if (text.status)
        return err_default(err, text.status);
    return store_journal_add(db, event->kind, text.data, &seq, err);
}

det_status journal_decode(const struct journal_entry *entry, struct arena *mem,
                          struct core_event *ret_event, struct err *err)
{
    const struct field *fields = fields_of(entry->kind);
    struct core_event event = {.kind = entry->kind, .journal_seq = entry->seq};
    struct json *tree;
    det_status st;

    if (!fields)
        return err_set(err, DET_CORRUPT, "its kind %u is unknown", entry->kind);
    if (!entry->data)
        return err_set(err, DET_CORRUPT, "it is empty");
    st = json_parse(entry->data, __builtin_strlen(entry->data), mem, &tree, err);
    if (!st)
        st = fields_read(fields, tree, mem, &event, err);
    if (st && st != DET_NOMEM)
        st = err_set(err, DET_CORRUPT, "it is damaged");
    if (!st)
        *ret_event = event;
    return st;
}
