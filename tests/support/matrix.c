/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/matrix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"

enum { LINE_BYTES = 400, WORDS = 2 + 1 + MATRIX_BASIC + 1 + MATRIX_RBAC };

const char *const matrix_cell_names[] = {"yes", "hid", "401", "403", "404", NULL};

const char *const matrix_columns[MATRIX_COLUMNS] = {
    "basic non", "basic usr", "basic own", "basic tok", "basic run", "basic adm",
    "basic tsk", "basic tsx", "basic tse", "basic sup", "basic sux", "basic sue",
    "basic sud", "basic agt", "rbac non",  "rbac out",  "rbac vwr",  "rbac edi",
    "rbac own",  "rbac los",  "rbac wsa",  "rbac wsc",  "rbac cla",  "rbac adm",
    "rbac tok",  "rbac run",  "rbac tsk",  "rbac tsx",  "rbac tse",  "rbac sup",
    "rbac sux",  "rbac sue",  "rbac sud",  "rbac agt"};

/* Splits at spaces; the place of column `i` among the words is place_of(i). */
static int split(char *text, char *word[WORDS + 1])
{
    int count = 0;

    for (char *at = strtok_r(text, " \n", &text); at && count <= WORDS;
         at = strtok_r(NULL, " \n", &text))
        word[count++] = at;
    return count;
}

static int place_of(int column)
{
    return 3 + column + (column >= MATRIX_BASIC ? 1 : 0);
}

static int find_word(const char *const *words, const char *word)
{
    for (int i = 0; words[i]; i++)
        if (!strcmp(words[i], word))
            return i;
    return -1;
}

static void check_header(int number, char *word[])
{
    for (int i = 0; i < MATRIX_COLUMNS; i++)
        if (strcmp(strchr(matrix_columns[i], ' ') + 1, word[place_of(i)]))
            fail_msg("rights.matrix:%d: column '%s', not '%s'", number,
                     word[place_of(i)], matrix_columns[i]);
}

/* "experiment", "named:experiment", "list:experiment" */
static void read_object(struct matrix_line *line, char *text)
{
    char *kind = strchr(text, ':');
    int how, object;

    if (kind)
        *kind++ = '\0';
    how = find_word(route_object_names, text);
    object = find_word(route_object_names, kind ? kind : text);
    if (how < 0 || object < 0 || (kind && how < ROUTE_OBJECT_list) ||
        object >= ROUTE_OBJECT_list)
        fail_msg("rights.matrix:%d: '%s' is no object", line->number, text);
    line->how = (enum route_object)how;
    line->object = (enum route_object)object;
}

static const struct route *find_call(const char *name)
{
    for (int i = 0; i < ROUTE_COUNT; i++)
        if (!strcmp(routes[i].name, name))
            return &routes[i];
    return NULL;
}

static void use_rule(struct matrix_line *line, const char *field)
{
    for (int i = 0; i < rights_field_rule_count; i++) {
        const struct rights_field_rule *rule = &rights_field_rules[i];

        if (rule->route != line->route->id || strcmp(rule->field, field))
            continue;
        line->field = rule->field;
        line->who = rule->who;
        line->permission = rule->permission;
        return;
    }
    fail_msg("rights.matrix:%d: no rule is about %s.%s", line->number,
             line->route->name, field);
}

static struct matrix_line read_line(int number, char *word[])
{
    struct matrix_line line = {.number = number};
    char *field = strchr(word[0], '.');

    if (field)
        *field++ = '\0';
    line.route = find_call(word[0]);
    if (!line.route)
        fail_msg("rights.matrix:%d: there is no call '%s'", number, word[0]);
    line.who = line.route->who;
    line.permission = line.route->permission;
    if (field)
        use_rule(&line, field);
    read_object(&line, word[1]);
    if (line.how != line.route->object)
        fail_msg("rights.matrix:%d: the object of %s is '%s'", number, word[0],
                 route_object_names[line.route->object]);
    for (int i = 0; i < MATRIX_COLUMNS; i++) {
        int cell = find_word(matrix_cell_names, word[place_of(i)]);

        if (cell < 0 || (cell == CELL_HID && line.how != ROUTE_OBJECT_list))
            fail_msg("rights.matrix:%d: '%s' is no answer", number, word[place_of(i)]);
        line.cell[i] = (enum matrix_cell)cell;
    }
    return line;
}

static int count_lines(const struct matrix *matrix, enum route_id route,
                       const char *field)
{
    int count = 0;

    for (int i = 0; i < matrix->count; i++) {
        const char *own = matrix->line[i].field;

        count += matrix->line[i].route->id == route &&
                 (field ? own && !strcmp(own, field) : !own);
    }
    return count;
}

static void check_complete(const struct matrix *matrix)
{
    int wrong = 0;

    for (int i = 0; i < ROUTE_COUNT; i++)
        if (count_lines(matrix, routes[i].id, NULL) != 1) {
            print_error("rights.matrix: %d lines for %s\n",
                        count_lines(matrix, routes[i].id, NULL), routes[i].name);
            wrong++;
        }
    for (int i = 0; i < rights_field_rule_count; i++) {
        const struct rights_field_rule *rule = &rights_field_rules[i];
        int lines = count_lines(matrix, rule->route, rule->field);

        if (lines != 1) {
            print_error("rights.matrix: %d lines for %s.%s\n", lines,
                        routes[rule->route].name, rule->field);
            wrong++;
        }
    }
    CHECK_EQ(wrong, 0);
}

void matrix_read(struct matrix *ret_matrix)
{
    FILE *file = fopen(RIGHTS_MATRIX, "re");
    char text[LINE_BYTES], *word[WORDS + 1];
    struct matrix *matrix = ret_matrix;
    int number = 0;

    CHECK(file != NULL);
    matrix->count = 0;
    while (fgets(text, sizeof(text), file)) {
        int words;

        number++;
        if (*text == '#' || *text == '\n')
            continue;
        words = split(text, word);
        if (words != WORDS)
            fail_msg("rights.matrix:%d: %d words, not %d", number, words, WORDS);
        if (!strcmp(word[0], "CALL")) {
            check_header(number, word);
            continue;
        }
        CHECK(matrix->count < (int)(sizeof(matrix->line) / sizeof(matrix->line[0])));
        matrix->line[matrix->count++] = read_line(number, word);
    }
    (void)fclose(file);
    check_complete(matrix);
}
