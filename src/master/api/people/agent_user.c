/* SPDX-License-Identifier: Apache-2.0 */
#include "master/api/people/agent_user.h"

#include <stdint.h>
#include <string.h>

#include "data/json/json.h"
#include "store/people/user.h"

bool agent_user_is_given(const struct json *group)
{
    return group && group->kind != JSON_NULL;
}

/* Names go into the task's environment and its user database. */
static bool is_unix_name(const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < len; i++)
        if ((unsigned char)name[i] <= ' ' || name[i] == 0x7f || strchr(":/,", name[i]))
            return false;
    return len && len <= 64 && name[0] != '-';
}

static bool is_unix_number(const struct json *item)
{
    int64_t number = json_i64(item, -1);

    /* the largest is below -1, which means "unchanged" to chown() */
    return number >= 0 && number < UINT32_MAX;
}

static uint32_t count_fields(const struct json *group)
{
    static const char *const names[] = {"agentUid", "agentGid", "agentUser",
                                        "agentGroup"};
    uint32_t count = 0;

    for (size_t i = 0; i < 4; i++) {
        const struct json *item = json_get(group, names[i]);

        count += !json_is_null(item) && *json_str(item, "a number");
    }
    return count;
}

static det_status check_fields(const struct json *group, struct err *err)
{
    if (!is_unix_number(json_get(group, "agentUid")) ||
        !is_unix_number(json_get(group, "agentGid")))
        return err_set(
            err, DET_INVALID,
            "agentUid and agentGid must be whole numbers from 0 to 4294967294");
    if (!is_unix_name(json_str(json_get(group, "agentUser"), "")) ||
        !is_unix_name(json_str(json_get(group, "agentGroup"), "")))
        return err_set(err, DET_INVALID,
                       "agentUser and agentGroup must be names of 1 to 64 characters "
                       "without spaces, ':', ',' and '/'");
    return DET_OK;
}

det_status agent_user_read(const struct json *group, struct user *user, struct err *err)
{
    uint32_t count = count_fields(group);
    det_status st;

    if (group->kind != JSON_OBJECT)
        return err_set(err, DET_INVALID, "agentUserGroup must be an object");
    if (count && count < 4)
        return err_set(err, DET_INVALID,
                       "agentUid, agentGid, agentUser and agentGroup cannot be empty");
    st = count ? check_fields(group, err) : DET_OK;
    if (st)
        return st;
    user->agent_uid = json_i64(json_get(group, "agentUid"), 0);
    user->agent_gid = json_i64(json_get(group, "agentGid"), 0);
    user->agent_user = count ? json_str(json_get(group, "agentUser"), NULL) : NULL;
    user->agent_group = count ? json_str(json_get(group, "agentGroup"), NULL) : NULL;
    return DET_OK;
}
