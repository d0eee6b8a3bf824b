/* SPDX-License-Identifier: Apache-2.0 */
/* serve.c - `det serve` and `det master run`.
 *
 *   configuration --> lock the data directory --> master --> run file --> agent
 *                                                                           |
 *   SIGINT, SIGTERM: agent ends its tasks and itself, then the master <-----+
 *
 * The agent is a separate process in its own session.  It outlives a master that dies,
 * and the next `det serve` adopts it by its lock.  An agent that ends unexpectedly is
 * started again. */
#include "main/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/privileged.h"
#include "base/compiler.h"
#include "base/io/folder_lock.h"
#include "base/io/io.h"
#include "base/log.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/thread/executor.h"
#include "cli/frame/cli_main.h"
#include "cli/frame/parse.h"
#include "cli/frame/program_path.h"
#include "cli/frame/role_options.h"
#include "config/config_load.h"
#include "config/config_report.h"
#include "config/keys/key_tables.h"
#include "data/json/json.h"
#include "data/url.h"
#include "libdet/client/runfile.h"
#include "main/background.h"
#include "main/data_dir.h"
#include "main/end_process.h"
#include "main/initial_password.h"
#include "main/local_agent.h"
#include "main/log_config.h"
#include "main/process_limits.h"
#include "main/serve_addresses.h"
#include "main/serve_tls.h"
#include "master/master.h"
#include "master/watch/log_tail.h"
#include "net/net.h"
#include "net/net_system.h"

enum {
    DEFAULT_PORT = 8080,
    LOOK_EVERY_MS = 500,
    JOINING_MS = 5000, /* timeout for the agent to join before we are ready */
    AGENT_END_S = 30,
    STARTING_S = 10,
    AGENT_SOON_US = 60 * 1000000, /* an agent that ends sooner has failed */
};

struct serving {
    const struct serve_options *options;
    struct arena *mem;
    const char *given_dir; /* by an option or the configuration; NULL: the usual one */
    const char *data_dir;
    const char *agent_dir;
    const char *program;
    const char *url;
    const char *for_others; /* where other machines reach it; "": nowhere */
    const char *host;       /* to listen on */
    const char *local;      /* where this machine reaches it */
    struct serve_tls tls;
    struct folder_lock lock;
    struct executor *exec;
    struct net *net;
    struct master *master;
    struct log_tail *log; /* the last lines of our log, for administrators */
    const struct json *config;
    const char *initial_password; /* NULL: none was given */
    bool has_runfile;
    int ready_fd;  /* the parent in the foreground waits here; -1: none */
    int agent_pid; /* 0: none */
    bool is_own_child;
    uint16_t last_port; /* of a master that died here; tasks still call it; 0: none */
    uint32_t agent_failures; /* consecutive early ends */
    int64_t agent_next_us;   /* when to start the next one; monotonic */
    int64_t agent_since_us;
    mode_t umask;        /* of our parent: for the agent and its tasks */
    struct rlimit files; /* likewise */
};

/* ---- configuration -------------------------------------------------------------- */

static struct json *overrides_of(const struct serve_options *options, struct arena *mem)
{
    struct json *tree = json_new(mem, JSON_OBJECT);

    if (options->has_port)
        json_set(mem, tree, "port", json_new_i64(mem, options->port));
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
    log_config_apply(tree, "master");
    s->config = tree;
    s->host = s->options->has_host ? s->options->host
                                   : json_str(json_get(tree, "host"), "127.0.0.1");
    s->local =
        !strcmp(s->host, "0.0.0.0") || !strcmp(s->host, "::") ? "127.0.0.1" : s->host;
    return DET_OK;
}

