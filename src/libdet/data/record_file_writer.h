/* SPDX-License-Identifier: Apache-2.0 */
/* record_file_writer.h - writes a file of records. */
#ifndef LIBDET_DATA_RECORD_FILE_WRITER_H
#define LIBDET_DATA_RECORD_FILE_WRITER_H

#include "base/err.h"
#include "det/data.h"

struct io;

/* As det_records_create(), in a given file system. */
det_status record_file_create(struct io *io, const char *path,
                              det_records **ret_records, struct err *err);

#endif
