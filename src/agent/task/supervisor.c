/* SPDX-License-Identifier: Apache-2.0 */
/* supervisor.c - sets up what supervisor_loop.c works with, and takes it down.
 *
 * Until open_all() has succeeded, nothing is done that could disturb a second attempt
 * or the agent.  Then standard output is closed, which tells the parent that the task
 * is ours. */
#include "agent/task/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "agent/master_link.h"
#include "agent/task/control.h"
#include "agent/task/lifecycle.h"
#include "agent/task/load_watch.h"
#include "agent/task/prepare/child.h"
#include "agent/task/process_tree.h"
#include "agent/task/ring_drain.h"
#include "agent/task/supervisor_loop.h"
#include "base/io/io.h"
#include "base/io/map_guard.h"
#include "base/log.h"
#include "base/memory/mem.h"
#include "base/thread/executor.h"
#include "net/net.h"
#include "net/net_system.h"

enum {
    MEM_LIMIT = 256 << 20,
    START_MEM_LIMIT = 1 << 20,
    LOCK_TRIES = 40,
    LOCK_PAUSE_MS = 50,
};

static bool is_there(struct supervisor *s, const char *name)
{
    char *path = task_dir_path(&s->mem, s->dir, name);
    struct io_stat found;

    return path && io_stat(s->io, path, &found, NULL) == DET_OK;
}

/* The agent may hold the lock for a moment, to look. */
static det_status take_lock(struct supervisor *s, struct err *err)
{
    char *path = task_dir_path(&s->mem, s->dir, TASK_DIR_LOCK);
    det_status status;

    if (!path)
        return err_default(err, DET_NOMEM);
    status = io_open(s->io, path, IO_WRITE | IO_CREATE | IO_PRIVATE, &s->lock, err);
    if (status)
        return status;
    s->lock_path = path;
    if (fstat(io_fd(s->lock), &s->lock_id))
        return err_errno(err, errno, "cannot look at '%s'", path);
    status = io_lock(s->lock, err);
    for (int i = 0; status == DET_BUSY && i < LOCK_TRIES; i++) {
        poll(NULL, 0, LOCK_PAUSE_MS);
        status = io_lock(s->lock, err);
    }
    if (!status && (is_there(s, TASK_DIR_EXIT) || is_there(s, TASK_DIR_PID)))
        return err_set(err, DET_STATE, "a task ran in '%s' already", s->dir);
    return status;
}

static det_status open_log(struct supervisor *s, struct err *err)
{
    char *path = task_dir_path(&s->mem, s->dir, TASK_DIR_LOG);
    det_status status;

    if (!path)
        return err_default(err, DET_NOMEM);
    status = io_open(s->io, path, IO_WRITE | IO_CREATE | IO_PRIVATE, &s->log, err);
    if (!status)
        log_setup(LOG_INFO, io_fd(s->log));
    return status;
}

/* Signals arrive by descriptor; no thread is ever interrupted by one. */
static det_status open_descriptors(struct supervisor *s, struct err *err)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGPIPE);
    sigprocmask(SIG_BLOCK, &set, NULL);
    sigdelset(&set, SIGHUP);
    sigdelset(&set, SIGPIPE);
    s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->signal_fd < 0 || s->wake_fd < 0)
        return err_errno(err, errno, "cannot make the supervisor's descriptors");
    return control_listen(s->dir, &s->control_fd, err);
}

static det_status open_spools(struct supervisor *s, struct err *err)
{
    struct spool_config config = {.io = s->io, .dir = s->dir};
    det_status status = DET_OK;

    for (size_t i = 0; !status && i < SHIP_STREAMS; i++) {
        config.name = ship_streams[i];
        status = spool_open(&config, &s->spool[i], err);
    }
    return status;
}

static det_status open_link(struct supervisor *s, struct master_link **ret_link,
                            struct err *err)
{
    const char *token = s->spec.supervisor_token
                            ? s->spec.supervisor_token
                            : spec_variable(&s->spec, "DET_SESSION_TOKEN");
    det_status status =
        master_link_new(s->net, spec_master(&s->spec), LINK_TASK, token, ret_link, err);

    if (status)
        return status;
    master_link_expect(*ret_link, spec_variable(&s->spec, "DET_CLUSTER_ID"));
    return master_link_trust(*ret_link, s->spec.master_cert_file,
                             spec_variable(&s->spec, "DET_MASTER_CERT_NAME"), err);
}

static det_status open_links(struct supervisor *s, struct err *err)
{
    det_status status;

    if (!spec_master(&s->spec))
        return err_set(err, DET_INVALID, "'%s/" TASK_DIR_SPEC "' names no DET_MASTER",
                       s->dir);
    status = open_link(s, &s->start.link, err);
    if (!status)
        status = open_link(s, &s->ship_link, err);
    if (!status)
        status = open_link(s, &s->drain_link, err);
    if (!status && s->spec.measures_load)
        status = open_link(s, &s->load_link, err);
    return status;
}

/* The load of the machine, of trials. */
static det_status open_load_watch(struct supervisor *s, struct err *err)
{
    struct load_watch_config watch = {.io = s->io,
                                      .exec = s->exec,
                                      .link = s->load_link,
                                      .allocation = s->spec.allocation,
                                      .rank = s->spec.rank,
                                      .storage = s->spec.storage_directory,
                                      .gpu_uuids = &s->spec.gpu_uuids};
    det_status status;

    if (!s->load_link)
        return DET_OK;
    status = lane_new(s->exec, "load", 1, &watch.lane, err);
    return status ? status : load_watch_new(&watch, &s->load_watch, err);
}

