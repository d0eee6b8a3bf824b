/* SPDX-License-Identifier: Apache-2.0 */
/* pickle.c - the machine that runs pickles; see pickle.h.
 *
 * Each operation is a row of `ops`: how its operand is written, and the function that
 * does it.  To add one, add a row.  Functions return false if the pickle is malformed or
 * memory is out; the machine's arena tells which. */
#include "data/pickle/pickle.h"

#include <string.h>

#include "base/bytes.h"
#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/vec.h"

enum { ITEMS_FIRST = 4, PROTO = 0x80, PROTOCOL_FIRST = 2, PROTOCOL_LAST = 5 };

struct machine {
    const unsigned char *at;
    const unsigned char *end;
    size_t len; /* of all pickles */
    struct arena *mem;
    VEC(struct pickle *) stack;
    VEC(size_t) marks; /* heights of the stack */
    VEC(struct pickle *) memo;
    bool has_failed; /* a vector could not grow */
    bool has_stopped;
    struct pickle *result;
};

enum operand_kind {
    NOTHING,
    NUMBER_1, /* unsigned, little-endian, of so many bytes */
    NUMBER_2,
    NUMBER_4,
    NUMBER_8,
    SIGNED_4,
    REAL,   /* big-endian */
    TEXT_1, /* a length of so many bytes, and as many bytes */
    TEXT_4,
    TEXT_8,
    LINES, /* two lines */
};

struct operand {
    uint64_t number;
    double real;
    const char *text;
    size_t len;
    const char *second; /* LINES */
    size_t second_len;
};

struct op;
typedef bool op_fn(struct machine *m, const struct op *op,
                   const struct operand *operand);

struct op {
    unsigned char code;
    enum operand_kind operand;
    op_fn *run;
    int detail; /* a pickle_kind, or a count */
};

/* ---- the stack ------------------------------------------------------------------- */

static bool push(struct machine *m, struct pickle *value)
{
    if (!value)
        return false;
    if (vec_push(&m->stack, value))
        return true;
    m->has_failed = true;
    return false;
}

/* The values above the last mark may not be taken by operations below it. */
static size_t floor_of(const struct machine *m)
{
    return m->marks.count ? m->marks.at[m->marks.count - 1] : 0;
}

static struct pickle *pop(struct machine *m)
{
    return m->stack.count > floor_of(m) ? vec_pop(&m->stack) : NULL;
}

static struct pickle *top(const struct machine *m)
{
    return m->stack.count > floor_of(m) ? m->stack.at[m->stack.count - 1] : NULL;
}

static struct pickle *new_value(struct machine *m, enum pickle_kind kind)
{
    struct pickle *value = arena_new(m->mem, struct pickle);

    if (value)
        value->kind = kind;
    return value;
}

static bool add_item(struct machine *m, struct pickle *to, struct pickle *item)
{
    if (to->count == to->cap) {
        size_t cap = to->cap ? 2 * to->cap : ITEMS_FIRST;
        struct pickle **items = arena_array(m->mem, struct pickle *, cap);

        if (!items)
            return false;
        if (to->count)
            memcpy(items, to->items, to->count * sizeof(*items));
        to->items = items;
        to->cap = cap;
    }
    to->items[to->count++] = item;
    return true;
}

/* Moves the values above the last mark into `to`, and removes the mark. */
static bool take_marked(struct machine *m, struct pickle *to)
{
    size_t from = floor_of(m);

    if (!m->marks.count || !to)
        return false;
    m->marks.count--;
    for (size_t i = from; i < m->stack.count; i++)
        if (!add_item(m, to, m->stack.at[i]))
            return false;
    m->stack.count = from;
    return true;
}

/* ---- operations ------------------------------------------------------------------ */

static bool run_nothing(struct machine *m, const struct op *op,
                        const struct operand *operand)
{
    (void)m;
    (void)op;
    (void)operand;
    return true;
}

static bool run_stop(struct machine *m, const struct op *op,
                     const struct operand *operand)
{
    (void)op;
    (void)operand;
    m->result = pop(m);
    m->has_stopped = true;
    return m->result && !m->stack.count && !m->marks.count;
}

static bool run_mark(struct machine *m, const struct op *op,
                     const struct operand *operand)
{
    (void)op;
    (void)operand;
    m->has_failed |= !vec_push(&m->marks, m->stack.count);
    return !m->has_failed;
}

