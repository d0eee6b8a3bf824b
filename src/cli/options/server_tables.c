/* SPDX-License-Identifier: Apache-2.0 */
/* server_tables.c - the options of all commands, and those that run and look after masters and agents. */
#include "cli/frame/options.h"
#include "cli/frame/parse.h"
#include "cli/frame/role_options.h"
#include "cli/options/option_rows.h"
#include "cli/options/option_tables.h"

const struct cli_opt cli_global_opts[] = {
    TEXT('m', "master", cli_globals, master, "URL",
         "the master (default: DET_MASTER, else the local one)"),
    TEXT('u', "user", cli_globals, user, "NAME", "act as this user"),
    FLAG('h', "help", cli_globals, wants_help, "print help and exit"),
    FLAG('v', "version", cli_globals, wants_version, "print the version and exit"),
    FLAG(0, "json", cli_globals, wants_json, "print JSON"),
    FLAG(0, "csv", cli_globals, wants_csv, "print comma-separated values"),
    TEXT(0, "local", cli_globals, local, "DIR",
         "work with offline runs, in DIR or the default folder", .is_optional = true),
    END,
};

const struct cli_opt yes_opts[] = {
    FLAG('y', "yes", yes_options, yes, "do not ask"),
    END,
};

const struct cli_opt ui_opts[] = {
    NUMBER(0, "port", ui_options, port, "PORT", 0, 65535,
           "listen on this port of 127.0.0.1 (default: a free port)"),
    FLAG(0, "no-browser", ui_options, no_browser, "only print the address"),
    END,
};

const struct cli_opt drain_opts[] = {
    FLAG(0, "drain", drain_options, drain, "let running tasks finish"),
    END,
};

const struct cli_opt agent_enable_opts[] = {
    FLAG(0, "all", drain_options, all, "all agents"),
    END,
};

const struct cli_opt agent_disable_opts[] = {
    FLAG(0, "all", drain_options, all, "all agents"),
    FLAG(0, "drain", drain_options, drain, "let running tasks finish"),
    END,
};

const struct cli_opt config_check_opts[] = {
    TEXT('k', "kind", kind_options, kind, "KIND",
         "kind of configuration (default: the one whose keys it has)",
         CHOICES("experiment", "master", "agent", "job")),
    END,
};

const struct cli_opt kind_opts[] = {
    TEXT('k', "kind", kind_options, kind, "KIND", "kind of configuration",
         .def = "experiment", CHOICES("experiment", "master", "agent", "job")),
    END,
};

#define SERVING_OPTS(struct_)                                                          \
    NUMBER('p', "port", struct_, port, "PORT", 0, 65535, "listen on this port",        \
           .def = "8080", HAS(struct_, has_port)),                                     \
        TEXT(0, "host", struct_, host, "ADDRESS", "listen on this address",            \
             .def = "127.0.0.1", HAS(struct_, has_host)),                              \
        TEXT(0, "data-dir", struct_, data_dir, "DIR",                                  \
             "data directory (default: ~/.local/share/det)"),                          \
        TEXT(0, "config", struct_, config, "FILE", "configuration file"),              \
        TEXT(0, "initial-password-file", struct_, initial_password_file, "FILE",       \
             "file with the password for users without one ('-': standard input)"),    \
        TEXT(0, "initial-password", struct_, initial_password, "PASSWORD",             \
             "the same on the command line, where other users may see it"),            \
        TEXT(0, "tls-cert", struct_, tls_cert, "FILE",                                 \
             "speak TLS with the certificate in this PEM file"),                       \
        TEXT(0, "tls-key", struct_, tls_key, "FILE",                                   \
             "the private key of --tls-cert, in PEM form"),                            \
        FLAG(0, "tls", struct_, tls,                                                   \
             "speak TLS also on loopback, with a certificate of its own"),             \
        FLAG(0, "no-tls", struct_, no_tls,                                             \
             "plain HTTP, which everybody on the network can read")

