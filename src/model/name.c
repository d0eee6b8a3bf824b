/* SPDX-License-Identifier: Apache-2.0 */
#include "model/name.h"

#include <string.h>

#include "data/utf8.h"

bool given_name_has_control(const char *name)
{
    for (const unsigned char *at = (const unsigned char *)name; *at; at++)
        /* U+0080 to U+009F are C2 80 to C2 9F */
        if (*at < 0x20 || *at == 0x7f || (*at == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0))
            return true;
    return false;
}

bool given_name_is_path(const char *name)
{
    return strpbrk(name, "/\\") || !strcmp(name, ".") || !strcmp(name, "..");
}

det_status given_name_check(const char *what, const char *name, size_t most,
                            struct err *err)
{
    size_t len = name ? strlen(name) : 0;

    if (!len)
        return err_set(err, DET_INVALID, "name '' must be at least 1 character long");
    if (!name[strspn(name, " \t\r\n\v\f")])
        return err_set(err, DET_INVALID,
                       "name must contain at least one character that is not a space");
    if (len > most)
        return err_set(err, DET_INVALID, "%s has at most %zu bytes; this one has %zu",
                       what, most, len);
    if (utf8_valid(name, len) != len)
        return err_set(err, DET_INVALID, "%s must be UTF-8", what);
    if (given_name_has_control(name))
        return err_set(err, DET_INVALID,
                       "%s must not contain line breaks or other control characters",
                       what);
    if (given_name_is_path(name))
        return err_set(err, DET_INVALID,
                       "%s must not look like a path: '%s' contains '/' or '\\', or is "
                       "'.' or '..'",
                       what, name);
    return DET_OK;
}
