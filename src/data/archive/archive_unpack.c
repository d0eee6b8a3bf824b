/* SPDX-License-Identifier: Apache-2.0 */
/* archive_unpack.c - unpacks archives from strangers.
 *
 * Two passes: the first reads the whole archive and checks every entry, the second
 * writes.  An archive that the first pass refuses leaves nothing behind.
 *
 * Why nothing can lead outside:
 *   1. names are relative and have no "..";
 *   2. a link's target is relative and has ".." only at its beginning, at most as many
 *      as the link is deep: every link leads to a place inside, or to one below another
 *      link, for which the same holds;
 *   3. no entry is below a link or a file of the same archive: otherwise "how deep" in
 *      rule 2 would be wrong;
 *   4. hard links name a file that came before in the same archive;
 *   5. the directory may hold anything: each folder of a path is opened without
 *      following links, and files are made anew, never written through.
 *
 * Permissions are those of the archive without set-id and sticky bits; the process that
 * unpacks is the owner; folders stay usable for their owner. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory/arena.h"
#include "base/memory/map.h"
#include "data/archive/archive.h"
#include "data/archive/archive_lib.h"
#include "data/text.h"

enum {
    ENTRIES_MOST = 1000000,
    PATH_MOST = 4096,
    NAMES_BYTES = 512 * 1024 * 1024, /* memory for the names of all entries */
    PIECE = 64 * 1024,
};

#define UNPACKED_MOST (UINT64_C(16) << 30)

enum kind { KIND_FILE, KIND_FOLDER, KIND_SYMLINK, KIND_HARDLINK };

struct entry {
    enum kind kind;
    const char *path;   /* without "." and doubled or trailing slashes; "": the root */
    const char *target; /* of links; hard links as `path` */
    uint32_t mode;
    int64_t modified_s;
    uint64_t size_bytes;
};

struct unpacker {
    struct archive_lib lib;
    struct archive *archive;
    struct arena mem; /* of names, for one pass */
    struct map seen;  /* path to a pointer into kind_marks */
    size_t count;
    uint64_t size_bytes;
    int root;
    struct err *err;
};

typedef det_status visit_fn(struct unpacker *u, const struct entry *entry);

/* Targets for pointers, one for each kind that a path can have. */
static const char kind_marks[KIND_HARDLINK + 1];

static det_status refuse_entry(struct unpacker *u, const char *path,
                               const char *problem)
{
    return err_set(u->err, DET_INVALID, "'%.500s' in the archive %s", path, problem);
}

static det_status no_memory(struct unpacker *u)
{
    return err_default(u->err, DET_NOMEM);
}

/* ---- what an entry is ------------------------------------------------------------ */

/* A copy without ".", doubled and trailing slashes; NULL when out of memory. */
static char *tidy_path(struct arena *mem, const char *path)
{
    char *copy = arena_alloc(mem, strlen(path) + 1);
    char *to = copy;

    while (copy && *path) {
        size_t len = strcspn(path, "/");

        if (len && !(len == 1 && path[0] == '.')) {
            if (to != copy)
                *to++ = '/';
            memcpy(to, path, len);
            to += len;
        }
        path += len + (path[len] == '/');
    }
    return copy;
}

static size_t depth_of(const char *path)
{
    size_t depth = 0;

    for (; *path; path++)
        depth += *path == '/';
    return depth;
}

/* Rule 2; `path` is tidy. */
static bool target_is_inside(const char *path, const char *target)
{
    size_t left = depth_of(path);

    if (!*target || *target == '/')
        return false;
    while (strncmp(target, "../", 3) == 0 || strcmp(target, "..") == 0) {
        if (!left--)
            return false;
        target += 2;
        target += strspn(target, "/");
    }
    return !*target || path_is_inside(target);
}

static det_status kind_of(struct unpacker *u, struct archive_entry *e,
                          struct entry *entry)
{
    const struct archive_lib *lib = &u->lib;

