/* SPDX-License-Identifier: Apache-2.0 */
/* yaml_scalar.c - see yaml_scalar.h.
 *
 * The first character decides whether a word can be one of the listed words, a number,
 * or only a string.  Underscores in numbers are dropped.  Dates and sexagesimal numbers
 * stay strings.
 *
 * The converter's numbers end up as doubles.  Integers that a double holds exactly stay
 * integers here; beyond 2^53 they become the same double as in the converter. */
#include "data/yaml/yaml_scalar.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "data/number.h"

#define EXACT_MOST (INT64_C(1) << 53)

enum { NUMBER_MOST = 1024 }; /* longer words are strings */

struct word {
    const char *text;
    enum json_kind kind;
    bool boolean;
    double real;
};

#define TRUE_WORD(text_)                                                               \
    {                                                                                  \
        .text = (text_), .kind = JSON_BOOL, .boolean = true                            \
    }
#define FALSE_WORD(text_)                                                              \
    {                                                                                  \
        .text = (text_), .kind = JSON_BOOL                                             \
    }
#define NULL_WORD(text_)                                                               \
    {                                                                                  \
        .text = (text_), .kind = JSON_NULL                                             \
    }
#define REAL_WORD(text_, real_)                                                        \
    {                                                                                  \
        .text = (text_), .kind = JSON_REAL, .real = (real_)                            \
    }

static const struct word words[] = {
    TRUE_WORD("y"),
    TRUE_WORD("Y"),
    TRUE_WORD("yes"),
    TRUE_WORD("Yes"),
    TRUE_WORD("YES"),
    TRUE_WORD("true"),
    TRUE_WORD("True"),
    TRUE_WORD("TRUE"),
    TRUE_WORD("on"),
    TRUE_WORD("On"),
    TRUE_WORD("ON"),
    FALSE_WORD("n"),
    FALSE_WORD("N"),
    FALSE_WORD("no"),
    FALSE_WORD("No"),
    FALSE_WORD("NO"),
    FALSE_WORD("false"),
    FALSE_WORD("False"),
    FALSE_WORD("FALSE"),
    FALSE_WORD("off"),
    FALSE_WORD("Off"),
    FALSE_WORD("OFF"),
    NULL_WORD(""),
    NULL_WORD("~"),
    NULL_WORD("null"),
    NULL_WORD("Null"),
    NULL_WORD("NULL"),
    REAL_WORD(".nan", NAN),
    REAL_WORD(".NaN", NAN),
    REAL_WORD(".NAN", NAN),
    REAL_WORD(".inf", INFINITY),
    REAL_WORD(".Inf", INFINITY),
    REAL_WORD(".INF", INFINITY),
    REAL_WORD("+.inf", INFINITY),
    REAL_WORD("+.Inf", INFINITY),
    REAL_WORD("+.INF", INFINITY),
    REAL_WORD("-.inf", -INFINITY),
    REAL_WORD("-.Inf", -INFINITY),
    REAL_WORD("-.INF", -INFINITY),
};

static bool resolve_word(const char *text, size_t len, struct json *value)
{
    if (len > 5)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        const struct word *word = &words[i];

        if (strcmp(word->text, text) != 0)
            continue;
        value->kind = word->kind;
        if (word->kind == JSON_BOOL)
            value->boolean = word->boolean;
        if (word->kind == JSON_REAL)
            value->real = word->real;
        return true;
    }
    return false;
}

/* 0x, 0b, 0o or a leading 0; moves `text` behind the prefix. */
static unsigned base_of(const char **text)
{
    if ((*text)[0] != '0' || !(*text)[1])
        return 10;
    switch ((*text)[1]) {
    case 'x':
    case 'X':
        *text += 2;
        return 16;
    case 'b':
    case 'B':
        *text += 2;
        return 2;
    case 'o':
    case 'O':
        *text += 2;
        return 8;
    default:
        *text += 1;
        return 8;
    }
}

static unsigned digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f')
        return (unsigned)(c - 'a') + 10;
    if (c >= 'A' && c <= 'F')
        return (unsigned)(c - 'A') + 10;
    return 99;
}

