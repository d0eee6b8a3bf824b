/* SPDX-License-Identifier: Apache-2.0 */
/* ldap_library.h - OpenLDAP's libldap, opened when it is needed.  Each function we use is a
 * row below; its type comes from the library's own header. */
#ifndef MASTER_SIGNIN_LDAP_LIBRARY_H
#define MASTER_SIGNIN_LDAP_LIBRARY_H

#include <ldap.h>

#include "base/err.h"

#define LDAP_FUNCTIONS(X)                                                              \
    X(initialize)                                                                      \
    X(set_option)                                                                      \
    X(start_tls_s)                                                                     \
    X(sasl_bind_s)                                                                     \
    X(search_ext_s)                                                                    \
    X(count_entries)                                                                   \
    X(first_entry)                                                                     \
    X(next_entry)                                                                      \
    X(get_dn)                                                                          \
    X(get_values_len)                                                                  \
    X(value_free_len)                                                                  \
    X(memfree)                                                                         \
    X(msgfree)                                                                         \
    X(unbind_ext_s)                                                                    \
    X(err2string)

struct ldap_library {
#define LDAP_MEMBER(name) __typeof__(ldap_##name) *name;
    LDAP_FUNCTIONS(LDAP_MEMBER)
#undef LDAP_MEMBER
};

det_status ldap_library_load(struct ldap_library *library, struct err *err);

#endif
