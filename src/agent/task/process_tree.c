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
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/task/task_dir.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
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
 *   state ppid pgrp session ... num_threads is the 18th of them, starttime the 20th */
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
    /* If only the main thread has ended, the process is a zombie whose other threads run. */
    process->is_dead = process->is_dead && value[17] <= 1;
    return true;
}

/* False, with errno. */
static bool read_process(int64_t pid, struct process *ret_process)
{
    char path[64];
    char text[1024];
    ssize_t len;
    int code;
    int fd;

    snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    len = read(fd, text, sizeof(text) - 1);
    code = len < 0 ? errno : ESRCH;
    close(fd);
    errno = code;
    if (len <= 0)
        return false;
    text[len] = '\0';
    *ret_process = (struct process){.pid = pid};
    errno = EINVAL;
    return parse_stat(text, ret_process);
}

int64_t process_tree_start(pid_t pid)
{
    struct process process;

    return read_process(pid, &process) ? process.start : 0;
}

/* The number may belong to another process by now: the descriptor stands for one process, and
 * its start is compared once the descriptor is there. */
static void signal_process(const struct process *process, int number)
{
    pid_t pid = (pid_t)process->pid;
    int fd = pidfd_open(pid, 0);
    bool is_same = process_tree_start(pid) == process->start;

    if (is_same && fd >= 0)
        (void)pidfd_send_signal(fd, number, NULL, 0);
    else if (is_same)
        kill(pid,
             number); /* a kernel without such descriptors, or too many open files */
    if (fd >= 0)
        close(fd);
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

/* It has ended, or this machine hides the processes of other users. */
static bool is_not_shown(int code)
{
    return code == ENOENT || code == ESRCH || code == EACCES || code == EPERM;
}

/* A census that left out a process for want of descriptors would say that it has ended. */
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
            !parse_i64(entry->d_name, &pid))
            continue;
        if (read_process(pid, &process)) {
            if (!vec_push(census, process))
                return err_default(err, DET_NOMEM);
        } else if (!is_not_shown(errno)) {
            return err_errno(err, errno, "cannot read /proc/%s/stat", entry->d_name);
        }
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
            signal_process(&census.at[i], number);
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

/* ---- marks ----------------------------------------------------------------------- */

/* Large, so no kernel that would heed the limit is ever limited by it. */
int64_t process_tree_mark_of(const char *dir)
{
    return (int64_t)(UINT64_C(1) << 61 | hash_bytes(dir, strlen(dir)) >> 3);
}

/* 0: none. */
static int64_t own_mark(void)
{
    struct rlimit now;

    return getrlimit(RLIMIT_LOCKS, &now) || now.rlim_max == RLIM_INFINITY
               ? 0
               : (int64_t)now.rlim_max;
}

int64_t process_tree_mark(const char *dir)
{
    int64_t mark = process_tree_mark_of(dir);
    const struct rlimit limit = {(rlim_t)mark, (rlim_t)mark};

    return own_mark() || setrlimit(RLIMIT_LOCKS, &limit) ? 0 : mark;
}

/* A file of a process.  One that has ended, or is not shown, has an empty one. */
static det_status read_proc(int64_t pid, const char *name, struct buf *text,
                            struct err *err)
{
    char path[64];
    det_status status;

    snprintf(path, sizeof(path), "/proc/%lld/%s", (long long)pid, name);
    status = io_read_file(io_system(), path, text, err);
    if (err_is_lack(status))
        return status;
    if (status)
        buf_clear(text);
    return DET_OK;
}

/* "Max file locks            SOFT                 HARD                 locks"; 0: unlimited,
 * or it has ended. */
static det_status read_mark(int64_t pid, int64_t *ret_mark, struct err *err)
{
    static const char word[] = "\nMax file locks";
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(STATUS_LIMIT);
    det_status status = read_proc(pid, "limits", &text, err);
    char *at = text.len ? strstr(text.data, word) : NULL;

    *ret_mark = 0;
    if (status || !at)
        return status;
    at += strlen(word);
    at += strspn(at, " ");
    at += strcspn(at, " ");
    *ret_mark = strtoll(at, NULL, 10);
    return DET_OK;
}

/* ---- orphans --------------------------------------------------------------------- */

/* What the rest of a task is known by. */
struct signs {
    const struct task_dir_pid *pid;
    int64_t mark;
    int64_t own_mark; /* of the calling process */
    const char *variable;
    const struct census *census;
};

/* Only where there are no marks: reading the environment waits for memory of that process,
 * which a hostile one can delay for ever. */
static det_status was_born_with(int64_t pid, const char *variable, bool *ret_was,
                                struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(ENVIRON_LIMIT);
    size_t len = strlen(variable) + 1; /* with its NUL */
    det_status status = read_proc(pid, "environ", &text, err);

    *ret_was = false;
    if (status)
        return status;
    for (const char *at = text.data; at < text.data + text.len; at += strlen(at) + 1)
        if ((size_t)(text.data + text.len - at) >= len - 1 && strcmp(at, variable) == 0)
            *ret_was = true;
    return DET_OK;
}

