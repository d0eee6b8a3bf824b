/* SPDX-License-Identifier: Apache-2.0 */
/* yaml_problem.h - the reason and place why a text is not YAML. */
#ifndef DATA_YAML_YAML_PROBLEM_H
#define DATA_YAML_YAML_PROBLEM_H

#include <stddef.h>
#include <stdint.h>

#include <yaml.h>

struct yaml_problem {
    uint32_t line; /* both from 1 */
    uint32_t column;
    char text[200];
};

/* Only for a parser that has failed for another reason than memory. */
void yaml_problem_find(const yaml_parser_t *parser, const char *text, size_t len,
                       struct yaml_problem *ret);

/* The line and column of a byte of a text. */
void yaml_place(const char *text, size_t at, uint32_t *ret_line, uint32_t *ret_column);

#endif
