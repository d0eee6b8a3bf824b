/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - parses text to a tree, with yajl's event parser.
 *
 * yajl reports strings as pointers into the text and does not recurse: a parse costs
 * one copy of each string and no stack.  We do three things around it:
 *
 *   1. yajl does not check the result of its allocator.  Its memory comes from a
 *      scratch arena that leaves by longjmp() when it is empty; nothing leaks, since
 *      the arena is freed as a whole.
 *   2. yajl accepts some invalid UTF-8.  We check the text before, in one pass, and
 *      replace halves of surrogate pairs written as escapes by U+FFFD.
 *   3. when an object ends we look for equal keys (json_keys.c). */
#include "data/json/json.h"

#include <setjmp.h>
#include <string.h>

#include <yajl/yajl_parse.h>

#include "base/memory/arena.h"
#include "data/json/json_keys.h"
#include "data/number.h"
#include "data/utf8.h"

enum {
    SCRATCH_LEAST = 64 * 1024,
    LONG_STRING = 1024, /* worth borrowing */
    BLOCK_HEAD = 16,    /* keeps the following bytes aligned */
};

struct parser {
    const char *text;
    char *own; /* the text, if it may be changed */
    size_t len;
    struct arena *mem;
    struct json *root;
    struct json *open[JSON_DEPTH]; /* lists that have begun and not ended */
    size_t depth;
    const char *key; /* of the value that comes next */
    det_status status;
    const char *problem;
    struct arena scratch;
    jmp_buf no_memory;
};

/* ---- yajl's memory ------------------------------------------------------------- */

static void *scratch_alloc(void *ctx, size_t size)
{
    struct parser *p = ctx;
    size_t *block = arena_alloc(&p->scratch, size + BLOCK_HEAD);

    if (!block)
        longjmp(p->no_memory, 1);
    *block = size;
    return (char *)block + BLOCK_HEAD;
}

static void *scratch_resize(void *ctx, void *old, size_t size)
{
    size_t old_size;
    void *block;

    if (!old)
        return scratch_alloc(ctx, size);
    memcpy(&old_size, (char *)old - BLOCK_HEAD, sizeof(old_size));
    if (size <= old_size)
        return old;
    block = scratch_alloc(ctx, size);
    memcpy(block, old, old_size);
    return block;
}

static void scratch_free(void *ctx, void *block)
{
    (void)ctx;
    (void)block;
}

/* ---- yajl's events ------------------------------------------------------------- */

/* For yajl, 0 ends the parse. */
static int stop_parse(struct parser *p, det_status status, const char *problem)
{
    p->status = status;
    p->problem = problem;
    return 0;
}

static int add_value(struct parser *p, struct json *value)
{
    struct json *list = p->depth ? p->open[p->depth - 1] : NULL;

    if (!value)
        return stop_parse(p, DET_NOMEM, NULL);
    value->key = p->key;
    p->key = NULL;
    if (!list) {
        p->root = value;
        return 1;
    }
    if (list->list.last)
        list->list.last->next = value;
    else
        list->list.first = value;
    list->list.last = value;
    list->list.count++;
    return 1;
}

static int on_null(void *ctx)
{
    struct parser *p = ctx;

    return add_value(p, json_new(p->mem, JSON_NULL));
}

static int on_boolean(void *ctx, int value)
{
    struct parser *p = ctx;

    return add_value(p, json_new_bool(p->mem, value));
}

static int on_number(void *ctx, const char *text, size_t len)
{
    struct parser *p = ctx;
    int64_t integer;
    double real;

    if (number_to_i64(text, len, &integer))
        return add_value(p, json_new_i64(p->mem, integer));
    if (number_to_real(text, len, &real))
        return add_value(p, json_new_real(p->mem, real));
    return stop_parse(p, DET_INVALID, "this number is out of range");
}

/* yajl writes half a surrogate pair as three bytes of invalid UTF-8; U+FFFD has three
 * bytes as well.  Only decoded strings can contain one. */
static void mend_surrogates(const struct parser *p, const char *source, char *copy,
                            size_t len)
{
    if (source >= p->text && source <= p->text + p->len)
        return;
    for (size_t at = utf8_valid(copy, len); at < len;
         at += utf8_valid(copy + at, len - at)) {
        size_t step = MIN((size_t)3, len - at);

        memcpy(copy + at, "\xEF\xBF\xBD", step);
        at += step;
    }
}

/* yajl has read the quote behind the string; there the NUL goes. */
static char *borrow(const struct parser *p, const unsigned char *text, size_t len)
{
    const char *at = (const char *)text;

    if (!p->own || len < LONG_STRING || at < p->text || at >= p->text + p->len)
        return NULL;
    p->own[at - p->text + (ptrdiff_t)len] = '\0';
    return p->own + (at - p->text);
}

static int on_string(void *ctx, const unsigned char *text, size_t len)
{
    struct parser *p = ctx;
    char *borrowed = borrow(p, text, len);
    /* One piece of memory for the node and its text. */
    struct json *value = arena_alloc(p->mem, sizeof(*value) + (borrowed ? 0 : len + 1));

    if (!value)
        return stop_parse(p, DET_NOMEM, NULL);
    if (!borrowed) {
        char *copy = (char *)(value + 1);

        memcpy(copy, text, len);
        mend_surrogates(p, (const char *)text, copy, len);
        borrowed = copy;
    }
    value->kind = JSON_STRING;
    value->string.text = borrowed;
    value->string.len = len;
    return add_value(p, value);
}

