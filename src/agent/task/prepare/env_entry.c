/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/task/prepare/env_entry.h"

#include <string.h>

#include "agent/env/enter.h"
#include "agent/privileged.h"
#include "agent/task/prepare/identity.h"
#include "agent/task/prepare/task_layout.h"
#include "agent/task/spec.h"
#include "agent/task/task_dir.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/vec.h"
#include "data/json/json.h"

#define USER_ENVS "user-%u"

enum { FILE_MOST = 4 << 20, SCRATCH = 64 << 10 };

static const char *envs_of(const struct env_entry *d, struct arena *mem)
{
    if (!d->who || !d->who->is_other)
        return d->spec->envs;
    return arena_printf(mem, "%s/" USER_ENVS, d->spec->envs, (unsigned)d->who->uid);
}

det_status env_entry_prepare(struct io *io, const struct env_entry *entry,
                             struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SCRATCH);
    const char *name;
    det_status st;

    if (!entry->spec->envs)
        return DET_OK;
    st = io_mkdir(io, entry->spec->envs, false, err);
    if (st || !entry->who->is_other)
        return st;
    name = arena_printf(&mem, USER_ENVS, (unsigned)entry->who->uid);
    if (!name)
        return err_default(err, DET_NOMEM);
    return privileged_own_dir(entry->who, entry->spec->envs, name, err);
}

/* ---- the command ----------------------------------------------------------------- */

struct words {
    VEC(const char *) list;
    bool has_failed;
};

static void add_word(struct words *words, const char *word)
{
    words->has_failed |= !word || !vec_push(&words->list, word);
}

static void add_option(struct words *words, const char *name, const char *value)
{
    if (!value)
        return;
    add_word(words, name);
    add_word(words, value);
}

static void add_requirements(struct words *words, const struct json *requirements)
{
    add_option(words, "--requirements", json_str(requirements, NULL));
    if (!requirements || requirements->kind != JSON_ARRAY)
        return;
    json_each(line, requirements)
        add_option(words, "--require", json_str(line, NULL));
}

static void add_options(struct words *words, const struct env_entry *d,
                        struct arena *mem)
{
    add_word(words, d->program);
    add_word(words, "task");
    add_word(words, "enter");
    add_option(words, "--envs", envs_of(d, mem));
    add_option(words, "--record", task_dir_path(mem, d->dir, TASK_DIR_RECORD));
    add_option(words, "--failure", task_dir_path(mem, d->dir, TASK_DIR_FAILURE));
    add_option(words, "--python", d->spec->python);
    add_requirements(words, d->spec->requirements);
    add_option(words, "--package", task_layout_package(d->program, mem));
    add_option(words, "--code", d->code);
    for (size_t i = 0; i < d->spec->gpu_names.count; i++)
        add_option(words, "--gpu", d->spec->gpu_names.at[i]);
    add_word(words, "--");
}

det_status env_entry_argv(const struct env_entry *entry, const char **argv,
                          struct arena *mem, const char ***ret_argv, struct err *err)
{
    struct words words = {0};
    const char **result;

    *ret_argv = argv;
    if (!entry->spec->envs)
        return DET_OK;
    add_options(&words, entry, mem);
    for (; *argv; argv++)
        add_word(&words, *argv);
    result = arena_array(mem, const char *, words.list.count + 1);
    if (result && words.list.count)
        memcpy(result, words.list.at, words.list.count * sizeof(*result));
    vec_done(&words.list);
    if (!result || words.has_failed || mem->has_failed)
        return err_default(err, DET_NOMEM);
    *ret_argv = result;
    return DET_OK;
}

/* ---- files of `det task enter` --------------------------------------------------- */

/* The file may be written by another user. */
static det_status read_plain(struct io *io, const char *path, struct arena *mem,
                             struct json **ret_tree, struct err *err)
{
    CLEANUP(io_closep) struct io_file *file = NULL;
    uint64_t size = 0;
    size_t len = 0;
    char *text;
    det_status st;

    if (!path)
        return err_default(err, DET_NOMEM);
    st = io_open(io, path, IO_READ | IO_PLAIN, &file, err);
    if (!st)
        st = io_size(file, &size, err);
    if (!st && size > FILE_MOST)
        st = err_set(err, DET_TOO_LARGE, "'%s' is too large", path);
    text = st ? NULL : arena_alloc(mem, size + 1);
    if (!st && !text)
        st = err_default(err, DET_NOMEM);
    if (!st)
        st = io_read_at(file, 0, text, size, &len, err);
    return st ? st : json_parse(text, len, mem, ret_tree, err);
}

void env_entry_explain(struct io *io, const char *dir, struct arena *mem,
                       struct task_exit *exit)
{
    struct enter_failure failure = {0};
    struct json *tree;

    if (strcmp(exit->exit, "FAILED") != 0 ||
        read_plain(io, task_dir_path(mem, dir, TASK_DIR_FAILURE), mem, &tree, NULL) ||
        fields_read(enter_failure_fields, tree, mem, &failure, NULL) ||
        failure.code != exit->code)
        return;
    exit->reason = failure.sentence;
    exit->is_final = failure.is_final;
    if (failure.is_lacking && !failure.is_final)
        exit->exit = "LACKING";
}

bool env_entry_is_asking(struct io *io, const char *dir, struct arena *mem)
{
    const char *part = task_dir_path(mem, dir, TASK_DIR_RECORD ENTER_PART);
    const char *whole = task_dir_path(mem, dir, TASK_DIR_RECORD);
    struct io_stat found;

    return part && whole && io_stat(io, part, &found, NULL) == DET_OK &&
           io_stat(io, whole, &found, NULL) == DET_NOT_FOUND;
}

det_status env_entry_record(struct io *io, const char *dir, bool is_last,
                            struct arena *mem, struct json **ret_record,
                            struct err *err)
{
    det_status st =
        read_plain(io, task_dir_path(mem, dir, TASK_DIR_RECORD), mem, ret_record, err);

    if (st == DET_NOT_FOUND && is_last)
        st = read_plain(io, task_dir_path(mem, dir, TASK_DIR_RECORD ENTER_PART), mem,
                        ret_record, err);
    if (!st && (*ret_record)->kind != JSON_OBJECT)
        st = err_set(err, DET_INVALID, "the task's record is not an object");
    return st;
}
