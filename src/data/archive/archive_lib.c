/* SPDX-License-Identifier: Apache-2.0 */
#include "data/archive/archive_lib.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"

#define LIBRARY "libarchive.so.13"

static const struct symbol {
    const char *name;
    size_t offset;
} symbols[] = {
#define ARCHIVE_SYMBOL(name_)                                                          \
    {.name = "archive_" #name_, .offset = offsetof(struct archive_lib, call_##name_)},
    ARCHIVE_CALLS(ARCHIVE_SYMBOL)
#undef ARCHIVE_SYMBOL
};

det_status archive_lib_load(struct archive_lib *ret_lib, struct err *err)
{
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    struct archive_lib lib;
    const char *missing = NULL;

    if (!handle)
        return err_set(err, DET_UNSUPPORTED,
                       "archives need " LIBRARY ", which cannot be loaded; install the "
                       "package libarchive13");
    for (size_t i = 0; i < ARRAY_LEN(symbols); i++) {
        void *function = dlsym(handle, symbols[i].name);

        if (!function)
            missing = symbols[i].name;
        memcpy((char *)&lib + symbols[i].offset, &function, sizeof(function));
    }
    dlclose(handle); /* it stays: RTLD_NODELETE */
    if (missing)
        return err_set(err, DET_UNSUPPORTED,
                       LIBRARY " has no '%s'; install a newer package libarchive13",
                       missing);
    *ret_lib = lib;
    return DET_OK;
}

det_status archive_lib_error(const struct archive_lib *lib, struct archive *archive,
                             const char *what, struct err *err)
{
    const char *said = lib->call_error_string(archive);

    if (lib->call_errno(archive) == ENOMEM)
        return err_default(err, DET_NOMEM);
    return err_set(err, DET_INVALID, "%s: %s", what, said ? said : "it is damaged");
}