const struct cli_opt serve_opts[] = {
    SERVING_OPTS(serve_options),
    NUMBER(0, "slots", serve_options, slots, "N", 0, 4096,
           "offer N slots (default: all GPUs, else all cores)"),
    FLAG(0, "background", serve_options, background,
         "return when it is ready, and run in the background"),
    FLAG(0, "no-agent", serve_options, no_agent, "do not start an agent"),
    TEXT(0, "agent-config", serve_options, agent_config, "FILE",
         "configuration file of its agent"),
    END,
};

const struct cli_opt master_run_opts[] = {
    SERVING_OPTS(master_run_options),
    END,
};

const struct cli_opt agent_run_opts[] = {
    TEXT(0, "id", agent_run_options, id, "ID",
         "id of the agent (default: the host's name)"),
    NUMBER(0, "slots", agent_run_options, slots, "N", 0, 4096,
           "offer N slots (default: all GPUs, else all cores)"),
    TEXT(0, "resource-pool", agent_run_options, resource_pool, "POOL",
         "join this resource pool"),
    TEXT(0, "data-dir", agent_run_options, data_dir, "DIR", "data directory"),
    TEXT(0, "token-file", agent_run_options, token_file, "FILE",
         "file with the agent token of the master"),
    TEXT(0, "config", agent_run_options, config, "FILE", "configuration file"),
    TEXT(0, "master-cert", agent_run_options, master_cert, "FILE",
         "certificate of the master or its signer; noverify: anybody's"),
    TEXT(0, "master-cert-name", agent_run_options, master_cert_name, "NAME",
         "a name that the master's certificate must have"),
    TEXT(0, "master-fingerprint", agent_run_options, master_fingerprint, "SHA256",
         "only the master whose certificate has this fingerprint"),
    END,
};

const struct cli_opt trust_opts[] = {
    TEXT(0, "fingerprint", trust_options, fingerprint, "SHA256",
         "trust it only if its certificate has this fingerprint; do not ask"),
    FLAG(0, "forget", trust_options, forget, "no longer trust it"),
    END,
};

const struct cli_opt master_certificate_opts[] = {
    TEXT(0, "data-dir", master_certificate_options, data_dir, "DIR",
         "data directory of the master (default: ~/.local/share/det)"),
    END,
};

const struct cli_opt backup_opts[] = {
    TEXT(0, "data-dir", backup_options, data_dir, "DIR",
         "data directory of the master (default: ~/.local/share/det)"),
    FLAG(0, "checkpoints", backup_options, checkpoints,
         "also the checkpoints in the data directory"),
    NUMBER(0, "keep", backup_options, keep, "N", 1, COUNT_MOST,
           "then remove all but the N newest backups"),
    NUMBER(0, "rate", backup_options, rate, "MB", 1, 1000000,
           "read at most so many MB a second"),
    FLAG(0, "list", backup_options, list, "list the backups in DIR; make none"),
    FLAG(0, "verify", backup_options, verify,
         "read all backups in DIR and compare their checksums; make none"),
    END,
};

const struct cli_opt restore_opts[] = {
    TEXT(0, "data-dir", restore_options, data_dir, "DIR",
         "where to (default: ~/.local/share/det)"),
    TEXT(0, "backup", restore_options, backup, "ID", "this one (default: the newest)"),
    TEXT(0, "at", restore_options, at, "TIME",
         "the newest one that is not younger than TIME"),
    FLAG(0, "replace", restore_options, replace,
         "put an existing data directory aside"),
    END,
};

const struct cli_opt stop_opts[] = {
    TEXT(0, "data-dir", stop_options, data_dir, "DIR", "data directory of the master"),
    END,
};

const struct cli_opt doctor_opts[] = {
    ENV_DATA(doctor_options),
    END,
};

const struct cli_opt master_logs_opts[] = {
    FLAG('f', "follow", log_options, follow, "also print the lines to come"),
    NUMBER(0, "tail", log_options, tail, "N", 1, COUNT_MOST, "only the last N lines"),
    END,
};

const struct cli_opt resources_opts[] = {
    FLAG(0, "monthly", resources_options, monthly,
         "per month; then dates are months: 2026-11"),
    FLAG(0, "by-experiment", resources_options, by_experiment,
         "also the sum of each experiment"),
    END,
};
