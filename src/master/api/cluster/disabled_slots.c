/* SPDX-License-Identifier: Apache-2.0 */
#include "master/api/cluster/disabled_slots.h"

#include <string.h>

#include "data/json/json.h"
#include "master/request/request.h"

det_status disabled_slots_parse(struct request *req, const struct agent *agent,
                                struct json **ret_slots)
{
    const char *text = agent->disabled_slots ? agent->disabled_slots : "[]";

    return json_parse(text, strlen(text), &req->mem, ret_slots, req->err);
}

bool disabled_slots_has(const struct agent *agent, const struct json *disabled,
                        int64_t slot)
{
    if (!agent->is_enabled)
        return true;
    json_each(item, disabled)
        if (json_i64(item, -1) == slot)
            return true;
    return false;
}
