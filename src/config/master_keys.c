/* SPDX-License-Identifier: Apache-2.0 */
/* master_keys.c - every key of the master's configuration file, one row each. */
#include "base/compiler.h"
#include "config/key.h"
#include "config/shared_keys.h"

#define TASK_DEFAULTS_KEYS(at, ...)                                                    \
    KEY(KEY_MAP, at, __VA_ARGS__.help = "for tasks that do not say otherwise"),        \
        KEY(KEY_SIZE, at ".shm_size_bytes", .def = "4294967296",                       \
            .help = "size of /dev/shm"),                                               \
        KEY(KEY_STR, at ".network_mode", .def = "\"bridge\"",                          \
            .help = "network of containers"),                                          \
        KEY(KEY_INT, at ".preemption_timeout", .def = "3600",                          \
            .bounds = FROM_TO(0, 2147483647), .help = "seconds to stop gracefully"),   \
        KEY(KEY_STR, at ".dtrain_network_interface",                                   \
            .help = "the interface distributed training uses"),                        \
        KEY(KEY_STR, at ".nccl_port_range", .help = "ports for NCCL, FIRST:LAST"),     \
        KEY(KEY_STR, at ".gloo_port_range", .help = "ports for Gloo, FIRST:LAST"),     \
        IMAGE_KEYS(at ".image", NULL, NULL, .flags = KEY_IGNORED, ),                   \
        REGISTRY_AUTH_KEYS(at ".registry_auth", ),                                     \
        KEY(KEY_BOOL, at ".force_pull_image", .flags = KEY_IGNORED,                    \
            .help = "fetch the image even when it is there"),                          \
        VARIABLE_KEYS(at ".environment_variables", NULL, ),                            \
        STRING_LIST(at ".add_capabilities", "one capability", .flags = KEY_IGNORED,    \
                    .help = "Linux capabilities to add"),                              \
        STRING_LIST(at ".drop_capabilities", "one capability", .flags = KEY_IGNORED,   \
                    .help = "Linux capabilities to take away"),                        \
        DEVICE_KEYS(at ".devices"), BIND_MOUNT_KEYS(at ".bind_mounts"),                \
        KEY(KEY_STR, at ".work_dir", .flags = KEY_IGNORED,                             \
            .help = "where tasks start in a container"),                               \
        KEY(KEY_STR, at ".startup_hook",                                               \
            .not_built = "a startup hook for all tasks is not built yet; put "         \
                         "startup-hook.sh into the model folder",                      \
            .help = "a script to run before each task"),                               \
        LOG_POLICY_KEYS(at ".log_policies", ), SLURM_KEYS(at "."),                     \
        KEY(KEY_MAP, at ".cpu_pod_spec", .flags = KEY_FREE | KEY_IGNORED,              \
            .help = "for Kubernetes"),                                                 \
        KEY(KEY_MAP, at ".gpu_pod_spec", .flags = KEY_FREE | KEY_IGNORED,              \
            .help = "for Kubernetes"),                                                 \
        KEY(KEY_MAP, at ".checkpoint_gc_pod_spec", .flags = KEY_FREE | KEY_IGNORED,    \
            .help = "for Kubernetes"),                                                 \
        KEY(KEY_MAP, at ".kubernetes", .flags = KEY_FREE | KEY_IGNORED,                \
            .help = "for Kubernetes")

