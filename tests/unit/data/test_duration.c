/* SPDX-License-Identifier: Apache-2.0 */
#include "data/duration.h"
#include "tests/support/test.h"

TEST(durations_are_read_as_go_writes_them)
{
    static const struct {
        const char *text;
        int64_t us;
    } cases[] = {
        {"720h", 720LL * 3600 * 1000000},
        {"1h30m", 5400LL * 1000000},
        {"1.5s", 1500000},
        {"2ms", 2000},
        {"3us", 3},
        {"4000ns", 4},
        {"1h2m3s", 3723LL * 1000000},
        {"0", 0},
        {"0s", 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t us = -1;

        CHECK(duration_parse(cases[i].text, &us));
        CHECK_EQ(us, cases[i].us);
    }
}

TEST(what_is_no_duration_is_refused)
{
    static const char *const texts[] = {"",    "h",   "-1",     "-1h",
                                        "1",   "30d", "1h ",    "1 h",
                                        "1hx", ".h",  "1.2.3s", "9999999999999999h",
                                        "1e3s"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        int64_t us = 7;

        CHECK(!duration_parse(texts[i], &us));
        CHECK_EQ(us, 7);
    }
}
