/* SPDX-License-Identifier: Apache-2.0 */
/* reply.c - the client's parser.  It is strict where two parsers could disagree (lengths,
 * chunk sizes, folded headers) and lenient where they could not (bare LF, unknown
 * headers). */
#include "net/reply.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/compiler.h"

void reply_init(struct reply *reply, bool is_head)
{
    *reply =
        (struct reply){.is_head = is_head, .line = BUF_LIMITED(REPLY_HEADER_BYTES)};
}

void reply_done(struct reply *reply)
{
    buf_done(&reply->line);
}

static det_status not_http(struct err *err, const char *what)
{
    return err_set(err, DET_IO, "the answer is not HTTP: %s", what);
}

static det_status read_status(struct reply *reply, const char *line, struct err *err)
{
    const char *at = line + strlen("HTTP/1.");

    if (strncmp(line, "HTTP/1.", strlen("HTTP/1.")) || (*at != '0' && *at != '1') ||
        at[1] != ' ')
        return not_http(err, "it has no status line");
    reply->keeps_alive = *at == '1';
    at += 2;
    reply->status = 0;
    for (int i = 0; i < 3; i++, at++) {
        if (!isdigit((unsigned char)*at))
            return not_http(err, "its status is not a number");
        reply->status = reply->status * 10 + (*at - '0');
    }
    if (reply->status < 100 || (*at && *at != ' '))
        return not_http(err, "its status is not a number");
    reply->has_length = reply->is_chunked = false;
    if (reply->headers) /* they may be of an earlier 1xx */
        buf_clear(reply->headers);
    reply->state = REPLY_HEADERS;
    return DET_OK;
}

static det_status read_length(struct reply *reply, const char *value, struct err *err)
{
    uint64_t length = 0;

    if (!isdigit((unsigned char)*value))
        return not_http(err, "its length is not a number");
    for (; isdigit((unsigned char)*value); value++) {
        if (__builtin_mul_overflow(length, 10, &length) ||
            __builtin_add_overflow(length, (uint64_t)(*value - '0'), &length))
            return not_http(err, "its length is not a number");
    }
    value += strspn(value, " \t");
    if (*value)
        return not_http(err, "its length is not a number");
    if (reply->has_length) /* even the same again: proxies may disagree on it */
        return not_http(err, "it has two lengths");
    reply->has_length = true;
    reply->left = reply->length = length;
    return DET_OK;
}

bool reply_has_word(const char *list, const char *word, size_t word_len)
{
    while (*list) {
        size_t len = strcspn(list, ", \t");

        if (len && len == word_len && !strncasecmp(list, word, len))
            return true;
        list += len;
        list += strspn(list, ", \t");
    }
    return false;
}

static bool has_word(const char *list, const char *word)
{
    return reply_has_word(list, word, strlen(word));
}

/* An over-long mark cannot be ours. */
static void read_mark(struct reply *reply, const char *value)
{
    size_t len = strcspn(value, " \t");

    if (len >= sizeof(reply->mark))
        len = 0;
    memcpy(reply->mark, value, len);
    reply->mark[len] = '\0';
}

/* For callers who want the headers. */
static det_status keep_header(struct reply *reply, const char *line, struct err *err)
{
    const char *colon = strchr(line, ':');

    if (!reply->headers || !colon)
        return DET_OK;
    buf_printf(reply->headers, "%.*s: %s\n", (int)(colon - line), line,
               colon + 1 + strspn(colon + 1, " \t"));
    return reply->headers->status ? err_default(err, reply->headers->status) : DET_OK;
}

static det_status read_header(struct reply *reply, const char *line, struct err *err)
{
    const char *colon = strchr(line, ':');
    const char *value;
    size_t name_len;

    if (!colon || colon == line || isspace((unsigned char)*line))
        return not_http(err, "a header is broken");
    name_len = (size_t)(colon - line);
    value = colon + 1 + strspn(colon + 1, " \t");

    if (name_len == 14 && !strncasecmp(line, "Content-Length", name_len))
        return read_length(reply, value, err);
    if (name_len == 10 && !strncasecmp(line, "Connection", name_len)) {
        if (has_word(value, "close"))
            reply->keeps_alive = false;
        else if (has_word(value, "keep-alive"))
            reply->keeps_alive = true;
    }
    if (name_len == sizeof(NET_MARK) - 1 && !strncasecmp(line, NET_MARK, name_len))
        read_mark(reply, value);
    if (name_len == 17 && !strncasecmp(line, "Transfer-Encoding", name_len)) {
        if (!has_word(value, "chunked"))
            return not_http(err, "it is encoded in a way that was not asked for");
        reply->is_chunked = true;
    }
    return DET_OK;
}