/* The agent reads it itself.  A mistake in it must end us, not only the agent. */
static det_status check_agent_config(const struct serving *s, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    const char *file = s->options->agent_config;
    struct config_report report = CONFIG_REPORT(s->mem, file);
    struct json *overrides = json_new(s->mem, JSON_OBJECT);
    struct json *tree;
    det_status st;

    if (!file)
        return DET_OK;
    if (s->options->no_agent)
        return err_set(err, DET_INVALID,
                       "--agent-config needs an agent: leave out "
                       "--no-agent");
    st = io_read_file(io_system(), file, &text, err);
    return st ? st
              : config_load(CONFIG_AGENT, text.data, text.len, overrides, &report,
                            &tree, err);
}

/* ---- the data directory ---------------------------------------------------------- */

/* A process that holds the lock without a run file is just starting, or only checks the
 * lock.  We wait until we know which.  *run is the content of the file. */
static det_status wait_for_lock(struct serving *s, struct runfile *run, struct err *err)
{
    const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
    det_status st =
        folder_lock_take(io_system(), s->data_dir, RUNFILE_LOCK, &s->lock, err);

    for (int i = 0; i < STARTING_S * 50; i++) {
        if (!runfile_read(io_system(), s->data_dir, s->mem, run, NULL) ||
            st != DET_BUSY)
            break;
        nanosleep(&pause, NULL);
        st = folder_lock_take(io_system(), s->data_dir, RUNFILE_LOCK, &s->lock, err);
    }
    return st;
}

static det_status take_lock(struct serving *s, struct err *err)
{
    struct runfile run = {0};
    det_status st = wait_for_lock(s, &run, err);

    if (!st) { /* a master that died here may have left a run file */
        s->last_port = run.port;
        st = data_dir_check_restored(s->data_dir, err);
        return st ? st : runfile_remove(io_system(), s->data_dir, err);
    }
    if (st != DET_BUSY)
        return st;
    return err_set(err, DET_BUSY,
                   "a master already uses '%s'%s%s; stop it with 'det stop', or choose "
                   "another --data-dir",
                   s->data_dir, run.url ? ", at " : "", run.url ? run.url : "");
}

/* Removes the access of other users to the files.  Old files were protected by the mode
 * of the directory only. */
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
            return err_errno(err, errno,
                             "cannot remove the access of other users to '%s'", path);
    }
    return st;
}

/* A secret that was copied or restored with a wider mode may be known to other users.
 * The mode is corrected here, but the administrator must know. */
static det_status close_secrets(struct serving *s, struct err *err)
{
    static const char *const names[] = {"secret.key", "agent.token", "tls/own.key"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *path = arena_printf(s->mem, "%s/%s", s->data_dir, names[i]);
        struct io_stat found;

        if (!path)
            return err_default(err, DET_NOMEM);
        if (io_stat(io_system(), path, &found, NULL) || found.kind != IO_FILE ||
            !(found.mode & 0077))
            continue;
        if (chmod(path, found.mode & 0700))
            return err_errno(err, errno,
                             "cannot remove the access of other users to '%s'", path);
        log_warn(
            "other users could read '%s' (mode %03o); the mode is corrected now; if "
            "one may have read it, stop the master and remove the file to get a new "
            "one",
            path, (unsigned)found.mode);
    }
    return DET_OK;
}

/* Tasks that run as another user must reach their directories, and own the checkpoints.
 * All other files here are private by their own mode. */
static det_status open_to_tasks(struct serving *s, struct err *err)
{
    const struct json *user = json_path(s->config, "security.default_task");
    const char *path = arena_printf(s->mem, "%s/checkpoints", s->data_dir);
    uid_t uid = (uid_t)json_i64(json_get(user, "uid"), 0);
    gid_t gid = (gid_t)json_i64(json_get(user, "gid"), 0);
    det_status st = close_files(s, err);

    if (st || !uid || geteuid() != 0)
        return st;
    if (!path)
        return err_default(err, DET_NOMEM);
    st = io_mkdir(io_system(), path, true, err);
    if (st)
        return st;
    st = privileged_give_dir(path, uid, gid, err);
    return st ? st : privileged_let_pass(s->data_dir, err);
}

