/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output/term.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/memory/buf.h"
#include "data/text.h"
#include "data/utf8.h"

enum { WIDTH_DEFAULT = 80, WIDTH_LEAST = 20, HEIGHT_DEFAULT = 24, HEIGHT_LEAST = 5 };

/* What the terminal says, else the variable, else the default. */
static size_t measure(size_t said, const char *variable, size_t least, size_t def)
{
    const char *text = getenv(variable);
    int64_t value;

    if (said)
        return MAX(said, least);
    if (text && parse_i64(text, &value) && value >= (int64_t)least)
        return (size_t)value;
    return def;
}

struct term term_of(int fd)
{
    const char *no_color = getenv("NO_COLOR");
    const char *kind = getenv("TERM");
    struct winsize size = {0};
    struct term term = {
        .is_terminal = isatty(fd), .width = WIDTH_DEFAULT, .height = HEIGHT_DEFAULT};

    if (!term.is_terminal)
        return term;
    term.is_dumb = kind && !strcmp(kind, "dumb");
    term.has_color = !(no_color && *no_color) && !term.is_dumb;
    if (ioctl(fd, TIOCGWINSZ, &size))
        size = (struct winsize){0};
    term.width = measure(size.ws_col, "COLUMNS", WIDTH_LEAST, WIDTH_DEFAULT);
    term.height = measure(size.ws_row, "LINES", HEIGHT_LEAST, HEIGHT_DEFAULT);
    return term;
}

/* ---- widths ---------------------------------------------------------------------- */

struct range {
    uint32_t first;
    uint32_t last;
};

static const struct range zero_wide[] = {
    {0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},   {0x610, 0x61a},
    {0x64b, 0x65f},   {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200f},
    {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff},
};

static const struct range double_wide[] = {
    {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},
    {0x4e00, 0x9fff},   {0xa000, 0xa4cf},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},
    {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x1f300, 0x1f64f},
    {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
};

static bool is_in_ranges(const struct range *ranges, size_t count, uint32_t c)
{
    for (size_t i = 0; i < count; i++)
        if (c >= ranges[i].first && c <= ranges[i].last)
            return true;
    return false;
}

static uint32_t decode_char(const char *text, size_t len)
{
    static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t c = (unsigned char)text[0] & masks[len];

    for (size_t i = 1; i < len; i++)
        c = c << 6 | ((unsigned char)text[i] & 0x3f);
    return c;
}

/* The bytes (0 at the end) and columns of one character.  *ret_shown: the text to print
 * instead; NULL: the character itself. */
static size_t next_char(const char *text, size_t left, size_t *ret_width,
                        const char **ret_shown)
{
    size_t len = left ? utf8_char(text, left) : 0;
    uint32_t c;

    *ret_width = 1;
    *ret_shown = NULL;
    if (!left)
        return 0;
    if (!len) {
        *ret_shown = "?";
        return 1;
    }
    c = decode_char(text, len);
    if (c < 0x20 || (c >= 0x7f && c < 0xa0)) {
        *ret_shown = c == '\n' || c == '\t' ? " " : "?";
        return len;
    }
    if (is_in_ranges(zero_wide, ARRAY_LEN(zero_wide), c))
        *ret_width = 0;
    else if (is_in_ranges(double_wide, ARRAY_LEN(double_wide), c))
        *ret_width = 2;
    return len;
}

size_t term_width(const char *text)
{
    size_t left = strlen(text), width = 0, columns, len;
    const char *shown;

    while ((len = next_char(text, left, &columns, &shown))) {
        width += columns;
        text += len;
        left -= len;
    }
    return width;
}

void term_put(struct buf *out, const char *text, size_t width)
{
    bool is_cut = term_width(text) > width;
    size_t left = strlen(text), used = 0, columns, len;
    size_t most = is_cut ? width - (width > 0) : width;
    const char *shown;

    while ((len = next_char(text, left, &columns, &shown)) && used + columns <= most) {
        if (shown)
            buf_puts(out, shown);
        else
            buf_add(out, text, len);
        used += columns;
        text += len;
        left -= len;
    }
    if (is_cut && width)
        buf_puts(out, "…");
}

