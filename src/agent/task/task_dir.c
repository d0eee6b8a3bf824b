/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/task/task_dir.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/map.h"
#include "data/json/json.h"
#include "model/field.h"

enum { SMALL_FILE = 64 << 10 };

static const struct field pid_fields[] = {
    FIELD_REQUIRED(I64, task_dir_pid, supervisor, "the supervisor"),
    FIELD(I64, task_dir_pid, group, "the task's first process"),
    FIELD(I64, task_dir_pid, group_start, "when that began, in ticks"),
    FIELD(I64, task_dir_pid, mark, "the mark of its processes"),
    FIELD(STR, task_dir_pid, groups, "the control group around that of the task"),
    FIELD(STR, task_dir_pid, boot_id, "the machine's start"),
    FIELD_END,
};

static const struct field exit_fields[] = {
    FIELD_REQUIRED(STR, task_exit, exit, "CLEAN, FAILED, KILLED, TRANSIENT or LACKING"),
    FIELD(I64, task_exit, code, "the exit code, or 128 and the signal"),
    FIELD(STR, task_exit, reason, "the same in words"),
    FIELD(STR, task_exit, boot_id, "the machine's start"),
    FIELD(BOOL, task_exit, is_final, "it would fail again"),
    FIELD_END,
};

char *task_dir_path(struct arena *mem, const char *dir, const char *name)
{
    return arena_printf(mem, "%s/%s", dir, name);
}

const char *task_dir_boot_id(struct arena *mem)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(256);
    const char *played = getenv("DET_TEST_BOOT_ID");
    det_status status;

    if (played)
        return arena_strdup(mem, played);
    status = io_read_file(io_system(), "/proc/sys/kernel/random/boot_id", &text, NULL);
    if (status)
        return status == DET_NOMEM ? NULL : "";
    return arena_strndup(mem, text.data, strcspn(text.data, "\n"));
}

/* ---- files with a check ---------------------------------------------------------- */

static const char check_word[] = "\ncheck ";

det_status task_dir_write(struct io *io, const char *path, struct buf *text,
                          struct err *err)
{
    uint64_t check = hash_bytes(text->data, text->len);

    buf_printf(text, "%s%016" PRIx64 "\n", check_word, check);
    if (text->status)
        return err_default(err, text->status);
    return io_replace(io, path, text->data, text->len, true, err);
}

/* Removes the checksum.  Returns false if it does not match. */
static bool cut_check(struct buf *text)
{
    size_t tail = sizeof(check_word) - 1 + 16 + 1;
    char check[20];
    size_t len;

    if (text->len < tail ||
        strncmp(text->data + text->len - tail, check_word, sizeof(check_word) - 1) != 0)
        return true; /* no checksum; a truncated one would not parse as JSON */
    len = text->len - tail;
    snprintf(check, sizeof(check), "%016" PRIx64 "\n", hash_bytes(text->data, len));
    if (strcmp(check, text->data + len + sizeof(check_word) - 1) != 0)
        return false;
    buf_cut(text, len);
    return true;
}

det_status task_dir_read(struct io *io, const char *path, struct buf *text,
                         struct arena *mem, struct json **ret_tree, struct err *err)
{
    det_status status = io_read_plain(io, path, text, err);

    if (status)
        return status;
    status = cut_check(text) ? json_parse(text->data, text->len, mem, ret_tree, err)
                             : DET_INVALID;
    if (status == DET_INVALID)
        return err_set(err, DET_CORRUPT, "'%s' is damaged", path);
    return status;
}

static det_status write_record(struct io *io, const char *dir, const char *name,
                               const struct field *fields, const void *record,
                               struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SMALL_FILE);
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);
    char *path = task_dir_path(&mem, dir, name);

    fields_write_object(&w, NULL, fields, record);
    if (!path || text.status)
        return err_default(err, path ? text.status : DET_NOMEM);
    return task_dir_write(io, path, &text, err);
}

