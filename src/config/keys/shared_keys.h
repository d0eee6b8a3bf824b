/* SPDX-License-Identifier: Apache-2.0 */
/* shared_keys.h - groups of rows that several tables share, at the path `at`. */
#ifndef CONFIG_KEYS_SHARED_KEYS_H
#define CONFIG_KEYS_SHARED_KEYS_H

#include "config/keys/key.h"

#define CPU_IMAGE "determinedai/pytorch-ngc-dev:0736b6d"
#define ROCM_IMAGE                                                                     \
    "determinedai/environments:rocm-5.6-pytorch-1.3-tf-2.10-rocm-mpich-0736b6d"

#define NO_CONTAINERS "tasks run directly on the host; containers are not built yet"
#define NO_IMAGES     "tasks run directly on the host, not in a container"
#define NO_KUBERNETES "Kubernetes is not built yet"

#define BIND_MOUNT_KEYS(at)                                                            \
    KEY(KEY_LIST, at, .def = "[]",                                                     \
        .help = "directories of the agent that the task sees elsewhere"),              \
        KEY(KEY_MAP, at "[]", .help = "one mount"),                                    \
        KEY(KEY_PATH, at "[].host_path", .flags = KEY_REQUIRED,                        \
            .help = "the directory on the agent"),                                     \
        KEY(KEY_STR, at "[].container_path", .flags = KEY_REQUIRED | KEY_NOT_EMPTY,    \
            .help = "where the task sees it; relative: in the work directory"),        \
        KEY(KEY_BOOL, at "[].read_only", .def = "false", .help = "mount read-only"),   \
        KEY(KEY_STR, at "[].propagation", .def = "\"rprivate\"",                       \
            .words = WORDS("rprivate", "private"),                                     \
            .no_effect = "every mount of a task is private",                           \
            .help = "mount propagation")

#define DEVICE_KEYS(at)                                                                \
    KEY(KEY_LIST, at, .def = "[]", .not_built = NO_CONTAINERS,                         \
        .help = "host devices to pass to the container"),                              \
        KEY(KEY_MAP, at "[]", .help = "one device, also 'host:container[:mode]'"),     \
        KEY(KEY_PATH, at "[].host_path", .flags = KEY_REQUIRED,                        \
            .help = "the device on the agent"),                                        \
        KEY(KEY_PATH, at "[].container_path", .flags = KEY_REQUIRED,                   \
            .help = "path in the container"),                                          \
        KEY(KEY_STR, at "[].mode", .def = "\"mrw\"",                                   \
            .help = "m: create nodes, r: read, w: write")

#define LOG_POLICY_KEYS(at, ...)                                                       \
    KEY(KEY_LIST, at, __VA_ARGS__.help = "actions when a log line matches"),           \
        KEY(KEY_MAP, at "[]", .help = "one policy; a name, or pattern and action"),    \
        KEY(KEY_STR, at "[].name", .flags = KEY_NOT_EMPTY,                             \
            .help = "name shown when the policy matches"),                             \
        KEY(KEY_STR, at "[].pattern",                                                  \
            .help = "regular expression for log lines; null: turned off"),             \
        KEY(KEY_STR, at "[].action", .words = WORDS("cancel_retries", "exclude_node"), \
            .help = "stop restarts, or avoid that agent")

#define REGISTRY_AUTH_KEYS(at, ...)                                                    \
    KEY(KEY_MAP, at, __VA_ARGS__.no_effect = NO_IMAGES,                                \
        .help = "credentials of the image registry"),                                  \
        KEY(KEY_STR, at ".username", .help = "user name"),                             \
        KEY(KEY_STR, at ".password", .flags = KEY_SECRET, .help = "password"),         \
        KEY(KEY_STR, at ".auth", .flags = KEY_SECRET, .help = "user and password"),    \
        KEY(KEY_STR, at ".email", .help = "e-mail address"),                           \
        KEY(KEY_STR, at ".serveraddress", .help = "address of the registry"),          \
        KEY(KEY_STR, at ".identitytoken", .flags = KEY_SECRET, .help = "a token"),     \
        KEY(KEY_STR, at ".registrytoken", .flags = KEY_SECRET, .help = "a token")

#define SLURM_KEYS(at, ...)                                                            \
    KEY(KEY_MAP, at "slurm", __VA_ARGS__.no_effect = "Slurm is not built yet",         \
        .help = "for clusters run by Slurm"),                                          \
        KEY(KEY_INT, at "slurm.slots_per_node", .bounds = AT_LEAST(1),                 \
            .help = "slots on each node"),                                             \
        KEY(KEY_STR, at "slurm.gpu_type", .help = "type of GPU"),                      \
        KEY(KEY_LIST, at "slurm.sbatch_args", .help = "arguments of sbatch"),          \
        KEY(KEY_STR, at "slurm.sbatch_args[]", .help = "one argument"),                \
        KEY(KEY_MAP, at "pbs", __VA_ARGS__.no_effect = "PBS is not built yet",         \
            .help = "for clusters run by PBS"),                                        \
        KEY(KEY_INT, at "pbs.slots_per_node", .bounds = AT_LEAST(1),                   \
            .help = "slots on each node"),                                             \
        KEY(KEY_LIST, at "pbs.pbsbatch_args", .help = "arguments of qsub"),            \
        KEY(KEY_STR, at "pbs.pbsbatch_args[]", .help = "one argument")

