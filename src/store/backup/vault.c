/* SPDX-License-Identifier: Apache-2.0 */
/* vault.c - see vault.h.
 *
 * A pack: chunks, then one entry per chunk, then the tail.  Numbers are little-endian.
 *
 *   entry  sum (32 bytes), offset (8), length (4), CRC-32C (4)
 *   tail   "detpack1", number of entries (8), offset of the entries (8), their SHA-256
 *
 * A reader that finds a wrong chunk in a pack puts an empty file NUMBER.damaged beside it.
 *
 * The chunks of all packs are in memory, ordered by sum: 100 bytes for each, so 4 MB for a
 * database of 10 GB.  Reading back after a write uses the CRC, which is cheap; whoever
 * reads a chunk later compares the whole sum. */
#include "store/backup/vault.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "data/json/json.h"
#include "store/backup/vault_impl.h"

/* ---- names and order ------------------------------------------------------------- */

static int compare_sums(const struct tree_node *a, const struct tree_node *b)
{
    return memcmp(CONTAINER_OF(a, struct chunk, node)->sum,
                  CONTAINER_OF(b, struct chunk, node)->sum, SHA256_BYTES);
}

static int compare_sum(const void *key, const struct tree_node *node)
{
    return memcmp(key, CONTAINER_OF(node, struct chunk, node)->sum, SHA256_BYTES);
}

struct chunk *vault_find(const struct vault *vault, const unsigned char *sum)
{
    struct tree_node *node = tree_find(&vault->chunks, sum, compare_sum);

    return node ? CONTAINER_OF(node, struct chunk, node) : NULL;
}

void vault_pack_path(const struct vault *vault, uint32_t number, const char *ending,
                     struct buf *ret_path)
{
    buf_printf(ret_path, "%s/packs/%08" PRIu32 "%s", vault->path, number, ending);
}

static uint64_t get_number(const unsigned char *at, size_t len)
{
    uint64_t number = 0;

    for (size_t i = len; i > 0; i--)
        number = number << 8 | at[i - 1];
    return number;
}

/* ---- reading packs --------------------------------------------------------------- */

static det_status add_entry(struct vault *vault, uint32_t pack, const unsigned char *at,
                            struct err *err)
{
    struct chunk *chunk;

    if (vault_find(vault, at))
        return DET_OK; /* an interrupted sweep left it in two packs */
    chunk = arena_new(&vault->mem, struct chunk);
    if (!chunk)
        return err_default(err, DET_NOMEM);
    memcpy(chunk->sum, at, SHA256_BYTES);
    chunk->offset = get_number(at + 32, 8);
    chunk->len = (uint32_t)get_number(at + 40, 4);
    chunk->crc = (uint32_t)get_number(at + 44, 4);
    chunk->pack = pack;
    tree_add(&vault->chunks, &chunk->node);
    return DET_OK;
}

/* *ret_is_whole: the index is there and its sum is right. */
static det_status read_index(struct vault *vault, struct io_file *file, uint64_t size,
                             struct buf *ret_entries, bool *ret_is_whole,
                             struct err *err)
{
    unsigned char tail[TAIL_BYTES];
    unsigned char sum[SHA256_BYTES];
    uint64_t count, start;
    size_t got = 0;
    det_status st;
    char *room;

    *ret_is_whole = false;
    if (size < TAIL_BYTES)
        return DET_OK;
    st = io_read_at(file, size - TAIL_BYTES, tail, TAIL_BYTES, &got, err);
    if (st || got != TAIL_BYTES || memcmp(tail, PACK_MAGIC, 8))
        return st;
    count = get_number(tail + 8, 8);
    start = get_number(tail + 16, 8);
    if (start > size - TAIL_BYTES || count != (size - TAIL_BYTES - start) / ENTRY_BYTES)
        return DET_OK;
    room = buf_room(ret_entries, count * ENTRY_BYTES);
    if (!room)
        return err_default(err, DET_NOMEM);
    st = io_read_at(file, start, room, count * ENTRY_BYTES, &got, err);
    if (st)
        return st;
    buf_took(ret_entries, got);
    vault->sha256(ret_entries->data, ret_entries->len, sum);
    *ret_is_whole = got == count * ENTRY_BYTES && !memcmp(sum, tail + 24, SHA256_BYTES);
    return DET_OK;
}

