/* SPDX-License-Identifier: Apache-2.0 */
/* gnutls.h - GnuTLS, opened when TLS or a signed token is first used.
 *
 * libmicrohttpd brings it along, so a master needs no second TLS library.  Loading it
 * takes milliseconds, which a command that calls http:// must not pay for.  Each function
 * we use is a row below; its type comes from the library's own header. */
#ifndef NET_TLS_GNUTLS_H
#define NET_TLS_GNUTLS_H

#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include "base/err.h"

#define GNUTLS_FUNCTIONS(X)                                                            \
    X(free)                                                                            \
    X(strerror)                                                                        \
    X(rnd)                                                                             \
    X(init)                                                                            \
    X(deinit)                                                                          \
    X(bye)                                                                             \
    X(handshake)                                                                       \
    X(error_is_fatal)                                                                  \
    X(record_send)                                                                     \
    X(record_recv)                                                                     \
    X(record_check_pending)                                                            \
    X(record_get_direction)                                                            \
    X(priority_set_direct)                                                             \
    X(credentials_set)                                                                 \
    X(server_name_set)                                                                 \
    X(transport_set_int2)                                                              \
    X(session_set_ptr)                                                                 \
    X(session_get_ptr)                                                                 \
    X(session_get_flags)                                                               \
    X(session_get_data)                                                                \
    X(session_set_data)                                                                \
    X(session_ticket_key_generate)                                                     \
    X(session_ticket_enable_server)                                                    \
    X(certificate_allocate_credentials)                                                \
    X(certificate_free_credentials)                                                    \
    X(certificate_set_x509_system_trust)                                               \
    X(certificate_set_x509_trust_mem)                                                  \
    X(certificate_get_peers)                                                           \
    X(certificate_verify_peers3)                                                       \
    X(pcert_import_x509)                                                               \
    X(pcert_deinit)                                                                    \
    X(privkey_init)                                                                    \
    X(privkey_deinit)                                                                  \
    X(privkey_import_x509_raw)                                                         \
    X(pubkey_init)                                                                     \
    X(pubkey_deinit)                                                                   \
    X(pubkey_import_privkey)                                                           \
    X(pubkey_get_key_id)                                                               \
    X(pubkey_import_rsa_raw)                                                           \
    X(pubkey_import_ecc_raw)                                                           \
    X(pubkey_verify_data2)                                                             \
    X(encode_rs_value)                                                                 \
    X(x509_crt_init)                                                                   \
    X(x509_crt_deinit)                                                                 \
    X(x509_crt_import)                                                                 \
    X(x509_crt_list_import)                                                            \
    X(x509_crt_export)                                                                 \
    X(x509_crt_check_hostname)                                                         \
    X(x509_crt_get_fingerprint)                                                        \
    X(x509_crt_get_key_id)                                                             \
    X(x509_crt_get_activation_time)                                                    \
    X(x509_crt_get_expiration_time)                                                    \
    X(x509_crt_get_subject_alt_name)                                                   \
    X(x509_crt_set_version)                                                            \
    X(x509_crt_set_serial)                                                             \
    X(x509_crt_set_activation_time)                                                    \
    X(x509_crt_set_expiration_time)                                                    \
    X(x509_crt_set_dn)                                                                 \
    X(x509_crt_set_key)                                                                \
    X(x509_crt_set_key_usage)                                                          \
    X(x509_crt_set_key_purpose_oid)                                                    \
    X(x509_crt_set_basic_constraints)                                                  \
    X(x509_crt_set_subject_alt_name)                                                   \
    X(x509_crt_set_subject_key_id)                                                     \
    X(x509_crt_sign2)                                                                  \
    X(x509_privkey_init)                                                               \
    X(x509_privkey_deinit)                                                             \
    X(x509_privkey_generate)                                                           \
    X(x509_privkey_export)

struct gnutls {
#define GNUTLS_MEMBER(name) __typeof__(gnutls_##name) *name;
    GNUTLS_FUNCTIONS(GNUTLS_MEMBER)
#undef GNUTLS_MEMBER
};

/* The table; loads the library at the first call, from any thread.  It is never unloaded.
 * DET_UNSUPPORTED, naming the package, if it is not installed. */
det_status gnutls_load(const struct gnutls **ret_gnutls, struct err *err);

#endif
