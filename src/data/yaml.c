/* SPDX-License-Identifier: Apache-2.0 */
/* yaml.c - YAML text to the tree of json.h, on libfyaml's event parser.
 *
 * Events build the tree directly.  A frame is a list that has begun and not ended:
 *
 *   key      the name that the next value of a mapping gets, NULL when a key is due
 *   merges   the values of its merge keys ("<<"), applied when the mapping ends
 *
 * An alias is a copy of what its anchor stands for, since callers change trees in
 * place.  Copies are counted, so that a small file cannot grow into a large tree.
 *
 * Of equal keys the last wins; a mapping's own keys win over merged ones, and of
 * several merged mappings in one list the first wins: merged members are put in front,
 * the weakest first, and json_merge_equal_keys() does the rest.
 *
 * libfyaml prints nothing: its diagnostics are collected and the first is told. */
#include "data/yaml.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include <libfyaml.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/map.h"
#include "data/json_keys.h"
#include "data/utf8.h"
#include "data/yaml_quoted.h"
#include "data/yaml_scalar.h"

enum { ALIAS_VALUES = 100000 };

#define CORE_TAG "tag:yaml.org,2002:"

struct frame {
    struct json *list;
    struct json *merges;
    const char *key;
    uint32_t key_line; /* where it stands */
    uint32_t key_column;
    bool has_merge_key; /* the next value belongs to a merge key */
    struct map seen;    /* its own keys, and the lines they stand in; only for notes */
};

struct reader {
    const char *text;
    size_t len;
    const char *name;
    struct arena *mem;
    struct err *err;
    struct fy_diag *diag;
    struct fy_parser *parser;
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
    struct yaml_note **last_note; /* where the next goes */
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

static det_status complain(const struct reader *r, const char *problem)
{
    return complain_at(r, r->line, r->column, problem);
}

static det_status no_memory(const struct reader *r)
{
    return err_default(r->err, DET_NOMEM);
}

/* What is accepted, but should be looked at; stands where the latest event does. */
static det_status note(struct reader *r, const char *fmt, ...) PRINTF_LIKE(2, 3);

static det_status note(struct reader *r, const char *fmt, ...)
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

/* The first thing libfyaml had to say; nothing means that its memory was out.  A tab
 * that indents, which no editor shows, has it stumble there or over the line before. */
static det_status complain_as_fyaml(const struct reader *r)
{
    void *at = NULL;
    const struct fy_diag_error *error = fy_diag_errors_iterate(r->diag, &at);

    if (!error)
        return no_memory(r);
    for (int line = error->line; error->line > 0 && line <= error->line + 1; line++) {
        uint32_t column = yaml_indenting_tab(r->text, r->len, (uint32_t)line);

        if (column)
            return complain_at(r, (uint32_t)line, column,
                               "a tab stands in the indentation; YAML wants spaces");
    }
    return complain_at(r, error->line > 0 ? (uint32_t)error->line : r->line,
                       error->column > 0 ? (uint32_t)error->column : r->column,
                       error->msg ? error->msg : "this is not YAML");
}

static void swallow(struct fy_diag *diag, void *user, const char *text, size_t len)
{
    (void)diag;
    (void)user;
    (void)text;
    (void)len;
}

/* ---- where values go ------------------------------------------------------------- */

static void remember_place(struct reader *r, struct fy_token *token)
{
    const struct fy_mark *mark = token ? fy_token_start_mark(token) : NULL;

    if (!mark)
        return;
    r->line = (uint32_t)mark->line + 1;
    r->column = (uint32_t)mark->column + 1;
}

static char *token_text(const struct reader *r, struct fy_token *token, size_t *ret_len)
{
    const char *text = token ? fy_token_get_text(token, ret_len) : NULL;

    if (!text) {
        text = "";
        *ret_len = 0;
    }
    return arena_strndup(r->mem, text, *ret_len);
}

static struct frame *top(struct reader *r)
{
    return r->depth ? &r->frame[r->depth - 1] : NULL;
}

static bool is_key_due(struct reader *r)
{
    struct frame *f = top(r);

    return f && f->list->kind == JSON_OBJECT && !f->key && !f->has_merge_key;
}

static void append(struct json *list, struct json *value)
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

static det_status add(struct reader *r, struct json *value)
{
    struct frame *f = top(r);

    if (!f) {
        r->root = value;
        return DET_OK;
    }
    if (f->has_merge_key)
        return add_merge(r, f, value);
    value->key = f->key;
    f->key = NULL;
    append(f->list, value);
    return DET_OK;
}

/* Of equal keys the last wins, which nobody means who writes both. */
static det_status note_again(struct reader *r, struct frame *f)
{
    const void *before;

    if (!r->takes_notes)
        return DET_OK;
    before = smap_get(&f->seen, f->key);
    if (!smap_put(&f->seen, f->key, (void *)(uintptr_t)f->key_line))
        return no_memory(r);
    return before
               ? note(r,
                      "the key '%s' comes again: what line %u gives it does not count",
                      f->key, (unsigned)(uintptr_t)before)
               : DET_OK;
}

static det_status take_key(struct reader *r, const struct json *value)
{
    char text[32];
    const char *key = yaml_key_text(value, text);

    if (!key)
        return complain(r, "a key must be a string, a number or a boolean");
    if (value->kind == JSON_STRING && strlen(key) != value->string.len)
        return complain(r, "this key holds a NUL character");
    top(r)->key = arena_strdup(r->mem, key);
    top(r)->key_line = value->line;
    top(r)->key_column = value->column;
    return top(r)->key ? note_again(r, top(r)) : no_memory(r);
}

/* ---- anchors ------------------------------------------------------------------- */

static det_status note_anchor(struct reader *r, struct fy_token *token,
                              struct json *value)
{
    size_t len;
    char *name;

