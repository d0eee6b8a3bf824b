/* SPDX-License-Identifier: Apache-2.0 */
/* yaml.c - parses YAML text to the tree of json.h, with libyaml's event parser.
 *
 * Events build the tree directly.  A frame is a list that has begun and not ended:
 *
 *   key      the name of the next value of a mapping, NULL when a key is due
 *   merges   the values of its merge keys ("<<"), applied when the mapping ends
 *
 * An alias is a copy of its anchor's value, since callers change trees in place.
 * Copies are counted: a small file cannot grow into a large tree.
 *
 * Of equal keys the last wins.  A mapping's own keys win over merged ones, and of
 * several merged mappings in one list the first wins: merged members are put in front,
 * the weakest first, and json_merge_equal_keys() does the rest.
 *
 * libyaml follows YAML 1.1 to the letter, as does Go's converter, which was made from
 * it.  It refuses some JSON, such as characters written in two halves.  Text that it
 * refuses is therefore read once more as JSON. */
#include "data/yaml/yaml.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include <yaml.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/map.h"
#include "data/json/json_keys.h"
#include "data/utf8.h"
#include "data/yaml/yaml_problem.h"
#include "data/yaml/yaml_scalar.h"

enum { ALIAS_VALUES = 100000 };

#define CORE_TAG "tag:yaml.org,2002:"

struct frame {
    struct json *list;
    struct json *merges;
    const char *key;
    uint32_t key_line; /* its place */
    uint32_t key_column;
    bool has_merge_key; /* the next value belongs to a merge key */
    struct map seen;    /* its own keys and their lines; only for notes */
};

struct reader {
    const char *text;
    size_t len;
    const char *name;
    struct arena *mem;
    struct err *err;
    yaml_parser_t parser;
    struct frame frame[JSON_DEPTH];
    size_t depth;
    struct json *root;
    struct map anchors; /* name to struct json */
    size_t copied;      /* values that aliases have made */
    size_t documents;
    uint32_t line; /* of the latest event */
    uint32_t column;
    bool takes_notes;
    struct yaml_note *notes;
    struct yaml_note **last_note; /* where the next one goes */
};

/* ---- complaints ------------------------------------------------------------------ */

static det_status complain_at(const struct reader *r, uint32_t line, uint32_t column,
                              const char *problem)
{
    if (!r->name)
        return err_set(r->err, DET_INVALID, "line %u, column %u: %s", line, column,
                       problem);
    return err_set(r->err, DET_INVALID, "%s:%u:%u: %s", r->name, line, column, problem);
}

static det_status report_problem(const struct reader *r, const char *problem)
{
    return complain_at(r, r->line, r->column, problem);
}

static det_status no_memory(const struct reader *r)
{
    return err_default(r->err, DET_NOMEM);
}

/* Notes something accepted that is probably wrong, at the place of the latest event. */
static det_status add_note(struct reader *r, const char *fmt, ...) PRINTF_LIKE(2, 3);

static det_status add_note(struct reader *r, const char *fmt, ...)
{
    struct yaml_note *copy;
    va_list args;

    if (!r->takes_notes)
        return DET_OK;
    copy = arena_new(r->mem, struct yaml_note);
    if (!copy)
        return no_memory(r);
    va_start(args, fmt);
    copy->text = arena_vprintf(r->mem, fmt, args);
    va_end(args);
    if (!copy->text)
        return no_memory(r);
    copy->line = r->line;
    copy->column = r->column;
    *r->last_note = copy;
    r->last_note = &copy->next;
    return DET_OK;
}

static det_status complain_as_libyaml(const struct reader *r)
{
    struct yaml_problem problem;

    if (r->parser.error == YAML_MEMORY_ERROR)
        return no_memory(r);
    yaml_problem_find(&r->parser, r->text, r->len, &problem);
    return complain_at(r, problem.line, problem.column, problem.text);
}

/* ---- where values go ------------------------------------------------------------- */

static void remember_place(struct reader *r, const yaml_event_t *event)
{
    r->line = (uint32_t)event->start_mark.line + 1;
    r->column = (uint32_t)event->start_mark.column + 1;
}

static struct frame *top_frame(struct reader *r)
{
    return r->depth ? &r->frame[r->depth - 1] : NULL;
}

