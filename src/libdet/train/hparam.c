/* SPDX-License-Identifier: Apache-2.0 */
/* hparam.c - finds hyperparameters by path.  The tree never changes, so any thread may
 * read it. */
#include "libdet/train/hparam.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory/buf.h"
#include "data/json/json.h"
#include "data/text.h"
#include "libdet/context.h"

enum { NAME_MOST = 512, NEAR = 64 };

/* ---- paths ----------------------------------------------------------------------- */

/* Finds the element that a step names: a member, or a number in a list. */
static const struct json *step_into(const struct json *at, const char *name)
{
    int64_t index;

    if (at->kind == JSON_OBJECT)
        return json_get(at, name);
    if (at->kind != JSON_ARRAY || !parse_i64(name, &index) || index < 0)
        return NULL;
    json_each(item, at)
        if (index-- == 0)
            return item;
    return NULL;
}

/* Reads the next step, up to a dot or a bracket.  Returns false if the path is
 * malformed. */
static bool next_step(const char **path, char name[NAME_MOST])
{
    const char *at = *path;
    bool is_index = *at == '[';
    size_t len;

    at += is_index;
    len = strcspn(at, is_index ? "]" : ".[");
    if (!len || len >= NAME_MOST || (is_index && at[len] != ']'))
        return false;
    memcpy(name, at, len);
    name[len] = '\0';
    at += len + is_index;
    if (*at == '.' && !*++at)
        return false;
    *path = at;
    return true;
}

const struct json *hparam_find(const struct json *hparams, const char *path)
{
    const struct json *at = json_get(hparams, path);
    char name[NAME_MOST];

    if (at)
        return at;
    for (at = hparams; at && *path;) {
        if (!next_step(&path, name))
            return NULL;
        at = step_into(at, name);
    }
    return at;
}

/* ---- getting --------------------------------------------------------------------- */

/* Lists the names at the top level, as a hint. */
static det_status missing(const det_context *context, const char *path, struct err *err)
{
    const char *names[NEAR + 1] = {0};
    const char *nearest;
    size_t count = 0;

    json_each(item, context->hparams)
        if (count < NEAR)
            names[count++] = item->key;
    nearest = nearest_word(path, names);
    if (nearest)
        return err_set(err, DET_NOT_FOUND,
                       "there is no hyperparameter '%s'; did you mean '%s'?", path,
                       nearest);
    return err_set(err, DET_NOT_FOUND, "there is no hyperparameter '%s'", path);
}

static det_status get_hparam(const det_context *context, const char *path,
                             const void *ret, const struct json **ret_value,
                             struct err *err)
{
    det_status st = context_check(context, err);

    if (st)
        return st;
    if (!path || !ret)
        return err_set(
            err, DET_INVALID,
            "the path of a hyperparameter, or the pointer for its value, is NULL");
    *ret_value = hparam_find(context->hparams, path);
    return *ret_value ? DET_OK : missing(context, path, err);
}

static det_status other_type(const char *path, const struct json *value,
                             const char *expected, struct err *err)
{
    return err_set(err, DET_INVALID, "hyperparameter '%s' is %s; expected %s", path,
                   json_kind_name(value->kind), expected);
}

det_status det_hparam_double(det_context *context, const char *path, double *ret_value)
{
    const struct json *value;
    CONTEXT_ERR(err);
    det_status st = get_hparam(context, path, ret_value, &value, &err);

    if (!st && !json_number(value, ret_value))
        st = other_type(path, value, "a number", &err);
    return context_end(context, st, &err);
}

det_status det_hparam_int(det_context *context, const char *path, int64_t *ret_value)
{
    const struct json *value;
    CONTEXT_ERR(err);
    det_status st = get_hparam(context, path, ret_value, &value, &err);

    if (st)
        return context_end(context, st, &err);
    /* a real value equals at most one of the two fallbacks */
    if (value->kind == JSON_STRING || json_i64(value, 0) != json_i64(value, 1))
        st = value->kind == JSON_REAL
                 ? err_set(&err, DET_INVALID,
                           "hyperparameter '%s' is %g; expected a whole number", path,
                           value->real)
                 : other_type(path, value, "a whole number", &err);
    else
        *ret_value = json_i64(value, 0);
    return context_end(context, st, &err);
}

det_status det_hparam_bool(det_context *context, const char *path, int *ret_value)
{
    const struct json *value;
    CONTEXT_ERR(err);
    det_status st = get_hparam(context, path, ret_value, &value, &err);

    if (!st && value->kind != JSON_BOOL)
        st = other_type(path, value, "true or false", &err);
    if (!st)
        *ret_value = value->boolean;
    return context_end(context, st, &err);
}

det_status det_hparam_string(det_context *context, const char *path,
                             const char **ret_value)
{
    const struct json *value;
    CONTEXT_ERR(err);
    det_status st = get_hparam(context, path, ret_value, &value, &err);

    if (!st && value->kind != JSON_STRING)
        st = other_type(path, value, "a string", &err);
    if (!st)
        *ret_value = value->string.text;
    return context_end(context, st, &err);
}

det_status det_hparam_type(det_context *context, const char *path,
                           enum det_type *ret_type, size_t *ret_count)
{
    const struct json *value;
    CONTEXT_ERR(err);
    det_status st = get_hparam(context, path, ret_type, &value, &err);
    bool is_list;

    if (st)
        return context_end(context, st, &err);
    is_list = value->kind == JSON_ARRAY || value->kind == JSON_OBJECT;
    *ret_type = (enum det_type)value->kind; /* both enums have the same order */
    if (ret_count)
        *ret_count = is_list ? value->list.count : 0;
    return DET_OK;
}

_Static_assert((int)DET_TYPE_NULL == JSON_NULL && (int)DET_TYPE_INT == JSON_INT &&
                   (int)DET_TYPE_STRING == JSON_STRING &&
                   (int)DET_TYPE_MAP == JSON_OBJECT,
               "det_type and json_kind have the same order");

det_status det_hparam_json(det_context *context, const char *path, char *text,
                           size_t size, size_t *ret_len)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    const struct json *value;
    CONTEXT_ERR(err);
    det_status st =
        get_hparam(context, path, text ? (const void *)text : ret_len, &value, &err);

    if (!st) {
        json_write(&out, value);
        st = out.status ? err_default(&err, out.status) : DET_OK;
    }
    if (!st && text && size)
        snprintf(text, size, "%s", out.data);
    if (!st && ret_len)
        *ret_len = out.len;
    return context_end(context, st, &err);
}
