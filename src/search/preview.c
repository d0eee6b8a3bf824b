/* SPDX-License-Identifier: Apache-2.0 */
/* preview.c - see preview.h. */
#include "search/preview.h"

#include "data/json/json.h"
#include "search/method.h"

void search_preview_row(struct arena *mem, struct json *trials, uint32_t count)
{
    struct json *row = json_push(trials, json_new(mem, JSON_OBJECT));
    struct json *unit;

    json_set(mem, row, "count", json_new_i64(mem, count));
    unit = json_set(mem, row, "unit", json_new(mem, JSON_OBJECT));
    json_set(mem, unit, "maxLength", json_new_bool(mem, true));
}

det_status search_preview(const struct json *searcher_config,
                          const struct json *hyperparameters, struct arena *mem,
                          struct json **ret_trials, struct err *err)
{
    struct json *trials = json_new(mem, JSON_ARRAY);
    struct searcher *s;
    det_status status;

    if (!trials)
        return err_default(err, DET_NOMEM);
    status = searcher_new(searcher_config, hyperparameters, 0, &s, err);
    if (status)
        return status;

    if (s->method->preview)
        s->method->preview(s, mem, trials);
    else
        status = err_set(err, DET_INVALID, "invalid searcher configuration");
    searcher_free(s);
    if (mem->has_failed)
        return err_default(err, DET_NOMEM);
    if (!status)
        *ret_trials = trials;
    return status;
}
