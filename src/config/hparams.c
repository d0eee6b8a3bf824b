/* SPDX-License-Identifier: Apache-2.0 */
/* hparams.c - see hparams.h.
 *
 * A hyperparameter is a plain value (a constant), a map with `type` (values to search),
 * or a map without `type` (nested hyperparameters, at any depth).  At the top level
 * `type` is an ordinary name.  The keys of a map with `type` are rows of the
 * experiment's table, below "hyperparameters.*". */
#include "config/hparams.h"

#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "config/config_report.h"
#include "config/keys/key.h"
#include "config/keys/key_check.h"
#include "config/keys/key_complete.h"
#include "config/keys/key_tables.h"
#include "config/normal_form.h"
#include "data/json/json.h"

struct check {
    struct key_table table;
    const struct config_key *row;
    bool is_grid;
    struct arena *mem;
    struct config_report *report;
};

static struct json *new_const(struct check *c, const struct json *value)
{
    struct json *hparam = json_new(c->mem, JSON_OBJECT);

    json_set(c->mem, hparam, "type", json_new_str(c->mem, "const"));
    json_set(c->mem, hparam, "val", json_copy(c->mem, value));
    return hparam;
}

/* A hyperparameter named `type` is refused: it would be ambiguous. */
static bool is_known_type(struct check *c, const struct json *type, const char *path)
{
    const struct config_key *row = key_child(&c->table, c->row->path, "type", NULL);
    CLEANUP(buf_done) struct buf found = BUF_INIT;
    CLEANUP(buf_done) struct buf expected = BUF_INIT;

    for (size_t i = 0; row->words[i]; i++)
        if (strcmp(json_str(type, ""), row->words[i]) == 0)
            return true;
    key_found(row, type, &found);
    key_expects(row, &expected);
    if (found.status || expected.status)
        config_report_out_of_memory(c->report);
    else
        config_report_error(c->report, type, path,
                            "'type' is a reserved name: found %s; expected %s",
                            found.data, expected.data);
    return false;
}

static void check_range(struct check *c, const struct json *hparam, const char *path)
{
    const struct json *max = json_get(hparam, "maxval");
    double minval, maxval;

    if (!json_number(json_get(hparam, "minval"), &minval) || !json_number(max, &maxval))
        return;
    if (!(minval < maxval))
        config_report_error(c->report, max, path,
                            "found maxval %g with minval %g; expected minval < maxval",
                            maxval, minval);
    if (c->is_grid && json_is_null(json_get(hparam, "count")))
        config_report_error(c->report, hparam, path,
                            "grid search is in use but count was not provided");
}

static struct json *check_typed(struct check *c, const struct json *hparam,
                                const char *path)
{
    const struct json *type = json_get(hparam, "type");
    uint32_t errors = c->report->errors;

    if (!is_known_type(c, type, path))
        return NULL;
    key_check_map(&c->table, c->row, hparam, path, c->report);
    if (strcmp(type->string.text, "const") == 0 && !json_get(hparam, "val"))
        config_report_error(c->report, hparam, path,
                            "'val' is missing; expected the value");
    check_range(c, hparam, path);
    if (c->report->errors > errors)
        return NULL;
    if (strcmp(type->string.text, "const") == 0)
        return new_const(c, json_get(hparam, "val"));
    return key_complete_map(&c->table, c->row, hparam, c->mem);
}

static struct json *check_nested(struct check *c, const struct json *map,
                                 const char *path);

static struct json *check_one(struct check *c, const struct json *hparam,
                              const char *path)
{
    if (hparam->kind != JSON_OBJECT)
        return new_const(c, hparam);
    if (json_get(hparam, "type"))
        return check_typed(c, hparam, path);
    return check_nested(c, hparam, path);
}

static struct json *check_nested(struct check *c, const struct json *map,
                                 const char *path)
{
    struct json *checked = json_new(c->mem, JSON_OBJECT);

    json_each(member, map) {
        char *own_path = arena_printf(c->mem, "%s.%.80s", path, member->key);
        struct json *hparam = own_path ? check_one(c, member, own_path) : NULL;

        if (json_push(checked,
                      hparam)) /* names in a map are unique: no lookup needed */
            hparam->key = arena_strdup(c->mem, member->key);
    }
    return checked;
}

/* ---- the size of a grid ---------------------------------------------------------- */

/* The points of one axis; an integer has no more values than its range. */
static double points_of(const struct json *hparam)
{
    const char *type = json_str(json_get(hparam, "type"), "");
    const struct json *vals = json_get(hparam, "vals");
    double count, minval, maxval;

    if (strcmp(type, "categorical") == 0)
        return vals && vals->kind == JSON_ARRAY ? (double)vals->list.count : 1;
    if (!json_number(json_get(hparam, "count"), &count))
        return 1;
    if (strcmp(type, "int") == 0 && json_number(json_get(hparam, "minval"), &minval) &&
        json_number(json_get(hparam, "maxval"), &maxval))
        return MIN(count, maxval - minval + 1);
    return count;
}

/* Recursion is limited: trees are no deeper than JSON_DEPTH. */
static double count_points(const struct json *checked)
{
    double points = 1;

    json_each(hparam, checked)
        points *= json_get(hparam, "type") ? points_of(hparam) : count_points(hparam);
    return points;
}

static void check_grid(struct check *c, const struct json *hyperparameters,
                       const struct json *checked)
{
    double points = count_points(checked);

    if (points > CONFIG_GRID_MOST)
        config_report_error(
            c->report, hyperparameters, "hyperparameters",
            "this grid has %.0f points; expected at most %d: lower a count, or "
            "search with random",
            points, CONFIG_GRID_MOST);
}

struct json *hparams_check(const struct json *hyperparameters, bool is_grid,
                           struct arena *mem, struct config_report *report)
{
    struct check c = {
        .table = experiment_key_table(),
        .is_grid = is_grid,
        .mem = mem,
        .report = report,
    };
    struct json *checked;

    c.row = key_child(&c.table, "hyperparameters", "*", NULL);
    if (NEVER(!c.row))
        return NULL;
    checked = check_nested(&c, hyperparameters, "hyperparameters");
    if (mem->has_failed)
        return NULL;
    if (is_grid)
        check_grid(&c, hyperparameters, checked);
    normal_form_sort(checked);
    return checked;
}
