/* SPDX-License-Identifier: Apache-2.0 */
/* environment.h - the variables that the platform sets for a task. */
#ifndef LIBDET_ENVIRONMENT_H
#define LIBDET_ENVIRONMENT_H

#include "base/err.h"
#include "det/trial.h"

struct json;

/* Inside a task: fills `info`, `hparams`, `config`, `token` and `ring_dir` of the
 * context.  DET_INVALID names the variable that is missing or wrong. */
det_status environment_read(det_context *context, struct err *err);
/* Parses the two JSON texts and fills in what follows from them, inside a task and
 * outside.  Borrows the texts. */
det_status environment_parse_config(det_context *context, const char *hparams,
                                    const char *config, struct err *err);
/* Parses a text that must be a JSON object; `name` is its name in the error. */
det_status environment_parse_object(det_context *context, const char *name,
                                    const char *text, const struct json **ret_object,
                                    struct err *err);

#endif