static bool run_pop(struct machine *m, const struct op *op,
                    const struct operand *operand)
{
    (void)op;
    (void)operand;
    if (m->marks.count && floor_of(m) == m->stack.count) {
        m->marks.count--; /* Python's machine keeps marks on the stack */
        return true;
    }
    return pop(m) != NULL;
}

static bool run_pop_mark(struct machine *m, const struct op *op,
                         const struct operand *operand)
{
    (void)op;
    (void)operand;
    if (!m->marks.count)
        return false;
    m->stack.count = vec_pop(&m->marks);
    return true;
}

static bool run_dup(struct machine *m, const struct op *op,
                    const struct operand *operand)
{
    (void)op;
    (void)operand;
    return push(m, top(m));
}

/* None, an empty tuple, list, dict or set. */
static bool run_empty(struct machine *m, const struct op *op,
                      const struct operand *operand)
{
    (void)operand;
    return push(m, new_value(m, (enum pickle_kind)op->detail));
}

static bool run_bool(struct machine *m, const struct op *op,
                     const struct operand *operand)
{
    struct pickle *value = new_value(m, PICKLE_BOOL);

    (void)operand;
    if (value)
        value->real = op->detail;
    return push(m, value);
}

static bool run_float(struct machine *m, const struct op *op,
                      const struct operand *operand)
{
    struct pickle *value = new_value(m, PICKLE_FLOAT);

    (void)op;
    if (value)
        value->real = operand->real;
    return push(m, value);
}

static bool run_text(struct machine *m, const struct op *op,
                     const struct operand *operand)
{
    struct pickle *value = new_value(m, (enum pickle_kind)op->detail);

    if (value) {
        value->text = operand->text;
        value->len = operand->len;
    }
    return push(m, value);
}

/* Shortens it, so equal numbers have equal bytes: the highest byte is left out if it
 * repeats the sign of the next one. */
static bool push_int(struct machine *m, const char *bytes, size_t len)
{
    struct pickle *value = new_value(m, PICKLE_INT);

    while (len > 1 &&
           ((bytes[len - 1] == 0 && !((unsigned char)bytes[len - 2] & 0x80)) ||
            ((unsigned char)bytes[len - 1] == 0xff &&
             ((unsigned char)bytes[len - 2] & 0x80))))
        len--;
    if (len == 1 && bytes[0] == 0)
        len = 0;
    if (value) {
        value->text = bytes;
        value->len = len;
    }
    return push(m, value);
}

static bool run_long(struct machine *m, const struct op *op,
                     const struct operand *operand)
{
    (void)op;
    return push_int(m, operand->text, operand->len);
}

static bool run_int(struct machine *m, const struct op *op,
                    const struct operand *operand)
{
    enum { BYTES = 9 }; /* with one for the sign */
    char *bytes = arena_alloc(m->mem, BYTES);
    bool is_negative = op->operand == SIGNED_4 && (int64_t)operand->number < 0;

    if (!bytes)
        return false;
    for (int i = 0; i < BYTES - 1; i++)
        bytes[i] = (char)(operand->number >> (8 * i) & 0xff);
    bytes[BYTES - 1] = is_negative ? (char)0xff : 0;
    return push_int(m, bytes, BYTES);
}

static bool run_tuple(struct machine *m, const struct op *op,
                      const struct operand *operand)
{
    struct pickle *tuple = new_value(m, PICKLE_TUPLE);
    size_t count = (size_t)op->detail;

    (void)operand;
    if (!tuple || m->stack.count - floor_of(m) < count)
        return false;
    for (size_t i = m->stack.count - count; i < m->stack.count; i++)
        if (!add_item(m, tuple, m->stack.at[i]))
            return false;
    m->stack.count -= count;
    return push(m, tuple);
}

/* A tuple or frozenset of the marked values. */
static bool run_marked(struct machine *m, const struct op *op,
                       const struct operand *operand)
{
    struct pickle *value = new_value(m, (enum pickle_kind)op->detail);

    (void)operand;
    return value && take_marked(m, value) && push(m, value);
}

static bool has_items(const struct pickle *value)
{
    return value && (value->kind == PICKLE_LIST || value->kind == PICKLE_SET ||
                     value->kind == PICKLE_OBJECT);
}

static bool run_append(struct machine *m, const struct op *op,
                       const struct operand *operand)
{
    struct pickle *item = pop(m), *to = top(m);

    (void)op;
    (void)operand;
    return item && has_items(to) && add_item(m, to, item);
}