static const struct config_key keys[] = {
    KEY(KEY_STR, "config_file", .flags = KEY_DROPPED, .help = "where it was read from"),
    KEY(KEY_STR, "host", .def = "\"127.0.0.1\"", .flags = KEY_NOT_EMPTY,
        .help = "address to listen on"),
    KEY(KEY_INT, "port", .def = "8080", .bounds = FROM_TO(0, 65535),
        .help = "port to listen on; 0: any that is free"),
    KEY(KEY_STR, "data_dir", .def = "null", .flags = KEY_NOT_EMPTY,
        .help = "database, logs, models; none: below the home"),
    KEY(KEY_STR, "root", .def = "\"/usr/share/determined/master\"",
        .help = "where the files of the WebUI are"),
    KEY(KEY_MAP, "log", .def = "{}", .help = "the master's own log"),
    KEY(KEY_STR, "log.level", .def = "\"info\"", .flags = KEY_RELOADABLE,
        .words = WORDS("trace", "debug", "info", "warn", "error"),
        .help = "the least important line written"),
    KEY(KEY_BOOL, "log.color", .def = "true", .help = "colours, on a terminal"),
    KEY(KEY_MAP, "db",
        .not_built = "PostgreSQL is not built yet; the database is a file in data_dir",
        .help = "the shared database"),
    KEY(KEY_STR, "db.user", .help = "the user"),
    KEY(KEY_STR, "db.password", .flags = KEY_SECRET, .help = "the password"),
    KEY(KEY_STR, "db.host", .help = "its host"),
    KEY(KEY_INT, "db.port", .bounds = FROM_TO(1, 65535), .help = "its port"),
    KEY(KEY_STR, "db.name", .help = "the database"),
    KEY(KEY_STR, "db.ssl_mode", .def = "\"disable\"", .help = "as libpq says it"),
    KEY(KEY_STR, "db.ssl_root_cert", .help = "whom to trust"),
    KEY(KEY_STR, "cluster_name", .def = "\"\"", .help = "shown in the WebUI"),
    CHECKPOINT_STORAGE_KEYS(.def = "null", ),
    KEY(KEY_DURATION, "tensorboard_timeout", .def = "300",
        .help = "how long an idle TensorBoard lives"),
    KEY(KEY_DURATION, "notebook_timeout", .def = "null",
        .help = "how long an idle notebook lives; none: for ever"),
    KEY(KEY_BOOL, "launch_error", .def = "true",
        .help = "refuse what could never be placed"),
    KEY(KEY_BOOL, "enable_cors", .def = "false",
        .help = "let web pages of other hosts call the API"),
    KEY(KEY_MAP, "security", .def = "{}", .help = "who may do what"),
    KEY(KEY_MAP, "security.default_task", .def = "{}", .help = "who tasks run as"),
    KEY(KEY_INT, "security.default_task.uid", .def = "0",
        .bounds = FROM_TO(0, 4294967294), .help = "user number"),
    KEY(KEY_INT, "security.default_task.gid", .def = "0",
        .bounds = FROM_TO(0, 4294967294), .help = "group number"),
    KEY(KEY_STR, "security.default_task.user", .def = "\"root\"", .help = "user name"),
    KEY(KEY_STR, "security.default_task.group", .def = "\"root\"",
        .help = "group name"),
    KEY(KEY_MAP, "security.tls",
        .not_built = "TLS is not built yet; put a proxy that speaks it in front",
        .help = "encrypted connections"),
    KEY(KEY_STR, "security.tls.cert", .help = "file with the certificate"),
    KEY(KEY_STR, "security.tls.key", .help = "file with its key"),
    KEY(KEY_MAP, "security.ssh", .def = "{}", .help = "keys of shells"),
    KEY(KEY_STR, "security.ssh.key_type", .def = "\"ED25519\"",
        .words = WORDS("ED25519", "RSA", "ECDSA"), .help = "the kind of key"),
    KEY(KEY_INT, "security.ssh.rsa_key_size", .bounds = AT_LEAST(1024),
        .help = "bits of an RSA key"),
    KEY(KEY_MAP, "security.authz", .def = "{}", .help = "rights"),
    KEY(KEY_STR, "security.authz.type", .def = "\"basic\"",
        .words = WORDS("basic", "rbac"), .later_words = WORDS("rbac"),
        .help = "how rights are given"),
    KEY(KEY_BOOL, "security.authz.rbac_ui_enabled", .def = "false",
        .flags = KEY_IGNORED, .help = "show roles in the WebUI"),
    KEY(KEY_MAP, "security.token", .def = "{}", .help = "access tokens"),
    KEY(KEY_INT, "security.token.max_lifespan_days", .def = "30",
        .bounds = AT_LEAST(-1), .help = "the most allowed; -1: no limit"),
    KEY(KEY_INT, "security.token.default_lifespan_days", .def = "30",
        .bounds = AT_LEAST(-1), .help = "when none is asked for"),
    KEY(KEY_STR, "security.initial_user_password", .def = "\"\"", .flags = KEY_SECRET,
        .help = "of admin and determined, at the first start"),
    KEY(KEY_MAP, "telemetry", .def = "{}", .flags = KEY_IGNORED,
        .help = "nothing is ever sent"),
    KEY(KEY_BOOL, "telemetry.enabled", .def = "false", .help = "nothing is ever sent"),
    KEY(KEY_BOOL, "telemetry.otel_enabled", .def = "false", .help = "tracing"),
    KEY(KEY_STR, "telemetry.otel_endpoint", .def = "\"localhost:4317\"",
        .help = "where traces go"),
    KEY(KEY_STR, "telemetry.segment_master_key", .help = "nothing is ever sent"),
    KEY(KEY_STR, "telemetry.segment_webui_key", .help = "nothing is ever sent"),
    KEY(KEY_MAP, "logging", .def = "{}", .union_key = "type",
        .help = "where logs of tasks are kept"),
    KEY(KEY_STR, "logging.type", .def = "\"default\"",
        .words = WORDS("default", "elastic"), .later_words = WORDS("elastic"),
        .help = "in the database, or in Elasticsearch"),
    KEY(KEY_ANY, "logging.*", .kinds = "elastic", .flags = KEY_FREE,
        .help = "settings of Elasticsearch"),
    KEY(KEY_MAP, "retention_policy", .def = "{}", .help = "how long logs are kept"),
    KEY(KEY_INT, "retention_policy.log_retention_days", .def = "null",
        .bounds = FROM_TO(-1, 32767), .help = "days; -1 or none: for ever"),
    KEY(KEY_STR, "retention_policy.schedule", .def = "null",
        .help = "when to clean up: a duration or a cron line"),
    KEY(KEY_MAP, "observability", .def = "{}", .help = "for other tools to watch"),
    KEY(KEY_BOOL, "observability.enable_prometheus", .def = "true",
        .help = "serve numbers for Prometheus"),
    KEY(KEY_MAP, "cache", .def = "{}", .help = "files that can be made again"),
    KEY(KEY_STR, "cache.cache_dir", .def = "\"/var/cache/determined\"",
        .help = "where they are"),
    KEY(KEY_MAP, "webhooks", .def = "{}", .help = "calls to other services"),
    KEY(KEY_STR, "webhooks.base_url", .def = "\"\"", .help = "how they reach us"),
    KEY(KEY_STR, "webhooks.signing_key", .def = "null", .flags = KEY_SECRET,
        .help = "signs calls; none: a random one"),
    STRING_LIST("feature_switches", "one switch", .def = "[]",
                .help = "experiments of the master"),
    KEY(KEY_LIST, "reserved_ports", .def = "[]", .help = "ports tasks must not use"),
    KEY(KEY_INT, "reserved_ports[]", .bounds = FROM_TO(1, 65535), .help = "one port"),
    KEY(KEY_MAP, "resource_manager", .def = "{}", .help = "who owns the machines"),
    KEY(KEY_STR, "resource_manager.type", .def = "\"agent\"",
        .words = WORDS("agent", "kubernetes", "slurm", "pbs"),
        .later_words = WORDS("kubernetes", "slurm", "pbs"), .help = "the kind"),
    KEY(KEY_STR, "resource_manager.cluster_name", .help = "its name among several"),
    SCHEDULER_KEYS("resource_manager.scheduler", .def = "{}", ),
    KEY(KEY_STR, "resource_manager.default_aux_resource_pool", .def = "\"default\"",
        .help = "the pool for tasks without slots"),
    KEY(KEY_STR, "resource_manager.default_compute_resource_pool", .def = "\"default\"",
        .help = "the pool for tasks with slots"),
    KEY(KEY_BOOL, "resource_manager.no_default_resource_pools", .def = "false",
        .help = "every task must name its pool"),
    KEY(KEY_BOOL, "resource_manager.require_authentication", .def = "false",
        .not_built = "certificates of agents are not built yet; they join by a token",
        .help = "agents must show a certificate"),
    KEY(KEY_STR, "resource_manager.client_ca",
        .not_built = "certificates of agents are not built yet; they join by a token",
        .help = "who signs the certificates of agents"),
    KEY(KEY_LIST, "resource_pools", .def = "[]", .help = "groups of agents"),
    KEY(KEY_MAP, "resource_pools[]", .help = "one pool"),
    KEY(KEY_STR, "resource_pools[].pool_name", .flags = KEY_REQUIRED | KEY_NOT_EMPTY,
        .help = "its name"),
    KEY(KEY_STR, "resource_pools[].description", .def = "\"\"", .help = "what it is"),
    KEY(KEY_MAP, "resource_pools[].provider", .flags = KEY_FREE,
        .not_built = "starting machines in a cloud is not built yet",
        .help = "the cloud that provides its agents"),
    SCHEDULER_KEYS("resource_pools[].scheduler", .def = "null", ),
    KEY(KEY_INT, "resource_pools[].max_aux_containers_per_agent", .def = "100",
        .bounds = FROM_TO(0, 2147483647), .help = "tasks without slots on an agent"),
    TASK_DEFAULTS_KEYS("resource_pools[].task_container_defaults", .def = "null", ),
    KEY(KEY_DURATION, "resource_pools[].agent_reconnect_wait", .def = "25",
        .help = "how long a silent agent is waited for"),
    KEY(KEY_BOOL, "resource_pools[].agent_reattach_enabled",
        .flags = KEY_DROPPED | KEY_DEPRECATED, .help = "old: always so now"),
    KEY(KEY_LIST, "additional_resource_managers", .def = "[]", .flags = KEY_FREE,
        .not_built = "several resource managers are not built yet",
        .help = "more owners of machines"),
    TASK_DEFAULTS_KEYS("task_container_defaults", .def = "{}", ),
};

struct key_table master_table(void)
{
    return (struct key_table){keys, ARRAY_LEN(keys)};
}
