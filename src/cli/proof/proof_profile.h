/* SPDX-License-Identifier: Apache-2.0 */
/* proof_profile.h - what a framework writes into checkpoints and reports that is not state.
 *
 * A profile is a row of the table in proof_profile.c: files, metrics and keys that hold
 * times, paths and names of machines.  It is chosen by --profile, else by the framework in
 * the checkpoint's metadata, else by a file that only this framework writes.  A checkpoint
 * may also list files of its own in `not_state` of its metadata. */
#ifndef CLI_PROOF_PROOF_PROFILE_H
#define CLI_PROOF_PROOF_PROFILE_H

#include <stdbool.h>

#include "base/err.h"
#include "model/field.h"

struct arena;
struct json;
struct manifest;
struct proof_profile;

/* Patterns for fnmatch(3). */
struct proof_rules {
    struct field_strs files;   /* paths that are not compared */
    struct field_strs metrics; /* "seconds", "training.seconds", "time*" */
    struct field_strs keys;    /* of values inside files */
};

/* Whether one of the patterns matches. */
bool proof_rules_match(const struct field_strs *patterns, const char *name);

/* DET_INVALID: there is no profile of that name.  "none" is one without rows. */
det_status proof_profile_find(const char *name,
                              const struct proof_profile **ret_profile,
                              struct err *err);
/* The profile that fits the checkpoint; "none" if no other does. */
const struct proof_profile *proof_profile_detect(const struct json *metadata,
                                                 const struct manifest *files);
const char *proof_profile_name(const struct proof_profile *profile);

/* Adds the rules of the profile and of the checkpoint to those of the user.  Borrows from
 * all of them. */
det_status proof_rules_add(const struct proof_profile *profile,
                           const struct json *metadata, struct arena *mem,
                           struct proof_rules *rules, struct err *err);

#endif
