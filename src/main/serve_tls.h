/* SPDX-License-Identifier: Apache-2.0 */
/* serve_tls.h - whether `det serve` speaks TLS, and with which certificate.
 *
 *   --no-tls, security.tls.disabled       plain HTTP; beyond this machine with a warning
 *   files of the administrator            these; read again when they change
 *   an address beyond loopback, or --tls  a self-signed certificate in DATA/tls, made at
 *                                         the first start
 *   otherwise                             plain HTTP
 *
 * DATA/tls/master.crt is what the master shows now; the programs of this machine know the
 * master by it. */
#ifndef MAIN_SERVE_TLS_H
#define MAIN_SERVE_TLS_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/err.h"
#include "net/tls/certificate.h"

struct arena;
struct json;
struct master;
struct serve_options;

struct serve_tls {
    const char *cert_file; /* NULL: plain HTTP */
    const char *key_file;
    bool is_self_signed;
    const char *shown_file; /* DATA/tls/master.crt */
    char fingerprint[CERTIFICATE_FINGERPRINT];
    int64_t expires_us;
    int64_t warned_us; /* when the log last said that it expires soon */
    /* serve_tls_look() */
    struct stat used[2]; /* the files as they are served, or were refused */
    struct stat seen[2]; /* as they were at the last look */
};

/* Decides, makes what is missing and checks it.  Changes nothing if a file is bad. */
det_status serve_tls_prepare(struct serve_tls *tls, const struct serve_options *options,
                             const struct json *config, const char *host,
                             const char *data_dir, struct arena *mem, struct err *err);
/* To be called twice a second: reads files that have changed, and then stayed the same for
 * one look, so that a pair being copied is not read half.  Once a day the log says that the
 * certificate expires soon, or has expired. */
void serve_tls_look(struct serve_tls *tls, struct master *master);

#endif