static bool resolve_int(const char *text, struct json *value)
{
    bool is_negative = *text == '-';
    uint64_t number = 0;
    unsigned base;

    text += *text == '-' || *text == '+';
    base = base_of(&text);
    if (!*text)
        return false;
    for (; *text; text++) {
        unsigned digit = digit_of(*text);

        if (digit >= base || __builtin_mul_overflow(number, base, &number) ||
            __builtin_add_overflow(number, digit, &number))
            return false;
    }
    if (number <= (uint64_t)EXACT_MOST) {
        value->kind = JSON_INT;
        value->integer = is_negative ? -(int64_t)number : (int64_t)number;
        return true;
    }
    /* Below -2^63 only the decimal rule for reals is left. */
    if (is_negative && number > UINT64_C(1) << 63)
        return false;
    value->kind = JSON_REAL;
    value->real = is_negative ? -(double)number : (double)number;
    return true;
}

static bool resolve_number(const char *text, size_t len, struct json *value)
{
    char plain[NUMBER_MOST];
    size_t count = 0;
    double real;

    if (len >= sizeof(plain))
        return false;
    /* A word that begins with a point keeps its underscores, and is then not a
     * number. */
    for (size_t i = 0; i < len; i++) {
        if (text[i] != '_' || text[0] == '.')
            plain[count++] = text[i];
    }
    plain[count] = '\0';
    if (text[0] != '.' && resolve_int(plain, value))
        return true;
    if (!number_to_real(plain, count, &real))
        return false;
    value->kind = JSON_REAL;
    value->real = real;
    return true;
}

void yaml_resolve(const char *text, size_t len, struct json *value)
{
    if (resolve_word(text, len, value))
        return;
    if (len && strchr("+-.0123456789", text[0]) && resolve_number(text, len, value))
        return;
    value->kind = JSON_STRING;
    value->string.text = text;
    value->string.len = len;
}

bool yaml_is_huge(const char *text, size_t len)
{
    const char *digits = text + (*text == '-' || *text == '+');
    char *end;

    if (*digits < '0' || *digits > '9' || strspn(text, "+-.0123456789eE") != len)
        return false;
    return isinf(strtod(text, &end)) && !*end;
}

/* Single precision with the fewest digits, with an exponent from 1e6 on and below 1e-4:
 * the converter names keys that are reals this way. */
static const char *real_key(double real, char text[32])
{
    char scientific[32];
    int digits = 1;
    int exponent;

    if (isnan(real))
        return ".nan";
    if (isinf((float)real))
        return real > 0 ? ".inf" : "-.inf";
    for (; digits < 9; digits++) {
        snprintf(scientific, sizeof(scientific), "%.*e", digits - 1, real);
        if (strtof(scientific, NULL) == (float)real)
            break;
    }
    snprintf(scientific, sizeof(scientific), "%.*e", digits - 1, (double)(float)real);
    exponent = (int)strtol(strchr(scientific, 'e') + 1, NULL, 10);
    if (exponent < -4 || exponent >= 6)
        memcpy(text, scientific, sizeof(scientific));
    else
        snprintf(text, 32, "%.*f", MAX(digits - 1 - exponent, 0), (double)(float)real);
    /* The locale's decimal point may differ from YAML's. */
    for (char *at = text; *at; at++) {
        if (*at == ',')
            *at = '.';
    }
    return text;
}

const char *yaml_key_text(const struct json *value, char text[32])
{
    switch (value->kind) {
    case JSON_STRING:
        return value->string.text;
    case JSON_BOOL:
        return value->boolean ? "true" : "false";
    case JSON_INT:
        snprintf(text, 32, "%lld", (long long)value->integer);
        return text;
    case JSON_REAL:
        /* An integer too large for the tree. */
        if (fabs(value->real) > (double)EXACT_MOST && fabs(value->real) < 0x1p64) {
            snprintf(text, 32, "%.0f", value->real);
            return text;
        }
        return real_key(value->real, text);
    case JSON_NULL:
    case JSON_ARRAY:
    case JSON_OBJECT:
        break;
    }
    return NULL;
}
