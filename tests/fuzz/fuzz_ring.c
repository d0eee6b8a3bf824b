/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_ring.c - arbitrary bytes as the files of a ring, for its reader and its writers.
 *
 * The input is cut into files: one byte says which (0: the head, else the number of the
 * segment), two bytes its length, then its bytes follow. */
#include <stdio.h>
#include <string.h>

#include "base/io/io.h"
#include "base/memory/buf.h"
#include "libdet/ring/ring.h"
#include "libdet/ring/ring_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void demand(bool is_so)
{
    if (!is_so)
        __builtin_trap();
}

static void lay_down(struct io *io, const uint8_t *bytes, size_t len)
{
    while (len >= 3) {
        size_t size = (size_t)bytes[1] | (size_t)bytes[2] << 8;
        char path[64] = "/ring/head";

        if (bytes[0])
            snprintf(path, sizeof(path), "/ring/segment-%012u", bytes[0]);
        bytes += 3;
        len -= 3;
        size = size < len ? size : len;
        (void)io_replace(io, path, bytes, size, true, NULL);
        bytes += size;
        len -= size;
    }
}

/* Checks that records are complete, with rising numbers, and no more than the batch
 * says. */
static void read_some(struct ring_reader *reader, uint64_t *last)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct ring_batch batch = {0};
    struct report report;
    size_t used;

    demand(!ring_read(reader, 500, &out, &batch, NULL));
    for (size_t at = 0; at < out.len; at += used) {
        demand(!report_decode(out.data + at, out.len - at, &report, &used, NULL));
        demand(report.number > *last && report.number >= batch.first &&
               report.number <= batch.last);
        *last = report.number;
    }
    demand(!ring_stored(reader, batch.last, NULL));
}

/* Opens both ends, in either order.  The bytes may be those of a newer format, which is
 * refused; nothing else is. */
static bool open_ends(const struct ring_config *config, bool is_writer_first,
                      struct ring **ret_ring, struct ring_reader **ret_reader)
{
    det_status first = is_writer_first ? ring_open(config, ret_ring, NULL)
                                       : ring_reader_open(config, ret_reader, NULL);

    demand(!first || first == DET_UNSUPPORTED);
    if (first)
        return false;
    demand(is_writer_first ? !ring_reader_open(config, ret_reader, NULL)
                           : !ring_open(config, ret_ring, NULL));
    return true;
}

static void use_ends(struct ring *ring, struct ring_reader *reader)
{
    uint64_t last = 0;

    for (int i = 0; i < 4; i++) {
        read_some(reader, &last);
        /* May be refused: the numbers may be used up, or the ring full according to the
         * head. */
        (void)ring_put(ring, &(struct report){.payload = "{}", .len = 2}, NULL);
    }
    ring_rewind(reader);
    last = 0;
    read_some(reader, &last);
    ring_close(ring);
    ring_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct ring_config config = {.dir = "/ring", .segment_bytes = 1024};
    struct ring_reader *reader;
    struct ring *ring;

    if (io_memory_new(&config.io, NULL))
        return 0;
    demand(!io_mkdir(config.io, "/ring", true, NULL));
    lay_down(config.io, bytes, len);
    if (open_ends(&config, len > 0 && bytes[len - 1] % 2, &ring, &reader))
        use_ends(ring, reader);
    io_free(config.io);
    return 0;
}