    entry->target = lib->call_entry_hardlink_utf8(e);
    if (!entry->target)
        entry->target = lib->call_entry_hardlink(e);
    if (entry->target) {
        entry->kind = KIND_HARDLINK;
        return DET_OK;
    }
    switch (lib->call_entry_filetype(e)) {
    case AE_IFREG:
        entry->kind = KIND_FILE;
        return DET_OK;
    case AE_IFDIR:
        entry->kind = KIND_FOLDER;
        return DET_OK;
    case AE_IFLNK:
        entry->kind = KIND_SYMLINK;
        entry->target = lib->call_entry_symlink_utf8(e);
        if (!entry->target)
            entry->target = lib->call_entry_symlink(e);
        return entry->target ? DET_OK
                             : refuse_entry(u, entry->path, "is a link to nowhere");
    default:
        return refuse_entry(u, entry->path, "is neither a file, a folder nor a link");
    }
}

/* Reads all about one entry that does not depend on other entries; copies into
 * u->mem. */
static det_status describe_entry(struct unpacker *u, struct archive_entry *e,
                                 struct entry *ret_entry)
{
    const struct archive_lib *lib = &u->lib;
    const char *path = lib->call_entry_pathname_utf8(e);
    struct entry entry = {0};
    det_status st;

    if (!path)
        path = lib->call_entry_pathname(e);
    if (!path)
        return refuse_entry(u, "", "has no name");
    if (strlen(path) >= PATH_MOST)
        return refuse_entry(u, path, "has too long a name");
    if (!path_is_inside(path))
        return refuse_entry(u, path, "leads outside");
    entry.path = tidy_path(&u->mem, path);
    if (!entry.path)
        return no_memory(u);
    st = kind_of(u, e, &entry);
    if (st)
        return st;
    if (entry.kind == KIND_HARDLINK) {
        if (!path_is_inside(entry.target))
            return refuse_entry(u, path, "is a link that leads outside");
        entry.target = tidy_path(&u->mem, entry.target);
    } else if (entry.kind == KIND_SYMLINK) {
        entry.target = arena_strdup(&u->mem, entry.target);
    }
    if (entry.kind >= KIND_SYMLINK && !entry.target)
        return no_memory(u);
    entry.mode = (uint32_t)lib->call_entry_perm(e) & 0777;
    entry.modified_s = lib->call_entry_mtime(e);
    entry.size_bytes =
        entry.kind == KIND_FILE ? (uint64_t)MAX(lib->call_entry_size(e), 0) : 0;
    *ret_entry = entry;
    return DET_OK;
}

/* ---- the first pass -------------------------------------------------------------- */

static bool is_seen_as(const struct unpacker *u, const char *path, enum kind kind)
{
    return smap_get(&u->seen, path) == &kind_marks[kind];
}

/* Rule 3. */
static det_status check_parents(struct unpacker *u, const struct entry *entry)
{
    char parent[PATH_MOST];

    for (const char *at = strchr(entry->path, '/'); at; at = strchr(at + 1, '/')) {
        size_t len = (size_t)(at - entry->path);

        memcpy(parent, entry->path, len);
        parent[len] = '\0';
        if (smap_get(&u->seen, parent) && !is_seen_as(u, parent, KIND_FOLDER))
            return refuse_entry(u, entry->path,
                                "is below an entry that is not a folder");
    }
    return DET_OK;
}

/* A folder that is known only by its contents must not become something else. */
static det_status note_parents(struct unpacker *u, const struct entry *entry)
{
    for (const char *at = strchr(entry->path, '/'); at; at = strchr(at + 1, '/')) {
        size_t len = (size_t)(at - entry->path);
        char *parent;

        parent = arena_strndup(&u->mem, entry->path, len);
        if (parent && smap_get(&u->seen, parent))
            continue;
        if (!parent || !smap_put(&u->seen, parent, (void *)&kind_marks[KIND_FOLDER]))
            return no_memory(u);
    }
    return DET_OK;
}

static det_status check_link(struct unpacker *u, const struct entry *entry)
{
    if (entry->kind == KIND_SYMLINK && !target_is_inside(entry->path, entry->target))
        return refuse_entry(u, entry->path, "is a link that leads outside");
    if (entry->kind == KIND_HARDLINK && !is_seen_as(u, entry->target, KIND_FILE))
        return refuse_entry(u, entry->path,
                            "is a link to a file that did not come before it");
    return DET_OK;
}

