/* SPDX-License-Identifier: Apache-2.0 */
#include "main/background.h"

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/err.h"
#include "main/serve_addresses.h"

/* Reads the child's result; "" if it ended before.  On Ctrl-C the user does not want a
 * master: sends SIGTERM to the child, waits for it and returns true. */
static bool read_answer(int fd, pid_t child, const sigset_t *held, char *line,
                        size_t size)
{
    struct pollfd ends[2] = {{.fd = fd, .events = POLLIN},
                             {.fd = signalfd(-1, held, SFD_CLOEXEC), .events = POLLIN}};
    bool is_interrupted = false;
    size_t len = 0;
    ssize_t count = 1;

    while (count > 0 && len + 1 < size) {
        if (poll(ends, ARRAY_LEN(ends), -1) < 0)
            continue;
        if (ends[1].revents) {
            is_interrupted = true;
            kill(child, SIGTERM);
            close(ends[1].fd);
            ends[1].fd = -1;
        } else {
            count = read(fd, line + len, size - 1 - len);
            len += count > 0 ? (size_t)count : 0;
        }
    }
    line[len] = '\0';
    close(fd);
    if (is_interrupted)
        waitpid(child, NULL, 0);
    else if (ends[1].fd >= 0)
        close(ends[1].fd);
    return is_interrupted;
}

int background_wait(int fd, pid_t child, const sigset_t *held)
{
    char line[ERR_TEXT_SIZE + 16];
    char *text;
    int code;

    if (read_answer(fd, child, held, line, sizeof(line))) {
        fprintf(stderr,
                "det: interrupted; the master was stopped while it was starting\n");
        return 128 + SIGINT;
    }
    if (!*line) {
        fprintf(stderr,
                "det: the master ended before it was ready; see its master.log\n");
        return det_status_exit(DET_FAILED);
    }
    code = (int)strtol(line, &text, 10);
    if (code)
        fprintf(stderr, "det:%s", text);
    else
        serve_addresses_print(text + 1);
    return code;
}