static det_status open_lanes(struct supervisor *s, struct err *err)
{
    struct lifecycle_config lifecycle = {.start = &s->start,
                                         .on_change = supervisor_loop_wake,
                                         .arg = s,
                                         .exec = s->exec};
    struct ship_config ship = {.exec = s->exec,
                               .link = s->ship_link,
                               .spool = {s->spool[0], s->spool[1]},
                               .allocation = s->spec.allocation,
                               .rank = s->spec.rank,
                               .on_over = supervisor_loop_wake,
                               .arg = s};
    struct ring_drain_config drain = {
        .io = s->io,
        .exec = s->exec,
        .link = s->drain_link,
        .dir = task_dir_path(&s->mem, s->dir, TASK_DIR_REPORTS),
        .allocation = s->spec.allocation,
        .rank = s->spec.rank,
        .on_change = supervisor_loop_wake,
        .arg = s};
    det_status status = lane_new(s->exec, "ship", 1, &ship.lane, err);

    if (!status && !drain.dir)
        status = err_default(err, DET_NOMEM);
    if (!status)
        status = lane_new(s->exec, "drain", 1, &drain.lane, err);
    if (!status)
        status = lane_new(s->exec, "lifecycle", 1, &lifecycle.lane, err);
    if (!status)
        status = ship_new(&ship, &s->ship, err);
    if (!status)
        status = ring_drain_new(&drain, &s->drain, err);
    if (!status)
        status = lifecycle_new(&lifecycle, &s->lifecycle, err);
    if (!status)
        status = open_load_watch(s, err);
    return status;
}

static det_status find_program(struct supervisor *s, struct err *err)
{
    char path[4096];
    ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);

    s->start.program = len > 0 ? arena_strndup(&s->mem, path, (size_t)len) : "det";
    s->boot_id = task_dir_boot_id(&s->mem);
    return s->start.program && s->boot_id ? DET_OK : err_default(err, DET_NOMEM);
}

/* Everything that can fail before the task is ours. */
static det_status open_all(struct supervisor *s, struct err *err)
{
    det_status status = spec_load(s->io, s->dir, &s->mem, &s->spec, err);

    if (!status)
        status = take_lock(s, err);
    if (!status)
        status = open_log(s, err);
    if (!status)
        status = find_program(s, err);
    if (!status)
        status = open_descriptors(s, err);
    if (!status)
        status = open_spools(s, err);
    if (!status)
        status = supervisor_loop_write_pid(s, err);
    if (!status)
        status = executor_threads_new(&clock_system, &s->exec, err);
    if (!status)
        status = net_system_new(s->exec, &s->net, err);
    if (!status)
        status = open_links(s, err);
    return status;
}

/* Leaves the parent: a session of our own, no terminal, and subreaper of all that we
 * start. */
static void detach(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    setsid();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (int fd = 0; null >= 0 && fd < 3; fd++)
        dup2(null, fd);
    if (null > 2)
        close(null);
}

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

static void end_supervisor(struct supervisor *s)
{
    /* The lanes may be in the middle of a call. */
    if (s->start.link)
        master_link_interrupt(s->start.link);
    if (s->ship_link)
        master_link_interrupt(s->ship_link);
    if (s->drain_link)
        master_link_interrupt(s->drain_link);
    if (s->load_link)
        master_link_interrupt(s->load_link);
    if (s->drain)
        ring_drain_end(s->drain); /* it may sleep at its ring */
    if (s->exec)
        executor_free(s->exec);
    ship_free(s->ship);
    ring_drain_free(s->drain);
    lifecycle_free(s->lifecycle);
    load_watch_free(s->load_watch);
    master_link_free(s->start.link);
    master_link_free(s->ship_link);
    master_link_free(s->drain_link);
    master_link_free(s->load_link);
    if (s->net)
        net_free(s->net);
    for (size_t i = 0; i < SHIP_STREAMS; i++)
        spool_close(s->spool[i]);
    close_fd(s->wake_fd);
    close_fd(s->signal_fd);
    close_fd(s->control_fd);
    close_fd(s->exit_fd);
    privileged_group_done(&s->start.group);
    log_setup(LOG_INFO, -1);
    io_close(s->log);
    new_files_done(&s->new_files);
    arena_done(&s->start.mem);
    arena_done(&s->mem);
    io_close(s->lock); /* last: a free lock says that all is done */
    mem_free(s);
}

int supervisor_run(const char *dir)
{
    struct supervisor *s = mem_new(struct supervisor);
    struct err err = {0};
    det_status status;

    if (!s)
        return det_status_exit(DET_NOMEM);
    s->dir = dir;
    s->io = io_system();
    s->mem = (struct arena)ARENA_INIT(MEM_LIMIT);
    s->start = (struct task_start){.io = s->io,
                                   .spec = &s->spec,
                                   .dir = dir,
                                   .mem = ARENA_INIT(START_MEM_LIMIT),
                                   .group = {.fd = -1}};
    s->wake_fd = s->signal_fd = s->control_fd = s->exit_fd = -1;
    s->output[0] = s->output[1] = -1;
    map_guard_install();
    s->mark = process_tree_mark(dir);
    status = open_all(s, &err);
    if (!status)
        status = open_lanes(s, &err);
    if (status) {
        (void)!write(STDOUT_FILENO, (char[]){child_status_letter(status)}, 1);
        (void)!write(STDOUT_FILENO, err.text, strlen(err.text));
        end_supervisor(s);
        return det_status_exit(status);
    }
    detach();
    supervisor_loop_task(s);
    end_supervisor(s);
    return 0;
}
