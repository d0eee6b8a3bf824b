/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/env/enter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/env/build.h"
#include "agent/env/interpreter.h"
#include "agent/env/machine.h"
#include "agent/task/prepare/child.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "data/json/json.h"
#include "det/det.h"

enum { MEM_LIMIT = 512 << 20, NICE = 10 };

const struct field enter_failure_fields[] = {
    FIELD_REQUIRED(STR, enter_failure, sentence, "why"),
    FIELD(I64, enter_failure, code, "its exit code"),
    FIELD(BOOL, enter_failure, is_final, "it would fail again"),
    FIELD(BOOL, enter_failure, is_lacking, "its machine lacks resources"),
    FIELD_END,
};

struct enter {
    const struct enter_options *options;
    const char *folder; /* this one */
    struct io *io;
    struct arena mem;
    struct build build; /* its env.marker NULL: none was asked for */
};

static bool wants_packages(const struct enter_options *options)
{
    return options->requirements || options->require.count;
}

/* ---- the record ------------------------------------------------------------------ */

/* Readers see it complete or not at all, but it is not durable: the task does not
 * survive a loss of power either, and no start waits for a disk. */
static det_status put_file(struct enter *e, const char *path, const struct buf *text,
                           struct err *err)
{
    CLEANUP(io_closep) struct io_file *file = NULL;
    const char *draft = arena_printf(&e->mem, "%s.new", path);
    det_status st;

    if (!draft)
        return err_default(err, DET_NOMEM);
    st = io_open(e->io, draft, IO_WRITE | IO_CREATE | IO_TRUNCATE, &file, err);
    if (!st)
        st = io_write_at(file, 0, text->data, text->len, err);
    return st ? st : io_rename(e->io, draft, path, err);
}

/* `python` NULL: there is none, or it was not asked yet. */
static void write_record(struct enter *e, const struct interpreter *python,
                         const char *path)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);
    const struct json *marker = e->build.env.marker;
    struct err err = {0};

    jw_object(&w, NULL);
    machine_write(&w, e->io, &e->options->gpus, &e->mem);
    jw_str(&w, "code", e->options->code);
    jw_str(&w, "environment", marker ? e->build.env.key : NULL);
    jw_str(&w, "requirements", json_str(json_get(marker, "requirements"), NULL));
    if (python) {
        jw_object(&w, "python");
        jw_str(&w, "executable", python->executable);
        jw_str(&w, "version", python->version);
        jw_str(&w, "implementation", python->implementation);
        jw_str(&w, "platform", python->platform);
        jw_end_object(&w);
        jw_json(&w, "packages", python->packages);
    }
    jw_end_object(&w);
    if (text.status || e->mem.has_failed || put_file(e, path, &text, &err))
        fprintf(stderr, "[det] the environment of this run is not recorded: %s\n",
                err.text[0] ? err.text : "out of memory");
}

/* In a detached process without output. */
static void ask_beside(struct enter *e, const char *path)
{
    struct interpreter python;
    pid_t pid;
    int null;

    pid = fork();
    if (pid > 0) {
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            continue;
        return;
    }
    if (pid < 0)
        return; /* only the part will exist */
    if (fork() != 0)
        _exit(0);
    null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++)
        dup2(null, fd);
    close_range(3, ~0U, 0);
    (void)!nice(NICE);
    if (interpreter_ask(e->io, path, e->options->envs, false, &e->mem, &python, NULL) ==
        DET_OK)
        write_record(e, &python, e->options->record);
    _exit(0);
}

/* A built environment lists its contents; else a cached answer saves asking. */
static void record(struct enter *e)
{
    const struct json *marker = e->build.env.marker;
    const char *name = e->options->python ? e->options->python : "python3";
    const char *part = arena_printf(&e->mem, "%s" ENTER_PART, e->options->record);
    struct interpreter python = {
        .executable = json_str(json_get(marker, "executable"), ""),
        .version = json_str(json_get(marker, "python"), ""),
        .implementation = json_str(json_get(marker, "implementation"), ""),
        .platform = json_str(json_get(marker, "platform"), ""),
        .packages = json_get(marker, "packages"),
    };
    const char *path;

    if (marker) {
        write_record(e, &python, e->options->record);
    } else if (interpreter_find(name, &e->mem, &path, NULL)) {
        write_record(e, NULL, e->options->record);
    } else if (interpreter_ask(e->io, path, e->options->envs, true, &e->mem, &python,
                               NULL) == DET_OK) {
        write_record(e, &python, e->options->record);
    } else if (part) {
        write_record(e, NULL, part);
        ask_beside(e, path);
    }
}

/* ---- the environment ------------------------------------------------------------- */

static det_status put_first(struct enter *e, const char *dir, struct err *err)
{
    const char *old = getenv("PATH");
    const char *path = arena_printf(&e->mem, "%s:%s", dir,
                                    old && *old ? old : "/usr/local/bin:/usr/bin:/bin");

    if (!path || setenv("PATH", path, 1))
        return err_default(err, DET_NOMEM);
    return DET_OK;
}

/* The status of the trial.  Other tasks have none, and a failure is not worth a word. */
static void tell_status(const char *text)
{
    const det_init_options options = {.size = sizeof(options),
                                      .flags = DET_INIT_QUIET | DET_INIT_TASK_ONLY};
    det_context *context = NULL;

    if (!getenv("DET_TRIAL_ID") || det_init(&options, &context))
        return;
    (void)det_set_status(context, text);
    det_close(context);
}

