/* SPDX-License-Identifier: Apache-2.0 */
#include "net/peer/forwarded.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

static const uint8_t v4_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

static bool is_v4(const uint8_t ip[16])
{
    return !memcmp(ip, v4_prefix, sizeof(v4_prefix));
}

static bool parse_ip(const char *text, uint8_t ip[16])
{
    if (inet_pton(AF_INET6, text, ip) == 1)
        return true;
    memcpy(ip, v4_prefix, sizeof(v4_prefix));
    return inet_pton(AF_INET, text, ip + sizeof(v4_prefix)) == 1;
}

static void format_ip(const uint8_t ip[16], char text[NET_ADDRESS_TEXT])
{
    bool is_ok = is_v4(ip) ? inet_ntop(AF_INET, ip + sizeof(v4_prefix), text,
                                       NET_ADDRESS_TEXT) != NULL
                           : inet_ntop(AF_INET6, ip, text, NET_ADDRESS_TEXT) != NULL;

    if (!is_ok)
        text[0] = '\0';
}

static bool parse_bits(const char *text, unsigned most, unsigned *ret_bits)
{
    unsigned bits = 0;
    size_t len = strspn(text, "0123456789");

    if (!len || len > 3 || text[len])
        return false;
    for (; *text; text++)
        bits = bits * 10 + (unsigned)(*text - '0');
    *ret_bits = bits;
    return bits <= most;
}

bool net_range_parse(const char *text, struct net_range *ret_range)
{
    char address[NET_ADDRESS_TEXT];
    size_t len = strcspn(text, "/");
    unsigned bits;
    bool is_short;

    if (len >= sizeof(address))
        return false;
    memcpy(address, text, len);
    address[len] = '\0';
    if (!parse_ip(address, ret_range->ip))
        return false;
    is_short = !strchr(address, ':');
    bits = is_short ? 32 : 128;
    if (text[len] && !parse_bits(text + len + 1, bits, &bits))
        return false;
    ret_range->bits = (uint8_t)(bits + (is_short ? 96 : 0));
    return true;
}

static bool range_has_ip(const struct net_range *range, const uint8_t ip[16])
{
    size_t bytes = range->bits / 8;
    uint8_t mask = (uint8_t)(0xff00 >> range->bits % 8);

    return !memcmp(range->ip, ip, bytes) &&
           (range->bits % 8 == 0 || !((range->ip[bytes] ^ ip[bytes]) & mask));
}

bool net_range_has(const struct net_range *range, const char *address)
{
    uint8_t ip[16];

    return parse_ip(address, ip) && range_has_ip(range, ip);
}

static bool is_trusted(const struct net_ranges *trusted, const uint8_t ip[16])
{
    for (size_t i = 0; i < trusted->count; i++)
        if (range_has_ip(&trusted->at[i], ip))
            return true;
    return false;
}

/* The last entry of `list` before *end, without blanks, and its new end.  Some proxies add a
 * port: "[::1]:80", "10.0.0.1:80". */
static bool last_entry(const char *list, size_t *end, char entry[NET_ADDRESS_TEXT])
{
    size_t from = *end;
    size_t to = *end;
    size_t len;

    while (from && list[from - 1] != ',')
        from--;
    *end = from ? from - 1 : 0;
    from += strspn(list + from, " \t");
    while (to > from && strchr(" \t", list[to - 1]))
        to--;
    if (list[from] == '[') {
        from++;
        to = from + strcspn(list + from, "],");
    } else if (memchr(list + from, '.', to - from) &&
               memchr(list + from, ':', to - from)) {
        len = strcspn(list + from, ":");
        if (memchr(list + from, '.', len)) /* not ::ffff:1.2.3.4 */
            to = from + len;
    }
    len = to - from;
    if (!len || len >= NET_ADDRESS_TEXT)
        return false;
    memcpy(entry, list + from, len);
    entry[len] = '\0';
    return true;
}

void forwarded_client(const struct net_ranges *trusted, const char *peer,
                      const char *forwarded, char ret_address[NET_ADDRESS_TEXT])
{
    uint8_t ip[16];
    size_t end = forwarded ? strlen(forwarded) : 0;
    char entry[NET_ADDRESS_TEXT];

    snprintf(ret_address, NET_ADDRESS_TEXT, "%s", peer);
    if (!parse_ip(peer, ip))
        return;
    /* An entry that is no address ends the list: nothing before it can be believed. */
    while (end && is_trusted(trusted, ip) && last_entry(forwarded, &end, entry) &&
           parse_ip(entry, ip))
        format_ip(ip, ret_address);
}

void forwarded_network(const char *address, char ret_network[NET_ADDRESS_TEXT])
{
    uint8_t ip[16];

    snprintf(ret_network, NET_ADDRESS_TEXT, "%s", address);
    if (!parse_ip(address, ip) || is_v4(ip))
        return;
    memset(ip + 8, 0, 8);
    format_ip(ip, ret_network);
}
