/* SPDX-License-Identifier: Apache-2.0 */
/* translate.c - old spellings of configuration keys, one row each.
 *
 * Rows are applied from top to bottom, so a later row sees the results of earlier ones:
 * the length of a step is known before steps are counted, and a searcher has its present
 * name before its keys are completed.  A row may be only for some searchers (`only`,
 * compared with the member `name` beside the key).
 *
 * To add another old spelling: one row, and a function if renaming is not enough. */
#include "config/translate.h"

#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "config/config_report.h"
#include "config/keys/key.h"
#include "data/json/json.h"

enum { BATCHES_PER_STEP = 100 };

struct translating {
    struct arena *mem;
    struct config_report *report;
    int64_t batches_per_step;
};

struct translation;

/* One key found in an old spelling. */
struct found {
    struct json *map; /* the map that holds it */
    struct json *value;
    const char *path;
};

typedef void change_fn(struct translating *t, const struct translation *row,
                       struct found at);

struct translation {
    enum config_kind kind;
    const char *from; /* a path; `[]` for every element of a list */
    const char *to;   /* its present name */
    change_fn *change;
    const char *word;   /* change_word(): only this value */
    const char *only;   /* only for these searchers; NULL: all */
    const char *notice; /* the sentence */
};

/* ---- tools ----------------------------------------------------------------------- */

/* Replaces the old key by `value` under the present name. */
static void move_to(struct translating *t, const struct translation *row,
                    struct found at, struct json *value)
{
    uint32_t line = at.value->line, column = at.value->column;

    if (!value)
        return;
    if (strcmp(at.value->key, row->to) == 0) {
        json_set(t->mem, at.map, row->to, value);
    } else if (json_is_null(json_get(at.map, row->to))) {
        json_remove(at.map, at.value->key);
        json_set(t->mem, at.map, row->to, value);
    } else {
        config_report_error(t->report, at.value, at.path,
                            "is the old spelling of '%s', which is given too; keep one",
                            row->to);
        json_remove(at.map, at.value->key);
        return;
    }
    value->line = line;
    value->column = column;
}

static struct json *new_length(struct translating *t, const char *unit, int64_t count)
{
    struct json *length = json_new(t->mem, JSON_OBJECT);

    json_set(t->mem, length, unit, json_new_i64(t->mem, count));
    return length;
}

/* The one member of {batches: N}, {records: N} or {epochs: N}, or NULL. */
static struct json *length_member(const struct json *length)
{
    struct json *only =
        length && length->kind == JSON_OBJECT ? json_first(length) : NULL;

    return only && !only->next && only->kind == JSON_INT ? only : NULL;
}

/* ---- the changes ----------------------------------------------------------------- */

static void change_name(struct translating *t, const struct translation *row,
                        struct found at)
{
    config_report_notice(t->report, at.value, at.path, "%s", row->notice);
    move_to(t, row, at, json_copy(t->mem, at.value));
}

static void change_word(struct translating *t, const struct translation *row,
                        struct found at)
{
    const char *word = json_str(at.value, NULL);
    struct json *now;

    if (!word || strcmp(word, row->word) != 0)
        return;
    config_report_notice(t->report, at.value, at.path, "%s", row->notice);
    now = json_new_str(t->mem, row->to);
    if (now) {
        now->line = at.value->line;
        now->column = at.value->column;
    }
    json_set(t->mem, at.map, at.value->key, now);
}

static void drop_key(struct translating *t, const struct translation *row,
                     struct found at)
{
    config_report_notice(t->report, at.value, at.path, "%s", row->notice);
    json_remove(at.map, at.value->key);
}

/* batches_per_step: the length of a step; it is called scheduling_unit now. */
static void take_batches_per_step(struct translating *t, const struct translation *row,
                                  struct found at)
{
    const int64_t most = INT32_MAX;

    if (at.value->kind != JSON_INT || at.value->integer < 1 ||
        at.value->integer > most) {
        config_report_error(t->report, at.value, at.path,
                            "expected a whole number from 1 to %" PRId64, most);
        json_remove(at.map, at.value->key);
        return;
    }
    t->batches_per_step = at.value->integer;
    change_name(t, row, at);
}

/* N steps are N * batches_per_step batches.  If the key keeps its name, the check
 * reports a value that is not an integer; otherwise this function does. */
static void steps_to_batches(struct translating *t, const struct translation *row,
                             struct found at)
{
    bool has_today_s_name = strcmp(at.value->key, row->to) == 0;
    int64_t batches;

