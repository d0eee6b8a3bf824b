/* SPDX-License-Identifier: Apache-2.0 */
/* key_tables.h - the keys of each kind of configuration file; one table per kind. */
#ifndef CONFIG_KEYS_KEY_TABLES_H
#define CONFIG_KEYS_KEY_TABLES_H

#include "config/keys/key.h"

enum config_kind { CONFIG_EXPERIMENT, CONFIG_MASTER, CONFIG_AGENT, CONFIG_JOB };

struct key_table key_table_of(enum config_kind kind);
/* The tables; each is in the file <kind>_keys.c. */
struct key_table experiment_key_table(void);
struct key_table master_key_table(void);
struct key_table agent_key_table(void);
struct key_table job_key_table(void);

#endif
