/* SPDX-License-Identifier: Apache-2.0 */
/* new_files.h - the files that a run wrote into its working directory.
 *
 * The directory is removed with the run, and a plain script that writes its model there
 * loses it.  So the names in the directory are noted before the program starts, and at
 * its end every other plain file is new: the ones that match a pattern of the
 * configuration's key `keep` are to be saved, the others are listed in the log.
 *
 * Not looked at: hidden files and folders, __pycache__, links.  Only names are read,
 * because the task owns the tree.  A tree of more than NEW_FILES_LOOK entries is not
 * listed. */
#ifndef AGENT_TASK_OUTPUT_NEW_FILES_H
#define AGENT_TASK_OUTPUT_NEW_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/memory/map.h"
#include "base/memory/vec.h"

struct arena;
struct field_strs;

enum {
    NEW_FILES_LOOK = 20000,
    NEW_FILES_SHOWN = 5,
    NEW_FILES_KEPT = 1000,
};

struct new_file {
    const char *path; /* relative to the directory */
    uint64_t size_bytes;
};

struct new_files {
    struct map known;              /* paths before the start */
    VEC(struct new_file) kept;     /* to be saved, at most NEW_FILES_KEPT */
    VEC(struct new_file) left;     /* the largest first */
    bool is_huge;                  /* too many entries: nothing is known */
    bool misses_some;              /* ... although some should be kept */
    size_t cut;                    /* files to be kept beyond NEW_FILES_KEPT */
    const struct field_strs *keep; /* the patterns; borrowed */
    bool *is_matched;              /* by pattern */
};

/* Notes what is in the directory.  Paths are in `mem`. */
det_status new_files_begin(struct new_files *files, const char *dir, struct arena *mem,
                           struct err *err);
/* Finds the new ones.  Call it once, after new_files_begin().  Borrows `keep`. */
det_status new_files_find(struct new_files *files, const char *dir,
                          const struct field_strs *keep, struct arena *mem,
                          struct err *err);
/* "2 new files were not kept: model.pt, 3.1MB; log.csv, 2.0KB; ...", in `mem`.  NULL:
 * there are none, or out of memory. */
const char *new_files_sentence(const struct new_files *files, struct arena *mem);
/* "no new file matches '*.pt' of 'keep'", in `mem`.  NULL: every pattern matches one, or
 * out of memory. */
const char *new_files_unmatched(const struct new_files *files, struct arena *mem);
/* Whether files that the configuration names are not kept. */
bool new_files_lose_some(const struct new_files *files);
void new_files_done(struct new_files *files);

#endif