    if (!token)
        return DET_OK;
    name = token_text(r, token, &len);
    if (!name || !smap_put(&r->anchors, name, value))
        return no_memory(r);
    return DET_OK;
}

/* Whether more than `left` values hang below, without counting further. */
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
            return complain(r, "this alias stands inside its own anchor");
    }
    if (is_larger(target, &left))
        return complain(r, "the aliases up to here stand for more than 100000 values");
    r->copied = ALIAS_VALUES - left;
    if (depth_of(target) + r->depth > JSON_DEPTH)
        return complain(r, "lists and mappings are nested too deeply");
    *ret_copy = json_copy(r->mem, target);
    return *ret_copy ? DET_OK : no_memory(r);
}

static det_status on_alias(struct reader *r, const struct fy_event *event)
{
    const struct json *target;
    struct json *copy = NULL;
    char problem[160];
    size_t len;
    char *name;
    det_status st;

    remember_place(r, event->alias.anchor);
    name = token_text(r, event->alias.anchor, &len);
    if (!name)
        return no_memory(r);
    target = smap_get(&r->anchors, name);
    if (!target) {
        snprintf(problem, sizeof(problem), "there is no anchor '%.100s'", name);
        return complain(r, problem);
    }
    st = copy_target(r, target, &copy);
    if (st)
        return st;
    copy->key = NULL;
    return is_key_due(r) ? take_key(r, copy) : add(r, copy);
}

/* ---- scalars ------------------------------------------------------------------- */

/* Tokens are marked without their quotes. */
static char *scalar_text(const struct reader *r, struct fy_token *token,
                         size_t *ret_len)
{
    const struct fy_mark *start = token ? fy_token_start_mark(token) : NULL;
    const struct fy_mark *end = token ? fy_token_end_mark(token) : NULL;
    enum fy_scalar_style style = token ? fy_token_scalar_style(token) : FYSS_PLAIN;

    if ((style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED) && start && end &&
        start->input_pos < end->input_pos && end->input_pos < r->len)
        return yaml_unquote(r->mem, r->text + start->input_pos,
                            end->input_pos - start->input_pos, ret_len);
    return token_text(r, token, ret_len);
}

/* The kind that a tag asks for fits the one that was found. */
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

/* Without a tag plain words are resolved; with one of the four above everything is; all
 * other tags make strings. */
static det_status resolve(struct reader *r, const struct fy_event *event,
                          struct json *value)
{
    bool is_plain = !event->scalar.value ||
                    fy_token_scalar_style(event->scalar.value) == FYSS_PLAIN;
    size_t len;
    char *text = scalar_text(r, event->scalar.value, &len);
    size_t tag_len = 0;
    char *tag = NULL;

    if (event->scalar.tag) {
        tag = token_text(r, event->scalar.tag, &tag_len);
        if (!tag)
            return no_memory(r);
        if (strncmp(tag, CORE_TAG, strlen(CORE_TAG)) == 0)
            tag += strlen(CORE_TAG);
    }
    if (!text)
        return no_memory(r);
    if (tag && strcmp(tag, "binary") == 0)
        return complain(r, "binary values cannot be written as JSON");
    if (tag ? is_resolved_tag(tag) : is_plain) {
        yaml_resolve(text, len, value);
        if (tag && !fits_tag(tag, value))
            return complain(r, "the value is not of the kind that its tag says");
        return DET_OK;
    }
    value->kind = JSON_STRING;
    value->string.text = text;
    value->string.len = len;
    return DET_OK;
}

