/* SPDX-License-Identifier: Apache-2.0 */
/* Every cell of rights.matrix, against a real master: each call is made by each kind of caller,
 * in both modes. */
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/buf.h"
#include "tests/api/matrix_bed.h"
#include "tests/api/matrix_calls.h"
#include "tests/support/matrix.h"

static struct matrix matrix;

/* One column. */
struct column {
    int index;
    const char *header; /* NULL: no token */
    const char *login;  /* whose session it is; NULL: not a session */
};

/* ---- one call -------------------------------------------------------------------- */

static enum net_method net_method_of(const struct route *route)
{
    static const enum net_method of[] = {
        [ROUTE_GET] = NET_GET,     [ROUTE_POST] = NET_POST,     [ROUTE_PUT] = NET_PUT,
        [ROUTE_PATCH] = NET_PATCH, [ROUTE_DELETE] = NET_DELETE, [ROUTE_ANY] = NET_GET};

    return of[route->method];
}

/* The route's path with ${kind of the object} as its first variable part. */
static const char *default_path(struct bed *bed, const struct matrix_line *line)
{
    const char *path = line->route->path;
    const char *open = strchr(path, '{');
    const char *close = open ? strchr(open, '}') : NULL;

    if (!open)
        return path;
    if (line->how >= ROUTE_OBJECT_list || line->how == ROUTE_OBJECT_none ||
        strchr(close, '{'))
        fail_msg("matrix_calls.c gives no path for %s", line->route->name);
    return arena_printf(&bed->mem, "%.*s${%s}%s", (int)(open - path), path,
                        route_object_names[line->object], close + 1);
}

static struct reply make_call(struct bed *bed, const struct matrix_line *line,
                              const struct matrix_call *call, const char *header)
{
    enum net_method method = net_method_of(line->route);
    const char *headers[] = {header, NULL};
    const char *path = call && call->path ? call->path : default_path(bed, line);
    const char *body = call && call->body ? call->body : "{}";

    return bed_call_with(bed, headers, method, bed_fill(bed, path, false),
                         method == NET_GET ? NULL : bed_fill(bed, body, true));
}

/* ---- what the answer means -------------------------------------------------------- */

static bool is_hidden(const struct matrix_line *line, const struct matrix_call *call,
                      int status, const char *text)
{
    int hidden = call && call->hidden ? call->hidden : 404;

    return line->object != ROUTE_OBJECT_none && status == hidden &&
           strstr(text, "not found") && strstr(text, "'");
}

static bool is_as_allowed(const struct matrix_call *call, int status)
{
    int ok = call ? call->ok : 0;

    if (ok > 0)
        return status == ok;
    return ok ? status < 500 : status >= 200 && status < 300;
}

/* -1: none of them, which is always wrong. */
static int read_answer(struct bed *bed, const struct matrix_line *line,
                       const struct matrix_call *call, const struct reply *reply)
{
    const char *error = call && call->is_bulk && reply->status == 200
                            ? json_str(json_at(reply->json, "results.0.error"), "")
                            : "";

    if (*error && (!call->other || !strstr(error, call->other)))
        return is_hidden(line, call, 404, error) ? CELL_404 : CELL_403;
    if (is_hidden(line, call, reply->status, reply->text))
        return CELL_404;
    if (reply->status == 401)
        return CELL_401;
    if (reply->status == 403)
        return CELL_403;
    if (!is_as_allowed(call, reply->status))
        return -1;
    if (line->how == ROUTE_OBJECT_list && call && call->show &&
        !strstr(reply->text, bed_fill(bed, call->show, false)))
        return CELL_HID;
    return CELL_YES;
}

/* A list that refuses its query shows nothing to anybody. */
static bool is_same(const struct matrix_call *call, enum matrix_cell wanted, int is)
{
    return is == (int)wanted ||
           (wanted == CELL_HID && is == CELL_YES && call && !call->show);
}

/* ---- one cell --------------------------------------------------------------------- */

static const char *full_name(struct bed *bed, const struct matrix_line *line)
{
    return line->field
               ? arena_printf(&bed->mem, "%s.%s", line->route->name, line->field)
               : line->route->name;
}

static const char *bearer(struct bed *bed, const char *token)
{
    return arena_printf(&bed->mem, "Authorization: Bearer %s", token);
}

static void make_fresh(struct stage *stage, const struct matrix_line *line,
                       const struct matrix_call *call, enum matrix_cell wanted)
{
    struct bed *bed = stage->bed;

    if (!call || !call->make)
        return;
    if (wanted == CELL_YES)
        call->make(bed);
    else /* it stays as it is */
        bed_let(bed, "fresh", bed_get(bed, route_object_names[line->object]));
}

