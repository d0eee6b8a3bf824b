/* SPDX-License-Identifier: Apache-2.0 */
/* tensorboard_task.c - `det internal tensorboard`: the program of a TensorBoard's task.
 *
 *   1. If `python3` has no TensorBoard, this process becomes 'det task enter', which
 *      builds an environment with it and runs this command again (ENV_BUILT).
 *   2. Creates LOGS/experiment_N/trial_M for each trial (tensorboard_runs.c).
 *   3. Starts TensorBoard with the path prefix /proxy/<task>, on a free port.  Its output
 *      goes to the log, and the port is read from it.
 *   4. Tells the master the port.  From then on the task counts as ready.
 *   5. Every few seconds: updates the folder, and asks when the proxy was last used.
 *      After idle_timeout without use it ends, and the job is COMPLETED.
 *
 * If the master is unreachable, it is asked again in the next turn.  If TensorBoard ends
 * by itself, so does the task, with its exit code. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/env/process.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/connect.h"
#include "cli/task/tensorboard_runs.h"
#include "data/json/json.h"
#include "data/url.h"

#define LOGS      "tensorboard-logs"
#define ENV_BUILT "DET_TENSORBOARD_BUILT"

enum {
    TURN_MS = 3000,
    CONNECT_S = 10,
    LINE_MOST = 1 << 16,
    ARGS_MOST = 64,
    HOST_TEXT = 64,
};

struct tensorboard_task {
    struct cli *cli;  /* calls as the owner of the task */
    det_client *task; /* calls as the task */
    const char *allocation;
    const char *task_id;
    const struct json *config;
    int64_t timeout_s; /* 0: never */
    pid_t child;
    int out; /* its stdout and stderr */
    struct buf line;
    int64_t port; /* 0: not known yet */
    bool is_registered;
};

/* Python also imports modules from the current folder.  A user's file with the name of a
 * module must not be imported. */
#define NO_FOLDER "import sys; sys.path[:] = [each for each in sys.path if each]\n"

/* ---- a Python that has TensorBoard ----------------------------------------------- */

static void keep_line(void *arg, const char *line)
{
    char *version = arg;

    snprintf(version, 64, "%s", line);
}

static bool has_tensorboard(char version[64])
{
    static const char *const ask[] = {
        "python3", "-c",
        NO_FOLDER
        "import importlib.metadata as m; import importlib.util as u; "
        "u.find_spec('tensorboard.main') or exit(1); print(m.version('tensorboard'))",
        NULL};
    struct process process = {.argv = ask, .on_line = keep_line, .arg = version};
    int status;

    version[0] = '\0';
    return process_run(&process, &status, NULL) == DET_OK && process_was_fine(status);
}

/* Becomes the program that builds an environment and runs this command again. */
static det_status build_environment(struct cli *cli)
{
    const char *envs = getenv("DET_TASK_ENVS");
    const char *argv[] = {"det",
                          "task",
                          "enter",
                          "--envs",
                          envs,
                          "--record",
                          "./" LOGS ".record",
                          "--failure",
                          "./" LOGS ".failure",
                          "--require",
                          "tensorboard",
                          "--require",
                          "setuptools<81",
                          "--",
                          "det",
                          "internal",
                          "tensorboard",
                          NULL};

    if (getenv(ENV_BUILT))
        return cli_fail(cli, DET_FAILED,
                        "the environment that was built has no TensorBoard");
    if (!envs)
        return cli_fail(cli, DET_NOT_FOUND,
                        "python3 has no TensorBoard, and this agent does not build "
                        "environments; install it with 'pip install tensorboard'");
    cli_note(cli, "python3 has no TensorBoard: looking for an environment with it, or "
                  "building one");
    if (setenv(ENV_BUILT, "1", 1))
        return cli_nomem(cli);
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    return err_errno(cli->err, errno, "cannot run 'det task enter'");
}

/* ---- TensorBoard ----------------------------------------------------------------- */

/* The local address of a connection to `to`; false: it cannot be reached. */
static bool find_local_address(const struct addrinfo *to, char text[HOST_TEXT])
{
    static const struct timeval most = {.tv_sec = CONNECT_S};
    struct sockaddr_storage own = {0};
    socklen_t size = sizeof(own);
    int fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_known;

    if (fd < 0)
        return false;
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
    is_known = !connect(fd, to->ai_addr, to->ai_addrlen) &&
               !getsockname(fd, (struct sockaddr *)&own, &size) &&
               !getnameinfo((struct sockaddr *)&own, size, text, HOST_TEXT, NULL, 0,
                            NI_NUMERICHOST);
    close(fd);
    return is_known;
}

static bool is_loopback(const char *address)
{
    return !strncmp(address, "127.", 4) || !strcmp(address, "::1");
}

/* The address at which the master reaches this machine: 127.0.0.1 if the master runs
 * here, else the local address of a connection to it.  We connect because the name of the
 * master may have several addresses, and some may not work. */
