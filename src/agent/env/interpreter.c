/* SPDX-License-Identifier: Apache-2.0 */
/* interpreter.c - one line of JSON from a short script, cached in a file.
 *
 * The script runs in the task's folder, which decides what the shims of version
 * managers mean, but does not search modules there, because one might replace those it
 * needs.  Names and versions come from the names of the .dist-info folders, which costs
 * nothing; only folders with other names are opened. */
#include "agent/env/interpreter.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/env/process.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "data/json/json.h"
#include "data/sha256.h"

#define MARK "det-interpreter "

enum { ANSWER_MOST = 8 << 20, MAGIC = 2 };

static const char script[] =
    "import sys\n"
    "if sys.version_info < (3, 8):\n"
    "    print('it is Python ' + sys.version.split()[0] + ', and 3.8 is the oldest '\n"
    "          'that can be used')\n"
    "    sys.exit(1)\n"
    "sys.path = [p for p in sys.path if p]\n"
    "import json, os, platform, sysconfig\n"
    "import importlib.util as u, importlib.metadata as m\n"
    "def has(name):\n"
    "    try:\n"
    "        return u.find_spec(name) is not None\n"
    "    except Exception:\n"
    "        return False\n"
    "packages = {}\n"
    "for d in m.distributions():\n"
    "    stem, dot, kind = getattr(getattr(d, '_path', None), 'name', '')"
    ".rpartition('.')\n"
    "    name, dash, version = stem.partition('-')\n"
    "    if kind != 'dist-info' or not version:\n"
    "        try:\n"
    "            name, version = d.metadata['Name'], d.version\n"
    "        except Exception:\n"
    "            continue\n"
    "    if name:\n"
    "        packages.setdefault(str(name).replace('_', '-').lower(), str(version))\n"
    "folders = {}\n"
    "for p in sys.path:\n"
    "    try:\n"
    "        folders[p] = os.stat(p).st_mtime_ns // 1000\n"
    "    except OSError:\n"
    "        folders[p] = 0\n"
    "print('" MARK "' + json.dumps({'executable': sys.executable,\n"
    "    'version': platform.python_version(), 'build': sys.version,\n"
    "    'implementation': sys.implementation.name,\n"
    "    'platform': sysconfig.get_platform(),\n"
    "    'major': sys.version_info[0], 'minor': sys.version_info[1],\n"
    "    'venv': has('venv'), 'ensurepip': has('ensurepip'),\n"
    "    'virtualenv': has('virtualenv'), 'pip': packages.get('pip', ''),\n"
    "    'folders': folders, 'packages': dict(sorted(packages.items()))}))\n";

/* ---- finding --------------------------------------------------------------------- */

