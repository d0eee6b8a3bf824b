/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.c - the master's state for Prometheus. */
#include "master/api/api.h"
#include "master/request/request_stream.h"
#include "master/watch/facts.h"
#include "master/watch/metric_rows.h"

enum { PIECE = 32 << 10 };

struct scrape {
    struct watch_facts facts; /* of one moment, whenever their piece is sent */
    uint32_t next;
};

static det_status next_piece(struct request *req, struct buf *out,
                             enum net_more *ret_more)
{
    struct scrape *scrape = req->state;

    while (scrape->next < metric_row_count && out->len < PIECE)
        exposition_write(out, &metric_rows[scrape->next++], &scrape->facts);
    *ret_more = scrape->next < metric_row_count ? NET_MORE : NET_END;
    return DET_OK;
}

det_status api_get_metrics(struct request *req)
{
    struct scrape *scrape = arena_new(&req->mem, struct scrape);
    det_status st;

    if (!json_bool(json_path(req->master->config, "observability.enable_prometheus"),
                   true))
        return err_set(req->err, DET_NOT_FOUND,
                       "metrics are switched off by observability.enable_prometheus in "
                       "the master's configuration");
    if (!scrape)
        return DET_NOMEM;
    st = facts_gather(req->master, req->db, &req->mem, &scrape->facts, req->err);
    if (st)
        return st;
    req->state = scrape;
    req->content_type = EXPOSITION_TYPE;
    return request_stream(req, next_piece);
}