static det_status read_record(struct io *io, const char *path,
                              const struct field *fields, struct arena *mem,
                              void *record, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(SMALL_FILE);
    struct json *tree;
    det_status status;

    if (!path)
        return err_default(err, DET_NOMEM);
    status = task_dir_read(io, path, &text, mem, &tree, err);
    if (!status)
        status = fields_read(fields, tree, mem, record, err);
    if (status == DET_INVALID)
        return err_set(err, DET_CORRUPT, "'%s' is damaged", path);
    return status;
}

det_status task_dir_write_pid(struct io *io, const char *dir,
                              const struct task_dir_pid *pid, struct err *err)
{
    return write_record(io, dir, TASK_DIR_PID, pid_fields, pid, err);
}

det_status task_dir_read_pid(struct io *io, const char *dir, struct arena *mem,
                             struct task_dir_pid *ret_pid, struct err *err)
{
    struct task_dir_pid pid = {0};
    det_status status = read_record(io, task_dir_path(mem, dir, TASK_DIR_PID),
                                    pid_fields, mem, &pid, err);

    if (!status)
        *ret_pid = pid;
    return status;
}

/* ---- how it ended ---------------------------------------------------------------- */

static const char *signal_name(int number, struct arena *mem)
{
    const char *abbreviation = sigabbrev_np(number);

    if (abbreviation)
        return arena_printf(mem, "SIG%s", abbreviation);
    return arena_printf(mem, "%d", number);
}

/* What the exit code means to a shell, in words. */
static const char *meaning_of(int64_t code, struct arena *mem)
{
    const char *name = code > 128 ? sigabbrev_np((int)code - 128) : NULL;
    const char *text = "";

    if (code == 127)
        text = " (a command was not found)";
    else if (code == 126)
        text = " (a command may not be executed: is it missing chmod +x?)";
    else if (name)
        text = arena_printf(mem, " (a program it ran was killed by signal SIG%s%s)",
                            name, code == 128 + SIGKILL ? ": was memory short?" : "");
    return text ? text : "";
}

struct task_exit exit_classify(int wait_status, bool was_asked, struct arena *mem)
{
    struct task_exit exit = {.exit = "FAILED"};
    const char *name;

    if (WIFSIGNALED(wait_status)) {
        exit.code = 128 + WTERMSIG(wait_status);
        name = signal_name(WTERMSIG(wait_status), mem);
        exit.reason = arena_printf(mem, "killed by signal %s", name ? name : "?");
    } else {
        exit.code = WEXITSTATUS(wait_status);
        exit.reason = arena_printf(mem, "exited with code %" PRId64 "%s", exit.code,
                                   meaning_of(exit.code, mem));
        if (exit.code == 0)
            exit.exit = "CLEAN";
    }
    if (was_asked)
        exit.exit = "KILLED";
    if (!exit.reason)
        exit.reason = "ended";
    return exit;
}

det_status task_dir_write_exit(struct io *io, const char *dir,
                               const struct task_exit *exit, struct err *err)
{
    return write_record(io, dir, TASK_DIR_EXIT, exit_fields, exit, err);
}

/* The master would refuse an unknown word, and the exit would never be reported. */
static bool is_exit(const char *word)
{
    static const char *const words[] = {"CLEAN", "FAILED", "KILLED", "TRANSIENT",
                                        "LACKING"};

    for (size_t i = 0; word && i < ARRAY_LEN(words); i++)
        if (!strcmp(word, words[i]))
            return true;
    return false;
}

det_status task_dir_read_exit(struct io *io, const char *dir, struct arena *mem,
                              struct task_exit *ret_exit, struct err *err)
{
    struct task_exit exit = {0};
    const char *path = task_dir_path(mem, dir, TASK_DIR_EXIT);
    det_status status = read_record(io, path, exit_fields, mem, &exit, err);

