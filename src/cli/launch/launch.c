/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/launch/launch.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/frame/cli.h"

det_status launch_set(struct cli *cli, const char *name, const char *value)
{
    return value && setenv(name, value, 1) ? cli_nomem(cli) : DET_OK;
}

det_status launch_become(struct cli *cli, const char *const *argv)
{
    det_status st = cli_flush(cli);

    if (st)
        return st;
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    return err_errno(cli->err, errno, "cannot start '%s'", argv[0]);
}
