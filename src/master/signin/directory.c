/* SPDX-License-Identifier: Apache-2.0 */
/* directory.c - see directory.h. */
#include "master/signin/directory.h"

#include <string.h>
#include <sys/time.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "master/signin/identity.h"
#include "master/signin/ldap_library.h"

enum { VALUE_MOST = 1024 };

struct directory {
    struct directory_config config;
    struct ldap_library library;
};

/* One connection to the directory, for one sign-in. */
struct visit {
    const struct directory *directory;
    LDAP *ldap;
    struct arena *mem;
};

det_status directory_new(const struct directory_config *config,
                         struct directory **ret_directory, struct err *err)
{
    struct directory *directory = mem_new(struct directory);
    det_status st = directory ? ldap_library_load(&directory->library, err)
                              : err_default(err, DET_NOMEM);

    if (st) {
        mem_free(directory);
        return st;
    }
    directory->config = *config;
    *ret_directory = directory;
    return DET_OK;
}

void directory_free(struct directory *directory)
{
    mem_free(directory);
}

/* ---- filters --------------------------------------------------------------------- */

static void write_escaped(struct buf *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("*()\\", *text))
            buf_printf(out, "\\%02x", (unsigned char)*text);
        else
            buf_putc(out, *text);
    }
}

void directory_write_filter(struct buf *out, const char *filter, const char *username,
                            const char *dn)
{
    for (; *filter; filter++) {
        if (filter[0] == '%' && filter[1] == 's') {
            write_escaped(out, username);
            filter++;
        } else if (filter[0] == '%' && filter[1] == 'd') {
            write_escaped(out, dn);
            filter++;
        } else {
            buf_putc(out, *filter);
        }
    }
}

/* ---- the connection -------------------------------------------------------------- */

static det_status report_failure(const struct visit *visit, const char *what, int code,
                                 struct err *err)
{
    return err_set(err, code == LDAP_TIMEOUT ? DET_TIMEOUT : DET_UNREACHABLE,
                   "the directory at '%.200s' %s: %s", visit->directory->config.url,
                   what, visit->directory->library.err2string(code));
}

static det_status refuse_login(struct err *err)
{
    return err_set(err, DET_UNAUTHENTICATED, "invalid credentials");
}

static int set_options(const struct visit *visit)
{
    const struct directory_config *config = &visit->directory->config;
    const struct ldap_library *library = &visit->directory->library;
    const struct timeval patience = {.tv_sec = config->timeout_s};
    const int version = LDAP_VERSION3, demand = LDAP_OPT_X_TLS_DEMAND, client = 0;
    const struct {
        int option;
        const void *value;
    } rows[] = {
        {LDAP_OPT_PROTOCOL_VERSION, &version},
        {LDAP_OPT_NETWORK_TIMEOUT, &patience},
        {LDAP_OPT_TIMEOUT, &patience},
        {LDAP_OPT_REFERRALS, LDAP_OPT_OFF}, /* another server may not be trusted */
        {LDAP_OPT_X_TLS_REQUIRE_CERT, &demand},
        {LDAP_OPT_X_TLS_CACERTFILE, *config->ca_file ? config->ca_file : NULL},
        {LDAP_OPT_X_TLS_NEWCTX, &client}, /* last: applies the rows above */
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool is_unset = rows[i].option == LDAP_OPT_X_TLS_CACERTFILE && !rows[i].value;

        if (!is_unset && library->set_option(visit->ldap, rows[i].option,
                                             rows[i].value) != LDAP_OPT_SUCCESS)
            return LDAP_LOCAL_ERROR;
    }
    return LDAP_SUCCESS;
}

static int bind_as(const struct visit *visit, const char *dn, const char *password)
{
    struct berval secret = {.bv_len = strlen(password),
                            .bv_val = (char *)(uintptr_t)password};

    return visit->directory->library.sasl_bind_s(visit->ldap, dn, LDAP_SASL_SIMPLE,
                                                 &secret, NULL, NULL, NULL);
}

static det_status connect_directory(struct visit *visit, struct err *err)
{
    const struct directory_config *config = &visit->directory->config;
    const struct ldap_library *library = &visit->directory->library;
    int code = library->initialize(&visit->ldap, config->url);

    if (!code)
        code = set_options(visit);
    if (code)
        return report_failure(visit, "cannot be used", code, err);
    if (config->starts_tls)
        code = library->start_tls_s(visit->ldap, NULL, NULL);
    if (code)
        return report_failure(visit, "does not start TLS", code, err);
    if (*config->bind_dn)
        code = bind_as(visit, config->bind_dn, config->bind_password);
    return code ? report_failure(visit, "does not answer or refuses ldap.bind_dn", code,
                                 err)
                : DET_OK;
}

static void visit_done(struct visit *visit)
{
    if (visit->ldap)
        visit->directory->library.unbind_ext_s(visit->ldap, NULL, NULL);
}

/* ---- searching ------------------------------------------------------------------- */

/* The first value of an attribute; NULL: none, or not text. */
static const char *read_value(const struct visit *visit, LDAPMessage *entry,
                              const char *attribute)
{
    const struct ldap_library *library = &visit->directory->library;
    struct berval **values = library->get_values_len(visit->ldap, entry, attribute);
    const char *text = NULL;

    if (values && values[0] && values[0]->bv_len <= VALUE_MOST &&
        !memchr(values[0]->bv_val, '\0', values[0]->bv_len))
        text = arena_strndup(visit->mem, values[0]->bv_val, values[0]->bv_len);
    if (values)
        library->value_free_len(values);
    return text;
}

