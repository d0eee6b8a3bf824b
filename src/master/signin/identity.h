/* SPDX-License-Identifier: Apache-2.0 */
/* identity.h - what an identity provider or a directory says about a person. */
#ifndef MASTER_SIGNIN_IDENTITY_H
#define MASTER_SIGNIN_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

/* All strings are in the memory of the caller of oidc_finish() or directory_check(). */
struct identity {
    const char *source;        /* "Okta", for sentences */
    const char *issuer;        /* NULL: a directory, where the name is the identity */
    const char *subject;       /* never changes, unlike the name; NULL likewise */
    const char *username;      /* checked: identity_name_is_valid() */
    const char *display_name;  /* NULL: unknown */
    const char *const *groups; /* names */
    uint32_t group_count;
    bool has_groups;    /* the source knows groups */
    bool decides_admin; /* the next member counts */
    bool is_admin;
    bool may_provision; /* an unknown person gets an account */
};

enum { IDENTITY_NAME_MOST = 64, IDENTITY_GROUPS_MOST = 256 };

/* 2 to 64 characters, printable ASCII without spaces and '/'. */
bool identity_name_is_valid(const char *name);
/* Sets is_admin by the name of the group of administrators; NULL or "": no such group. */
void identity_set_admin(struct identity *identity, const char *admin_group);

#endif
