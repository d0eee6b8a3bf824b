/* SPDX-License-Identifier: Apache-2.0 */
/* create.h - pieces of `det experiment create` that others need too: everything that is
 * submitted is a file and a folder. */
#ifndef CLI_CREATE_H
#define CLI_CREATE_H

#include "base/err.h"
#include "config/config.h"
#include "model/field.h"

struct arena;
struct buf;
struct cli;
struct json;
struct json_writer;
struct pack;

/* Completes and checks the tree of one kind of configuration; fills a struct of its
 * own.
 */
typedef det_status create_load_fn(struct json *tree, struct arena *mem,
                                  struct config_report *report, void *ret_config,
                                  struct err *err);
struct create_source {
    const char *name; /* for problems */
    const struct field_strs *pairs;
    enum config_severity at_least;
    create_load_fn *load;
};
/* What the text of `source` and its options ("key=value") make; checked.  With options
 * the text is written anew.  Problems that are `at_least` so bad are printed. */
det_status create_take(struct cli *cli, const struct create_source *source,
                       struct buf *text, void *ret_config);
/* A file, or standard input for "-". */
det_status cli_read_config(struct cli *cli, const char *path, struct buf *text);

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

/* What would be sent of the folder, which is said.  pack_done() also after a failure.
 */
det_status create_scan_folder(struct cli *cli, const char *folder, struct pack *pack);
/* What an agent would fail on, later and elsewhere.  A fork without a folder has its
 * parent's files, which were looked at then. */
det_status create_check_folder(struct cli *cli, const struct json *config, bool is_fork,
                               const char *folder, const struct pack *pack);
/* The files under `key`, with a figure on a terminal where that takes time. */
det_status create_write_files(struct cli *cli, const struct pack *pack,
                              struct json_writer *w, const char *key);

/* --local (create_local.c).  Whether the other options go with it. */
det_status create_may_be_here(struct cli *cli);
/* Becomes the entrypoint of its first trial, in `folder`
 * (NULL: here); returns only when it cannot. */
det_status create_here(struct cli *cli, const struct experiment_config *config,
                       const char *folder);

#endif
