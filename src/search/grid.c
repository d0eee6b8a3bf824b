/* SPDX-License-Identifier: Apache-2.0 */
/* grid.c - `grid`: every point of the product of the axes, from the last to the first.
 *
 * The state is the number of remaining points: the next point is remaining - 1. */
#include "data/json/json.h"
#include "search/hparam.h"
#include "search/method.h"
#include "search/preview.h"

struct grid_state {
    uint32_t points;
    uint32_t at_once; /* max_concurrent_trials; all points if that is 0 */
    uint32_t remaining;
};

static det_status grid_init(struct searcher *s, struct err *err)
{
    struct grid_state *g = s->state;
    det_status status =
        search_config_u32(s, "max_concurrent_trials", 0, 16, &g->at_once, err);

    if (status)
        return status;
    g->points = (uint32_t)hparam_points(s->space);
    g->remaining = g->points;
    if (!g->at_once)
        g->at_once = g->points;
    return DET_OK;
}

static void create_next(struct searcher *s, struct search_out *out)
{
    struct grid_state *g = s->state;

    if (!g->remaining)
        return;
    if (search_create_at(s, g->remaining - 1, out) != SEARCH_NONE)
        g->remaining--;
}

static void grid_start(struct searcher *s, struct search_out *out)
{
    const struct grid_state *g = s->state;

    if (!g->points)
        search_fail(out, DET_INVALID,
                    "a grid search needs at least one hyperparameter");
    for (uint32_t i = 0; i < g->at_once && g->remaining && !out->status; i++)
        create_next(s, out);
}

static uint32_t grid_first(const struct searcher *s)
{
    const struct grid_state *g = s->state;

    return MIN(g->at_once, g->points);
}

static void grid_trial_exited(struct searcher *s, uint32_t trial, enum search_exit why,
                              struct search_out *out)
{
    (void)trial;
    (void)why; /* an invalid point counts as tried */
    create_next(s, out);
}

static uint32_t grid_left(const struct searcher *s)
{
    const struct grid_state *g = s->state;

    return g->remaining;
}

static void grid_save(const struct searcher *s, struct json_writer *w)
{
    const struct grid_state *g = s->state;

    jw_i64(w, "remaining", g->remaining);
}

static det_status grid_load(struct searcher *s, const struct json *state,
                            struct err *err)
{
    struct grid_state *g = s->state;

    return search_saved_u32(state, "remaining", g->points, &g->remaining, err);
}

static void grid_preview(const struct searcher *s, struct arena *mem,
                         struct json *trials)
{
    const struct grid_state *g = s->state;

    search_preview_row(mem, trials, g->points);
}

const struct search_method search_grid = {
    .name = "grid",
    .state_size = sizeof(struct grid_state),
    .needs_grid = true,
    .init = grid_init,
    .start = grid_start,
    .first = grid_first,
    .trial_exited = grid_trial_exited,
    .left = grid_left,
    .save = grid_save,
    .load = grid_load,
    .preview = grid_preview,
};
