/* SPDX-License-Identifier: Apache-2.0 */
/* user_settings.c - what a user has set in the WebUI.  Every call concerns the caller. */
#include "store/people/user_setting.h"

#include <inttypes.h>
#include <string.h>

#include "master/api/api.h"
#include "master/request/request.h"
#include "wire/people_bodies.h"

enum {
    SETTING_KEY_MOST = 255,
    SETTING_VALUE_MOST = 65536,
    SETTINGS_MOST = 1000,           /* of one user */
    SETTINGS_LENGTH_MOST = 4 << 20, /* of their paths, keys and values */
};

det_status api_get_user_settings(struct request *req)
{
    struct user_setting *rows;
    uint32_t count = 0;
    det_status st = store_user_setting_list(req->db, req->caller.user_id, &req->mem,
                                            &rows, &count, req->err);

    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_array(&req->w, "settings");
    for (uint32_t i = 0; i < count; i++) {
        jw_object(&req->w, NULL);
        jw_str(&req->w, "key", rows[i].key);
        jw_str(&req->w, "storagePath", rows[i].storage_path);
        jw_str(&req->w, "value", rows[i].value);
        jw_end_object(&req->w);
    }
    jw_end_array(&req->w);
    jw_end_object(&req->w);
    return DET_OK;
}

/* After the write, in its transaction, which a refusal undoes. */
static det_status check_size(struct db *db, int64_t user_id, struct err *err)
{
    int64_t count = 0;
    int64_t length = 0;
    det_status st = store_user_settings_size(db, user_id, &count, &length, err);

    if (st || (count <= SETTINGS_MOST && length <= SETTINGS_LENGTH_MOST))
        return st;
    return err_set(
        err, DET_TOO_LARGE,
        "you would have %" PRId64 " settings of %" PRId64
        " characters; a user may have %d of %d characters: remove some first",
        count, length, SETTINGS_MOST, SETTINGS_LENGTH_MOST);
}

static det_status write_settings(struct write_job *job, struct db *db, struct err *err)
{
    const struct request *req = REQUEST_OF(job);
    const struct user_settings_body *body = req->body;
    const struct user_setting_part *parts = body->settings.at;
    det_status st = DET_OK;
    bool adds = false;

    for (size_t i = 0; !st && i < body->settings.count; i++) {
        struct user_setting row = {
            .user_id = req->caller.user_id,
            .storage_path = parts[i].storage_path ? parts[i].storage_path : "",
            .key = parts[i].key,
            .value = parts[i].value,
        };

        st = store_user_setting_put(db, &row, err);
        adds = adds || row.value;
    }
    return !st && adds ? check_size(db, req->caller.user_id, err) : st;
}

det_status api_put_user_settings(struct request *req)
{
    const struct user_settings_body *body = req->body;
    const struct user_setting_part *parts = body->settings.at;

    for (size_t i = 0; i < body->settings.count; i++) {
        size_t path = parts[i].storage_path ? strlen(parts[i].storage_path) : 0;

        if (!*parts[i].key || strlen(parts[i].key) > SETTING_KEY_MOST ||
            path > SETTING_KEY_MOST)
            return err_set(req->err, DET_INVALID,
                           "the key of a setting must have 1 to %d bytes, its "
                           "storagePath at most as many",
                           SETTING_KEY_MOST);
        if (parts[i].value && strlen(parts[i].value) > SETTING_VALUE_MOST)
            return err_set(req->err, DET_INVALID,
                           "the value of a setting must not be longer than %d bytes",
                           SETTING_VALUE_MOST);
    }
    return request_write(req, write_settings, NULL);
}

static det_status drop_settings(struct write_job *job, struct db *db, struct err *err)
{
    return store_user_settings_drop(db, REQUEST_OF(job)->caller.user_id, err);
}

det_status api_reset_user_settings(struct request *req)
{
    return request_write(req, drop_settings, NULL);
}
