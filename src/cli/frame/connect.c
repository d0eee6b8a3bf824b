/* SPDX-License-Identifier: Apache-2.0 */
/* connect.c - see connect.h.
 *
 * Several commands may find no master at the same time, and each starts one.  The lock of
 * the data directory decides which one stays; the other commands wait until it answers,
 * and use it.  The messages of `det serve` are held back until we know whether they
 * matter. */
#include "cli/frame/connect.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "cli/frame/cli.h"
#include "cli/frame/interrupt.h"
#include "cli/frame/prompt.h"
#include "cli/frame/trust.h"
#include "cli/offline/local_master.h"

enum {
    CALL_TIMEOUT_MS = 120 * 1000,
    OTHERS_START_MS = 15 * 1000, /* timeout for the master of another command */
    LOOK_EVERY_MS = 50,
};

static det_status open_client(struct cli *cli, const char *master)
{
    det_client_options options = {
        .size = sizeof(options),
        .master = master,
        .user = cli->in->globals.user,
        .password = cli->password,
        .identity = cli->identity,
        .timeout_ms = CALL_TIMEOUT_MS,
        .error = cli->err->text,
        .error_size = sizeof(cli->err->text),
    };

    if (cli->password && !options.user)
        options.user = getenv("DET_USER");
    cli->err->text[0] = '\0';
    cli->err->status = det_client_open(&options, &cli->client);
    return cli->err->status;
}

/* ---- starting a master ----------------------------------------------------------- */

/* The first status with this exit code. */
static det_status status_of_exit(int code)
{
    static const det_status all[] = {
#define STATUS(name, http, grpc, exit, text) DET_##name,
        DET_STATUS_MAP(STATUS)
#undef STATUS
    };

    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (det_status_exit(all[i]) == code)
            return all[i];
    return DET_FAILED;
}

/* Starts `det serve --background`; `ret_fd` reads its stderr. */
static int spawn_serve(const struct interrupt *hold, pid_t *ret_pid, int *ret_fd)
{
    char *argv[] = {(char *)(uintptr_t) "det", (char *)(uintptr_t) "serve",
                    (char *)(uintptr_t) "--background", NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int pipes[2];
    int code;

    if (pipe2(pipes, O_CLOEXEC))
        return errno;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes, interrupt_usual(hold));
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, pipes[1], STDERR_FILENO);
    code = posix_spawn(ret_pid, "/proc/self/exe", &actions, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(pipes[1]);
    if (code)
        close(pipes[0]);
    *ret_fd = pipes[0];
    return code;
}

/* Reads as much as fits; drops the leading "det: " and trailing line breaks. */
static void read_sentence(int fd, char *text, size_t size)
{
    size_t len = 0;
    ssize_t count = 1;
    size_t skip;

    while (count > 0 && len + 1 < size) {
        count = read(fd, text + len, size - 1 - len);
        if (count < 0 && errno == EINTR)
            count = 1;
        else if (count > 0)
            len += (size_t)count;
    }
    while (len && text[len - 1] == '\n')
        len--;
    text[len] = '\0';
    skip = strncmp(text, "det: ", 5) ? 0 : 5;
    memmove(text, text + skip, len - skip + 1);
}

/* Waits until the master answers.  If it does not start, the error is its own message. */
static det_status start_master(struct cli *cli, const struct interrupt *hold)
{
    char said[ERR_TEXT_SIZE];
    int status = 0, fd = -1;
    pid_t pid = 0;
    int code = spawn_serve(hold, &pid, &fd);

    if (code)
        return err_errno(cli->err, code, "cannot start a local master");
    read_sentence(fd, said, sizeof(said));
    close(fd);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return DET_OK;
    return cli_fail(
        cli, WIFEXITED(status) ? status_of_exit(WEXITSTATUS(status)) : DET_FAILED,
        "no master is named, and none could be started here: %s",
        *said ? said : "it ended early");
}

/* Waits for the master that another command has started. */
static det_status wait_for_other_master(struct cli *cli)
{
    det_status st = DET_NOT_FOUND;

    for (int i = 0; st == DET_NOT_FOUND && i < OTHERS_START_MS / LOOK_EVERY_MS; i++) {
        st = open_client(cli, NULL);
        if (st)
            cli_sleep(LOOK_EVERY_MS);
    }
    return st;
}

/* Ctrl-C must not leave behind a master that the user does not know of.  Either
 * `det serve` gets the signal, too, and stops its master, or we print its address. */
static det_status start_and_open(struct cli *cli)
{
    struct interrupt hold;
    struct err why;
    det_status st;

    interrupt_hold(&hold);
    st = start_master(cli, &hold);
    why = *cli->err;
    if (!st)
        st = open_client(cli, NULL);
    else if (st == DET_BUSY)
        st = wait_for_other_master(cli) ? st : DET_OK;
    if (cli->client && !why.text[0])
        cli_note(
            cli,
            "Started a local master; its pages are at %s (stop it with 'det stop')",
            det_client_master(cli->client));
    interrupt_release(&hold);
    if (st && why.text[0])
        *cli->err = why;
    return st;
}

det_status cli_connect(struct cli *cli)
{
    const char *master = cli->in->globals.master;
    const char *named = getenv("DET_MASTER");
    det_status st;

    if (cli->client)
        return DET_OK;
    if (cli->in->globals.local)
        return local_master_open(cli);
    if (master || (named && *named)) {
        st = cli_offer_trust(cli, master ? master : named);
        return st ? st : open_client(cli, master);
    }
    st = open_client(cli, NULL);
    if (st == DET_FORBIDDEN)
        return cli_hint(cli, "name the master you mean with -m or DET_MASTER");
    if (st != DET_NOT_FOUND)
        return st;
    cli->err->text[0] = '\0';
    st = start_and_open(cli);
    if (!st)
        return DET_OK;
    return cli_hint(
        cli, "to use a master on another machine, name it with -m or DET_MASTER");
}

det_status cli_open_second(struct cli *cli, det_client **ret_client)
{
    struct err before = *cli->err;
    det_client *first = cli->client;
    det_status st;

    cli->client = NULL;
    st = open_client(cli, cli->in->globals.master);
    *ret_client = cli->client;
    cli->client = first;
    *cli->err = before;
    return st;
}

/* ---- logging in ------------------------------------------------------------------ */

bool cli_ask_and_log_in(struct cli *cli)
{
    const char *user = cli->in->globals.user;
    const char *master;

    if (!user)
        user = getenv("DET_USER");
    if (!user || !*user || cli->identity != DET_AS_USER || cli->password ||
        getenv("DET_PASS") || !isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return false;
    master = arena_strdup(&cli->mem, det_client_master(cli->client));
    if (!master ||
        cli_password(cli, arena_printf(&cli->mem, "Password for user '%s'", user),
                     &cli->password))
        return false;
    det_client_close(cli->client);
    cli->client = NULL;
    return open_client(cli, master) == DET_OK;
}
