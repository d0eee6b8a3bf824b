/* SPDX-License-Identifier: Apache-2.0 */
/* loader.h - loaders in a world of the tests' own. */
#ifndef LIBDET_LOADER_H
#define LIBDET_LOADER_H

#include "base/err.h"
#include "det/data.h"

struct exec;

/* As det_loader_new(); `exec` (borrowed; NULL: threads of its own) runs the workers. */
det_status loader_open(det_dataset *dataset, const det_loader_options *options,
                       struct exec *exec, det_loader **ret_loader, struct err *err);

#endif
