/* SPDX-License-Identifier: Apache-2.0 */
/* runfile.c - see runfile.h. */
#include "libdet/client/runfile.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io/folder_lock.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "data/json/json.h"
#include "net/net.h"

enum { FILE_LIMIT = 64 << 10, INFO_LIMIT = 1 << 20, INFO_TIMEOUT_MS = 5000 };

det_status runfile_data_dir(struct arena *mem, const char **ret_path, struct err *err)
{
    const char *data = getenv("XDG_DATA_HOME");
    const char *home = getenv("HOME");
    const char *path;

    if (data && *data == '/')
        path = arena_printf(mem, "%s/det", data);
    else if (home && *home == '/')
        path = arena_printf(mem, "%s/.local/share/det", home);
    else
        return err_set(err, DET_NOT_FOUND,
                       "there is no home directory to keep data in: HOME is not set");
    if (!path)
        return err_default(err, DET_NOMEM);
    *ret_path = path;
    return DET_OK;
}

static char *path_of(struct arena *mem, const char *data_dir, const char *name)
{
    return arena_printf(mem, "%s/%s", data_dir, name);
}

/* ---- the file -------------------------------------------------------------------- */

/* On a full disk: the file of the last master has room already.  Spaces behind the JSON
 * replace its rest. */
static det_status reuse_last(struct io *io, const char *data_dir, const char *path,
                             struct buf *text, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(FILE_LIMIT);
    CLEANUP(io_closep) struct io_file *file = NULL;
    const char *last = path_of(&mem, data_dir, RUNFILE_LAST);
    uint64_t size = 0;

    /* The error stays that of the full disk. */
    if (!last || io_open(io, last, IO_WRITE, &file, NULL) || io_size(file, &size, NULL))
        return DET_FULL;
    while (text->len < MIN(size, (uint64_t)FILE_LIMIT))
        buf_putc(text, ' ');
    if (text->status || io_write_at(file, 0, text->data, text->len, NULL) ||
        io_sync(file, NULL))
        return DET_FULL;
    return io_rename(io, last, path, err);
}

det_status runfile_write(struct io *io, const char *data_dir, const struct runfile *run,
                         struct err *err)
{
    det_status st;
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(FILE_LIMIT);
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);
    const char *path = path_of(&mem, data_dir, RUNFILE_NAME);

    w.is_pretty = true;
    jw_object(&w, NULL);
    jw_str(&w, "url", run->url);
    jw_str(&w, "host", run->host);
    jw_i64(&w, "port", run->port);
    jw_i64(&w, "pid", run->pid);
    jw_str(&w, "cluster_id", run->cluster_id);
    jw_str(&w, "master_id", run->master_id);
    jw_str(&w, "agent_token_file", run->agent_token_file);
    if (run->cert_file)
        jw_str(&w, "cert_file", run->cert_file);
    jw_end_object(&w);
    buf_putc(&text, '\n');
    if (!path || text.status)
        return err_default(err, DET_NOMEM);
    st = io_replace(io, path, text.data, text.len, true, err);
    return st == DET_FULL ? reuse_last(io, data_dir, path, &text, err) : st;
}

det_status runfile_remove(struct io *io, const char *data_dir, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(FILE_LIMIT);
    const char *path = path_of(&mem, data_dir, RUNFILE_NAME);
    const char *last = path_of(&mem, data_dir, RUNFILE_LAST);
    det_status st;

    if (!path || !last)
        return err_default(err, DET_NOMEM);
    st = io_rename(io, path, last, err);
    return st == DET_NOT_FOUND ? DET_OK : st;
}

static det_status parse_runfile(const struct json *tree, const char *path,
                                struct arena *mem, struct runfile *ret_run,
                                struct err *err)
{
    struct runfile run = {
        .url = json_str(json_get(tree, "url"), NULL),
        .host = json_str(json_get(tree, "host"), NULL),
        .pid = json_i64(json_get(tree, "pid"), 0),
        .cluster_id = json_str(json_get(tree, "cluster_id"), NULL),
        .master_id = json_str(json_get(tree, "master_id"), ""),
        .agent_token_file = json_str(json_get(tree, "agent_token_file"), NULL),
        .cert_file = json_str(json_get(tree, "cert_file"), NULL),
    };
    int64_t port = json_i64(json_get(tree, "port"), 0);

    (void)mem;
    if (!run.url || !run.host || !run.cluster_id || run.pid <= 0 || port <= 0 ||
        port > UINT16_MAX)
        return err_set(err, DET_CORRUPT, "'%s' is not a run file of a master", path);
    run.port = (uint16_t)port;
    *ret_run = run;
    return DET_OK;
}

