/* SPDX-License-Identifier: Apache-2.0 */
/* master_keys.c - every key of the master's configuration file, one row each. */
#include "base/compiler.h"
#include "config/keys/key.h"
#include "config/keys/key_tables.h"
#include "config/keys/shared_keys.h"

#define NO_PORT_RANGE                                                                  \
    "the library takes free ports of the machine; to limit them, set the range of "    \
    "net.ipv4.ip_local_port_range on the agents"

#define TASK_DEFAULTS_KEYS(at, ...)                                                    \
    KEY(KEY_MAP, at, __VA_ARGS__.help = "defaults for all tasks"),                     \
        KEY(KEY_SIZE, at ".shm_size_bytes", .def = "4294967296",                       \
            .help = "size of /dev/shm"),                                               \
        KEY(KEY_STR, at ".network_mode", .def = "\"bridge\"", .no_effect = NO_IMAGES,  \
            .help = "network mode of containers"),                                     \
        KEY(KEY_INT, at ".preemption_timeout", .def = "3600",                          \
            .bounds = FROM_TO(0, 2147483647), .help = "seconds to stop gracefully"),   \
        KEY(KEY_STR, at ".dtrain_network_interface",                                   \
            .help = "network interface for distributed training"),                     \
        KEY(KEY_STR, at ".nccl_port_range", .no_effect = NO_PORT_RANGE,                \
            .help = "ports for NCCL, FIRST:LAST"),                                     \
        KEY(KEY_STR, at ".gloo_port_range", .no_effect = NO_PORT_RANGE,                \
            .help = "ports for Gloo, FIRST:LAST"),                                     \
        IMAGE_KEYS(at ".image", NULL, NULL, .no_effect = NO_IMAGES, ),                 \
        REGISTRY_AUTH_KEYS(at ".registry_auth", ),                                     \
        KEY(KEY_BOOL, at ".force_pull_image", .no_effect = NO_IMAGES,                  \
            .help = "pull the image even if it is present"),                           \
        VARIABLE_KEYS(at ".environment_variables", NULL, ),                            \
        STRING_LIST(at ".add_capabilities", "one capability", .no_effect = NO_IMAGES,  \
                    .help = "Linux capabilities to add"),                              \
        STRING_LIST(at ".drop_capabilities", "one capability", .no_effect = NO_IMAGES, \
                    .help = "Linux capabilities to drop"),                             \
        DEVICE_KEYS(at ".devices"), BIND_MOUNT_KEYS(at ".bind_mounts"),                \
        KEY(KEY_STR, at ".work_dir",                                                   \
            .no_effect = "a task starts in the folder with its code",                  \
            .help = "working directory in the container"),                             \
        KEY(KEY_STR, at ".startup_hook",                                               \
            .not_built = "a startup hook for all tasks is not built yet; put "         \
                         "startup-hook.sh into the model folder",                      \
            .help = "script to run before each task"),                                 \
        LOG_POLICY_KEYS(at ".log_policies", ), SLURM_KEYS(at "."),                     \
        KEY(KEY_MAP, at ".cpu_pod_spec", .flags = KEY_FREE,                            \
            .no_effect = NO_KUBERNETES, .help = "for Kubernetes"),                     \
        KEY(KEY_MAP, at ".gpu_pod_spec", .flags = KEY_FREE,                            \
            .no_effect = NO_KUBERNETES, .help = "for Kubernetes"),                     \
        KEY(KEY_MAP, at ".checkpoint_gc_pod_spec", .flags = KEY_FREE,                  \
            .no_effect = NO_KUBERNETES, .help = "for Kubernetes"),                     \
        KEY(KEY_MAP, at ".kubernetes", .flags = KEY_FREE, .no_effect = NO_KUBERNETES,  \
            .help = "for Kubernetes")

#define NO_POOL_DEFAULTS                                                               \
    "defaults of one pool are not built yet; write task_container_defaults at the "    \
    "top of the file, for all pools"
#define NO_SHELLS    "shells are not built yet"
#define NO_TELEMETRY "nothing is ever sent"
#define NO_WEBHOOKS                                                                    \
    "webhooks are not built yet; remove it (docs/guide/monitoring.md tells how to be " \
    "alerted)"
