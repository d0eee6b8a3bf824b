/* SPDX-License-Identifier: Apache-2.0 */
/* task_layout.c - the only file that knows what the harness expects.  Info files must
 * have exactly these keys; the master sets the variables. */
#include "agent/task/prepare/task_layout.h"

#include <string.h>
#include <sys/stat.h>

#include "agent/task/master_cert.h"
#include "agent/task/spec.h"
#include "agent/task/task_dir.h"
#include "base/io/io.h"
#include "base/log.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/vec.h"
#include "data/archive/archive.h"
#include "data/base64.h"
#include "data/json/json.h"
#include "libdet/ring/ring.h"
#include "libdet/ring/ring_reader.h"

enum { SCRATCH = 1 << 20 };

/* ---- variables ------------------------------------------------------------------- */

/* Where libdet.so lies, as seen from the program's directory: installed, or built. */
static const char *const library_places[] = {
    ".",  "../lib", "../lib64", "../lib/x86_64-linux-gnu", "../lib/aarch64-linux-gnu",
    "..", "../..",
};

/* ... and det/det.h: installed, or in the tree. */
static const char *const header_places[] = {"../include", "../../include"};

/* ... and the Python package: installed, or built. */
static const char *const python_places[] = {"../lib/det/python", "pylib"};

struct variables {
    VEC(const char *) list; /* "NAME=value", in the arena */
    struct arena *mem;
};

static size_t name_len(const char *variable)
{
    return strcspn(variable, "=");
}

/* Replaces one of the same name. */
static void put_variable(struct variables *v, const char *variable)
{
    size_t len;

    if (!variable) {
        v->mem->has_failed = true;
        return;
    }
    len = name_len(variable);
    for (size_t i = 0; i < v->list.count; i++)
        if (name_len(v->list.at[i]) == len &&
            memcmp(v->list.at[i], variable, len) == 0) {
            v->list.at[i] = variable;
            return;
        }
    if (!vec_push(&v->list, variable))
        v->mem->has_failed = true;
}

static void set_variable(struct variables *v, const char *name, const char *value)
{
    put_variable(v, arena_printf(v->mem, "%s=%s", name, value));
}

static const char *value_of(const struct variables *v, const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < v->list.count; i++)
        if (name_len(v->list.at[i]) == len && memcmp(v->list.at[i], name, len) == 0)
            return v->list.at[i] + len + 1;
    return NULL;
}

static void put_in_front(struct variables *v, const char *name, const char *directory,
                         const char *fallback)
{
    const char *old = value_of(v, name);

    old = old && old[0] ? old : fallback;
    set_variable(v, name,
                 old ? arena_printf(v->mem, "%s:%s", directory, old) : directory);
}

static void put_behind(struct variables *v, const char *name, const char *directory)
{
    const char *old = value_of(v, name);

    set_variable(v, name,
                 old && old[0] ? arena_printf(v->mem, "%s:%s", old, directory)
                               : directory);
}

/* The first place below `directory` that holds the file; NULL: none does. */
static const char *place_of(struct variables *v, const char *directory,
                            const char *const *places, size_t count, const char *file)
{
    struct io_stat found;

    for (size_t i = 0; i < count; i++) {
        const char *place = arena_printf(v->mem, "%s/%s", directory, places[i]);
        const char *path = arena_printf(v->mem, "%s/%s", place ? place : "", file);

        if (path && io_stat(io_system(), path, &found, NULL) == DET_OK)
            return place;
    }
    return NULL;
}

static const char *folder_of(const char *program, struct arena *mem)
{
    const char *slash = strrchr(program, '/');

    return slash ? arena_strndup(mem, program, (size_t)(slash - program)) : ".";
}

const char *task_layout_package(const char *program, struct arena *mem)
{
    struct variables v = {.mem = mem};
    const char *directory = folder_of(program, mem);

    return directory ? place_of(&v, directory, python_places, ARRAY_LEN(python_places),
                                "determined/_det.abi3.so")
                     : NULL;
}