    if (!status && !is_exit(exit.exit))
        return err_set(err, DET_CORRUPT, "'%s' is damaged", path);
    if (!status)
        *ret_exit = exit;
    return status;
}

/* ---- looking --------------------------------------------------------------------- */

static const char *kind_name(enum io_kind kind)
{
    static const char *const names[] = {
        [IO_NONE] = "nothing",
        [IO_FILE] = "a file",
        [IO_DIRECTORY] = "a directory",
        [IO_LINK] = "a link",
        [IO_OTHER] = "a pipe, a socket or a device",
    };

    return names[kind];
}

static det_status check_kind(struct io *io, const char *path, enum io_kind kind,
                             struct err *err)
{
    struct io_stat found;
    det_status status = path ? io_stat(io, path, &found, err) : DET_NOMEM;

    if (status == DET_FORBIDDEN) {
        if (err)
            err->status = DET_CORRUPT;
        return DET_CORRUPT;
    }
    if (status)
        return status == DET_NOT_FOUND ? DET_OK : err_default(err, status);
    if (found.kind != kind)
        return err_set(err, DET_CORRUPT, "'%s' is %s, not %s", path,
                       kind_name(found.kind), kind_name(kind));
    if (!(found.mode & 0400))
        return err_set(err, DET_CORRUPT, "'%s' was made unreadable", path);
    return DET_OK;
}

det_status task_dir_check(struct io *io, const char *dir, struct err *err)
{
    static const struct {
        const char *name;
        enum io_kind kind;
    } known[] = {
        {TASK_DIR_SPEC, IO_FILE},
        {TASK_DIR_LOCK, IO_FILE},
        {TASK_DIR_PID, IO_FILE},
        {TASK_DIR_CONTROL, IO_OTHER},
        {TASK_DIR_EXIT, IO_FILE},
        {TASK_DIR_LOG, IO_FILE},
        {TASK_DIR_MASTER, IO_FILE},
        {TASK_DIR_CERT, IO_FILE},
        {TASK_DIR_WORK, IO_DIRECTORY},
        {TASK_DIR_RUN, IO_DIRECTORY},
        {TASK_DIR_REPORTS, IO_DIRECTORY},
        {TASK_DIR_TMP, IO_DIRECTORY},
        {TASK_DIR_REPORTS "/head", IO_FILE},
    };
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SMALL_FILE);
    det_status status = check_kind(io, dir, IO_DIRECTORY, err);

    for (size_t i = 0; !status && i < ARRAY_LEN(known); i++)
        status =
            check_kind(io, task_dir_path(&mem, dir, known[i].name), known[i].kind, err);
    return status;
}

det_status task_dir_look(struct io *io, const char *dir, enum task_dir_state *ret_state,
                         struct io_file **ret_lock, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SMALL_FILE);
    char *lock_path = task_dir_path(&mem, dir, TASK_DIR_LOCK);
    char *exit_path = task_dir_path(&mem, dir, TASK_DIR_EXIT);
    struct io_file *lock = NULL;
    struct io_stat found;
    det_status status;

    if (!lock_path || !exit_path)
        return err_default(err, DET_NOMEM);
    status = io_open(io, lock_path, IO_WRITE | IO_CREATE | IO_PRIVATE | IO_PLAIN, &lock,
                     err);
    if (status)
        return status;
    status = io_lock(lock, err);
    if (status) {
        io_close(lock);
        if (status == DET_BUSY) {
            *ret_lock = NULL;
            *ret_state = TASK_DIR_ALIVE;
            return DET_OK;
        }
        return status;
    }
    status = io_stat(io, exit_path, &found, err);
    if (status && status != DET_NOT_FOUND) { /* whether it ended is not known */
        io_close(lock);
        return status;
    }
    *ret_state = status ? TASK_DIR_VANISHED : TASK_DIR_ENDED;
    *ret_lock = lock;
    return DET_OK;
}
