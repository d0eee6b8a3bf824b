/* SPDX-License-Identifier: Apache-2.0 */
/* job_config.h - the configuration of a generic job. */
#ifndef CONFIG_JOB_CONFIG_H
#define CONFIG_JOB_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct config_report;
struct json;

struct job_defaults {
    const struct json *task_container_defaults; /* NULL: none */
    const char *name;                           /* for a job without one */
    const char *compute_pool; /* if it names no pool: with slots; NULL: the cluster's */
    const char *aux_pool;     /* likewise without slots */
};

/* A complete, checked configuration of a generic job; lives in the arena it was loaded
 * into. */
struct job_config {
    const struct json *tree;
    const char *json; /* the same as text */
    const char *name;
    const struct json *entrypoint; /* string or list */
    int64_t slots;
    int64_t priority; /* 0: the pool's default */
    double weight;
    bool is_single_node;
    const char *resource_pool; /* "": the default */
    int64_t preemption_timeout_s;
    const struct json *environment_variables; /* list of "K=V" for CPU tasks */
};

/* As experiment_config_load() and experiment_config_load_tree(). */
det_status job_config_load(const char *text, size_t len,
                           const struct job_defaults *defaults, struct arena *mem,
                           struct config_report *report, struct job_config *ret_config,
                           struct err *err);
det_status job_config_load_tree(struct json *tree, const struct job_defaults *defaults,
                                struct arena *mem, struct config_report *report,
                                struct job_config *ret_config, struct err *err);
/* From a complete, stored text; borrows `json`. */
det_status job_config_open(const char *json, struct arena *mem,
                           struct job_config *ret_config, struct err *err);

#endif