const char *task_layout_library(const char *program, struct arena *mem)
{
    struct variables v = {.mem = mem};
    const char *directory = folder_of(program, mem);

    return directory ? place_of(&v, directory, library_places,
                                ARRAY_LEN(library_places), "libdet.so")
                     : NULL;
}

/* Lets `cc train.c -ldet` work in a task, and its result run: compilers read CPATH
 * and LIBRARY_PATH.  Python finds our package after the user's own PYTHONPATH. */
static void put_program(struct variables *v, const char *program)
{
    const char *directory = folder_of(program, v->mem);
    const char *libraries, *headers, *python;

    if (!directory)
        return;
    put_in_front(v, "PATH", directory, "/usr/local/bin:/usr/bin:/bin");
    libraries = task_layout_library(program, v->mem);
    headers =
        place_of(v, directory, header_places, ARRAY_LEN(header_places), "det/det.h");
    if (libraries) {
        put_in_front(v, "LD_LIBRARY_PATH", libraries, NULL);
        put_in_front(v, "LIBRARY_PATH", libraries, NULL);
    }
    if (headers)
        put_in_front(v, "CPATH", headers, NULL);
    python = task_layout_package(program, v->mem);
    if (python)
        put_behind(v, "PYTHONPATH", python);
}

/* ---- the environment of the agent's shell ---------------------------------------- */

/* An agent, or the master that starts one, may be started from a shell in which a virtual
 * or Conda environment is active.  Tasks are other people's: that environment is not
 * theirs, so its variables and its place on PATH are left out. */

static const char *const shell_prefixes[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};