/* ---- control characters ---------------------------------------------------------- */

/* Line breaks and tabs excepted; DEL and the C1 codes included. */
static bool is_control(uint32_t c)
{
    return (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7f && c < 0xa0);
}

/* The length of an escape sequence that sets colours ("\x1b[1;31m"), else 0. */
static size_t color_sequence(const char *text, size_t left)
{
    size_t len = 2;

    if (left < 3 || text[0] != '\033' || text[1] != '[')
        return 0;
    while (len < left && len < 32 &&
           ((text[len] >= '0' && text[len] <= '9') || text[len] == ';'))
        len++;
    return len < left && text[len] == 'm' ? len + 1 : 0;
}

/* One character that is valid and no control, or one that is not; 0 in *ret_control: it is
 * harmless.  A byte that is not UTF-8 is harmless, unless it is a C1 code by itself. */
static size_t read_char(const char *text, size_t left, uint32_t *ret_control)
{
    size_t len = utf8_char(text, left);
    uint32_t c = len ? decode_char(text, len) : (unsigned char)*text;

    *ret_control = is_control(c) ? c : 0;
    if (!c)
        *ret_control = UINT32_MAX; /* a NUL */
    return len ? len : 1;
}

bool term_is_harmless(const char *text, size_t len)
{
    for (size_t at = 0; at < len;) {
        uint32_t control;

        at += read_char(text + at, len - at, &control);
        if (control)
            return false;
    }
    return true;
}

static void write_control(struct buf *out, uint32_t c, enum term_escapes how)
{
    c = c == UINT32_MAX ? 0 : c;
    if (how == TERM_JSON)
        buf_printf(out, "\\u%04x", (unsigned)c);
    else if (c == '\r')
        buf_puts(out, "\\r");
    else
        buf_printf(out, "\\x%02x", (unsigned)c);
}

void term_escape(struct buf *out, const char *text, size_t len, enum term_escapes how)
{
    for (size_t at = 0; at < len;) {
        uint32_t control;
        size_t skip = how == TERM_COLORS ? color_sequence(text + at, len - at) : 0;

        if (skip) {
            buf_add(out, text + at, skip);
        } else {
            skip = read_char(text + at, len - at, &control);
            if (control)
                write_control(out, control, how);
            else
                buf_add(out, text + at, skip);
        }
        at += skip;
    }
}

/* The length of a control sequence ("\x1b[2K"), else 0. */
static size_t control_sequence(const char *text, size_t left)
{
    size_t len = 2;

    if (left < 2 || text[0] != '\033' || text[1] != '[')
        return 0;
    while (len < left && (text[len] < '@' || text[len] > '~'))
        len++;
    return len < left ? len + 1 : len;
}

void term_strip(char *text)
{
    size_t len = strlen(text);
    size_t to = 0;

    for (size_t at = 0; at < len;) {
        uint32_t control;
        size_t skip = control_sequence(text + at, len - at);

        if (!skip) {
            skip = read_char(text + at, len - at, &control);
            if (!control) {
                memmove(text + to, text + at, skip);
                to += skip;
            }
        }
        at += skip;
    }
    text[to] = '\0';
}

/* ---- colours --------------------------------------------------------------------- */

static const char *const codes[] = {
    [COLOR_NONE] = "",          [COLOR_RED] = "\033[31m",
    [COLOR_GREEN] = "\033[32m", [COLOR_YELLOW] = "\033[33m",
    [COLOR_BLUE] = "\033[34m",  [COLOR_MAGENTA] = "\033[35m",
    [COLOR_CYAN] = "\033[36m",  [COLOR_DIM] = "\033[2m",
    [COLOR_BOLD] = "\033[1m",
};

const char *term_color_on(enum term_color color)
{
    return codes[color];
}

const char *term_color_off(enum term_color color)
{
    return color == COLOR_NONE ? "" : "\033[0m";
}
