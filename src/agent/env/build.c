/* SPDX-License-Identifier: Apache-2.0 */
/* build.c - runs venv and pip, and lists the result.
 *
 * Interpreters are installed with different tools: Debian's has no ensurepip unless
 * python3-venv is installed.  So we try, in this order: `-m venv` with its own pip; an
 * empty environment, filled by the interpreter's own pip (--python, since pip 22.3);
 * virtualenv.
 *
 * pip does not get those settings of the task that would break the build: PYTHONPATH
 * hides missing packages, --user and --target install elsewhere.  The user and the
 * machine decide which index it uses. */
#include "agent/env/build.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/env/interpreter.h"
#include "agent/env/process.h"
#include "base/clock.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "data/json/json.h"
#include "model/field.h"
#include "wire/report.h"

enum {
    TAIL = 20,
    TAIL_LINE = 400,
    WAIT_MS = 200,
    LOOK_MS = 5,
    SHORT_KEY = 10,
    TELL_EVERY_MS = 15000,
    STATUS_EVERY_US = 1000000,
};

static void print_line(const char *fmt, ...) PRINTF_LIKE(1, 2);

static void print_line(const char *fmt, ...)
{
    va_list args;

    fputs("[det] ", stderr);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    fflush(stderr);
}

static int64_t mono_us(void)
{
    return clock_mono_us(&clock_system);
}

/* ---- running programs ------------------------------------------------------------ */

/* The last lines that a program printed, for the error message. */
struct tail {
    char line[TAIL][TAIL_LINE];
    size_t count; /* of all lines */
    char cause[TAIL_LINE];
    const char *no_index; /* why no package index can be reached; NULL: one was */
    char doing[TAIL_LINE];
    size_t collected; /* packages that pip has begun to look for */
    int64_t began_us;
    void (*tell)(const char *text);
    int64_t tell_us; /* not before */
    bool may_pass;
    bool is_full; /* the disk */
};

static bool has(const char *line, const char *part)
{
    return strstr(line, part) != NULL;
}

bool build_may_pass(const char *line)
{
    static const char *const signs[] = {
        "Retrying (",         "onnection broken",   "onnectionError",
        "NewConnectionError", "onnection refused",  "onnection reset",
        "ame resolution",     "ame or service not", "timed out",
        "imeoutError",        "ReadTimeout",        "SSLError",
        "ProxyError",         "HTTP error 5",       "o space left on",
        "MemoryError",        "annot allocate",     "Killed",
        "isk quota",          "oo many open files",
    };

    for (size_t i = 0; i < ARRAY_LEN(signs); i++)
        if (has(line, signs[i]))
            return true;
    return false;
}

const char *build_no_index(const char *line)
{
    static const struct {
        const char *sign;
        const char *reason;
    } rows[] = {
        {"ame resolution", "its name cannot be resolved"},
        {"ame or service not", "its name cannot be resolved"},
        {"etwork is unreachable", "the network is unreachable"},
        {"o route to host", "the network is unreachable"},
        {"onnection refused", "it refuses the connection"},
        {"ProxyError", "the proxy refuses the connection"},
        {"SSLError", "its certificate is not trusted"},
        {"imeoutError", "it does not answer"},
        {"timed out", "it does not answer"},
        {"onnection broken", "the connection breaks"},
    };

    if (!has(line, "Retrying (") && !has(line, "Could not fetch URL"))
        return NULL;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (has(line, rows[i].sign))
            return rows[i].reason;
    return "there is no connection";
}

/* Large downloads, compiling and unpacking take long, so the log says when they
 * begin. */
static bool is_worth_telling(const char *line)
{
    while (*line == ' ')
        line++;
    return strncmp(line, "Building wheel for", 18) == 0 ||
           strncmp(line, "Installing collected packages", 29) == 0 ||
           (strncmp(line, "Downloading", 11) == 0 &&
            (has(line, " MB)") || has(line, " GB)")));
}

/* For people who look at the trial or wait for it; the log has only what takes long. */
static void tell_status(struct tail *tail, const char *line)
{
    char text[TAIL_LINE];

    if (!tail->tell || mono_us() < tail->tell_us)
        return;
    tail->tell_us = mono_us() + STATUS_EVERY_US;
    snprintf(text, sizeof(text), STATUS_BUILDING " (%zu package%s found): %.100s",
             tail->collected, tail->collected == 1 ? "" : "s", line);
    tail->tell(text);
}

