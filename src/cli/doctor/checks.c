/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor/checks.h"

#include "base/compiler.h"
#include "cli/doctor/check_list.h"
#include "cli/doctor/gather.h"
#include "cli/doctor/judge.h"

const char *const doctor_scope_names[] = {"host", "cluster"};

#define ROW(id_, name_, scope_, facts_, help_)                                         \
    {.name = (name_),                                                                  \
     .scope = DOCTOR_##scope_,                                                         \
     .help = (help_),                                                                  \
     .gather = gather_##facts_,                                                        \
     .judge = judge_##id_},

const struct doctor_check doctor_checks[] = {DOCTOR_CHECKS(ROW)};
const size_t doctor_check_count = ARRAY_LEN(doctor_checks);
