/* SPDX-License-Identifier: Apache-2.0 */
/* serve.c - `det serve` and `det master run`.
 *
 *   lock the data directory --> configuration --> master --> run file --> agent
 *                                                                           |
 *   SIGINT, SIGTERM: agent ends its tasks and itself, then the master <-----+
 *
 * The agent is a process of its own in a session of its own: it outlives a master that
 * dies, and the next `det serve` adopts it by its lock.  While we live we look after
 * it: an agent that ends unasked is started again. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/log.h"
#include "base/task.h"
#include "cli/cli.h"
#include "cli/roles.h"
#include "config/config.h"
#include "data/json.h"
#include "libdet/runfile.h"
#include "main/roles.h"
#include "master/master.h"
#include "net/net.h"

enum {
    DEFAULT_PORT = 8080,
    LOOK_EVERY_MS = 500,
    JOINING_MS = 5000, /* what an agent gets to join before we call ourselves ready */
    AGENT_END_S = 30,
    STARTING_S = 10,
    AGENT_SOON_US = 60 * 1000000, /* an agent that lives shorter has failed */
};

struct serving {
    const struct serve_options *options;
    struct arena *mem;
    const char *data_dir;
    const char *agent_dir;
    const char *program;
    const char *url;
    struct io_file *lock;
    struct exec *exec;
    struct net *net;
    struct master *master;
    const struct json *config;
    int ready_fd;  /* who started us in the background waits here; -1: nobody */
    int agent_pid; /* 0: none */
    bool is_own_child;
    uint16_t
        last_port; /* of a master that died here; tasks may still call it; 0: none */
    uint32_t agent_failures; /* ends in a row that came soon */
    int64_t agent_next_us;   /* not to be started before; monotonic */
    int64_t agent_since_us;
    mode_t umask; /* of whoever started us: for the agent and its tasks */
};

/* ---- configuration -------------------------------------------------------------- */

static struct json *overrides_of(const struct serve_options *options, struct arena *mem)
{
    struct json *tree = json_new(mem, JSON_OBJECT);
    struct json *security = json_new(mem, JSON_OBJECT);

    if (options->has_port)
        json_set(mem, tree, "port", json_new_i64(mem, options->port));
    if (options->initial_password) {
        json_set(mem, security, "initial_user_password",
                 json_new_str(mem, options->initial_password));
        json_set(mem, tree, "security", security);
    }
    return tree;
}

static det_status load_config(struct serving *s, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    CLEANUP(buf_done) struct buf notices = BUF_INIT;
    const char *file = s->options->config;
    struct config_report report = CONFIG_REPORT(s->mem, file);
    struct json *overrides = overrides_of(s->options, s->mem);
    struct json *tree;
    det_status st = DET_OK;

    if (file)
        st = io_read_file(io_system(), file, &text, err);
    if (!st)
        st = config_load(CONFIG_MASTER, file ? text.data : NULL, text.len, overrides,
                         &report, &tree, err);
    if (st)
        return st;
    config_report_write(&report, CONFIG_NOTICE, &notices);
    if (notices.len)
        fputs(notices.data, stderr);
    s->config = tree;
    return DET_OK;
}

/* ---- the data directory ---------------------------------------------------------- */

/* Who holds the lock without a run file is just starting, or only looks whether
 * somebody does: we wait until it can be said which.  *run is what the file says. */
static det_status wait_for_lock(struct serving *s, struct runfile *run, struct err *err)
{
    const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
    det_status st = io_lock(s->lock, err);

    for (int i = 0; i < STARTING_S * 50; i++) {
        if (!runfile_read(io_system(), s->data_dir, s->mem, run, NULL) ||
            st != DET_BUSY)
            break;
        nanosleep(&pause, NULL);
        st = io_lock(s->lock, err);
    }
    return st;
}

static det_status take_lock(struct serving *s, struct err *err)
{
    const char *path = arena_printf(s->mem, "%s/%s", s->data_dir, RUNFILE_LOCK);
    struct runfile run = {0};
    det_status st;

    if (!path)
        return err_default(err, DET_NOMEM);
    st = io_open(io_system(), path, IO_WRITE | IO_CREATE | IO_PRIVATE, &s->lock, err);
    if (!st)
        st = wait_for_lock(s, &run, err);
    if (!st) { /* what a master left that died here */
        s->last_port = run.port;
        return runfile_remove(io_system(), s->data_dir, err);
    }
    if (st != DET_BUSY)
        return st;
    return err_set(
        err, DET_BUSY,
        "a master already uses '%s'%s%s; stop it with 'det stop', or give this "
        "one another --data-dir",
        s->data_dir, run.url ? ", at " : "", run.url ? run.url : "");
}

