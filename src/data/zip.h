/* SPDX-License-Identifier: Apache-2.0 */
/* zip.h - lists the entries of a zip file and where their bytes are.
 *
 * For archives whose entries are only looked at in place: PyTorch and Keras store them
 * uncompressed.  (archive.h unpacks.)  Reads the central directory, also in zip64 form;
 * checks every offset against the size of the file. */
#ifndef DATA_ZIP_H
#define DATA_ZIP_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct io_file;

enum { ZIP_STORED = 0 };

struct zip_entry {
    const char *name;
    uint64_t offset;       /* of its bytes in the file */
    uint64_t stored_bytes; /* there */
    uint64_t size_bytes;   /* unpacked */
    unsigned method;       /* ZIP_STORED: the bytes are as they are */
};

struct zip_list {
    struct zip_entry *entry;
    size_t count;
};

/* Sorted by name.  DET_CORRUPT: it is not a zip file, or two entries have one name. */
det_status zip_read_list(struct io_file *file, struct arena *mem,
                         struct zip_list *ret_list, struct err *err);
/* NULL: there is no such entry. */
const struct zip_entry *zip_find(const struct zip_list *list, const char *name);

#endif
