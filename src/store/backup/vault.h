/* SPDX-License-Identifier: Apache-2.0 */
/* vault.h - a directory of backups: pieces of files, each stored once, and inventories.
 *
 *   DIR/vault.json           the cluster that it belongs to
 *   DIR/lock                 held while somebody writes (exclusive) or reads (shared)
 *   DIR/packs/00000007.pack  many chunks, one after the other, and then their index
 *   DIR/backups/ID.json      one backup: its files, each as a list of chunks (inventory.h)
 *
 * Files are cut into chunks of CHUNK_BYTES.  A chunk is named by its SHA-256 sum and stored
 * once, however many backups and files have it.  So each backup is complete, and costs only
 * the chunks that no earlier one has.  Chunks that are new are written into a pack, in
 * large writes and with one sync; a file per chunk would cost a sync each.  A pack is
 * written as NNN.part, synced, read back and only then named NNN.pack.  After that it never
 * changes: a tool that copies DIR elsewhere copies whole packs, and copies them once.
 *
 * Invariants, also after a crash at any moment:
 *   1. a pack with its final name is complete and was read back;
 *   2. an inventory is written after all chunks that it names are in packs;
 *   3. a pack is removed only when no inventory needs it, or when what is needed of it is
 *      in another pack.
 *
 * A backup that is interrupted leaves at most one .part, which the next one removes; its
 * complete packs are used by the next one.  A pack whose index is damaged counts as
 * missing: the next backup stores its chunks again.
 *
 * Everything is readable by its owner only: it holds password hashes and keys. */
#ifndef STORE_BACKUP_VAULT_H
#define STORE_BACKUP_VAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "data/sha256.h"

struct io;
struct vault;

enum { CHUNK_BYTES = 256 << 10 };

/* Writing: makes the directory if it does not exist.  DET_BUSY: another backup is being
 * written, or a writer finds readers.  DET_INVALID: the directory holds other files.
 * DET_NOT_FOUND: it has no backups (reading). */
det_status vault_open(struct io *io, const char *path, bool is_writing,
                      struct vault **ret_vault, struct err *err);
void vault_close(struct vault *vault);
/* For CLEANUP. */
void vault_closep(struct vault **vault);

const char *vault_path(const struct vault *vault);
/* A new vault belongs to that cluster from now on.  DET_FORBIDDEN: it belongs to another
 * one. */
det_status vault_claim(struct vault *vault, const char *cluster_id, struct err *err);
const char *vault_cluster(const struct vault *vault); /* "": nobody's yet */
/* How many packs are damaged, and the name of one (NULL: none is). */
uint32_t vault_damaged(const struct vault *vault, const char **ret_name);

/* Stores a chunk unless it is there; `len` is at most CHUNK_BYTES. */
det_status vault_put(struct vault *vault, const void *bytes, size_t len,
                     unsigned char sum[SHA256_BYTES], struct err *err);
bool vault_has(const struct vault *vault, const unsigned char sum[SHA256_BYTES]);
/* Reads a chunk into CHUNK_BYTES and compares its sum.  DET_CORRUPT: it is missing or
 * damaged. */
det_status vault_get(struct vault *vault, const unsigned char sum[SHA256_BYTES],
                     void *bytes, size_t *ret_len, struct err *err);
/* Makes everything that was put durable and reads it back. */
det_status vault_flush(struct vault *vault, struct err *err);
/* Bytes written into packs since vault_open(). */
uint64_t vault_written(const struct vault *vault);

/* Removes what no backup needs: mark the chunks of all inventories, then sweep.  A pack that
 * is needed by less than half is written anew.  *ret_freed: bytes of removed packs, less
 * those written. */
void vault_mark(struct vault *vault, const unsigned char sum[SHA256_BYTES]);
det_status vault_sweep(struct vault *vault, uint64_t *ret_freed, struct err *err);

#endif
