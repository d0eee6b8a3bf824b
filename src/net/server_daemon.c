/* SPDX-License-Identifier: Apache-2.0 */
/* server_daemon.c - the daemons of libmicrohttpd, the thread that accepts for them, and the
 * seats of their connections.
 *
 * One daemon is one thread.  A daemon that accepts itself could be several, but then early
 * clients would block later ones when the limit is reached (accept/seats.h).  With its
 * listening socket elsewhere libmicrohttpd has no pool of threads, so a server with several
 * threads has several daemons. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "net/accept/acceptor.h"
#include "net/accept/listen.h"
#include "net/accept/seats.h"
#include "net/net_thread.h"
#include "net/server_http_impl.h"
#include "net/tls/tls_server.h"

enum {
    HEAD_SECONDS = 20,        /* for the head of a request */
    IDLE_SECONDS = 75,        /* limit for a kept or stalled connection */
    LEAST_RATE = 4096,        /* bytes a second of a body or a reply */
    CONNECTION_BYTES = 16384, /* also the limit on a request's headers */
    DEFAULT_CONNECTIONS = 16384,
    SHARE_OF_ONE = 4,  /* an address holds at most a fourth */
    OTHER_FILES = 128, /* descriptors for everything but connections */
    FEWEST_CONNECTIONS = 16,
    WARNING_TEXT = 256,
};

static const char refusal[] = "HTTP/1.1 503 Service Unavailable\r\n"
                              "Retry-After: 2\r\n"
                              "Content-Length: 0\r\n"
                              "Connection: close\r\n\r\n";

/* The owner must get the path as it was sent. */
static size_t unescape_nothing(void *arg, struct MHD_Connection *connection, char *text)
{
    (void)arg;
    (void)connection;
    return strlen(text);
}

struct seat *http_seat(const struct http_server *server,
                       struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        server->mhd.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info ? info->socket_context : NULL;
}

static void on_connection(void *arg, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode how)
{
    struct http_server *server = arg;
    const union MHD_ConnectionInfo *info;

    if (how == MHD_CONNECTION_NOTIFY_CLOSED) { /* the descriptor is still open */
        seat_leave(server->seats, *context);
        *context = NULL;
        return;
    }
    info =
        server->mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    *context = info ? seats_find(server->seats, info->connect_fd) : NULL;
    info =
        server->mhd.get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    if (info && info->tls_session)
        tls_server_join(server->tls, info->tls_session);
}

static struct MHD_Daemon *daemon_start(struct http_server *server, unsigned limit)
{
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME |
                     MHD_ALLOW_UPGRADE | MHD_USE_NO_LISTEN_SOCKET;
    const struct MHD_OptionItem options[] = {
        {MHD_OPTION_CONNECTION_LIMIT, limit, NULL},
        {MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS, NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES, NULL},
        {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)http_on_uri, server},
        {MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)unescape_nothing, NULL},
        {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)http_on_completed, server},
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, server},
        {MHD_OPTION_END, 0, NULL},
    };
    const struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)TLS_PRIORITIES},
        {MHD_OPTION_HTTPS_CERT_CALLBACK2, 0, (void *)(uintptr_t)tls_server_certificate},
        {MHD_OPTION_END, 0, NULL},
    };
    struct MHD_Daemon *daemon;
    sigset_t old;

    net_signals_block(&old);
    daemon = server->mhd.start_daemon(
        flags | (server->tls ? MHD_USE_TLS : 0), 0, NULL, NULL, http_on_access, server,
        MHD_OPTION_ARRAY, options, server->tls ? MHD_OPTION_ARRAY : MHD_OPTION_END, tls,
        MHD_OPTION_END);
    net_signals_restore(&old);
    return daemon;
}

/* Each connection is served by the daemon whose turn it is.  One that libmicrohttpd refuses
 * is closed by it without a notification.  No other thread gives seats, so the descriptor's
 * is still this one. */
