/* SPDX-License-Identifier: Apache-2.0 */
#include "data/requirements.h"

#include <stdbool.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/vec.h"
#include "data/utf8.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

/* Where a comment begins: a '#' at the start, or behind a blank. */
static size_t comment_at(const char *line, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (line[i] == '#' && (i == 0 || is_blank(line[i - 1])))
            return i;
    return len;
}

static void trim_line(struct buf *line)
{
    size_t front = 0;

    while (line->len && is_blank(line->data[line->len - 1]))
        buf_cut(line, line->len - 1);
    while (front < line->len && is_blank(line->data[front]))
        front++;
    buf_drop(line, front);
}

struct option {
    const char *name;
    enum requirement_kind kind;
};

static const struct option options[] = {
    {"-r", REQUIREMENT_INCLUDE},    {"--requirement", REQUIREMENT_INCLUDE},
    {"-c", REQUIREMENT_CONSTRAINT}, {"--constraint", REQUIREMENT_CONSTRAINT},
    {"-e", REQUIREMENT_EDITABLE},   {"--editable", REQUIREMENT_EDITABLE},
};

/* The value after the option's name: "-r FILE", "-rFILE", "--requirement=FILE". */
static const char *value_behind(const char *text, const char *name)
{
    size_t len = strlen(name);
    bool is_short = name[1] != '-';

    if (strncmp(text, name, len) != 0)
        return NULL;
    if (!is_short && text[len] && text[len] != '=' && !is_blank(text[len]))
        return NULL;
    text += len;
    if (*text == '=')
        text++;
    while (is_blank(*text))
        text++;
    return text;
}

static void classify_requirement(struct requirement *one)
{
    one->kind = REQUIREMENT_PACKAGE;
    one->value = one->text;
    if (one->text[0] != '-')
        return;
    for (size_t i = 0; i < ARRAY_LEN(options); i++) {
        const char *value = value_behind(one->text, options[i].name);

        if (value) {
            one->kind = options[i].kind;
            one->value = value;
            return;
        }
    }
    one->kind = REQUIREMENT_OPTION;
    one->value = one->text + strcspn(one->text, "= \t");
    one->value += strspn(one->value, "= \t");
}

static det_status check_text(const char *text, size_t len, struct err *err)
{
    size_t good = utf8_valid(text, len);
    const char *nul = memchr(text, '\0', len);
    uint32_t line = 1;

    if (nul && (size_t)(nul - text) < good)
        good = (size_t)(nul - text);
    if (good == len)
        return DET_OK;
    for (size_t i = 0; i < good; i++)
        line += text[i] == '\n';
    return err_set(err, DET_INVALID, "line %u is not text; expected UTF-8", line);
}

typedef VEC(struct requirement) requirement_vec;

static bool keep_line(requirement_vec *list, const char *line, uint32_t number,
                      struct arena *mem)
{
    struct requirement one = {.line = number, .text = arena_strdup(mem, line)};

    if (!one.text)
        return false;
    classify_requirement(&one);
    return vec_push(list, one);
}

/* A line that ends with a backslash continues in the next. */
static bool collect_lines(const char *text, size_t len, struct arena *mem,
                          requirement_vec *list)
{
    CLEANUP(buf_done) struct buf line = BUF_INIT;
    uint32_t number = 1, begin = 1;
    bool is_good = true;

    for (const char *end = text + len; is_good && text < end; number++) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t size = (size_t)((newline ? newline : end) - text);
        size_t kept = size;

        while (kept && text[kept - 1] == '\r')
            kept--;
        if (!line.len)
            begin = number;
        bool goes_on = kept && text[kept - 1] == '\\' && newline;
        buf_add(&line, text, goes_on ? kept - 1 : kept);
        text += size + (newline != NULL);
        if (goes_on && text < end)
            continue;
        buf_cut(&line, comment_at(line.data, line.len));
        trim_line(&line);
        is_good = !line.status && (!line.len || keep_line(list, line.data, begin, mem));
        buf_clear(&line);
    }
    return is_good;
}

det_status requirements_parse(const char *text, size_t len, struct arena *mem,
                              struct requirements *ret_list, struct err *err)
{
    static const char mark[] = "\xef\xbb\xbf";
    requirement_vec list = {0};
    struct requirement *at;
    bool is_good;
    det_status st;

    if (len >= 3 && memcmp(text, mark, 3) == 0) {
        text += 3;
        len -= 3;
    }
    st = check_text(text, len, err);
    if (st)
        return st;
    is_good = collect_lines(text, len, mem, &list);
    at = is_good ? arena_array(mem, struct requirement, list.count + 1) : NULL;
    if (at && list.count)
        memcpy(at, list.at, list.count * sizeof(*at));
    if (at)
        *ret_list = (struct requirements){at, list.count};
    vec_done(&list);
    return at ? DET_OK : err_default(err, DET_NOMEM);
}
