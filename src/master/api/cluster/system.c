/* SPDX-License-Identifier: Apache-2.0 */
/* system.c - the master's version, health, configuration and API documentation. */
#include "config/mask.h"
#include "master/api/api.h"
#include "master/api/pages/change_stream.h"
#include "master/api/people/users.h"
#include "master/request/auth.h"
#include "master/signin/signin.h"
#include "store/people/user.h"
#include "wire/route_openapi.h"
#include "wire/route_page.h"

/* Official clients compare this with their own version. */
#define API_VERSION "0.38.1"

det_status api_get_info(struct request *req)
{
    struct json_writer *w = &req->w;

    jw_object(w, NULL);
    jw_str(w, "version", API_VERSION);
    jw_str(w, "det_version", DET_VERSION);
    jw_str(w, "master_id", req->master->id);
    jw_str(w, "cluster_id", req->master->cluster_id);
    jw_str(w, "cluster_name", req->master->cluster_name);
    jw_object(w, "telemetry");
    jw_bool(w, "enabled", false);
    jw_end_object(w);
    signin_render(req->master->signin, w, true);
    jw_end_object(w);
    return DET_OK;
}

det_status api_get_health(struct request *req)
{
    struct json_writer *w = &req->w;
    bool is_up = !store_is_dead(req->master->store);

    if (!is_up)
        req->http_status = 503;
    jw_object(w, NULL);
    jw_str(w, "status", is_up ? "up" : "down");
    jw_str(w, "database",
           !is_up                        ? "down"
           : master_is_full(req->master) ? "read-only"
                                         : "up");
    jw_array(w, "resource_managers");
    jw_object(w, NULL);
    jw_str(w, "name", "default");
    jw_str(w, "status", "up");
    jw_end_object(w);
    jw_end_array(w);
    jw_end_object(w);
    return DET_OK;
}

/* Also serves browsers that open an unknown path such as "/experiments/3": the WebUI shows
 * the page, or that there is none. */
det_status api_get_root(struct request *req)
{
    const char *address = request_address(req);

    return request_redirect(req, address ? arena_printf(&req->mem, "/det%s", address)
                                         : NULL);
}

det_status api_get_calls(struct request *req)
{
    req->content_type = "text/html; charset=utf-8";
    route_page_write(&req->out);
    return DET_OK;
}

det_status api_get_openapi(struct request *req)
{
    route_openapi_write(&req->out);
    return DET_OK;
}

/* For the hint of the sign-in page.  Only those who may use a blank password learn of it. */
static det_status render_blank_users(struct request *req)
{
    static const char *const names[] = {"determined", "admin"};
    bool may_use = req->master->is_loopback && auth_peer_is_owner(req->x);

    jw_array(&req->w, "usersWithoutPassword");
    for (size_t i = 0; may_use && i < ARRAY_LEN(names); i++) {
        struct user user;
        det_status st = store_user_named(req->db, names[i], &req->mem, &user, req->err);

        if (st && st != DET_NOT_FOUND)
            return st;
        if (!st && user.is_active && !user.password)
            jw_str(&req->w, NULL, names[i]);
    }
    jw_end_array(&req->w);
    return DET_OK;
}

det_status api_get_master(struct request *req)
{
    struct json_writer *w = &req->w;
    bool is_signed_in;
    det_status st = auth_find_user(req, &is_signed_in);

    if (st)
        return st;
    jw_object(w, NULL);
    jw_str(w, "version", API_VERSION);
    jw_str(w, "detVersion", DET_VERSION);
    jw_str(w, "masterId", req->master->id);
    jw_str(w, "clusterId", req->master->cluster_id);
    jw_str(w, "clusterName", req->master->cluster_name);
    if (req->master->certificate_expires_us)
        jw_time(w, "certificateExpires", req->master->certificate_expires_us);
    jw_bool(w, "telemetryEnabled", false);
    jw_bool(w, "isReadOnly", req->master->is_read_only);
    jw_bool(w, "isDiskFull", master_is_full(req->master));
    jw_str(w, "externalLoginUri", "");
    jw_str(w, "externalLogoutUri", "");
    jw_str(w, "branding", "determined");
    jw_bool(
        w, "rbacEnabled",
        req->master->is_rbac ||
            json_bool(json_path(req->master->config, "security.authz.rbac_ui_enabled"),
                      false));
    jw_str(w, "authzType", req->master->is_rbac ? "rbac" : "basic");
    jw_str(w, "product", "PRODUCT_UNSPECIFIED");
    jw_bool(w, "userManagementEnabled", true);
    jw_bool(w, "strictJobQueueControl", false);
    jw_bool(w, "hasCustomLogo", false);
    jw_array(w, "featureSwitches");
    jw_end_array(w);
    signin_render(req->master->signin, w, false);
    jw_null(w, "clusterMessage");
    change_stream_render_position(req);
    st = render_blank_users(req);
    if (!st && is_signed_in) /* the WebUI needs both in one call */
        st = users_render_caller(req);
    jw_end_object(w);
    return st;
}

det_status api_get_telemetry(struct request *req)
{
    jw_object(&req->w, NULL);
    jw_bool(&req->w, "enabled", false);
    jw_str(&req->w, "segmentKey", "");
    jw_end_object(&req->w);
    return DET_OK;
}

/* The key tables say which values are secrets. */
det_status api_get_master_config(struct request *req)
{
    jw_object(&req->w, NULL);
    jw_json(&req->w, "config",
            config_mask(CONFIG_MASTER, req->master->config, &req->mem));
    jw_end_object(&req->w);
    return DET_OK;
}
