/* SPDX-License-Identifier: Apache-2.0 */
/* directory.h - passwords checked by an LDAP directory.
 *
 *   bind as the service -> find the person -> find the groups -> bind as the person
 *
 * The last step checks the password.  A blank password is refused before the directory is
 * asked: LDAP takes it as an anonymous bind, which succeeds for everybody (RFC 4513, section
 * 5.1.2).
 *
 * libldap does the work, opened when the configuration enables it.  Every call may block for
 * the configured time, so it runs on the sign-in lane. */
#ifndef MASTER_SIGNIN_DIRECTORY_H
#define MASTER_SIGNIN_DIRECTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct buf;
struct directory;
struct identity;

/* Strings are borrowed; they live as long as the master.  "" means none. */
struct directory_config {
    const char *url;
    bool starts_tls;
    const char *ca_file;
    const char *bind_dn; /* "": searches anonymously */
    const char *bind_password;
    const char *user_base;
    const char *user_filter; /* %s: the user's name */
    const char *display_name_attribute;
    const char *group_base;
    const char *group_filter; /* %s: the user's name, %d: the user's DN */
    const char *group_attribute;
    const char *admin_group;
    bool may_provision;
    int64_t timeout_s;
};

/* DET_UNSUPPORTED, naming the package, if libldap is not installed. */
det_status directory_new(const struct directory_config *config,
                         struct directory **ret_directory, struct err *err);
void directory_free(struct directory *directory);

/* DET_UNAUTHENTICATED, always with the same sentence, if the name or the password is wrong.
 * DET_UNREACHABLE: the directory does not answer, or refuses the service's own password. */
det_status directory_check(const struct directory *directory, const char *username,
                           const char *password, struct arena *mem,
                           struct identity *ret_identity, struct err *err);

/* Writes `filter` with its placeholders replaced; values are escaped (RFC 4515). */
void directory_write_filter(struct buf *out, const char *filter, const char *username,
                            const char *dn);

#endif
