/* SPDX-License-Identifier: Apache-2.0 */
/* signin_rules.c - see signin_rules.h.
 *
 * What is not encrypted is refused here, before the first password travels: a provider or a
 * directory that is not on this machine needs TLS. */
#include "config/signin_rules.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/compiler.h"
#include "config/config_report.h"
#include "data/json/json.h"

enum { PATH_TEXT = 64 };

static const char *text_of(const struct json *map, const char *key)
{
    return json_str(json_get(map, key), "");
}

/* Whether the host of "scheme://host..." is this machine. */
static bool is_loopback(const char *url)
{
    static const char *const hosts[] = {"localhost", "127.0.0.1", "[::1]"};
    const char *host = strstr(url, "://");

    for (size_t i = 0; host && i < ARRAY_LEN(hosts); i++) {
        size_t len = strlen(hosts[i]);

        if (!strncasecmp(host + 3, hosts[i], len) && strchr(":/", host[3 + len]))
            return true; /* strchr() finds the end of the text, too */
    }
    return false;
}

static bool has_scheme(const char *url, const char *scheme)
{
    return !strncasecmp(url, scheme, strlen(scheme)) && url[strlen(scheme)];
}

static void require_key(const struct json *map, const char *key, const char *what,
                        struct config_report *report)
{
    char path[PATH_TEXT];

    snprintf(path, sizeof(path), "%s.%s", map->key, key);
    if (!*text_of(map, key))
        config_report_error(report, map, path, "is missing; expected %s", what);
}

static void check_secret(const struct json *map, const char *key,
                         struct config_report *report)
{
    char path[PATH_TEXT], file[PATH_TEXT];

    snprintf(path, sizeof(path), "%s.%s", map->key, key);
    snprintf(file, sizeof(file), "%s_file", key);
    if (*text_of(map, key) && *text_of(map, file))
        config_report_error(report, json_get(map, key), path,
                            "is given, and so is %s; expected one of them", file);
}

static void check_web_address(const struct json *map, const char *key, bool is_strict,
                              struct config_report *report)
{
    const struct json *value = json_get(map, key);
    const char *url = json_str(value, "");
    char path[PATH_TEXT];

    snprintf(path, sizeof(path), "%s.%s", map->key, key);
    if (!*url || has_scheme(url, "https://"))
        return;
    if (!has_scheme(url, "http://"))
        config_report_error(report, value, path,
                            "found '%s'; expected an address that begins with https://",
                            url);
    else if (is_strict && !is_loopback(url))
        config_report_error(
            report, value, path,
            "found '%s'; expected https://, because the provider is not "
            "on this machine",
            url);
}

static void check_oidc(const struct json *map, struct config_report *report)
{
    bool has_openid = !json_get(map, "scopes");

    if (!json_bool(json_get(map, "enabled"), false))
        return;
    require_key(map, "idp_sso_url", "the issuer of the provider", report);
    require_key(map, "idp_recipient_url", "the address of this master", report);
    require_key(map, "client_id", "the id of this master at the provider", report);
    check_web_address(map, "idp_sso_url", true, report);
    check_web_address(map, "idp_recipient_url", false, report);
    check_secret(map, "client_secret", report);
    json_each(scope, json_get(map, "scopes")) {
        has_openid = has_openid || !strcmp(json_str(scope, ""), "openid");
    }
    if (!has_openid)
        config_report_error(report, json_get(map, "scopes"), "oidc.scopes",
                            "lacks 'openid', without which a provider sends no ID "
                            "token");
}

static void check_directory_address(const struct json *map,
                                    struct config_report *report)
{
    const struct json *value = json_get(map, "url");
    const char *url = json_str(value, "");
    bool starts_tls = json_bool(json_get(map, "start_tls"), false);
    bool is_allowed = json_bool(json_get(map, "allow_cleartext"), false);
    bool is_tls = has_scheme(url, "ldaps://");

    if (*url && !is_tls && !has_scheme(url, "ldap://"))
        config_report_error(report, value, "ldap.url",
                            "found '%s'; expected ldaps://HOST or ldap://HOST", url);
    else if (is_tls && starts_tls)
        config_report_error(report, json_get(map, "start_tls"), "ldap.start_tls",
                            "is for ldap:// addresses; ldaps:// is encrypted already");
    else if (*url && !is_tls && !starts_tls && !is_allowed && !is_loopback(url))
        config_report_error(report, value, "ldap.url",
                            "found '%s'; passwords would travel unencrypted: use "
                            "ldaps://, or set start_tls, or set allow_cleartext if the "
                            "network is safe",
                            url);
}

static void check_ldap(const struct json *map, struct config_report *report)
{
    const struct json *filter = json_get(map, "user_filter");

    if (!json_bool(json_get(map, "enabled"), false))
        return;
    require_key(map, "url", "the address of the directory", report);
    require_key(map, "user_base", "the place of users in the directory", report);
    check_directory_address(map, report);
    check_secret(map, "bind_password", report);
    if (filter && !strstr(json_str(filter, "%s"), "%s"))
        config_report_error(report, filter, "ldap.user_filter",
                            "found '%s'; expected a filter with %%s for the name",
                            json_str(filter, ""));
    if (*text_of(map, "admin_group") && !*text_of(map, "group_base"))
        config_report_error(report, json_get(map, "admin_group"), "ldap.admin_group",
                            "needs ldap.group_base: groups are not searched");
}

void signin_rules_check(const struct json *tree, struct config_report *report)
{
    const struct json *oidc = json_get(tree, "oidc");
    const struct json *ldap = json_get(tree, "ldap");

    if (oidc && oidc->kind == JSON_OBJECT)
        check_oidc(oidc, report);
    if (ldap && ldap->kind == JSON_OBJECT)
        check_ldap(ldap, report);
}
