/* SPDX-License-Identifier: Apache-2.0 */
#include "main/end_process.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "det/status.h"

/* A zombie counts as gone: the process that inherits our background processes may be slow
 * to reap them, or never do it. */
static bool is_gone(int pid)
{
    char path[32];
    char line[512] = "";
    const char *name_end;
    FILE *file;

    if (kill(pid, 0) && errno == ESRCH)
        return true;
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    file = fopen(path, "re");
    if (!file)
        return errno == ENOENT;
    if (!fgets(line, sizeof(line), file))
        line[0] = '\0';
    fclose(file);
    name_end = strrchr(line, ')');
    return name_end && (name_end[2] == 'Z' || name_end[2] == 'X');
}

bool end_process(int pid, int most_seconds)
{
    const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};

    assert(pid > 0); /* 0 and below name groups of processes */
    if (kill(pid, SIGTERM))
        return errno == ESRCH;
    for (int i = 0; i < most_seconds * 50; i++) {
        if (is_gone(pid))
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

void end_this_process(void *arg, const char *sentence)
{
    (void)arg;
    log_error("%s", sentence);
    _exit(det_status_exit(DET_IO));
}
