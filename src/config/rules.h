/* SPDX-License-Identifier: Apache-2.0 */
/* rules.h - rules between several keys, which no single row of a table can express. */
#ifndef CONFIG_RULES_H
#define CONFIG_RULES_H

struct config_report;
struct json;

void rules_check_experiment(const struct json *tree, struct config_report *report);
void rules_check_job(const struct json *tree, struct config_report *report);
void rules_check_master(const struct json *tree, struct config_report *report);

#endif
