/* SPDX-License-Identifier: Apache-2.0 */
/* methods.c - see methods.h. */
#include "search/methods.h"

#include <string.h>

#include "search/method.h"

#define METHOD(name_) &search_##name_,
static const struct search_method *const methods[] = {SEARCH_METHOD_MAP(METHOD)};
#undef METHOD

const struct search_method *search_method_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
        if (!strcmp(methods[i]->name, name))
            return methods[i];
    }
    return NULL;
}