static void take_line(void *arg, const char *line)
{
    struct tail *tail = arg;

    snprintf(tail->line[tail->count++ % TAIL], TAIL_LINE, "%s", line);
    if (strncmp(line, "ERROR: ", 7) == 0)
        snprintf(tail->cause, sizeof(tail->cause), "%s", line + 7);
    if (!tail->no_index)
        tail->no_index = build_no_index(line);
    tail->collected += strncmp(line, "Collecting ", 11) == 0;
    snprintf(tail->doing, sizeof(tail->doing), "%s", line + strspn(line, " "));
    tell_status(tail, tail->doing);
    tail->may_pass |= build_may_pass(line);
    tail->is_full |= has(line, "o space left on") || has(line, "isk quota");
    if (is_worth_telling(line))
        print_line("%s", line + strspn(line, " "));
}

/* pip is silent during a download, however large it is. */
static void tell_progress(void *arg)
{
    const struct tail *tail = arg;

    if (!tail->count)
        return;
    print_line("still at work after %d s: %zu package%s found so far, now: %.120s",
               (int)((mono_us() - tail->began_us) / 1000000), tail->collected,
               tail->collected == 1 ? "" : "s", tail->doing);
}

static void tell_tail(const struct tail *tail)
{
    size_t first = tail->count > TAIL ? tail->count - TAIL : 0;

    for (size_t i = first; i < tail->count; i++)
        fprintf(stderr, "%s\n", tail->line[i % TAIL]);
    fflush(stderr);
}

struct env_build {
    const struct build_config *config;
    const struct interpreter *interpreter;
    const struct env_key *key;
    const char *dir;    /* of the environment */
    const char *python; /* its own */
    const char *from;   /* "requirements.txt" */
    struct arena *mem;
    bool is_final;
    bool has_told; /* a status */
};

static det_status run_program(struct env_build *w, const char *const *argv,
                              struct err *err)
{
    static const char *const changes[] = {
        "PYTHONPATH",         "PYTHONHOME",           "PIP_TARGET",
        "PIP_PREFIX",         "PIP_USER=0",           "PIP_REQUIRE_VIRTUALENV=0",
        "PIP_NO_INPUT=1",     "PYTHONUNBUFFERED=1",   "PIP_DISABLE_PIP_VERSION_CHECK=1",
        "PYTHONNOUSERSITE=1", "PIP_PROGRESS_BAR=off", NULL,
    };
    struct tail *tail = arena_new(w->mem, struct tail);
    struct process process = {.argv = argv,
                              .changes = changes,
                              .directory = w->config->wish.folder,
                              .on_line = take_line,
                              .on_wait = tell_progress,
                              .wait_ms = TELL_EVERY_MS,
                              .arg = tail};
    int how = 0;
    det_status st;

    if (!tail)
        return err_default(err, DET_NOMEM);
    tail->began_us = mono_us();
    tail->tell = w->config->tell;
    st = process_run(&process, &how, err);
    if (st || process_was_fine(how))
        return st;
    tell_tail(tail);
    if (tail->is_full)
        return err_set(err, DET_FULL,
                       "the disk with '%s' is full: the environment of %s cannot be "
                       "built; make room, for instance with 'det env prune'",
                       w->config->envs, w->from);
    w->is_final = WIFEXITED(how) && !tail->may_pass;
    if (tail->no_index)
        return err_set(err, DET_FAILED,
                       "the environment of %s cannot be built: pip cannot reach the "
                       "package index (%s); connect this machine to a network, or name "
                       "another index with PIP_INDEX_URL, or a folder of wheels with "
                       "PIP_FIND_LINKS",
                       w->from, tail->no_index);
    return err_set(err, DET_FAILED, "the environment of %s cannot be built: %s",
                   w->from, tail->cause[0] ? tail->cause : "see the lines above");
}

/* ---- an empty environment -------------------------------------------------------- */

static bool can_fill_from_outside(const struct interpreter *it)
{
    return it->pip_major > 22 || (it->pip_major == 22 && it->pip_minor >= 3);
}

