/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "net/net_addr.h"
#include "net/peer/peer_owner.h"
#include "tests/support/test.h"

static struct net_addr addr(const char *ip, uint16_t port)
{
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct net_addr out = {0};

    if (inet_pton(AF_INET, ip, &v4.sin_addr) == 1)
        CHECK(net_addr_from((struct sockaddr *)&v4, &out));
    else if (inet_pton(AF_INET6, ip, &v6.sin6_addr) == 1)
        CHECK(net_addr_from((struct sockaddr *)&v6, &out));
    else
        fail();
    return out;
}

#define V4_ROW                                                                         \
    "   3: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  "    \
    "1000        0 51234 1 0000000000000000 20 4 30 10 -1"
#define V6_ROW                                                                         \
    "   0: 00000000000000000000000001000000:C350 "                                     \
    "00000000000000000000000001000000:1F90 01 00000000:00000000 02:00000456 00000000 " \
    " 1001        0 51235 2 0000000000000000 20 0 0 10 -1"
#define MAPPED_ROW                                                                     \
    "   0: 0000000000000000FFFF00000100007F:C350 "                                     \
    "0000000000000000FFFF00000100007F:1F90 01 00000000:00000000 02:00000456 00000000 " \
    " 1002        0 51236 2 0000000000000000 20 0 0 10 -1"

TEST(a_row_matches_when_both_ends_do)
{
    struct net_addr theirs = addr("127.0.0.1", 50000);
    struct net_addr ours = addr("127.0.0.1", 8080);
    struct net_addr elsewhere = addr("127.0.0.2", 8080);
    struct net_addr next = addr("127.0.0.1", 50001);
    uint32_t uid = 0;

    CHECK(peer_owner_row_matches(V4_ROW, &theirs, &ours, &uid));
    CHECK_EQ(uid, 1000);
    CHECK(!peer_owner_row_matches(V4_ROW, &ours, &theirs, &uid));
    CHECK(!peer_owner_row_matches(V4_ROW, &theirs, &elsewhere, &uid));
    CHECK(!peer_owner_row_matches(V4_ROW, &next, &ours, &uid));
}

TEST(ipv6_and_ipv4_in_ipv6_match)
{
    struct net_addr theirs = addr("::1", 50000);
    struct net_addr ours = addr("::1", 8080);
    uint32_t uid = 0;

    CHECK(peer_owner_row_matches(V6_ROW, &theirs, &ours, &uid));
    CHECK_EQ(uid, 1001);
    theirs = addr("127.0.0.1", 50000);
    ours = addr("127.0.0.1", 8080);
    CHECK(!peer_owner_row_matches(V6_ROW, &theirs, &ours, &uid));
    CHECK(peer_owner_row_matches(MAPPED_ROW, &theirs, &ours, &uid));
    CHECK_EQ(uid, 1002);
}

TEST(a_socket_without_a_process_is_not_roots)
{
    struct net_addr theirs = addr("127.0.0.1", 50000);
    struct net_addr ours = addr("127.0.0.1", 8080);
    uint32_t uid = 4711;

    CHECK(!peer_owner_row_matches(
        "  3: 0100007F:C350 0100007F:1F90 05 00000000:00000000 "
        "00:00000000 00000000     0        0 0 1 0000000000000000",
        &theirs, &ours, &uid));
    CHECK_EQ(uid, 4711);
}

TEST(malformed_rows_do_not_match)
{
    static const char *const rows[] = {
        "",
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt",
        "  0: 0100007F:C350", "  0: 01:C350 02:1F90 01",
        "  0: 0100007F:C350 0100007F:1F90 01"};
    struct net_addr theirs = addr("127.0.0.1", 50000);
    struct net_addr ours = addr("127.0.0.1", 8080);
    uint32_t uid;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        CHECK(!peer_owner_row_matches(rows[i], &theirs, &ours, &uid));
}

TEST(loopback_is_known_in_all_its_forms)
{
    struct net_addr yes[] = {addr("127.0.0.1", 1), addr("127.1.2.3", 1), addr("::1", 1),
                             addr("::ffff:127.0.0.1", 1)};
    struct net_addr no[] = {addr("128.0.0.1", 1), addr("::2", 1), addr("10.0.0.1", 1),
                            addr("7f00::1", 1)};
    struct sockaddr other = {.sa_family = AF_UNIX};
    struct net_addr out;

    for (size_t i = 0; i < ARRAY_LEN(yes); i++)
        CHECK(net_addr_is_loopback(&yes[i]));
    for (size_t i = 0; i < ARRAY_LEN(no); i++)
        CHECK(!net_addr_is_loopback(&no[i]));
    CHECK(!net_addr_from(&other, &out));
}