static det_status use_packages(struct enter *e, bool *ret_is_final, struct err *err)
{
    struct build_config config = {
        .io = e->io,
        .envs = e->options->envs,
        .package = e->options->package,
        .python = e->options->python ? e->options->python : "python3",
        .wish = {e->folder, e->options->requirements, &e->options->require},
        .tell = tell_status,
    };
    const char *bin;
    det_status st = build_environment(&config, &e->mem, &e->build, err);

    *ret_is_final = e->build.is_final;
    if (st)
        return st;
    bin = arena_printf(&e->mem, "%s/bin", e->build.env.dir);
    if (!bin || setenv("VIRTUAL_ENV", e->build.env.dir, 1))
        return err_default(err, DET_NOMEM);
    (void)unsetenv("PYTHONHOME");
    /* The lock lives as long as any process has this descriptor. */
    (void)fcntl(io_fd(e->build.env.use), F_SETFD, 0);
    return put_first(e, bin, err);
}

/* `python` and `python3` mean the named interpreter, whatever its file is called:
 * two small scripts first on PATH.  A symlink would not do, because a virtual
 * environment finds itself by the place of its interpreter. */
static det_status use_python(struct enter *e, bool *ret_is_final, struct err *err)
{
    static const char *const names[] = {"python", "python3"};
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    const char *slash = strrchr(e->options->record, '/');
    const char *bin = arena_printf(
        &e->mem, "%.*s/bin", (int)(slash - e->options->record), e->options->record);
    const char *path;
    det_status st = interpreter_find(e->options->python, &e->mem, &path, err);

    *ret_is_final = st == DET_NOT_FOUND;
    if (!st && !bin)
        st = err_default(err, DET_NOMEM);
    if (!st)
        st = io_mkdir(e->io, bin, true, err);
    if (st)
        return st;
    buf_puts(&text, "#!/bin/sh\nexec '");
    for (const char *c = path; *c; c++)
        if (*c == '\'')
            buf_puts(&text, "'\\''");
        else
            buf_putc(&text, *c);
    buf_puts(&text, "' \"$@\"\n");
    for (size_t i = 0; i < ARRAY_LEN(names) && !st; i++) {
        const char *file = arena_printf(&e->mem, "%s/%s", bin, names[i]);

        if (!file || text.status)
            return err_default(err, DET_NOMEM);
        st = io_replace(e->io, file, text.data, text.len, true, err);
        if (!st && chmod(file, 0700))
            st = err_errno(err, errno, "cannot make '%s' executable", file);
    }
    return st ? st : put_first(e, bin, err);
}

/* ---- the choice, in the log ------------------------------------------------------ */

/* Whether the command looks like Python: other programs need not hear of it. */
static bool is_python(const char *const *argv)
{
    for (; *argv; argv++)
        if (strstr(*argv, "python") || strstr(*argv, ".py"))
            return true;
    return false;
}

static void tell_choice(struct enter *e, const char *const *argv)
{
    const struct enter_options *options = e->options;
    const char *path;

    if (wants_packages(options)) {
        fprintf(stderr, "[det] Python: %s/bin/python3 (%s)\n", e->build.env.dir,
                options->requirements ? options->requirements
                                      : "environment.requirements");
        return;
    }
    if ((!options->python && !is_python(argv)) ||
        interpreter_find(options->python ? options->python : "python3", &e->mem, &path,
                         NULL))
        return;
    fprintf(stderr, "[det] Python: %s (%s)\n", path,
            options->python ? "environment.python" : "the agent's own");
}

/* ---- becoming the entrypoint ----------------------------------------------------- */

static int fail_task(struct enter *e, int code, bool is_final, const struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);

    fprintf(stderr, "[det] %s\n", err->text);
    jw_object(&w, NULL);
    jw_str(&w, "sentence", err->text);
    jw_i64(&w, "code", code);
    jw_bool(&w, "isFinal", is_final);
    jw_bool(&w, "isLacking", err_is_lack(err->status));
    jw_end_object(&w);
    if (!text.status)
        (void)put_file(e, e->options->failure, &text, NULL);
    arena_done(&e->mem);
    return code;
}

int enter_run(const struct enter_options *options, const char *const *argv)
{
    char folder[4096];
    struct enter e = {.options = options,
                      .folder = getcwd(folder, sizeof(folder)) ? folder : ".",
                      .io = io_system(),
                      .mem = ARENA_INIT(MEM_LIMIT)};
    struct err err = {0};
    const char *path;
    bool is_final = false;
    det_status st = DET_OK;

    if (wants_packages(options))
        st = use_packages(&e, &is_final, &err);
    else if (options->python)
        st = use_python(&e, &is_final, &err);
    if (st)
        return fail_task(&e, 1, is_final, &err);
    record(&e);
    tell_choice(&e, argv);
    if (getenv("DET_TENSORBOARD")) /* it may need its own packages */
        (void)setenv("DET_TASK_ENVS", options->envs, 1);
    st = child_find(argv[0], (const char *const *)(uintptr_t)environ, &e.mem, &path,
                    &err);
    if (!st) {
        execve(path, (char *const *)(uintptr_t)argv, environ);
        st = err_errno(&err, errno, "cannot run '%s'", argv[0]);
    }
    is_final = st == DET_NOT_FOUND || st == DET_FORBIDDEN;
    return fail_task(&e, child_exit_code(st), is_final, &err);
}