/* 0: it is not in the census. */
static int64_t start_in(const struct census *census, int64_t pid)
{
    for (size_t i = 0; i < census->count; i++)
        if (census->at[i].pid == pid)
            return census->at[i].start;
    return 0;
}

/* The session's number may have been used again.  Then its new leader is alive, or
 * the process is older than ours. */
static bool is_of_session(const struct process *process, const struct signs *signs)
{
    const struct task_dir_pid *pid = signs->pid;
    int64_t leader;

    if (!pid->group || process->session != pid->group)
        return false;
    leader = start_in(signs->census, pid->group);
    return (!leader || leader == pid->group_start) &&
           process->start >= pid->group_start;
}

static det_status is_rest(const struct process *process, const struct signs *signs,
                          bool *ret_is_rest, struct err *err)
{
    int64_t found;
    det_status status;

    *ret_is_rest = false;
    /* Session 0: the kernel's own, or started outside of our container. */
    if (process->is_dead || !process->session || process->pid == getpid())
        return DET_OK;
    *ret_is_rest = is_of_session(process, signs);
    if (*ret_is_rest)
        return DET_OK;
    status = read_mark(process->pid, &found, err);
    if (status)
        return status;
    *ret_is_rest =
        found == signs->mark || (signs->pid->mark && found == signs->pid->mark);
    if (*ret_is_rest || signs->pid->mark || found != signs->own_mark)
        return DET_OK;
    return was_born_with(process->pid, signs->variable, ret_is_rest, err);
}

det_status process_tree_signal_rest(const struct task_dir_pid *pid, const char *dir,
                                    int number, size_t *ret_count, struct err *err)
{
    CLEANUP(census_done) struct census census = {0};
    CLEANUP(buf_done) struct buf variable = BUF_INIT;
    struct signs signs = {.pid = pid,
                          .mark = process_tree_mark_of(dir),
                          .own_mark = own_mark(),
                          .census = &census};
    size_t count = 0;
    det_status status = take_census(&census, err);

    buf_printf(&variable, "DET_RUN_DIR=%s/" TASK_DIR_RUN, dir);
    if (status || variable.status)
        return err_default(err, status ? status : variable.status);
    signs.variable = variable.data;
    for (size_t i = 0; i < census.count; i++) {
        bool is_ours;

        status = is_rest(&census.at[i], &signs, &is_ours, err);
        if (status)
            return status;
        if (!is_ours)
            continue;
        signal_process(&census.at[i], number);
        count++;
    }
    *ret_count = count;
    return DET_OK;
}

/* ---- supervisors ----------------------------------------------------------------- */

/* The DIR of "det task run DIR", if that is what a process of ours was started as; else NULL. */
static det_status supervised_dir(const struct process *process, struct buf *text,
                                 const char **ret_dir, struct err *err)
{
    static const char words[] = "task\0run";
    struct stat found;
    char path[64];
    const char *at;
    det_status status;

    *ret_dir = NULL;
    snprintf(path, sizeof(path), "/proc/%lld", (long long)process->pid);
    if (process->is_dead || stat(path, &found) || found.st_uid != geteuid())
        return DET_OK;
    buf_clear(text);
    status = read_proc(process->pid, "cmdline", text, err);
    if (status || !text->len)
        return status;
    at = memchr(text->data, '\0', text->len);
    if (at && (size_t)(text->data + text->len - ++at) > sizeof(words) &&
        memcmp(at, words, sizeof(words)) == 0)
        *ret_dir = at + sizeof(words);
    return DET_OK;
}

det_status process_tree_supervisor(const char *dir, pid_t *ret_pid, struct err *err)
{
    CLEANUP(census_done) struct census census = {0};
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(STATUS_LIMIT);
    const char *found;
    det_status status = take_census(&census, err);

    *ret_pid = 0;
    for (size_t i = 0; !status && !*ret_pid && i < census.count; i++) {
        status = supervised_dir(&census.at[i], &text, &found, err);
        if (!status && found && !strcmp(found, dir))
            *ret_pid = (pid_t)census.at[i].pid;
    }
    return status;
}

det_status process_tree_supervised(const char *root, struct arena *mem,
                                   const char ***ret_names, struct err *err)
{
    CLEANUP(census_done) struct census census = {0};
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(STATUS_LIMIT);
    size_t len = strlen(root);
    size_t count = 0;
    const char **names;
    det_status status = take_census(&census, err);

    if (status)
        return status;
    names = arena_array(mem, const char *, census.count + 1);
    for (size_t i = 0; names && i < census.count; i++) {
        const char *found;

        status = supervised_dir(&census.at[i], &text, &found, err);
        if (status)
            return status;
        if (!found || strncmp(found, root, len) != 0 || found[len] != '/')
            continue;
        names[count] = arena_strdup(mem, found + len + 1);
        count += names[count] != NULL;
    }
    if (!names || mem->has_failed)
        return err_default(err, DET_NOMEM);
    *ret_names = names;
    return DET_OK;
}