static int check_cell(struct stage *stage, const struct matrix_line *line,
                      const struct column *column)
{
    struct bed *bed = stage->bed;
    const char *name = full_name(bed, line);
    const struct matrix_call *call = matrix_call_find(name);
    enum matrix_cell wanted = line->cell[column->index];
    const char *header = column->header;
    struct reply reply;
    int is;

    make_fresh(stage, line, call, wanted);
    if (call && call->ends_session && column->login)
        header = bearer(bed, stage_login(stage, column->login));
    reply = make_call(bed, line, call, header);
    is = read_answer(bed, line, call, &reply);
    if (wanted == CELL_YES && call && call->undo)
        (void)bed_call(bed, ADMIN, NET_POST, bed_fill(bed, call->undo, false), NULL);
    if (is_same(call, wanted, is))
        return 0;
    print_error(
        "rights.matrix:%d: %s, %s: %s in the file, %s by the master: %d %.200s\n",
        line->number, name, matrix_columns[column->index], matrix_cell_names[wanted],
        is < 0 ? "neither" : matrix_cell_names[is], reply.status, reply.text);
    return 1;
}

static int check_column(struct stage *stage, const struct column *column)
{
    int wrong = 0;

    for (int i = 0; i < matrix.count; i++)
        wrong += check_cell(stage, &matrix.line[i], column);
    return wrong;
}

/* ---- callers --------------------------------------------------------------------- */

static const char *run_header(struct bed *bed, const char *token)
{
    return arena_printf(&bed->mem, "Grpc-Metadata-x-allocation-token: Bearer %s",
                        token);
}

/* A caller that is not a person's session; false: it is. */
static bool fill_other(struct stage *stage, const char *name, struct column *column)
{
    const struct {
        const char *name;
        const char *token;
        bool is_run;
    } rows[] = {
        {"non", NULL, false},
        {"tok", stage->access_token, false},
        {"run", stage->first.owner, false},
        {"tsk", stage->first.task, true},
        {"tsx", stage->second.task, true},
        {"tse", stage->done.task, true},
        {"sup", stage->first.supervisor, true},
        {"sux", stage->second.supervisor, true},
        {"sue", stage->done.supervisor, true},
        {"sud", stage->delivered.supervisor, true},
        {"agt", stage->bed->agent_token, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (strcmp(rows[i].name, name))
            continue;
        column->header = !rows[i].token   ? NULL
                         : rows[i].is_run ? run_header(stage->bed, rows[i].token)
                                          : bearer(stage->bed, rows[i].token);
        return true;
    }
    return false;
}

/* The user of a column; the owner and the administrator are there. */
static const char *add_user(struct stage *stage, const char *name)
{
    static const struct {
        const char *name;
        int role;
        bool is_on_cluster;
    } rows[] = {{"usr", 0, false}, {"out", 2, false}, {"vwr", 4, false},
                {"edi", 5, false}, {"wsa", 2, false}, {"wsc", 3, true},
                {"cla", 1, true}};
    struct bed *bed = stage->bed;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (!strcmp(rows[i].name, name))
            return stage_add_user(stage, name, rows[i].role,
                                  rows[i].is_on_cluster ? ""
                                  : !strcmp(name, "out")
                                      ? bed_get(bed, "elsewhere.workspace.id")
                                      : bed_get(bed, "workspace"));
    fail_msg("'%s' is no caller", name);
    return NULL;
}

static void fill_column(struct stage *stage, int index, struct column *column)
{
    const char *name = strchr(matrix_columns[index], ' ') + 1;
    struct bed *bed = stage->bed;

    *column = (struct column){.index = index};
    if (fill_other(stage, name, column))
        return;
    column->login = !strcmp(name, "adm")   ? "admin"
                    : !strcmp(name, "los") ? "own"
                                           : name;
    column->header =
        bearer(bed, !strcmp(name, "adm")            ? bed->admin
                    : !strcmp(column->login, "own") ? bed->other
                                                    : add_user(stage, name));
}

/* A list of visited projects holds only what was visited. */
static void visit_project(struct stage *stage, const struct column *column)
{
    const char *headers[] = {column->header, NULL};

    (void)bed_call_with(stage->bed, headers, NET_POST, "/api/v1/users/activity",
                        bed_fill(stage->bed,
                                 "{'activityType': 'ACTIVITY_TYPE_GET', 'entityType': "
                                 "'ENTITY_TYPE_PROJECT', 'entityId': ${project}}",
                                 true));
}

static int check_mode(struct stage *stage, int first, int count)
{
    struct column columns[MATRIX_COLUMNS];
    int wrong = 0;

    for (int i = 0; i < count; i++)
        fill_column(stage, first + i, &columns[i]);
    for (int i = 0; i < count; i++) {
        const char *name = strchr(matrix_columns[first + i], ' ') + 1;
        bool is_lost = !strcmp(name, "los");

        stage_use(stage, !strcmp(name, "tse") || !strcmp(name, "sue") ? &stage->done
                         : !strcmp(name, "sud") ? &stage->delivered
                                                : &stage->first);
        if (columns[i].login)
            visit_project(stage, &columns[i]);
        if (is_lost)
            stage_set_editor(stage, false);
        wrong += check_column(stage, &columns[i]);
        if (is_lost)
            stage_set_editor(stage, true);
    }
    return wrong;
}

TEST(in_mode_basic_the_master_does_what_the_matrix_says)
{
    BED(bed, NULL);
    struct stage stage;

    matrix_read(&matrix);
    stage_set(&stage, bed, false);
    CHECK_EQ(check_mode(&stage, 0, MATRIX_BASIC), 0);
}

TEST(in_mode_rbac_the_master_does_what_the_matrix_says)
{
    BED(bed, "security: {authz: {type: rbac}}\n");
    struct stage stage;

    matrix_read(&matrix);
    stage_set(&stage, bed, true);
    CHECK_EQ(check_mode(&stage, MATRIX_BASIC, MATRIX_RBAC), 0);
}

/* ---- what is hidden -------------------------------------------------------------- */

/* What calls name, and something of the kind that does not exist. */
static const char *const missing[][2] = {
    {"workspace", "987654"},
    {"project", "987654"},
    {"experiment", "987654"},
    {"trial", "987654"},
    {"task", "987654.none"},
    {"allocation", "987654.none.1"},
    {"checkpoint", "98765432-9876-4876-9876-987654987654"},
    {"fresh", "987654"},
    {"key", "NONE"},
    {"job", "none-job"},
    {"doomed", "none-doomed"},
    {"board", "none-board"},
    {"ended_board", "none-ended"},
    {"queue_id", "none-queued"},
};

static const char *replace(struct bed *bed, const char *text, const char *from,
                           const char *to)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    const char *found;

    while (*from && (found = strstr(text, from))) {
        buf_add(&out, text, (size_t)(found - text));
        buf_puts(&out, to);
        text = found + strlen(from);
    }
    buf_puts(&out, text);
    return arena_strdup(&bed->mem, out.data);
}