#define STRING_LIST(at, elements, ...)                                                 \
    KEY(KEY_LIST, at, __VA_ARGS__), KEY(KEY_STR, at "[]", .help = (elements))

#define IMAGE_KEYS(at, cpu_, rocm_, ...)                                               \
    KEY(KEY_STR | KEY_MAP, at,                                                         \
        __VA_ARGS__.help = "container image, or one per device type"),                 \
        KEY(KEY_STR, at ".cpu", .def = cpu_, .help = "image for tasks without GPUs"),  \
        KEY(KEY_STR, at ".cuda", .def = cpu_, .help = "image for NVIDIA GPUs"),        \
        KEY(KEY_STR, at ".rocm", .def = rocm_, .help = "image for AMD GPUs")

#define VARIABLE_KEYS(at, lists, ...)                                                  \
    KEY(KEY_LIST | KEY_MAP, at,                                                        \
        __VA_ARGS__.help = "environment variables, as NAME=value"),                    \
        KEY(KEY_STR, at "[]", .flags = KEY_NOT_EMPTY, .help = "one variable"),         \
        STRING_LIST(at ".cpu", "one variable", .def = lists,                           \
                    .help = "for tasks without GPUs"),                                 \
        STRING_LIST(at ".cuda", "one variable", .def = lists,                          \
                    .help = "for NVIDIA GPUs"),                                        \
        STRING_LIST(at ".rocm", "one variable", .def = lists, .help = "for AMD GPUs")

#define ENVIRONMENT_KEYS                                                               \
    KEY(KEY_MAP, "environment", .def = "{}", .help = "environment of the tasks"),      \
        IMAGE_KEYS("environment.image", "\"" CPU_IMAGE "\"", "\"" ROCM_IMAGE "\"",     \
                   .def = "{}", ),                                                     \
        VARIABLE_KEYS("environment.environment_variables", "[]", .def = "{}", ),       \
        KEY(KEY_LIST, "environment.proxy_ports", .def = "[]",                          \
            .not_built = "proxied ports are not built yet",                            \
            .help = "task ports that the master proxies"),                             \
        KEY(KEY_MAP, "environment.proxy_ports[]", .help = "one port"),                 \
        KEY(KEY_INT, "environment.proxy_ports[].proxy_port", .flags = KEY_REQUIRED,    \
            .bounds = FROM_TO(1, 65535), .help = "the port the task listens on"),      \
        KEY(KEY_BOOL, "environment.proxy_ports[].proxy_tcp", .def = "false",           \
            .help = "raw TCP instead of HTTP"),                                        \
        KEY(KEY_BOOL, "environment.proxy_ports[].unauthenticated", .def = "false",     \
            .help = "allow anonymous access"),                                         \
        KEY(KEY_BOOL, "environment.proxy_ports[].default_service_id", .def = "false",  \
            .help = "use the task id as the service name"),                            \
        KEY(KEY_MAP, "environment.ports", .def = "{}", .no_effect = NO_IMAGES,         \
            .help = "names for ports of the container"),                               \
        KEY(KEY_INT, "environment.ports.*", .bounds = FROM_TO(0, 65535),               \
            .help = "the number of that port"),                                        \
        REGISTRY_AUTH_KEYS("environment.registry_auth", .def = "null", ),              \
        KEY(KEY_BOOL, "environment.force_pull_image", .def = "false",                  \
            .no_effect = NO_IMAGES, .help = "pull the image even if it is present"),   \
        KEY(KEY_MAP, "environment.pod_spec", .def = "null", .flags = KEY_FREE,         \
            .not_built = "Kubernetes is not built yet",                                \
            .help = "pod specification for Kubernetes"),                               \
        STRING_LIST("environment.add_capabilities", "one capability", .def = "[]",     \
                    .no_effect = NO_IMAGES, .help = "Linux capabilities to add"),      \
        STRING_LIST("environment.drop_capabilities", "one capability", .def = "[]",    \
                    .no_effect = NO_IMAGES, .help = "Linux capabilities to drop"),     \
        KEY(KEY_STR | KEY_LIST, "environment.requirements", .flags = KEY_NOT_EMPTY,    \
            .help = "packages: a pip requirements file, or its lines"),                \
        KEY(KEY_STR, "environment.requirements[]", .flags = KEY_NOT_EMPTY,             \
            .help = "one line of a requirements file"),                                \
        KEY(KEY_STR, "environment.python", .flags = KEY_NOT_EMPTY,                     \
            .help = "Python interpreter: a name, a path or ~/path")