/* The value below the last mark. */
static struct pickle *below_mark(const struct machine *m)
{
    size_t under = m->marks.count > 1 ? m->marks.at[m->marks.count - 2] : 0;

    return m->marks.count && floor_of(m) > under ? m->stack.at[floor_of(m) - 1] : NULL;
}

static bool run_append_marked(struct machine *m, const struct op *op,
                              const struct operand *operand)
{
    struct pickle *to = below_mark(m);

    (void)op;
    (void)operand;
    return has_items(to) && take_marked(m, to);
}

/* The items of a dict, or of an object that has such items. */
static struct pickle *entries_of(struct machine *m, struct pickle *value)
{
    if (!value || value->kind == PICKLE_DICT)
        return value;
    if (value->kind != PICKLE_OBJECT)
        return NULL;
    if (!value->entries)
        value->entries = new_value(m, PICKLE_DICT);
    return value->entries;
}

static bool run_set_item(struct machine *m, const struct op *op,
                         const struct operand *operand)
{
    struct pickle *value = pop(m), *key = pop(m), *to = entries_of(m, top(m));

    (void)op;
    (void)operand;
    return value && key && to && add_item(m, to, key) && add_item(m, to, value);
}

static bool run_set_marked(struct machine *m, const struct op *op,
                           const struct operand *operand)
{
    struct pickle *to = entries_of(m, below_mark(m));

    (void)op;
    (void)operand;
    return to && (m->stack.count - floor_of(m)) % 2 == 0 && take_marked(m, to);
}

static bool push_global(struct machine *m, struct pickle *module, struct pickle *name)
{
    struct pickle *value = new_value(m, PICKLE_GLOBAL);

    if (!value || !module || !name || module->kind != PICKLE_STR ||
        name->kind != PICKLE_STR)
        return false;
    value->module = module;
    value->name = name;
    return push(m, value);
}

static bool run_stack_global(struct machine *m, const struct op *op,
                             const struct operand *operand)
{
    struct pickle *name = pop(m), *module = pop(m);

    (void)op;
    (void)operand;
    return push_global(m, module, name);
}

static bool run_global(struct machine *m, const struct op *op,
                       const struct operand *operand)
{
    struct pickle *module = new_value(m, PICKLE_STR);
    struct pickle *name = new_value(m, PICKLE_STR);

    (void)op;
    if (!module || !name)
        return false;
    module->text = operand->text;
    module->len = operand->len;
    name->text = operand->second;
    name->len = operand->second_len;
    return push_global(m, module, name);
}

/* Protocols 2 and 3 write a set as set([item, ...]), in the order of its hashes. */
static bool is_call_of_set(const struct pickle *call)
{
    const struct pickle *maker = call->maker, *args = call->args;

    return maker->kind == PICKLE_GLOBAL &&
           (pickle_is_str(maker->module, "__builtin__") ||
            pickle_is_str(maker->module, "builtins")) &&
           (pickle_is_str(maker->name, "set") ||
            pickle_is_str(maker->name, "frozenset")) &&
           args->kind == PICKLE_TUPLE && args->count == 1 &&
           args->items[0]->kind == PICKLE_LIST;
}

static struct pickle *as_set(struct pickle *call)
{
    const struct pickle *list = call->args->items[0];

    *call = (struct pickle){.kind = PICKLE_SET,
                            .items = list->items,
                            .count = list->count,
                            .cap = list->count}; /* further items go elsewhere */
    return call;
}

/* REDUCE and NEWOBJ take a callable and a tuple of arguments (`detail` 1); NEWOBJ_EX also
 * takes a dict of named arguments (`detail` 2), which becomes the object's first item. */
static bool run_call(struct machine *m, const struct op *op,
                     const struct operand *operand)
{
    struct pickle *value = new_value(m, PICKLE_OBJECT);
    struct pickle *named = op->detail > 1 ? pop(m) : NULL;

    (void)operand;
    if (!value || (op->detail > 1 && !named))
        return false;
    value->args = pop(m);
    value->maker = pop(m);
    if (!value->args || !value->maker || (named && !add_item(m, value, named)))
        return false;
    return push(m, is_call_of_set(value) ? as_set(value) : value);
}

static bool run_build(struct machine *m, const struct op *op,
                      const struct operand *operand)
{
    struct pickle *state = pop(m), *value = top(m);

    (void)op;
    (void)operand;
    if (!state || !value || value->state)
        return false;
    value->state = state;
    return true;
}