static det_status read_named(struct io *io, const char *data_dir, const char *name,
                             struct arena *mem, struct runfile *ret_run,
                             struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(FILE_LIMIT);
    const char *path = path_of(mem, data_dir, name);
    struct json *tree;
    det_status st;

    if (!path)
        return err_default(err, DET_NOMEM);
    st = io_read_plain(io, path, &text, err);
    if (st)
        return st;
    st = json_parse(text.data, text.len, mem, &tree, err);
    if (st == DET_INVALID)
        return err_set(err, DET_CORRUPT, "'%s' is not a run file of a master", path);
    return st ? st : parse_runfile(tree, path, mem, ret_run, err);
}

det_status runfile_read(struct io *io, const char *data_dir, struct arena *mem,
                        struct runfile *ret_run, struct err *err)
{
    return read_named(io, data_dir, RUNFILE_NAME, mem, ret_run, err);
}

uint16_t runfile_last_port(struct io *io, const char *data_dir)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(FILE_LIMIT);
    struct runfile run;

    return read_named(io, data_dir, RUNFILE_LAST, &mem, &run, NULL) ? 0 : run.port;
}

/* ---- verification ---------------------------------------------------------------- */

static det_status check_owner(struct io *io, const char *path, struct err *err)
{
    struct io_stat found;
    det_status st = io_stat(io, path, &found, err);

    if (st)
        return st;
    if (found.kind != IO_FILE || (found.uid != geteuid() && found.uid != 0))
        return err_set(err, DET_FORBIDDEN, "'%s' belongs to another user", path);
    return DET_OK;
}

/* DET_OK if a process holds the master's lock. */
static det_status check_lock(struct io *io, const char *data_dir, struct err *err)
{
    bool is_held;
    det_status st = folder_lock_look(io, data_dir, RUNFILE_LOCK, &is_held, err);

    return st || is_held ? st
                         : err_set(err, DET_NOT_FOUND,
                                   "no master runs here: '%s' is not locked", data_dir);
}

bool runfile_is_alive(int64_t pid)
{
    return kill((pid_t)pid, 0) == 0 || errno == EPERM;
}

static det_status check_answer(struct net *net, const struct runfile *run,
                               struct arena *mem, struct err *err)
{
    CLEANUP(buf_done) struct buf body = BUF_LIMITED(INFO_LIMIT);
    struct net_call call = {.path = "/info", .timeout_ms = INFO_TIMEOUT_MS};
    struct net_reply reply = {.body = &body};
    struct net_client *client;
    struct json *info = NULL;
    det_status st = net_client_new(net, run->host, run->port, &client, err);

    if (st)
        return st;
    if (run->cert_file)
        st = net_client_secure(client, &(struct net_trust){.cert_file = run->cert_file},
                               err);
    if (!st)
        st = net_call(client, &call, &reply, err);
    net_client_free(client);
    if (st)
        return st;
    if (reply.status == 200 && json_parse(body.data, body.len, mem, &info, NULL))
        info = NULL;
    if (strcmp(json_str(json_get(info, "cluster_id"), ""), run->cluster_id))
        return err_set(err, DET_FORBIDDEN,
                       "the program at %s is not the master of this run file",
                       run->url);
    return DET_OK;
}

det_status runfile_find(struct io *io, struct net *net, const char *data_dir,
                        struct arena *mem, struct runfile *ret_run, struct err *err)
{
    const char *path = path_of(mem, data_dir, RUNFILE_NAME);
    struct runfile run;
    det_status st;

    if (!path)
        return err_default(err, DET_NOMEM);
    st = check_owner(io, path, err);
    if (!st)
        st = runfile_read(io, data_dir, mem, &run, err);
    if (st == DET_NOT_FOUND)
        return err_set(err, DET_NOT_FOUND, "no master runs here");
    if (!st && !runfile_is_alive(run.pid))
        st = err_set(err, DET_NOT_FOUND,
                     "no master runs here: process %" PRId64 " of '%s' is gone",
                     run.pid, path);
    if (!st)
        st = check_lock(io, data_dir, err);
    if (!st)
        st = check_answer(net, &run, mem, err);
    if (!st)
        *ret_run = run;
    return st;
}

/* ---- inside a task --------------------------------------------------------------- */

/* The file names the address it replaces, because a task may call other masters too. */
const char *runfile_moved(struct io *io, const char *path, const char *given,
                          struct arena *mem)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(FILE_LIMIT);
    struct json *tree = NULL;

    if (!path || !*path || io_read_file(io, path, &text, NULL) ||
        json_parse(text.data, text.len, mem, &tree, NULL) ||
        strcmp(json_str(json_get(tree, "given"), ""), given) != 0)
        return given;
    return json_str(json_get(tree, "now"), given);
}
