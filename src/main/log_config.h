/* SPDX-License-Identifier: Apache-2.0 */
/* log_config.h - the keys `log.*` of the master's and the agent's configuration. */
#ifndef MAIN_LOG_CONFIG_H
#define MAIN_LOG_CONFIG_H

struct json;

/* From now on the process logs to stderr as its complete configuration says.  Borrows
 * `process`, the part it plays. */
void log_config_apply(const struct json *config, const char *process);

#endif