static bool is_key_due(struct reader *r)
{
    struct frame *f = top_frame(r);

    return f && f->list->kind == JSON_OBJECT && !f->key && !f->has_merge_key;
}

static void append_value(struct json *list, struct json *value)
{
    if (list->list.last)
        list->list.last->next = value;
    else
        list->list.first = value;
    list->list.last = value;
    list->list.count++;
}

static det_status add_merge(struct reader *r, struct frame *f, struct json *value)
{
    f->has_merge_key = false;
    if (!f->merges)
        f->merges = json_new(r->mem, JSON_ARRAY);
    return json_push(f->merges, value) ? DET_OK : no_memory(r);
}

static det_status add_value(struct reader *r, struct json *value)
{
    struct frame *f = top_frame(r);

    if (!f) {
        r->root = value;
        return DET_OK;
    }
    if (f->has_merge_key)
        return add_merge(r, f, value);
    value->key = f->key;
    f->key = NULL;
    append_value(f->list, value);
    return DET_OK;
}

/* Of equal keys the last wins; a file with both is probably wrong. */
static det_status note_again(struct reader *r, struct frame *f)
{
    const void *before;

    if (!r->takes_notes)
        return DET_OK;
    before = smap_get(&f->seen, f->key);
    if (!smap_put(&f->seen, f->key, (void *)(uintptr_t)f->key_line))
        return no_memory(r);
    return before
               ? add_note(r,
                          "the key '%s' is repeated; the value in line %u is ignored",
                          f->key, (unsigned)(uintptr_t)before)
               : DET_OK;
}

static det_status take_key(struct reader *r, const struct json *value)
{
    char text[32];
    const char *key = yaml_key_text(value, text);

    if (!key)
        return report_problem(r, "a key must be a string, a number or a boolean");
    if (value->kind == JSON_STRING && strlen(key) != value->string.len)
        return report_problem(r, "this key holds a NUL character");
    top_frame(r)->key = arena_strdup(r->mem, key);
    top_frame(r)->key_line = value->line;
    top_frame(r)->key_column = value->column;
    return top_frame(r)->key ? note_again(r, top_frame(r)) : no_memory(r);
}

/* ---- anchors ------------------------------------------------------------------- */

static det_status note_anchor(struct reader *r, const yaml_char_t *anchor,
                              struct json *value)
{
    char *name;

    if (!anchor)
        return DET_OK;
    name = arena_strdup(r->mem, (const char *)anchor);
    if (!name || !smap_put(&r->anchors, name, value))
        return no_memory(r);
    return DET_OK;
}

/* Whether there are more than `left` values below; stops counting then. */
static bool is_larger(const struct json *value, size_t *left)
{
    if (!*left)
        return true;
    --*left;
    json_each(item, value) {
        if (is_larger(item, left))
            return true;
    }
    return false;
}

static size_t depth_of(const struct json *value)
{
    size_t deepest = 0;

    json_each(item, value) {
        size_t depth = depth_of(item);

        deepest = MAX(deepest, depth);
    }
    return deepest + (value->kind == JSON_ARRAY || value->kind == JSON_OBJECT);
}

static det_status copy_target(struct reader *r, const struct json *target,
                              struct json **ret_copy)
{
    size_t left = ALIAS_VALUES - r->copied;

    for (size_t i = 0; i < r->depth; i++) {
        if (r->frame[i].list == target)
            return report_problem(r, "this alias is inside its own anchor");
    }
    if (is_larger(target, &left))
        return report_problem(
            r, "the aliases up to here stand for more than 100000 values");
    r->copied = ALIAS_VALUES - left;
    if (depth_of(target) + r->depth > JSON_DEPTH)
        return report_problem(r, "lists and mappings are nested too deeply");
    *ret_copy = json_copy(r->mem, target);
    return *ret_copy ? DET_OK : no_memory(r);
}

static det_status on_alias(struct reader *r, const yaml_event_t *event)
{
    const char *name = (const char *)event->data.alias.anchor;
    const struct json *target = smap_get(&r->anchors, name);
    struct json *copy = NULL;
    char problem[160];
    det_status st;

    remember_place(r, event);
    if (!target) {
        snprintf(problem, sizeof(problem), "there is no anchor '%.100s'", name);
        return report_problem(r, problem);
    }
    st = copy_target(r, target, &copy);
    if (st)
        return st;
    copy->key = NULL;
    return is_key_due(r) ? take_key(r, copy) : add_value(r, copy);
}

