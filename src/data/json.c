/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - text to tree, on yajl's event parser.
 *
 * yajl reports strings as pointers into the text and does not recurse, so that a parse
 * costs one copy of each string and no stack.  Three things are done around it:
 *
 *   1. yajl does not look at what its allocator returns.  Its memory comes from a
 *      scratch arena that leaves by longjmp() when it is empty; nothing is lost,
 *      since the arena is thrown away as a whole.
 *   2. its idea of UTF-8 is generous.  The text is checked before, in one pass, and
 *      halves of surrogate pairs written as escapes become U+FFFD.
 *   3. equal keys are looked for when an object ends (json_keys.c). */
#include "data/json.h"

#include <setjmp.h>
#include <string.h>

#include <yajl/yajl_parse.h>

#include "base/arena.h"
#include "data/json_keys.h"
#include "data/number.h"
#include "data/utf8.h"

enum {
    SCRATCH_LEAST = 64 * 1024,
    BLOCK_HEAD = 16, /* keeps what follows aligned */
};

struct parser {
    const char *text;
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

/* yajl's words: 0 ends the parse. */
static int stop(struct parser *p, det_status status, const char *problem)
{
    p->status = status;
    p->problem = problem;
    return 0;
}

static int add(struct parser *p, struct json *value)
{
    struct json *list = p->depth ? p->open[p->depth - 1] : NULL;

    if (!value)
        return stop(p, DET_NOMEM, NULL);
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

    return add(p, json_new(p->mem, JSON_NULL));
}

static int on_boolean(void *ctx, int value)
{
    struct parser *p = ctx;

    return add(p, json_new_bool(p->mem, value));
}

static int on_number(void *ctx, const char *text, size_t len)
{
    struct parser *p = ctx;
    int64_t integer;
    double real;

    if (number_to_i64(text, len, &integer))
        return add(p, json_new_i64(p->mem, integer));
    if (number_to_real(text, len, &real))
        return add(p, json_new_real(p->mem, real));
    return stop(p, DET_INVALID, "this number is out of range");
}

/* yajl writes half a surrogate pair as three bytes that are no UTF-8; U+FFFD has three
 * bytes as well.  Only what was decoded can hold one. */
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

static int on_string(void *ctx, const unsigned char *text, size_t len)
{
    struct parser *p = ctx;
    /* One piece of memory for the node and its text. */
    struct json *value = arena_alloc(p->mem, sizeof(*value) + len + 1);
    char *copy;

    if (!value)
        return stop(p, DET_NOMEM, NULL);
    copy = (char *)(value + 1);
    memcpy(copy, text, len);
    mend_surrogates(p, (const char *)text, copy, len);
    value->kind = JSON_STRING;
    value->string.text = copy;
    value->string.len = len;
    return add(p, value);
}

static int on_key(void *ctx, const unsigned char *text, size_t len)
{
    struct parser *p = ctx;
    char *copy;

    if (memchr(text, '\0', len))
        return stop(p, DET_INVALID, "this key holds a NUL character");
    copy = arena_strndup(p->mem, (const char *)text, len);
    if (!copy)
        return stop(p, DET_NOMEM, NULL);
    mend_surrogates(p, (const char *)text, copy, len);
    p->key = copy;
    return 1;
}

static int open_list(struct parser *p, enum json_kind kind)
{
    struct json *list;

    if (p->depth == JSON_DEPTH)
        return stop(p, DET_INVALID, "lists and objects are nested too deeply");
    list = json_new(p->mem, kind);
    if (!add(p, list))
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

    return st ? stop(p, st, NULL) : 1;
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

/* `offset` is that of the byte which is wrong. */
static det_status complain(const struct parser *p, size_t offset, const char *problem,
                           struct err *err)
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

/* yajl says "lexical error: invalid char in json text.\n"; the middle is wanted. */
static void shorten(char *text)
{
    char *colon = strstr(text, ": ");
    size_t len;

    if (colon)
        memmove(text, colon + 2, strlen(colon + 2) + 1);
    len = strcspn(text, "\n");
    while (len && (text[len - 1] == '.' || text[len - 1] == ' '))
        len--;
    text[len] = '\0';
}

static det_status complain_as_yajl(const struct parser *p, yajl_handle yajl,
                                   size_t offset, struct err *err)
{
    const char *said = (const char *)yajl_get_error(yajl, 0, NULL, 0);
    char problem[256];

    snprintf(problem, sizeof(problem), "%s", said ? said : "");
    /* The bytes it has read count the culprit, except in the middle of a token. */
    if (offset && (!strstr(problem, "lexical") || strstr(problem, "invalid char in ")))
        offset--;
    shorten(problem);
    return complain(p, offset, problem, err);
}

/* Nothing of this frame is used after the jump. */
static det_status run(struct parser *p, struct err *err)
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
        return complain(p, offset - (offset > 0), p->problem, err);
    return complain_as_yajl(p, yajl, offset, err);
}

det_status json_parse(const char *text, size_t len, struct arena *mem,
                      struct json **ret_json, struct err *err)
{
    struct parser p;
    size_t valid = utf8_valid(text, len);
    det_status st;

    /* Not all of it is zeroed: `open` is large, and small bodies are the hot path. */
    p.text = text;
    p.len = len;
    p.mem = mem;
    p.root = NULL;
    p.depth = 0;
    p.key = NULL;
    p.status = DET_OK;
    p.scratch = (struct arena)ARENA_INIT(SCRATCH_LEAST + 8 * len);
    if (valid < len)
        return complain(&p, valid, "this is not UTF-8", err);
    st = run(&p, err);
    arena_done(&p.scratch);
    if (st)
        return st;

    *ret_json = p.root;
    return DET_OK;
}
