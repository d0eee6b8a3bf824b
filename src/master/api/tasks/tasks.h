/* SPDX-License-Identifier: Apache-2.0 */
/* tasks.h - a generic job as the API shows it. */
#ifndef MASTER_API_TASKS_TASKS_H
#define MASTER_API_TASKS_TASKS_H

#include <stdint.h>

struct allocation;
struct job_view;
struct json_writer;

/* Writes a v1Task with these runs of the job. */
void tasks_render_job(struct json_writer *w, const char *key,
                      const struct job_view *job, const struct allocation *runs,
                      uint32_t count);

#endif