/* Files that nobody but the directory kept private, as older ones may be. */
static det_status close_files(struct serving *s, struct err *err)
{
    const char **names;
    det_status st = io_list(io_system(), s->data_dir, s->mem, &names, err);

    for (; !st && *names; names++) {
        const char *path = arena_printf(s->mem, "%s/%s", s->data_dir, *names);
        struct io_stat found;

        if (!path)
            return err_default(err, DET_NOMEM);
        if (io_stat(io_system(), path, &found, NULL) || found.kind != IO_FILE ||
            !(found.mode & 0077))
            continue;
        if (chmod(path, found.mode & 0700))
            return err_errno(err, errno, "cannot close '%s' to others", path);
    }
    return st;
}

/* Copied or restored with wider modes, a secret may be known already: whoever runs this
 * must hear it, though it can be mended here. */
static det_status close_secrets(struct serving *s, struct err *err)
{
    static const char *const names[] = {"secret.key", "agent.token"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *path = arena_printf(s->mem, "%s/%s", s->data_dir, names[i]);
        struct io_stat found;

        if (!path)
            return err_default(err, DET_NOMEM);
        if (io_stat(io_system(), path, &found, NULL) || found.kind != IO_FILE ||
            !(found.mode & 0077))
            continue;
        if (chmod(path, found.mode & 0700))
            return err_errno(err, errno, "cannot close '%s' to others", path);
        log_warn(
            "'%s' was open to other users (mode %03o) and is closed now; if one may "
            "have read it, stop the master and remove it to have a new one made",
            path, (unsigned)found.mode);
    }
    return DET_OK;
}

/* Tasks of another user must get to their directories and to the checkpoints, which are
 * theirs; everything else in here is private by its own mode. */
static det_status open_to_tasks(struct serving *s, struct err *err)
{
    const struct json *user = json_path(s->config, "security.default_task");
    const char *path = arena_printf(s->mem, "%s/checkpoints", s->data_dir);
    uid_t uid = (uid_t)json_i64(json_get(user, "uid"), 0);
    gid_t gid = (gid_t)json_i64(json_get(user, "gid"), 0);
    struct io_stat found;
    det_status st;

    if (!uid || geteuid() != 0)
        return DET_OK;
    if (!path)
        return err_default(err, DET_NOMEM);
    st = close_files(s, err);
    if (!st)
        st = io_mkdir(io_system(), path, true, err);
    if (!st)
        st = io_stat(io_system(), s->data_dir, &found, err);
    if (st)
        return st;
    if (chown(path, uid, gid ? gid : (gid_t)-1) ||
        chmod(s->data_dir, found.mode | 0011))
        return err_errno(err, errno, "cannot open '%s' to the tasks of user %u",
                         s->data_dir, (unsigned)uid);
    return DET_OK;
}

/* ---- the master ------------------------------------------------------------------ */

static void fatal(void *arg, const char *sentence)
{
    (void)arg;
    log_error("%s", sentence);
    _exit(det_status_exit(DET_IO));
}

static det_status new_master(struct serving *s, uint16_t port, struct err *err)
{
    struct master_config config = {
        .io = io_system(),
        .exec = s->exec,
        .net = s->net,
        .data_dir = s->data_dir,
        .host = s->options->has_host
                    ? s->options->host
                    : json_str(json_get(s->config, "host"), "127.0.0.1"),
        .port = port,
        /* one fills a core at 60,000 reports a second; the rest is for the tasks */
        .http_threads = MIN(task_cores() / 4, 4u),
        .tree = s->config,
        .on_fatal = fatal,
    };
    const char *host = config.host;
    det_status st = master_new(&config, &s->master, err);

    if (!st)
        st = master_start(s->master, err);
    if (st == DET_EXISTS)
        return err_set(
            err, DET_EXISTS,
            "port %u of %s is in use by another program; choose another with "
            "--port",
            port, host);
    if (st)
        return st;
    if (!strcmp(host, "0.0.0.0") || !strcmp(host, "::"))
        host = "127.0.0.1";
    s->url = arena_printf(s->mem, strchr(host, ':') ? "http://[%s]:%u" : "http://%s:%u",
                          host, master_port(s->master));
    return s->url ? DET_OK : err_default(err, DET_NOMEM);
}

