/* SPDX-License-Identifier: Apache-2.0 */
/* hparams.c - hyperparameters.
 *
 * A hyperparameter is a plain value (a constant), a map with `type` (what to search),
 * or a map without (more hyperparameters, at any depth).  At the very top `type` is a
 * name like any other.  The keys of the second form are rows of the experiment's table,
 * below "hyperparameters.*". */
#include "config/hparams.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/compiler.h"
#include "config/forms.h"
#include "config/key.h"
#include "config/report.h"
#include "data/json.h"

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

/* Any other meaning of the name `type` is refused, since it could not be told apart. */
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
        report_out_of_memory(c->report);
    else
        report_error(c->report, type, path,
                     "'type' is a reserved name: found %s; expected %s", found.data,
                     expected.data);
    return false;
}

static void check_range(struct check *c, const struct json *hparam, const char *path)
{
    const struct json *max = json_get(hparam, "maxval");
    double minval, maxval;

    if (!json_number(json_get(hparam, "minval"), &minval) || !json_number(max, &maxval))
        return;
    if (!(minval < maxval))
        report_error(c->report, max, path,
                     "found maxval %g with minval %g; expected minval < maxval", maxval,
                     minval);
    if (c->is_grid && json_is_null(json_get(hparam, "count")))
        report_error(c->report, hparam, path,
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
        report_error(c->report, hparam, path, "'val' is missing; expected the value");
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

        if (json_push(checked, hparam)) /* names in a map differ: no search for it */
            hparam->key = arena_strdup(c->mem, member->key);
    }
    return checked;
}

/* ---- the size of a grid ---------------------------------------------------------- */

/* Of one axis; a whole number has no more values than its range. */
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

/* Trees are checked to be no deeper than JSON_DEPTH. */
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
        report_error(
            c->report, hyperparameters, "hyperparameters",
            "this grid has %.0f points; expected at most %d: lower a count, or "
            "search with random",
            points, CONFIG_GRID_MOST);
}

struct json *hparams_check(const struct json *hyperparameters, bool is_grid,
                           struct arena *mem, struct config_report *report)
{
    struct check c = {
        .table = experiment_table(),
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
    forms_sort(checked);
    return checked;
}
