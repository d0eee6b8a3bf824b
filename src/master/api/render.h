/* SPDX-License-Identifier: Apache-2.0 */
/* render.h - records as the API shows them: each function writes one object.  Records that
 * only one handler shows are rendered in that handler's file. */
#ifndef MASTER_API_RENDER_H
#define MASTER_API_RENDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct allocation;
struct checkpoint;
struct experiment_view;
struct json_writer;
struct page;
struct request;
struct trial_view;
struct user;

void render_user(struct json_writer *w, const char *key, const struct user *user);
/* `with_trials`: also trialIds and forks, from the store. */
det_status render_experiment(struct request *req, const char *key,
                             const struct experiment_view *view, bool with_trials);
det_status render_trial(struct request *req, const char *key,
                        const struct trial_view *view);
det_status render_checkpoint(struct request *req, const char *key,
                             const struct checkpoint *row);
/* Without the trial it belongs to. */
void render_checkpoint_outline(struct json_writer *w, const char *key,
                               const struct checkpoint *row);
void render_allocation(struct json_writer *w, const char *key,
                       const struct allocation *row);
/* The scheduling policy of a pool. */
const char *render_policy(const struct request *req, const char *pool);
/* "jobsAhead": -1 where a pool has no order, as under fair share. */
void render_jobs_ahead(struct request *req, const char *pool, int64_t ahead);
void render_page(struct json_writer *w, const struct page *page);

#endif