/* The empty line after the headers decides what follows. */
static det_status end_headers(struct reply *reply, struct err *err)
{
    if (reply->status == 101 && !reply->may_switch)
        return not_http(err, "it switches to another protocol");
    if (reply->status == 101) {
        reply->state = REPLY_DONE;
        return DET_OK;
    }
    if (reply->status < 200) {
        reply->state = REPLY_STATUS;
        return DET_OK;
    }
    if (reply->is_head || reply->status == 204 || reply->status == 304) {
        reply->state = REPLY_DONE;
        return DET_OK;
    }
    if (reply->is_chunked) {
        if (reply->has_length) /* a proxy may have read it differently */
            reply->keeps_alive = false;
        reply->state = REPLY_SIZE;
    } else if (reply->has_length) {
        reply->state = reply->left ? REPLY_BYTES : REPLY_DONE;
    } else {
        reply->keeps_alive = false;
        reply->state = REPLY_UNTIL_CLOSE;
    }
    return DET_OK;
}

static det_status read_chunk_size(struct reply *reply, const char *line,
                                  struct err *err)
{
    static const char digits[] = "0123456789abcdef";
    uint64_t size = 0;
    size_t len = 0;

    for (; isxdigit((unsigned char)line[len]); len++) {
        const char *digit = strchr(digits, tolower((unsigned char)line[len]));

        if (size >> 60)
            return not_http(err, "a chunk has no size");
        size = size << 4 | (uint64_t)(digit - digits);
    }
    line += len + strspn(line + len, " \t");
    if (!len || (*line && *line != ';'))
        return not_http(err, "a chunk has no size");
    reply->left = size;
    reply->state = size ? REPLY_CHUNK : REPLY_TRAILERS;
    return DET_OK;
}

static det_status read_line(struct reply *reply, const char *line, struct err *err)
{
    det_status st;

    switch (reply->state) {
    case REPLY_STATUS:
        return read_status(reply, line, err);
    case REPLY_HEADERS:
        if (!*line)
            return end_headers(reply, err);
        st = read_header(reply, line, err);
        return st ? st : keep_header(reply, line, err);
    case REPLY_SIZE:
        return read_chunk_size(reply, line, err);
    case REPLY_CRLF:
        if (*line)
            return not_http(err, "a chunk does not end");
        reply->state = REPLY_SIZE;
        return DET_OK;
    case REPLY_TRAILERS:
        if (!*line)
            reply->state = REPLY_DONE;
        return DET_OK;
    case REPLY_BYTES:
    case REPLY_UNTIL_CLOSE:
    case REPLY_CHUNK:
    case REPLY_DONE:
        break;
    }
    return not_http(err, "it has lines in its body");
}

/* Collects a line and parses it when it is complete. */
static det_status feed_line(struct reply *reply, const char *bytes, size_t len,
                            size_t *ret_used, struct err *err)
{
    const char *end = memchr(bytes, '\n', len);
    size_t used = end ? (size_t)(end - bytes) + 1 : len;
    struct buf *line = &reply->line;
    bool is_counted = reply->state == REPLY_STATUS || reply->state == REPLY_HEADERS ||
                      reply->state == REPLY_TRAILERS;
    det_status st;

    *ret_used = used;
    buf_add(line, bytes, used);
    if (is_counted)
        reply->header_bytes += used;
    if (line->status == DET_NOMEM)
        return err_default(err, DET_NOMEM);
    if (line->status || reply->header_bytes > REPLY_HEADER_BYTES)
        return not_http(err, "its headers are too long");
    if (!end)
        return DET_OK;

    buf_cut(line, line->len - 1);
    if (line->len && line->data[line->len - 1] == '\r')
        buf_cut(line, line->len - 1);
    if (memchr(line->data, '\0', line->len))
        return not_http(err, "a header has a NUL in it");
    if (is_counted && memchr(line->data, '\r', line->len))
        return not_http(err, "a header has a bare CR in it");
    st = read_line(reply, line->data, err);
    buf_clear(line);
    return st;
}

static size_t feed_body(struct reply *reply, size_t len)
{
    size_t used = (size_t)MIN((uint64_t)len, reply->left);

    if (reply->state == REPLY_UNTIL_CLOSE)
        return len;
    reply->left -= used;
    if (!reply->left)
        reply->state = reply->state == REPLY_CHUNK ? REPLY_CRLF : REPLY_DONE;
    return used;
}

det_status reply_feed(struct reply *reply, const char *bytes, size_t len,
                      size_t *ret_used, struct reply_bytes *ret_body, struct err *err)
{
    size_t at = 0;

    *ret_body = (struct reply_bytes){.at = bytes};
    while (at < len && reply->state != REPLY_DONE) {
        size_t used = 0;
        det_status st;

        if (reply->state == REPLY_BYTES || reply->state == REPLY_CHUNK ||
            reply->state == REPLY_UNTIL_CLOSE) {
            used = feed_body(reply, len - at);
            *ret_body = (struct reply_bytes){.at = bytes + at, .len = used};
            *ret_used = at + used;
            return DET_OK;
        }
        st = feed_line(reply, bytes + at, len - at, &used, err);
        if (st)
            return st;
        at += used;
    }
    *ret_used = at;
    return DET_OK;
}

bool reply_close(struct reply *reply)
{
    if (reply->state == REPLY_UNTIL_CLOSE)
        reply->state = REPLY_DONE;
    return reply->state == REPLY_DONE;
}
