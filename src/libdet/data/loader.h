/* SPDX-License-Identifier: Apache-2.0 */
/* loader.h - opens loaders with the executor of a test. */
#ifndef LIBDET_DATA_LOADER_H
#define LIBDET_DATA_LOADER_H

#include "base/err.h"
#include "det/data.h"

struct executor;

/* As det_loader_new(); `exec` runs the workers (borrowed; NULL: own threads). */
det_status loader_open(det_dataset *dataset, const det_loader_options *options,
                       struct executor *exec, det_loader **ret_loader, struct err *err);

#endif
