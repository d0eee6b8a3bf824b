/* SPDX-License-Identifier: Apache-2.0 */
/* tls_files.h - certificates for a test program: in a folder of its own, removed at its end. */
#ifndef TESTS_UNIT_NET_TLS_FILES_H
#define TESTS_UNIT_NET_TLS_FILES_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/io/io.h"
#include "base/memory/buf.h"
#include "net/tls/certificate.h"
#include "tests/support/test.h"

enum { TLS_PATH = 96 };

static char tls_dir[64];

static inline const char *tls_path(char path[TLS_PATH], const char *name)
{
    snprintf(path, TLS_PATH, "%s/%s", tls_dir, name);
    return path;
}

static inline void tls_remove_files(void)
{
    (void)io_remove_tree(io_system(), tls_dir, NULL);
}

static inline void tls_make_folder(void)
{
    snprintf(tls_dir, sizeof(tls_dir), "/tmp/det-tls.XXXXXX");
    if (!mkdtemp(tls_dir))
        abort();
    atexit(tls_remove_files);
}

static inline void tls_write(const char *path, const struct buf *text)
{
    CHECK_OK(io_replace(io_system(), path, text->data, text->len, true, &test_err));
}

static inline void tls_make_pair(const char *cert, const char *key)
{
    struct buf texts[2] = {BUF_INIT, BUF_INIT};

    CHECK_OK(certificate_make("0.0.0.0", &texts[0], &texts[1], &test_err));
    tls_write(cert, &texts[0]);
    tls_write(key, &texts[1]);
    buf_done(&texts[0]);
    buf_done(&texts[1]);
}

#endif
