/* SPDX-License-Identifier: Apache-2.0 */
/* vault_impl.h - a vault in memory; for vault*.c. */
#ifndef STORE_BACKUP_VAULT_IMPL_H
#define STORE_BACKUP_VAULT_IMPL_H

#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/tree.h"
#include "base/memory/vec.h"
#include "store/backup/vault.h"

struct buf;

enum {
    ENTRY_BYTES = 48,
    TAIL_BYTES = 56,
    PACK_BYTES = 512 << 20,
    PIECE_BYTES = 1 << 20, /* of a pack, written and read back at once: a commit of the
                              master waits for little else */
    FORMAT = 1,
};
#define PACK_MAGIC "detpack1"
#define DAMAGED    ".damaged" /* beside a pack */

struct chunk {
    struct tree_node node;
    unsigned char sum[SHA256_BYTES];
    uint64_t offset;
    uint32_t pack;
    uint32_t len;
    uint32_t crc;
    bool is_needed;
};

struct pack {
    uint32_t number;
    uint64_t size_bytes;
    uint64_t needed_bytes;
    bool is_marked; /* as damaged */
};

struct vault {
    struct io *io;
    struct arena mem; /* chunks and texts */
    const char *path;
    const char *cluster; /* "": none */
    struct io_file *lock;
    sha256_fn *sha256;
    struct tree chunks;
    VEC(struct pack) packs;
    uint32_t last_pack; /* the highest number that was ever seen */
    uint32_t damaged;
    const char *damaged_name;
    bool misses_some;     /* chunks that were marked as needed */
    unsigned char *spare; /* CHUNK_BYTES, for sweeping */

    struct io_file *out;       /* the pack being written; NULL: none */
    VEC(struct chunk *) fresh; /* its chunks */
    uint64_t out_len;          /* with what is in `piece` */
    uint64_t written;          /* in all packs */
    unsigned char *piece_memory;
    unsigned char *piece; /* PIECE_BYTES in it, aligned for io_direct() */
    size_t piece_len;     /* the end of the pack, not written yet */

    struct io_file *in; /* the pack being read */
    uint32_t in_number;
};

/* NULL: it is not there. */
struct chunk *vault_find(const struct vault *vault, const unsigned char *sum);
void vault_pack_path(const struct vault *vault, uint32_t number, const char *ending,
                     struct buf *ret_path);
/* Appends the bytes to the pack being written and notes in `chunk` where they are. */
det_status vault_append(struct vault *vault, const void *bytes, struct chunk *chunk,
                        struct err *err);

#endif