static bool is_merge_key(const struct fy_event *event, const struct json *value)
{
    return !event->scalar.tag && event->scalar.value &&
           fy_token_scalar_style(event->scalar.value) == FYSS_PLAIN &&
           value->kind == JSON_STRING && strcmp(value->string.text, "<<") == 0;
}

/* Plain words that become something else than what stands there. */
static det_status note_word(struct reader *r, const struct fy_event *event,
                            const struct json *value)
{
    const char *word;
    size_t len;

    if (!r->takes_notes || event->scalar.tag || !event->scalar.value ||
        fy_token_scalar_style(event->scalar.value) != FYSS_PLAIN)
        return DET_OK;
    if (value->kind == JSON_STRING &&
        yaml_is_huge(value->string.text, value->string.len))
        return note(r, "%.40s is too large for a number, and is read as a string",
                    value->string.text);
    if (value->kind != JSON_BOOL || !is_key_due(r))
        return DET_OK;
    word = token_text(r, event->scalar.value, &len);
    if (!word)
        return no_memory(r);
    if (strcmp(word, value->boolean ? "true" : "false") == 0)
        return DET_OK;
    return note(r,
                "the key %s is read as '%s'; write \"%s\" to have a key of that name",
                word, value->boolean ? "true" : "false", word);
}

/* JSON has none; `top` says of which key it is the value. */
static det_status complain_of_infinity(struct reader *r)
{
    const struct frame *f = top(r);
    char problem[200];

    if (!f || !f->key)
        return complain(r, "infinities and NaN cannot be written as JSON");
    snprintf(
        problem, sizeof(problem),
        "infinities and NaN cannot be written as JSON: give '%.100s' another value",
        f->key);
    return complain(r, problem);
}

/* Text that is indented too little libfyaml ends with bytes that nobody wrote. */
static det_status check_block(struct reader *r, const struct json *value)
{
    const struct frame *f = top(r);
    const char *text = value->kind == JSON_STRING ? value->string.text : "";
    bool is_key_before = f && f->key && f->key_line + 1 == value->line;

    if (!f || text[strspn(text, "\n")] == '\0' ||
        yaml_block_is_indented(r->text, r->len, value->line,
                               is_key_before ? f->key_column : 0))
        return DET_OK;
    return complain(r, "text behind '|' or '>' is indented more than its key and line");
}

static det_status on_scalar(struct reader *r, const struct fy_event *event)
{
    struct json *value = json_new(r->mem, JSON_NULL);
    det_status st;

    if (!value)
        return no_memory(r);
    remember_place(r, event->scalar.value);
    value->line = r->line;
    value->column = r->column;
    st = resolve(r, event, value);
    if (!st)
        st = note_anchor(r, event->scalar.anchor, value);
    if (!st)
        st = note_word(r, event, value);
    if (st)
        return st;
    if (is_key_due(r)) {
        if (!is_merge_key(event, value))
            return take_key(r, value);
        top(r)->has_merge_key = true;
        return DET_OK;
    }
    if (value->kind == JSON_REAL && !isfinite(value->real))
        return complain_of_infinity(r);
    if (event->scalar.value &&
        fy_token_scalar_style(event->scalar.value) >= FYSS_LITERAL)
        st = check_block(r, value);
    return st ? st : add(r, value);
}

/* ---- lists --------------------------------------------------------------------- */

static det_status open_list(struct reader *r, enum json_kind kind,
                            struct fy_token *start, struct fy_token *anchor)
{
    struct json *list;
    det_status st;

