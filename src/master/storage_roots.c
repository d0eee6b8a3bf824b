/* SPDX-License-Identifier: Apache-2.0 */
#include "master/storage_roots.h"

#include <string.h>

#include "base/memory/arena.h"
#include "config/experiment_config.h"
#include "data/json/json.h"
#include "data/text.h"
#include "master/master_impl.h"

/* The roots one after the other; NULL after the last. */
static const char *root_at(const struct master *master, size_t index)
{
    const struct json *storage = json_get(master->config, "checkpoint_storage");
    const char *configured = json_str(json_get(storage, "host_path"), NULL);

    if (!configured)
        configured = json_str(json_get(storage, "container_path"), NULL);
    if (index == 0)
        return master->checkpoint_directory;
    if (index == 1 && configured)
        return configured;
    index -= configured ? 2 : 1;
    json_each(item, json_get(master->config, "checkpoint_storage_roots"))
        if (index-- == 0)
            return json_str(item, "");
    return NULL;
}

static bool is_limited(const struct master *master)
{
    return master->is_root || !master->is_loopback ||
           json_first(json_get(master->config, "checkpoint_storage_roots"));
}

static const char *roots_text(const struct master *master, struct arena *mem)
{
    const char *text = root_at(master, 0);
    const char *root;

    for (size_t i = 1; text && (root = root_at(master, i)); i++)
        text = arena_printf(mem, "%s, %s", text, root);
    return text ? text : "";
}

det_status storage_roots_find(const struct master *master, const char *directory,
                              struct arena *mem, struct storage_root *ret_root,
                              struct err *err)
{
    const char *root;
    const char *below;

    for (size_t i = 0; (root = root_at(master, i)); i++) {
        below = path_under(directory, root);
        if (below) {
            *ret_root = (struct storage_root){root, below};
            return DET_OK;
        }
    }
    if (!is_limited(master)) {
        *ret_root = (struct storage_root){directory, ""};
        return DET_OK;
    }
    return err_set(err, DET_FORBIDDEN,
                   "the storage '%s' is not below a directory that this master allows "
                   "(%s); an administrator can add one to checkpoint_storage_roots",
                   directory, roots_text(master, mem));
}

det_status storage_roots_check(const struct master *master,
                               const struct experiment_config *config,
                               struct arena *mem, struct err *err)
{
    struct storage_root root;
    det_status st;

    if (!config->storage_directory)
        return DET_OK;
    st = storage_roots_find(master, config->storage_directory, mem, &root, err);
    if (!st)
        return DET_OK;
    if (err)
        err->status = DET_INVALID;
    return err_prefix(err, "checkpoint_storage");
}

void storage_roots_write(const struct master *master, struct json_writer *w,
                         const char *key)
{
    const char *root;

    jw_array(w, key);
    for (size_t i = 0; (root = root_at(master, i)); i++)
        jw_str(w, NULL, root);
    jw_end_array(w);
}
