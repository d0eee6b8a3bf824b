/* SPDX-License-Identifier: Apache-2.0 */
/* show.h - records as the API shows them: each function writes one object. */
#ifndef MASTER_API_SHOW_H
#define MASTER_API_SHOW_H

#include "master/request.h"
#include "store/data.h"
#include "store/views.h"

void show_user(struct json_writer *w, const char *key, const struct user *user);
/* Where GET /api/v1/det/changes stands, "changesAt": what is read after this, and a
 * stream since then, are all there is. */
void show_changes_at(struct request *req);
/* Who calls, as members of the object that is open: "user", "mayAdminister". */
det_status show_caller(struct request *req);
/* `with_trials`: also trialIds, from the store. */
det_status show_experiment(struct request *req, const char *key,
                           const struct experiment_view *view, bool with_trials);
det_status show_trial(struct request *req, const char *key,
                      const struct trial_view *view);
/* The whole reply that is a trial. */
det_status reply_trial(struct request *req, int64_t id);
det_status show_checkpoint(struct request *req, const char *key,
                           const struct checkpoint *row);
/* Without the trial it belongs to. */
void show_checkpoint_outline(struct json_writer *w, const char *key,
                             const struct checkpoint *row);
void show_allocation(struct json_writer *w, const char *key,
                     const struct allocation *row);

/* The numbers of an agent's slots that were switched off one by one, in the request's
 * memory; and whether one takes no tasks, for that or because the agent takes none
 * (agents.c). */
det_status parse_disabled(struct request *req, const struct agent *agent,
                          struct json **ret_slots);
bool slot_is_disabled(const struct agent *agent, const struct json *disabled,
                      int64_t slot);

void show_page(struct json_writer *w, const struct page *page);
/* For lists that are cut here: limit 0 means all; DET_INVALID for an offset outside. */
det_status page_cut(struct page *page, int64_t total, struct err *err);
bool is_descending(const char *order_by);

/* The bit set of named states ("STATE_ACTIVE" or "ACTIVE").  Names of running kinds
 * count as ACTIVE. */
det_status states_from(const struct field_strs *names, const char *const *known,
                       uint32_t *ret_set, struct err *err);

#endif