static det_status check_entry(struct unpacker *u, const struct entry *entry)
{
    /* Once it is made, a hard link is a file like any other. */
    enum kind kind = entry->kind == KIND_HARDLINK ? KIND_FILE : entry->kind;
    det_status st;

    if (!*entry->path)
        return entry->kind == KIND_FOLDER ? DET_OK
                                          : refuse_entry(u, ".", "is not a folder");
    u->size_bytes += MIN(entry->size_bytes, UNPACKED_MOST);
    if (++u->count > ENTRIES_MOST || u->size_bytes > UNPACKED_MOST)
        return err_set(u->err, DET_TOO_LARGE,
                       "the archive holds too much: more than "
                       "a million entries or 16 GB");
    if (smap_get(&u->seen, entry->path) && !is_seen_as(u, entry->path, kind))
        return refuse_entry(u, entry->path, "comes twice, as different things");
    st = check_parents(u, entry);
    if (!st)
        st = check_link(u, entry);
    if (!st)
        st = note_parents(u, entry);
    if (!st && !smap_put(&u->seen, entry->path, (void *)&kind_marks[kind]))
        st = no_memory(u);
    return st;
}

/* Reads the bytes of `entry` to their end: damage shows in the first pass. */
static det_status check_and_read(struct unpacker *u, const struct entry *entry)
{
    char piece[PIECE];
    la_ssize_t got = 0;
    det_status st = check_entry(u, entry);

    if (st)
        return st;
    do {
        got = u->lib.call_read_data(u->archive, piece, sizeof(piece));
    } while (got > 0);
    if (got < 0)
        return archive_lib_error(&u->lib, u->archive, "the archive is damaged", u->err);
    return DET_OK;
}

/* ---- the second pass ------------------------------------------------------------- */

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static det_status report_errno(struct unpacker *u, const char *path)
{
    return err_errno(u->err, errno, "'%.500s' cannot be unpacked", path);
}

/* Opens the folder `name` in `parent`; makes it when it is missing.  Rule 5. */
static int enter_folder(int parent, const char *name)
{
    if (mkdirat(parent, name, 0777) != 0 && errno != EEXIST)
        return -1;
    return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* The folder of `path`, and its name there. */
static det_status open_parent(struct unpacker *u, const char *path, int *ret_fd,
                              const char **ret_name)
{
    CLEANUP(close_fd) int fd = fcntl(u->root, F_DUPFD_CLOEXEC, 0);
    const char *at = path;

    for (const char *slash; fd >= 0; at = slash + 1) {
        char name[PATH_MOST];
        int next;

        slash = strchr(at, '/');
        if (!slash)
            break;
        memcpy(name, at, (size_t)(slash - at));
        name[slash - at] = '\0';
        next = enter_folder(fd, name);
        close_fd(&fd);
        fd = next;
    }
    if (fd < 0)
        return report_errno(u, path);
    *ret_fd = fd;
    *ret_name = at;
    fd = -1;
    return DET_OK;
}

static bool write_all(int fd, const char *bytes, size_t len)
{
    while (len) {
        ssize_t wrote = write(fd, bytes, len);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0)
            return false;
        bytes += wrote;
        len -= (size_t)wrote;
    }
    return true;
}

static det_status make_file(struct unpacker *u, const struct entry *entry, int parent,
                            const char *name)
{
    struct timespec times[2] = {{.tv_sec = entry->modified_s},
                                {.tv_sec = entry->modified_s}};
    CLEANUP(close_fd)
    int fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    0600);
    char piece[PIECE];
    la_ssize_t got;

    if (fd < 0)
        return report_errno(u, entry->path);
    do {
        got = u->lib.call_read_data(u->archive, piece, sizeof(piece));
        if (got > 0 && !write_all(fd, piece, (size_t)got))
            return report_errno(u, entry->path);
    } while (got > 0);
    if (got < 0)
        return archive_lib_error(&u->lib, u->archive, "the archive is damaged", u->err);
    /* The file system may not be able to store the time. */
    (void)futimens(fd, times);
    if (fchmod(fd, entry->mode) != 0)
        return report_errno(u, entry->path);
    return DET_OK;
}

