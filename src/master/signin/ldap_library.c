/* SPDX-License-Identifier: Apache-2.0 */
#include "master/signin/ldap_library.h"

#include <dlfcn.h>
#include <string.h>

#include "base/compiler.h"

static const struct {
    const char *name;
    size_t offset;
} ldap_symbols[] = {
#define LDAP_SYMBOL(name) {"ldap_" #name, offsetof(struct ldap_library, name)},
    LDAP_FUNCTIONS(LDAP_SYMBOL)
#undef LDAP_SYMBOL
};

/* OpenLDAP 2.5 (Debian 12) and 2.6 have different names and the same functions. */
static void *open_library(void)
{
    static const char *const names[] = {"libldap-2.5.so.0", "libldap.so.2"};
    void *library = NULL;

    for (size_t i = 0; !library && i < ARRAY_LEN(names); i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    return library;
}

det_status ldap_library_load(struct ldap_library *library, struct err *err)
{
    void *opened = open_library();

    if (!opened)
        return err_set(err, DET_UNSUPPORTED,
                       "sign-in by LDAP needs the package libldap-2.5-0 "
                       "(libldap-2.5.so.0 was not found)");
    for (size_t i = 0; i < ARRAY_LEN(ldap_symbols); i++) {
        void *symbol = dlsym(opened, ldap_symbols[i].name);

        if (!symbol) {
            dlclose(opened);
            return err_set(err, DET_UNSUPPORTED, "libldap has no %s: it is too old",
                           ldap_symbols[i].name);
        }
        memcpy((char *)library + ldap_symbols[i].offset, &symbol, sizeof(symbol));
    }
    dlclose(opened); /* RTLD_NODELETE keeps the code */
    return DET_OK;
}