/* ---- scalars ------------------------------------------------------------------- */

/* Whether the value is of the kind that the tag asks for. */
static bool fits_tag(const char *tag, const struct json *value)
{
    if (strcmp(tag, "int") == 0)
        return value->kind == JSON_INT ||
               (value->kind == JSON_REAL && value->real == floor(value->real));
    if (strcmp(tag, "float") == 0)
        return value->kind == JSON_INT || value->kind == JSON_REAL;
    if (strcmp(tag, "bool") == 0)
        return value->kind == JSON_BOOL;
    return value->kind == JSON_NULL;
}

static bool is_resolved_tag(const char *tag)
{
    static const char *const tags[] = {"int", "float", "bool", "null"};

    for (size_t i = 0; i < ARRAY_LEN(tags); i++) {
        if (strcmp(tag, tags[i]) == 0)
            return true;
    }
    return false;
}

static const char *tag_of(const yaml_event_t *event)
{
    const char *tag = (const char *)event->data.scalar.tag;

    if (tag && strncmp(tag, CORE_TAG, strlen(CORE_TAG)) == 0)
        tag += strlen(CORE_TAG);
    return tag;
}

/* Without a tag plain words are resolved; with one of the four above everything is; all
 * other tags make strings. */
static det_status resolve_scalar(struct reader *r, const yaml_event_t *event,
                                 struct json *value)
{
    const char *tag = tag_of(event);
    size_t len = event->data.scalar.length;
    char *text = arena_strndup(r->mem, (const char *)event->data.scalar.value, len);

    if (!text)
        return no_memory(r);
    if (tag && strcmp(tag, "binary") == 0)
        return report_problem(r, "binary values cannot be written as JSON");
    if (tag ? is_resolved_tag(tag) : event->data.scalar.plain_implicit) {
        yaml_resolve(text, len, value);
        if (tag && !fits_tag(tag, value))
            return report_problem(r, "the value is not of the kind that its tag says");
        return DET_OK;
    }
    value->kind = JSON_STRING;
    value->string.text = text;
    value->string.len = len;
    return DET_OK;
}

static bool is_plain_word(const yaml_event_t *event)
{
    return event->data.scalar.plain_implicit && !event->data.scalar.tag;
}

static bool is_merge_key(const yaml_event_t *event, const struct json *value)
{
    const char *tag = tag_of(event);

    return (tag ? strcmp(tag, "merge") == 0 : is_plain_word(event)) &&
           value->kind == JSON_STRING && strcmp(value->string.text, "<<") == 0;
}

/* Plain words that become a different value. */
static det_status note_word(struct reader *r, const yaml_event_t *event,
                            const struct json *value)
{
    const char *word = (const char *)event->data.scalar.value;

    if (!r->takes_notes || !is_plain_word(event))
        return DET_OK;
    if (value->kind == JSON_STRING &&
        yaml_is_huge(value->string.text, value->string.len))
        return add_note(r, "%.40s is too large for a number, and is read as a string",
                        value->string.text);
    if (value->kind != JSON_BOOL || !is_key_due(r) ||
        strcmp(word, value->boolean ? "true" : "false") == 0)
        return DET_OK;
    return add_note(
        r, "the key %s is read as '%s'; write \"%s\" to have a key of that name", word,
        value->boolean ? "true" : "false", word);
}

/* JSON has no infinity; the top frame knows the key of this value. */
static det_status complain_of_infinity(struct reader *r)
{
    const struct frame *f = top_frame(r);
    char problem[200];

    if (!f || !f->key)
        return report_problem(r, "infinities and NaN cannot be written as JSON");
    snprintf(
        problem, sizeof(problem),
        "infinities and NaN cannot be written as JSON: give '%.100s' another value",
        f->key);
    return report_problem(r, problem);
}