static det_status no_way(struct env_build *w, struct err *err)
{
    char host[128] = "this machine";

    (void)gethostname(host, sizeof(host) - 1);
    w->is_final = true;
    return err_set(err, DET_UNSUPPORTED,
                   "'%s' on %s cannot make environments: it has neither ensurepip nor "
                   "pip 22.3 nor virtualenv; install python3-venv there (Debian, "
                   "Ubuntu), or name another with environment.python",
                   w->interpreter->path, host);
}

static det_status make_empty(struct env_build *w, struct err *err)
{
    const struct interpreter *it = w->interpreter;
    const char *full[] = {it->executable, "-m", "venv", w->dir, NULL};
    const char *bare[] = {it->executable, "-m", "venv", "--without-pip", w->dir, NULL};
    const char *other[] = {it->executable, "-m", "virtualenv", w->dir, NULL};

    if (it->has_venv && it->has_ensurepip)
        return run_program(w, full, err);
    if (it->has_venv && can_fill_from_outside(it))
        return run_program(w, bare, err);
    return it->has_virtualenv ? run_program(w, other, err) : no_way(w, err);
}

/* ---- filling it ------------------------------------------------------------------ */

/* A list in the configuration becomes a file in the task's folder, to which its
 * relative paths refer. */
static det_status write_lines(struct env_build *w, const char **ret_path,
                              struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    const struct field_strs *lines = w->config->wish.lines;
    const char *path =
        arena_printf(w->mem, "%s/.det-requirements.txt", w->config->wish.folder);

    for (size_t i = 0; lines && i < lines->count; i++)
        buf_printf(&text, "%s\n", lines->at[i]);
    if (!path || text.status)
        return err_default(err, DET_NOMEM);
    *ret_path = path;
    return io_replace(w->config->io, path, text.data, text.len, false, err);
}

static det_status install_packages(struct env_build *w, struct err *err)
{
    const struct interpreter *it = w->interpreter;
    bool is_bare = it->has_venv && !it->has_ensurepip && can_fill_from_outside(it);
    const char *file = w->config->wish.file;
    const char *argv[10];
    size_t n = 0;
    det_status st = file ? DET_OK : write_lines(w, &file, err);

    if (st)
        return st;
    argv[n++] = is_bare ? it->executable : w->python;
    argv[n++] = "-m";
    argv[n++] = "pip";
    if (is_bare) {
        argv[n++] = "--python";
        argv[n++] = w->python;
    }
    argv[n++] = "install";
    argv[n++] = "-r";
    argv[n++] = file;
    argv[n] = NULL;
    if (w->key->packages)
        st = run_program(w, argv, err);
    if (!w->config->wish.file)
        (void)io_remove(w->config->io, file, NULL);
    return st;
}

/* Lets `python -I` find `determined`, too.  A package of that name in the requirements
 * comes first. */
static det_status write_pth(struct env_build *w, struct err *err)
{
    const char *text, *path;

    if (!w->config->package)
        return DET_OK;
    path = arena_printf(w->mem, "%s/lib/python%d.%d/site-packages/det.pth", w->dir,
                        w->interpreter->major, w->interpreter->minor);
    text = arena_printf(w->mem, "%s\n", w->config->package);
    if (!path || !text)
        return err_default(err, DET_NOMEM);
    return io_replace(w->config->io, path, text, strlen(text), false, err);
}

static uint64_t tree_size(struct io *io, const char *path, struct arena *mem)
{
    struct io_stat found;
    const char **names;
    uint64_t size;

    if (io_stat(io, path, &found, NULL))
        return 0;
    size = found.size_bytes;
    if (found.kind != IO_DIRECTORY || io_list(io, path, mem, &names, NULL))
        return size;
    for (; *names; names++) {
        const char *inner = arena_printf(mem, "%s/%s", path, *names);

        size += inner ? tree_size(io, inner, mem) : 0;
    }
    return size;
}