    if (at.value->kind != JSON_INT && has_today_s_name)
        return;
    if (at.value->kind != JSON_INT || at.value->integer < 0 ||
        __builtin_mul_overflow(at.value->integer, t->batches_per_step, &batches)) {
        config_report_error(t->report, at.value, at.path,
                            "expected a whole number of steps");
        json_remove(at.map, at.value->key);
        return;
    }
    config_report_notice(t->report, at.value, at.path,
                         "counts steps; %" PRId64 " steps of %" PRId64
                         " batches are %s: {batches: %" PRId64 "}",
                         at.value->integer, t->batches_per_step, row->to, batches);
    move_to(t, row, at, new_length(t, "batches", batches));
}

static void number_to_batches(struct translating *t, const struct translation *row,
                              struct found at)
{
    if (at.value->kind != JSON_INT)
        return;
    config_report_notice(t->report, at.value, at.path, "%s: {batches: %" PRId64 "}",
                         row->notice, at.value->integer);
    move_to(t, row, at, new_length(t, "batches", at.value->integer));
}

/* A budget is a sum of lengths: budget / max_length trials. */
static void budget_to_trials(struct translating *t, const struct translation *row,
                             struct found at)
{
    struct json *budget = length_member(at.value);
    struct json *length = length_member(json_get(at.map, "max_length"));
    int64_t trials;

    if (!budget || !length || strcmp(budget->key, length->key) != 0 ||
        length->integer < 1) {
        config_report_error(
            t->report, at.value, at.path,
            "expected a length in the unit of max_length, or max_trials");
        json_remove(at.map, at.value->key);
        return;
    }
    trials = MAX(budget->integer / length->integer, 1);
    config_report_notice(t->report, at.value, at.path,
                         "%s; here that is max_trials: %" PRId64, row->notice, trials);
    move_to(t, row, at, json_new_i64(t->mem, trials));
}

/* max_length has both the unit of time and the amount. */
static void length_to_time(struct translating *t, const struct translation *row,
                           struct found at)
{
    struct json *length = length_member(at.value);

    if (!length || !json_is_null(json_get(at.map, "time_metric")) ||
        !json_is_null(json_get(at.map, "max_time")))
        return;
    config_report_notice(t->report, at.value, at.path,
                         "%s time_metric: %s, max_time: %" PRId64, row->notice,
                         length->key, length->integer);
    json_set(t->mem, at.map, "max_time", json_new_i64(t->mem, length->integer));
    json_set(t->mem, at.map, "time_metric", json_new_str(t->mem, length->key));
}

/* {type: cancel_retries} is just cancel_retries. */
static void unwrap_type(struct translating *t, const struct translation *row,
                        struct found at)
{
    struct json *type = json_get(at.value, "type");

    if (!json_str(type, NULL) || type->next || json_first(at.value) != type)
        return;
    config_report_notice(t->report, at.value, at.path, "%s: action: %s", row->notice,
                         type->string.text);
    move_to(t, row, at, json_copy(t->mem, type));
}

/* ---- the rows -------------------------------------------------------------------- */

#define NAME(kind, from, to)                                                           \
    {                                                                                  \
        kind, from, to, change_name, NULL, NULL, "is called '" to "' now"              \
    }
#define WORD(kind, from, old, now, says)                                               \
    {                                                                                  \
        kind, from, now, change_word, old, NULL, "'" old "' " says                     \
    }
#define CHANGE(kind, from, to, change, only, notice)                                   \
    {                                                                                  \
        kind, from, to, change, NULL, only, notice                                     \
    }
#define ROUND_ROBIN_SAYS "is priority with equal priorities now"
#define BUDGETED         "adaptive sync_halving"

