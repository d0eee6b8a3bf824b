/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_http_reply.c - any bytes as a server's reply: read or refused, and the same
 * whether they come at once or byte by byte. */
#include <stdint.h>
#include <string.h>

#include "base/memory/buf.h"
#include "net/reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outcome {
    det_status st;
    enum reply_state state;
    int status;
    bool keeps_alive;
    struct buf body;
};

static void demand(bool is_so)
{
    if (!is_so)
        __builtin_trap();
}

static void read_in(const char *bytes, size_t len, size_t step, bool is_head,
                    struct outcome *out)
{
    struct reply reply;
    size_t at = 0;

    *out = (struct outcome){.body = BUF_INIT};
    reply_init(&reply, is_head);
    while (at < len && reply.state != REPLY_DONE && !out->st) {
        size_t portion = step < len - at ? step : len - at;
        struct reply_bytes body;
        size_t used = 0;

        out->st = reply_feed(&reply, bytes + at, portion, &used, &body, NULL);
        if (out->st)
            break;
        demand(used > 0 && used <= portion);
        demand(body.at >= bytes && body.at + body.len <= bytes + len);
        buf_add(&out->body, body.at, body.len);
        at += used;
    }
    if (!out->st)
        reply_close(&reply);
    out->state = reply.state;
    out->status = reply.status;
    out->keeps_alive = reply.keeps_alive;
    reply_done(&reply);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool is_head = size && data[0] % 16 == 1;
    struct outcome at_once;
    struct outcome slowly;

    read_in((const char *)data, size, SIZE_MAX, is_head, &at_once);
    read_in((const char *)data, size, 1, is_head, &slowly);
    demand(at_once.st == slowly.st);
    demand(at_once.st || at_once.state == slowly.state);
    demand(at_once.st || at_once.status == slowly.status);
    demand(at_once.st || at_once.keeps_alive == slowly.keeps_alive);
    demand(at_once.body.len == slowly.body.len &&
           !memcmp(at_once.body.data, slowly.body.data, slowly.body.len));
    buf_done(&at_once.body);
    buf_done(&slowly.body);
    return 0;
}
