/* SPDX-License-Identifier: Apache-2.0 */
/* key_tables.c - see key_tables.h. */
#include "config/keys/key_tables.h"

struct key_table key_table_of(enum config_kind kind)
{
    switch (kind) {
    case CONFIG_MASTER:
        return master_key_table();
    case CONFIG_AGENT:
        return agent_key_table();
    case CONFIG_JOB:
        return job_key_table();
    case CONFIG_EXPERIMENT:
        break;
    }
    return experiment_key_table();
}
