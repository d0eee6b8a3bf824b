/* SPDX-License-Identifier: Apache-2.0 */
/* signin_rules.h - rules between the keys `oidc` and `ldap` of the master. */
#ifndef CONFIG_SIGNIN_RULES_H
#define CONFIG_SIGNIN_RULES_H

struct config_report;
struct json;

void signin_rules_check(const struct json *tree, struct config_report *report);

#endif