static det_status make_folder(struct unpacker *u, const struct entry *entry, int parent,
                              const char *name)
{
    CLEANUP(close_fd) int fd = enter_folder(parent, name);

    if (fd < 0 || fchmod(fd, entry->mode | 0700) != 0)
        return report_errno(u, entry->path);
    return DET_OK;
}

static det_status make_hardlink(struct unpacker *u, const struct entry *entry,
                                int parent, const char *name)
{
    CLEANUP(close_fd) int folder = -1;
    const char *target;
    det_status st = open_parent(u, entry->target, &folder, &target);

    if (st)
        return st;
    if (linkat(folder, target, parent, name, 0) != 0)
        return report_errno(u, entry->path);
    return DET_OK;
}

static det_status extract_entry(struct unpacker *u, const struct entry *entry)
{
    CLEANUP(close_fd) int parent = -1;
    const char *name;
    det_status st;

    if (!*entry->path)
        return DET_OK;
    /* A link to itself exists already. */
    if (entry->kind == KIND_HARDLINK && strcmp(entry->path, entry->target) == 0)
        return DET_OK;
    st = open_parent(u, entry->path, &parent, &name);
    if (st)
        return st;
    if (entry->kind != KIND_FOLDER && unlinkat(parent, name, 0) != 0 && errno != ENOENT)
        return report_errno(u, entry->path);
    switch (entry->kind) {
    case KIND_FILE:
        return make_file(u, entry, parent, name);
    case KIND_FOLDER:
        return make_folder(u, entry, parent, name);
    case KIND_HARDLINK:
        return make_hardlink(u, entry, parent, name);
    case KIND_SYMLINK:
        break;
    }
    return symlinkat(entry->target, parent, name) == 0 ? DET_OK
                                                       : report_errno(u, entry->path);
}

/* ---- both ---------------------------------------------------------------------- */

static det_status each_entry(struct unpacker *u, visit_fn *visit)
{
    for (;;) {
        struct archive_entry *e;
        struct entry entry;
        det_status st;
        int rc = u->lib.call_read_next_header(u->archive, &e);

        if (rc == ARCHIVE_EOF)
            return DET_OK;
        if (rc < ARCHIVE_WARN)
            return archive_lib_error(&u->lib, u->archive, "this is not an archive",
                                     u->err);
        st = describe_entry(u, e, &entry);
        if (!st)
            st = visit(u, &entry);
        if (st)
            return st;
    }
}

static det_status pass_over_entries(struct unpacker *u, const void *tgz, uint64_t len,
                                    visit_fn *visit)
{
    const struct archive_lib *lib = &u->lib;
    det_status st;

    u->archive = lib->call_read_new();
    if (!u->archive)
        return no_memory(u);
    if (lib->call_read_support_filter_gzip(u->archive) < ARCHIVE_WARN ||
        lib->call_read_support_format_tar(u->archive) < ARCHIVE_WARN ||
        lib->call_read_open_memory(u->archive, tgz, len) < ARCHIVE_WARN)
        st = archive_lib_error(lib, u->archive, "this is not an archive", u->err);
    else
        st = each_entry(u, visit);
    lib->call_read_free(u->archive);
    arena_clear(&u->mem);
    return st;
}

det_status archive_unpack(const void *tgz, uint64_t len, const char *directory,
                          struct err *err)
{
    struct unpacker u = {.mem = ARENA_INIT(NAMES_BYTES), .root = -1, .err = err};
    det_status st = archive_lib_load(&u.lib, err);

    if (st)
        return st;
    u.root = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (u.root < 0)
        return err_errno(err, errno, "'%s' cannot be opened", directory);
    st = pass_over_entries(&u, tgz, len, check_and_read);
    map_done(&u.seen); /* the pass has freed its keys */
    if (!st)
        st = pass_over_entries(&u, tgz, len, extract_entry);
    arena_done(&u.mem);
    close_fd(&u.root);
    return st;
}