static void on_accepted(void *arg, int fd, const struct sockaddr *from, socklen_t size)
{
    struct http_server *server = arg;

    server->turn = (server->turn + 1) % server->daemons;
    if (server->mhd.add_connection(server->daemon[server->turn], fd, from, size) !=
        MHD_YES)
        seat_leave(server->seats, seats_find(server->seats, fd));
}

static void on_turned_away(void *arg, uint32_t count, const char *address)
{
    const struct http_server *server = arg;
    char text[WARNING_TEXT];

    if (!server->warn)
        return;
    snprintf(text, sizeof(text),
             "too many connections: %" PRIu32
             " were closed or refused, at last one of %s (see 'connections' in the "
             "configuration)",
             count, address);
    server->warn(server->arg, text);
}

/* Not more connections than this process may have open files: at the limit, connections
 * that rest are closed, but files of the store must still open. */
static uint32_t connection_limit(const struct net_server_config *config)
{
    uint32_t wanted =
        config->max_connections ? config->max_connections : DEFAULT_CONNECTIONS;
    char text[WARNING_TEXT];
    struct rlimit files;
    rlim_t most;

    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY)
        return wanted;
    most = files.rlim_cur > OTHER_FILES + FEWEST_CONNECTIONS
               ? files.rlim_cur - OTHER_FILES
               : FEWEST_CONNECTIONS;
    if (wanted <= most)
        return wanted;
    snprintf(
        text, sizeof(text),
        "this process may open %llu files, so it serves at most %llu connections at "
        "once instead of %u; raise the limit (ulimit -n, LimitNOFILE)",
        (unsigned long long)files.rlim_cur, (unsigned long long)most, wanted);
    if (config->warn)
        config->warn(config->arg, text);
    return (uint32_t)most;
}

static det_status seats_start(struct http_server *server,
                              const struct net_server_config *config, uint32_t limit,
                              struct err *err)
{
    const struct seats_config seats = {
        .clock = &clock_system,
        .most = limit,
        .most_of_one = config->max_of_address ? MIN(config->max_of_address, limit)
                                              : MAX(limit / SHARE_OF_ONE, 1u),
        .head_us = config->head_us ? config->head_us : HEAD_SECONDS * 1000000,
        .idle_us = IDLE_SECONDS * 1000000,
        .least_rate = config->least_rate ? config->least_rate : LEAST_RATE,
        .trusted = config->trusted,
    };

    return seats_new(&seats, &server->seats, err);
}

static det_status daemons_start(struct http_server *server, uint32_t threads,
                                uint32_t limit, struct err *err)
{
    while (server->daemons < MIN(MAX(threads, 1u), (uint32_t)HTTP_DAEMONS)) {
        struct MHD_Daemon *daemon = daemon_start(server, limit + SEATS_LEAVING);

        if (!daemon)
            return err_set(err, DET_FAILED, "cannot start the HTTP server");
        server->daemon[server->daemons++] = daemon;
    }
    return DET_OK;
}

det_status http_daemon_start(struct http_server *server,
                             const struct net_server_config *config, struct err *err)
{
    struct acceptor_config acceptor = {
        .fd = -1,
        .refusal = server->tls ? NULL : refusal,
        .accepted = on_accepted,
        .turned_away = on_turned_away,
        .arg = server,
    };
    uint32_t limit = connection_limit(config);
    det_status st = seats_start(server, config, limit, err);

    server->max_connections = limit;
    if (!st)
        st = listen_open(config, &acceptor.fd, &server->base.port, err);
    if (!st)
        st = daemons_start(server, config->threads, limit, err);
    acceptor.seats = server->seats;
    if (!st)
        st = acceptor_new(&acceptor, &server->acceptor, err);
    if (!st)
        return DET_OK;
    if (acceptor.fd >= 0)
        close(acceptor.fd);
    http_daemon_stop(server);
    return st;
}

void http_daemon_stop(struct http_server *server)
{
    acceptor_free(server->acceptor);
    server->acceptor = NULL;
    while (server->daemons)
        server->mhd.stop_daemon(server->daemon[--server->daemons]);
}
