/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trials/checkpoint_fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/io/io.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/connect.h"
#include "cli/output/format.h"
#include "data/archive/archive.h"
#include "libdet/client/client.h"

struct fetch {
    struct cli *cli;
    struct io_file *file;
    uint64_t got_bytes;
    uint64_t size_bytes; /* expected */
    const char *size;    /* as text */
};

static det_status take_bytes(void *arg, const char *bytes, size_t len, struct err *err)
{
    struct fetch *fetch = arg;
    det_status st = io_write_at(fetch->file, fetch->got_bytes, bytes, len, err);
    uint64_t percent;

    if (st)
        return st;
    fetch->got_bytes += len;
    percent = fetch->size_bytes ? 100 * fetch->got_bytes / fetch->size_bytes : 100;
    progress_line_set(&fetch->cli->progress, "Downloading %s... %d%%", fetch->size,
                      (int)MIN(percent, (uint64_t)100));
    return DET_OK;
}

static det_status fetch_archive(struct cli *cli, const char *uuid, uint64_t size_bytes,
                                const char *path)
{
    CLEANUP(io_closep) struct io_file *file = NULL;
    struct fetch fetch = {
        .cli = cli, .size_bytes = size_bytes, .size = format_size(cli, size_bytes)};
    const char *call =
        arena_printf(&cli->mem, "/checkpoints/%s?format=tar", cli_url(cli, uuid));
    det_status st = cli_connect(cli);

    if (!st && !call)
        st = cli_nomem(cli);
    if (!st)
        st = io_open(io_system(), path, IO_WRITE | IO_CREATE | IO_EXCLUSIVE, &file,
                     cli->err);
    if (st)
        return st;
    fetch.file = file;
    st = client_read_bytes(cli->client, call, take_bytes, &fetch);
    progress_line_end(&cli->progress);
    return st ? cli_client_failed(cli, st) : DET_OK;
}

static det_status unpack_archive(struct cli *cli, const char *path, const char *folder)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
    void *bytes =
        size > 0 ? mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    det_status st;

    if (bytes == MAP_FAILED)
        st = err_errno(cli->err, errno, "cannot read '%s'", path);
    else
        st = archive_unpack(bytes, (uint64_t)size, folder, cli->err);
    if (bytes != MAP_FAILED)
        munmap(bytes, (size_t)size);
    if (fd >= 0)
        close(fd);
    return st;
}

det_status checkpoint_fetch(struct cli *cli, const char *uuid, uint64_t size_bytes,
                            const char *folder)
{
    const char *path = arena_printf(&cli->mem, "%s.tar", folder);
    det_status st = path ? fetch_archive(cli, uuid, size_bytes, path) : cli_nomem(cli);

    if (!st)
        st = unpack_archive(cli, path, folder);
    if (path)
        (void)io_remove(io_system(), path, NULL);
    return st;
}
