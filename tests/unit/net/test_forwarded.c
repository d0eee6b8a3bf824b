/* SPDX-License-Identifier: Apache-2.0 */
#include "net/peer/forwarded.h"

#include <string.h>

#include "tests/support/test.h"

static struct net_range trusted[2];
static const struct net_ranges ranges = {trusted, 2};

static void check_client(const char *peer, const char *forwarded, const char *expected)
{
    char address[NET_ADDRESS_TEXT];

    CHECK(net_range_parse("10.0.0.0/8", &trusted[0]));
    CHECK(net_range_parse("::1", &trusted[1]));
    forwarded_client(&ranges, peer, forwarded, address);
    CHECK_STR(address, expected);
}

TEST(ranges_are_addresses_with_or_without_a_length)
{
    static const char *const bad[] = {
        "",        "10.0.0.0/33", "10.0.0.0/",   "10.0.0",     "host",
        "::1/129", "10.0.0.1/-1", "10.0.0.1/8x", "1.2.3.4:80", "/8"};
    struct net_range range;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK(!net_range_parse(bad[i], &range));
    CHECK(net_range_parse("192.168.4.0/22", &range));
    CHECK(net_range_has(&range, "192.168.7.255"));
    CHECK(!net_range_has(&range, "192.168.8.0"));
    CHECK(!net_range_has(&range, "::1"));
    CHECK(net_range_parse("0.0.0.0/0", &range));
    CHECK(net_range_has(&range, "8.8.8.8"));
    CHECK(!net_range_has(&range, "2001:db8::1"));
    CHECK(net_range_parse("2001:db8::/33", &range));
    CHECK(net_range_has(&range, "2001:db8:7fff::1"));
    CHECK(!net_range_has(&range, "2001:db8:8000::1"));
}

TEST(a_header_of_a_stranger_is_not_believed)
{
    check_client("8.8.8.8", "1.2.3.4", "8.8.8.8");
    check_client("8.8.8.8", "10.0.0.1, 1.2.3.4", "8.8.8.8");
    check_client("10.0.0.1", NULL, "10.0.0.1");
    check_client("10.0.0.1", "", "10.0.0.1");
}

TEST(the_client_is_the_last_one_that_is_no_proxy)
{
    check_client("10.0.0.1", "1.2.3.4", "1.2.3.4");
    /* the first is what the client claims */
    check_client("10.0.0.1", "9.9.9.9, 1.2.3.4", "1.2.3.4");
    check_client("10.0.0.1", "9.9.9.9,1.2.3.4 , 10.2.2.2", "1.2.3.4");
    check_client("::1", "2001:db8::5", "2001:db8::5");
    check_client("10.0.0.1", "10.0.0.9", "10.0.0.9");
    check_client("10.0.0.1", "1.2.3.4:5555", "1.2.3.4");
    check_client("10.0.0.1", "[2001:db8::5]:80", "2001:db8::5");
    check_client("10.0.0.1", "::ffff:1.2.3.4", "1.2.3.4");
}

TEST(an_entry_that_is_no_address_ends_the_list)
{
    check_client("10.0.0.1", "1.2.3.4, unknown", "10.0.0.1");
    check_client("10.0.0.1", "1.2.3.4, , 10.0.0.2", "10.0.0.2");
    check_client("10.0.0.1", ",,,", "10.0.0.1");
    check_client("10.0.0.1", "1.2.3.4, [", "10.0.0.1");
}

TEST(a_network_is_an_address_or_64_bits)
{
    char network[NET_ADDRESS_TEXT];

    forwarded_network("1.2.3.4", network);
    CHECK_STR(network, "1.2.3.4");
    forwarded_network("2001:db8:1:2:3:4:5:6", network);
    CHECK_STR(network, "2001:db8:1:2::");
    forwarded_network("", network);
    CHECK_STR(network, "");
}