static bool run_persistent(struct machine *m, const struct op *op,
                           const struct operand *operand)
{
    struct pickle *id = pop(m), *value = new_value(m, PICKLE_PERSISTENT);

    (void)op;
    (void)operand;
    return id && value && add_item(m, value, id) && push(m, value);
}

static bool remember(struct machine *m, uint64_t at)
{
    struct pickle *value = top(m);

    /* Python numbers the memo without gaps, so a pickle has more bytes than numbers.  This
     * bounds the memory. */
    if (!value || at >= m->len)
        return false;
    while (m->memo.count <= at && !m->has_failed)
        m->has_failed |= !vec_push(&m->memo, NULL);
    if (m->has_failed)
        return false;
    m->memo.at[at] = value;
    return true;
}

static bool run_put(struct machine *m, const struct op *op,
                    const struct operand *operand)
{
    (void)op;
    return remember(m, operand->number);
}

static bool run_memoize(struct machine *m, const struct op *op,
                        const struct operand *operand)
{
    (void)op;
    (void)operand;
    return remember(m, m->memo.count);
}

static bool run_get(struct machine *m, const struct op *op,
                    const struct operand *operand)
{
    (void)op;
    return operand->number < m->memo.count && push(m, m->memo.at[operand->number]);
}

static const struct op ops[] = {
    {'(', NOTHING, run_mark, 0},
    {'.', NOTHING, run_stop, 0},
    {'0', NOTHING, run_pop, 0},
    {'1', NOTHING, run_pop_mark, 0},
    {'2', NOTHING, run_dup, 0},
    {'B', TEXT_4, run_text, PICKLE_BYTES},
    {'C', TEXT_1, run_text, PICKLE_BYTES},
    {'G', REAL, run_float, 0},
    {'J', SIGNED_4, run_int, 0},
    {'K', NUMBER_1, run_int, 0},
    {'M', NUMBER_2, run_int, 0},
    {'N', NOTHING, run_empty, PICKLE_NONE},
    {'Q', NOTHING, run_persistent, 0},
    {'R', NOTHING, run_call, 1},
    {'T', TEXT_4, run_text, PICKLE_BYTES},
    {'U', TEXT_1, run_text, PICKLE_BYTES},
    {'X', TEXT_4, run_text, PICKLE_STR},
    {']', NOTHING, run_empty, PICKLE_LIST},
    {'a', NOTHING, run_append, 0},
    {'b', NOTHING, run_build, 0},
    {'c', LINES, run_global, 0},
    {'e', NOTHING, run_append_marked, 0},
    {'h', NUMBER_1, run_get, 0},
    {'j', NUMBER_4, run_get, 0},
    {')', NOTHING, run_empty, PICKLE_TUPLE},
    {'q', NUMBER_1, run_put, 0},
    {'r', NUMBER_4, run_put, 0},
    {'s', NOTHING, run_set_item, 0},
    {'t', NOTHING, run_marked, PICKLE_TUPLE},
    {'u', NOTHING, run_set_marked, 0},
    {'}', NOTHING, run_empty, PICKLE_DICT},
    {PROTO, NUMBER_1, run_nothing, 0},
    {0x81, NOTHING, run_call, 1}, /* NEWOBJ */
    {0x85, NOTHING, run_tuple, 1},
    {0x86, NOTHING, run_tuple, 2},
    {0x87, NOTHING, run_tuple, 3},
    {0x88, NOTHING, run_bool, 1},
    {0x89, NOTHING, run_bool, 0},
    {0x8a, TEXT_1, run_long, 0},
    {0x8b, TEXT_4, run_long, 0},
    {0x8c, TEXT_1, run_text, PICKLE_STR},
    {0x8d, TEXT_8, run_text, PICKLE_STR},
    {0x8e, TEXT_8, run_text, PICKLE_BYTES},
    {0x8f, NOTHING, run_empty, PICKLE_SET},
    {0x90, NOTHING, run_append_marked, 0},
    {0x91, NOTHING, run_marked, PICKLE_SET},
    {0x92, NOTHING, run_call, 2}, /* NEWOBJ_EX */
    {0x93, NOTHING, run_stack_global, 0},
    {0x94, NOTHING, run_memoize, 0},
    {0x95, NUMBER_8, run_nothing, 0}, /* FRAME */
    {0x96, TEXT_8, run_text, PICKLE_BYTES},
};

