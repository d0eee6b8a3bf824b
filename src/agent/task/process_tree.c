/* SPDX-License-Identifier: Apache-2.0 */
/* process_tree.c - processes as /proc shows them.  A list is outdated as soon as it is
 * read, so callers repeat until it is empty. */
#include "agent/task/process_tree.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/task/task_dir.h"
#include "base/io/io.h"
#include "base/memory/buf.h"
#include "base/memory/map.h"
#include "base/memory/vec.h"
#include "data/text.h"

enum { ENVIRON_LIMIT = 4 << 20, STATUS_LIMIT = 65536 };

struct process {
    int64_t pid;
    int64_t parent;
    int64_t session;
    int64_t start;
    bool is_dead; /* a zombie: only its parent can do something about it */
    bool is_ours; /* set by mark_descendants() */
};

struct census {
    struct process *at;
    size_t count;
    size_t cap;
};

/* The fields of /proc/PID/stat behind the name, which may hold blanks and brackets:
 *   state ppid pgrp session ... starttime is the 20th of them */
static bool parse_stat(char *text, struct process *process)
{
    char *at = strrchr(text, ')');
    int64_t value[20];

    if (!at || !at[1])
        return false;
    at += 2;
    process->is_dead = *at == 'Z' || *at == 'X';
    at++;
    for (size_t i = 1; i < ARRAY_LEN(value); i++) {
        size_t len;
        char kept;

        at += strspn(at, " ");
        len = strcspn(at, " \n");
        kept = at[len];
        at[len] = '\0';
        if (!parse_i64(at, &value[i]))
            return false;
        at[len] = kept;
        at += len;
    }
    process->parent = value[1];
    process->session = value[3];
    process->start = value[19];
    return true;
}

static bool read_process(int64_t pid, struct process *ret_process)
{
    char path[64];
    char text[1024];
    ssize_t len;
    int fd;

    snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    len = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (len <= 0)
        return false;
    text[len] = '\0';
    *ret_process = (struct process){.pid = pid};
    return parse_stat(text, ret_process);
}

int64_t process_tree_start(pid_t pid)
{
    struct process process;

    return read_process(pid, &process) ? process.start : 0;
}

static void closedirp(DIR **dir)
{
    if (*dir)
        closedir(*dir);
}

static void census_done(struct census *census)
{
    vec_done(census);
}

static det_status take_census(struct census *census, struct err *err)
{
    CLEANUP(closedirp) DIR *dir = opendir("/proc");
    const struct dirent *entry;
    struct process process;
    int64_t pid;

    if (!dir)
        return err_errno(err, errno, "cannot list /proc");
    while ((entry = readdir(dir)) != NULL) {
        if (!isdigit((unsigned char)entry->d_name[0]) ||
            !parse_i64(entry->d_name, &pid) || !read_process(pid, &process))
            continue;
        if (!vec_push(census, process))
            return err_default(err, DET_NOMEM);
    }
    return DET_OK;
}

/* ---- descendants ----------------------------------------------------------------- */

/* A child may be listed before its parent: repeats until a round finds none. */
static det_status mark_descendants(struct census *census, pid_t root, struct err *err)
{
    CLEANUP(map_done) struct map members = {0};
    bool has_grown = true;

    if (!map_put(&members, root, census))
        return err_default(err, DET_NOMEM);
    while (has_grown) {
        has_grown = false;
        for (size_t i = 0; i < census->count; i++) {
            struct process *process = &census->at[i];

            if (map_get(&members, process->pid) || !map_get(&members, process->parent))
                continue;
            if (!map_put(&members, process->pid, process))
                return err_default(err, DET_NOMEM);
            has_grown = true;
            process->is_ours = !process->is_dead;
        }
    }
    return DET_OK;
}

det_status process_tree_signal(pid_t root, int number, size_t *ret_count,
                               struct err *err)
{
    CLEANUP(census_done) struct census census = {0};
    size_t count = 0;
    det_status status = take_census(&census, err);

