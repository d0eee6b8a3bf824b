/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever bytes a file of records has, opening it and reading every record ends, and
 * touches nothing but the file.  The header's checksum is put right, so that what lies
 * behind it is reached. */
#include <stdlib.h>
#include <string.h>

#include "base/io/io.h"
#include "libdet/data/dataset.h"
#include "libdet/data/record_file.h"

enum { MOST_BYTES = 1 << 16, MOST_RECORDS = 1000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned char bytes[MOST_BYTES];
    det_dataset *dataset;
    struct io *io;

    if (size < RECORD_FILE_HEADER || size > sizeof(bytes) || io_memory_new(&io, NULL))
        return 0;
    memcpy(bytes, data, size);
    memcpy(bytes, RECORD_FILE_MAGIC, strlen(RECORD_FILE_MAGIC));
    record_file_put(bytes + 8, RECORD_FILE_VERSION, 4);
    record_file_put(bytes + 12, RECORD_FILE_BLOCK, 4);
    record_file_put(bytes + 32, size, 8);
    record_file_put(bytes + RECORD_FILE_CRC_AT, crc32c(0, bytes, RECORD_FILE_CRC_AT),
                    4);
    if (!io_replace(io, "/set", bytes, size, false, NULL) &&
        !record_file_open(io, "/set", &dataset, NULL)) {
        for (int64_t i = 0; i < MOST_RECORDS && i < det_dataset_items(dataset); i++) {
            const void *record;
            size_t len;

            (void)det_dataset_record(dataset, i, &record, &len, NULL, 0);
        }
        det_dataset_free(dataset);
    }
    io_free(io);
    return 0;
}
