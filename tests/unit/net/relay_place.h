/* SPDX-License-Identifier: Apache-2.0 */
/* relay_place.h - a server that hands every request on to an upstream, over real sockets. */
#ifndef TESTS_UNIT_NET_RELAY_PLACE_H
#define TESTS_UNIT_NET_RELAY_PLACE_H

#include <stdatomic.h>

#include "base/memory/mem.h"
#include "base/thread/executor.h"
#include "net/net.h"
#include "net/net_system.h"
#include "tests/unit/net/raw.h"
#include "tests/unit/net/upstream.h"

/* Set by a test program over TLS. */
static const char *place_cert_file;
static const char *place_key_file;

struct place {
    struct executor *exec;
    struct lane *lane;
    struct net *net;
    struct net_server *server;
    struct upstream up;
    uint16_t up_port;
    const char *address;
    struct gate *all_done;
    _Atomic int begun;
    _Atomic int done;
};

/* Lives as long as a request that is handed on. */
struct handed {
    struct place *place;
    const char *headers[32];
    char lines[32][256];
    char target[256];
};

static inline bool keep_header(void *arg, const char *name, const char *value,
                               struct buf *out)
{
    (void)arg;
    if (!strcasecmp(name, "Set-Cookie"))
        return false;
    buf_puts(out, value);
    return true;
}

static inline void refuse(void *arg, struct net_exchange *x, det_status status,
                          const char *sentence)
{
    struct buf body = BUF_INIT;

    (void)arg;
    buf_printf(&body, "%s: %s", det_status_name(status), sentence);
    net_answer(x, 502, "text/plain", NULL, &body);
}

static inline void done(void *arg)
{
    struct handed *handed = arg;

    handed->place->done++;
    mem_free(handed);
}

static inline void hand_on(void *arg, struct net_exchange *x)
{
    struct place *place = arg;
    struct handed *handed = mem_new(struct handed);
    const char *at = NULL;
    const char *name;
    const char *value;
    size_t count = 0;
    struct net_relay to = {
        .address = place->address,
        .port = place->up_port,
        .headers = handed->headers,
        .target = handed->target,
        .may_switch = net_request_header(x, "Upgrade"),
        .lane = place->lane,
        .header = keep_header,
        .refuse = refuse,
        .done = done,
        .arg = handed,
    };

    handed->place = place;
    place->begun++;
    snprintf(handed->target, sizeof(handed->target), "%s", net_request_path(x));
    while (net_request_next_header(x, &at, &name, &value)) {
        if (strcasecmp(name, "X-Keep"))
            continue;
        snprintf(handed->lines[count], sizeof(handed->lines[count]), "%s: %s", name,
                 value);
        handed->headers[count] = handed->lines[count];
        count++;
    }
    net_relay(x, &to);
}

static inline struct net_limit later(void *arg, const struct net_exchange *x)
{
    const char *length = net_request_header(x, "Content-Length");

    (void)arg;
    return (struct net_limit){net_request_header(x, "Transfer-Encoding") ||
                                      (length && strtoull(length, NULL, 10) > 1000)
                                  ? NET_BODY_LATER
                                  : 1000,
                              0};
}

static inline void place_open_for(struct place *place, uint32_t most)
{
    struct net_server_config config = {
        .host = "127.0.0.1",
        .max_body_bytes = 1 << 20,
        .body_limit = later,
        .threads = 2,
        .max_relays = most,
        .cert_file = place_cert_file,
        .key_file = place_key_file,
        .handler = hand_on,
        .arg = place,
    };

    memset(place, 0, sizeof(*place));
    upstream_start(&place->up);
    place->up_port = place->up.port;
    place->address = "127.0.0.1";
    CHECK_OK(executor_threads_new(&clock_system, &place->exec, &test_err));
    CHECK_OK(lane_new(place->exec, "test", 2, &place->lane, &test_err));
    CHECK_OK(net_system_new(place->exec, &place->net, &test_err));
    CHECK_OK(net_serve(place->net, &config, &place->server, &test_err));
}

static inline void place_open(struct place *place)
{
    place_open_for(place, 0);
}

/* Every request that was begun ends soon. */
static inline void place_close(struct place *place)
{
    net_server_free(place->server);
    while (place->done < place->begun)
        usleep(1000);
    upstream_stop(&place->up);
    net_free(place->net);
    executor_free(place->exec);
}

static inline int place_connect(struct place *place)
{
    return raw_open(net_server_port(place->server));
}

/* Sends one request that closes its connection; reads everything that comes back. */
static inline void ask(struct place *place, const char *request, struct buf *answer)
{
    int fd = place_connect(place);

    raw_send(fd, request);
    raw_read_all(fd, answer);
    close(fd);
}

#endif
