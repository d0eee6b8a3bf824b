/* SPDX-License-Identifier: Apache-2.0 */
/* length.c - see length.h. */
#include "libdet/train/length.h"

#include "base/compiler.h"
#include "data/json/json.h"

det_length length_read(const struct json *value)
{
    static const struct {
        const char *name;
        int unit;
    } units[] = {
        {"batches", DET_BATCHES}, {"records", DET_RECORDS}, {"epochs", DET_EPOCHS}};

    if (!value || value->kind != JSON_OBJECT)
        return (det_length){DET_NO_UNIT, json_i64(value, 0)};
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        const struct json *count = json_get(value, units[i].name);

        if (count)
            return (det_length){units[i].unit, json_i64(count, 0)};
    }
    return (det_length){0};
}
