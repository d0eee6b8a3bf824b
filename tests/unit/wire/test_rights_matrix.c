/* SPDX-License-Identifier: Apache-2.0 */
/* test_rights_matrix.c - every cell of tests/api/rights.matrix against rights_decide(). */
#include <stdlib.h>
#include <string.h>

#include "tests/support/matrix.h"
#include "tests/support/test.h"

enum { OWNER_ID = 7, USER_ID = 8, ADMIN_ID = 1, PLACE = 3, OTHER_PLACE = 4 };

/* What is in a column. */
struct kind {
    struct caller caller;
    struct grant grant;
    struct grants grants;
    bool is_over;
    bool has_delivered;
};

#define TASK_NAME "12.task"

static void act_in_run(struct caller *caller, bool is_other)
{
    caller->user_id = OWNER_ID;
    caller->session_id = 0;
    caller->experiment_id = is_other ? 21 : 11;
    caller->trial_id = is_other ? 22 : 12;
    caller->allocation_id = is_other ? 23 : 13;
    caller->task_id = is_other ? "22.task" : TASK_NAME;
}

/* `name` without its mode. */
static void fill_caller(struct caller *caller, const char *name)
{
    bool is_task = !strncmp(name, "ts", 2), is_supervisor = !strncmp(name, "su", 2);

    caller->kind = CALLER_USER;
    caller->user_id = USER_ID;
    caller->session_id = 99;
    if (!strcmp(name, "own") || !strcmp(name, "los") || !strcmp(name, "tok") ||
        !strcmp(name, "run"))
        caller->user_id = OWNER_ID;
    if (!strcmp(name, "tok") || !strcmp(name, "run"))
        caller->session_id = 0;
    if (!strcmp(name, "run"))
        caller->run_of = 13;
    if (!strcmp(name, "adm"))
        caller->is_admin = true, caller->user_id = ADMIN_ID;
    if (!strcmp(name, "non"))
        *caller = (struct caller){.kind = CALLER_NOBODY};
    if (!strcmp(name, "agt"))
        *caller = (struct caller){.kind = CALLER_AGENT};
    if (is_task || is_supervisor) {
        caller->kind = is_task ? CALLER_TASK : CALLER_SUPERVISOR;
        act_in_run(caller, name[2] == 'x');
    }
}

static void fill_grants(struct kind *kind, const char *name)
{
    static const struct {
        const char *names;
        int role;
        int64_t place; /* 0: the cluster */
    } rows[] = {
        {"out", 2, OTHER_PLACE},
        {"vwr", 4, PLACE},
        {"wsa", 2, PLACE},
        {"edi own tok run tsk tsx tse sup sux sue sud", 5, PLACE},
        {"wsc", 3, 0},
        {"cla", 1, 0},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (!strstr(rows[i].names, name))
            continue;
        if (rows[i].place) {
            kind->grant = (struct grant){rows[i].place, role_find(rows[i].role)->mask};
            kind->grants.count = 1;
        } else {
            kind->grants.cluster = role_find(rows[i].role)->mask;
        }
    }
    if (kind->caller.is_admin)
        kind->grants.cluster = UINT64_MAX;
    kind->grants.grant = &kind->grant;
    kind->caller.grants = &kind->grants;
}

static void fill_kind(struct kind *kind, int column)
{
    const char *name = strchr(matrix_columns[column], ' ') + 1;

    *kind = (struct kind){.has_delivered = !strcmp(name, "sud")};
    kind->is_over = kind->has_delivered || !strcmp(name, "tse") || !strcmp(name, "sue");
    fill_caller(&kind->caller, name);
    if (column >= MATRIX_BASIC && kind->caller.kind != CALLER_NOBODY &&
        kind->caller.kind != CALLER_AGENT)
        fill_grants(kind, name);
}

static struct rights_object object_of(enum route_object object_kind, bool is_job)
{
    struct rights_object object = {.kind = object_kind, .owner_id = OWNER_ID};

    if (object_kind == ROUTE_OBJECT_none || object_kind == ROUTE_OBJECT_group)
        object.owner_id = 0;
    if (object_kind == ROUTE_OBJECT_none || object_kind == ROUTE_OBJECT_group ||
        object_kind == ROUTE_OBJECT_user || object_kind == ROUTE_OBJECT_token)
        return object;
    object.workspace_id = PLACE;
    object.allocation_id = 13;
    object.task_id = TASK_NAME;
    object.is_job = is_job;
    object.experiment_id = is_job ? 0 : 11;
    object.trial_id = is_job ? 0 : 12;
    return object;
}

static enum matrix_cell to_cell(enum rights_answer answer)
{
    static const enum matrix_cell cells[] = {[RIGHTS_ALLOWED] = CELL_YES,
                                             [RIGHTS_SIGN_IN] = CELL_401,
                                             [RIGHTS_FORBIDDEN] = CELL_403,
                                             [RIGHTS_HIDDEN] = CELL_404};

    return cells[answer];
}

/* What auth.c and access.c do, in their order. */
static enum matrix_cell decide(const struct matrix_line *line, const struct kind *kind,
                               bool is_job)
{
    struct route row = *line->route;
    struct rights_object object = object_of(line->object, is_job);
    enum rights_answer answer;

    if (row.who != ROUTE_OPEN && kind->is_over &&
        !rights_after_end(&row, kind->caller.kind))
        return CELL_401;
    if (row.who != ROUTE_OPEN && kind->has_delivered && !rights_may_repeat(&row))
        return CELL_403;
    row.who = line->who;
    row.permission = line->permission;
    answer = rights_admit(&row, &kind->caller);
    if (answer == RIGHTS_ALLOWED)
        answer = rights_decide(&row, &kind->caller, &object);
    else if (line->how == ROUTE_OBJECT_none)
        CHECK(rights_decide(&row, &kind->caller, &object) == answer);
    if (line->how == ROUTE_OBJECT_list && answer != RIGHTS_ALLOWED &&
        rights_admit(&row, &kind->caller) == RIGHTS_ALLOWED)
        return CELL_HID;
    return to_cell(answer);
}

static int check_cell(const struct matrix_line *line, int column, bool is_job)
{
    struct kind kind;
    enum matrix_cell is;

    fill_kind(&kind, column);
    is = decide(line, &kind, is_job);
    if (is == line->cell[column])
        return 0;
    print_error("rights.matrix:%d: %s%s%s, %s: %s in the file, %s by the table%s\n",
                line->number, line->route->name, line->field ? "." : "",
                line->field ? line->field : "", matrix_columns[column],
                matrix_cell_names[line->cell[column]], matrix_cell_names[is],
                is_job ? " (a job)" : "");
    return 1;
}

TEST(the_table_says_of_every_caller_what_the_matrix_says)
{
    static struct matrix matrix;
    int wrong = 0;

    matrix_read(&matrix);
    for (int i = 0; i < matrix.count; i++)
        for (int column = 0; column < MATRIX_COLUMNS; column++) {
            const struct matrix_line *line = &matrix.line[i];

            wrong += check_cell(line, column, false);
            if (line->object == ROUTE_OBJECT_task ||
                line->object == ROUTE_OBJECT_allocation)
                wrong += check_cell(line, column, true);
        }
    CHECK_EQ(wrong, 0);
}
