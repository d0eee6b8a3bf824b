/* SPDX-License-Identifier: Apache-2.0 */
#include "master/watch/exposition.h"

#include <string.h>

#include "base/histogram.h"
#include "base/memory/buf.h"
#include "master/watch/facts.h"
#include "master/watch/metric_rows.h"
#include "tests/support/test.h"

static void read_hostile(struct exposition *out, const struct watch_facts *facts)
{
    (void)facts;
    exposition_sample(out, "a\"b\\c\nd", "\xc3\xa9", 3);
    exposition_sample(out, "absent", "x", METRIC_UNKNOWN);
}

static struct histogram histogram;

static void read_histogram(struct exposition *out, const struct watch_facts *facts)
{
    (void)facts;
    exposition_histogram(out, NULL, NULL, &histogram, &histogram_latency_us);
}

static void check_text(const struct metric_row *row, const char *want)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    const struct watch_facts facts = {.start_us = 1500000};

    exposition_write(&out, row, &facts);
    CHECK_STR(out.data, want);
}

TEST(hostile_label_values_are_escaped_and_unknown_values_left_out)
{
    const struct metric_row row = {.name = "m",
                                   .type = METRIC_GAUGE,
                                   .help = "some",
                                   .labels = {"one", "two"},
                                   .read = read_hostile};

    check_text(&row, "# HELP m some\n# TYPE m gauge\n"
                     "m{one=\"a\\\"b\\\\c\\nd\",two=\"\xc3\xa9\"} 3\n");
}

TEST(times_are_in_seconds)
{
    const struct metric_row row = {.name = "m",
                                   .type = METRIC_GAUGE,
                                   .unit = METRIC_SECONDS,
                                   .help = "some",
                                   .offset = offsetof(struct watch_facts, start_us)};

    check_text(&row, "# HELP m some\n# TYPE m gauge\nm 1.500000\n");
}

TEST(buckets_of_a_histogram_are_cumulative)
{
    const struct metric_row row = {.name = "m",
                                   .type = METRIC_HISTOGRAM,
                                   .unit = METRIC_SECONDS,
                                   .help = "some",
                                   .read = read_histogram};

    histogram_add(&histogram, &histogram_latency_us, 500);
    histogram_add(&histogram, &histogram_latency_us, 3000);
    histogram_add(&histogram, &histogram_latency_us, 20000000);

    check_text(&row, "# HELP m some\n# TYPE m histogram\n"
                     "m_bucket{le=\"0.001000\"} 1\nm_bucket{le=\"0.005000\"} 2\n"
                     "m_bucket{le=\"0.025000\"} 2\nm_bucket{le=\"0.100000\"} 2\n"
                     "m_bucket{le=\"0.500000\"} 2\nm_bucket{le=\"2.500000\"} 2\n"
                     "m_bucket{le=\"10\"} 2\nm_bucket{le=\"+Inf\"} 3\n"
                     "m_sum 20.003500\nm_count 3\n");
}

TEST(counters_end_in_total_and_no_other_metric_does)
{
    for (uint32_t i = 0; i < metric_row_count; i++) {
        const char *name = metric_rows[i].name;
        size_t len = strlen(name);
        bool is_total = len > 6 && !strcmp(name + len - 6, "_total");

        CHECK_EQ(is_total, metric_rows[i].type == METRIC_COUNTER);
        CHECK(!metric_rows[i].read ==
              (!metric_rows[i].labels[0] && metric_rows[i].offset));
    }
}
