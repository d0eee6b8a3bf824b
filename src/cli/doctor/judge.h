/* SPDX-License-Identifier: Apache-2.0 */
/* judge.h - decides what the facts mean; pure: facts in, findings out.
 *
 * judge_host.c and judge_cluster.c have a function for each row of check_list.h. */
#ifndef CLI_DOCTOR_JUDGE_H
#define CLI_DOCTOR_JUDGE_H

#include <stdbool.h>

#include "cli/doctor/check_list.h"

struct doctor_facts;
struct findings;

#define JUDGE(id, name, scope, facts, help)                                            \
    void judge_##id(const struct doctor_facts *facts_, struct findings *out);
DOCTOR_CHECKS(JUDGE)
#undef JUDGE

/* Whether a certificate with these names ("a, *.b, 10.0.0.1") is for the host. */
bool judge_names_cover(const char *names, const char *host);

#endif