static bool is_program(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static det_status not_here(const char *name, struct err *err)
{
    char host[128] = "this machine";

    (void)gethostname(host, sizeof(host) - 1);
    return err_set(err, DET_NOT_FOUND,
                   "there is no Python interpreter '%s' on %s; install it there, or "
                   "name another with environment.python",
                   name, host);
}

det_status interpreter_expand(const char *name, struct arena *mem,
                              const char **ret_path, struct err *err)
{
    size_t len = strcspn(name, "/");
    char *user = arena_strndup(mem, name, len);
    const char *home = getenv("HOME");
    const struct passwd *row;

    if (!user)
        return err_default(err, DET_NOMEM);
    if (user[0] != '~') {
        *ret_path = name;
        return DET_OK;
    }
    if (user[1] || !home || !*home) {
        row = user[1] ? getpwnam(user + 1) : getpwuid(geteuid());
        home = row ? row->pw_dir : NULL;
    }
    if (!home)
        return err_set(err, DET_NOT_FOUND,
                       "environment.python is '%s', but '%s' has no home folder here; "
                       "name the whole path",
                       name, user);
    *ret_path = arena_printf(mem, "%s%s", home, name + len);
    return *ret_path ? DET_OK : err_default(err, DET_NOMEM);
}

det_status interpreter_find(const char *name, struct arena *mem, const char **ret_path,
                            struct err *err)
{
    const char *at = getenv("PATH");
    det_status st = interpreter_expand(name, mem, &name, err);

    if (st)
        return st;
    if (strchr(name, '/')) {
        *ret_path = arena_strdup(mem, name);
        if (!*ret_path)
            return err_default(err, DET_NOMEM);
        return is_program(name) ? DET_OK : not_here(name, err);
    }
    for (at = at ? at : "/usr/local/bin:/usr/bin:/bin"; at;) {
        size_t len = strcspn(at, ":");
        const char *path =
            arena_printf(mem, "%.*s%s%s", (int)len, at, len ? "/" : "./", name);

        if (!path)
            return err_default(err, DET_NOMEM);
        if (is_program(path)) {
            *ret_path = path;
            return DET_OK;
        }
        at = at[len] ? at + len + 1 : NULL;
    }
    return not_here(name, err);
}

/* ---- asking ---------------------------------------------------------------------- */

static det_status read_answer(const char *path, const struct json *tree,
                              struct arena *mem, struct interpreter *ret_it,
                              struct err *err)
{
    const char *pip = json_str(json_get(tree, "pip"), "");
    struct interpreter it = {
        .path = path,
        .executable = json_str(json_get(tree, "executable"), path),
        .version = json_str(json_get(tree, "version"), NULL),
        .build = json_str(json_get(tree, "build"), ""),
        .implementation = json_str(json_get(tree, "implementation"), ""),
        .platform = json_str(json_get(tree, "platform"), ""),
        .major = (int)json_i64(json_get(tree, "major"), 0),
        .minor = (int)json_i64(json_get(tree, "minor"), 0),
        .has_venv = json_bool(json_get(tree, "venv"), false),
        .has_ensurepip = json_bool(json_get(tree, "ensurepip"), false),
        .has_virtualenv = json_bool(json_get(tree, "virtualenv"), false),
        .packages = json_get(tree, "packages"),
    };

    if (!it.version || mem->has_failed)
        return mem->has_failed ? err_default(err, DET_NOMEM)
                               : err_set(err, DET_CORRUPT,
                                         "the answer of '%s' is not complete", path);
    it.pip_major = (int)strtol(pip, NULL, 10);
    if (strchr(pip, '.'))
        it.pip_minor = (int)strtol(strchr(pip, '.') + 1, NULL, 10);
    *ret_it = it;
    return DET_OK;
}

struct hearing {
    struct buf answer;
    char last[200]; /* its last other line */
};

static void take_line(void *arg, const char *line)
{
    struct hearing *h = arg;

    if (strncmp(line, MARK, strlen(MARK)) == 0) {
        buf_clear(&h->answer);
        buf_puts(&h->answer, line + strlen(MARK));
    } else {
        snprintf(h->last, sizeof(h->last), "%s", line);
    }
}

static void hearing_done(struct hearing *h)
{
    buf_done(&h->answer);
}

static det_status ask(const char *path, struct arena *mem, struct json **ret_tree,
                      struct err *err)
{
    CLEANUP(hearing_done) struct hearing h = {.answer = BUF_LIMITED(ANSWER_MOST)};
    const char *argv[] = {path, "-c", script, NULL};
    struct process process = {.argv = argv, .on_line = take_line, .arg = &h};
    int how = 0;
    det_status st = process_run(&process, &how, err);

    if (st)
        return st;
    if (!process_was_fine(how) || !h.answer.len)
        return err_set(err, DET_INVALID,
                       "'%s' cannot be used as a Python interpreter: %s", path,
                       h.last[0] ? h.last : "it printed nothing");
    return json_parse(h.answer.data, h.answer.len, mem, ret_tree, err);
}

/* ---- the cache ------------------------------------------------------------------- */

static void add_file(struct sha256 *sum, const char *path)
{
    struct stat st;
    char text[160] = "";

    if (stat(path, &st) == 0)
        snprintf(text, sizeof(text), "%ju %ju %jd %jd.%09ld", (uintmax_t)st.st_dev,
                 (uintmax_t)st.st_ino, (intmax_t)st.st_size,
                 (intmax_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
    sha256_part(sum, path);
    sha256_part(sum, text);
}

/* NULL: this one is not cached. */
static const char *known_path(struct io *io, const char *path, const char *folder,
                              struct arena *mem)
{
    static const char *const variables[] = {"PYTHONPATH", "PYTHONHOME", "HOME",
                                            "PYTHONNOUSERSITE", "PYTHONUSERBASE"};
    CLEANUP(io_closep) struct io_file *file = NULL;
    struct sha256 sum;
    char text[SHA256_TEXT];
    char magic[MAGIC];
    size_t len = 0;

    if (!folder || io_open(io, path, IO_READ, &file, NULL) ||
        io_read_at(file, 0, magic, MAGIC, &len, NULL) || len < MAGIC ||
        memcmp(magic, "#!", MAGIC) == 0)
        return NULL;
    sha256_init(&sum);
    sha256_part(&sum, DET_VERSION);
    add_file(&sum, path);
    for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
        const char *value = getenv(variables[i]);

        sha256_part(&sum, value ? value : "");
    }
    sha256_text(&sum, text);
    return arena_printf(mem, "%s/known/%.32s.json", folder, text);
}

static bool is_as_it_was(const struct json *folder)
{
    struct stat st;
    int64_t now_us = 0;

    if (stat(folder->key, &st) == 0)
        now_us = (int64_t)st.st_mtim.tv_sec * 1000000 + st.st_mtim.tv_nsec / 1000;
    return now_us == json_i64(folder, -1);
}

static bool read_known(struct io *io, const char *known, struct arena *mem,
                       struct json **ret_tree)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(ANSWER_MOST);
    struct json *tree;

    if (!known || io_read_file(io, known, &text, NULL) ||
        json_parse(text.data, text.len, mem, &tree, NULL))
        return false;
    json_each(folder, json_get(tree, "folders"))
        if (!is_as_it_was(folder))
            return false;
    *ret_tree = tree;
    return true;
}

/* A failure costs the next caller some time, nothing more. */
static void keep_answer(struct io *io, const char *folder, const char *known,
                        const struct json *tree, struct arena *mem)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    const char *parent = arena_printf(mem, "%s/known", folder);

    json_write(&text, tree);
    if (!parent || text.status || io_mkdir(io, parent, true, NULL))
        return;
    (void)io_replace(io, known, text.data, text.len, true, NULL);
}

det_status interpreter_ask(struct io *io, const char *path, const char *folder,
                           bool is_known_only, struct arena *mem,
                           struct interpreter *ret_interpreter, struct err *err)
{
    const char *known = known_path(io, path, folder, mem);
    struct json *tree;
    det_status st;

    if (read_known(io, known, mem, &tree))
        return read_answer(path, tree, mem, ret_interpreter, err);
    if (is_known_only)
        return err_set(err, DET_BUSY, "'%s' was not asked yet", path);
    st = ask(path, mem, &tree, err);
    if (st)
        return st;
    if (known)
        keep_answer(io, folder, known, tree, mem);
    return read_answer(path, tree, mem, ret_interpreter, err);
}
