/* SPDX-License-Identifier: Apache-2.0 */
/* api.h - the handlers, one a route, bound to the rows of wire/route_list.h: a row
 * without its function does not link. */
#ifndef MASTER_API_API_H
#define MASTER_API_API_H

#include "master/request.h"

#define ROUTE(id, ...) handler_fn api_##id;
#include "wire/route_list.h"
#undef ROUTE

struct buf;
struct create_experiment_body;
struct job_view;

enum {
    API_FILES_LIMIT = 128 << 20, /* unpacked bytes of a folder */
    API_NAME_SIZE = 96,
};
/* submit.c: a list of files (path, type, content, ...) as tar.gz; nothing for none.
 * `what` is what the body calls it. */
det_status api_pack_files(const char *what, const struct json *files,
                          struct buf *ret_tgz, struct err *err);
/* submit.c: "Experiment (plain-amber-otter)", for those without a name. */
void api_make_name(const char *what, const unsigned char random[16],
                   char text[API_NAME_SIZE]);

/* submit.c: DET_TOO_LARGE for a complete configuration that cannot travel to a program
 * in its environment, as `variable`. */
det_status api_check_travels(const char *variable, const char *config, struct err *err);

/* tasks.c: a job as v1Task, with these of its runs. */
struct allocation;
void api_show_job(struct json_writer *w, const char *key, const struct job_view *job,
                  const struct allocation *runs, uint32_t count);

/* create.c: what somebody else runs; `external_id` may be NULL.  `then` replies. */
det_status api_create_unmanaged(struct request *req,
                                const struct create_experiment_body *body,
                                const char *external_id, handler_fn *then);
/* continue.c: whether experiment `id` could go on with these changes; what is wrong
 * with them goes to `report`. */
struct config_report;
struct experiment_config;
det_status api_check_continued(struct request *req, int64_t id, const char *changes,
                               struct config_report *report,
                               struct experiment_config *ret_config);
/* create.c: the experiment and its configuration. */
det_status api_reply_experiment(struct request *req, int64_t id, bool exceeds_slots);

/* After an event that made an experiment, or brought one back: shows it. */
handler_fn api_reply_created;

/* experiments.c: what a steering of one that is over, or unmanaged, is answered. */
det_status api_answer_ended(int64_t id, enum experiment_state state,
                            enum experiment_action action, struct err *err);
det_status api_refuse_unmanaged(int64_t id, struct err *err);

extern handler_fn *const api_handlers[ROUTE_COUNT];

#endif