#define NO_SCIM "accounts are made at the first sign-in; SCIM is not built yet"
#define NO_CLAIMS                                                                      \
    "the Unix identity of a task does not come from claims yet; set it with "          \
    "'det user link-with-agent-user'"

#define OIDC_KEYS                                                                      \
    KEY(KEY_MAP, "oidc", .def = "{}", .help = "sign-in through OpenID Connect"),       \
        KEY(KEY_BOOL, "oidc.enabled", .def = "false", .help = "offer this sign-in"),   \
        KEY(KEY_STR, "oidc.provider", .def = "\"single sign-on\"",                     \
            .flags = KEY_NOT_EMPTY, .help = "name of the provider, for people"),       \
        KEY(KEY_STR, "oidc.idp_sso_url", .def = "\"\"",                                \
            .help = "issuer: address of the provider, exactly"),                       \
        KEY(KEY_STR, "oidc.idp_recipient_url", .def = "\"\"",                          \
            .help = "address of this master, as browsers see it"),                     \
        KEY(KEY_STR, "oidc.client_id", .def = "\"\"",                                  \
            .help = "id of this master at the provider"),                              \
        KEY(KEY_STR, "oidc.client_secret", .def = "\"\"", .flags = KEY_SECRET,         \
            .help = "its secret; empty: a public client"),                             \
        KEY(KEY_PATH, "oidc.client_secret_file", .def = "null",                        \
            .help = "file with the secret"),                                           \
        KEY(KEY_PATH, "oidc.ca_file", .def = "null",                                   \
            .help = "CA of the provider; null: those of this machine"),                \
        STRING_LIST("oidc.scopes", "one scope",                                        \
                    .def = "[\"openid\",\"profile\",\"email\"]",                       \
                    .help = "scopes to ask for"),                                      \
        KEY(KEY_STR, "oidc.authentication_claim", .def = "\"\"",                       \
            .help = "claim with the user name; see sign-in.md"),                       \
        KEY(KEY_STR, "oidc.display_name_attribute_name", .def = "\"name\"",            \
            .help = "claim with the name to display"),                                 \
        KEY(KEY_STR, "oidc.groups_attribute_name", .def = "\"groups\"",                \
            .help = "claim with the names of groups"),                                 \
        KEY(KEY_STR, "oidc.admin_group", .def = "\"\"",                                \
            .help = "group whose members are administrators"),                         \
        KEY(KEY_BOOL, "oidc.auto_provision_users", .def = "false",                     \
            .help = "add unknown people as users"),                                    \
        KEY(KEY_BOOL, "oidc.always_redirect", .def = "false",                          \
            .help = "skip the sign-in page of the WebUI"),                             \
        KEY(KEY_STR, "oidc.scim_authentication_attribute", .not_built = NO_SCIM,       \
            .help = "for SCIM"),                                                       \
        KEY(KEY_STR, "oidc.agent_uid_attribute_name", .not_built = NO_CLAIMS,          \
            .help = "claim with the user number of tasks"),                            \
        KEY(KEY_STR, "oidc.agent_gid_attribute_name", .not_built = NO_CLAIMS,          \
            .help = "claim with the group number of tasks"),                           \
        KEY(KEY_STR, "oidc.agent_user_name_attribute_name", .not_built = NO_CLAIMS,    \
            .help = "claim with the Unix user of tasks"),                              \
        KEY(KEY_STR, "oidc.agent_group_name_attribute_name", .not_built = NO_CLAIMS,   \
            .help = "claim with the Unix group of tasks")

