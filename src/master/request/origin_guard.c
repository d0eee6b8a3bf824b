/* SPDX-License-Identifier: Apache-2.0 */
/* origin_guard.c - web pages must not call a local master.
 *
 * A page can make a browser call any address.  Two headers reveal it: `Origin` names its
 * site; and if its own name resolves to us, `Host` holds that name.  A page cannot forge an
 * address in `Host`, so addresses are allowed.  A name must be a loopback name or ours: the
 * machine's, or one of our certificate.
 *
 * With enable_cors, pages of all sites may call the API (paths below /api/), but only with
 * a token that they have themselves: the browser's cookie does not count in such a call
 * (auth.c), and the headers let no page ask for it. */
#include "master/request/origin_guard.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/memory/buf.h"
#include "master/master_impl.h"
#include "net/net.h"

enum { HOST_MAX = 256 };

/* Cuts "host:port" or "[v6]:port" down to the host. */
static bool host_of(const char *text, char host[HOST_MAX])
{
    size_t len;

    if (*text == '[') {
        text++;
        len = strcspn(text, "]");
    } else {
        len = strcspn(text, ":");
    }
    if (!len || len >= HOST_MAX)
        return false;
    if (len > 1 && text[len - 1] == '.')
        len--; /* "name." is the same name, fully qualified */
    memcpy(host, text, len);
    host[len] = '\0';
    return true;
}

static bool is_address(const char *host)
{
    unsigned char bytes[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, host, bytes) == 1 ||
           inet_pton(AF_INET6, host, bytes) == 1;
}

bool origin_guard_is_loopback(const char *host)
{
    return !strcasecmp(host, "localhost") || !strcmp(host, "::1") ||
           (!strncmp(host, "127.", 4) && is_address(host));
}

static bool is_own_host(const struct master *master, const struct net_exchange *x,
                        const char *host)
{
    char name[HOST_MAX] = "";

    if (origin_guard_is_loopback(host) || is_address(host) ||
        !strcasecmp(host, master->host) || net_is_certified(x, host))
        return true;
    if (master->is_loopback || gethostname(name, sizeof(name) - 1))
        return false;
    /* Exactly: "gpu1.evil.example" is not "gpu1".  To use the machine's name with its
     * domain, let the master listen on that name. */
    return !strcasecmp(host, name);
}

bool origin_guard_is_foreign(const struct net_exchange *x)
{
    const char *host_header = net_request_header(x, "Host");
    const char *origin = net_request_header(x, "Origin");
    const char *origin_host = origin ? strstr(origin, "://") : NULL;

    return origin &&
           (!origin_host || !host_header || strcasecmp(origin_host + 3, host_header));
}

/* SameSite keeps the cookie from pages of other machines; this check keeps it from pages of
 * other ports on this machine. */
bool origin_guard_is_cross_site(const struct net_exchange *x)
{
    const char *site = net_request_header(x, "Sec-Fetch-Site");
    const char *mode = net_request_header(x, "Sec-Fetch-Mode");
    bool is_link =
        net_request_method(x) == NET_GET && mode && !strcmp(mode, "navigate");

    return origin_guard_is_foreign(x) ||
           (site && strcmp(site, "same-origin") && strcmp(site, "none") && !is_link);
}

/* Pages of tasks, behind /proxy/, stay closed to other sites. */
static bool is_open_to_pages(const struct master *master, const struct net_exchange *x)
{
    static const char calls[] = "/api/";

    return master->enables_cors &&
           strncmp(net_request_path(x), calls, sizeof(calls) - 1) == 0;
}

bool origin_guard_answer_preflight(const struct master *master, struct net_exchange *x)
{
    static const char *const headers[] = {
        "Access-Control-Allow-Methods: GET, POST, PUT, PATCH, DELETE",
        "Access-Control-Allow-Headers: Authorization, Content-Type",
        "Access-Control-Max-Age: 600", NULL};
    struct buf nothing = BUF_INIT;

    if (net_request_method(x) != NET_OPTIONS || !is_open_to_pages(master, x) ||
        !net_request_header(x, "Origin") ||
        !net_request_header(x, "Access-Control-Request-Method"))
        return false;
    net_answer(x, 204, "text/plain", headers, &nothing);
    return true;
}

det_status origin_guard_check(const struct master *master, const struct net_exchange *x,
                              struct err *err)
{
    const char *host_header = net_request_header(x, "Host");
    const char *origin = net_request_header(x, "Origin");
    char host[HOST_MAX];

    if (!host_header || !host_of(host_header, host) || !is_own_host(master, x, host))
        return err_set(err, DET_FORBIDDEN,
                       "the host name '%.100s' is not one of this master's; use the "
                       "master's address, or a name that is in its certificate",
                       host_header ? host_header : "");
    if (origin && !is_open_to_pages(master, x) && origin_guard_is_foreign(x))
        return err_set(err, DET_FORBIDDEN,
                       "a page of '%.100s' may not call this master", origin);
    return DET_OK;
}