static const struct translation translations[] = {
    NAME(CONFIG_EXPERIMENT, "entrypoint_script", "entrypoint"),
    NAME(CONFIG_EXPERIMENT, "environment.image.gpu", "cuda"),
    NAME(CONFIG_EXPERIMENT, "environment.environment_variables.gpu", "cuda"),
    CHANGE(CONFIG_EXPERIMENT, "log_policies[].action", "action", unwrap_type, NULL,
           "is a plain word now"),

    CHANGE(CONFIG_EXPERIMENT, "batches_per_step", "scheduling_unit",
           take_batches_per_step, NULL, "is called 'scheduling_unit' now"),
    CHANGE(CONFIG_EXPERIMENT, "min_validation_period", "min_validation_period",
           steps_to_batches, NULL, NULL),
    CHANGE(CONFIG_EXPERIMENT, "min_checkpoint_period", "min_checkpoint_period",
           steps_to_batches, NULL, NULL),
    CHANGE(CONFIG_EXPERIMENT, "searcher.max_steps", "max_length", steps_to_batches,
           NULL, NULL),
    CHANGE(CONFIG_EXPERIMENT, "searcher.target_trial_steps", "max_length",
           steps_to_batches, NULL, NULL),
    CHANGE(CONFIG_EXPERIMENT, "searcher.step_budget", "budget", steps_to_batches, NULL,
           NULL),
    CHANGE(CONFIG_EXPERIMENT, "searcher.max_length", "max_length", number_to_batches,
           NULL, "a bare number counts batches"),
    CHANGE(CONFIG_EXPERIMENT, "searcher.budget", "budget", number_to_batches, BUDGETED,
           "a bare number counts batches"),
    CHANGE(CONFIG_EXPERIMENT, "searcher.budget", "max_trials", budget_to_trials,
           BUDGETED, "max_trials says how many trials to train"),
    CHANGE(CONFIG_EXPERIMENT, "searcher.train_stragglers", NULL, drop_key, BUDGETED,
           "has no effect any more"),
    WORD(CONFIG_EXPERIMENT, "searcher.name", "asha", "async_halving",
         "is called 'async_halving' now"),
    WORD(CONFIG_EXPERIMENT, "searcher.name", "sync_halving", "async_halving",
         "has become 'async_halving'"),
    WORD(CONFIG_EXPERIMENT, "searcher.name", "adaptive", "adaptive_asha",
         "has become 'adaptive_asha'"),
    WORD(CONFIG_EXPERIMENT, "searcher.name", "adaptive_simple", "adaptive_asha",
         "has become 'adaptive_asha'"),
    CHANGE(CONFIG_EXPERIMENT, "searcher.max_length", "max_length", length_to_time,
           "adaptive_asha async_halving", "is now written as"),

    NAME(CONFIG_JOB, "entrypoint_script", "entrypoint"),
    NAME(CONFIG_JOB, "environment.image.gpu", "cuda"),
    NAME(CONFIG_JOB, "environment.environment_variables.gpu", "cuda"),

    WORD(CONFIG_MASTER, "resource_manager.scheduler.type", "round_robin", "priority",
         ROUND_ROBIN_SAYS),
    WORD(CONFIG_MASTER, "resource_pools[].scheduler.type", "round_robin", "priority",
         ROUND_ROBIN_SAYS),
    NAME(CONFIG_MASTER, "task_container_defaults.image.gpu", "cuda"),
    NAME(CONFIG_MASTER, "task_container_defaults.environment_variables.gpu", "cuda"),
    CHANGE(CONFIG_MASTER, "task_container_defaults.log_policies[].action", "action",
           unwrap_type, NULL, "is a plain word now"),
};

/* ---- applying them --------------------------------------------------------------- */

static bool is_for(const struct translation *row, const struct json *map)
{
    const char *name = json_str(json_get(map, "name"), NULL);

    if (!row->only)
        return true;
    return name && key_fits_kind(&(struct config_key){.kinds = row->only}, name);
}

/* Follows `rest`, the remaining part of row->from, down from `map`. */
static void apply_row(struct translating *t, const struct translation *row,
                      struct json *map, const char *rest, const char *path)
{
    size_t len = strcspn(rest, ".[");
    char *name = arena_strndup(t->mem, rest, len);
    struct json *value = name ? json_get(map, name) : NULL;
    size_t index = 0;

    if (json_is_null(value))
        return;
    path = arena_printf(t->mem, "%s%s%s", path, path[0] ? "." : "", name);
    if (!path)
        return;
    if (rest[len] == '.') {
        apply_row(t, row, value, rest + len + 1, path);
    } else if (rest[len] == '[') {
        json_each(item, value) {
            char *at = arena_printf(t->mem, "%s[%zu]", path, index++);

            if (at)
                apply_row(t, row, item, rest + len + strlen("[]."), at);
        }
    } else if (is_for(row, map)) {
        row->change(t, row, (struct found){map, value, path});
    }
}

void config_translate(enum config_kind kind, struct json *tree, struct arena *mem,
                      struct config_report *report)
{
    struct translating t = {
        .mem = mem,
        .report = report,
        .batches_per_step = BATCHES_PER_STEP,
    };

    for (size_t i = 0; i < ARRAY_LEN(translations); i++)
        if (translations[i].kind == kind)
            apply_row(&t, &translations[i], tree, translations[i].from, "");
}
