/* SPDX-License-Identifier: Apache-2.0 */
/* json_tree.c - reading and building the tree of json.h. */
#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/memory/arena.h"
#include "data/json/json.h"
#include "data/json/json_index.h"
#include "data/number.h"

/* ---- reading ------------------------------------------------------------------- */

struct json *json_first(const struct json *list)
{
    if (!list || (list->kind != JSON_ARRAY && list->kind != JSON_OBJECT))
        return NULL;
    return list->list.first;
}

static struct json *member_of(const struct json *object, const char *key, size_t len)
{
    if (!object || object->kind != JSON_OBJECT)
        return NULL;
    json_each(member, object) {
        if (strncmp(member->key, key, len) == 0 && !member->key[len])
            return member;
    }
    return NULL;
}

struct json *json_get(const struct json *object, const char *key)
{
    return member_of(object, key, strlen(key));
}

/* The next character of a name, with "_x" read as 'X'. */
static char next_char(const char **name)
{
    char c = *(*name)++;

    if (c != '_' || !isalnum((unsigned char)**name))
        return c;
    return (char)toupper((unsigned char)*(*name)++);
}

static bool is_same_name(const char *a, const char *b)
{
    char x;

    do {
        x = next_char(&a);
        if (x != next_char(&b))
            return false;
    } while (x);
    return true;
}

struct json *json_find(const struct json *object, const char *key)
{
    struct json *exact = json_get(object, key);

    if (exact || !object || object->kind != JSON_OBJECT)
        return exact;
    json_each(member, object) {
        if (is_same_name(member->key, key))
            return member;
    }
    return NULL;
}

struct json *json_path(const struct json *object, const char *path)
{
    const struct json *at = object;

    while (at) {
        size_t len = strcspn(path, ".");
        struct json *member = member_of(at, path, len);

        if (!path[len])
            return member;
        at = member;
        path += len + 1;
    }
    return NULL;
}

const char *json_str(const struct json *value, const char *fallback)
{
    return value && value->kind == JSON_STRING ? value->string.text : fallback;
}

static bool real_to_i64(double real, int64_t *ret_value)
{
    /* 2^63 itself does not fit; the comparison also refuses NaN. */
    if (!(real >= -0x1p63 && real < 0x1p63) || real != floor(real))
        return false;
    *ret_value = (int64_t)real;
    return true;
}

int64_t json_i64(const struct json *value, int64_t fallback)
{
    int64_t number;

    if (!value)
        return fallback;
    if (value->kind == JSON_INT)
        return value->integer;
    if (value->kind == JSON_REAL && real_to_i64(value->real, &number))
        return number;
    if (value->kind == JSON_STRING &&
        number_to_i64(value->string.text, value->string.len, &number))
        return number;
    return fallback;
}

bool json_bool(const struct json *value, bool fallback)
{
    return value && value->kind == JSON_BOOL ? value->boolean : fallback;
}

bool json_number(const struct json *value, double *ret_number)
{
    const char *text = json_str(value, NULL);

    if (!value)
        return false;
    if (value->kind == JSON_INT)
        *ret_number = (double)value->integer;
    else if (value->kind == JSON_REAL)
        *ret_number = value->real;
    else if (text && strcmp(text, "NaN") == 0)
        *ret_number = NAN;
    else if (text && strcmp(text, "Infinity") == 0)
        *ret_number = INFINITY;
    else if (text && strcmp(text, "-Infinity") == 0)
        *ret_number = -INFINITY;
    else
        return false;
    return true;
}

bool json_is_null(const struct json *value)
{
    return !value || value->kind == JSON_NULL;
}

static bool is_number(const struct json *value)
{
    return value->kind == JSON_INT || value->kind == JSON_REAL;
}

/* Compares as doubles if one of them is: 1e17 may have been written without
 * exponent. */
static bool is_equal_number(const struct json *a, const struct json *b)
{
    double x;
    double y;

    if (a->kind == JSON_INT && b->kind == JSON_INT)
        return a->integer == b->integer;
    return json_number(a, &x) && json_number(b, &y) && x == y;
}

static bool is_equal_array(const struct json *a, const struct json *b)
{
    struct json *y = b->list.first;

    if (a->list.count != b->list.count)
        return false;
    json_each(x, a) {
        if (!json_equal(x, y))
            return false;
        y = y->next;
    }
    return true;
}

static bool is_equal_in_any_order(const struct json *a, const struct json *b)
{
    CLEANUP(json_index_done) struct json_index index = {0};

    json_index_init(&index, b, a->list.count);
    json_each(x, a) {
        struct json *y = json_index_get(&index, x->key);

        if (!y || !json_equal(x, y))
            return false;
    }
    return true;
}

/* Objects in the same order, the usual case, compare in one pass. */
static bool is_equal_object(const struct json *a, const struct json *b)
{
    struct json *y = b->list.first;

    if (a->list.count != b->list.count)
        return false;
    json_each(x, a) {
        if (strcmp(x->key, y->key) != 0)
            return is_equal_in_any_order(a, b);
        if (!json_equal(x, y))
            return false;
        y = y->next;
    }
    return true;
}

bool json_equal(const struct json *a, const struct json *b)
{
    if (!a || !b)
        return a == b;
    if (is_number(a) && is_number(b))
        return is_equal_number(a, b);
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case JSON_BOOL:
        return a->boolean == b->boolean;
    case JSON_STRING:
        return a->string.len == b->string.len &&
               memcmp(a->string.text, b->string.text, a->string.len) == 0;
    case JSON_ARRAY:
        return is_equal_array(a, b);
    case JSON_OBJECT:
        return is_equal_object(a, b);
    case JSON_NULL:
    case JSON_INT:
    case JSON_REAL:
        break;
    }
    return true;
}

