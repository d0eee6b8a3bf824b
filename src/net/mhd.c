/* SPDX-License-Identifier: Apache-2.0 */
#include "net/mhd.h"

#include <dlfcn.h>
#include <string.h>

#include "base/compiler.h"

#define MHD_LIBRARY "libmicrohttpd.so.12"

struct mhd_symbol {
    const char *name;
    size_t offset;
};

static const struct mhd_symbol mhd_symbols[] = {
#define MHD_SYMBOL(name) {"MHD_" #name, offsetof(struct mhd, name)},
    MHD_FUNCTIONS(MHD_SYMBOL)
#undef MHD_SYMBOL
};

det_status mhd_load(struct mhd *mhd, struct err *err)
{
    void *library = dlopen(MHD_LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

    if (!library)
        return err_set(err, DET_UNSUPPORTED,
                       "serving needs the package libmicrohttpd12 (%s was not found)",
                       MHD_LIBRARY);

    for (size_t i = 0; i < ARRAY_LEN(mhd_symbols); i++) {
        void *symbol = dlsym(library, mhd_symbols[i].name);

        if (!symbol) {
            dlclose(library);
            return err_set(err, DET_UNSUPPORTED, "%s has no %s: it is too old",
                           MHD_LIBRARY, mhd_symbols[i].name);
        }
        /* POSIX allows a function pointer in a void pointer; C does not. */
        memcpy((char *)mhd + mhd_symbols[i].offset, &symbol, sizeof(symbol));
    }
    dlclose(library); /* RTLD_NODELETE keeps the code */
    return DET_OK;
}
