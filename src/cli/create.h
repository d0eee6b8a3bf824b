/* SPDX-License-Identifier: Apache-2.0 */
/* create.h - pieces of `det experiment create` that others need too. */
#ifndef CLI_CREATE_H
#define CLI_CREATE_H

#include "base/err.h"
#include "config/config.h"
#include "model/field.h"

struct buf;
struct cli;
struct json;

/* `text` as `name` has it, or as its options ("key=value") make it; checked.  Problems
 * that are `at_least` so bad are printed. */
det_status create_take_config(struct cli *cli, const char *name,
                              const struct field_strs *pairs,
                              enum config_severity at_least, struct buf *text,
                              struct experiment_config *ret_config);
/* The same for a file, or standard input for "-". */
det_status create_load_config(struct cli *cli, const char *path,
                              const struct field_strs *pairs, struct buf *text,
                              struct experiment_config *ret_config);
/* What the master wants people to know about an experiment that it has taken. */
void create_show_warnings(struct cli *cli, const struct json *reply);

/* --local (create_local.c).  Whether the other options go with it. */
det_status create_may_be_here(struct cli *cli);
/* Becomes the entrypoint of its first trial, in `folder`
 * (NULL: here); returns only when it cannot. */
det_status create_here(struct cli *cli, const struct experiment_config *config,
                       const char *folder);

#endif