static void close_world(struct serving *s)
{
    if (s->master)
        master_stop(s->master);
    exec_free(s->exec);
    master_free(s->master);
    net_free(s->net);
    s->exec = NULL;
    s->master = NULL;
    s->net = NULL;
}

/* In a world of its own: what a master that failed left running goes with it. */
static det_status try_port(struct serving *s, uint16_t port, struct err *err)
{
    det_status st;

    close_world(s);
    st = exec_threads_new(&clock_system, &s->exec, err);
    if (!st)
        st = net_system_new(s->exec, &s->net, err);
    return st ? st : new_master(s, port, err);
}

/* The port asked for; when it is all the same, the one that tasks know.  Started by a
 * command that only needs some master, a free one will do when the default is taken. */
static det_status start_master(struct serving *s, struct err *err)
{
    int64_t port = json_i64(json_get(s->config, "port"), DEFAULT_PORT);
    bool is_any = port == 0 || (port == DEFAULT_PORT && !s->options->has_port);
    uint16_t last = is_any ? s->last_port : 0;
    det_status st = last ? try_port(s, last, err) : DET_EXISTS;

    if (st == DET_EXISTS && (!last || last != port))
        st = try_port(s, (uint16_t)port, err);
    if (st == DET_EXISTS && s->options->background && !s->options->has_port)
        st = try_port(s, 0, err);
    return st;
}

static det_status write_runfile(struct serving *s, struct err *err)
{
    struct runfile run = {
        .url = s->url,
        .host = "127.0.0.1",
        .port = master_port(s->master),
        .pid = getpid(),
        .cluster_id = master_cluster_id(s->master),
        .master_id = master_id(s->master),
        .agent_token_file = master_agent_token_path(s->master),
    };

    return runfile_write(io_system(), s->data_dir, &run, err);
}

/* ---- the agent ------------------------------------------------------------------- */

static void exec_agent(const struct serving *s)
{
    char slots[24];
    char log_path[4096];
    const char *args[16] = {
        s->program,   "agent",        "run",
        "--master",   s->url,         "--data-dir",
        s->agent_dir, "--token-file", master_agent_token_path(s->master)};
    int count = 9;
    int fd;

    if (s->options->slots != CLI_UNSET) {
        snprintf(slots, sizeof(slots), "%lld", (long long)s->options->slots);
        args[count++] = "--slots";
        args[count++] = slots;
    }
    setsid();
    umask(s->umask);
    snprintf(log_path, sizeof(log_path), "%s/agent.log", s->data_dir);
    fd = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), 0);
    dup2(fd, 1);
    dup2(fd, 2);
    execv(s->program, (char *const *)(uintptr_t)args);
    _exit(127);
}

static void fork_agent(struct serving *s)
{
    sigset_t none;
    int pid = fork();

    if (pid == 0) {
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        exec_agent(s);
    }
    if (pid < 0)
        log_error("no agent could be started: %s", strerror(errno));
    s->agent_pid = pid > 0 ? pid : 0;
    s->is_own_child = pid > 0;
    s->agent_since_us = clock_mono_us(&clock_system);
}

/* Adopts the agent that works here, or starts one.  One that serves another address is
 * sent away first; its tasks stay for the next. */
static void start_agent(struct serving *s)
{
    int pid = local_agent_pid(s->agent_dir);
    const char *master = pid > 0 ? local_agent_master(s->mem, s->agent_dir) : NULL;

    if (master && !strcmp(master, s->url)) {
        log_info("adopting the agent that runs already (pid %d)", pid);
        s->agent_pid = pid;
        s->is_own_child = false;
        return;
    }
    if (pid > 0)
        kill(pid, SIGHUP);
    if (pid) { /* looked at again in a moment */
        s->agent_pid = 0;
        s->agent_next_us = clock_mono_us(&clock_system) + 200000;
        return;
    }
    fork_agent(s);
}

static bool agent_has_ended(struct serving *s)
{
    if (s->is_own_child)
        return waitpid(s->agent_pid, NULL, WNOHANG) == s->agent_pid;
    return !local_agent_pid(s->agent_dir);
}

/* An agent that ended unasked is started again: at once, or after a while that grows
 * when it keeps ending soon. */
static void look_after_agent(struct serving *s)
{
    int64_t now_us = clock_mono_us(&clock_system);

    if (s->options->no_agent)
        return;
    if (s->agent_pid && agent_has_ended(s)) {
        bool was_soon = now_us - s->agent_since_us < AGENT_SOON_US;

        s->agent_pid = 0;
        s->agent_failures = was_soon ? s->agent_failures + 1 : 0;
        s->agent_next_us =
            now_us + (was_soon ? (int64_t)1000000 << MIN(s->agent_failures, 6u) : 0);
        log_warn("the agent ended, starting another%s (see %s/agent.log)",
                 was_soon ? " in a while" : "", s->data_dir);
    }
    if (!s->agent_pid && now_us >= s->agent_next_us)
        start_agent(s);
}

