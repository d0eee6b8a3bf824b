/* SPDX-License-Identifier: Apache-2.0 */
/* config_file.h - the configuration file of a submission: read, overridden, checked.
 *
 * Nothing is sent before the check.  Problems are printed with the file's name, line and
 * column, or with the option that caused them. */
#ifndef CLI_CREATE_CONFIG_FILE_H
#define CLI_CREATE_CONFIG_FILE_H

#include "base/err.h"
#include "config/config_report.h"
#include "config/experiment_config.h"
#include "model/field.h"

struct arena;
struct buf;
struct cli;
struct json;

/* Reads a file, or standard input for "-". */
det_status config_file_read(struct cli *cli, const char *path, struct buf *text);

/* Completes and checks the tree of one kind of configuration and fills its struct. */
typedef det_status config_file_load_fn(struct json *tree, struct arena *mem,
                                       struct config_report *report, void *ret_config,
                                       struct err *err);
struct config_file_source {
    const char *name;               /* for problems: the file's name */
    const struct field_strs *pairs; /* of --config: "key=value" */
    enum config_severity at_least;  /* less severe problems are not printed */
    config_file_load_fn *load;
};

/* Applies the pairs to the text and checks the result.  With pairs, `text` is written
 * anew. */
det_status config_file_check(struct cli *cli, const struct config_file_source *source,
                             struct buf *text, void *ret_config);
/* The same for an experiment's configuration. */
det_status config_file_check_experiment(struct cli *cli, const char *name,
                                        const struct field_strs *pairs,
                                        enum config_severity at_least, struct buf *text,
                                        struct experiment_config *ret_config);
/* The same for a file, or standard input for "-". */
det_status config_file_load_experiment(struct cli *cli, const char *path,
                                       const struct field_strs *pairs, struct buf *text,
                                       struct experiment_config *ret_config);
/* Applies the pairs to a parsed configuration.  With pairs, `text` is written anew;
 * without, nothing changes.  The tree keeps the lines and columns of the file. */
det_status config_file_override(struct cli *cli, const char *name,
                                const struct field_strs *pairs, struct json **tree,
                                struct buf *text);

#endif
