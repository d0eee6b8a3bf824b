/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "net/reply.h"
#include "tests/support/test.h"

/* Feeds `text` in portions of `step` bytes; the body goes to `body`. */
static det_status read_all(struct reply *reply, const char *text, size_t len,
                           size_t step, struct buf *body)
{
    for (size_t at = 0; at < len && reply->state != REPLY_DONE;) {
        struct reply_bytes piece;
        size_t used = 0;
        det_status st =
            reply_feed(reply, text + at, MIN(step, len - at), &used, &piece, &test_err);

        if (st)
            return st;
        CHECK(used > 0);
        buf_add(body, piece.at, piece.len);
        at += used;
    }
    return DET_OK;
}

static void check_body(const char *text, const char *expected, int status)
{
    for (size_t step = 1; step <= strlen(text); step++) {
        struct buf body = BUF_INIT;
        struct reply reply;

        reply_init(&reply, false);
        CHECK_OK(read_all(&reply, text, strlen(text), step, &body));
        CHECK(reply_close(&reply));
        CHECK_STR(body.data, expected);
        CHECK_EQ(reply.status, status);
        reply_done(&reply);
        buf_done(&body);
    }
}

TEST(a_reply_reads_the_same_in_portions_of_any_size)
{
    check_body("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello", 200);
    check_body("HTTP/1.1 404\r\ncontent-length:0\r\n\r\n", "", 404);
    check_body("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
               "3\r\nabc\r\nA;ext=1\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n",
               "abc0123456789", 200);
    check_body("HTTP/1.0 200 OK\n\nto the end", "to the end", 200);
    check_body("HTTP/1.1 100 Continue\r\nX: y\r\n\r\nHTTP/1.1 201 Created\r\n"
               "Content-Length: 2\r\n\r\nok",
               "ok", 201);
    check_body("HTTP/1.1 204 No Content\r\n\r\n", "", 204);
}

static bool keeps_alive(const char *text)
{
    struct buf body = BUF_INIT;
    struct reply reply;
    bool keeps;

    reply_init(&reply, false);
    CHECK_OK(read_all(&reply, text, strlen(text), 4096, &body));
    keeps = reply.keeps_alive;
    reply_done(&reply);
    buf_done(&body);
    return keeps;
}

TEST(the_reply_says_whether_the_connection_is_kept)
{
    CHECK(keeps_alive("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
    CHECK(!keeps_alive("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"));
    CHECK(!keeps_alive(
        "HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 0\r\n\r\n"));
    CHECK(keeps_alive(
        "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n"));
    CHECK(!keeps_alive("HTTP/1.1 200 OK\r\n\r\n"));
    CHECK(!keeps_alive("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n"
                       "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"));
}

TEST(a_head_reply_has_no_body)
{
    static const char text[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    struct buf body = BUF_INIT;
    struct reply reply;

    reply_init(&reply, true);
    CHECK_OK(read_all(&reply, text, strlen(text), 7, &body));
    CHECK_EQ(reply.state, REPLY_DONE);
    reply_done(&reply);
}

TEST(bytes_that_are_not_http_are_refused)
{
    static const char *const bad[] = {
        "SSH-2.0-OpenSSH_9.2\r\n",
        "HTTP/2 200\r\n",
        "HTTP/1.1 2x0 OK\r\n",
        "HTTP/1.1 2000 OK\r\n",
        "HTTP/1.1 099 OK\r\n",
        "HTTP/1.1 101 Switching\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n",
        "HTTP/1.1 200 OK\r\n: no name\r\n",
        "HTTP/1.1 200 OK\r\nA: b\r\n folded\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: \r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1 2\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n",
        "HTTP/1.1 200 OK\r\nA: b\rC: d\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n11111111111111111\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
    };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct buf body = BUF_INIT;
        struct reply reply;

        reply_init(&reply, false);
        CHECK_EQ(read_all(&reply, bad[i], strlen(bad[i]), 4096, &body), DET_IO);
        CHECK_HAS(test_err.text, "not HTTP");
        reply_done(&reply);
        buf_done(&body);
    }
}

TEST(endless_headers_are_refused)
{
    struct buf body = BUF_INIT;
    det_status st = DET_OK;
    struct reply reply;
    size_t fed = 0;

    reply_init(&reply, false);
    CHECK_OK(read_all(&reply, "HTTP/1.1 200 OK\r\n", 17, 99, &body));
    for (; !st && fed < 2 * REPLY_HEADER_BYTES; fed += 12)
        st = read_all(&reply, "X-More: yes\n", 12, 12, &body);
    CHECK_EQ(st, DET_IO);
    reply_done(&reply);

    reply_init(&reply, false);
    st = DET_OK;
    for (fed = 0; !st && fed < 2 * REPLY_HEADER_BYTES; fed += 8)
        st = read_all(&reply, "AAAAAAAA", 8, 8, &body);
    CHECK_EQ(st, DET_IO);
    reply_done(&reply);
}

TEST(a_nul_in_a_header_is_refused)
{
    static const char text[] = "HTTP/1.1 200 OK\r\nA: b\0c\r\n\r\n";
    struct buf body = BUF_INIT;
    struct reply reply;

    reply_init(&reply, false);
    CHECK_EQ(read_all(&reply, text, sizeof(text) - 1, 99, &body), DET_IO);
    reply_done(&reply);
}

TEST(running_out_of_memory_is_reported)
{
    static const char text[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

    EACH_ALLOCATION_FAILS() {
        struct reply_bytes piece;
        struct reply reply;
        size_t used = 0;
        det_status st;

        reply_init(&reply, false);
        st = reply_feed(&reply, text, sizeof(text) - 1, &used, &piece, NULL);
        CHECK_EQ(st, fault_fired() ? DET_NOMEM : DET_OK);
        reply_done(&reply);
    }
}
