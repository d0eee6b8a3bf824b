/* SPDX-License-Identifier: Apache-2.0 */
/* roles.h - the options of the commands that src/main carries out.
 *
 * Strings are NULL when they were not given; numbers without a default are CLI_UNSET.
 */
#ifndef CLI_ROLES_H
#define CLI_ROLES_H

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
    int64_t slots; /* CLI_UNSET: as many as there are */
    const char *initial_password;
    bool background;
    bool no_agent;
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
};

/* det agent run; `--master` is the option that every command has (globals.master) */
struct agent_run_options {
    const char *id;
    int64_t slots; /* CLI_UNSET: as many as there are */
    const char *resource_pool;
    const char *data_dir;
    const char *token_file;
    const char *config;
};

/* det stop */
struct stop_options {
    const char *data_dir;
};

#endif