size_t json_count(const struct json *value)
{
    size_t count = 0;

    json_each(item, value)
        count += 1 + json_count(item);
    return count;
}

const char *json_kind_name(enum json_kind kind)
{
    static const char *const names[] = {
        "null",     "a boolean", "an integer", "a number",
        "a string", "a list",    "an object",
    };

    return (size_t)kind < ARRAY_LEN(names) ? names[kind] : "nothing";
}

/* ---- building ------------------------------------------------------------------ */

struct json *json_new(struct arena *mem, enum json_kind kind)
{
    struct json *value = arena_new(mem, struct json);

    if (!value)
        return NULL;
    value->kind = kind;
    if (kind == JSON_STRING)
        value->string.text = "";
    return value;
}

struct json *json_new_str(struct arena *mem, const char *text)
{
    struct json *value = json_new(mem, text ? JSON_STRING : JSON_NULL);

    if (!value || !text)
        return value;
    value->string.len = strlen(text);
    value->string.text = arena_strndup(mem, text, value->string.len);
    return value->string.text ? value : NULL;
}

struct json *json_new_i64(struct arena *mem, int64_t number)
{
    struct json *value = json_new(mem, JSON_INT);

    if (value)
        value->integer = number;
    return value;
}

struct json *json_new_real(struct arena *mem, double number)
{
    struct json *value = json_new(mem, JSON_REAL);

    if (value)
        value->real = number;
    return value;
}

struct json *json_new_bool(struct arena *mem, bool truth)
{
    struct json *value = json_new(mem, JSON_BOOL);

    if (value)
        value->boolean = truth;
    return value;
}

static void append_value(struct json *list, struct json *value)
{
    value->next = NULL;
    if (list->list.last)
        list->list.last->next = value;
    else
        list->list.first = value;
    list->list.last = value;
    list->list.count++;
}

struct json *json_push(struct json *array, struct json *value)
{
    if (!array || !value)
        return NULL;
    assert(array->kind == JSON_ARRAY || array->kind == JSON_OBJECT);
    value->key = NULL;
    append_value(array, value);
    return value;
}

/* The link that points at the member `key`, or at the NULL behind the last. */
static struct json **link_of(struct json *object, const char *key,
                             struct json **ret_before)
{
    struct json **at = &object->list.first;

    *ret_before = NULL;
    while (*at && strcmp((*at)->key, key) != 0) {
        *ret_before = *at;
        at = &(*at)->next;
    }
    return at;
}

struct json *json_set(struct arena *mem, struct json *object, const char *key,
                      struct json *value)
{
    struct json **link;
    struct json *before;
    struct json *old;

    if (!object || !value)
        return NULL;
    assert(object->kind == JSON_OBJECT);
    link = link_of(object, key, &before);
    old = *link;
    value->key = old ? old->key : arena_strdup(mem, key);
    if (!value->key)
        return NULL;
    if (!old) {
        append_value(object, value);
        return value;
    }
    value->next = old->next;
    *link = value;
    if (object->list.last == old)
        object->list.last = value;
    return value;
}

struct json *json_add(struct arena *mem, struct json *object, const char *key,
                      struct json *value)
{
    if (!object || !value)
        return NULL;
    assert(object->kind == JSON_OBJECT);
    value->key = arena_strdup(mem, key);
    if (!value->key)
        return NULL;
    append_value(object, value);
    return value;
}

bool json_remove(struct json *object, const char *key)
{
    struct json **link;
    struct json *before;
    struct json *old;

    if (!object || object->kind != JSON_OBJECT)
        return false;
    link = link_of(object, key, &before);
    old = *link;
    if (!old)
        return false;
    *link = old->next;
    if (object->list.last == old)
        object->list.last = before;
    object->list.count--;
    return true;
}

struct json *json_copy(struct arena *mem, const struct json *value)
{
    struct json *copy = value ? json_new(mem, value->kind) : NULL;

    if (!copy)
        return NULL;
    *copy = *value;
    copy->next = NULL;
    copy->key = arena_strdup(mem, value->key);
    if (value->key && !copy->key)
        return NULL;
    if (value->kind == JSON_STRING) {
        copy->string.text = arena_strndup(mem, value->string.text, value->string.len);
        return copy->string.text ? copy : NULL;
    }
    if (value->kind != JSON_ARRAY && value->kind != JSON_OBJECT)
        return copy;
    copy->list.first = copy->list.last = NULL;
    copy->list.count = 0;
    json_each(item, value) {
        struct json *child = json_copy(mem, item);

        if (!child)
            return NULL;
        append_value(copy, child);
    }
    return copy;
}

void json_replace(struct json *member, const struct json *value)
{
    struct json was;

    if (!member || !value)
        return;
    was = *member;
    *member = *value;
    member->key = was.key;
    member->next = was.next;
}

void json_merge(struct arena *mem, struct json *into, const struct json *from)
{
    CLEANUP(json_index_done) struct json_index index = {0};

    if (!into || !json_first(from))
        return;
    json_index_init(&index, into, from->list.count);
    json_each(item, from) {
        struct json *old = json_index_get(&index, item->key);

        if (old && old->kind == JSON_OBJECT && item->kind == JSON_OBJECT)
            json_merge(mem, old, item);
        else if (old)
            json_replace(old, json_copy(mem, item));
        else
            (void)json_add(mem, into, item->key, json_copy(mem, item));
    }
}
