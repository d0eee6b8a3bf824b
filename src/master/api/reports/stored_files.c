/* SPDX-License-Identifier: Apache-2.0 */
/* stored_files.c - see stored_files.h. */
#include "master/api/reports/stored_files.h"

#include <inttypes.h>
#include <string.h>

#include "base/io/io.h"
#include "config/experiment_config.h"
#include "master/api/api.h"
#include "master/storage_roots.h"
#include "store/experiment/experiment.h"

det_status stored_place_find(struct request *req, int64_t experiment_id,
                             struct stored_place *place)
{
    struct storage_root root = {0};
    struct experiment_config config;
    struct experiment_view view;
    det_status st =
        store_experiment_get(req->db, experiment_id, &req->mem, &view, req->err);

    if (!st)
        st = experiment_config_open(view.row.config, strlen(view.row.config), &req->mem,
                                    &config, req->err);
    if (!st && !config.storage_directory)
        st = err_set(req->err, DET_UNSUPPORTED,
                     "the storage of experiment %" PRId64 " is not a directory",
                     experiment_id);
    if (!st)
        st = storage_roots_find(req->master, config.storage_directory, &req->mem, &root,
                                req->err);
    if (st)
        return st;
    place->root = root.root;
    place->below = root.below;
    return DET_OK;
}

det_status stored_place_set_user(struct request *req, const char *text,
                                 struct stored_place *place)
{
    return run_user_number(text, &req->mem, &place->user, req->err);
}

det_status stored_file_open(struct request *req, const struct stored_place *place,
                            const char *below, struct io_file **ret_file,
                            struct err *err)
{
    const struct io_reader reader = {(uint32_t)place->user.uid,
                                     (uint32_t)place->user.gid};

    return io_open_below(req->master->storage, place->root, below,
                         place->user.uid ? &reader : NULL, ret_file, err);
}