struct search {
    const char *base;
    const char *filter;
    const char *attribute; /* "": none is wanted */
    int most;
};

static int search_entries(const struct visit *visit, const struct search *search,
                          LDAPMessage **ret_found)
{
    const struct directory *directory = visit->directory;
    struct timeval patience = {.tv_sec = directory->config.timeout_s};
    char *attributes[] = {
        (char *)(uintptr_t)(*search->attribute ? search->attribute : LDAP_NO_ATTRS),
        NULL};

    return directory->library.search_ext_s(
        visit->ldap, search->base, LDAP_SCOPE_SUBTREE, search->filter, attributes, 0,
        NULL, NULL, &patience, search->most, ret_found);
}

static const char *make_filter(const struct visit *visit, const char *filter,
                               const char *username, const char *dn)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    directory_write_filter(&out, filter, username, dn);
    return out.status ? NULL : arena_strdup(visit->mem, out.data);
}

/* Exactly one entry: with two, the password of either would open the account. */
static det_status find_person(const struct visit *visit, const char *username,
                              const char **ret_dn, struct identity *identity,
                              struct err *err)
{
    const struct directory_config *config = &visit->directory->config;
    const struct ldap_library *library = &visit->directory->library;
    struct search search = {config->user_base,
                            make_filter(visit, config->user_filter, username, ""),
                            config->display_name_attribute, 2};
    LDAPMessage *found = NULL, *entry;
    det_status st = DET_OK;
    int code;
    char *dn;

    if (!search.filter)
        return err_default(err, DET_NOMEM);
    code = search_entries(visit, &search, &found);
    if (code == LDAP_SIZELIMIT_EXCEEDED ||
        (!code && library->count_entries(visit->ldap, found) != 1)) {
        st = refuse_login(err);
    } else if (code) {
        st = report_failure(visit, "cannot search for users", code, err);
    } else {
        entry = library->first_entry(visit->ldap, found);
        dn = library->get_dn(visit->ldap, entry);
        *ret_dn = arena_strdup(visit->mem, dn);
        library->memfree(dn);
        if (*config->display_name_attribute)
            identity->display_name =
                read_value(visit, entry, config->display_name_attribute);
        if (!*ret_dn)
            st = err_default(err, DET_NOMEM);
    }
    library->msgfree(found);
    return st;
}

static det_status find_groups(const struct visit *visit, const char *username,
                              const char *dn, struct identity *identity,
                              struct err *err)
{
    const struct directory_config *config = &visit->directory->config;
    const struct ldap_library *library = &visit->directory->library;
    struct search search = {config->group_base,
                            make_filter(visit, config->group_filter, username, dn),
                            config->group_attribute, IDENTITY_GROUPS_MOST};
    const char **names = arena_array(visit->mem, const char *, IDENTITY_GROUPS_MOST);
    LDAPMessage *found = NULL;
    int code;

    if (!*config->group_base)
        return DET_OK;
    if (!search.filter || !names)
        return err_default(err, DET_NOMEM);
    code = search_entries(visit, &search, &found);
    for (LDAPMessage *entry = code ? NULL : library->first_entry(visit->ldap, found);
         entry && identity->group_count < IDENTITY_GROUPS_MOST;
         entry = library->next_entry(visit->ldap, entry)) {
        const char *name = read_value(visit, entry, config->group_attribute);

        if (name)
            names[identity->group_count++] = name;
    }
    library->msgfree(found);
    if (code)
        return report_failure(visit, "cannot search for groups", code, err);
    identity->groups = names;
    identity->has_groups = true;
    return visit->mem->has_failed ? err_default(err, DET_NOMEM) : DET_OK;
}

static det_status check_password(const struct visit *visit, const char *dn,
                                 const char *password, struct err *err)
{
    int code = bind_as(visit, dn, password);

    if (code == LDAP_INVALID_CREDENTIALS || code == LDAP_UNWILLING_TO_PERFORM ||
        code == LDAP_INAPPROPRIATE_AUTH || code == LDAP_CONSTRAINT_VIOLATION)
        return refuse_login(err);
    return code ? report_failure(visit, "cannot check the password", code, err)
                : DET_OK;
}

det_status directory_check(const struct directory *directory, const char *username,
                           const char *password, struct arena *mem,
                           struct identity *ret_identity, struct err *err)
{
    CLEANUP(visit_done) struct visit visit = {.directory = directory, .mem = mem};
    const char *dn = NULL;
    det_status st;

    if (!*password || !identity_name_is_valid(username))
        return refuse_login(err);
    *ret_identity = (struct identity){.source = "the directory",
                                      .username = username,
                                      .may_provision = directory->config.may_provision};
    st = connect_directory(&visit, err);
    if (!st)
        st = find_person(&visit, username, &dn, ret_identity, err);
    if (!st)
        st = find_groups(&visit, username, dn, ret_identity, err);
    if (!st && !*dn) /* a bind without a name is anonymous, too */
        st = refuse_login(err);
    if (!st)
        st = check_password(&visit, dn, password, err);
    if (!st)
        identity_set_admin(ret_identity, directory->config.admin_group);
    return st;
}