static int on_key(void *ctx, const unsigned char *text, size_t len)
{
    struct parser *p = ctx;
    char *copy;

    if (memchr(text, '\0', len))
        return stop_parse(p, DET_INVALID, "this key holds a NUL character");
    copy = arena_strndup(p->mem, (const char *)text, len);
    if (!copy)
        return stop_parse(p, DET_NOMEM, NULL);
    mend_surrogates(p, (const char *)text, copy, len);
    p->key = copy;
    return 1;
}

static int open_list(struct parser *p, enum json_kind kind)
{
    struct json *list;

    if (p->depth == JSON_DEPTH)
        return stop_parse(p, DET_INVALID, "lists and objects are nested too deeply");
    list = json_new(p->mem, kind);
    if (!add_value(p, list))
        return 0;
    p->open[p->depth++] = list;
    return 1;
}

static int on_object(void *ctx)
{
    return open_list(ctx, JSON_OBJECT);
}

static int on_array(void *ctx)
{
    return open_list(ctx, JSON_ARRAY);
}

static int on_end_object(void *ctx)
{
    struct parser *p = ctx;
    det_status st = json_merge_equal_keys(p->open[--p->depth]);

    return st ? stop_parse(p, st, NULL) : 1;
}

static int on_end_array(void *ctx)
{
    struct parser *p = ctx;

    p->depth--;
    return 1;
}

static const yajl_callbacks callbacks = {
    .yajl_null = on_null,
    .yajl_boolean = on_boolean,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_object,
    .yajl_map_key = on_key,
    .yajl_end_map = on_end_object,
    .yajl_start_array = on_array,
    .yajl_end_array = on_end_array,
};

/* ---- complaints ------------------------------------------------------------------ */

/* `offset` is that of the wrong byte. */
static det_status report_problem(const struct parser *p, size_t offset,
                                 const char *problem, struct err *err)
{
    size_t line = 1;
    size_t column = 1;

    for (size_t i = 0; i < offset && i < p->len; i++) {
        column++;
        if (p->text[i] == '\n') {
            line++;
            column = 1;
        }
    }
    return err_set(err, DET_INVALID, "line %zu, column %zu: %s", line, column, problem);
}

/* yajl says "lexical error: invalid char in json text.\n"; we keep the middle. */
static det_status complain_as_yajl(const struct parser *p, yajl_handle yajl,
                                   size_t offset, struct err *err)
{
    const char *said = (const char *)yajl_get_error(yajl, 0, NULL, 0);
    const char *text = said ? said : "";
    const char *colon = strstr(text, ": ");
    const char *middle = colon ? colon + 2 : text;
    size_t len = strcspn(middle, "\n");
    char problem[256];

    /* The bytes read include the wrong one, except in the middle of a token. */
    if (offset && (!strstr(text, "lexical") || strstr(text, "invalid char in ")))
        offset--;
    while (len && (middle[len - 1] == '.' || middle[len - 1] == ' '))
        len--;
    snprintf(problem, sizeof(problem), "%.*s", (int)len, middle);
    return report_problem(p, offset, problem, err);
}

/* Nothing of this frame is used after the jump. */
static det_status run_parser(struct parser *p, struct err *err)
{
    yajl_alloc_funcs afs = {scratch_alloc, scratch_resize, scratch_free, p};
    yajl_handle yajl;
    size_t offset;

    if (setjmp(p->no_memory))
        return err_default(err, DET_NOMEM);

    yajl = yajl_alloc(&callbacks, &afs, p);
    yajl_config(yajl, yajl_dont_validate_strings, 1); /* checked already */
    if (yajl_parse(yajl, (const unsigned char *)p->text, p->len) == yajl_status_ok) {
        if (yajl_complete_parse(yajl) == yajl_status_ok)
            return DET_OK;
        offset = p->len + 1; /* behind the end */
    } else {
        offset = yajl_get_bytes_consumed(yajl);
    }
    if (p->status == DET_NOMEM)
        return err_default(err, DET_NOMEM);
    if (p->status)
        return report_problem(p, offset - (offset > 0), p->problem, err);
    return complain_as_yajl(p, yajl, offset, err);
}

static det_status parse(const char *text, char *own, size_t len, struct arena *mem,
                        struct json **ret_json, struct err *err)
{
    struct parser p;
    size_t valid = utf8_valid(text, len);
    det_status st;

    /* Not all of it is zeroed: `open` is large, and small bodies are the hot path. */
    p.text = text;
    p.own = own;
    p.len = len;
    p.mem = mem;
    p.root = NULL;
    p.depth = 0;
    p.key = NULL;
    p.status = DET_OK;
    p.scratch = (struct arena)ARENA_INIT(SCRATCH_LEAST + 8 * len);
    p.scratch.part =
        (struct allowance_part){.from = mem->part.from, .group = mem->part.group};
    if (valid < len)
        return report_problem(&p, valid, "this is not UTF-8", err);
    st = run_parser(&p, err);
    arena_done(&p.scratch);
    if (st)
        return st;

    *ret_json = p.root;
    return DET_OK;
}

det_status json_parse(const char *text, size_t len, struct arena *mem,
                      struct json **ret_json, struct err *err)
{
    return parse(text, NULL, len, mem, ret_json, err);
}

det_status json_parse_in_place(char *text, size_t len, struct arena *mem,
                               struct json **ret_json, struct err *err)
{
    return parse(text, text, len, mem, ret_json, err);
}
