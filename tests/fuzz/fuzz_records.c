/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever bytes a file of records has, opening it and reading every record ends, and
 * touches nothing but the file.  The header's checksum is put right, so that what lies
 * behind it is reached. */
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "libdet/dataset.h"
#include "libdet/records.h"

enum { MOST_BYTES = 1 << 16, MOST_RECORDS = 1000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned char bytes[MOST_BYTES];
    det_dataset *dataset;
    struct io *io;

    if (size < RECORDS_HEADER || size > sizeof(bytes) || io_memory_new(&io, NULL))
        return 0;
    memcpy(bytes, data, size);
    memcpy(bytes, RECORDS_MAGIC, strlen(RECORDS_MAGIC));
    records_put(bytes + 8, RECORDS_VERSION, 4);
    records_put(bytes + 12, RECORDS_BLOCK, 4);
    records_put(bytes + 32, size, 8);
    records_put(bytes + RECORDS_CRC_AT, crc32c(0, bytes, RECORDS_CRC_AT), 4);
    if (!io_replace(io, "/set", bytes, size, false, NULL) &&
        !records_open(io, "/set", &dataset, NULL)) {
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
