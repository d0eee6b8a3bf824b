/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/frame/program_path.h"

#include <errno.h>
#include <unistd.h>

#include "base/memory/arena.h"

det_status program_path(struct arena *mem, const char **ret_path, struct err *err)
{
    char path[4096];
    ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);

    const char *copy;

    if (len < 0)
        return err_errno(err, errno, "cannot find this program's own file");
    if (!len || (size_t)len == sizeof(path) - 1)
        return err_set(err, DET_TOO_LARGE, "the path of this program is too long");
    copy = arena_strndup(mem, path, (size_t)len);
    if (!copy)
        return err_default(err, DET_NOMEM);
    *ret_path = copy;
    return DET_OK;
}