/* Alphabetical within the union, as the reference writes them. */
#define CHECKPOINT_STORAGE_KEYS(...)                                                   \
    KEY(KEY_MAP, "checkpoint_storage", __VA_ARGS__.union_key = "type",                 \
        .help = "storage of checkpoints"),                                             \
        KEY(KEY_STR, "checkpoint_storage.access_key", .kinds = "s3",                   \
            .flags = KEY_SECRET, .help = "the S3 access key"),                         \
        KEY(KEY_STR, "checkpoint_storage.account_url", .kinds = "azure",               \
            .help = "URL of the storage account"),                                     \
        KEY(KEY_STR, "checkpoint_storage.bucket", .kinds = "s3 gcs",                   \
            .flags = KEY_REQUIRED | KEY_NOT_EMPTY, .help = "the bucket"),              \
        KEY(KEY_STR, "checkpoint_storage.checkpoint_path", .kinds = "shared_fs",       \
            .flags = KEY_DEPRECATED, .no_effect = "write storage_path instead",        \
            .help = "obsolete: use storage_path"),                                     \
        KEY(KEY_STR, "checkpoint_storage.connection_string", .kinds = "azure",         \
            .flags = KEY_SECRET, .help = "connection string of the storage account"),  \
        KEY(KEY_STR, "checkpoint_storage.container", .kinds = "azure",                 \
            .flags = KEY_REQUIRED | KEY_NOT_EMPTY, .help = "the container"),           \
        KEY(KEY_PATH, "checkpoint_storage.container_path", .kinds = "directory",       \
            .flags = KEY_REQUIRED, .help = "directory that all agents share"),         \
        KEY(KEY_STR, "checkpoint_storage.container_path", .kinds = "shared_fs",        \
            .flags = KEY_DEPRECATED, .no_effect = NO_IMAGES,                           \
            .help = "obsolete: not used any more"),                                    \
        KEY(KEY_STR, "checkpoint_storage.credential", .kinds = "azure",                \
            .flags = KEY_SECRET, .help = "the credential for account_url"),            \
        KEY(KEY_STR, "checkpoint_storage.endpoint_url", .kinds = "s3",                 \
            .help = "address of an S3-compatible service"),                            \
        KEY(KEY_PATH, "checkpoint_storage.host_path", .kinds = "shared_fs",            \
            .flags = KEY_REQUIRED, .help = "directory that all agents share"),         \
        KEY(KEY_STR, "checkpoint_storage.prefix", .kinds = "s3 gcs",                   \
            .help = "path inside the bucket"),                                         \
        KEY(KEY_STR, "checkpoint_storage.propagation", .kinds = "shared_fs",           \
            .def = "\"rprivate\"", .no_effect = NO_IMAGES,                             \
            .help = "mount propagation"),                                              \
        KEY(KEY_INT, "checkpoint_storage.save_experiment_best", .def = "0",            \
            .bounds = FROM_TO(0, 2147483647),                                          \
            .help = "best checkpoints to keep per experiment"),                        \
        KEY(KEY_INT, "checkpoint_storage.save_trial_best", .def = "1",                 \
            .bounds = FROM_TO(0, 2147483647),                                          \
            .help = "best checkpoints to keep per trial"),                             \
        KEY(KEY_INT, "checkpoint_storage.save_trial_latest", .def = "1",               \
            .bounds = FROM_TO(0, 2147483647),                                          \
            .help = "latest checkpoints to keep per trial"),                           \
        KEY(KEY_STR, "checkpoint_storage.secret_key", .kinds = "s3",                   \
            .flags = KEY_SECRET, .help = "the S3 secret key"),                         \
        KEY(KEY_STR, "checkpoint_storage.storage_path", .kinds = "shared_fs",          \
            .def = "null", .help = "directory below host_path"),                       \
        KEY(KEY_STR, "checkpoint_storage.tensorboard_path", .kinds = "shared_fs",      \
            .flags = KEY_DEPRECATED,                                                   \
            .no_effect = "TensorBoard's files are stored with the checkpoints",        \
            .help = "obsolete: not used any more"),                                    \
        KEY(KEY_STR, "checkpoint_storage.type", .flags = KEY_REQUIRED,                 \
            .words = WORDS("shared_fs", "directory", "s3", "gcs", "azure"),            \
            .later_words = WORDS("s3", "gcs", "azure"), .help = "type of storage")

#define SCHEDULER_KEYS(at, ...)                                                        \
    KEY(KEY_MAP, at, __VA_ARGS__.help = "order and placement of tasks"),               \
        KEY(KEY_STR, at ".type", .def = "\"priority\"",                                \
            .words = WORDS("priority", "fair_share"), .help = "scheduling policy"),    \
        KEY(KEY_BOOL, at ".preemption", .def = "false",                                \
            .help = "stop less important tasks for more important ones"),              \
        KEY(KEY_INT, at ".default_priority", .def = "42", .bounds = FROM_TO(1, 99),    \
            .help = "priority of tasks without one; lower runs first"),                \
        KEY(KEY_STR, at ".fitting_policy", .def = "\"best\"",                          \
            .words = WORDS("best", "worst"),                                           \
            .help = "best: fill agents; worst: spread over them"),                     \
        KEY(KEY_BOOL, at ".allow_heterogeneous_fits", .def = "false",                  \
            .help = "spread a trial over agents of different sizes")

#endif
