/* SPDX-License-Identifier: Apache-2.0 */
#include "net/net_addr.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

enum { MAPPED_AT = 12 }; /* where the IPv4 address begins in a mapped one */

static const uint8_t mapped_prefix[MAPPED_AT] = {[10] = 0xff, [11] = 0xff};

static bool is_mapped_v4(const struct net_addr *addr)
{
    return !memcmp(addr->ip, mapped_prefix, MAPPED_AT);
}

bool net_addr_from(const struct sockaddr *sa, struct net_addr *ret_addr)
{
    struct net_addr addr = {0};
    struct sockaddr_in6 v6;
    struct sockaddr_in v4;

    if (sa->sa_family == AF_INET) {
        memcpy(&v4, sa, sizeof(v4));
        memcpy(addr.ip, mapped_prefix, MAPPED_AT);
        memcpy(addr.ip + MAPPED_AT, &v4.sin_addr, sizeof(v4.sin_addr));
        addr.port = ntohs(v4.sin_port);
    } else if (sa->sa_family == AF_INET6) {
        memcpy(&v6, sa, sizeof(v6));
        memcpy(addr.ip, &v6.sin6_addr, sizeof(addr.ip));
        addr.port = ntohs(v6.sin6_port);
    } else {
        return false;
    }
    *ret_addr = addr;
    return true;
}

bool net_addr_is_loopback(const struct net_addr *addr)
{
    static const uint8_t v6_loopback[16] = {[15] = 1};

    if (is_mapped_v4(addr))
        return addr->ip[MAPPED_AT] == 127;
    return !memcmp(addr->ip, v6_loopback, sizeof(v6_loopback));
}

bool net_addr_is_equal(const struct net_addr *a, const struct net_addr *b)
{
    return a->port == b->port && !memcmp(a->ip, b->ip, sizeof(a->ip));
}

void net_addr_format(const struct net_addr *addr, char *text, size_t size)
{
    bool is_v4 = is_mapped_v4(addr);

    if (!inet_ntop(is_v4 ? AF_INET : AF_INET6, addr->ip + (is_v4 ? MAPPED_AT : 0), text,
                   (socklen_t)size))
        text[0] = '\0';
}
