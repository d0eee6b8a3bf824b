/* SPDX-License-Identifier: Apache-2.0 */
/* checks.h - the table of all checks, made from check_list.h. */
#ifndef CLI_DOCTOR_CHECKS_H
#define CLI_DOCTOR_CHECKS_H

#include <stddef.h>

struct doctor_facts;
struct findings;
struct gather;

enum doctor_scope { DOCTOR_HOST, DOCTOR_CLUSTER };
extern const char *const doctor_scope_names[]; /* "host", "cluster" */

struct doctor_check {
    const char *name;
    enum doctor_scope scope;
    const char *help; /* what it looks at */
    void (*gather)(const struct gather *gather, struct doctor_facts *facts);
    void (*judge)(const struct doctor_facts *facts, struct findings *out);
};

extern const struct doctor_check doctor_checks[];
extern const size_t doctor_check_count;

#endif