/* Tasks of several Unix users store checkpoints: each may add its own and remove none of
 * others, as in /tmp.  (Tasks list the folder for drafts that earlier runs left.) */
static void open_to_linked_users(void *arg)
{
    const struct serving *s = arg;
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    struct io_stat found;
    struct err err = {0};
    det_status st;

    if (geteuid() != 0)
        return;
    buf_printf(&path, "%s/checkpoints", s->data_dir);
    st = path.status ? err_default(&err, path.status)
                     : io_mkdir(io_system(), path.data, true, &err);
    if (!st)
        st = io_stat(io_system(), s->data_dir, &found, &err);
    if (!st && (chmod(path.data, 01777) || chmod(s->data_dir, found.mode | 0011)))
        st = err_errno(&err, errno,
                       "cannot give the tasks of linked users access to '%s'",
                       s->data_dir);
    if (st)
        log_warn("%s", err.text);
}

/* ---- the master ------------------------------------------------------------------ */

static det_status new_master(struct serving *s, uint16_t port, struct err *err)
{
    struct master_config config = {
        .io = io_system(),
        .exec = s->exec,
        .net = s->net,
        .data_dir = s->data_dir,
        .host = s->host,
        .port = port,
        .initial_password = s->initial_password,
        .cert_file = s->tls.cert_file,
        .key_file = s->tls.key_file,
        .is_self_signed = s->tls.is_self_signed,
        /* one thread fills a core at 60,000 reports per second; the other cores are for
         * the tasks */
        .http_threads = MIN(executor_cores() / 4, 4u),
        .tree = s->config,
        .log = s->log,
        .is_root = geteuid() == 0,
        .checks_invariants = getenv("DET_CHECK_INVARIANTS") != NULL, /* for tests */
        .on_fatal = end_this_process,
        .on_link = open_to_linked_users,
        .arg = s,
    };
    struct url url;
    det_status st = master_new(&config, &s->master, err);

    if (!st)
        st = master_start(s->master, err);
    if (st == DET_EXISTS)
        return err_set(
            err, DET_EXISTS,
            "port %u of %s is in use by another program; choose another one with "
            "--port",
            port, s->host);
    if (st)
        return st;
    url = (struct url){.is_tls = s->tls.cert_file != NULL,
                       .host = s->local,
                       .port = master_port(s->master),
                       .path = ""};
    s->url = url_text(s->mem, &url);
    s->for_others = serve_addresses(s->host, &url, s->mem);
    return s->url ? DET_OK : err_default(err, DET_NOMEM);
}

static void close_world(struct serving *s)
{
    if (s->master)
        master_stop(s->master);
    executor_free(s->exec);
    master_free(s->master);
    net_free(s->net);
    s->exec = NULL;
    s->master = NULL;
    s->net = NULL;
}

/* With a new executor and network: those of a failed attempt are freed with its
 * threads. */
static det_status try_port(struct serving *s, uint16_t port, struct err *err)
{
    det_status st;

    close_world(s);
    st = executor_threads_new(&clock_system, &s->exec, err);
    if (!st)
        st = net_system_new(s->exec, &s->net, err);
    return st ? st : new_master(s, port, err);
}

/* Tries the port of a master that died here if the user asked for none: running tasks know
 * it.  Then the configured one.  A master that a command starts in the background may use
 * another port if the default one is taken: that of the last master here, whose pages may
 * be open in a browser, else any. */
static det_status start_master(struct serving *s, struct err *err)
{
    int64_t port = json_i64(json_get(s->config, "port"), DEFAULT_PORT);
    bool is_any = port == 0 || (port == DEFAULT_PORT && !s->options->has_port);
    uint16_t last = is_any ? s->last_port : 0;
    det_status st = last ? try_port(s, last, err) : DET_EXISTS;

    if (st == DET_EXISTS && (!last || last != port))
        st = try_port(s, (uint16_t)port, err);
    if (st != DET_EXISTS || !s->options->background || s->options->has_port)
        return st;
    last = runfile_last_port(io_system(), s->data_dir);
    if (last)
        st = try_port(s, last, err);
    return st == DET_EXISTS ? try_port(s, 0, err) : st;
}