static bool is_of_shell(const char *variable)
{
    static const char *const names[] = {"VIRTUAL_ENV",           "VIRTUAL_ENV_PROMPT",
                                        "CONDA_PREFIX",          "CONDA_DEFAULT_ENV",
                                        "CONDA_PROMPT_MODIFIER", "CONDA_SHLVL"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (name_len(variable) == strlen(names[i]) &&
            memcmp(variable, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static const char *inherited_value(const char *const *inherited, const char *name)
{
    size_t len = strlen(name);

    for (; *inherited; inherited++)
        if (strncmp(*inherited, name, len) == 0 && (*inherited)[len] == '=')
            return *inherited + len + 1;
    return NULL;
}

/* Whether a folder of PATH is PREFIX/bin of such an environment. */
static bool is_shell_folder(const char *const *inherited, const char *folder,
                            size_t len)
{
    while (len > 1 && folder[len - 1] == '/')
        len--;
    for (size_t i = 0; i < ARRAY_LEN(shell_prefixes); i++) {
        /* A task of another user inherits PATH without these variables. */
        const char *own = getenv(shell_prefixes[i]);
        const char *given = inherited_value(inherited, shell_prefixes[i]);
        const char *prefix = given ? given : own;
        size_t size = prefix ? strlen(prefix) : 0;

        if (size && len == size + 4 && memcmp(folder, prefix, size) == 0 &&
            memcmp(folder + size, "/bin", 4) == 0)
            return true;
    }
    return false;
}

static void put_path(struct variables *v, const char *const *inherited,
                     const char *path)
{
    const char *kept = "";

    while (path) {
        size_t len = strcspn(path, ":");

        if (!is_shell_folder(inherited, path, len))
            kept = arena_printf(v->mem, "%s%s%.*s", kept ? kept : "",
                                kept && *kept ? ":" : "", (int)len, path);
        path = path[len] ? path + len + 1 : NULL;
    }
    if (!kept || *kept)
        set_variable(v, "PATH", kept ? kept : "");
}

static void put_inherited(struct variables *v, const char *const *inherited)
{
    for (const char *const *at = inherited; *at; at++)
        if (strncmp(*at, "PATH=", 5) == 0)
            put_path(v, inherited, *at + 5);
        else if (strncmp(*at, "DET_", 4) != 0 && !is_of_shell(*at))
            put_variable(v, *at);
}

/* ---- all variables --------------------------------------------------------------- */

/* JSON numbers and booleans are written as they are. */
static void put_json(struct variables *v, const struct json *value)
{
    const char *text = json_str(value, NULL);

    if (!text && !json_is_null(value))
        text = json_text(v->mem, value);
    if (text)
        set_variable(v, value->key, text);
}

static void put_all(struct variables *v, const struct task_spec *spec, const char *dir,
                    const char *const *inherited)
{
    const char *work = task_dir_path(v->mem, dir, TASK_DIR_WORK);
    const char *run = task_dir_path(v->mem, dir, TASK_DIR_RUN);
    const char *ring = task_dir_path(v->mem, dir, TASK_DIR_REPORTS);
    const char *master = task_dir_path(v->mem, dir, TASK_DIR_MASTER);
    const char *cert;

    /* The log shows a line when it is printed, not when the program ends. */
    set_variable(v, "PYTHONUNBUFFERED", "1");
    /* A Python program that crashes in native code says in which line it was. */
    set_variable(v, "PYTHONFAULTHANDLER", "1");
    put_inherited(v, inherited);
    json_each(value, spec->environment)
        put_json(v, value);
    if (!work || !run || !ring || !master)
        return;
    set_variable(v, "DET_WORKDIR", work);
    set_variable(v, "DET_RUN_DIR", run);
    set_variable(v, "DET_REPORT_RING", ring);
    set_variable(v, "DET_MASTER_FILE", master);
    set_variable(v, "PWD", work);
    cert = master_cert_of_task(v->mem, spec->master_cert_file, dir);
    if (cert)
        set_variable(v, "DET_MASTER_CERT_FILE", cert);
}

det_status task_layout_environment(const struct task_spec *spec, const char *dir,
                                   const char *program, const char *const *inherited,
                                   struct arena *mem, const char ***ret_environment,
                                   struct err *err)
{
    struct variables v = {.mem = mem};
    const char **environment;

    put_all(&v, spec, dir, inherited);
    put_program(&v, program);
    environment = arena_array(mem, const char *, v.list.count + 1);
    if (environment && v.list.count)
        memcpy(environment, v.list.at, v.list.count * sizeof(*environment));
    vec_done(&v.list);
    if (!environment || mem->has_failed)
        return err_default(err, DET_NOMEM);
    *ret_environment = environment;
    return DET_OK;
}

/* ---- directories ----------------------------------------------------------------- */

/* The ring is made before its folder is given to the task's user.  Without it the
 * task runs, and says that it cannot report. */
static void make_ring(struct io *io, const char *dir)
{
    const struct ring_config config = {.io = io, .dir = dir};
    struct ring_reader *reader = NULL;
    struct err err = {0};

    if (ring_reader_open(&config, &reader, &err))
        log_warn("%s", err.text);
    ring_reader_close(reader);
}

det_status task_layout_make(struct io *io, const struct task_spec *spec,
                            const char *dir, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SCRATCH);
    const char *hook = spec->tcd_startup_hook;
    char *work = task_dir_path(&mem, dir, TASK_DIR_WORK);
    char *info = task_dir_path(&mem, dir, TASK_DIR_RUN "/info");
    char *run = task_dir_path(&mem, dir, TASK_DIR_RUN);
    char *path = task_dir_path(&mem, dir, TASK_DIR_HOOK);
    char *ring = task_dir_path(&mem, dir, TASK_DIR_REPORTS);
    char *tmp = task_dir_path(&mem, dir, TASK_DIR_TMP);
    det_status status;

    if (mem.has_failed)
        return err_default(err, DET_NOMEM);
    status = io_mkdir(io, work, true, err);
    if (!status)
        status = io_mkdir(io, run, true, err);
    if (!status)
        status = io_mkdir(io, info, true, err);
    if (!status && hook && hook[0])
        status = io_replace(io, path, hook, strlen(hook), true, err);
    if (!status)
        status = io_mkdir(io, tmp, true, err);
    if (!status)
        status = io_mkdir(io, ring, true, err);
    if (!status)
        make_ring(io, ring);
    return status;
}

det_status task_layout_unpack(const struct json *reply, const char *dir,
                              char ret_sum[SHA256_TEXT], struct err *err)
{
    struct sha256 sum;

    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SCRATCH);
    CLEANUP(buf_done) struct buf tgz = BUF_INIT;
    const struct json *text = json_find(reply, "b64_tgz");
    char *work = task_dir_path(&mem, dir, TASK_DIR_WORK);
    det_status status;

    if (!work)
        return err_default(err, DET_NOMEM);
    if (!text || text->kind != JSON_STRING)
        return err_set(err, DET_INVALID, "the master sent no files");
    ret_sum[0] = '\0';
    if (!text->string.len)
        return DET_OK;
    status = base64_decode(&tgz, text->string.text, text->string.len, err);
    sha256_init(&sum);
    sha256_add(&sum, tgz.data, tgz.len);
    sha256_text(&sum, ret_sum);
    if (!status)
        status = archive_unpack(tgz.data, tgz.len, work, err);
    return status ? err_prefix(err, "cannot unpack the model definition") : DET_OK;
}

/* ---- a master that moved --------------------------------------------------------- */

/* In DIR itself, which never belongs to the task: no task can put a symlink there.
 * Another user's task must be able to read it, whatever our umask. */
det_status task_layout_write_master(struct io *io, const struct task_spec *spec,
                                    const char *dir, const char *url, struct err *err)
{
    const bool is_private = false;
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SCRATCH);
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);
    char *path = task_dir_path(&mem, dir, TASK_DIR_MASTER);
    det_status status;

    jw_object(&w, NULL);
    jw_str(&w, "given", spec_master(spec));
    jw_str(&w, "now", url);
    jw_end_object(&w);
    if (!path || text.status)
        return err_default(err, DET_NOMEM);
    status = io_replace(io, path, text.data, text.len, is_private, err);
    if (!status)
        (void)chmod(path, 0644);
    return status;
}

