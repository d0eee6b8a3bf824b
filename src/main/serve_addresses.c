/* SPDX-License-Identifier: Apache-2.0 */
#include "main/serve_addresses.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/memory/arena.h"
#include "data/url.h"

/* Of an interface that is up, and that other machines can use. */
static bool is_for_others(const struct ifaddrs *at, bool with_v6)
{
    const struct sockaddr_in6 *v6 = (const void *)at->ifa_addr;

    if (!at->ifa_addr || !(at->ifa_flags & IFF_UP) || at->ifa_flags & IFF_LOOPBACK)
        return false;
    if (at->ifa_addr->sa_family == AF_INET)
        return true;
    return with_v6 && at->ifa_addr->sa_family == AF_INET6 &&
           !IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr);
}

static const char *add_address(const char *text, const struct ifaddrs *at,
                               const struct url *like, struct arena *mem)
{
    bool is_v6 = at->ifa_addr->sa_family == AF_INET6;
    socklen_t size = is_v6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    struct url url = *like;
    const char *address;
    char host[NI_MAXHOST];

    if (getnameinfo(at->ifa_addr, size, host, sizeof(host), NULL, 0, NI_NUMERICHOST))
        return text;
    url.host = host;
    address = url_text(mem, &url);
    return address ? arena_printf(mem, "%s%s%s", text, *text ? ", " : "", address)
                   : text;
}

const char *serve_addresses(const char *host, const struct url *like, struct arena *mem)
{
    bool is_v6 = !strcmp(host, "::");
    struct ifaddrs *list = NULL;
    const char *text = "";

    if ((strcmp(host, "0.0.0.0") && !is_v6) || getifaddrs(&list))
        return "";
    for (const struct ifaddrs *at = list; text && at; at = at->ifa_next)
        if (is_for_others(at, is_v6))
            text = add_address(text, at, like, mem);
    freeifaddrs(list);
    return text ? text : "";
}

const char *serve_addresses_both(const char *url, const char *others, struct arena *mem)
{
    const char *text =
        *others ? arena_printf(mem, "%s\nother machines reach it at %s", url, others)
                : url;

    return text ? text : url;
}

void serve_addresses_print(const char *text)
{
    size_t len = strcspn(text, "\n");

    printf("%.*s\n", (int)len, text);
    fputs(text[len] ? text + len + 1 : "", stderr);
}
