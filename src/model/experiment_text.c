/* SPDX-License-Identifier: Apache-2.0 */
#include "model/experiment_text.h"

#include <string.h>

#include "data/json/json.h"

det_status experiment_text_check(const char *what, const char *text, size_t most,
                                 struct err *err)
{
    size_t len = text ? strlen(text) : 0;

    if (len <= most)
        return DET_OK;
    return err_set(err, DET_TOO_LARGE, "%s has %zu bytes; expected %zu at most", what,
                   len, most);
}

det_status experiment_labels_check(const struct json *labels, struct err *err)
{
    det_status st = DET_OK;

    if (!json_first(labels))
        return DET_OK;
    if (labels->list.count > EXPERIMENT_LABELS_MOST)
        return err_set(err, DET_TOO_LARGE, "there are %zu labels; expected %d at most",
                       labels->list.count, EXPERIMENT_LABELS_MOST);
    json_each(label, labels) {
        if (!st)
            st = experiment_text_check("a label", json_str(label, NULL),
                                       EXPERIMENT_LABEL_MOST, err);
    }
    return st;
}

/* What hyperparameters amount to. */
struct hparam_size {
    size_t count;
    size_t bytes;
};

enum { NUMBER_BYTES = 8 };

/* {type: int, minval: 1, ...} is one hyperparameter; a map without type holds others. */
static bool is_one_hparam(const struct json *value)
{
    return value->kind != JSON_OBJECT || json_str(json_get(value, "type"), NULL);
}

static void measure_hparams(const struct json *tree, bool is_inside,
                            struct hparam_size *size)
{
    json_each(item, tree) {
        bool is_one = is_one_hparam(item);

        size->count += !is_inside && is_one;
        size->bytes += item->key ? strlen(item->key) : 0;
        size->bytes += item->kind == JSON_STRING ? item->string.len : NUMBER_BYTES;
        if (item->kind == JSON_OBJECT || item->kind == JSON_ARRAY)
            measure_hparams(item, is_inside || is_one, size);
    }
}

det_status experiment_hparams_check(const struct json *hparams, struct err *err)
{
    struct hparam_size size = {0};

    if (!hparams || hparams->kind != JSON_OBJECT)
        return DET_OK;
    measure_hparams(hparams, false, &size);
    if (size.count > EXPERIMENT_HPARAMS_MOST)
        return err_set(err, DET_TOO_LARGE,
                       "there are %zu hyperparameters; expected %d at most", size.count,
                       EXPERIMENT_HPARAMS_MOST);
    if (size.bytes > EXPERIMENT_HPARAMS_BYTES_MOST)
        return err_set(err, DET_TOO_LARGE,
                       "the hyperparameters have %zu bytes; expected %d at most: put "
                       "long values into a file of the folder",
                       size.bytes, EXPERIMENT_HPARAMS_BYTES_MOST);
    return DET_OK;
}
