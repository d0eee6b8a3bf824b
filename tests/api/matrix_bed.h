/* SPDX-License-Identifier: Apache-2.0 */
/* matrix_bed.h - one object and one caller of each kind, for test_matrix.c.
 *
 * Four runs of the owner: one that runs, whose objects the calls name; another that runs, whose
 * task and supervisor are strangers to the first; one that was lost, whose supervisor
 * still has something to say; and one whose supervisor has reported the end.  ${experiment}, ${trial},
 * ${task}, ${allocation}, ${container} and ${checkpoint} are of the run of stage_use();
 * ${done.experiment} etc. are always of the third. */
#ifndef TESTS_API_MATRIX_BED_H
#define TESTS_API_MATRIX_BED_H

#include "tests/api/script.h"

struct stage {
    struct bed *bed;
    bool is_rbac;
    struct agent agent;
    struct share first, second, done, delivered;
    const char *access_token; /* of the owner */
};

/* Everything but the users other than the owner. */
void stage_set(struct stage *stage, struct bed *bed, bool is_rbac);
/* A user with this name and a role (0: none; workspace 0: on the cluster); a session of it. */
const char *stage_add_user(struct stage *stage, const char *name, int role,
                           const char *workspace);
const char *stage_login(struct stage *stage, const char *name);
/* Gives the owner the role of an Editor, or takes it away. */
void stage_set_editor(struct stage *stage, bool is_editor);
void stage_use(struct stage *stage, const struct share *share);

#endif
