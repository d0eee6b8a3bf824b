/* SPDX-License-Identifier: Apache-2.0 */
#include "master/signin/identity.h"

#include <string.h>

bool identity_name_is_valid(const char *name)
{
    size_t len = strlen(name);

    if (len < 2 || len > IDENTITY_NAME_MOST)
        return false;
    for (; *name; name++) {
        if (*name <= ' ' || *name >= 0x7F || *name == '/')
            return false;
    }
    return true;
}

void identity_set_admin(struct identity *identity, const char *admin_group)
{
    identity->decides_admin = admin_group && *admin_group;
    identity->is_admin = false;
    for (uint32_t i = 0; identity->decides_admin && i < identity->group_count; i++)
        identity->is_admin =
            identity->is_admin || !strcmp(identity->groups[i], admin_group);
}