static void own_address(const char *master, char text[HOST_TEXT])
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    bool is_known = false;
    struct url url;
    char port[8];

    if (!url_parse(master, &mem, &url, NULL)) {
        snprintf(port, sizeof(port), "%u", url.port);
        if (getaddrinfo(url.host, port, &hints, &found))
            found = NULL;
    }
    for (const struct addrinfo *at = found; at && !is_known; at = at->ai_next)
        is_known = find_local_address(at, text);
    if (!is_known || is_loopback(text))
        snprintf(text, HOST_TEXT, "127.0.0.1");
    if (found)
        freeaddrinfo(found);
}

/* TensorBoard imports TensorFlow if it is installed.  That takes seconds, and the common
 * pages do not need it.  The module `notf` is TensorBoard's own way to leave it out.
 * Users who need TensorFlow set DET_TENSORBOARD_TF. */
static const char without_tensorflow[] =
    NO_FOLDER "import os, types\n"
              "if not os.environ.get('DET_TENSORBOARD_TF'):\n"
              "    sys.modules['tensorboard.compat.notf'] = types.ModuleType('notf')\n"
              "sys.argv[0] = 'tensorboard'\n"
              "from tensorboard.main import run_main\n"
              "run_main()\n";

/* Called before fork(): the child must not allocate. */
static det_status make_argv(struct tensorboard_task *b, const char *argv[ARGS_MOST])
{
    struct arena *mem = &b->cli->mem;
    char host[HOST_TEXT];
    size_t count = 0;

    own_address(getenv("DET_MASTER"), host);
    argv[count++] = "python3";
    argv[count++] = "-c";
    argv[count++] = without_tensorflow;
    argv[count++] = "--logdir=" LOGS;
    argv[count++] = arena_printf(mem, "--host=%s", host);
    argv[count++] = "--port=0";
    argv[count++] = arena_printf(mem, "--path_prefix=/proxy/%s", b->task_id);
    argv[count++] = "--reload_interval=5";
    argv[count++] = "--reload_multifile=true";
    json_each(item, json_get(b->config, "tensorboard_args"))
        if (count + 1 < ARGS_MOST)
            argv[count++] = json_str(item, "");
    argv[count] = NULL;
    return mem->has_failed ? cli_nomem(b->cli) : DET_OK;
}

static det_status start_tensorboard(struct tensorboard_task *b)
{
    const char *argv[ARGS_MOST];
    int pipe_fd[2];
    det_status st = make_argv(b, argv);

    if (st)
        return st;
    if (pipe2(pipe_fd, O_CLOEXEC))
        return err_errno(b->cli->err, errno, "cannot make a pipe");
    (void)setenv("TF_CPP_MIN_LOG_LEVEL", "2", 0);
    (void)setenv("PYTHONUNBUFFERED", "1", 0);
    b->child = fork();
    if (!b->child) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(pipe_fd[1], STDOUT_FILENO);
        dup2(pipe_fd[1], STDERR_FILENO);
        execvp(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    close(pipe_fd[1]);
    b->out = pipe_fd[0];
    (void)fcntl(b->out, F_SETFL, O_NONBLOCK);
    if (b->child < 0) {
        close(b->out);
        return err_errno(b->cli->err, errno, "cannot start TensorBoard");
    }
    return DET_OK;
}

/* "TensorBoard 2.21.0 at http://127.0.0.1:40123/proxy/... (Press CTRL+C to quit)" */
static void look_for_port(struct tensorboard_task *b, const char *line)
{
    const char *at = strstr(line, " at http://");
    const char *host = at ? at + strlen(" at http://") : "";
    const char *colon = strchr(host + (*host == '[' ? strcspn(host, "]") : 0), ':');

    if (colon && !b->port)
        b->port = strtoll(colon + 1, NULL, 10);
}

static void handle_line(struct tensorboard_task *b, size_t len)
{
    char last = b->line.data[len];

    b->line.data[len] = '\0';
    look_for_port(b, b->line.data);
    fprintf(stderr, "%s\n", b->line.data);
    b->line.data[len] = last;
    buf_drop(&b->line, MIN(len + 1, b->line.len));
}

/* Reads output of TensorBoard; false: the end. */
static bool read_output(struct tensorboard_task *b)
{
    char bytes[4096];
    ssize_t n = read(b->out, bytes, sizeof(bytes));
    const char *end;

    if (n > 0)
        buf_add(&b->line, bytes, (size_t)n);
    while ((end = memchr(b->line.data, '\n', b->line.len)))
        handle_line(b, (size_t)(end - b->line.data));
    if (b->line.len > LINE_MOST || (n == 0 && b->line.len))
        handle_line(b, b->line.len);
    return n != 0;
}

/* ---- calls to the master --------------------------------------------------------- */

static det_status call_task(struct tensorboard_task *b, const char *method,
                            const char *path, const char *body, struct arena *mem,
                            struct json **ret_reply)
{
    det_reply *reply = NULL;
    det_status st = det_call(b->task, method, path, body, &reply);

    if (!st && ret_reply) {
        size_t len;
        const char *text = det_reply_body(reply, &len);

        st = json_parse(text, len, mem, ret_reply, NULL);
    }
    det_reply_free(reply);
    return st;
}

/* Repeated in every turn until the master has it. */
static void register_port(struct tensorboard_task *b)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    const char *path =
        arena_printf(&mem, "/api/v1/det/allocations/%s/proxy", b->allocation);
    const char *body = arena_printf(&mem, "{\"port\":%" PRId64 "}", b->port);
    det_status st =
        path && body ? call_task(b, "POST", path, body, &mem, NULL) : DET_NOMEM;

    b->is_registered = !st;
    if (st)
        cli_note(b->cli, "the master does not know the port yet: %s",
                 det_error_text(b->task));
    else
        cli_note(b->cli, "TensorBoard is ready at /proxy/%s/", b->task_id);
}