static det_status finish(struct env_build *w, int64_t began_us, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    CLEANUP(arena_done) struct arena scratch = ARENA_INIT(256 << 20);
    struct json_writer j = JSON_WRITER(&text);
    struct interpreter own;
    det_status st =
        interpreter_ask(w->config->io, w->python, NULL, false, w->mem, &own, err);

    if (st)
        return st;
    jw_object(&j, NULL);
    jw_str(&j, "key", w->key->text);
    jw_str(&j, "from", w->from);
    jw_str(&j, "requirements", w->key->requirements);
    jw_str(&j, "python", own.version);
    jw_str(&j, "implementation", own.implementation);
    jw_str(&j, "platform", own.platform);
    jw_str(&j, "executable", own.executable);
    jw_str(&j, "base", w->interpreter->executable);
    jw_json(&j, "packages", own.packages);
    jw_i64(&j, "sizeBytes", (int64_t)tree_size(w->config->io, w->dir, &scratch));
    jw_i64(&j, "tookMs", (mono_us() - began_us) / 1000);
    jw_time(&j, "built", clock_wall_us(&clock_system));
    jw_end_object(&j);
    return envs_finish(w->config->io, w->dir, &text, err);
}

static void tell_state(struct env_build *w, const char *text)
{
    w->has_told = true;
    if (w->config->tell)
        w->config->tell(text);
}

static det_status build(struct env_build *w, struct err *err)
{
    int64_t began_us = mono_us();
    size_t count = w->key->packages;
    det_status st =
        envs_begin(w->config->io, w->config->envs, w->key->text, w->mem, &w->dir, err);

    if (st)
        return st;
    w->python = arena_printf(w->mem, "%s/bin/python", w->dir);
    if (!w->python)
        return err_default(err, DET_NOMEM);
    print_line(
        "building environment %.*s from %s (%zu package%s, Python %s): the first time, "
        "this may take minutes",
        SHORT_KEY, w->key->text, w->from, count, count == 1 ? "" : "s",
        w->interpreter->version);
    tell_state(w, STATUS_BUILDING);
    st = make_empty(w, err);
    if (!st)
        print_line("installing the packages of %s", w->from);
    if (!st)
        st = install_packages(w, err);
    if (!st)
        st = write_pth(w, err);
    if (!st)
        st = finish(w, began_us, err);
    if (!st)
        print_line("environment %.*s is ready after %.1f s", SHORT_KEY, w->key->text,
                   (double)(mono_us() - began_us) / 1e6);
    else
        (void)io_remove_tree(w->config->io, w->dir, NULL);
    return st;
}

/* ---- getting it ------------------------------------------------------------------ */

static det_status find_or_build(struct env_build *w, struct build *ret, struct err *err)
{
    const struct build_config *c = w->config;
    CLEANUP(io_closep) struct io_file *lock = NULL;
    bool has_said = false;
    det_status st;

    for (;;) {
        st = envs_find(c->io, c->envs, w->key->text, clock_wall_us(&clock_system),
                       w->mem, &ret->env, err);
        if (st == DET_BUSY) {
            poll(NULL, 0, LOOK_MS);
            continue;
        }
        if (st != DET_NOT_FOUND)
            return st;
        if (!lock) {
            st = envs_lock(c->io, c->envs, w->key->text, w->mem, &lock, err);
            if (st == DET_BUSY && !has_said) {
                print_line("another task builds environment %.*s, waiting for it",
                           SHORT_KEY, w->key->text);
                tell_state(w, STATUS_BUILDING ": another task does");
            }
            has_said |= st == DET_BUSY;
            if (st == DET_BUSY)
                poll(NULL, 0, WAIT_MS);
            else if (st)
                return st;
            continue; /* it may have been built in between */
        }
        st = build(w, err);
        if (st)
            return st;
    }
}

det_status build_environment(const struct build_config *config, struct arena *mem,
                             struct build *ret_build, struct err *err)
{
    struct interpreter interpreter;
    struct env_key key;
    struct env_build w = {.config = config,
                          .interpreter = &interpreter,
                          .key = &key,
                          .from = config->wish.file ? config->wish.file
                                                    : "environment.requirements",
                          .mem = mem};
    const char *path;
    det_status st = interpreter_find(config->python, mem, &path, err);

    *ret_build = (struct build){.is_final = st == DET_NOT_FOUND};
    if (!st) {
        st = interpreter_ask(config->io, path, config->envs, false, mem, &interpreter,
                             err);
        ret_build->is_final = st == DET_INVALID;
    }
    if (!st) {
        st = env_key(config->io, &config->wish, &interpreter, mem, &key, err);
        ret_build->is_final = st == DET_INVALID;
    }
    if (st)
        return st;
    st = find_or_build(&w, ret_build, err);
    ret_build->is_final = st && w.is_final;
    if (!st && w.has_told)
        tell_state(&w, STATUS_BUILT);
    return st;
}
