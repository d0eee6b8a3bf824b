/* SPDX-License-Identifier: Apache-2.0 */
/* config_load.c - see config_load.h. */
#include "config/config_load.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "config/config_report.h"
#include "config/keys/key.h"
#include "config/keys/key_check.h"
#include "config/keys/key_complete.h"
#include "config/merge.h"
#include "config/normal_form.h"
#include "config/rules.h"
#include "config/translate.h"
#include "data/json/json.h"
#include "data/yaml/yaml.h"

det_status config_parse(const char *text, size_t len, struct config_report *report,
                        struct json **ret_tree, struct err *err)
{
    struct err own = {.text = ""};
    struct json at = {.line = 0};
    const struct yaml_note *notes = NULL;
    int skip = 0;
    det_status st;

    st = yaml_parse_noting(text, len, NULL, report->mem, &notes, ret_tree, &own);
    for (; !st && notes; notes = notes->next) {
        at.line = notes->line;
        at.column = notes->column;
        config_report_notice(report, &at, "", "warning: %s", notes->text);
    }
    if (!st)
        return DET_OK;
    if (st != DET_INVALID)
        return err_set(err, st, "%s", own.text);
    /* The message begins with the place; a report keeps it as numbers. */
    if (sscanf(own.text, "line %u, column %u: %n", &at.line, &at.column, &skip) < 2)
        skip = 0;
    config_report_error(report, &at, "", "%s", own.text + skip);
    return config_report_status(report, err);
}

/* ---- overrides ------------------------------------------------------------------- */

/* Flags and variables are text: "8080" becomes a number if the key is one. */
static struct json *read_scalar(const struct config_key *row, struct json *value,
                                struct arena *mem)
{
    struct json *read = NULL;

    if (value->kind != JSON_STRING || row->types & (KEY_STR | KEY_PATH))
        return value;
    if (yaml_parse(value->string.text, value->string.len, NULL, mem, &read, NULL) !=
        DET_OK)
        return value; /* the check will report it */
    normal_form_clear_places(read);
    return read;
}

static struct json *read_overrides(const struct key_table *table, const char *pattern,
                                   const struct json *map, struct arena *mem)
{
    struct json *copy = json_new(mem, JSON_OBJECT);

    json_each(member, map) {
        const struct config_key *row = key_child(table, pattern, member->key, NULL);
        struct json *value;

        if (row && member->kind == JSON_OBJECT && row->types & KEY_MAP)
            value = read_overrides(table, row->path, member, mem);
        else
            value = json_copy(mem, member);
        if (row && value)
            value = read_scalar(row, value, mem);
        json_set(mem, copy, member->key, value);
    }
    return copy;
}

/* ---- loading --------------------------------------------------------------------- */

static struct json *new_list_of_default_pool(struct arena *mem)
{
    struct json *list = json_new(mem, JSON_ARRAY);
    struct json *pool = json_push(list, json_new(mem, JSON_OBJECT));

    json_set(mem, pool, "pool_name", json_new_str(mem, "default"));
    return list;
}

static void check_rules(enum config_kind kind, const struct json *tree,
                        struct config_report *report)
{
    if (kind == CONFIG_MASTER)
        rules_check_master(tree, report);
    else if (kind == CONFIG_JOB)
        rules_check_job(tree, report);
}

static det_status parse_file(const char *text, size_t len, struct arena *mem,
                             struct config_report *report, struct json **ret_tree,
                             struct err *err)
{
    det_status st = DET_OK;

    *ret_tree = NULL;
    if (text)
        st = config_parse(text, len, report, ret_tree, err);
    if (st)
        return st;
    if (json_is_null(*ret_tree)) /* no file, or nothing in it */
        *ret_tree = json_new(mem, JSON_OBJECT);
    return *ret_tree ? DET_OK : err_set(err, DET_NOMEM, "out of memory");
}

det_status config_load(enum config_kind kind, const char *text, size_t len,
                       const struct json *overrides, struct config_report *report,
                       struct json **ret_tree, struct err *err)
{
    struct key_table table = key_table_of(kind);
    struct arena *mem = report->mem;
    struct json *tree;
    det_status st;

    assert(kind != CONFIG_EXPERIMENT);
    st = parse_file(text, len, mem, report, &tree, err);
    if (st)
        return st;
    config_translate(kind, tree, mem, report);
    if (kind == CONFIG_JOB)
        normal_form_apply(tree, mem);
    if (overrides && tree->kind == JSON_OBJECT)
        tree = config_merge(mem, read_overrides(&table, "", overrides, mem), tree);
    if (!tree || mem->has_failed)
        return err_set(err, DET_NOMEM, "out of memory");

    key_check(&table, tree, report);
    check_rules(kind, tree, report);
    st = config_report_status(report, err);
    if (st)
        return st;
    if (kind == CONFIG_MASTER && !json_first(json_get(tree, "resource_pools")))
        json_set(mem, tree, "resource_pools", new_list_of_default_pool(mem));
    tree = key_complete(&table, tree, mem);
    if (!tree)
        return err_set(err, DET_NOMEM, "out of memory");
    *ret_tree = tree;
    return DET_OK;
}