static void let_missing(struct bed *bed)
{
    struct json *done = json_new(&bed->mem, JSON_OBJECT);

    for (size_t i = 0; i < ARRAY_LEN(missing); i++) {
        bed_let(bed, missing[i][0], missing[i][1]);
        json_set(&bed->mem, done, missing[i][0],
                 json_new_str(&bed->mem, missing[i][1]));
    }
    bed_let_json(bed, "done", done);
}

/* The reply to a call about something hidden, with the names of something missing in it. */
static const char *hidden_text(struct bed *bed, const struct reply *reply)
{
    static const char *const forms[] = {"'%s'", "\"id\":%s,"};
    const char *text = reply->text;

    for (size_t i = 0; i < ARRAY_LEN(missing); i++)
        for (size_t k = 0; k < ARRAY_LEN(forms); k++) {
            const char *from =
                replace(bed, forms[k], "%s", bed_get(bed, missing[i][0]));
            const char *to = replace(bed, forms[k], "%s", missing[i][1]);
            const char *done =
                bed_get(bed, arena_printf(&bed->mem, "done.%s", missing[i][0]));

            text = replace(bed, text, from, to);
            text = replace(bed, text, replace(bed, forms[k], "%s", done), to);
        }
    return text;
}

TEST(in_mode_rbac_what_is_hidden_looks_like_what_does_not_exist)
{
    enum { OUT = MATRIX_BASIC + 1 };
    BED(bed, "security: {authz: {type: rbac}}\n");
    struct stage stage;
    struct column column;
    struct reply replies[ARRAY_LEN(matrix.line)];
    const char *texts[ARRAY_LEN(matrix.line)] = {0};
    int wrong = 0;

    matrix_read(&matrix);
    stage_set(&stage, bed, true);
    fill_column(&stage, OUT, &column);
    CHECK_STR(matrix_columns[OUT], "rbac out");
    for (int i = 0; i < matrix.count; i++) {
        const struct matrix_line *line = &matrix.line[i];
        const struct matrix_call *call = matrix_call_find(full_name(bed, line));

        if (line->cell[OUT] != CELL_404)
            continue;
        make_fresh(&stage, line, call, CELL_404);
        replies[i] = make_call(bed, line, call, column.header);
        texts[i] = hidden_text(bed, &replies[i]);
    }
    let_missing(bed);
    for (int i = 0; i < matrix.count; i++) {
        const struct matrix_line *line = &matrix.line[i];
        const char *name = full_name(bed, line);
        struct reply reply;

        if (!texts[i])
            continue;
        reply = make_call(bed, line, matrix_call_find(name), column.header);
        if (reply.status == replies[i].status && !strcmp(reply.text, texts[i]))
            continue;
        print_error("%s: hidden %d %.150s, missing %d %.150s\n", name,
                    replies[i].status, texts[i], reply.status, reply.text);
        wrong++;
    }
    CHECK_EQ(wrong, 0);
}

TEST(every_way_to_call_is_for_a_line_of_the_matrix)
{
    BED(bed, NULL);
    int wrong = 0;

    matrix_read(&matrix);
    for (int i = 0; i < matrix_call_count(); i++) {
        bool is_there = false;

        for (int k = 0; k < matrix.count; k++)
            is_there = is_there ||
                       !strcmp(matrix_call_name(i), full_name(bed, &matrix.line[k]));
        if (!is_there) {
            print_error("matrix_calls.c: no line is about %s\n", matrix_call_name(i));
            wrong++;
        }
    }
    CHECK_EQ(wrong, 0);
}
