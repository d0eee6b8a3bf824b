/* SPDX-License-Identifier: Apache-2.0 */
/* proof_contents.h - compares the contents of files whose bytes differ.
 *
 * Some formats write equal objects as different bytes.  A pickle refers to an object that
 * it has written before, and whether two equal strings are one object depends on the
 * past of the program: after a resume they often are not.  A zip file has times.  For
 * these formats the objects and entries count:
 *
 *   pickle      the objects, without running the pickle (data/pickle/pickle.h)
 *   zip         the entries, by name
 *   PyTorch     a zip file with a pickle and the bytes of its tensors
 *   JSON        only if keys are left out
 *
 * To add a format, add a row to `formats`. */
#ifndef CLI_PROOF_PROOF_CONTENTS_H
#define CLI_PROOF_PROOF_CONTENTS_H

#include <stddef.h>

#include "base/err.h"
#include "model/field.h"

struct arena;
struct io;

enum proof_contents {
    PROOF_CONTENTS_UNKNOWN, /* another format, damaged or too large: its bytes count */
    PROOF_CONTENTS_SAME,
    PROOF_CONTENTS_DIFFERENT,
};

struct proof_two_files {
    struct io *io;
    const char *a;
    const char *b;
    const struct field_strs *keys; /* patterns of keys whose values do not count */
    size_t memory_most;            /* for the objects of both files; 0: as usual */
};

/* `ret_where`: the place of the first difference ("['state'][0]"), in `mem`; NULL if it
 * has no name. */
det_status proof_compare_contents(const struct proof_two_files *files,
                                  struct arena *mem, enum proof_contents *ret_contents,
                                  const char **ret_where, struct err *err);

#endif
