/* SPDX-License-Identifier: Apache-2.0 */
/* initial_password.c - every user of the machine can read the arguments of a process, as long
 * as it runs.  So a password given there is overwritten at once, and the file is the better
 * way. */
#include "main/initial_password.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "cli/frame/role_options.h"

enum { PASSWORD_MOST = 4096 };

static det_status read_input(struct buf *out, struct err *err)
{
    char piece[512];
    ssize_t count;

    while ((count = read(STDIN_FILENO, piece, sizeof(piece))) != 0) {
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return err_errno(err, errno,
                             "cannot read the password from standard input");
        buf_add(out, piece, (size_t)count);
        if (out->len > PASSWORD_MOST || memchr(piece, '\n', (size_t)count))
            break;
    }
    return out->status ? err_default(err, out->status) : DET_OK;
}

static det_status read_file(const char *path, struct arena *mem,
                            const char **ret_password, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct io_stat found;
    size_t len;
    det_status st = strcmp(path, "-") ? io_read_file(io_system(), path, &text, err)
                                      : read_input(&text, err);

    if (st)
        return st;
    if (strcmp(path, "-") && !io_stat(io_system(), path, &found, NULL) &&
        found.kind == IO_FILE && found.mode & 0007)
        fprintf(stderr,
                "det: warning: every user can read the password in '%s'; close it with "
                "'chmod 600'\n",
                path);
    len = text.len ? strcspn(text.data, "\r\n") : 0;
    if (!len || len > PASSWORD_MOST)
        return err_set(err, DET_INVALID, "the first line of '%s' is not a password",
                       path);
    *ret_password = arena_strndup(mem, text.data, len);
    return *ret_password ? DET_OK : err_default(err, DET_NOMEM);
}

det_status initial_password_read(const struct serve_options *options, struct arena *mem,
                                 const char **ret_password, struct err *err)
{
    /* the parser lends the strings of main(), which may be written to */
    char *argument = (char *)(uintptr_t)options->initial_password;

    *ret_password = NULL;
    if (argument && options->initial_password_file)
        return err_set(err, DET_INVALID,
                       "--initial-password and --initial-password-file exclude each "
                       "other; give the file");
    if (options->initial_password_file)
        return read_file(options->initial_password_file, mem, ret_password, err);
    if (!argument)
        return DET_OK;
    *ret_password = arena_strdup(mem, argument);
    if (!*ret_password)
        return err_default(err, DET_NOMEM);
    explicit_bzero(argument, strlen(argument));
    fprintf(stderr,
            "det: warning: other users of this machine may have seen the password "
            "on the command line; use --initial-password-file FILE\n");
    return DET_OK;
}
