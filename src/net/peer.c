/* SPDX-License-Identifier: Apache-2.0 */
/* peer.c - who is calling, from /proc/net/tcp and /proc/net/tcp6.
 *
 * A row names both ends of a socket, its user and its inode:
 *
 *   sl  local_address rem_address   st tx_queue:rx_queue tr:tm->when retrnsmt uid
 * timeout inode 0: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000
 * 00000000 1000 0 12345 ...
 *
 * Blank passwords hang on the answer, so two traps matter.  Both ends must match: a
 * user can have the same local port towards another address.  And a socket that was
 * closed shows user 0 (it belongs to no process; its inode is 0): it must never count
 * as root. */
#include "net/peer.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"

enum { MAPPED_AT = 12, HEX_V4 = 8, HEX_V6 = 32, ROW_SIZE = 512 };

static const uint8_t mapped_prefix[MAPPED_AT] = {[10] = 0xff, [11] = 0xff};

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

    if (!memcmp(addr->ip, mapped_prefix, MAPPED_AT))
        return addr->ip[MAPPED_AT] == 127;
    return !memcmp(addr->ip, v6_loopback, sizeof(v6_loopback));
}

/* The kernel prints each 32-bit word of an address as a number of this machine. */
static bool addr_parse(const char *hex, unsigned port, struct net_addr *ret_addr)
{
    size_t len = strlen(hex);
    size_t at = len == HEX_V4 ? MAPPED_AT : 0;

    if ((len != HEX_V4 && len != HEX_V6) || port > UINT16_MAX)
        return false;
    memcpy(ret_addr->ip, mapped_prefix, MAPPED_AT);
    for (; at < sizeof(ret_addr->ip); at += 4, hex += HEX_V4) {
        uint32_t word;

        if (sscanf(hex, "%8" SCNx32, &word) != 1)
            return false;
        memcpy(ret_addr->ip + at, &word, sizeof(word));
    }
    ret_addr->port = (uint16_t)port;
    return true;
}

static bool addr_equal(const struct net_addr *a, const struct net_addr *b)
{
    return a->port == b->port && !memcmp(a->ip, b->ip, sizeof(a->ip));
}

bool peer_row_matches(const char *row, const struct net_addr *theirs,
                      const struct net_addr *ours, uint32_t *ret_uid)
{
    char local_hex[HEX_V6 + 1];
    char far_hex[HEX_V6 + 1];
    unsigned local_port;
    unsigned far_port;
    struct net_addr local;
    struct net_addr far;
    unsigned long inode;
    uint32_t uid;

    if (sscanf(row, " %*[0-9]: %32[0-9A-Fa-f]:%x %32[0-9A-Fa-f]:%x", local_hex,
               &local_port, far_hex, &far_port) != 4 ||
        !addr_parse(local_hex, local_port, &local) ||
        !addr_parse(far_hex, far_port, &far))
        return false;
    if (!addr_equal(&local, theirs) || !addr_equal(&far, ours))
        return false;
    if (sscanf(row, " %*s %*s %*s %*s %*s %*s %*s %" SCNu32 " %*s %lu", &uid, &inode) !=
            2 ||
        inode == 0)
        return false;
    *ret_uid = uid;
    return true;
}

static bool find_in(const char *path, const struct net_addr *theirs,
                    const struct net_addr *ours, uint32_t *ret_uid)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char text[8 * ROW_SIZE];
    bool is_found = false;
    size_t have = 0;
    ssize_t got;

    if (fd < 0)
        return false;
    while (!is_found && (got = read(fd, text + have, sizeof(text) - 1 - have)) > 0) {
        char *row = text;
        char *end;

        have += (size_t)got;
        text[have] = '\0';
        while (!is_found && (end = strchr(row, '\n'))) {
            *end = '\0';
            is_found = peer_row_matches(row, theirs, ours, ret_uid);
            row = end + 1;
        }
        have = (size_t)(text + have - row);
        memmove(text, row, have);
        if (have > ROW_SIZE)
            break; /* not a table that we know */
    }
    close(fd);
    return is_found;
}

bool peer_find_uid(const struct net_addr *theirs, const struct net_addr *ours,
                   uint32_t *ret_uid)
{
    return find_in("/proc/net/tcp", theirs, ours, ret_uid) ||
           find_in("/proc/net/tcp6", theirs, ours, ret_uid);
}