static void stop_agent(struct serving *s)
{
    if (!s->agent_pid || s->options->no_agent)
        return;
    if (s->is_own_child) {
        kill(s->agent_pid, SIGTERM);
        for (int i = 0; i < AGENT_END_S * 50; i++) {
            if (waitpid(s->agent_pid, NULL, WNOHANG) == s->agent_pid)
                return;
            nanosleep(&(struct timespec){.tv_nsec = 20 * 1000 * 1000}, NULL);
        }
    } else if (end_process(s->agent_pid, AGENT_END_S)) {
        return;
    }
    log_warn("the agent did not end in %d s; it is left alone", AGENT_END_S);
}

/* ---- the background -------------------------------------------------------------- */

/* In the child: says how the start went and lets the parent go. */
static void tell_parent(struct serving *s, int exit_code, const char *text)
{
    char line[ERR_TEXT_SIZE + 16];
    int len = snprintf(line, sizeof(line), "%d %s\n", exit_code, text);

    if (s->ready_fd < 0)
        return;
    if (write(s->ready_fd, line, (size_t)MIN(len, (int)sizeof(line) - 1)) < 0)
        log_warn("who started this master is gone");
    close(s->ready_fd);
    s->ready_fd = -1;
}

/* What the child wrote until it let us go; "" when it ended before.  Whoever hears
 * Ctrl-C meanwhile does not want a master: the child gets SIGTERM, and is waited for.
 * True: that is what happened. */
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

static int wait_for_child(int fd, pid_t child, const sigset_t *held)
{
    char line[ERR_TEXT_SIZE + 16];
    char *text;
    int code;

    if (read_answer(fd, child, held, line, sizeof(line))) {
        fprintf(stderr, "det: interrupted; the master that was starting is stopped\n");
        return 128 + SIGINT;
    }
    if (!*line) {
        fprintf(stderr,
                "det: the master ended before it answered; see its master.log\n");
        return det_status_exit(DET_FAILED);
    }
    code = (int)strtol(line, &text, 10);
    if (code)
        fprintf(stderr, "det:%s", text);
    else
        printf("%s", text + 1);
    return code;
}

/* True in the child, which goes on; in the parent *ret_code is the exit code. */
static bool go_background(struct serving *s, int *ret_code)
{
    const char *path = arena_printf(s->mem, "%s/master.log", s->data_dir);
    sigset_t held;
    int pipes[2];
    int fd, pid;

    *ret_code = det_status_exit(DET_IO);
    if (!path || pipe2(pipes, O_CLOEXEC))
        return false;
    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGTERM);
    sigaddset(&held, SIGHUP);
    sigprocmask(SIG_BLOCK, &held, NULL);
    pid = fork();
    if (pid) {
        close(pipes[1]);
        *ret_code =
            pid < 0 ? det_status_exit(DET_NOMEM) : wait_for_child(pipes[0], pid, &held);
        return false;
    }
    close(pipes[0]);
    setsid();
    /* SIGTERM is heard by wait_for_signal(), also when it came before */
    sigdelset(&held, SIGTERM);
    sigprocmask(SIG_UNBLOCK, &held, NULL);
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), 0);
    dup2(fd, 1);
    dup2(fd, 2);
    s->ready_fd = pipes[1];
    return true;
}

/* ---- life ----------------------------------------------------------------------- */

static void wait_for_signal(struct serving *s, const sigset_t *set)
{
    const struct timespec pause = {.tv_nsec = LOOK_EVERY_MS * 1000000L};

    for (;;) {
        int sig = sigtimedwait(set, NULL, &pause);

        if (sig == SIGINT || sig == SIGTERM)
            return;
        look_after_agent(s);
    }
}

/* Who started us has work: it is told that we are ready when somebody can do it. */
static void wait_for_agent(const struct serving *s)
{
    const struct timespec pause = {.tv_nsec = 2 * 1000 * 1000};

    for (int i = 0; i < JOINING_MS / 2 && s->ready_fd >= 0 && s->agent_pid; i++) {
        if (master_has_agent(s->master))
            return;
        nanosleep(&pause, NULL);
    }
}

