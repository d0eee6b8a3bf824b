/* SPDX-License-Identifier: Apache-2.0 */
/* loopback.c - see loopback.h.  The server of net.h would load libmicrohttpd for a single
 * request of a browser on this machine. */
#include "net/web/loopback.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "data/url.h"

enum { READ_MS = 5000, REQUEST_MOST = 8192 };

det_status loopback_open(struct loopback *loopback, struct err *err)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 8) ||
        getsockname(fd, (struct sockaddr *)&at, &len)) {
        det_status st =
            err_errno(err, errno, "cannot listen on a port of this computer");

        if (fd >= 0)
            close(fd);
        return st;
    }
    *loopback = (struct loopback){fd, ntohs(at.sin_port)};
    return DET_OK;
}

void loopback_done(struct loopback *loopback)
{
    if (loopback->fd >= 0)
        close(loopback->fd);
    loopback->fd = -1;
}

/* The head of one request; "" if it did not come. */
static void read_request(int fd, char text[REQUEST_MOST])
{
    size_t len = 0;
    ssize_t count = 1;

    text[0] = '\0';
    while (count > 0 && len + 1 < REQUEST_MOST && !strstr(text, "\r\n\r\n")) {
        struct pollfd one = {.fd = fd, .events = POLLIN};

        count = poll(&one, 1, READ_MS) > 0
                    ? read(fd, text + len, REQUEST_MOST - 1 - len)
                    : 0;
        len += count > 0 ? (size_t)count : 0;
        text[len] = '\0';
    }
}

static void answer_browser(int fd, const char *status, const char *sentence)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    buf_printf(&out,
               "HTTP/1.1 %s\r\nContent-Type: text/html; charset=utf-8\r\n"
               "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
               "Connection: close\r\n\r\n<!doctype html><title>det</title><p>%s</p>\n",
               status, sentence);
    if (!out.status) /* if the browser is gone, nobody reads it */
        (void)!send(fd, out.data, out.len, MSG_NOSIGNAL);
}

/* The value of a parameter in "GET /?a=b&c=d HTTP/1.1"; NULL: absent. */
static const char *find_parameter(const char *request, const char *name,
                                  struct arena *mem)
{
    const char *at = strchr(request, '?');
    size_t len = strlen(name);

    while (at && (*at == '?' || *at == '&')) {
        at++;
        if (!strncmp(at, name, len) && at[len] == '=')
            return url_decode(mem, at + len + 1, strcspn(at + len + 1, "& \r\n"), true);
        at += strcspn(at, "& \r\n");
    }
    return NULL;
}

/* NULL: not the answer; "": refused. */
static const char *take_code(int fd, const char *wanted, struct arena *mem)
{
    char request[REQUEST_MOST];
    const char *state, *code, *error;

    read_request(fd, request);
    if (strncmp(request, "GET /?", 6)) {
        answer_browser(fd, "404 Not Found", "There is nothing here.");
        return NULL;
    }
    state = find_parameter(request, "state", mem);
    code = find_parameter(request, "code", mem);
    error = find_parameter(request, "error", mem);
    if (!state || strcmp(state, wanted) || (!(code && *code) && !error)) {
        answer_browser(fd, "400 Bad Request", "This is not the answer to a sign-in.");
        return NULL;
    }
    answer_browser(fd, "200 OK",
                   error ? "The sign-in was refused. You can close this window."
                         : "You can close this window and return to the command line.");
    return error ? "" : code;
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

det_status loopback_wait(const struct loopback *loopback, const char *state,
                         int64_t timeout_s, struct arena *mem, const char **ret_code,
                         struct err *err)
{
    int64_t until_ms = now_ms() + timeout_s * 1000;
    const char *code = NULL;

    while (!code && now_ms() < until_ms) {
        struct pollfd one = {.fd = loopback->fd, .events = POLLIN};
        int peer = -1;

        if (poll(&one, 1, (int)(until_ms - now_ms())) > 0)
            peer = accept4(loopback->fd, NULL, NULL, SOCK_CLOEXEC);
        if (peer < 0)
            continue;
        code = take_code(peer, state, mem);
        close(peer);
    }
    if (!code)
        return err_set(err, DET_TIMEOUT, "nobody signed in within %lld minutes",
                       (long long)timeout_s / 60);
    if (!*code)
        return err_set(err, DET_FORBIDDEN, "the sign-in was refused in the browser");
    *ret_code = code;
    return DET_OK;
}
