/* SPDX-License-Identifier: Apache-2.0 */
/* rules.h - what no single row can say: rules between several keys. */
#ifndef CONFIG_RULES_H
#define CONFIG_RULES_H

struct config_report;
struct json;

void rules_check_experiment(const struct json *tree, struct config_report *report);
void rules_check_job(const struct json *tree, struct config_report *report);
void rules_check_master(const struct json *tree, struct config_report *report);

#endif
