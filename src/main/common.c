/* SPDX-License-Identifier: Apache-2.0 */
/* common.c - what the roles share. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/io.h"
#include "data/json.h"
#include "libdet/runfile.h"
#include "main/roles.h"

det_status program_path(struct arena *mem, const char **ret_path, struct err *err)
{
    char path[4096];
    ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);

    if (len < 0)
        return err_errno(err, errno, "cannot find this program's own file");
    *ret_path = arena_strndup(mem, path, (size_t)len);
    return *ret_path ? DET_OK : err_default(err, DET_NOMEM);
}

static det_status make_absolute(const char *path, struct arena *mem,
                                const char **ret_path, struct err *err)
{
    char here[4096];

    if (*path == '/') {
        *ret_path = arena_strdup(mem, path);
    } else {
        if (!getcwd(here, sizeof(here)))
            return err_errno(err, errno, "cannot find the current directory");
        *ret_path = arena_printf(mem, "%s/%s", here, path);
    }
    return *ret_path ? DET_OK : err_default(err, DET_NOMEM);
}

/* A link to a folder is as good as one: it is followed. */
static det_status check_folder(const char *path, bool *ret_is_there, struct err *err)
{
    struct stat found;

    *ret_is_there = !stat(path, &found);
    if (*ret_is_there && !S_ISDIR(found.st_mode))
        return err_set(err, DET_INVALID, "'%s' is not a folder", path);
    return DET_OK;
}

det_status find_data_dir(const char *given, struct arena *mem, const char **ret_path,
                         bool *ret_is_there, struct err *err)
{
    det_status st = given ? make_absolute(given, mem, ret_path, err)
                          : data_dir_default(mem, ret_path, err);

    return st ? st : check_folder(*ret_path, ret_is_there, err);
}

det_status open_data_dir(const char *given, struct arena *mem, const char **ret_path,
                         struct err *err)
{
    bool is_there;
    det_status st = find_data_dir(given, mem, ret_path, &is_there, err);

    return st ? st : io_mkdir(io_system(), *ret_path, true, err);
}

int complain(det_status status, const struct err *err)
{
    fprintf(stderr, "det: %s\n", err->text[0] ? err->text : det_status_text(status));
    return det_status_exit(status);
}

const char *local_agent_dir(struct arena *mem, const char *data_dir)
{
    return arena_printf(mem, "%s/agent", data_dir);
}

det_status local_agent_note(const char *agent_dir, const char *master_url,
                            struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(16384);
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);
    const char *path = arena_printf(&mem, "%s/agent.json", agent_dir);

    jw_object(&w, NULL);
    jw_i64(&w, "pid", getpid());
    jw_str(&w, "master", master_url);
    jw_end_object(&w);
    if (!path || text.status)
        return err_default(err, DET_NOMEM);
    return io_replace(io_system(), path, text.data, text.len, true, err);
}

static struct json *read_note(struct arena *mem, const char *agent_dir)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    const char *path = arena_printf(mem, "%s/agent.json", agent_dir);
    struct json *note = NULL;

    if (!path || io_read_file(io_system(), path, &text, NULL) ||
        json_parse(text.data, text.len, mem, &note, NULL))
        return NULL;
    return note;
}

const char *local_agent_master(struct arena *mem, const char *agent_dir)
{
    return json_str(json_get(read_note(mem, agent_dir), "master"), NULL);
}

/* A number in a file may be a dead process's, and somebody else's by now. */
static bool is_agent(int pid, const char *agent_dir)
{
    char path[64];
    char words[8192];
    size_t len, dir_len = strlen(agent_dir);
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
    file = fopen(path, "re");
    if (!file)
        return false;
    len = fread(words, 1, sizeof(words), file);
    fclose(file);
    return memmem(words, len, "agent\0run", 10) &&
           memmem(words, len, agent_dir, dir_len);
}

/* An agent lives as long as it holds its lock. */
int local_agent_pid(const char *agent_dir)
{
    int pid;
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(65536);
    CLEANUP(io_closep) struct io_file *lock = NULL;
    const char *path = arena_printf(&mem, "%s/lock", agent_dir);

    if (!path || io_open(io_system(), path, IO_WRITE, &lock, NULL))
        return 0;
    if (io_lock(lock, NULL) != DET_BUSY)
        return 0;
    pid = (int)json_i64(json_get(read_note(&mem, agent_dir), "pid"), 0);
    return pid > 1 && is_agent(pid, agent_dir) ? pid : AGENT_UNKNOWN;
}

/* Also when nobody has asked for its exit status yet: whoever inherits our background
 * processes may be slow to, or never do it. */
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

    if (kill(pid, SIGTERM))
        return errno == ESRCH;
    for (int i = 0; i < most_seconds * 50; i++) {
        if (is_gone(pid))
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}