/* ---- info files ------------------------------------------------------------------ */

static det_status write_info(struct io *io, const char *dir, const char *name,
                             struct buf *text, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SCRATCH);
    char *path = arena_printf(&mem, "%s/" TASK_DIR_RUN "/info/%s", dir, name);

    if (!path || text->status)
        return err_default(err, path ? text->status : DET_NOMEM);
    return io_replace(io, path, text->data, text->len, true, err);
}

static void write_slots(struct json_writer *w, const char *key,
                        const struct task_spec *spec)
{
    jw_array(w, key);
    for (size_t i = 0; i < spec->slots.count; i++)
        jw_i64(w, NULL, spec->slots.at[i]);
    jw_end_array(w);
}

static det_status write_cluster(struct io *io, const struct task_spec *spec,
                                const char *dir, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SCRATCH);
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);
    const char *type = spec_variable(spec, "DET_TASK_TYPE");

    jw_object(&w, NULL);
    jw_str(&w, "master_url", spec_variable(spec, "DET_MASTER"));
    jw_str(&w, "cluster_id", spec_variable(spec, "DET_CLUSTER_ID"));
    jw_str(&w, "agent_id", spec_variable(spec, "DET_AGENT_ID"));
    write_slots(&w, "slot_ids", spec);
    jw_str(&w, "task_id", spec->task_id);
    jw_str(&w, "allocation_id", spec->allocation);
    jw_str(&w, "session_token", spec_variable(spec, "DET_SESSION_TOKEN"));
    jw_str(&w, "task_type", type ? type : "TRIAL");
    jw_str(&w, "master_cert_name", spec_variable(spec, "DET_MASTER_CERT_NAME"));
    jw_str(&w, "master_cert_file",
           master_cert_of_task(&mem, spec->master_cert_file, dir));
    jw_str(&w, "latest_checkpoint", spec_variable(spec, "DET_LATEST_CHECKPOINT"));
    jw_end_object(&w);
    return write_info(io, dir, "cluster.json", &text, err);
}