/* Whether nobody has used it for `timeout_s`. */
static bool is_idle(struct tensorboard_task *b)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    const char *path =
        arena_printf(&mem, "/api/v1/det/allocations/%s/proxy", b->allocation);
    struct json *reply = NULL;

    if (b->timeout_s <= 0 || !path || call_task(b, "GET", path, NULL, &mem, &reply))
        return false;
    return json_i64(json_get(reply, "idleSeconds"), 0) >= b->timeout_s;
}

/* ---- the turns ------------------------------------------------------------------- */

static void wait_until(struct tensorboard_task *b, int64_t until_ms)
{
    struct pollfd row = {.fd = b->out, .events = POLLIN};
    int64_t left;
    bool is_open = true;

    while (is_open && (left = until_ms - clock_mono_us(&clock_system) / 1000) > 0) {
        if (poll(&row, 1, (int)left) > 0)
            is_open = read_output(b);
        if (b->port && !b->is_registered)
            register_port(b);
    }
    if (!is_open && left > 0)
        usleep(100000); /* it is ending */
}

static det_status end_of(struct tensorboard_task *b, int status)
{
    if (WIFEXITED(status) && !WEXITSTATUS(status))
        return DET_OK;
    if (WIFSIGNALED(status))
        return cli_fail(b->cli, DET_FAILED, "TensorBoard was killed by signal %d",
                        WTERMSIG(status));
    return cli_fail(b->cli, DET_FAILED, "TensorBoard ended with exit code %d",
                    WEXITSTATUS(status));
}

static det_status run_turns(struct tensorboard_task *b, struct tensorboard_runs *runs)
{
    int status = 0;

    for (;;) {
        struct err err = {0};

        wait_until(b, clock_mono_us(&clock_system) / 1000 + TURN_MS);
        if (waitpid(b->child, &status, WNOHANG) == b->child) {
            (void)read_output(b);
            return end_of(b, status);
        }
        if (tensorboard_runs_update(runs, &err))
            cli_note(b->cli, "%s", err.text);
        if (b->is_registered && is_idle(b))
            break;
    }
    cli_note(b->cli, "nobody has used TensorBoard for %" PRId64 " s: it ends",
             b->timeout_s);
    kill(b->child, SIGTERM);
    waitpid(b->child, &status, 0);
    return DET_OK;
}

static det_status read_task(struct tensorboard_task *b, const struct json **ret_sources)
{
    struct cli *cli = b->cli;
    const char *sources = getenv("DET_TENSORBOARD");
    const char *config = getenv("DET_TASK_CONFIG");
    det_client_options options = {.size = sizeof(options),
                                  .identity = DET_AS_TASK,
                                  .error = cli->err->text,
                                  .error_size = sizeof(cli->err->text)};
    struct json *tree = NULL;
    struct json *shown = NULL;

    b->allocation = getenv("DET_ALLOCATION_ID");
    b->task_id = getenv("DET_TASK_ID");
    if (!sources || !config || !b->allocation || !b->task_id || !getenv("DET_MASTER"))
        return cli_fail(cli, DET_INVALID,
                        "'det internal tensorboard' works inside a TensorBoard's "
                        "task only: start one with 'det tensorboard start'");
    if (json_parse(sources, strlen(sources), &cli->mem, &shown, cli->err) ||
        json_parse(config, strlen(config), &cli->mem, &tree, cli->err))
        return cli->err->status;
    b->config = tree;
    b->timeout_s = json_i64(json_get(tree, "idle_timeout"), 0);
    *ret_sources = shown;
    cli->err->status = det_client_open(&options, &b->task);
    return cli->err->status ? cli->err->status : cli_connect(cli);
}

det_status run_internal_tensorboard(struct cli *cli, const struct cli_invocation *in)
{
    struct tensorboard_task b = {.cli = cli, .line = BUF_INIT};
    struct tensorboard_runs *runs = NULL;
    const struct json *sources = NULL;
    char version[64];
    det_status st;

    (void)in;
    if (!has_tensorboard(version))
        return build_environment(cli);
    st = read_task(&b, &sources);
    if (!st) {
        cli_note(cli, "using TensorBoard %s of python3", version);
        st = tensorboard_runs_new(cli, sources, LOGS, &runs);
    }
    if (!st)
        st = tensorboard_runs_update(runs, cli->err);
    if (!st)
        st = start_tensorboard(&b);
    if (!st)
        st = run_turns(&b, runs);
    tensorboard_runs_free(runs);
    buf_done(&b.line);
    det_client_close(b.task);
    return st;
}
