/* SPDX-License-Identifier: Apache-2.0 */
/* net_impl.h - what the two networks share behind net.h.
 *
 * Each network embeds these structs as the first member of its own and fills in `ops`;
 * net.c dispatches.  The request itself is plain data, read by net.c without asking. */
#ifndef NET_NET_IMPL_H
#define NET_NET_IMPL_H

#include "base/buf.h"
#include "net/net.h"

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

    bool (*peer_uid)(const struct net_exchange *x, uint32_t *ret_uid);
    void (*on_gone)(struct net_exchange *x, net_gone_fn *fn);
    void (*answer)(struct net_exchange *x, const struct net_answer_with *answer);
    void (*answer_stream)(struct net_exchange *x, const char *content_type,
                          const struct net_stream *stream);
    void (*stream_wake)(struct net_exchange *x);
    void (*relay)(struct net_exchange *x, const struct net_relay *to);
    void (*peer_address)(const struct net_exchange *x, char text[NET_ADDRESS_TEXT]);

    det_status (*client_new)(struct net *net, const char *host, uint16_t port,
                             struct net_client **ret_client, struct err *err);
    void (*client_free)(struct net_client *client);
    void (*client_cancel)(struct net_client *client);
    det_status (*call)(struct net_client *client, const struct net_call *call,
                       struct net_reply *reply, struct err *err);
};

struct net {
    const struct net_ops *ops;
    struct exec *exec;
};

struct net_server {
    const struct net_ops *ops;
    uint16_t port;
};

struct net_client {
    const struct net_ops *ops;
};

struct net_exchange {
    const struct net_ops *ops;
    const char *path; /* into memory the network owns, as the query */
    const char *query;
    char *headers; /* owned: name NUL value NUL ... NUL; or NULL */
    struct buf body;
    void *user;
    enum net_method method;
    det_status problem;
    bool is_loopback;
};

extern const struct net_ops net_memory_ops;

/* The client's half of the real network. */
det_status http_client_new(struct net *net, const char *host, uint16_t port,
                           struct net_client **ret_client, struct err *err);
void http_client_free(struct net_client *client);
void http_client_cancel(struct net_client *client);
det_status http_call(struct net_client *client, const struct net_call *call,
                     struct net_reply *reply, struct err *err);

/* "GET" and so on; NULL for NET_OTHER, which no client sends. */
const char *net_method_name(enum net_method method);
enum net_method net_method_parse(const char *name);

/* Cuts `uri` in two at its '?'; anything but "/..." and "*" is a problem. */
void net_exchange_set_uri(struct net_exchange *x, char *uri);
/* Frees what the shared part owns. */
void net_exchange_done(struct net_exchange *x);

/* DET_INVALID for a call that would not be one HTTP request: a method that is none,
 * line breaks in a header, blanks in the path. */
det_status net_call_check(const struct net_call *call, struct err *err);

/* Splits "Name: value" in two; false when it is none. */
struct net_header {
    const char *name;
    size_t name_len;
    const char *value;
};
bool net_header_split(const char *line, struct net_header *ret_header);

#endif
