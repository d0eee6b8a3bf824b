/* SPDX-License-Identifier: Apache-2.0 */
#include "data/url.h"

#include <string.h>
#include <strings.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "data/base64.h"
#include "data/number.h"

enum { PORT_PLAIN = 8080, PORT_HTTP = 80, PORT_HTTPS = 443, PORT_LAST = 65535 };

/* RFC 3986's unreserved characters; everything else is encoded. */
static bool is_unreserved(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '-' || c == '.' || c == '_' || c == '~';
}

void url_encode(struct buf *out, const char *text)
{
    static const char digits[] = "0123456789ABCDEF";

    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        char code[3] = {'%', digits[c >> 4], digits[c & 15]};

        if (is_unreserved(*text))
            buf_putc(out, *text);
        else
            buf_add(out, code, sizeof(code));
    }
}

/* A '%' without two hexadecimal digits stands for itself, and so does %00: the result
 * is a string. */
static bool decode_byte(const char *text, size_t len, char *ret_byte)
{
    char pair[3] = {0};
    unsigned char byte;

    if (len < 3 || text[0] != '%')
        return false;
    memcpy(pair, text + 1, 2);
    if (!hex_decode(&byte, 1, pair) || !byte)
        return false;
    *ret_byte = (char)byte;
    return true;
}

char *url_decode(struct arena *mem, const char *text, size_t len, bool is_query)
{
    char *copy = arena_alloc(mem, len + 1);
    char *to = copy;

    if (!copy)
        return NULL;
    for (size_t at = 0; at < len; to++) {
        if (decode_byte(text + at, len - at, to)) {
            at += 3;
            continue;
        }
        *to = is_query && text[at] == '+' ? ' ' : text[at];
        at++;
    }
    *to = '\0';
    return copy;
}

static bool has_scheme(const char **text, const char *scheme)
{
    size_t len = strlen(scheme);

    if (strncasecmp(*text, scheme, len) != 0)
        return false;
    *text += len;
    return true;
}

/* The host ends at ':' or, in brackets, at ']'.  Moves `*at` behind it. */
static bool take_host(const char **at, const char *end, const char **ret_host,
                      size_t *ret_len)
{
    const char *host = *at;
    const char *stop;

    if (host < end && *host == '[') {
        host++;
        stop = memchr(host, ']', (size_t)(end - host));
        if (!stop)
            return false;
        *at = stop + 1;
    } else {
        stop = memchr(host, ':', (size_t)(end - host));
        stop = stop ? stop : end;
        *at = stop;
    }
    *ret_host = host;
    *ret_len = (size_t)(stop - host);
    return *ret_len > 0;
}

/* An IPv6 address is in brackets; it has a colon and may have a zone. */
static bool is_host(const char *host, size_t len, bool is_bracketed)
{
    if (is_bracketed && !memchr(host, ':', len))
        return false;
    for (size_t i = 0; i < len; i++) {
        bool is_v6 = is_bracketed && (host[i] == ':' || host[i] == '%');

        if (!is_v6 && !is_unreserved(host[i]))
            return false;
    }
    return true;
}

static bool take_port(const char *at, const char *end, uint16_t *port)
{
    int64_t number;

    if (at == end)
        return true; /* the default */
    if (*at != ':' || end - at < 2 || at[1] < '0' || at[1] > '9' ||
        !number_to_i64(at + 1, (size_t)(end - at - 1), &number))
        return false;
    if (number < 1 || number > PORT_LAST)
        return false;
    *port = (uint16_t)number;
    return true;
}

/* Every byte printable, no query, no fragment. */
static bool is_path(const char *path)
{
    for (; *path; path++) {
        if (*path <= ' ' || *path == 0x7F || *path == '?' || *path == '#')
            return false;
    }
    return true;
}

static det_status bad_url(const char *text, const char *problem, struct err *err)
{
    return err_set(err, DET_INVALID,
                   "'%s' is not an address of the form "
                   "http://HOST:PORT: %s",
                   text, problem);
}

const char *url_text(struct arena *mem, const struct url *url)
{
    return arena_printf(mem, strchr(url->host, ':') ? "%s://[%s]:%u%s" : "%s://%s:%u%s",
                        url->is_tls ? "https" : "http", url->host, url->port,
                        url->path);
}

det_status url_parse(const char *text, struct arena *mem, struct url *ret_url,
                     struct err *err)
{
    const char *at = text;
    struct url url = {.port = PORT_PLAIN};
    const char *end;
    const char *host;
    size_t host_len;
    size_t path_len;

    if (has_scheme(&at, "https://")) {
        url.is_tls = true;
        url.port = PORT_HTTPS;
    } else if (has_scheme(&at, "http://")) {
        url.port = PORT_HTTP;
    } else if (strstr(at, "://")) {
        return bad_url(text, "only http and https are known", err);
    }

    end = at + strcspn(at, "/?#");
    if (!take_host(&at, end, &host, &host_len))
        return bad_url(text, "it names no host", err);
    if (!is_host(host, host_len, host > text && host[-1] == '['))
        return bad_url(text, "the host has characters that no host has", err);
    if (!take_port(at, end, &url.port))
        return bad_url(text, "the port is not a number from 1 to 65535", err);
    if (!is_path(end))
        return bad_url(text, "the path has a query or characters to be encoded", err);
    path_len = strlen(end);
    while (path_len && end[path_len - 1] == '/')
        path_len--;

    url.host = arena_strndup(mem, host, host_len);
    url.path = arena_strndup(mem, end, path_len);
    if (!url.host || !url.path)
        return err_default(err, DET_NOMEM);
    *ret_url = url;
    return DET_OK;
}