static det_status note_damaged(struct vault *vault, const char *name, struct err *err)
{
    vault->damaged++;
    vault->damaged_name = arena_strdup(&vault->mem, name);
    return vault->damaged_name ? DET_OK : err_default(err, DET_NOMEM);
}

static det_status load_pack(struct vault *vault, const char *name, struct err *err)
{
    CLEANUP(io_closep) struct io_file *file = NULL;
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    CLEANUP(buf_done) struct buf entries = BUF_INIT;
    struct pack pack = {.number = (uint32_t)strtoul(name, NULL, 10)};
    bool is_whole = false;
    det_status st;

    buf_printf(&path, "%s/packs/%s", vault->path, name);
    if (path.status)
        return err_default(err, path.status);
    st = io_open(vault->io, path.data, IO_READ | IO_PLAIN, &file, err);
    if (!st)
        st = io_size(file, &pack.size_bytes, err);
    if (!st)
        st = read_index(vault, file, pack.size_bytes, &entries, &is_whole, err);
    if (st)
        return st;
    if (!is_whole) /* it stays: chunks may be rescued from it by hand */
        return note_damaged(vault, name, err);
    if (!vec_push(&vault->packs, pack))
        return err_default(err, DET_NOMEM);
    for (size_t i = 0; i < entries.len && !st; i += ENTRY_BYTES)
        st = add_entry(vault, pack.number, (unsigned char *)entries.data + i, err);
    return st;
}

static bool ends_with(const char *name, const char *ending)
{
    size_t len = strlen(name), want = strlen(ending);

    return len > want && !strcmp(name + len - want, ending);
}

/* A .part was never complete, so nobody needs it. */
static det_status drop_part(struct vault *vault, const char *name, struct err *err)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;

    buf_printf(&path, "%s/packs/%s", vault->path, name);
    return path.status ? err_default(err, path.status)
                       : io_remove(vault->io, path.data, err);
}

/* Whether a reader has found a chunk in the pack that differs from what was written. */
static bool is_marked(const struct vault *vault, const char *name)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    struct io_stat found;

    vault_pack_path(vault, (uint32_t)strtoul(name, NULL, 10), DAMAGED, &path);
    return !path.status && !io_stat(vault->io, path.data, &found, NULL);
}

/* A backup does not count the chunks of a marked pack: it stores them again, and then all
 * backups that need them are whole.  The pack goes when no chunk is missing without it. */
static det_status set_aside(struct vault *vault, const char *name, struct err *err)
{
    struct pack pack = {.number = (uint32_t)strtoul(name, NULL, 10), .is_marked = true};

    if (!vec_push(&vault->packs, pack))
        return err_default(err, DET_NOMEM);
    return note_damaged(vault, name, err);
}

/* For readers, the chunks of marked packs count where no other pack has them. */
static det_status load_marked(struct vault *vault, const char **names, struct err *err)
{
    det_status st = DET_OK;

    for (; !st && *names; names++)
        if (ends_with(*names, ".pack") && is_marked(vault, *names))
            st = load_pack(vault, *names, err);
    return st;
}

static det_status load_packs(struct vault *vault, bool is_writing, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(256 << 20);
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    const char **names = NULL;
    const char **all;
    det_status st;

    buf_printf(&path, "%s/packs", vault->path);
    if (path.status)
        return err_default(err, path.status);
    /* The names of packs that a killed backup left may not be durable yet. */
    st = is_writing ? io_sync_dir(vault->io, path.data, err) : DET_OK;
    if (!st)
        st = io_list(vault->io, path.data, &mem, &names, err);
    all = names;
    for (; !st && *names; names++) {
        uint32_t number = (uint32_t)strtoul(*names, NULL, 10);

        vault->last_pack = MAX(vault->last_pack, number);
        if (ends_with(*names, ".pack") && !is_marked(vault, *names))
            st = load_pack(vault, *names, err);
        else if (is_writing && ends_with(*names, ".pack"))
            st = set_aside(vault, *names, err);
        else if (is_writing && ends_with(*names, ".part"))
            st = drop_part(vault, *names, err);
    }
    return st || is_writing ? st : load_marked(vault, all, err);
}

/* ---- opening --------------------------------------------------------------------- */

