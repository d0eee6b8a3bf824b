/* SPDX-License-Identifier: Apache-2.0 */
/* trial_profile.c - the profile of a trial for its page: the machine over time, where the
 * time went, and why time was lost.
 *
 * The program's own profiler reports groups of metrics; without it, the supervisors of the
 * trial have measured the load of their machines.
 *
 * A trial of days has some hundred thousand reports.  They are read page by page; between two
 * pages the worker is free for other requests. */
#include <string.h>

#include "master/api/api.h"
#include "model/profile.h"
#include "store/experiment/trial_load.h"
#include "store/experiment/trial_view.h"
#include "store/metric/metric_cursor.h"

enum { REPORTS_AT_ONCE = 500, PAGE_MEMORY = 64 << 20 };

struct profile_read {
    struct profile profile;
    size_t group; /* index in profile_groups */
    struct metric_query query;
};

static void profile_read_ended(struct request *req)
{
    struct profile_read *read = req->state;

    profile_done(&read->profile);
}

/* ---- rendering --------------------------------------------------------------------- */

static void render_points(struct json_writer *w, const char *key, const double *at,
                          uint32_t count)
{
    jw_array(w, key);
    for (uint32_t i = 0; i < count; i++)
        jw_real(w, NULL, at[i]);
    jw_end_array(w);
}

static void render_line(struct json_writer *w, const struct profile_line *line,
                        double covered)
{
    jw_object(w, NULL);
    jw_str(w, "group", line->group);
    jw_str(w, "name", line->name);
    jw_real(w, "last", line->last);
    jw_real(w, "mean", line->sum / (double)line->count);
    jw_real(w, "max", line->max);
    jw_i64(w, "reports", (int64_t)line->count);
    if (!strcmp(line->group, "timing")) {
        jw_real(w, "seconds", line->seconds);
        jw_i64(w, "count", (int64_t)line->events);
        jw_real(w, "share", covered > 0 ? line->seconds / covered : 0);
    }
    render_points(w, "times", line->curve.time_s, line->curve.count);
    render_points(w, "values", line->curve.point, line->curve.count);
    jw_end_object(w);
}

/* Renders the lines of one agent from `at` on; returns where the next agent's begin. */
static size_t render_agent(struct json_writer *w, const struct profile *profile,
                           size_t at)
{
    const char *agent = profile->lines.at[at]->agent;
    double covered = profile_seconds(profile, agent);
    struct profile_cause cause;

    profile_find_cause(profile, agent, &cause);
    jw_object(w, NULL);
    jw_str(w, "agent", agent);
    jw_real(w, "seconds", covered);
    jw_object(w, "cause");
    jw_str(w, "kind", cause.kind);
    jw_bool(w, "isTrouble", cause.is_trouble);
    jw_real(w, "share", cause.share);
    jw_str(w, "text", cause.text);
    jw_end_object(w);
    jw_array(w, "lines");
    for (; at < profile->lines.count && !strcmp(profile->lines.at[at]->agent, agent);
         at++)
        render_line(w, profile->lines.at[at], covered);
    jw_end_array(w);
    jw_end_object(w);
    return at;
}

static det_status render_profile(struct request *req, struct profile *profile)
{
    profile_sort(profile);
    jw_object(&req->w, NULL);
    jw_array(&req->w, "agents");
    for (size_t at = 0; at < profile->lines.count;)
        at = render_agent(&req->w, profile, at);
    jw_end_array(&req->w);
    jw_end_object(&req->w);
    return DET_OK;
}

/* ---- reading --------------------------------------------------------------------- */

static det_status add_row(struct profile_read *read, const struct metric_row *row,
                          struct arena *mem, struct err *err)
{
    struct json *tree;
    det_status st = json_parse(row->avg, strlen(row->avg), mem, &tree, err);

    return st ? st
              : profile_add(&read->profile, row->group, tree,
                            (double)row->report_us / 1e6, err);
}

/* What supervisors have measured counts for agents without measurements of the program
 * itself, which are finer. */
static det_status add_loads(struct request *req, struct profile_read *read)
{
    struct trial_load *rows;
    uint32_t count = 0;
    const char *agent = NULL;
    bool has_own = false;
    det_status st = store_trial_loads(req->db, read->query.trial_id, &req->mem, &rows,
                                      &count, req->err);

    for (uint32_t i = 0; i < count && !st; i++) {
        struct json *load;

        if (!agent || strcmp(agent, rows[i].agent) != 0)
            has_own = profile_has_load(&read->profile, rows[i].agent);
        agent = rows[i].agent;
        if (has_own)
            continue;
        st = json_parse(rows[i].load, strlen(rows[i].load), &req->mem, &load, req->err);
        if (!st)
            st = profile_add_load(&read->profile, agent, load,
                                  (double)rows[i].time_us / 1e6, req->err);
    }
    return st;
}

/* Moves the cursor after the last row of a full page, or to the next group. */
static void move_cursor(struct request *req, const struct metric_row *rows,
                        uint32_t count)
{
    struct profile_read *read = req->state;
    struct metric_query *query = &read->query;

    query->has_cursor = count == REPORTS_AT_ONCE;
    if (!query->has_cursor) {
        read->group++;
        return;
    }
    query->after_run = rows[count - 1].place;
    query->after_steps = rows[count - 1].has_steps ? rows[count - 1].steps : -1;
    query->after_id = rows[count - 1].id;
    query->after_group = profile_groups[read->group];
}

static det_status next_page(struct request *req)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(PAGE_MEMORY);
    struct profile_read *read = req->state;
    struct metric_query *query = &read->query;
    struct metric_row *rows = NULL;
    uint32_t count = 0;
    det_status st;

    if (!profile_groups[read->group]) {
        st = add_loads(req, read);
        return st ? st : render_profile(req, &read->profile);
    }
    query->group = profile_groups[read->group];
    st = store_metric_read(req->db, query, &mem, &rows, &count, req->err);
    for (uint32_t i = 0; i < count && !st; i++)
        st = add_row(read, &rows[i], &mem, req->err);
    if (st)
        return st;
    move_cursor(req, rows, count);
    return request_move(req, req->home, next_page);
}

det_status api_get_trial_profile(struct request *req)
{
    struct profile_read *read = arena_new(&req->mem, struct profile_read);
    struct trial_view trial;
    int64_t id;
    det_status st = request_id(req, 0, &id);

    if (!st)
        st = store_trial_get(req->db, id, &req->mem, &trial, req->err);
    if (st)
        return st;
    if (!read)
        return DET_NOMEM;
    *read = (struct profile_read){
        .profile = PROFILE_INIT(&req->mem),
        .query = {.trial_id = id, .limit = REPORTS_AT_ONCE},
    };
    read->profile.curve_points = PROFILE_CURVE;
    req->state = read;
    req->ended = profile_read_ended;
    return next_page(req);
}