static det_status on_scalar(struct reader *r, const yaml_event_t *event)
{
    struct json *value = json_new(r->mem, JSON_NULL);
    det_status st;

    if (!value)
        return no_memory(r);
    remember_place(r, event);
    value->line = r->line;
    value->column = r->column;
    st = resolve_scalar(r, event, value);
    if (!st)
        st = note_anchor(r, event->data.scalar.anchor, value);
    if (!st)
        st = note_word(r, event, value);
    if (st)
        return st;
    if (is_key_due(r)) {
        if (!is_merge_key(event, value))
            return take_key(r, value);
        top_frame(r)->has_merge_key = true;
        return DET_OK;
    }
    if (value->kind == JSON_REAL && !isfinite(value->real))
        return complain_of_infinity(r);
    return add_value(r, value);
}

/* ---- lists --------------------------------------------------------------------- */

static det_status open_list(struct reader *r, enum json_kind kind,
                            const yaml_event_t *event, const yaml_char_t *anchor)
{
    struct json *list;
    det_status st;

    remember_place(r, event);
    if (is_key_due(r))
        return report_problem(r, "a key must be a string, a number or a boolean");
    if (r->depth == JSON_DEPTH)
        return report_problem(r, "lists and mappings are nested too deeply");
    list = json_new(r->mem, kind);
    if (!list)
        return no_memory(r);
    list->line = r->line;
    list->column = r->column;
    if (r->depth && top_frame(r)->key && top_frame(r)->key_line &&
        top_frame(r)->key_line < r->line) {
        /* a user who looks for a block finds it by its key */
        list->line = top_frame(r)->key_line;
        list->column = top_frame(r)->key_column;
    }
    st = note_anchor(r, anchor, list);
    if (!st)
        st = add_value(r, list);
    if (st)
        return st;
    r->frame[r->depth++] = (struct frame){.list = list};
    return DET_OK;
}

/* Moves the members of `from` behind those of `to`. */
static void move_members(struct json *to, struct json *from)
{
    if (!from->list.first)
        return;
    if (to->list.last)
        to->list.last->next = from->list.first;
    else
        to->list.first = from->list.first;
    to->list.last = from->list.last;
    to->list.count += from->list.count;
    from->list.first = from->list.last = NULL;
    from->list.count = 0;
}

/* [x, y]: y first, so x wins.  Reverses the list on the way. */
static det_status gather_list(struct reader *r, struct json *gathered,
                              struct json *sources)
{
    struct json *reversed = NULL;

    for (struct json *item = sources->list.first; item;) {
        struct json *next = item->next;

        if (item->kind != JSON_OBJECT)
            return complain_at(r, item->line, item->column,
                               "a merge key needs a mapping or a list of mappings");
        item->next = reversed;
        reversed = item;
        item = next;
    }
    for (; reversed; reversed = reversed->next)
        move_members(gathered, reversed);
    return DET_OK;
}

static det_status apply_merges(struct reader *r, struct frame *f)
{
    struct json *gathered = json_new(r->mem, JSON_OBJECT);

    if (!gathered)
        return no_memory(r);
    json_each(item, f->merges) {
        /* A copy, since the members move and an anchor may stand for the original. */
        struct json *source = json_copy(r->mem, item);
        det_status st = DET_OK;

        if (!source)
            return no_memory(r);
        if (source->kind == JSON_OBJECT)
            move_members(gathered, source);
        else if (source->kind == JSON_ARRAY)
            st = gather_list(r, gathered, source);
        else
            st = complain_at(r, source->line, source->column,
                             "a merge key needs a mapping or a list of mappings");
        if (st)
            return st;
    }
    move_members(gathered, f->list);
    f->list->list = gathered->list;
    return DET_OK;
}

static det_status on_end(struct reader *r)
{
    struct frame *f = top_frame(r);
    det_status st = DET_OK;

    r->depth--;
    map_done(&f->seen);
    if (f->list->kind != JSON_OBJECT)
        return DET_OK;
    if (f->merges)
        st = apply_merges(r, f);
    if (st)
        return st;
    return json_merge_equal_keys(f->list) ? no_memory(r) : DET_OK;
}

/* ---- the stream ---------------------------------------------------------------- */