static det_status write_runfile(struct serving *s, struct err *err)
{
    struct runfile run = {
        .url = s->url,
        .host = s->local,
        .port = master_port(s->master),
        .cert_file = s->tls.shown_file,
        .pid = getpid(),
        .cluster_id = master_cluster_id(s->master),
        .master_id = master_id(s->master),
        .agent_token_file = master_agent_token_path(s->master),
    };

    return runfile_write(io_system(), s->data_dir, &run, err);
}

/* On a full disk that has no file of an earlier master, nobody finds us by the run file;
 * it is written as soon as there is room. */
static det_status note_address(struct serving *s, struct err *err)
{
    det_status st = write_runfile(s, err);

    s->has_runfile = !st;
    if (st != DET_FULL)
        return st;
    log_warn("%s; until there is room, commands find this master only with --master %s",
             err->text, s->url);
    return DET_OK;
}

/* ---- the agent ------------------------------------------------------------------- */

static void exec_agent(const struct serving *s)
{
    char slots[24];
    char log_path[4096];
    const char *args[20] = {
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
    if (s->tls.shown_file) {
        args[count++] = "--master-cert";
        args[count++] = s->tls.shown_file;
    }
    if (s->options->agent_config) {
        args[count++] = "--config";
        args[count++] = s->options->agent_config;
    }
    setsid();
    umask(s->umask);
    process_limits_restore(&s->files);
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

/* Adopts the agent that runs here, or starts one.  An agent of another address is ended
 * first; its tasks stay for the next agent. */
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
    if (pid) { /* check again in a moment */
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

/* Restarts an agent that has ended: at once, or after a growing delay if it keeps ending
 * early. */
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
    log_warn("the agent did not end within %d s, leaving it running", AGENT_END_S);
}

/* ---- the background -------------------------------------------------------------- */

/* In the child: sends the result of the start, on which the parent exits. */
static void tell_parent(struct serving *s, int exit_code, const char *text)
{
    char line[ERR_TEXT_SIZE + 16];
    int len = snprintf(line, sizeof(line), "%d %s\n", exit_code, text);

    if (s->ready_fd < 0)
        return;
    if (write(s->ready_fd, line, (size_t)MIN(len, (int)sizeof(line) - 1)) < 0)
        log_warn("the process that started this master is gone");
    close(s->ready_fd);
    s->ready_fd = -1;
}

/* Returns true in the child, which continues; in the parent *ret_code is the exit
 * code. */
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
        *ret_code = pid < 0 ? det_status_exit(DET_NOMEM)
                            : background_wait(pipes[0], pid, &held);
        return false;
    }
    close(pipes[0]);
    setsid();
    /* SIGTERM stays blocked: wait_for_signal() gets it, even if it came before */
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

/* A folder that was moved or replaced is not ours any more, and another master may start
 * in the new one. */
static void look_at_folder(struct serving *s)
{
    if (!folder_lock_is_in_place(&s->lock, s->data_dir)) {
        log_error(
            "the data directory '%s' was removed or replaced while the master used "
            "it; the master ends, because it could not keep what it acknowledges",
            s->data_dir);
        _exit(det_status_exit(DET_IO));
    }
    master_look_at_disk(s->master);
    if (!s->has_runfile)
        s->has_runfile = !write_runfile(s, NULL);
}

static void wait_for_signal(struct serving *s, const sigset_t *set)
{
    const struct timespec pause = {.tv_nsec = LOOK_EVERY_MS * 1000000L};

    for (;;) {
        int sig = sigtimedwait(set, NULL, &pause);

        if (sig == SIGINT || sig == SIGTERM)
            return;
        look_at_folder(s);
        look_after_agent(s);
        serve_tls_look(&s->tls, s->master);
    }
}

/* The command that started us has work for the agent: we are ready when it has joined. */
static void wait_for_agent(const struct serving *s)
{
    const struct timespec pause = {.tv_nsec = 2 * 1000 * 1000};

    for (int i = 0; i < JOINING_MS / 2 && s->ready_fd >= 0 && s->agent_pid; i++) {
        if (master_has_agent(s->master))
            return;
        nanosleep(&pause, NULL);
    }
}

static det_status start_serving(struct serving *s, struct err *err)
{
    det_status st = load_config(s, err);

    if (!st)
        st = check_agent_config(s, err);
    if (!st)
        st = take_lock(s, err);
    if (!st)
        st = close_secrets(s, err);
    if (!st)
        st = open_to_tasks(s, err);
    if (!st)
        st = program_path(s->mem, &s->program, err);
    if (!st)
        st = serve_tls_prepare(&s->tls, s->options, s->config, s->host, s->data_dir,
                               s->mem, err);
    if (!st)
        st = start_master(s, err);
    return st ? st : note_address(s, err);
}

static void stop_serving(struct serving *s)
{
    if (s->master)
        (void)runfile_remove(io_system(), s->data_dir, NULL);
    close_world(s);
    folder_lock_give(&s->lock);
}

static int serve_until_signal(struct serving *s, const sigset_t *set)
{
    struct err err = {0};
    det_status st = start_serving(s, &err);

    if (st) {
        tell_parent(s, det_status_exit(st), err.text);
        stop_serving(s);
        return cli_report(st, &err);
    }
    look_after_agent(s);
    wait_for_agent(s);
    log_info("serving %s%s%s, data in %s", s->url,
             *s->for_others ? ", for other machines " : "", s->for_others, s->data_dir);
    if (master_is_full(s->master))
        log_warn(
            "no space left on the disk of '%s': everything can be read, and nothing "
            "changed until there is room",
            s->data_dir);
    if (s->tls.cert_file) {
        master_set_certificate(s->master, s->tls.expires_us);
        log_info("the certificate in '%s' has the SHA-256 fingerprint %s",
                 s->tls.cert_file, s->tls.fingerprint);
        serve_tls_look(&s->tls, s->master); /* it may expire soon */
    }
    if (s->ready_fd < 0 && isatty(2))
        fprintf(stderr,
                "det is running at %s%s%s; stop it with Ctrl-C or 'det stop%s%s'\n",
                s->url, *s->for_others ? ", for other machines at " : "", s->for_others,
                s->given_dir ? " --data-dir " : "", s->given_dir ? s->given_dir : "");
    tell_parent(s, 0, serve_addresses_both(s->url, s->for_others, s->mem));
    wait_for_signal(s, set);
    log_info("stopping");
    stop_agent(s);
    stop_serving(s);
    return 0;
}

int serve_main(const struct serve_options *options)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 20);
    struct serving s = {.options = options, .mem = &mem, .ready_fd = -1};
    struct err err = {0};
    sigset_t set;
    int code;
    det_status st = data_dir_of_options(options->data_dir, options->config, &mem,
                                        &s.given_dir, &err);

    if (!st)
        st = data_dir_open(s.given_dir, &mem, &s.data_dir, &err);
    if (st)
        return cli_report(st, &err);
    s.agent_dir = local_agent_dir(&mem, s.data_dir);
    if (!s.agent_dir)
        return cli_report(DET_NOMEM, &err);
    st = initial_password_read(options, &mem, &s.initial_password, &err);
    if (st)
        return cli_report(st, &err);
    if (options->background && !go_background(&s, &code))
        return code;
    s.umask = umask(077); /* our files are private */
    process_limits_raise(&s.files);
    log_setup(LOG_INFO, 2);
    st = log_tail_new(&s.log, &err);
    if (st)
        return cli_report(st, &err);
    log_tail_listen(s.log);
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    code = serve_until_signal(&s, &set);
    log_tail_free(s.log);
    return code;
}
