/* SPDX-License-Identifier: Apache-2.0 */
/* peer_owner.c - finds the owner of a socket in /proc/net/tcp and /proc/net/tcp6.
 *
 * A row names both ends of a socket, its user and its inode (one line in the file):
 *
 *   sl  local_address rem_address   st tx_queue:rx_queue tr:tm->when
 *   0:  0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000
 *                                         retrnsmt  uid timeout inode
 *                                         00000000 1000       0 12345 ...
 *
 * Logins without a password depend on the answer, so two traps matter.  Both ends must
 * match: a user can have the same local port towards another address.  And a closed
 * socket shows user 0 (it belongs to no process; its inode is 0): it must never count as
 * root. */
#include "net/peer/peer_owner.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "net/net_addr.h"

enum { HEX_V4 = 8, HEX_V6 = 32, ROW_SIZE = 512 };

/* The kernel prints each 32-bit word of an address as a number in this machine's byte
 * order. */
static bool addr_parse(const char *hex, unsigned port, struct net_addr *ret_addr)
{
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
                              .sin6_port = htons((uint16_t)port)};
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    size_t len = strlen(hex);
    uint32_t words[HEX_V6 / HEX_V4];

    if ((len != HEX_V4 && len != HEX_V6) || port > UINT16_MAX)
        return false;
    for (size_t i = 0; i < len / HEX_V4; i++)
        if (sscanf(hex + i * HEX_V4, "%8" SCNx32, &words[i]) != 1)
            return false;
    if (len == HEX_V4) {
        memcpy(&v4.sin_addr, words, sizeof(v4.sin_addr));
        return net_addr_from((struct sockaddr *)&v4, ret_addr);
    }
    memcpy(&v6.sin6_addr, words, sizeof(v6.sin6_addr));
    return net_addr_from((struct sockaddr *)&v6, ret_addr);
}

bool peer_owner_row_matches(const char *row, const struct net_addr *theirs,
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
    if (!net_addr_is_equal(&local, theirs) || !net_addr_is_equal(&far, ours))
        return false;
    if (sscanf(row, " %*s %*s %*s %*s %*s %*s %*s %" SCNu32 " %*s %lu", &uid, &inode) !=
        2)
        return false;
    if (inode == 0)
        return false;
    *ret_uid = uid;
    return true;
}

static bool find_uid_in(const char *path, const struct net_addr *theirs,
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
            is_found = peer_owner_row_matches(row, theirs, ours, ret_uid);
            row = end + 1;
        }
        have = (size_t)(text + have - row);
        memmove(text, row, have);
        if (have > ROW_SIZE)
            break; /* not the table we expect */
    }
    close(fd);
    return is_found;
}

bool peer_owner_find_uid(const struct net_addr *theirs, const struct net_addr *ours,
                         uint32_t *ret_uid)
{
    return find_uid_in("/proc/net/tcp", theirs, ours, ret_uid) ||
           find_uid_in("/proc/net/tcp6", theirs, ours, ret_uid);
}
