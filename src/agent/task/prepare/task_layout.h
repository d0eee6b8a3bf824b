/* SPDX-License-Identifier: Apache-2.0 */
/* task_layout.h - the directories, variables and info files of a task (which
 * `determined.get_cluster_info()` reads). */
#ifndef AGENT_TASK_PREPARE_TASK_LAYOUT_H
#define AGENT_TASK_PREPARE_TASK_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "data/sha256.h"

struct arena;
struct io;
struct json;
struct task_spec;

/* The environment of the entrypoint, an array in `mem` that ends with NULL.  In
 * order of precedence: DIR's own paths (DET_RUN_DIR, DET_WORKDIR, PWD and so on),
 * the spec's variables, what the supervisor inherited without its DET_ variables.
 * The directory of `program` is put first on PATH, that of a nearby libdet.so on
 * LD_LIBRARY_PATH. */
det_status task_layout_environment(const struct task_spec *spec, const char *dir,
                                   const char *program, const char *const *inherited,
                                   struct arena *mem, const char ***ret_environment,
                                   struct err *err);

/* Makes work/ and run/ and the hook of the cluster's defaults, where there is one. */
det_status task_layout_make(struct io *io, const struct task_spec *spec,
                            const char *dir, struct err *err);

/* Tells the task where the master is now (libdet/client/runfile.h reads it). */
det_status task_layout_write_master(struct io *io, const struct task_spec *spec,
                                    const char *dir, const char *url, struct err *err);

/* The folder near `program` that holds the Python package; NULL: there is none. */
const char *task_layout_package(const char *program, struct arena *mem);

/* The same for libdet.so. */
const char *task_layout_library(const char *program, struct arena *mem);

/* Unpacks {"b64Tgz": ...} into work/, and computes the archive's checksum; `ret_sum`
 * is "" for an empty one.  DET_INVALID: not an archive, or one with paths that
 * escape. */
det_status task_layout_unpack(const struct json *reply, const char *dir,
                              char ret_sum[SHA256_TEXT], struct err *err);

/* cluster.json, trial.json (for trials) and resources.json, with exactly the keys of
 * the harness, which refuses unknown and missing ones. */
det_status task_layout_write_info(struct io *io, const struct task_spec *spec,
                                  const char *dir, struct err *err);

/* rendezvous.json.  `info` is the master's rendezvousInfo; NULL: this node alone. */
det_status task_layout_write_rendezvous(struct io *io, const struct task_spec *spec,
                                        const struct json *info, const char *dir,
                                        struct err *err);

#endif
