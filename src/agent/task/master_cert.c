/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/task/master_cert.h"

#include <string.h>
#include <sys/stat.h>

#include "agent/task/task_dir.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "libdet/client/trust.h"

enum { FILE_LIMIT = 4 << 20, SCRATCH = 65536 };

static bool is_file(const char *cert_file)
{
    return cert_file && *cert_file && strcmp(cert_file, TRUST_NOVERIFY) != 0;
}

/* As master.json: in the directory itself, which never belongs to the task, and readable
 * for another user's task, whatever our umask. */
det_status master_cert_pass(struct io *io, const char *cert_file, const char *dir,
                            int64_t *modified_us, struct err *err)
{
    const bool is_private = false;
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SCRATCH);
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(FILE_LIMIT);
    char *path = task_dir_path(&mem, dir, TASK_DIR_CERT);
    struct io_stat found;
    det_status status;

    if (!is_file(cert_file))
        return DET_OK;
    if (!path)
        return err_default(err, DET_NOMEM);
    status = io_stat(io, cert_file, &found, err);
    if (status || found.modified_us == *modified_us)
        return status;
    status = io_read_file(io, cert_file, &text, err);
    if (!status)
        status = io_replace(io, path, text.data, text.len, is_private, err);
    if (status)
        return status;
    (void)chmod(path, 0644);
    *modified_us = found.modified_us;
    return DET_OK;
}

const char *master_cert_of_task(struct arena *mem, const char *cert_file,
                                const char *dir)
{
    return is_file(cert_file) ? task_dir_path(mem, dir, TASK_DIR_CERT) : cert_file;
}