static det_status read_claim(struct vault *vault, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json *tree = NULL;
    det_status st;

    buf_printf(&path, "%s/vault.json", vault->path);
    if (path.status)
        return err_default(err, path.status);
    st = io_read_plain(vault->io, path.data, &text, err);
    if (st)
        return st;
    st = json_parse(text.data, text.len, &mem, &tree, err);
    if (st)
        return err_prefix(err, "'%s' is damaged", path.data);
    if (json_i64(json_get(tree, "format"), 0) != FORMAT)
        return err_set(err, DET_UNSUPPORTED,
                       "the backups in '%s' have a format that this det does not know: "
                       "use a newer det",
                       vault->path);
    vault->cluster =
        arena_strdup(&vault->mem, json_str(json_get(tree, "cluster_id"), ""));
    return vault->cluster ? DET_OK : err_default(err, DET_NOMEM);
}

/* A new vault is an empty directory, or one that an interrupted first backup left. */
static det_status check_empty(const struct vault *vault, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(256 << 20);
    static const char *const ours[] = {"backups", "lock", "lost+found", "packs"};
    const char **names = NULL;
    det_status st = io_list(vault->io, vault->path, &mem, &names, err);

    for (; !st && *names; names++) {
        bool is_ours = strstr(*names, "vault.json") != NULL; /* or on its way there */

        for (size_t i = 0; i < ARRAY_LEN(ours); i++)
            is_ours = is_ours || !strcmp(*names, ours[i]);
        if (!is_ours)
            return err_set(err, DET_INVALID,
                           "'%s' is not a directory of backups, and holds other files "
                           "('%s'): name an empty or a new one",
                           vault->path, *names);
    }
    return st;
}

static det_status make_folders(struct vault *vault, struct err *err)
{
    static const char *const names[] = {"packs", "backups"};
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    det_status st = io_mkdir(vault->io, vault->path, true, err);

    if (!st)
        st = check_empty(vault, err);
    for (size_t i = 0; i < ARRAY_LEN(names) && !st; i++) {
        buf_clear(&path);
        buf_printf(&path, "%s/%s", vault->path, names[i]);
        st = path.status ? err_default(err, path.status)
                         : io_mkdir(vault->io, path.data, true, err);
    }
    if (!st)
        st = io_sync_dir(vault->io, vault->path, err);
    return st ? st : io_sync_parent(vault->io, vault->path, err);
}

static det_status take_lock(struct vault *vault, bool is_writing, struct err *err)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    det_status st;

    buf_printf(&path, "%s/lock", vault->path);
    if (path.status)
        return err_default(err, path.status);
    st = io_open(vault->io, path.data,
                 IO_PLAIN | (is_writing ? IO_WRITE | IO_CREATE | IO_PRIVATE : IO_READ),
                 &vault->lock, err);
    if (!st)
        st = is_writing ? io_lock(vault->lock, err) : io_lock_shared(vault->lock, err);
    if (st == DET_BUSY)
        return err_set(err, DET_BUSY,
                       "another backup or restore is using '%s': try again when it has "
                       "ended",
                       vault->path);
    return st;
}

static det_status open_parts(struct vault *vault, bool is_writing, struct err *err)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    struct io_stat found;
    bool is_new;
    det_status st = DET_OK;

    buf_printf(&path, "%s/vault.json", vault->path);
    if (path.status)
        return err_default(err, path.status);
    is_new = io_stat(vault->io, path.data, &found, NULL) != DET_OK;
    if (is_new && !is_writing)
        return err_set(err, DET_NOT_FOUND, "there are no backups in '%s'", vault->path);
    if (is_new)
        st = make_folders(vault, err);
    if (!st)
        st = take_lock(vault, is_writing, err);
    if (!st && !io_stat(vault->io, path.data, &found, NULL)) /* under the lock */
        st = read_claim(vault, err);
    return st ? st : load_packs(vault, is_writing, err);
}

static bool make_piece(struct vault *vault)
{
    size_t off;

    vault->piece_memory = mem_alloc(PIECE_BYTES + IO_DIRECT_BYTES);
    if (!vault->piece_memory)
        return false;
    off = (size_t)((uintptr_t)vault->piece_memory % IO_DIRECT_BYTES);
    vault->piece = vault->piece_memory + (IO_DIRECT_BYTES - off) % IO_DIRECT_BYTES;
    return true;
}