    if (!status)
        status = mark_descendants(&census, root, err);
    if (status)
        return status;
    for (size_t i = 0; i < census.count; i++)
        if (census.at[i].is_ours) {
            count++;
            kill((pid_t)census.at[i].pid, number);
        }
    *ret_count = count;
    return DET_OK;
}

/* ---- memory ---------------------------------------------------------------------- */

static int64_t number_after(const char *text, const char *word)
{
    const char *at = strstr(text, word);

    return at ? strtoll(at + strlen(word), NULL, 10) : 0;
}

/* Shared pages count for every process that has them, or proportionally (`is_exact`),
 * which the kernel has to add up page by page. */
static int64_t memory_of(int64_t pid, bool is_exact)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(STATUS_LIMIT);
    char path[64];

    snprintf(path, sizeof(path), "/proc/%lld/%s", (long long)pid,
             is_exact ? "smaps_rollup" : "status");
    if (io_read_file(io_system(), path, &text, NULL) || !text.len)
        return 0; /* it has ended, or is about to exec */
    return number_after(text.data, is_exact ? "\nPss:" : "\nVmRSS:") * 1024;
}

static int64_t add_memory(const struct census *census, bool is_exact)
{
    int64_t sum = 0;

    for (size_t i = 0; i < census->count; i++)
        if (census->at[i].is_ours)
            sum += memory_of(census->at[i].pid, is_exact);
    return sum;
}

det_status process_tree_memory(pid_t root, int64_t most, int64_t *ret_bytes,
                               struct err *err)
{
    CLEANUP(census_done) struct census census = {0};
    det_status status = take_census(&census, err);

    if (!status)
        status = mark_descendants(&census, root, err);
    if (status)
        return status;
    *ret_bytes = add_memory(&census, false);
    if (*ret_bytes > most)
        *ret_bytes = add_memory(&census, true);
    return DET_OK;
}

/* ---- orphans --------------------------------------------------------------------- */

static bool was_born_with(int64_t pid, const char *variable)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(ENVIRON_LIMIT);
    size_t len = strlen(variable) + 1; /* with its NUL */
    char path[64];

    snprintf(path, sizeof(path), "/proc/%lld/environ", (long long)pid);
    if (io_read_file(io_system(), path, &text, NULL))
        return false;
    for (const char *at = text.data; at < text.data + text.len; at += strlen(at) + 1)
        if ((size_t)(text.data + text.len - at) >= len - 1 && strcmp(at, variable) == 0)
            return true;
    return false;
}

/* The session's number may have been used again.  Then its new leader is alive, or
 * the process is older than ours. */
static bool is_of_session(const struct process *process, const struct task_dir_pid *pid)
{
    int64_t leader;

    if (!pid->group || process->session != pid->group)
        return false;
    leader = process_tree_start((pid_t)pid->group);
    return (!leader || leader == pid->group_start) &&
           process->start >= pid->group_start;
}

det_status process_tree_kill_rest(const struct task_dir_pid *pid, const char *run_dir,
                                  size_t *ret_count, struct err *err)
{
    CLEANUP(census_done) struct census census = {0};
    CLEANUP(buf_done) struct buf variable = BUF_INIT;
    size_t count = 0;
    det_status status = take_census(&census, err);

    buf_printf(&variable, "DET_RUN_DIR=%s", run_dir);
    if (status || variable.status)
        return err_default(err, status ? status : variable.status);
    for (size_t i = 0; i < census.count; i++) {
        const struct process *process = &census.at[i];

        if (process->is_dead || process->pid == getpid())
            continue;
        if (!is_of_session(process, pid) && !was_born_with(process->pid, variable.data))
            continue;
        kill((pid_t)process->pid, SIGKILL);
        count++;
    }
    *ret_count = count;
    return DET_OK;
}