#define LDAP_KEYS                                                                      \
    KEY(KEY_MAP, "ldap", .def = "{}", .help = "passwords checked by a directory"),     \
        KEY(KEY_BOOL, "ldap.enabled", .def = "false", .help = "ask the directory"),    \
        KEY(KEY_STR, "ldap.url", .def = "\"\"",                                        \
            .help = "ldaps://HOST or ldap://HOST"),                                    \
        KEY(KEY_BOOL, "ldap.start_tls", .def = "false",                                \
            .help = "encrypt a connection to ldap://"),                                \
        KEY(KEY_BOOL, "ldap.allow_cleartext", .def = "false",                          \
            .help = "allow ldap:// to another machine without TLS"),                   \
        KEY(KEY_PATH, "ldap.ca_file", .def = "null",                                   \
            .help = "CA of the directory; null: those of this machine"),               \
        KEY(KEY_STR, "ldap.bind_dn", .def = "\"\"",                                    \
            .help = "who searches; empty: anonymously"),                               \
        KEY(KEY_STR, "ldap.bind_password", .def = "\"\"", .flags = KEY_SECRET,         \
            .help = "its password"),                                                   \
        KEY(KEY_PATH, "ldap.bind_password_file", .def = "null",                        \
            .help = "file with its password"),                                         \
        KEY(KEY_STR, "ldap.user_base", .def = "\"\"",                                  \
            .help = "where to search for users"),                                      \
        KEY(KEY_STR, "ldap.user_filter", .def = "\"(uid=%s)\"",                        \
            .help = "filter for a user; %s: the name"),                                \
        KEY(KEY_STR, "ldap.display_name_attribute", .def = "\"cn\"",                   \
            .help = "attribute with the name to display"),                             \
        KEY(KEY_STR, "ldap.group_base", .def = "\"\"",                                 \
            .help = "where to search for groups; empty: nowhere"),                     \
        KEY(KEY_STR, "ldap.group_filter", .def = "\"(member=%d)\"",                    \
            .help = "filter for groups; %d: the user's DN, %s: name"),                 \
        KEY(KEY_STR, "ldap.group_attribute", .def = "\"cn\"",                          \
            .help = "attribute with the name of a group"),                             \
        KEY(KEY_STR, "ldap.admin_group", .def = "\"\"",                                \
            .help = "group whose members are administrators"),                         \
        KEY(KEY_BOOL, "ldap.auto_provision_users", .def = "false",                     \
            .help = "add unknown people as users"),                                    \
        KEY(KEY_DURATION, "ldap.timeout", .def = "5",                                  \
            .help = "longest time for each step")

