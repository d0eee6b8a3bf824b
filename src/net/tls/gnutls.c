/* SPDX-License-Identifier: Apache-2.0 */
#include "net/tls/gnutls.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "base/compiler.h"

#define GNUTLS_LIBRARY "libgnutls.so.30"

struct gnutls_symbol {
    const char *name;
    size_t offset;
};

static const struct gnutls_symbol symbols[] = {
#define GNUTLS_SYMBOL(name) {"gnutls_" #name, offsetof(struct gnutls, name)},
    GNUTLS_FUNCTIONS(GNUTLS_SYMBOL)
#undef GNUTLS_SYMBOL
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct gnutls table;
static struct err problem;

static void load(void)
{
    void *library = dlopen(GNUTLS_LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

    if (!library) {
        (void)err_set(&problem, DET_UNSUPPORTED,
                      "TLS needs the package libgnutls30 (%s was not found)",
                      GNUTLS_LIBRARY);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(symbols) && !problem.status; i++) {
        void *symbol = dlsym(library, symbols[i].name);

        if (!symbol)
            (void)err_set(&problem, DET_UNSUPPORTED, "%s has no %s: it is too old",
                          GNUTLS_LIBRARY, symbols[i].name);
        /* POSIX allows a function pointer in a void pointer; C does not. */
        memcpy((char *)&table + symbols[i].offset, &symbol, sizeof(symbol));
    }
    dlclose(library); /* RTLD_NODELETE keeps the code */
}

det_status gnutls_load(const struct gnutls **ret_gnutls, struct err *err)
{
    pthread_once(&once, load);
    if (problem.status)
        return err_set(err, problem.status, "%s", problem.text);
    *ret_gnutls = &table;
    return DET_OK;
}
