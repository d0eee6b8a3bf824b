/* SPDX-License-Identifier: Apache-2.0 */
#include "master/api/people/user_rules.h"

#include "master/request/request.h"
#include "master/signin/signin.h"

det_status admin_count_begin(const struct request *req, struct db *db,
                             struct admin_count *ret_count, struct err *err)
{
    const struct signin *signin = req->master->signin;

    ret_count->rule = (struct admin_rule){
        .is_rbac = req->master->is_rbac,
        .counts_remote = signin && (signin_oidc(signin) || signin_directory(signin))};
    return store_user_count_admins(db, &ret_count->rule, &ret_count->count, err);
}

det_status admin_count_check(struct db *db, const struct admin_count *before,
                             struct err *err)
{
    int64_t now = 0;
    det_status st = store_user_count_admins(db, &before->rule, &now, err);

    if (st || now || !before->count)
        return st;
    return err_set(err, DET_STATE,
                   before->rule.is_rbac
                       ? "this would leave no active administrator who can sign in; "
                         "assign the role ClusterAdmin to another active user first"
                       : "this would leave no active administrator who can sign in; "
                         "make another user an administrator first");
}
