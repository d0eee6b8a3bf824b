/* SPDX-License-Identifier: Apache-2.0 */
/* fault_table.c - the table of experiments and bulk actions, while each allocation,
 * write and sync fails in turn: every acknowledged change is in the table. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/io/io.h"
#include "tests/fault/master_bed.h"

enum { EXPERIMENTS = 3, TRIES = 40, SECOND = 1000000 };

static const char actions[] = "/api/v1/det/experiments/actions";
static const char table[] =
    "/api/v1/det/experiments?sort=name&values=true&columns=name,"
    "hp.lr&query=id%3E0%20or%20%22swept%22%20or%20owner:none";
static const char config[] =
    "{\"config\":\"name: t\\nentrypoint: x\\nmax_restarts: 0\\n"
    "searcher: {name: single, metric: loss}\\n\",\"activate\":false}";

static int64_t count_of(struct bed *bed, const char *path)
{
    return json_i64(json_get(bed_look(bed, path), "total"), -1);
}

/* Until nobody is refused; how often they are asked does no harm. */
static void act(struct bed *bed, const char *body)
{
    for (int i = 0; i < TRIES; i++) {
        bool has_errors = false;
        int64_t count = 0;

        bed_tell(bed, AS_USER, bed->user, actions, body);
        json_each(result, json_get(bed->reply, "results")) {
            count++;
            has_errors =
                has_errors || *json_str(json_get(result, "error"), "nothing said");
        }
        CHECK_EQ(count, EXPERIMENTS);
        if (!has_errors)
            return;
        bed_pass(bed, SECOND);
    }
    fail_msg("it is never done: %s", body);
}

static void await_end(struct bed *bed)
{
    for (int i = 0; i < TRIES; i++) {
        if (count_of(bed, "/api/v1/det/experiments?states=CANCELED") == EXPERIMENTS)
            return;
        bed_pass(bed, SECOND);
    }
    fail_msg("they never end");
}

static void check_all(struct bed *bed)
{
    struct json *reply = bed_look(bed, table);

    CHECK_EQ(json_i64(json_get(reply, "total"), -1), EXPERIMENTS);
    CHECK_EQ(json_i64(json_get(reply, "all"), -1), EXPERIMENTS);
    CHECK_EQ(json_i64(json_path(reply, "states.CANCELED"), -1), EXPERIMENTS);
    CHECK_EQ(count_of(bed, "/api/v1/det/experiments?labels=swept"), EXPERIMENTS);
    CHECK_EQ(count_of(bed, "/api/v1/det/experiments?search=SWEPT"), EXPERIMENTS);
    CHECK_EQ(count_of(bed, "/api/v1/det/experiments?labels=other"), 0);
}

static void tell_of_a_table(struct sweep *sweep)
{
    struct bed bed = {0};

    bed_open(&bed, sweep);
    bed_log_in(&bed);
    for (int i = 0; i < EXPERIMENTS; i++)
        bed_tell(&bed, AS_USER, bed.user, "/api/v1/experiments", config);
    sweep_begin(sweep);
    CHECK_EQ(count_of(&bed, table), EXPERIMENTS);
    act(&bed, "{\"action\":\"label\",\"label\":\"swept\",\"ids\":[1,2,3]}");
    CHECK_EQ(count_of(&bed, "/api/v1/det/experiments?labels=swept"), EXPERIMENTS);
    act(&bed, "{\"action\":\"kill\",\"ids\":[1,2,3]}");
    CHECK_EQ(count_of(&bed, "/api/v1/det/experiments?states=PAUSED"), 0);
    await_end(&bed);
    sweep_end(sweep);
    check_all(&bed);
    io_crash(bed.io); /* and all of it is durable */
    bed_restart(&bed);
    check_all(&bed);
    bed_close(&bed);
}

TEST(the_table_shows_what_was_done_whatever_allocation_fails)
{
    sweep_run("table", tell_of_a_table, SWEEP_MEMORY, 120);
}

TEST(the_table_shows_what_was_done_whatever_write_fails)
{
    sweep_run("table", tell_of_a_table, SWEEP_FILES, 25);
}