/* ---- operands -------------------------------------------------------------------- */

static bool read_number(struct machine *m, size_t bytes, uint64_t *ret_number)
{
    if ((size_t)(m->end - m->at) < bytes)
        return false;
    *ret_number = get_number(m->at, bytes);
    m->at += bytes;
    return true;
}

static bool read_line(struct machine *m, const char **ret_text, size_t *ret_len)
{
    const unsigned char *newline = memchr(m->at, '\n', (size_t)(m->end - m->at));

    if (!newline)
        return false;
    *ret_text = (const char *)m->at;
    *ret_len = (size_t)(newline - m->at);
    m->at = newline + 1;
    return true;
}

static bool read_text(struct machine *m, size_t length_bytes, struct operand *operand)
{
    uint64_t len;

    if (!read_number(m, length_bytes, &len) || len > (size_t)(m->end - m->at))
        return false;
    operand->text = (const char *)m->at;
    operand->len = len;
    m->at += len;
    return true;
}

static bool read_real(struct machine *m, struct operand *operand)
{
    uint64_t bits;

    if (!read_number(m, sizeof(bits), &bits))
        return false;
    bits = __builtin_bswap64(bits);
    memcpy(&operand->real, &bits, sizeof(bits));
    return true;
}

static bool read_operand(struct machine *m, enum operand_kind kind,
                         struct operand *operand)
{
    static const size_t sizes[] = {
        [NUMBER_1] = 1, [NUMBER_2] = 2, [NUMBER_4] = 4, [NUMBER_8] = 8, [SIGNED_4] = 4,
        [TEXT_1] = 1,   [TEXT_4] = 4,   [TEXT_8] = 8,   [LINES] = 0};

    switch (kind) {
    case NOTHING:
        return true;
    case REAL:
        return read_real(m, operand);
    case TEXT_1:
    case TEXT_4:
    case TEXT_8:
        return read_text(m, sizes[kind], operand);
    case LINES:
        return read_line(m, &operand->text, &operand->len) &&
               read_line(m, &operand->second, &operand->second_len);
    default:
        break;
    }
    if (!read_number(m, sizes[kind], &operand->number))
        return false;
    if (kind == SIGNED_4)
        operand->number = (uint64_t)(int64_t)(int32_t)operand->number;
    return true;
}

/* ---- running --------------------------------------------------------------------- */

static const struct op *find_op(unsigned char code)
{
    for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
        if (ops[i].code == code)
            return &ops[i];
    return NULL;
}

static det_status fail_parse(const struct machine *m, struct err *err)
{
    if (m->has_failed || m->mem->has_failed)
        return err_default(err, DET_NOMEM);
    return err_set(err, DET_CORRUPT, "this is not a pickle");
}

static det_status run_one(struct machine *m, struct err *err)
{
    m->has_stopped = false;
    m->stack.count = m->marks.count = m->memo.count = 0;
    if (m->end - m->at < 2 || *m->at != PROTO)
        return fail_parse(m, err);
    if (m->at[1] < PROTOCOL_FIRST || m->at[1] > PROTOCOL_LAST)
        return err_set(err, DET_UNSUPPORTED, "the pickle has protocol %d", m->at[1]);
    while (!m->has_stopped) {
        struct operand operand = {0};
        const struct op *op;

        if (m->at >= m->end)
            return fail_parse(m, err);
        op = find_op(*m->at++);
        if (!op)
            return err_set(err, DET_UNSUPPORTED, "the pickle has operation 0x%02x",
                           m->at[-1]);
        if (!read_operand(m, op->operand, &operand) || !op->run(m, op, &operand))
            return fail_parse(m, err);
    }
    return DET_OK;
}

det_status pickle_parse(const void *bytes, size_t len, struct arena *mem,
                        struct pickle **ret_list, struct err *err)
{
    struct machine m = {
        .at = bytes, .end = (const unsigned char *)bytes + len, .len = len, .mem = mem};
    struct pickle *list = new_value(&m, PICKLE_LIST);
    det_status st = list && len ? DET_OK : fail_parse(&m, err);

    while (!st && m.at < m.end) {
        st = run_one(&m, err);
        if (!st && !add_item(&m, list, m.result))
            st = fail_parse(&m, err);
    }
    vec_done(&m.stack);
    vec_done(&m.marks);
    vec_done(&m.memo);
    if (!st)
        *ret_list = list;
    return st;
}
