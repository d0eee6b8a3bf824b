/* SPDX-License-Identifier: Apache-2.0 */
/* net_impl.h - what the two networks share behind net.h.
 *
 * Each network embeds these structs as the first member of its own structs and fills in
 * `ops`; net.c dispatches.  The request is plain data, which net.c reads without asking
 * the network. */
#ifndef NET_NET_IMPL_H
#define NET_NET_IMPL_H

#include "base/memory/buf.h"
#include "net/client_tick.h"
#include "net/net.h"

struct net_server_state;

/* The parameters of net_answer(). */
struct net_answer_with {
    int status;
    const char *content_type;
    const char *const *headers;
    struct buf *body;
};

struct net_ops {
    void (*free)(struct net *net);

    det_status (*serve)(struct net *net, const struct net_server_config *config,
                        struct net_server **ret_server, struct err *err);
    void (*server_free)(struct net_server *server);
    det_status (*server_reload)(struct net_server *server, struct err *err);
    void (*server_look)(struct net_server *server, struct net_server_state *ret_state);

    bool (*peer_uid)(const struct net_exchange *x, uint32_t *ret_uid);
    void (*on_gone)(struct net_exchange *x, net_gone_fn *fn);
    bool (*is_gone)(struct net_exchange *x);
    void (*answer)(struct net_exchange *x, const struct net_answer_with *answer);
    void (*answer_stream)(struct net_exchange *x, const char *content_type,
                          const struct net_stream *stream);
    void (*stream_wake)(struct net_exchange *x);
    void (*relay)(struct net_exchange *x, const struct net_relay *to);
    void (*peer_address)(const struct net_exchange *x, char text[NET_ADDRESS_TEXT]);

    det_status (*client_new)(struct net *net, const char *host, uint16_t port,
                             struct net_client **ret_client, struct err *err);
    void (*client_free)(struct net_client *client);
    det_status (*client_secure)(struct net_client *client,
                                const struct net_trust *trust, struct err *err);
    void (*client_cancel)(struct net_client *client);
    det_status (*call)(struct net_client *client, const struct net_call *call,
                       struct net_reply *reply, struct err *err);
};

struct net {
    const struct net_ops *ops;
    struct executor *exec;
};

struct net_server {
    const struct net_ops *ops;
    uint16_t port;
};

struct net_client {
    const struct net_ops *ops;
    struct tls_client *tls; /* NULL: plain */
    net_tick_fn *on_tick;   /* NULL: nobody watches */
    void *tick_arg;
};

struct net_exchange {
    const struct net_ops *ops;
    const char *path; /* path and query point into memory that the network owns */
    const char *query;
    char *headers; /* owned: name NUL value NUL ... NUL; or NULL */
    struct buf body;
    struct allowance_part held;    /* by the body */
    struct allowance_part replied; /* by the reply, until it was sent */
    void *user;
    enum net_method method;
    det_status problem;
    bool is_loopback;
    struct tls_server *tls; /* the server's; NULL: plain */
};

/* "GET" and so on; NULL for NET_OTHER, which clients never send. */
const char *net_method_name(enum net_method method);
enum net_method net_method_parse(const char *name);

/* Cuts `uri` in two at its '?'.  Anything but "/..." and "*" sets `problem`. */
void net_exchange_set_uri(struct net_exchange *x, char *uri);
/* Frees the body and gives its bytes back. */
void net_exchange_drop_body(struct net_exchange *x);
/* Frees the headers and the body. */
void net_exchange_done(struct net_exchange *x);

/* DET_INVALID for a call that would not make one valid HTTP request: an unknown method,
 * line breaks in a header, blanks in the path. */
det_status net_call_check(const struct net_call *call, struct err *err);

/* Splits "Name: value" in two; returns false if the line is not a header. */
struct net_header {
    const char *name;
    size_t name_len;
    const char *value;
};
bool net_header_split(const char *line, struct net_header *ret_header);

#endif