det_status vault_open(struct io *io, const char *path, bool is_writing,
                      struct vault **ret_vault, struct err *err)
{
    struct vault *vault = mem_new(struct vault);
    det_status st = DET_NOMEM;

    if (!vault)
        return err_default(err, DET_NOMEM);
    vault->io = io;
    vault->mem = (struct arena)ARENA_INIT(SIZE_MAX);
    vault->chunks = (struct tree)TREE_INIT(compare_sums);
    vault->cluster = "";
    vault->sha256 = sha256_fastest();
    vault->spare = mem_alloc(CHUNK_BYTES);
    vault->path = arena_strdup(&vault->mem, path);
    if (vault->spare && vault->path && make_piece(vault))
        st = open_parts(vault, is_writing, err);
    if (st) {
        vault_close(vault);
        return err_default(err, st);
    }
    *ret_vault = vault;
    return DET_OK;
}

void vault_close(struct vault *vault)
{
    if (!vault)
        return;
    io_close(vault->out);
    io_close(vault->in);
    io_close(vault->lock);
    vec_done(&vault->packs);
    vec_done(&vault->fresh);
    mem_free(vault->spare);
    mem_free(vault->piece_memory);
    arena_done(&vault->mem);
    mem_free(vault);
}

void vault_closep(struct vault **vault)
{
    vault_close(*vault);
}

const char *vault_path(const struct vault *vault)
{
    return vault->path;
}

const char *vault_cluster(const struct vault *vault)
{
    return vault->cluster;
}

uint32_t vault_damaged(const struct vault *vault, const char **ret_name)
{
    *ret_name = vault->damaged_name;
    return vault->damaged;
}

uint64_t vault_written(const struct vault *vault)
{
    return vault->written;
}

det_status vault_claim(struct vault *vault, const char *cluster_id, struct err *err)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);

    if (!strcmp(vault->cluster, cluster_id))
        return DET_OK;
    if (*vault->cluster)
        return err_set(err, DET_FORBIDDEN,
                       "'%s' holds the backups of another cluster (%s): give each "
                       "cluster a directory of its own",
                       vault->path, vault->cluster);
    jw_object(&w, NULL);
    jw_i64(&w, "format", FORMAT);
    jw_str(&w, "cluster_id", cluster_id);
    jw_end_object(&w);
    buf_putc(&text, '\n');
    buf_printf(&path, "%s/vault.json", vault->path);
    vault->cluster = arena_strdup(&vault->mem, cluster_id);
    if (path.status || text.status || !vault->cluster)
        return err_default(err, DET_NOMEM);
    return io_replace(vault->io, path.data, text.data, text.len, true, err);
}

/* ---- reading chunks -------------------------------------------------------------- */

bool vault_has(const struct vault *vault, const unsigned char sum[SHA256_BYTES])
{
    return vault_find(vault, sum) != NULL;
}

static det_status open_pack(struct vault *vault, uint32_t number, struct err *err)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;

    if (vault->in && vault->in_number == number)
        return DET_OK;
    io_close(vault->in);
    vault->in = NULL;
    vault->in_number = number;
    vault_pack_path(vault, number, ".pack", &path);
    return path.status
               ? err_default(err, path.status)
               : io_open(vault->io, path.data, IO_READ | IO_PLAIN, &vault->in, err);
}

/* Where nothing can be written, it is found again the next time. */
static void mark_damaged(const struct vault *vault, uint32_t pack)
{
    CLEANUP(io_closep) struct io_file *file = NULL;
    CLEANUP(buf_done) struct buf path = BUF_INIT;

    vault_pack_path(vault, pack, DAMAGED, &path);
    if (!path.status)
        (void)io_open(vault->io, path.data,
                      IO_WRITE | IO_CREATE | IO_PRIVATE | IO_PLAIN, &file, NULL);
}

static det_status damaged_chunk(const struct vault *vault, uint32_t pack,
                                struct err *err)
{
    mark_damaged(vault, pack);
    return err_set(err, DET_CORRUPT,
                   "the backups in '%s' are damaged: pack %08" PRIu32
                   " does not hold what was written",
                   vault->path, pack);
}

