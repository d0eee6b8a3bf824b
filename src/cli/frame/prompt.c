/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/frame/prompt.h"

#include <errno.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "cli/frame/cli.h"
#include "cli/frame/interrupt.h"

/* A line without its line break; "" at the end of the input.  Returns 0, or the errno of
 * a read that failed: half an answer is not an answer. */
static int read_line(char *line, size_t size)
{
    size_t len = 0;
    ssize_t count = 1;
    char c = '\0';

    while (count && c != '\n') {
        count = read(STDIN_FILENO, &c, 1);
        if (count < 0 && errno != EINTR)
            return errno;
        if (count > 0 && c != '\n' && len + 1 < size)
            line[len++] = c;
    }
    line[len] = '\0';
    return 0;
}

det_status cli_confirm(struct cli *cli, const char *question, bool *ret_yes)
{
    char line[64];
    int code;

    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
        (void)cli_fail(cli, DET_INVALID, "there is no terminal to ask: %s", question);
        return cli_hint(cli, "--yes answers it in advance");
    }
    fprintf(stderr, "%s [y/N] ", question);
    code = read_line(line, sizeof(line));
    if (code)
        return err_errno(cli->err, code, "cannot read the answer");
    *ret_yes = !strcasecmp(line, "y") || !strcasecmp(line, "yes");
    return DET_OK;
}

/* Echo is off only while we wait.  A signal that would end or stop the process is held
 * back until echo is on again.  After a stop (Ctrl-Z) the prompt is repeated. */
static int read_without_echo(const char *prompt, const struct termios *before,
                             char *line, size_t size)
{
    struct termios silent = *before;
    bool has_input = false;
    int code = 0;

    silent.c_lflag &= (tcflag_t)~ECHO;
    while (!has_input) {
        struct interrupt hold;

        interrupt_hold(&hold);
        /* before the prompt: an answer typed at once is neither shown nor lost */
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
        fprintf(stderr, "%s: ", prompt);
        has_input = interrupt_wait_for_input(&hold);
        if (has_input)
            code = read_line(line, size);
        tcsetattr(STDIN_FILENO, TCSAFLUSH, before);
        fputc('\n', stderr);
        interrupt_release(&hold);
    }
    return code;
}

det_status cli_password(struct cli *cli, const char *prompt, const char **ret_password)
{
    struct termios before;
    const char *password;
    char line[1024];
    int code;

    if (isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &before) == 0)
        code = read_without_echo(prompt, &before, line, sizeof(line));
    else
        code = read_line(line, sizeof(line));
    password = code ? NULL : arena_strdup(&cli->mem, line);
    explicit_bzero(line, sizeof(line));
    if (code)
        return err_errno(cli->err, code, "cannot read the password");
    if (!password)
        return cli_nomem(cli);
    *ret_password = password;
    return DET_OK;
}
