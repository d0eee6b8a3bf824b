/* SPDX-License-Identifier: Apache-2.0 */
/* yaml_problem.c - libyaml's error messages in plain words.
 *
 * libyaml says which of its rules failed.  Users want to know what to do, and where the
 * unfinished list, mapping or quotes began.  Problems that the table does not list are
 * reported in libyaml's words. */
#include "data/yaml/yaml_problem.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"

static const struct {
    const char *problem; /* libyaml's */
    const char *sentence;
    const char *begin; /* what began in the other line that libyaml names */
} sentences[] = {
    {"did not find expected key", "this is not a key, or not indented like the others",
     "the mapping"},
    {"did not find expected '-' indicator",
     "this is not an item, or not indented like the others", "the list"},
    {"did not find expected ',' or ']'", "a ',' or a ']' is missing", "the list"},
    {"did not find expected ',' or '}'", "a ',' or a '}' is missing", "the mapping"},
    {"could not find expected ':'", "a ':' is missing", "the key"},
    {"found unexpected end of stream", "a quote is missing", "the quoted text"},
    {"found unexpected document indicator", "a quote is missing", "the quoted text"},
    {"mapping values are not allowed in this context",
     "a ':' is not allowed here: put text that contains one in quotes, or look at the "
     "indentation",
     NULL},
    {"block sequence entries are not allowed in this context",
     "a list cannot begin here: put each '-' on a line of its own", NULL},
    {"found character that cannot start any token",
     "no value begins with this character: put it in quotes", NULL},
    {"found unknown escape character",
     "there is no such escape: write \\\\ for a backslash, or use single quotes", NULL},
    {"found invalid Unicode character escape code",
     "there is no character of this number", NULL},
    {"did not find expected node content", "a value is missing here", NULL},
    {"control characters are not allowed",
     "a control character: write it as an escape, like \"\\x1b\"", NULL},
};

void yaml_place(const char *text, size_t at, uint32_t *ret_line, uint32_t *ret_column)
{
    *ret_line = *ret_column = 1;
    for (size_t i = 0; i < at; i++) {
        if (text[i] == '\n') {
            ++*ret_line;
            *ret_column = 1;
        } else if (((unsigned char)text[i] & 0xc0) != 0x80) {
            ++*ret_column; /* the first byte of a character */
        }
    }
}

/* The column of a tab before the first word of a line, counted from 1; 0: none. */
static uint32_t indenting_tab(const char *text, size_t len, uint32_t line)
{
    const char *end = text + len;
    size_t blanks;

    for (; text && line > 1; line--) {
        text = memchr(text, '\n', (size_t)(end - text));
        text = text ? text + 1 : NULL;
    }
    if (!text)
        return 0;
    for (blanks = 0; text + blanks < end && text[blanks] == ' '; blanks++)
        ;
    return text + blanks < end && text[blanks] == '\t' ? (uint32_t)blanks + 1 : 0;
}

/* Editors do not show tabs.  Between brackets and in quotes they are allowed. */
static bool find_tab(const yaml_parser_t *parser, const char *text, size_t len,
                     struct yaml_problem *ret)
{
    bool is_quoted = parser->context && strstr(parser->context, "quoted scalar");
    uint32_t column = indenting_tab(text, len, ret->line);

    if (!column || is_quoted || parser->flow_level)
        return false;
    ret->column = column;
    snprintf(ret->text, sizeof(ret->text),
             "there is a tab in the indentation; YAML requires spaces");
    return true;
}

void yaml_problem_find(const yaml_parser_t *parser, const char *text, size_t len,
                       struct yaml_problem *ret)
{
    const char *problem = parser->problem ? parser->problem : "this is not YAML";
    size_t i = 0;

    if (parser->error == YAML_READER_ERROR) {
        yaml_place(text, MIN(parser->problem_offset, len), &ret->line, &ret->column);
    } else {
        ret->line = (uint32_t)parser->problem_mark.line + 1;
        ret->column = (uint32_t)parser->problem_mark.column + 1;
        if (find_tab(parser, text, len, ret))
            return;
    }
    while (i < ARRAY_LEN(sentences) && strcmp(sentences[i].problem, problem) != 0)
        i++;
    if (i == ARRAY_LEN(sentences))
        snprintf(ret->text, sizeof(ret->text), "%s", problem);
    else if (!sentences[i].begin)
        snprintf(ret->text, sizeof(ret->text), "%s", sentences[i].sentence);
    else
        snprintf(ret->text, sizeof(ret->text), "%s; %s begins in line %zu",
                 sentences[i].sentence, sentences[i].begin,
                 parser->context_mark.line + 1);
}
