/* SPDX-License-Identifier: Apache-2.0 */
/* world.h - what a task finds around itself: its directories, its variables and the
 * info files that `determined.get_cluster_info()` reads. */
#ifndef AGENT_TASK_WORLD_H
#define AGENT_TASK_WORLD_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "data/sha256.h"

struct arena;
struct io;
struct json;
struct task_spec;

/* The environment of the entrypoint, an array in `mem` that ends with NULL.  In order
 * of rank: DIR's own paths (DET_RUN_DIR, DET_WORKDIR, PWD and so on), the spec's
 * variables, what the supervisor inherited, without its DET_ variables.  PATH gets the
 * directory of `program` in front, and LD_LIBRARY_PATH that of libdet.so where it lies
 * near. */
det_status world_environment(const struct task_spec *spec, const char *dir,
                             const char *program, const char *const *inherited,
                             struct arena *mem, const char ***ret_environment,
                             struct err *err);

/* Makes work/ and run/ and the hook of the cluster's defaults, where there is one. */
det_status world_make(struct io *io, const struct task_spec *spec, const char *dir,
                      struct err *err);

/* Tells the task where the master is by now (libdet/runfile.h reads it). */
det_status world_write_master(struct io *io, const struct task_spec *spec,
                              const char *dir, const char *url, struct err *err);

/* The folder near `program` that holds the Python package; NULL: there is none. */
const char *world_package(const char *program, struct arena *mem);

/* Unpacks {"b64Tgz": ...} into work/, and sums the archive; `ret_sum` is "" for an
 * empty one.  DET_INVALID: no archive, or one that escapes. */
det_status world_unpack(const struct json *reply, const char *dir,
                        char ret_sum[SHA256_TEXT], struct err *err);

/* cluster.json, trial.json (for trials) and resources.json, with exactly the keys that
 * the harness knows: it refuses others, and misses none. */
det_status world_write_info(struct io *io, const struct task_spec *spec,
                            const char *dir, struct err *err);

/* rendezvous.json.  `info` is the master's rendezvousInfo; NULL: this node alone. */
det_status world_write_rendezvous(struct io *io, const struct task_spec *spec,
                                  const struct json *info, const char *dir,
                                  struct err *err);

#endif