    remember_place(r, start);
    if (is_key_due(r))
        return complain(r, "a key must be a string, a number or a boolean");
    if (r->depth == JSON_DEPTH)
        return complain(r, "lists and mappings are nested too deeply");
    list = json_new(r->mem, kind);
    if (!list)
        return no_memory(r);
    list->line = r->line;
    list->column = r->column;
    if (r->depth && top(r)->key && top(r)->key_line && top(r)->key_line < r->line) {
        /* whoever looks for a block is best led to its key */
        list->line = top(r)->key_line;
        list->column = top(r)->key_column;
    }
    st = note_anchor(r, anchor, list);
    if (!st)
        st = add(r, list);
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

/* [x, y]: y first, so that x wins.  Turns the list around on the way. */
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
    struct frame *f = top(r);
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
static det_status on_further_document(struct reader *r, const struct fy_event *event)
{
    size_t len = 0;

    if (event->type == FYET_DOCUMENT_START)
        remember_place(r, event->document_start.document_start);
    if (event->type == FYET_DOCUMENT_START || event->type == FYET_DOCUMENT_END ||
        event->type == FYET_STREAM_END)
        return DET_OK;
    if (event->type == FYET_SCALAR) {
        if (!event->scalar.value || !fy_token_get_text(event->scalar.value, &len) ||
            !len)
            return DET_OK;
    }
    return complain(r, "a second document begins here; only one can be read");
}

static det_status on_event(struct reader *r, const struct fy_event *event)
{
    if (event->type == FYET_DOCUMENT_START)
        r->documents++;
    if (r->documents > 1)
        return on_further_document(r, event);
    switch (event->type) {
    case FYET_SCALAR:
        return on_scalar(r, event);
    case FYET_ALIAS:
        return on_alias(r, event);
    case FYET_MAPPING_START:
        return open_list(r, JSON_OBJECT, event->mapping_start.mapping_start,
                         event->mapping_start.anchor);
    case FYET_SEQUENCE_START:
        return open_list(r, JSON_ARRAY, event->sequence_start.sequence_start,
                         event->sequence_start.anchor);
    case FYET_MAPPING_END:
    case FYET_SEQUENCE_END:
        return on_end(r);
    case FYET_NONE:
    case FYET_STREAM_START:
    case FYET_STREAM_END:
    case FYET_DOCUMENT_START:
    case FYET_DOCUMENT_END:
        break;
    }
    return DET_OK;
}

static det_status read_stream(struct reader *r)
{
    for (;;) {
        struct fy_event *event = fy_parser_parse(r->parser);
        bool is_end;
        det_status st;

        if (!event)
            return fy_parser_get_stream_error(r->parser) ? complain_as_fyaml(r)
                                                         : DET_OK;
        is_end = event->type == FYET_STREAM_END;
        st = on_event(r, event);
        fy_parser_event_free(r->parser, event);
        if (st || is_end)
            return st;
    }
}

static det_status run(struct reader *r, const char *text, size_t len)
{
    struct fy_diag_cfg diag_cfg = {.output_fn = swallow, .level = FYET_ERROR};
    struct fy_parse_cfg cfg = {
        .flags = FYPCF_JSON_NONE | FYPCF_DISABLE_DEPTH_LIMIT |
                 FYPCF_SLOPPY_FLOW_INDENTATION | FYPCF_DISABLE_MMAP_OPT,
    };
    det_status st = DET_NOMEM;

    diag_cfg.module_mask = ~0u;
    r->diag = fy_diag_create(&diag_cfg);
    if (!r->diag)
        return no_memory(r);
    fy_diag_set_collect_errors(r->diag, true);
    cfg.diag = r->diag;
    r->parser = fy_parser_create(&cfg);
    if (r->parser && fy_parser_set_string(r->parser, text, len) == 0)
        st = read_stream(r);
    if (r->parser)
        fy_parser_destroy(r->parser);
    fy_diag_destroy(r->diag);
    return st == DET_NOMEM ? no_memory(r) : st;
}

/* What libfyaml would take for the end of the text, or for text that it is not. */
static det_status check_bytes(struct reader *r, const char *text, size_t len)
{
    const char *nul = memchr(text, '\0', len);
    size_t valid = nul ? (size_t)(nul - text) : len;

    valid = utf8_valid(text, valid);
    if (valid == len)
        return DET_OK;
    r->line = r->column = 1;
    for (size_t i = 0; i < valid; i++) {
        r->column++;
        if (text[i] == '\n') {
            r->line++;
            r->column = 1;
        }
    }
    return complain(r, text[valid] ? "this is not UTF-8" : "a NUL character");
}

static det_status parse(const char *text, size_t len, const char *name,
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
    st = check_bytes(&r, text, len);
    if (!st && len)
        st = run(&r, text, len);
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
    return parse(text, len, name, mem, NULL, ret_json, err);
}

det_status yaml_parse_noting(const char *text, size_t len, const char *name,
                             struct arena *mem, const struct yaml_note **ret_notes,
                             struct json **ret_json, struct err *err)
{
    return parse(text, len, name, mem, ret_notes, ret_json, err);
}
