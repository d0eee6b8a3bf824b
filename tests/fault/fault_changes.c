/* SPDX-License-Identifier: Apache-2.0 */
/* fault_changes.c - a page listens to changes while each allocation of the master fails
 * in turn: the page hears of every acknowledged change, or is told to load everything
 * again. */
#include <stdio.h>
#include <string.h>

#include "base/io/io.h"
#include "base/memory/buf.h"
#include "tests/fault/master_bed.h"

static const char config[] = "{\"config\":\"name: t\\nentrypoint: x\\n"
                             "searcher: {name: single, metric: loss}\\n\","
                             "\"modelDefinition\":[]}";

struct page {
    struct bed *bed;
    struct buf heard;  /* since it connected */
    const char *until; /* hears no more once this was said */
    char last[100];    /* the id of the last event */
    bool is_told;      /* of experiment 1, or to look at everything */
};

/* The fault is the master's. */
static int64_t spare(void)
{
    int64_t left = fault_state.left[FAULT_MEMORY];

    fault_state.left[FAULT_MEMORY] = 0;
    return left;
}

static void take_last(struct page *page)
{
    const char *at = page->heard.data;

    while (at && (at = strstr(at, "\nid: "))) {
        at += 5;
        if (strchr(at, '\n')) /* else it is not all there yet */
            snprintf(page->last, sizeof(page->last), "%.*s", (int)strcspn(at, "\n"),
                     at);
    }
}

static det_status on_data(void *arg, const char *bytes, size_t len, struct err *err)
{
    struct page *page = arg;
    int64_t left = spare();
    bool is_enough;

    buf_add(&page->heard, bytes, len);
    take_last(page);
    page->is_told = page->is_told || strstr(page->heard.data, "\"experiments\":[1]") ||
                    strstr(page->heard.data, "event: reset");
    is_enough = strstr(page->heard.data, page->until) != NULL;
    fault_state.left[FAULT_MEMORY] = left;
    return is_enough ? err_set(err, DET_STATE, "heard enough") : DET_OK;
}

/* Until it is said; a page whose stream breaks comes back. */
static void listen(struct page *page, const char *until)
{
    struct bed *bed = page->bed;

    page->until = until;
    for (int i = 0; i < 20; i++) {
        CLEANUP(buf_done) struct buf out = BUF_INIT;
        const char *headers[] = {
            bed_printf(bed, "Authorization: Bearer %s", bed->user),
            page->last[0] ? bed_printf(bed, "Last-Event-ID: %s", page->last) : NULL,
            NULL};
        struct net_call call = {.method = NET_GET,
                                .path = "/api/v1/det/changes",
                                .headers = headers,
                                .timeout_ms = 60000,
                                .on_data = on_data,
                                .arg = page};
        struct net_reply reply = {.body = &out};
        int64_t left = spare();

        buf_clear(&page->heard);
        fault_state.left[FAULT_MEMORY] = left;
        if (bed_revive(bed))
            (void)net_call(bed->client, &call, &reply, NULL);
        if (page->heard.len && strstr(page->heard.data, until))
            return;
        if (!sweep_has_struck(bed->sweep))
            fail_msg("'%s' is not said: %d %s %s", until, reply.status, out.data,
                     page->heard.data);
    }
    fail_msg("'%s' is never said", until);
}

/* Until it is acknowledged; twice is as good as once. */
static void rename_it(struct bed *bed)
{
    for (int i = 0; i < 20; i++) {
        bed_call(bed, AS_USER, bed->user, NET_PATCH, "/api/v1/experiments/1",
                 "{\"name\": \"another\"}");
        if (bed->status == 200)
            return;
        bed_pass(bed, 200000);
    }
    fail_msg("it is never renamed");
}

static void tell_of_a_page(struct sweep *sweep)
{
    struct bed bed = {0};
    struct page page = {.bed = &bed, .heard = BUF_INIT};

    bed_open(&bed, sweep);
    bed_log_in(&bed);
    bed_hello(&bed);
    bed_tell(&bed, AS_USER, bed.user, "/api/v1/experiments", config);
    bed_tell(&bed, AS_USER, bed.user, "/api/v1/experiments/1/kill", "{}");
    sweep_begin(sweep);
    listen(&page, "event: hello");
    page.is_told = false;
    rename_it(&bed);
    listen(&page, "event: alive"); /* it waits, and is woken */
    sweep_end(sweep);
    CHECK(page.is_told);
    buf_done(&page.heard);
    bed_close(&bed);
}

TEST(a_page_hears_of_what_was_acknowledged_whatever_allocation_fails)
{
    sweep_run("page", tell_of_a_page, SWEEP_MEMORY, 120);
}
