/* SPDX-License-Identifier: Apache-2.0 */
/* role_options.h - the options of the commands that src/main carries out.
 *
 * Strings that were not given are NULL; numbers without a default are CLI_UNSET. */
#ifndef CLI_FRAME_ROLE_OPTIONS_H
#define CLI_FRAME_ROLE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* det serve */
struct serve_options {
    int64_t port; /* 8080 */
    bool has_port;
    const char *host; /* "127.0.0.1" */
    bool has_host;
    const char *data_dir;
    const char *config;
    int64_t slots; /* CLI_UNSET: all GPUs, else all cores */
    const char *initial_password;
    const char *initial_password_file; /* "-": standard input */
    const char *tls_cert;
    const char *tls_key;
    bool tls;
    bool no_tls;
    bool background;
    bool no_agent;
    const char *agent_config;
};

/* det master run */
struct master_run_options {
    int64_t port; /* 8080 */
    bool has_port;
    const char *host; /* "127.0.0.1" */
    bool has_host;
    const char *data_dir;
    const char *config;
    const char *initial_password;
    const char *initial_password_file;
    const char *tls_cert;
    const char *tls_key;
    bool tls;
    bool no_tls;
};

/* det agent run; `--master` is a global option (globals.master) */
struct agent_run_options {
    const char *id;
    int64_t slots; /* CLI_UNSET: all GPUs, else all cores */
    const char *resource_pool;
    const char *data_dir;
    const char *token_file;
    const char *config;
    const char *master_cert;
    const char *master_cert_name;
    const char *master_fingerprint;
};

/* det backup */
struct backup_options {
    const char *data_dir;
    bool checkpoints;
    int64_t keep; /* CLI_UNSET: all */
    int64_t rate; /* MB a second; CLI_UNSET: no limit */
    bool list;
    bool verify;
};

/* det restore */
struct restore_options {
    const char *data_dir;
    const char *backup;
    const char *at;
    bool replace;
};

/* det stop */
struct stop_options {
    const char *data_dir;
};

#endif