static const struct config_key keys[] = {
    KEY(KEY_STR, "config_file", .flags = KEY_DROPPED,
        .no_effect = "--config names the file", .help = "path of this file"),
    KEY(KEY_STR, "host", .def = "\"127.0.0.1\"", .flags = KEY_NOT_EMPTY,
        .help = "address to listen on"),
    KEY(KEY_INT, "port", .def = "8080", .bounds = FROM_TO(0, 65535),
        .help = "port to listen on; 0: any free port"),
    KEY(KEY_STR, "data_dir", .def = "null", .flags = KEY_NOT_EMPTY,
        .help = "database, logs, code; null: in the home directory"),
    KEY(KEY_STR, "root", .def = "\"/usr/share/determined/master\"",
        .no_effect = "the pages of the WebUI are part of the program",
        .help = "directory of the WebUI files"),
    KEY(KEY_MAP, "log", .def = "{}", .help = "log of the master"),
    KEY(KEY_STR, "log.level", .def = "\"info\"",
        .words = WORDS("trace", "debug", "info", "warn", "error"),
        .help = "least severe level that is written"),
    KEY(KEY_BOOL, "log.color", .def = "true", .help = "use colours on a terminal"),
    KEY(KEY_STR, "log.format", .def = "\"text\"", .words = WORDS("text", "json"),
        .help = "lines for people, or JSON objects"),
    KEY(KEY_INT, "log.slow_request_ms", .def = "1000", .bounds = FROM_TO(0, 86400000),
        .help = "log slower calls; 0: none"),
    KEY(KEY_MAP, "db",
        .not_built = "PostgreSQL is not built yet; the database is a file in data_dir",
        .help = "PostgreSQL database"),
    KEY(KEY_STR, "db.user", .help = "user name"),
    KEY(KEY_STR, "db.password", .flags = KEY_SECRET, .help = "password"),
    KEY(KEY_STR, "db.host", .help = "host name"),
    KEY(KEY_INT, "db.port", .bounds = FROM_TO(1, 65535), .help = "port"),
    KEY(KEY_STR, "db.name", .help = "database name"),
    KEY(KEY_STR, "db.ssl_mode", .def = "\"disable\"", .help = "SSL mode, as in libpq"),
    KEY(KEY_STR, "db.ssl_root_cert", .help = "file with the CA certificate"),
    KEY(KEY_STR, "cluster_name", .def = "\"\"",
        .help = "name of the cluster, shown in the WebUI"),
    CHECKPOINT_STORAGE_KEYS(.def = "null", ),
    KEY(KEY_LIST, "checkpoint_storage_roots", .def = "[]",
        .help = "where experiments may store checkpoints, besides"),
    KEY(KEY_PATH, "checkpoint_storage_roots[]", .help = "one directory"),
    KEY(KEY_DURATION, "tensorboard_timeout", .def = "300",
        .help = "idle time after which a TensorBoard ends"),
    KEY(KEY_DURATION, "notebook_timeout", .def = "null",
        .no_effect = "notebooks are not built yet",
        .help = "idle time after which a notebook ends; null: never"),
    KEY(KEY_INT, "max_metric_names", .def = "16384", .bounds = FROM_TO(1, 1000000),
        .help = "names of metrics a trial may use, in all groups together"),
    KEY(KEY_INT, "max_media_bytes", .def = "268435456",
        .bounds = FROM_TO(0, 1099511627776),
        .help = "bytes of media a trial may report; 0: none is stored"),
    KEY(KEY_BOOL, "launch_error", .def = "true",
        .help = "refuse tasks that need more slots than the pool has"),
    KEY(KEY_BOOL, "enable_cors", .def = "false",
        .help = "allow web pages of other hosts to call the API"),
    KEY(KEY_LIST, "trusted_proxies", .def = "[]",
        .help = "proxies whose X-Forwarded-For is believed"),
    KEY(KEY_STR, "trusted_proxies[]", .help = "an address, or a range of them"),
    KEY(KEY_SIZE, "max_memory", .def = "\"512MB\"",
        .help = "memory limit of the master, in bytes"),
    KEY(KEY_MAP, "connections", .def = "{}", .help = "who may hold connections"),
    KEY(KEY_INT, "connections.max", .def = "16384", .bounds = FROM_TO(16, 1000000),
        .help = "most connections at once"),
    KEY(KEY_INT, "connections.max_per_address", .def = "null",
        .bounds = FROM_TO(1, 1000000),
        .help = "most of one address; null: a quarter of max"),
    KEY(KEY_DURATION, "connections.head_timeout", .def = "20",
        .bounds = FROM_TO(1, 86400), .help = "longest time for the head of a request"),
    KEY(KEY_INT, "connections.least_rate", .def = "4096",
        .bounds = FROM_TO(1, 1073741824),
        .help = "bytes a second that bodies and replies need"),
    KEY(KEY_MAP, "security", .def = "{}", .help = "users, keys and permissions"),
    KEY(KEY_MAP, "security.default_task", .def = "{}",
        .help = "user that tasks run as"),
    KEY(KEY_INT, "security.default_task.uid", .def = "0",
        .bounds = FROM_TO(0, 4294967294), .help = "user number"),
    KEY(KEY_INT, "security.default_task.gid", .def = "0",
        .bounds = FROM_TO(0, 4294967294), .help = "group number"),
    KEY(KEY_STR, "security.default_task.user", .def = "\"root\"", .help = "user name"),
    KEY(KEY_STR, "security.default_task.group", .def = "\"root\"",
        .help = "group name"),
    KEY(KEY_MAP, "security.tls", .help = "encrypted connections"),
    KEY(KEY_STR, "security.tls.cert", .flags = KEY_NOT_EMPTY | KEY_RELOADABLE,
        .help = "PEM file with the certificate; read again when it changes"),
    KEY(KEY_STR, "security.tls.key", .flags = KEY_NOT_EMPTY | KEY_RELOADABLE,
        .help = "PEM file with the private key"),
    KEY(KEY_BOOL, "security.tls.disabled", .def = "false",
        .help = "plain HTTP, which everybody on the network can read"),
    KEY(KEY_MAP, "security.ssh", .def = "{}", .help = "SSH keys of shells"),
    KEY(KEY_STR, "security.ssh.key_type", .def = "\"ED25519\"",
        .words = WORDS("ED25519", "RSA", "ECDSA"), .no_effect = NO_SHELLS,
        .help = "type of key"),
    KEY(KEY_INT, "security.ssh.rsa_key_size", .bounds = AT_LEAST(1024),
        .no_effect = NO_SHELLS, .help = "bits of an RSA key"),
    KEY(KEY_MAP, "security.authz", .def = "{}", .help = "permissions"),
    KEY(KEY_STR, "security.authz.type", .def = "\"basic\"",
        .words = WORDS("basic", "rbac"), .help = "how permissions are granted"),
    KEY(KEY_BOOL, "security.authz.rbac_ui_enabled", .def = "false",
        .help = "clients show roles in mode basic too"),
    KEY(KEY_MAP, "security.token", .def = "{}", .help = "access tokens"),
    KEY(KEY_INT, "security.token.max_lifespan_days", .def = "30",
        .bounds = AT_LEAST(-1), .help = "longest lifetime in days; -1: no limit"),
    KEY(KEY_INT, "security.token.default_lifespan_days", .def = "30",
        .bounds = AT_LEAST(-1), .help = "lifetime in days if none is requested"),
    KEY(KEY_STR, "security.initial_user_password", .def = "\"\"", .flags = KEY_SECRET,
        .help = "password of admin and determined, at the first start"),
    OIDC_KEYS,
    LDAP_KEYS,
    KEY(KEY_MAP, "telemetry", .def = "{}", .help = "nothing is ever sent"),
    KEY(KEY_BOOL, "telemetry.enabled", .def = "false", .no_effect = NO_TELEMETRY,
        .help = "nothing is ever sent"),
    KEY(KEY_BOOL, "telemetry.otel_enabled", .def = "false", .no_effect = NO_TELEMETRY,
        .help = "tracing"),
    KEY(KEY_STR, "telemetry.otel_endpoint", .def = "\"localhost:4317\"",
        .no_effect = NO_TELEMETRY, .help = "address that receives traces"),
    KEY(KEY_STR, "telemetry.segment_master_key", .no_effect = NO_TELEMETRY,
        .help = "nothing is ever sent"),
    KEY(KEY_STR, "telemetry.segment_webui_key", .no_effect = NO_TELEMETRY,
        .help = "nothing is ever sent"),
    KEY(KEY_MAP, "logging", .def = "{}", .union_key = "type",
        .help = "storage of task logs"),
    KEY(KEY_STR, "logging.type", .def = "\"default\"",
        .words = WORDS("default", "elastic"), .later_words = WORDS("elastic"),
        .help = "the database or Elasticsearch"),
    KEY(KEY_ANY, "logging.*", .kinds = "elastic", .flags = KEY_FREE,
        .help = "settings of Elasticsearch"),
    KEY(KEY_MAP, "retention_policy", .def = "{}", .help = "how long data is kept"),
    KEY(KEY_INT, "retention_policy.log_retention_days", .def = "null",
        .bounds = FROM_TO(-1, 32767),
        .help = "days to keep task logs; -1 or null: for ever"),
    KEY(KEY_INT, "retention_policy.audit_retention_days", .def = "365",
        .bounds = FROM_TO(-1, 32767),
        .help = "days to keep the audit log; 0: until cleaning; -1: for ever"),
    KEY(KEY_INT, "retention_policy.media_retention_days", .def = "null",
        .bounds = FROM_TO(-1, 32767),
        .help = "days to keep media of trials; -1 or null: for ever"),
    KEY(KEY_STR, "retention_policy.schedule", .def = "null",
        .no_effect =
            "old logs are deleted soon after their last day, without a schedule",
        .help = "when to delete logs: a duration or a cron line"),
    KEY(KEY_MAP, "observability", .def = "{}", .help = "monitoring by other tools"),
    KEY(KEY_BOOL, "observability.enable_prometheus", .def = "true",
        .help = "serve metrics for Prometheus"),
    KEY(KEY_MAP, "cache", .def = "{}", .help = "cached files"),
    KEY(KEY_STR, "cache.cache_dir", .def = "\"/var/cache/determined\"",
        .no_effect = "the master caches no files", .help = "directory of the cache"),
    KEY(KEY_MAP, "webhooks", .def = "{}", .help = "calls to other services"),
    KEY(KEY_STR, "webhooks.base_url", .def = "\"\"", .not_built = NO_WEBHOOKS,
        .help = "address of this master in webhook messages"),
    KEY(KEY_STR, "webhooks.signing_key", .def = "null", .flags = KEY_SECRET,
        .not_built = NO_WEBHOOKS, .help = "key that signs calls; null: a random key"),
    STRING_LIST("feature_switches", "one switch", .def = "[]",
                .no_effect = "no feature of this version has a switch",
                .help = "experimental features to turn on"),
    KEY(KEY_LIST, "reserved_ports", .def = "[]", .help = "ports tasks must not use"),
    KEY(KEY_INT, "reserved_ports[]", .bounds = FROM_TO(1, 65535), .help = "one port"),
    KEY(KEY_MAP, "resource_manager", .def = "{}", .help = "manager of the machines"),
    KEY(KEY_STR, "resource_manager.type", .def = "\"agent\"",
        .words = WORDS("agent", "kubernetes", "slurm", "pbs"),
        .later_words = WORDS("kubernetes", "slurm", "pbs"),
        .help = "type of resource manager"),
    KEY(KEY_STR, "resource_manager.cluster_name",
        .no_effect = "there is one resource manager; cluster_name names the cluster",
        .help = "name, if there are several"),
    SCHEDULER_KEYS("resource_manager.scheduler", .def = "{}", ),
    KEY(KEY_STR, "resource_manager.default_aux_resource_pool", .def = "\"default\"",
        .help = "default pool for tasks without slots"),
    KEY(KEY_STR, "resource_manager.default_compute_resource_pool", .def = "\"default\"",
        .help = "default pool for tasks with slots"),
    KEY(KEY_BOOL, "resource_manager.no_default_resource_pools", .def = "false",
        .help = "every task must name a pool"),
    KEY(KEY_BOOL, "resource_manager.require_authentication", .def = "false",
        .not_built = "certificates of agents are not built yet; they join by a token",
        .help = "agents must present a certificate"),
    KEY(KEY_STR, "resource_manager.client_ca",
        .not_built = "certificates of agents are not built yet; they join by a token",
        .help = "CA of the agents' certificates"),
    KEY(KEY_LIST, "resource_pools", .def = "[]", .help = "groups of agents"),
    KEY(KEY_MAP, "resource_pools[]", .help = "one pool"),
    KEY(KEY_STR, "resource_pools[].pool_name", .flags = KEY_REQUIRED | KEY_NOT_EMPTY,
        .help = "name of the pool"),
    KEY(KEY_STR, "resource_pools[].description", .def = "\"\"",
        .help = "description of the pool"),
    KEY(KEY_MAP, "resource_pools[].provider", .flags = KEY_FREE,
        .not_built = "starting machines in a cloud is not built yet",
        .help = "cloud that provides the agents"),
    SCHEDULER_KEYS("resource_pools[].scheduler", .def = "null", ),
    KEY(KEY_INT, "resource_pools[].max_aux_containers_per_agent", .def = "100",
        .bounds = FROM_TO(0, 2147483647), .help = "most tasks without slots per agent"),
    TASK_DEFAULTS_KEYS("resource_pools[].task_container_defaults", .def = "null",
                       .not_built = NO_POOL_DEFAULTS, ),
    KEY(KEY_DURATION, "resource_pools[].agent_reconnect_wait", .def = "25",
        .help = "how long to wait for a silent agent"),
    KEY(KEY_BOOL, "resource_pools[].agent_reattach_enabled",
        .flags = KEY_DROPPED | KEY_DEPRECATED,
        .no_effect = "agents always find their tasks again",
        .help = "obsolete: always on"),
    KEY(KEY_LIST, "additional_resource_managers", .def = "[]", .flags = KEY_FREE,
        .not_built = "several resource managers are not built yet",
        .help = "more resource managers"),
    TASK_DEFAULTS_KEYS("task_container_defaults", .def = "{}", ),
};

struct key_table master_key_table(void)
{
    return (struct key_table){keys, ARRAY_LEN(keys)};
}