/* A second document may only be empty, as a trailing "---" makes it. */
static det_status on_further_document(struct reader *r, const yaml_event_t *event)
{
    if (event->type == YAML_DOCUMENT_START_EVENT)
        remember_place(r, event);
    if (event->type == YAML_DOCUMENT_START_EVENT ||
        event->type == YAML_DOCUMENT_END_EVENT ||
        event->type == YAML_STREAM_END_EVENT ||
        (event->type == YAML_SCALAR_EVENT && !event->data.scalar.length))
        return DET_OK;
    return report_problem(r, "a second document begins here; only one can be read");
}

static det_status on_event(struct reader *r, const yaml_event_t *event)
{
    if (event->type == YAML_DOCUMENT_START_EVENT)
        r->documents++;
    if (r->documents > 1)
        return on_further_document(r, event);
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return on_scalar(r, event);
    case YAML_ALIAS_EVENT:
        return on_alias(r, event);
    case YAML_MAPPING_START_EVENT:
        return open_list(r, JSON_OBJECT, event, event->data.mapping_start.anchor);
    case YAML_SEQUENCE_START_EVENT:
        return open_list(r, JSON_ARRAY, event, event->data.sequence_start.anchor);
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        return on_end(r);
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        break;
    }
    return DET_OK;
}

static det_status read_stream(struct reader *r)
{
    bool is_end = false;
    det_status st = DET_OK;

    while (!st && !is_end) {
        yaml_event_t event;

        if (!yaml_parser_parse(&r->parser, &event))
            return complain_as_libyaml(r);
        is_end = event.type == YAML_STREAM_END_EVENT;
        st = on_event(r, &event);
        yaml_event_delete(&event);
    }
    return st;
}

static det_status read_events(struct reader *r)
{
    det_status st;

    if (!yaml_parser_initialize(&r->parser))
        return no_memory(r);
    yaml_parser_set_input_string(&r->parser, (const unsigned char *)r->text, r->len);
    st = read_stream(r);
    yaml_parser_delete(&r->parser);
    return st;
}

/* Problems that libyaml describes badly. */
static det_status check_bytes(struct reader *r)
{
    const char *nul = memchr(r->text, '\0', r->len);
    size_t valid = utf8_valid(r->text, nul ? (size_t)(nul - r->text) : r->len);

    if (valid == r->len)
        return DET_OK;
    yaml_place(r->text, valid, &r->line, &r->column);
    return report_problem(r, r->text[valid] ? "this is not UTF-8" : "a NUL character");
}

/* `st` says why the text is not YAML; it stays if the text is not JSON either. */
static det_status run_as_json(struct reader *r, det_status st)
{
    det_status json = json_parse(r->text, r->len, r->mem, &r->root, NULL);

    if (json == DET_INVALID)
        return st;
    return json ? no_memory(r) : DET_OK;
}

static det_status parse_text(const char *text, size_t len, const char *name,
                             struct arena *mem, const struct yaml_note **ret_notes,
                             struct json **ret_json, struct err *err)
{
    struct reader r;
    det_status st;

    memset(&r, 0, sizeof(r));
    r.takes_notes = ret_notes != NULL;
    r.last_note = &r.notes;
    r.text = text;
    r.len = len;
    r.name = name;
    r.mem = mem;
    r.err = err;
    st = check_bytes(&r);
    if (!st)
        st = read_events(&r);
    if (st == DET_INVALID)
        st = run_as_json(&r, st);
    map_done(&r.anchors);
    for (size_t i = 0; i < r.depth; i++)
        map_done(&r.frame[i].seen);
    if (st)
        return st;

    if (!r.root)
        r.root = json_new(mem, JSON_NULL);
    if (!r.root)
        return err_default(err, DET_NOMEM);
    *ret_json = r.root;
    if (ret_notes)
        *ret_notes = r.notes;
    return DET_OK;
}

det_status yaml_parse(const char *text, size_t len, const char *name, struct arena *mem,
                      struct json **ret_json, struct err *err)
{
    return parse_text(text, len, name, mem, NULL, ret_json, err);
}

det_status yaml_parse_noting(const char *text, size_t len, const char *name,
                             struct arena *mem, const struct yaml_note **ret_notes,
                             struct json **ret_json, struct err *err)
{
    return parse_text(text, len, name, mem, ret_notes, ret_json, err);
}