static det_status start(struct serving *s, struct err *err)
{
    det_status st = load_config(s, err);

    if (!st)
        st = take_lock(s, err);
    if (!st)
        st = close_secrets(s, err);
    if (!st)
        st = open_to_tasks(s, err);
    if (!st)
        st = program_path(s->mem, &s->program, err);
    if (!st)
        st = start_master(s, err);
    if (!st)
        st = write_runfile(s, err);
    return st;
}

static void stop(struct serving *s)
{
    if (s->master)
        (void)runfile_remove(io_system(), s->data_dir, NULL);
    close_world(s);
    io_close(s->lock);
}

static int run(struct serving *s, const sigset_t *set)
{
    struct err err = {0};
    det_status st = start(s, &err);

    if (st) {
        tell_parent(s, det_status_exit(st), err.text);
        stop(s);
        return complain(st, &err);
    }
    look_after_agent(s);
    wait_for_agent(s);
    log_info("serving %s, data in %s", s->url, s->data_dir);
    if (s->ready_fd < 0 && isatty(2))
        fprintf(stderr, "det is running at %s; stop it with Ctrl-C or 'det stop%s%s'\n",
                s->url, s->options->data_dir ? " --data-dir " : "",
                s->options->data_dir ? s->options->data_dir : "");
    tell_parent(s, 0, s->url);
    wait_for_signal(s, set);
    log_info("stopping");
    stop_agent(s);
    stop(s);
    return 0;
}

int role_serve(const struct serve_options *options)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 20);
    struct serving s = {.options = options, .mem = &mem, .ready_fd = -1};
    struct err err = {0};
    sigset_t set;
    int code;
    det_status st = open_data_dir(options->data_dir, &mem, &s.data_dir, &err);

    if (st)
        return complain(st, &err);
    s.agent_dir = local_agent_dir(&mem, s.data_dir);
    if (!s.agent_dir)
        return complain(DET_NOMEM, &err);
    if (options->background && !go_background(&s, &code))
        return code;
    s.umask = umask(077); /* nothing that we write is for others */
    log_setup(LOG_INFO, 2);
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    return run(&s, &set);
}

/* A run file may be left over and its number somebody else's by now: only who holds the
 * lock is a master. */
static det_status is_master_there(const char *data_dir, struct arena *mem,
                                  bool *ret_is_there, struct err *err)
{
    CLEANUP(io_closep) struct io_file *lock = NULL;
    const char *path = arena_printf(mem, "%s/%s", data_dir, RUNFILE_LOCK);
    det_status st = path ? io_open(io_system(), path, IO_WRITE, &lock, err)
                         : err_default(err, DET_NOMEM);

    if (st && st != DET_NOT_FOUND)
        return st;
    *ret_is_there = !st && io_lock(lock, NULL) == DET_BUSY;
    return DET_OK;
}

static det_status stop_master(const char *data_dir, struct arena *mem, struct err *err)
{
    struct runfile run = {0};
    det_status st = runfile_read(io_system(), data_dir, mem, &run, err);

    if (st == DET_NOT_FOUND)
        return err_set(err, DET_BUSY, "the master on '%s' is just starting or ending",
                       data_dir);
    if (!st && !end_process((int)run.pid, AGENT_END_S + 15))
        st = err_set(err, DET_TIMEOUT, "the master (pid %lld) did not end",
                     (long long)run.pid);
    return st;
}

int role_stop(const struct stop_options *options)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct err err = {0};
    const char *data_dir;
    int agent_pid;
    bool is_there = false;
    det_status st = find_data_dir(options->data_dir, &mem, &data_dir, &is_there, &err);

    if (!st && !is_there && options->data_dir)
        st = err_set(&err, DET_NOT_FOUND, "there is no folder '%s'", data_dir);
    if (st)
        return complain(st, &err);
    agent_pid = local_agent_pid(local_agent_dir(&mem, data_dir));
    st = is_master_there(data_dir, &mem, &is_there, &err);
    if (!st && is_there)
        st = stop_master(data_dir, &mem, &err);
    if (st)
        return complain(st, &err);
    (void)runfile_remove(io_system(), data_dir, NULL);
    if (!is_there && !agent_pid) {
        fprintf(stderr, "nothing runs on '%s'\n", data_dir);
        return 0;
    }
    agent_pid = local_agent_pid(local_agent_dir(&mem, data_dir));
    if (agent_pid > 0 && !end_process(agent_pid, AGENT_END_S))
        return complain(
            err_set(&err, DET_TIMEOUT, "the agent (pid %d) did not end", agent_pid),
            &err);
    fprintf(stderr, "stopped\n");
    return 0;
}
