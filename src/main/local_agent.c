/* SPDX-License-Identifier: Apache-2.0 */
#include "main/local_agent.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/compiler.h"
#include "base/io/folder_lock.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "data/json/json.h"

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

enum { NOTE_MOST = 64 << 10 };

static struct json *read_note(struct arena *mem, const char *agent_dir)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(NOTE_MOST);
    const char *path = arena_printf(mem, "%s/agent.json", agent_dir);
    struct json *note = NULL;

    if (!path || io_read_plain(io_system(), path, &text, NULL) ||
        json_parse(text.data, text.len, mem, &note, NULL))
        return NULL;
    return note;
}

const char *local_agent_master(struct arena *mem, const char *agent_dir)
{
    return json_str(json_get(read_note(mem, agent_dir), "master"), NULL);
}

/* The process may be dead, and another one may have its number now. */
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

int local_agent_pid(const char *agent_dir)
{
    int pid;
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(65536);
    bool is_held;

    if (!agent_dir ||
        folder_lock_look(io_system(), agent_dir, AGENT_LOCK, &is_held, NULL) ||
        !is_held)
        return 0;
    pid = (int)json_i64(json_get(read_note(&mem, agent_dir), "pid"), 0);
    return pid > 1 && is_agent(pid, agent_dir) ? pid : AGENT_UNKNOWN;
}