/* From the spec's info, else from the variable with the same value. */
struct trial_key {
    const char *name;
    const char *variable;
    const char *fallback; /* JSON */
};

static const struct trial_key trial_keys[] = {
    {"trial_id", "DET_TRIAL_ID", "0"},
    {"experiment_id", "DET_EXPERIMENT_ID", "0"},
    {"trial_seed", "DET_TRIAL_SEED", "0"},
    {"hparams", "DET_HPARAMS", "{}"},
    {"config", "DET_EXPERIMENT_CONFIG", "{}"},
    {"steps_completed", "DET_STEPS_COMPLETED", "0"},
    {"trial_run_id", "DET_TRIAL_RUN_ID", "0"},
    {"debug", NULL, "false"},
};

static void write_trial_key(struct json_writer *w, const struct task_spec *spec,
                            const struct trial_key *key)
{
    const struct json *value = json_find(json_get(spec->info, "trial"), key->name);
    const char *text = key->variable ? spec_variable(spec, key->variable) : NULL;

    if (!json_is_null(value))
        jw_json(w, key->name, value);
    else
        jw_raw(w, key->name, text && text[0] ? text : key->fallback);
}

static det_status write_trial(struct io *io, const struct task_spec *spec,
                              const char *dir, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);
    const struct json *trial = json_get(spec->info, "trial");
    const char *interface = spec_variable(spec, "DET_INTER_NODE_NETWORK_INTERFACE");

    if (json_is_null(trial))
        return DET_OK;
    jw_object(&w, NULL);
    for (size_t i = 0; i < ARRAY_LEN(trial_keys); i++)
        write_trial_key(&w, spec, &trial_keys[i]);
    jw_str(&w, "inter_node_network_interface",
           json_str(json_find(trial, "inter_node_network_interface"), interface));
    jw_end_object(&w);
    return write_info(io, dir, "trial.json", &text, err);
}

static det_status write_resources(struct io *io, const struct task_spec *spec,
                                  const char *dir, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);

    jw_object(&w, NULL);
    jw_array(&w, "gpu_uuids");
    for (size_t i = 0; i < spec->gpu_uuids.count; i++)
        jw_str(&w, NULL, spec->gpu_uuids.at[i]);
    jw_end_array(&w);
    jw_end_object(&w);
    return write_info(io, dir, "resources.json", &text, err);
}

det_status task_layout_write_info(struct io *io, const struct task_spec *spec,
                                  const char *dir, struct err *err)
{
    det_status status = write_cluster(io, spec, dir, err);

    if (!status)
        status = write_trial(io, spec, dir, err);
    if (!status)
        status = write_resources(io, spec, dir, err);
    return status;
}

static bool is_list(const struct json *value)
{
    return value && value->kind == JSON_ARRAY;
}

det_status task_layout_write_rendezvous(struct io *io, const struct task_spec *spec,
                                        const struct json *info, const char *dir,
                                        struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);
    const struct json *addresses = json_get(info, "addresses");
    const struct json *slots = json_get(info, "slots");

    if (info && (!is_list(addresses) || !is_list(slots)))
        return err_set(err, DET_INVALID, "the master's rendezvous is not complete");
    jw_object(&w, NULL);
    if (info) {
        jw_json(&w, "container_addrs", addresses);
        jw_i64(&w, "container_rank", json_i64(json_get(info, "rank"), spec->rank));
        jw_json(&w, "container_slot_counts", slots);
    } else {
        jw_array(&w, "container_addrs");
        jw_str(&w, NULL, "127.0.0.1");
        jw_end_array(&w);
        jw_i64(&w, "container_rank", 0);
        jw_array(&w, "container_slot_counts");
        jw_i64(&w, NULL, (int64_t)spec->slots.count);
        jw_end_array(&w);
    }
    jw_end_object(&w);
    return write_info(io, dir, "rendezvous.json", &text, err);
}
