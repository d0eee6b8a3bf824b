/* SPDX-License-Identifier: Apache-2.0 */
/* job_keys.c - every key of a generic job (a command, a batch inference), one row each. */
#include "base/compiler.h"
#include "config/keys/key.h"
#include "config/keys/key_tables.h"
#include "config/keys/shared_keys.h"

static const struct config_key keys[] = {
    KEY(KEY_STR, "name", .def = "null", .help = "name of the job"),
    KEY(KEY_STR, "description", .def = "null", .help = "a longer description"),
    KEY(KEY_STR | KEY_LIST, "entrypoint", .flags = KEY_REQUIRED | KEY_NOT_EMPTY,
        .example = "./run.sh", .help = "the command, or a list of its arguments"),
    KEY(KEY_STR, "entrypoint[]", .help = "one argument"),
    KEY(KEY_MAP, "data", .def = "{}", .flags = KEY_FREE,
        .help = "free for use by the program"),
    ENVIRONMENT_KEYS,
    KEY(KEY_MAP, "resources", .def = "{}", .help = "resources of the job"),
    KEY(KEY_INT, "resources.slots", .def = "1", .bounds = FROM_TO(0, 2147483647),
        .help = "number of slots"),
    KEY(KEY_INT, "resources.max_slots", .def = "null", .bounds = FROM_TO(0, 2147483647),
        .no_effect = "a job has one run at a time, with resources.slots",
        .help = "not used by jobs"),
    KEY(KEY_INT, "resources.slots_per_trial", .flags = KEY_DROPPED,
        .refuse = "is for experiments; a job says slots",
        .help = "only in experiments"),
    KEY(KEY_NUM, "resources.weight", .def = "1", .bounds = ABOVE(0),
        .help = "weight in a fair-share pool"),
    KEY(KEY_BOOL, "resources.native_parallel", .def = "false",
        .no_effect = "the entrypoint names the launcher",
        .help = "obsolete: not used any more"),
    KEY(KEY_SIZE, "resources.shm_size", .def = "null", .help = "size of /dev/shm"),
    KEY(KEY_STR, "resources.resource_pool", .def = "\"\"",
        .help = "resource pool; empty: the default pool"),
    KEY(KEY_INT, "resources.priority", .def = "null", .bounds = FROM_TO(1, 99),
        .help = "lower runs first; null: the pool's default"),
    KEY(KEY_BOOL, "resources.is_single_node", .def = "null",
        .help = "all slots must be on one agent"),
    DEVICE_KEYS("resources.devices"),
    BIND_MOUNT_KEYS("bind_mounts"),
    KEY(KEY_STR, "work_dir", .def = "null",
        .not_built = "a job starts in the folder that came with it",
        .help = "working directory"),
    KEY(KEY_BOOL, "debug", .def = "false", .help = "write more to the log"),
    STRING_LIST("tensorboard_args", "one argument", .def = "[]",
                .help = "arguments of TensorBoard"),
    KEY(KEY_DURATION, "idle_timeout", .def = "null",
        .help = "idle time after which a TensorBoard ends; 0: never"),
    KEY(KEY_STR, "notebook_idle_type", .def = "\"kernels_or_terminals\"",
        .no_effect = "notebooks are not built yet",
        .words = WORDS("kernels_or_terminals", "kernel_connections", "activity"),
        .help = "what counts as use of a notebook"),
    KEY(KEY_STR, "project", .def = "\"\"",
        .no_effect = "a job belongs to a workspace, not to a project",
        .help = "project of the job"),
    KEY(KEY_STR, "workspace", .def = "\"\"", .help = "workspace of the job"),
    SLURM_KEYS("", .def = "{}", ),
    KEY(KEY_MAP, "searcher", .flags = KEY_FREE | KEY_DROPPED,
        .refuse = "is for experiments, which 'det experiment create' submits",
        .help = "only in experiments"),
    KEY(KEY_MAP, "hyperparameters", .flags = KEY_FREE | KEY_DROPPED,
        .refuse = "is for experiments; a job has data", .help = "only in experiments"),
    KEY(KEY_INT, "preemption_timeout", .def = "10", .bounds = FROM_TO(0, 2147483647),
        .help = "seconds to stop when paused or preempted, before a kill"),
};

struct key_table job_key_table(void)
{
    return (struct key_table){keys, ARRAY_LEN(keys)};
}
