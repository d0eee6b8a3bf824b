/* SPDX-License-Identifier: Apache-2.0 */
/* access.h - applies wire/rights.h to a request.
 *
 * dispatch.h calls access_check_call() before every handler.  That settles all rows whose
 * object is in the path.  Where the body or query names objects (`named`), the handler passes
 * each to access_check(); where the reply lists many (`list`), it asks access_scope() which
 * of them the caller may see.  A handler that forgets gets no answer out:
 * access_assert_checked() refuses the reply, so a mistake denies. */
#ifndef MASTER_REQUEST_ACCESS_H
#define MASTER_REQUEST_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/field.h"
#include "wire/rights.h"

struct request;
struct role;
struct user;

/* Whether the caller may make this call, as far as path and body fields tell.
 * DET_UNAUTHENTICATED, DET_FORBIDDEN, or DET_NOT_FOUND for an object that the caller may not
 * see or that does not exist. */
det_status access_check_call(struct request *req);
det_status access_check_fields(struct request *req); /* after the body was read */

/* For a `named` row: one object of the call. */
det_status access_check(struct request *req, enum route_object kind, const char *name);
det_status access_check_id(struct request *req, enum route_object kind, int64_t id);
/* The same, for an object that the call named otherwise ("job" 'x').  Hidden, it gets the
 * sentence of a name that does not exist, not one with its id. */
det_status access_check_named(struct request *req, enum route_object kind, int64_t id,
                              const char *what, const char *name);
/* The same, for a call that does what another row does (one action on many objects). */
det_status access_check_as(struct request *req, enum route_id row,
                           enum route_object kind, int64_t id);
det_status access_check_name_as(struct request *req, enum route_id row,
                                enum route_object kind, const char *name);
/* Several; the first that is refused is the answer. */
det_status access_check_ids(struct request *req, enum route_object kind,
                            const struct field_i64s *ids);
/* A `named` call that turned out to name nothing. */
void access_names_nothing(struct request *req);

/* Whether the caller may assign or remove `role` there (workspace_id 0: on the cluster).  The
 * caller needs the permission of the row, and everything that the role allows. */
det_status access_check_role(struct request *req, const struct role *role,
                             int64_t workspace_id);
/* For a SELF row: whether the caller may see the objects of all users. */
bool access_is_for_all(const struct request *req);

/* Whether `user`, who calls or has just signed in, may make a call that names no object. */
det_status access_may(struct request *req, enum route_id row, const struct user *user,
                      bool *ret_may);

/* The workspaces whose objects a `list` row may show; in req->mem. */
det_status access_scope(struct request *req, struct scope *ret_scope);
/* Whether a `list` row may show this object; for replies that hold few. */
bool access_shows(struct request *req, enum route_object kind, const char *name);
bool access_shows_id(struct request *req, enum route_object kind, int64_t id);

/* Before a reply: DET_FORBIDDEN if the handler of a `named` or `list` row checked nothing. */
det_status access_assert_checked(struct request *req);

#endif