det_status vault_get(struct vault *vault, const unsigned char sum[SHA256_BYTES],
                     void *bytes, size_t *ret_len, struct err *err)
{
    const struct chunk *chunk = vault_find(vault, sum);
    unsigned char found[SHA256_BYTES];
    size_t got = 0;
    det_status st;

    if (!chunk)
        return err_set(
            err, DET_CORRUPT,
            "the backups in '%s' are damaged: a pack is missing or damaged%s%s",
            vault->path, vault->damaged_name ? ", " : "",
            vault->damaged_name ? vault->damaged_name : "");
    if (chunk->len > CHUNK_BYTES)
        return damaged_chunk(vault, chunk->pack, err);
    st = open_pack(vault, chunk->pack, err);
    if (!st)
        st = io_read_at(vault->in, chunk->offset, bytes, chunk->len, &got, err);
    if (st)
        return st;
    vault->sha256(bytes, got, found);
    if (got != chunk->len || memcmp(found, sum, SHA256_BYTES))
        return damaged_chunk(vault, chunk->pack, err);
    *ret_len = got;
    return DET_OK;
}

/* ---- removing -------------------------------------------------------------------- */

void vault_mark(struct vault *vault, const unsigned char sum[SHA256_BYTES])
{
    struct chunk *chunk = vault_find(vault, sum);

    if (chunk)
        chunk->is_needed = true;
    else
        vault->misses_some = true;
}

/* They are in the order of their numbers. */
static struct pack *find_pack(const struct vault *vault, uint32_t number)
{
    size_t low = 0, high = vault->packs.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (vault->packs.at[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < vault->packs.count && vault->packs.at[low].number == number
               ? &vault->packs.at[low]
               : NULL;
}

static bool is_kept(const struct vault *vault, const struct pack *pack)
{
    if (pack->is_marked)
        return vault->misses_some;
    return pack->needed_bytes * 2 >= pack->size_bytes && pack->needed_bytes > 0;
}

/* Copies what is needed of the packs that go. */
static det_status save_needed(struct vault *vault, struct err *err)
{
    det_status st = DET_OK;

    for (struct tree_node *at = tree_first(&vault->chunks); at && !st;
         at = tree_next(at)) {
        struct chunk *chunk = CONTAINER_OF(at, struct chunk, node);
        const struct pack *pack = find_pack(vault, chunk->pack);
        size_t len;

        if (!chunk->is_needed || !pack || is_kept(vault, pack))
            continue;
        st = vault_get(vault, chunk->sum, vault->spare, &len, err);
        if (!st)
            st = vault_append(vault, vault->spare, chunk, err);
    }
    return st ? st : vault_flush(vault, err);
}

static det_status remove_pack(struct vault *vault, const struct pack *pack,
                              struct err *err)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;

    det_status st = DET_OK;

    vault_pack_path(vault, pack->number, ".pack", &path);
    if (path.status)
        return err_default(err, path.status);
    st = io_remove(vault->io, path.data, err);
    if (st || !pack->is_marked)
        return st;
    buf_clear(&path);
    vault_pack_path(vault, pack->number, DAMAGED, &path);
    return path.status ? err_default(err, path.status)
                       : io_remove(vault->io, path.data, err);
}

/* Forgets the chunks that nobody needs: their packs may go. */
static void forget_unneeded(struct vault *vault)
{
    struct tree_node *next;

    for (struct tree_node *at = tree_first(&vault->chunks); at; at = next) {
        struct chunk *chunk = CONTAINER_OF(at, struct chunk, node);
        struct pack *pack = find_pack(vault, chunk->pack);

        next = tree_next(at);
        if (!chunk->is_needed)
            tree_remove(&vault->chunks, at);
        else if (pack)
            pack->needed_bytes += chunk->len;
    }
}

det_status vault_sweep(struct vault *vault, uint64_t *ret_freed, struct err *err)
{
    det_status st = vault_flush(vault, err);
    size_t count = vault->packs.count; /* without those that are written here */
    uint64_t before = vault->written;
    uint64_t freed = 0;

    if (st)
        return st;
    forget_unneeded(vault);
    st = save_needed(vault, err);
    for (size_t i = count; i > 0 && !st; i--) {
        const struct pack *pack = &vault->packs.at[i - 1];

        if (is_kept(vault, pack))
            continue;
        st = remove_pack(vault, pack, err);
        freed += pack->size_bytes;
        if (!st)
            vec_remove(&vault->packs, i - 1);
    }
    *ret_freed = freed - MIN(freed, vault->written - before);
    return st;
}
